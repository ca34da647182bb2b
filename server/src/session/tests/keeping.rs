//! Grants that stay with their client after a release [LOCK-13..16].

use super::*;
use interweave_wire::fields::field;

/// Connection 1 keeps grants, and 2 does not; both have the segment open.
fn world(durable: Durability) -> (World, u32) {
    let mut world = World::new(durable != Durability::Memory);
    hello_keeping(&mut world, 1, [0; 16]);
    world.hello(2);
    let segment = world.open(1, "/list", durable);
    assert_eq!(world.open(2, "/list", durable), segment);
    (world, segment)
}

pub fn hello_keeping(world: &mut World, connection: u64, session: SessionId) {
    let keeping = KeepingField { keeps_grants: true };
    let mut hello = hello(session);
    hello.fields.push(field(FieldKey::Keeping, &keeping));
    let now_ns = world.now_ns();
    world
        .engine
        .connected(now_ns, connection, session_of(connection), Peer::default());
    let welcome = world.ask(connection, Request::Hello(hello));
    assert_eq!(welcome.type_, MessageType::Welcome);
}

/// Connection 1 writes until it keeps its grant; returns the grant, on the newest version.
pub fn kept(world: &mut World, segment: u32) -> WriterAcquired {
    for sequence in 1.. {
        let mut grant = world.lock(1, segment);
        let stream = world.release(1, segment, &grant, sequence);
        world.store_all();
        let answer = world.answer(stream);
        if answer.type_ == MessageType::WriterKept {
            grant.now = answer.body::<WriterKept>().versions[0].clone();
            return grant;
        }
        assert_eq!(answer.type_, MessageType::WriterReleased);
        assert!(sequence < 10, "the grant is never kept");
    }
    unreachable!()
}

/// A further release under the grant; its answer.
fn release_again(world: &mut World, connection: u64, segment: u32, grant: &WriterAcquired) -> Sent {
    let mut diff = DiffBuilder::new(grant.now.number, grant.now.number + 1);
    diff.add_block(grant.first_serial + grant.now.number, INT, 1, "");
    let diff = diff.finish();
    let request = release_writer(segment, grant, 100 + grant.now.number, diff.len());
    let stream = world.send_with(connection, request, diff);
    world.store_all();
    world.answer(stream)
}

pub fn recalls(world: &mut World) -> Vec<u64> {
    let recalls = world.notifications(1, MessageType::RecallWriter);
    let fences = recalls.iter().map(|r| r.body::<RecallWriter>().fence);
    fences.collect()
}

#[test]
fn lock_13_releases_under_a_kept_grant_need_no_further_grant() {
    for durable in [Durability::Memory, Durability::Synced] {
        let (mut world, segment) = world(durable);
        let mut grant = kept(&mut world, segment);
        for _ in 0..5 {
            let answer = release_again(&mut world, 1, segment, &grant);
            assert_eq!(answer.type_, MessageType::WriterKept, "{answer:?}");
            grant.now = answer.body::<WriterKept>().versions[0].clone();
        }
        assert_eq!(world.newest(2, segment), grant.now);
    }
}

#[test]
fn lock_13_a_client_that_does_not_say_so_keeps_nothing() {
    let (mut world, segment) = world(Durability::Memory);
    for sequence in 1..=9 {
        world.write(2, segment, sequence);
    }
}

#[test]
fn lock_13_the_grant_of_a_session_is_not_kept_while_others_take_turns() {
    let (mut world, segment) = world(Durability::Memory);
    for sequence in 1..=9 {
        world.write(1, segment, sequence);
        world.write(2, segment, sequence);
    }
}

