//! Each planted defect is found within its number of seeds, by the checker that is meant for it.
#![cfg(feature = "planted")]

use interweave_sim::{run, Plan};
use interweave_wire::planted::{plant, Defect};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::thread;

/// Where to look for a defect: the first seed, the number of seeds, and the checker that finds it.
/// Where seeds that find a defect are rare, the look begins near one.
type Search = (u64, u64, &'static str);

/// The search among the seeds of one server.
fn search(defect: Defect) -> Search {
    match defect {
        Defect::ReusedSerials => (1, 20, "serials are lent once"),
        Defect::FencesBeginAnew => (1, 20, "fences grow"),
        Defect::WrongIncarnation => (1, 20, "linear history"),
        Defect::LeaseByWallClock | Defect::LeaseNotWatched => (1, 20, "no lock outlives its lease"),
        Defect::StrictForgotten => (1, 20, "strict readers keep writers out"),
        Defect::KeptFromOthers => (1, 20, "grants are kept from nobody"),
        Defect::ForgottenAtStart => (1, 20, "refused is not there"),
        Defect::DiffOutOfOrder | Defect::StaleDiff => (1, 20, "updates fit"),
        Defect::LockIgnored => (1, 20, "one owner"),
        Defect::CreditIgnored => (1, 20, "no more is pushed than fits"),
        Defect::DeltaTooOld => (1, 20, "freshness"),
        Defect::UnitsUncounted => (1, 20, "freshness by units"),
        Defect::EarlyAcknowledgement => (1, 60, "acknowledged is there"),
        Defect::OwnerUnchecked => (10, 60, "acknowledged is there"),
        Defect::UnsyncedNames | Defect::NamelessForgotten => (1, 60, "acknowledged is there"),
        Defect::LostSubscription => (1, 60, "freshness without asking"),
        Defect::SilenceWhileStopped => (1, 60, "no lock is taken early"),
        Defect::ChangesMissed => (1, 60, "content"),
        Defect::LockStaysTaken => (1, 60, "liveness"),
        Defect::SkippedFence => (1, 60, "one effective writer"),
        Defect::RenewedForEver => (20, 60, "no lock outlives its lease"),
        Defect::OlderConnectionStays => (1, 60, "no lock outlives its lease"),
        Defect::UnsealedFile | Defect::SyncedAgain => (15, 60, "no damage without a cause"),
        Defect::UnsyncedCheckpoint => (10, 60, "no damage without a cause"),
        Defect::RemovalUnsynced => (1, 60, "no damage without a cause"),
        Defect::FailedTooEarly | Defect::ResolvedTooEarly => (20, 60, "refused is not there"),
        Defect::HistoryByNumber => (25, 60, "content"),
        Defect::WitnessIgnored => (35, 60, "acknowledged is there"),
        Defect::UnansweredUncounted | Defect::SlowestKept => (15, 60, "bounded memory"),
        Defect::ReleaseForgotten => (10, 60, "refused is not there"),
        Defect::TornGroupTaken => (120, 60, "all or none"),
        other => panic!("{other:?} is found in a space"),
    }
}

/// The search among the seeds of spaces. None: one server alone has the defect.
fn search_in_space(defect: Defect) -> Option<Search> {
    Some(match defect {
        Defect::SentInCircles => (1, 20, "nobody is sent in circles"),
        Defect::TakeoverForgets => (20, 20, "refused is not there"),
        Defect::SpaceIdIgnored => (1, 20, "acknowledged is there"),
        Defect::ClaimUnreplicated => (30, 60, "acknowledged is there"),
        Defect::OverTooSoon => (490, 20, "acknowledged is there"),
        Defect::ClaimReadBefore => (1, 60, "liveness"),
        Defect::StandingKept => (30, 60, "acknowledged is there"),
        Defect::WarningBelieved => (20, 60, "acknowledged is there"),
        Defect::ClaimNotCompared => (10, 60, "no damage without a cause"),
        Defect::CreationUnsynced => (300, 60, "one effective writer"),
        Defect::RenewalUnreplicated => (20, 20, "acknowledged is there"),
        Defect::CounterRepeated => (1_000_002_930, 60, "acknowledged is there"),
        _ => return None,
    })
}

/// The search among the seeds of moves.
fn search_in_moves(defect: Defect) -> Option<Search> {
    Some(match defect {
        Defect::AbandonedStays => (1, 60, "deadlines pass"),
        Defect::GivenUncompared | Defect::GivenInDoubt => (1, 20, "the giver is silent"),
        Defect::GivenBehind => (100, 60, "acknowledged is there"),
        Defect::GivenAmidRelease => (1, 60, "acknowledged is there"),
        Defect::GivenBeginsAnew => (1, 20, "the incarnation stays"),
        Defect::ConfirmedWhileGiven => (2_000_000_220, 20, "freshness without asking"),
        Defect::ConfirmedWhileRemoved => (2_000_000_010, 20, "freshness without asking"),
        Defect::CopyOfOtherIncarnation => (2_000_000_001, 20, "the incarnation stays"),
        Defect::GivenUnsaved => (1, 20, "acknowledged is there"),
        Defect::DrainForgotten => (1, 20, "drained servers claim nothing"),
        Defect::GivenOverWaiting => (1, 60, "no removal without a cause"),
        _ => return None,
    })
}

/// No seed that finds it is known (sim/README.md).
const NOT_FOUND: [Defect; 1] = [Defect::FollowedAndMade];

/// The first seed in which the checker finds the defect, and how. The engine without the defect
/// passes that seed.
fn found(defect: Defect) -> Result<String, String> {
    let in_space = search_in_space(defect).map(|search| (Plan::space as fn(u64) -> Plan, search));
    let in_moves =
        || search_in_moves(defect).map(|search| (Plan::moves as fn(u64) -> Plan, search));
    let (plan, (first, most, checker)) = in_space
        .or_else(in_moves)
        .unwrap_or_else(|| (Plan::of, search(defect)));
    plant(Some(defect));
    let found = (first..first + most).find_map(|seed| {
        let (_, violation) = run(&plan(seed), false).violation?;
        (violation.checker == checker).then_some((seed, violation.text))
    });
    plant(None);
    let Some((seed, how)) = found else {
        return Err(format!("{checker} finds nothing in {most} seeds"));
    };
    match run(&plan(seed), false).violation {
        None => Ok(format!("seed {seed}: {checker}: {how}")),
        Some(without) => Err(format!("seed {seed} fails without it: {without:?}")),
    }
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
            if NOT_FOUND.contains(&defect) {
                continue;
            }
            match found(defect) {
                Ok(how) => println!("{defect:?}: {how}"),
                Err(how) => missed.lock().unwrap().push((defect, how)),
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
