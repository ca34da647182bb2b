//! Reader and writer locks: a request, its wait, the grant, renewal and loss. Releases are in
//! release.rs. Implements the server's side of [COH-1..7], [LOCK-1..6], [LOCK-11], [LOCK-15] and
//! [LOCK-16].

use super::config::{ns, Config};
use super::engine::{stopping, Engine};
use super::journal::Journal;
use super::message::ServerMessage;
use super::segment::SegmentState;
use super::serials::GRANTED_SERIALS;
use super::wire::{At, Unanswered, Wire};
use crate::coherence::{Bound, Version};
use crate::lock::{Expired, Kind, Outcome, Recall, Refusal, Terms, Ticket};
use interweave_wire::protocol::*;
use interweave_wire::Rejection;

pub(super) fn terms(config: &Config) -> Terms {
    Terms {
        lease_ns: ns(config.lease_ms),
        max_hold_ns: ns(config.max_hold_ms),
        grace_ns: ns(GRACE_MS),
    }
}

/// Of a section under a kept grant whose connection is lost [LOCK-16].
const GRACE_MS: u32 = 100;

/// A request for a free lock that waits for the log alone is not told before that time that the
/// lock was not free. The first writer after a start waits so.
const LOG_WAIT_MS: u32 = 1000;

/// Nor is a request for a lock that a client keeps without need, because the client gives the grant
/// back when it is told to [LOCK-15].
const RECALL_WAIT_MS: u32 = 100;

/// Nor is a request for a lock that a client keeps over a lost connection, because the lock is free
/// when the grace ends [LOCK-16]. So long that the look at that time may come late.
const GRACE_WAIT_MS: u32 = 1000;

impl Engine {
    pub(super) fn acquire_reader(&mut self, at: At, r: &AcquireReader) -> Result<(), Rejection> {
        let bound = bound(r.model, r.x)?;
        let (segment, wire) = self.open_segment_of(at.connection, r.segment)?;
        let Some(known) = segment.told(wire, at.connection, &r.have) else {
            return Ok(());
        };
        if r.model == CoherenceModel::Strict {
            return self.wait_for_lock(at, r.segment, Kind::StrictReader, r.deadline_ms);
        }
        let is_recent = !r.fresh && bound.allows(&known, &segment.newest());
        let have = (!is_recent).then_some(known.stamp);
        segment.send_acquired(wire, at.connection, at.stream, have);
        Ok(())
    }

    pub(super) fn release_reader(&mut self, at: At, r: &ReleaseReader) -> Result<(), Rejection> {
        let (segment, _) = self.open_segment_of(at.connection, r.segment)?;
        segment.lock.release_strict(at.session);
        self.answer(at, MessageType::Done)?;
        self.grant_waiting(r.segment);
        Ok(())
    }

    pub(super) fn acquire_writer(&mut self, at: At, r: &AcquireWriter) -> Result<(), Rejection> {
        let (segment, wire) = self.open_segment_of(at.connection, r.segment)?;
        let open = wire.opened(at.connection, r.segment);
        if open.is_some_and(|open| open.read_only) {
            let text = format!(
                "the writer lock of {} was asked for on a read-only handle; open it for writing",
                segment.path
            );
            return Err(Rejection::new(ErrorCode::ReadOnly, text));
        }
        match segment.lock.writer_hold(at.session) {
            Some((fence, connection)) if connection == at.connection => {
                let text = format!(
                    "this session holds the writer lock of {} already, under fence {fence}; \
                     release or abort it first",
                    segment.path
                );
                return Err(Rejection::new(ErrorCode::WouldDeadlock, text));
            }
            // The session does not know of the grant, or gave it up when it lost its connection.
            Some((fence, _)) if !segment.committing => {
                segment.lock.release(at.session, fence);
            }
            _ => {}
        }
        segment.told(wire, at.connection, &r.have);
        self.wait_for_lock(at, r.segment, Kind::Writer, r.deadline_ms)
    }

    fn wait_for_lock(
        &mut self,
        at: At,
        number: u32,
        kind: Kind,
        deadline_ms: u32,
    ) -> Result<(), Rejection> {
        if self.stopping {
            return Err(stopping());
        }
        self.wire
            .await_answer(at, Unanswered::Lock { segment: number })?;
        let segments = &self.segments;
        let session = self.wire.asking(at);
        let hash = session.hash;
        let concerns = |number| {
            let segment = segments.get(number);
            segment.is_some_and(|s| s.lock.concerns(at.session) || s.remembered.lives(&hash))
        };
        session.note_lock(number, concerns);
        let segment = self.segments.found(number);
        let deadline_ms = if kind == Kind::Writer && segment.lacks_only_serials() {
            deadline_ms.max(LOG_WAIT_MS)
        } else if segment.lock.is_kept_away() {
            deadline_ms.max(GRACE_WAIT_MS)
        } else if segment.lock.is_kept() {
            deadline_ms.max(RECALL_WAIT_MS)
        } else {
            deadline_ms
        };
        let deadline_ns = self.wire.now_ns() + ns(deadline_ms);
        let ticket = Ticket {
            connection: at.connection,
            stream: at.stream,
        };
        let segment = self.segments.found(number);
        segment.lock.request(at.session, ticket, kind, deadline_ns);
        self.grant_waiting(number);
        if deadline_ms == 0 {
            self.watch_segment(number);
        }
        Ok(())
    }

