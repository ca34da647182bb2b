//! Takes the store's answers, and decides when a segment is saved. Implements the engine's part of
//! [LOG-1], [LOG-5] and [LOG-8].

use super::creators::creator_fields;
use super::engine::{stopping, Engine};
use super::journal::{Answered, Entry};
use super::saving::{Room, Saving, COUNT_FOR_STORE, COUNT_MAX};
use super::segment::{Life, SegmentState};
use bytes::Bytes;
use interweave_store::{Checkpoint, Next, Piece, Record, StoreError};
use interweave_wire::protocol::{CheckpointHead, Durability, ErrorCode, HeaderField, LogBody};
use interweave_wire::Rejection;

/// A segment that was due and could not be saved is due again then.
const POSTPONED_NS: u64 = 1_000_000_000;
/// Where more is to be saved than in one event, the next look comes after this time.
const TURN_NS: u64 = 1_000_000;
/// A MEMORY segment has no log. While it changes, it is saved after this time, and a second later
/// for each so many bytes of its size.
const MEMORY_SAVE_NS: u64 = 60_000_000_000;
const MEMORY_SAVE_BYTES: u64 = 10 << 20;

pub fn record(segment_id: u64, body: LogBody) -> Record {
    Record {
        segment_id,
        body,
        diff: Bytes::new(),
        fields: Vec::new(),
    }
}

/// Makes the error that a client is told when the store fails.
pub fn rejection(error: &StoreError) -> Rejection {
    let code = match error {
        StoreError::Full(_) | StoreError::Io(_) => ErrorCode::StoreFull,
        StoreError::Alone(_) => ErrorCode::StoreAlone,
        StoreError::Away(_) => ErrorCode::StoreAway,
        StoreError::Fenced(_)
        | StoreError::SegmentsFenced(_)
        | StoreError::PathTaken(_)
        | StoreError::Unknown(_)
        | StoreError::Ended(_)
        | StoreError::Closed => ErrorCode::Stopping,
        StoreError::Damaged { .. } | StoreError::NotWhole { .. } => ErrorCode::Damaged,
        StoreError::TooLarge { .. } => ErrorCode::TooLarge,
    };
    Rejection::new(code, error.to_string())
}

impl Engine {
    /// Takes the store's answer to an [`super::Effect::Append`] or [`super::Effect::Checkpoint`].
    pub fn stored(&mut self, now_ns: u64, ticket: u64, result: Result<(), StoreError>) {
        self.advance(now_ns);
        let is_in_doubt = match &result {
            Err(StoreError::Unknown(text)) => self.doubt(ticket, text),
            _ => false,
        };
        if !is_in_doubt {
            self.take_answer(ticket, result);
        }
        self.forget_closed();
    }

    /// Takes an answer whose outcome is known.
    pub(super) fn take_answer(&mut self, ticket: u64, result: Result<(), StoreError>) {
        self.wire.counters.store_errors += u64::from(result.is_err());
        match &result {
            Err(StoreError::SegmentsFenced(ids)) if self.space.is_some() => {
                let asked_about = self.journal.segments_of(ticket);
                self.lose_segments(ids, &asked_about);
            }
            Err(error) => self.journal.store_stopped(error.clone()),
            Ok(()) => {}
        }
        match self.journal.answered(ticket, result) {
            Some(Answered::Released(release)) => self.release_stored(release),
            Some(Answered::NotReleased(release, error)) => self.release_failed(release, &error),
            Some(Answered::Entry(entry, result)) => self.entry_stored(entry, result),
            None => {}
        }
    }

    fn entry_stored(&mut self, entry: Entry, result: Result<(), StoreError>) {
        match entry {
            Entry::Creation { segment } => {
                self.creation_stored(segment, result);
                self.tell_drained();
            }
            Entry::Removal {
                segment,
                before,
                connection,
                stream,
            } => self.removal_stored(segment, before, (connection, stream), result),
            Entry::Serials { segment, below } => self.serials_stored(segment, below, result),
            Entry::Incarnations { segments } => {
                // The next checkpoint says the incarnation, too. It is due at the latest at the
                // end.
                for number in segments {
                    let Some(segment) = self.segments.if_still_there(number) else {
                        continue;
                    };
                    segment.lacks_incarnation = result.is_err();
                    match &result {
                        Ok(()) => self.go_on_handing(number),
                        Err(error) => {
                            self.saving.changed(number);
                            // The next owner could not continue the segment.
                            self.stop_handing(number, &rejection(error));
                        }
                    }
                }
            }
            Entry::Checkpoint {
                segment, version, ..
            } => self.checkpoint_stored(segment, version, result),
        }
    }

