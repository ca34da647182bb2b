//! The tables of the log, which take turns.

use crate::given::{give, is_given};
use crate::session::{append, keep, options};
use crate::space::{here, options_of, seek};
use bytes::Bytes;
use interweave_postgres_cluster::{Admin, Cluster};
use interweave_store::{Checkpoint, Next, Piece, RecoveredSegment, SegmentStore, StoreError};
use interweave_store_postgres::PostgresStore;
use interweave_store_suite::records::{
    create, diff, head, other, release, releases, small, REMOVE,
};
use interweave_wire::protocol::Durability::{Synced, Written};
use std::sync::mpsc::channel;
use std::time::Duration;

const SEGMENTS: u64 = 16;

pub fn save(store: &PostgresStore, segment: u64, version: u64) -> Result<(), StoreError> {
    let (done, saved) = channel();
    let checkpoint = Checkpoint {
        head: head(segment, version, 0),
        diff: diff(segment, version, 9, 1 << 10),
    };
    store.checkpoint(checkpoint, Box::new(move |r| done.send(r).unwrap_or(())));
    saved.recv().unwrap()
}

/// Appends that many releases, each in a transaction of its own. Each segment is saved twice.
fn work(store: &PostgresStore, appends: u64) {
    for segment in 1..=SEGMENTS {
        let created = append(store, vec![create(segment, Written)], Written);
        created.recv().unwrap().unwrap();
    }
    let between = appends / SEGMENTS * 2 / 5;
    for number in 0..appends {
        let (segment, version) = (1 + number % SEGMENTS, 1 + number / SEGMENTS);
        let appended = append(store, vec![small(segment, version, 0)], Written);
        appended.recv().unwrap().unwrap();
        if version % between == 0 {
            save(store, segment, version).unwrap();
        }
    }
}

/// Waits until the sessions of stores have ended: they tell their statistics then.
fn wait_for_ends(admin: &Admin) {
    let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'interweave'";
    while admin.number(sessions) > 0 {
        std::thread::yield_now();
    }
}

fn of_segments(admin: &Admin, schema: &str) -> (i64, i64) {
    let select = "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables \
                  WHERE schemaname = $1 AND relname = 'segment'";
    let row = &admin.rows(select, &[&schema])[0];
    (row.get(0), row.get(1))
}

fn dead_in_log(admin: &Admin, schema: &str) -> i64 {
    let select = "SELECT sum(n_dead_tup)::bigint FROM pg_stat_user_tables \
                  WHERE schemaname = $1 AND relname LIKE 'log%'";
    admin.rows(select, &[&schema])[0].get(0)
}

fn rows_of_log(admin: &Admin, schema: &str) -> Vec<i64> {
    let count = |table| admin.number(&format!("SELECT count(*) FROM {schema}.log_{table}"));
    (0..4).map(count).collect()
}

/// Opens a store of which a table of the log is full with 32 KiB.
fn open_small(cluster: &Cluster, schema: &str) -> (PostgresStore, Vec<RecoveredSegment>) {
    let mut options = options(cluster.sockets(), schema);
    options.log_table_bytes = 32 << 10;
    PostgresStore::open(options).unwrap()
}

#[test]
fn tables_of_the_log() {
    let mut cluster = Cluster::start();
    pieces_of_a_checkpoint_wait_for_the_standby_now_and_then(&mut cluster);
    appends_leave_no_dead_rows(&cluster);
    an_idle_segment_that_pins_the_oldest_table_is_overdue(&cluster);
    a_table_that_a_newer_owner_needs_is_not_emptied(&cluster);
    a_table_that_somebody_reads_is_emptied_later(&cluster);
    a_damaged_segment_keeps_no_table(&cluster);
    segments_of_others_keep_no_table(&cluster);
    one_log_becomes_the_first_of_several(&cluster);
}

/// Otherwise renewals and releases of others would wait for the whole checkpoint.
fn pieces_of_a_checkpoint_wait_for_the_standby_now_and_then(cluster: &mut Cluster) {
    const PIECE: usize = 4 << 20;
    let (store, _) = open_small(cluster, "pieces");
    keep(&store, vec![create(1, Synced), small(1, 1, 0)]);
    cluster.pause_standby();
    let ((want, wanted), (done, saved)) = (channel(), channel());
    let want = Box::new(move || want.send(()).unwrap_or(()));
    let done = Box::new(move |result| done.send(result).unwrap_or(()));
    store.checkpoint_in_pieces(head(1, 1, 1), want, done);
    let piece = |number| Piece {
        diff: diff(1, number, 60, PIECE),
        ages: Bytes::new(),
    };
    std::thread::scope(|scope| {
        let store = &store;
        scope.spawn(move || {
            for number in 0..11 {
                wanted.recv().unwrap();
                store.next(1, Next::Piece(piece(number)));
            }
            wanted.recv().unwrap();
            store.next(1, Next::Last(piece(11)));
        });
        cluster.admin().waiting();
        let bytes = "SELECT sum(octet_length(bytes)) FROM pieces.piece";
        let written = cluster.admin().number(bytes);
        cluster.resume_standby();
        assert!(written < 6 * PIECE as i64, "{written} bytes wait");
    });
    saved.recv().unwrap().unwrap();
}

