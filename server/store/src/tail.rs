//! The end of the log: where groups are written, and what becomes of it when that fails.
//!
//! After an error the file is given up and the groups go into a new one [LOG-4]. Before that, the
//! store writes again what a failed sync may have left out of the file. If no new file can be made,
//! every group is refused until a trial makes one. A group is said to have failed only when its
//! bytes cannot come back after a crash: the file was cut before them, or a newer file's number
//! says that it ends there.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::LogHeader;

use crate::disk::{OpenFile, SharedDisk};
use crate::embedded::RandomFn;
use crate::files::{self, failed, log_name};
use crate::group::{header, Group};
use crate::history::CLEAN_STOP;
use crate::identity::Identity;
use crate::index::{Index, Written};
use crate::log::Log;
use crate::owner::Owner;
use crate::record::{PlaceInGroup, FILE_HEAD_BYTES};
use crate::space::{self, Space};
use crate::status::Status;
use crate::store::{Done, Full};
use crate::witness::{Entry, Witness};
use crate::StoreError;

/// The log is overdue for checkpoints when it has more files than this, and more than twice what
/// the checkpoints hold.
const SLACK_FILES: u64 = 3;
/// How long nothing is asked of a segment whose checkpoint has failed.
const POSTPONED: Duration = Duration::from_secs(5);

/// Why nothing is written now.
struct Refusal {
    error: StoreError,
    /// When to see whether it is over; None: it never is.
    next_trial: Option<Instant>,
}

pub struct Tail {
    disk: SharedDisk,
    owner: Arc<Owner>,
    status: Arc<Status>,
    pub index: Index,
    log: Log,
    witness: Witness,
    space: Space,
    trial_interval: Duration,
    refusal: Option<Refusal>,
    /// Groups that failed, but may yet be found in the file.
    failed_uncut: Vec<Done>,
    identity: Identity,
    random: RandomFn,
}

/// The parts that the end of the log is made of.
pub struct Parts {
    pub disk: SharedDisk,
    pub owner: Arc<Owner>,
    pub status: Arc<Status>,
    pub index: Index,
    pub log: Log,
    pub space: Space,
    pub trial_interval: Duration,
    /// There was no space for a log file that has room for records.
    pub full: Option<io::Error>,
    /// Said in the head of each log file.
    pub identity: Identity,
    pub random: RandomFn,
}

