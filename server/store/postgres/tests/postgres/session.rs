//! What a start refuses, and how a store meets the end of its session and of the database.

use interweave_postgres_cluster::{Admin, Cluster, USER};
use interweave_store::{End, Record, RecoveredSegment, SegmentStore, StoreError};
use interweave_store_postgres::{Options, PostgresStore, Target};
use interweave_store_suite::records::{create, releases, small};
use interweave_wire::protocol::Durability::{self, Synced, Written};
use std::path::Path;
use std::sync::mpsc::channel;

fn options(sockets: &Path, schema: &str) -> Options {
    let url = format!(
        "postgres:///postgres?user={USER}&host={}&schema={schema}",
        sockets.display()
    );
    Options::new(Target::parse(&url).unwrap())
}

fn open(cluster: &Cluster, schema: &str) -> (PostgresStore, Vec<RecoveredSegment>) {
    PostgresStore::open(options(cluster.sockets(), schema)).unwrap()
}

fn refusal(options: Options) -> String {
    match PostgresStore::open(options) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

type Answer = std::sync::mpsc::Receiver<Result<(), StoreError>>;

fn append(store: &PostgresStore, group: Vec<Record>, durable: Durability) -> Answer {
    let (done, answer) = channel();
    let done = move |result| done.send(result).unwrap_or(());
    store.append(group, durable, Box::new(done));
    answer
}

fn keep(store: &PostgresStore, group: Vec<Record>) {
    append(store, group, Synced).recv().unwrap().unwrap();
}

fn end(store: &PostgresStore, segment: u64) -> Result<End, StoreError> {
    let (settled, answer) = channel();
    let settled = Box::new(move |result| settled.send(result).unwrap_or(()));
    store.settle(vec![segment], settled);
    answer
        .recv()
        .unwrap()
        .map(|ends: Vec<(u64, End)>| ends[0].1)
}

fn at(version: u64) -> End {
    End::At {
        incarnation: 1,
        version,
        serials_below: 0,
    }
}

/// Sets a setting of the cluster, and waits until a new session has it.
fn set(cluster: &Cluster, name: &str, value: &str) {
    let admin = cluster.admin();
    admin.run(&format!("ALTER SYSTEM SET {name} TO {value}"));
    admin.run("SELECT pg_reload_conf()");
    let wanted = value.trim_matches('\'');
    let is = || -> String {
        let admin = Admin::of(cluster.sockets());
        admin.rows("SELECT current_setting($1)", &[&name])[0].get(0)
    };
    while is() != wanted {
        std::thread::yield_now();
    }
}

/// One cluster for all, because its start takes longer than what is done on it.
#[test]
fn starts_and_ends_of_sessions() {
    let mut cluster = Cluster::start();
    a_start_names_what_is_wrong(&cluster);
    a_newer_schema_is_refused(&cluster);
    a_commit_that_is_terminated_is_unknown_until_it_is_settled(&mut cluster);
    a_settle_that_does_not_reach_the_standby_decides_nothing(&mut cluster);
    a_statement_outside_of_its_transaction_does_nothing(&cluster);
    a_store_continues_after_a_restart_of_the_database(&mut cluster);
    lost_commits_stop_the_store(&mut cluster);
}

fn a_start_names_what_is_wrong(cluster: &Cluster) {
    let schema = "settings";
    let of_primary = || options(cluster.sockets(), schema);
    let standby = refusal(options(cluster.standby_sockets(), schema));
    assert!(standby.contains("this is a standby"), "{standby}");
    set(cluster, "synchronous_standby_names", "''");
    let text = refusal(of_primary());
    assert!(
        text.contains("synchronous_standby_names = 'ANY 1 (*)'"),
        "{text}"
    );
    let mut alone = of_primary();
    alone.is_alone = true;
    drop(PostgresStore::open(alone).unwrap());
    set(cluster, "synchronous_standby_names", "'nobody'");
    let text = refusal(of_primary());
    assert!(text.contains("none is attached"), "{text}");
    set(cluster, "synchronous_standby_names", "'ANY 1 (*)'");
    for (name, line) in [
        ("fsync", "`fsync = on`"),
        ("full_page_writes", "`full_page_writes = on`"),
        ("synchronous_commit", "`synchronous_commit = on`"),
    ] {
        set(cluster, name, "off");
        let text = refusal(of_primary());
        assert!(text.contains(line), "{text}");
        set(cluster, name, "on");
    }
    drop(PostgresStore::open(of_primary()).unwrap());
}

fn a_newer_schema_is_refused(cluster: &Cluster) {
    let (store, _) = open(cluster, "versions");
    Box::new(store).close(true).unwrap();
    let set = |version| {
        let update = format!("UPDATE versions.store SET schema_version = {version}");
        cluster.admin().run(&update);
    };
    set(3);
    let text = refusal(options(cluster.sockets(), "versions"));
    assert!(text.contains("version 3"), "{text}");
    set(2);
    drop(open(cluster, "versions"));
    cluster
        .admin()
        .run("UPDATE versions.store SET timeline = 99");
    let text = refusal(options(cluster.sockets(), "versions"));
    assert!(text.contains("timeline"), "{text}");
}

/// The session that waits for the standby with a commit.
fn waiting(admin: &Admin) -> i64 {
    loop {
        let found = "SELECT coalesce(max(pid), 0)::bigint FROM pg_stat_activity \
                     WHERE wait_event = 'SyncRep'";
        match admin.number(found) {
            0 => std::thread::yield_now(),
            pid => return pid,
        }
    }
}

fn a_commit_that_is_terminated_is_unknown_until_it_is_settled(cluster: &mut Cluster) {
    let (store, _) = open(cluster, "terminated");
    keep(&store, vec![create(1, Synced)]);
    for (version, end_it) in [(1, "pg_terminate_backend"), (2, "pg_cancel_backend")] {
        cluster.pause_standby();
        let answer = append(&store, vec![small(1, version, 0)], Synced);
        let pid = waiting(cluster.admin());
        cluster.admin().run(&format!("SELECT {end_it}({pid})"));
        let answer = answer.recv().unwrap();
        assert!(
            matches!(answer, Err(StoreError::Unknown(_))),
            "{end_it}: {answer:?}"
        );
        // Not before it is settled.
        let next = append(&store, vec![small(1, version + 1, 0)], Synced)
            .recv()
            .unwrap();
        assert!(matches!(next, Err(StoreError::Unknown(_))), "{next:?}");
        cluster.resume_standby();
        assert_eq!(end(&store, 1), Ok(at(version)), "{end_it}");
    }
    keep(&store, vec![small(1, 3, 0)]);
}

fn a_settle_that_does_not_reach_the_standby_decides_nothing(cluster: &mut Cluster) {
    let (store, _) = open(cluster, "settled");
    keep(&store, vec![create(1, Synced)]);
    cluster.pause_standby();
    let answer = append(&store, vec![small(1, 1, 0)], Synced);
    let cancel = |pid| {
        cluster
            .admin()
            .run(&format!("SELECT pg_cancel_backend({pid})"))
    };
    cancel(waiting(cluster.admin()));
    assert!(answer.recv().unwrap().is_err());
    let (settled, ends) = channel();
    store.settle(
        vec![1],
        Box::new(move |result| settled.send(result).unwrap_or(())),
    );
    cancel(waiting(cluster.admin()));
    let ends = ends.recv().unwrap();
    assert!(matches!(ends, Err(StoreError::Unknown(_))), "{ends:?}");
    cluster.resume_standby();
    assert_eq!(end(&store, 1), Ok(at(1)));
}

/// A cancelled BEGIN leaves the statements after it without a transaction.
fn a_statement_outside_of_its_transaction_does_nothing(cluster: &Cluster) {
    let (store, _) = open(cluster, "outside");
    keep(&store, vec![create(1, Synced)]);
    let head = "SELECT head FROM outside.segment";
    assert_eq!(cluster.admin().number(head), 1);
    cluster.admin().run(
        "PREPARE moves AS UPDATE outside.segment SET head = 9 \
         WHERE current_setting('interweave.transaction', true) = '1'; EXECUTE moves",
    );
    assert_eq!(cluster.admin().number(head), 1);
    keep(&store, vec![small(1, 1, 0)]);
}

fn a_store_continues_after_a_restart_of_the_database(cluster: &mut Cluster) {
    let (store, _) = open(cluster, "restarted");
    keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
    cluster.lose_power(false);
    // The first append may find the old connection, and is then settled.
    match append(&store, vec![small(1, 2, 0)], Synced).recv().unwrap() {
        Ok(()) => {}
        Err(error) => {
            assert!(!error.is_final(), "{error}");
            if end(&store, 1) == Ok(at(1)) {
                keep(&store, vec![small(1, 2, 0)]);
            }
        }
    }
    keep(&store, vec![small(1, 3, 0)]);
    drop(store);
    let (_, segments) = open(cluster, "restarted");
    assert_eq!(releases(&segments[0]).len(), 3);
}

fn lost_commits_stop_the_store(cluster: &mut Cluster) {
    let (store, _) = open(cluster, "lost");
    keep(&store, vec![create(1, Written)]);
    cluster.pause_standby();
    append(&store, vec![small(1, 1, 0)], Written)
        .recv()
        .unwrap()
        .unwrap();
    // The standby takes over without the release.
    cluster.lose_power(true);
    drop(store);
    let (store, segments) = open(cluster, "lost");
    assert_eq!(releases(&segments[0]).len(), 0);
    assert!(!segments[0].clean);
    // As if this server had outlived the database.
    append(&store, vec![small(1, 1, 1)], Written)
        .recv()
        .unwrap()
        .unwrap();
    cluster
        .admin()
        .run("UPDATE lost.segment SET head = head - 1");
    let answer = append(&store, vec![small(1, 2, 1)], Written)
        .recv()
        .unwrap();
    assert!(
        matches!(answer, Err(StoreError::Damaged { .. })),
        "{answer:?}"
    );
    assert!(matches!(store.stopped(), Some(StoreError::Damaged { .. })));
}
