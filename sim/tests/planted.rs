//! Each planted defect that has a known bound of seeds is found within it.
#![cfg(feature = "planted")]

use interweave_sim::{run, Plan};
use interweave_wire::planted::{plant, Defect};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

/// The most seeds until the defect is found. Each is found by a seed well below. None: no bound is
/// known yet, so the defect is not looked for.
fn most_seeds(defect: Defect) -> Option<u64> {
    let most = match defect {
        Defect::EarlyAcknowledgement
        | Defect::ReusedSerials
        | Defect::FencesBeginAnew
        | Defect::LeaseByWallClock
        | Defect::StaleDiff
        | Defect::UnitsUncounted
        | Defect::ChangesMissed
        | Defect::DiffOutOfOrder => 20,
        Defect::WrongIncarnation
        | Defect::UnsyncedNames
        | Defect::LeaseNotWatched
        | Defect::DeltaTooOld
        | Defect::UnsyncedCheckpoint
        | Defect::StrictForgotten
        | Defect::KeptFromOthers
        | Defect::ForgottenAtStart
        | Defect::HistoryByNumber
        | Defect::OlderConnectionStays => 60,
        Defect::LostSubscription
        | Defect::ReleaseForgotten
        | Defect::SilenceWhileStopped
        | Defect::RenewedForEver
        | Defect::LockIgnored => 200,
        Defect::ResolvedTooEarly => 600,
        _ => return None,
    };
    Some(most)
}

/// The seed that finds it, and how.
fn found(defect: Defect) -> Option<(u64, String)> {
    let most = most_seeds(defect)?;
    plant(Some(defect));
    let found = (1..=most).find_map(|seed| {
        let (_, violation) = run(&Plan::of(seed), false).violation?;
        Some((seed, format!("{}: {}", violation.checker, violation.text)))
    });
    plant(None);
    found
}

#[test]
fn every_planted_defect_is_found() {
    let all = Defect::ALL.into_iter();
    let all: Vec<Defect> = all.filter(|defect| most_seeds(*defect).is_some()).collect();
    let next = AtomicUsize::new(0);
    let missed = Mutex::new(Vec::new());
    let look = || {
        while let Some(&defect) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            match found(defect) {
                Some((seed, how)) => println!("{defect:?}: seed {seed}: {how}"),
                None => missed.lock().unwrap().push(defect),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(look);
        }
    });
    assert_eq!(missed.into_inner().unwrap(), [], "nothing found these");
}

#[test]
fn without_a_defect_nothing_is_found() {
    for seed in 1..=10 {
        let violation = run(&Plan::of(seed), false).violation;
        assert_eq!(violation, None, "seed {seed}");
    }
}
