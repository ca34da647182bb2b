//! What waits for the store, what comes back from it, and what a new server makes of it.

use super::*;
use interweave_store::RecoveredSegment;
use interweave_wire::session_hash::session_hash;

/// The store's error when there is no room.
pub fn full() -> Result<(), StoreError> {
    Err(StoreError::Full("no room".to_string()))
}

#[test]
fn lock_7_nobody_sees_a_version_before_it_is_stored() {
    let mut world = World::new(true);
    let segment = world.clients(3, Durability::Synced);
    super::notifications::subscribe(&mut world, 2, segment, 1 << 20);
    let grant = world.lock(1, segment);
    let waiting = world.send(3, acquire_writer(segment, 60_000));
    let releasing = world.release(1, segment, &grant, 1);
    let [Asked::Append(_, group, durable)] = &world.asked[..] else {
        panic!("one append: {:?}", world.asked);
    };
    assert_eq!((group.len(), *durable), (1, Durability::Synced));
    assert!(world.try_answer(releasing).is_none());
    assert!(world.try_answer(waiting).is_none());
    assert!(world.notifications(2, MessageType::Push).is_empty());
    assert_eq!(world.newest(2, segment).number, 0);
    world.store_all();
    let released: WriterReleased = world.answer(releasing).body();
    assert_eq!(released.versions[0].number, 1);
    let next: WriterAcquired = world.answer(waiting).body();
    assert_eq!(next.now.number, 1, "the next writer works on it [COH-9]");
}

#[test]
fn a_release_on_its_way_to_the_log_outlives_its_lease() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let grant = world.lock(1, segment);
    let releasing = world.release(1, segment, &grant, 1);
    world.pass_talking(5 * u64::from(LEASE_MS), &[1, 2]);
    assert!(world.notifications(1, MessageType::WriterLost).is_empty());
    world.store_all();
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
}

/// [ERR-1]
#[test]
fn a_database_that_refuses_does_so_that_each_client_understands() {
    let alone = StoreError::Alone("no standby".to_string());
    let away = StoreError::Away("no connection".to_string());
    for (version, error, code) in [
        (2, &alone, ErrorCode::StoreFull),
        (3, &alone, ErrorCode::StoreAlone),
        (2, &away, ErrorCode::StoreFull),
        (3, &away, ErrorCode::StoreAway),
    ] {
        let mut world = World::new(true);
        let hello = Hello {
            version_max: version,
            ..hello([0; 16])
        };
        let now_ns = world.now_ns();
        let engine = &mut world.engine;
        engine.connected(now_ns, 1, session_of(1), Peer::default());
        world.ask(1, Request::Hello(hello));
        let segment = world.open(1, "/list", Durability::Synced);
        let grant = world.lock(1, segment);
        let first = world.release(1, segment, &grant, 1);
        let asked = world.asked.remove(0);
        world.stored(&asked, Err(error.clone()));
        assert_eq!(world.answer(first).error(), code);
        assert_eq!(world.newest(1, segment).number, 0, "reads continue");
        let again = world.release(1, segment, &grant, 1);
        world.store_all();
        assert_eq!(world.answer(again).type_, MessageType::WriterReleased);
        let removing = world.send(
            1,
            Request::RemoveSegment(RemoveSegment {
                path: "/list".into(),
            }),
        );
        let asked = world.asked.remove(0);
        world.stored(&asked, Err(error.clone()));
        assert_eq!(world.answer(removing).error(), code);
    }
}

#[test]
fn a_full_store_refuses_and_the_release_may_be_tried_again() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let grant = world.lock(1, segment);
    let first = world.release(1, segment, &grant, 1);
    let asked = world.asked.remove(0);
    world.stored(&asked, full());
    assert_eq!(world.answer(first).error(), ErrorCode::StoreFull);
    assert_eq!(world.newest(1, segment).number, 0, "reads continue");
    let again = world.release(1, segment, &grant, 1);
    world.store_all();
    assert_eq!(world.answer(again).type_, MessageType::WriterReleased);
}

#[test]
fn other_failures_give_the_lock_back() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let grant = world.lock(1, segment);
    let releasing = world.release(1, segment, &grant, 1);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::Closed));
    assert_eq!(world.answer(releasing).error(), ErrorCode::Stopping);
    assert_eq!(world.answer(waiting).type_, MessageType::WriterAcquired);
}

