//! Takes the store's answers, and decides when a segment is saved. Implements the engine's part of
//! [LOG-1], [LOG-5] and [LOG-8].

use super::engine::{stopping, Engine};
use super::journal::{Answered, Entry, Journal};
use super::segment::{Life, SegmentState};
use bytes::Bytes;
use interweave_store::{Checkpoint, Record, StoreError};
use interweave_wire::protocol::{CheckpointHead, Durability, ErrorCode, LogBody};
use interweave_wire::Rejection;
use std::collections::BTreeSet;

/// A checkpoint is taken after so many bytes of log, if the store does not need it before [LOG-5].
const CHECKPOINT_LOG_BYTES: u64 = 64 << 20;
/// Checkpoints are made in memory. No more bytes of them are there at a time, but for one
/// checkpoint.
const SAVING_BYTES: u64 = 256 << 20;
/// A MEMORY segment has no log. While it changes, it is saved after this time, and a second later
/// for each so many bytes of its size.
const MEMORY_SAVE_NS: u64 = 60_000_000_000;
const MEMORY_SAVE_BYTES: u64 = 10 << 20;

pub fn record(segment_id: u64, body: LogBody) -> Record {
    Record {
        segment_id,
        body,
        diff: Bytes::new(),
    }
}

/// Makes the error that a client is told when the store fails.
pub fn rejection(error: &StoreError) -> Rejection {
    let code = match error {
        StoreError::Full(_) | StoreError::Io(_) => ErrorCode::StoreFull,
        StoreError::Fenced(_) | StoreError::Ended(_) | StoreError::Closed => ErrorCode::Stopping,
        StoreError::Damaged { .. } | StoreError::NotWhole { .. } => ErrorCode::Damaged,
        StoreError::TooLarge { .. } => ErrorCode::TooLarge,
    };
    Rejection::new(code, error.to_string())
}

fn memory_is_due(s: &SegmentState, now_ns: u64) -> bool {
    let size_ns = s.master.wire_bytes() / MEMORY_SAVE_BYTES * 1_000_000_000;
    s.unsaved && s.durable == Durability::Memory && now_ns >= s.saved_ns + MEMORY_SAVE_NS + size_ns
}

impl Engine {
    /// Takes the store's answer to an [`super::Effect::Append`] or [`super::Effect::Checkpoint`].
    pub fn stored(&mut self, now_ns: u64, ticket: u64, result: Result<(), StoreError>) {
        self.advance(now_ns);
        self.wire.counters.store_errors += u64::from(result.is_err());
        match self.journal.answered(ticket, result) {
            Some(Answered::Released(release)) => self.release_stored(release),
            Some(Answered::NotReleased(release, error)) => self.release_failed(release, &error),
            Some(Answered::Entry(entry, result)) => self.entry_stored(entry, result),
            None => {}
        }
        self.forget_closed();
    }

    fn entry_stored(&mut self, entry: Entry, result: Result<(), StoreError>) {
        match entry {
            Entry::Creation { segment } => self.creation_stored(segment, result),
            Entry::Removal {
                segment,
                before,
                connection,
                stream,
            } => self.removal_stored(segment, before, (connection, stream), result),
            Entry::Serials { segment, below } => self.serials_stored(segment, below, result),
            Entry::Incarnation { segment } => {
                // The next checkpoint says the incarnation, too. It is due at the latest at the
                // end.
                if let (Err(_), Some(s)) = (result, self.segments.if_still_there(segment)) {
                    s.unsaved = true;
                }
            }
            Entry::Checkpoint { segment, version } => {
                self.checkpoint_stored(segment, version, result)
            }
        }
    }

    /// Notes that the store is gone for good, if the error says so: the server must stop then. A
    /// store that only refuses writes, because of damage, is still read from.
    pub fn store_stopped(&mut self, why: StoreError) {
        self.journal.store_stopped(why);
    }

    /// Returns why the server must stop: another server owns the store, or the store has ended.
    pub fn lost_store(&self) -> Option<&StoreError> {
        self.journal.lost_store()
    }

    /// Whether nothing is on its way to the store.
    pub fn is_idle(&self) -> bool {
        self.journal.is_idle()
    }

