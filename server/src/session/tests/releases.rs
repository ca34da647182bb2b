//! Releases in memory: once, whole, in order [LOCK-4], [LOCK-7], [LOCK-8].

use super::durability::{found, restarted};
use super::*;
use interweave_wire::session_hash::session_hash;

pub fn resolve(segment: u32, session: SessionId, sequence: u64) -> Request {
    Request::ResolveRelease(ResolveRelease {
        segment,
        session,
        sequence,
    })
}

#[test]
fn lock_8_a_release_sent_again_is_answered_as_it_was_and_not_applied_again() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let grant = world.lock(1, segment);
    let first = world.release(1, segment, &grant, 1);
    let first: WriterReleased = world.answer(first).body();
    world.write(2, segment, 1);
    let again = world.release(1, segment, &grant, 1);
    let again: WriterReleased = world.answer(again).body();
    assert_eq!(first, again);
    assert_eq!(world.newest(1, segment).number, 2);
}

/// A client may be away for long while its server dies and another one takes over.
#[test]
fn lock_8_a_new_owner_remembers_the_releases_of_the_one_before_for_an_hour() {
    let mut before = World::new(true);
    let (segment, last) = found(&mut before, false, Durability::Synced);
    let (mut world, _) = restarted(segment);
    let minutes = |n: u64| n * 60 * 1000;
    for (passes_ms, committed) in [(minutes(59), Some(last)), (minutes(1), None)] {
        world.pass(passes_ms);
        for connection in 10..=80 {
            world.hello(connection);
            let number = world.open(connection, "/list", Durability::Synced);
            world.write(connection, number, 1);
            world.send(connection, Request::Goodbye);
        }
        world.hello(100);
        let number = world.open(100, "/list", Durability::Synced);
        let answer = world.ask(100, resolve(number, session_of(1), 3));
        match committed {
            Some(stamp) => assert_eq!(answer.body::<ReleaseResolved>().version, stamp),
            None => assert_eq!(answer.error(), ErrorCode::Unreachable),
        }
    }
}

/// Other sessions release once each, over these connections.
fn others_release(world: &mut World, connections: std::ops::RangeInclusive<u64>) -> Vec<SessionId> {
    let one = |connection| {
        let session = world.hello(connection);
        let segment = world.open(connection, "/list", Durability::Memory);
        world.write(connection, segment, 1);
        session
    };
    connections.map(one).collect()
}

#[test]
fn lock_8_a_session_that_lives_is_remembered_whatever_others_do() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let session = session_of(1);
    let grant = world.lock(1, segment);
    let first = world.release(1, segment, &grant, 1);
    let first: WriterReleased = world.answer(first).body();
    let others = others_release(&mut world, 2..=100);
    for connection in 2..=100 {
        world.send(connection, Request::Goodbye);
    }
    world.hello(101);
    world.open(101, "/list", Durability::Memory);
    let resolved: ReleaseResolved = world.ask(101, resolve(segment, session, 1)).body();
    assert!(resolved.committed);
    assert_eq!(resolved.version, first.versions[0]);
    let never: ReleaseResolved = world.ask(101, resolve(segment, session, 2)).body();
    assert!(!never.committed, "of a session that lives this is certain");
    // The same over a new connection of the session.
    world.hello_as(102, session);
    world.open(102, "/list", Durability::Memory);
    let again = world.release(102, segment, &grant, 1);
    assert_eq!(world.answer(again).body::<WriterReleased>(), first);
    assert_eq!(world.newest(102, segment).number, 100);
    let kept = |s: &SessionId| {
        world
            .engine
            .segments
            .get(segment)
            .unwrap()
            .remembered
            .last_of(&session_hash(s))
            .is_some()
    };
    assert_eq!(others.iter().filter(|s| kept(s)).count(), 64);
}

#[test]
fn lock_9_what_is_not_remembered_any_more_is_not_told_to_be_rolled_back() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let sessions = others_release(&mut world, 2..=66);
    let known: ReleaseResolved = world.ask(1, resolve(segment, [9; 16], 1)).body();
    assert!(!known.committed, "nothing was forgotten yet");
    for connection in 2..=66 {
        world.send(connection, Request::Goodbye);
    }
    let answer = world.ask(1, resolve(segment, sessions[0], 1));
    assert_eq!(answer.error(), ErrorCode::Unreachable);
    let resolved: ReleaseResolved = world.ask(1, resolve(segment, sessions[1], 1)).body();
    assert!(resolved.committed, "the first of the last 64");
}

