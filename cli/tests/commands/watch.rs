//! `interweave watch` stays: on an idle segment, and when its server is lost.

use crate::clients::{connect, open, write, PATIENT};
use crate::program::{refused, Running};
use crate::server::{Directory, Server};
use interweave_wire::protocol::Durability;
use std::io::Read;
use std::net::TcpStream;

#[test]
fn an_idle_watch_outlives_its_lease() {
    let server = Server::in_memory(&["--lease", "1"]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 10, 1).unwrap();
    let url = format!("127.0.0.1:{}/numbers", server.port);
    let mut watch = Running::start(&["watch", &url, "--count", "1"]);
    assert!(watch.word().contains("is at version 1"));
    // Two connections that say nothing end, one lease after the other.
    for _ in 0..2 {
        let mut silent = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
        silent.set_read_timeout(Some(PATIENT)).unwrap();
        silent.read_to_end(&mut Vec::new()).expect("it ends");
    }
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    copy.fetch(&mut client).unwrap();
    write(&mut client, &mut copy, 1, 10, 2).unwrap();
    assert!(watch.line().contains("version 2"));
    let (status, words) = watch.end();
    assert!(status.success());
    assert!(words.is_empty(), "it never lost the server: {words:?}");
}

#[test]
fn a_watch_goes_on_when_its_server_was_killed_and_is_back() {
    let directory = Directory::new();
    let store = directory.path().join("store").display().to_string();
    let socket = directory.path().join("iw.sock").display().to_string();
    let listen = format!("unix:{socket}");
    let mut server = Server::start(&store, &["--listen", &listen]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Synced);
    write(&mut client, &mut copy, 1, 10, 1).unwrap();
    let target = format!("{listen}:/numbers#numbers#0");
    let mut watch = Running::start(&["watch", &target, "--count", "1"]);
    assert!(watch.word().contains("is at version 1"));
    server.kill();
    let lost = watch.word();
    assert!(lost.contains("waiting for a server"), "{lost}");
    let server = Server::start(&store, &["--listen", &listen]);
    let back = watch.word();
    assert!(
        back.contains("connected again") && back.contains("version 1"),
        "{back}"
    );
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Synced);
    copy.fetch(&mut client).unwrap();
    write(&mut client, &mut copy, 1, 10, 7).unwrap();
    let line = watch.line();
    assert!(
        line.contains("version 2") && line.ends_with("  7"),
        "{line}"
    );
    assert!(watch.end().0.success());
}

#[test]
fn what_is_not_there_is_said_at_once() {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 10, 1).unwrap();
    let url = format!("127.0.0.1:{}/numbers", server.port);
    let text = refused(&["watch", &format!("{url}#nosuch")]);
    assert!(
        text.contains("has no block \"nosuch\"; it has numbers"),
        "{text}"
    );
    let text = refused(&["watch", &format!("{url}#numbers#[10]")]);
    assert!(text.contains("has the index [10]"), "{text}");
}
