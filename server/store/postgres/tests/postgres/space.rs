//! Servers that share the store (spec/space.md).

use crate::session::{append, keep, options};
use crate::trim::save;
use crate::{drains, given, roll};
use interweave_postgres_cluster::{Admin, Cluster};
use interweave_store::{Elsewhere, RecoveredSegment, SegmentStore, Sought, StoreError};
use interweave_store_postgres::{Member, Options, PostgresStore};
use interweave_store_suite::records::{create, other, releases, small};
use interweave_wire::protocol::Durability::{Synced, Written};
use interweave_wire::protocol::{LogBody, LogKind};
use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const LEASE: Duration = Duration::from_millis(400);

pub fn address(name: &str) -> Elsewhere {
    Elsewhere {
        address: format!("{name}.example:7747"),
        tls_name: String::new(),
    }
}

pub fn options_of(sockets: &Path, schema: &str, (name, lease): (&str, Duration)) -> Options {
    let mut options = options(sockets, schema);
    options.member = Some(Member {
        at: address(name),
        lease,
    });
    options
}

fn try_to_join(
    sockets: &Path,
    schema: &str,
    (name, lease): (&str, Duration),
) -> Result<PostgresStore, StoreError> {
    let options = options_of(sockets, schema, (name, lease));
    let (store, found) = PostgresStore::open(options)?;
    assert!(found.is_empty(), "joining claims nothing");
    Ok(store)
}

pub fn join(sockets: &Path, schema: &str, name: &str) -> PostgresStore {
    try_to_join(sockets, schema, (name, LEASE)).unwrap()
}

/// A server that the others do not find over while a test runs.
pub fn join_for_long(sockets: &Path, schema: &str, name: &str) -> PostgresStore {
    try_to_join(sockets, schema, (name, Duration::from_secs(600))).unwrap()
}

pub fn seek(store: &PostgresStore, segment: u64) -> Result<Sought, StoreError> {
    look_for(store, segment, true)
}

/// As a server does, which claims segments or was drained.
pub fn look_for(store: &PostgresStore, segment: u64, claims: bool) -> Result<Sought, StoreError> {
    let (seek, sought) = channel();
    let path = format!("/segment/{segment}");
    store.seek(&path, claims, Box::new(move |r| seek.send(r).unwrap_or(())));
    sought.recv().unwrap()
}

pub fn here(sought: Result<Sought, StoreError>) -> RecoveredSegment {
    match sought.unwrap() {
        Sought::Here(segment) => *segment,
        other => panic!("{other:?}"),
    }
}

pub fn is_at(sought: Result<Sought, StoreError>, name: &str) -> bool {
    matches!(sought.unwrap(), Sought::Elsewhere(at) if at == address(name))
}

pub fn renew(store: &PostgresStore) -> Result<(), StoreError> {
    renew_as(store, false)
}

/// As a server that was drained, or was not.
pub fn renew_as(store: &PostgresStore, is_drained: bool) -> Result<(), StoreError> {
    let (done, renewed) = channel();
    store.renew(is_drained, Box::new(move |r| done.send(r).unwrap_or(())));
    renewed.recv().unwrap()
}

/// Looks at the others, as a server does, until the segment is this one's.
pub fn take_over(store: &PostgresStore, segment: u64) -> RecoveredSegment {
    loop {
        renew(store).unwrap();
        if let Sought::Here(segment) = seek(store, segment).unwrap() {
            return *segment;
        }
    }
}

