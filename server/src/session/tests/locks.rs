//! Locks as clients see them: waiting, granting, losing, and who reads what.

use super::*;

#[test]
fn lock_2_a_grant_brings_the_newest_version_fence_and_serials() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.write(1, segment, 1);
    let granted = world.ask(2, acquire_writer(segment, 0));
    let body: WriterAcquired = granted.body();
    assert_eq!(body.now.number, 1);
    assert!(body.updated && !granted.bulk.is_empty(), "2 has no copy");
    assert!(body.fence > FIRST_FENCE);
    assert_eq!(body.lease_ms, LEASE_MS);
    assert!(body.serial_count > 0);
}

#[test]
fn a_lock_that_is_not_free_is_waited_for_or_not() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.lock(1, segment);
    let tried = world.ask(2, acquire_writer(segment, 0));
    assert_eq!(tried.error(), ErrorCode::TimedOut);
    let waited = world.send(2, acquire_writer(segment, 300));
    world.pass(299);
    assert!(world.try_answer(waited).is_none());
    world.pass(1);
    assert_eq!(world.answer(waited).error(), ErrorCode::TimedOut);
}

#[test]
fn a_lock_that_a_strict_reader_holds_is_not_waited_for_by_a_try() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let strict = acquire_reader(segment, stamp(0, 0), CoherenceModel::Strict);
    assert_eq!(world.ask(1, strict).type_, MessageType::ReaderAcquired);
    let tried = world.ask(2, acquire_writer(segment, 0));
    assert_eq!(tried.error(), ErrorCode::TimedOut);
}

#[test]
fn coh_6_under_diff_a_copy_is_updated_once_more_than_x_per_cent_of_the_units_changed() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let write = |world: &mut World, sequence, diff_of: &dyn Fn(&WriterAcquired) -> Bytes| {
        let grant = world.lock(1, segment);
        let diff = diff_of(&grant);
        let request = release_writer(segment, &grant, sequence, diff.len());
        let stream = world.send_with(1, request, diff);
        assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
        grant.first_serial
    };
    let block = write(&mut world, 1, &|grant| {
        let mut diff = DiffBuilder::new(0, 1);
        diff.add_block(grant.first_serial, INT, 100, "");
        diff.finish()
    });
    let have = world.newest(2, segment);
    // Two per cent are allowed, and each write changes one unit of 100.
    for (sequence, is_updated) in [(2, false), (3, false), (4, true)] {
        write(&mut world, sequence, &|grant| {
            access::value_diff(grant, block, 7)
        });
        let read = acquire_reader(segment, have.clone(), CoherenceModel::Diff);
        let read: ReaderAcquired = world.ask(2, read).body();
        assert_eq!(read.updated, is_updated, "{sequence}");
    }
}

#[test]
fn a_waiting_request_is_cancelled() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.lock(1, segment);
    let stream = world.send(2, acquire_writer(segment, 60_000));
    world.send(2, Request::Cancel(Cancel { stream }));
    assert_eq!(world.answer(stream).error(), ErrorCode::Cancelled);
    world.send(2, Request::Cancel(Cancel { stream: 4711 }));
    assert!(world.try_answer(4711).is_none(), "CANCEL has no reply");
}

#[test]
fn lock_5_a_lease_that_ends_is_told_and_the_next_writer_granted() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let grant = world.lock(1, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    world.pass_talking(u64::from(LEASE_MS), &[1, 2]);
    let lost = world.notifications(1, MessageType::WriterLost);
    assert_eq!(lost[0].body::<WriterLost>().fence, grant.fence);
    let next: WriterAcquired = world.answer(waiting).body();
    assert!(next.fence > grant.fence);
    // [LOCK-4]
    let stream = world.release(1, segment, &grant, 1);
    assert_eq!(world.answer(stream).error(), ErrorCode::Fenced);
    assert_eq!(world.newest(2, segment).number, 0);
}

#[test]
fn lock_3_a_holder_that_renews_loses_the_lock_only_with_the_hold_time() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let grant = world.lock(1, segment);
    let renew = Request::RenewWriter(RenewWriter {
        segment,
        fence: grant.fence,
    });
    for _ in 0..5 {
        world.pass(5_000);
        let renewed: WriterRenewed = world.ask(1, renew.clone()).body();
        assert!(renewed.lease_ms <= LEASE_MS && renewed.lease_ms > 0);
    }
    world.pass(5_000);
    assert_eq!(world.ask(1, renew).error(), ErrorCode::Fenced);
}

