//! Lost leases, lost connections, clients that do not read.

use crate::clients::{all_equal, connect, open, resume, value, write, PATIENT};
use crate::server::Server;
use interweave_server::client::{ClientError, Notification};
use interweave_wire::protocol::*;
use std::time::Duration;

#[test]
fn a_writer_past_its_lease_is_fenced_and_the_next_one_writes() {
    let server = Server::in_memory(&["--lease", "0.3"]);
    let (mut a, mut b) = (connect(&server), connect(&server));
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    let lock = at_a.lock(&mut a, PATIENT, 1).unwrap();
    let late = all_equal(&at_a, &lock, 10, 1);
    // Granted only when the lease of the other has ended.
    write(&mut b, &mut at_b, 1, 10, 2).unwrap();
    let told = a.next_notification(PATIENT);
    // A client that was silent for as long as a lease has lost its connection as well.
    match told {
        Ok(Some(Notification::WriterLost(lost))) => assert_eq!(lost.fence, lock.grant.fence),
        Err(ClientError::Io(_)) => a = resume(&server, a.welcome().session),
        other => panic!("{other:?}"),
    }
    let opened = open(&mut a, "/numbers", Durability::Memory);
    at_a.reopened(opened.number());
    let error = at_a.release(&mut a, &lock, late).unwrap_err();
    assert_eq!(error.code(), Some(ErrorCode::Fenced), "{error}");
    at_a.fetch(&mut a).unwrap();
    assert_eq!(value(&at_a), Some(2));
    assert_eq!(server.metric("leases_lost_total"), 1);
}

#[test]
fn a_session_goes_on_over_another_connection_with_its_lock() {
    let server = Server::in_memory(&[]);
    let mut a = connect(&server);
    let mut copy = open(&mut a, "/numbers", Durability::Memory);
    let lock = copy.lock(&mut a, PATIENT, 1).unwrap();
    let session = a.welcome().session;
    drop(a);
    let mut again = resume(&server, session);
    assert!(again.welcome().resumed);
    let opened = open(&mut again, "/numbers", Durability::Memory);
    copy.reopened(opened.number());
    let diff = all_equal(&copy, &lock, 10, 5);
    assert_eq!(copy.release(&mut again, &lock, diff).unwrap().number, 1);
}

#[test]
fn a_release_whose_answer_was_lost_is_resolved_and_not_applied_twice() {
    let server = Server::in_memory(&[]);
    let mut a = connect(&server);
    let mut copy = open(&mut a, "/numbers", Durability::Memory);
    let lock = copy.lock(&mut a, PATIENT, 1).unwrap();
    let diff = all_equal(&copy, &lock, 10, 5);
    let session = a.welcome().session;
    let stream = copy.send_release(&mut a, &lock, diff.clone()).unwrap();
    let (answer, _): (WriterReleased, _) = a.reply(stream, MessageType::WriterReleased).unwrap();
    drop(a);
    let mut again = resume(&server, session);
    let opened = open(&mut again, "/numbers", Durability::Memory);
    copy.reopened(opened.number());
    let resolve = |sequence| ResolveRelease {
        segment: opened.number(),
        session,
        sequence,
    };
    let type_ = MessageType::ResolveRelease;
    let (resolved, _): (ReleaseResolved, _) = again
        .request(type_, &resolve(1), MessageType::ReleaseResolved)
        .unwrap();
    assert!(resolved.committed);
    assert_eq!(resolved.version, answer.versions[0]);
    let repeated = copy.release(&mut again, &lock, diff).unwrap();
    assert_eq!(repeated, answer.versions[0]);
    let (never, _): (ReleaseResolved, _) = again
        .request(type_, &resolve(2), MessageType::ReleaseResolved)
        .unwrap();
    assert!(!never.committed);
}

#[test]
fn a_subscriber_that_does_not_read_costs_itself() {
    const INTS: u64 = 1 << 18;
    const ROUNDS: u64 = 100;
    let server = Server::in_memory(&["--lease", "60"]);
    let (mut a, mut slow, mut brisk) = (connect(&server), connect(&server), connect(&server));
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    let mut at_slow = open(&mut slow, "/numbers", Durability::Memory);
    let mut at_brisk = open(&mut brisk, "/numbers", Durability::Memory);
    write(&mut a, &mut at_a, 1, INTS, 1).unwrap();
    at_slow.fetch(&mut slow).unwrap();
    at_brisk.fetch(&mut brisk).unwrap();
    slow.subscribe(&at_slow, CoherenceModel::Full, 0.0, 1 << 40)
        .unwrap();
    let before = server.metric("resident_memory_bytes");
    for round in 2..=ROUNDS {
        write(&mut a, &mut at_a, round, INTS, round as i32).unwrap();
    }
    at_brisk.fetch(&mut brisk).unwrap();
    assert_eq!(value(&at_brisk), Some(ROUNDS as i32));
    let after = server.metric("resident_memory_bytes");
    let grown = after.saturating_sub(before) >> 20;
    assert!(
        grown < 32,
        "{grown} MiB more for {ROUNDS} MiB that were not read"
    );
    // When it reads again it comes to the newest version, not through all of them.
    let mut pushes = 0;
    while value(&at_slow) != Some(ROUNDS as i32) {
        match slow.next_notification(PATIENT).unwrap() {
            Some(Notification::Push(push, diff)) => at_slow.update(&diff, &push.now).unwrap(),
            Some(Notification::NotRecent(_)) => at_slow.fetch(&mut slow).unwrap(),
            other => panic!("{other:?}"),
        }
        pushes += 1;
    }
    assert!(pushes < ROUNDS / 2, "{pushes} notifications");
}

#[test]
fn a_connection_that_says_nothing_is_closed() {
    use std::io::Read;
    let server = Server::in_memory(&[]);
    let mut silent = std::net::TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    silent.set_read_timeout(Some(PATIENT)).unwrap();
    let mut said = Vec::new();
    silent.read_to_end(&mut said).expect("it ends");
    assert!(!said.is_empty(), "it is told why");
}

#[test]
fn ses_3_time_in_which_the_server_did_not_run_ends_no_lease_and_no_connection() {
    const LEASE: Duration = Duration::from_secs(2);
    let server = Server::in_memory(&["--lease", "2"]);
    let (mut a, mut b) = (connect(&server), connect(&server));
    let mut at_a = open(&mut a, "/numbers", Durability::Memory);
    let mut at_b = open(&mut b, "/numbers", Durability::Memory);
    let lock = at_a.lock(&mut a, PATIENT, 1).unwrap();
    server.signal("-STOP");
    // More than the lease passes while nobody can be heard.
    std::thread::sleep(LEASE + LEASE / 4);
    let diff = all_equal(&at_a, &lock, 10, 5);
    let stream = at_a.send_release(&mut a, &lock, diff).unwrap();
    server.signal("-CONT");
    let released: Result<(WriterReleased, _), _> = a.reply(stream, MessageType::WriterReleased);
    assert_eq!(released.unwrap().0.versions[0].number, 1);
    at_b.fetch(&mut b).unwrap();
    assert_eq!(value(&at_b), Some(5));
    assert_eq!(server.metric("leases_lost_total"), 0);
    assert_eq!(server.metric("connections_silent_total"), 0);
}