impl Tail {
    pub fn new(parts: Parts, now: Instant) -> Tail {
        let mut tail = Tail {
            witness: Witness::begin(&*parts.disk, parts.log.head()),
            disk: parts.disk,
            owner: parts.owner,
            status: parts.status,
            index: parts.index,
            log: parts.log,
            space: parts.space,
            trial_interval: parts.trial_interval,
            refusal: None,
            failed_uncut: Vec::new(),
            identity: parts.identity,
            random: parts.random,
        };
        if let Some(error) = parts.full {
            tail.refuse(&error, now);
        }
        tail.trim(now);
        tail
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    /// How many bytes of records go together into one file, if the first group has `first`.
    pub fn room_for(&self, first: u64) -> u64 {
        match first <= self.log.room() {
            true => self.log.room(),
            // how large the next file can be is not known yet
            false => first.max(self.space.smallest() - FILE_HEAD_BYTES),
        }
    }

    /// When the next trial is due, if one is.
    pub fn next_trial(&self) -> Option<Instant> {
        self.refusal.as_ref()?.next_trial
    }

    /// Writes the groups, in a new file if this one fails. On an error the groups are answered by
    /// `fail`.
    pub fn write(&mut self, groups: &[Group], now: Instant) -> Result<(), StoreError> {
        // A refused append hears of a newer owner, too: no trial would ever succeed.
        self.owner.check().map_err(|error| self.stop(error))?;
        if let Some(refusal) = &self.refusal {
            return Err(refusal.error.clone());
        }
        let mut outcome = self.try_write(groups, now);
        if let (Err(error), true) = (&outcome, self.log.is_abandoned()) {
            self.status
                .error(&failed("writing", &self.log.path(), error));
            // A newer owner may have read this file, and has files of its own behind it.
            self.owner.check().map_err(|error| self.stop(error))?;
            self.read_again(now)?;
            outcome = self.try_write(groups, now);
        }
        outcome.map_err(|error| self.refuse(&error, now))?;
        // a newer owner begins to read only after this would have failed
        self.owner.check().map_err(|error| self.stop(error))
    }

    fn try_write(&mut self, groups: &[Group], now: Instant) -> io::Result<()> {
        let bytes: u64 = groups.iter().map(|group| group.bytes).sum();
        if bytes > self.log.room() {
            self.roll(bytes, now)?;
        }
        let mut batch = self.log.batch();
        let mut written: Vec<Written> = Vec::new();
        let mut entries: Vec<Entry> = Vec::new();
        let mut chains: HashMap<u64, u32> = HashMap::new();
        for group in groups {
            for (i, record) in group.records.iter().enumerate() {
                let segment_id = record.segment_id;
                let chain = chains.entry(segment_id);
                let chain = chain.or_insert_with(|| self.index.chain(segment_id));
                let place = PlaceInGroup {
                    continues: i > 0,
                    goes_on: i + 1 < group.records.len(),
                };
                let header = header(record, self.owner.epoch, *chain);
                let offset = (self.log.end() + batch.bytes()) as u32;
                let (crc, bytes) = batch.push(place, &header, &record.diff);
                *chain = crc;
                entries.push(Entry {
                    offset,
                    crc,
                    segment_id,
                });
                written.push(Written {
                    segment_id,
                    crc,
                    bytes,
                    body: header.body,
                });
            }
        }
        let sync = groups.iter().any(|group| group.sync);
        self.log.append(&batch, written.len() as u64, sync)?;
        self.index
            .written(self.log.first(), self.log.end(), &written);
        entries.into_iter().for_each(|e| self.witness.wrote(e));
        self.witness_sync();
        Ok(())
    }

    fn witness_sync(&mut self) {
        witness_sync(&self.log, &mut self.witness);
    }

    /// Whether the witness has said something since it was brought to the disk.
    pub fn has_unsynced_witness(&self) -> bool {
        self.witness.is_unsynced()
    }

    pub fn take_unsynced_witness(&mut self) -> Option<OpenFile> {
        self.witness.take_unsynced()
    }

    /// Says that the groups have failed, now or as soon as that is certain.
    pub fn fail(&mut self, groups: impl Iterator<Item = Done>, error: &StoreError) {
        if self.log.is_uncut() && !planted::is_in(Defect::FailedTooEarly) {
            self.failed_uncut.extend(groups);
            self.answer_failed();
        } else {
            groups.for_each(|done| done(Err(error.clone())));
        }
    }

    /// Answers the groups that failed, once the file is cut before them. A newer owner may have
    /// taken them for good: then the file is that owner's, and is not cut.
    fn answer_failed(&mut self) {
        if self.log.is_uncut() {
            match self.owner.check() {
                Err(error) => drop(self.stop(error)),
                Ok(()) if self.log.cut().is_err() => return,
                Ok(()) => {}
            }
        }
        let refused = self.refusal.as_ref().map(|refusal| refusal.error.clone());
        let error = refused.unwrap_or_else(|| StoreError::Io("it could not be written".into()));
        for done in self.failed_uncut.drain(..) {
            done(Err(error.clone()));
        }
    }

    /// Brings everything written to the disk.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        self.owner.check().map_err(|error| self.stop(error))?;
        let synced = bring_to_disk(&mut self.log, &self.status);
        synced.map_err(|error| failed("syncing", &self.log.path(), &error))?;
        self.witness_sync();
        Ok(())
    }

    /// Syncs as [`Tail::sync`], and sees to it that no group that failed comes back [STORE-11].
    pub fn settle(&mut self) -> Result<(), StoreError> {
        self.answer_failed();
        match (&self.refusal, self.failed_uncut.is_empty()) {
            (Some(refusal), false) => Err(refusal.error.clone()),
            _ => self.sync(),
        }
    }

