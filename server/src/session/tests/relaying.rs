//! Clients whose connections are passed on to another server [SPACE-48..54].

use super::access::{access, certified};
use super::space::{elsewhere, member, renew, sought, PATH};
use super::*;
use interweave_access::{TokenLine, Tokens};
use interweave_wire::fields::{field, Fields};
use std::sync::Arc;

fn there(relay: bool) -> RedirectField {
    RedirectField {
        address: "b.example:7747".to_string(),
        tls_name: "b".to_string(),
        relay,
    }
}

/// A hello that asks to be passed on.
fn wishing(token: &str) -> Hello {
    let mut wishing = hello([7; 16]);
    wishing.token = token.to_string();
    wishing.fields = vec![
        field(FieldKey::Pid, &PidField { pid: 4 }),
        field(FieldKey::Redirect, &there(true)),
    ];
    wishing
}

fn say(world: &mut World, connection: u64, peer: Peer, hello: Hello) -> u32 {
    let (now_ns, id) = (world.now_ns(), session_of(connection));
    world.engine.connected(now_ns, connection, id, peer);
    world.send(connection, Request::Hello(hello))
}

/// A tokens file with a token of that name. Returns its text for clients, too.
fn tokens(name: &str) -> (String, Tokens) {
    let (token, line) = TokenLine::new(name, [1; 6], [2; 32], 0, 0);
    let tokens = Tokens::parse(format!("{line}\nend\n"), 0).expect("a tokens file");
    (token, tokens)
}

fn set(world: &mut World, access: Access) {
    let now_ns = world.now_ns();
    world.engine.set_access(now_ns, Arc::new(access));
    world.drain();
}

/// What a server says of where a segment is.
fn sent_on(world: &mut World, connection: u64) -> Option<RedirectField> {
    let stream = world.send(connection, open(PATH, Durability::Synced));
    sought(world, Ok(elsewhere()));
    let reply: ErrorReply = world.answer(stream).body();
    let fields = Fields::of(&reply.fields).expect("fields");
    fields.get(FieldKey::Redirect).expect("a place")
}

#[test]
fn space_48_a_server_says_that_it_passes_clients_on() {
    let mut world = member();
    world.hello(1);
    assert_eq!(sent_on(&mut world, 1), Some(there(true)));
}

#[test]
fn space_48_a_token_of_one_server_is_not_passed_on() {
    let mut world = member();
    let (token, tokens) = tokens("owner");
    set(&mut world, Access::of_own_token(tokens, None));
    let own = Hello {
        token: token.clone(),
        ..hello([0; 16])
    };
    say(&mut world, 1, Peer::default(), own);
    world.sent.clear();
    assert_eq!(sent_on(&mut world, 1), Some(there(false)));
    let stream = say(&mut world, 2, Peer::default(), wishing(&token));
    assert_eq!(world.answer(stream).error(), ErrorCode::Unreachable);
}

#[test]
fn space_50_the_client_is_let_in_without_a_session() {
    let mut world = member();
    let sessions = world.engine.statistics().sessions;
    say(&mut world, 1, Peer::default(), wishing(""));
    let (to, said) = world.relays.remove(0);
    assert_eq!((&*to.address, &*to.tls_name), ("b.example:7747", "b"));
    assert_eq!(world.engine.statistics().sessions, sessions);
    // The hello that the owner gets has no FIELD_REDIRECT [SPACE-54].
    let pid = field(FieldKey::Pid, &PidField { pid: 4 });
    assert_eq!((said.session, said.fields), ([7; 16], vec![pid]));
    // The owner watches over it.
    for _ in 0..10 {
        world.pass(400);
        renew_due(&mut world);
    }
    assert!(world.closed.is_empty() && world.sent.is_empty());
}

fn renew_due(world: &mut World) {
    if world.renewals > 0 {
        renew(world, Ok(()));
    }
}

