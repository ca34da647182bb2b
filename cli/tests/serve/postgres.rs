//! A server whose store is a database of PostgreSQL.

use crate::clients::{connect, open, value, write, PATIENT};
use crate::crash::kill_under_a_writer;
use crate::server::Server;
use interweave_postgres_cluster::{Cluster, USER};
use interweave_wire::protocol::{Durability, ErrorCode};
use interweave_wire::{json, Json};
use std::process::Command;
use std::sync::mpsc;
use std::thread;

/// The kills of servers, each under a writer.
const KILLS: u64 = 4;

/// The store in that cluster, at its primary of now.
fn store(cluster: &Cluster) -> String {
    let sockets = cluster.sockets().display();
    format!("postgres:///postgres?user={USER}&host={sockets}")
}

/// The error of a server with that store, which does not start.
pub fn refused(store: &str) -> String {
    refused_with(&["--store", store])
}

fn refused_with(options: &[&str]) -> String {
    let ended = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["serve", "--listen", "127.0.0.1:0", "--http", "none"])
        .args(options)
        .output()
        .expect("it runs");
    assert!(!ended.status.success());
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

/// One cluster for all, because its start takes longer than what is done on it.
#[test]
fn a_server_on_postgresql() {
    let mut cluster = Cluster::start();
    kill_under_a_writer(&store(&cluster), KILLS);
    the_older_of_two_servers_is_fenced(&cluster);
    doctor_names_the_line_to_change(&cluster);
    the_standby_has_all_that_was_acknowledged(&mut cluster);
    without_a_standby_writes_are_refused_until_one_is_attached(&mut cluster);
    health_and_readiness_say_how_the_database_is(&mut cluster);
}

fn the_older_of_two_servers_is_fenced(cluster: &Cluster) {
    let store = store(cluster);
    let mut older = Server::start(&store, &[]);
    let mut client = connect(&older);
    let mut copy = open(&mut client, "/fenced", Durability::Synced);
    let version = write(&mut client, &mut copy, 1, 100, 7).expect("it is kept");
    let newer = Server::start(&store, &[]);
    let refused = write(&mut client, &mut copy, 2, 100, 8);
    assert!(refused.is_err(), "a fenced server acknowledged {refused:?}");
    // It ends by itself.
    older.logs(&["another server owns the store now"]);
    older.stop();
    let mut client = connect(&newer);
    let mut copy = open(&mut client, "/fenced", Durability::Synced);
    copy.fetch(&mut client).expect("a copy");
    assert_eq!((copy.stamp().number, value(&copy)), (version, Some(7)));
}

/// The problems that doctor finds, each with what it found and what to do.
pub fn doctor(store: &str, options: &[&str]) -> Vec<(String, String)> {
    doctor_by(
        Command::new(env!("CARGO_BIN_EXE_interweave")),
        store,
        options,
    )
}

pub fn doctor_by(mut command: Command, store: &str, options: &[&str]) -> Vec<(String, String)> {
    let ended = command
        .args(["doctor", "127.0.0.1:1", "--json", "--store", store])
        .args(options)
        .output()
        .expect("it runs");
    let report = json::parse(&String::from_utf8_lossy(&ended.stdout)).expect("JSON");
    let checks = report["checks"].as_array().expect("all checks").iter();
    let problems =
        checks.filter(|check| check["group"] == "database" && check["level"] == "problem");
    let text = |check: &Json, name| check[name].as_str().expect("a text").to_string();
    let told = |check: &Json| format!("{}; {}", text(check, "found"), text(check, "mend"));
    problems
        .map(|check| (text(check, "name"), told(check)))
        .collect()
}

fn doctor_names_the_line_to_change(cluster: &Cluster) {
    let store = store(cluster);
    assert_eq!(doctor(&store, &[]), []);
    for (setting, wrong, check, line) in [
        ("fsync", "off", "fsync", "`fsync = on`"),
        (
            "synchronous_commit",
            "local",
            "synchronous-commit",
            "`synchronous_commit = on`",
        ),
        (
            "synchronous_standby_names",
            "''",
            "standby",
            "synchronous_standby_names = 'ANY 1 (standby1)'",
        ),
    ] {
        let right: String = cluster
            .admin()
            .rows("SELECT current_setting($1)", &[&setting])[0]
            .get(0);
        cluster.set(setting, wrong);
        let problems = doctor(&store, &[]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].0, check);
        assert!(problems[0].1.contains(line), "{problems:?}");
        let alone = doctor(&store, &["--store-alone"]);
        assert_eq!(alone.is_empty(), check == "standby", "{alone:?}");
        cluster.set(setting, &format!("'{right}'"));
    }
    let sockets = cluster.standby_sockets().display();
    let standby = format!("postgres:///postgres?user={USER}&host={sockets}");
    assert_eq!(doctor(&standby, &["--store-alone"])[0].0, "primary");
    assert_eq!(doctor("postgres://me@127.0.0.1:1/iw", &[])[0].0, "database");
}

