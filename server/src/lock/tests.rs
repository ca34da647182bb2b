//! The rules of spec/coherence.md about locks, one by one, in made-up time.

use super::*;

const LEASE_NS: u64 = 100;
const HOLD_NS: u64 = 250;
const GRACE_NS: u64 = 20;
const FOREVER_NS: u64 = u64::MAX;

fn lock() -> SegmentLock {
    let terms = Terms {
        lease_ns: LEASE_NS,
        max_hold_ns: HOLD_NS,
        grace_ns: GRACE_NS,
    };
    SegmentLock::new(terms, 7)
}

fn ticket(connection: u64) -> Ticket {
    Ticket {
        connection,
        stream: 1,
    }
}

/// Session and connection have the same number here.
fn ask(lock: &mut SegmentLock, session: u64, kind: Kind) {
    lock.request(session, ticket(session), kind, FOREVER_NS);
}

fn granted(lock: &mut SegmentLock, now_ns: u64) -> Option<u64> {
    match lock.grant(now_ns)? {
        Outcome::Writer { session, .. } | Outcome::StrictReader { session, .. } => Some(session),
    }
}

/// Nothing is heard of any session.
fn silent(_session: u64) -> u64 {
    0
}

fn fence_of(lock: &SegmentLock, session: u64) -> u64 {
    lock.writer_hold(session)
        .expect("the session holds the lock")
        .0
}

#[test]
fn lock_1_one_writer_at_a_time_in_order_of_arrival() {
    let mut lock = lock();
    for session in [3, 1, 2] {
        ask(&mut lock, session, Kind::Writer);
    }
    for session in [3, 1, 2] {
        assert_eq!(granted(&mut lock, 0), Some(session));
        assert_eq!(granted(&mut lock, 0), None, "the lock is held");
        let fence = fence_of(&lock, session);
        assert!(lock.release(session, fence));
    }
    assert_eq!(granted(&mut lock, 0), None, "nobody waits any more");
}

#[test]
fn lock_1_abandoned_requests_leave_the_queue() {
    let mut lock = lock();
    for session in 1..=4 {
        ask(&mut lock, session, Kind::Writer);
    }
    assert!(lock.cancel(ticket(1)));
    assert!(!lock.cancel(ticket(1)), "it waits no more");
    lock.end_session(2);
    assert_eq!(granted(&mut lock, 0), Some(3));
    assert_eq!(lock.waiting_writers(), 1);
}

#[test]
fn lock_1_a_deadline_ends_the_wait() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    lock.request(2, ticket(2), Kind::Writer, 50);
    assert_eq!(lock.next_deadline_ns(), Some(50));
    assert_eq!(lock.expire(49, silent), []);
    let ended = Expired::Waiter {
        session: 2,
        ticket: ticket(2),
    };
    assert_eq!(lock.expire(50, silent), [ended]);
    assert_eq!(lock.waiting_writers(), 0);
}

#[test]
fn lock_1_a_lost_connection_keeps_the_place_but_is_passed_over() {
    let mut lock = lock();
    for session in [1, 2, 3] {
        ask(&mut lock, session, Kind::Writer);
    }
    lock.disconnect(1, 0);
    assert_eq!(granted(&mut lock, 0), Some(2), "1 is not there to take it");
    // 1 comes back over another connection and is before 3 again.
    lock.request(1, ticket(9), Kind::Writer, FOREVER_NS);
    let fence = fence_of(&lock, 2);
    lock.release(2, fence);
    assert_eq!(granted(&mut lock, 0), Some(1));
}

#[test]
fn lock_2_fences_only_grow() {
    let mut lock = lock();
    let mut last = 7;
    for session in 1..=3 {
        ask(&mut lock, session, Kind::Writer);
        granted(&mut lock, 0);
        let fence = fence_of(&lock, session);
        assert!(fence > last);
        last = fence;
        lock.release(session, fence);
    }
    assert_eq!(lock.last_fence(), last);
}