/// Another server has what the store has, or only the next start can tell [STORE-4].
#[test]
fn a_store_that_was_taken_over_or_has_ended_ends_the_server() {
    for error in [
        StoreError::Fenced("by 2".to_string()),
        StoreError::SegmentsFenced(vec![1]),
        StoreError::Ended("it has panicked".to_string()),
    ] {
        let mut world = World::new(true);
        let segment = world.clients(1, Durability::Synced);
        let grant = world.lock(1, segment);
        let releasing = world.release(1, segment, &grant, 1);
        let asked = world.asked.remove(0);
        assert_eq!(world.engine.lost_store(), None);
        world.stored(&asked, Err(error.clone()));
        assert_eq!(world.engine.lost_store(), Some(&error));
        assert_eq!(world.answer(releasing).error(), ErrorCode::Stopping);
    }
}

#[test]
fn lock_9_a_release_on_its_way_to_the_log_is_resolved_when_it_is_there() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let session = session_of(1);
    let grant = world.lock(1, segment);
    world.release(1, segment, &grant, 1);
    world.engine.disconnected(world.now_ns(), 1);
    world.hello_as(2, session);
    let append = world.asked.remove(0);
    let opened = world.send(2, open("/list", Durability::Synced));
    world.answer(opened);
    let resolving = world.send(
        2,
        Request::ResolveRelease(ResolveRelease {
            segment,
            session,
            sequence: 1,
        }),
    );
    assert!(world.try_answer(resolving).is_none(), "not known yet");
    world.stored(&append, Ok(()));
    let resolved: ReleaseResolved = world.answer(resolving).body();
    assert!(resolved.committed && resolved.version.number == 1);
}

/// Counted, since the time of a look at all that waits would show only where thousands do.
#[test]
fn lock_9_a_release_whose_segment_is_removed_on_the_way_is_resolved_as_removed() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let session = session_of(1);
    let grant = world.lock(1, segment);
    let releasing = world.release(1, segment, &grant, 1);
    let resolving = world.send(
        2,
        Request::ResolveRelease(ResolveRelease {
            segment,
            session,
            sequence: 1,
        }),
    );
    let path = "/list".to_string();
    let removing = world.send(2, Request::RemoveSegment(RemoveSegment { path }));
    let [release, removal] = &std::mem::take(&mut world.asked)[..] else {
        panic!("two appends: {:?}", world.asked);
    };
    // Stores answer in the order of the calls today; the engine does not rest on that.
    world.stored(removal, Ok(()));
    assert_eq!(world.answer(removing).type_, MessageType::Done);
    assert!(
        world.try_answer(resolving).is_none(),
        "the log has not said"
    );
    world.stored(release, Ok(()));
    assert_eq!(world.answer(resolving).error(), ErrorCode::Removed);
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
}

#[test]
fn releases_on_their_way_to_the_log_are_not_looked_at_for_every_other() {
    const WRITERS: u64 = 200;
    let mut world = World::new(true);
    for writer in 1..=WRITERS {
        world.hello(writer);
        let segment = world.open(writer, &format!("/list-{writer}"), Durability::Synced);
        let grant = world.lock(writer, segment);
        world.release(writer, segment, &grant, 1);
        world.asked.clear();
    }
    assert_eq!(world.engine.journal.waiting() as u64, WRITERS);
    assert_eq!(world.engine.journal.looked_at, 0, "none is sent again");
}

#[test]
fn lock_8_a_release_sent_again_while_it_is_logged_is_answered_once() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let session = session_of(1);
    let grant = world.lock(1, segment);
    world.release(1, segment, &grant, 1);
    world.engine.disconnected(world.now_ns(), 1);
    world.hello_as(2, session);
    let opened = world.send(2, open("/list", Durability::Synced));
    world.answer(opened);
    let again = world.release(2, segment, &grant, 1);
    assert_eq!(world.asked.len(), 1, "it is not logged again");
    world.store_all();
    assert_eq!(world.answer(again).type_, MessageType::WriterReleased);
    assert_eq!(world.newest(2, segment).number, 1);
}

