//! The rows: one a segment.

use bytes::Bytes;
use interweave_store::{creator_of, End, Piece, Record, RecoveredSegment, StoreError};
use interweave_wire::protocol::{
    CheckpointHead, Durability, IdentityField, LogBody, LogCreate, LogKind, LogRelease, MAX_PATH,
};
use std::collections::hash_map::DefaultHasher;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// Claimed, and not created yet.
    Free,
    Here,
    Removed,
}

#[derive(Debug, Clone)]
struct Released {
    release: LogRelease,
    diff: Bytes,
    hash: u64,
}

/// A segment.
#[derive(Debug, Clone)]
pub struct Row {
    /// The epoch of the claim that has the row.
    pub epoch: u64,
    life: Life,
    created: Option<LogCreate>,
    creator: Option<Box<IdentityField>>,
    version: u64,
    incarnation: u64,
    serials_below: u64,
    releases: Vec<Released>,
    checkpoint: Option<(CheckpointHead, Bytes)>,
    pieces: Vec<Piece>,
    damage: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Tables {
    pub rows: BTreeMap<u64, Row>,
    /// The last owner has ended in order.
    pub is_clean: bool,
}

fn hash(diff: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    diff.hash(&mut hasher);
    hasher.finish()
}

fn refused<T>(text: String) -> Result<T, StoreError> {
    Err(StoreError::Io(text))
}

impl Row {
    /// A segment that this claim may create.
    pub fn free(epoch: u64) -> Row {
        Row {
            epoch,
            life: Life::Free,
            created: None,
            creator: None,
            version: 0,
            incarnation: 0,
            serials_below: 0,
            releases: Vec::new(),
            checkpoint: None,
            pieces: Vec::new(),
            damage: None,
        }
    }

    pub fn end(&self) -> End {
        match self.life {
            Life::Here => End::At {
                incarnation: self.incarnation,
                version: self.version,
                serials_below: self.serials_below,
            },
            Life::Free | Life::Removed => End::Absent,
        }
    }

    fn apply(&mut self, record: &Record) -> Result<(), StoreError> {
        let id = record.segment_id;
        if let LogBody::Create(create) = &record.body {
            if self.life != Life::Free {
                return refused(format!("segment {id} was created before"));
            }
            self.life = Life::Here;
            self.incarnation = create.incarnation;
            self.created = Some(create.clone());
            self.creator = creator_of(&record.fields).map(Box::new);
            return Ok(());
        }
        if self.life != Life::Here {
            return refused(format!("the store has no segment {id}"));
        }
        if record.body == LogBody::Other(LogKind::Remove as i32) {
            self.life = Life::Removed;
            return Ok(());
        }
        if let Some(what) = &self.damage {
            return Err(StoreError::Damaged {
                file: format!("row {id}"),
                offset: 0,
                what: what.clone(),
            });
        }
        match &record.body {
            LogBody::Release(release) if release.version == self.version + 1 => {
                self.version = release.version;
                self.releases.push(Released {
                    release: release.clone(),
                    diff: record.diff.clone(),
                    hash: hash(&record.diff),
                });
                Ok(())
            }
            LogBody::Release(release) => refused(format!(
                "version {} of segment {id} follows {}",
                release.version, self.version
            )),
            LogBody::Serials(below) => {
                self.serials_below = self.serials_below.max(*below);
                Ok(())
            }
            LogBody::Incarnation(stamp) => {
                self.incarnation = stamp.incarnation;
                self.version = stamp.number;
                self.releases.retain(|r| r.release.version <= stamp.number);
                Ok(())
            }
            LogBody::Create(_) | LogBody::Other(_) => {
                refused("only the store itself writes such a record".to_string())
            }
        }
    }

    fn save(
        &mut self,
        mut head: CheckpointHead,
        (diff, pieces): (Bytes, Vec<Piece>),
    ) -> Result<(), StoreError> {
        if head.path.len() > MAX_PATH as usize {
            return refused("the checkpoint's head is too long".to_string());
        }
        let saved = self.checkpoint.as_ref();
        if saved.is_some_and(|(before, _)| before.at.number > head.at.number) {
            return refused("a checkpoint before the last one".to_string());
        }
        head.next_serial = head.next_serial.max(self.serials_below);
        self.version = self.version.max(head.at.number);
        self.releases.retain(|r| r.release.version > head.at.number);
        self.checkpoint = Some((head, diff));
        self.pieces = pieces;
        Ok(())
    }

    /// Notes damage if a release is not as it was written.
    pub fn check(&mut self) {
        let is_damaged = |r: &Released| hash(&r.diff) != r.hash;
        if let Some(release) = self.releases.iter().position(is_damaged) {
            self.damage = Some(format!("release {release} has changed"));
        }
    }

    fn recovered(&self, segment_id: u64, clean: bool) -> Option<RecoveredSegment> {
        let created = self.created.as_ref().filter(|_| self.life == Life::Here)?;
        let releases = self
            .releases
            .iter()
            .map(|r| (r.release.clone(), r.diff.clone()));
        let logged = releases.take(match self.damage {
            Some(_) => 0,
            None => usize::MAX,
        });
        Some(RecoveredSegment {
            segment_id,
            epoch: self.epoch,
            path: created.path.clone(),
            durable: created.durable,
            quota_bytes: created.quota_bytes,
            creator: self.creator.clone(),
            incarnation: self.incarnation,
            checkpoint: self.checkpoint.clone(),
            pieces: self.pieces.clone(),
            releases: logged.collect(),
            serials_below: self.serials_below,
            clean,
            damage: self.damage.clone(),
        })
    }
}

impl Tables {
    /// Applies the records, of which a caller keeps all or none.
    pub fn apply(&mut self, epoch: u64, records: &[Record]) -> Result<(), StoreError> {
        for record in records {
            if record.segment_id == 0 {
                return refused("0 is not a segment's number".to_string());
            }
            let row = self.rows.entry(record.segment_id);
            row.or_insert_with(|| Row::free(epoch)).apply(record)?;
        }
        self.is_clean = false;
        Ok(())
    }

    pub fn save(
        &mut self,
        head: CheckpointHead,
        content: (Bytes, Vec<Piece>),
    ) -> Result<(), StoreError> {
        let row = self.rows.get_mut(&head.segment_id);
        match row.filter(|row| row.life == Life::Here) {
            Some(row) => row.save(head, content),
            None => refused(format!("no segment {} to checkpoint", head.segment_id)),
        }
    }

    pub fn recovered(&self) -> Vec<RecoveredSegment> {
        let rows = self.rows.iter();
        rows.filter_map(|(&id, row)| row.recovered(id, self.is_clean))
            .collect()
    }

    /// Changes a bit of the release with that diff.
    pub fn damage(&mut self, diff: &[u8]) {
        let releases = self.rows.values_mut().flat_map(|row| &mut row.releases);
        for released in releases.filter(|r| r.diff == diff) {
            let mut bytes = released.diff.to_vec();
            bytes[diff.len() / 2] ^= 1;
            released.diff = bytes.into();
        }
    }

    /// Returns the records that are kept: all but the releases of MEMORY.
    pub fn logged(records: Vec<Record>, durable: Durability) -> Vec<Record> {
        let is_logged = |record: &Record| {
            durable != Durability::Memory || !matches!(record.body, LogBody::Release(_))
        };
        records.into_iter().filter(is_logged).collect()
    }
}
