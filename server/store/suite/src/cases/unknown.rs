//! An outcome that is not known is settled by reading, and lasts.

use super::{ensure, kept, Case, Held, Owner};
use crate::place::{Ability, Cancel, Crash, Make};
use crate::records::{create, serials, small, REMOVE};
use interweave_store::End;
use interweave_wire::protocol::Durability::Written;

pub const CASES: &[Case] = &[
    Case {
        name: "settle says where segments end",
        promises: "STORE-11",
        needs: &[Ability::Keep],
        run: settle_tells,
    },
    Case {
        name: "what settle says lasts",
        promises: "STORE-11",
        needs: &[Ability::LosePower],
        run: settled_lasts,
    },
    Case {
        name: "an append that is cancelled is there or not, for good",
        promises: "STORE-4 STORE-11",
        needs: &[Ability::Cancel, Ability::LosePower],
        run: cancelled,
    },
    Case {
        name: "an append of unknown outcome takes effect once at most",
        promises: "STORE-4 STORE-11",
        needs: &[Ability::Cancel, Ability::Crash],
        run: once_at_most,
    },
    Case {
        name: "an append of unknown outcome may be there after a crash, whole",
        promises: "STORE-3 STORE-5",
        needs: &[Ability::Cancel, Ability::LosePower],
        run: a_crash_before_it_is_settled,
    },
];

const CANCELS: [Cancel; 3] = [Cancel::Before, Cancel::Local, Cancel::Late];

fn settle_tells(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1, 2])?;
    owner.keeps(vec![small(1, 1, 0), serials(2, 500)])?;
    owner.keeps(vec![small(1, 2, 0)])?;
    let at = |version, serials_below| End::At {
        incarnation: 1,
        version,
        serials_below,
    };
    let ends = owner.settle(&[1, 2, 3])?;
    let expected = [(1, at(2, 0)), (2, at(0, 500)), (3, End::Absent)];
    ensure(ends == expected.into(), || {
        format!("segments end at {ends:?}")
    })?;
    owner.keeps(vec![crate::records::other(1, REMOVE)])?;
    let ends = owner.settle(&[1])?;
    ensure(ends == [(1, End::Absent)].into(), || {
        format!("a removed segment ends at {ends:?}")
    })
}

/// The segment is not SYNCED, and the end lasts all the same.
fn settled_lasts(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::open(&*place)?;
    kept(&owner.append(vec![create(1, Written)], Written))?;
    kept(&owner.append(vec![small(1, 1, 0)], Written))?;
    let end = owner.end(1)?;
    ensure(end == Some(1), || format!("the segment ends at {end:?}"))?;
    let owner = owner.crash(&*place, Crash::Power(0))?;
    owner.has(1, &[small(1, 1, 0)])
}

fn cancelled(make: Make<'_>) -> Held {
    for cancel in CANCELS {
        for seed in [0, 1] {
            one_cancelled(make, cancel, seed).map_err(|e| format!("cancelled {cancel:?}: {e}"))?;
        }
    }
    Ok(())
}

fn one_cancelled(make: Make<'_>, cancel: Cancel, seed: u64) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1, 2])?;
    let mut expected = vec![small(1, 1, 0)];
    owner.keeps(expected.clone())?;
    place.cancel(cancel);
    let group = vec![small(1, 2, 1), small(2, 1, 1)];
    let is_there = match owner.appended(group.clone())? {
        Ok(()) => true,
        Err(error) if error.is_final() => false,
        Err(_) => {
            let ends = (owner.end(1)?, owner.end(2)?);
            let is_there = ends == (Some(2), Some(1));
            ensure(is_there || ends == (Some(1), Some(0)), || {
                format!("a group ends at {ends:?}")
            })?;
            is_there
        }
    };
    if is_there {
        expected.push(group[0].clone());
    }
    let owner = owner.crash(&*place, Crash::Power(seed))?;
    place.let_go();
    owner.has(1, &expected)?;
    owner.has(2, &group[1..][..usize::from(is_there)])?;
    let last = small(1, expected.len() as u64 + 1, 2);
    owner.keeps(vec![last.clone()])?;
    expected.push(last);
    owner.crash(&*place, Crash::Power(seed))?.has(1, &expected)
}

/// The owner continues after it has settled.
fn once_at_most(make: Make<'_>) -> Held {
    for cancel in CANCELS {
        let place = make();
        let owner = Owner::with(&*place, &[1])?;
        let mut expected = Vec::new();
        for round in 0..6 {
            place.cancel(cancel);
            let next = expected.len() as u64 + 1;
            let record = small(1, next, round);
            let is_there = match owner.appended(vec![record.clone()])? {
                Ok(()) => true,
                Err(error) if error.is_final() => false,
                Err(_) => owner.end(1)? == Some(next),
            };
            if is_there {
                expected.push(record);
            }
            place.let_go();
            let record = small(1, expected.len() as u64 + 1, round + 100);
            owner.keeps(vec![record.clone()])?;
            expected.push(record);
        }
        let last = owner.crash(&*place, Crash::Process)?;
        let found = last.has(1, &expected);
        found.map_err(|e| format!("cancelled {cancel:?}: {e}"))?;
    }
    Ok(())
}

fn a_crash_before_it_is_settled(make: Make<'_>) -> Held {
    for cancel in CANCELS {
        for seed in 0..4 {
            let place = make();
            let owner = Owner::with(&*place, &[1, 2])?;
            place.cancel(cancel);
            let group = vec![small(1, 1, 0), small(2, 1, 0)];
            let answer = owner.appended(group.clone())?;
            let owner = owner.crash(&*place, Crash::Power(seed))?;
            let count = owner.releases(1)?.len();
            ensure(count == owner.releases(2)?.len(), || {
                "a group is there in part".to_string()
            })?;
            ensure(!(answer.is_ok() && count == 0), || {
                format!("cancelled {cancel:?}, a group was acknowledged and is lost")
            })?;
            let is_final = answer.as_ref().is_err_and(|error| error.is_final());
            ensure(!(is_final && count == 1), || {
                format!("cancelled {cancel:?}, a group was refused ({answer:?}) and is there")
            })?;
            // The open has seen all that there will be.
            place.let_go();
            let owner = owner.crash(&*place, Crash::Power(seed))?;
            owner.has(1, &group[..count])?;
        }
    }
    Ok(())
}
