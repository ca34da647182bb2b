//! What the engine keeps of one segment beside its master copy.

use super::chain::Chains;
use super::commits::Commits;
use super::remembered::Remembered;
use super::wire::At;
use super::wire::Shelf;
use crate::coherence::{Known, Newest, Version, NO_COPY, OTHER_HISTORY};
use crate::lock::SegmentLock;
use interweave_master::Segment;
use interweave_wire::protocol::{Durability, MoreSerials};

/// Serials that a grant brings; a writer asks for more when it needs them [LOCK-6].
pub const GRANTED_SERIALS: u32 = 128;
/// Serials are made durable in such steps [LOG-8].
pub const SERIAL_STEP: u64 = 1 << 20;
/// Serials have 48 bits on the wire.
pub const SERIALS_END: u64 = 1 << 48;

/// Where a segment stands with the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// Its creation is on the way to the log.
    Creating,
    Open,
    /// Its removal is on the way to the log.
    Removing,
    /// Must not be served: why.
    Damaged(String),
}

#[derive(Debug)]
pub struct SegmentState {
    pub number: u32,
    /// The store's number for it.
    pub id: u64,
    pub path: String,
    pub durable: Durability,
    pub quota_bytes: u64,
    pub incarnation: u64,
    pub chains: Chains,
    pub master: Segment,
    pub lock: SegmentLock,
    pub life: Life,
    pub remembered: Remembered,
    pub shelf: Shelf,
    /// Units that all releases changed, for Diff coherence [COH-6].
    pub units_changed: u64,
    /// When its versions were committed.
    pub commits: Commits,
    /// Connections that have it open.
    pub clients: Vec<u64>,
    /// Connections that subscribe to it.
    pub subscribers: Vec<u64>,
    next_serial: u64,
    /// No serial from here on may be given out before the log says so.
    pub serials_below: u64,
    /// A larger bound is on its way to the log.
    pub extending_serials: bool,
    /// The lock's holder asked for more serials than the log knows of yet.
    pub awaiting_serials: Vec<(At, MoreSerials)>,
    /// The serials of the present grant.
    pub granted: Vec<(u64, u64)>,
    /// A release of its lock is on its way to the log.
    pub committing: bool,
    /// Requests that wait for the creation: connection, stream, and whether read-only.
    pub creators: Vec<(u64, u32, bool)>,
    /// Changed since the last checkpoint.
    pub unsaved: bool,
    pub checkpointing: bool,
    /// When it was saved last, or began.
    pub saved_ns: u64,
    /// The store did not take its creation: it cannot be saved.
    pub unlogged: bool,
    /// Bytes of diffs that clients were sent, and of whole copies in their place.
    pub sent_bytes: u64,
    pub whole_bytes: u64,
}

impl SegmentState {
    /// A client is sent that diff.
    pub fn count_sent(&mut self, diff: &[u8]) {
        self.sent_bytes += diff.len() as u64;
        self.whole_bytes += self.master.wire_bytes();
    }

    pub fn stamp(&self) -> Version {
        Version {
            incarnation: self.incarnation,
            number: self.master.newest(),
            chain: self.chains.newest(),
        }
    }

    pub fn newest(&self) -> Newest {
        Newest {
            stamp: self.stamp(),
            units_changed: self.units_changed,
            units: self.master.total_units(),
        }
    }

    /// The version that the client says it has, if that is of this segment's history: the one that
    /// it was sent last over its connection, or one whose chain is remembered [SEG-1].
    pub fn recognised(&self, have: Version, known: &Known) -> Version {
        let back = self.master.newest().checked_sub(have.number);
        let is_known = have == known.stamp || have == NO_COPY;
        let has_chain = || back.is_some_and(|back| self.chains.has(back, have.chain));
        match is_known || (have.incarnation == self.incarnation && has_chain()) {
            true => have,
            false => OTHER_HISTORY,
        }
    }

    /// The version from which a diff helps a client that has `have` [SEG-1], which is recognised.
    pub fn base_of(&self, have: Version) -> u64 {
        let newest = self.stamp();
        match have.incarnation == newest.incarnation && have.number <= newest.number {
            true => have.number,
            false => 0,
        }
    }

    pub fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// Serials up to there may have been given out.
    pub fn skip_serials(&mut self, next_serial: u64) {
        self.next_serial = self.next_serial.max(next_serial);
    }

    /// Whether so many serials may be given out now.
    pub fn has_serials(&self, count: u32) -> bool {
        self.next_serial + u64::from(count) <= self.serials_below
    }

    /// Whether the log should be asked for more of them.
    pub fn wants_serials(&self) -> bool {
        !self.extending_serials
            && self.serials_below < SERIALS_END
            && self.next_serial + SERIAL_STEP / 2 > self.serials_below
    }

    /// Gives out serials, which are never given again [LOCK-6].
    pub fn give_serials(&mut self, count: u32) -> u64 {
        let first = self.next_serial;
        self.next_serial += u64::from(count);
        self.granted.push((first, u64::from(count)));
        first
    }
}

/// A segment as it begins.
pub struct Beginning {
    pub number: u32,
    pub id: u64,
    pub path: String,
    pub durable: Durability,
    pub quota_bytes: u64,
    pub incarnation: u64,
    pub chains: Chains,
    pub master: Segment,
    pub lock: SegmentLock,
    pub life: Life,
    pub serials_below: u64,
}

impl From<Beginning> for SegmentState {
    fn from(b: Beginning) -> Self {
        SegmentState {
            number: b.number,
            id: b.id,
            path: b.path,
            durable: b.durable,
            quota_bytes: b.quota_bytes,
            incarnation: b.incarnation,
            chains: b.chains,
            master: b.master,
            lock: b.lock,
            life: b.life,
            remembered: Remembered::default(),
            shelf: Shelf::default(),
            units_changed: 0,
            commits: Commits::default(),
            clients: Vec::new(),
            subscribers: Vec::new(),
            next_serial: 1,
            serials_below: b.serials_below,
            extending_serials: false,
            awaiting_serials: Vec::new(),
            granted: Vec::new(),
            committing: false,
            creators: Vec::new(),
            unsaved: false,
            checkpointing: false,
            saved_ns: 0,
            unlogged: false,
            sent_bytes: 0,
            whole_bytes: 0,
        }
    }
}