#[test]
fn memory_segments_are_not_logged_but_saved() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Memory);
    let grant = world.lock(1, segment);
    let releasing = world.release(1, segment, &grant, 1);
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
    assert!(world.asked.is_empty());
    assert!(!world.engine.is_saved());
}

#[test]
fn a_segment_with_much_log_is_checkpointed_once_at_a_time() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    world.write(1, segment, 1);
    for expected in [1, 1] {
        let now_ns = world.now_ns();
        world
            .engine
            .store_looked_at(now_ns, &[(FIRST_FENCE + 1, 1 << 40)], &[]);
        world.drain();
        assert_eq!(world.asked.len(), expected);
    }
    world.store_all();
    let now_ns = world.now_ns();
    world
        .engine
        .store_looked_at(now_ns, &[], &[FIRST_FENCE + 1]);
    world.drain();
    assert_eq!(world.asked.len(), 1, "the store wanted it");
}

#[test]
fn log_5_a_segment_is_saved_when_its_log_is_more_than_twice_as_large() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    for sequence in 1..=3 {
        world.write(1, segment, sequence);
    }
    let now_ns = world.now_ns();
    let known = world
        .engine
        .segment_statistics(now_ns, std::ops::Bound::Unbounded, 1);
    let twice = 2 * known[0].wire_bytes;
    for (log_bytes, saved) in [(twice, 0), (twice + 1, 1)] {
        let much = [(FIRST_FENCE + 1, log_bytes)];
        world.engine.store_looked_at(now_ns, &much, &[]);
        world.drain();
        assert_eq!(world.asked.len(), saved, "{log_bytes}");
    }
}

#[test]
fn many_segments_that_the_store_wants_saved_begin_in_several_turns() {
    const TURN: usize = 48;
    let mut world = World::new(true);
    world.hello(1);
    for i in 0..100 {
        world.open(1, &format!("/list-{i}"), Durability::Synced);
    }
    let ids: Vec<u64> = (FIRST_FENCE + 1..=FIRST_FENCE + 100).collect();
    for saved in [TURN, 2 * TURN, 100] {
        world.engine.store_looked_at(world.now_ns(), &[], &ids);
        world.drain();
        assert_eq!(world.asked.len(), saved);
        let soon = |at_ns: u64| at_ns <= world.now_ns() + 1_000_000;
        let is_soon = world.engine.next_deadline_ns().is_some_and(soon);
        assert_eq!(is_soon, saved < 100, "the next look");
        world.pass(1);
    }
}

#[test]
fn a_memory_segment_is_saved_each_minute_that_it_changes() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Memory);
    world.write(1, segment, 1);
    for (ms, checkpoints) in [(30_000, 0), (30_000, 1), (60_000, 0)] {
        world.pass_talking(ms, &[1]);
        let now_ns = world.now_ns();
        world.engine.store_looked_at(now_ns, &[], &[]);
        world.drain();
        assert_eq!(world.asked.len(), checkpoints);
        world.store_all();
    }
}

#[test]
fn log_5_a_stop_saves_what_the_log_lacks_and_no_more() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    world.write(1, segment, 1);
    let stream = world.send(1, open("/memory", Durability::Memory));
    world.answer(stream);
    world.store_all();
    assert!(world.engine.is_saved(), "the log has it");
    world.engine.stop(world.now_ns());
    let now_ns = world.now_ns();
    let ids = [FIRST_FENCE + 1, FIRST_FENCE + 2];
    world.engine.store_looked_at(now_ns, &[], &ids);
    world.engine.save_and_part(now_ns);
    world.drain();
    assert!(world.asked.is_empty(), "{:?}", world.asked);
}

#[test]
fn many_memory_segments_are_saved_some_at_a_time_and_all_before_the_end() {
    const SEGMENTS: usize = 1000;
    let mut world = World::new(true);
    world.hello(1);
    for i in 0..SEGMENTS {
        let segment = world.open(1, &format!("/list-{i}"), Durability::Memory);
        world.store_all();
        world.write(1, segment, 1);
    }
    world.engine.stop(world.now_ns());
    world.engine.save_and_part(world.now_ns());
    world.drain();
    let mut saved = 0;
    while let Some(asked) = world.asked.pop() {
        assert!(world.asked.len() < 256, "{}", world.asked.len());
        assert!(!world.engine.is_idle());
        saved += 1;
        world.stored(&asked, Ok(()));
    }
    assert_eq!(saved, SEGMENTS);
    assert!(world.engine.is_idle() && world.engine.is_saved());
}

