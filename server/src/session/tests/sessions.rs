//! Connections and sessions: [SES-1..6], [FIELD-1..8], [FRAME-6] and what a stream may be.

use super::*;
use interweave_wire::fields::{field, Fields};
use interweave_wire::protocol::xdr::to_bytes;
use interweave_wire::session_hash::session_hash;

#[test]
fn ses_1_the_highest_common_version_is_taken() {
    let mut world = World::new(false);
    let welcome = world.hello_as(1, [0; 16]);
    assert_eq!(welcome.version, PROTOCOL_VERSION_MAX);
    assert!(!welcome.resumed);
}

#[test]
fn ses_1_no_common_version_ends_the_connection() {
    let mut world = World::new(false);
    world.engine.connected(0, 1, [1; 16], Peer::default());
    let future = Hello {
        version_min: 7,
        ..hello([0; 16])
    };
    let answer = world.ask(1, Request::Hello(future));
    assert_eq!(answer.error(), ErrorCode::VersionMismatch);
    assert_eq!(world.closed, [1]);
}

#[test]
fn ses_4_a_hello_of_any_version_is_refused_by_both_numbers_in_a_form_that_it_reads() {
    let older = to_bytes(&hello([0; 16]));
    for (least, most, rest) in [(1_u32, 1_u32, 16), (4, 9, 0), (4, 4, 5000)] {
        let mut world = World::new(false);
        world.engine.connected(0, 1, [1; 16], Peer::default());
        let mut body = older[..4].to_vec();
        body.extend([least.to_be_bytes(), most.to_be_bytes()].concat());
        body.resize(body.len() + rest, 0xFF);
        let request = Request::decode(MessageType::Hello as i32, &body);
        let answer = world.ask(1, request);
        let said: PlainError = answer.body();
        assert_eq!(said.code, ErrorCode::VersionMismatch);
        let both = format!("versions {least} to {most}, this server 2 to 3");
        assert!(said.text.contains(&both), "{}", said.text);
        assert_eq!(world.closed, [1]);
    }
}

#[test]
fn ses_4_a_hello_of_this_version_that_cannot_be_read_is_malformed() {
    let whole = to_bytes(&hello([0; 16]));
    for body in [&whole[..whole.len() - 4], &[&whole[..], &[0; 4]].concat()] {
        let mut world = World::new(false);
        world.engine.connected(0, 1, [1; 16], Peer::default());
        let request = Request::decode(MessageType::Hello as i32, body);
        assert_eq!(world.ask(1, request).error(), ErrorCode::Malformed);
        assert_eq!(world.closed, [1]);
    }
}

#[test]
fn field_1_2_and_5_a_hello_is_taken_with_unknown_fields_and_refused_with_bad_ones() {
    let pid = field(FieldKey::Pid, &PidField { pid: 7 });
    let unknown = HeaderField {
        key: 4711,
        value: vec![1],
    };
    let unreadable = HeaderField {
        value: vec![0; 3],
        ..pid.clone()
    };
    let cases = [
        (vec![unknown.clone(), pid.clone()], None),
        (vec![pid.clone(), pid.clone()], Some(ErrorCode::Malformed)),
        (vec![unknown.clone(), unknown], Some(ErrorCode::Malformed)),
        (vec![unreadable], Some(ErrorCode::Malformed)),
    ];
    for (fields, refused) in cases {
        let mut world = World::new(false);
        world.engine.connected(0, 1, [1; 16], Peer::default());
        let said = Hello {
            fields,
            ..hello([0; 16])
        };
        let answer = world.ask(1, Request::Hello(said));
        match refused {
            Some(code) => assert_eq!(answer.error(), code),
            None => assert_eq!(answer.type_, MessageType::Welcome),
        }
    }
}

