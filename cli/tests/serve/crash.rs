//! kill -9 of a server under a writer: nothing acknowledged is lost, nothing is torn.

use crate::clients::{all_equal, connect, open, value, write, PATIENT};
use crate::server::{Directory, Server};
use interweave_server::client::{Client, ClientError, Copy};
use interweave_wire::protocol::*;
use std::sync::mpsc;
use std::thread;

const INTS: u64 = 5_000;

/// A release that was sent and not answered.
struct Unanswered {
    session: SessionId,
    sequence: u64,
    value: i32,
}

/// Writes until the server is gone; each value is one more than the last. Tells each version that
/// was acknowledged.
fn write_on(server: &Server, acknowledged: &mpsc::Sender<u64>) -> Unanswered {
    let mut client = connect(server);
    let mut copy = open(&mut client, "/numbers", Durability::Synced);
    copy.fetch(&mut client).expect("a copy");
    let session = client.welcome().session;
    let mut next = value(&copy).unwrap_or(0);
    for sequence in 1.. {
        next += 1;
        match write_once(&mut client, &mut copy, sequence, next) {
            Ok(version) => acknowledged.send(version).expect("the test listens"),
            Err(ClientError::Io(_)) => {
                return Unanswered {
                    session,
                    sequence,
                    value: next,
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("the server is killed")
}

fn write_once(
    client: &mut Client,
    copy: &mut Copy,
    sequence: u64,
    value: i32,
) -> Result<u64, ClientError> {
    let lock = copy.lock(client, PATIENT, sequence)?;
    let diff = all_equal(copy, &lock, INTS, value);
    Ok(copy.release(client, &lock, diff)?.number)
}

/// After a restart: at least the acknowledged version, at most the one that was under way, whole;
/// and the server knows which.
fn inspect(server: &Server, acknowledged: u64, last: &Unanswered) {
    let mut client = connect(server);
    let mut copy = open(&mut client, "/numbers", Durability::Synced);
    copy.fetch(&mut client).expect("a copy");
    let found = copy.stamp().number;
    assert!(
        found == acknowledged || found == acknowledged + 1,
        "version {found} after {acknowledged} was acknowledged"
    );
    let resolve = ResolveRelease {
        segment: copy.number(),
        session: last.session,
        sequence: last.sequence,
    };
    let (resolved, _): (ReleaseResolved, _) = client
        .request(
            MessageType::ResolveRelease,
            &resolve,
            MessageType::ReleaseResolved,
        )
        .expect("an answer");
    assert_eq!(resolved.committed, found == acknowledged + 1);
    let expected = last.value - i32::from(!resolved.committed);
    assert_eq!(value(&copy).unwrap_or(0), expected);
}

/// 20, or what IW_KILLS says (`make test-long`: 200).
fn kills() -> u64 {
    std::env::var("IW_KILLS").map_or(20, |kills| kills.parse().expect("IW_KILLS is a number"))
}

#[test]
fn killed_under_a_writer_again_and_again_nothing_acknowledged_is_lost() {
    let directory = Directory::new();
    kill_under_a_writer(
        &directory.path().join("store").display().to_string(),
        kills(),
    );
}

/// Kills servers with that store, each under a writer. Nothing acknowledged is lost.
pub fn kill_under_a_writer(store: &str, kills: u64) {
    let mut acknowledged = 0;
    for round in 0..kills {
        let mut server = Server::start(store, &[]);
        let (sender, versions) = mpsc::channel();
        let last = thread::scope(|scope| {
            let writing = scope.spawn(|| write_on(&server, &sender));
            // Killed after a few versions, while the next ones are under way.
            for _ in 0..=(round * 7) % 13 {
                acknowledged = versions.recv_timeout(PATIENT).expect("the writer writes");
            }
            server.signal("-KILL");
            writing.join().expect("the writer ends")
        });
        server.kill();
        while let Ok(version) = versions.try_recv() {
            acknowledged = version;
        }
        let server = Server::start(store, &[]);
        inspect(&server, acknowledged, &last);
        acknowledged = newest(&server);
    }
    assert!(acknowledged >= kills);
}

fn newest(server: &Server) -> u64 {
    connect(server).list("/").expect("a list")[0].newest.number
}

#[test]
fn a_clean_stop_keeps_memory_segments_too() {
    let directory = Directory::new();
    let store = directory.path().display().to_string();
    let mut server = Server::start(&store, &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 100, 9).unwrap();
    assert!(server.stop().success());
    let server = Server::start(&store, &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    copy.fetch(&mut client).unwrap();
    assert_eq!(value(&copy), Some(9));
}

#[test]
fn a_second_server_on_the_same_store_is_refused() {
    let directory = Directory::new();
    let store = directory.path().display().to_string();
    let _first = Server::start(&store, &[]);
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["serve", "--store", &store, "--listen", "127.0.0.1:0"])
        .args(["--http", "none"])
        .output()
        .expect("it runs");
    assert!(!second.status.success());
    assert!(second.stdout.is_empty(), "it never listened");
}

#[test]
fn a_server_that_cannot_listen_leaves_the_store_clean() {
    let directory = Directory::new();
    let store = directory.path().display().to_string();
    let mut server = Server::start(&store, &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Written);
    write(&mut client, &mut copy, 1, 100, 9).unwrap();
    assert!(server.stop().success());
    let other = Server::in_memory(&[]);
    let taken = format!("127.0.0.1:{}", other.port);
    let failed = std::process::Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["serve", "--store", &store, "--listen", &taken])
        .args(["--http", "none"])
        .output()
        .expect("it runs");
    assert!(!failed.status.success());
    let text = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(text.contains("is a server running already?"), "{text}");
    let server = Server::start(&store, &[]);
    let found = connect(&server).list("/").unwrap();
    assert_eq!(&found[0].newest, copy.stamp(), "the same incarnation");
}
