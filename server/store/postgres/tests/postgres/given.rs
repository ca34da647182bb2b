//! Segments that one server follows, and another one gives to it.

use crate::session::{append, keep};
use crate::space::{here, is_at, join, join_for_long, seek, take_over};
use crate::trim::save;
use interweave_postgres_cluster::{Admin, Cluster};
use interweave_store::{Followed, Given, SegmentStore, Since, Sought, StoreError};
use interweave_store_postgres::PostgresStore;
use interweave_store_suite::records::{create, releases, small};
use interweave_wire::protocol::Durability::{Synced, Written};
use std::sync::mpsc::channel;

fn follow(store: &PostgresStore, segment: u64) -> Followed {
    let (told, followed) = channel();
    let path = format!("/segment/{segment}");
    store.follow(&path, Box::new(move |r| told.send(r).unwrap_or(())));
    followed.recv().unwrap().unwrap()
}

pub fn give(store: &PostgresStore, segment: u64, to: &PostgresStore) -> Result<Given, StoreError> {
    let (told, given) = channel();
    let give = Box::new(move |r| told.send(r).unwrap_or(()));
    store.give(segment, to.owner_epoch(), give);
    given.recv().unwrap()
}

pub fn is_given(given: Result<Given, StoreError>) -> bool {
    matches!(given.unwrap(), Given::To(_))
}

fn versions(since: &Since) -> Vec<u64> {
    let versions = since.releases.iter().map(|(release, _)| release.version);
    versions.collect()
}

fn since(sought: Result<Sought, StoreError>) -> Since {
    match sought.unwrap() {
        Sought::Followed(since) => *since,
        other => panic!("{other:?}"),
    }
}

/// [STORE-16] [STORE-17] [SPACE-18] [SPACE-21]
pub fn a_segment_that_was_followed_is_read_on_by_its_next_owner(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let (one, two) = (
        join_for_long(sockets, "given", "a"),
        join_for_long(sockets, "given", "b"),
    );
    assert!(matches!(follow(&two, 1), Followed::Absent));
    keep(&one, vec![create(1, Written), small(1, 1, 0)]);
    let Followed::Whole(found) = follow(&two, 1) else {
        panic!("it was not read before");
    };
    assert_eq!(releases(&found).len(), 1);
    assert!(is_at(seek(&two, 1), "a"), "nothing is claimed");
    keep(&one, vec![small(1, 2, 0)]);
    save(&one, 1, 1).unwrap();
    let Followed::More(more) = follow(&two, 1) else {
        panic!("the log has what came since");
    };
    assert_eq!(versions(&more), [2]);
    keep(&one, vec![small(1, 3, 0)]);
    assert!(is_given(give(&one, 1, &two)));
    for _ in 0..2 {
        let late = append(&one, vec![small(1, 4, 0)], Synced).recv().unwrap();
        assert_eq!(late, Err(StoreError::SegmentsFenced(vec![1])));
    }
    let rest = since(seek(&two, 1));
    assert_eq!(versions(&rest), [3], "the rest alone is read");
    assert!(rest.clean, "no version was lost");
    keep(&two, vec![small(1, 4, 0)]);
    // A server that joined before the other one may save it, too, when it has it again.
    save(&two, 1, 4).unwrap();
    assert!(is_given(give(&two, 1, &one)));
    assert!(here(seek(&one, 1)).clean);
    keep(&one, vec![small(1, 5, 0)]);
    save(&one, 1, 5).unwrap();
    let three = join_for_long(sockets, "given", "c");
    Box::new(one).close(true).unwrap();
    let found = here(seek(&three, 1));
    let saved = found.checkpoint.map(|(head, _)| head.at.number);
    assert_eq!(saved, Some(5));
}