#[test]
fn field_8_what_a_client_says_of_itself_is_kept_without_control_characters() {
    let label = |text: &str| LabelField {
        label: text.to_string(),
    };
    let mut world = World::new(false);
    world.engine.connected(0, 1, [1; 16], Peer::default());
    let said = Hello {
        fields: vec![
            field(FieldKey::Program, &label("a\u{1b}[2Jb")),
            field(FieldKey::Host, &label("a.example")),
        ],
        ..hello([0; 16])
    };
    world.ask(1, Request::Hello(said));
    let origin = world.engine.wire.origin(1);
    assert_eq!(origin.program.as_deref(), Some("a?[2Jb"));
    assert_eq!(origin.host.as_deref(), Some("a.example"));
    assert_eq!(origin.pid, None);
}

#[test]
fn log_16_the_welcome_says_which_server_and_name_space_it_is() {
    let mut world = World::new(false);
    let welcome = world.hello_as(1, [0; 16]);
    let fields = Fields::of(&welcome.fields).unwrap();
    let identity = world.engine.config.identity;
    let server: Option<IdField> = fields.get(FieldKey::ServerId).unwrap();
    let space: Option<IdField> = fields.get(FieldKey::SpaceId).unwrap();
    assert_eq!(server.unwrap().id, identity.server);
    assert_eq!(space.unwrap().id, identity.space);
}

#[test]
fn anything_before_hello_is_not_open() {
    let mut world = World::new(false);
    world.engine.connected(0, 1, [1; 16], Peer::default());
    let answer = world.ask(1, open("/list", Durability::Memory));
    assert_eq!(answer.error(), ErrorCode::NotOpen);
    assert_eq!(world.closed, [1]);
}

#[test]
fn no_hello_in_time_ends_the_connection() {
    let mut world = World::new(false);
    world
        .engine
        .connected(world.now_ns(), 1, [1; 16], Peer::default());
    world.pass(4_999);
    assert!(world.closed.is_empty());
    world.pass(1);
    assert_eq!(world.closed, [1]);
}

#[test]
fn frame_6_an_unknown_request_is_answered_unimplemented() {
    let mut world = World::new(false);
    world.hello(1);
    let answer = world.ask(1, Request::Unknown(4711));
    assert_eq!(answer.type_, MessageType::Unimplemented);
    assert_eq!(answer.body::<Unimplemented>().type_, 4711);
    assert_eq!(world.ask(1, Request::Ping).type_, MessageType::Pong);
}

#[test]
fn a_body_that_does_not_decode_is_malformed_and_the_connection_goes_on() {
    let mut world = World::new(false);
    world.hello(1);
    let broken = Request::decode(MessageType::OpenSegment as i32, &[1, 2, 3]);
    assert_eq!(world.ask(1, broken).error(), ErrorCode::Malformed);
    assert_eq!(world.ask(1, Request::Ping).type_, MessageType::Pong);
}

#[test]
fn a_stream_that_is_no_requests_ends_the_connection() {
    for stream in [0, 1 << 31] {
        let mut world = World::new(false);
        world.hello(1);
        let ping = Incoming {
            stream,
            request: Request::Ping,
            bulk: Bytes::new(),
            announced_bytes: 0,
            chains: Vec::new(),
        };
        world.engine.request(world.now_ns(), 1, ping);
        world.drain();
        assert_eq!(world.answer(stream).error(), ErrorCode::Malformed);
        assert_eq!(world.closed, [1]);
    }
}

#[test]
fn ses_2_a_session_is_resumed_with_its_writer_lock() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    let grant = world.lock(1, segment);
    let session = world.hello(2);
    assert_ne!(session, [0; 16]);
    let first = session_of(1);
    world.engine.disconnected(world.now_ns(), 1);
    world.pass(5_000);
    let welcome = world.hello_as(3, first);
    assert!(welcome.resumed);
    assert_eq!(welcome.session, first);
    assert_eq!(world.open(3, "/list", Durability::Memory), segment);
    let stream = world.release(3, segment, &grant, 1);
    assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
}

