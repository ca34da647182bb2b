//! A segment moves from one server of a space to another one (spec/space.md).

use super::durability::found;
use super::keeping::{hello_keeping, kept, recalls};
use super::space::{claimed, elsewhere, member, sought, PATH};
use super::*;
use crate::session::{Found, Read, Rebuilt};
use interweave_store::{Elsewhere, Given, Since, Sought, StoreError};
use interweave_wire::fields::field;
use interweave_wire::protocol::{FieldKey, MovingField};

const OTHER: u64 = 77;

/// The connection opens the segment, which the member claims; its number.
pub fn opened_by(world: &mut World, connection: u64) -> u32 {
    let opening = world.send(connection, open(PATH, Durability::Synced));
    sought(world, Ok(claimed(Durability::Synced)));
    world.store_all();
    world.answer(opening).body::<SegmentOpened>().segment
}

/// A member with the segment, which the clients 1 and 2 have open; its number. Client 9 is an
/// operator.
pub fn owner(world: &mut World) -> u32 {
    for connection in [1, 2, 9] {
        world.hello(connection);
    }
    let number = opened_by(world, 1);
    world.ask(2, open(PATH, Durability::Synced));
    number
}

/// Clients 1 and 2 follow SEGMENT_MOVED.
fn owner_of_followers(world: &mut World) -> u32 {
    for connection in [1, 2] {
        let peer = Peer::default();
        let (now_ns, id) = (world.now_ns(), session_of(connection));
        world.engine.connected(now_ns, connection, id, peer);
        let moving = MovingField {
            follows_moves: true,
        };
        let greeting = Hello {
            fields: vec![field(FieldKey::Moving, &moving)],
            ..hello([0; 16])
        };
        let welcome = world.ask(connection, Request::Hello(greeting));
        assert_eq!(welcome.type_, MessageType::Welcome);
    }
    world.hello(9);
    let number = opened_by(world, 1);
    world.ask(2, open(PATH, Durability::Synced));
    number
}

pub fn hand_over(deadline_ms: u32) -> Request {
    Request::HandOver(HandOver {
        path: PATH.to_string(),
        member: OTHER,
        deadline_ms,
    })
}

fn follow() -> Request {
    Request::FollowSegment(FollowSegment {
        path: PATH.to_string(),
    })
}

pub fn follow_other() -> Request {
    Request::FollowSegment(FollowSegment {
        path: "/other".to_string(),
    })
}

fn to() -> Given {
    Given::To(Elsewhere {
        address: "b.example:7747".to_string(),
        tls_name: "b".to_string(),
    })
}

fn given(world: &mut World, given: Result<Given, StoreError>) {
    let (number, member) = world.gives.remove(0);
    assert_eq!(member, OTHER);
    let now_ns = world.now_ns();
    world.engine.given(now_ns, number, given);
    world.drain();
}

fn followed(world: &mut World, read: Read) {
    let path = world.follows.remove(0);
    let now_ns = world.now_ns();
    world.engine.followed(now_ns, &path, Ok(read));
    world.drain();
}

#[test]
fn space_19_a_segment_is_given_away_when_its_writer_has_ended_and_nobody_else_was_granted() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    let handing = world.send(9, hand_over(10_000));
    let waiting = world.send(2, acquire_writer(number, 60_000));
    assert!(world.gives.is_empty(), "somebody writes");
    let release = world.release(1, number, &grant, 1);
    assert!(world.gives.is_empty(), "the release is not durable yet");
    world.store_all();
    let released = world.answer(release);
    assert_eq!(released.type_, MessageType::WriterReleased);
    assert!(
        world.try_answer(waiting).is_none(),
        "nobody is granted the lock"
    );
    assert_eq!(world.gives, [(number, OTHER)]);
    assert_eq!(world.closed, [1, 2], "they hear nothing more of it here");
    given(&mut world, Ok(to()));
    assert_eq!(world.answer(handing).type_, MessageType::Done);
    assert!(world.engine.is_idle());
    world.hello(3);
    let opening = world.send(3, open(PATH, Durability::Synced));
    sought(&mut world, Ok(elsewhere()));
    assert_eq!(world.answer(opening).error(), ErrorCode::Redirected);
}