#[test]
fn lock_3_renewals_extend_the_lease_until_the_hold_time_is_used_up() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    let fence = fence_of(&lock, 1);
    assert_eq!(lock.renew(1, fence, 80), Ok(LEASE_NS));
    assert_eq!(
        lock.expire(179, silent),
        [],
        "the lease runs from the renewal"
    );
    assert_eq!(
        lock.renew(1, fence, 170),
        Ok(80),
        "no longer than the hold time"
    );
    assert_eq!(lock.renew(1, fence, 250), Err(Refusal::HeldTooLong));
    assert_eq!(lock.renew(2, fence, 100), Err(Refusal::NotHeld));
    assert_eq!(lock.renew(1, fence + 1, 100), Err(Refusal::NotHeld));
    assert_eq!(
        lock.expire(250, silent),
        [Expired::Writer { session: 1, fence }]
    );
}

#[test]
fn lock_4_a_fence_that_is_not_the_holders_releases_nothing() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    let old = fence_of(&lock, 1);
    lock.expire(LEASE_NS, silent);
    ask(&mut lock, 2, Kind::Writer);
    granted(&mut lock, LEASE_NS);
    assert!(!lock.holds(1, old));
    assert!(!lock.release(1, old));
    assert!(
        !lock.release(2, old),
        "also the holder needs the right fence"
    );
    assert!(lock.is_write_locked());
}

#[test]
fn lock_5_a_lease_that_ends_passes_the_lock_on() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    ask(&mut lock, 2, Kind::Writer);
    let fence = fence_of(&lock, 1);
    assert_eq!(lock.next_deadline_ns(), Some(LEASE_NS));
    assert_eq!(
        lock.expire(LEASE_NS, silent),
        [Expired::Writer { session: 1, fence }]
    );
    assert_eq!(granted(&mut lock, LEASE_NS), Some(2));
}

#[test]
fn a_lock_whose_release_is_being_logged_is_not_taken_away() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    let fence = fence_of(&lock, 1);
    lock.begin_commit(1, fence);
    assert_eq!(lock.expire(10 * HOLD_NS, silent), []);
    assert_eq!(lock.next_deadline_ns(), None);
    lock.end_session(1);
    assert!(lock.is_write_locked(), "its fate is not decided");
    lock.commit_failed(fence, 1, 10 * HOLD_NS);
    assert_eq!(lock.expire(10 * HOLD_NS + LEASE_NS - 1, silent), []);
    assert_eq!(lock.expire(10 * HOLD_NS + LEASE_NS, silent).len(), 1);
}

#[test]
fn lock_11_a_writer_waits_for_strict_readers_and_they_for_it() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::StrictReader);
    ask(&mut lock, 2, Kind::StrictReader);
    assert_eq!(granted(&mut lock, 0), Some(1));
    assert_eq!(granted(&mut lock, 0), Some(2), "readers read together");
    ask(&mut lock, 3, Kind::Writer);
    ask(&mut lock, 4, Kind::StrictReader);
    assert_eq!(
        granted(&mut lock, 0),
        None,
        "4 came after 3 and does not overtake"
    );
    assert!(lock.release_strict(1));
    assert_eq!(granted(&mut lock, 0), None);
    assert!(lock.release_strict(2));
    assert_eq!(granted(&mut lock, 0), Some(3));
    assert_eq!(granted(&mut lock, 0), None, "4 waits for the writer");
    let fence = fence_of(&lock, 3);
    lock.release(3, fence);
    assert_eq!(granted(&mut lock, 0), Some(4));
}

#[test]
fn lock_11_a_strict_reader_that_is_silent_for_a_lease_ends() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::StrictReader);
    granted(&mut lock, 0);
    ask(&mut lock, 2, Kind::Writer);
    assert_eq!(lock.next_deadline_ns(), Some(LEASE_NS));
    assert_eq!(lock.expire(LEASE_NS, |_| 30), []);
    assert_eq!(granted(&mut lock, LEASE_NS), None, "the reader lives");
    assert_eq!(lock.next_deadline_ns(), Some(30 + LEASE_NS));
    let ended = Expired::StrictReader { session: 1 };
    assert_eq!(lock.expire(30 + LEASE_NS, |_| 30), [ended]);
    assert_eq!(granted(&mut lock, 30 + LEASE_NS), Some(2));
}

