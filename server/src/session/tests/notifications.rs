//! Subscriptions: [NOT-1..6] of spec/protocol/notify.x.

use super::*;

pub fn subscribe(world: &mut World, connection: u64, segment: u32, push_bytes: u64) -> Sent {
    let have = world.newest(connection, segment);
    subscribe_at(world, connection, segment, have, push_bytes)
}

fn subscribe_at(
    world: &mut World,
    connection: u64,
    segment: u32,
    have: VersionStamp,
    push_bytes: u64,
) -> Sent {
    let request = Request::Subscribe(Subscribe {
        segment,
        have,
        model: CoherenceModel::Full,
        x: 0.0,
        push: push_bytes > 0,
        push_bytes,
    });
    world.ask(connection, request)
}

fn pushes(world: &mut World, connection: u64) -> Vec<(u64, u64)> {
    let pushed = world.notifications(connection, MessageType::Push);
    let versions = pushed.iter().map(|p| {
        let push: Push = p.body();
        let diff = interweave_wire::Diff::parse(&p.bulk).expect("a diff");
        assert_eq!((diff.from, diff.to), (push.from.number, push.now.number));
        (push.from.number, push.now.number)
    });
    versions.collect()
}

#[test]
fn not_1_one_notification_until_the_copy_moves_on() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    subscribe(&mut world, 2, segment, 0);
    for sequence in 1..=3 {
        world.write(1, segment, sequence);
    }
    let told = world.notifications(2, MessageType::NotRecent);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].body::<NotRecent>().now.number, 1);
    for sequence in 4..=17 {
        world.newest(2, segment);
        world.write(1, segment, sequence);
        assert_eq!(world.notifications(2, MessageType::NotRecent).len(), 1);
    }
}

#[test]
fn not_1_a_client_that_says_that_it_has_the_newest_version_is_told_of_the_next() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.write(1, segment, 1);
    let old = world.newest(2, segment);
    subscribe_at(&mut world, 2, segment, old.clone(), 0);
    let read = |world: &mut World, have, model| {
        let read = world.ask(2, acquire_reader(segment, have, model));
        assert!(!read.body::<ReaderAcquired>().updated);
    };
    let told = |world: &mut World| world.notifications(2, MessageType::NotRecent).len();
    world.write(1, segment, 2);
    assert_eq!(told(&mut world), 1);
    read(&mut world, old, CoherenceModel::Delta);
    world.write(1, segment, 3);
    assert_eq!(
        told(&mut world),
        0,
        "what this read allows the subscription does not"
    );
    let newest = world.newest(1, segment);
    read(&mut world, newest, CoherenceModel::Full);
    world.write(1, segment, 4);
    assert_eq!(told(&mut world), 1);
}

#[test]
fn not_2_a_pushed_copy_counts_as_the_newest() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    subscribe(&mut world, 2, segment, 1 << 20);
    for sequence in 1..=17 {
        world.write(1, segment, sequence);
    }
    let all: Vec<(u64, u64)> = (1..=17).map(|version| (version - 1, version)).collect();
    assert_eq!(pushes(&mut world, 2), all);
    assert!(world.notifications(2, MessageType::NotRecent).is_empty());
}

#[test]
fn not_1_a_subscription_outlasts_other_clients_of_the_segment() {
    let mut world = World::new(false);
    let segment = world.clients(4, Durability::Memory);
    subscribe(&mut world, 2, segment, 1 << 20);
    let close = Request::CloseSegment(CloseSegment { segment });
    assert_eq!(world.ask(3, close).type_, MessageType::Done);
    world.engine.disconnected(world.now_ns(), 4);
    world.drain();
    world.write(1, segment, 1);
    assert_eq!(pushes(&mut world, 2), [(0, 1)]);
}

#[test]
fn not_3_without_credit_the_diff_is_not_sent() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let grant = world.lock(1, segment);
    let bytes = int_diff(&grant, 7).len() as u64;
    subscribe(&mut world, 2, segment, 2 * bytes + 8);
    let stream = world.release(1, segment, &grant, 1);
    world.answer(stream);
    world.write(1, segment, 2);
    assert_eq!(pushes(&mut world, 2).len(), 2);
    world.write(1, segment, 3);
    assert!(pushes(&mut world, 2).is_empty(), "the credit is used up");
    assert_eq!(world.notifications(2, MessageType::NotRecent).len(), 1);
    world.send(2, Request::Credit(Credit { segment, bytes }));
    world.newest(2, segment);
    world.write(1, segment, 4);
    assert_eq!(pushes(&mut world, 2), [(3, 4)]);
}