#[test]
fn lock_7_several_segments_are_released_together_or_not_at_all() {
    let mut world = World::new(false);
    world.hello(1);
    let a = world.open(1, "/a", Durability::Memory);
    let b = world.open(1, "/b", Durability::Memory);
    for (sequence, good) in [(1, false), (2, true)] {
        let (grant_a, grant_b) = (world.lock(1, a), world.lock(1, b));
        let (diff_a, mut diff_b) = (int_diff(&grant_a, 1), int_diff(&grant_b, 2).to_vec());
        if !good {
            *diff_b.last_mut().unwrap() = 0xFF;
            diff_b.push(0xFF);
        }
        let part = |segment, grant: &WriterAcquired, bytes: usize| ReleasePart {
            segment,
            fence: grant.fence,
            base: grant.now.clone(),
            diff_bytes: bytes as u64,
        };
        let parts = vec![
            part(a, &grant_a, diff_a.len()),
            part(b, &grant_b, diff_b.len()),
        ];
        let request = Request::ReleaseWriter(ReleaseWriter { sequence, parts });
        let bulk = Bytes::from([&diff_a[..], &diff_b[..]].concat());
        let stream = world.send_with(1, request, bulk);
        let answer = world.answer(stream);
        let expected = u64::from(good);
        assert_eq!(answer.type_ == MessageType::WriterReleased, good);
        assert_eq!(world.newest(1, a).number, expected);
        assert_eq!(world.newest(1, b).number, expected);
    }
}

/// A release of /a and /b, whose numbers these are.
pub fn release_both(
    (a, grant_a): (u32, &WriterAcquired),
    (b, grant_b): (u32, &WriterAcquired),
    sequence: u64,
) -> (Request, Bytes) {
    let (diff_a, diff_b) = (int_diff(grant_a, 1), int_diff(grant_b, 2));
    let part = |segment, grant: &WriterAcquired, diff: &Bytes| ReleasePart {
        segment,
        fence: grant.fence,
        base: grant.now.clone(),
        diff_bytes: diff.len() as u64,
    };
    let parts = vec![part(a, grant_a, &diff_a), part(b, grant_b, &diff_b)];
    let request = Request::ReleaseWriter(ReleaseWriter { sequence, parts });
    (request, Bytes::from([&diff_a[..], &diff_b[..]].concat()))
}

/// Found by the simulator: FENCED said that a release was undone, of which /b still had its part.
#[test]
fn lock_8_a_release_sent_again_after_one_of_its_segments_was_removed_is_not_told_to_be_undone() {
    let mut world = World::new(false);
    let session = world.hello(1);
    let a = world.open(1, "/a", Durability::Memory);
    let b = world.open(1, "/b", Durability::Memory);
    let (grant_a, grant_b) = (world.lock(1, a), world.lock(1, b));
    let (request, bulk) = release_both((a, &grant_a), (b, &grant_b), 1);
    let first = world.send_with(1, request, bulk);
    assert_eq!(world.answer(first).type_, MessageType::WriterReleased);
    let path = "/a".to_string();
    world.ask(1, Request::RemoveSegment(RemoveSegment { path }));
    world.hello_as(2, session);
    world.open(2, "/b", Durability::Memory);
    let made_anew = world.open(2, "/a", Durability::Memory);
    for number in [a, made_anew] {
        let (request, bulk) = release_both((number, &grant_a), (b, &grant_b), 1);
        let again = world.send_with(2, request, bulk);
        assert_eq!(world.answer(again).error(), ErrorCode::Unreachable);
    }
    let resolved: ReleaseResolved = world.ask(2, resolve(b, session, 1)).body();
    assert!(resolved.committed);
    assert_eq!(world.newest(2, b).number, 1);
    assert_eq!(world.newest(2, made_anew).number, 0);
    // Nothing of the release is there any more.
    let path = "/b".to_string();
    world.ask(2, Request::RemoveSegment(RemoveSegment { path }));
    let (request, bulk) = release_both((made_anew, &grant_a), (b, &grant_b), 1);
    let again = world.send_with(2, request, bulk);
    assert_eq!(world.answer(again).error(), ErrorCode::Fenced);
}