/// The engine as Debug prints it: all that it keeps, in one text.
#[test]
fn ses_6_no_id_of_a_session_is_kept_after_the_message_that_carries_it() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Synced);
    let third = world.hello(3);
    world.engine.disconnected(world.now_ns(), 3);
    world.hello_as(4, third);
    let grant = world.lock(1, segment);
    world.release(1, segment, &grant, 1);
    let resolve = ResolveRelease {
        segment,
        session: session_of(1),
        sequence: 1,
    };
    let resolving = world.send(2, Request::ResolveRelease(resolve));
    assert!(
        world.try_answer(resolving).is_none(),
        "it waits for the log"
    );
    let kept = format!("{:?}", world.engine);
    // The fourth connection resumes the third's session: the id that it was to have is not used.
    for connection in 1..=4 {
        let id = format!("{:?}", session_of(connection));
        assert!(!kept.contains(&id), "the id of connection {connection}");
    }
    let hash = session_hash(&session_of(1));
    assert!(
        kept.contains(&format!("{hash:?}")),
        "hashes are looked for as they are printed"
    );
    world.store_all();
    assert!(world.answer(resolving).body::<ReleaseResolved>().committed);
}

#[test]
fn ses_2_resuming_closes_the_older_connection() {
    let mut world = World::new(false);
    let session = world.hello(1);
    assert!(world.hello_as(2, session).resumed);
    assert_eq!(world.closed, [1]);
    // Whatever the older one still carries is not looked at.
    world.send(1, Request::Ping);
    assert!(world.notifications(1, MessageType::Pong).is_empty());
}

#[test]
fn ses_2_after_its_lease_a_session_is_gone_and_its_id_refused() {
    let mut world = World::new(false);
    let segment = world.clients(1, Durability::Memory);
    world.lock(1, segment);
    let session = session_of(1);
    world.engine.disconnected(world.now_ns(), 1);
    world.pass(u64::from(LEASE_MS));
    let welcome = world.hello_as(2, session);
    assert!(!welcome.resumed);
    assert_ne!(welcome.session, session);
    world.open(2, "/list", Durability::Memory);
    world.lock(2, segment);
}

#[test]
fn goodbye_ends_the_session_at_once() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.lock(1, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    world.send(1, Request::Goodbye);
    assert_eq!(world.closed, [1]);
    assert_eq!(world.answer(waiting).type_, MessageType::WriterAcquired);
}

#[test]
fn ses_3_a_heartbeat_comes_when_there_is_nothing_else_to_say() {
    let mut world = World::new(false);
    world.hello(1);
    world.pass_talking(10_000, &[1]);
    let beats = world.notifications(1, MessageType::Heartbeat);
    assert!(beats.len() >= 10, "{} in 10 s", beats.len());
    let streams: Vec<u32> = beats.iter().map(|b| b.stream).collect();
    let counted: Vec<u32> = (1..=beats.len() as u32).map(|n| n | 1 << 31).collect();
    assert_eq!(streams, counted, "notifications count up");
}

#[test]
fn ses_3_a_heartbeat_comes_after_three_quarters_of_its_time_in_silence() {
    let mut world = World::new(false);
    world.hello(1);
    world.pass(700);
    world.ask(1, Request::Ping);
    let beats = |world: &mut World| world.notifications(1, MessageType::Heartbeat).len();
    for _ in 0..3 {
        world.pass(749);
        assert_eq!(beats(&mut world), 0);
        world.pass(1);
        assert_eq!(beats(&mut world), 1);
    }
}

#[test]
fn a_connection_has_a_bounded_number_of_segments_open() {
    let mut world = World::new(false);
    world.hello(1);
    let wire = &mut world.engine.wire;
    for number in 1..=131_072 {
        assert!(matches!(wire.open(1, number, false), Ok(true)));
    }
    let refused = wire.open(1, 131_073, false).expect_err("one too many");
    assert_eq!(refused.code, ErrorCode::TooLarge);
    assert!(matches!(wire.open(1, 131_072, false), Ok(false)));
}

#[test]
fn a_silent_connection_is_closed_after_the_lease() {
    let mut world = World::new(false);
    world.hello(1);
    world.hello(2);
    world.pass_talking(u64::from(LEASE_MS), &[2]);
    assert_eq!(world.closed, [1]);
}