#[test]
fn lock_11_hearing_one_reader_renews_only_its_own_lock() {
    let mut lock = lock();
    for session in [1, 2] {
        ask(&mut lock, session, Kind::StrictReader);
        granted(&mut lock, 0);
    }
    let heard = |session| if session == 1 { 80 } else { 0 };
    let ended = Expired::StrictReader { session: 2 };
    assert_eq!(lock.expire(LEASE_NS, heard), [ended]);
}

#[test]
fn lock_11_a_strict_reader_ends_with_the_hold_time_also_if_it_talks_and_asks_again() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::StrictReader);
    granted(&mut lock, 0);
    ask(&mut lock, 2, Kind::Writer);
    for now_ns in [90, 180, 240] {
        assert_eq!(lock.expire(now_ns, |_| now_ns), []);
        ask(&mut lock, 1, Kind::StrictReader);
        assert_eq!(granted(&mut lock, now_ns), Some(1), "it reads already");
        assert_eq!(granted(&mut lock, now_ns), None, "the writer waits");
    }
    assert_eq!(lock.next_deadline_ns(), Some(HOLD_NS));
    let ended = Expired::StrictReader { session: 1 };
    assert_eq!(lock.expire(HOLD_NS, |_| HOLD_NS), [ended]);
    assert_eq!(granted(&mut lock, HOLD_NS), Some(2));
}

#[test]
fn lock_11_a_session_that_reads_strictly_does_not_wait_for_writers_that_wait_for_it() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::StrictReader);
    assert_eq!(granted(&mut lock, 0), Some(1));
    ask(&mut lock, 2, Kind::Writer);
    ask(&mut lock, 3, Kind::StrictReader);
    ask(&mut lock, 1, Kind::StrictReader);
    assert_eq!(granted(&mut lock, 0), Some(1), "it reads already");
    assert_eq!(granted(&mut lock, 0), None, "the others wait in order");
    assert!(lock.release_strict(1));
    assert_eq!(granted(&mut lock, 0), Some(2));
}

/// Session 1 is granted the lock so often in a row that it may keep it; returns the fence.
fn granted_in_a_row(lock: &mut SegmentLock, now_ns: u64) -> u64 {
    loop {
        ask(lock, 1, Kind::Writer);
        assert_eq!(granted(lock, now_ns), Some(1));
        let fence = fence_of(lock, 1);
        if lock.may_keep(1, 1, fence) {
            return fence;
        }
        lock.release(1, fence);
    }
}

/// As above, and it keeps the grant.
fn kept(lock: &mut SegmentLock, now_ns: u64) -> u64 {
    let fence = granted_in_a_row(lock, now_ns);
    lock.begin_commit(1, fence);
    lock.keep(fence);
    lock.end_commit(1, fence, now_ns);
    assert!(lock.holds(1, fence));
    fence
}

#[test]
fn lock_13_only_a_session_that_is_granted_thrice_in_a_row_may_keep() {
    let mut lock = lock();
    for session in [1, 1, 2, 1, 1] {
        ask(&mut lock, session, Kind::Writer);
        assert_eq!(granted(&mut lock, 0), Some(session));
        let fence = fence_of(&lock, session);
        assert!(!lock.may_keep(session, session, fence));
        lock.release(session, fence);
    }
    let fence = granted_in_a_row(&mut lock, 0);
    assert_eq!(fence, 7 + 6, "the sixth grant");
    assert!(!lock.may_keep(1, 9, fence), "over another connection");
    assert!(!lock.may_keep(1, 1, fence - 1));
    ask(&mut lock, 2, Kind::Writer);
    assert!(!lock.may_keep(1, 1, fence), "somebody waits");
}

#[test]
fn lock_13_a_strict_reader_of_another_session_ends_the_row() {
    let mut lock = lock();
    let fence = granted_in_a_row(&mut lock, 0);
    lock.release(1, fence);
    ask(&mut lock, 2, Kind::StrictReader);
    assert_eq!(granted(&mut lock, 0), Some(2));
    lock.release_strict(2);
    ask(&mut lock, 1, Kind::Writer);
    assert_eq!(granted(&mut lock, 0), Some(1));
    assert!(!lock.may_keep(1, 1, fence + 1));
}

