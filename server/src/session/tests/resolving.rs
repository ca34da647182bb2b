//! Clients ask about releases whose answers were lost [LOCK-9].

use super::releases::resolve;
use super::*;

#[test]
fn lock_9_resolving_a_release_of_one_segment_leaves_others_alone() {
    let mut world = World::new(false);
    world.hello(1);
    let session = session_of(1);
    let a = world.open(1, "/a", Durability::Memory);
    let b = world.open(1, "/b", Durability::Memory);
    let grant = world.lock(1, b);
    let resolved: ReleaseResolved = world.ask(1, resolve(a, session, 9)).body();
    assert!(!resolved.committed);
    let stream = world.release(1, b, &grant, 8);
    assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
}

#[test]
fn lock_9_after_a_reconnect_the_answer_is_committed_or_rolled_back_for_good() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let session = session_of(1);
    world.write(1, segment, 1);
    let grant = world.lock(1, segment);
    world.hello(2);
    world.open(2, "/list", Durability::Memory);
    let first: ReleaseResolved = world.ask(2, resolve(segment, session, 1)).body();
    assert!(first.committed && first.version.number == 1);
    let second: ReleaseResolved = world.ask(2, resolve(segment, session, 2)).body();
    assert!(!second.committed);
    assert_eq!(world.closed, [1], "what might still carry it is closed");
    // Also the resumed session cannot commit it any more.
    world.hello_as(3, session);
    world.open(3, "/list", Durability::Memory);
    let late = world.release(3, segment, &grant, 2);
    assert_eq!(world.answer(late).error(), ErrorCode::RolledBack);
    assert_eq!(world.newest(2, segment).number, 1);
    world.lock(2, segment);
}

/// The client asks for the lock before it asks about the release of before.
#[test]
fn lock_9_a_grant_of_after_the_release_stays() {
    let mut world = World::new(true);
    let segment = world.clients(1, Durability::Synced);
    let session = session_of(1);
    let grant = world.lock(1, segment);
    world.release(1, segment, &grant, 1);
    let refused = world.asked.remove(0);
    world.stored(&refused, Err(StoreError::Away("no connection".to_string())));
    world.release(1, segment, &grant, 2);
    let kept = world.asked.remove(0);
    world.stored(&kept, Ok(()));
    let next = world.lock(1, segment);
    let resolved: ReleaseResolved = world.ask(1, resolve(segment, session, 3)).body();
    assert!(!resolved.committed);
    let stream = world.release(1, segment, &next, 4);
    let kept = world.asked.remove(0);
    world.stored(&kept, Ok(()));
    assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
}

#[test]
fn lock_9_a_release_that_was_refused_leaves_no_lock_when_it_is_resolved() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let session = session_of(1);
    let grant = world.lock(1, segment);
    world.release(1, segment, &grant, 1);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    let refused = world.asked.remove(0);
    world.stored(&refused, Err(StoreError::Away("no connection".to_string())));
    assert!(world.try_answer(waiting).is_none(), "it may try again");
    let resolved: ReleaseResolved = world.ask(1, resolve(segment, session, 1)).body();
    assert!(!resolved.committed);
    assert_eq!(world.answer(waiting).type_, MessageType::WriterAcquired);
}

/// The client gave it up with the release, and would wait for itself.
#[test]
fn lock_9_a_release_that_is_rolled_back_leaves_no_lock() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let session = session_of(1);
    world.lock(1, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    world.hello(3);
    world.open(3, "/list", Durability::Memory);
    let resolved: ReleaseResolved = world.ask(3, resolve(segment, session, 1)).body();
    assert!(!resolved.committed);
    assert_eq!(world.answer(waiting).type_, MessageType::WriterAcquired);
}
