//! The one interface between the server and whatever keeps its segments.

use std::time::{Duration, Instant};

use bytes::Bytes;
use interweave_wire::protocol::{
    CheckpointHead, Durability, HeaderField, IdentityField, LogBody, LogRelease,
};

use crate::access::AccessSource;
use crate::identity::Identity;
use crate::sharing::{
    unshared, Follow, Followed, Give, Given, Members, Page, PageAsked, Pages, Seek, Sought,
};
use crate::StoreError;

/// Hears how an append or a checkpoint ended. It runs on a thread of the store (in `MemoryStore`
/// on the caller's), so it must not wait; sending a message is what it is for.
pub type Done = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// Where a segment ends, once that is decided [STORE-11].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    At {
        incarnation: u64,
        version: u64,
        serials_below: u64,
    },
    /// The store does not have the segment.
    Absent,
    /// Another server owns the segment now, and only that one can tell.
    Fenced,
}

/// Hears where segments end, by their ids. As `Done`, it must not wait.
pub type Settled = Box<dyn FnOnce(Result<Vec<(u64, End)>, StoreError>) + Send>;

/// One record of the log. REMOVE is `LogBody::Other(LogKind::Remove as i32)`.
#[derive(Debug, Clone)]
pub struct Record {
    /// Not 0, and never that of an earlier segment; (owner epoch << 32) + a counter is such a
    /// number.
    pub segment_id: u64,
    pub body: LogBody,
    /// The diff of a RELEASE as it was received; empty otherwise.
    pub diff: Bytes,
    /// In a CREATE: the maker of the segment, as [`creator_field`](crate::creator_field) has it.
    pub fields: Vec<HeaderField>,
}

/// The whole segment at one version.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    /// The store fills in `magic`, `parent` and `diff_bytes`, and raises `next_serial` to the bound
    /// that was logged. Of `fields` it keeps who made the segment, and adds its own ids.
    pub head: CheckpointHead,
    /// From version 0 to `head.at`.
    pub diff: Bytes,
}

/// A part of a large segment's checkpoint [LOG-18].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// Not empty.
    pub diff: Bytes,
    pub ages: Bytes,
}

/// What follows in a checkpoint in pieces.
#[derive(Debug, Clone)]
pub enum Next {
    Piece(Piece),
    Last(Piece),
    /// The checkpoint is given up. It ends without an error, and leaves nothing.
    Nothing,
}

/// Asks for the next piece of a checkpoint. As `Done`, it must not wait.
pub type Want = Box<dyn Fn() + Send>;

/// Keeps segments. Appends take effect in the order of the calls; so do their `done`s.
pub trait SegmentStore: Send {
    /// The number of this start of the store; it grows [LOG-9] [STORE-1].
    fn owner_epoch(&self) -> u64;

    /// Which store this is; it stays so [LOG-16].
    fn identity(&self) -> Identity;

    /// Keeps the records, all or none, and calls `done` once they are as durable as asked [LOG-1].
    /// With `Memory`, RELEASE records are not kept at all; others are, as if WRITTEN. A segment is
    /// created by a CREATE record; release versions follow one another without a gap. After an
    /// error that is not final ([`StoreError::is_final`]) the group is not to be sent again before
    /// [`SegmentStore::settle`] or an open has told what became of it [STORE-4].
    fn append(&self, group: Vec<Record>, durable: Durability, done: Done);

    /// Decides what became of earlier appends to these segments: says where each ends, and ends
    /// what is still on its way [STORE-11].
    fn settle(&self, segments: Vec<u64>, settled: Settled);

    /// Keeps the segment as a whole, so that its older log records are no longer needed [LOG-5].
    fn checkpoint(&self, checkpoint: Checkpoint, done: Done);

    /// Does the same with a segment that is too large for one piece of memory. `want` asks for each
    /// piece; [`SegmentStore::next`] gives it.
    fn checkpoint_in_pieces(&self, head: CheckpointHead, want: Want, done: Done);

    /// Gives what was wanted of the segment's checkpoint.
    fn next(&self, segment_id: u64, next: Next);

