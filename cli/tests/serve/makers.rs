//! A segment counts for its maker also after the server was started again [LIM-4].

use crate::clients::open;
use crate::server::{Directory, Server};
use interweave_server::client::{Client, Copy, Greeting, OpenOptions};
use interweave_wire::protocol::{Durability, ErrorCode};
use std::process::Command;

const RULES: &str = "limit * segments 2\nallow * all /**\nend\n";

struct Files(Directory);

impl Files {
    fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    fn run(&self, arguments: &[&str]) -> String {
        let run = Command::new(env!("CARGO_BIN_EXE_interweave"))
            .args(arguments)
            .output();
        let run = run.expect("the program runs");
        assert!(run.status.success(), "{run:?}");
        String::from_utf8(run.stdout).unwrap().trim().to_string()
    }

    fn serve(&self, store: &str) -> Server {
        let (tokens, rules) = (self.path("tokens"), self.path("rules"));
        let options = ["--tokens", &tokens, "--rules", &rules];
        Server::start(&self.path(store), &options)
    }
}

fn login(server: &Server, token: &str) -> Client {
    let greeting = Greeting {
        token: token.to_string(),
        ..Greeting::default()
    };
    Client::connect(&server.address(), greeting).expect("it is let in")
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
    let mut alice = login(server, alice);
    assert!(!may_make(&mut alice, "/more"), "round {round}");
    let mut bob = login(server, bob);
    let path = format!("/of-bob/{round}");
    assert!(may_make(&mut bob, &path), "round {round}");
    bob.remove(&path).expect("it is bob's");
}

#[test]
fn lim_4_a_server_that_is_killed_or_stopped_knows_who_made_what() {
    let files = Files(Directory::new());
    std::fs::write(files.path("rules"), RULES).unwrap();
    let tokens = files.path("tokens");
    let token = |name| files.run(&["token", "new", name, "--tokens", &tokens]);
    let (alice, bob) = (token("alice"), token("bob"));
    let both = (alice.as_str(), bob.as_str());
    let mut server = files.serve("store");
    let mut client = login(&server, &alice);
    open(&mut client, "/synced", Durability::Synced);
    open(&mut client, "/memory", Durability::Memory);
    alice_has_all_of_hers(&server, both, 0);
    for round in 1..=4 {
        match round % 2 {
            1 => server.kill(),
            _ => assert!(server.stop().success()),
        }
        server = files.serve("store");
        alice_has_all_of_hers(&server, both, round);
    }
    assert!(server.stop().success());
    let (store, saved) = (files.path("store"), files.path("saved"));
    files.run(&["backup", &store, &saved]);
    files.run(&["restore", &saved, &files.path("restored")]);
    let server = files.serve("restored");
    alice_has_all_of_hers(&server, both, 5);
    // A removal by bob makes room for alice.
    login(&server, &bob).remove("/memory").expect("bob may");
    let mut client = login(&server, &alice);
    assert!(may_make(&mut client, "/more"));
    assert!(!may_make(&mut client, "/still-more"));
}