#[test]
fn space_19_a_strict_reader_is_waited_for() {
    let mut world = member();
    let number = owner(&mut world);
    let strict = Request::AcquireReader(AcquireReader {
        segment: number,
        have: stamp(0, 0),
        model: CoherenceModel::Strict,
        x: 0.0,
        fresh: false,
        deadline_ms: 0,
    });
    assert_eq!(world.ask(2, strict).type_, MessageType::ReaderAcquired);
    world.send(9, hand_over(10_000));
    assert!(world.gives.is_empty());
    world.ask(2, Request::ReleaseReader(ReleaseReader { segment: number }));
    assert_eq!(world.gives, [(number, OTHER)]);
}

#[test]
fn space_19_a_grant_that_a_client_keeps_is_recalled() {
    let mut world = member();
    hello_keeping(&mut world, 1, [0; 16]);
    world.hello(9);
    let number = opened_by(&mut world, 1);
    let grant = kept(&mut world, number);
    world.send(9, hand_over(10_000));
    assert!(world.gives.is_empty());
    assert_eq!(recalls(&mut world), [grant.fence]);
    let abort = AbortWriter {
        segment: number,
        fence: grant.fence,
    };
    world.ask(1, Request::AbortWriter(abort));
    assert_eq!(world.gives, [(number, OTHER)]);
}

#[test]
fn space_19_an_owner_whose_segment_is_found_damaged_says_so() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    let handing = world.send(9, hand_over(10_000));
    world.release(1, number, &grant, 1);
    let damage = StoreError::Damaged {
        file: "log_1".to_string(),
        offset: 7,
        what: "a bad checksum".to_string(),
    };
    let release = world.asked.remove(0);
    world.stored(&release, Err(damage));
    assert_eq!(world.answer(handing).error(), ErrorCode::Damaged);
    assert!(world.gives.is_empty() && world.engine.is_idle());
    let again = world.ask(2, open(PATH, Durability::Synced));
    assert_eq!(again.error(), ErrorCode::Damaged);
}

#[test]
fn space_19_an_owner_whose_writer_does_not_end_in_time_grants_again() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    let handing = world.send(9, hand_over(1_000));
    let waiting = world.send(2, acquire_writer(number, 60_000));
    world.pass_talking(500, &[1, 2, 9]);
    world.pass(499);
    assert!(world.try_answer(handing).is_none());
    world.pass(1);
    assert_eq!(world.answer(handing).error(), ErrorCode::TimedOut);
    let abort = AbortWriter {
        segment: number,
        fence: grant.fence,
    };
    world.ask(1, Request::AbortWriter(abort));
    let granted = world.answer(waiting);
    assert_eq!(granted.type_, MessageType::WriterAcquired);
    assert!(world.gives.is_empty() && world.closed.is_empty());
}

#[test]
fn space_19_a_server_that_stops_hands_nothing_over() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    let handing = world.send(9, hand_over(10_000));
    world.engine.stop(world.now_ns());
    world.drain();
    assert_eq!(world.answer(handing).error(), ErrorCode::Stopping);
    world.release(1, number, &grant, 1);
    world.store_all();
    assert!(world.gives.is_empty());
}

#[test]
fn space_19_nothing_is_given_away_for_somebody_who_has_gone() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    world.send(9, hand_over(10_000));
    world.engine.disconnected(world.now_ns(), 9);
    let release = world.release(1, number, &grant, 1);
    world.store_all();
    world.answer(release);
    assert!(world.gives.is_empty());
    world.lock(2, number);
}

/// Clients that wait for the lock do not wait for the deadline of a hand-over that nobody awaits.
#[test]
fn space_19_a_hand_over_ends_with_the_connection_that_asked_for_it() {
    let mut world = member();
    let number = owner(&mut world);
    world.lock(1, number);
    world.send(9, hand_over(10_000));
    let is_handed = |world: &World| {
        let segment = world.engine.segments.get(number);
        segment.expect("it is there").handing.is_some()
    };
    assert!(is_handed(&world));
    world.engine.disconnected(world.now_ns(), 9);
    assert!(!is_handed(&world));
}

#[test]
fn space_19_a_server_that_stops_takes_no_hand_over() {
    let mut world = member();
    owner(&mut world);
    world.engine.stop(world.now_ns());
    let handing = world.send(9, hand_over(10_000));
    assert_eq!(world.answer(handing).error(), ErrorCode::Stopping);
    assert!(world.gives.is_empty());
}

