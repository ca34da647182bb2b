//! One owner at a time, and nothing lost when it changes.

use super::{ensure, heard, Case, Held, Owner};
use crate::place::{Ability, Crash, Make};
use crate::records::small;
use interweave_store::StoreError;

pub const CASES: &[Case] = &[
    Case {
        name: "epochs grow",
        promises: "STORE-1",
        needs: &[Ability::Crash],
        run: epochs_grow,
    },
    Case {
        name: "an older owner is fenced",
        promises: "STORE-1 STORE-5",
        needs: &[Ability::Crash],
        run: an_older_owner_is_fenced,
    },
    Case {
        name: "an append on its way at a claim is seen by it or never there",
        promises: "STORE-1 STORE-5",
        needs: &[Ability::Hold, Ability::Crash],
        run: an_append_on_its_way,
    },
    Case {
        name: "an append that fails after a claim takes nothing from the new owner",
        promises: "STORE-1 STORE-5",
        needs: &[Ability::Hold, Ability::Fail, Ability::Crash],
        run: a_failure_after_a_claim,
    },
    Case {
        name: "a claim sees all that was acknowledged",
        promises: "STORE-5",
        needs: &[Ability::Crash],
        run: a_claim_sees_all,
    },
    Case {
        name: "segments that another owner took are named, and the others are sent again",
        promises: "STORE-3 STORE-12 STORE-11",
        needs: &[Ability::Take, Ability::Crash],
        run: some_segments_are_taken,
    },
    Case {
        name: "an older copy that is put back is a store like another",
        promises: "STORE-13",
        needs: &[Ability::CopyBack, Ability::Crash],
        run: an_older_copy_is_put_back,
    },
];

fn is_fenced(answer: &Result<(), StoreError>) -> bool {
    matches!(
        answer,
        Err(StoreError::Fenced(_) | StoreError::SegmentsFenced(_))
    )
}

fn epochs_grow(make: Make<'_>) -> Held {
    let place = make();
    let mut owner = Owner::with(&*place, &[1])?;
    let mut before = owner.store.owner_epoch();
    let identity = owner.store.identity();
    for crash in [false, true, false, true] {
        owner = match crash {
            true => owner.crash(&*place, Crash::Process)?,
            false => {
                owner.store.close(true).map_err(|e| e.to_string())?;
                Owner::open(&*place)?
            }
        };
        let now = owner.store.owner_epoch();
        ensure(now > before, || format!("epoch {now} follows {before}"))?;
        let claimed = owner.segment(1)?.epoch;
        ensure(claimed > before, || {
            format!("a segment's epoch is {claimed} after an owner of epoch {before}")
        })?;
        let is_same = owner.store.identity() == identity;
        ensure(is_same, || "the store's identity has changed".to_string())?;
        before = now.max(claimed);
    }
    Ok(())
}

fn an_older_owner_is_fenced(make: Make<'_>) -> Held {
    let place = make();
    let older = Owner::with(&*place, &[1])?;
    let first = small(1, 1, 0);
    older.keeps(vec![first.clone()])?;
    let newer = Owner::open(&*place)?;
    newer.has(1, std::slice::from_ref(&first))?;
    for record in [small(1, 2, 1), small(1, 2, 2)] {
        let answer = older.appended(vec![record])?;
        ensure(is_fenced(&answer), || {
            format!("an older owner's append was answered {answer:?}")
        })?;
    }
    let second = small(1, 2, 3);
    newer.keeps(vec![second.clone()])?;
    drop(older);
    let last = newer.crash(&*place, Crash::Process)?;
    last.has(1, &[first, second])
}

/// The older owner's append stands still. Then a newer owner opens the store, and may append.
fn an_append_on_its_way(make: Make<'_>) -> Held {
    for step in 0..make().steps() {
        for appends in [false, true] {
            one_on_its_way(make, step, appends).map_err(|e| format!("held at step {step}: {e}"))?;
        }
    }
    Ok(())
}