    /// The segments that have [`MUCH_LOG_BYTES`](crate::MUCH_LOG_BYTES) of log or more since their
    /// last checkpoints, and how much.
    fn with_much_log(&self) -> Vec<(u64, u64)> {
        Vec::new()
    }

    /// Segments whose records keep more log than there should be, or any of it where space is
    /// short: a checkpoint of each frees it. Of very many, those that are to be saved first; the
    /// others follow when these are. Ask now and then (each second, say), because an idle segment
    /// would keep the log growing.
    fn overdue(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Whether there are any, said without a list of them.
    fn is_in_need(&self) -> bool {
        !self.overdue().is_empty()
    }

    /// Looks for the segment with that path, and claims it if no other server owns it
    /// [STORE-14]. `claims`: without it, names another server that may claim it. REQUIRES: it is
    /// not among those that this owner has already. Only a store that servers share has other
    /// segments.
    fn seek(&self, _path: &str, _claims: bool, seek: Seek) {
        seek(Ok(Sought::Absent));
    }

    /// Reads the segment with that path, which another server owns, and later what came since
    /// [STORE-16]. Claims nothing. REQUIRES: the last answer about it was heard.
    fn follow(&self, _path: &str, follow: Follow) {
        follow(Ok(Followed::Absent));
    }

    /// Forgets what was read of the segment with that path. REQUIRES: as for `follow`.
    fn unfollow(&self, _path: &str) {}

    /// Gives the segment, which this owner has, to the member with that number [STORE-17].
    /// REQUIRES: no append of a release of it is on its way, and none follows.
    fn give(&self, _segment_id: u64, _member: u64, give: Give) {
        give(Ok(Given::Not(
            "the server shares its store with nobody".to_string(),
        )));
    }

    /// Renews this server's lease in the space, and tells the others whether it was drained
    /// [STORE-15] [SPACE-24].
    fn renew(&self, _is_drained: bool, done: Done) {
        done(Ok(()));
    }

    /// Looks for the servers that share the store, from behind that number on [SPACE-30].
    /// `tells_all`: also how many segments each owns, and how the store is.
    fn members(&self, _after: u64, _tells_all: bool, members: Members) {
        members(Ok(unshared(self.kind(), &self.status())));
    }

    /// Reads a page of the catalogue, which has the segments of all servers [SPACE-34]. Claims
    /// nothing. Only a store that servers share has other segments than this owner's.
    fn page(&self, _asked: PageAsked, page: Pages) {
        page(Ok(Page {
            segments: Vec::new(),
            is_last: true,
        }));
    }

    /// A look-out for the rules that the store's servers share. None: the store has no such rules.
    fn access(&self) -> Result<Option<Box<dyn AccessSource>>, StoreError> {
        Ok(None)
    }

    /// The kind of the store, for people [SPACE-33].
    fn kind(&self) -> &'static str {
        "directory"
    }

    fn status(&self) -> StoreStatus;

    /// Why nothing is written any more, for ever.
    fn stopped(&self) -> Option<StoreError> {
        self.status().stopped
    }

    /// The owner is about to close the store, and waits for what it has asked. From now on the
    /// store gives up whoever does not answer, also if nobody else answers.
    fn hurry(&self) {}

    /// Ends the store after all that was asked before. `clean` says that every segment that has
    /// anything unsaved was checkpointed: recovery then knows that nothing was lost.
    fn close(self: Box<Self>, clean: bool) -> Result<(), StoreError>;
}

/// Since when, and why, appends are refused.
#[derive(Debug, Clone)]
pub struct Full {
    pub since: Instant,
    pub text: String,
}

