//! Each planted defect is found within so many seeds, and by a checker that says what is wrong.
#![cfg(feature = "planted")]

use interweave_sim::{run, Plan};
use interweave_wire::planted::{plant, Defect};

/// The most seeds until the defect is found. Each is found by a seed well below.
fn most_seeds(defect: Defect) -> u64 {
    match defect {
        Defect::SkippedFence => 600,
        Defect::EarlyAcknowledgement => 20,
        Defect::ReusedSerials => 5,
        Defect::LostSubscription => 60,
        Defect::WrongIncarnation => 40,
        Defect::TornGroupTaken => 100,
        Defect::ReleaseForgotten => 60,
        Defect::UnsyncedNames => 40,
        Defect::UnsealedFile => 100,
        Defect::FencesBeginAnew => 10,
    }
}

/// The seed that finds it, and how.
fn found(defect: Defect) -> Option<(u64, String)> {
    plant(Some(defect));
    let found = (1..=most_seeds(defect)).find_map(|seed| {
        let (_, violation) = run(&Plan::of(seed), false).violation?;
        Some((seed, format!("{}: {}", violation.checker, violation.text)))
    });
    plant(None);
    found
}

#[test]
fn every_planted_defect_is_found() {
    let mut missed = Vec::new();
    for defect in Defect::ALL {
        match found(defect) {
            Some((seed, how)) => println!("{defect:?}: seed {seed}: {how}"),
            None => missed.push(defect),
        }
    }
    assert_eq!(missed, [], "nothing found these");
}

#[test]
fn without_a_defect_nothing_is_found() {
    for seed in 1..=10 {
        let violation = run(&Plan::of(seed), false).violation;
        assert_eq!(violation, None, "seed {seed}");
    }
}
