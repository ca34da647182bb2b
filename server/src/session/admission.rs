//! Decides which releases' bulk the engine admits, by the locks and quotas of their segments.

use super::engine::Engine;
use super::message::{Incoming, Request};
use super::segments::Segments;
use super::storing;
use super::wire::{largest_diff_bytes, Lock};
use interweave_wire::protocol::{Durability, ErrorCode, ReleasePart, ReleaseWriter};
use interweave_wire::Rejection;

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
            self.wire.begin_receiving(connection, release);
        }
        admitted
    }

    /// Takes note of bytes of a release in several frames. Returns whether its bulk is kept
    /// further.
    pub fn came(&mut self, connection: u64, request: &Request, bytes: u64) -> bool {
        let Request::ReleaseWriter(release) = request else {
            return false;
        };
        let segments = &self.segments;
        let is_held = |lock| holds_fence(segments, lock);
        let kept = self.wire.came(connection, release, bytes, is_held);
        self.forget_closed();
        kept
    }

    /// Returns why a release is refused whose locks are held, and whose bulk was dropped.
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
        let most = self.config.max_diff_bytes.min(self.config.receiving_bytes);
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
        let logged = r.parts.iter().filter(|part| self.is_logged(part));
        interweave_store::check_release(logged.map(|part| part.diff_bytes))
            .map_err(|error| storing::rejection(&error))?;
        for part in &r.parts {
            let Some(s) = self.segments.get(part.segment) else {
                continue;
            };
            if part.diff_bytes > largest_diff_bytes(s.quota_bytes) {
                let text = format!(
                    "a release of {} bytes to {} cannot fit: the segment's quota is {} bytes",
                    part.diff_bytes, s.path, s.quota_bytes
                );
                return Err(Rejection::new(ErrorCode::Quota, text));
            }
        }
        Ok(())
    }

    fn is_logged(&self, part: &ReleasePart) -> bool {
        let segment = self.segments.get(part.segment);
        segment.is_some_and(|s| s.durable != Durability::Memory)
    }

    fn nothing_under_way(&self, r: &ReleaseWriter) -> bool {
        let free = |part: &ReleasePart| {
            let s = self.segments.get(part.segment);
            s.is_some_and(|s| !s.committing) && !self.wire.is_receiving((part.segment, part.fence))
        };
        r.parts.iter().all(free)
    }

    fn has_room(&mut self, connection: u64, bulk_bytes: u64) -> bool {
        let segments = &self.segments;
        let is_held = |lock| holds_fence(segments, lock);
        let has_room = self.wire.has_room(connection, bulk_bytes, is_held);
        self.forget_closed();
        has_room
    }
}

fn holds_fence(segments: &Segments, (number, fence): Lock) -> bool {
    let segment = segments.get(number);
    segment.is_some_and(|s| s.lock.holds_fence(fence))
}
