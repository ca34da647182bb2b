//! An answer means that the records survive what they are to survive.

use super::{ensure, kept, Case, Held, Owner};
use crate::place::{Ability, Crash, Make};
use crate::records::{create, small};
use interweave_wire::protocol::Durability::{Memory, Synced, Written};
use std::sync::mpsc::TryRecvError;

pub const CASES: &[Case] = &[
    Case {
        name: "what was acknowledged as SYNCED survives a loss of power",
        promises: "STORE-2",
        needs: &[Ability::LosePower],
        run: synced_survives_power,
    },
    Case {
        name: "what was acknowledged survives the end of the process",
        promises: "STORE-2",
        needs: &[Ability::Crash],
        run: written_survives_the_process,
    },
    Case {
        name: "no answer comes while the commit stands still",
        promises: "STORE-2",
        needs: &[Ability::Hold],
        run: no_early_answer,
    },
    Case {
        name: "releases of MEMORY are not kept, their segments are",
        promises: "STORE-2",
        needs: &[Ability::Crash],
        run: memory_is_not_kept,
    },
    Case {
        name: "an end in order is told from a crash",
        promises: "STORE-2",
        needs: &[Ability::Crash],
        run: clean_is_told,
    },
];

fn synced_survives_power(make: Make<'_>) -> Held {
    for seed in 0..8 {
        let place = make();
        let mut owner = Owner::with(&*place, &[1, 2])?;
        let mut expected = Vec::new();
        for version in 1..=10 {
            // WRITTEN records of another segment between them do no harm.
            kept(&owner.append(vec![small(2, version, 0)], Written))?;
            let record = small(1, version, 0);
            owner.keeps(vec![record.clone()])?;
            expected.push(record);
        }
        kept(&owner.append(vec![small(2, 11, 0)], Written))?;
        owner = owner.crash(&*place, Crash::Power(seed))?;
        owner.has(1, &expected)?;
        let unsynced = owner.releases(2)?.len();
        ensure(unsynced >= 10, || {
            format!("version {unsynced} is left of what a later sync has covered")
        })?;
        owner.keeps(vec![small(1, 11, 0)])?;
        expected.push(small(1, 11, 0));
        owner.crash(&*place, Crash::Power(0))?.has(1, &expected)?;
    }
    Ok(())
}

fn written_survives_the_process(make: Make<'_>) -> Held {
    for durable in [Written, Synced] {
        let place = make();
        let mut owner = Owner::open(&*place)?;
        kept(&owner.append(vec![create(1, durable)], durable))?;
        let mut expected = Vec::new();
        for version in 1..=10 {
            let record = small(1, version, 0);
            kept(&owner.append(vec![record.clone()], durable))?;
            expected.push(record);
            if version % 5 == 0 {
                owner = owner.crash(&*place, Crash::Process)?;
                owner.has(1, &expected)?;
            }
        }
    }
    Ok(())
}

fn no_early_answer(make: Make<'_>) -> Held {
    for step in 0..make().steps() {
        let place = make();
        let owner = Owner::with(&*place, &[1])?;
        let (_held, answer) = owner.held(&*place, step, vec![small(1, 1, 0)])?;
        let early = answer.try_recv();
        ensure(early == Err(TryRecvError::Empty), || {
            format!("held at step {step}, an append was answered {early:?}")
        })?;
        place.let_go();
        kept(&answer)?;
    }
    Ok(())
}

fn memory_is_not_kept(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::open(&*place)?;
    kept(&owner.append(vec![create(1, Memory)], Memory))?;
    kept(&owner.append(vec![small(1, 1, 0)], Memory))?;
    let owner = owner.crash(&*place, Crash::Process)?;
    ensure(owner.segment(1)?.durable == Memory, || {
        "the segment's durability was forgotten".to_string()
    })?;
    owner.has(1, &[])
}

fn clean_is_told(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    owner.store.close(true).map_err(|e| e.to_string())?;
    let owner = Owner::open(&*place)?;
    ensure(owner.segment(1)?.clean, || {
        "an end in order was taken for a crash".to_string()
    })?;
    owner.keeps(vec![small(1, 1, 0)])?;
    let owner = owner.crash(&*place, Crash::Process)?;
    ensure(!owner.segment(1)?.clean, || {
        "a crash was taken for an end in order".to_string()
    })
}