#[test]
fn a_copy_that_is_too_old_already_is_told_at_once() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let have = world.newest(2, segment);
    world.write(1, segment, 1);
    world.write(1, segment, 2);
    let subscribed = subscribe_at(&mut world, 2, segment, have, 1 << 20);
    assert_eq!(subscribed.body::<Subscribed>().now.number, 2);
    assert_eq!(pushes(&mut world, 2), [(0, 2)]);
}

#[test]
fn the_writer_is_not_told_of_its_own_release() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    subscribe(&mut world, 1, segment, 1 << 20);
    world.write(1, segment, 1);
    assert!(pushes(&mut world, 1).is_empty());
    world.write(2, segment, 1);
    assert_eq!(pushes(&mut world, 1), [(1, 2)]);
}

#[test]
fn delta_tells_only_when_the_bound_is_broken() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let have = world.newest(2, segment);
    let request = Request::Subscribe(Subscribe {
        segment,
        have,
        model: CoherenceModel::Delta,
        x: 2.0,
        push: true,
        push_bytes: 1 << 20,
    });
    world.ask(2, request);
    for sequence in 1..=7 {
        world.write(1, segment, sequence);
    }
    assert_eq!(pushes(&mut world, 2), [(0, 3), (3, 6)]);
}

#[test]
fn strict_and_null_cannot_be_watched() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    for model in [CoherenceModel::Strict, CoherenceModel::NullCoherence] {
        let request = Request::Subscribe(Subscribe {
            segment,
            have: stamp(0, 0),
            model,
            x: 0.0,
            push: false,
            push_bytes: 0,
        });
        assert_eq!(world.ask(1, request).error(), ErrorCode::BadValue);
    }
}

#[test]
fn who_unsubscribes_is_told_nothing() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    subscribe(&mut world, 2, segment, 1 << 20);
    let answer = world.ask(2, Request::Unsubscribe(Unsubscribe { segment }));
    assert_eq!(answer.type_, MessageType::Done);
    world.write(1, segment, 1);
    assert!(pushes(&mut world, 2).is_empty());
}

#[test]
fn not_2_what_was_pushed_to_a_waiting_writer_is_not_sent_again() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let have = world.newest(2, segment);
    subscribe(&mut world, 2, segment, 1 << 20);
    let grant = world.lock(1, segment);
    let waiting = world.send(
        2,
        Request::AcquireWriter(AcquireWriter {
            segment,
            have,
            deadline_ms: 60_000,
        }),
    );
    let stream = world.release(1, segment, &grant, 1);
    world.answer(stream);
    assert_eq!(pushes(&mut world, 2), [(0, 1)]);
    let granted = world.answer(waiting);
    assert!(!granted.body::<WriterAcquired>().updated && granted.bulk.is_empty());
}

/// Says that the connection's socket takes nothing.
pub fn stall(world: &mut World, connection: u64) {
    let bytes = 10 * world.engine.config().slow_bytes;
    world
        .engine
        .backlog(world.now_ns(), connection, backlog(bytes));
}

#[test]
fn not_6_a_slow_reader_gets_one_combined_diff_when_it_can_take_it() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    subscribe(&mut world, 2, segment, 1 << 20);
    stall(&mut world, 2);
    for sequence in 1..=5 {
        world.write(1, segment, sequence);
    }
    assert!(pushes(&mut world, 2).is_empty(), "nothing is queued for it");
    world.engine.backlog(world.now_ns(), 2, backlog(0));
    world.drain();
    assert_eq!(pushes(&mut world, 2), [(0, 5)]);
}

#[test]
fn not_6_whatever_else_is_sent_to_a_slow_reader_comes_after_the_news() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    subscribe(&mut world, 2, segment, 1 << 20);
    stall(&mut world, 2);
    world.write(1, segment, 1);
    world.sent.clear();
    world.send(2, Request::Ping);
    let types: Vec<MessageType> = world.sent.iter().map(|s| s.type_).collect();
    assert_eq!(types, [MessageType::NotRecent, MessageType::Pong]);
}

