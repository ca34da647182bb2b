//! HTTP and WebSocket.

use crate::clients::{connect, open, write};
use crate::flood::{flood, until_the_end, Flood};
use crate::server::Server;
use crate::web_socket::{hello, WebSocket};
use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::Message;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Connections of HTTP that there may be at a time.
const PLACES: usize = 256;

#[test]
fn health_and_numbers_are_there() {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 1000, 1).unwrap();
    let (status, health) = server.get("/healthz", "localhost");
    assert!(status.contains("200"), "{status}");
    assert!(health.contains("\"status\":\"ok\""), "{health}");
    assert_eq!(server.metric("releases_total"), 1);
    assert_eq!(server.metric("segments"), 1);
    assert_eq!(server.metric("segment_version{segment=\"/numbers\"}"), 1);
    assert_eq!(
        server.metric("segment_wire_bytes{segment=\"/numbers\"}"),
        4000
    );
    assert!(server.metric("received_bytes_total") > 4000);
}

#[test]
fn the_viewer_and_what_it_asks_are_served() {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 1000, 1).unwrap();
    for (path, part) in [
        ("/", "<title>InterWeave</title>"),
        ("/viewer.js", "WebSocket"),
        ("/viewer.css", "prefers-color-scheme"),
    ] {
        let (status, text) = server.get(path, "127.0.0.1");
        assert!(status.contains("200"), "{path}: {status}");
        assert!(text.contains(part), "{path}");
    }
    let (_, status) = server.get("/status", "127.0.0.1");
    assert!(status.contains("\"listening\": [\"127.0.0.1:"), "{status}");
    assert!(status.contains("\"path\": \"/numbers\""), "{status}");
    let reader = "\"version\": 1, \"behind\": 0, \"stale_ms\": 0}";
    assert!(status.contains(reader), "{status}");
}

#[test]
fn what_is_told_of_many_segments_comes_in_pages() {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    for path in ["/a", "/b b", "/c"] {
        let mut copy = open(&mut client, path, Durability::Memory);
        write(&mut client, &mut copy, 1, 1000, 1).unwrap();
    }
    let (_, first) = server.get("/status?limit=2", "127.0.0.1");
    assert!(
        first.contains("\"/a\"") && first.contains("\"/b b\""),
        "{first}"
    );
    assert!(first.contains("\"segment_count\": 3"), "{first}");
    assert!(first.contains("\"next\": \"/c\""), "{first}");
    let (_, second) = server.get("/status?from=%2Fb+b", "127.0.0.1");
    assert!(
        !second.contains("\"/a\"") && second.contains("\"/b b\""),
        "{second}"
    );
    assert!(second.contains("\"next\": null"), "{second}");

    let (_, series) = server.get("/metrics?from=/c&limit=1", "127.0.0.1");
    assert!(
        series.contains("segment_version{segment=\"/c\"} 1"),
        "{series}"
    );
    assert!(!series.contains("{segment=\"/a\"}"), "{series}");
    assert!(series.contains("interweave_segments 3\n"), "{series}");
    assert!(series.contains("interweave_blocks 3\n"), "{series}");

    let (status, text) = server.get("/status?limit=5000", "127.0.0.1");
    assert!(
        status.contains("400") && text.contains("1 to 1000"),
        "{status} {text}"
    );
}

#[test]
fn pages_of_other_sites_are_refused() {
    let server = Server::in_memory(&[]);
    for path in ["/", "/status", "/metrics", "/healthz", "/ws"] {
        let (status, text) = server.get(path, "rebound.example:7748");
        assert!(status.contains("403"), "{path}: {status}");
        assert!(
            text.contains("only pages and programs of this host"),
            "{text}"
        );
    }
}

/// The status of what is answered to a request with these lines.
fn status_of(server: &Server, lines: &[&str]) -> String {
    let mut stream = TcpStream::connect(server.http).unwrap();
    let request = format!("{}\r\nConnection: close\r\n\r\n", lines.join("\r\n"));
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is closed");
    let status = answer.split(' ').nth(1).expect("a status");
    status.to_string()
}