#[test]
fn a_memory_segment_that_the_store_had_no_room_for_is_logged_later() {
    let mut world = World::new(true);
    world.hello(1);
    let stream = world.send(1, open("/list", Durability::Memory));
    world.answer(stream);
    let asked = world.asked.remove(0);
    world.stored(&asked, full());
    let now_ns = world.now_ns();
    world.engine.store_looked_at(now_ns, &[], &[]);
    world.drain();
    let [Asked::Append(_, group, _)] = &world.asked[..] else {
        panic!("the creation is logged again: {:?}", world.asked);
    };
    assert!(matches!(group[0].body, LogBody::Create(_)));
}

#[test]
fn log_8_a_creation_logs_a_bound_of_the_serials_that_are_given_out() {
    for durable in [Durability::Memory, Durability::Synced] {
        let mut world = World::new(true);
        world.hello(1);
        world.send(1, open("/list", durable));
        let [Asked::Append(_, group, asked)] = &world.asked[..] else {
            panic!("one append: {:?}", world.asked);
        };
        assert_eq!(*asked, durable, "what the creation survives");
        let LogBody::Serials(below) = group[1].body else {
            panic!("{group:?}");
        };
        world.store_all();
        let grant = world.lock(1, 1);
        assert!(grant.first_serial + u64::from(grant.serial_count) <= below);
    }
}

#[test]
fn log_8_serials_beyond_the_logged_bound_wait_for_the_log() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let grant = world.lock(1, segment);
    let bound = 1 << 20;
    let more = |count| {
        Request::MoreSerials(MoreSerials {
            segment,
            fence: grant.fence,
            count,
        })
    };
    let first: SerialsGranted = world.ask(1, more(1 << 19)).body();
    assert!(first.first_serial + u64::from(first.serial_count) <= bound);
    let waiting = world.send(1, more(1 << 19));
    assert!(world.try_answer(waiting).is_none(), "it waits for the log");
    let [Asked::Append(_, group, _)] = &world.asked[..] else {
        panic!("the bound is on its way: {:?}", world.asked);
    };
    let LogBody::Serials(below) = group[0].body else {
        panic!("{group:?}");
    };
    assert!(below > bound);
    world.store_all();
    let second: SerialsGranted = world.answer(waiting).body();
    assert!(second.first_serial + u64::from(second.serial_count) <= below);
    assert_eq!(
        world.ask(1, more((1 << 19) + 1)).error(),
        ErrorCode::TooLarge
    );
}

#[test]
fn log_8_serials_that_the_log_cannot_bound_are_refused_with_its_error() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let grant = world.lock(1, segment);
    let more = Request::MoreSerials(MoreSerials {
        segment,
        fence: grant.fence,
        count: 1 << 19,
    });
    world.ask(1, more.clone());
    let waiting = world.send(1, more);
    let asked = world.asked.remove(0);
    world.stored(&asked, full());
    assert_eq!(world.answer(waiting).error(), ErrorCode::StoreFull);
}

#[test]
fn a_release_sent_again_while_it_is_logged_is_answered_once_on_the_later_stream() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let grant = world.lock(1, segment);
    let first = world.release(1, segment, &grant, 1);
    let second = world.release(1, segment, &grant, 1);
    assert_eq!(world.answer(first).error(), ErrorCode::Cancelled);
    world.store_all();
    assert_eq!(world.answer(second).type_, MessageType::WriterReleased);
    assert!(world.try_answer(first).is_none());
    assert_eq!(world.newest(1, segment).number, 1);
}

/// So many requests of the connection wait for the store that no other may.
fn wait_for_all_that_may(world: &mut World, connection: u64) -> Vec<u32> {
    let waiting = |_| world.send(connection, open("/waiting", Durability::Synced));
    (0..1024).map(waiting).collect()
}

