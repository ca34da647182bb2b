//! A segment of a space is removed, and another server may make it anew at once [SPACE-28..29].

use super::keeping::{hello_keeping, kept};
use super::moving::opened_by;
use super::space::{claimed, member, sought, PATH};
use super::*;
use interweave_store::{Sought, StoreError};

/// A member with the segment, which the clients 1 and 2 have open; its number. Client 2 listens.
fn owner(world: &mut World) -> u32 {
    for connection in [1, 2, 9] {
        world.hello(connection);
    }
    let number = opened_by(world, 1);
    world.ask(2, open(PATH, Durability::Synced));
    let subscribe = Request::Subscribe(Subscribe {
        segment: number,
        have: stamp(0, 0),
        model: CoherenceModel::Full,
        x: 0.0,
        push: false,
        push_bytes: 0,
    });
    world.ask(2, subscribe);
    number
}

fn remove() -> Request {
    Request::RemoveSegment(RemoveSegment {
        path: PATH.to_string(),
    })
}

fn is_removal(asked: &Asked) -> bool {
    let Asked::Append(_, group, _) = asked else {
        return false;
    };
    group[0].body == LogBody::Other(LogKind::Remove as i32)
}

fn announced(world: &mut World) -> usize {
    world.notifications(2, MessageType::NotRecent).len()
}

#[test]
fn space_28_no_copy_is_confirmed_once_the_store_is_asked_to_remove_the_segment() {
    let mut world = member();
    owner(&mut world);
    let removing = world.send(9, remove());
    assert_eq!(announced(&mut world), 1, "it is told before the store is");
    let asked = world.asked.remove(0);
    assert!(is_removal(&asked));
    world.stored(&asked, Ok(()));
    assert_eq!(world.answer(removing).type_, MessageType::Done);
    let gone = world.notifications(2, MessageType::SegmentGone);
    assert_eq!(gone.len(), 1);
}

#[test]
fn space_28_a_removal_waits_for_a_release_on_its_way() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    let release = world.release(1, number, &grant, 1);
    let removing = world.send(9, remove());
    let [released] = &std::mem::take(&mut world.asked)[..] else {
        panic!("the release alone: {:?}", world.asked);
    };
    assert_eq!(announced(&mut world), 0);
    let refused = world.ask(2, acquire_reader(number, stamp(0, 0), CoherenceModel::Full));
    assert_eq!(refused.error(), ErrorCode::Removed);
    world.stored(released, Ok(()));
    assert_eq!(world.answer(release).type_, MessageType::WriterReleased);
    assert_eq!(announced(&mut world), 1);
    let asked = world.asked.remove(0);
    assert!(is_removal(&asked));
    world.stored(&asked, Ok(()));
    assert_eq!(world.answer(removing).type_, MessageType::Done);
}

#[test]
fn space_28_a_removal_that_waits_finds_the_segment_damaged() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    world.release(1, number, &grant, 1);
    let removing = world.send(9, remove());
    let damaged = StoreError::Damaged {
        file: "the log".to_string(),
        offset: 0,
        what: "a record is torn".to_string(),
    };
    let released = world.asked.remove(0);
    world.stored(&released, Err(damaged));
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::Full("no room".to_string())));
    assert_eq!(world.answer(removing).error(), ErrorCode::StoreFull);
    let refused = world.ask(1, open(PATH, Durability::Synced));
    assert_eq!(refused.error(), ErrorCode::Damaged);
}

#[test]
fn space_28_locks_are_granted_again_if_the_store_does_not_remove_the_segment() {
    let mut world = member();
    let number = owner(&mut world);
    world.lock(1, number);
    let queued = world.send(2, acquire_writer(number, 60_000));
    let removing = world.send(9, remove());
    // It gives the lock back.
    world.ask(1, Request::CloseSegment(CloseSegment { segment: number }));
    assert!(world.try_answer(queued).is_none(), "nobody is granted it");
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::Full("no room".to_string())));
    assert_eq!(world.answer(removing).error(), ErrorCode::StoreFull);
    assert_eq!(world.answer(queued).type_, MessageType::WriterAcquired);
}

#[test]
fn space_28_a_removal_that_waits_is_answered_if_another_server_has_claimed_the_segment() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    world.release(1, number, &grant, 1);
    let removing = world.send(9, remove());
    let released = world.asked.remove(0);
    let fenced = StoreError::SegmentsFenced(vec![5 << 32]);
    world.stored(&released, Err(fenced));
    assert_eq!(world.answer(removing).error(), ErrorCode::Stopping);
    assert!(world.asked.is_empty() && world.engine.is_idle());
}

#[test]
fn space_29_a_segment_that_was_not_there_may_be_there_again() {
    let mut world = member();
    world.hello(1);
    let Request::OpenSegment(open) = open(PATH, Durability::Synced) else {
        unreachable!()
    };
    let existing = Request::OpenSegment(OpenSegment {
        create: false,
        ..open
    });
    let first = world.send(1, existing.clone());
    sought(&mut world, Ok(Sought::Absent));
    assert_eq!(world.answer(first).error(), ErrorCode::NoSegment);
    let second = world.send(1, existing);
    sought(&mut world, Ok(claimed(Durability::Synced)));
    assert_eq!(world.answer(second).type_, MessageType::SegmentOpened);
}

/// Its grant is over before its lease is, and the server has nothing to do for it meanwhile.
#[test]
fn lock_16_a_segment_is_removed_soon_after_the_client_that_keeps_its_grant_has_died() {
    for dead_ms in [0, 300] {
        let mut world = member();
        hello_keeping(&mut world, 1, [0; 16]);
        world.hello(9);
        let number = opened_by(&mut world, 1);
        kept(&mut world, number);
        let now_ns = world.now_ns();
        world.engine.disconnected(now_ns, 1);
        world.drain();
        world.pass(dead_ms);
        let removing = world.send(9, remove());
        world.pass(300);
        world.store_all();
        assert_eq!(world.answer(removing).type_, MessageType::Done);
    }
}
