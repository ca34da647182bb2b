//! Readers that do not read, or slowly: one copy of a diff for all, and a bound of all [NOT-7].

use super::*;
use crate::session::wire::{Shelf, LENT_BYTES};

const COUNT: u64 = 100_000;
const BIG_BYTES: u64 = 4 * COUNT;

/// Client 1 makes the next version, of which everything is new; what diffs there are is less than
/// twice that.
fn write_big(world: &mut World, segment: u32, sequence: u64) {
    let grant = world.lock(1, segment);
    let base = grant.now.number;
    let mut diff = DiffBuilder::new(base, base + 1);
    if base > 0 {
        diff.free(1 + (base - 1) * 128);
    }
    diff.add_block(grant.first_serial, INT, COUNT, "");
    let values = vec![sequence as u8; BIG_BYTES as usize];
    diff.set(grant.first_serial, COUNT, &values);
    let diff = diff.finish();
    let request = release_writer(segment, &grant, sequence, diff.len());
    let stream = world.send_with(1, request, diff);
    let answer = world.answer(stream);
    assert_eq!(answer.type_, MessageType::WriterReleased, "{answer:?}");
}

fn ask_for_all(world: &mut World, connection: u64, segment: u32) -> Sent {
    let have = stamp(0, 0);
    let request = acquire_reader(segment, have, CoherenceModel::Full);
    world.ask(connection, request)
}

/// Where the bytes are that were sent.
fn places(sent: &Sent) -> Vec<*const u8> {
    sent.pieces.pieces().map(|piece| piece.as_ptr()).collect()
}

fn lent_bytes(world: &World) -> u64 {
    world.engine.wire.lent_bytes()
}

fn world_of(readers: u64, sending_bytes: u64) -> (World, u32) {
    let mut world = World::with(Config {
        sending_bytes,
        lease_ms: 60_000,
        ..Config::default()
    });
    let segment = world.clients(1 + readers, Durability::Memory);
    write_big(&mut world, segment, 1);
    (world, segment)
}

#[test]
fn not_7_all_who_are_sent_the_same_diff_share_one_copy() {
    let (mut world, segment) = world_of(20, u64::MAX);
    write_big(&mut world, segment, 2);
    let collected = world
        .engine
        .segments
        .get(segment)
        .unwrap()
        .master
        .collections();
    let answers: Vec<Sent> = (2..=21)
        .map(|reader| ask_for_all(&mut world, reader, segment))
        .collect();
    let first = places(&answers[0]);
    assert!(answers.iter().all(|a| places(a) == first));
    assert!(lent_bytes(&world) < 2 * BIG_BYTES);
    let now = world
        .engine
        .segments
        .get(segment)
        .unwrap()
        .master
        .collections();
    assert_eq!(now, collected + 1);
    assert_eq!(world.engine.wire.counters.shared, 19);
    drop(answers);
    assert_eq!(lent_bytes(&world), 0, "nobody is being sent it any more");
}

#[test]
fn not_7_a_pushed_diff_is_shared_with_those_who_ask_for_it() {
    let (mut world, segment) = world_of(3, u64::MAX);
    for subscriber in [2, 3] {
        notifications::subscribe(&mut world, subscriber, segment, 1 << 30);
    }
    let have = world.newest(4, segment);
    world.sent.clear();
    write_big(&mut world, segment, 2);
    let pushed = world.notifications(2, MessageType::Push);
    let other = world.notifications(3, MessageType::Push);
    let asked = world.ask(4, acquire_reader(segment, have, CoherenceModel::Full));
    assert_eq!(places(&pushed[0]), places(&other[0]));
    assert_eq!(places(&pushed[0]), places(&asked));
    assert_eq!(lent_bytes(&world), pushed[0].bulk.len() as u64);
}

