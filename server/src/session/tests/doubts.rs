//! Appends whose outcome the store does not know are settled [STORE-18].

use super::*;
use interweave_store::End;

const AGAIN_MS: u64 = 250;

fn unknown() -> Result<(), StoreError> {
    Err(StoreError::Unknown("the connection broke".to_string()))
}

fn id_of(asked: &Asked) -> u64 {
    match asked {
        Asked::Append(_, group, _) => group[0].segment_id,
        other => panic!("{other:?}"),
    }
}

/// A release whose append has that outcome: its stream, and its segment's id.
fn in_doubt(world: &mut World, segment: u32) -> (u32, u64) {
    let grant = world.lock(1, segment);
    let releasing = world.release(1, segment, &grant, 1);
    let asked = world.asked.remove(0);
    let id = id_of(&asked);
    world.stored(&asked, unknown());
    assert_eq!(world.settling, [[id]]);
    (releasing, id)
}

fn settle(world: &mut World, ends: Result<Vec<(u64, End)>, StoreError>) {
    world.settling.remove(0);
    world.engine.settled(world.now_ns(), ends);
    world.drain();
}

fn at(world: &World, version: u64) -> End {
    End::At {
        incarnation: world
            .engine
            .segments
            .get(1)
            .expect("it is there")
            .incarnation,
        version,
        serials_below: 0,
    }
}

#[test]
fn store_18_a_release_in_doubt_is_acknowledged_once_the_store_says_that_it_is_there() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let (releasing, id) = in_doubt(&mut world, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    assert!(world.try_answer(releasing).is_none());
    assert_eq!(world.newest(2, segment).number, 0, "it does not show");
    assert_eq!(world.engine.statistics().store_undecided, 1);
    let end = at(&world, 1);
    settle(&mut world, Ok(vec![(id, end)]));
    assert_eq!(world.engine.statistics().store_undecided, 0);
    assert!(world.settling.is_empty(), "there is nothing more to decide");
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
    assert_eq!(world.answer(waiting).type_, MessageType::WriterAcquired);
    assert_eq!(world.newest(2, segment).number, 1);
    assert_eq!(world.engine.lost_store(), None, "the server continues");
    assert!(world.engine.is_idle());
}

#[test]
fn store_18_a_release_that_is_not_there_may_be_tried_again() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let grant = world.lock(1, segment);
    let releasing = world.release(1, segment, &grant, 1);
    let asked = world.asked.remove(0);
    world.stored(&asked, unknown());
    let end = at(&world, 0);
    settle(&mut world, Ok(vec![(id_of(&asked), end)]));
    assert_eq!(world.answer(releasing).error(), ErrorCode::StoreAway);
    assert!(world.asked.is_empty(), "nothing is sent a second time");
    let again = world.release(1, segment, &grant, 2);
    world.store_all();
    assert_eq!(world.answer(again).type_, MessageType::WriterReleased);
}

#[test]
fn store_18_the_store_is_asked_until_it_can_tell() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let (releasing, id) = in_doubt(&mut world, segment);
    for error in [
        StoreError::Io("no connection".to_string()),
        StoreError::Alone("no standby".to_string()),
        StoreError::Away("no connection".to_string()),
        StoreError::Unknown("again".to_string()),
    ] {
        settle(&mut world, Err(error));
        world.pass(AGAIN_MS - 1);
        assert!(world.settling.is_empty());
        world.pass(1);
        assert_eq!(world.settling, [[id]]);
        assert!(world.try_answer(releasing).is_none());
        assert_eq!(world.engine.lost_store(), None);
    }
    let end = at(&world, 1);
    settle(&mut world, Ok(vec![(id, end)]));
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
}

