//! `interweave doctor`, with faults that are real.

use crate::clients::{connect, open, write};
use crate::program::{call, call_with, Ended};
use crate::server::{Directory, Server};
use interweave_wire::protocol::Durability;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// The report's line about a check, and the line below with what to do.
fn about(ended: &Ended, check: &str) -> (String, String) {
    let mut lines = ended.out.lines();
    let is_about = |line: &&str| line.split_whitespace().nth(1) == Some(check);
    let line = lines
        .find(is_about)
        .unwrap_or_else(|| panic!("{check}: {}", ended.out));
    let next = lines.next().unwrap_or_default().trim();
    let mend = next.strip_prefix("do: ").unwrap_or_default();
    (line.trim().to_string(), mend.to_string())
}

fn has_problem(ended: &Ended, check: &str, words: &str) {
    let (line, mend) = about(ended, check);
    assert!(
        line.starts_with("problem ") && line.contains(words),
        "{line}"
    );
    assert!(!mend.is_empty(), "{line}: nothing to do");
    assert!(!ended.success);
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn a_server_that_is_well_has_no_problem() {
    let directory = Directory::new();
    let store = text(&directory.path().join("store"));
    let server = Server::start(&store, &[]);
    let address = format!("127.0.0.1:{}", server.port);
    let http = server.http.to_string();
    let ended = call(&["doctor", &address, "--store", &store, "--http", &http]);
    assert!(ended.success, "{}", ended.out);
    for (check, words) in [
        ("connection", "answers in"),
        ("versions", "protocol 3"),
        ("identity", "let in"),
        ("segments", "0 segments"),
        ("http", "ok"),
        ("clock", "s apart"),
        ("sync-time", " ms"),
        ("lock", "process "),
    ] {
        let (line, _) = about(&ended, check);
        assert!(line.contains(words), "{line}");
        assert!(
            line.starts_with("ok ") || line.starts_with("note "),
            "{line}"
        );
    }
    assert!(ended.out.contains("0 problems"), "{}", ended.out);
}

#[test]
fn a_closed_port_is_a_problem_only_of_a_server_that_was_named() {
    let ended = call(&["doctor", "127.0.0.1:1", "--only", "connection"]);
    has_problem(&ended, "connection", "cannot reach a server at 127.0.0.1:1");
    let ended = call_with(
        &[("IW_SERVER", "127.0.0.1:1")],
        &["doctor", "--only", "connection"],
    );
    has_problem(&ended, "connection", "cannot reach");
}

#[test]
fn a_wrong_token_is_a_problem_with_the_servers_words() {
    let directory = Directory::new();
    let tokens = text(&directory.path().join("tokens"));
    assert!(call(&["token", "new", "alice", "--tokens", &tokens]).success);
    let server = Server::in_memory(&["--tokens", &tokens]);
    let address = format!("127.0.0.1:{}", server.port);
    let arguments = [
        "doctor",
        &address,
        "--only",
        "connection",
        "--only",
        "identity",
    ];
    let ended = call_with(&[("IW_TOKEN", "iw_wrong")], &arguments);
    has_problem(&ended, "identity", "with IW_TOKEN");
    let (connection, _) = about(&ended, "connection");
    assert!(connection.starts_with("ok "), "{connection}");
    let token = call(&["token", "new", "bob", "--tokens", &tokens]).out;
    // A server reads its files by itself when they change.
    server.logs(&["was read again"]);
    let ended = call_with(&[("IW_TOKEN", token.trim())], &arguments);
    assert!(ended.success, "{}", ended.out);
    let with_end = call_with(&[("IW_TOKEN", &token)], &["doctor", "--only", "token"]);
    has_problem(&with_end, "token", "end of line");
    let file = call_with(&[("IW_TOKEN", &tokens)], &["doctor", "--only", "token"]);
    has_problem(&file, "token", "names a file");
}

#[test]
fn certificates_and_keys_are_read() {
    let directory = Directory::new();
    let folder = text(directory.path());
    assert!(call(&["cert", "authority", &folder]).success);
    assert!(call(&["cert", "client", &folder, "alice"]).success);
    assert!(call(&["cert", "client", &folder, "bob"]).success);
    let file = |name: &str| format!("{folder}/{name}");
    let look = |variables: &[(&str, &str)]| {
        let only = ["authorities", "certificate", "key"].map(|name| ["--only", name]);
        call_with(variables, &[&["doctor"], &only.concat()[..]].concat())
    };
    let (ca, cert, key) = (file("ca.pem"), file("alice.pem"), file("alice.key"));
    let good = [("IW_CA", &*ca), ("IW_CERT", &*cert), ("IW_KEY", &*key)];
    assert!(look(&good).success, "{}", look(&good).out);
    let with = |name: &str, value: &str| {
        let changed = good.map(|(n, v)| {
            (
                n,
                if n == name {
                    value.to_string()
                } else {
                    v.into()
                },
            )
        });
        look(&changed.each_ref().map(|(n, v)| (*n, v.as_str())))
    };
    has_problem(&with("IW_CA", "/no/such"), "authorities", "No such file");
    has_problem(
        &with("IW_CA", &key),
        "authorities",
        "no certificate in PEM form",
    );
    has_problem(&with("IW_CERT", ""), "certificate", "IW_CERT is not");
    has_problem(&with("IW_KEY", &ca), "key", "no private key");
    has_problem(
        &with("IW_KEY", &file("bob.key")),
        "key",
        "not that of the certificate",
    );
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    let (_, mend) = about(&look(&good), "key");
    has_problem(&look(&good), "key", "other users may read it");
    assert_eq!(mend, format!("chmod 600 {key}"));
}

#[test]
fn low_limits_are_told() {
    let limited = |limits: &str, check: &str| {
        let script = format!("{limits}; exec \"$0\" doctor --only {check}");
        let program = env!("CARGO_BIN_EXE_interweave");
        let output = Command::new("sh").args(["-c", &script, program]).output();
        let output = output.expect("sh runs");
        Ended {
            success: output.status.success(),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    };
    has_problem(
        &limited("ulimit -n 64", "file-descriptors"),
        "file-descriptors",
        "too few",
    );
    let (few, _) = about(
        &limited("ulimit -n 512", "file-descriptors"),
        "file-descriptors",
    );
    assert!(
        few.starts_with("note ") && few.contains("few clients"),
        "{few}"
    );
    has_problem(
        &limited("ulimit -v 3000000", "address-space"),
        "address-space",
        "at most 2.9 GiB",
    );
    let tracker = call_with(&[("IW_TRACKER", "magic")], &["doctor", "--only", "tracker"]);
    has_problem(&tracker, "tracker", "IW_TRACKER=magic is not a tracker");
}

#[test]
fn a_store_that_cannot_be_written_or_is_damaged_is_told_and_stays_as_it_is() {
    let directory = Directory::new();
    let store = directory.path().join("store");
    let name = text(&store);
    let look = |check: &str| call(&["doctor", "--store", &name, "--only", check]);
    has_problem(&look("folder"), "folder", "No such file");
    let mut server = Server::start(&name, &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/first", Durability::Synced);
    write(&mut client, &mut copy, 1, 100, 7).unwrap();
    write(&mut client, &mut copy, 2, 100, 8).unwrap();
    let (running, _) = about(&look("log"), "log");
    assert!(running.starts_with("skipped "), "{running}");
    server.kill();
    let (whole, _) = about(&look("log"), "log");
    assert!(
        whole.starts_with("ok ") && whole.contains("all whole"),
        "{whole}"
    );
    let (free, _) = about(&look("lock"), "lock");
    assert!(free.contains("nobody has it"), "{free}");
    damage(&store, b"/first");
    let before = bytes_of(&store);
    has_problem(&look("log"), "log", "damaged");
    assert_eq!(bytes_of(&store), before, "the check has changed the store");
    std::fs::set_permissions(&store, PermissionsExt::from_mode(0o777)).unwrap();
    has_problem(&look("permissions"), "permissions", "other users may write");
    if !rustix::process::geteuid().is_root() {
        std::fs::set_permissions(&store, PermissionsExt::from_mode(0o500)).unwrap();
        has_problem(&look("permissions"), "permissions", "cannot write");
    }
}

/// Changes a byte behind where the bytes first are in a log file.
fn damage(store: &Path, bytes: &[u8]) {
    let logs = std::fs::read_dir(store)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for file in logs.filter(|file| file.extension().is_some_and(|e| e == "iwl")) {
        let mut found = std::fs::read(&file).unwrap();
        if let Some(at) = found.windows(bytes.len()).position(|w| w == bytes) {
            found[at + 1] ^= 1;
            return std::fs::write(&file, found).unwrap();
        }
    }
    panic!("no log file has {bytes:?}");
}

fn bytes_of(store: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(store)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .map(|f| (text(&f), std::fs::read(&f).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn json_has_every_check_and_the_list_says_what_each_looks_at() {
    let of_store = |store| call(&["doctor", "127.0.0.1:1", "--store", store, "--json"]);
    let json = of_store("/no/such");
    assert!(!json.success);
    // A port that nobody listens at.
    let of_database = of_store("postgres://me@127.0.0.1:1/iw").out;
    let listed = call(&["doctor", "--list"]).out;
    assert!(listed.lines().count() > 25, "{listed}");
    for line in listed.lines() {
        let mut words = line.split_whitespace();
        let (group, name) = (words.next().expect("a group"), words.next());
        let reported = match group {
            "database" => &of_database,
            _ => &json.out,
        };
        let wanted = format!("\"name\": \"{}\"", name.expect("a name"));
        assert!(reported.contains(&wanted), "{wanted}: {reported}");
    }
    assert!(json.out.starts_with("{\"problems\": "), "{}", json.out);
    let unknown = call(&["doctor", "--only", "weather"]);
    assert!(
        unknown.err.contains("the checks are userfaultfd"),
        "{}",
        unknown.err
    );
}