#[test]
fn not_7_beyond_the_bound_those_who_take_nothing_make_room_for_the_others() {
    let (mut world, segment) = world_of(4, 5 * BIG_BYTES / 2);
    world.stuck = vec![2, 3];
    let mut held = Vec::new();
    for (sequence, reader) in [(2, 2), (3, 3), (4, 4), (5, 5)] {
        held.push(ask_for_all(&mut world, reader, segment));
        assert!(world.closed.is_empty() || reader > 3, "two fit");
        world.pass_talking(500, &[1, 2, 3, 4, 5]);
        write_big(&mut world, segment, sequence);
    }
    // 4 had taken all when 5 asked: what it was sent does not count, 3 may stay.
    assert_eq!(world.closed, [2]);
    assert_eq!(world.engine.wire.counters.stuck, 1);
    world.ask(3, Request::Ping);
}

#[test]
fn not_7_a_connection_that_takes_what_it_is_sent_is_closed_last() {
    let (mut world, segment) = world_of(3, 5 * BIG_BYTES / 2);
    world.stuck = vec![2, 3, 4];
    let mut held = vec![ask_for_all(&mut world, 2, segment)];
    write_big(&mut world, segment, 2);
    world.pass_talking(500, &[1, 2, 3, 4]);
    held.push(ask_for_all(&mut world, 3, segment));
    world.pass_talking(500, &[1, 2, 3, 4]);
    // 2 is slow, but 3 takes nothing at all.
    world.engine.backlog(world.now_ns(), 2, backlog(1000));
    write_big(&mut world, segment, 3);
    held.push(ask_for_all(&mut world, 4, segment));
    assert_eq!(world.closed, [3]);
}

#[test]
fn not_7_a_diff_that_is_being_sent_is_not_taken_for_one_to_a_newer_version() {
    let (mut world, segment) = world_of(3, u64::MAX);
    let _still_sent = ask_for_all(&mut world, 2, segment);
    write_big(&mut world, segment, 2);
    for reader in [3, 4] {
        let answer = ask_for_all(&mut world, reader, segment);
        let diff = interweave_wire::Diff::parse(&answer.bulk).expect("a diff");
        assert_eq!((diff.from, diff.to), (0, 2), "reader {reader}");
    }
}

#[test]
fn not_7_a_diff_that_was_taken_makes_way_for_one_that_is_shared_again() {
    let (mut world, segment) = world_of(3, u64::MAX);
    drop(ask_for_all(&mut world, 2, segment));
    assert_eq!(lent_bytes(&world), 0);
    let both = [3, 4].map(|reader| ask_for_all(&mut world, reader, segment));
    assert_eq!(lent_bytes(&world), both[0].bulk.len() as u64, "one copy");
}

#[test]
fn not_7_diffs_of_64_kib_or_more_count() {
    for (bytes, counted) in [(LENT_BYTES - 1, 0), (LENT_BYTES, LENT_BYTES)] {
        let mut world = World::new(false);
        let diff = Gathered::from(Bytes::from(vec![0; bytes]));
        let mut shelf = Shelf::default();
        let sent = world.engine.wire.lend(1, &mut shelf, (0, 1), &diff);
        assert_eq!(lent_bytes(&world), counted as u64);
        assert_eq!(sent.len(), bytes);
    }
}

#[test]
fn not_7_exactly_as_much_as_the_bound_may_be_on_its_way() {
    let mut world = World::with(Config {
        sending_bytes: 2 * LENT_BYTES as u64,
        ..Config::default()
    });
    let diff = Gathered::from(Bytes::from(vec![0; LENT_BYTES]));
    let mut held = Vec::new();
    for (connection, closed) in [(1, &[][..]), (2, &[]), (3, &[1])] {
        world.hello(connection);
        let mut shelf = Shelf::default();
        let wire = &mut world.engine.wire;
        held.push(wire.lend(connection, &mut shelf, (0, 1), &diff));
        world.drain();
        assert_eq!(world.closed, closed, "{connection}");
    }
}
