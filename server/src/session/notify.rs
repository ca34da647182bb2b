//! Subscriptions and notifications. Implements [NOT-1..6] of spec/protocol/notify.x.
//!
//! A connection that is slow is sent no diffs; it is only noted that its copy is behind. When it has
//! caught up it is sent one combined diff; if something else must be sent to it before, NOT_RECENT
//! goes first.

use super::connection::At;
use super::engine::Engine;
use super::lending::LENT_BYTES;
use super::locks;
use super::message::Outgoing;
use crate::coherence::{Known, Newest, Version, Watch};
use bytes::Bytes;
use interweave_wire::protocol::*;
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
        self.opened(at.connection, r.segment)?;
        let segment = self.segment(r.segment)?;
        let newest = segment.newest();
        if !segment.subscribers.contains(&at.connection) {
            segment.subscribers.push(at.connection);
        }
        self.told(at.connection, r.segment, &r.have)?;
        let open = self.opened(at.connection, r.segment)?;
        open.watch = Some(Watch::new(bound, r.push, r.push_bytes));
        let body = Subscribed {
            now: newest.stamp.into(),
        };
        let type_ = MessageType::Subscribed;
        self.send(
            at.connection,
            Outgoing::about(r.segment, type_, at.stream, &body),
        );
        self.notify(at.connection, r.segment);
        Ok(())
    }

    pub(super) fn unsubscribe(&mut self, at: At, r: &Unsubscribe) -> Result<(), Rejection> {
        let open = self.opened(at.connection, r.segment)?;
        open.watch = None;
        open.behind = false;
        if let Some(c) = self.connections.get_mut(&at.connection) {
            c.behind.retain(|segment| *segment != r.segment);
        }
        let segment = self.segment(r.segment)?;
        segment.subscribers.retain(|c| *c != at.connection);
        self.answer(at, MessageType::Done)
    }

    pub(super) fn credit(&mut self, at: At, r: &Credit) -> Result<(), Rejection> {
        // No reply, also not an error: the subscription may have ended on the way.
        if let Ok(open) = self.opened(at.connection, r.segment) {
            if let Some(watch) = open.watch.as_mut() {
                watch.credited(r.bytes);
            }
        }
        Ok(())
    }

    /// Those that the release of another connection is forwarded to, if it suits them.
    pub(super) fn others_subscribed(&self, number: u32, writer: u64) -> Vec<u64> {
        let segment = self.segments.get(&number);
        let subscribers = segment.map_or(&[][..], |s| &s.subscribers);
        let others = subscribers.iter().filter(|c| **c != writer);
        others.copied().collect()
    }

    /// Sends the diff of a release, as it was received, to those whose copy it brings up to date.
    pub(super) fn forward(&mut self, number: u32, to: &[u64], diff: &Bytes, after: Newest) {
        let Some(s) = self.segments.get(&number) else {
            return;
        };
        let base = s.stamp();
        let mut lent = None;
        for &connection in to {
            if self.may_forward(connection, number, base, diff.len() as u64, &after) {
                let diff = if diff.len() < LENT_BYTES {
                    diff.clone()
                } else {
                    let versions = (base.number, after.stamp.number);
                    let lent = lent.get_or_insert_with(|| self.lend(number, versions, diff));
                    self.lend_to(connection, lent.clone())
                };
                if let Some(s) = self.segments.get_mut(&number) {
                    s.count_sent(&diff);
                }
                self.push(connection, number, base, diff, after);
            }
        }
    }

    fn may_forward(
        &self,
        connection: u64,
        number: u32,
        base: Version,
        diff_bytes: u64,
        after: &Newest,
    ) -> bool {
        let Some(c) = self.connections.get(&connection) else {
            return false;
        };
        let Some(open) = c.open.get(&number) else {
            return false;
        };
        !self.is_slow(c)
            && !open.behind
            && open.known.stamp == base
            && open
                .watch
                .is_some_and(|w| w.is_due(&open.known, after) && w.can_push(diff_bytes))
    }

    fn push(&mut self, connection: u64, number: u32, from: Version, diff: Bytes, newest: Newest) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        let stream = c.next_notification();
        if let Some(open) = c.open.get_mut(&number) {
            open.known = Known::newest(&newest);
            if let Some(watch) = open.watch.as_mut() {
                watch.pushed(diff.len() as u64);
            }
        }
        self.counters.pushes += 1;
        self.counters.push_bytes += diff.len() as u64;
        let body = Push {
            segment: number,
            from: from.into(),
            now: newest.stamp.into(),
        };
        let message = Outgoing::with_bulk(number, MessageType::Push, stream, &body, diff);
        self.send(connection, message);
    }

    /// Tells every subscriber whose copy is not recent enough any more.
    pub(super) fn notify_subscribers(&mut self, number: u32) {
        let Some(s) = self.segments.get(&number) else {
            return;
        };
        for connection in s.subscribers.clone() {
            self.notify(connection, number);
        }
    }

    /// Tells the subscriber if that is due: by the diff, if it wants it and can take it.
    fn notify(&mut self, connection: u64, number: u32) {
        let Some((known, watch)) = self.due(connection, number) else {
            return;
        };
        let slow = self.connections.get(&connection).map(|c| self.is_slow(c));
        let (Some(slow), Some(c)) = (slow, self.connections.get_mut(&connection)) else {
            return;
        };
        if slow {
            if let Some(open) = c.open.get_mut(&number).filter(|open| !open.behind) {
                open.behind = true;
                c.behind.push(number);
            }
            return;
        }
        if watch.can_push(1) {
            let diff = self
                .update(connection, number, known.stamp)
                .unwrap_or_default();
            let segment = self.segments.get(&number);
            let newest = segment.map(|s| (s.master.base_of(s.base_of(known.stamp)), s.newest()));
            if let (true, Some((base, newest))) = (watch.can_push(diff.len() as u64), newest) {
                let from = Version {
                    incarnation: newest.stamp.incarnation,
                    number: base,
                    // a complete copy is from the empty segment
                    chain: if base == 0 { 0 } else { known.stamp.chain },
                };
                self.push(connection, number, from, diff, newest);
                return;
            }
        }
        self.announce(connection, number);
    }

    fn due(&self, connection: u64, number: u32) -> Option<(Known, Watch)> {
        let newest = self.segments.get(&number)?.newest();
        let open = self.connections.get(&connection)?.open.get(&number)?;
        let watch = open.watch?;
        watch
            .is_due(&open.known, &newest)
            .then_some((open.known, watch))
    }

    /// NOT_RECENT.
    fn announce(&mut self, connection: u64, number: u32) {
        let Some(now) = self.segments.get(&number).map(|s| s.stamp()) else {
            return;
        };
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        let stream = c.next_notification();
        if let Some(watch) = c.open.get_mut(&number).and_then(|o| o.watch.as_mut()) {
            watch.announced();
        }
        self.counters.announcements += 1;
        let body = NotRecent {
            segment: number,
            now: now.into(),
        };
        let message = Outgoing::about(number, MessageType::NotRecent, stream, &body);
        self.put(connection, message);
    }

    /// The connection takes messages again.
    pub(super) fn catch_up(&mut self, connection: u64) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        let behind = std::mem::take(&mut c.behind);
        for number in &behind {
            if let Some(open) = c.open.get_mut(number) {
                open.behind = false;
            }
        }
        for number in behind {
            self.notify(connection, number);
        }
    }

    /// Something else is to be sent before the connection has caught up [NOT-6].
    pub(super) fn announce_behind(&mut self, connection: u64, number: u32) {
        let open = self
            .connections
            .get_mut(&connection)
            .and_then(|c| c.open.get_mut(&number));
        if let Some(open) = open {
            open.behind = false;
        }
        if self.due(connection, number).is_some() {
            self.announce(connection, number);
        }
    }

    /// The server goes: GOODBYE, and the connection is closed.
    pub(super) fn part(&mut self, connection: u64) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        let stream = c.next_notification();
        self.send(connection, Outgoing::new(MessageType::Goodbye, stream, &()));
        self.close(connection);
    }
}
