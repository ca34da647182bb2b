//! The rows of the database, as docs/store.md lists them. A row is replaced as a whole, so that a
//! copy of all tables costs little.

use bytes::Bytes;
use interweave_store::{creator_of, End, Piece, Record, RecoveredSegment, Since};
use interweave_wire::chain;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{
    CheckpointHead, Durability, IdentityField, LogBody, LogCreate, LogKind, LogRelease,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A server that shares the store [SPACE-1].
#[derive(Debug, Clone)]
pub struct OwnerRow {
    /// Its claim for new segments.
    pub claim: u64,
    pub address: String,
    pub lease_ms: u64,
    pub counter: u64,
    pub is_clean: bool,
    /// It claims and creates nothing any more [SPACE-24].
    pub is_drained: bool,
}

/// A checkpoint that is valid.
#[derive(Debug)]
pub struct Saved {
    pub head: CheckpointHead,
    pub diff: Bytes,
    pub pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
pub struct SegmentRow {
    /// The epoch of its claim, and that of the server that has claimed it.
    pub epoch: u64,
    pub owner: u64,
    /// The number of its last record.
    pub head: u64,
    pub version: u64,
    pub incarnation: u64,
    pub serials_below: u64,
    pub is_removed: bool,
    created: LogCreate,
    creator: Option<Box<IdentityField>>,
    saved: Option<Arc<Saved>>,
    /// Those that the checkpoint lacks.
    releases: Vec<Arc<(LogRelease, Bytes)>>,
    /// The records from the last one on that the checkpoint has.
    marks: Vec<Mark>,
}

/// A record of the log.
#[derive(Debug, Clone, Copy)]
struct Mark {
    number: u64,
    /// Made of this record and all before it.
    crc: u64,
    /// The segment's version then.
    version: u64,
}

/// A segment as it was read before it was claimed [SPACE-18].
#[derive(Debug, Clone)]
pub struct FollowedCopy {
    pub segment: u64,
    incarnation: u64,
    version: u64,
    last: Mark,
    saved: Option<Arc<Saved>>,
}

#[derive(Debug, Clone, Default)]
pub struct Tables {
    pub last_epoch: u64,
    pub owners: BTreeMap<u64, Arc<OwnerRow>>,
    pub segments: BTreeMap<u64, Arc<SegmentRow>>,
    pub paths: BTreeMap<String, u64>,
}

/// A row that a transaction writes.
#[derive(Debug, Clone)]
pub enum Change {
    Store { last_epoch: u64 },
    Owner(u64, Option<Arc<OwnerRow>>),
    Segment(u64, Arc<SegmentRow>),
    Path(String, Option<u64>),
}

impl Tables {
    pub fn apply(&mut self, changes: &[Change]) {
        for change in changes {
            match change {
                Change::Store { last_epoch } => self.last_epoch = *last_epoch,
                Change::Owner(epoch, row) => put(&mut self.owners, *epoch, row.clone()),
                Change::Segment(id, row) => {
                    self.segments.insert(*id, Arc::clone(row));
                }
                Change::Path(path, id) => put(&mut self.paths, path.clone(), *id),
            }
        }
    }
}

fn put<K: Ord, V>(rows: &mut BTreeMap<K, V>, key: K, row: Option<V>) {
    match row {
        Some(row) => drop(rows.insert(key, row)),
        None => drop(rows.remove(&key)),
    }
}

/// Chains a record to those before it.
fn mix(before: u64, body: &LogBody) -> u64 {
    let (kind, first, second) = match body {
        LogBody::Create(create) => (1, create.incarnation, 0),
        LogBody::Release(release) => (2, release.version, release.chain),
        LogBody::Serials(below) => (3, *below, 0),
        LogBody::Incarnation(stamp) => (4, stamp.incarnation, stamp.number),
        LogBody::Other(kind) => (5, *kind as u64, 0),
    };
    let parts = [kind, first, second];
    let bytes: Vec<u8> = parts.iter().flat_map(|part| part.to_be_bytes()).collect();
    chain::next(before, &bytes)
}

impl SegmentRow {
    /// The row of a segment that is made by the first of its records.
    pub fn created(create: &LogCreate, record: &Record, (epoch, owner): (u64, u64)) -> SegmentRow {
        SegmentRow {
            epoch,
            owner,
            head: 0,
            version: 0,
            incarnation: create.incarnation,
            serials_below: 0,
            is_removed: false,
            created: create.clone(),
            creator: creator_of(&record.fields).map(Box::new),
            saved: None,
            releases: Vec::new(),
            marks: Vec::new(),
        }
    }

    pub fn end(&self) -> End {
        match self.is_removed {
            true => End::Absent,
            false => End::At {
                incarnation: self.incarnation,
                version: self.version,
                serials_below: self.serials_below,
            },
        }
    }

    pub fn path(&self) -> &str {
        &self.created.path
    }

    /// Takes the next record, which may follow.
    pub fn take(&mut self, record: &Record) {
        self.head += 1;
        match &record.body {
            LogBody::Create(_) => {}
            LogBody::Release(release) => {
                self.version = release.version;
                let release = (release.clone(), record.diff.clone());
                self.releases.push(Arc::new(release));
            }
            LogBody::Serials(below) => self.serials_below = self.serials_below.max(*below),
            LogBody::Incarnation(stamp) => {
                self.incarnation = stamp.incarnation;
                self.version = stamp.number;
                self.releases.retain(|r| r.0.version <= stamp.number);
            }
            LogBody::Other(kind) => self.is_removed |= *kind == LogKind::Remove as i32,
        }
        let before = self.marks.last().map_or(0, |mark| mark.crc);
        self.marks.push(Mark {
            number: self.head,
            crc: mix(before, &record.body),
            version: self.version,
        });
    }

    pub fn save(&mut self, saved: Arc<Saved>) {
        let number = saved.head.at.number;
        self.version = self.version.max(number);
        // Its record may have been refused: then the checkpoint alone says it.
        self.incarnation = self.incarnation.max(saved.head.at.incarnation);
        self.releases.retain(|r| r.0.version > number);
        self.saved = Some(saved);
        let covered = self.marks.iter().rposition(|mark| mark.version <= number);
        self.marks.drain(..covered.unwrap_or(0));
    }

    /// Whether that checkpoint is of before the last one.
    pub fn is_saved_beyond(&self, head: &CheckpointHead) -> bool {
        let last = self.saved.as_ref();
        last.is_some_and(|last| last.head.at.number > head.at.number)
    }

    fn is_logged(&self) -> bool {
        self.created.durable != Durability::Memory
    }

    /// The knowledge of a server that has read the segment now.
    pub fn followed(&self, segment: u64) -> Option<FollowedCopy> {
        Some(FollowedCopy {
            segment,
            incarnation: self.incarnation,
            version: self.version,
            last: *self.marks.last()?,
            saved: self.saved.clone(),
        })
    }

    /// The records that came since the copy was read, as a claim under that epoch finds them. None:
    /// a log does not tell that.
    pub fn since(&self, copy: &FollowedCopy, (epoch, clean): (u64, bool)) -> Option<Since> {
        let is_there = |mark: &Mark| (mark.number, mark.crc) == (copy.last.number, copy.last.crc);
        let is_same_checkpoint = match (&self.saved, &copy.saved) {
            (Some(now), Some(before)) => Arc::ptr_eq(now, before),
            (now, before) => now.is_none() && before.is_none(),
        };
        let is_told = self.marks.iter().any(is_there)
            && (self.is_logged() || is_same_checkpoint)
            && (self.incarnation == copy.incarnation
                || planted::is_in(Defect::CopyOfOtherIncarnation));
        if !is_told || self.is_removed {
            return None;
        }
        let releases = self.releases.iter();
        let releases = releases.filter(|r| r.0.version > copy.version);
        Some(Since {
            segment_id: copy.segment,
            epoch,
            releases: releases.map(|r| (r.0.clone(), r.1.clone())).collect(),
            serials_below: self.serials_below,
            clean,
        })
    }

    /// The segment, as a claim under its epoch finds it.
    pub fn recovered(&self, segment_id: u64, clean: bool) -> RecoveredSegment {
        let saved = self.saved.as_deref();
        let releases = self.releases.iter().map(|r| (r.0.clone(), r.1.clone()));
        RecoveredSegment {
            segment_id,
            epoch: self.epoch,
            path: self.created.path.clone(),
            durable: self.created.durable,
            quota_bytes: self.created.quota_bytes,
            creator: self.creator.clone(),
            incarnation: self.incarnation,
            checkpoint: saved.map(|s| (s.head.clone(), s.diff.clone())),
            pieces: saved.map_or_else(Vec::new, |s| s.pieces.clone()),
            releases: releases.collect(),
            serials_below: self.serials_below,
            clean,
            damage: None,
        }
    }
}
