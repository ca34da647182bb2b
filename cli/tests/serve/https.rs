//! HTTP and WebSockets over TLS [NET-6].

use crate::clients::{connect, open, write};
use crate::server::Server;
use crate::tls::{is_refused_with, raw_as, Caller, Certificates};
use interweave_wire::protocol::Durability;
use std::io::{Read, Write};
use std::net::TcpStream;

/// Status and body of the answer to a request on that stream.
fn asked(mut stream: impl Read + Write, path: &str, host: &str) -> Result<(u16, String), String> {
    let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer);
    read.map_err(|error| error.to_string())?;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
    Ok((status.expect("a status"), body.to_string()))
}

fn status(stream: impl Read + Write, host: &str) -> u16 {
    asked(stream, "/healthz", host).expect("an answer").0
}

fn plainly(server: &Server) -> TcpStream {
    TcpStream::connect(server.http).expect("it listens")
}

#[test]
fn net_6_the_http_port_takes_tls_and_plain_requests() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/numbers", Durability::Memory);
    write(&mut client, &mut copy, 1, 1000, 1).unwrap();
    for alpn in [&["http/1.1"][..], &["h2", "http/1.1"], &[]] {
        let stream = raw_as(&certificates, None, server.http.port(), alpn);
        let (status, text) = asked(stream, "/status", "localhost").unwrap();
        assert_eq!(status, 200);
        assert!(text.contains("\"path\": \"/numbers\""), "{text}");
    }
    assert_eq!(status(plainly(&server), "localhost"), 200);
}

#[test]
fn net_6_programs_and_http_do_not_take_each_other_s_ports_for_their_own() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    // A program at the HTTP port.
    let mut stream = raw_as(&certificates, None, server.http.port(), &["iw/2"]);
    assert!(stream.write_all(b"GET").is_err(), "no name in common");
    // A browser at the port of programs.
    let stream = raw_as(&certificates, None, server.port, &["http/1.1"]);
    assert_eq!(status(stream, "localhost"), 200);
    let without = certificates.serve(&["--http", "none"]);
    let mut stream = raw_as(&certificates, None, without.port, &["http/1.1"]);
    assert!(stream.write_all(b"GET").is_err(), "there is no HTTP");
}

#[test]
fn net_6_requests_that_are_not_encrypted_are_refused_where_tls_is_required() {
    let certificates = Certificates::new();
    let server = certificates.serve(&["--tls", "required"]);
    let (refused, text) = asked(plainly(&server), "/", "localhost").unwrap();
    assert_eq!(refused, 403);
    assert!(text.contains("https://"), "{text}");
    let stream = raw_as(&certificates, None, server.http.port(), &["http/1.1"]);
    assert_eq!(status(stream, "localhost"), 200);
}

#[test]
fn net_6_a_request_names_a_host_of_the_certificate() {
    let certificates = Certificates::new();
    let folder = certificates.folder();
    certificates.make(&["server", &folder, "sim.example", "192.168.1.7", "--force"]);
    let server = certificates.serve(&[]);
    let secretly = |host| {
        let stream = raw_as(&certificates, None, server.http.port(), &["http/1.1"]);
        status(stream, host)
    };
    for host in ["sim.example:7748", "192.168.1.7:7748", "localhost", "[::1]"] {
        assert_eq!(secretly(host), 200, "{host}");
    }
    assert_eq!(secretly("rebound.example"), 403);
    assert_eq!(status(plainly(&server), "sim.example"), 403);
}

#[test]
fn net_6_http_asks_for_certificates_as_the_port_of_programs_does() {
    let certificates = Certificates::new();
    let server = certificates.serve_the_known();
    let port = server.http.port();
    let nobody = raw_as(&certificates, None, port, &["http/1.1"]);
    asked(nobody, "/healthz", "localhost").expect_err("it has no certificate");
    let alice = raw_as(&certificates, Some("alice"), port, &["http/1.1"]);
    assert_eq!(status(alice, "localhost"), 200);
}

#[test]
fn net_6_a_web_socket_over_tls_is_its_clients_own() {
    let certificates = Certificates::new();
    let server = certificates.talkative();
    let mut alice = raw_as(&certificates, Some("alice"), server.port, &["http/1.1"]);
    let request = "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
                   Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    alice.write_all(request.as_bytes()).unwrap();
    let mut head = [0; 12];
    alice.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 101");
    server.logs(&["a connection begins", "\"peer\":\"cert:alice\""]);
}

#[test]
fn handshakes_that_are_not_completed_at_http_keep_nobody_out() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    let half_open: Vec<TcpStream> = (0..600)
        .map(|at| {
            let mut stream = plainly(&server);
            // The first of them may have been sent away already; some have said nothing.
            let _ = stream.write_all(&[0x16, 3, 1][..at % 4]);
            stream
        })
        .collect();
    let stream = raw_as(&certificates, None, server.http.port(), &["http/1.1"]);
    assert_eq!(status(stream, "localhost"), 200);
    Caller::trusting(&certificates).list(&server).unwrap();
    drop(half_open);
}

#[test]
fn those_who_have_shaken_hands_and_say_nothing_leave_their_places() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    let silent: Vec<_> = (0..300)
        .map(|_| {
            let mut stream = raw_as(&certificates, None, server.http.port(), &["http/1.1"]);
            while stream.conn.is_handshaking() {
                stream.conn.complete_io(&mut stream.sock).unwrap();
            }
            stream
        })
        .collect();
    let stream = raw_as(&certificates, None, server.http.port(), &["http/1.1"]);
    assert_eq!(status(stream, "localhost"), 200);
    // The gate has let go of those that were sent away.
    assert!(
        server.descriptors() < 3 * 256 + 200,
        "{}",
        server.descriptors()
    );
    drop(silent);
}

#[test]
fn an_open_address_of_http_needs_encryption_and_known_clients() {
    let refused = Caller::nobody().call(&["serve", "--store", "memory", "--http", "0.0.0.0:0"]);
    is_refused_with(
        refused,
        &["--http 0.0.0.0", "interweave cert authority", "--client-ca"],
    );
    let certificates = Certificates::new();
    let authority = certificates.file("ca.pem");
    let strict = ["--tls", "required", "--client-ca", &authority];
    let server = certificates.serve(&[&strict[..], &["--http", "0.0.0.0:0"]].concat());
    let alice = raw_as(
        &certificates,
        Some("alice"),
        server.http.port(),
        &["http/1.1"],
    );
    assert_eq!(status(alice, "localhost"), 200);
}
