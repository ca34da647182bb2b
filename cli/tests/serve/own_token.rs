//! A server's own token [OWN-1..3]: the programs of its user find it, and nobody else comes in.

use crate::clients::{connect, open, write};
use crate::server::{Directory, Server};
use interweave_server::client::{Client, Greeting};
use interweave_wire::protocol::{Durability, ErrorCode};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A server with a token of its own, in a runtime folder of its own.
fn serve(runtime: &Directory) -> Server {
    Server::with_environment(&[("XDG_RUNTIME_DIR", runtime.path())], &["--own-token"])
}

fn list(server: &Server, runtime: &Directory) -> Output {
    let listed = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["ls", &format!("127.0.0.1:{}", server.port)])
        .env("XDG_RUNTIME_DIR", runtime.path())
        .env_remove("IW_TOKEN")
        .output();
    listed.expect("the program runs")
}

fn token_file(server: &Server, runtime: &Directory) -> PathBuf {
    let name = format!("{}.token", server.port);
    runtime.path().join("interweave").join(name)
}

#[test]
fn own_1_the_users_programs_find_the_token_and_others_are_not_let_in() {
    let (runtime, other) = (Directory::new(), Directory::new());
    let server = serve(&runtime);
    let found = list(&server, &runtime);
    assert!(found.status.success(), "{found:?}");
    let refused = list(&server, &other);
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("IW_TOKEN"), "{text}");
}

#[test]
fn own_2_the_file_is_the_users_alone_and_goes_with_the_server() {
    let runtime = Directory::new();
    let mut server = serve(&runtime);
    let file = token_file(&server, &runtime);
    let mode = |path: &std::path::Path| path.metadata().expect("it").permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().expect("its folder")), 0o700);
    let token = std::fs::read_to_string(&file).expect("the token");
    assert!(token.starts_with("iw_") && token.ends_with('\n'), "{token}");
    assert!(
        !server.first_words.contains(token.trim()),
        "the log has the token"
    );
    assert!(server.stop().success());
    assert!(!file.exists());
}

#[test]
fn own_2_a_token_in_a_folder_that_others_may_open_is_not_shown() {
    let runtime = Directory::new();
    let server = serve(&runtime);
    let file = token_file(&server, &runtime);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&file, open).expect("another mode");
    assert!(!list(&server, &runtime).status.success());
}

#[test]
fn own_3_a_client_shows_the_token_of_a_server_that_began_anew() {
    let runtime = Directory::new();
    let first = serve(&runtime);
    let old = std::fs::read_to_string(token_file(&first, &runtime)).expect("the token");
    drop(first);
    let second = serve(&runtime);
    let new = std::fs::read_to_string(token_file(&second, &runtime)).expect("the token");
    assert_ne!(old, new);
    let greeting = Greeting {
        token: new.trim().to_string(),
        ..Greeting::default()
    };
    let mut client = Client::connect(&second.address(), greeting).expect("it is let in");
    let mut copy = open(&mut client, "/own", Durability::Memory);
    write(&mut client, &mut copy, 1, 1, 7).expect("the release");
    let stale = Greeting {
        token: old.trim().to_string(),
        ..Greeting::default()
    };
    let refused = Client::connect(&second.address(), stale).expect_err("it is refused");
    assert_eq!(refused.code(), Some(ErrorCode::Denied));
}

#[test]
fn a_server_without_own_token_lets_everybody_in() {
    let server = Server::in_memory(&[]);
    connect(&server);
}
