//! Stores and clients of other versions, and what is not kept: [LOG-14], [LOG-17], [SES-4].

use crate::clients::{connect, open, value, write};
use crate::server::{Directory, Server};
use interweave_wire::protocol::{Durability, FieldKey, IdField};
use interweave_wire::Fields;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a server wrote before the format changed (its README says what is in it).
fn sample(format: u32) -> PathBuf {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/store/tests/samples");
    samples.join(format!("format-{format}"))
}

fn copy_of_sample(format: u32, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(sample(format)).unwrap() {
        let from = entry.unwrap().path();
        if !from.ends_with("BACKUP") {
            std::fs::copy(&from, to.join(from.file_name().unwrap())).unwrap();
        }
    }
}

fn interweave(arguments: &[&str]) {
    let done = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(arguments)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{arguments:?}: {text}");
}

fn value_of(server: &Server, path: &str, durable: Durability) -> Option<i32> {
    let mut client = connect(server);
    let mut copy = open(&mut client, path, durable);
    copy.fetch(&mut client).expect("a copy");
    value(&copy)
}

#[test]
fn log_14_a_store_of_an_older_format_is_served_written_to_and_served_again() {
    for format in [1, 2] {
        continues(format);
    }
}

fn continues(format: u32) {
    let directory = Directory::new();
    let store = directory.path().join("store");
    copy_of_sample(format, &store);
    let name = store.display().to_string();
    let mut server = Server::start(&name, &[]);
    assert_eq!(value_of(&server, "/synced", Durability::Synced), Some(11));
    assert_eq!(value_of(&server, "/written", Durability::Written), Some(12));
    assert_eq!(value_of(&server, "/memory", Durability::Memory), Some(6));
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/synced", Durability::Synced);
    copy.fetch(&mut client).unwrap();
    assert_eq!(write(&mut client, &mut copy, 1, 100, 13).unwrap(), 6);
    server.kill();
    let mut server = Server::start(&name, &[]);
    assert_eq!(value_of(&server, "/synced", Durability::Synced), Some(13));
    assert!(server.stop().success());
    let server = Server::start(&name, &[]);
    assert_eq!(value_of(&server, "/synced", Durability::Synced), Some(13));
    assert_eq!(value_of(&server, "/written", Durability::Written), Some(12));
}

#[test]
fn log_14_a_backup_of_an_older_format_is_restored_and_served() {
    for format in [1, 2] {
        let directory = Directory::new();
        let store = directory.path().join("store").display().to_string();
        interweave(&["restore", &sample(format).display().to_string(), &store]);
        let server = Server::start(&store, &[]);
        assert_eq!(value_of(&server, "/synced", Durability::Synced), Some(11));
        assert_eq!(value_of(&server, "/written", Durability::Written), Some(12));
    }
}

/// The files under the directory that have the bytes.
fn files_with(directory: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let has = |path: &PathBuf| {
        let all = std::fs::read(path).unwrap();
        all.windows(bytes.len()).any(|window| window == bytes)
    };
    paths.filter(has).collect()
}

/// [SES-6]
#[test]
fn log_17_no_file_of_the_store_or_of_a_backup_has_the_id_of_a_session() {
    let directory = Directory::new();
    let store = directory.path().join("store");
    let name = store.display().to_string();
    let mut server = Server::start(&name, &[]);
    let mut client = connect(&server);
    let session = client.welcome().session;
    let mut copy = open(&mut client, "/numbers", Durability::Synced);
    write(&mut client, &mut copy, 1, 100, 9).unwrap();
    let hash = interweave_wire::session_hash::session_hash(&session);
    assert_eq!(
        files_with(&store, &hash).len(),
        1,
        "the log knows who wrote"
    );
    let backup = directory.path().join("backup");
    interweave(&["backup", &name, &backup.display().to_string()]);
    assert!(server.stop().success());
    for kept in [&store, &backup] {
        assert_eq!(files_with(kept, &session), [] as [PathBuf; 0]);
        assert_ne!(files_with(kept, &hash), [] as [PathBuf; 0]);
    }
}

#[test]
fn field_1_status_says_where_clients_run_and_the_ids_of_a_server_outlive_it() {
    let directory = Directory::new();
    let store = directory.path().display().to_string();
    let mut server = Server::start(&store, &[]);
    let mut client = connect(&server);
    let copy = open(&mut client, "/numbers", Durability::Memory);
    let ids = client.welcome().fields.clone();
    let (_, status) = server.get("/status", "localhost");
    let pid = format!("\"pid\":{}", std::process::id()).replace(':', ": ");
    let plain = status.replace("\": ", "\":").replace("\":", "\": ");
    assert!(plain.contains(&pid), "{status}");
    assert!(plain.contains("\"program\": \"serve-"), "{status}");
    drop(copy);
    let fields = Fields::of(&ids).unwrap();
    let id: IdField = fields.get(FieldKey::ServerId).unwrap().unwrap();
    let shown: String = id.id.iter().map(|byte| format!("{byte:02x}")).collect();
    assert!(status.contains(&shown), "{status}");
    assert!(server.stop().success());
    let server = Server::start(&store, &[]);
    let again = connect(&server).welcome().fields.clone();
    assert_eq!(again, ids);
    assert_eq!(again.len(), 2);
}
