//! Appends of a server: the groups that wait go together in one transaction.

use super::{locked, Append, SharedState};
use crate::space::tables::SegmentRow;
use crate::space::work::{Found, Move, Rollback, Work};
use interweave_store::{check_record, version_after, Record, StoreError};
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{CheckpointHead, Durability, LogBody};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The owner's knowledge of one of its segments.
#[derive(Debug, Clone, Default)]
pub struct KnownSegment {
    pub claim: u64,
    pub head: u64,
    pub version: u64,
    pub serials_below: u64,
    pub is_removed: bool,
    pub log_bytes: u64,
}

#[derive(Debug, Default)]
pub struct Known {
    segments: BTreeMap<u64, KnownSegment>,
    /// Those of which the end is not known.
    undecided: BTreeSet<u64>,
}

impl Known {
    pub fn get(&self, id: u64) -> Option<&KnownSegment> {
        self.segments.get(&id)
    }

    pub fn forget(&mut self, id: u64) {
        self.segments.remove(&id);
    }

    pub fn insert(&mut self, id: u64, known: KnownSegment) {
        self.undecided.remove(&id);
        self.segments.insert(id, known);
    }

    /// The segment ends so, for good. None: it is not the owner's.
    pub fn decide(&mut self, id: u64, row: Option<&SegmentRow>) {
        self.undecided.remove(&id);
        match row.filter(|row| !row.is_removed) {
            Some(row) => {
                let log_bytes = self.segments.get(&id).map_or(0, |known| known.log_bytes);
                self.segments.insert(id, KnownSegment::of(row, log_bytes));
            }
            None => drop(self.segments.remove(&id)),
        }
    }

    pub fn saved(&mut self, id: u64, head: &CheckpointHead) {
        if let Some(known) = self.segments.get_mut(&id) {
            known.version = known.version.max(head.at.number);
            known.log_bytes = 0;
        }
    }

    /// The number of each segment's last record.
    pub fn heads(&self) -> Vec<(u64, u64)> {
        let all = self.segments.iter();
        all.map(|(id, known)| (*id, known.head)).collect()
    }

    /// The segments that have so many bytes of log.
    pub fn with_log(&self, bytes: u64) -> Vec<u64> {
        let all = self.segments.iter();
        let much = all.filter(|(_, known)| known.log_bytes >= bytes);
        much.map(|(id, _)| *id).collect()
    }
}

impl KnownSegment {
    /// A segment that is the owner's, as its row says.
    pub fn of(row: &SegmentRow, log_bytes: u64) -> KnownSegment {
        KnownSegment {
            claim: row.epoch,
            head: row.head,
            version: row.version,
            serials_below: row.serials_below,
            is_removed: false,
            log_bytes,
        }
    }

    fn take(&mut self, record: &Record) {
        self.head += 1;
        self.log_bytes += 64 + record.diff.len() as u64;
        match &record.body {
            LogBody::Release(release) => self.version = release.version,
            LogBody::Serials(below) => self.serials_below = self.serials_below.max(*below),
            LogBody::Incarnation(stamp) => self.version = stamp.number,
            LogBody::Create(_) => {}
            LogBody::Other(_) => self.is_removed = true,
        }
    }
}

/// Groups in one transaction, and their segments as they are then.
#[derive(Default)]
struct Batch {
    /// Each with the answer of those that could not be part of it.
    taken: Vec<(Append, Result<(), StoreError>)>,
    moves: BTreeMap<u64, Move>,
    after: BTreeMap<u64, KnownSegment>,
    waits: bool,
    /// It was not as the rows are, and these are looked at.
    is_looking: bool,
}

pub struct Appending {
    rest: VecDeque<Append>,
    batch: Batch,
    /// Each group goes alone, because together they could not be.
    is_alone: bool,
}

impl Batch {
    fn together(&self) -> usize {
        self.taken.iter().filter(|(_, taken)| taken.is_ok()).count()
    }

    fn add(&mut self, claim: u64, shared: &SharedState, append: &Append) -> Result<(), StoreError> {
        let shared = locked(shared);
        if let Some(why) = &shared.stopped {
            return Err(why.clone());
        }
        let is_logged = |record: &&Record| {
            append.durable != Durability::Memory || !matches!(record.body, LogBody::Release(_))
        };
        let mut after = BTreeMap::new();
        let mut moves: Vec<(u64, Record)> = Vec::new();
        for record in append.group.iter().filter(is_logged) {
            let id = record.segment_id;
            if shared.known.undecided.contains(&id) {
                return Err(StoreError::Unknown(format!(
                    "an earlier append to segment {id} is not settled"
                )));
            }
            check_record(record)?;
            let begun = after.remove(&id).or_else(|| self.after.get(&id).cloned());
            let begun = begun.or_else(|| shared.known.get(id).cloned());
            if begun.is_none() && !matches!(record.body, LogBody::Create(_)) {
                return Err(StoreError::SegmentsFenced(vec![id]));
            }
            let version = begun.as_ref().filter(|known| !known.is_removed);
            let version = version.map(|known| known.version);
            version_after(id, version, begun.is_some(), None, &record.body)?;
            let mut known = begun.unwrap_or(KnownSegment {
                claim,
                ..KnownSegment::default()
            });
            known.take(record);
            after.insert(id, known);
            moves.push((id, record.clone()));
        }
        self.waits |= append.durable == Durability::Synced && !moves.is_empty();
        for (id, record) in moves {
            let known = shared.known.get(id);
            let moved = self.moves.entry(id).or_insert_with(|| Move {
                id,
                claim: known.map_or(claim, |known| known.claim),
                was: known.map(|known| known.head),
                records: Vec::new(),
            });
            moved.records.push(record);
        }
        self.after.extend(after);
        Ok(())
    }