#[test]
fn a_request_beyond_those_that_may_wait_is_answered_once_and_changes_nothing() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let grant = world.lock(1, segment);
    let waiting = wait_for_all_that_may(&mut world, 1);
    let remove = Request::RemoveSegment(RemoveSegment {
        path: "/list".to_string(),
    });
    for (request, path) in [
        (open("/waiting", Durability::Synced), "/waiting"),
        (open("/new", Durability::Synced), "/new"),
        (remove, "/list"),
    ] {
        let stream = world.send(1, request);
        assert_eq!(world.answer(stream).error(), ErrorCode::TooLarge, "{path}");
    }
    let stream = world.release(1, segment, &grant, 1);
    assert_eq!(world.answer(stream).error(), ErrorCode::TooLarge);
    world.store_all();
    for stream in waiting {
        assert_eq!(world.answer(stream).type_, MessageType::SegmentOpened);
    }
    assert!(world.sent.is_empty(), "answered twice: {:?}", world.sent);
    assert!(world.engine.segments.number_at("/new").is_none());
    assert_eq!(world.newest(1, segment).number, 0, "it is still there");
    let stream = world.release(1, segment, &grant, 1);
    world.store_all();
    let released = world.answer(stream);
    assert_eq!(released.type_, MessageType::WriterReleased, "still held");
}

/// What a store would find of the segment that `world` wrote.
pub fn found(
    world: &mut World,
    clean: bool,
    durable: Durability,
) -> (RecoveredSegment, VersionStamp) {
    let segment = world.clients(1, durable);
    let mut releases = Vec::new();
    for sequence in 1..=3 {
        let grant = world.lock(1, segment);
        let diff = int_diff(&grant, 7);
        let request = release_writer(segment, &grant, sequence, diff.len());
        world.send_with(1, request, diff.clone());
        world.store_all();
        let release = LogRelease {
            version: sequence,
            chain: world.newest(1, segment).chain,
            session: session_hash(&session_of(1)),
            sequence,
            fence: grant.fence,
        };
        releases.push((release, diff));
    }
    let stamp = world.newest(1, segment);
    let recovered = RecoveredSegment {
        segment_id: 1,
        epoch: (FIRST_FENCE >> 32) + 1,
        path: "/list".to_string(),
        durable,
        quota_bytes: 1 << 20,
        creator: None,
        incarnation: stamp.incarnation,
        checkpoint: None,
        pieces: Vec::new(),
        releases,
        serials_below: 1 << 20,
        clean,
        damage: None,
    };
    (recovered, stamp)
}

#[test]
fn fences_begin_with_the_epoch_of_the_segments_claim() {
    let mut before = World::new(true);
    let (mut segment, _) = found(&mut before, true, Durability::Synced);
    segment.epoch = 77;
    let (mut world, _) = restarted(segment);
    let number = world.clients(1, Durability::Synced);
    world.store_all();
    let grant = world.lock(1, number);
    assert_eq!(grant.fence, (77 << 32) + 1);
}

/// A server that starts with that.
pub fn restarted(segment: RecoveredSegment) -> (World, Vec<String>) {
    let (mut world, remarks) = starting(segment);
    world.store_all();
    (world, remarks)
}

/// The same before the store has answered.
pub fn starting(segment: RecoveredSegment) -> (World, Vec<String>) {
    let mut world = World::with(Config {
        stored: true,
        first_fence: FIRST_FENCE + (1 << 32),
        ..Config::default()
    });
    let remarks = world.engine.recover(0, vec![segment]);
    world.drain();
    (world, remarks)
}

#[test]
fn log_8_a_start_logs_no_bound_of_serials_and_the_first_writer_waits_for_it() {
    let mut before = World::new(true);
    let (segment, _) = found(&mut before, false, Durability::Synced);
    let (mut world, _) = starting(segment);
    assert!(world.asked.is_empty(), "{:?}", world.asked);
    world.hello(1);
    let opening = world.send(1, open("/list", Durability::Synced));
    let opened: SegmentOpened = world.answer(opening).body();
    let segment = opened.segment;
    let strict = acquire_reader(segment, stamp(0, 0), CoherenceModel::Strict);
    assert_eq!(world.ask(1, strict).type_, MessageType::ReaderAcquired);
    world.ask(1, Request::ReleaseReader(ReleaseReader { segment }));
    let locking = world.send(1, acquire_writer(opened.segment, 0));
    assert!(world.try_answer(locking).is_none(), "the log knows no more");
    let [Asked::Append(_, group, _)] = &world.asked[..] else {
        panic!("one append: {:?}", world.asked);
    };
    assert!(matches!(group[0].body, LogBody::Serials(_)), "{group:?}");
    world.store_all();
    let granted: WriterAcquired = world.answer(locking).body();
    assert!(granted.first_serial >= 1 << 20);
}

