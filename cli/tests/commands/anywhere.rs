//! The options and variables that all commands have in common: IW_SERVER, `--color` and NO_COLOR.

use crate::clients::{connect, open, write};
use crate::program::{call_with, Ended};
use crate::server::{Directory, Server};
use interweave_wire::protocol::Durability;

/// A server with a segment /numbers of ten sevens.
fn server(options: &[&str]) -> Server {
    let server = Server::in_memory(options);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 10, 7).unwrap();
    server
}

fn done(ended: Ended) -> String {
    assert!(ended.success, "{}", ended.err);
    ended.out
}

#[test]
fn a_path_alone_is_at_the_server_of_iw_server() {
    let server = server(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    let call = |arguments: &[&str]| done(call_with(&[("IW_SERVER", &address)], arguments));
    assert!(call(&["ls"]).contains("/numbers"));
    assert!(call(&["ls", "/num"]).contains("/numbers"));
    assert!(call(&["show", "/numbers"]).contains(&format!("{address}/numbers")));
    assert_eq!(call(&["get", "/numbers#numbers#[2]"]), "7\n");
    call(&["set", "/numbers#numbers#[2]", "8"]);
    assert_eq!(call(&["get", "/numbers#numbers#[2]"]), "8\n");
    call(&["cp", "/numbers", "/again"]);
    assert_eq!(call(&["get", "/again#numbers#[2]"]), "8\n");
    call(&["rm", "/numbers"]);
    assert!(!call(&["ls"]).contains("/numbers"));
}

#[test]
fn iw_server_may_be_a_socket_and_gives_way_to_the_command_line() {
    let directory = Directory::new();
    let socket = format!("unix:{}", directory.path().join("iw.sock").display());
    let server = server(&["--listen", &socket]);
    let listed = call_with(&[("IW_SERVER", &socket)], &["ls", "/"]);
    assert!(done(listed).contains("/numbers"));
    let named = format!("127.0.0.1:{}", server.port);
    let listed = call_with(&[("IW_SERVER", "127.0.0.1:1")], &["ls", &named]);
    assert!(done(listed).contains("/numbers"));
}

#[test]
fn a_wrong_iw_server_is_named() {
    for wrong in ["host/path", "http://host", "host:x"] {
        let ended = call_with(&[("IW_SERVER", wrong)], &["ls"]);
        assert!(!ended.success);
        let expected = format!("IW_SERVER={wrong} does not name a server");
        assert!(ended.err.contains(&expected), "{}", ended.err);
    }
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let server = server(&[]);
    let address = format!("127.0.0.1:{}", server.port);
    let listed = |variables: &[(&str, &str)], options: &[&str]| {
        done(call_with(variables, &[&["ls", &address], options].concat()))
    };
    assert!(!listed(&[], &[]).contains('\u{1b}'));
    let always = listed(&[("NO_COLOR", "1")], &["--color", "always"]);
    assert!(always.starts_with("\u{1b}[1mPATH"), "{always}");
    assert!(!listed(&[], &["--color=never"]).contains('\u{1b}'));
    let failed = call_with(&[], &["ls", "127.0.0.1:1", "--color", "always"]);
    assert!(
        failed.err.starts_with("\u{1b}[31minterweave:\u{1b}[0m "),
        "{}",
        failed.err
    );
}

/// `script` gives the program a terminal.
#[test]
fn a_terminal_has_colours_and_no_color_takes_them_away() {
    let server = server(&[]);
    let command = format!(
        "{} ls 127.0.0.1:{}",
        env!("CARGO_BIN_EXE_interweave"),
        server.port
    );
    let shown = |variables: &[(&str, &str)]| {
        let mut script = std::process::Command::new("script");
        script
            .args(["-qec", &command, "/dev/null"])
            .env("TERM", "xterm");
        let output = script
            .envs(variables.iter().copied())
            .output()
            .expect("script runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(shown(&[]).contains("\u{1b}[1mPATH"), "{}", shown(&[]));
    let plain = shown(&[("NO_COLOR", "1")]);
    assert!(
        plain.contains("PATH") && !plain.contains('\u{1b}'),
        "{plain}"
    );
}