/// The next owner reads what the store has, and records that come later are fenced.
/// Clients could change the segment here before they hear that it is lost.
#[test]
fn space_15_nobody_is_granted_a_segment_that_is_lost_while_it_is_handed_over() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    let handing = world.send(9, hand_over(10_000));
    let waiting = world.send(2, acquire_writer(number, 60_000));
    world.release(1, number, &grant, 1);
    let asked = world.asked.remove(0);
    world.stored(&asked, Err(StoreError::SegmentsFenced(vec![5 << 32])));
    assert!(world.try_answer(waiting).is_none());
    assert_eq!(world.answer(handing).error(), ErrorCode::Stopping);
    assert_eq!(world.closed, [1, 2]);
    assert!(world.engine.is_idle());
}

#[test]
fn space_19_a_checkpoint_that_fails_ends_no_hand_over_that_does_not_wait_for_it() {
    let mut world = member();
    let number = owner(&mut world);
    let grant = world.lock(1, number);
    let handing = world.send(9, hand_over(10_000));
    let now_ns = world.now_ns();
    world.engine.store_looked_at(now_ns, &[], &[5 << 32]);
    world.drain();
    let asked = world.asked.remove(0);
    assert!(matches!(asked, Asked::Checkpoint(..)));
    world.stored(&asked, Err(StoreError::Full("no space".to_string())));
    assert!(world.try_answer(handing).is_none());
    world.release(1, number, &grant, 1);
    world.store_all();
    assert_eq!(world.gives, [(number, OTHER)]);
}

#[test]
fn space_20_a_segment_is_given_away_when_its_records_are_in_the_store() {
    for is_refused in [false, true] {
        let mut world = member();
        for connection in [1, 9] {
            world.hello(connection);
        }
        world.send(1, open(PATH, Durability::Written));
        // Versions may be lost, so it begins another incarnation.
        sought(&mut world, Ok(claimed(Durability::Written)));
        let handing = world.send(9, hand_over(10_000));
        assert!(!world.asked.is_empty());
        while let Some(asked) = (!world.asked.is_empty()).then(|| world.asked.remove(0)) {
            assert!(world.gives.is_empty(), "{asked:?} is on its way");
            let full = || StoreError::Full("no space".to_string());
            world.stored(&asked, if is_refused { Err(full()) } else { Ok(()) });
        }
        assert_eq!(world.gives.is_empty(), is_refused);
        if is_refused {
            assert_eq!(world.answer(handing).error(), ErrorCode::StoreFull);
        }
    }
}

#[test]
fn space_20_requests_wait_while_the_store_gives_the_segment_away() {
    let mut world = member();
    let number = owner_of_followers(&mut world);
    let subscribe = Request::Subscribe(Subscribe {
        segment: number,
        have: stamp(0, 0),
        model: CoherenceModel::Full,
        x: 0.0,
        push: false,
        push_bytes: 0,
    });
    world.ask(2, subscribe.clone());
    let handing = world.send(9, hand_over(10_000));
    let told = world.notifications(2, MessageType::NotRecent);
    assert_eq!(told.len(), 1, "its copy is not confirmed any more");
    let reading = world.send(2, acquire_reader(number, stamp(0, 0), CoherenceModel::Full));
    assert!(world.try_answer(reading).is_none());
    let mut strict = subscribe;
    if let Request::Subscribe(request) = &mut strict {
        request.model = CoherenceModel::Strict;
    }
    let refused = world.send(2, strict);
    given(&mut world, Ok(Given::Not("it has ended".to_string())));
    assert_eq!(world.answer(handing).error(), ErrorCode::BadArgument);
    let acquired = world.answer(reading);
    assert_eq!(acquired.type_, MessageType::ReaderAcquired);
    assert_eq!(world.answer(refused).error(), ErrorCode::BadValue);
    assert_eq!(world.engine.wire.counters.errors, 2);
    assert!(world.closed.is_empty());
    world.lock(1, number);
}

