//! The sessions, each with its connection, and how long a session lives without one.

use super::Origin;
use interweave_access::Login;
use interweave_wire::protocol::SessionHash;
use std::collections::{BTreeSet, HashMap};

/// So few segments need no looking through.
const LEAST_LOCKS_BOUND: usize = 64;

#[derive(Debug)]
pub struct Session {
    /// The hash of the session's id. The id itself is kept nowhere [SES-6].
    pub hash: SessionHash,
    pub connection: Option<u64>,
    /// Whose the session is [ACC-5].
    pub login: Login,
    /// For people: the client's program and language.
    pub label: String,
    /// For people: where the client runs.
    pub origin: Origin,
    /// When the session was heard last over a connection that is gone.
    pub heard_ns: u64,
    /// When the session ends if it stays without a connection [SES-2].
    pub expires_ns: u64,
    /// The segments of which the session may hold or await a lock, and those that remember its last
    /// release as that of a living session. In order, so that the sweep can go through them in
    /// slices.
    pub locks: BTreeSet<u32>,
    /// With more of them, those that it does not concern any more are looked for and forgotten.
    pub locks_bound: usize,
    /// By segment, the sequence up to which the client was told that releases are rolled back. They
    /// must stay so [LOCK-9].
    pub rolled_back_through: HashMap<u32, u64>,
}

impl Session {
    /// Notes that the session may hold or await a lock of the segment. Segments that it does not
    /// concern any more are forgotten as often as their number has doubled: so a session that has
    /// used many locks costs no more than one that has them.
    pub fn note_lock(&mut self, number: u32, concerns: impl Fn(u32) -> bool) {
        if self.locks.len() >= self.locks_bound {
            self.locks.retain(|number| concerns(*number));
            self.locks_bound = LEAST_LOCKS_BOUND.max(2 * self.locks.len());
        }
        self.locks.insert(number);
    }
}

/// The sessions by number, which the rest of the engine uses, and by the hash of the id that the
/// client has.
#[derive(Debug, Default)]
pub struct Registry {
    sessions: HashMap<u64, Session>,
    by_hash: HashMap<SessionHash, u64>,
    last_number: u64,
}

impl Registry {
    pub fn create(
        &mut self,
        hash: SessionHash,
        connection: u64,
        login: Login,
        (label, origin): (String, Origin),
    ) -> u64 {
        self.last_number += 1;
        let session = Session {
            hash,
            connection: Some(connection),
            login,
            label,
            origin,
            heard_ns: 0,
            expires_ns: u64::MAX,
            locks: BTreeSet::new(),
            locks_bound: LEAST_LOCKS_BOUND,
            rolled_back_through: HashMap::new(),
        };
        self.sessions.insert(self.last_number, session);
        self.by_hash.insert(hash, self.last_number);
        self.last_number
    }

    pub fn find(&self, hash: &SessionHash) -> Option<u64> {
        self.by_hash.get(hash).copied()
    }

    pub fn get(&self, number: u64) -> Option<&Session> {
        self.sessions.get(&number)
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Session> {
        self.sessions.get_mut(&number)
    }

    pub fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.sessions.keys().copied()
    }

    pub fn all_mut(&mut self) -> impl Iterator<Item = &mut Session> {
        self.sessions.values_mut()
    }

    pub fn remove(&mut self, number: u64) -> Option<Session> {
        let session = self.sessions.remove(&number)?;
        self.by_hash.remove(&session.hash);
        Some(session)
    }

    pub fn len(&self) -> usize {
        self.sessions.len()
    }
}
