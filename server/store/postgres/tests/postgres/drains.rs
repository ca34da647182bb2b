//! Servers that were drained, as the store knows them [SPACE-24].

use crate::given::{give, is_given};
use crate::roll::{look, rows};
use crate::session::keep;
use crate::space::{here, is_at, join_for_long, look_for, renew_as, seek};
use interweave_postgres_cluster::Cluster;
use interweave_store::{Given, SegmentStore, Sought};
use interweave_store_suite::records::create;
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::MemberState::{Drained, Ended, Standing};

/// [SPACE-24] [SPACE-31]
pub fn nobody_is_sent_to_a_drained_server(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let [one, two, three] = ["a", "b", "c"].map(|name| join_for_long(sockets, "drains", name));
    let [first, second, third] = [&one, &two, &three].map(|store| store.owner_epoch());
    renew_as(&one, true).unwrap();
    // Each path leads to the only server that takes segments.
    for segment in 1..9 {
        assert!(is_at(look_for(&two, segment, false), "c"));
    }
    renew_as(&two, true).unwrap();
    for store in [&one, &three] {
        let all = [
            (first, Drained, 0),
            (second, Drained, 0),
            (third, Standing, 0),
        ];
        assert_eq!(rows(&look(store, 0, true).unwrap()), all);
    }
    renew_as(&three, true).unwrap();
    for segment in 1..9 {
        let sought = look_for(&three, segment, false);
        assert!(matches!(sought, Ok(Sought::Absent)), "{sought:?}");
    }
    // The start of a server ends its drain.
    Box::new(one).close(true).unwrap();
    let _again = join_for_long(sockets, "drains", "a");
    assert!(is_at(look_for(&two, 1, false), "a"));
}

/// [SPACE-17] [SPACE-24]
pub fn a_drained_server_sends_nobody_to_its_earlier_start(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let _earlier = join_for_long(sockets, "earlier", "a");
    let again = join_for_long(sockets, "earlier", "a");
    let sought = look_for(&again, 1, false);
    assert!(matches!(sought, Ok(Sought::Absent)), "{sought:?}");
}

/// [SPACE-20] [SPACE-24] [SPACE-31]
pub fn a_drained_server_is_given_nothing_and_keeps_what_it_has(cluster: &Cluster) {
    let sockets = cluster.sockets();
    let [one, two] = ["a", "b"].map(|name| join_for_long(sockets, "kept", name));
    keep(&one, vec![create(1, Synced), create(2, Synced)]);
    // It was given before, and nobody has asked for it yet.
    assert!(is_given(give(&one, 1, &two)));
    renew_as(&two, true).unwrap();
    assert!(is_at(seek(&one, 1), "b"), "it is the owner");
    let found = here(look_for(&two, 1, false));
    assert!(found.clean, "no version was lost");
    match give(&one, 2, &two) {
        Ok(Given::Not(why)) => assert!(why.contains("was drained"), "{why}"),
        other => panic!("{other:?}"),
    }
    assert!(is_at(look_for(&two, 2, false), "a"), "it stays");
    // A server that was drained and has ended has ended.
    let second = two.owner_epoch();
    Box::new(two).close(true).unwrap();
    let seen = rows(&look(&one, 0, true).unwrap());
    assert!(seen.contains(&(second, Ended, 1)), "{seen:?}");
}
