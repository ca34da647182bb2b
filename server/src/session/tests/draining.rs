//! A drained server claims nothing and makes nothing (spec/space.md).

use super::moving::{follow_other, owner};
use super::space::{claimed, elsewhere, member, renew, sought, PATH};
use super::*;
use interweave_store::{Sought, StoreError};

/// Drains the server; the store renews its lease.
fn drained(world: &mut World) {
    let draining = world.send(9, Request::Drain);
    assert!(world.says_drained);
    renew(world, Ok(()));
    assert_eq!(world.answer(draining).type_, MessageType::Done);
}

#[test]
fn space_24_a_drained_server_claims_and_creates_nothing() {
    let mut world = member();
    owner(&mut world);
    drained(&mut world);
    world.hello(3);
    let other = world.send(3, open("/other", Durability::Synced));
    assert_eq!(world.claims, [true, false]);
    sought(&mut world, Ok(Sought::Absent));
    assert_eq!(world.answer(other).error(), ErrorCode::Stopping);
    drained(&mut world);
    assert_eq!(world.ask(9, follow_other()).error(), ErrorCode::Stopping);
    let mine = world.ask(3, open(PATH, Durability::Synced));
    assert_eq!(
        mine.type_,
        MessageType::SegmentOpened,
        "what it has it serves"
    );
}

#[test]
fn space_24_a_drain_is_answered_when_a_renewal_has_said_so() {
    let mut world = member();
    world.hello(9);
    // A renewal that was asked for before does not say it yet.
    world.pass(600);
    let draining = world.send(9, Request::Drain);
    assert!(!world.says_drained);
    renew(&mut world, Ok(()));
    assert!(world.try_answer(draining).is_none());
    // Nor does one that failed.
    assert!(world.says_drained, "the next one follows at once");
    renew(&mut world, Err(StoreError::Io("away".to_string())));
    assert!(world.try_answer(draining).is_none());
    world.pass(200);
    renew(&mut world, Ok(()));
    assert_eq!(world.answer(draining).type_, MessageType::Done);
    world.pass(600);
    assert!(world.says_drained, "each renewal says so");
}

/// An operator who empties the server would not see a segment that comes to it afterwards.
#[test]
fn space_24_a_drain_waits_for_claims_and_creations_that_began_before() {
    let mut world = member();
    for connection in [1, 9] {
        world.hello(connection);
    }
    world.send(1, open(PATH, Durability::Synced));
    world.send(1, open("/made", Durability::Synced));
    let draining = world.send(9, Request::Drain);
    world.send(1, open("/later", Durability::Synced));
    assert_eq!(world.claims, [true, true, false]);
    renew(&mut world, Ok(()));
    assert!(world.try_answer(draining).is_none());
    sought(&mut world, Ok(claimed(Durability::Synced)));
    assert!(world.try_answer(draining).is_none(), "one may still claim");
    sought(&mut world, Ok(Sought::Absent));
    assert_eq!(world.answer(draining).type_, MessageType::Done);
    assert!(
        world.asked.iter().all(|asked| !creates(asked)),
        "it is too late"
    );
}

#[test]
fn space_24_a_creation_whose_look_began_before_a_drain_is_sent_on() {
    let mut world = member();
    for connection in [1, 9] {
        world.hello(connection);
    }
    let creating = world.send(1, open("/made", Durability::Synced));
    let draining = world.send(9, Request::Drain);
    let late = world.send(1, open("/made", Durability::Synced));
    renew(&mut world, Ok(()));
    sought(&mut world, Ok(Sought::Absent));
    assert_eq!(world.claims, [true, false], "it is looked for again");
    assert_eq!(world.answer(draining).type_, MessageType::Done);
    sought(&mut world, Ok(elsewhere()));
    for request in [creating, late] {
        assert_eq!(world.answer(request).error(), ErrorCode::Redirected);
    }
}

#[test]
fn space_24_a_drain_waits_for_a_creation_that_is_on_its_way() {
    let mut world = member();
    for connection in [1, 9] {
        world.hello(connection);
    }
    world.send(1, open(PATH, Durability::Synced));
    sought(&mut world, Ok(Sought::Absent));
    let draining = world.send(9, Request::Drain);
    renew(&mut world, Ok(()));
    assert!(world.asked.iter().any(creates));
    assert!(world.try_answer(draining).is_none());
    world.store_all();
    assert_eq!(world.answer(draining).type_, MessageType::Done);
}

fn creates(asked: &Asked) -> bool {
    let is_creation = |record: &Record| matches!(record.body, LogBody::Create(_));
    matches!(asked, Asked::Append(_, group, _) if group.iter().any(is_creation))
}