#[test]
fn a_store_that_servers_share() {
    let mut cluster = Cluster::start();
    a_segment_has_one_owner_until_that_stops(&cluster);
    a_server_that_renews_is_not_over(&cluster);
    a_silence_while_nobody_could_renew_does_not_count(&cluster);
    a_server_that_is_over_loses_its_segments_and_stops(&cluster);
    a_server_that_is_started_again_is_not_sent_to_itself(&cluster);
    of_two_living_servers_with_one_address_the_later_stops(&cluster);
    rows_of_servers_that_are_gone_and_own_nothing_are_swept_away(&cluster);
    a_server_whose_records_are_gone_does_not_end_as_if_nothing_were_lost(&cluster);
    a_renewal_that_was_lost_has_a_number_that_does_not_come_again(&cluster);
    one_of_several_makes_the_tables(&cluster);
    two_servers_that_create_a_path_make_one_segment(&cluster);
    a_removed_path_is_free(&cluster);
    rows_of_removed_segments_that_could_not_be_removed_are_removed_later(&cluster);
    a_server_that_settles_and_one_that_finds_it_over_do_not_wait_for_each_other(&cluster);
    given::a_segment_that_was_followed_is_read_on_by_its_next_owner(&cluster);
    given::a_followed_segment_is_read_anew_where_the_log_has_not_all(&cluster);
    given::a_segment_is_given_to_members_alone(&cluster);
    given::a_segment_is_whole_at_a_server_that_had_been_late(&cluster);
    given::no_segment_is_given_to_an_earlier_start_of_its_owner(&cluster);
    given::a_segment_that_lacks_records_is_not_given(&cluster);
    given::a_segment_that_its_owner_has_lost_is_not_clean(&cluster);
    given::a_server_that_was_given_a_segment_ends_in_order(&cluster);
    drains::nobody_is_sent_to_a_drained_server(&cluster);
    drains::a_drained_server_sends_nobody_to_its_earlier_start(&cluster);
    drains::a_drained_server_is_given_nothing_and_keeps_what_it_has(&cluster);
    a_server_that_shares_and_one_that_does_not(&cluster);
    roll::servers_are_seen_as_they_come_and_go(&cluster);
    roll::a_server_that_has_its_store_alone_sees_the_database(&cluster);
    a_lease_is_renewed_on_the_standby(&mut cluster);
    a_renewal_whose_wait_is_cancelled_is_none(&mut cluster);
    given::a_server_with_a_claim_in_doubt_does_not_end_in_order(&mut cluster);
    given::a_server_that_doubts_the_claim_of_a_whole_segment_ends_in_order(&mut cluster);
    a_start_has_patience_with_its_first_look_for_shared_rules(&mut cluster);
    roll::a_missing_standby_is_told(&cluster);
}

/// [STORE-14] [SPACE-1] [SPACE-5] [SPACE-7]
fn a_segment_has_one_owner_until_that_stops(cluster: &Cluster) {
    let (one, two) = (
        join_for_long(cluster.sockets(), "one", "a"),
        join_for_long(cluster.sockets(), "one", "b"),
    );
    assert_ne!(one.owner_epoch(), two.owner_epoch());
    assert_eq!(one.identity().space, two.identity().space);
    assert!(matches!(seek(&two, 1), Ok(Sought::Absent)));
    keep(&one, vec![create(1, Synced), small(1, 1, 0)]);
    assert!(is_at(seek(&two, 1), "a"));
    Box::new(one).close(true).unwrap();
    let found = here(seek(&two, 1));
    assert!(found.clean && found.damage.is_none());
    assert!(
        found.epoch > two.owner_epoch(),
        "a claim has an epoch of its own"
    );
    assert_eq!(
        releases(&found).last().map(|(version, _)| *version),
        Some(1)
    );
    keep(&two, vec![small(1, 2, 0)]);
    let three = join_for_long(cluster.sockets(), "one", "c");
    assert!(is_at(seek(&three, 1), "b"));
}

/// [SPACE-3]
fn a_server_that_renews_is_not_over(cluster: &Cluster) {
    let (one, two) = (
        join(cluster.sockets(), "renews", "a"),
        join(cluster.sockets(), "renews", "b"),
    );
    keep(&one, vec![create(1, Synced)]);
    let until = Instant::now() + 3 * LEASE;
    while Instant::now() < until {
        renew(&one).unwrap();
        renew(&two).unwrap();
        assert!(is_at(seek(&two, 1), "a"));
    }
}

/// [SPACE-3] [SPACE-4] [STORE-12] [STORE-15]
fn a_server_that_is_over_loses_its_segments_and_stops(cluster: &Cluster) {
    let (one, two) = (
        join(cluster.sockets(), "over", "a"),
        join(cluster.sockets(), "over", "b"),
    );
    keep(
        &one,
        vec![create(1, Synced), create(2, Synced), small(1, 1, 0)],
    );
    let begun = Instant::now();
    let found = take_over(&two, 1);
    assert!(begun.elapsed() >= LEASE);
    assert!(!found.clean);
    keep(&two, vec![small(1, 2, 0)]);
    // A segment that nobody has claimed yet takes its appends, and the claim sees them.
    keep(&one, vec![small(2, 1, 0)]);
    let refused = append(&one, vec![small(1, 2, 1)], Synced).recv().unwrap();
    assert!(refused.is_err());
    assert!(matches!(renew(&one), Err(StoreError::Fenced(_))));
    assert!(is_at(seek(&one, 1), "b"));
    assert!(seek(&one, 2).is_err(), "it claims nothing any more");
    let second = here(seek(&two, 2));
    assert_eq!(
        releases(&second).len(),
        1,
        "at once: the row of its owner is gone"
    );
    assert!(matches!(
        append(&one, vec![create(3, Synced)], Synced)
            .recv()
            .unwrap(),
        Err(StoreError::Fenced(_))
    ));
}

