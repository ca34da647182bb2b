//! Starts that are refused, and a store at the end of its session and of the database.

use crate::proxy::{Faults, Proxy};
use crate::suite::Stopping;
use interweave_postgres_cluster::{Cluster, HungProcess, Pooler, USER};
use interweave_store::{End, Record, RecoveredSegment, SegmentStore, SharedAccess, StoreError};
use interweave_store_postgres::{Options, PostgresStore, Pushed, SharedRules, Target};
use interweave_store_suite::records::{create, other, releases, small, REMOVE};
use interweave_wire::protocol::Durability::{self, Synced, Written};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{channel, TryRecvError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The last statement of a session after a commit, while the settings are new.
const ASKS_FOR_COPIES: &str = "% flush_lsn >= % FROM pg_stat_replication";

pub fn options(sockets: &Path, schema: &str) -> Options {
    options_of(USER, sockets, schema)
}

fn options_of(role: &str, sockets: &Path, schema: &str) -> Options {
    let url = format!(
        "postgres:///postgres?user={role}&host={}&schema={schema}",
        sockets.display()
    );
    Options::new(Target::parse(&url).unwrap())
}

pub fn open(cluster: &Cluster, schema: &str) -> (PostgresStore, Vec<RecoveredSegment>) {
    PostgresStore::open(options(cluster.sockets(), schema)).unwrap()
}

fn refusal(options: Options) -> String {
    match PostgresStore::open(options) {
        Ok(_) => panic!("it was opened"),
        Err(error) => error.to_string(),
    }
}

type Answer = std::sync::mpsc::Receiver<Result<(), StoreError>>;

pub fn append(store: &PostgresStore, group: Vec<Record>, durable: Durability) -> Answer {
    let (done, answer) = channel();
    let done = move |result| done.send(result).unwrap_or(());
    store.append(group, durable, Box::new(done));
    answer
}

pub fn keep(store: &PostgresStore, group: Vec<Record>) {
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

/// One cluster for all, because its start takes longer than what is done on it.
#[test]
fn starts_and_ends_of_sessions() {
    let shared = Arc::new(Mutex::new(Cluster::start()));
    let _stopping = Stopping(Arc::clone(&shared));
    a_statement_outside_of_its_transaction_does_nothing(&shared);
    let mut cluster = shared.lock().unwrap();
    a_start_names_what_is_wrong(&cluster);
    a_host_that_says_nothing_is_passed_over_once(&cluster);
    each_host_that_does_not_serve_is_named(&cluster);
    a_newer_schema_is_refused(&cluster);
    a_schema_may_have_any_name(&cluster);
    a_pooler_that_shares_connections_is_refused(&cluster);
    a_commit_that_is_terminated_is_unknown_until_it_is_settled(&mut cluster);
    a_settle_that_does_not_reach_the_standby_decides_nothing(&mut cluster);
    a_program_that_copies_the_log_is_not_a_standby(&mut cluster);
    commits_that_wait_for_no_standby_are_in_doubt(&mut cluster);
    commits_wait_for_a_restored_setting(&mut cluster);
    commits_that_a_role_cannot_check_are_in_doubt(&cluster);
    rules_of_one_number_are_told_apart(&cluster);
    nobody_waits_for_a_session_that_hangs(&cluster);
    a_store_continues_after_a_restart_of_the_database(&mut cluster);
    nobody_waits_for_a_primary_that_stands_still(&mut cluster);
    lost_commits_stop_the_store(&mut cluster);
}

fn a_start_names_what_is_wrong(cluster: &Cluster) {
    let schema = "settings";
    let of_primary = || options(cluster.sockets(), schema);
    let standby = refusal(options(cluster.standby_sockets(), schema));
    assert!(standby.contains("this is a standby"), "{standby}");
    cluster.set("synchronous_standby_names", "''");
    let text = refusal(of_primary());
    assert!(
        text.contains("synchronous_standby_names = 'ANY 1 (standby1)'"),
        "{text}"
    );
    let alone = || Options {
        is_alone: true,
        ..of_primary()
    };
    drop(PostgresStore::open(alone()).unwrap());
    cluster.set("synchronous_standby_names", "'nobody'");
    let text = refusal(of_primary());
    assert!(text.contains("none is attached"), "{text}");
    let text = refusal(alone());
    assert!(text.contains("also with --store-alone"), "{text}");
    cluster.set("synchronous_standby_names", "'2 (standby1, standby2)'");
    let text = refusal(of_primary());
    assert!(text.contains("2 standbys, and 1 is attached"), "{text}");
    cluster.set("synchronous_standby_names", "'ANY 1 (standby1)'");
    for (name, line) in [
        ("fsync", "`fsync = on`"),
        ("full_page_writes", "`full_page_writes = on`"),
        ("synchronous_commit", "`synchronous_commit = on`"),
    ] {
        cluster.set(name, "off");
        let text = refusal(of_primary());
        assert!(text.contains(line), "{text}");
        cluster.set(name, "on");
    }
    cluster.set("default_transaction_read_only", "on");
    let text = refusal(of_primary());
    assert!(
        text.contains("RESET default_transaction_read_only"),
        "{text}"
    );
    cluster.set("default_transaction_read_only", "off");
    // A time limit of the role does not end what the store does.
    cluster
        .admin()
        .run("ALTER ROLE iw SET statement_timeout TO 1");
    drop(PostgresStore::open(of_primary()).unwrap());
    cluster.admin().run("ALTER ROLE iw RESET ALL");
}

/// That host, and the cluster's primary.
fn hosts(user: &str, first: SocketAddr, cluster: &Cluster) -> Options {
    let second = cluster.sockets().display().to_string().replace('/', "%2F");
    let url = format!("postgres://{user}@{first},{second}/postgres?schema=hosts");
    Options::new(Target::parse(&url).unwrap())
}

/// As of a machine that is off, or of a PostgreSQL that stands still.
fn a_host_that_says_nothing_is_passed_over_once(cluster: &Cluster) {
    // The system takes connections, and nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let options = hosts(USER, silent.local_addr().unwrap(), cluster);
    let store = PostgresStore::open(options).unwrap().0;
    keep(&store, vec![create(1, Synced)]);
    silent.set_nonblocking(true).unwrap();
    assert!(silent.accept().is_ok());
    let again = silent.accept().map_err(|error| error.kind());
    assert_eq!(again.err(), Some(ErrorKind::WouldBlock));
}

fn each_host_that_does_not_serve_is_named(cluster: &Cluster) {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let text = refusal(hosts("stranger", nobody, cluster));
    let second = format!("{}:5432: PostgreSQL: role", cluster.sockets().display());
    for part in ["127.0.0.1:1: PostgreSQL: error connecting", &second] {
        assert!(text.contains(part), "{text}");
    }
}

/// Somebody empties the setting while a store has its connections. PostgreSQL waits for nobody
/// then, and says nothing about it.
fn commits_that_wait_for_no_standby_are_in_doubt(cluster: &mut Cluster) {
    let names = "synchronous_standby_names";
    let (store, _) = open(cluster, "emptied");
    keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
    let appended = |group| append(&store, group, Synced);
    cluster.set(names, "''");
    let doubted = appended(vec![small(1, 2, 0)]).recv().unwrap();
    assert!(
        matches!(doubted, Err(StoreError::Unknown(_))),
        "{doubted:?}"
    );
    let settled = end(&store, 1);
    assert!(matches!(settled, Err(StoreError::Alone(_))), "{settled:?}");
    let refused = appended(vec![create(2, Synced)]).recv().unwrap();
    assert!(matches!(refused, Err(StoreError::Alone(_))), "{refused:?}");
    let rules = SharedRules::open(&options(cluster.sockets(), "emptied").target).unwrap();
    let pushed = rules.write(&SharedAccess::default(), "");
    assert_eq!(pushed, Ok(Pushed::InOneCopy));
    cluster.set(names, "'ANY 1 (standby1)'");
    assert_eq!(end(&store, 1), Ok(at(2)));
    // The setting is emptied while a commit waits.
    cluster.pause_standby();
    let waiting = appended(vec![small(1, 3, 0)]);
    cluster.admin().waiting();
    cluster.set(names, "''");
    let doubted = waiting.recv().unwrap();
    assert!(
        matches!(doubted, Err(StoreError::Unknown(_))),
        "{doubted:?}"
    );
    cluster.resume_standby();
    cluster.set(names, "'ANY 1 (standby1)'");
    assert_eq!(end(&store, 1), Ok(at(3)));
    keep(&store, vec![small(1, 4, 0)]);
}

/// The setting is there again, and PostgreSQL's checkpointer has not put it into effect. A commit
/// waits for nobody then.
fn commits_wait_for_a_restored_setting(cluster: &mut Cluster) {
    let names = "synchronous_standby_names";
    let (store, _) = open(cluster, "restored");
    keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
    cluster.pause_standby();
    cluster.set(names, "''");
    // It ends once the empty setting is in effect.
    cluster
        .admin()
        .run("CREATE TABLE restored.waits_for_nobody ()");
    let checkpointer = HungProcess::checkpointer(cluster.admin());
    cluster.set(names, "'ANY 1 (standby1)'");
    cluster.admin().run("DROP TABLE restored.waits_for_nobody");
    let clock = "SELECT clock_timestamp()::text";
    let before: String = cluster.admin().rows(clock, &[])[0].get(0);
    let appended = append(&store, vec![small(1, 2, 0)], Synced);
    let count = "SELECT count(*) FROM pg_stat_activity
      WHERE query LIKE $1 AND query_start > $2::text::timestamptz";
    let asked = || cluster.admin().rows(count, &[&ASKS_FOR_COPIES, &before]);
    while asked()[0].get::<_, i64>(0) == 0 {
        assert_eq!(appended.try_recv(), Err(TryRecvError::Empty), "one copy");
    }
    cluster.resume_standby();
    assert_eq!(appended.recv().unwrap(), Ok(()));
    drop(checkpointer);
    keep(&store, vec![small(1, 3, 0)]);
}

/// A role that could see the standbys when the store was opened.
fn commits_that_a_role_cannot_check_are_in_doubt(cluster: &Cluster) {
    let run = |statement: &str| cluster.admin().run(statement);
    run("CREATE ROLE watcher LOGIN; GRANT CREATE ON DATABASE postgres TO watcher");
    run("GRANT pg_read_all_stats TO watcher");
    let options = options_of("watcher", cluster.sockets(), "watched");
    let (store, _) = PostgresStore::open(options).unwrap();
    keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
    run("REVOKE pg_read_all_stats FROM watcher");
    let doubted = append(&store, vec![small(1, 2, 0)], Synced).recv().unwrap();
    assert!(
        matches!(doubted, Err(StoreError::Unknown(_))),
        "{doubted:?}"
    );
    let error = end(&store, 1).unwrap_err().to_string();
    assert!(error.contains("GRANT pg_read_all_stats"), "{error}");
    run("GRANT pg_read_all_stats TO watcher");
    assert_eq!(end(&store, 1), Ok(at(2)));
}

/// The health's look is answered meanwhile, and breaks the connection.
fn nobody_waits_for_a_session_that_hangs(cluster: &Cluster) {
    let ahead_s = Arc::new(AtomicU64::new(0));
    let clock = Arc::clone(&ahead_s);
    let mut options = options(cluster.sockets(), "hangs");
    options.now = Arc::new(move || {
        let ahead = Duration::from_secs(clock.load(Ordering::Relaxed));
        Instant::now() + ahead
    });
    let (store, _) = PostgresStore::open(options).unwrap();
    keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
    let session = HungProcess::session(cluster.admin(), ASKS_FOR_COPIES);
    let hung = append(&store, vec![small(1, 2, 0)], Synced);
    let hung = loop {
        // As if half of a minute had passed.
        ahead_s.fetch_add(30, Ordering::Relaxed);
        if let Ok(answer) = hung.recv_timeout(Duration::from_millis(100)) {
            break answer;
        }
    };
    assert!(matches!(hung, Err(StoreError::Unknown(_))), "{hung:?}");
    drop(session);
    let ended = end(&store, 1);
    assert!([Ok(at(1)), Ok(at(2))].contains(&ended), "{ended:?}");
}

/// A promoted standby may lack a version that servers have taken, and get another one [SPACE-42].
fn rules_of_one_number_are_told_apart(cluster: &Cluster) {
    let (store, _) = open(cluster, "numbered");
    let mut source = store.access().unwrap().unwrap();
    let mut other = |taken: Option<&SharedAccess>| {
        let taken = taken.map_or((0, 0), |taken| (taken.version, taken.made_us));
        source.other(taken).unwrap()
    };
    let run = |statement: &str| cluster.admin().run(statement);
    let push = |version, rules: &str| {
        run(&format!(
            "INSERT INTO numbered.access (version, rules) VALUES ({version}, '{rules}')"
        ));
    };
    assert_eq!(other(None), None);
    push(1, "one");
    let one = other(None).unwrap();
    push(2, "two");
    let two = other(Some(&one)).unwrap();
    assert_eq!((two.version, two.rules.as_deref()), (2, Some(&b"two"[..])));
    assert_eq!(other(Some(&two)), None);
    run("DELETE FROM numbered.access WHERE version = 2");
    assert_eq!(other(Some(&two)), Some(one.clone()));
    push(2, "another two");
    let another = other(Some(&two)).unwrap();
    assert_eq!(
        (another.version, another.rules.as_deref()),
        (2, Some(&b"another two"[..]))
    );
}

/// With `ANY 1 (*)` PostgreSQL also waits for such a program instead of the standby.
fn a_program_that_copies_the_log_is_not_a_standby(cluster: &mut Cluster) {
    let names = "synchronous_standby_names";
    cluster.set(names, "'ANY 1 (*)'");
    let of_all = options(cluster.sockets(), "receivers");
    let found = PostgresStore::inspect(&of_all.target, false).unwrap();
    let wrong = found.iter().filter(|checked| checked.mend.is_some());
    let wrong: Vec<_> = wrong.map(|checked| checked.name).collect();
    assert!(wrong.contains(&"standby-names"), "{wrong:?}");
    cluster.kill_standby();
    let receiver = cluster.receive_log();
    let text = refusal(options(cluster.sockets(), "receivers"));
    assert!(text.contains("only copies the log"), "{text}");
    drop(receiver);
    cluster.set(names, "'ANY 1 (standby1)'");
    cluster.start_standby();
    drop(open(cluster, "receivers"));
}

fn a_newer_schema_is_refused(cluster: &Cluster) {
    let (store, _) = open(cluster, "versions");
    Box::new(store).close(true).unwrap();
    let set = |version| {
        let update = format!("UPDATE versions.store SET schema_version = {version}");
        cluster.admin().run(&update);
    };
    set(7);
    let text = refusal(options(cluster.sockets(), "versions"));
    assert!(text.contains("version 7"), "{text}");
    set(6);
    drop(open(cluster, "versions"));
    // Version 4 does not know which servers were drained.
    set(4);
    let drops = "ALTER TABLE versions.owner DROP is_drained";
    cluster.admin().run(drops);
    drop(open(cluster, "versions"));
    // Version 3 has no rules that servers share.
    set(3);
    cluster
        .admin()
        .run("DROP TABLE versions.access; ALTER TABLE versions.owner DROP rules_version");
    cluster.admin().run(drops);
    let (store, _) = open(cluster, "versions");
    let mut rules = store.access().unwrap().unwrap();
    assert_eq!(rules.other((0, 0)), Ok(None));
    drop(store);
    cluster
        .admin()
        .run("UPDATE versions.store SET timeline = 99");
    let text = refusal(options(cluster.sockets(), "versions"));
    assert!(text.contains("timeline"), "{text}");
}

fn a_pooler_that_shares_connections_is_refused(cluster: &Cluster) {
    for mode in ["transaction", "statement"] {
        let pooler = Pooler::start(cluster.sockets(), mode);
        let text = refusal(options(pooler.sockets(), "pooled"));
        assert!(text.contains("`pool_mode = session`"), "{mode}: {text}");
    }
    let pooler = Pooler::start(cluster.sockets(), "transaction");
    let target = options(pooler.sockets(), "pooled").target;
    let found = PostgresStore::inspect(&target, false).unwrap();
    let wrong = found.iter().filter(|checked| checked.mend.is_some());
    let wrong: Vec<_> = wrong.map(|checked| checked.name).collect();
    assert_eq!(wrong, ["pooler"]);
    let pooler = Pooler::start(cluster.sockets(), "session");
    let (store, _) = PostgresStore::open(options(pooler.sockets(), "pooled")).unwrap();
    keep(&store, vec![create(1, Synced)]);
}

fn a_commit_that_is_terminated_is_unknown_until_it_is_settled(cluster: &mut Cluster) {
    let (store, _) = open(cluster, "terminated");
    keep(&store, vec![create(1, Synced)]);
    for (version, end_it) in [(1, "pg_terminate_backend"), (2, "pg_cancel_backend")] {
        cluster.pause_standby();
        let answer = append(&store, vec![small(1, version, 0)], Synced);
        let pid = cluster.admin().waiting();
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
    // The rows go also if the removal was in doubt.
    cluster.pause_standby();
    let answer = append(&store, vec![other(1, REMOVE)], Synced);
    let pid = cluster.admin().waiting();
    let cancel = format!("SELECT pg_cancel_backend({pid})");
    cluster.admin().run(&cancel);
    let answer = answer.recv().unwrap();
    assert!(matches!(answer, Err(StoreError::Unknown(_))), "{answer:?}");
    cluster.resume_standby();
    assert_eq!(end(&store, 1), Ok(End::Absent));
    Box::new(store).close(true).unwrap();
    let rows = "SELECT count(*) FROM terminated.segment";
    assert_eq!(cluster.admin().number(rows), 0);
}

/// A reserved word, capitals, quotes, and what the statements' own places look like.
fn a_schema_may_have_any_name(cluster: &Cluster) {
    for name in ["both", "Capital", "with%20%22quotes%22", "a.b;c", "{s}{n}"] {
        let mut options = options(cluster.sockets(), name);
        options.log_table_bytes = 1;
        let (store, _) = PostgresStore::open(options.clone()).unwrap();
        keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
        keep(&store, vec![create(2, Synced)]);
        assert_eq!(end(&store, 1), Ok(at(1)), "{name}");
        keep(&store, vec![other(2, REMOVE)]);
        Box::new(store).close(true).unwrap();
        let (store, segments) = PostgresStore::open(options).unwrap();
        assert_eq!(releases(&segments[0]).len(), 1, "{name}");
        Box::new(store).close(true).unwrap();
    }
    let named = "SELECT count(*) FROM pg_namespace WHERE nspname IN \
                 ('both', 'Capital', 'with \"quotes\"', 'a.b;c', '{s}{n}')";
    assert_eq!(cluster.admin().number(named), 5);
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
    cancel(cluster.admin().waiting());
    assert!(answer.recv().unwrap().is_err());
    let (settled, ends) = channel();
    store.settle(
        vec![1],
        Box::new(move |result| settled.send(result).unwrap_or(())),
    );
    cancel(cluster.admin().waiting());
    let ends = ends.recv().unwrap();
    assert!(matches!(ends, Err(StoreError::Unknown(_))), "{ends:?}");
    cluster.resume_standby();
    assert_eq!(end(&store, 1), Ok(at(1)));
}

/// A BEGIN that fails leaves the statements after it without a transaction.
fn a_statement_outside_of_its_transaction_does_nothing(cluster: &Arc<Mutex<Cluster>>) {
    let faults = Faults::default();
    let proxy = Proxy::begin(faults.clone(), Arc::clone(cluster));
    let url = format!(
        "postgres://{USER}@127.0.0.1:{}/postgres?schema=outside",
        proxy.port
    );
    let (store, _) = PostgresStore::open(Options::new(Target::parse(&url).unwrap())).unwrap();
    let content = || -> Vec<i64> {
        let select = "SELECT (SELECT sum(head) FROM outside.segment)::bigint, \
                      (SELECT count(*) FROM outside.segment), \
                      (SELECT count(*) FROM outside.creation), \
                      (SELECT count(*) FROM outside.log_0), \
                      (SELECT sum(creations) FROM outside.owner)::bigint";
        let row = &cluster.lock().unwrap().admin().rows(select, &[])[0];
        (0..5).map(|index| row.get(index)).collect()
    };
    keep(&store, vec![create(1, Synced)]);
    assert_eq!(content(), [1, 1, 1, 1, 1]);
    for group in [vec![small(1, 1, 0)], vec![create(2, Synced)]] {
        faults.fail_begin();
        let answer = append(&store, group, Synced).recv().unwrap();
        assert!(matches!(answer, Err(StoreError::Io(_))), "{answer:?}");
        assert_eq!(content(), [1, 1, 1, 1, 1]);
    }
    keep(&store, vec![small(1, 1, 0), create(2, Synced)]);
    assert_eq!(content(), [3, 2, 2, 3, 2]);
    proxy.end();
}

fn a_store_continues_after_a_restart_of_the_database(cluster: &mut Cluster) {
    let (store, _) = open(cluster, "restarted");
    keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
    cluster.lose_power(false);
    keep_or_settle(&store, 2);
    keep(&store, vec![small(1, 3, 0)]);
    drop(store);
    let (_, segments) = open(cluster, "restarted");
    assert_eq!(releases(&segments[0]).len(), 3);
}

/// The first append may find the old connection, and is then settled.
fn keep_or_settle(store: &PostgresStore, version: u64) {
    let group = || vec![small(1, version, 0)];
    if let Err(error) = append(store, group(), Synced).recv().unwrap() {
        assert!(!error.is_final(), "{error}");
        if end(store, 1) == Ok(at(version - 1)) {
            keep(store, group());
        }
    }
}

/// The health's look finds the new one, and breaks the connections to the old one.
fn nobody_waits_for_a_primary_that_stands_still(cluster: &mut Cluster) {
    let target = Target::parse(&cluster.store_url("hung")).unwrap();
    let mut options = Options::new(target);
    options.is_alone = true;
    let (store, _) = PostgresStore::open(options).unwrap();
    keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
    cluster.fail_over_from_a_hung_primary();
    let names = "synchronous_standby_names";
    cluster.set(names, "''");
    keep_or_settle(&store, 2);
    keep(&store, vec![small(1, 3, 0)]);
    cluster.set(names, "'ANY 1 (standby1)'");
    cluster.kill_standby();
    cluster.recover();
    assert_eq!(end(&store, 1), Ok(at(3)));
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