#[test]
fn store_18_of_a_release_in_doubt_the_store_decides_about_the_logged_segments_alone() {
    let mut world = World::new(true);
    world.hello(1);
    let logged = world.open(1, "/a", Durability::Synced);
    let memory = world.open(1, "/b", Durability::Memory);
    let (grant, other) = (world.lock(1, logged), world.lock(1, memory));
    let (request, bulk) = super::releases::release_both((logged, &grant), (memory, &other), 1);
    let releasing = world.send_with(1, request, bulk);
    let asked = world.asked.remove(0);
    let id = id_of(&asked);
    world.stored(&asked, unknown());
    assert_eq!(world.settling, [[id]]);
    assert_eq!(world.engine.wire.counters.doubts, 1);
    let end = at(&world, 1);
    settle(&mut world, Ok(vec![(id, end)]));
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
}

/// [LOCK-9]
#[test]
fn store_18_whoever_asks_what_became_of_a_release_in_doubt_waits() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let session = session_of(1);
    let (_, id) = in_doubt(&mut world, segment);
    world.engine.disconnected(world.now_ns(), 1);
    world.hello_as(2, session);
    world.open(2, "/list", Durability::Synced);
    let resolve = Request::ResolveRelease(ResolveRelease {
        segment,
        session,
        sequence: 1,
    });
    let resolving = world.send(2, resolve);
    assert!(world.try_answer(resolving).is_none());
    let end = at(&world, 1);
    settle(&mut world, Ok(vec![(id, end)]));
    let resolved: ReleaseResolved = world.answer(resolving).body();
    assert!(resolved.committed);
}

/// [LOCK-9]
#[test]
fn store_18_a_release_that_is_not_there_leaves_no_lock() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let session = session_of(1);
    let (_, id) = in_doubt(&mut world, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    world.engine.disconnected(world.now_ns(), 1);
    world.hello(3);
    world.open(3, "/list", Durability::Synced);
    let resolve = Request::ResolveRelease(ResolveRelease {
        segment,
        session,
        sequence: 1,
    });
    let resolving = world.send(3, resolve);
    let end = at(&world, 0);
    settle(&mut world, Ok(vec![(id, end)]));
    let resolved: ReleaseResolved = world.answer(resolving).body();
    assert!(!resolved.committed);
    assert_eq!(world.answer(waiting).type_, MessageType::WriterAcquired);
}

/// A session that lost its connection and asks for the lock again has given its grant up.
#[test]
fn store_18_a_session_does_not_wait_for_its_own_release_that_is_not_there() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let session = session_of(1);
    let (_, id) = in_doubt(&mut world, segment);
    world.engine.disconnected(world.now_ns(), 1);
    world.hello_as(2, session);
    world.open(2, "/list", Durability::Synced);
    let acquiring = world.send(2, acquire_writer(segment, 60_000));
    assert!(world.try_answer(acquiring).is_none());
    let end = at(&world, 0);
    settle(&mut world, Ok(vec![(id, end)]));
    assert_eq!(world.answer(acquiring).type_, MessageType::WriterAcquired);
}

/// The store refused the record of the incarnation, or it is in a checkpoint alone. Clients must be
/// told all the same that the release is there.
#[test]
fn store_18_a_release_is_there_also_if_the_store_does_not_know_the_incarnation() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Written);
    let (releasing, id) = in_doubt(&mut world, segment);
    let end = End::At {
        incarnation: 12_345,
        version: 1,
        serials_below: 0,
    };
    settle(&mut world, Ok(vec![(id, end)]));
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
}

/// Other segments are not in doubt.
#[test]
fn store_18_further_appends_to_a_segment_in_doubt_wait_for_the_decision() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let other = world.open(2, "/other", Durability::Synced);
    let (releasing, id) = in_doubt(&mut world, segment);
    let removing = world.send(
        2,
        Request::RemoveSegment(RemoveSegment {
            path: "/list".to_string(),
        }),
    );
    assert!(world.asked.is_empty());
    assert_eq!(world.write(2, other, 1), 1);
    let end = at(&world, 1);
    settle(&mut world, Ok(vec![(id, end)]));
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
    assert_eq!(world.asked.len(), 1);
    assert_eq!(id_of(&world.asked[0]), id);
    world.store_all();
    assert_eq!(world.answer(removing).type_, MessageType::Done);
}