/// [SPACE-17]
fn a_server_that_is_started_again_is_not_sent_to_itself(cluster: &Cluster) {
    let one = join(cluster.sockets(), "again", "a");
    keep(&one, vec![create(1, Synced)]);
    let again = join(cluster.sockets(), "again", "a");
    assert!(matches!(seek(&again, 1), Ok(Sought::Earlier)));
    take_over(&again, 1);
}

/// [SPACE-66]
fn of_two_living_servers_with_one_address_the_later_stops(cluster: &Cluster) {
    let one = join(cluster.sockets(), "twins", "a");
    let two = join(cluster.sockets(), "twins", "a");
    let refused = loop {
        renew(&one).unwrap();
        if let Err(error) = renew(&two) {
            break error;
        }
    };
    assert!(matches!(refused, StoreError::Fenced(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("--advertise a.example:7747"), "{text}");
    for _ in 0..3 {
        renew(&one).unwrap();
    }
}

/// [SPACE-4]
fn rows_of_servers_that_are_gone_and_own_nothing_are_swept_away(cluster: &Cluster) {
    let [owner, idle, ended] = ["a", "b", "c"].map(|name| join(cluster.sockets(), "sweep", name));
    let gone = [&idle, &ended].map(|store| store.owner_epoch() as i64);
    let owning = owner.owner_epoch() as i64;
    keep(&owner, vec![create(1, Synced)]);
    Box::new(ended).close(true).unwrap();
    let looks = join_for_long(cluster.sockets(), "sweep", "d");
    let count = |epoch: i64| {
        let sql = format!("SELECT count(*) FROM sweep.owner WHERE epoch = {epoch}");
        cluster.admin().number(&sql)
    };
    while gone.iter().any(|&epoch| count(epoch) > 0) {
        renew(&looks).unwrap();
    }
    assert!(matches!(renew(&idle), Err(StoreError::Fenced(_))));
    assert_eq!(count(owning), 1, "it owns a segment");
    here(seek(&looks, 1));
    assert_eq!(count(owning), 0);
    // Its own row stays.
    renew(&looks).unwrap();
    assert_eq!(count(looks.owner_epoch() as i64), 1);
}

/// [STORE-2] [LOG-7]
fn a_server_whose_records_are_gone_does_not_end_as_if_nothing_were_lost(cluster: &Cluster) {
    let one = join(cluster.sockets(), "gone", "a");
    keep(&one, vec![create(1, Written), small(1, 1, 0)]);
    // As after a crash that took the last record.
    let last = "DELETE FROM gone.log_0 WHERE number = 2; UPDATE gone.segment SET head = 1, \
                crc = (SELECT crc FROM gone.log_0 WHERE number = 1), version = 0";
    cluster.admin().run(last);
    let ended = Box::new(one).close(true);
    assert!(matches!(ended, Err(StoreError::Io(_))), "{ended:?}");
    let two = join(cluster.sockets(), "gone", "b");
    let found = take_over(&two, 1);
    assert!(!found.clean && found.damage.is_none(), "{:?}", found.damage);
}

/// Servers may be started together on a database that is new.
fn one_of_several_makes_the_tables(cluster: &Cluster) {
    for round in 0..4 {
        let schema = format!("new_{round}");
        let sockets = cluster.sockets();
        std::thread::scope(|scope| {
            for name in ["a", "b", "c"] {
                let schema = &schema;
                scope.spawn(move || join(sockets, schema, name));
            }
        });
    }
}

/// [SPACE-8] [STORE-14]
fn two_servers_that_create_a_path_make_one_segment(cluster: &Cluster) {
    let (one, two) = (
        join_for_long(cluster.sockets(), "path", "a"),
        join_for_long(cluster.sockets(), "path", "b"),
    );
    keep(&one, vec![create(1, Synced)]);
    let mut same = create(7, Synced);
    if let LogBody::Create(create) = &mut same.body {
        create.path = "/segment/1".to_string();
    }
    // Another creation that is appended together with it is kept.
    let refused = append(&two, vec![same], Synced);
    let kept = append(&two, vec![create(2, Synced)], Synced);
    assert_eq!(refused.recv().unwrap(), Err(StoreError::PathTaken(7)));
    kept.recv().unwrap().unwrap();
    assert!(is_at(seek(&two, 1), "a"));
    assert!(is_at(seek(&one, 2), "b"));
}

/// [SPACE-3]
fn a_silence_while_nobody_could_renew_does_not_count(cluster: &Cluster) {
    let silent = join(cluster.sockets(), "silence", "b");
    keep(&silent, vec![create(1, Synced)]);
    let clock = Arc::new(Mutex::new(Instant::now()));
    let pass = |leases| *clock.lock().unwrap() += leases * LEASE;
    let mut options = options(cluster.sockets(), "silence");
    options.member = Some(Member {
        at: address("a"),
        lease: LEASE,
    });
    let shown = Arc::clone(&clock);
    options.now = Arc::new(move || *shown.lock().unwrap());
    let (looking, _) = PostgresStore::open(options).unwrap();
    renew(&looking).unwrap();
    let admin = cluster.admin();
    admin.run("ALTER TABLE silence.owner RENAME TO hidden");
    assert!(renew(&looking).is_err());
    admin.run("ALTER TABLE silence.hidden RENAME TO owner");
    pass(10);
    assert!(is_at(seek(&looking, 1), "b"));
    // Without a renewal of its own, it counts nothing.
    pass(1);
    assert!(is_at(seek(&looking, 1), "b"));
    renew(&looking).unwrap();
    pass(1);
    renew(&looking).unwrap();
    assert!(is_at(seek(&looking, 1), "b"), "that renewal was late");
    *clock.lock().unwrap() += LEASE / 2;
    renew(&looking).unwrap();
    *clock.lock().unwrap() += LEASE / 2;
    here(seek(&looking, 1));
}

fn a_removed_path_is_free(cluster: &Cluster) {
    let (one, two) = (
        join_for_long(cluster.sockets(), "free", "a"),
        join_for_long(cluster.sockets(), "free", "b"),
    );
    keep(&one, vec![create(1, Synced)]);
    remove(&one, 1);
    assert!(matches!(seek(&two, 1), Ok(Sought::Absent)));
    let mut again = create(9, Synced);
    if let LogBody::Create(create) = &mut again.body {
        create.path = "/segment/1".to_string();
    }
    keep(&two, vec![again]);
    assert!(is_at(seek(&one, 1), "b"));
}

fn remove(store: &PostgresStore, segment: u64) {
    let removal = other(segment, LogBody::Other(LogKind::Remove as i32));
    keep(store, vec![removal]);
}

/// By the same server with the next removal, or by one that joins.
fn rows_of_removed_segments_that_could_not_be_removed_are_removed_later(cluster: &Cluster) {
    let admin = cluster.admin();
    let one = join_for_long(cluster.sockets(), "clear", "a");
    keep(&one, (1..=4).map(|id| create(id, Synced)).collect());
    keep(&one, vec![small(3, 1, 0)]);
    save(&one, 3, 1).unwrap();
    let removed = "SELECT count(*) FROM clear.segment WHERE is_removed";
    // Without that table it cannot be said that nothing is left of a segment.
    let fail_to_remove = |segment| {
        let errors = one.status().errors;
        admin.run("ALTER TABLE clear.piece RENAME TO hidden");
        remove(&one, segment);
        while one.status().errors == errors {
            std::thread::yield_now();
        }
        admin.run("ALTER TABLE clear.hidden RENAME TO piece");
        assert_eq!(admin.number(removed), 1);
    };
    fail_to_remove(1);
    remove(&one, 2);
    while admin.number(removed) > 0 {
        std::thread::yield_now();
    }
    fail_to_remove(3);
    // A new primary may have lost the removal: then the segment is there again.
    let set_removed = |is| {
        let update = "UPDATE clear.segment SET is_removed = {is} WHERE id = 3";
        admin.run(&update.replace("{is}", is));
    };
    set_removed("false");
    remove(&one, 4);
    while admin.number("SELECT count(*) FROM clear.segment WHERE id = 4") > 0 {
        std::thread::yield_now();
    }
    let pieces = "SELECT count(*) FROM clear.piece WHERE segment = 3";
    assert_eq!(admin.number(pieces), 2, "its checkpoint");
    set_removed("true");
    Box::new(one).close(true).unwrap();
    let two = join_for_long(cluster.sockets(), "clear", "b");
    while admin.number(removed) > 0 {
        std::thread::yield_now();
    }
    Box::new(two).close(true).unwrap();
}

/// PostgreSQL would end one of the two transactions after a second. Each of the two changes the
/// owner's row first, and then the store's.
fn a_server_that_settles_and_one_that_finds_it_over_do_not_wait_for_each_other(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let late = join(sockets, "settles", "a");
    keep(&late, vec![create(1, Synced)]);
    let next = join_for_long(sockets, "settles", "b");
    let holder = Admin::of(sockets);
    holder.run("BEGIN; SELECT 1 FROM settles.store FOR UPDATE");
    let (told, settled) = channel();
    late.settle(vec![1], Box::new(move |r| told.send(r).unwrap_or(())));
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    let wait_for = |count| {
        while cluster.admin().number(waiting) < count {
            std::thread::yield_now();
        }
    };
    wait_for(1);
    std::thread::scope(|scope| {
        let taken = scope.spawn(|| take_over(&next, 1));
        wait_for(2);
        holder.run("COMMIT");
        assert!(settled.recv().unwrap().is_ok());
        taken.join().unwrap();
    });
}

/// [STORE-1]
fn a_server_that_shares_and_one_that_does_not(cluster: &Cluster) {
    let (alone, _) = PostgresStore::open(options(cluster.sockets(), "alone")).unwrap();
    keep(&alone, vec![create(1, Synced)]);
    let refused = try_to_join(cluster.sockets(), "alone", ("a", LEASE));
    let text = refused.map(drop).unwrap_err().to_string();
    assert!(text.contains("--advertise"), "{text}");
    Box::new(alone).close(true).unwrap();
    let member = join(cluster.sockets(), "alone", "a");
    assert!(here(seek(&member, 1)).clean);
    // A server that does not share takes everything.
    let (_alone, found) = PostgresStore::open(options(cluster.sockets(), "alone")).unwrap();
    assert_eq!(found.len(), 1);
    assert!(matches!(renew(&member), Err(StoreError::Fenced(_))));
}

/// [SPACE-1]
fn a_renewal_that_was_lost_has_a_number_that_does_not_come_again(cluster: &Cluster) {
    let one = join(cluster.sockets(), "lost", "a");
    let counter = || cluster.admin().number("SELECT counter FROM lost.owner");
    renew(&one).unwrap();
    renew(&one).unwrap();
    let seen = counter();
    // As after the promotion of a standby that lacks the last renewal.
    let admin = cluster.admin();
    admin.run("UPDATE lost.owner SET counter = counter - 1");
    renew(&one).unwrap();
    assert!(counter() > seen, "{seen} would seem to have stood still");
}

/// [SPACE-2] [STORE-15]
fn a_lease_is_renewed_on_the_standby(cluster: &mut Cluster) {
    let one = join(cluster.sockets(), "standby", "a");
    cluster.pause_standby();
    let (done, renewed) = channel();
    one.renew(false, Box::new(move |r| done.send(r).unwrap_or(())));
    assert!(renewed.recv_timeout(LEASE).is_err(), "it waits");
    cluster.resume_standby();
    renewed.recv().unwrap().unwrap();
    cluster
        .admin()
        .run("ALTER ROLE iw RESET synchronous_commit");
}

/// A look that says which version a server has taken waits for the standby.
fn a_start_has_patience_with_its_first_look_for_shared_rules(cluster: &mut Cluster) {
    let one = join(cluster.sockets(), "patient", "a");
    let mut rules = one.access().unwrap().unwrap();
    cluster.pause_standby();
    std::thread::scope(|scope| {
        let look = scope.spawn(|| rules.other((0, 0)));
        // Longer than later looks may take.
        std::thread::sleep(Duration::from_millis(2_200));
        cluster.resume_standby();
        assert_eq!(look.join().unwrap(), Ok(None));
    });
}

/// Also where the role's settings switch warnings off. [SPACE-2]
fn a_renewal_whose_wait_is_cancelled_is_none(cluster: &mut Cluster) {
    let set = |what: &str| cluster.admin().run(&format!("ALTER ROLE iw {what}"));
    set("SET client_min_messages TO error");
    let one = join(cluster.sockets(), "cancelled", "a");
    set("RESET client_min_messages");
    cluster.pause_standby();
    let (done, renewed) = channel();
    one.renew(false, Box::new(move |r| done.send(r).unwrap_or(())));
    let waiting = cluster.admin().waiting();
    let cancel = format!("SELECT pg_cancel_backend({waiting}::int)");
    cluster.admin().run(&cancel);
    let error = renewed.recv().unwrap().unwrap_err().to_string();
    assert!(error.contains("not renewed on the standby"), "{error}");
    cluster.resume_standby();
}