    /// Notes that the store is gone for good, if the error says so: the server must stop then. So
    /// it must where an unknown outcome cannot be settled, because the next start reads it in the
    /// store [STORE-4]. A store that only refuses writes, because of damage, is still read from.
    pub fn store_stopped(&mut self, why: StoreError) {
        self.journal.store_stopped(why);
    }

    /// Returns why the server must stop: another server owns the store, or the store has ended.
    pub fn lost_store(&self) -> Option<&StoreError> {
        self.journal.lost_store()
    }

    /// Whether nothing is on its way to the store.
    pub fn is_idle(&self) -> bool {
        let seeks = self.space.as_ref().is_some_and(|space| !space.is_idle());
        self.journal.is_idle() && !seeks
    }

    fn serials_stored(&mut self, number: u32, below: u64, result: Result<(), StoreError>) {
        let Some(s) = self.segments.if_still_there(number) else {
            return;
        };
        match s.serials_stored(below, result) {
            Ok(()) => self.grant_waiting(number),
            Err(rejection) => {
                s.refuse_writers(&mut self.wire, &rejection);
                self.go_on_handing(number);
            }
        }
    }

    /// The store's answer: the segments with much log, by their ids, and how much they have; and
    /// those that the store wants saved for other reasons.
    pub fn store_looked_at(&mut self, now_ns: u64, with_much_log: &[(u64, u64)], overdue: &[u64]) {
        self.advance(now_ns);
        if self.stopping {
            // The log has what is not saved; a stop does not wait for more.
            return;
        }
        let with_much = with_much_log.iter().filter(|(id, log_bytes)| {
            // Without need, a checkpoint is taken after that much log [LOG-5].
            let segment = self.segments.with_id(*id);
            segment.is_some_and(|s| *log_bytes > 2 * s.master.wire_bytes())
        });
        let wanted = with_much.map(|(id, _)| id).chain(overdue);
        let wanted = wanted.filter_map(|id| Some(self.segments.with_id(*id)?.number));
        let wanted: Vec<u32> = wanted.collect();
        let room = self.save_some(wanted, COUNT_FOR_STORE);
        self.saving.makes_room = room == Room::NotForLarge;
        if room == Room::NextTurn {
            self.journal.look_again(self.wire.now_ns() + TURN_NS);
        }
        self.save_due();
        self.log_creations_again();
    }

    /// Saves MEMORY segments whose time has come.
    fn save_due(&mut self) {
        let now_ns = self.wire.now_ns();
        let due = self.saving.take_due(now_ns);
        let mut begun = due.clone();
        begun.retain(|number| !(self.saving.makes_room && self.is_large(*number)));
        self.save_some(begun, COUNT_MAX);
        for number in due {
            self.saving.postpone(number, now_ns + POSTPONED_NS);
        }
    }

    fn log_creations_again(&mut self) {
        for number in self.saving.take_unlogged() {
            if let Some(s) = self.segments.if_still_there(number) {
                let creator = creator_fields(&self.accounts, s.creator);
                s.log_creation(creator, s.durable, &mut self.journal);
            }
        }
    }

    /// Saves as many as may be under way together, `most` at most. The others are due again at a
    /// later look.
    fn save_some(&mut self, due: Vec<u32>, most: usize) -> Room {
        let size = |number| Some((self.segments.get(number)?.master.wire_bytes(), number));
        let mut due: Vec<(u64, u32)> = due.into_iter().filter_map(size).collect();
        // The smallest first: where space is short they make room for the others.
        due.sort_unstable();
        let mut begun = 0;
        for (_, number) in due {
            let room = self.saving.room(self.is_large(number), most, begun);
            if room != Room::ForAll {
                return room;
            }
            begun += usize::from(self.save(number));
        }
        Room::ForAll
    }

    /// Whether the segment is saved in pieces.
    fn is_large(&self, number: u32) -> bool {
        let segment = self.segments.get(number);
        segment.is_some_and(|s| s.master.wire_bytes() > self.config.whole_bytes)
    }

    /// Saves the segment as a whole. False: that is under way, or it cannot be.
    pub(super) fn save(&mut self, number: u32) -> bool {
        let is_large = self.is_large(number);
        let s = self.segments.found(number);
        let may_begin = self.saving.may_begin(number) && s.is_stored && s.life == Life::Open;
        if may_begin {
            s.saved_ns = self.wire.now_ns();
            self.saving.begin(number, is_large);
            let head = s.checkpoint_head(creator_fields(&self.accounts, s.creator));
            match is_large {
                true => {
                    s.master.begin_checkpoint();
                    self.journal.save_in_pieces(number, Box::new(head));
                }
                false => {
                    let diff = s.master.checkpoint();
                    self.journal.save(number, Checkpoint { head, diff });
                }
            }
        }
        may_begin
    }