#[test]
fn lock_6_serials_are_given_once_whatever_becomes_of_them() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let mut below = 1;
    for sequence in 1..=20 {
        let grant = world.lock(1, segment);
        assert!(grant.first_serial >= below);
        below = grant.first_serial + u64::from(grant.serial_count);
        let more = Request::MoreSerials(MoreSerials {
            segment,
            fence: grant.fence,
            count: 1000,
        });
        let more: SerialsGranted = world.ask(1, more).body();
        assert!(more.first_serial >= below);
        below = more.first_serial + u64::from(more.serial_count);
        if sequence % 2 == 0 {
            let abort = Request::AbortWriter(AbortWriter {
                segment,
                fence: grant.fence,
            });
            assert_eq!(world.ask(1, abort).type_, MessageType::Done);
        } else {
            let stream = world.release(1, segment, &grant, sequence);
            assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
        }
    }
}

#[test]
fn a_serial_that_was_not_granted_is_refused_and_the_lock_given_back() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let old = world.lock(1, segment);
    let abort = Request::AbortWriter(AbortWriter {
        segment,
        fence: old.fence,
    });
    world.ask(1, abort);
    let grant = world.lock(1, segment);
    let stale = WriterAcquired {
        first_serial: old.first_serial,
        ..grant.clone()
    };
    let stream = world.release(1, segment, &stale, 1);
    assert_eq!(world.answer(stream).type_, MessageType::Error);
    assert_eq!(world.newest(1, segment).number, 0);
    world.lock(1, segment);
}

#[test]
fn coh_8_readers_do_not_wait_for_a_writer() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.write(1, segment, 1);
    world.lock(1, segment);
    assert_eq!(world.newest(2, segment).number, 1);
}

#[test]
fn coh_2_strict_readers_and_writers_exclude_each_other() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let grant = world.lock(1, segment);
    let strict = acquire_reader(segment, stamp(0, 0), CoherenceModel::Strict);
    let reading = world.send(2, strict);
    assert!(world.try_answer(reading).is_none(), "a writer holds it");
    let stream = world.release(1, segment, &grant, 1);
    world.answer(stream);
    let acquired: ReaderAcquired = world.answer(reading).body();
    assert_eq!(acquired.now.number, 1, "the newest, now that it is free");
    let writing = world.send(1, acquire_writer(segment, 60_000));
    assert!(world.try_answer(writing).is_none(), "a reader reads");
    world.ask(2, Request::ReleaseReader(ReleaseReader { segment }));
    assert_eq!(world.answer(writing).type_, MessageType::WriterAcquired);
}

#[test]
fn lock_11_a_strict_reader_keeps_its_lock_while_its_session_talks() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let strict = acquire_reader(segment, stamp(0, 0), CoherenceModel::Strict);
    world.ask(2, strict);
    let writing = world.send(1, acquire_writer(segment, 600_000));
    world.pass_talking(2 * u64::from(LEASE_MS), &[1, 2]);
    assert!(world.try_answer(writing).is_none(), "2 reads and talks");
    world.pass_talking(u64::from(LEASE_MS), &[1, 2]);
    let granted = world.answer(writing);
    assert_eq!(granted.type_, MessageType::WriterAcquired, "the hold time");
}

#[test]
fn lock_11_a_strict_reader_that_falls_silent_loses_its_lock_after_a_lease() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let strict = acquire_reader(segment, stamp(0, 0), CoherenceModel::Strict);
    world.ask(2, strict);
    let writing = world.send(1, acquire_writer(segment, 600_000));
    world.pass_talking(5_000, &[1, 2]);
    // It was heard half a second ago.
    world.engine.disconnected(world.now_ns(), 2);
    world.pass_talking(u64::from(LEASE_MS) - 1_000, &[1]);
    assert!(world.try_answer(writing).is_none(), "it may come back");
    world.pass_talking(500, &[1]);
    assert_eq!(world.answer(writing).type_, MessageType::WriterAcquired);
}

#[test]
fn coh_4_a_copy_within_its_bound_is_sent_nothing() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.write(1, segment, 1);
    let have = world.newest(2, segment);
    for sequence in 2..=3 {
        world.write(1, segment, sequence);
    }
    let delta = acquire_reader(segment, have.clone(), CoherenceModel::Delta);
    let answer = world.ask(2, delta.clone());
    assert!(!answer.body::<ReaderAcquired>().updated && answer.bulk.is_empty());
    world.write(1, segment, 4);
    let answer = world.ask(2, delta);
    let body: ReaderAcquired = answer.body();
    assert!(
        body.updated && !answer.bulk.is_empty(),
        "3 versions, 2 allowed"
    );
    assert_eq!(body.now.number, 4, "an update goes to the newest [COH-7]");
}

