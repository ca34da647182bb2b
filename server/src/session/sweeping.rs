//! Brings new rules to the sessions, locks, waits and subscriptions that exist [ACC-6] [RULE-7].
//!
//! The sweep looks at some segments of some sessions at a time, and other events come between, so
//! that nobody waits long for it. A change of the rules meanwhile begins the sweep anew. It visits
//! locks, waits and subscriptions alone: a segment that is only open is asked about at its next
//! request (access.rs).

use super::auditing::Act;
use super::engine::Engine;
use crate::lock::Ticket;
use interweave_access::{Access, Operation};
use interweave_wire::protocol::ErrorCode;
use interweave_wire::Rejection;
use std::sync::Arc;

/// So many segments are looked at without a pause: a millisecond of the engine's thread at most
/// (bench/rights.rs).
const SLICE: usize = 512;
/// The time for other events between two slices.
pub(super) const PAUSE_NS: u64 = 250_000;

/// The sessions and segments that the sweep has still to look at.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    sessions: Vec<u64>,
    /// The session that is being looked at, and the number from which on its segments were not.
    current: Option<(u64, u32)>,
    next_ns: u64,
}

impl Sweep {
    /// Returns when the sweep continues. None: all is looked at.
    pub fn next_ns(&self) -> Option<u64> {
        let is_over = self.sessions.is_empty() && self.current.is_none();
        (!is_over).then_some(self.next_ns)
    }
}

impl Engine {
    /// From now on this access holds. A sweep brings it to locks and subscriptions.
    pub fn set_access(&mut self, now_ns: u64, access: Arc<Access>) {
        self.advance(now_ns);
        self.permits.replace(access);
        let access = &self.permits.access;
        self.accounts.renew(|identity| access.limits(identity));
        self.end_relays();
        let mut sessions: Vec<u64> = self.wire.session_numbers().collect();
        // In an order that does not change from process to process.
        sessions.sort_unstable();
        self.sweep = Sweep {
            sessions,
            current: None,
            next_ns: self.wire.now_ns(),
        };
        self.advance(now_ns);
    }

    pub fn access(&self) -> &Arc<Access> {
        &self.permits.access
    }

    /// Looks at some segments of some sessions.
    pub(super) fn sweep_slice(&mut self) {
        for _ in 0..SLICE {
            match self.sweep.current.take() {
                Some((session, from)) => {
                    if let Some((number, is_locked)) = self.wire.next_held(session, from) {
                        self.sweep.current = number.checked_add(1).map(|next| (session, next));
                        self.sweep_segment(session, number, is_locked);
                    }
                }
                None => match self.sweep.sessions.pop() {
                    Some(session) => self.sweep_session(session),
                    None => break,
                },
            }
        }
        self.sweep.next_ns = self.wire.now_ns() + PAUSE_NS;
        self.forget_closed();
    }

    fn sweep_session(&mut self, session: u64) {
        let Some(s) = self.wire.session(session) else {
            return;
        };
        if !self.permits.access.still_lets_in(&s.login) {
            let text = "the token or certificate of this session is not valid here any more";
            let connection = s.connection;
            self.audit_session_end(session);
            self.end_session(session);
            if let Some(connection) = connection {
                self.wire
                    .complain(connection, ErrorCode::Denied, text.to_string());
                self.wire.close(connection);
            }
            return;
        }
        self.sweep.current = Some((session, 0));
    }

    /// Takes from the session what it has of the segment and may not have any more. `is_locked`: it
    /// may hold or await a lock there.
    fn sweep_segment(&mut self, session: u64, number: u32, is_locked: bool) {
        // A subscription needs one decision. There may be very many.
        if !is_locked && self.may_still_read(session, number) {
            return;
        }
        let connection = self.wire.session(session).and_then(|s| s.connection);
        let Some(rights) = self.rights(session, connection, number) else {
            return;
        };
        if rights.may_change() {
            return;
        }
        let may_read = rights.may_read();
        if let Some(connection) = connection.filter(|_| is_locked) {
            self.refuse_waits((session, connection), number, may_read);
        }
        let Some(s) = self.segments.if_still_there(number) else {
            return;
        };
        let lost = s.lock.take_back(session);
        let mut is_free = lost.is_some();
        if let Some(fence) = lost {
            self.wire.writer_lost(session, number, fence);
        }
        let mut was_reading = false;
        let mut was_subscribed = false;
        if !may_read {
            was_reading = s.lock.release_strict(session);
            is_free |= was_reading;
            if let Some(connection) = connection {
                was_subscribed = s.rest_subscription(&mut self.wire, connection);
            }
        }
        let taken = [
            (lost.is_some(), Act::LockLost, Operation::Write),
            (was_reading, Act::LockLost, Operation::Read),
            (was_subscribed, Act::SubscriptionEnded, Operation::Read),
        ];
        for (_, act, operation) in taken.into_iter().filter(|(was_taken, ..)| *was_taken) {
            self.audit_taken(session, act, number, operation);
        }
        if is_free {
            self.refuse_all_waits(number);
            self.grant_waiting(number);
        }
    }

    /// Refuses everybody who waits for a lock of the segment and may not have it any more. The
    /// sweep comes to some of them later, but the lock is free now.
    fn refuse_all_waits(&mut self, number: u32) {
        let segment = self.segments.get(number);
        let queued = segment.map(|s| s.lock.queued_sessions().collect());
        let queued: Vec<u64> = queued.unwrap_or_default();
        for session in queued {
            let connection = self.wire.session(session).and_then(|s| s.connection);
            let rights = self.rights(session, connection, number);
            if let (Some(connection), Some(rights)) = (connection, rights) {
                if !rights.may_change() {
                    self.refuse_waits((session, connection), number, rights.may_read());
                }
            }
        }
    }

    /// Refuses the connection's requests that wait for a lock of the segment: those for the writer
    /// lock, and without `may_read` the others, too.
    fn refuse_waits(&mut self, (session, connection): (u64, u64), number: u32, may_read: bool) {
        for stream in self.wire.waits_for_lock(connection, number) {
            let ticket = Ticket { connection, stream };
            let Some(s) = self.segments.if_still_there(number) else {
                return;
            };
            if may_read && !s.lock.waits_to_write(ticket) {
                continue;
            }
            s.lock.cancel(ticket);
            let text = format!(
                "the rules changed while the lock of {} was waited for; they do not allow it any \
                 more",
                s.path
            );
            let rejection = Rejection::new(ErrorCode::Denied, text);
            self.wire.refuse_awaiting(connection, stream, &rejection);
            let lacks = match may_read {
                true => Operation::Write,
                false => Operation::Read,
            };
            self.audit_taken(session, Act::Request, number, lacks);
        }
    }

    fn may_still_read(&self, session: u64, number: u32) -> bool {
        let session = self.wire.session(session);
        let both = session.zip(self.segments.get(number));
        both.is_some_and(|(session, segment)| {
            let identity = &session.login.identity;
            let access = &self.permits.access;
            let decision = access.decide(identity, Operation::Read, &segment.path);
            decision.is_allowed
        })
    }

    /// Whether the session may take the segment's writer lock again.
    pub(super) fn may_still_change(&self, session: u64, number: u32) -> bool {
        let access = &self.permits.access;
        if access.is_open() {
            return true;
        }
        let (Some(session), Some(segment)) =
            (self.wire.session(session), self.segments.get(number))
        else {
            return false;
        };
        let identity = &session.login.identity;
        self.permits.decide(identity, &segment.path).may_change()
    }
}
