//! Each planted defect is found within its number of seeds, by the checker that is meant for it.
#![cfg(feature = "planted")]

use interweave_sim::{run, Plan};
use interweave_wire::planted::{plant, Defect};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

/// The most seeds until the defect is found, and the checker that finds it. Each is found by a seed
/// well below.
fn bound(defect: Defect) -> (u64, &'static str) {
    match defect {
        Defect::ReusedSerials => (20, "serials are lent once"),
        Defect::FencesBeginAnew => (20, "fences grow"),
        Defect::WrongIncarnation => (20, "linear history"),
        Defect::LeaseByWallClock | Defect::LeaseNotWatched => (20, "no lock outlives its lease"),
        Defect::StrictForgotten => (20, "strict readers keep writers out"),
        Defect::KeptFromOthers => (20, "grants are kept from nobody"),
        Defect::ForgottenAtStart => (20, "refused is not there"),
        Defect::DiffOutOfOrder | Defect::StaleDiff => (20, "updates fit"),
        Defect::OwnerUnchecked => (20, "acknowledged is there"),
        Defect::LockIgnored => (20, "one owner"),
        Defect::CreditIgnored => (20, "no more is pushed than fits"),
        Defect::DeltaTooOld => (20, "freshness"),
        Defect::UnitsUncounted => (20, "freshness by units"),
        Defect::EarlyAcknowledgement => (60, "acknowledged is there"),
        Defect::UnsyncedNames | Defect::NamelessForgotten => (60, "acknowledged is there"),
        Defect::LostSubscription => (60, "freshness without asking"),
        Defect::SilenceWhileStopped => (60, "no lock is taken early"),
        Defect::ChangesMissed => (60, "content"),
        Defect::SkippedFence => (200, "one effective writer"),
        Defect::RenewedForEver => (200, "no lock outlives its lease"),
        Defect::OlderConnectionStays => (200, "no lock outlives its lease"),
        Defect::UnsealedFile | Defect::SyncedAgain => (200, "no damage without a cause"),
        Defect::UnsyncedCheckpoint => (200, "no damage without a cause"),
        Defect::RemovalUnsynced => (200, "no damage without a cause"),
        Defect::FailedTooEarly | Defect::ResolvedTooEarly => (200, "refused is not there"),
        Defect::HistoryByNumber => (200, "content"),
        Defect::WitnessIgnored => (200, "acknowledged is there"),
        Defect::UnansweredUncounted | Defect::SlowestKept => (200, "bounded memory"),
        Defect::ReleaseForgotten => (600, "refused is not there"),
        Defect::TornGroupTaken => (600, "all or none"),
    }
}

/// The first seed in which that checker finds the defect, and how.
fn found(defect: Defect) -> Option<(u64, String)> {
    let (most, checker) = bound(defect);
    plant(Some(defect));
    let found = (1..=most).find_map(|seed| {
        let (_, violation) = run(&Plan::of(seed), false).violation?;
        (violation.checker == checker).then_some((seed, violation.text))
    });
    plant(None);
    found
}

/// As many as make/toolchain.sh says, or one a core.
fn workers() -> usize {
    let wanted = std::env::var("JOBS").ok();
    let wanted = wanted.and_then(|jobs| jobs.parse().ok());
    wanted.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}

#[test]
fn every_planted_defect_is_found() {
    let next = AtomicUsize::new(0);
    let missed = Mutex::new(Vec::new());
    let look = || {
        while let Some(&defect) = Defect::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (most, checker) = bound(defect);
            match found(defect) {
                Some((seed, how)) => println!("{defect:?}: seed {seed}: {checker}: {how}"),
                None => missed.lock().unwrap().push((defect, checker, most)),
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..workers() {
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