#[test]
fn lock_13_lease_and_hold_time_begin_anew_with_a_kept_grant() {
    let mut lock = lock();
    let fence = kept(&mut lock, 60);
    assert_eq!(lock.next_deadline_ns(), Some(60 + LEASE_NS));
    assert_eq!(lock.renew(1, fence, 60 + HOLD_NS - 1), Ok(1));
    assert!(lock.renew(1, fence, 60 + HOLD_NS).is_err());
}

#[test]
fn lock_15_a_kept_grant_is_recalled_once_for_a_writer_or_a_strict_reader() {
    for kind in [Kind::Writer, Kind::StrictReader] {
        let mut lock = lock();
        let fence = kept(&mut lock, 0);
        assert_eq!(lock.recall(), None, "nobody waits");
        ask(&mut lock, 2, kind);
        assert_eq!(granted(&mut lock, 0), None);
        let recall = Recall {
            connection: 1,
            fence,
        };
        assert_eq!(lock.recall(), Some(recall));
        assert_eq!(lock.recall(), None);
        assert!(lock.release(1, fence));
        assert_eq!(granted(&mut lock, 0), Some(2));
    }
}

#[test]
fn lock_15_a_holder_is_not_recalled_in_its_first_section_or_during_its_release() {
    let mut lock = lock();
    let fence = granted_in_a_row(&mut lock, 0);
    ask(&mut lock, 2, Kind::Writer);
    assert_eq!(
        lock.recall(),
        None,
        "its release is answered WRITER_RELEASED"
    );
    assert!(lock.cancel(ticket(2)));
    lock.begin_commit(1, fence);
    lock.keep(fence);
    lock.end_commit(1, fence, 0);
    lock.begin_commit(1, fence);
    ask(&mut lock, 2, Kind::Writer);
    assert_eq!(lock.recall(), None);
    lock.end_commit(1, fence, 0);
    assert_eq!(granted(&mut lock, 0), Some(2));
}

#[test]
fn lock_15_a_client_that_does_not_answer_a_recall_loses_the_lock_with_its_lease() {
    let mut lock = lock();
    let fence = kept(&mut lock, 0);
    ask(&mut lock, 2, Kind::Writer);
    assert!(lock.recall().is_some());
    let lost = Expired::Writer { session: 1, fence };
    assert_eq!(lock.expire(LEASE_NS, silent), [lost]);
    assert_eq!(granted(&mut lock, LEASE_NS), Some(2));
}

#[test]
fn lock_16_a_grant_kept_over_a_lost_connection_goes_to_who_waits() {
    let mut lock = lock();
    let fence = kept(&mut lock, 0);
    ask(&mut lock, 2, Kind::Writer);
    assert!(lock.recall().is_some());
    assert!(lock.disconnect(1, 7), "2 waits");
    assert_eq!(granted(&mut lock, 7 + GRACE_NS - 1), None);
    assert_eq!(lock.next_deadline_ns(), Some(7 + GRACE_NS));
    assert_eq!(granted(&mut lock, 7 + GRACE_NS), Some(2));
    assert!(!lock.holds(1, fence));
    lock.release(2, fence + 1);
    kept(&mut lock, 0);
    assert!(!lock.disconnect(1, 0));
    assert_eq!(lock.next_deadline_ns(), Some(LEASE_NS), "nobody waits");
    ask(&mut lock, 2, Kind::StrictReader);
    assert_eq!(lock.next_deadline_ns(), Some(GRACE_NS));
    assert_eq!(granted(&mut lock, GRACE_NS), Some(2));
}

