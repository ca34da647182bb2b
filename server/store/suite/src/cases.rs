//! The cases, and what they have in common.

mod answers;
mod checkpoints;
mod durable;
mod groups;
mod history;
mod owners;
mod refused;
mod segments;
mod unknown;

use crate::place::{Ability, Crash, Make, Opened, Place};
use crate::records::{create, releases};
use bytes::Bytes;
use interweave_store::{Checkpoint, Done, End, Record, RecoveredSegment, SegmentStore, StoreError};
use interweave_wire::protocol::Durability;
use std::collections::BTreeMap;
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

/// A store that answers later than this does not answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Something that every store must do.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    /// The promises of docs/store.md that it tests.
    pub promises: &'static str,
    pub needs: &'static [Ability],
    pub run: fn(Make<'_>) -> Held,
}

/// An error says which promise is broken, and how.
pub type Held = Result<(), String>;

pub fn all() -> Vec<Case> {
    let rooms = [
        owners::CASES,
        durable::CASES,
        groups::CASES,
        refused::CASES,
        unknown::CASES,
        segments::CASES,
        checkpoints::CASES,
        answers::CASES,
        history::CASES,
    ];
    rooms.concat()
}

/// Returns an error unless `is_so`.
pub fn ensure(is_so: bool, text: impl FnOnce() -> String) -> Held {
    match is_so {
        true => Ok(()),
        false => Err(text()),
    }
}

pub type Answer = Receiver<Result<(), StoreError>>;

/// A request's `done`, and where its answer comes.
fn asked() -> (Done, Answer) {
    let (done, answer) = channel();
    // Nobody hears when the case has failed meanwhile.
    let done = move |result| done.send(result).unwrap_or(());
    (Box::new(done), answer)
}

/// Returns the store's answer; an error if the store does not answer.
pub fn heard(answer: &Answer) -> Result<Result<(), StoreError>, String> {
    let heard = answer.recv_timeout(PATIENCE);
    heard.map_err(|_| "a request was never answered".to_string())
}

/// Returns an error unless the store answers that it has kept the group.
pub fn kept(answer: &Answer) -> Held {
    heard(answer)?.map_err(|error| format!("an append was refused: {error}"))
}

/// An append that stands still. It continues when the case ends, whatever its end is: the
/// owner's store waits for it then.
pub struct Holding<'a>(&'a dyn Place);

/// Has the next append stand still at that step.
fn hold(place: &dyn Place, step: u32) -> Holding<'_> {
    place.hold(step);
    Holding(place)
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        self.0.let_go();
    }
}

/// An owner of the store.
pub struct Owner {
    pub store: Box<dyn SegmentStore>,
    pub segments: BTreeMap<u64, RecoveredSegment>,
}

impl Owner {
    pub fn open(place: &dyn Place) -> Result<Owner, String> {
        let opened = place.open();
        let Opened { store, segments } =
            opened.map_err(|error| format!("the store cannot be opened: {error}"))?;
        let segments = segments.into_iter().map(|s| (s.segment_id, s)).collect();
        Ok(Owner { store, segments })
    }

    /// Opens an empty store and creates the segments.
    pub fn with(place: &dyn Place, segments: &[u64]) -> Result<Owner, String> {
        let owner = Owner::open(place)?;
        let group = segments.iter().map(|&id| create(id, Durability::Synced));
        owner.keeps(group.collect())?;
        Ok(owner)
    }

    pub fn append(&self, group: Vec<Record>, durable: Durability) -> Answer {
        let (done, answer) = asked();
        self.store.append(group, durable, done);
        answer
    }

    pub fn checkpoint(&self, checkpoint: Checkpoint) -> Answer {
        let (done, answer) = asked();
        self.store.checkpoint(checkpoint, done);
        answer
    }

    /// Appends a group that stands still at that step.
    pub fn held<'a>(
        &self,
        place: &'a dyn Place,
        step: u32,
        group: Vec<Record>,
    ) -> Result<(Holding<'a>, Answer), String> {
        let holding = hold(place, step);
        let answer = self.append(group, Durability::Synced);
        ensure(place.is_held(), || "the append was not held".to_string())?;
        Ok((holding, answer))
    }

    pub fn appended(&self, group: Vec<Record>) -> Result<Result<(), StoreError>, String> {
        heard(&self.append(group, Durability::Synced))
    }

    /// Appends what must succeed.
    pub fn keeps(&self, group: Vec<Record>) -> Held {
        kept(&self.append(group, Durability::Synced))
    }

    /// Asks the store where the segments end.
    pub fn settle(&self, segments: &[u64]) -> Result<BTreeMap<u64, End>, String> {
        let (settled, answer) = channel();
        let settled = Box::new(move |result| settled.send(result).unwrap_or(()));
        self.store.settle(segments.to_vec(), settled);
        let ends = answer.recv_timeout(PATIENCE);
        let ends = ends.map_err(|_| "settle was never answered".to_string())?;
        let ends = ends.map_err(|error| format!("settle failed: {error}"))?;
        Ok(ends.into_iter().collect())
    }

    /// Returns the version at which the segment ends; None: it is gone, or another owner has it.
    pub fn end(&self, segment_id: u64) -> Result<Option<u64>, String> {
        Ok(match self.settle(&[segment_id])?.get(&segment_id) {
            Some(End::At { version, .. }) => Some(*version),
            _ => None,
        })
    }

    pub fn segment(&self, segment_id: u64) -> Result<&RecoveredSegment, String> {
        let segment = self.segments.get(&segment_id);
        segment.ok_or_else(|| format!("segment {segment_id} is gone"))
    }

    /// The releases of a segment that must be sound.
    pub fn releases(&self, segment_id: u64) -> Result<Vec<(u64, Bytes)>, String> {
        let segment = self.segment(segment_id)?;
        match &segment.damage {
            Some(damage) => Err(format!("segment {segment_id} is damaged: {damage}")),
            None => Ok(releases(segment)),
        }
    }

    /// Returns an error unless the segment has these releases, in this order.
    pub fn has(&self, segment_id: u64, expected: &[Record]) -> Held {
        let found = self.releases(segment_id)?;
        let diffs = found.iter().map(|(_, diff)| diff);
        let is_same = diffs.eq(expected.iter().map(|record| &record.diff));
        let versions: Vec<u64> = found.iter().map(|(version, _)| *version).collect();
        ensure(is_same, || {
            format!(
                "segment {segment_id} has versions {versions:?}, and {} releases were to be there",
                expected.len()
            )
        })
    }

    /// The store crashes, and another owner opens it.
    pub fn crash(self, place: &dyn Place, crash: Crash) -> Result<Owner, String> {
        place.crash(crash);
        drop(self);
        Owner::open(place)
    }
}