#[test]
fn seg_1_a_copy_of_another_incarnation_is_replaced_whole() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.write(1, segment, 1);
    let now = world.newest(2, segment);
    for have in [stamp(now.incarnation + 1, 1), stamp(now.incarnation, 9)] {
        let answer = world.ask(2, acquire_reader(segment, have, CoherenceModel::Full));
        assert!(answer.body::<ReaderAcquired>().updated);
        let diff = interweave_wire::Diff::parse(&answer.bulk).unwrap();
        assert_eq!((diff.from, diff.to), (0, 1));
    }
}

#[test]
fn coh_11_a_copy_of_another_history_is_replaced_whole() {
    let mut world = World::new(false);
    let segment = world.clients(3, Durability::Memory);
    let stamps: Vec<VersionStamp> = (1..=3)
        .map(|sequence| {
            world.write(1, segment, sequence);
            world.newest(2, segment)
        })
        .collect();
    let forked = |at: usize| VersionStamp {
        chain: stamps[at].chain ^ 1,
        ..stamps[at].clone()
    };
    for model in [
        CoherenceModel::Full,
        CoherenceModel::Strict,
        CoherenceModel::Delta,
        CoherenceModel::Temporal,
        CoherenceModel::Diff,
    ] {
        for (have, from) in [(forked(2), 0), (forked(0), 0), (stamps[0].clone(), 1)] {
            let Request::AcquireReader(mut ask) = acquire_reader(segment, have, model) else {
                unreachable!()
            };
            ask.fresh = from > 0;
            let answer = world.ask(2, Request::AcquireReader(ask));
            assert!(answer.body::<ReaderAcquired>().updated, "{model:?}");
            let diff = interweave_wire::Diff::parse(&answer.bulk).unwrap();
            assert_eq!((diff.from, diff.to), (from, 3), "{model:?}");
        }
    }
    let release = Request::ReleaseReader(ReleaseReader { segment });
    world.ask(2, release);
    let Request::AcquireWriter(mut ask) = acquire_writer(segment, 1000) else {
        unreachable!()
    };
    ask.have = forked(2);
    let answer = world.ask(3, Request::AcquireWriter(ask));
    assert!(answer.body::<WriterAcquired>().updated);
    let diff = interweave_wire::Diff::parse(&answer.bulk).unwrap();
    assert_eq!((diff.from, diff.to), (0, 3), "a writer, too");
}

#[test]
fn coh_11_a_version_behind_that_was_sent_over_the_connection_needs_no_memory() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.write(1, segment, 1);
    let old = world.newest(2, segment);
    for sequence in 2..=u64::from(MAX_CHAINS) + 5 {
        world.write(1, segment, sequence);
    }
    let ask = acquire_reader(segment, old.clone(), CoherenceModel::Full);
    let answer = world.ask(2, ask.clone());
    let diff = interweave_wire::Diff::parse(&answer.bulk).unwrap();
    assert_eq!(diff.from, 1, "the server knows what it sent");
    let again = world.ask(2, ask);
    let diff = interweave_wire::Diff::parse(&again.bulk).unwrap();
    assert_eq!(diff.from, 0, "no more: nobody remembers that chain");
}

#[test]
fn coh_11_a_release_from_another_content_than_the_grant_s_is_refused() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    world.write(1, segment, 1);
    let mut grant = world.lock(1, segment);
    grant.now.chain ^= 1;
    let refused = world.release(1, segment, &grant, 2);
    assert_eq!(world.answer(refused).error(), ErrorCode::Malformed);
}

#[test]
fn a_read_only_handle_gets_no_writer_lock() {
    let mut world = World::new(false);
    world.hello(1);
    let Request::OpenSegment(mut request) = open("/list", Durability::Memory) else {
        unreachable!()
    };
    request.read_only = true;
    let opened: SegmentOpened = world.ask(1, Request::OpenSegment(request)).body();
    let refused = world.ask(1, acquire_writer(opened.segment, 0));
    assert_eq!(refused.error(), ErrorCode::ReadOnly);
}

#[test]
fn a_lock_asked_for_twice_is_an_error_not_a_hang() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    world.lock(1, segment);
    let again = world.ask(1, acquire_writer(segment, 60_000));
    assert_eq!(again.error(), ErrorCode::WouldDeadlock);
}

#[test]
fn bounds_without_meaning_are_refused() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let Request::AcquireReader(mut r) = acquire_reader(segment, stamp(0, 0), CoherenceModel::Diff)
    else {
        unreachable!()
    };
    r.x = 101.0;
    let answer = world.ask(1, Request::AcquireReader(r));
    assert_eq!(answer.error(), ErrorCode::BadValue);
}