#[test]
fn a_release_without_a_diff_gives_the_lock_back_and_makes_no_version() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let grant = world.lock(1, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    let stream = world.send(1, release_writer(segment, &grant, 1, 0));
    let released: WriterReleased = world.answer(stream).body();
    assert_eq!(released.versions[0].number, 0);
    assert_eq!(world.answer(waiting).type_, MessageType::WriterAcquired);
}

#[test]
fn a_malformed_diff_changes_nothing_and_gives_the_lock_back() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    for bulk in [&b"nonsense"[..], &b"IWD1\0\0\x02"[..]] {
        let grant = world.lock(1, segment);
        let request = release_writer(segment, &grant, 1, bulk.len());
        let stream = world.send_with(1, request, Bytes::from_static(bulk));
        assert_eq!(world.answer(stream).error(), ErrorCode::Malformed);
    }
    let grant = world.lock(1, segment);
    let request = release_writer(segment, &grant, 1, 3);
    let stream = world.send_with(1, request, int_diff(&grant, 1));
    let error = world.answer(stream).error();
    assert_eq!(error, ErrorCode::Malformed, "parts and bulk disagree");
    assert_eq!(world.newest(1, segment).number, 0);
}

#[test]
fn frame_4_a_release_beyond_the_servers_bound_is_too_large_and_the_connection_stays() {
    let mut world = World::with(Config {
        max_diff_bytes: 10,
        ..Config::default()
    });
    let segment = world.clients(1, Durability::Memory);
    let grant = world.lock(1, segment);
    let refused = release_dropped(&mut world, segment, &grant, 20);
    assert_eq!(refused, ErrorCode::TooLarge);
    assert!(world.closed.is_empty());
    let fence = grant.fence;
    let renewed = world.ask(1, Request::RenewWriter(RenewWriter { segment, fence }));
    assert_eq!(renewed.type_, MessageType::WriterRenewed, "still held");
}

#[test]
fn lock_12_a_release_that_there_is_never_room_for_is_too_large() {
    let mut world = World::with(Config {
        receiving_bytes: 10,
        ..Config::default()
    });
    let segment = world.clients(1, Durability::Memory);
    let grant = world.lock(1, segment);
    assert!(world
        .engine
        .admits(1, &release_writer(segment, &grant, 1, 10), 10));
    let refused = release_dropped(&mut world, segment, &grant, 11);
    assert_eq!(refused, ErrorCode::TooLarge);
}

#[test]
fn lock_12_a_release_that_the_log_cannot_hold_is_too_large_before_it_comes() {
    const MOST: u64 = (1 << 32) - (1 << 16);
    for (durable, bytes, kept) in [
        (Durability::Synced, MOST + 1, false),
        (Durability::Written, MOST + 1, false),
        (Durability::Memory, MOST + 1, true),
        (Durability::Synced, MOST, true),
    ] {
        let mut world = World::new(true);
        world.hello(1);
        let segment = open_with_quota(&mut world, 1, ("/large", durable), 16 << 30);
        let grant = world.lock(1, segment);
        let request = release_writer(segment, &grant, 1, bytes as usize);
        assert_eq!(world.engine.admits(1, &request, bytes), kept, "{durable:?}");
        if !kept {
            let refused = release_dropped(&mut world, segment, &grant, bytes);
            assert_eq!(refused, ErrorCode::TooLarge);
            let again = world.release(1, segment, &grant, 1);
            world.store_all();
            assert_eq!(world.answer(again).type_, MessageType::WriterReleased);
        }
    }
}

#[test]
fn lock_12_parts_that_the_log_cannot_hold_together_are_too_large() {
    let mut world = World::new(true);
    world.hello(1);
    let bytes = 5 << 29;
    let parts = ["/a", "/b"].map(|path| {
        let segment = open_with_quota(&mut world, 1, (path, Durability::Synced), 16 << 30);
        let Request::ReleaseWriter(r) =
            release_writer(segment, &world.lock(1, segment), 1, bytes as usize)
        else {
            unreachable!()
        };
        r.parts[0].clone()
    });
    let sequence = 1;
    let request = Request::ReleaseWriter(ReleaseWriter {
        sequence,
        parts: parts.to_vec(),
    });
    assert!(!world.engine.admits(1, &request, 2 * bytes));
}

