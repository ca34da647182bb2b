//! Two programs share a segment.

use crate::clients::{connect, open, value, write, PATIENT};
use crate::server::{Directory, Server};
use interweave_server::client::{Client, Greeting, Notification, OpenOptions, Transport};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{CoherenceModel, Durability, ErrorCode};

#[test]
fn what_one_writes_another_reads() {
    let server = Server::in_memory(&[]);
    let (mut a, mut b) = (connect(&server), connect(&server));
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    at_b.fetch(&mut b).unwrap();
    assert_eq!(value(&at_b), None);
    for round in 1..=5 {
        assert_eq!(
            write(&mut a, &mut at_a, round, 1000, round as i32).unwrap(),
            round
        );
        assert!(at_b.acquire(&mut b, CoherenceModel::Full, 0.0).unwrap());
        assert_eq!(value(&at_b), Some(round as i32));
        assert!(!at_b.acquire(&mut b, CoherenceModel::Full, 0.0).unwrap());
    }
    // And the other way.
    write(&mut b, &mut at_b, 1, 1000, 77).unwrap();
    at_a.fetch(&mut a).unwrap();
    assert_eq!(value(&at_a), Some(77));
    let listed = a.list("/").unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].path.as_str(), listed[0].clients),
        ("/numbers", 2)
    );
}

#[test]
fn a_server_that_spins_serves_like_any_other() {
    let server = Server::in_memory(&["--spin-us", "200"]);
    let (mut a, mut b) = (connect(&server), connect(&server));
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    for round in 1..=100 {
        write(&mut a, &mut at_a, round, 1000, round as i32).unwrap();
        assert!(at_b.acquire(&mut b, CoherenceModel::Full, 0.0).unwrap());
        assert_eq!(value(&at_b), Some(round as i32));
    }
}

#[test]
fn diffs_larger_than_a_chunk_are_pushed_whole() {
    const INTS: u64 = 1 << 20;
    let server = Server::in_memory(&[]);
    let (mut a, mut b) = (connect(&server), connect(&server));
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    write(&mut a, &mut at_a, 1, INTS, 1).unwrap();
    at_b.fetch(&mut b).unwrap();
    b.subscribe(&at_b, CoherenceModel::Full, 0.0, 64 << 20)
        .unwrap();
    for round in 2..=4 {
        write(&mut a, &mut at_a, round, INTS, round as i32).unwrap();
        let told = b.next_notification(PATIENT).unwrap();
        let Some(Notification::Push(push, diff)) = told else {
            panic!("a push was due, not {told:?}");
        };
        assert!(diff.len() > 4 << 20);
        at_b.update(&diff, &push.now).unwrap();
        assert_eq!(value(&at_b), Some(round as i32));
        b.credit(at_b.number(), diff.len() as u64).unwrap();
    }
}

/// The clients get the writer's own diff. master/tests show that it is collected once at most.
#[test]
fn all_readers_that_are_one_version_behind_are_sent_the_writers_diff() {
    const READERS: u64 = 10;
    let server = Server::in_memory(&[]);
    let mut writer = connect(&server);
    let mut written = open(&mut writer, "/numbers", Durability::Memory);
    write(&mut writer, &mut written, 1, 100_000, 1).unwrap();
    let mut readers: Vec<_> = (0..READERS)
        .map(|_| {
            let mut client = connect(&server);
            let mut copy = open(&mut client, "/numbers", Durability::Memory);
            copy.fetch(&mut client).unwrap();
            (client, copy)
        })
        .collect();
    let numbers = || {
        [
            "collected_total",
            "collected_bytes_total",
            "release_bytes_total",
        ]
        .map(|name| server.metric(name))
    };
    let before = numbers();
    write(&mut writer, &mut written, 2, 100_000, 2).unwrap();
    for (client, copy) in &mut readers {
        copy.fetch(client).unwrap();
        assert_eq!(value(copy), Some(2));
    }
    let after = numbers();
    let released = after[2] - before[2];
    assert_eq!(after[0] - before[0], READERS);
    assert_eq!(after[1] - before[1], READERS * released);
}

#[test]
fn a_subscriber_without_push_is_told_and_fetches() {
    let server = Server::in_memory(&[]);
    let (mut a, mut b) = (connect(&server), connect(&server));
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    at_b.fetch(&mut b).unwrap();
    b.subscribe(&at_b, CoherenceModel::Delta, 1.0, 0).unwrap();
    for round in 1..=2 {
        write(&mut a, &mut at_a, round, 10, round as i32).unwrap();
    }
    let told = b.next_notification(PATIENT).unwrap();
    let Some(Notification::NotRecent(told)) = told else {
        panic!("a notification was due, not {told:?}");
    };
    assert_eq!(told.now.number, 2, "one version was allowed");
    at_b.fetch(&mut b).unwrap();
    assert_eq!(value(&at_b), Some(2));
}