#[test]
fn space_20_requests_that_waited_for_a_claim_wait_for_a_gift_that_is_asked_for_before_them() {
    for is_given in [true, false] {
        let mut world = member();
        for connection in [1, 9] {
            world.hello(connection);
        }
        let handing = world.send(9, hand_over(10_000));
        let opening = world.send(1, open(PATH, Durability::Synced));
        sought(&mut world, Ok(claimed(Durability::Synced)));
        world.store_all();
        assert!(world.try_answer(opening).is_none(), "nobody removes it");
        match is_given {
            true => given(&mut world, Ok(to())),
            false => given(&mut world, Ok(Given::Not("it was drained".to_string()))),
        }
        let (handed, opened) = (world.answer(handing), world.answer(opening));
        match is_given {
            true => {
                assert_eq!(handed.type_, MessageType::Done);
                assert_eq!(opened.error(), ErrorCode::Redirected);
            }
            false => {
                assert_eq!(handed.error(), ErrorCode::BadArgument);
                assert_eq!(opened.type_, MessageType::SegmentOpened);
            }
        }
    }
}

#[test]
fn space_23_clients_that_follow_are_sent_on_over_connections_that_stay() {
    let mut world = member();
    let number = owner_of_followers(&mut world);
    let grant = world.lock(1, number);
    world.send(9, hand_over(10_000));
    let queued = world.send(2, acquire_writer(number, 60_000));
    let release = world.release(1, number, &grant, 1);
    world.store_all();
    world.answer(release);
    let crossing = world.send(1, acquire_writer(number, 60_000));
    // A client that watches nothing has nothing to be told of the end of its copy.
    assert!(world.notifications(2, MessageType::NotRecent).is_empty());
    given(&mut world, Ok(to()));
    assert_eq!(world.answer(queued).error(), ErrorCode::Redirected);
    assert_eq!(world.answer(crossing).error(), ErrorCode::Redirected);
    for connection in [1, 2] {
        let told = world.notifications(connection, MessageType::SegmentMoved);
        let moved: SegmentMoved = told[0].body();
        assert_eq!((moved.segment, &*moved.address), (number, "b.example:7747"));
        assert_eq!(moved.tls_name, "b");
    }
    let late = world.ask(2, acquire_reader(number, stamp(0, 0), CoherenceModel::Full));
    assert_eq!(late.error(), ErrorCode::Redirected);
    let close = Request::CloseSegment(CloseSegment { segment: number });
    assert_eq!(world.ask(2, close).type_, MessageType::Done);
    assert!(world.closed.is_empty());
}

#[test]
fn space_22_a_segment_of_which_nobody_knows_whether_it_was_given_is_sought_again() {
    let mut world = member();
    owner(&mut world);
    let handing = world.send(9, hand_over(10_000));
    world.hello(3);
    let opening = world.send(3, open(PATH, Durability::Synced));
    given(&mut world, Err(StoreError::Io("no connection".to_string())));
    assert_eq!(world.answer(handing).error(), ErrorCode::StoreFull);
    assert_eq!(world.engine.wire.counters.store_errors, 1);
    assert!(world.try_answer(opening).is_none());
    sought(&mut world, Ok(claimed(Durability::Synced)));
    let opened = world.answer(opening);
    assert_eq!(opened.type_, MessageType::SegmentOpened);
    world.store_all();
    assert!(world.engine.is_idle());
}

#[test]
fn space_21_a_memory_segment_is_saved_before_it_is_given_away() {
    let mut world = member();
    world.hello(1);
    world.hello(9);
    let opening = world.send(1, open(PATH, Durability::Memory));
    sought(&mut world, Ok(Sought::Absent));
    world.store_all();
    let number = world.answer(opening).body::<SegmentOpened>().segment;
    let grant = world.lock(1, number);
    let release = world.release(1, number, &grant, 1);
    world.answer(release);
    world.send(9, hand_over(10_000));
    assert!(world.gives.is_empty());
    assert!(matches!(world.asked[0], Asked::Checkpoint(..)));
    world.store_all();
    assert_eq!(world.gives, [(number, OTHER)]);
}

#[test]
fn space_18_a_segment_is_read_on_until_it_is_claimed() {
    let mut world = member();
    world.hello(9);
    let asked = world.send(9, follow());
    assert_eq!(world.follows, [PATH]);
    followed(&mut world, Read::Bytes(64 << 20));
    assert!(
        world.try_answer(asked).is_none(),
        "much may have come meanwhile"
    );
    followed(&mut world, Read::Bytes(0));
    let answer: SegmentFollowed = world.answer(asked).body();
    assert_eq!((answer.owned, answer.read_bytes), (false, 64 << 20));
    assert_eq!(answer.member, FIRST_FENCE >> 32);
    world.pass_talking(500, &[9]);
    followed(&mut world, Read::Bytes(10));
    // It was given to this server.
    let asked = world.send(9, follow());
    followed(&mut world, Read::Free);
    sought(&mut world, Ok(claimed(Durability::Synced)));
    assert!(world.answer(asked).body::<SegmentFollowed>().owned);
    assert_eq!(world.unfollowed, [PATH]);
    assert!(world.engine.is_idle());
}

