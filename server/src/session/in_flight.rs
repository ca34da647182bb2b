//! A release from its check until its master copies are committed.

use super::wire::At;
use crate::coherence::Newest;
use bytes::Bytes;
use interweave_master::CheckedRelease;
use interweave_wire::protocol::{ResolveRelease, SessionId};

/// One segment's part of a release, checked.
#[derive(Debug)]
pub struct Part {
    pub segment: u32,
    pub fence: u64,
    pub diff: Bytes,
    /// None: nothing changed, the lock is given back.
    pub checked: Option<CheckedRelease>,
    /// The newest version once this is committed.
    pub after: Newest,
}

/// A checked release on its way to the log, or to the master copies.
#[derive(Debug)]
pub struct InFlight {
    pub at: At,
    pub session_id: SessionId,
    pub sequence: u64,
    pub parts: Vec<Part>,
    /// Requests that ask what becomes of it.
    pub resolvers: Vec<(At, ResolveRelease)>,
}