fn one_on_its_way(make: Make<'_>, step: u32, appends: bool) -> Held {
    let place = make();
    let older = Owner::with(&*place, &[1])?;
    let first = small(1, 1, 0);
    older.keeps(vec![first.clone()])?;
    let second = small(1, 2, 1);
    let (_held, answer) = older.held(&*place, step, vec![second.clone()])?;
    let newer = Owner::open(&*place)?;
    let mut expected = vec![first.clone()];
    let is_seen = newer.releases(1)?.len() == 2;
    if is_seen {
        expected.push(second);
    }
    newer.has(1, &expected)?;
    if appends {
        let next = small(1, expected.len() as u64 + 1, 2);
        newer.keeps(vec![next.clone()])?;
        expected.push(next);
    }
    place.let_go();
    let answer = heard(&answer)?;
    ensure(answer.is_err() || is_seen, || {
        "an append was acknowledged, and the claim before did not see it".to_string()
    })?;
    let is_said_final = answer.as_ref().is_err_and(StoreError::is_final);
    ensure(!(is_said_final && is_seen), || {
        format!("an append was refused for good ({answer:?}), and is there")
    })?;
    let last = small(1, expected.len() as u64 + 1, 3);
    newer.keeps(vec![last.clone()])?;
    expected.push(last);
    drop(older);
    newer.crash(&*place, Crash::Process)?.has(1, &expected)
}

/// The older owner cuts off nothing that the newer one has read, and replaces none of its files.
fn a_failure_after_a_claim(make: Make<'_>) -> Held {
    for step in 0..make().steps() {
        let place = make();
        let older = Owner::with(&*place, &[1])?;
        let mut expected = vec![small(1, 1, 0)];
        older.keeps(expected.clone())?;
        let second = small(1, 2, 1);
        let (_held, answer) = older.held(&*place, step, vec![second.clone()])?;
        let newer = Owner::open(&*place)?;
        if newer.releases(1)?.len() == 2 {
            expected.push(second);
        }
        let next = small(1, expected.len() as u64 + 1, 2);
        newer.keeps(vec![next.clone()])?;
        expected.push(next);
        place.fail(1);
        place.let_go();
        let answer = heard(&answer)?;
        ensure(answer.is_err(), || {
            "a fenced owner's append was acknowledged".to_string()
        })?;
        place.fail(0);
        let last = small(1, expected.len() as u64 + 1, 3);
        newer.keeps(vec![last.clone()])?;
        expected.push(last);
        drop(older);
        let opened = newer.crash(&*place, Crash::Process)?;
        opened
            .has(1, &expected)
            .map_err(|e| format!("held at step {step}: {e}"))?;
    }
    Ok(())
}

fn a_claim_sees_all(make: Make<'_>) -> Held {
    let place = make();
    let mut owners = vec![Owner::with(&*place, &[1, 2])?];
    let mut expected = Vec::new();
    for version in 1..=12 {
        let record = small(1, version, 0);
        owners[owners.len() - 1].keeps(vec![record.clone()])?;
        expected.push(record);
        if version % 4 == 0 {
            let next = Owner::open(&*place)?;
            next.has(1, &expected)?;
            next.has(2, &[])?;
            owners.push(next);
        }
    }
    Ok(())
}

fn some_segments_are_taken(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1, 2, 3])?;
    place.take(&[2]);
    let group: Vec<_> = (1..=3).map(|id| small(id, 1, 0)).collect();
    let answer = owner.appended(group.clone())?;
    ensure(answer == Err(StoreError::SegmentsFenced(vec![2])), || {
        format!("segment 2 of a group is another's, and the group was answered {answer:?}")
    })?;
    let ends = owner.settle(&[1, 2, 3])?;
    ensure(ends[&2] == interweave_store::End::Fenced, || {
        format!("the end of another's segment is {:?}", ends[&2])
    })?;
    for id in [1, 3] {
        ensure(owner.end(id)? == Some(0), || {
            format!("segment {id} has a part of a group that was refused")
        })?;
    }
    owner.keeps(vec![group[0].clone(), group[2].clone()])?;
    let last = owner.crash(&*place, Crash::Process)?;
    last.has(1, &group[..1])?;
    last.has(2, &[])?;
    last.has(3, &group[2..])
}

fn an_older_copy_is_put_back(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    let (first, lost, other) = (small(1, 1, 0), small(1, 2, 1), small(1, 2, 2));
    owner.keeps(vec![first.clone()])?;
    place.crash(Crash::Process);
    drop(owner);
    place.copy();
    let owner = Owner::open(&*place)?;
    let epoch = owner.store.owner_epoch();
    owner.keeps(vec![lost])?;
    place.crash(Crash::Process);
    drop(owner);
    place.put_copy_back();
    let owner = Owner::open(&*place)?;
    owner.has(1, std::slice::from_ref(&first))?;
    let again = owner.store.owner_epoch();
    ensure(again == epoch, || {
        format!("an older copy gives epoch {again}, and gave {epoch} before")
    })?;
    owner.keeps(vec![other.clone()])?;
    let owner = owner.crash(&*place, Crash::Process)?;
    owner.has(1, &[first, other])
}