/// The reading has made a copy after the claim let go of the one before.
#[test]
fn space_18_a_copy_that_is_read_during_the_claim_is_let_go() {
    let mut world = member();
    world.hello(9);
    world.hello(1);
    world.send(9, follow());
    opened_by(&mut world, 1);
    assert_eq!(world.unfollowed, [PATH]);
    followed(&mut world, Read::Bytes(10));
    assert_eq!(world.unfollowed, [PATH, PATH]);
}

/// A claim would make a second state of the segment, without the releases to the first one.
#[test]
fn space_18_a_segment_that_was_made_here_during_a_reading_is_not_claimed() {
    for read in [Read::Free, Read::Absent, Read::Bytes(10)] {
        let mut world = member();
        world.hello(9);
        world.hello(1);
        let asked = world.send(9, follow());
        let opening = world.send(1, open(PATH, Durability::Synced));
        sought(&mut world, Ok(Sought::Absent));
        world.store_all();
        assert!(world.answer(opening).body::<SegmentOpened>().created);
        assert!(world.answer(asked).body::<SegmentFollowed>().owned);
        followed(&mut world, read);
        assert!(world.seeking.is_empty(), "{read:?}");
        assert_eq!(world.unfollowed, [PATH, PATH]);
        assert!(world.engine.is_idle());
    }
}

#[test]
fn space_18_a_request_to_follow_waits_while_the_segment_is_made() {
    for is_made in [true, false] {
        let mut world = member();
        world.hello(9);
        world.hello(1);
        world.send(1, open(PATH, Durability::Synced));
        sought(&mut world, Ok(Sought::Absent));
        let asked = world.send(9, follow());
        followed(&mut world, Read::Absent);
        assert!(world.try_answer(asked).is_none());
        assert!(world.follows.is_empty(), "it is read again after a while");
        let creation = world.asked.remove(0);
        let full = || StoreError::Full("no space".to_string());
        world.stored(&creation, if is_made { Ok(()) } else { Err(full()) });
        if is_made {
            assert!(world.answer(asked).body::<SegmentFollowed>().owned);
            assert_eq!(world.unfollowed, [PATH]);
        } else {
            world.pass_talking(500, &[9]);
            followed(&mut world, Read::Absent);
            assert_eq!(world.answer(asked).error(), ErrorCode::NoSegment);
        }
    }
}

#[test]
fn space_18_a_request_to_follow_is_refused_if_the_segment_is_made_for_too_long() {
    let mut world = member();
    for connection in [1, 9] {
        world.hello(connection);
    }
    world.send(1, open(PATH, Durability::Synced));
    sought(&mut world, Ok(Sought::Absent));
    let asked = world.send(9, follow());
    while !world.follows.is_empty() {
        followed(&mut world, Read::Absent);
        world.pass_talking(500, &[1, 9]);
        if world.renewals > 0 {
            super::space::renew(&mut world, Ok(()));
        }
    }
    assert_eq!(world.answer(asked).error(), ErrorCode::Stopping);
}

#[test]
fn space_21_a_request_during_a_reading_is_answered_by_the_next_one() {
    let mut world = member();
    world.hello(9);
    let before = world.send(9, follow());
    // The reading that is under way does not see that the segment was given to this server.
    let after = world.send(9, follow());
    followed(&mut world, Read::Bytes(10));
    assert!(!world.answer(before).body::<SegmentFollowed>().owned);
    assert!(world.try_answer(after).is_none());
    followed(&mut world, Read::Free);
    sought(&mut world, Ok(claimed(Durability::Synced)));
    assert!(world.answer(after).body::<SegmentFollowed>().owned);
    assert!(world.engine.is_idle());
}