#[test]
fn store_18_creations_and_removals_are_settled_too() {
    for is_there in [true, false] {
        let mut world = World::new(true);
        world.hello(1);
        let opening = world.send(1, open("/list", Durability::Synced));
        let asked = world.asked.remove(0);
        world.stored(&asked, unknown());
        let end = if is_there { at(&world, 0) } else { End::Absent };
        settle(&mut world, Ok(vec![(id_of(&asked), end)]));
        let opened = world.answer(opening).type_;
        assert_eq!(opened == MessageType::SegmentOpened, is_there, "{opened:?}");
        if !is_there {
            continue;
        }
        world.store_all();
        let path = "/list".to_string();
        let removing = world.send(1, Request::RemoveSegment(RemoveSegment { path }));
        let asked = world.asked.remove(0);
        world.stored(&asked, unknown());
        settle(&mut world, Ok(vec![(id_of(&asked), End::Absent)]));
        assert_eq!(world.answer(removing).type_, MessageType::Done);
    }
}

/// The next start, or the other owner, can tell.
#[test]
fn store_18_a_server_that_cannot_settle_ends() {
    let gone = || StoreError::Damaged {
        file: "the log".to_string(),
        offset: 0,
        what: "records are gone".to_string(),
    };
    let fenced = |world: &World| {
        let segment = world.engine.segments.get(1).expect("it is there");
        Ok(vec![(segment.id, End::Fenced)])
    };
    let nothing = |_: &World| Ok(Vec::new());
    type Answer<'a> = &'a dyn Fn(&World) -> Result<Vec<(u64, End)>, StoreError>;
    let answers: [Answer; 4] = [&|_| Err(gone()), &fenced, &nothing, &|_| {
        Err(StoreError::Fenced("by 2".to_string()))
    }];
    for answer in answers {
        let mut world = World::new(true);
        let segment = world.clients(1, Durability::Synced);
        let (releasing, _) = in_doubt(&mut world, segment);
        let ends = answer(&world);
        settle(&mut world, ends);
        assert!(world.engine.lost_store().is_some());
        assert_eq!(world.answer(releasing).error(), ErrorCode::Stopping);
        assert!(world.engine.is_idle());
    }
}

#[test]
fn store_18_a_server_that_ends_without_the_decision_tells_nobody_one() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let session = session_of(1);
    let (_, _) = in_doubt(&mut world, segment);
    let resolve = || {
        Request::ResolveRelease(ResolveRelease {
            segment,
            session,
            sequence: 1,
        })
    };
    let resolving = world.send(2, resolve());
    let no_connection = || Err(StoreError::Io("no connection".to_string()));
    settle(&mut world, no_connection());
    world.engine.stop(world.now_ns());
    world.drain();
    settle(&mut world, no_connection());
    assert_eq!(world.answer(resolving).error(), ErrorCode::Stopping);
    let later = world.ask(2, resolve());
    assert_eq!(
        later.error(),
        ErrorCode::Stopping,
        "the release may be there"
    );
}

#[test]
fn store_18_a_server_that_stops_asks_once_more() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let (releasing, id) = in_doubt(&mut world, segment);
    let no_connection = || Err(StoreError::Io("no connection".to_string()));
    settle(&mut world, no_connection());
    world.engine.stop(world.now_ns());
    world.drain();
    assert_eq!(world.settling, [[id]], "without a wait");
    settle(&mut world, no_connection());
    assert_eq!(world.answer(releasing).error(), ErrorCode::Stopping);
    assert!(world.engine.lost_store().is_some());
    assert!(world.engine.is_idle(), "nothing keeps the server");
}