#[test]
fn lost_framing_is_told_and_ends_the_connection() {
    let mut world = World::new(false);
    world.hello(1);
    world
        .engine
        .malformed(world.now_ns(), 1, "too long".to_string());
    world.drain();
    assert_eq!(world.answer(0).error(), ErrorCode::Malformed);
    assert_eq!(world.closed, [1]);
}

#[test]
fn bulk_is_admitted_only_under_a_lock_that_is_held() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let grant = world.lock(1, segment);
    let release = release_writer(segment, &grant, 1, 10);
    assert!(!world.engine.admits(2, &release, 10), "another's lock");
    assert!(!world.engine.admits(3, &release, 10), "nobody's");
    assert!(world.engine.admits(1, &release, 10));
    let most = world.engine.config().receiving_bytes;
    assert!(!world.engine.admits(1, &release, most + 1));
    assert!(!world.engine.admits(1, &Request::Ping, 10));
    assert!(release.takes_bulk() && !Request::Ping.takes_bulk());
    let nothing = Request::ReleaseWriter(ReleaseWriter {
        sequence: 1,
        parts: Vec::new(),
    });
    assert!(!world.engine.admits(2, &nothing, 10));
}

#[test]
fn conn_5_a_server_that_stops_refuses_waits_saves_and_says_goodbye() {
    let mut world = World::new(true);
    let segment = world.clients(2, Durability::Memory);
    world.write(1, segment, 1);
    world.lock(1, segment);
    let waiting = world.send(2, acquire_writer(segment, 60_000));
    world.engine.stop(world.now_ns());
    world.drain();
    assert_eq!(world.answer(waiting).error(), ErrorCode::Stopping);
    assert!(world.engine.is_idle());
    world.engine.save_and_part(world.now_ns());
    world.drain();
    assert_eq!(world.notifications(1, MessageType::Goodbye).len(), 1);
    let mut closed = world.closed.clone();
    closed.sort_unstable();
    assert_eq!(closed, [1, 2]);
    let [Asked::Checkpoint(_, checkpoint)] = &world.asked[..] else {
        panic!("one checkpoint is asked for: {:?}", world.asked);
    };
    assert_eq!(checkpoint.head.at.number, 1);
    assert_eq!(checkpoint.head.path, "/list");
    assert_eq!(checkpoint.head.next_serial, 257, "two grants had 128 each");
    world.store_all();
    assert!(world.engine.is_idle() && world.engine.is_saved());
}

/// The server is busy with one thing from now on for so long: it is told afterwards.
fn be_absent(world: &mut World, ms: u64) {
    let from_ns = world.now_ns();
    world.now_ms += ms;
    let to_ns = world.now_ns();
    world.engine.was_absent(Absence { from_ns, to_ns });
}

#[test]
fn ses_3_nobody_is_silent_while_the_server_is_busy() {
    let mut world = World::new(false);
    world.hello(1);
    world.hello(2);
    world
        .engine
        .connected(world.now_ns(), 3, [3; 16], Peer::default());
    world.pass(3_000);
    be_absent(&mut world, u64::from(2 * LEASE_MS));
    // What waits in the socket of the first is read after it; the others say nothing more.
    assert_eq!(world.ask(1, Request::Ping).type_, MessageType::Pong);
    assert!(world.closed.is_empty(), "{:?}", world.closed);
    world.pass(2_000);
    assert_eq!(
        world.closed,
        [3],
        "no hello within 5 seconds in which the server listened"
    );
    world.pass(u64::from(LEASE_MS) - 5_001);
    assert_eq!(world.closed, [3]);
    world.pass(1);
    assert_eq!(
        world.closed,
        [3, 2],
        "silent for a lease in which the server listened"
    );
}

#[test]
fn ses_2_a_session_is_resumed_after_the_server_was_busy_for_longer_than_its_lease() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let id = world.hello(3);
    world.open(3, "/list", Durability::Memory);
    let grant = world.lock(3, segment);
    world.engine.disconnected(world.now_ns(), 3);
    world.pass_talking(3_000, &[1, 2]);
    be_absent(&mut world, u64::from(2 * LEASE_MS));
    assert!(world.hello_as(4, id).resumed);
    assert_eq!(world.open(4, "/list", Durability::Memory), segment);
    let stream = world.release(4, segment, &grant, 1);
    assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
}