#[test]
fn lock_16_a_grant_kept_over_a_lost_connection_ends_though_nothing_is_granted() {
    let mut lock = lock();
    let fence = kept(&mut lock, 0);
    assert!(!lock.disconnect(1, 7), "nobody waits");
    lock.close();
    assert_eq!(lock.next_deadline_ns(), Some(7 + GRACE_NS));
    assert_eq!(lock.expire(7 + GRACE_NS - 1, silent), []);
    assert!(lock.holds(1, fence));
    assert_eq!(lock.expire(7 + GRACE_NS, silent), []);
    assert!(!lock.holds(1, fence));
    assert_eq!(lock.next_deadline_ns(), None);
    lock.reopen();
    ask(&mut lock, 2, Kind::Writer);
    assert_eq!(granted(&mut lock, 7 + GRACE_NS), Some(2));
}

#[test]
fn lock_16_a_section_that_is_heard_of_in_its_grace_keeps_its_lock_though_others_wait() {
    for is_renewed in [false, true] {
        let mut lock = lock();
        let fence = kept(&mut lock, 0);
        ask(&mut lock, 2, Kind::Writer);
        assert!(lock.disconnect(1, 0));
        if is_renewed {
            assert!(lock.renew(1, fence, GRACE_NS - 1).is_ok());
            assert_eq!(granted(&mut lock, 2 * GRACE_NS), None);
        }
        assert!(!lock.may_keep(1, 9, fence), "somebody waits");
        lock.begin_commit(1, fence);
        assert_eq!(granted(&mut lock, 2 * GRACE_NS), None);
        lock.end_commit(1, fence, 2 * GRACE_NS);
        assert_eq!(granted(&mut lock, 2 * GRACE_NS), Some(2));
    }
}

#[test]
fn lock_16_time_that_counts_against_nobody_is_not_taken_of_the_grace() {
    let mut lock = lock();
    kept(&mut lock, 0);
    ask(&mut lock, 2, Kind::Writer);
    assert!(lock.disconnect(1, 0));
    lock.excuse(|_| {}, |deadline| *deadline += GRACE_NS);
    assert_eq!(granted(&mut lock, 2 * GRACE_NS - 1), None);
    assert_eq!(granted(&mut lock, 2 * GRACE_NS), Some(2));
}

/// To answer a release may close the connection that it came over.
#[test]
fn lock_16_a_connection_that_is_lost_before_the_commit_keeps_nothing() {
    let mut lock = lock();
    let fence = granted_in_a_row(&mut lock, 0);
    lock.begin_commit(1, fence);
    lock.keep(fence);
    ask(&mut lock, 2, Kind::Writer);
    assert!(!lock.disconnect(1, 0));
    assert_eq!(granted(&mut lock, 0), None, "the commit comes first");
    lock.end_commit(1, fence, 0);
    assert_eq!(granted(&mut lock, 0), Some(2));

    let mut lock = self::lock();
    let fence = kept(&mut lock, 0);
    lock.begin_commit(1, fence);
    ask(&mut lock, 2, Kind::Writer);
    lock.disconnect(1, 0);
    assert_eq!(granted(&mut lock, 0), None, "the commit comes first");
    lock.end_commit(1, fence, 0);
    assert_eq!(granted(&mut lock, 0), Some(2));
}

#[test]
fn lock_16_a_section_that_is_heard_of_over_the_next_connection_keeps_its_lock() {
    let mut lock = lock();
    let fence = kept(&mut lock, 0);
    lock.disconnect(1, 0);
    assert!(lock.renew(1, fence, 10).is_ok());
    ask(&mut lock, 2, Kind::Writer);
    assert_eq!(granted(&mut lock, 10), None);
    assert!(!lock.may_keep(1, 9, fence));
    lock.begin_commit(1, fence);
    lock.end_commit(1, fence, 10);
    assert_eq!(granted(&mut lock, 10), Some(2));
}

#[test]
fn lock_16_a_lock_in_its_first_section_outlives_its_connection() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    assert_eq!(granted(&mut lock, 0), Some(1));
    assert!(!lock.disconnect(1, 0));
    ask(&mut lock, 2, Kind::Writer);
    assert_eq!(granted(&mut lock, 0), None);
}