    /// Grants the locks that can be granted, and notes when to look again.
    pub(super) fn grant_waiting(&mut self, number: u32) {
        self.forget_closed();
        if let Some(s) = self.segments.if_still_there(number) {
            s.grant_waiting(&mut self.wire, &mut self.journal, &self.config);
            let (is_handed, is_to_go) = (s.is_handed(), s.is_to_be_removed());
            self.segments.arm(number, self.wire.now_ns());
            if is_handed {
                self.go_on_handing(number);
            }
            if is_to_go {
                self.go_on_removing(number);
            }
        }
    }

    pub(super) fn renew_writer(&mut self, at: At, r: &RenewWriter) -> Result<(), Rejection> {
        let now_ns = self.wire.now_ns();
        let segment = self.segments.usable(r.segment)?;
        match segment.lock.renew(at.session, r.fence, now_ns) {
            Ok(lease_ns) => {
                let body = WriterRenewed {
                    lease_ms: (lease_ns / 1_000_000) as u32,
                };
                let type_ = MessageType::WriterRenewed;
                self.wire.send(
                    at.connection,
                    ServerMessage::about(r.segment, type_, at.stream, &body),
                );
                Ok(())
            }
            Err(Refusal::NotHeld) => Err(fenced(&segment.path, r.fence)),
            Err(Refusal::HeldTooLong) => {
                let text = format!(
                    "the writer lock of {} cannot be renewed: its maximum hold time is used up",
                    segment.path
                );
                Err(Rejection::new(ErrorCode::Fenced, text))
            }
        }
    }

    pub(super) fn more_serials(&mut self, at: At, r: &MoreSerials) -> Result<(), Rejection> {
        let segment = self.segments.usable(r.segment)?;
        segment.more_serials(&mut self.wire, &mut self.journal, at, r)
    }

    pub(super) fn abort_writer(&mut self, at: At, r: &AbortWriter) -> Result<(), Rejection> {
        let segment = self.segments.usable(r.segment)?;
        if segment.committing && segment.lock.holds(at.session, r.fence) {
            let text = "the release of this lock is on its way to the log; wait for its answer";
            return Err(Rejection::new(ErrorCode::BadArgument, text));
        }
        segment.lock.release(at.session, r.fence);
        self.answer(at, MessageType::Done)?;
        self.grant_waiting(r.segment);
        Ok(())
    }

    /// Ends the leases and deadlines of one segment that have passed.
    pub(super) fn watch_segment(&mut self, number: u32) {
        if let Some(s) = self.segments.if_still_there(number) {
            s.end_what_is_over(&mut self.wire);
            self.grant_waiting(number);
        }
    }

    /// CANCEL of a request that waits for the segment's lock.
    pub(super) fn give_up_wait(&mut self, connection: u64, stream: u32, number: u32) {
        let ticket = Ticket { connection, stream };
        let segment = self.segments.if_still_there(number);
        let waited = segment.is_some_and(|s| s.lock.cancel(ticket));
        if waited {
            let text = "the wait for the lock was given up";
            let rejection = Rejection::new(ErrorCode::Cancelled, text);
            self.wire.refuse_awaiting(connection, stream, &rejection);
            self.grant_waiting(number);
        }
    }

    /// Answers CANCELLED to all requests of the connection that wait for the segment.
    pub(super) fn cancel_waits(&mut self, connection: u64, number: u32) {
        for stream in self.wire.waits_for_lock(connection, number) {
            self.give_up_wait(connection, stream, number);
        }
    }
}

impl SegmentState {
    /// Grants the locks that can be granted.
    fn grant_waiting(&mut self, wire: &mut Wire, journal: &mut Journal, config: &Config) {
        self.give_awaited_serials(wire, journal);
        let now_ns = wire.now_ns();
        loop {
            let is_wanted = self.lock.waiting_writers() > 0 && !self.is_handed();
            if is_wanted && !self.serials.has(GRANTED_SERIALS) {
                if let Err(rejection) = self.lack_serials(journal) {
                    self.refuse_writers(wire, &rejection);
                }
                return;
            }
            match self.lock.grant(now_ns) {
                Some(Outcome::Writer { ticket, fence, .. }) => {
                    self.grant_writer(wire, config, ticket, fence);
                    self.extend_serials(journal);
                }
                Some(Outcome::StrictReader { ticket, .. }) => self.grant_reader(wire, ticket),
                None => return self.recall(wire),
            }
            // Sending may have closed connections. Nothing more is granted to these.
            for closed in wire.closed() {
                self.forget(closed, now_ns);
            }
        }
    }