/// [STORE-16]
pub fn a_followed_segment_is_read_anew_where_the_log_has_not_all(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let (one, two) = (
        join_for_long(sockets, "anew", "a"),
        join_for_long(sockets, "anew", "b"),
    );
    keep(&one, vec![create(1, Synced), small(1, 1, 0)]);
    assert!(matches!(follow(&two, 1), Followed::Whole(_)));
    keep(&one, vec![small(1, 2, 0)]);
    save(&one, 1, 2).unwrap();
    let Followed::Whole(found) = follow(&two, 1) else {
        panic!("a checkpoint covers what it lacks");
    };
    let saved = found.checkpoint.map(|(head, _)| head.at.number);
    assert_eq!(saved, Some(2));
    two.unfollow("/segment/1");
    assert!(matches!(follow(&two, 1), Followed::Whole(_)));
    two.unfollow("/segment/1");
    assert!(is_given(give(&one, 1, &two)));
    assert!(matches!(follow(&two, 1), Followed::Free));
    here(seek(&two, 1));
}

/// A server that was late with its claim has no doubt about a segment that it is given afterwards.
/// [STORE-14] [SPACE-21]
pub fn a_segment_is_whole_at_a_server_that_had_been_late(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let (one, two) = (
        join_for_long(sockets, "late", "a"),
        join_for_long(sockets, "late", "b"),
    );
    let three = join_for_long(sockets, "late", "c");
    keep(&one, vec![create(1, Synced), small(1, 1, 0)]);
    Box::new(one).close(true).unwrap();
    let other = Admin::of(sockets);
    other.run(&format!(
        "BEGIN; UPDATE late.segment SET epoch = epoch + 1, owner = {}",
        three.owner_epoch()
    ));
    std::thread::scope(|scope| {
        let sought = scope.spawn(|| seek(&two, 1));
        let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
        while cluster.admin().number(waits) == 0 {
            std::thread::yield_now();
        }
        other.run("COMMIT");
        assert!(is_at(sought.join().unwrap(), "c"));
    });
    here(seek(&three, 1));
    assert!(is_given(give(&three, 1, &two)));
    assert!(here(seek(&two, 1)).clean, "no version was lost");
}

/// [STORE-17] [SPACE-20] [SPACE-22]
pub fn a_segment_is_given_to_members_alone(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let (one, two) = (join(sockets, "members", "a"), join(sockets, "members", "b"));
    let ended = join(sockets, "members", "c");
    keep(&one, vec![create(1, Synced), create(2, Synced)]);
    let (told, given) = channel();
    let number = ended.owner_epoch();
    Box::new(ended).close(true).unwrap();
    let give_to_ended = Box::new(move |r| told.send(r).unwrap_or(()));
    one.give(1, number, give_to_ended);
    assert!(matches!(given.recv().unwrap(), Ok(Given::Not(_))));
    keep(&one, vec![small(1, 1, 0)]);
    assert!(is_at(seek(&two, 1), "a"), "it stays");
    // The member to which it was given says nothing more: a third one takes it over.
    assert!(is_given(give(&one, 2, &two)));
    let found = take_over(&one, 2);
    assert!(found.epoch > one.owner_epoch() && found.damage.is_none());
    // Only an owner gives.
    assert!(give(&two, 1, &one).is_err());
}

/// Clients would be sent to the server that they ask.
/// [STORE-17] [SPACE-17] [SPACE-20]
pub fn no_segment_is_given_to_an_earlier_start_of_its_owner(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let (earlier, now) = (
        join_for_long(sockets, "starts", "a"),
        join_for_long(sockets, "starts", "a"),
    );
    keep(&now, vec![create(1, Synced)]);
    let given = give(&now, 1, &earlier);
    assert!(matches!(given, Ok(Given::Not(_))), "{given:?}");
    keep(&now, vec![small(1, 1, 0)]);
}

/// A server that outlives a crash of the database knows records that are gone.
/// [STORE-17] [SPACE-20]
pub fn a_segment_that_lacks_records_is_not_given(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let (one, two) = (
        join_for_long(sockets, "behind", "a"),
        join_for_long(sockets, "behind", "b"),
    );
    keep(&one, vec![create(1, Written), small(1, 1, 0)]);
    cluster
        .admin()
        .run("UPDATE behind.segment SET head = head - 1");
    let given = give(&one, 1, &two);
    assert!(
        matches!(given, Err(StoreError::Damaged { .. })),
        "{given:?}"
    );
    assert!(one.stopped().is_some() && is_at(seek(&two, 1), "a"));
}

