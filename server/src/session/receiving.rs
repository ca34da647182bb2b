//! Which releases' bulk is worth its memory while it comes in.
//!
//! Bulk is kept only of a release under locks that its session holds, of one release a lock at a
//! time, of no more than the segments' quotas could hold, and of a bounded number of bytes in all.
//! Any other is counted and dropped; its request is refused when it is whole. Bulk whose lock was lost
//! meanwhile stays until it is whole, or until the room is wanted: then its connection is closed.
//! Invariant: `bytes` is the sum of what is under way.

use super::engine::Engine;
use super::message::{Incoming, Request};
use interweave_wire::protocol::{ErrorCode, ReleaseWriter, MAX_CHUNK_BYTES};
use interweave_wire::Rejection;
use std::collections::HashMap;

/// A segment's lock, by number and fence.
type Lock = (u32, u64);

#[derive(Debug)]
struct UnderWay {
    connection: u64,
    /// Of a release of several parts the first has them all.
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

    /// The release is whole.
    fn end(&mut self, connection: u64, r: &ReleaseWriter) {
        for part in &r.parts {
            let lock = (part.segment, part.fence);
            let its = |u: &UnderWay| u.connection == connection;
            if self.releases.get(&lock).is_some_and(its) {
                self.bytes -= self.releases.remove(&lock).map_or(0, |u| u.bytes);
            }
        }
    }

    /// The connection is gone.
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

/// What fits in one frame is bounded by what has come.
fn counted(bulk_bytes: u64) -> u64 {
    match bulk_bytes <= u64::from(MAX_CHUNK_BYTES) {
        true => 0,
        false => bulk_bytes,
    }
}

/// The largest diff that a segment of that quota can need [LOCK-12]: a unit of one byte with a run of
/// its own takes three, and what the diff says of a block beside its data is less than the 64 bytes
/// that a block counts at least. Quota 0: no bound.
pub fn largest_diff_bytes(quota_bytes: u64) -> u64 {
    const FRAMING_BYTES: u64 = 64 << 10;
    match quota_bytes {
        0 => u64::MAX,
        _ => quota_bytes.saturating_mul(4).saturating_add(FRAMING_BYTES),
    }
}

impl Engine {
    /// Whether a request's bulk is kept.
    pub fn admits(&mut self, connection: u64, request: &Request, bulk_bytes: u64) -> bool {
        let Request::ReleaseWriter(release) = request else {
            return false;
        };
        let admitted = self.holds_all(connection, release)
            && self.check_sizes(release, bulk_bytes).is_ok()
            && self.nothing_under_way(release)
            && self.has_room(connection, bulk_bytes);
        if admitted {
            self.receiving.begin(connection, release, bulk_bytes);
        }
        admitted
    }

    /// The message is whole: its bulk, if it was kept, is what its request makes of it.
    pub(super) fn received(&mut self, connection: u64, incoming: &Incoming) {
        if let (Request::ReleaseWriter(r), false) = (&incoming.request, incoming.bulk.is_empty()) {
            self.receiving.end(connection, r);
        }
    }

    /// Why a release whose locks are held, and whose bulk was dropped all the same, is refused.
    pub(super) fn check_kept(
        &self,
        r: &ReleaseWriter,
        incoming: &Incoming,
    ) -> Result<(), Rejection> {
        self.check_sizes(r, incoming.announced_bytes)?;
        if incoming.bulk.len() as u64 == incoming.announced_bytes {
            return Ok(());
        }
        let text =
            "the server had no room for the release's bytes, or another release under the same \
                    lock was on its way; the lock is still held: release again";
        Err(Rejection::new(ErrorCode::TimedOut, text))
    }

    fn check_sizes(&self, r: &ReleaseWriter, bulk_bytes: u64) -> Result<(), Rejection> {
        let most = self.config.max_diff_bytes;
        if bulk_bytes > most {
            let text = format!(
                "a release of {bulk_bytes} bytes; this server takes at most {most}: make smaller \
                 releases"
            );
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        let parts = r.parts.iter().map(|p| p.diff_bytes);
        let parts_bytes = parts.fold(0, u64::saturating_add);
        if parts_bytes != bulk_bytes {
            let text = format!("{bulk_bytes} bytes of bulk for parts of {parts_bytes}");
            return Err(Rejection::malformed(text));
        }
        for part in &r.parts {
            let Some(s) = self.segments.get(&part.segment) else {
                continue;
            };
            if part.diff_bytes > largest_diff_bytes(s.quota_bytes) {
                let text = format!(
                    "a release of {} bytes to {}, whose quota is {} bytes: it could not hold them",
                    part.diff_bytes, s.path, s.quota_bytes
                );
                return Err(Rejection::new(ErrorCode::Quota, text));
            }
        }
        Ok(())
    }

    fn nothing_under_way(&self, r: &ReleaseWriter) -> bool {
        let free = |part: &interweave_wire::protocol::ReleasePart| {
            let lock = (part.segment, part.fence);
            let s = self.segments.get(&part.segment);
            s.is_some_and(|s| !s.committing)
                && !self.receiving.releases.contains_key(&lock)
        };
        r.parts.iter().all(free)
    }

    /// Room for that many bytes, if need be by closing connections whose bulk cannot be committed any
    /// more.
    fn has_room(&mut self, connection: u64, bulk_bytes: u64) -> bool {
        let bytes = counted(bulk_bytes);
        while bytes > 0 && self.receiving.bytes + bytes > self.config.receiving_bytes {
            let lost = self
                .receiving
                .releases
                .iter()
                .find(|((segment, fence), u)| {
                    let s = self.segments.get(segment);
                    let held = s.is_some_and(|s| s.lock.holds_fence(*fence));
                    !held && u.bytes > 0 && u.connection != connection
                });
            let Some(lost) = lost.map(|(_, u)| u.connection) else {
                return false;
            };
            self.close(lost);
        }
        true
    }
}