/// Client 1 sends a release whose bulk was not admitted.
fn release_dropped(
    world: &mut World,
    segment: u32,
    grant: &WriterAcquired,
    bytes: u64,
) -> ErrorCode {
    let request = release_writer(segment, grant, 1, bytes as usize);
    let incoming = Incoming {
        stream: 999,
        request,
        bulk: Bytes::new(),
        announced_bytes: bytes,
        chains: Vec::new(),
    };
    world.engine.request(world.now_ns(), 1, incoming);
    world.drain();
    world.answer(999).error()
}

/// Opens the segment with a quota, on that connection.
fn open_with_quota(
    world: &mut World,
    connection: u64,
    (path, durable): (&str, Durability),
    quota_bytes: u64,
) -> u32 {
    let Request::OpenSegment(mut request) = open(path, durable) else {
        unreachable!()
    };
    request.quota_bytes = quota_bytes;
    let stream = world.send(connection, Request::OpenSegment(request));
    world.store_all();
    let opened = world.answer(stream);
    opened.body::<SegmentOpened>().segment
}

#[test]
fn lock_12_bulk_beyond_what_the_quota_could_hold_is_not_kept() {
    let mut world = World::new(false);
    world.hello(1);
    let segment = open_with_quota(&mut world, 1, ("/tiny", Durability::Memory), 65_536);
    let grant = world.lock(1, segment);
    let most = 5 * 65_536;
    for (bytes, kept) in [(3 << 30, false), (most + 1, false), (most, true)] {
        let request = release_writer(segment, &grant, 1, bytes);
        assert_eq!(world.engine.admits(1, &request, bytes as u64), kept);
    }
    let refused = release_dropped(&mut world, segment, &grant, 3 << 30);
    assert_eq!(refused, ErrorCode::Quota);
    world.lock(1, segment);
}

#[test]
fn lock_4_bulk_that_was_not_kept_under_a_lost_lock_is_fenced() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let mut grant = world.lock(1, segment);
    grant.fence += 1;
    let refused = release_dropped(&mut world, segment, &grant, 100);
    assert_eq!(refused, ErrorCode::Fenced);
}

#[test]
fn lock_12_of_one_lock_one_release_is_kept_at_a_time() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let grant = world.lock(1, segment);
    let diff = int_diff(&grant, 7);
    let request = release_writer(segment, &grant, 1, diff.len());
    let bytes = diff.len() as u64;
    assert!(world.engine.admits(1, &request, bytes));
    assert!(!world.engine.admits(1, &request, bytes), "one is under way");
    let refused = release_dropped(&mut world, segment, &grant, bytes);
    assert_eq!(refused, ErrorCode::TimedOut);
    assert!(!world.engine.admits(1, &request, bytes), "still");
    let stream = world.send_with(1, request, diff);
    assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
    let grant = world.lock(1, segment);
    let next = release_writer(segment, &grant, 2, 100);
    assert!(world.engine.admits(1, &next, 100));
    // Its connection is lost and the session continues over another.
    let session = session_of(1);
    world.hello_as(2, session);
    world.open(2, "/list", Durability::Memory);
    assert!(world.engine.admits(2, &next, 100));
}

const MIB: u64 = 1 << 20;

/// Clients 1 to 3, each with the lock of a segment of its own, at a server with little room.
struct Senders {
    world: World,
    locks: Vec<(u32, WriterAcquired)>,
}

impl Senders {
    fn with_room(receiving_bytes: u64) -> Senders {
        let mut world = World::with(Config {
            receiving_bytes,
            lease_ms: LEASE_MS,
            ..Config::default()
        });
        let mut locks = Vec::new();
        for connection in 1..=3 {
            world.hello(connection);
            let segment = world.open(connection, &format!("/{connection}"), Durability::Memory);
            locks.push((segment, world.lock(connection, segment)));
        }
        Senders { world, locks }
    }

    fn request(&self, connection: u64, bytes: u64) -> Request {
        let (segment, grant) = &self.locks[connection as usize - 1];
        release_writer(*segment, grant, 1, bytes as usize)
    }

    /// Announces a release of so many bytes.
    fn begins(&mut self, connection: u64, bytes: u64) -> bool {
        let request = self.request(connection, bytes);
        self.world.engine.admits(connection, &request, bytes)
    }