fn appends_leave_no_dead_rows(cluster: &Cluster) {
    let admin = cluster.admin();
    let (store, _) = open_small(cluster, "dead");
    // IW_APPENDS: for the table in docs/store.md.
    let appends = std::env::var("IW_APPENDS").ok();
    let appends = appends.map_or(2000, |text| text.parse().unwrap());
    work(&store, appends);
    Box::new(store).close(true).unwrap();
    wait_for_ends(admin);
    let (updates, hot) = of_segments(admin, "dead");
    let (dead, rows) = (dead_in_log(admin, "dead"), rows_of_log(admin, "dead"));
    println!("{appends} appends: {hot} of {updates} HOT, {dead} dead, left {rows:?}");
    assert!(updates >= appends as i64 && hot * 10 >= updates * 9);
    assert_eq!(dead, 0);
    assert!(
        rows.iter().sum::<i64>() < appends as i64,
        "some were emptied"
    );
    let (_, segments) = open_small(cluster, "dead");
    for segment in segments {
        let last = releases(&segment).last().map(|(version, _)| *version);
        let saved = segment.checkpoint.map(|(head, _)| head.at.number);
        assert_eq!(last.or(saved), Some(appends / SEGMENTS));
    }
}

fn an_idle_segment_that_pins_the_oldest_table_is_overdue(cluster: &Cluster) {
    let (store, _) = open_small(cluster, "idle");
    keep(&store, vec![create(1, Written), create(2, Written)]);
    let mut version = 0;
    while store.overdue().is_empty() {
        version += 1;
        keep(&store, vec![small(2, version, 0)]);
    }
    // Saved often, segment 2 pins no table, but for the idle one's records in the first.
    assert_eq!(store.overdue(), [1, 2]);
    save(&store, 1, 0).unwrap();
    save(&store, 2, version).unwrap();
    assert!(store.overdue().is_empty());
    Box::new(store).close(true).unwrap();
    let rows = rows_of_log(cluster.admin(), "idle");
    assert_eq!(rows.iter().filter(|rows| **rows > 0).count(), 1, "{rows:?}");
}

/// Appends until the first table of the log is full. Returns the segment's version.
fn fill(store: &PostgresStore) -> u64 {
    keep(store, vec![create(1, Written)]);
    // It is answered after the tables were emptied of which the turn comes next.
    save(store, 1, 0).unwrap();
    let versions = 1..=8;
    for version in versions.clone() {
        keep(store, vec![release(1, version, diff(1, version, 0, 4096))]);
    }
    *versions.end()
}

/// An owner that was fenced knows nothing of later appends.
fn a_table_that_a_newer_owner_needs_is_not_emptied(cluster: &Cluster) {
    let (older, _) = open_small(cluster, "fenced");
    let version = fill(&older);
    save(&older, 1, version).unwrap();
    let (newer, _) = open_small(cluster, "fenced");
    keep(&newer, vec![small(1, version + 1, 0)]);
    assert_eq!(rows_of_log(cluster.admin(), "fenced"), [10, 0, 0, 0]);
    // With it the turn comes to the next table, and the older owner spares the first.
    let fenced = append(&older, vec![small(1, version + 1, 1)], Written);
    assert!(fenced.recv().unwrap().is_err());
    Box::new(older).close(true).unwrap_err();
    drop(newer);
    let (_, segments) = open_small(cluster, "fenced");
    assert_eq!(segments[0].damage, None);
    assert_eq!(releases(&segments[0]).len(), 1);
}

/// As a backup reads.
fn a_table_that_somebody_reads_is_emptied_later(cluster: &Cluster) {
    let (store, _) = open_small(cluster, "busy");
    let version = fill(&store);
    let reader = Admin::of(cluster.sockets());
    reader.run("BEGIN; SELECT count(*) FROM busy.log_0");
    keep(&store, vec![small(1, version + 1, 0)]);
    save(&store, 1, version).unwrap();
    // It is answered after the tables were looked at.
    save(&store, 1, version).unwrap();
    assert_eq!(rows_of_log(cluster.admin(), "busy"), [9, 1, 0, 0]);
    assert_eq!(store.status().last_error, None);
    reader.run("COMMIT");
    save(&store, 1, version).unwrap();
    Box::new(store).close(true).unwrap();
    assert_eq!(rows_of_log(cluster.admin(), "busy"), [0, 1, 0, 0]);
}