    /// Goes on in a new file with room for so many bytes of records: a smaller one where space is
    /// scarce.
    fn roll(&mut self, bytes: u64, now: Instant) -> io::Result<()> {
        let needed = FILE_HEAD_BYTES + bytes;
        let mut outcome = Err(space::none());
        for capacity in self.space.capacities(needed, self.index.is_covered()) {
            outcome = self.begin_file(capacity, now);
            if !outcome.as_ref().is_err_and(space::is_lacking) {
                break;
            }
        }
        outcome
    }

    fn begin_file(&mut self, capacity: u64, now: Instant) -> io::Result<()> {
        let numbers = (self.owner.epoch, self.log.next_number());
        let (log, status, witness) = (&mut self.log, &self.status, &mut self.witness);
        let sync = log.sync_fn();
        let about = (((self.random)(), numbers), self.identity);
        let seal = || {
            if !planted::is_in(Defect::UnsealedFile) {
                bring_to_disk(log, status)?;
            }
            log.seal()?;
            witness_sync(log, witness);
            Ok(())
        };
        let fresh = Log::create(&self.disk, about, capacity, sync, seal)?;
        self.index.add_file(fresh.first(), fresh.end());
        self.witness = Witness::begin(&*self.disk, fresh.head());
        self.log = fresh;
        self.trim(now);
        Ok(())
    }

    /// Deletes the log files that nobody needs.
    pub fn trim(&mut self, now: Instant) {
        let unneeded = self.index.take_unneeded(self.log.first());
        if !unneeded.is_empty() && self.owner.check().is_ok() {
            self.forget_witnesses(unneeded.iter().max().copied());
            for first in unneeded {
                let name = log_name(first);
                if let Err(error) = self.disk.remove(&name) {
                    let path = self.disk.path().join(name);
                    self.status.error(&failed("removing", &path, &error));
                }
            }
            if let Err(error) = self.disk.sync() {
                let error = failed("syncing", self.disk.path(), &error);
                self.status.error(&error);
            }
        }
        self.tell(now);
    }

    /// A witness without its log file would say that the file is lost: it goes before.
    fn forget_witnesses(&self, through: Option<u64>) {
        let names = self.disk.list().unwrap_or_default();
        let old = |name: &&String| files::witness_first(name).is_some_and(|f| Some(f) <= through);
        let mut removed = names.iter().filter(old).peekable();
        if removed.peek().is_some() {
            for name in removed {
                let _ = self.disk.remove(name);
            }
            let _ = self.disk.sync();
        }
    }

    /// Says how the log is, and which checkpoints would let it be cut [LOG-5].
    fn tell(&mut self, now: Instant) {
        let (data, largest) = self.index.checkpoint_bytes();
        let bound = match self.is_full() || self.space.is_low(largest) {
            true => 0,
            false => SLACK_FILES * self.space.log_file_bytes() + 2 * data,
        };
        // while nothing can be written, not even the newest file must be kept
        let kept = (!self.is_full()).then_some(self.log.first());
        let overdue = self.index.overdue(bound, kept, now);
        let mut told = self.status.lock();
        told.overdue = overdue;
        told.with_much_log = self.index.with_much_log();
        told.status.log_bytes = self.index.total_bytes();
        told.status.log_files = self.index.file_count();
    }

    fn is_full(&self) -> bool {
        let error = self.refusal.as_ref().map(|refusal| &refusal.error);
        matches!(error, Some(StoreError::Full(_)))
    }

    /// A checkpoint lasts: files that it was needed for go, and a full log looks for space at once.
    pub fn look_for_space(&mut self, now: Instant) {
        self.trim(now);
        if let Some(refusal) = &mut self.refusal {
            refusal.next_trial = refusal.next_trial.map(|_| now);
        }
    }

    /// A checkpoint of the segment has failed: it is asked for again only in a while.
    pub fn postpone_checkpoint(&mut self, segment_id: u64, now: Instant) {
        self.index.postpone(segment_id, now + POSTPONED);
        self.tell(now);
    }