#[test]
fn log_8_where_the_log_took_no_bound_of_serials_the_next_writer_asks_again() {
    let mut before = World::new(true);
    let (segment, _) = found(&mut before, false, Durability::Synced);
    let (mut world, _) = starting(segment);
    world.hello(1);
    let opening = world.send(1, open("/list", Durability::Synced));
    let number = world.answer(opening).body::<SegmentOpened>().segment;
    let asked = world.asked.remove(0);
    world.stored(&asked, full());
    let locking = world.send(1, acquire_writer(number, 60_000));
    assert_eq!(world.asked.len(), 1);
    world.store_all();
    assert_eq!(world.answer(locking).type_, MessageType::WriterAcquired);
}

#[test]
fn lock_6_where_all_serials_are_given_out_a_writer_is_refused() {
    let mut before = World::new(true);
    let (mut segment, _) = found(&mut before, false, Durability::Synced);
    segment.serials_below = 1 << 48;
    let (mut world, _) = restarted(segment);
    world.hello(1);
    let number = world.open(1, "/list", Durability::Synced);
    let refused = world.ask(1, acquire_writer(number, 60_000));
    assert_eq!(refused.error(), ErrorCode::TooLarge);
}

#[test]
fn lock_10_after_a_restart_old_fences_are_refused_and_releases_remembered() {
    let mut before = World::new(true);
    let (segment, stamp) = found(&mut before, false, Durability::Synced);
    let session = session_of(1);
    let old = before.lock(1, 1);
    let (mut world, remarks) = restarted(segment);
    assert!(remarks.is_empty(), "{remarks:?}");
    world.hello(1);
    let number = world.open(1, "/list", Durability::Memory);
    assert_eq!(world.newest(1, number), stamp, "nothing was lost");
    let late = world.release(1, number, &old, 4);
    assert_eq!(world.answer(late).error(), ErrorCode::Fenced);
    let resolve = |sequence| {
        Request::ResolveRelease(ResolveRelease {
            segment: number,
            session,
            sequence,
        })
    };
    let last: ReleaseResolved = world.ask(1, resolve(3)).body();
    assert!(last.committed && last.version == stamp);
    let lost: ReleaseResolved = world.ask(1, resolve(4)).body();
    assert!(!lost.committed);
    let grant = world.lock(1, number);
    assert!(grant.fence > old.fence && grant.first_serial >= 1 << 20);
}

#[test]
fn log_7_a_segment_that_may_have_lost_versions_begins_a_new_incarnation() {
    for (durable, clean, same) in [
        (Durability::Written, false, false),
        (Durability::Written, true, true),
        (Durability::Synced, false, true),
        (Durability::Memory, true, false),
    ] {
        let mut before = World::new(true);
        let (segment, stamp) = found(&mut before, clean, durable);
        let (mut world, _) = restarted(segment);
        world.hello(1);
        let number = world.open(1, "/list", durable);
        let now = world.newest(1, number);
        assert_eq!(
            now.incarnation == stamp.incarnation,
            same,
            "{durable:?} {clean}"
        );
        assert_eq!(now.number, 3);
    }
}

/// The store names these segments as overdue.
fn look(world: &mut World, overdue: &[u64]) {
    world.engine.store_looked_at(world.now_ns(), &[], overdue);
    world.drain();
}

fn expect_one_checkpoint(world: &World) {
    let asked = &world.asked;
    assert!(matches!(asked[..], [Asked::Checkpoint(..)]), "{asked:?}");
}

