//! Who may do what: [ACC-1..8] and [RULE-1..8] as far as they concern the engine.

use super::*;
use interweave_access::{Rules, TokenLine, Tokens};
use std::sync::Arc;

const RULES: &str = "\
allow cert:writer all /lab/**
allow cert:writer admin
allow cert:reader read /lab/**
allow cert:steerer read,steer /lab/**
allow cert:elsewhere all /other/**
end
";

pub fn access(rules: &str) -> Arc<Access> {
    let rules = Rules::parse(rules.as_bytes()).expect("rules");
    Arc::new(Access::new(Some(rules), None))
}

pub fn certified(name: &str) -> Peer {
    Peer {
        certificate: Some(name.into()),
        ..Peer::default()
    }
}

/// A world with these rules. The certificate of connection 1 says writer.
fn ruled(rules: &str) -> World {
    let mut world = World::new(false);
    world.engine.set_access(world.now_ns(), access(rules));
    enter(&mut world, 1, "writer");
    world
}

pub fn enter(world: &mut World, connection: u64, name: &str) -> Welcome {
    let now_ns = world.now_ns();
    let id = session_of(connection);
    world
        .engine
        .connected(now_ns, connection, id, certified(name));
    let welcome = world.ask(connection, Request::Hello(hello([0; 16])));
    assert_eq!(welcome.type_, MessageType::Welcome, "{welcome:?}");
    welcome.body()
}

pub fn open_to_read(path: &str) -> Request {
    let Request::OpenSegment(mut request) = open(path, Durability::Memory) else {
        unreachable!("open makes an OPEN_SEGMENT");
    };
    request.create = false;
    Request::OpenSegment(request)
}

pub fn list(prefix: &str) -> Request {
    Request::ListSegments(ListSegments {
        prefix: prefix.to_string(),
        after: String::new(),
    })
}

fn text(sent: &Sent) -> String {
    sent.body::<ErrorReply>().text
}

#[test]
fn rule_5_a_refusal_names_operation_path_and_line() {
    let mut world = ruled("deny cert:reader read /lab/secret\nallow * all /**\nend\n");
    enter(&mut world, 2, "reader");
    let refused = world.ask(2, open_to_read("/lab/secret"));
    assert_eq!(refused.error(), ErrorCode::Denied);
    let text = text(&refused);
    for part in ["cert:reader", "read", "/lab/secret", "line 1"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn rule_6_a_forbidden_segment_and_none_look_alike() {
    let mut world = ruled(RULES);
    let number = world.open(1, "/lab/there", Durability::Memory);
    enter(&mut world, 2, "elsewhere");
    let there = world.ask(2, open_to_read("/lab/there"));
    let none = world.ask(2, open_to_read("/lab/none!"));
    assert_eq!(
        text(&there).replace("there", ""),
        text(&none).replace("none!", "")
    );
    let requests = [
        acquire_reader(number, stamp(0, 0), CoherenceModel::Full),
        acquire_writer(number, 0),
        Request::RenewWriter(RenewWriter {
            segment: number,
            fence: 1,
        }),
        Request::AbortWriter(AbortWriter {
            segment: number,
            fence: 1,
        }),
    ];
    for request in requests {
        let there = world.ask(2, request.clone());
        let none = world.ask(2, renumbered(request, number + 1));
        assert_eq!(there.error(), none.error());
        let less = |sent: &Sent, number: u32| text(sent).replace(&number.to_string(), "N");
        assert_eq!(less(&there, number), less(&none, number + 1));
    }
}

fn renumbered(mut request: Request, number: u32) -> Request {
    match &mut request {
        Request::AcquireReader(r) => r.segment = number,
        Request::AcquireWriter(r) => r.segment = number,
        Request::RenewWriter(r) => r.segment = number,
        Request::AbortWriter(r) => r.segment = number,
        other => unreachable!("{other:?}"),
    }
    request
}

#[test]
fn rule_4_a_list_shows_what_may_be_read() {
    let mut world = ruled("allow cert:writer all /**\nallow cert:reader read /lab/*\nend\n");
    for path in ["/a", "/lab/b", "/lab/c", "/z"] {
        world.open(1, path, Durability::Memory);
    }
    enter(&mut world, 2, "reader");
    let listed = world.ask(2, list("/")).body::<SegmentList>();
    let paths: Vec<_> = listed.segments.iter().map(|s| s.path.as_str()).collect();
    assert_eq!(paths, ["/lab/b", "/lab/c"]);
    assert!(!listed.more);
}

#[test]
fn rule_4_a_steerer_changes_values_and_no_structure() {
    let mut world = ruled(RULES);
    let segment = world.open(1, "/lab/x", Durability::Memory);
    let grant = world.lock(1, segment);
    let block = grant.first_serial;
    world.release(1, segment, &grant, 1);
    enter(&mut world, 2, "steerer");
    assert_eq!(world.open(2, "/lab/x", Durability::Memory), segment);

    let grant = world.lock(2, segment);
    let new_block = int_diff(&grant, 8);
    let request = release_writer(segment, &grant, 1, new_block.len());
    let stream = world.send_with(2, request, new_block);
    assert_eq!(world.answer(stream).error(), ErrorCode::Denied);

    let grant = world.lock(2, segment);
    let value = value_diff(&grant, block, 9);
    let request = release_writer(segment, &grant, 2, value.len());
    let stream = world.send_with(2, request, value);
    assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
}

#[test]
fn acc_5_a_session_resumes_for_its_identity_alone() {
    let mut world = ruled(RULES);
    let id = enter(&mut world, 2, "reader").session;
    let now_ns = world.now_ns();
    world
        .engine
        .connected(now_ns, 3, session_of(3), certified("writer"));
    let welcome = world.ask(3, Request::Hello(hello(id))).body::<Welcome>();
    assert!(!welcome.resumed);
    assert_ne!(welcome.session, id);
    world
        .engine
        .connected(now_ns, 4, session_of(4), certified("reader"));
    let welcome = world.ask(4, Request::Hello(hello(id))).body::<Welcome>();
    assert!(welcome.resumed);
}

#[test]
fn rule_7_new_rules_take_back_locks_waits_and_subscriptions() {
    let mut world = ruled(RULES);
    let segment = world.open(1, "/lab/x", Durability::Memory);
    world.write(1, segment, 1);
    enter(&mut world, 2, "steerer");
    world.open(2, "/lab/x", Durability::Memory);
    let grant = world.lock(2, segment);
    enter(&mut world, 3, "writer");
    world.open(3, "/lab/x", Durability::Memory);
    let waits = world.send(3, acquire_writer(segment, 60_000));
    let subscribe = Request::Subscribe(Subscribe {
        segment,
        have: world.newest(1, segment),
        model: CoherenceModel::Full,
        x: 0.0,
        push: false,
        push_bytes: 0,
    });
    assert_eq!(world.ask(1, subscribe).type_, MessageType::Subscribed);

    let now_ns = world.now_ns();
    world
        .engine
        .set_access(now_ns, access("deny * all /**\nend\n"));
    world.drain();
    let lost = world.notifications(2, MessageType::WriterLost);
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].body::<WriterLost>().fence, grant.fence);
    assert_eq!(world.answer(waits).error(), ErrorCode::Denied);
    assert_eq!(world.notifications(1, MessageType::NotRecent).len(), 1);
    let unasked = world.notifications(2, MessageType::NotRecent);
    assert!(unasked.is_empty(), "2 has no subscription");
    let read = acquire_reader(segment, stamp(0, 0), CoherenceModel::Full);
    assert_eq!(world.ask(1, read).error(), ErrorCode::Denied);

    // The lock is free for the next who may have it.
    let now_ns = world.now_ns();
    world.engine.set_access(now_ns, access(RULES));
    world.drain();
    world.lock(1, segment);
}

/// The client cannot know that its right to read was gone for a while.
#[test]
fn rule_7_a_subscription_that_rests_continues_when_the_client_asks_again() {
    let both = "allow cert:writer all /**\nallow cert:reader read /**\nend\n";
    let mut world = ruled(both);
    let segment = world.open(1, "/list", Durability::Memory);
    world.write(1, segment, 1);
    enter(&mut world, 2, "reader");
    world.ask(2, open_to_read("/list"));
    let subscribe = Request::Subscribe(Subscribe {
        segment,
        have: world.newest(1, segment),
        model: CoherenceModel::Full,
        x: 0.0,
        push: true,
        push_bytes: 1 << 20,
    });
    assert_eq!(world.ask(2, subscribe).type_, MessageType::Subscribed);
    let told = |world: &mut World| {
        let told = world.notifications(2, MessageType::NotRecent).len();
        (told, world.notifications(2, MessageType::Push).len())
    };
    for (sequence, expected) in [(2, 1), (3, 0)] {
        let now_ns = world.now_ns();
        let taken = access("allow cert:writer all /**\nend\n");
        world.engine.set_access(now_ns, taken);
        world.drain();
        world.write(1, segment, sequence);
        assert_eq!(told(&mut world), (expected, 0), "it is told once");
    }
    let now_ns = world.now_ns();
    world.engine.set_access(now_ns, access(both));
    world.drain();
    world.write(1, segment, 4);
    assert_eq!(told(&mut world), (0, 0), "nothing was asked yet");
    let read = acquire_reader(segment, stamp(0, 0), CoherenceModel::Full);
    assert_eq!(world.ask(2, read).type_, MessageType::ReaderAcquired);
    world.write(1, segment, 5);
    assert_eq!(told(&mut world), (0, 1));
}

/// Its own release was on its way to the log when it lost the right to read.
#[test]
fn rule_7_a_client_that_may_not_read_is_pushed_nothing_though_its_version_moves_on() {
    let mut world = World::new(true);
    let both = "allow cert:writer all /**\nallow cert:other all /**\nend\n";
    world.engine.set_access(world.now_ns(), access(both));
    enter(&mut world, 1, "writer");
    enter(&mut world, 2, "other");
    let segment = world.open(1, "/list", Durability::Synced);
    world.open(2, "/list", Durability::Synced);
    super::notifications::subscribe(&mut world, 2, segment, 1 << 20);
    let grant = world.lock(2, segment);
    let releasing = world.release(2, segment, &grant, 1);
    let taken = access("allow cert:writer all /**\nend\n");
    world.engine.set_access(world.now_ns(), taken);
    world.store_all();
    assert_eq!(world.answer(releasing).type_, MessageType::WriterReleased);
    assert_eq!(world.write(1, segment, 1), 2);
    assert!(world.notifications(2, MessageType::Push).is_empty());
}

#[test]
fn rule_7_a_release_that_the_store_refuses_leaves_the_lock_to_nobody_who_may_not_change() {
    let mut world = World::new(true);
    let both = "allow cert:writer all /**\nallow cert:other all /**\nend\n";
    world.engine.set_access(world.now_ns(), access(both));
    enter(&mut world, 1, "writer");
    enter(&mut world, 2, "other");
    let segment = world.open(1, "/list", Durability::Synced);
    world.open(2, "/list", Durability::Synced);
    let grant = world.lock(2, segment);
    let releasing = world.release(2, segment, &grant, 1);
    let waiting = world.send(1, acquire_writer(segment, 60_000));
    let taken = access("allow cert:writer all /**\nallow cert:other read /**\nend\n");
    world.engine.set_access(world.now_ns(), taken);
    let release = world.asked.remove(0);
    world.stored(&release, Err(StoreError::Full("no room".to_string())));
    assert_eq!(world.answer(releasing).error(), ErrorCode::StoreFull);
    assert_eq!(world.answer(waiting).type_, MessageType::WriterAcquired);
}

#[test]
fn rule_7_a_slow_reader_that_may_not_read_a_segment_any_more_is_told_of_the_others() {
    let mut world = ruled("allow cert:writer all /**\nallow cert:reader read /**\nend\n");
    enter(&mut world, 2, "reader");
    let both = ["/list", "/other"].map(|path| {
        let segment = world.open(1, path, Durability::Memory);
        world.ask(2, open_to_read(path));
        super::notifications::subscribe(&mut world, 2, segment, 1 << 20);
        segment
    });
    super::notifications::stall(&mut world, 2);
    world.write(1, both[0], 1);
    world.write(1, both[1], 2);
    let taken = access("allow cert:writer all /**\nallow cert:reader read /other\nend\n");
    world.engine.set_access(world.now_ns(), taken);
    world.engine.backlog(world.now_ns(), 2, backlog(0));
    world.drain();
    let pushed = world.notifications(2, MessageType::Push);
    let pushed: Vec<u32> = pushed.iter().map(|p| p.body::<Push>().segment).collect();
    assert_eq!(pushed, [both[1]]);
}

#[test]
fn rule_6_whoever_may_not_read_a_segment_any_more_does_not_hear_of_its_removal() {
    let mut world = ruled("allow cert:writer all /**\nallow cert:reader read /**\nend\n");
    let segment = world.open(1, "/list", Durability::Memory);
    enter(&mut world, 2, "reader");
    let opened = world.ask(2, open_to_read("/list"));
    assert_eq!(opened.body::<SegmentOpened>().segment, segment);
    let now_ns = world.now_ns();
    let taken = access("allow cert:writer all /**\nend\n");
    world.engine.set_access(now_ns, taken);
    world.drain();
    let read = || acquire_reader(segment, stamp(0, 0), CoherenceModel::Full);
    let before = world.ask(2, read());
    assert_eq!(before.error(), ErrorCode::Denied);
    let path = "/list".to_string();
    world.ask(1, Request::RemoveSegment(RemoveSegment { path }));
    let after = world.ask(2, read());
    assert_eq!(text(&after), text(&before));
    assert_eq!(after.error(), ErrorCode::Denied);
    assert!(world.notifications(2, MessageType::SegmentGone).is_empty());
    assert_eq!(world.notifications(1, MessageType::SegmentGone).len(), 1);
    assert_eq!(world.ask(1, read()).error(), ErrorCode::Removed);
}

#[test]
fn rule_7_a_lock_that_is_taken_back_goes_to_nobody_who_may_not_have_it() {
    // The sweep comes to the waiting sessions before and after the holder.
    for _ in 0..8 {
        let mut world = ruled(RULES);
        let segment = world.open(1, "/lab/x", Durability::Memory);
        let mut waits = Vec::new();
        for connection in 2..=9 {
            enter(&mut world, connection, "writer");
            world.open(connection, "/lab/x", Durability::Memory);
        }
        world.lock(5, segment);
        for connection in [2, 3, 4, 6, 7, 8] {
            waits.push(world.send(connection, acquire_writer(segment, 60_000)));
        }
        let mut strict = acquire_reader(segment, stamp(0, 0), CoherenceModel::Strict);
        if let Request::AcquireReader(r) = &mut strict {
            r.deadline_ms = 60_000;
        }
        waits.push(world.send(9, strict));
        let now_ns = world.now_ns();
        world.engine.set_access(now_ns, access("end\n"));
        world.drain();
        for stream in waits {
            assert_eq!(world.answer(stream).error(), ErrorCode::Denied);
        }
    }
}

#[test]
fn rule_7_whoever_may_still_read_waits_on_for_a_read_lock_alone() {
    let mut world = ruled("allow * all /**\nend\n");
    let segment = world.open(1, "/x", Durability::Memory);
    let grant = world.lock(1, segment);
    for connection in [2, 3] {
        enter(&mut world, connection, "reader");
        world.open(connection, "/x", Durability::Memory);
    }
    let strict = acquire_reader(segment, stamp(0, 0), CoherenceModel::Strict);
    let reads = world.send(2, strict);
    let writes = world.send(3, acquire_writer(segment, 60_000));
    let rules = "allow cert:writer all /**\nallow * read /**\nend\n";
    world.engine.set_access(world.now_ns(), access(rules));
    world.drain();
    assert_eq!(world.answer(writes).error(), ErrorCode::Denied);
    assert!(world.try_answer(reads).is_none());
    world.release(1, segment, &grant, 1);
    assert_eq!(world.answer(reads).type_, MessageType::ReaderAcquired);
}

#[test]
fn rule_7_a_strict_reader_that_may_not_read_any_more_keeps_no_writer_waiting() {
    let mut world = ruled("allow cert:writer all /**\nallow cert:reader read /**\nend\n");
    let segment = world.open(1, "/list", Durability::Memory);
    enter(&mut world, 2, "reader");
    world.ask(2, open_to_read("/list"));
    let strict = acquire_reader(segment, stamp(0, 0), CoherenceModel::Strict);
    assert_eq!(world.ask(2, strict).type_, MessageType::ReaderAcquired);
    let writes = world.send(1, acquire_writer(segment, 60_000));
    assert!(world.try_answer(writes).is_none());
    let taken = access("allow cert:writer all /**\nend\n");
    world.engine.set_access(world.now_ns(), taken);
    world.drain();
    assert_eq!(world.answer(writes).type_, MessageType::WriterAcquired);
}

#[test]
fn rule_7_what_is_still_allowed_stays() {
    let mut world = ruled(RULES);
    let segment = world.open(1, "/lab/x", Durability::Memory);
    let grant = world.lock(1, segment);
    let now_ns = world.now_ns();
    world.engine.set_access(now_ns, access(RULES));
    world.drain();
    assert!(world.notifications(1, MessageType::WriterLost).is_empty());
    let stream = world.release(1, segment, &grant, 1);
    assert_eq!(world.answer(stream).type_, MessageType::WriterReleased);
}

/// From the granted version to the next: another value of the int in that block.
pub fn value_diff(grant: &WriterAcquired, block: u64, number: i32) -> Bytes {
    let base = grant.now.number;
    let mut diff = DiffBuilder::new(base, base + 1);
    diff.set(block, 1, &number.to_le_bytes());
    diff.finish()
}

/// A tokens file with one token of that name, and the token.
pub fn token(name: &str) -> (Tokens, String) {
    let (token, line) = TokenLine::new(name, [0x0a; 6], [0x5f; 32], 0, 0);
    let tokens = Tokens::parse(format!("{line}\nend\n"), 0).expect("tokens");
    (tokens, token)
}

pub fn hello_with(token: &str) -> Request {
    let mut hello = hello([0; 16]);
    hello.token = token.to_string();
    Request::Hello(hello)
}

#[test]
fn acc_8_a_token_that_is_not_valid_is_answered_late_and_closes() {
    let mut world = World::new(false);
    let (tokens, good) = token("alice");
    let access = Arc::new(Access::new(None, Some(tokens)));
    world.engine.set_access(world.now_ns(), access);
    let now_ns = world.now_ns();
    let peer = certified("writer");
    world.engine.connected(now_ns, 1, session_of(1), peer);
    let wrong = good.replace("5f5f", "5e5f");
    let stream = world.send(1, hello_with(&wrong));
    world.send(1, list("/"));
    assert!(world.sent.is_empty(), "{:?}", world.sent);
    world.pass(1000);
    let refused = world.answer(stream);
    assert_eq!(refused.error(), ErrorCode::Denied);
    assert!(world.sent.is_empty(), "{:?}", world.sent);
    assert_eq!(world.closed, [1]);
    assert_eq!(world.engine.wire.counters.logins_refused, 1);
    assert!(!format!("{refused:?}").contains("5e5f"));
}

#[test]
fn acc_3_without_rules_a_client_must_show_something() {
    let mut world = World::new(false);
    let (tokens, good) = token("alice");
    let access = Arc::new(Access::new(None, Some(tokens)));
    world.engine.set_access(world.now_ns(), access);
    let now_ns = world.now_ns();
    let nobody = Peer::default();
    world
        .engine
        .connected(now_ns, 1, session_of(1), nobody.clone());
    let refused = world.ask(1, Request::Hello(hello([0; 16])));
    assert_eq!(refused.error(), ErrorCode::Denied);
    assert!(refused.body::<PlainError>().text.contains("IW_TOKEN"));
    world.engine.connected(now_ns, 2, session_of(2), nobody);
    let welcome = world.ask(2, hello_with(&good));
    assert_eq!(welcome.type_, MessageType::Welcome);
    world.open(2, "/x", Durability::Memory);
}

#[test]
fn acc_6_a_revoked_token_ends_its_sessions_and_their_locks() {
    let mut world = World::new(false);
    let (tokens, good) = token("alice");
    let access = Arc::new(Access::new(None, Some(tokens)));
    world.engine.set_access(world.now_ns(), access);
    let now_ns = world.now_ns();
    let nobody = Peer::default();
    world.engine.connected(now_ns, 1, session_of(1), nobody);
    world.ask(1, hello_with(&good));
    let segment = world.open(1, "/x", Durability::Memory);
    world.lock(1, segment);
    let none = Tokens::parse("end\n", 0).expect("tokens");
    let now_ns = world.now_ns();
    let access = Arc::new(Access::new(None, Some(none)));
    world.engine.set_access(now_ns, access);
    world.drain();
    assert_eq!(world.answer(0).error(), ErrorCode::Denied);
    assert_eq!(world.closed, [1]);
    world
        .engine
        .connected(now_ns, 2, session_of(2), certified("writer"));
    world.ask(2, Request::Hello(hello([0; 16])));
    world.open(2, "/x", Durability::Memory);
    world.lock(2, segment);
}

#[test]
fn acc_12_a_certificate_that_ends_takes_the_sessions_that_are_its_own_with_it() {
    let mut world = World::new(false);
    let (tokens, good) = token("alice");
    let access = Arc::new(Access::new(None, Some(tokens)));
    world.engine.set_access(world.now_ns(), access);
    let greet = |world: &mut World, connection, session, token: &str| {
        let (now_ns, id) = (world.now_ns(), session_of(connection));
        world
            .engine
            .connected(now_ns, connection, id, certified("robot"));
        let mut hello = hello(session);
        hello.token = token.to_string();
        let welcome = world.ask(connection, Request::Hello(hello));
        welcome.body::<Welcome>().resumed
    };
    for (connection, token) in [(1, ""), (2, &*good), (3, "")] {
        greet(&mut world, connection, [0; 16], token);
        let segment = world.open(connection, &format!("/{connection}"), Durability::Memory);
        world.lock(connection, segment);
    }
    assert!(greet(&mut world, 4, session_of(3), ""), "it moves");
    for connection in [1, 2, 3] {
        let now_ns = world.now_ns();
        world.engine.certificate_ended(now_ns, connection);
    }
    greet(&mut world, 5, [0; 16], "");
    let mut is_free = |path| {
        let segment = world.open(5, path, Durability::Memory);
        let answer = world.ask(5, acquire_writer(segment, 0));
        answer.type_ == MessageType::WriterAcquired
    };
    assert!(is_free("/1"), "its certificate was its identity");
    assert!(!is_free("/2"), "a token goes before a certificate");
    assert!(!is_free("/3"), "the session is on another connection");
    assert!(greet(&mut world, 6, session_of(2), &good));
}
