//! Two servers, as clients meet them.

use crate::clients::{open, value, write, PATIENT};
use crate::followers::{
    a_program_is_sent_on_encrypted, the_connection_stays_for_other_segments, Certificates,
    Followers,
};
use crate::member::{interweave, new_port, Member};
use crate::server::Server;
use interweave_postgres_cluster::Cluster;
use interweave_wire::protocol::{Durability, ErrorCode, MemberState, SegmentPlace, NOT_KNOWN};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

fn start(cluster: &Cluster, port: u16, options: &[&str]) -> Member {
    Member::start(cluster, ("pair", port), options)
}

/// One cluster for all, because its start takes longer than what is done on it.
#[test]
fn servers_that_share_a_database() {
    let mut cluster = Cluster::start();
    let certificates = Certificates::new();
    let tls = certificates.options_of_server();
    let tls: Vec<&str> = tls.iter().map(String::as_str).collect();
    let named = [&tls[..], &["--advertise-tls-name", "localhost"]].concat();
    let mut one = start(&cluster, new_port(), &named);
    let mut two = start(&cluster, new_port(), &tls);
    commands_go_where_a_server_sends_them(&one, &two);
    both_are_seen_at_either(&one, &two);
    either_lists_the_segments_of_both(&one, &two);
    a_certificate_of_another_name_is_told(&certificates, &one, &two);
    a_program_is_sent_on_encrypted(&certificates, &one, &two);
    a_server_that_is_stopped_is_over_at_once(&mut one, &two);
    one = start(&cluster, one.port(), &named);
    the_connection_stays_for_other_segments(&one, &two);
    let mut followers = Followers::start(&one, &two);
    followers.write_while_it_moves(&one, &two);
    a_server_that_is_killed_is_over_after_a_lease(&one, &mut two, &mut followers);
    two = start(&cluster, two.port(), &tls);
    followers.read_at_the_next_owner();
    a_server_that_stood_still_serves_no_old_version(&one, &two);
    without_a_standby_no_server_is_ready(&mut cluster, &one);
    two = start(&cluster, two.port(), &tls);
    drained_servers_send_nobody_to_each_other(&one, &two);
}

/// The drain has its list, and waits for a writer, when the last segment of the list goes.
fn drain_while_a_segment_is_removed(one: &Member) {
    // A connection ends when a segment moves that is open on it.
    let (mut client, mut others) = (one.connect(), one.connect());
    let mut written = open(&mut client, "/zb", Durability::Synced);
    for path in ["/za", "/zc"] {
        open(&mut others, path, Durability::Synced);
    }
    let lock = written.lock(&mut client, PATIENT, 1).expect("the lock");
    let mut draining = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["drain", &one.url("")])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let said = draining.stderr.take().expect("its words");
    let mut said = BufReader::new(said)
        .lines()
        .map(|line| line.expect("its words"));
    assert!(
        said.any(|line| line.contains("/za is at")),
        "it has its list"
    );
    let (is_ok, text) = interweave(&["rm", &one.url("/zc")]);
    assert!(is_ok, "{text}");
    written
        .abort(&mut client, &lock)
        .expect("the lock is given back");
    let rest: Vec<String> = said.collect();
    assert!(draining.wait().expect("its end").success(), "{rest:?}");
    assert!(
        rest.iter().any(|line| line.contains("/zb is at")),
        "{rest:?}"
    );
}

/// [SPACE-24] [SPACE-31]
fn drained_servers_send_nobody_to_each_other(one: &Member, two: &Member) {
    let mut client = one.connect();
    let mut copy = open(&mut client, "/left", Durability::Synced);
    write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    drain_while_a_segment_is_removed(one);
    assert_eq!(two.refusal("/left"), None, "it has moved");
    assert_eq!(one.refusal("/new"), Some(ErrorCode::Redirected));
    let (is_ok, text) = interweave(&["cp", &one.url("/left"), &one.url("/copied")]);
    assert!(is_ok, "{text}");
    assert_eq!(two.refusal("/copied"), None, "it was made there");
    let (is_ok, text) = interweave(&["rm", &one.url("/copied")]);
    assert!(is_ok, "{text}");
    let (is_ok, text) = interweave(&["move", &two.url("/left"), &one.url("")]);
    assert!(!is_ok && text.contains("was drained"), "{text}");
    // The other one takes no segments.
    let (is_ok, text) = interweave(&["drain", &two.url("")]);
    assert!(!is_ok && text.contains("was not drained"), "{text}");
    for asked in [one, two] {
        let (is_ok, text) = interweave(&["status", &asked.url("")]);
        assert!(is_ok && text.matches(" drained ").count() == 1, "{text}");
    }
    assert_eq!(two.refusal("/left"), None);
}