#[test]
fn lock_15_a_kept_grant_is_recalled_at_once_and_given_back() {
    let (mut world, segment) = world(Durability::Memory);
    let grant = kept(&mut world, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    assert_eq!(recalls(&mut world), [grant.fence]);
    assert!(world.try_answer(waiting).is_none());
    let abort = Request::AbortWriter(AbortWriter {
        segment,
        fence: grant.fence,
    });
    assert_eq!(world.ask(1, abort).type_, MessageType::Done);
    let next: WriterAcquired = world.answer(waiting).body();
    assert!(next.fence > grant.fence);
    let late = release_again(&mut world, 1, segment, &grant);
    assert_eq!(late.error(), ErrorCode::Fenced);
}

#[test]
fn lock_15_a_try_waits_for_the_answer_to_a_recall() {
    let (mut world, segment) = world(Durability::Memory);
    let grant = kept(&mut world, segment);
    let waiting = world.send(2, acquire_writer(segment, 0));
    assert_eq!(recalls(&mut world), [grant.fence]);
    assert!(world.try_answer(waiting).is_none());
    let abort = Request::AbortWriter(AbortWriter {
        segment,
        fence: grant.fence,
    });
    assert_eq!(world.ask(1, abort).type_, MessageType::Done);
    let next: WriterAcquired = world.answer(waiting).body();
    assert!(next.fence > grant.fence);
    let stream = world.send(1, acquire_writer(segment, 0));
    assert_eq!(
        world.answer(stream).error(),
        ErrorCode::TimedOut,
        "2 does not keep it"
    );
}

#[test]
fn lock_13_a_segment_that_was_closed_meanwhile_is_not_kept() {
    let (mut world, segment) = world(Durability::Synced);
    let grant = kept(&mut world, segment);
    let mut diff = DiffBuilder::new(grant.now.number, grant.now.number + 1);
    diff.add_block(grant.first_serial + grant.now.number, INT, 1, "");
    let diff = diff.finish();
    let request = release_writer(segment, &grant, 100 + grant.now.number, diff.len());
    let stream = world.send_with(1, request, diff);
    world.send(1, Request::CloseSegment(CloseSegment { segment }));
    world.store_all();
    assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
    world.lock(2, segment);
}

#[test]
fn lock_15_a_section_that_had_begun_is_committed_and_ends_the_grant() {
    for durable in [Durability::Memory, Durability::Synced] {
        let (mut world, segment) = world(durable);
        let grant = kept(&mut world, segment);
        let waiting = world.send(2, acquire_writer(segment, 60_000));
        let answer = release_again(&mut world, 1, segment, &grant);
        assert_eq!(answer.type_, MessageType::WriterReleased);
        let next: WriterAcquired = world.answer(waiting).body();
        assert_eq!(next.now.number, grant.now.number + 1);
    }
}

#[test]
fn lock_15_a_recall_ends_when_nobody_waits_any_more() {
    let (mut world, segment) = world(Durability::Memory);
    let grant = kept(&mut world, segment);
    let stream = world.send(2, acquire_writer(segment, 60_000));
    world.send(2, Request::Cancel(Cancel { stream }));
    let answer = release_again(&mut world, 1, segment, &grant);
    assert_eq!(answer.type_, MessageType::WriterKept);
    world.send(2, acquire_writer(segment, 60_000));
    assert_eq!(recalls(&mut world), [grant.fence, grant.fence]);
}

#[test]
fn lock_15_a_strict_reader_recalls_the_grant() {
    let (mut world, segment) = world(Durability::Memory);
    let grant = kept(&mut world, segment);
    let have = stamp(0, 0);
    let strict = acquire_reader(segment, have, CoherenceModel::Strict);
    let stream = world.send(2, strict);
    assert_eq!(recalls(&mut world), [grant.fence]);
    assert!(world.try_answer(stream).is_none());
    release_again(&mut world, 1, segment, &grant);
    let read: ReaderAcquired = world.answer(stream).body();
    assert_eq!(read.now.number, grant.now.number + 1);
}

/// The connection of the client that keeps the grant is lost.
fn lose_keeper(world: &mut World) {
    let now_ns = world.now_ns();
    world.engine.disconnected(now_ns, 1);
    world.drain();
}

#[test]
fn lock_16_a_client_that_dies_between_its_sections_delays_others_by_the_grace() {
    let (mut world, segment) = world(Durability::Memory);
    let grant = kept(&mut world, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    lose_keeper(&mut world);
    world.pass(99);
    assert!(world.try_answer(waiting).is_none());
    world.pass(1);
    let next: WriterAcquired = world.answer(waiting).body();
    assert!(next.fence > grant.fence);
}

#[test]
fn lock_16_a_request_that_does_not_wait_waits_for_the_end_of_the_grace() {
    let (mut world, segment) = world(Durability::Memory);
    kept(&mut world, segment);
    lose_keeper(&mut world);
    let trying = world.send(2, acquire_writer(segment, 0));
    // the server's clock may be looked at late
    world.pass(300);
    assert_eq!(
        world.answer(trying).type_,
        MessageType::WriterAcquired,
        "the lock is free"
    );
}

#[test]
fn lock_16_a_section_of_the_grace_is_committed_though_others_wait() {
    let (mut world, segment) = world(Durability::Memory);
    let grant = kept(&mut world, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    lose_keeper(&mut world);
    hello_keeping(&mut world, 3, session_of(1));
    world.open(3, "/list", Durability::Memory);
    let answer = release_again(&mut world, 3, segment, &grant);
    assert_eq!(answer.type_, MessageType::WriterReleased);
    let next: WriterAcquired = world.answer(waiting).body();
    assert!(next.fence > grant.fence);
}

#[test]
fn lock_16_a_section_that_nobody_disturbed_is_committed_over_the_next_connection() {
    for is_disturbed in [false, true] {
        let (mut world, segment) = world(Durability::Memory);
        let grant = kept(&mut world, segment);
        lose_keeper(&mut world);
        if is_disturbed {
            world.pass(100);
            world.write(2, segment, 1);
        }
        hello_keeping(&mut world, 3, session_of(1));
        world.open(3, "/list", Durability::Memory);
        let answer = release_again(&mut world, 3, segment, &grant);
        match is_disturbed {
            false => assert_eq!(answer.type_, MessageType::WriterReleased),
            true => assert_eq!(answer.error(), ErrorCode::Fenced),
        }
        world.lock(2, segment);
    }
}

#[test]
fn lock_13_nothing_is_kept_by_a_server_that_stops() {
    let (mut world, segment) = world(Durability::Memory);
    let grant = kept(&mut world, segment);
    let now_ns = world.now_ns();
    world.engine.stop(now_ns);
    let answer = release_again(&mut world, 1, segment, &grant);
    assert_eq!(answer.type_, MessageType::WriterReleased);
}
