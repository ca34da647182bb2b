//! Every store keeps the promises of docs/store.md.

use interweave_store_suite::database::{DatabasePlace, Manners};
use interweave_store_suite::embedded::Embedded;
use interweave_store_suite::memory::Nowhere;
use interweave_store_suite::{all, run, Ability, Make, Outcome};
use std::collections::BTreeSet;

/// Asserts that every case holds, but for the cases that need one of these abilities.
fn check(make: Make<'_>, lacking: &[Ability]) {
    let outcomes = run(make);
    let (mut missed, mut broken) = (Vec::new(), Vec::new());
    for (case, outcome) in &outcomes {
        match outcome {
            Outcome::Held => {}
            Outcome::LeftOut(ability) if lacking.contains(ability) => missed.push(*ability),
            other => broken.push(format!("{} [{}]: {other:?}", case.name, case.promises)),
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
    let held = outcomes.len() - missed.len();
    println!("{held} cases held, {} were left out", missed.len());
    for ability in lacking {
        assert!(missed.contains(ability), "{ability:?} is not lacking");
    }
}

#[test]
fn the_embedded_store_in_a_directory() {
    let make = || Box::new(Embedded::in_directory()) as _;
    check(&make, &[Ability::LosePower, Ability::Cancel, Ability::Take]);
}

#[test]
fn the_embedded_store_on_a_disk_that_loses_power() {
    let make = || Box::new(Embedded::in_memory()) as _;
    check(&make, &[Ability::Cancel, Ability::Take]);
}

#[test]
fn a_store_over_a_database() {
    check(&|| Box::new(DatabasePlace::new(Manners::GOOD)), &[]);
}

#[test]
fn the_store_that_keeps_nothing() {
    use Ability::{Cancel, CopyBack, Crash, Damage, Fail, Fill, Hold, Keep, LosePower, Take};
    let outcomes = run(&|| Box::new(Nowhere));
    let of = |outcome: &Outcome| outcomes.iter().filter(|(_, o)| o == outcome).count();
    let left_out = [
        Keep, Crash, LosePower, Hold, Fail, Fill, Cancel, Take, Damage, CopyBack,
    ];
    let left_out: usize = left_out.iter().map(|a| of(&Outcome::LeftOut(*a))).sum();
    assert_eq!(of(&Outcome::Held), 2, "{outcomes:?}");
    assert_eq!(left_out, outcomes.len() - 2);
}

/// Promises of a store that servers share. Only the one on PostgreSQL can be shared, and its own
/// tests have these (server/store/postgres/tests/postgres/space.rs).
const OF_SHARED_STORES: [&str; 4] = ["STORE-14", "STORE-15", "STORE-16", "STORE-17"];
/// The server's engine keeps it, and its tests have it (server/src/session/tests/doubts.rs).
const OF_THE_SERVER: &str = "STORE-18";

#[test]
fn cases_have_names_of_their_own_and_each_promise_has_a_case() {
    let names: BTreeSet<&str> = all().iter().map(|case| case.name).collect();
    assert_eq!(names.len(), all().len());
    let text = include_str!("../../../../docs/store.md");
    let promises: BTreeSet<&str> = text
        .split('[')
        .filter(|part| part.starts_with("STORE-"))
        .filter_map(|part| part.split(']').next())
        .filter(|promise| !OF_SHARED_STORES.contains(promise) && *promise != OF_THE_SERVER)
        .collect();
    let cited: BTreeSet<&str> = all().iter().flat_map(|c| c.promises.split(' ')).collect();
    assert_eq!(cited, promises);
}