    fn serials_stored(&mut self, number: u32, below: u64, result: Result<(), StoreError>) {
        let Some(s) = self.segments.if_still_there(number) else {
            return;
        };
        match s.serials_stored(below, result) {
            Ok(()) => self.grant_waiting(number),
            Err(rejection) => s.refuse_writers(&mut self.wire, &rejection),
        }
    }

    /// Takes the store's wants: the bytes of log of each segment since its checkpoint, and the
    /// segments that must be saved for other reasons.
    pub fn store_looked_at(
        &mut self,
        now_ns: u64,
        log_bytes: &dyn Fn(u64) -> u64,
        overdue: &[u64],
    ) {
        self.advance(now_ns);
        let overdue: BTreeSet<u64> = overdue.iter().copied().collect();
        let due = self.segments.iter().filter(|s| {
            let much = CHECKPOINT_LOG_BYTES.max(2 * s.master.wire_bytes());
            overdue.contains(&s.id)
                || log_bytes(s.id) > much
                || memory_is_due(s, self.wire.now_ns())
        });
        // The smallest segments come first, because where space is short they make room for others.
        let mut due: Vec<(u64, u32)> = due.map(|s| (s.master.wire_bytes(), s.number)).collect();
        due.sort_unstable();
        self.save_some(&due);
        for s in self.segments.iter_mut().filter(|s| s.unlogged) {
            s.unlogged = false;
            s.log_creation(&mut self.journal);
        }
    }

    /// Saves as many segments as may be under way together. The others are due at the next look.
    fn save_some(&mut self, due: &[(u64, u32)]) {
        let saving = self.segments.iter().filter(|s| s.checkpointing);
        let mut bytes: u64 = saving.map(|s| s.master.wire_bytes()).sum();
        let now_ns = self.wire.now_ns();
        for &(wire_bytes, number) in due {
            if bytes > 0 && bytes + wire_bytes > SAVING_BYTES {
                return;
            }
            bytes += wire_bytes;
            self.segments.found(number).save(&mut self.journal, now_ns);
        }
    }

    fn checkpoint_stored(&mut self, number: u32, version: u64, result: Result<(), StoreError>) {
        let Some(s) = self.segments.if_still_there(number) else {
            return;
        };
        s.checkpointing = false;
        s.unsaved |= result.is_err();
        debug_assert!(version <= s.master.newest());
    }

    /// Begins to stop the server. From now on new sessions, writer locks, new segments and removals
    /// are refused, and so are requests that wait for the writer lock. The caller brings the
    /// store's answers until [`Engine::is_idle`].
    pub fn stop(&mut self, now_ns: u64) {
        self.advance(now_ns);
        if self.stopping {
            return;
        }
        self.stopping = true;
        for s in self.segments.iter_mut() {
            s.refuse_writers(&mut self.wire, &stopping());
        }
    }

    /// Saves the segments with unsaved changes, and tells the clients to go. REQUIRES: all releases
    /// have ended.
    pub fn save_and_part(&mut self, now_ns: u64) {
        self.advance(now_ns);
        let now_ns = self.wire.now_ns();
        for s in self.segments.iter_mut().filter(|s| s.unsaved) {
            s.save(&mut self.journal, now_ns);
        }
        self.wire.part();
        self.forget_closed();
    }

    /// Whether all changes are saved.
    pub fn is_saved(&self) -> bool {
        self.segments.iter().all(|s| !s.unsaved)
    }
}

impl SegmentState {
    /// Saves the whole segment, unless a save is under way or the segment cannot be saved.
    fn save(&mut self, journal: &mut Journal, now_ns: u64) {
        if self.checkpointing || self.unlogged || !self.is_stored || self.life != Life::Open {
            return;
        }
        self.checkpointing = true;
        self.saved_ns = now_ns;
        self.unsaved = false;
        let head = CheckpointHead {
            magic: *b"IWC3",
            segment_id: self.id,
            path: self.path.clone(),
            durable: self.durable,
            quota_bytes: self.quota_bytes,
            at: self.stamp().into(),
            next_serial: self.serials.next(),
            fence: self.lock.last_fence(),
            parent: 0,
            releases: self.remembered.iter().cloned().collect(),
            fields: Vec::new(),
            diff_bytes: 0,
        };
        let checkpoint = Checkpoint {
            head,
            diff: self.master.checkpoint(),
        };
        journal.save(self.number, checkpoint);
    }
}