/// Nobody can say what a segment lacks that its owner has lost. So it is not clean when it is
/// claimed again, nor is the end of a server that has lost one.
/// [STORE-14] [STORE-17]
pub fn a_segment_that_its_owner_has_lost_is_not_clean(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let one = join_for_long(sockets, "not_clean", "a");
    let lose = |segment: u64| {
        let set = format!("UPDATE not_clean.segment SET epoch = -epoch WHERE id = {segment}");
        cluster.admin().run(&set);
        let late = append(&one, vec![small(segment, 1, 0)], Synced)
            .recv()
            .unwrap();
        assert_eq!(late, Err(StoreError::SegmentsFenced(vec![segment])));
        cluster.admin().run(&set);
    };
    keep(&one, vec![create(1, Written)]);
    lose(1);
    assert!(!here(seek(&one, 1)).clean);
    // A claim is lost as a creation is.
    lose(1);
    assert!(!here(seek(&one, 1)).clean);
    lose(1);
    assert!(Box::new(one).close(true).is_err());
}

/// Nobody has asked for it yet, so its new owner has not claimed it.
/// [STORE-17]
pub fn a_server_that_was_given_a_segment_ends_in_order(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let (one, two) = (
        join_for_long(sockets, "idle", "a"),
        join_for_long(sockets, "idle", "b"),
    );
    keep(&one, vec![create(1, Written), small(1, 1, 0)]);
    assert!(is_given(give(&one, 1, &two)));
    Box::new(two).close(true).unwrap();
    let found = here(seek(&one, 1));
    assert!(found.clean && releases(&found).len() == 1);
}

/// The claim may be there, and what the segment lacks was told by the row of its last owner alone.
/// [STORE-17]
pub fn a_server_with_a_claim_in_doubt_does_not_end_in_order(cluster: &mut Cluster) {
    let sockets = cluster.sockets().to_path_buf();
    let one = join_for_long(&sockets, "in_doubt", "a");
    let two = join_for_long(&sockets, "in_doubt", "b");
    keep(&one, vec![create(1, Written), small(1, 1, 0)]);
    let gone = format!(
        "DELETE FROM in_doubt.owner WHERE epoch = {}",
        one.owner_epoch()
    );
    cluster.admin().run(&gone);
    claim_in_doubt(cluster, &two);
    let error = Box::new(two).close(true).unwrap_err().to_string();
    assert!(error.contains("segment 1 is this server's, and"), "{error}");
}

/// The last owner has ended in order, and the claim has changed nothing.
/// [STORE-17]
pub fn a_server_that_doubts_the_claim_of_a_whole_segment_ends_in_order(cluster: &mut Cluster) {
    let sockets = cluster.sockets().to_path_buf();
    let [one, two, three] = ["a", "b", "c"].map(|to| join_for_long(&sockets, "whole", to));
    keep(&one, vec![create(1, Written), small(1, 1, 0)]);
    Box::new(one).close(true).unwrap();
    claim_in_doubt(cluster, &two);
    Box::new(two).close(true).unwrap();
    assert!(here(seek(&three, 1)).clean);
}

/// The wait of the server's claim for the standby is cancelled.
fn claim_in_doubt(cluster: &mut Cluster, server: &PostgresStore) {
    cluster.pause_standby();
    std::thread::scope(|scope| {
        let sought = scope.spawn(|| seek(server, 1));
        let waiting = cluster.admin().waiting();
        let cancel = format!("SELECT pg_cancel_backend({waiting}::int)");
        cluster.admin().run(&cancel);
        let error = sought.join().unwrap().unwrap_err().to_string();
        assert!(error.contains("may not be on the standby"), "{error}");
    });
    cluster.resume_standby();
}