    /// So many bytes come of a release that was announced.
    fn comes(&mut self, connection: u64, bytes: u64) -> bool {
        let request = self.request(connection, bytes);
        let kept = self.world.engine.came(connection, &request, bytes);
        self.world.drain();
        kept
    }
}

#[test]
fn lock_12_bulk_under_way_is_bounded_and_what_cannot_be_committed_makes_room() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(2, 6 * MIB));
    assert!(senders.comes(2, 6 * MIB));
    assert!(!senders.begins(1, 5 * MIB), "11 of 10");
    assert!(
        senders.begins(3, 100),
        "what fits in a frame does not count"
    );
    let (segment, grant) = senders.locks[0].clone();
    let world = &mut senders.world;
    let refused = release_dropped(world, segment, &grant, 5 * MIB);
    assert_eq!(refused, ErrorCode::TimedOut);
    for _ in 0..3 {
        world.pass_talking(4_000, &[1, 2, 3]);
        let fence = grant.fence;
        world.ask(1, Request::RenewWriter(RenewWriter { segment, fence }));
    }
    assert!(world.closed.is_empty());
    assert!(senders.begins(1, 5 * MIB), "2 lost its lock");
    senders.world.drain();
    assert_eq!(senders.world.closed, [2]);
}

#[test]
fn lock_12_a_connection_of_whose_bulk_nothing_came_makes_no_room() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(2, 6 * MIB));
    assert!(senders.begins(3, 10 * MIB));
    assert!(senders.comes(3, 8 * MIB));
    let (segment, grant) = &senders.locks[1];
    let (segment, fence) = (*segment, grant.fence);
    let abort = Request::AbortWriter(AbortWriter { segment, fence });
    senders.world.ask(2, abort);
    assert!(!senders.begins(1, 6 * MIB));
    senders.world.drain();
    assert!(senders.world.closed.is_empty());
}

#[test]
fn lock_12_the_bound_of_bulk_is_exact_and_one_frame_does_not_count() {
    let frame = u64::from(MAX_CHUNK_BYTES);
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(2, 6 * MIB));
    assert!(senders.comes(2, 5 * MIB));
    assert!(!senders.begins(1, 5 * MIB + 1));
    assert!(senders.begins(1, 5 * MIB));
    assert!(senders.comes(1, 5 * MIB - 1));
    assert!(!senders.begins(3, frame + 1));
    assert!(senders.begins(3, frame));
    assert!(senders.comes(2, 1));
    assert!(senders.world.refused_bulk.is_empty(), "all room is used");
    assert!(senders.comes(2, 1));
    assert_eq!(senders.world.refused_bulk, [1], "it began last");
}

#[test]
fn lock_12_a_release_that_announces_all_room_keeps_nobody_out() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 10 * MIB));
    assert!(senders.comes(1, MIB));
    assert!(senders.begins(2, 9 * MIB));
    assert!(senders.comes(2, 9 * MIB));
    let (segment, grant) = senders.locks[1].clone();
    let stream = senders.world.release(2, segment, &grant, 1);
    let answer = senders.world.answer(stream);
    assert_eq!(answer.type_, MessageType::WriterReleased);
    assert!(senders.comes(1, 8 * MIB), "what was whole takes no room");
    assert!(senders.comes(1, MIB));
    assert!(senders.world.closed.is_empty() && senders.world.refused_bulk.is_empty());
}

#[test]
fn lock_12_a_release_that_has_stalled_makes_room() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 10 * MIB));
    assert!(senders.comes(1, 9 * MIB));
    assert!(!senders.begins(2, 8 * MIB), "1 is not slow yet");
    for _ in 0..5 {
        senders.world.pass_talking(3_000, &[1, 2, 3]);
        assert!(senders.comes(1, 1000), "nobody wants the room");
        for connection in [1, 2] {
            let (segment, grant) = &senders.locks[connection - 1];
            let (segment, fence) = (*segment, grant.fence);
            let renew = Request::RenewWriter(RenewWriter { segment, fence });
            senders.world.ask(connection as u64, renew);
        }
    }
    assert!(senders.begins(2, 8 * MIB));
    senders.world.drain();
    assert_eq!(senders.world.refused_bulk, [1]);
    assert!(senders.comes(2, 8 * MIB));
    assert!(!senders.comes(1, 0), "so 1 frees its memory");
    assert!(senders.world.closed.is_empty());
}