#[test]
fn what_a_lock_says_of_its_holder_and_of_those_who_wait() {
    let mut lock = lock();
    assert!(!lock.is_write_locked() && !lock.concerns(1));
    assert_eq!((lock.writing_session(), lock.waiting_writers()), (None, 0));
    for (session, kind) in [
        (1, Kind::Writer),
        (2, Kind::Writer),
        (3, Kind::StrictReader),
        (4, Kind::Writer),
    ] {
        ask(&mut lock, session, kind);
    }
    assert_eq!(granted(&mut lock, 0), Some(1));
    let fence = fence_of(&lock, 1);
    assert_eq!(lock.writing_session(), Some(1));
    assert!(lock.holds_fence(fence) && !lock.holds_fence(fence + 1));
    assert_eq!(lock.waiting_writers(), 2);
    assert_eq!(lock.waiting_sessions().collect::<Vec<_>>(), [2, 4]);
    assert_eq!(lock.queued_sessions().collect::<Vec<_>>(), [2, 3, 4]);
    assert!((1..=4).all(|session| lock.concerns(session)));
    assert!(!lock.concerns(5));
    assert!(lock.waits_to_write(ticket(2)) && !lock.waits_to_write(ticket(1)));
    assert!(!lock.waits_to_write(ticket(3)), "it waits to read");
    assert_eq!(
        lock.refuse_waiters(),
        [ticket(2), ticket(3), ticket(4)],
        "all who wait are told"
    );
    assert_eq!(lock.queued_sessions().count(), 0);
    assert_eq!(lock.refuse_waiters(), []);
}

#[test]
fn a_strict_reader_is_a_concern_until_it_ends() {
    let mut lock = lock();
    assert!(!lock.release_strict(1), "nobody reads");
    ask(&mut lock, 1, Kind::StrictReader);
    assert_eq!(granted(&mut lock, 0), Some(1));
    assert!(lock.concerns(1) && !lock.concerns(2));
    assert!(!lock.release_strict(2), "another one's");
    assert!(lock.release_strict(1));
    assert!(!lock.release_strict(1), "it has ended");
    assert!(!lock.concerns(1));
}

#[test]
fn rule_7_the_lock_is_taken_back_from_its_holder_alone_and_not_during_a_commit() {
    let mut lock = lock();
    assert_eq!(lock.take_back(1), None);
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    let fence = fence_of(&lock, 1);
    assert_eq!(lock.take_back(2), None);
    lock.begin_commit(1, fence);
    assert_eq!(lock.take_back(1), None, "its release is on its way");
    lock.commit_failed(fence, 1, 0);
    assert_eq!(lock.take_back(1), Some(fence));
    assert!(!lock.is_write_locked());
}

#[test]
fn a_grant_is_said_to_be_kept_only_while_its_client_may_give_it_back() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    assert!(!lock.is_kept() && !lock.is_kept_away());
    let fence = fence_of(&lock, 1);
    lock.release(1, fence);
    let fence = kept(&mut lock, 0);
    assert!(lock.is_kept());
    lock.begin_commit(1, fence);
    assert!(!lock.is_kept(), "a release is on its way");
    lock.keep(fence);
    lock.end_commit(1, fence, 0);
    ask(&mut lock, 2, Kind::Writer);
    assert!(lock.recall().is_some());
    assert!(lock.is_kept(), "it was recalled");
    assert!(lock.disconnect(1, 0), "somebody waits for it");
    assert!(!lock.is_kept() && lock.is_kept_away());
}

#[test]
fn a_failed_commit_of_another_fence_changes_nothing() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    let fence = fence_of(&lock, 1);
    lock.begin_commit(1, fence);
    lock.commit_failed(fence + 1, 1, 0);
    lock.keep(fence + 1);
    assert_eq!(lock.expire(10 * HOLD_NS, silent), [], "it is being logged");
    lock.end_commit(1, fence, 0);
    assert!(!lock.is_write_locked(), "it was not kept");
}