    /// Tells a client that somebody waits for the grant that it keeps [LOCK-15].
    fn recall(&mut self, wire: &mut Wire) {
        if let Some(Recall { connection, fence }) = self.lock.recall() {
            wire.recall_writer(connection, self.number, fence);
        }
    }

    /// Whether the writer lock is free, and the log must know of more serials before it is granted.
    fn lacks_only_serials(&self) -> bool {
        self.lock.writing_session().is_none() && !self.serials.has(GRANTED_SERIALS)
    }

    /// Ends leases and deadlines that have passed.
    fn end_what_is_over(&mut self, wire: &mut Wire) {
        let now_ns = wire.now_ns();
        let last_heard_ns = |session| wire.last_heard_ns(session);
        for expired in self.lock.expire(now_ns, last_heard_ns) {
            match expired {
                Expired::Writer { session, fence } => wire.writer_lost(session, self.number, fence),
                Expired::Waiter { ticket, .. } => self.time_out(wire, ticket),
                Expired::StrictReader { .. } => {}
            }
        }
    }

    fn time_out(&self, wire: &mut Wire, ticket: Ticket) {
        let text = format!(
            "the lock of {} was not free before the deadline; wait longer or try again",
            self.path
        );
        let rejection = Rejection::new(ErrorCode::TimedOut, text);
        wire.refuse_awaiting(ticket.connection, ticket.stream, &rejection);
    }

    /// Refuses all requests that wait for a lock or for serials of the segment.
    pub fn refuse_writers(&mut self, wire: &mut Wire, rejection: &Rejection) {
        let awaiting = self.serials.take_awaiting();
        for ticket in self.lock.refuse_waiters() {
            wire.refuse_awaiting(ticket.connection, ticket.stream, rejection);
        }
        for (at, _) in awaiting {
            wire.refuse_awaiting(at.connection, at.stream, rejection);
        }
    }

    /// Answers a reader. The answer has a diff from `have`, unless `have` is None or the newest.
    fn send_acquired(
        &mut self,
        wire: &mut Wire,
        connection: u64,
        stream: u32,
        have: Option<Version>,
    ) {
        let diff = have.and_then(|have| self.update(wire, connection, have));
        let newest = self.newest();
        let body = ReaderAcquired {
            now: newest.stamp.into(),
            updated: diff.is_some(),
        };
        if have.is_some() {
            wire.now_newest(connection, self.number, &newest);
        } else {
            wire.heard_of(connection, self.number, &newest);
        }
        let type_ = MessageType::ReaderAcquired;
        let bulk = diff.unwrap_or_default();
        let reply = ServerMessage::with_bulk(self.number, type_, stream, &body, bulk);
        wire.send(connection, reply);
    }

    /// Ends the request's wait, and returns the version that the client has. This is the version
    /// that the client named, or a later one that was pushed while it waited [NOT-2]. None: the
    /// client has gone.
    fn granted_have(&self, wire: &mut Wire, ticket: Ticket) -> Option<Version> {
        wire.answered(ticket.connection, ticket.stream);
        let open = wire.opened(ticket.connection, self.number)?;
        Some(open.known.stamp)
    }

    fn grant_reader(&mut self, wire: &mut Wire, ticket: Ticket) {
        let have = self.granted_have(wire, ticket);
        self.send_acquired(wire, ticket.connection, ticket.stream, have);
    }

    fn grant_writer(&mut self, wire: &mut Wire, config: &Config, ticket: Ticket, fence: u64) {
        let have = self.granted_have(wire, ticket);
        let diff = have.and_then(|have| self.update(wire, ticket.connection, have));
        let newest = self.newest();
        let body = WriterAcquired {
            now: newest.stamp.into(),
            updated: diff.is_some(),
            fence,
            lease_ms: config.lease_ms,
            max_hold_ms: config.max_hold_ms,
            first_serial: self.serials.grant(),
            serial_count: GRANTED_SERIALS,
        };
        wire.counters.grants += 1;
        wire.now_newest(ticket.connection, self.number, &newest);
        let type_ = MessageType::WriterAcquired;
        let bulk = diff.unwrap_or_default();
        let reply = ServerMessage::with_bulk(self.number, type_, ticket.stream, &body, bulk);
        wire.send(ticket.connection, reply);
    }
}

pub(super) fn bound(model: CoherenceModel, x: f64) -> Result<Bound, Rejection> {
    let bound = Bound { model, x };
    match bound.is_valid() {
        true => Ok(bound),
        false => {
            let text = format!(
                "{x} is not a bound of {}; versions and seconds are 0 or more, per cent 0 to 100",
                model.name()
            );
            Err(Rejection::new(ErrorCode::BadValue, text))
        }
    }
}

pub(super) fn fenced(path: &str, fence: u64) -> Rejection {
    let text = format!(
        "the writer lock of {path} under fence {fence} is not held any more: its lease ended, or \
         it was given back; take the lock again and repeat the change"
    );
    Rejection::new(ErrorCode::Fenced, text)
}