impl Senders {
    /// So much time passes, in which all keep their locks.
    fn passes(&mut self, ms: u64) {
        self.world.pass_talking(ms, &[1, 2, 3]);
        for connection in [1, 2, 3] {
            let (segment, grant) = &self.locks[connection - 1];
            let (segment, fence) = (*segment, grant.fence);
            let renew = Request::RenewWriter(RenewWriter { segment, fence });
            self.world.ask(connection as u64, renew);
        }
    }

    /// Three leases pass. In each, a chunk or more comes of the releases of these connections.
    fn trickles(&mut self, connections: &[u64]) {
        for _ in 0..10 {
            self.passes(3_000);
            for &connection in connections {
                assert!(self.comes(connection, MIB / 8));
            }
        }
    }
}

#[test]
fn lock_12_a_release_of_which_exactly_a_chunk_came_in_a_lease_has_not_stalled() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 10 * MIB));
    assert!(senders.comes(1, 8 * MIB));
    senders.passes(6_000);
    assert!(senders.comes(1, u64::from(MAX_CHUNK_BYTES)));
    senders.passes(6_000);
    assert!(!senders.begins(2, 6 * MIB), "more than a half");
    senders.passes(6_000);
    assert!(senders.begins(2, 6 * MIB), "nothing more came");
    senders.world.drain();
    assert_eq!(senders.world.refused_bulk, [1]);
}

#[test]
fn lock_12_a_slow_release_beyond_its_share_makes_room_for_one_within() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 10 * MIB));
    assert!(senders.comes(1, 8 * MIB));
    assert!(!senders.begins(2, 4 * MIB), "1 began within the lease");
    senders.trickles(&[1]);
    assert!(!senders.begins(2, 6 * MIB), "6 of 10 are more than a half");
    assert!(senders.world.refused_bulk.is_empty());
    assert!(senders.begins(2, 4 * MIB));
    senders.world.drain();
    assert_eq!(senders.world.refused_bulk, [1]);
    assert!(senders.comes(2, 4 * MIB));
    assert!(!senders.comes(1, 0), "so 1 frees its memory");
    assert!(senders.world.closed.is_empty());
}

#[test]
fn lock_12_a_release_of_exactly_a_share_is_within_it() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(3, 5 * MIB), "nothing of it comes: no share");
    assert!(senders.begins(1, 10 * MIB));
    assert!(senders.comes(1, 8 * MIB));
    senders.trickles(&[1]);
    assert!(!senders.begins(2, 5 * MIB + 1));
    assert!(senders.begins(2, 5 * MIB));
    senders.world.drain();
    assert_eq!(senders.world.refused_bulk, [1]);
}

#[test]
fn lock_12_of_two_sessions_with_slow_releases_the_one_with_more_bytes_makes_room() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 10 * MIB));
    assert!(senders.begins(3, 10 * MIB));
    assert!(senders.comes(1, 5 * MIB));
    assert!(senders.comes(3, 2 * MIB));
    senders.trickles(&[1, 3]);
    assert!(senders.begins(2, 3 * MIB));
    senders.world.drain();
    assert_eq!(senders.world.refused_bulk, [1]);
}

#[test]
fn lock_12_a_slow_release_beyond_its_share_takes_no_room_from_one_within() {
    for is_slow in [false, true] {
        let mut senders = Senders::with_room(10 * MIB);
        assert!(senders.begins(1, 10 * MIB));
        assert!(senders.comes(1, 7 * MIB));
        match is_slow {
            true => senders.trickles(&[1]),
            false => assert!(senders.comes(1, MIB + MIB / 4)),
        }
        assert!(senders.begins(2, MIB + MIB / 2));
        assert!(senders.comes(2, MIB));
        let comes = senders.comes(1, MIB);
        assert_eq!(
            senders.comes(2, MIB / 2),
            is_slow,
            "the one that began last"
        );
        assert_eq!(comes, !is_slow, "the one that has the most");
        assert!(senders.world.closed.is_empty());
    }
}

#[test]
fn lock_12_of_two_slow_releases_beyond_their_shares_the_older_one_ends() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 9 * MIB));
    assert!(senders.begins(3, 6 * MIB));
    assert!(senders.comes(1, 5 * MIB));
    senders.trickles(&[1]);
    assert!(senders.comes(3, 3 * MIB));
    assert!(senders.comes(1, MIB), "3 wanted 6 of 10 and makes room");
    assert_eq!(senders.world.refused_bulk, [3]);
    assert!(!senders.comes(3, 0), "so 3 frees its memory");
}

