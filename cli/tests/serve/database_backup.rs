//! Backups of a store on PostgreSQL by PostgreSQL's tools, and damage to one of its two copies.

use crate::clients::{connect, open, value, write};
use crate::postgres::refused;
use crate::server::Server;
use interweave_postgres_cluster::{Cluster, USER};
use interweave_wire::protocol::Durability;
use std::path::Path;
use std::process::Command;

const INTS: u64 = 100;
const PATHS: [&str; 3] = ["/first", "/second", "/third"];

fn store(sockets: &Path) -> String {
    format!(
        "postgres:///postgres?user={USER}&host={}",
        sockets.display()
    )
}

/// Writes each segment's next version, as often as its place in the list says.
fn work(server: &Server, sequence: u64) {
    for (index, path) in PATHS.iter().enumerate() {
        let mut client = connect(server);
        let mut copy = open(&mut client, path, Durability::Synced);
        for number in 0..=index as u64 {
            let to = (100 * sequence + number) as i32;
            write(&mut client, &mut copy, sequence + number, INTS, to).expect("it is kept");
        }
    }
}

/// The version and the value of each segment.
fn content(server: &Server) -> Vec<(u64, Option<i32>)> {
    let of = |path: &&str| {
        let mut client = connect(server);
        let mut copy = open(&mut client, path, Durability::Synced);
        copy.fetch(&mut client).expect("a copy");
        (copy.stamp().number, value(&copy))
    };
    PATHS.iter().map(of).collect()
}

/// The output of a command of `interweave`.
fn told(words: &[&str]) -> String {
    let ran = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(words)
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{words:?}: {text}");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// The drill of docs/operations.md: a base backup, the archived log, a restore up to a moment and
/// up to the end, and a look at each segment.
#[test]
fn a_database_is_restored_up_to_any_moment() {
    let mut cluster = Cluster::start();
    cluster.archive();
    let server = Server::start(&store(cluster.sockets()), &[]);
    work(&server, 10);
    let backup = cluster.back_up();
    work(&server, 20);
    let before = content(&server);
    cluster
        .admin()
        .run("SELECT pg_create_restore_point('before the mistake')");
    work(&server, 30);
    let after = content(&server);
    assert_ne!(before, after);
    cluster.wait_for_archive();
    for (name, until, expected) in [
        ("until", Some("before the mistake"), &before),
        ("whole", None, &after),
    ] {
        let restored = cluster.restore(&backup, name, until);
        let drill = Server::start(&store(restored.sockets()), &["--store-alone"]);
        assert_eq!(content(&drill), *expected, "{name}");
        let address = format!("127.0.0.1:{}", drill.port);
        let listed = told(&["ls", &address, "--json"]);
        for (path, (version, value)) in PATHS.iter().zip(expected) {
            assert!(listed.contains(path), "{listed}");
            assert!(
                listed.contains(&format!("\"version\": {version}")),
                "{listed}"
            );
            let url = format!("iw://{address}{path}#numbers#7");
            let got = told(&["get", &url]);
            let value = value.expect("it was written").to_string();
            assert!(got.contains(&value), "{got}");
        }
        // It is a store like another.
        work(&drill, 40);
    }
    assert_eq!(content(&server), after, "the original has not changed");
}

/// Data checksums are on: a page that has changed on the disk is never believed. The other copy has
/// what was written.
#[test]
fn a_bit_that_flips_on_one_copy_is_loud() {
    for table in ["log_0", "segment", "creation"] {
        let mut cluster = Cluster::start();
        let mut server = Server::start(&store(cluster.sockets()), &[]);
        work(&server, 10);
        let before = content(&server);
        assert!(server.stop().success());
        cluster.flip_a_bit(&format!("interweave.{table}"));
        let text = refused(&store(cluster.sockets()));
        assert!(text.contains("invalid page"), "{table}: {text}");
        cluster.fail_over();
        cluster.recover();
        let server = Server::start(&store(cluster.sockets()), &[]);
        assert_eq!(content(&server), before, "{table}");
    }
}
