//! Decides which releases' bulk is kept while it comes in [LOCK-12].
//!
//! Bulk is kept only if the session holds the release's locks, if no other release under one of
//! them is coming in, if the segments' quotas could hold it, and if there is room. Other bulk is
//! counted and dropped, and its request is refused when it is whole. A lock may be lost while bulk
//! comes in. That bulk stays until it is whole. If its room is wanted before, its connection is
//! closed. Invariant: `bytes` is the sum of the bulk that is coming in.

use super::super::message::{Incoming, Request};
use super::Wire;
use interweave_wire::protocol::{ReleaseWriter, MAX_CHUNK_BYTES};
use std::collections::HashMap;

/// A segment's lock, by number and fence.
pub type Lock = (u32, u64);

#[derive(Debug)]
struct UnderWay {
    connection: u64,
    /// The bytes of the release. Of several parts, the first part has them all.
    bytes: u64,
}

#[derive(Debug, Default)]
pub struct Receiving {
    releases: HashMap<Lock, UnderWay>,
    bytes: u64,
}

impl Receiving {
    fn begin(&mut self, connection: u64, r: &ReleaseWriter, bulk_bytes: u64) {
        let mut bytes = counted(bulk_bytes);
        self.bytes += bytes;
        for part in &r.parts {
            let lock = (part.segment, part.fence);
            let under_way = UnderWay { connection, bytes };
            // A segment that occurs twice is refused later.
            self.releases.entry(lock).or_insert(under_way);
            bytes = 0;
        }
    }

    /// Forgets a release that is whole.
    fn end(&mut self, connection: u64, r: &ReleaseWriter) {
        for part in &r.parts {
            let lock = (part.segment, part.fence);
            let its = |u: &UnderWay| u.connection == connection;
            if self.releases.get(&lock).is_some_and(its) {
                self.bytes -= self.releases.remove(&lock).map_or(0, |u| u.bytes);
            }
        }
    }

    /// Forgets the releases of a connection that is gone.
    pub fn forget(&mut self, connection: u64) {
        let bytes = &mut self.bytes;
        self.releases.retain(|_, under_way| {
            let keep = under_way.connection != connection;
            if !keep {
                *bytes -= under_way.bytes;
            }
            keep
        });
    }
}

/// Returns how many bytes count. A message of one frame does not count, because its bytes have
/// come.
fn counted(bulk_bytes: u64) -> u64 {
    match bulk_bytes <= u64::from(MAX_CHUNK_BYTES) {
        true => 0,
        false => bulk_bytes,
    }
}

/// Returns the largest diff that a segment of that quota can need [LOCK-12]. A unit of one byte
/// with a run of its own takes three bytes. The diff's words about a block, without its data, take
/// less than the 64 bytes that a block counts at least. Quota 0: no bound.
pub fn largest_diff_bytes(quota_bytes: u64) -> u64 {
    const FRAMING_BYTES: u64 = 64 << 10;
    match quota_bytes {
        0 => u64::MAX,
        _ => quota_bytes.saturating_mul(4).saturating_add(FRAMING_BYTES),
    }
}

impl Wire {
    /// Keeps the release's bulk from now on.
    pub fn begin_receiving(&mut self, connection: u64, r: &ReleaseWriter, bulk_bytes: u64) {
        self.receiving.begin(connection, r, bulk_bytes);
    }

    /// Forgets a message that is whole. Its request has the bulk now, if the bulk was kept.
    pub fn received(&mut self, connection: u64, incoming: &Incoming) {
        if let (Request::ReleaseWriter(r), false) = (&incoming.request, incoming.bulk.is_empty()) {
            self.receiving.end(connection, r);
        }
    }

    /// Whether bulk of a release under that lock is on its way in.
    pub fn is_receiving(&self, lock: Lock) -> bool {
        self.receiving.releases.contains_key(&lock)
    }

    /// Whether there is room for that many bytes. To make room, connections are closed whose bulk
    /// cannot be committed any more.
    pub fn has_room(
        &mut self,
        connection: u64,
        bulk_bytes: u64,
        is_held: impl Fn(Lock) -> bool,
    ) -> bool {
        let bytes = counted(bulk_bytes);
        while bytes > 0 && self.receiving.bytes + bytes > self.config.receiving_bytes {
            let lost =
                self.receiving.releases.iter().find(|(lock, u)| {
                    !is_held(**lock) && u.bytes > 0 && u.connection != connection
                });
            let Some(lost) = lost.map(|(_, u)| u.connection) else {
                return false;
            };
            self.close(lost);
        }
        true
    }
}