#[test]
fn lock_12_slow_releases_within_their_shares_keep_their_room() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 10 * MIB));
    assert!(senders.begins(2, 10 * MIB));
    assert!(senders.comes(1, MIB));
    assert!(senders.comes(2, MIB));
    senders.trickles(&[1, 2]);
    assert!(!senders.begins(3, 8 * MIB), "more than a third");
    assert!(senders.comes(1, 2 * MIB));
    assert!(senders.comes(2, 2 * MIB));
    assert!(senders.begins(3, 3 * MIB));
    senders.world.drain();
    assert_eq!(senders.world.refused_bulk.len(), 1, "one makes room");
    assert!(senders.comes(3, 3 * MIB));
    assert!(senders.world.closed.is_empty());
}

#[test]
fn lock_12_a_release_that_is_whole_is_not_given_up() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 8 * MIB));
    assert!(senders.begins(2, 6 * MIB));
    assert!(senders.comes(2, 6 * MIB));
    assert!(!senders.comes(1, 5 * MIB), "2 began last, and is whole");
    assert!(senders.world.refused_bulk.is_empty());
    assert!(senders.begins(1, 4 * MIB));
    assert!(senders.comes(1, 4 * MIB));
}

#[test]
fn lock_12_bulk_that_was_given_up_is_freed_before_its_lock_brings_other_bulk() {
    let mut senders = Senders::with_room(10 * MIB);
    assert!(senders.begins(1, 8 * MIB));
    assert!(senders.begins(2, 8 * MIB));
    assert!(senders.comes(2, 7 * MIB));
    assert!(senders.comes(1, 5 * MIB));
    assert_eq!(senders.world.refused_bulk, [2]);
    assert!(!senders.begins(2, 2 * MIB), "7 MiB are still there");
    assert!(!senders.comes(2, 0));
    assert!(senders.begins(2, 2 * MIB));
    assert!(senders.comes(2, 2 * MIB));
}

#[test]
fn lock_12_where_the_room_is_used_up_the_release_that_began_last_is_given_up() {
    let mut senders = Senders::with_room(10 * MIB);
    for connection in [1, 2, 3] {
        assert!(senders.begins(connection, 8 * MIB));
    }
    for (connection, bytes) in [(1, 4), (2, 3), (3, 3)] {
        assert!(senders.comes(connection, bytes * MIB));
    }
    assert!(senders.comes(2, MIB), "an older release goes first");
    assert_eq!(senders.world.refused_bulk, [3]);
    assert!(!senders.comes(3, 0), "so 3 frees its memory");
    assert!(senders.comes(1, 2 * MIB));
    assert!(!senders.comes(2, MIB), "2 is the newest now");
    assert_eq!(senders.world.refused_bulk, [3]);
    assert!(senders.comes(1, 2 * MIB));
    for connection in [2, 3] {
        let (segment, grant) = senders.locks[connection - 1].clone();
        let incoming = Incoming {
            stream: 999,
            request: senders.request(connection as u64, 8 * MIB),
            bulk: Bytes::new(),
            announced_bytes: 8 * MIB,
            chains: Vec::new(),
        };
        let world = &mut senders.world;
        world
            .engine
            .request(world.now_ns(), connection as u64, incoming);
        world.drain();
        assert_eq!(world.answer(999).error(), ErrorCode::TimedOut);
        let again = world.release(connection as u64, segment, &grant, 1);
        assert_eq!(world.answer(again).type_, MessageType::WriterReleased);
    }
    assert!(senders.world.closed.is_empty());
}

#[test]
fn readers_are_told_before_the_writer_and_with_the_bytes_it_sent() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    super::notifications::subscribe(&mut world, 2, segment, 1 << 20);
    let grant = world.lock(1, segment);
    world.sent.clear();
    let diff = int_diff(&grant, 7);
    let request = release_writer(segment, &grant, 1, diff.len());
    world.send_with(1, request, diff.clone());
    let types: Vec<MessageType> = world.sent.iter().map(|s| s.type_).collect();
    assert_eq!(types, [MessageType::Push, MessageType::WriterReleased]);
    assert_eq!(world.sent[0].bulk.as_ptr(), diff.as_ptr(), "not a copy");
}