/// Of what a start asks of the store, everything is taken but the incarnation.
fn refuse_incarnation(world: &mut World) {
    let is_incarnation = |asked: &Asked| match asked {
        Asked::Append(_, group, _) => matches!(group[0].body, LogBody::Incarnation(_)),
        Asked::Checkpoint(..) | Asked::InPieces(..) => false,
    };
    let at = world.asked.iter().position(is_incarnation);
    let asked = world.asked.remove(at.expect("an incarnation begins"));
    world.stored(&asked, full());
    world.store_all();
}

#[test]
fn log_5_a_memory_segment_is_saved_in_time_although_the_store_was_full_at_the_start() {
    let mut before = World::new(true);
    let (segment, _) = found(&mut before, true, Durability::Memory);
    let (mut world, _) = starting(segment);
    refuse_incarnation(&mut world);
    world.hello(1);
    let number = world.open(1, "/list", Durability::Memory);
    world.write(1, number, 4);
    world.store_all();
    world.pass_talking(60_000, &[1]);
    look(&mut world, &[]);
    expect_one_checkpoint(&world);
}

#[test]
fn log_7_an_incarnation_that_neither_log_nor_checkpoint_has_taken_is_not_saved() {
    let mut before = World::new(true);
    let (segment, _) = found(&mut before, false, Durability::Written);
    let id = segment.segment_id;
    let (mut world, _) = starting(segment);
    refuse_incarnation(&mut world);
    assert!(!world.engine.is_saved());
    look(&mut world, &[id]);
    let checkpoint = world.asked.pop().expect("it is overdue");
    world.stored(&checkpoint, full());
    assert!(!world.engine.is_saved(), "the next start would not know");
    world.engine.stop(world.now_ns());
    world.engine.save_and_part(world.now_ns());
    world.drain();
    world.store_all();
    assert!(world.engine.is_saved());
}

#[test]
fn a_memory_segment_that_changes_while_it_is_saved_is_saved_again() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Memory);
    world.write(1, segment, 1);
    world.pass_talking(59_000, &[1]);
    let id = FIRST_FENCE + 1;
    look(&mut world, &[id]);
    let under_way = world.asked.pop().expect("the store wanted it");
    world.write(1, segment, 2);
    world.pass_talking(2_000, &[1]);
    look(&mut world, &[]);
    assert!(world.asked.is_empty(), "one at a time: {:?}", world.asked);
    world.stored(&under_way, Ok(()));
    world.pass_talking(60_000, &[1]);
    look(&mut world, &[]);
    expect_one_checkpoint(&world);
}

#[test]
fn coh_11_a_number_that_is_given_again_is_told_apart_from_the_lost_one() {
    let mut before = World::new(true);
    let (mut segment, lost) = found(&mut before, false, Durability::Synced);
    segment.releases.pop();
    let (mut world, _) = restarted(segment);
    world.hello(1);
    world.hello(2);
    let number = world.open(1, "/list", Durability::Synced);
    world.open(2, "/list", Durability::Synced);
    let ask = acquire_reader(number, lost.clone(), CoherenceModel::Delta);
    let ahead = world.ask(1, ask.clone());
    assert_eq!(diff_of(&ahead), (0, 2), "the server has less");
    world.write(2, number, 1);
    let now = world.newest(2, number);
    assert_eq!(
        (now.incarnation, now.number),
        (lost.incarnation, lost.number)
    );
    assert_ne!(now.chain, lost.chain);
    assert_eq!(diff_of(&world.ask(1, ask)), (0, 3), "the same number");
}

/// From which version to which.
fn diff_of(answer: &Sent) -> (u64, u64) {
    let diff = interweave_wire::Diff::parse(&answer.bulk).unwrap();
    (diff.from, diff.to)
}

#[test]
fn diff_10_a_log_whose_chains_do_not_hold_is_damage() {
    let mut before = World::new(true);
    let (whole, _) = found(&mut before, false, Durability::Synced);
    let good = whole.releases[1].0.chain;
    for wrong in [good ^ 1, 0] {
        let mut segment = whole.clone();
        segment.releases[1].0.chain = wrong;
        let (_, remarks) = restarted(segment);
        let what = format!("chain {wrong:016x} of version 2, its diffs make {good:016x}");
        assert!(
            remarks.len() == 1 && remarks[0].contains(&what),
            "{remarks:?}"
        );
    }
}