/// [SPACE-2]
fn without_a_standby_no_server_is_ready(cluster: &mut Cluster, one: &Member) {
    one.server.answers("/readyz", (200, "ready"));
    cluster.kill_standby();
    let status = "no standing: the database has no synchronous standby (STORE_ALONE)";
    one.server.answers("/readyz", (503, status));
    one.server.answers("/healthz", (503, status));
    let (is_ok, text) = interweave(&["ls", &one.own_url("")]);
    assert!(
        !is_ok && text.contains("(STORE_ALONE), so this server's lease"),
        "{text}"
    );
    commands_pass_by_a_server_that_answers_stopping(one);
    cluster.start_standby();
    one.server.answers("/readyz", (200, "ready"));
}

/// [SPACE-46]
fn commands_pass_by_a_server_that_answers_stopping(one: &Member) {
    let other = Server::in_memory(&[]);
    let stops = one.own_url("");
    let list = format!("{stops},127.0.0.1:{}", other.port);
    let (is_ok, text) = interweave(&["status", &list]);
    assert!(is_ok && text.contains("store: memory"), "{text}");
    let (is_ok, text) = interweave(&["ls", &format!("{stops},127.0.0.1:1")]);
    assert!(!is_ok && text.contains(&format!("{stops}: ")), "{text}");
    assert!(
        text.contains("(STOPPING); iw://127.0.0.1:1: Connection refused"),
        "{text}"
    );
}

/// [SPACE-9] [SPACE-10] [SPACE-12]
fn commands_go_where_a_server_sends_them(one: &Member, two: &Member) {
    let mut client = one.connect();
    let mut copy = open(&mut client, "/shared", Durability::Synced);
    write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    assert_eq!(two.refusal("/shared"), Some(ErrorCode::Redirected));
    let url = two.url("/shared");
    let (is_ok, text) = interweave(&["get", &format!("{url}#numbers#2")]);
    assert!(is_ok && text.contains('7'), "{text}");
    let (is_ok, text) = interweave(&["set", &format!("{url}#numbers#2"), "8"]);
    assert!(is_ok, "{text}");
    copy.fetch(&mut client).expect("a copy");
    assert_eq!(copy.stamp().number, 2);
    let (is_ok, text) = interweave(&["rm", "--yes", &url]);
    assert!(is_ok, "{text}");
    assert_eq!(one.refusal("/shared"), Some(ErrorCode::NoSegment));
    assert_eq!(two.refusal("/shared"), Some(ErrorCode::NoSegment));
}

/// [SPACE-30] [SPACE-33]
fn both_are_seen_at_either(one: &Member, two: &Member) {
    for (asked, other) in [(one, two), (two, one)] {
        let (is_ok, text) = interweave(&["status", &asked.url("")]);
        assert!(is_ok, "{text}");
        let lines: Vec<&str> = text.lines().collect();
        for (line, member) in lines[1..3].iter().zip([one, two]) {
            assert!(line.starts_with(&member.host_and_port()), "{text}");
            let is_asked = member.host_and_port() == asked.host_and_port();
            assert_eq!(line.ends_with("asked"), is_asked, "{text}");
            assert!(line.contains("standing"), "{text}");
        }
        assert!(text.contains("1 synchronous standby"), "{text}");
        let list = asked.connect().members().expect("a list");
        assert_eq!(list.members.len(), 2);
        assert!(list
            .members
            .iter()
            .any(|m| m.address == other.host_and_port()));
    }
}

