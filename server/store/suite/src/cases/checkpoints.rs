//! A checkpoint stands for the records before it.

use super::{asked, ensure, heard, kept, Case, Held, Owner};
use crate::place::{Ability, Crash, Make};
use crate::records::{diff, head, releases, small};
use interweave_store::{Checkpoint, Next, Piece, SegmentStore};
use interweave_wire::protocol::{CheckpointHead, MAX_PATH};
use std::sync::mpsc::channel;

pub const CASES: &[Case] = &[
    Case {
        name: "a checkpoint and the releases after it come back",
        promises: "STORE-9 STORE-2",
        needs: &[Ability::Crash],
        run: saved,
    },
    Case {
        name: "a checkpoint that was answered lasts",
        promises: "STORE-2",
        needs: &[Ability::LosePower],
        run: saved_lasts,
    },
    Case {
        name: "a checkpoint in pieces comes back, one that is given up does not",
        promises: "STORE-9",
        needs: &[Ability::Crash],
        run: in_pieces,
    },
    Case {
        name:
            "a checkpoint of an earlier version, of no segment, or with too long a path is refused",
        promises: "STORE-6",
        needs: &[Ability::Keep],
        run: what_cannot_be_saved,
    },
];

fn save(owner: &Owner, segment_id: u64, version: u64) -> super::Answer {
    owner.checkpoint(Checkpoint {
        head: head(segment_id, version, 1),
        diff: diff(segment_id, version, 50, 90),
    })
}

/// Returns an error unless the checkpoint is there and these versions follow it.
fn is_saved(owner: &Owner, version: u64, after: &[u64]) -> Held {
    let segment = owner.segment(1)?;
    ensure(segment.damage.is_none(), || {
        format!("damage: {:?}", segment.damage)
    })?;
    let Some((head, saved)) = &segment.checkpoint else {
        return Err("the checkpoint is gone".to_string());
    };
    ensure(head.at.number == version, || {
        format!("the checkpoint is of version {}", head.at.number)
    })?;
    ensure(*saved == diff(1, version, 50, 90), || {
        "the checkpoint has changed".to_string()
    })?;
    let found: Vec<u64> = releases(segment)
        .iter()
        .map(|(number, _)| *number)
        .collect();
    ensure(found == after, || {
        format!("versions {found:?} follow the checkpoint, and {after:?} were to")
    })
}

fn with_versions(owner: &Owner, versions: std::ops::RangeInclusive<u64>) -> Held {
    for version in versions {
        owner.keeps(vec![small(1, version, 0)])?;
    }
    Ok(())
}

fn saved(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    with_versions(&owner, 1..=3)?;
    kept(&save(&owner, 1, 3))?;
    with_versions(&owner, 4..=5)?;
    let owner = owner.crash(&*place, Crash::Process)?;
    is_saved(&owner, 3, &[4, 5])?;
    // of an older version than the log's end
    with_versions(&owner, 6..=8)?;
    kept(&save(&owner, 1, 7))?;
    let owner = owner.crash(&*place, Crash::Process)?;
    is_saved(&owner, 7, &[8])?;
    ensure(owner.end(1)? == Some(8), || {
        "the end is another".to_string()
    })?;
    with_versions(&owner, 9..=9)
}

fn saved_lasts(make: Make<'_>) -> Held {
    for seed in 0..6 {
        let place = make();
        let owner = Owner::with(&*place, &[1])?;
        with_versions(&owner, 1..=3)?;
        kept(&save(&owner, 1, 2))?;
        let owner = owner.crash(&*place, Crash::Power(seed))?;
        is_saved(&owner, 2, &[3])?;
    }
    Ok(())
}

/// Takes a checkpoint in these pieces. [`Next::Nothing`] at the end gives the checkpoint up.
fn save_in_pieces(owner: &Owner, version: u64, pieces: Vec<Next>) -> Held {
    let (done, answer) = asked();
    let (want, wanted) = channel();
    let want = Box::new(move || want.send(()).unwrap_or(()));
    let store: &dyn SegmentStore = &*owner.store;
    store.checkpoint_in_pieces(head(1, version, 1), want, done);
    for piece in pieces {
        let is_wanted = wanted.recv_timeout(super::PATIENCE);
        is_wanted.map_err(|_| "no piece was wanted".to_string())?;
        store.next(1, piece);
    }
    kept(&answer)
}

fn in_pieces(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    with_versions(&owner, 1..=4)?;
    let pieces: Vec<Piece> = (0..3)
        .map(|i| Piece {
            diff: diff(1, i, 60, 3_000),
            ages: diff(1, i, 61, 100),
        })
        .collect();
    let part = |i: usize| Next::Piece(pieces[i].clone());
    let all = vec![part(0), part(1), Next::Last(pieces[2].clone())];
    save_in_pieces(&owner, 3, all)?;
    save_in_pieces(&owner, 4, vec![part(0), Next::Nothing])?;
    let owner = owner.crash(&*place, Crash::Process)?;
    let segment = owner.segment(1)?;
    let version = segment.checkpoint.as_ref().map(|(head, _)| head.at.number);
    ensure(version == Some(3), || {
        format!("the checkpoint is of {version:?}")
    })?;
    ensure(segment.pieces == pieces, || {
        "the pieces have changed".to_string()
    })?;
    ensure(releases(segment).len() == 1, || {
        "a release is lost".to_string()
    })
}

fn what_cannot_be_saved(make: Make<'_>) -> Held {
    let place = make();
    let owner = Owner::with(&*place, &[1])?;
    with_versions(&owner, 1..=3)?;
    kept(&save(&owner, 1, 3))?;
    for (id, version) in [(1, 2), (2, 1)] {
        let answer = heard(&save(&owner, id, version))?;
        ensure(answer.is_err(), || {
            format!("a checkpoint of segment {id} at version {version} was taken")
        })?;
    }
    let too_long = heard(&owner.checkpoint(Checkpoint {
        head: CheckpointHead {
            path: "/".repeat(MAX_PATH as usize + 1),
            ..head(1, 3, 1)
        },
        diff: diff(1, 3, 50, 90),
    }))?;
    ensure(too_long.is_err(), || {
        "a checkpoint with a path that is too long was taken".to_string()
    })?;
    with_versions(&owner, 4..=4)
}
