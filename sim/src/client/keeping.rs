//! Grants that stay with a client after a release: its next section begins under them without a
//! message [LOCK-13..16]. Clients of one server and of a space have them alike.

use crate::env::{MS, SECOND};
use interweave_wire::protocol::{VersionStamp, WriterAcquired};
use std::collections::{BTreeMap, BTreeSet};

/// A grant that is not used for so long is given back.
const UNUSED_NS: u64 = SECOND;

/// A writer lock, as the client knows of it.
#[derive(Debug, Clone)]
pub(crate) struct Grant {
    pub segment: usize,
    pub fence: u64,
    pub base: VersionStamp,
    pub next_serial: u64,
    pub serials_end: u64,
    /// The lease, by the client's clock [LOCK-3].
    pub until_ns: u64,
    pub renewed_ns: u64,
    /// The server that has granted it. A client of one server calls that 0.
    pub at: usize,
    /// The section began without a message, under a grant that is kept since then.
    pub kept_ns: Option<u64>,
}

impl Grant {
    /// The lock that the server has granted, when it was asked then.
    pub fn new((segment, at): (usize, usize), granted: &WriterAcquired, sent_ns: u64) -> Grant {
        Grant {
            segment,
            fence: granted.fence,
            base: granted.now.clone(),
            next_serial: granted.first_serial,
            serials_end: granted.first_serial + u64::from(granted.serial_count),
            until_ns: sent_ns + u64::from(granted.lease_ms) * MS,
            renewed_ns: sent_ns,
            at,
            kept_ns: None,
        }
    }

    /// The server left the grant with the client, with a release that was sent then and made that
    /// version.
    pub fn left(&self, (since_ns, version): (u64, &VersionStamp), lease_ns: u64) -> Grant {
        Grant {
            base: version.clone(),
            next_serial: self.next_serial + 1,
            until_ns: since_ns + lease_ns,
            renewed_ns: since_ns,
            kept_ns: Some(since_ns),
            ..self.clone()
        }
    }

    pub fn name(&self) -> (usize, u64) {
        (self.segment, self.fence)
    }
}

/// The connection to that server is lost. Grants that were kept over it are kept no longer
/// [LOCK-14].
pub(crate) fn keep_no_longer(grants: &mut [Grant], at: usize) {
    let kept = grants.iter_mut().filter(|grant| grant.at == at);
    kept.for_each(|grant| grant.kept_ns = None);
}

/// A grant that was kept.
pub(crate) enum Next {
    /// A section begins under it.
    Begins(Grant),
    /// It may not be used any more, and is to be given back.
    IsOver(Grant),
}

/// The grants of a client that no section uses now. Methods that return a grant no longer have it.
#[derive(Default)]
pub(crate) struct Keeping {
    /// By segment.
    kept: BTreeMap<usize, Grant>,
    /// Kept grants that a section uses and another client waits for: segment and fence.
    recalled: BTreeSet<(usize, u64)>,
}

impl Keeping {
    /// Keeps the grant. Returns it if it is to be given back instead: somebody waits for it, or its
    /// serials are used up.
    #[must_use]
    pub fn keep(&mut self, grant: Grant) -> Option<Grant> {
        let is_recalled = self.recalled.remove(&grant.name());
        if is_recalled || grant.next_serial >= grant.serials_end || grant.kept_ns.is_none() {
            return Some(grant);
        }
        self.kept.insert(grant.segment, grant);
        None
    }

    /// The grant of a section that begins now, if one is kept.
    pub fn begin(&mut self, segment: usize, now_ns: u64, lease_ns: u64) -> Option<Next> {
        let grant = self.kept.remove(&segment)?;
        Some(match grant.kept_ns {
            Some(since_ns) if now_ns < since_ns + lease_ns / 3 => Next::Begins(grant),
            _ => Next::IsOver(grant),
        })
    }

    /// Somebody waits for a grant. Returns it if it is kept, and is to be given back at once. A
    /// section that uses it gives it back at its end.
    pub fn recall(&mut self, name: (usize, u64), is_used: bool) -> Option<Grant> {
        let kept = self.forget(name);
        if kept.is_none() && is_used {
            self.recalled.insert(name);
        }
        kept
    }

    /// The client no longer has the grant.
    pub fn forget(&mut self, (segment, fence): (usize, u64)) -> Option<Grant> {
        self.kept.get(&segment).filter(|kept| kept.fence == fence)?;
        self.kept.remove(&segment)
    }

    /// The segment is at that place no longer.
    pub fn gone(&mut self, segment: usize) {
        self.kept.remove(&segment);
    }

    /// The connection to that server is lost, and with it the grants that were kept.
    pub fn lost(&mut self, at: usize) {
        self.kept.retain(|_, grant| grant.at != at);
    }

    /// The grants that no section has used for long.
    pub fn unused(&mut self, now_ns: u64) -> Vec<Grant> {
        let is_unused = |grant: &Grant| {
            grant
                .kept_ns
                .is_none_or(|since_ns| now_ns >= since_ns + UNUSED_NS)
        };
        let kept = std::mem::take(&mut self.kept);
        let (unused, used) = kept.into_iter().partition(|(_, grant)| is_unused(grant));
        let unused: BTreeMap<usize, Grant> = unused;
        self.kept = used;
        unused.into_values().collect()
    }
}