/// [LOCK-9]
#[test]
fn a_lock_is_given_up_by_its_session_with_the_release_that_was_refused_last() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    let fence = fence_of(&lock, 1);
    lock.begin_commit(1, fence);
    assert!(!lock.give_up(1, None), "it is being logged");
    lock.commit_failed(fence, 7, 0);
    assert!(!lock.give_up(1, Some(6)) && !lock.give_up(2, Some(7)) && !lock.give_up(2, None));
    assert!(lock.give_up(1, Some(7)) && !lock.is_write_locked());
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    assert!(!lock.give_up(1, Some(7)), "it is another grant");
    assert!(lock.give_up(1, None) && !lock.is_write_locked());
}

#[test]
fn a_failed_commit_moves_the_hold_time_no_further_than_the_lease() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    let fence = fence_of(&lock, 1);
    lock.begin_commit(1, fence);
    lock.commit_failed(fence, 1, HOLD_NS);
    assert_eq!(lock.renew(1, fence, HOLD_NS + 1), Ok(LEASE_NS - 1));
    assert_eq!(
        lock.renew(1, fence, HOLD_NS + LEASE_NS),
        Err(Refusal::HeldTooLong)
    );
}

#[test]
fn waiting_ends_at_the_deadline_to_the_tick() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    lock.request(2, ticket(2), Kind::Writer, 50);
    lock.request(3, ticket(3), Kind::StrictReader, 60);
    assert_eq!(lock.next_deadline_ns(), Some(50));
    assert_eq!(lock.expire(49, silent), []);
    let waiter = |session| Expired::Waiter {
        session,
        ticket: ticket(session),
    };
    assert_eq!(lock.expire(50, silent), [waiter(2)]);
    lock.disconnect(3, 50);
    assert_eq!(lock.expire(60, silent), [], "there is nobody to be told");
    assert_eq!(lock.queued_sessions().count(), 0);
    assert_eq!(lock.next_deadline_ns(), Some(LEASE_NS));
}

#[test]
fn lock_16_the_next_deadline_is_the_grace_only_if_somebody_waits() {
    let mut lock = lock();
    kept(&mut lock, 0);
    assert!(!lock.disconnect(1, 0), "nobody waits");
    assert_eq!(lock.next_deadline_ns(), Some(LEASE_NS));
    ask(&mut lock, 2, Kind::Writer);
    assert_eq!(lock.next_deadline_ns(), Some(GRACE_NS));
}

#[test]
fn lock_11_the_next_deadline_of_a_strict_reader_is_its_lease() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::StrictReader);
    assert_eq!(granted(&mut lock, 5), Some(1));
    assert_eq!(lock.next_deadline_ns(), Some(5 + LEASE_NS));
    assert_eq!(lock.expire(5 + LEASE_NS - 1, silent), []);
    let ended = [Expired::StrictReader { session: 1 }];
    assert_eq!(lock.expire(5 + LEASE_NS, silent), ended);
}

#[test]
fn a_session_that_ends_takes_only_its_own_locks_and_places() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    granted(&mut lock, 0);
    ask(&mut lock, 2, Kind::Writer);
    ask(&mut lock, 3, Kind::Writer);
    lock.end_session(2);
    assert!(lock.is_write_locked());
    assert_eq!(lock.queued_sessions().collect::<Vec<_>>(), [3]);
    lock.end_session(1);
    assert!(!lock.is_write_locked());
}

#[test]
fn lock_1_a_lost_place_is_taken_up_by_the_same_request_of_the_same_session_alone() {
    let mut lock = lock();
    ask(&mut lock, 1, Kind::Writer);
    lock.disconnect(1, 0);
    ask(&mut lock, 2, Kind::Writer);
    lock.request(1, ticket(8), Kind::StrictReader, FOREVER_NS);
    assert_eq!(lock.queued_sessions().collect::<Vec<_>>(), [1, 2, 1]);
    lock.request(1, ticket(9), Kind::Writer, FOREVER_NS);
    assert_eq!(lock.queued_sessions().collect::<Vec<_>>(), [1, 2, 1]);
    lock.request(1, ticket(10), Kind::Writer, FOREVER_NS);
    let all = lock.queued_sessions().collect::<Vec<_>>();
    assert_eq!(all, [1, 2, 1, 1], "its first place is not free");
    assert!(lock.waits_to_write(ticket(9)) && lock.waits_to_write(ticket(10)));
}
