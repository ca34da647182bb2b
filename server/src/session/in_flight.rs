//! A release between its check and the commit to its master copies.

use super::resolving::AskedRelease;
use super::storing;
use super::wire::At;
use crate::coherence::Newest;
use bytes::Bytes;
use interweave_master::CheckedRelease;
use interweave_store::Record;
use interweave_wire::protocol::{
    CommittedRelease, Durability, LogBody, LogRelease, SessionHash, VersionStamp,
};

/// The checked part of a release that concerns one segment.
#[derive(Debug)]
pub struct Part {
    pub segment: u32,
    /// The store's number for it, and how durable its versions are.
    pub segment_id: u64,
    pub durable: Durability,
    pub fence: u64,
    pub diff: Bytes,
    /// The version on which it is made, if the store has refused the record of the segment's
    /// incarnation. Then the release brings that record along.
    pub begins: Option<VersionStamp>,
    /// None: nothing changed, so only the lock is given back.
    pub checked: Option<CheckedRelease>,
    /// The newest version once this part is committed.
    pub after: Newest,
}

impl Part {
    /// Whether it brings records to the log.
    pub fn is_logged(&self) -> bool {
        self.checked.is_some() && self.durable != Durability::Memory
    }
}

/// A checked release on its way to the log, or to the master copies.
#[derive(Debug)]
pub struct InFlight {
    pub at: At,
    pub session_hash: SessionHash,
    pub sequence: u64,
    pub parts: Vec<Part>,
    /// Requests that ask what becomes of it.
    pub resolvers: Vec<(At, AskedRelease)>,
}

impl InFlight {
    /// Returns the versions that the release makes.
    pub fn versions(&self) -> Vec<VersionStamp> {
        let versions = self.parts.iter().map(|part| part.after.stamp.into());
        versions.collect()
    }

    /// Returns the records of the parts that must be logged, and the durability of the strictest.
    pub fn log_records(&self) -> (Vec<Record>, Durability) {
        let logged = || self.parts.iter().filter(|part| part.is_logged());
        let begun = |part: &Part| {
            let begins = part.begins.clone();
            begins.map(|at| storing::record(part.segment_id, LogBody::Incarnation(at)))
        };
        let release = |part: &Part| Record {
            diff: part.diff.clone(),
            ..storing::record(
                part.segment_id,
                LogBody::Release(LogRelease {
                    version: part.after.stamp.number,
                    chain: part.after.stamp.chain,
                    session: self.session_hash,
                    sequence: self.sequence,
                    fence: part.fence,
                }),
            )
        };
        let durable = logged().map(|part| part.durable).max();
        let group = logged().flat_map(|part| begun(part).into_iter().chain([release(part)]));
        let group = group.collect();
        (group, durable.unwrap_or(Durability::Memory))
    }

    /// Returns what the part's segment remembers of the release.
    pub fn committed(&self, part: &Part) -> CommittedRelease {
        CommittedRelease {
            session: self.session_hash,
            sequence: self.sequence,
            version: part.after.stamp.number,
            chain: part.after.stamp.chain,
        }
    }
}
