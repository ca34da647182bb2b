//! The servers of a space, as one of them sees them (spec/space.md).

use crate::session::{keep, options};
use crate::space::{join, renew, take_over, LEASE};
use interweave_postgres_cluster::Cluster;
use interweave_store::{SegmentStore, StoreError};
use interweave_store_postgres::PostgresStore;
use interweave_store_suite::records::create;
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::{MemberList, MemberState};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

pub fn look(store: &PostgresStore, after: u64, tells_all: bool) -> Result<MemberList, StoreError> {
    let (members, found) = channel();
    let hear = Box::new(move |r| members.send(r).unwrap_or(()));
    store.members(after, tells_all, hear);
    found.recv().unwrap()
}

/// Number, state, and how many segments each has.
pub fn rows(list: &MemberList) -> Vec<(u64, MemberState, u64)> {
    let row = |m: &interweave_wire::protocol::MemberInfo| (m.number, m.state, m.segments);
    list.members.iter().map(row).collect()
}

/// [SPACE-30] [SPACE-31]
pub fn servers_are_seen_as_they_come_and_go(cluster: &Cluster) {
    use MemberState::{Ended, Over, Silent, Standing};
    let [one, two, three] = ["a", "b", "c"].map(|name| join(cluster.sockets(), "roll", name));
    let [first, second, third] = [&one, &two, &three].map(|store| store.owner_epoch());
    keep(&one, vec![create(1, Synced), create(2, Synced)]);
    keep(&two, vec![create(3, Synced)]);
    let seen = look(&one, 0, true).unwrap();
    assert!(seen.shares_store && !seen.more && seen.unowned == 0);
    let all = [
        (first, Standing, 2),
        (second, Standing, 1),
        (third, Standing, 0),
    ];
    assert_eq!(rows(&seen), all);
    let asked = seen.members.iter().map(|m| m.is_asked);
    assert_eq!(asked.collect::<Vec<_>>(), [true, false, false]);
    let other = &seen.members[1];
    assert_eq!(other.address, "b.example:7747");
    assert_eq!(u128::from(other.lease_ms), LEASE.as_millis());
    assert_eq!(
        rows(&look(&one, second, false).unwrap()),
        [(third, Standing, 0)]
    );
    // The one that ends in order is the owner of nothing, or of something.
    Box::new(three).close(true).unwrap();
    Box::new(two).close(true).unwrap();
    assert_eq!(
        rows(&look(&one, 0, true).unwrap()),
        [(first, Standing, 2), (second, Ended, 1)]
    );
    assert_eq!(
        rows(&look(&one, 0, false).unwrap()),
        [(first, Standing, 0), (second, Ended, 0)]
    );
    // The one that does not renew is silent, and then over.
    let four = join(cluster.sockets(), "roll", "d");
    let mut states = Vec::new();
    while !states.contains(&Over) {
        // The first look comes before any renewal, so that it finds the counter new.
        let seen = look(&four, 0, true).unwrap();
        renew(&four).unwrap();
        let state = seen.members[0].state;
        if states.last() != Some(&state) {
            states.push(state);
        }
    }
    // A look may fall before and after the tenth of a lease in which it is silent.
    states.retain(|state| *state != Silent);
    assert_eq!(states, [Standing, Over]);
    take_over(&four, 1);
    let seen = look(&four, 0, true).unwrap();
    assert_eq!(
        rows(&seen),
        [(second, Ended, 1), (four.owner_epoch(), Standing, 1)]
    );
    assert_eq!(seen.unowned, 1, "the row of its owner is gone");
}

/// [SPACE-30] [SPACE-33]
pub fn a_server_that_has_its_store_alone_sees_the_database(cluster: &Cluster) {
    let (alone, _) = PostgresStore::open(options(cluster.sockets(), "roll_alone")).unwrap();
    let seen = look(&alone, 0, true).unwrap();
    assert!(!seen.shares_store && seen.members.is_empty());
    assert_eq!(&*seen.store.kind, "postgres");
    assert!(seen.store.primary.contains("Unix socket"), "{seen:?}");
    assert_eq!((seen.store.standbys, seen.store.wants_standby), (1, true));
    assert_eq!(&*seen.store.trouble, "");
    assert!(seen.store.timeline >= 1);
    assert_eq!(&*look(&alone, 0, false).unwrap().store.primary, "");
}

/// [SPACE-33]
pub fn a_missing_standby_is_told(cluster: &Cluster) {
    let one = join(cluster.sockets(), "roll_standby", "a");
    cluster.set("synchronous_standby_names", "'ANY 1 (nobody)'");
    // The sender of the log reads its settings when it is woken.
    let until = Instant::now() + PATIENCE;
    let mut seen = look(&one, 0, true).unwrap();
    while seen.store.standbys > 0 && Instant::now() < until {
        seen = look(&one, 0, true).unwrap();
    }
    assert_eq!(seen.store.standbys, 0);
    assert!(seen.store.trouble.contains("none is attached"), "{seen:?}");
}