#[test]
fn a_segment_is_removed_for_everybody() {
    let server = Server::in_memory(&[]);
    let (mut a, mut b) = (connect(&server), connect(&server));
    open(&mut a, "/numbers", Durability::Memory);
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    a.remove("/numbers").unwrap();
    let told = b.next_notification(PATIENT).unwrap();
    assert!(
        matches!(told, Some(Notification::SegmentGone(_))),
        "{told:?}"
    );
    let error = at_b.fetch(&mut b).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::Removed), "{error}");
    let error = a.open("/numbers", &OpenOptions::reading()).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::NoSegment), "{error}");
}

#[test]
fn the_same_server_is_on_a_unix_socket_of_ones_own_choice() {
    let directory = Directory::new();
    let file = directory.path().join("socket").display().to_string();
    let listen = format!("unix:{file}");
    let server = Server::in_memory(&["--listen", &listen]);
    let mut a = connect(&server);
    let mut b =
        Client::connect(&Address::Unix { file: file.clone() }, Greeting::default()).unwrap();
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    write(&mut a, &mut at_a, 1, 10, 42).unwrap();
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    at_b.fetch(&mut b).unwrap();
    assert_eq!(value(&at_b), Some(42));
    let mut server = server;
    assert!(server.stop().success());
    assert!(!std::path::Path::new(&file).exists(), "no socket is left");
}

#[cfg(target_os = "linux")]
#[test]
fn net_1_the_same_server_is_on_the_abstract_socket_of_its_port() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixStream};

    let server = Server::in_memory(&[]);
    let name = format!("interweave-{}", server.port);
    let place = SocketAddr::from_abstract_name(name).unwrap();
    let stream = UnixStream::connect_addr(&place).expect("it listens there");
    let mut a = Client::greet(Transport::over_unix(stream), Greeting::default()).unwrap();
    let mut b = connect(&server);
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    write(&mut a, &mut at_a, 1, 10, 42).unwrap();
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    at_b.fetch(&mut b).unwrap();
    assert_eq!(value(&at_b), Some(42));
}

/// Otherwise another user's process could be there, and be shown the tokens of clients.
#[cfg(target_os = "linux")]
#[test]
fn net_1_a_server_at_all_addresses_holds_the_name_and_does_not_listen_there() {
    use std::io::ErrorKind;
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};

    let server = Server::in_memory(&["--listen", "0.0.0.0:0"]);
    let line = server.logs(&["listening", "0.0.0.0:"]);
    let (_, port) = line.split_once("0.0.0.0:").expect("the address");
    let port: String = port.chars().take_while(char::is_ascii_digit).collect();
    let place = SocketAddr::from_abstract_name(format!("interweave-{port}")).unwrap();
    let kind = UnixListener::bind_addr(&place)
        .map(drop)
        .unwrap_err()
        .kind();
    assert_eq!(kind, ErrorKind::AddrInUse);
    let kind = UnixStream::connect_addr(&place)
        .map(drop)
        .unwrap_err()
        .kind();
    assert_eq!(kind, ErrorKind::ConnectionRefused);
    drop(server);
    UnixListener::bind_addr(&place).expect("the name is free again");
}

/// Ten readers, each one version behind, ask one after the other: how many of their diffs the cache
/// had, and how many were collected.
fn ten_readers_ask(options: &[&str]) -> (u64, u64) {
    let server = Server::in_memory(options);
    let mut writer = connect(&server);
    let mut at_writer = open(&mut writer, "/numbers", Durability::Memory);
    write(&mut writer, &mut at_writer, 1, 1000, 1).unwrap();
    let mut readers = Vec::new();
    for _ in 0..10 {
        let mut reader = connect(&server);
        let mut copy = open(&mut reader, "/numbers", Durability::Memory);
        copy.fetch(&mut reader).unwrap();
        readers.push((reader, copy));
    }
    write(&mut writer, &mut at_writer, 2, 1000, 2).unwrap();
    let counted = || {
        let hits = server.metric("diff_cache_hits_total");
        (hits, server.metric("collections_total"))
    };
    let before = counted();
    for (reader, copy) in &mut readers {
        assert!(copy.acquire(reader, CoherenceModel::Full, 0.0).unwrap());
        assert_eq!(value(copy), Some(2));
    }
    let after = counted();
    (after.0 - before.0, after.1 - before.1)
}

#[test]
fn the_diff_cache_spares_collections_until_it_is_turned_off_by_option_or_file() {
    assert_eq!(ten_readers_ask(&[]), (10, 0));
    assert_eq!(ten_readers_ask(&["--diff-cache", "0"]), (0, 10));
    let directory = Directory::new();
    let file = directory.path().join("server.conf");
    let options = "diff-cache = 0 # to compare\nlayout = serial\nprediction = off\n";
    std::fs::write(&file, options).expect("a file");
    let file = file.display().to_string();
    assert_eq!(ten_readers_ask(&["--config", &file]), (0, 10));
    let overruled = ["--config", &file, "--diff-cache", "1M"];
    assert_eq!(ten_readers_ask(&overruled), (10, 0));
}
