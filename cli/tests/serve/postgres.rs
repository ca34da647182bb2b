//! A server whose store is a database of PostgreSQL.

use crate::clients::{connect, open, value, write, PATIENT};
use crate::crash::kill_under_a_writer;
use crate::server::Server;
use interweave_postgres_cluster::{Cluster, USER};
use interweave_wire::protocol::Durability;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

/// The kills of servers, each under a writer.
const KILLS: u64 = 4;

/// The store in that cluster, at its primary of now.
fn store(cluster: &Cluster) -> String {
    let sockets = cluster.sockets().display();
    format!("postgres:///postgres?user={USER}&host={sockets}")
}

/// Why a server with that store does not start.
fn refused(store: &str) -> String {
    let ended = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--http",
            "none",
            "--store",
            store,
        ])
        .output()
        .expect("it runs");
    assert!(!ended.status.success());
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

/// One cluster for all, because its start takes longer than what is done on it.
#[test]
fn a_server_on_postgresql() {
    let mut cluster = Cluster::start();
    kill_under_a_writer(&store(&cluster), KILLS);
    the_older_of_two_servers_is_fenced(&cluster);
    the_standby_has_all_that_was_acknowledged(&mut cluster);
}

fn the_older_of_two_servers_is_fenced(cluster: &Cluster) {
    let store = store(cluster);
    let mut older = Server::start(&store, &[]);
    let mut client = connect(&older);
    let mut copy = open(&mut client, "/fenced", Durability::Synced);
    let version = write(&mut client, &mut copy, 1, 100, 7).expect("it is kept");
    let newer = Server::start(&store, &[]);
    let refused = write(&mut client, &mut copy, 2, 100, 8);
    assert!(refused.is_err(), "a fenced server acknowledged {refused:?}");
    // It ends by itself.
    older.logs(&["another server owns the store now"]);
    older.stop();
    let mut client = connect(&newer);
    let mut copy = open(&mut client, "/fenced", Durability::Synced);
    copy.fetch(&mut client).expect("a copy");
    assert_eq!((copy.stamp().number, value(&copy)), (version, Some(7)));
}

/// Primary and server are killed, and the standby takes over.
fn the_standby_has_all_that_was_acknowledged(cluster: &mut Cluster) {
    let mut server = Server::start(&store(cluster), &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/kept", Durability::Synced);
    let (sender, versions) = mpsc::channel();
    thread::scope(|scope| {
        // Writes until it is refused.
        scope.spawn(move || {
            for sequence in 1.. {
                match write(&mut client, &mut copy, sequence, 100, 7) {
                    Ok(version) => sender.send(version).expect("the test listens"),
                    Err(_) => return,
                }
            }
        });
        versions.recv_timeout(PATIENT).expect("the writer writes");
        cluster.lose_power(true);
        server.kill();
    });
    let acknowledged = versions.try_iter().last().unwrap_or(1);
    let server = Server::start(&store(cluster), &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/kept", Durability::Synced);
    copy.fetch(&mut client).expect("a copy");
    let found = copy.stamp().number;
    assert!(
        found >= acknowledged,
        "version {found} after {acknowledged}"
    );
    assert_eq!(value(&copy), Some(7));
}

#[test]
fn a_password_in_the_command_line_is_refused() {
    let text = refused("postgres://me:secret@127.0.0.1/interweave");
    assert!(text.contains("PGPASSFILE"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn a_database_that_is_not_there_is_named() {
    // A port that nobody listens at.
    let text = refused("postgres://me@127.0.0.1:1/interweave");
    assert!(
        text.contains("postgres://me@127.0.0.1:1/interweave"),
        "{text}"
    );
    assert!(text.contains("refused"), "{text}");
    let text = refused("mysql://me:secret@host/db");
    assert!(
        text.contains("postgres://") && !text.contains("secret"),
        "{text}"
    );
}
