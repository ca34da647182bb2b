//! What waits for the store: by ticket, and releases by session and sequence as well, so that one that
//! is sent or asked about again [LOCK-8] [LOCK-9] is found without a look at all that wait.

use super::release::InFlight;
use super::segment::Life;
use interweave_wire::protocol::SessionId;
use std::collections::{BTreeSet, HashMap};

/// One thing that waits for the store.
#[derive(Debug)]
pub enum Pending {
    Creation {
        segment: u32,
    },
    Removal {
        segment: u32,
        before: Life,
        connection: u64,
        stream: u32,
    },
    Serials {
        segment: u32,
        below: u64,
    },
    Incarnation {
        segment: u32,
    },
    Release(InFlight),
    Checkpoint {
        segment: u32,
        version: u64,
    },
}

/// All that waits for the store. `releases` names each release in `by_ticket` and nothing else.
#[derive(Debug, Default)]
pub struct PendingByTicket {
    by_ticket: HashMap<u64, Pending>,
    releases: BTreeSet<(SessionId, u64, u64)>,
    /// So many releases were looked at by `find_release`.
    #[cfg(test)]
    pub looked_at: u64,
}

impl PendingByTicket {
    pub fn insert(&mut self, ticket: u64, pending: Pending) {
        if let Pending::Release(release) = &pending {
            let name = (release.session_id, release.sequence, ticket);
            self.releases.insert(name);
        }
        self.by_ticket.insert(ticket, pending);
    }

    pub fn remove(&mut self, ticket: u64) -> Option<Pending> {
        let pending = self.by_ticket.remove(&ticket)?;
        if let Pending::Release(release) = &pending {
            let name = (release.session_id, release.sequence, ticket);
            self.releases.remove(&name);
        }
        Some(pending)
    }

    /// The ticket of the session's release with that sequence.
    pub fn find_release(&mut self, session: SessionId, sequence: u64) -> Option<u64> {
        let named = (session, sequence, 0)..=(session, sequence, u64::MAX);
        let found = self.releases.range(named).next().copied();
        #[cfg(test)]
        {
            self.looked_at += u64::from(found.is_some());
        }
        found.map(|(_, _, ticket)| ticket)
    }

    pub fn release(&mut self, ticket: u64) -> Option<&mut InFlight> {
        match self.by_ticket.get_mut(&ticket) {
            Some(Pending::Release(release)) => Some(release),
            _ => None,
        }
    }

    pub fn len(&self) -> usize {
        self.by_ticket.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_ticket.is_empty()
    }
}
