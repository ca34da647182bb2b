//! `interweave top`.

use crate::clients::{connect, open, write};
use crate::program::{call, call_with, refused};
use crate::server::Server;
use interweave_wire::protocol::Durability;

fn server() -> Server {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    for (path, count) in [("/a", 10), ("/b", 1000)] {
        let mut copy = open(&mut client, path, Durability::Memory);
        write(&mut client, &mut copy, 1, count, 7).unwrap();
    }
    server
}

#[test]
fn one_table_has_segments_and_the_servers_numbers() {
    let server = server();
    let (address, http) = (
        format!("127.0.0.1:{}", server.port),
        server.http.to_string(),
    );
    let once = [
        "top",
        &address,
        "--http",
        &http,
        "--once",
        "--interval",
        "0.2",
    ];
    let shown = call(&[&once[..], &["--sort", "size"]].concat());
    assert!(shown.success, "{}", shown.err);
    let lines: Vec<&str> = shown.out.lines().collect();
    assert!(
        lines[0].contains("2 segments") && lines[0].contains("processor "),
        "{}",
        shown.out
    );
    assert!(!lines[0].contains("processor -"), "{}", shown.out);
    assert!(lines[2].starts_with("log "), "{}", shown.out);
    assert!(lines[4].starts_with("PATH"), "{}", shown.out);
    assert!(
        lines[5].starts_with("/b ") && lines[6].starts_with("/a "),
        "{}",
        shown.out
    );
    assert!(lines[6].contains("0.0"), "{}", shown.out);
    let shown = call(&[&once[..], &["--json"]].concat());
    assert!(shown.success, "{}", shown.err);
    let object = interweave_wire::json::parse(&shown.out).expect("one object");
    assert_eq!(object["segments"][1]["path"], "/b");
    assert_eq!(object["segments"][1]["releases_a_second"], 0.0);
    assert!(object["numbers"]["connections"].is_u64(), "{}", shown.out);
    assert!(
        object["grown"]["cpu_milliseconds_total"].is_u64(),
        "{}",
        shown.out
    );
}

#[test]
fn without_http_it_says_what_to_name() {
    let server = server();
    let address = format!("127.0.0.1:{}/b", server.port);
    let shown = call(&["top", &address, "--interval", "0.1"]);
    assert!(shown.success, "{}", shown.err);
    assert!(shown.out.contains("--http HOST:PORT"), "{}", shown.out);
    assert!(
        shown.out.contains("/b ") && !shown.out.contains("/a "),
        "{}",
        shown.out
    );
    let nobody = call(&[
        "top",
        &address,
        "--once",
        "--interval",
        "0.1",
        "--http",
        "127.0.0.1:1",
    ]);
    assert!(
        nobody.success && nobody.out.contains("HTTP at 127.0.0.1:1"),
        "{}",
        nobody.out
    );
}

#[test]
fn a_wrong_interval_and_a_missing_server_are_told() {
    assert!(refused(&["top", "--interval", "0"]).contains("from 0.1 to 3600"));
    let missing = call_with(&[("IW_SERVER", "127.0.0.1:1")], &["top", "--once"]);
    assert!(
        !missing.success && missing.err.contains("interweave serve"),
        "{}",
        missing.err
    );
}

/// At a terminal, which `script` gives: keys are obeyed, and the screen is as before.
#[test]
fn keys_sort_and_end_it() {
    let server = server();
    let line = format!(
        "printf 'pq' | script -qec '{} top 127.0.0.1:{}' /dev/null",
        env!("CARGO_BIN_EXE_interweave"),
        server.port
    );
    let output = std::process::Command::new("timeout")
        .args(["20", "sh", "-c", &line])
        .output();
    let output = output.expect("sh runs");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(
        shown.contains("by releases") && shown.contains("by path"),
        "{shown}"
    );
    let (entered, left) = (shown.find("\u{1b}[?1049h"), shown.rfind("\u{1b}[?1049l"));
    assert!(entered < left && entered.is_some(), "{shown}");
}