/// [SPACE-34] [SPACE-35] [SPACE-36]
fn either_lists_the_segments_of_both(one: &Member, two: &Member) {
    let mut client = one.connect();
    let mut copy = open(&mut client, "/listed/a", Durability::Synced);
    write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    let mut other = two.connect();
    open(&mut other, "/listed/b", Durability::Synced);
    let places = other.places("/listed/").expect("a list");
    let paths = places.iter().map(|place| &*place.segment.path);
    assert_eq!(paths.collect::<Vec<_>>(), ["/listed/a", "/listed/b"]);
    assert_eq!(places[0].place, SegmentPlace::Elsewhere);
    assert_eq!(places[0].address, one.host_and_port());
    let known = &places[0].segment;
    assert_eq!((known.newest.number, known.clients), (1, NOT_KNOWN));
    assert_eq!(places[1].place, SegmentPlace::Here);
    let (is_ok, text) = interweave(&["ls", &two.url("/listed/")]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(is_ok && lines[0].ends_with("SERVER"), "{text}");
    assert!(
        lines[1].starts_with("/listed/a") && lines[1].ends_with(&one.host_and_port()),
        "{text}"
    );
    assert!(lines[2].ends_with(&two.host_and_port()), "{text}");
    let (is_ok, text) = interweave(&["ls", "--json", &two.url("/listed/a")]);
    let at = format!("\"server\": \"{}\"", one.host_and_port());
    assert!(
        is_ok && text.contains("\"clients\": null") && text.contains(&at),
        "{text}"
    );
    // A pattern names the segments of both, wherever they are.
    let (is_ok, text) = interweave(&["rm", "--yes", &two.url("/listed/*")]);
    assert!(is_ok, "{text}");
    assert!(two.connect().places("/listed/").expect("a list").is_empty());
}

/// [SPACE-11] The second server says no TLS name, and its certificate does not have its address.
fn a_certificate_of_another_name_is_told(certificates: &Certificates, one: &Member, two: &Member) {
    open(&mut two.connect(), "/not-named", Durability::Synced);
    let url = one.secure_url("/not-named");
    let asked = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["show", &url])
        .env("IW_CA", certificates.file("ca.pem"))
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&asked.stderr);
    let there = two.host_and_port();
    let host = there.split(':').next().expect("a host");
    for part in [
        format!(
            "{} sent this client on to iws://{there}",
            one.secure_url("")
        ),
        format!("is for localhost, 127.0.0.1 and ::1, not for {host}; correct"),
        "--advertise-tls-name of that server".to_string(),
    ] {
        assert!(text.contains(&part), "{part} is not in: {text}");
    }
    assert!(!text.contains("IW_CA"), "{text}");
}

/// [SPACE-3] [SPACE-5]
fn a_server_that_is_stopped_is_over_at_once(one: &mut Member, two: &Member) {
    let mut client = one.connect();
    let mut copy = open(&mut client, "/stopped", Durability::Synced);
    write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    assert!(one.server.stop().success());
    assert_eq!(two.refusal("/stopped"), None);
    let (mut client, mut copy) = two.take_over("/stopped");
    copy.fetch(&mut client).expect("a copy");
    assert_eq!((copy.stamp().number, value(&copy)), (1, Some(7)));
}

/// [SPACE-3] [SPACE-16]
fn a_server_that_is_killed_is_over_after_a_lease(
    one: &Member,
    two: &mut Member,
    followers: &mut Followers,
) {
    let mut client = two.connect();
    let mut copy = open(&mut client, "/killed", Durability::Synced);
    write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    let held = copy.lock(&mut client, PATIENT, 2).expect("the lock");
    two.server.kill();
    let killed = Instant::now();
    // [SPACE-31] The one that lives says so, until somebody asks it for a segment of the other one:
    // then it deletes the row. So nobody asks yet.
    let mut seen = Vec::new();
    while !seen.contains(&MemberState::Over) && killed.elapsed() < PATIENT {
        let list = one.connect().members().expect("a list");
        seen.extend(list.members.iter().filter(|m| !m.is_asked).map(|m| m.state));
    }
    let (is_ok, text) = interweave(&["status", &one.url("")]);
    assert!(!is_ok && text.contains("is over"), "{text}");
    followers.begin_to_write();
    let (mut client, mut copy) = one.take_over("/killed");
    let took = killed.elapsed();
    followers.write();
    println!("taken over after {} ms", took.as_millis());
    let lock = copy
        .lock(&mut client, PATIENT, 1)
        .expect("the lock is free");
    assert!(lock.grant.fence > held.grant.fence);
    assert_eq!((copy.stamp().number, value(&copy)), (1, Some(7)));
}

/// [SPACE-2] [SPACE-4] [SPACE-6]
fn a_server_that_stood_still_serves_no_old_version(one: &Member, two: &Member) {
    let mut old = two.connect();
    let mut copy = open(&mut old, "/still", Durability::Synced);
    write(&mut old, &mut copy, 1, 4, 7).expect("it is kept");
    two.server.signal("-STOP");
    let (mut client, mut newer) = one.take_over("/still");
    write(&mut client, &mut newer, 1, 4, 8).expect("it is kept");
    two.server.signal("-CONT");
    // It lets nobody believe that the copy is the newest, and ends.
    let answer = copy.fetch(&mut old);
    assert!(answer.is_err(), "it says that version 1 is the newest");
    two.server.logs(&["found this server over"]);
    let refused = Instant::now() + PATIENT;
    while two.try_to_connect().is_ok() {
        assert!(Instant::now() < refused, "it welcomes clients");
    }
}