#[test]
fn space_50_a_client_that_is_not_let_in_is_not_passed_on() {
    let mut world = member();
    let (token, tokens) = tokens("ann");
    set(&mut world, Access::new(None, Some(tokens)));
    let stream = say(&mut world, 1, Peer::default(), wishing("wrong"));
    for _ in 0..4 {
        world.pass(400);
        renew_due(&mut world);
    }
    assert_eq!(world.answer(stream).error(), ErrorCode::Denied);
    assert!(world.relays.is_empty());
    say(&mut world, 2, Peer::default(), wishing(&token));
    assert_eq!(world.relays.len(), 1);
}

#[test]
fn space_52_a_certificate_says_nothing_to_the_owner() {
    let mut world = member();
    let now_ns = world.now_ns();
    world
        .engine
        .set_access(now_ns, access("allow cert:ann all /**\nend\n"));
    let stream = say(&mut world, 1, certified("ann"), wishing(""));
    assert_eq!(world.answer(stream).error(), ErrorCode::Denied);
    assert!(world.relays.is_empty() && world.closed == [1]);
}

#[test]
fn space_50_a_connection_that_is_passed_on_counts_for_the_limit() {
    let mut world = member();
    let now_ns = world.now_ns();
    let rules = "allow anyone all /**\nlimit anyone connections 1\nend\n";
    world.engine.set_access(now_ns, access(rules));
    say(&mut world, 1, Peer::default(), wishing(""));
    let stream = say(&mut world, 2, Peer::default(), wishing(""));
    assert_eq!(world.answer(stream).error(), ErrorCode::TooLarge);
    world.engine.disconnected(now_ns, 1);
    world.drain();
    say(&mut world, 3, Peer::default(), wishing(""));
    assert_eq!(world.relays.len(), 2);
}

#[test]
fn space_50_a_connection_that_cannot_be_passed_on_is_told_and_closed() {
    let mut world = member();
    let stream = say(&mut world, 1, Peer::default(), wishing(""));
    let why = crate::session::unreachable("no such server");
    world.engine.not_relayed(world.now_ns(), 1, stream, &why);
    world.drain();
    assert_eq!(world.answer(stream).error(), ErrorCode::Unreachable);
    assert_eq!(world.closed, [1]);
    assert_eq!(world.engine.wire.counters.errors, 1);
}

#[test]
fn space_53_it_ends_with_what_let_it_in() {
    let mut world = member();
    let (token, tokens) = tokens("ann");
    set(&mut world, Access::new(None, Some(tokens)));
    say(&mut world, 1, Peer::default(), wishing(&token));
    set(&mut world, Access::new(None, Some(self::tokens("eve").1)));
    assert_eq!(world.closed, [1]);
    assert!(world.sent.is_empty(), "bytes of this server");
}

#[test]
fn space_53_it_ends_with_the_server_without_a_goodbye() {
    let mut world = member();
    say(&mut world, 1, Peer::default(), wishing(""));
    let now_ns = world.now_ns();
    world.engine.stop(now_ns);
    world.engine.save_and_part(now_ns);
    world.drain();
    assert_eq!(world.closed, [1]);
    assert!(world.sent.is_empty(), "bytes of this server");
}

#[test]
fn space_53_it_ends_with_the_standing() {
    let mut world = member();
    say(&mut world, 1, Peer::default(), wishing(""));
    world.pass(2_000);
    assert_eq!(world.closed, [1]);
}

#[test]
fn a_server_that_is_alone_passes_nobody_on() {
    let mut world = World::new(false);
    let stream = say(&mut world, 1, Peer::default(), wishing(""));
    assert_eq!(world.answer(stream).error(), ErrorCode::Unreachable);
    let mut without = wishing("");
    without.fields = vec![field(FieldKey::Redirect, &there(false))];
    let stream = say(&mut world, 2, Peer::default(), without);
    assert_eq!(world.answer(stream).type_, MessageType::Welcome);
}