#[test]
fn space_21_a_look_from_before_the_gift_does_not_refuse_the_request_to_follow() {
    let mut world = member();
    for connection in [1, 9] {
        world.hello(connection);
    }
    // The store looks for a client while the segment is another server's.
    let opening = world.send(1, open(PATH, Durability::Synced));
    let asked = world.send(9, follow());
    // It was given to this server meanwhile.
    followed(&mut world, Read::Free);
    sought(&mut world, Ok(elsewhere()));
    assert_eq!(world.answer(opening).error(), ErrorCode::Redirected);
    assert!(world.try_answer(asked).is_none(), "it is looked for again");
    sought(&mut world, Ok(claimed(Durability::Synced)));
    assert!(world.answer(asked).body::<SegmentFollowed>().owned);
    assert!(world.engine.is_idle());
}

#[test]
fn space_18_a_segment_is_read_on_four_times_a_second_for_ten_seconds() {
    let mut world = member();
    world.hello(9);
    world.send(9, follow());
    let mut readings = 0;
    while world.unfollowed.is_empty() {
        followed(&mut world, Read::Bytes(10));
        readings += 1;
        for ms in [249, 1] {
            assert!(world.follows.is_empty(), "not yet");
            world.engine.heard(world.now_ns(), 9);
            world.pass(ms);
            if world.renewals > 0 {
                super::space::renew(&mut world, Ok(()));
            }
        }
    }
    assert_eq!(readings, 40);
    assert_eq!(world.unfollowed, [PATH]);
    assert!(world.follows.is_empty());
}

/// However much the owner writes, it is answered some time.
#[test]
fn space_18_a_request_is_answered_after_a_reading_that_brings_little() {
    const LITTLE: u64 = 1 << 20;
    for (bytes, readings) in [(LITTLE, 1), (LITTLE + 1, 16)] {
        let mut world = member();
        world.hello(9);
        let asked = world.send(9, follow());
        for reading in 1..=readings {
            assert!(world.try_answer(asked).is_none(), "{reading}");
            followed(&mut world, Read::Bytes(bytes));
        }
        let answer: SegmentFollowed = world.answer(asked).body();
        assert_eq!(answer.read_bytes, readings * bytes);
    }
}

#[test]
fn space_21_a_claimed_segment_is_what_was_read_before_with_what_came_since() {
    let mut before = World::new(true);
    let (mut read, newest) = found(&mut before, false, Durability::Synced);
    let later = read.releases.split_off(1);
    let with = |segment_id, releases: &[(LogRelease, Bytes)]| {
        let since = Since {
            segment_id,
            epoch: 77,
            releases: releases.to_vec(),
            serials_below: 1 << 20,
            clean: true,
        };
        Rebuilt::of(read.clone()).with(since)
    };
    let id = read.segment_id;
    assert!(with(id + 1, &later).is_none(), "of another segment");
    assert!(with(id, &later[1..]).is_none(), "a release is missing");
    let whole = with(id, &later).expect("that fits");

    let mut world = member();
    world.hello(1);
    let opening = world.send(1, open(PATH, Durability::Synced));
    assert_eq!(world.seeking, [PATH]);
    let now_ns = world.now_ns();
    let whole = Found::Here(Box::new(whole));
    world.engine.sought(now_ns, PATH, Ok(whole));
    world.drain();
    world.store_all();
    let opened: SegmentOpened = world.answer(opening).body();
    assert_eq!(opened.newest, newest, "no version was lost");
    let locking = world.send(1, acquire_writer(opened.segment, 60_000));
    world.store_all();
    let grant: WriterAcquired = world.answer(locking).body();
    assert_eq!(grant.fence, (77 << 32) + 1, "of the claim");
}

#[test]
fn space_18_few_segments_are_followed_at_a_time() {
    let mut world = member();
    world.hello(9);
    let one = |number: u32| {
        Request::FollowSegment(FollowSegment {
            path: format!("/{number}"),
        })
    };
    for number in 0..4 {
        world.send(9, one(number));
    }
    assert_eq!(world.ask(9, one(4)).error(), ErrorCode::TooLarge);
}

/// Its grant is over before its lease is, and the server has nothing to do for it meanwhile.
#[test]
fn lock_16_a_segment_moves_soon_after_the_client_that_keeps_its_grant_has_died() {
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
        world.send(9, hand_over(10_000));
        world.pass(300);
        assert_eq!(world.gives.len(), 1);
    }
}

#[test]
fn a_server_that_shares_its_store_with_nobody_moves_nothing() {
    let mut world = World::new(true);
    world.hello(9);
    for request in [follow(), hand_over(0), Request::Drain] {
        assert_eq!(world.ask(9, request).error(), ErrorCode::Unimplemented);
    }
}
