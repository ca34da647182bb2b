//! The conformance suite of the store's interface (docs/store.md): cases for any `SegmentStore`,
//! each with the promises that it tests.
//!
//! A store takes part with a [`Place`]. [`run`] says of each case whether the store at that place
//! keeps the promises.

pub mod cases;
pub mod database;
pub mod disk;
pub mod embedded;
pub mod faulty;
pub mod memory;
pub mod place;
pub mod records;

pub use cases::{all, Case};
pub use place::{Ability, Cancel, Crash, Make, Place};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Also if a case has panicked meanwhile.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How a case ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Held,
    /// The place cannot do what the case needs.
    LeftOut(Ability),
    Broken(String),
}

/// Runs every case, each at places of its own.
pub fn run(make: Make<'_>) -> Vec<(Case, Outcome)> {
    let outcome = |case: Case| (case, run_one(&case, make));
    all().into_iter().map(outcome).collect()
}

pub fn run_one(case: &Case, make: Make<'_>) -> Outcome {
    let place = make();
    if let Some(lacking) = case.needs.iter().find(|ability| !place.can(**ability)) {
        return Outcome::LeftOut(*lacking);
    }
    match (case.run)(make) {
        Ok(()) => Outcome::Held,
        Err(text) => Outcome::Broken(text),
    }
}
