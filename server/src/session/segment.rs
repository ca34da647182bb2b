//! The state of one segment: its master copy, its locks, and what else the engine keeps of it.

use super::chain::Chains;
use super::commits::Commits;
use super::moving::Handing;
use super::remembered::Remembered;
use super::serials::Serials;
use super::wire::{At, Closed, Shelf};
use crate::coherence::{Known, Newest, Version, NO_COPY, OTHER_HISTORY};
use crate::lock::SegmentLock;
use interweave_master::Segment;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::Durability;
use interweave_wire::{Gathered, Rare, Resting};
use std::sync::Arc;

/// The state of a segment in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Life {
    /// Its creation is on the way to the log.
    Creating,
    Open,
    /// It is to be removed once no release is on its way to the log [SPACE-28].
    ToRemove(Box<ToRemove>),
    /// Its removal is on the way to the log.
    Removing,
    /// The store is asked to give it to another server [SPACE-20].
    Giving,
    /// The segment must not be served. The text says why.
    Damaged(Box<str>),
}

/// A removal that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToRemove {
    pub before: Life,
    /// The request that asks for it.
    pub at: At,
}

#[derive(Debug)]
pub struct SegmentState {
    /// [`super::segments::Segments::add`] gives it.
    pub number: u32,
    /// The store's number for it.
    pub id: u64,
    /// Shared with the table of paths.
    pub path: Arc<str>,
    pub durable: Durability,
    pub quota_bytes: u64,
    pub incarnation: u64,
    /// The store has refused the record of it, and may know it by a checkpoint alone. The next
    /// release, or a hand-over, brings it along.
    pub lacks_incarnation: bool,
    pub chains: Chains,
    pub master: Segment,
    pub lock: SegmentLock,
    pub life: Life,
    /// The hand-over that is under way.
    pub handing: Option<Box<Handing>>,
    pub remembered: Remembered,
    pub shelf: Rare<Shelf>,
    /// The sum of the units that each release changed, for Diff coherence [COH-6].
    pub units_changed: u64,
    /// When the versions were committed.
    pub commits: Commits,
    pub users: Rare<Users>,
    pub serials: Serials,
    /// A release of the writer lock is on its way to the log.
    pub committing: bool,
    /// There is a store in which the segment is saved.
    pub is_stored: bool,
    /// When the segment was saved last, or began.
    pub saved_ns: u64,
    /// The account that the segment counts for [LIM-2]; 0: none.
    pub creator: u32,
    /// The bytes of all diffs that clients were sent, and the bytes that whole copies would have
    /// taken.
    pub sent_bytes: u64,
    pub whole_bytes: u64,
}

/// The users of a segment. Most segments of a large server have no users.
#[derive(Debug)]
pub struct Users {
    /// The connections that have the segment open.
    pub clients: Vec<u64>,
    /// The connections that subscribe to the segment.
    pub subscribers: Vec<u64>,
    /// Requests that wait for the creation: connection, stream, and whether read-only.
    pub creators: Vec<(u64, u32, bool)>,
}

impl Resting for Users {
    const REST: Self = Users {
        clients: Vec::new(),
        subscribers: Vec::new(),
        creators: Vec::new(),
    };
    const AT_REST: &'static Self = &Self::REST;
}

impl SegmentState {
    /// Forgets a connection that is gone: it does not have the segment open any more, nor watches
    /// it, nor waits over it. True: somebody waits for the grant that was kept over it [LOCK-16].
    pub fn forget(&mut self, closed: &Closed, now_ns: u64) -> bool {
        if closed.open.contains(&self.number) {
            self.forget_client(closed.connection);
        }
        closed.locks.contains(&self.number) && self.lock.disconnect(closed.connection, now_ns)
    }

    /// Forgets a connection that has closed the segment.
    pub fn forget_client(&mut self, connection: u64) {
        let Some(users) = self.users.awake() else {
            return;
        };
        users.clients.retain(|c| *c != connection);
        users.subscribers.retain(|c| *c != connection);
        if users.clients.is_empty() && users.creators.is_empty() {
            self.users = Rare::default();
        }
    }

    /// Counts a diff that a client is sent.
    pub fn count_sent(&mut self, diff: &Gathered) {
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

    /// Returns the version that the client says it has, if the version is in this segment's
    /// history. It is, if it was the last one sent over this connection, or if its chain is
    /// remembered [SEG-1].
    pub fn recognised(&self, have: Version, known: &Known) -> Version {
        let back = self.master.newest().checked_sub(have.number);
        let is_known = have == known.stamp || have == NO_COPY;
        let by_number = planted::is_in(Defect::HistoryByNumber);
        let has_chain = || back.is_some_and(|back| by_number || self.chains.has(back, have.chain));
        match is_known || (have.incarnation == self.incarnation && has_chain()) {
            true => have,
            false => OTHER_HISTORY,
        }
    }

    /// Returns the version from which a diff helps a client that has the recognised version `have`
    /// [SEG-1].
    pub fn base_of(&self, have: Version) -> u64 {
        let newest = self.stamp();
        match have.incarnation == newest.incarnation && have.number <= newest.number {
            true => have.number,
            false => 0,
        }
    }
}

/// A segment as it begins.
pub struct Beginning {
    pub id: u64,
    pub path: String,
    pub durable: Durability,
    pub quota_bytes: u64,
    pub incarnation: u64,
    pub chains: Chains,
    pub master: Segment,
    pub lock: SegmentLock,
    pub life: Life,
    pub serials: Serials,
    pub is_stored: bool,
    /// The account that the segment counts for; 0: none.
    pub creator: u32,
}

impl From<Beginning> for SegmentState {
    fn from(b: Beginning) -> Self {
        SegmentState {
            number: 0,
            id: b.id,
            path: b.path.into(),
            durable: b.durable,
            quota_bytes: b.quota_bytes,
            incarnation: b.incarnation,
            lacks_incarnation: false,
            chains: b.chains,
            master: b.master,
            lock: b.lock,
            life: b.life,
            handing: None,
            remembered: Remembered::default(),
            shelf: Rare::default(),
            units_changed: 0,
            commits: Commits::default(),
            users: Rare::default(),
            serials: b.serials,
            committing: false,
            is_stored: b.is_stored,
            saved_ns: 0,
            creator: b.creator,
            sent_bytes: 0,
            whole_bytes: 0,
        }
    }
}