/// Primary and server are killed, and the standby takes over.
fn the_standby_has_all_that_was_acknowledged(cluster: &mut Cluster) {
    let mut server = Server::start(&store(cluster), &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/kept", Durability::Synced);
    let (sender, versions) = mpsc::channel();
    thread::scope(|scope| {
        // Writes until it is refused.
        scope.spawn(move || {
            for sequence in 1.. {
                match write(&mut client, &mut copy, sequence, 100, 7) {
                    Ok(version) => sender.send(version).expect("the test listens"),
                    Err(_) => return,
                }
            }
        });
        versions.recv_timeout(PATIENT).expect("the writer writes");
        cluster.lose_power(true);
        server.kill();
    });
    let acknowledged = versions.try_iter().last().unwrap_or(1);
    let server = Server::start(&store(cluster), &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/kept", Durability::Synced);
    copy.fetch(&mut client).expect("a copy");
    let found = copy.stamp().number;
    assert!(
        found >= acknowledged,
        "version {found} after {acknowledged}"
    );
    assert_eq!(value(&copy), Some(7));
}

/// The primary is killed, and the standby takes over. The server runs all the time.
fn without_a_standby_writes_are_refused_until_one_is_attached(cluster: &mut Cluster) {
    let server = Server::start(&cluster.store_url("interweave"), &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/alone", Durability::Synced);
    assert_eq!(
        write(&mut client, &mut copy, 1, 100, 7).expect("it is kept"),
        1
    );
    cluster.fail_over();
    for sequence in 2..5 {
        let refused = write(&mut client, &mut copy, sequence, 100, 8).expect_err("no standby");
        assert_eq!(refused.code(), Some(ErrorCode::StoreAlone), "{refused}");
        assert!(
            refused.to_string().contains("none is attached"),
            "{refused}"
        );
        let mut reader = connect(&server);
        let mut read = open(&mut reader, "/alone", Durability::Synced);
        read.fetch(&mut reader).expect("reads continue");
        assert_eq!((read.stamp().number, value(&read)), (1, Some(7)));
    }
    cluster.recover();
    assert_eq!(
        write(&mut client, &mut copy, 5, 100, 9).expect("it is kept"),
        2
    );
    let mut reader = connect(&server);
    let mut read = open(&mut reader, "/alone", Durability::Synced);
    read.fetch(&mut reader).expect("a copy");
    assert_eq!((read.stamp().number, value(&read)), (2, Some(9)));
}

/// Nobody writes meanwhile. The last use of the cluster.
fn health_and_readiness_say_how_the_database_is(cluster: &mut Cluster) {
    let mut server = Server::start(&store(cluster), &[]);
    server.answers("/readyz", (200, "ready"));
    server.answers("/healthz", (200, "ok"));
    cluster.kill_standby();
    server.answers("/healthz", (503, "STORE_ALONE"));
    server.answers("/readyz", (503, "STORE_ALONE"));
    assert_eq!(server.metric("store_alone"), 1);
    cluster.start_standby();
    server.answers("/readyz", (200, "ready"));
    assert_eq!(server.metric("store_alone"), 0);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/stopping", Durability::Synced);
    cluster.pause_standby();
    thread::scope(|scope| {
        scope.spawn(|| write(&mut client, &mut copy, 1, 100, 7).expect("it is kept"));
        cluster.admin().waiting();
        server.signal("-TERM");
        server.answers("/readyz", (503, "stopping"));
        cluster.resume_standby();
    });
    assert!(server.end().success());
    let server = Server::start(&store(cluster), &[]);
    let mut client = connect(&server);
    let mut copy = open(&mut client, "/away", Durability::Synced);
    cluster.stop();
    server.answers("/healthz", (503, "store away"));
    server.answers("/readyz", (503, "store away"));
    assert_eq!(server.metric("store_away"), 1);
    let refused = write(&mut client, &mut copy, 1, 100, 7).expect_err("no database");
    assert_eq!(refused.code(), Some(ErrorCode::StoreAway), "{refused}");
}

#[test]
fn a_password_in_the_command_line_is_refused() {
    let text = refused("postgres://me:secret@127.0.0.1/interweave");
    assert!(text.contains("PGPASSFILE"), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[test]
fn one_copy_is_a_wish_of_a_database_alone() {
    for store in ["memory", "/no/such"] {
        let text = refused_with(&["--store", store, "--store-alone"]);
        assert!(
            text.contains("--store-alone is for a store on PostgreSQL"),
            "{text}"
        );
    }
}

#[test]
fn a_database_that_is_not_there_is_named() {
    // A port that nobody listens at.
    let text = refused("postgres://me@127.0.0.1:1/interweave");
    assert!(
        text.contains("postgres://me@127.0.0.1:1/interweave"),
        "{text}"
    );
    assert!(text.contains("refused"), "{text}");
    let text = refused("mysql://me:secret@host/db");
    assert!(
        text.contains("postgres://") && !text.contains("secret"),
        "{text}"
    );
}
