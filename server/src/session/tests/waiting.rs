//! Connections that ask and do not read: what waits on them is bounded [NET-2, NET-3].

use super::*;
use crate::session::ServerMessage;

const PATH: usize = 200;
const MOST: usize = 100_000;

fn list() -> Request {
    Request::ListSegments(ListSegments {
        prefix: "/".to_string(),
        after: String::new(),
    })
}

/// Clients 1 to `count`, and a segment whose name makes a list of segments long.
fn world_of(count: u64) -> (World, u32) {
    let mut world = World::with(Config {
        waiting_bytes: MOST,
        lease_ms: LEASE_MS,
        ..Config::default()
    });
    let segment = world.clients(count, Durability::Memory);
    let path = format!("/{}", "x".repeat(PATH));
    world.open(1, &path, Durability::Memory);
    (world, segment)
}

/// Asks until so many bytes wait on the connection.
fn fill(world: &mut World, connection: u64, bytes: usize) {
    let before = world.engine.waiting_bytes();
    while world.engine.waiting_bytes() - before < bytes && world.closed.is_empty() {
        world.send(connection, list());
    }
}

#[test]
fn net_2_beyond_the_bound_those_who_took_nothing_for_longest_are_closed() {
    let (mut world, _) = world_of(4);
    world.stuck = vec![2, 3, 4];
    fill(&mut world, 2, MOST / 3);
    world.pass_talking(500, &[1, 2, 3, 4]);
    fill(&mut world, 3, MOST / 3);
    // 2 is slow, but 3 takes nothing at all.
    world.pass_talking(500, &[1, 2, 3, 4]);
    world.engine.backlog(world.now_ns(), 2, backlog(MOST / 4));
    fill(&mut world, 4, MOST);
    assert_eq!(world.closed, [3]);
    assert!(world.engine.waiting_bytes() <= MOST);
    assert_eq!(world.engine.wire.counters.stuck, 1);
    world.ask(1, Request::Ping);
}

#[test]
fn net_2_exactly_as_much_as_the_bound_may_wait() {
    let (mut world, _) = world_of(2);
    for (bytes, closed) in [(MOST, &[][..]), (MOST + 1, &[2])] {
        world.engine.backlog(world.now_ns(), 2, backlog(bytes));
        world.drain();
        assert_eq!(world.closed, closed, "{bytes}");
    }
}

#[test]
fn net_2_small_replies_count_with_what_they_take() {
    let (mut world, _) = world_of(2);
    world.stuck = vec![2];
    let mut sent = 0;
    while world.closed.is_empty() {
        world.send(2, Request::Ping);
        sent += 1;
    }
    let each = std::mem::size_of::<ServerMessage>();
    assert!(
        sent * each <= MOST,
        "{sent} answers of {each} bytes and more"
    );
}

#[test]
fn net_2_descriptions_of_blocks_count_however_large() {
    let (mut world, segment) = world_of(2);
    for sequence in 1..=3 {
        let grant = world.lock(1, segment);
        let base = grant.now.number;
        let mut diff = DiffBuilder::new(base, base + 1);
        for serial in grant.first_serial..grant.first_serial + 100 {
            diff.add_block(serial, INT, 1, &format!("n{serial:0>249}"));
        }
        let diff = diff.finish();
        let request = release_writer(segment, &grant, sequence, diff.len());
        let stream = world.send_with(1, request, diff);
        let answer = world.answer(stream);
        let error = || answer.body::<ErrorReply>();
        assert_eq!(answer.type_, MessageType::WriterReleased, "{:?}", error());
    }
    world.stuck = vec![2];
    let describe = || {
        Request::DescribeBlocks(DescribeBlocks {
            segment,
            serials: Vec::new(),
            names: Vec::new(),
            after_serial: 0,
        })
    };
    let described = world.ask(2, describe());
    assert!(described.bulk.len() >= 64 << 10, "{}", described.bulk.len());
    world.send(2, describe());
    assert_eq!(world.closed, [2]);
}

#[test]
fn net_2_from_half_of_the_bound_on_whoever_has_not_taken_all_is_slow() {
    let (mut world, segment) = world_of(4);
    for subscriber in [2, 3] {
        notifications::subscribe(&mut world, subscriber, segment, 1 << 20);
    }
    world.engine.backlog(world.now_ns(), 2, backlog(1));
    world.stuck = vec![4];
    fill(&mut world, 4, MOST / 2 + 1);
    world.sent.clear();
    world.write(1, segment, 1);
    assert!(world.notifications(2, MessageType::Push).is_empty());
    assert_eq!(world.notifications(3, MessageType::Push).len(), 1);
    world.engine.backlog(world.now_ns(), 2, backlog(0));
    world.drain();
    assert_eq!(world.notifications(2, MessageType::Push).len(), 1);
    assert!(world.closed.is_empty());
}

#[test]
fn net_2_a_byte_less_than_half_of_the_bound_makes_nobody_slow() {
    let (mut world, segment) = world_of(3);
    notifications::subscribe(&mut world, 2, segment, 1 << 20);
    for (sequence, waiting, pushed) in [(1, MOST / 2 - 1, 1), (2, MOST / 2, 0)] {
        world
            .engine
            .backlog(world.now_ns(), 3, backlog(waiting - 1));
        world.engine.backlog(world.now_ns(), 2, backlog(1));
        world.write(1, segment, sequence);
        let pushes = world.notifications(2, MessageType::Push);
        assert_eq!(pushes.len(), pushed, "{waiting}");
    }
}

#[test]
fn net_3_whoever_takes_nothing_for_a_lease_is_closed_however_much_it_talks() {
    let (mut world, _) = world_of(3);
    world.stuck = vec![2, 3];
    world.send(2, Request::Ping);
    world.pass_talking(u64::from(LEASE_MS) / 2, &[1, 2, 3]);
    world.engine.backlog(world.now_ns(), 3, backlog(1));
    world.pass_talking(u64::from(LEASE_MS) / 2 + 1000, &[1, 2, 3]);
    assert_eq!(world.closed, [2], "3 took some in time, 1 took all");
    assert_eq!(world.engine.wire.counters.stuck, 1);
}
