//! `interweave status`, on a server that shares its store with nobody.

use crate::program::{call, call_with};
use crate::server::{Directory, Server};
use std::process::Command;

fn url(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

fn exit_status(arguments: &[&str]) -> Option<i32> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
    command
        .args(arguments)
        .output()
        .expect("the program runs")
        .status
        .code()
}

/// [SPACE-30] [SPACE-33]
#[test]
fn a_server_that_has_its_store_alone_is_one_row() {
    let directory = Directory::new();
    let store = directory.path().join("store").display().to_string();
    for (store, kind) in [("memory", "memory"), (&store, "directory")] {
        let server = Server::start(store, &[]);
        let shown = call(&["status", &url(&server)]);
        assert!(shown.success, "{}", shown.err);
        let lines: Vec<&str> = shown.out.lines().collect();
        assert!(lines[1].starts_with(&url(&server)), "{}", shown.out);
        assert!(
            lines[1].contains("standing") && lines[1].contains("asked"),
            "{}",
            shown.out
        );
        assert_eq!(lines[2], "the server shares its store with nobody");
        assert_eq!(lines[3], format!("store: {kind}"));
        let json = call(&["status", "--json", &url(&server)]).out;
        for part in [
            "\"well\": true",
            "\"shares_store\": false",
            "\"segments\": 0",
            kind,
        ] {
            assert!(json.contains(part), "{part}: {json}");
        }
        assert_eq!(call(&["status", "--quiet", &url(&server)]).out, "");
    }
}

/// [SPACE-32]
#[test]
fn without_metrics_numbers_are_not_shown() {
    let directory = Directory::new();
    let rules = directory.path().join("rules");
    std::fs::write(&rules, "allow anyone read /**\nend\n").unwrap();
    let server = Server::start("memory", &["--rules", &rules.display().to_string()]);
    let shown = call_with(&[("IW_TOKEN", "")], &["status", &url(&server)]);
    assert!(shown.success, "{}", shown.err);
    assert!(shown.out.contains("allows `metrics`"), "{}", shown.out);
    assert!(!shown.out.contains("store:"), "{}", shown.out);
    let json = call(&["status", "--json", &url(&server)]).out;
    assert!(
        json.contains("\"segments\": null") && json.contains("\"store\": null"),
        "{json}"
    );
}

#[test]
fn no_answer_is_another_exit_status_than_a_trouble() {
    assert_eq!(exit_status(&["status", "127.0.0.1:1"]), Some(2));
    let server = Server::start("memory", &[]);
    let path = format!("{}/list", url(&server));
    assert_eq!(exit_status(&["status", &path]), Some(2));
    assert_eq!(exit_status(&["status", &url(&server)]), Some(0));
}