#[test]
fn pages_of_other_servers_of_this_host_are_refused_unless_they_are_listed() {
    let server = Server::in_memory(&["--allow-origin", "http://localhost:3000"]);
    let own = format!("Origin: http://localhost:{}", server.http.port());
    let asked = |origin: &str| {
        let lines = ["GET /status HTTP/1.1", "Host: localhost", origin];
        status_of(&server, &lines)
    };
    assert_eq!(asked(&own), "200");
    assert_eq!(asked("Origin: http://localhost:3000"), "200");
    assert_eq!(asked("Origin: http://localhost:3001"), "403");
    let upgrade = [
        "GET /ws HTTP/1.1",
        "Host: localhost",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Origin: http://localhost:3001",
    ];
    assert_eq!(status_of(&server, &upgrade), "403");
}

#[test]
fn a_request_of_two_hosts_is_no_request() {
    let server = Server::in_memory(&[]);
    let get = "GET /healthz HTTP/1.1";
    let local = "Host: localhost";
    assert_eq!(status_of(&server, &[get, local, "Host: b.example"]), "400");
    assert_eq!(status_of(&server, &[get]), "400");
    let absolute = "GET http://b.example/healthz HTTP/1.1";
    assert_eq!(status_of(&server, &[absolute, local]), "400");
    assert_eq!(status_of(&server, &[get, "Host: LOCALHOST"]), "200");
}

#[test]
fn those_who_say_nothing_leave_their_places_to_those_who_ask() {
    let server = Server::in_memory(&[]);
    let half = || {
        let mut stream = TcpStream::connect(server.http).unwrap();
        stream.write_all(b"GET /healthz HT").unwrap();
        stream
    };
    let mut silent: Vec<TcpStream> = (0..PLACES + 50).map(|_| half()).collect();
    // They were accepted in this order, so the first have gone when this is answered.
    let (status, _) = server.get("/healthz", "localhost");
    assert!(status.contains("200"), "{status}");
    assert!(until_the_end(&mut silent[0]).is_empty());
    // The last ones have not lost their places, and may still ask.
    let last = silent.last_mut().unwrap();
    last.write_all(b"TP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    last.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_request_with_a_body_is_refused_and_its_body_not_read() {
    let server = Server::in_memory(&[]);
    let mut stream = TcpStream::connect(server.http).unwrap();
    let request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is closed");
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[test]
fn a_flood_of_pings_that_nobody_reads_the_answers_of_does_not_pile_up() {
    let server = Server::in_memory(&["--lease", "600"]);
    let before = server.metric("resident_memory_bytes");
    let mut web = WebSocket::open(&server);
    web.send_message(hello());
    let mask = [0; 4];
    let ping = [&[0x89, 0x80 | 125][..], &mask, &[b'x'; 125]].concat();
    let mut floods = [Flood::of(web.into_stream(), ping.repeat(500))];
    flood(&server, &mut floods, "received_bytes_total");
    assert_eq!(server.metric("connections"), 1, "it is not closed");
    let grown = server
        .metric("resident_memory_bytes")
        .saturating_sub(before)
        >> 20;
    assert!(grown < 16, "{grown} MiB of answers wait");
}

#[test]
fn a_web_socket_carries_the_same_frames() {
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 10, 42).unwrap();
    let mut web = WebSocket::open(&server);
    web.send_message(hello());
    let welcome = web.receive_message().unwrap();
    assert_eq!(welcome.kind(), Some(MessageType::Welcome));
    let list = ListSegments {
        prefix: "/".to_string(),
        after: String::new(),
    };
    web.send_message(Message::new(
        MessageType::ListSegments,
        2,
        &list,
        Bytes::new(),
    ));
    let list: SegmentList = web.receive_message().unwrap().decode().unwrap();
    assert_eq!(list.segments[0].newest.number, 1);
}

#[test]
fn a_web_socket_message_must_be_one_frame() {
    let server = Server::in_memory(&[]);
    let (one, _) = hello().into_frames().next_frame().unwrap();
    let (other, _) = Message::bare(MessageType::Ping, 2)
        .into_frames()
        .next_frame()
        .unwrap();
    let two = [&one[..], &other[..]].concat();
    for wrong in [&one[..one.len() - 1], &two, &two[..one.len() + 3], &[]] {
        let mut web = WebSocket::open(&server);
        web.send(wrong);
        let error: PlainError = web.receive_message().unwrap().decode().unwrap();
        assert_eq!(error.code, ErrorCode::Malformed);
        assert!(error.text.contains("exactly one frame"), "{}", error.text);
        assert!(web.receive_message().is_none(), "and it is closed");
    }
}
