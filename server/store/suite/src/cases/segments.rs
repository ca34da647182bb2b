//! Records, serials, sizes, damage.

use super::{ensure, kept, Case, Held, Owner};
use crate::place::{Ability, Crash, Make};
use crate::records::{create, creator, diff, head, other, release, serials, small, stamp, REMOVE};
use bytes::Bytes;
use interweave_store::{Checkpoint, StoreError};
use interweave_wire::protocol::Durability::{self, Synced, Written};
use interweave_wire::protocol::{LogBody, VersionStamp};

pub const CASES: &[Case] = &[
    Case {
        name: "a record that does not follow is refused",
        promises: "STORE-6 STORE-4",
        needs: &[Ability::Crash],
        run: what_does_not_follow,
    },
    Case {
        name: "the bound of the serials never goes back",
        promises: "STORE-7",
        needs: &[Ability::Crash],
        run: serials_only_grow,
    },
    Case {
        name: "large records are whole",
        promises: "STORE-8",
        needs: &[Ability::Crash],
        run: large_records,
    },
    Case {
        name: "a segment is as it was created, until it is removed",
        promises: "STORE-6",
        needs: &[Ability::Crash],
        run: created_and_removed,
    },
    Case {
        name: "a new incarnation begins where it says",
        promises: "STORE-6",
        needs: &[Ability::Crash],
        run: incarnations,
    },
    Case {
        name: "damage stops its segment alone, which takes REMOVE",
        promises: "STORE-6",
        needs: &[Ability::Damage, Ability::Crash],
        run: damage,
    },
];

fn what_does_not_follow(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    let first = small(1, 1, 0);
    owner.keeps(vec![first.clone()])?;
    let bad = [
        ("a version twice", small(1, 1, 1)),
        ("a version with a gap", small(1, 3, 1)),
        ("a release of no segment", small(2, 1, 1)),
        ("serials of no segment", serials(2, 9)),
        ("a segment twice", create(1, Synced)),
        ("a segment of number 0", create(0, Synced)),
        ("an unknown record", other(1, LogBody::Other(6))),
    ];
    for (what, record) in bad {
        let answer = owner.appended(vec![record])?;
        ensure(answer.as_ref().is_err_and(|e| e.is_final()), || {
            format!("{what} was answered {answer:?}")
        })?;
    }
    let second = small(1, 2, 0);
    owner.keeps(vec![second.clone()])?;
    let owner = owner.crash(&*place, Crash::Process)?;
    ensure(owner.segments.len() == 1, || {
        format!("there are segments {:?}", owner.segments.keys())
    })?;
    owner.has(1, &[first, second])
}

fn serials_only_grow(make: Make<'_>) -> Held {
    let place = make();
    let mut owner = Owner::with(&*place, &[1])?;
    let mut most = 0;
    for below in [1_000, 400, 3_000, 2_999] {
        owner.keeps(vec![serials(1, below)])?;
        most = most.max(below);
        owner = owner.crash(&*place, Crash::Process)?;
        let found = owner.segment(1)?.serials_below;
        ensure(found == most, || {
            format!("serials below {most} were logged, and the bound is {found}")
        })?;
    }
    // A checkpoint does not lower the bound.
    kept(&owner.checkpoint(Checkpoint {
        head: head(1, 0, 7),
        diff: Bytes::new(),
    }))?;
    owner = owner.crash(&*place, Crash::Process)?;
    let found = owner.segment(1)?.serials_below;
    ensure(found == most, || {
        format!("after a checkpoint the bound is {found}")
    })
}

fn large_records(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    let sizes = [0, 1, 255 << 10, (256 << 10) + 1, 3 << 20, 5];
    let mut expected = Vec::new();
    for (bytes, version) in sizes.into_iter().zip(1..) {
        let record = release(1, version, diff(1, version, 0, bytes));
        owner.keeps(vec![record.clone()])?;
        expected.push(record);
    }
    owner.crash(&*place, Crash::Process)?.has(1, &expected)
}

fn created_and_removed(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::open(&*place)?;
    for (id, durable) in [(1, Synced), (2, Written), (3, Durability::Memory)] {
        kept(&owner.append(vec![create(id, durable)], durable))?;
    }
    owner.keeps(vec![small(1, 1, 0)])?;
    let owner = owner.crash(&*place, Crash::Process)?;
    for (id, durable) in [(1, Synced), (2, Written), (3, Durability::Memory)] {
        let segment = owner.segment(id)?;
        let is = (
            &*segment.path,
            segment.durable,
            segment.quota_bytes,
            segment.incarnation,
            segment.creator.as_deref(),
        );
        let maker = creator(id);
        let path = format!("/segment/{id}");
        let was = (&*path, durable, 1 << 20, 1, Some(&maker));
        ensure(is == was, || {
            format!("segment {id} is {is:?} and was {was:?}")
        })?;
    }
    owner.keeps(vec![other(1, REMOVE)])?;
    let answer = owner.appended(vec![small(1, 2, 0)])?;
    ensure(answer.is_err(), || {
        "a removed segment takes releases".to_string()
    })?;
    let owner = owner.crash(&*place, Crash::Process)?;
    ensure(owner.segments.keys().eq(&[2, 3]), || {
        format!("there are segments {:?}", owner.segments.keys())
    })
}

fn incarnations(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    for version in 1..=3 {
        owner.keeps(vec![small(1, version, 0)])?;
    }
    let begins = VersionStamp {
        incarnation: 5,
        ..stamp(2)
    };
    owner.keeps(vec![other(1, LogBody::Incarnation(begins))])?;
    owner.keeps(vec![small(1, 3, 1)])?;
    let owner = owner.crash(&*place, Crash::Process)?;
    let incarnation = owner.segment(1)?.incarnation;
    ensure(incarnation == 5, || {
        format!("the incarnation is {incarnation}")
    })?;
    owner.has(1, &[small(1, 1, 0), small(1, 2, 0), small(1, 3, 1)])
}

fn damage(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1, 2])?;
    let hurt = release(1, 1, diff(1, 1, 0, 400));
    owner.keeps(vec![hurt.clone()])?;
    owner.keeps(vec![small(1, 2, 0), small(2, 1, 0)])?;
    owner.store.close(true).map_err(|e| e.to_string())?;
    place.damage(&hurt.diff);
    let owner = Owner::open(&*place)?;
    owner.has(2, &[small(2, 1, 0)])?;
    ensure(owner.segment(1)?.damage.is_some(), || {
        "damage was not noticed".to_string()
    })?;
    let answer = owner.appended(vec![small(1, 3, 0)])?;
    ensure(matches!(answer, Err(StoreError::Damaged { .. })), || {
        format!("a release of a damaged segment was answered {answer:?}")
    })?;
    owner.keeps(vec![small(2, 2, 0)])?;
    owner.keeps(vec![other(1, REMOVE)])?;
    let owner = owner.crash(&*place, Crash::Process)?;
    ensure(owner.segments.keys().eq(&[2]), || {
        format!("there are segments {:?}", owner.segments.keys())
    })
}