/// The busy server makes a segment in each turn of the tables. Most of them go to an idle one,
/// which never saves them, and one goes to a server that ends.
fn segments_of_others_keep_no_table(cluster: &Cluster) {
    let (schema, lease) = ("others", Duration::from_secs(600));
    let join = |name| {
        let mut options = options_of(cluster.sockets(), schema, (name, lease));
        options.log_table_bytes = 32 << 10;
        PostgresStore::open(options).unwrap().0
    };
    let [busy, idle, ended] = ["a", "b", "c"].map(join);
    keep(&busy, vec![create(100, Written)]);
    let mut version = 0;
    let mut work = || {
        version += 1;
        let change = diff(100, version, 0, 4096);
        keep(&busy, vec![release(100, version, change)]);
        save(&busy, 100, version).unwrap();
    };
    for segment in 1..=12 {
        keep(&busy, vec![create(segment, Written), small(segment, 1, 0)]);
        let to = if segment == 3 { &ended } else { &idle };
        assert!(is_given(give(&busy, segment, to)));
        (0..4).for_each(|_| work());
    }
    Box::new(ended).close(true).unwrap();
    (0..200).for_each(|_| work());
    let rows: i64 = rows_of_log(cluster.admin(), schema).iter().sum();
    assert!(rows < 60, "{rows} rows are left of 272");
    for segment in 1..=12 {
        let found = here(seek(&idle, segment));
        assert_eq!((found.damage.is_none(), releases(&found).len()), (true, 1));
    }
    // The records that were moved are there once.
    let of_others = "SELECT count(*) FROM (SELECT segment FROM others.log_0 UNION ALL \
                     SELECT segment FROM others.log_1 UNION ALL SELECT segment FROM others.log_2 \
                     UNION ALL SELECT segment FROM others.log_3) AS l WHERE segment < 100";
    assert_eq!(cluster.admin().number(of_others), 24);
}

/// Its rows stay, and move from table to table.
fn a_damaged_segment_keeps_no_table(cluster: &Cluster) {
    let admin = cluster.admin();
    let (store, _) = open_small(cluster, "damaged");
    keep(&store, vec![create(1, Written), create(2, Written)]);
    for version in 1..=3 {
        keep(&store, vec![small(1, version, 0)]);
    }
    Box::new(store).close(true).unwrap();
    admin.run(
        "UPDATE damaged.log_0 SET bytes = set_byte(bytes, 0, get_byte(bytes, 0) # 1) \
         WHERE segment = 1 AND number = 3",
    );
    let (store, segments) = open_small(cluster, "damaged");
    let is_damaged = |found: &[RecoveredSegment]| {
        found
            .iter()
            .any(|s| s.segment_id == 1 && s.damage.is_some())
    };
    assert!(is_damaged(&segments));
    let left = || -> Vec<i64> {
        let of = |table| format!("SELECT count(*) FROM damaged.log_{table} WHERE segment = 1");
        (0..4).map(|table| admin.number(&of(table))).collect()
    };
    let mut had = [false; 4];
    for version in 1..=100 {
        keep(&store, vec![release(2, version, diff(2, version, 0, 4096))]);
        save(&store, 2, version).unwrap();
        let left = left();
        assert_eq!(left.iter().sum::<i64>(), 4, "{left:?}");
        for (had, left) in had.iter_mut().zip(left) {
            *had |= left > 0;
        }
    }
    assert!(had.iter().filter(|had| **had).count() > 1, "it has moved");
    Box::new(store).close(true).unwrap();
    let rows = rows_of_log(admin, "damaged");
    assert!(
        rows.iter().sum::<i64>() < 50,
        "tables were emptied: {rows:?}"
    );
    let (store, segments) = open_small(cluster, "damaged");
    assert!(is_damaged(&segments));
    keep(&store, vec![other(1, REMOVE)]);
    Box::new(store).close(true).unwrap();
    assert_eq!(left(), [0; 4]);
}

/// A schema of version 1 has one table of the log.
fn one_log_becomes_the_first_of_several(cluster: &Cluster) {
    let (store, _) = open_small(cluster, "older");
    keep(&store, vec![create(1, Written), small(1, 1, 0)]);
    Box::new(store).close(true).unwrap();
    cluster.admin().run(
        "UPDATE older.store SET schema_version = 1; DROP TABLE older.log_1, older.log_2, \
         older.log_3; ALTER TABLE older.log_0 RENAME TO log; ALTER INDEX older.log_0_pkey \
         RENAME TO log_pkey; DROP INDEX older.creation_path; ALTER TABLE older.segment \
         DROP owner; ALTER TABLE older.owner DROP address, DROP tls_name, DROP lease_ms, \
         DROP counter, DROP rules_version, DROP is_drained; DROP TABLE older.access",
    );
    let (store, segments) = open_small(cluster, "older");
    assert_eq!(releases(&segments[0]).len(), 1);
    keep(&store, vec![small(1, 2, 0)]);
    assert_eq!(rows_of_log(cluster.admin(), "older"), [3, 0, 0, 0]);
}
