//! An append whose outcome the database does not tell: the server settles it, and
//! continues [STORE-18].

use crate::clients::{all_equal, connect, open, value, write, PATIENT};
use crate::server::Server;
use interweave_postgres_cluster::Cluster;
use interweave_server::client::{Client, ClientError, Copy};
use interweave_wire::protocol::{Durability, ErrorCode};
use std::sync::mpsc::{channel, Receiver};
use std::thread;

const INTS: u64 = 100;

fn opened(server: &Server, path: &str) -> (Client, Copy) {
    let mut client = connect(server);
    let copy = open(&mut client, path, Durability::Synced);
    (client, copy)
}

/// The version and the value that a reader is shown.
fn shown(server: &Server, path: &str) -> (u64, Option<i32>) {
    let (mut client, mut copy) = opened(server, path);
    copy.fetch(&mut client).expect("a copy");
    (copy.stamp().number, value(&copy))
}

/// The writer of a segment releases in a thread of its own. Returns the client and its copy, with
/// the answer.
type Released = (Client, Copy, Result<u64, ClientError>);

fn release((mut client, mut copy): (Client, Copy), sequence: u64, to: i32) -> Receiver<Released> {
    let (answered, answer) = channel();
    thread::spawn(move || {
        let lock = copy.lock(&mut client, PATIENT, sequence).expect("the lock");
        let diff = all_equal(&copy, &lock, INTS, to);
        let released = copy.release(&mut client, &lock, diff);
        if released.is_err() {
            copy.abort(&mut client, &lock).expect("it keeps the lock");
        }
        let released = released.map(|stamp| stamp.number);
        // The test may have failed.
        let _ = answered.send((client, copy, released));
    });
    answer
}

/// One cluster for all, because its start takes longer than what is done on it.
#[test]
fn store_18_appends_in_doubt_are_settled() {
    let mut cluster = Cluster::start();
    let mut server = Server::start(&cluster.store_url("interweave"), &[]);
    let mut writer = opened(&server, "/doubt");
    write(&mut writer.0, &mut writer.1, 1, INTS, 1).expect("it is kept");
    let mut other = opened(&server, "/other");
    write(&mut other.0, &mut other.1, 1, INTS, 1).expect("it is kept");
    let writer =
        a_cancelled_commit_is_on_the_standby_before_it_is_told(&mut cluster, &server, writer);
    a_primary_that_dies_under_an_append(&mut cluster, &server, (writer, other));
    assert!(!server.has_ended());
    let before = (shown(&server, "/doubt"), shown(&server, "/other"));
    assert!(server.stop().success());
    let server = Server::start(&cluster.store_url("interweave"), &[]);
    let after = (shown(&server, "/doubt"), shown(&server, "/other"));
    assert_eq!(after, before);
}

/// PostgreSQL reports such a commit as done, with a notice.
fn a_cancelled_commit_is_on_the_standby_before_it_is_told(
    cluster: &mut Cluster,
    server: &Server,
    writer: (Client, Copy),
) -> (Client, Copy) {
    cluster.pause_standby();
    let answer = release(writer, 2, 2);
    let pid = cluster.admin().waiting();
    let cancel = format!("SELECT pg_cancel_backend({pid})");
    cluster.admin().run(&cancel);
    // The append is in doubt once the server has heard of the notice.
    while server.metric("store_doubts_total") == 0 {
        thread::yield_now();
    }
    cluster.admin().waiting();
    assert!(answer.try_recv().is_err(), "the standby does not have it");
    assert_eq!(shown(server, "/doubt"), (1, Some(1)));
    cluster.resume_standby();
    let (client, copy, released) = answer.recv().expect("an answer");
    assert_eq!(released.expect("it is there"), 2);
    assert_eq!(shown(server, "/doubt"), (2, Some(2)));
    (client, copy)
}

/// The standby takes over, with the append or without it. The server continues there.
fn a_primary_that_dies_under_an_append(
    cluster: &mut Cluster,
    server: &Server,
    (writer, mut other): ((Client, Copy), (Client, Copy)),
) {
    cluster.pause_standby();
    let answer = release(writer, 3, 3);
    cluster.admin().waiting();
    cluster.fail_over();
    // Without a standby the store decides nothing, and the server writes nothing.
    let refused = write(&mut other.0, &mut other.1, 2, INTS, 2);
    let code = refused.err().and_then(|error| error.code());
    assert_eq!(code, Some(ErrorCode::StoreAlone));
    assert!(answer.try_recv().is_err(), "it is not decided");
    assert_eq!(shown(server, "/doubt"), (2, Some(2)));
    cluster.recover();
    let (mut client, mut copy, released) = answer.recv().expect("an answer");
    let expected = match released {
        Ok(version) => (version, Some(3)),
        Err(error) => {
            assert_eq!(error.code(), Some(ErrorCode::StoreAway), "{error}");
            (2, Some(2))
        }
    };
    println!("the release ends at {expected:?}");
    assert_eq!(shown(server, "/doubt"), expected);
    let next = write(&mut client, &mut copy, 4, INTS, 4).expect("it is kept");
    assert_eq!(next, expected.0 + 1, "applied once");
    assert_eq!(
        write(&mut other.0, &mut other.1, 3, INTS, 3).expect("it is kept"),
        2
    );
    assert_eq!(server.metric("store_doubts_total"), 2);
}