#[test]
fn ses_2_a_session_ends_though_the_server_was_busy_during_its_lease() {
    let mut world = World::new(false);
    world.hello(1);
    world.engine.disconnected(world.now_ns(), 1);
    world.pass(3_000);
    be_absent(&mut world, 5_000);
    world.pass(u64::from(LEASE_MS) - 3_001);
    assert_eq!(world.engine.statistics().sessions, 1);
    world.pass(1);
    assert_eq!(world.engine.statistics().sessions, 0);
}

#[test]
fn lock_3_a_lease_becomes_longer_by_the_absence_and_no_more() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.lock(1, segment);
    world.pass_talking(4_000, &[1, 2]);
    let other = world.send(2, acquire_writer(segment, 60_000));
    be_absent(&mut world, 7_000);
    world.pass_talking(u64::from(LEASE_MS) - 4_500, &[1, 2]);
    assert!(world.try_answer(other).is_none());
    world.pass_talking(500, &[1, 2]);
    assert_eq!(world.answer(other).type_, MessageType::WriterAcquired);
}

#[test]
fn lock_3_a_lease_that_was_over_before_the_absence_stays_over() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    world.lock(1, segment);
    world.pass_talking(u64::from(LEASE_MS) - 500, &[1, 2]);
    let other = world.send(2, acquire_writer(segment, 60_000));
    world.now_ms += 500;
    be_absent(&mut world, 5_000);
    world.pass(0);
    assert_eq!(world.answer(other).type_, MessageType::WriterAcquired);
}

#[test]
fn a_connection_is_greeted_when_its_hello_was_taken() {
    let mut world = World::new(false);
    let now_ns = world.now_ns();
    let id = session_of(1);
    world.engine.connected(now_ns, 1, id, Peer::default());
    assert!(!world.engine.is_greeted(1));
    world.ask(1, Request::Hello(hello([0; 16])));
    assert!(world.engine.is_greeted(1) && !world.engine.is_greeted(2));
}

#[test]
fn lock_3_the_lease_of_a_writer_does_not_end_while_the_server_is_busy() {
    let mut world = World::new(false);
    let segment = world.clients(2, Durability::Memory);
    let grant = world.lock(1, segment);
    world.pass_talking(4_000, &[1, 2]);
    be_absent(&mut world, u64::from(LEASE_MS));
    let renewal = Request::RenewWriter(RenewWriter {
        segment,
        fence: grant.fence,
    });
    assert_eq!(world.ask(1, renewal).type_, MessageType::WriterRenewed);
    let other = world.send(2, acquire_writer(segment, 60_000));
    world.pass_talking(u64::from(LEASE_MS) - 500, &[1, 2]);
    assert!(world.try_answer(other).is_none());
    world.pass_talking(500, &[1, 2]);
    assert_eq!(world.answer(other).type_, MessageType::WriterAcquired);
}

/// A segment remembers the releases of all living sessions [LOCK-9], so it must learn of each end.
#[test]
fn a_session_with_many_locks_ends_in_each_segment_that_it_has_written() {
    let mut world = World::new(false);
    world.hello(1);
    let written = world.open(1, "/written", Durability::Memory);
    world.write(1, written, 1);
    for number in 0..200 {
        let other = world.open(1, &format!("/other/{number}"), Durability::Memory);
        let grant = world.lock(1, other);
        let abort = AbortWriter {
            segment: other,
            fence: grant.fence,
        };
        world.send(1, Request::AbortWriter(abort));
    }
    let hash = session_hash(&session_of(1));
    let lives = |world: &World| {
        let segment = world.engine.segments.get(written);
        segment.expect("it is there").remembered.lives(&hash)
    };
    assert!(lives(&world));
    world.send(1, Request::Goodbye);
    assert!(!lives(&world));
}
