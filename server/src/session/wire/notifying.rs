//! Keeps what a connection knows of its open segments, and tells it of newer versions [NOT-1..6].
//!
//! A slow connection is sent no diffs. The wire only notes the newest version of which the
//! connection must hear later.

use super::super::message::{Body, ServerMessage};
use super::{Moved, Wire};
use crate::coherence::{Known, Newest, Version, Watch};
use interweave_wire::protocol::*;
use interweave_wire::Gathered;
use std::sync::Arc;

/// The most removed segments of which a connection hears by REMOVED.
const MOST_GONE: usize = 1024;

impl Wire {
    /// Notes that the client has, or is being sent, the newest version.
    pub fn now_newest(&mut self, connection: u64, number: u32, newest: &Newest) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        let Some(open) = c.open.get_mut(&number) else {
            return;
        };
        open.known = Known::newest(newest);
        if open.behind.take().is_some() {
            c.behind.retain(|n| *n != number);
        }
        if let Some(watch) = open.watch.as_mut() {
            watch.moved_on();
        }
    }

    /// Notes the version that the client says it has. A notification may become due again [NOT-1].
    pub fn heard_of(&mut self, connection: u64, number: u32, newest: &Newest) {
        let Some(open) = self.opened(connection, number) else {
            return;
        };
        let known = open.known;
        if let Some(watch) = open.watch.as_mut() {
            if watch.bound.allows(&known, newest) {
                watch.moved_on();
            }
        }
    }

    /// Begins the subscription, or changes it.
    pub fn watch(&mut self, connection: u64, number: u32, watch: Watch) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        if let Some(open) = c.open.get_mut(&number) {
            open.watch = Some(watch);
            c.watched.insert(number);
        }
    }

    /// Ends the subscription.
    pub fn unwatch(&mut self, connection: u64, number: u32) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        c.watched.remove(&number);
        let Some(open) = c.open.get_mut(&number) else {
            return;
        };
        open.watch = None;
        if open.behind.take().is_some() {
            c.behind.retain(|segment| *segment != number);
        }
    }

    /// Makes the subscription rest. False: the connection has none, or it rests already.
    pub fn rest(&mut self, connection: u64, number: u32) -> bool {
        let Some(c) = self.connections.get_mut(&connection) else {
            return false;
        };
        let Some(open) = c.open.get_mut(&number) else {
            return false;
        };
        if !open.watch.as_mut().is_some_and(|watch| watch.rest()) {
            return false;
        }
        if open.behind.take().is_some() {
            c.behind.retain(|segment| *segment != number);
        }
        true
    }

    /// Whether a release from `base` is forwarded to the connection.
    pub fn may_forward(
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
            && open.behind.is_none()
            && open.known.stamp == base
            && open
                .watch
                .is_some_and(|w| w.is_due(&open.known, after) && w.can_push(diff_bytes))
    }

    /// Sends PUSH.
    pub fn push(
        &mut self,
        connection: u64,
        number: u32,
        from: Version,
        diff: Gathered,
        newest: &Newest,
    ) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        let stream = c.next_notification();
        if let Some(open) = c.open.get_mut(&number) {
            open.known = Known::newest(newest);
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
        let message = ServerMessage::with_bulk(number, MessageType::Push, stream, &body, diff);
        self.send(connection, message);
    }

    /// Returns the version that the subscriber has and how it watches, if it must be told of the
    /// newest version now. None: its copy is recent enough, or it is slow and told later.
    pub fn due(
        &mut self,
        connection: u64,
        number: u32,
        newest: &Newest,
    ) -> Option<(Version, Watch)> {
        let is_slow = self.is_slow(self.connections.get(&connection)?);
        let c = self.connections.get_mut(&connection)?;
        let open = c.open.get_mut(&number)?;
        if let Some(behind) = open.behind.as_mut() {
            *behind = *newest;
        }
        let watch = open.watch.filter(|w| w.is_due(&open.known, newest))?;
        if is_slow {
            if open.behind.replace(*newest).is_none() {
                c.behind.push(number);
            }
            return None;
        }
        Some((open.known.stamp, watch))
    }

    /// Sends NOT_RECENT, unless it was sent before [NOT-1].
    pub fn announce(&mut self, connection: u64, number: u32, now: Version) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        let watch = c.open.get_mut(&number).and_then(|o| o.watch.as_mut());
        if watch.is_some_and(|watch| !watch.announce()) {
            return;
        }
        let stream = c.next_notification();
        self.counters.announcements += 1;
        let body = NotRecent {
            segment: number,
            now: now.into(),
        };
        let message = ServerMessage::about(number, MessageType::NotRecent, stream, &body);
        self.put(connection, message);
    }

    /// Sends NOT_RECENT of a segment before another message, because the connection has not caught
    /// up [NOT-6].
    pub(super) fn announce_behind(&mut self, connection: u64, number: u32) {
        let Some(open) = self.opened(connection, number) else {
            return;
        };
        let Some(newest) = open.behind.take() else {
            return;
        };
        if open.watch.is_some_and(|w| w.is_due(&open.known, &newest)) {
            self.announce(connection, number, newest.stamp);
        }
    }

    /// Takes out the segments of whose versions the connection could not be told.
    /// REQUIRES: it takes messages again.
    pub fn take_behind(&mut self, connection: u64) -> Vec<u32> {
        let Some(c) = self.connections.get_mut(&connection) else {
            return Vec::new();
        };
        let behind = std::mem::take(&mut c.behind);
        for number in &behind {
            if let Some(open) = c.open.get_mut(number) {
                open.behind = None;
            }
        }
        behind
    }

    /// Tells a session that the server took its writer lock away [LOCK-5]. A session without a
    /// connection, or one that has closed the segment, is not told. Its fence will be refused.
    pub fn writer_lost(&mut self, session: u64, number: u32, fence: u64) {
        self.counters.leases_lost += 1;
        let connection = self.sessions.get(session).and_then(|s| s.connection);
        let segment = number;
        if let Some(connection) = connection {
            let body = WriterLost { segment, fence };
            self.notify(connection, number, MessageType::WriterLost, &body);
        }
    }

    /// Tells the connection that somebody waits for the grant that its client keeps [LOCK-15].
    pub fn recall_writer(&mut self, connection: u64, number: u32, fence: u64) {
        self.counters.recalls += 1;
        let segment = number;
        let body = RecallWriter { segment, fence };
        self.notify(connection, number, MessageType::RecallWriter, &body);
    }

    /// Sends a notification about a segment to a connection that has it open.
    fn notify(&mut self, connection: u64, number: u32, type_: MessageType, body: &impl Body) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        if !c.open.contains_key(&number) {
            return;
        }
        let stream = c.next_notification();
        let message = ServerMessage::about(number, type_, stream, body);
        self.send(connection, message);
    }

    /// Tells the connection that the segment exists no more, if its client may know of that. Its
    /// requests that wait for the segment's locks are refused first.
    pub fn segment_gone(
        &mut self,
        connection: u64,
        number: u32,
        (path, may_know): (&Arc<str>, bool),
        rejection: &interweave_wire::Rejection,
    ) {
        self.close_segment(connection, number);
        let waiting = self.waits_for_lock(connection, number);
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        c.gone.insert(number, path.clone());
        // Of clients that never close what is gone, the oldest are forgotten.
        if c.gone.len() > MOST_GONE {
            c.gone.pop_first();
        }
        let stream = if may_know { c.next_notification() } else { 0 };
        for waiting in waiting {
            self.refuse_awaiting(connection, waiting, rejection);
        }
        if may_know {
            let gone = SegmentGone { segment: number };
            let gone = ServerMessage::about(number, MessageType::SegmentGone, stream, &gone);
            self.send(connection, gone);
        }
    }

    /// Tells the connection that another server has the segment [SPACE-23].
    pub fn segment_moved(
        &mut self,
        connection: u64,
        number: u32,
        path: &Arc<str>,
        to: &interweave_store::Elsewhere,
    ) {
        self.close_segment(connection, number);
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        c.moved.insert(number, Moved(path.clone(), to.clone()));
        if c.moved.len() > MOST_GONE {
            c.moved.pop_first();
        }
        let stream = c.next_notification();
        let body = SegmentMoved {
            segment: number,
            address: to.address.clone(),
            tls_name: to.tls_name.clone(),
        };
        let moved = ServerMessage::about(number, MessageType::SegmentMoved, stream, &body);
        self.send(connection, moved);
    }
}