    /// The store asks for the next piece of the checkpoint with that ticket.
    pub fn piece_wanted(&mut self, now_ns: u64, ticket: u64) {
        self.advance(now_ns);
        let Some((number, segment_id)) = self.journal.saving(ticket) else {
            return;
        };
        // A stop does not wait for what the log has.
        let is_needed = !(self.stopping && self.saving.is_in_log(number));
        let segment = self.segments.if_still_there(number);
        let segment = segment.filter(|s| is_needed && s.life != Life::Removing);
        let bytes = self.config.piece_bytes;
        let next = match segment.and_then(|s| s.master.next_piece(bytes)) {
            Some((piece, more)) => {
                let (diff, ages) = (piece.diff, piece.ages);
                match more {
                    true => Next::Piece(Piece { diff, ages }),
                    false => Next::Last(Piece { diff, ages }),
                }
            }
            None => {
                self.saving.give_up(number);
                Next::Nothing
            }
        };
        self.journal.give(segment_id, next);
    }

    fn checkpoint_stored(&mut self, number: u32, version: u64, result: Result<(), StoreError>) {
        let is_saved = self.saving.ended(number, result.is_ok());
        let segment = self.segments.get(number);
        // Other segments have all that the checkpoint has in the log, for the next owner.
        let is_waited_for = segment.is_some_and(|s| s.durable == Durability::Memory);
        if let (Err(error), true) = (&result, is_waited_for) {
            self.stop_handing(number, &rejection(error));
        }
        if let Some(s) = self.segments.if_still_there(number) {
            debug_assert!(version <= s.master.newest());
            s.master.end_checkpoint();
            if !is_saved {
                note_unlogged_changes(&mut self.saving, s);
            }
        } else {
            // It was removed meanwhile.
            self.saving.forget(number);
        }
        self.go_on_handing(number);
        match self.stopping {
            true => self.save_at_the_end(),
            false => self.save_due(),
        }
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
        self.stop_all_handing();
        self.stop_seeking_again();
        for s in self.segments.iter_mut() {
            s.refuse_writers(&mut self.wire, &stopping());
        }
        self.settle_doubts();
    }

    /// After the last release: what the log lacks is saved, and clients are told to go.
    pub fn save_and_part(&mut self, now_ns: u64) {
        self.advance(now_ns);
        // A checkpoint follows its segment's creation into the store.
        self.log_creations_again();
        let segments = &self.segments;
        let size = |number| segments.get(number).map_or(0, |s| s.master.wire_bytes());
        self.saving.begin_end(size);
        self.save_at_the_end();
        self.wire.part();
        self.forget_closed();
    }

    /// Saves as much as may be under way together; the rest follows when that has ended.
    fn save_at_the_end(&mut self) {
        while let Some(number) = self.saving.next_at_the_end() {
            // Nobody else is served any more.
            if self.saving.room(self.is_large(number), COUNT_MAX, 0) != Room::ForAll {
                return;
            }
            self.saving.pop_at_the_end();
            self.save(number);
        }
    }

    /// Whether the log or a checkpoint has everything.
    pub fn is_saved(&self) -> bool {
        self.saving.is_saved()
    }
}

/// Changes of a MEMORY segment are in no log: it is saved when some time has passed. What others
/// change is in the log.
pub fn note_unlogged_changes(saving: &mut Saving, s: &SegmentState) {
    if s.is_stored && s.durable == Durability::Memory {
        let size_ns = s.master.wire_bytes() / MEMORY_SAVE_BYTES * 1_000_000_000;
        saving.changed_until(s.number, s.saved_ns + MEMORY_SAVE_NS + size_ns);
    }
}

impl SegmentState {
    /// `creator`: the field that says who made the segment.
    fn checkpoint_head(&self, creator: Vec<HeaderField>) -> CheckpointHead {
        CheckpointHead {
            magic: *b"IWC3",
            segment_id: self.id,
            path: self.path.to_string(),
            durable: self.durable,
            quota_bytes: self.quota_bytes,
            at: self.stamp().into(),
            next_serial: self.serials.next(),
            fence: self.lock.last_fence(),
            parent: 0,
            releases: self.remembered.iter().cloned().collect(),
            fields: creator,
            diff_bytes: 0,
        }
    }
}