    fn ids(&self) -> Vec<u64> {
        self.moves.keys().copied().collect()
    }

    fn answer(self, result: &Result<(), StoreError>) {
        for (append, taken) in self.taken {
            (append.done)(taken.and(result.clone()));
        }
    }
}

impl Appending {
    pub fn of(appends: VecDeque<Append>) -> Appending {
        Appending {
            rest: appends,
            batch: Batch::default(),
            is_alone: false,
        }
    }

    /// The next work for the database. None: all appends are answered.
    pub fn work(&mut self, (owner, claim): (u64, u64), shared: &SharedState) -> Option<Work> {
        if self.batch.is_looking {
            let segments = self.batch.ids();
            return Some(Work::Look { owner, segments });
        }
        while !self.rest.is_empty() && self.batch.taken.is_empty() {
            let count = match self.is_alone {
                true => 1,
                false => self.rest.len(),
            };
            for append in self.rest.drain(..count).collect::<Vec<_>>() {
                let taken = self.batch.add(claim, shared, &append);
                self.batch.taken.push((append, taken));
            }
            if self.batch.moves.is_empty() {
                std::mem::take(&mut self.batch).answer(&Ok(()));
            }
        }
        let batch = &self.batch;
        (!batch.taken.is_empty()).then(|| Work::Append {
            owner,
            claim,
            moves: batch.moves.values().cloned().collect(),
            waits: batch.waits,
        })
    }

    /// The connection could not be made, or broke.
    pub fn fail(self, shared: &SharedState, error: &StoreError, was_sent: bool) {
        let is_unknown = was_sent && !self.batch.is_looking;
        let ids = self.batch.ids();
        let error = match is_unknown {
            true => {
                locked(shared).known.undecided.extend(ids);
                StoreError::Unknown(error.to_string())
            }
            false => error.clone(),
        };
        self.batch.answer(&Err(error.clone()));
        for append in self.rest {
            // The store tries the others over a new connection, which comes to nothing as well.
            (append.done)(Err(StoreError::Io(error.to_string())));
        }
    }

    /// The transaction has ended. Returns what is left to do.
    pub fn ended(
        mut self,
        shared: &SharedState,
        result: Result<Found, Rollback>,
        warned: bool,
    ) -> Option<Appending> {
        if let (true, Ok(Found::Looked(is_owner, rows))) = (self.batch.is_looking, &result) {
            return self.looked(shared, *is_owner, rows);
        }
        match result {
            Ok(_) if warned && !planted::is_in(Defect::WarningBelieved) => {
                locked(shared).known.undecided.extend(self.batch.ids());
                let text = "the wait for the standby was cancelled".to_string();
                self.answer(&Err(StoreError::Unknown(text)))
            }
            Ok(_) => {
                let mut state = locked(shared);
                for (id, after) in &self.batch.after {
                    match after.is_removed {
                        true => drop(state.known.segments.remove(id)),
                        false => drop(state.known.segments.insert(*id, after.clone())),
                    }
                }
                drop(state);
                self.answer(&Ok(()))
            }
            Err(Rollback::NotAsKnown) => {
                self.batch.is_looking = true;
                Some(self)
            }
            Err(Rollback::PathTaken) => {
                let mut moves = self.batch.moves.values();
                let new = moves.find(|m| m.was.is_none()).map_or(0, |m| m.id);
                self.not_together(StoreError::PathTaken(new))
            }
            Err(other) => {
                let error = super::io(other);
                self.not_together(error)
            }
        }
    }

    fn answer(mut self, result: &Result<(), StoreError>) -> Option<Appending> {
        std::mem::take(&mut self.batch).answer(result);
        (!self.rest.is_empty()).then_some(self)
    }

    /// It was rolled back, and a part of its groups may succeed alone.
    fn not_together(mut self, error: StoreError) -> Option<Appending> {
        if self.batch.together() <= 1 {
            return self.answer(&Err(error));
        }
        let batch = std::mem::take(&mut self.batch);
        for (append, _) in batch.taken.into_iter().rev() {
            self.rest.push_front(append);
        }
        self.is_alone = true;
        Some(self)
    }

    /// Says why the rows are not as they were known. Nothing of the batch is kept.
    fn looked(
        self,
        shared: &SharedState,
        is_owner: bool,
        rows: &[(u64, u64, u64)],
    ) -> Option<Appending> {
        if !is_owner {
            let fenced = StoreError::Fenced("it has found this server over".to_string());
            locked(shared).stopped.get_or_insert(fenced.clone());
            return self.answer(&Err(fenced));
        }
        let found = |id: u64| rows.iter().find(|(of, _, _)| *of == id);
        let was = self.batch.moves.values().filter(|m| m.was.is_some());
        let is_foreign = |m: &&Move| found(m.id).is_none_or(|(_, claim, _)| *claim != m.claim);
        let fenced: Vec<u64> = was.clone().filter(is_foreign).map(|m| m.id).collect();
        if !fenced.is_empty() {
            let mut state = locked(shared);
            for id in &fenced {
                state.known.segments.remove(id);
            }
            drop(state);
            return self.not_together(StoreError::SegmentsFenced(fenced));
        }
        let is_behind = |m: &&Move| found(m.id).is_some_and(|(_, _, head)| Some(*head) < m.was);
        if let Some(behind) = was.clone().find(is_behind) {
            let gone = super::gone(behind.id);
            locked(shared).stopped.get_or_insert(gone.clone());
            return self.answer(&Err(gone));
        }
        let text = "the segment's row has changed; the append was rolled back";
        self.not_together(StoreError::Io(text.to_string()))
    }
}
