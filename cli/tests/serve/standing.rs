//! The certificates that a connection stands on, and its end when they change [NET-7].

use crate::clients::open;
use crate::routes::with_a_stranger;
use crate::server::Server;
use crate::tls::{
    is_refused_with, raw_as, revoke, took_effect_in_time, Caller, Certificates, PATIENT,
};
use interweave_server::client::{Client, Greeting, Transport};
use interweave_wire::protocol::Durability;
use std::time::Instant;

/// More requests than the server answers before it sees that a connection is to end.
const MANY: usize = 200;

fn client(certificates: &Certificates, server: &Server, name: &str) -> Client {
    let stream = raw_as(certificates, Some(name), server.port, &[]);
    Client::greet(Transport::over_tls(stream), Greeting::default()).expect("it is let in")
}

fn text(certificates: &Certificates, file: &str) -> String {
    std::fs::read_to_string(certificates.file(file)).unwrap()
}

#[test]
fn net_7_an_authority_that_was_not_valid_in_the_handshake_ends_no_connection() {
    let certificates = Certificates::new();
    certificates.make_under("spent", -3600, "of-the-spent");
    certificates.make_under("gone", 3600, "of-the-gone");
    revoke(&certificates, &["gone"]).unwrap();
    let (authority, list) = (certificates.file("ca.pem"), certificates.file("ca.crl"));
    let server = certificates.serve(&["--client-ca", &authority, "--client-crl", &list]);
    // Both authorities follow a certificate that does not need them.
    for unneeded in ["spent", "gone"] {
        let chain =
            text(&certificates, "alice.pem") + &text(&certificates, &format!("{unneeded}.pem"));
        std::fs::write(certificates.file("burdened.pem"), chain).unwrap();
        std::fs::copy(
            certificates.file("alice.key"),
            certificates.file("burdened.key"),
        )
        .unwrap();
        let mut burdened = client(&certificates, &server, "burdened");
        for _ in 0..MANY {
            burdened.list("/").expect("the connection stays");
        }
        server.signal("-HUP");
        server.logs(&["certificates were read again"]);
        for _ in 0..MANY {
            burdened.list("/").expect("the connection stays");
        }
    }
    // Nobody is let in by them.
    certificates.make_by_hand("late", &["late"], -3600);
    for name in ["of-the-spent", "of-the-gone", "late"] {
        let caller = Caller::trusting(&certificates).named(&certificates, name);
        is_refused_with(caller.list(&server), &["IW_CERT"]);
    }
}

#[test]
fn net_7_an_authority_that_is_taken_out_ends_the_connections_of_its_clients() {
    let certificates = with_a_stranger();
    let strangers = Certificates::new();
    let authorities = certificates.file("authorities.pem");
    let set = |all: String| std::fs::write(&authorities, all).unwrap();
    let (own, other) = (
        text(&certificates, "ca.pem"),
        text(&certificates, "other.pem"),
    );
    set(own.clone() + &other);
    let server = certificates.serve(&["--client-ca", &authorities]);
    let mut alice = client(&certificates, &server, "alice");
    let mut stranger = client(&certificates, &server, "stranger");
    let mut held = open(&mut stranger, "/held", Durability::Memory);
    let lock = held.lock(&mut stranger, PATIENT, 1).unwrap();
    assert!(lock.grant.lease_ms > 5_000, "{}", lock.grant.lease_ms);
    let mut wanted = open(&mut alice, "/held", Durability::Memory);

    // Another file with the same authorities changes nothing.
    set(other + &own);
    server.logs(&["certificates were read again"]);
    stranger.list("/").expect("the connection stays");
    set(own);
    let taken = Instant::now();
    // The lock is free, because the session has ended with its connection [ACC-12].
    wanted.lock(&mut alice, PATIENT, 1).unwrap();
    took_effect_in_time(taken);
    assert!(stranger.list("/").is_err());
    let refused = Caller::trusting(&certificates).named(&certificates, "stranger");
    is_refused_with(refused.list(&server), &["IW_CERT"]);

    // An authority of the same name has another key.
    set(text(&strangers, "ca.pem"));
    let taken = Instant::now();
    while alice.list("/").is_ok() {
        assert!(taken.elapsed() < PATIENT, "the connection stays");
    }
}
