//! Damage at the end of the log of a server that was killed: never passed over in silence [LOG-15].

use crate::clients::{connect, open, value, write};
use crate::server::{Directory, Server};
use interweave_server::client::{Copy, OpenOptions};
use interweave_wire::protocol::*;
use std::path::{Path, PathBuf};

fn files(store: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(store).expect("the store");
    let paths = entries.map(|entry| entry.expect("a name").path());
    let mut paths: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|e| e == ending))
        .collect();
    paths.sort();
    paths
}

/// A store whose last record, version 2 of /last, has a changed bit.
fn damaged() -> Directory {
    let store = Directory::new();
    let mut server = Server::start(&store.path().display().to_string(), &[]);
    let mut client = connect(&server);
    let mut other = open(&mut client, "/other", Durability::Synced);
    write(&mut client, &mut other, 1, 1, 7).expect("acknowledged");
    let mut last = open(&mut client, "/last", Durability::Synced);
    write(&mut client, &mut last, 2, 1, 8).expect("acknowledged");
    write(&mut client, &mut last, 3, 1, 9).expect("acknowledged");
    server.kill();
    let newest = files(store.path(), "iwl").pop().expect("a log file");
    let mut bytes = std::fs::read(&newest).expect("its bytes");
    let at = bytes.iter().rposition(|byte| *byte != 0).expect("records");
    bytes[at] ^= 2;
    std::fs::write(newest, bytes).expect("the bit is changed");
    store
}

#[test]
fn log_15_an_acknowledged_release_that_is_damaged_stops_its_segment_with_a_warning() {
    let store = damaged();
    let server = Server::start(&store.path().display().to_string(), &[]);
    let words = &server.first_words;
    assert!(words.contains("\"torn_bytes\":"), "{words}");
    assert!(words.contains("version 2 of segment"), "{words}");
    let mut client = connect(&server);
    let refused = Copy::open(&mut client, "/last", &OpenOptions::reading()).err();
    let code = refused.and_then(|error| error.code());
    assert_eq!(code, Some(ErrorCode::Damaged));
    let mut other = open(&mut client, "/other", Durability::Synced);
    other.fetch(&mut client).expect("the other is whole");
    assert_eq!(value(&other), Some(7));
}

#[test]
fn log_15_a_torn_end_is_told_with_its_bytes() {
    let store = damaged();
    for witness in files(store.path(), "iww") {
        std::fs::remove_file(witness).expect("the witness is removed");
    }
    let server = Server::start(&store.path().display().to_string(), &[]);
    let words = &server.first_words;
    assert!(words.contains("\"torn_bytes\":"), "{words}");
    let mut client = connect(&server);
    let mut last = open(&mut client, "/last", Durability::Synced);
    last.fetch(&mut client).expect("an earlier version");
    assert_eq!(value(&last), Some(8));
}
