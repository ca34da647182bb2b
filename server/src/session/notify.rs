//! Subscriptions, and the messages to a segment's readers. Implements [NOT-1..6] of
//! spec/protocol/notify.x.
//!
//! A slow connection is sent no diffs: the server only notes that its copy is behind. When the
//! connection has caught up, it is sent one combined diff. If another message must be sent before,
//! NOT_RECENT goes first.

use super::engine::Engine;
use super::locks;
use super::message::ServerMessage;
use super::segment::SegmentState;
use super::wire::{At, Wire};
use crate::coherence::{Newest, Version, Watch};
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::*;
use interweave_wire::Gathered;
use interweave_wire::Rejection;

impl Engine {
    pub(super) fn subscribe(&mut self, at: At, r: &Subscribe) -> Result<(), Rejection> {
        let bound = locks::bound(r.model, r.x)?;
        if matches!(
            r.model,
            CoherenceModel::Strict | CoherenceModel::NullCoherence
        ) {
            let text = format!("{} has no bound that could be watched", r.model.name());
            return Err(Rejection::new(ErrorCode::BadValue, text));
        }
        let (segment, wire) = self.open_segment_of(at.connection, r.segment)?;
        if !segment.users.subscribers.contains(&at.connection) {
            segment.users.subscribers.push(at.connection);
        }
        segment.told(wire, at.connection, &r.have);
        let watch = Watch::new(bound, r.push, r.push_bytes);
        wire.watch(at.connection, r.segment, watch);
        let body = Subscribed {
            now: segment.stamp().into(),
        };
        let type_ = MessageType::Subscribed;
        let reply = ServerMessage::about(r.segment, type_, at.stream, &body);
        wire.send(at.connection, reply);
        segment.notify(wire, at.connection);
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, at: At, r: &Unsubscribe) -> Result<(), Rejection> {
        self.check_open(at.connection, r.segment)?;
        self.wire.unwatch(at.connection, r.segment);
        let segment = self.segments.usable(r.segment)?;
        segment.users.subscribers.retain(|c| *c != at.connection);
        self.answer(at, MessageType::Done)
    }

    pub(super) fn credit(&mut self, at: At, r: &Credit) -> Result<(), Rejection> {
        // CREDIT has no reply, also no error, because the subscription may have ended meanwhile.
        let open = self.wire.opened(at.connection, r.segment);
        if let Some(watch) = open.and_then(|open| open.watch.as_mut()) {
            watch.credited(r.bytes);
        }
        Ok(())
    }

    /// Sends the connection its due notifications, because it takes messages again.
    pub(super) fn catch_up(&mut self, connection: u64) {
        for number in self.wire.take_behind(connection) {
            if let Some(s) = self.segments.if_still_there(number) {
                s.notify(&mut self.wire, connection);
            }
        }
    }
}

impl SegmentState {
    /// Returns the subscribers to which a release of the connection `writer` is forwarded, if it
    /// suits their copies.
    pub fn others_subscribed(&self, writer: u64) -> Vec<u64> {
        let others = self.users.subscribers.iter().filter(|c| **c != writer);
        others.copied().collect()
    }

    /// Makes the subscription of a connection rest that may not read any more. NOT_RECENT makes the
    /// client ask, and be refused. The client cannot tell that the subscription rests, so the
    /// subscription does not end [RULE-7].
    pub fn rest_subscription(&mut self, wire: &mut Wire, connection: u64) -> bool {
        let rests = wire.rest(connection, self.number);
        if rests {
            wire.announce(connection, self.number, self.stamp());
        }
        rests
    }

    /// Sends a release's diff, as it was received, to the readers whose copies it brings up to
    /// date.
    pub fn forward(&mut self, wire: &mut Wire, to: &[u64], diff: &Gathered, after: &Newest) {
        let base = self.stamp();
        let versions = (base.number, after.stamp.number);
        let is_lost = planted::is_in(Defect::LostSubscription) && versions.1.is_multiple_of(16);
        for &connection in to.iter().filter(|_| !is_lost) {
            if wire.may_forward(connection, self.number, base, diff.len() as u64, after) {
                let diff = wire.lend(connection, &mut self.shelf, versions, diff);
                self.count_sent(&diff);
                wire.push(connection, self.number, base, diff, after);
            }
        }
    }

    /// Tells each subscriber whose copy is not recent enough any more.
    pub fn notify_subscribers(&mut self, wire: &mut Wire) {
        for connection in self.users.subscribers.clone() {
            self.notify(wire, connection);
        }
    }

    /// Tells the subscriber, if a notification is due. The diff itself tells a subscriber that
    /// wants diffs and can take one.
    pub fn notify(&mut self, wire: &mut Wire, connection: u64) {
        let newest = self.newest();
        let number = newest.stamp.number;
        if planted::is_in(Defect::LostSubscription) && number.is_multiple_of(16) {
            return;
        }
        let Some((have, watch)) = wire.due(connection, self.number, &newest) else {
            return;
        };
        if watch.can_push(1) {
            let diff = self.update(wire, connection, have).unwrap_or_default();
            if watch.can_push(diff.len() as u64) {
                let from = self.pushed_from(have);
                wire.push(connection, self.number, from, diff, &newest);
                return;
            }
        }
        wire.announce(connection, self.number, newest.stamp);
    }

    /// Returns the version at which a diff for a client with `have` begins.
    fn pushed_from(&self, have: Version) -> Version {
        let base = self.master.base_of(self.base_of(have));
        Version {
            incarnation: self.incarnation,
            number: base,
            // A complete copy begins at the empty segment.
            chain: if base == 0 { 0 } else { have.chain },
        }
    }

    /// Makes one diff from `have` to the newest version, for that connection. None: `have` is the
    /// newest.
    pub fn update(&mut self, wire: &mut Wire, connection: u64, have: Version) -> Option<Gathered> {
        let newest = self.stamp();
        if have == newest {
            return None;
        }
        let from = self.master.base_of(self.base_of(have));
        let versions = (from, newest.number);
        let diff = match wire.share(connection, &self.shelf, versions) {
            Some(diff) => {
                wire.counters.shared += 1;
                diff
            }
            None => {
                let before = self.master.collections();
                let diff = self.master.collect(from);
                match self.master.collections() == before {
                    true => wire.counters.cache_hits += 1,
                    false => wire.counters.collections += 1,
                }
                wire.lend(connection, &mut self.shelf, versions, &diff)
            }
        };
        self.count_sent(&diff);
        wire.counters.collected += 1;
        wire.counters.collected_bytes += diff.len() as u64;
        Some(diff)
    }

    /// Notes which version the client says that it has [SEG-1]. None: the connection has not opened
    /// the segment. REQUIRES: the client may read the segment.
    pub fn told(
        &self,
        wire: &mut Wire,
        connection: u64,
        have: &VersionStamp,
    ) -> Option<crate::coherence::Known> {
        let open = wire.opened(connection, self.number)?;
        let have = self.recognised(Version::from(have), &open.known);
        open.known.told(have, &self.newest());
        if let Some(watch) = open.watch.as_mut() {
            watch.resume();
        }
        Some(open.known)
    }
}