    /// What was acknowledged must still be in a file that has failed.
    fn read_again(&mut self, now: Instant) -> Result<(), StoreError> {
        match self.log.is_whole() {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.stop(StoreError::Damaged {
                file: self.log.path().display().to_string(),
                offset: self.log.end(),
                what: "records written before are gone".to_string(),
            })),
            Err(error) => Err(self.refuse(&error, now)),
        }
    }

    /// Refuses everything until a trial succeeds.
    fn refuse(&mut self, error: &io::Error, now: Instant) -> StoreError {
        let error = failed("writing", &self.log.path(), error);
        self.status.error(&error);
        self.status.lock().status.full = Some(Full {
            since: now,
            text: error.to_string(),
        });
        self.refusal = Some(Refusal {
            error: error.clone(),
            next_trial: Some(now + self.trial_interval),
        });
        self.tell(now);
        error
    }

    /// Refuses everything for ever.
    fn stop(&mut self, error: StoreError) -> StoreError {
        self.status.error(&error);
        self.status.lock().status.stopped = Some(error.clone());
        self.refusal = Some(Refusal {
            error: error.clone(),
            next_trial: None,
        });
        error
    }

    /// If a trial is due and the log can continue in a new file, groups are accepted again. A newer
    /// owner ends the trials.
    pub fn try_again(&mut self, now: Instant) {
        if self.next_trial().is_none_or(|at| at > now) {
            return;
        }
        let checked = self.owner.check().map_err(|error| self.stop(error));
        let resumed = checked.is_ok() && self.roll(0, now).is_ok();
        self.answer_failed();
        if resumed {
            self.refusal = None;
            self.status.lock().status.full = None;
            self.space.keep_reserve();
        } else if self.next_trial().is_some()
            && (!self.log.is_doubtful() || self.read_again(now).is_ok())
        {
            // A failed sync may have dropped records for ever. The store then tries no more.
            if let Some(refusal) = &mut self.refusal {
                refusal.next_trial = Some(now + self.trial_interval);
            }
        }
        self.tell(now);
    }

    /// Ends the log; `clean` says that nothing is missing from it.
    pub fn close(&mut self, clean: bool, now: Instant) -> Result<(), StoreError> {
        self.answer_failed();
        for done in self.failed_uncut.drain(..) {
            done(Err(StoreError::Unknown(
                "only the next start can tell".into(),
            )));
        }
        if let Some(refusal) = &self.refusal {
            return Err(refusal.error.clone());
        }
        self.owner.check()?;
        let ended = match clean {
            true => self.stop_cleanly(now),
            false => Ok(()),
        };
        let path = self.log.path();
        ended
            .and_then(|()| bring_to_disk(&mut self.log, &self.status))
            .and_then(|()| self.log.seal())
            .map_err(|error| failed("closing", &path, &error))?;
        self.witness_sync();
        Ok(())
    }

    fn stop_cleanly(&mut self, now: Instant) -> io::Result<()> {
        let header = LogHeader {
            owner: self.owner.epoch,
            segment_id: 0,
            parent: 0,
            body: CLEAN_STOP,
            fields: Vec::new(),
        };
        let place = PlaceInGroup {
            continues: false,
            goes_on: false,
        };
        let bytes = crate::batch::record_bytes(&header, 0);
        if bytes > self.log.room() {
            self.roll(bytes, now)?;
        }
        // the mark then says of everything before it that it was on the disk
        bring_to_disk(&mut self.log, &self.status)?;
        let mut batch = self.log.batch();
        let (crc, _) = batch.push(place, &header, &bytes::Bytes::new());
        self.witness.wrote(Entry {
            offset: self.log.end() as u32,
            crc,
            segment_id: 0,
        });
        self.log.append(&batch, 1, true)?;
        self.witness_sync();
        Ok(())
    }
}

/// Tells the witness how much of the log is on the disk, if that is all of it.
fn witness_sync(log: &Log, witness: &mut Witness) {
    if log.synced() == log.end() {
        witness.synced(log.end());
    }
}

/// Brings the log to the disk. After a sync that fails, what it may have left out is written again.
fn bring_to_disk(log: &mut Log, status: &Status) -> io::Result<()> {
    let is_again = log.is_doubtful();
    match log.sync() {
        Err(error) if !is_again => {
            status.error(&failed("syncing", &log.path(), &error));
            log.sync()
        }
        done => done,
    }
}
