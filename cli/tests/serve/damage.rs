//! [LOG-11]: a segment whose creation is damaged is known as damaged, by everybody who asks.

use crate::clients::{connect, open, write};
use crate::server::{Directory, Server};
use interweave_server::client::OpenOptions;
use interweave_wire::protocol::{Durability, ErrorCode};
use std::path::Path;
use std::process::Command;

/// Changes a byte of the path, as the log has it.
fn damage_path(store: &Path, path: &str) {
    let mut found = 0;
    for entry in std::fs::read_dir(store).unwrap() {
        let file = entry.unwrap().path();
        if !file.to_string_lossy().ends_with(".iwl") {
            continue;
        }
        let mut bytes = std::fs::read(&file).unwrap();
        let at = bytes.windows(path.len()).position(|w| w == path.as_bytes());
        if let Some(at) = at {
            bytes[at + 1] ^= 1;
            std::fs::write(&file, bytes).unwrap();
            found += 1;
        }
    }
    assert_eq!(found, 1, "the log has {path}");
}

fn listed(server: &Server, json: bool) -> String {
    let listed = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["ls", &format!("127.0.0.1:{}", server.port)])
        .args(json.then_some("--json"))
        .output()
        .expect("it runs");
    String::from_utf8(listed.stdout).expect("text")
}

#[test]
fn log_11_a_damaged_creation_is_told_and_nothing_is_made_in_its_place() {
    let directory = Directory::new();
    let store = directory.path().join("store");
    let name = store.display().to_string();
    let mut server = Server::start(&name, &[]);
    let mut client = connect(&server);
    for path in ["/first", "/second", "/empty"] {
        let mut copy = open(&mut client, path, Durability::Synced);
        if path != "/empty" {
            write(&mut client, &mut copy, 1, 10, 7).unwrap();
        }
    }
    server.kill();
    damage_path(&store, "/first");
    for _ in 0..2 {
        let mut server = Server::start(&name, &[]);
        let mut client = connect(&server);
        let options = OpenOptions::creating(Durability::Synced);
        let refused = client.open("/first", &options).unwrap_err();
        assert_eq!(refused.code(), Some(ErrorCode::Damaged), "{refused}");
        open(&mut client, "/second", Durability::Synced);
        let (status, health) = server.get("/healthz", "localhost");
        assert!(status.contains("200"), "{status}");
        let told = "\"damaged\":1,\"damaged_segments\":[\"/first\"]";
        assert!(health.contains(told), "{health}");
        let table = listed(&server, false);
        let row = |path: &str| {
            let mut rows = table.lines().filter(|line| line.starts_with(path));
            rows.next().expect("a row").to_string()
        };
        assert!(row("/first").contains("damaged"), "{table}");
        assert!(!row("/empty").contains("damaged"), "{table}");
        let json = listed(&server, true);
        assert_eq!(json.matches("\"damaged\": true").count(), 1, "{json}");
        server.kill();
    }
}

#[test]
fn a_backup_of_whole_segments_says_what_it_leaves_out() {
    let directory = Directory::new();
    let store = directory.path().join("store");
    let name = store.display().to_string();
    let mut server = Server::start(&name, &[]);
    let mut client = connect(&server);
    for path in ["/first", "/second"] {
        let mut copy = open(&mut client, path, Durability::Synced);
        write(&mut client, &mut copy, 1, 10, 7).unwrap();
    }
    server.kill();
    damage_path(&store, "/first");
    let copy = directory.path().join("copy").display().to_string();
    let backup = |options: &[&str]| {
        let made = Command::new(env!("CARGO_BIN_EXE_interweave"))
            .args(["backup", &name, &copy])
            .args(options)
            .output()
            .expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (made.status.success(), text(made.stdout), text(made.stderr))
    };
    let (success, _, err) = backup(&[]);
    assert!(!success && err.contains("--whole-segments"), "{err}");
    let (success, out, err) = backup(&["--whole-segments", "--json"]);
    assert!(success, "{err}");
    assert!(
        out.contains("\"left_out\": [{\"path\": \"/first\""),
        "{out}"
    );
    let again = directory.path().join("again").display().to_string();
    let restored = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["restore", &copy, &again])
        .status();
    assert!(restored.expect("it runs").success());
    let server = Server::start(&again, &[]);
    let found = connect(&server).list("/").unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&*found[0].path, found[0].newest.number), ("/second", 1));
}