/// How the store is, for /healthz and /metrics. The counters count from its opening.
#[derive(Debug, Clone, Default)]
pub struct StoreStatus {
    /// Appends are refused while this is set.
    pub full: Option<Full>,
    /// The database has no synchronous standby: appends wait for one, or are refused with Alone.
    pub alone: Option<String>,
    /// The database cannot be reached, or cannot be used as it is: appends are refused.
    pub away: Option<String>,
    /// Every append fails, for ever: another server has taken over, records that were written are
    /// gone, or the store has ended.
    pub stopped: Option<StoreError>,
    /// Bytes of records in log files, covered by checkpoints or not.
    pub log_bytes: u64,
    pub log_files: u64,
    pub groups: u64,
    pub syncs: u64,
    /// How long they took together.
    pub syncing: Duration,
    pub checkpoints: u64,
    /// What followed the log's end when the store was opened: it was cut off, and was not
    /// acknowledged as SYNCED, as far as is known.
    pub torn_bytes: u64,
    /// What was acknowledged at the log's end and is damaged or gone.
    pub lost_bytes: u64,
    /// What was found damaged, whether a segment suffers or not.
    pub damage: Vec<String>,
    /// Writes, syncs and checkpoints that failed, and the last of them.
    pub errors: u64,
    pub last_error: Option<String>,
}

/// What was found of a segment when the store was opened.
#[derive(Debug, Clone)]
pub struct RecoveredSegment {
    pub segment_id: u64,
    /// The epoch of this owner's claim of the segment. Fences are (epoch << 32) + a counter.
    pub epoch: u64,
    /// Empty if damage has destroyed it.
    pub path: String,
    pub durable: Durability,
    pub quota_bytes: u64,
    /// Its maker [LOG-20]. None: that is not known.
    pub creator: Option<Box<IdentityField>>,
    pub incarnation: u64,
    pub checkpoint: Option<(CheckpointHead, Bytes)>,
    /// The checkpoint's contents, if they came in pieces; its diff is empty then.
    pub pieces: Vec<Piece>,
    /// The releases after the checkpoint, without a gap [LOG-6].
    pub releases: Vec<(LogRelease, Bytes)>,
    /// No serial from here on was ever given out [LOG-8].
    pub serials_below: u64,
    /// The last owner stopped cleanly: nothing was lost. Otherwise a segment that is not SYNCED,
    /// and a MEMORY segment always, begins a new incarnation [LOG-7].
    pub clean: bool,
    /// The segment must not be served: which file, where, what. The store refuses appends to it,
    /// but for REMOVE.
    pub damage: Option<String>,
}

impl RecoveredSegment {
    /// The bytes of its checkpoint and its releases.
    pub fn bytes(&self) -> u64 {
        let saved = self.checkpoint.as_ref().map_or(0, |(_, diff)| diff.len());
        let pieces: usize = self.pieces.iter().map(|piece| piece.diff.len()).sum();
        let released: usize = self.releases.iter().map(|(_, diff)| diff.len()).sum();
        (saved + pieces + released) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::protocol::VersionStamp;

    #[test]
    fn the_bytes_of_a_segment_are_those_of_its_checkpoint_and_its_releases() {
        let head = CheckpointHead {
            magic: [0; 4],
            segment_id: 1,
            path: "/1".to_string(),
            durable: Durability::Synced,
            quota_bytes: 0,
            at: VersionStamp {
                incarnation: 1,
                number: 0,
                chain: 0,
            },
            next_serial: 1,
            fence: 0,
            parent: 0,
            releases: Vec::new(),
            fields: Vec::new(),
            diff_bytes: 0,
        };
        let release = LogRelease {
            version: 1,
            chain: 1,
            session: [0; 16],
            sequence: 1,
            fence: 0,
        };
        let bytes = |count| Bytes::from(vec![0; count]);
        let piece = |count| Piece {
            diff: bytes(count),
            ages: bytes(7),
        };
        let mut segment = RecoveredSegment {
            segment_id: 1,
            epoch: 1,
            path: "/1".to_string(),
            durable: Durability::Synced,
            quota_bytes: 0,
            creator: None,
            incarnation: 1,
            checkpoint: Some((head, bytes(1000))),
            pieces: Vec::new(),
            releases: vec![(release.clone(), bytes(20)), (release, bytes(3))],
            serials_below: 1,
            clean: true,
            damage: None,
        };
        assert_eq!(segment.bytes(), 1023);
        segment.pieces = vec![piece(50_000), piece(100)];
        assert_eq!(segment.bytes(), 51_123);
    }
}
