//! An error is final: nothing of the group appears later.

use super::{ensure, Case, Held, Owner, PATIENCE};
use crate::place::{Ability, Crash, Make};
use crate::records::{diff, release, small};
use interweave_store::{Record, StoreError};
use std::time::Instant;

pub const CASES: &[Case] = &[
    Case {
        name: "what was refused does not come back",
        promises: "STORE-4",
        needs: &[Ability::Fail, Ability::Crash],
        run: refused_stays_away,
    },
    Case {
        name: "what was refused does not come back with the power",
        promises: "STORE-4",
        needs: &[Ability::Fail, Ability::LosePower],
        run: refused_stays_away_without_power,
    },
    Case {
        name: "a commit that fails once loses nothing",
        promises: "STORE-2 STORE-4",
        needs: &[Ability::Fail, Ability::Crash],
        run: one_failure,
    },
    Case {
        name: "a full store refuses, and continues when there is space",
        promises: "STORE-4",
        needs: &[Ability::Fill, Ability::Crash],
        run: full,
    },
];

fn refused_stays_away(make: Make<'_>) -> Held {
    refused(make, &[Crash::Process])
}

fn refused_stays_away_without_power(make: Make<'_>) -> Held {
    refused(make, &[0, 1, 2, 3, 4, 5].map(Crash::Power))
}

fn refused(make: Make<'_>, crashes: &[Crash]) -> Held {
    for &crash in crashes {
        let place = make();
        let owner = Owner::with(&*place, &[1, 2])?;
        let first = small(1, 1, 0);
        owner.keeps(vec![first.clone()])?;
        place.fail(u32::MAX);
        let refused = owner.appended(vec![small(1, 2, 1), small(2, 1, 1)])?;
        let Err(error) = refused else {
            return Err("a commit that failed was acknowledged".to_string());
        };
        let owner = owner.crash(&*place, crash)?;
        place.fail(0);
        let is_there = (owner.releases(1)?.len() == 2, owner.releases(2)?.len() == 1);
        ensure(is_there.0 == is_there.1, || {
            "a group is there in part".to_string()
        })?;
        ensure(!(error.is_final() && is_there.0), || {
            format!("what was refused for good ({error}) is there")
        })?;
        if !is_there.0 {
            let second = small(1, 2, 2);
            owner.keeps(vec![second.clone()])?;
            let owner = owner.crash(&*place, crash)?;
            owner.has(1, &[first, second])?;
        }
    }
    Ok(())
}

fn one_failure(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    let mut expected: Vec<Record> = Vec::new();
    for round in 0..12 {
        place.fail(1);
        let record = small(1, expected.len() as u64 + 1, round);
        match owner.appended(vec![record.clone()])? {
            Ok(()) => expected.push(record),
            Err(error) if error.is_final() => {}
            Err(error) => return Err(format!("one failing commit was answered {error}")),
        }
        place.fail(0);
        let record = small(1, expected.len() as u64 + 1, round + 100);
        keeps_in_the_end(&owner, &record)?;
        expected.push(record);
    }
    owner.crash(&*place, Crash::Process)?.has(1, &expected)
}

/// A store that refuses tries again by itself. Each refusal is final, so the record may be sent
/// again.
fn keeps_in_the_end(owner: &Owner, record: &Record) -> Held {
    let begun = Instant::now();
    loop {
        match owner.appended(vec![record.clone()])? {
            Ok(()) => return Ok(()),
            Err(error) if !error.is_final() => {
                return Err(format!("an append was answered {error}"))
            }
            Err(error) if begun.elapsed() > PATIENCE => {
                return Err(format!("the store does not continue: {error}"))
            }
            Err(_) => std::thread::yield_now(),
        }
    }
}

fn full(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    let mut expected = Vec::new();
    place.fill(true);
    let refused = loop {
        let version = expected.len() as u64 + 1;
        let record = release(1, version, diff(1, version, 0, 5_000));
        match owner.appended(vec![record.clone()])? {
            Ok(()) => expected.push(record),
            Err(error) => break error,
        }
        ensure(expected.len() < 10_000, || {
            "a full store takes everything".to_string()
        })?;
    };
    ensure(matches!(refused, StoreError::Full(_)), || {
        format!("a full store says: {refused}")
    })?;
    ensure(owner.store.stopped().is_none(), || {
        "a full store has stopped".to_string()
    })?;
    place.fill(false);
    let record = small(1, expected.len() as u64 + 1, 9);
    keeps_in_the_end(&owner, &record)?;
    expected.push(record);
    owner.crash(&*place, Crash::Process)?.has(1, &expected)
}
