//! A group is all or nothing.

use super::{ensure, kept, Case, Held, Owner};
use crate::place::{Ability, Crash, Make};
use crate::records::{create, diff, release, small};
use interweave_store::Record;
use interweave_wire::protocol::Durability::{Synced, Written};

pub const CASES: &[Case] = &[
    Case {
        name: "of a group with a record that cannot be, nothing is kept",
        promises: "STORE-3 STORE-4",
        needs: &[Ability::Crash],
        run: a_bad_record,
    },
    Case {
        name: "of a group that a crash meets, all or nothing is there",
        promises: "STORE-3",
        needs: &[Ability::Hold, Ability::Crash],
        run: a_crash_in_a_group,
    },
    Case {
        name: "of a group that a loss of power meets, all or nothing is there",
        promises: "STORE-3",
        needs: &[Ability::LosePower],
        run: a_loss_of_power_in_a_group,
    },
];

/// Releases of several segments.
fn group(version: u64, bytes: usize) -> Vec<Record> {
    let record = |id| release(id, version, diff(id, version, 0, bytes));
    (1..=4).map(record).collect()
}

fn a_bad_record(make: Make<'_>) -> Held {
    for bad in [small(1, 3, 0), small(9, 1, 0), create(2, Synced)] {
        let place = make();
        let owner = Owner::with(&*place, &[1, 2])?;
        let good = small(1, 1, 0);
        for bad in [
            vec![good.clone(), bad.clone()],
            vec![bad.clone(), good.clone()],
        ] {
            let refused = owner.appended(bad)?;
            ensure(refused.as_ref().is_err_and(|e| e.is_final()), || {
                format!("a group with a record that cannot be was answered {refused:?}")
            })?;
        }
        ensure(owner.end(1)? == Some(0), || {
            "a part of a refused group is kept".to_string()
        })?;
        owner.keeps(vec![good.clone()])?;
        owner.crash(&*place, Crash::Process)?.has(1, &[good])?;
    }
    Ok(())
}

/// How many of the segments have the version.
fn count_with(owner: &Owner, version: u64) -> Result<usize, String> {
    let mut count = 0;
    for id in 1..=4 {
        let versions = owner.releases(id)?;
        count += usize::from(versions.iter().any(|(number, _)| *number == version));
    }
    Ok(count)
}

fn a_crash_in_a_group(make: Make<'_>) -> Held {
    for step in 0..make().steps() {
        let place = make();
        let owner = Owner::with(&*place, &[1, 2, 3, 4])?;
        owner.keeps(group(1, 700))?;
        let (_held, _) = owner.held(&*place, step, group(2, 700))?;
        let owner = owner.crash(&*place, Crash::Process)?;
        place.let_go();
        let count = count_with(&owner, 2)?;
        ensure(count == 0 || count == 4, || {
            format!("{count} of 4 segments have their parts of a group")
        })?;
        let next = 2 + u64::from(count == 4);
        owner.keeps(group(next, 40))?;
    }
    Ok(())
}

fn a_loss_of_power_in_a_group(make: Make<'_>) -> Held {
    for seed in 0..24 {
        let place = make();
        let owner = Owner::with(&*place, &[1, 2, 3, 4])?;
        owner.keeps(group(1, 700))?;
        for version in 2..=4 {
            kept(&owner.append(group(version, 700), Written))?;
        }
        let owner = owner.crash(&*place, Crash::Power(seed))?;
        for version in 2..=4 {
            let count = count_with(&owner, version)?;
            ensure(count == 0 || count == 4, || {
                format!("{count} of 4 segments have version {version} of a group")
            })?;
        }
        let last = owner.releases(1)?.len() as u64;
        ensure((1..=4).contains(&last), || {
            format!("version {last} is left")
        })?;
        owner.keeps(group(last + 1, 40))?;
    }
    Ok(())
}
