//! A segment counts for its maker also after the server was started again [LIM-4].

use crate::clients::{connect_with, open};
use crate::login::{words, Papers};
use crate::server::Server;
use crate::tls::Caller;
use interweave_server::client::{Client, Copy, OpenOptions};
use interweave_wire::protocol::{Durability, ErrorCode};

const RULES: &str = "limit * segments 2\nallow * all /**\nend\n";

fn serve(papers: &Papers, store: &str) -> Server {
    Server::start(&papers.file(store), &words(&papers.options()))
}

fn may_make(client: &mut Client, path: &str) -> bool {
    match Copy::open(client, path, &OpenOptions::creating(Durability::Synced)) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.code(), Some(ErrorCode::TooLarge), "{error}");
            false
        }
    }
}

/// Alice has two segments, and one of them is in memory. The server refuses her a third segment,
/// and makes one for bob.
fn alice_has_all_of_hers(server: &Server, (alice, bob): (&str, &str), round: u32) {
    let mut alice = connect_with(server, alice);
    assert!(!may_make(&mut alice, "/more"), "round {round}");
    let mut bob = connect_with(server, bob);
    let path = format!("/of-bob/{round}");
    assert!(may_make(&mut bob, &path), "round {round}");
    bob.remove(&path).expect("it is bob's");
}

#[test]
fn lim_4_a_server_that_is_killed_or_stopped_knows_who_made_what() {
    let papers = Papers::new();
    std::fs::write(papers.file("rules"), RULES).unwrap();
    let (alice, bob) = (papers.token("alice"), papers.token("bob"));
    let both = (alice.as_str(), bob.as_str());
    let mut server = serve(&papers, "store");
    let mut client = connect_with(&server, &alice);
    open(&mut client, "/synced", Durability::Synced);
    open(&mut client, "/memory", Durability::Memory);
    alice_has_all_of_hers(&server, both, 0);
    for round in 1..=4 {
        match round % 2 {
            1 => server.kill(),
            _ => assert!(server.stop().success()),
        }
        server = serve(&papers, "store");
        alice_has_all_of_hers(&server, both, round);
    }
    assert!(server.stop().success());
    let (store, saved) = (papers.file("store"), papers.file("saved"));
    let run = |arguments: &[&str]| Caller::nobody().call(arguments).expect("it is done");
    run(&["backup", &store, &saved]);
    run(&["restore", &saved, &papers.file("restored")]);
    let server = serve(&papers, "restored");
    alice_has_all_of_hers(&server, both, 5);
    // A removal by bob makes room for alice.
    connect_with(&server, &bob)
        .remove("/memory")
        .expect("bob may");
    let mut client = connect_with(&server, &alice);
    assert!(may_make(&mut client, "/more"));
    assert!(!may_make(&mut client, "/still-more"));
}
