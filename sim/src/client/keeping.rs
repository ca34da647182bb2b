//! Grants that stay with the client after a release: its next section begins under them without a
//! message [LOCK-13..16].

use super::writing::Grant;
use super::{Client, Doing};
use crate::env::{Env, SECOND};
use interweave_wire::protocol::{RecallWriter, VersionStamp};

/// A grant that is not used for so long is given back.
const UNUSED_NS: u64 = SECOND;

/// A grant that no section uses now.
#[derive(Debug)]
pub struct Kept {
    grant: Grant,
    /// When the release was sent that left it here.
    since_ns: u64,
}

impl Client {
    /// The server left the grant here, with a release that was sent then and made that version.
    pub(super) fn keep(
        &mut self,
        env: &mut Env,
        grant: &Grant,
        (since_ns, version): (u64, &VersionStamp),
    ) {
        let grant = Grant {
            base: version.clone(),
            next_serial: grant.next_serial + 1,
            until_ns: since_ns + self.lease_ns,
            renewed_ns: since_ns,
            kept_ns: Some(since_ns),
            ..grant.clone()
        };
        self.keep_or_give(env, Kept { grant, since_ns });
    }

    /// Keeps the grant, unless somebody waits for it or its serials are used up.
    fn keep_or_give(&mut self, env: &mut Env, kept: Kept) {
        let grant = &kept.grant;
        let is_recalled = self.recalled.contains(&(grant.segment, grant.fence));
        match is_recalled || grant.next_serial >= grant.serials_end {
            true => self.abort(env, grant),
            false => drop(self.kept.insert(grant.segment, kept)),
        }
    }

    /// The grant under which a section begins now, if one is kept. One that may not be used any
    /// more is given back.
    pub(super) fn begin_under_kept(&mut self, env: &mut Env, segment: usize) -> Option<Grant> {
        let Kept { grant, since_ns } = self.kept.remove(&segment)?;
        if env.now_ns < since_ns + self.lease_ns / 3 {
            return Some(grant);
        }
        self.abort(env, &grant);
        None
    }

    /// A section under the grant ends, and changed nothing. False: the grant was not kept.
    pub(super) fn keep_on(&mut self, env: &mut Env, grant: &Grant) -> bool {
        let Some(since_ns) = grant.kept_ns else {
            return false;
        };
        let grant = grant.clone();
        self.keep_or_give(env, Kept { grant, since_ns });
        true
    }

    /// Somebody waits for a grant that is kept: it is given back at once, or after the section.
    pub(super) fn recalled(&mut self, env: &mut Env, recall: &RecallWriter) {
        let Some(segment) = self.segment_of(recall.segment) else {
            return;
        };
        let fence = (segment, recall.fence);
        match self.forget_fence(fence) {
            Some(grant) => self.abort(env, &grant),
            None => {
                let is_used = match &self.doing {
                    Some(Doing::Writing(writing)) => writing.has_fence(fence),
                    _ => false,
                };
                if is_used {
                    self.recalled.insert(fence);
                }
            }
        }
    }

    /// The client no longer has the segment's grant under that fence. Returns it if it was kept.
    pub(super) fn forget_fence(&mut self, (segment, fence): (usize, u64)) -> Option<Grant> {
        let kept = self.kept.get(&segment);
        kept.filter(|kept| kept.grant.fence == fence)?;
        Some(self.kept.remove(&segment)?.grant)
    }

    /// The connection is lost, and with it the grants that were kept.
    pub(super) fn forget_kept(&mut self) {
        self.kept.clear();
        self.recalled.clear();
    }

    pub(super) fn give_unused_back(&mut self, env: &mut Env) {
        let is_unused = |kept: &&Kept| env.now_ns >= kept.since_ns + UNUSED_NS;
        let unused = self.kept.values().filter(is_unused);
        let unused: Vec<usize> = unused.map(|kept| kept.grant.segment).collect();
        for kept in unused {
            if let Some(Kept { grant, .. }) = self.kept.remove(&kept) {
                self.abort(env, &grant);
            }
        }
    }
}
