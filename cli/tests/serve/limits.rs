//! File descriptors: whoever takes those of connections leaves the store and the others theirs.

use crate::clients::{connect, open, write};
use crate::flood::until_the_end;
use crate::server::{Directory, Server};
use interweave_server::client::{Client, Greeting};
use interweave_wire::protocol::Durability;
use std::io::Write;
use std::net::TcpStream;

const FEW: u32 = 128;

/// The first part of a request of HTTP.
fn half_request(server: &Server) -> TcpStream {
    let mut stream = TcpStream::connect(server.http).expect("HTTP is there");
    stream.write_all(b"GET /healthz HT").expect("it is sent");
    stream
}

#[test]
fn half_requests_stop_neither_the_server_nor_http() {
    let directory = Directory::new();
    let store = directory.path().display().to_string();
    let server = Server::with_descriptors(FEW, &store, &[]);
    let mut flood: Vec<TcpStream> = (0..FEW + 8).map(|_| half_request(&server)).collect();
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Synced);
    write(&mut client, &mut copy, 1, 100, 1).expect("the store has what it needs");
    // The first to come have left their places to the others.
    assert!(until_the_end(&mut flood[0]).is_empty());
    drop(flood);
    let (status, _) = server.get("/healthz", "localhost");
    assert!(status.contains("200"), "{status}");
}

#[test]
fn with_as_many_connections_as_there_may_be_the_log_goes_on_in_new_files() {
    const INTS: u64 = 5 << 20;
    let directory = Directory::new();
    let store = directory.path().display().to_string();
    let server = Server::with_descriptors(FEW, &store, &["--lease", "60"]);
    let mut writer = connect(&server);
    let mut copy = open(&mut writer, "/numbers", Durability::Written);
    let mut others = Vec::new();
    while let Ok(client) = Client::connect(&server.address(), Greeting::default()) {
        others.push(client);
    }
    assert!(others.len() > 20, "{} connections", others.len());
    assert!(others.len() < FEW as usize / 2, "{}", others.len());
    for round in 1..=5 {
        write(&mut writer, &mut copy, round, INTS, round as i32).expect("there is room");
    }
    let (status, health) = server.get("/healthz", "localhost");
    assert!(
        status.contains("200") && health.contains("\"ok\""),
        "{health}"
    );
}

#[test]
fn a_server_that_may_have_fewer_connections_than_it_is_to_have_says_so() {
    let server = Server::with_descriptors(FEW, "memory", &[]);
    let said = &server.first_words;
    assert!(
        said.contains("WARN") && said.contains("ulimit -n"),
        "{said}"
    );
    assert!(
        said.contains("not for 10000") && said.contains("is 128"),
        "{said}"
    );
    let enough = Server::with_descriptors(FEW, "memory", &["--max-connections", "20"]);
    assert!(
        !enough.first_words.contains("ulimit"),
        "{}",
        enough.first_words
    );
}

#[test]
fn a_server_without_descriptors_for_anybody_does_not_start() {
    let out = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 60; exec \"$0\" \"$@\""])
        .arg(env!("CARGO_BIN_EXE_interweave"))
        .args(["serve", "--store", "memory", "--http", "none"])
        .args(["--listen", "127.0.0.1:0"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        !out.status.success() && said.contains("ulimit -n"),
        "{said}"
    );
}

/// Connections that others keep without saying hello.
fn silent(server: &Server, count: usize) -> Vec<TcpStream> {
    let connect = |_| TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    (0..count).map(connect).collect()
}

#[test]
fn strangers_who_say_nothing_keep_no_client_out() {
    let server = Server::in_memory(&["--max-connections", "8"]);
    let mut client = connect(&server);
    let strangers = silent(&server, 40);
    // Each of them is taken before this one, because all come by one listener.
    let mut other = connect(&server);
    for client in [&mut client, &mut other] {
        let mut copy = open(client, "/beside", Durability::Memory);
        write(client, &mut copy, 1, 1, 7).expect("the client is served");
    }
    drop(strangers);
}