#[test]
fn not_6_a_slow_reader_that_leaves_a_segment_or_reads_it_is_told_of_the_others() {
    use MessageType::{Done, ReaderAcquired};
    let segment = 1;
    for (request, answer) in [
        (Request::CloseSegment(CloseSegment { segment }), Done),
        (Request::Unsubscribe(Unsubscribe { segment }), Done),
        (
            acquire_reader(segment, stamp(0, 0), CoherenceModel::Full),
            ReaderAcquired,
        ),
    ] {
        let mut world = World::new(false);
        assert_eq!(world.clients(2, Durability::Memory), segment);
        let other = world.open(1, "/other", Durability::Memory);
        world.open(2, "/other", Durability::Memory);
        for segment in [segment, other] {
            subscribe(&mut world, 2, segment, 1 << 20);
        }
        stall(&mut world, 2);
        world.write(1, segment, 1);
        world.write(1, other, 2);
        assert_eq!(world.ask(2, request).type_, answer);
        let told = world.notifications(2, MessageType::NotRecent);
        let told: Vec<u32> = told.iter().map(|n| n.body::<NotRecent>().segment).collect();
        assert_eq!(told, [other]);
    }
}

#[test]
fn not_6_a_combined_diff_begins_at_the_version_that_the_slow_reader_has() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.write(1, segment, 1);
    let have = world.newest(2, segment);
    subscribe_at(&mut world, 2, segment, have.clone(), 1 << 20);
    stall(&mut world, 2);
    world.write(1, segment, 2);
    world.write(1, segment, 3);
    world.engine.backlog(world.now_ns(), 2, backlog(0));
    world.drain();
    let pushed = world.notifications(2, MessageType::Push);
    assert_eq!(pushed[0].body::<Push>().from, have, "its chain, too");
}

#[test]
fn not_6_a_reader_is_slow_beyond_the_bound_until_half_of_that_is_left() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    subscribe(&mut world, 2, segment, 1 << 20);
    let most = world.engine.config().slow_bytes;
    let waits = |world: &mut World, bytes| {
        world.engine.backlog(world.now_ns(), 2, backlog(bytes));
        world.drain();
    };
    waits(&mut world, most);
    world.write(1, segment, 1);
    assert_eq!(pushes(&mut world, 2), [(0, 1)]);
    waits(&mut world, most + 1);
    world.write(1, segment, 2);
    waits(&mut world, most / 2 + 1);
    assert!(pushes(&mut world, 2).is_empty());
    waits(&mut world, most / 2);
    assert_eq!(pushes(&mut world, 2), [(1, 2)]);
}

#[test]
fn a_slow_reader_is_sent_no_heartbeats_on_top() {
    let most = World::new(false).engine.config().slow_bytes;
    for (bytes, is_slow) in [(most, false), (most + 1, true)] {
        let mut world = World::new(false);
        world.hello(1);
        world.engine.backlog(world.now_ns(), 1, backlog(bytes));
        world.pass(5_000);
        let beats = world.notifications(1, MessageType::Heartbeat);
        assert_eq!(beats.is_empty(), is_slow, "{bytes}");
    }
}

#[test]
fn what_each_client_has_and_since_when_it_is_behind_is_known() {
    let mut world = World::new(false);
    let segment = world.clients(3, Durability::Memory);
    world.write(1, segment, 1);
    subscribe(&mut world, 2, segment, 1 << 20);
    world.newest(2, segment);
    world.newest(3, segment);
    world.pass_talking(1000, &[1, 2, 3]);
    world.write(1, segment, 2);
    world.pass_talking(500, &[1, 2, 3]);
    world.write(1, segment, 3);
    world.pass_talking(1000, &[1, 2, 3]);
    let known = |world: &World| -> Vec<(u64, u64, u64)> {
        let now_ns = world.now_ns();
        let statistics = world
            .engine
            .segment_statistics(now_ns, std::ops::Bound::Unbounded, 1);
        let readers = statistics[0].readers.iter();
        let known = readers.map(|r| Some((r.version?, r.behind?, r.stale_ns? / 1_000_000)));
        known.collect::<Option<_>>().expect("all have a copy")
    };
    // The writer and the subscriber have the newest; the third stopped to when 2 came.
    assert_eq!(known(&world), [(3, 0, 0), (3, 0, 0), (1, 2, 1500)]);
    world.newest(3, segment);
    assert_eq!(known(&world)[2], (3, 0, 0));
}
