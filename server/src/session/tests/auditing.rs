//! The lines that the engine gives to the audit log: [AUDIT-1] [AUDIT-2] [AUDIT-3].

use super::super::{Act, Place};
use super::access::{access, certified, enter, hello_with, open_to_read, token};
use super::*;
use interweave_access::{Operation, Tokens};
use std::sync::Arc;

const RULES: &str = "\
allow cert:writer all /lab/**
allow cert:reader read /lab/**
limit cert:writer segments 2
allow cert:steerer read,steer /lab/**
end
";

/// A world with an audit log. The certificate of connection 1 says writer.
fn audited(rules: &str) -> World {
    let mut world = World::with(Config {
        audits: true,
        ..Config::default()
    });
    world.engine.set_access(world.now_ns(), access(rules));
    enter(&mut world, 1, "writer");
    world.audited.clear();
    world
}

/// Takes out what was told: act, path, operation, whether it was allowed, the line.
type Told = (Act, String, Option<Operation>, bool, Option<u32>);

fn told(world: &mut World) -> Vec<Told> {
    let all = std::mem::take(&mut world.audited).into_iter();
    all.map(|a| (a.act, a.path, a.operation, a.is_allowed, a.line))
        .collect()
}

fn row(act: Act, path: &str, operation: Operation, line: Option<u32>) -> Told {
    (act, path.to_string(), Some(operation), true, line)
}

fn refused(act: Act, path: &str, operation: Operation, line: Option<u32>) -> Told {
    (act, path.to_string(), Some(operation), false, line)
}

fn remove(path: &str) -> Request {
    Request::RemoveSegment(RemoveSegment {
        path: path.to_string(),
    })
}

#[test]
fn audit_1_opens_creations_and_removals_name_the_line_that_allowed_them() {
    let mut world = audited(RULES);
    world.open(1, "/lab/x", Durability::Memory);
    world.open(1, "/lab/x", Durability::Memory);
    let none = world.ask(1, open_to_read("/lab/none"));
    assert_eq!(none.error(), ErrorCode::NoSegment);
    assert_eq!(world.audited[2].error, Some(ErrorCode::NoSegment));
    let segment = world.open(1, "/lab/x", Durability::Memory);
    world.write(1, segment, 1);
    world.ask(1, remove("/lab/x"));
    assert_eq!(
        told(&mut world),
        [
            row(Act::Create, "/lab/x", Operation::Create, Some(1)),
            row(Act::Open, "/lab/x", Operation::Read, Some(1)),
            row(Act::Open, "/lab/none", Operation::Read, Some(1)),
            row(Act::Open, "/lab/x", Operation::Read, Some(1)),
            row(Act::Remove, "/lab/x", Operation::Remove, Some(1)),
        ]
    );
}

#[test]
fn audit_4_a_line_about_a_refusal_is_not_one_that_may_be_dropped() {
    let mut world = audited(RULES);
    world.open(1, "/lab/x", Durability::Memory);
    world.ask(1, open("/other", Durability::Memory));
    let stays: Vec<_> = world.audited.iter().map(|a| a.must_stay()).collect();
    assert_eq!(stays, [false, true]);
}

#[test]
fn audit_1_every_refusal_makes_a_line_with_its_rule() {
    let mut world = audited(RULES);
    let segment = world.open(1, "/lab/x", Durability::Memory);
    enter(&mut world, 2, "reader");
    world.open(2, "/lab/x", Durability::Memory);
    enter(&mut world, 3, "elsewhere");
    world.audited.clear();
    let create = |path| open(path, Durability::Memory);
    let read = acquire_reader(segment, stamp(0, 0), CoherenceModel::Full);
    for (connection, request, code) in [
        (2, create("/lab/new"), ErrorCode::Denied),
        (2, create("/other"), ErrorCode::Denied),
        (2, remove("/lab/x"), ErrorCode::Denied),
        (2, acquire_writer(segment, 0), ErrorCode::Denied),
        (3, open_to_read("/lab/x"), ErrorCode::Denied),
        // The answer does not say that there is such a segment, but the log does.
        (3, read.clone(), ErrorCode::NotOpen),
    ] {
        assert_eq!(world.ask(connection, request).error(), code);
    }
    let no_such = acquire_reader(segment + 1, stamp(0, 0), CoherenceModel::Full);
    assert_eq!(world.ask(3, no_such).error(), ErrorCode::NotOpen);
    assert_eq!(world.ask(2, read).type_, MessageType::ReaderAcquired);
    assert_eq!(world.audited[3].error, Some(ErrorCode::Denied));
    assert_eq!(world.audited[3].who, certified_identity("reader"));
    assert_eq!(
        told(&mut world),
        [
            refused(Act::Create, "/lab/new", Operation::Create, None),
            refused(Act::Create, "/other", Operation::Read, None),
            refused(Act::Remove, "/lab/x", Operation::Remove, None),
            refused(Act::Request, "/lab/x", Operation::Write, None),
            refused(Act::Open, "/lab/x", Operation::Read, None),
            refused(Act::Request, "/lab/x", Operation::Read, None),
        ]
    );
}

fn certified_identity(name: &str) -> Option<interweave_access::Identity> {
    Some(certified(name).identity())
}

#[test]
fn audit_1_a_denying_line_is_named() {
    let mut world = audited("deny * write /lab/**\nallow * all /**\nend\n");
    let segment = world.open(1, "/lab/x", Durability::Memory);
    world.audited.clear();
    // The rules let it steer, so that the lock is granted and the release is refused.
    let grant = world.lock(1, segment);
    let stream = world.release(1, segment, &grant, 1);
    assert_eq!(world.answer(stream).error(), ErrorCode::Denied);
    assert_eq!(
        told(&mut world),
        [refused(Act::Request, "/lab/x", Operation::Write, Some(1))]
    );
}

#[test]
fn audit_1_logins_are_told_without_their_tokens() {
    let mut world = audited(RULES);
    let (tokens, good) = token("alice");
    world.engine.set_access(
        world.now_ns(),
        Arc::new(interweave_access::Access::new(None, Some(tokens))),
    );
    world.drain();
    world.audited.clear();
    let now_ns = world.now_ns();
    let from = "10.1.2.3:4000".parse().unwrap();
    let peer = Peer {
        address: Some(from),
        ..certified("robot")
    };
    world.engine.connected(now_ns, 2, session_of(2), peer);
    world.ask(2, hello_with(&good));
    let local = Peer {
        user: Some(7),
        ..Peer::default()
    };
    world.engine.connected(now_ns, 3, session_of(3), local);
    world.send(3, hello_with(&good.replace("5f", "5e")));
    world
        .engine
        .connected(now_ns, 4, session_of(4), Peer::default());
    world.ask(4, Request::Hello(hello([0; 16])));
    let lines = std::mem::take(&mut world.audited);
    assert_eq!(lines.len(), 3, "{lines:?}");
    let name = |at: usize| lines[at].who.as_ref().map(ToString::to_string);
    let told = |at: usize| (lines[at].act, lines[at].is_allowed, lines[at].from);
    assert_eq!(told(0), (Act::Login, true, Place::Address(from)));
    assert_eq!(name(0).as_deref(), Some("alice"));
    assert_eq!(lines[0].token, Some([0x0a; 6]));
    assert_eq!(told(1), (Act::Login, false, Place::Unix));
    assert_eq!(name(1).as_deref(), Some("uid:7"));
    assert_eq!(lines[1].token, None);
    assert_eq!(told(2), (Act::Login, false, Place::Unknown));
    assert_eq!(name(2).as_deref(), Some("anyone"));
    // [AUDIT-3]
    for text in ["5f5f", "5e5e", "iw_"] {
        assert!(!format!("{lines:?}").contains(text), "{lines:?}");
    }

    // [ACC-6] of a token that is gone.
    let none = Tokens::parse("end\n", 0).expect("tokens");
    let access = interweave_access::Access::new(None, Some(none));
    world.engine.set_access(now_ns, Arc::new(access));
    world.drain();
    let ended = std::mem::take(&mut world.audited);
    assert_eq!(ended.len(), 1, "{ended:?}");
    assert_eq!(ended[0].act, Act::SessionEnded);
    assert_eq!(ended[0].from, Place::Address(from));
    assert_eq!(ended[0].who.as_ref().unwrap().to_string(), "alice");
}

#[test]
fn audit_1_new_rules_tell_what_they_took() {
    let mut world = audited(RULES);
    let segment = world.open(1, "/lab/x", Durability::Memory);
    world.write(1, segment, 1);
    enter(&mut world, 2, "steerer");
    world.open(2, "/lab/x", Durability::Memory);
    world.lock(2, segment);
    world.send(1, acquire_writer(segment, 60_000));
    let subscribe = Request::Subscribe(Subscribe {
        segment,
        have: world.newest(1, segment),
        model: CoherenceModel::Full,
        x: 0.0,
        push: false,
        push_bytes: 0,
    });
    assert_eq!(world.ask(1, subscribe).type_, MessageType::Subscribed);
    world.audited.clear();
    let now_ns = world.now_ns();
    let rules = "allow cert:steerer read /**\ndeny * all /**\nend\n";
    world.engine.set_access(now_ns, access(rules));
    world.drain();
    let mut told = told(&mut world);
    told.sort_by_key(|(act, _, operation, ..)| (act.word(), *operation));
    assert_eq!(
        told,
        [
            refused(Act::LockLost, "/lab/x", Operation::Write, Some(2)),
            refused(Act::Request, "/lab/x", Operation::Read, Some(2)),
            refused(Act::SubscriptionEnded, "/lab/x", Operation::Read, Some(2)),
        ]
    );
}

#[test]
fn audit_1_what_is_beyond_a_limit_is_told() {
    let mut world = audited(RULES);
    world.open(1, "/lab/a", Durability::Memory);
    world.open(1, "/lab/b", Durability::Memory);
    world.audited.clear();
    let refused = world.ask(1, open("/lab/c", Durability::Memory));
    assert_eq!(refused.error(), ErrorCode::TooLarge);
    let line = world.audited.pop().expect("a line");
    assert_eq!((line.act, line.is_allowed), (Act::Create, false));
    assert_eq!((line.line, &*line.path), (Some(3), "/lab/c"));
    assert_eq!(line.text, "limit of 2 segments");
    assert!(world.audited.is_empty());
}

#[test]
fn without_an_audit_log_nothing_is_told() {
    let mut world = World::new(false);
    world.engine.set_access(world.now_ns(), access(RULES));
    enter(&mut world, 1, "writer");
    let segment = world.open(1, "/lab/x", Durability::Memory);
    world.lock(1, segment);
    world.ask(1, open("/other", Durability::Memory));
    let now_ns = world.now_ns();
    world.engine.set_access(now_ns, access("end\n"));
    world.drain();
    assert!(world.audited.is_empty(), "{:?}", world.audited);
}
