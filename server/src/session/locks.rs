//! Reader and writer locks: asking, waiting, granting, renewing, losing.
//! Implements the server's side of [COH-1..7], [LOCK-1..6] and [LOCK-11]; releases are in release.rs.

use super::config::{ns, Config};
use super::connection::{At, Unanswered};
use super::engine::{stopping, Engine};
use super::message::Outgoing;
use super::segment::{GRANTED_SERIALS, SERIALS_END, SERIAL_STEP};
use super::timers::Timer;
use crate::coherence::{Bound, Known, Version};
use crate::lock::{Expired, Kind, Outcome, Refusal, Terms, Ticket};
use interweave_wire::protocol::*;
use interweave_wire::Rejection;

pub(super) fn terms(config: &Config) -> Terms {
    Terms {
        lease_ns: ns(config.lease_ms),
        max_hold_ns: ns(config.max_hold_ms),
    }
}

impl Engine {
    pub(super) fn acquire_reader(&mut self, at: At, r: &AcquireReader) -> Result<(), Rejection> {
        let bound = bound(r.model, r.x)?;
        self.opened(at.connection, r.segment)?;
        let newest = self.segment(r.segment)?.newest();
        let known = self.told(at.connection, r.segment, &r.have)?;
        let recent = !r.fresh && bound.allows(&known, &newest);
        if r.model == CoherenceModel::Strict {
            return self.wait_for_lock(at, r.segment, Kind::StrictReader, r.deadline_ms);
        }
        match recent {
            true => self.send_acquired(at.connection, at.stream, r.segment, None),
            false => {
                let have = Some(known.stamp);
                self.send_acquired(at.connection, at.stream, r.segment, have);
            }
        }
        Ok(())
    }

    /// The client says which version it has; the server's view of its copy follows [SEG-1].
    pub(super) fn told(
        &mut self,
        connection: u64,
        number: u32,
        have: &VersionStamp,
    ) -> Result<Known, Rejection> {
        let mut known = self.opened(connection, number)?.known;
        let segment = self.segment(number)?;
        let have = segment.recognised(Version::from(have), &known);
        known.told(have, &segment.newest());
        self.opened(connection, number)?.known = known;
        Ok(known)
    }

    /// The reader's answer, with a diff from `have` unless it is None or the newest.
    fn send_acquired(&mut self, connection: u64, stream: u32, number: u32, have: Option<Version>) {
        let diff = have.and_then(|have| self.update(connection, number, have));
        let Some(s) = self.segments.get(&number) else {
            return;
        };
        let body = ReaderAcquired {
            now: s.stamp().into(),
            updated: diff.is_some(),
        };
        if have.is_some() {
            self.now_newest(connection, number);
        } else {
            self.heard_of(connection, number);
        }
        let type_ = MessageType::ReaderAcquired;
        let bulk = diff.unwrap_or_default();
        let reply = Outgoing::with_bulk(number, type_, stream, &body, bulk);
        self.send(connection, reply);
    }

    /// The client has, or is being sent, the newest version.
    pub(super) fn now_newest(&mut self, connection: u64, number: u32) {
        let Some(newest) = self.segments.get(&number).map(|s| s.newest()) else {
            return;
        };
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        if let Some(open) = c.open.get_mut(&number) {
            open.known = Known::newest(&newest);
            if std::mem::take(&mut open.behind) {
                c.behind.retain(|n| *n != number);
            }
            if let Some(watch) = open.watch.as_mut() {
                watch.moved_on();
            }
        }
    }

    /// The client told what it has; a notification may be due again later [NOT-1].
    fn heard_of(&mut self, connection: u64, number: u32) {
        let Some(newest) = self.segments.get(&number).map(|s| s.newest()) else {
            return;
        };
        let Ok(open) = self.opened(connection, number) else {
            return;
        };
        let known = open.known;
        if let Some(watch) = open.watch.as_mut() {
            if watch.bound.allows(&known, &newest) {
                watch.moved_on();
            }
        }
    }

    pub(super) fn release_reader(&mut self, at: At, r: &ReleaseReader) -> Result<(), Rejection> {
        self.opened(at.connection, r.segment)?;
        self.segment(r.segment)?.lock.release_strict(at.session);
        self.answer(at, MessageType::Done)?;
        self.grant_waiting(r.segment);
        Ok(())
    }

    pub(super) fn acquire_writer(&mut self, at: At, r: &AcquireWriter) -> Result<(), Rejection> {
        let read_only = self.opened(at.connection, r.segment)?.read_only;
        let segment = self.segment(r.segment)?;
        if read_only {
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
            // The session does not know of the grant, or has given it up with its connection.
            Some((fence, _)) if !segment.committing => {
                segment.lock.release(at.session, fence);
            }
            _ => {}
        }
        self.told(at.connection, r.segment, &r.have)?;
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
        self.await_answer(at, Unanswered::Lock { segment: number })?;
        if let Some(session) = self.sessions.get_mut(at.session) {
            session.locks.insert(number);
        }
        let deadline_ns = self.now_ns + ns(deadline_ms);
        let ticket = Ticket {
            connection: at.connection,
            stream: at.stream,
        };
        if let Some(s) = self.segments.get_mut(&number) {
            s.lock.request(at.session, ticket, kind, deadline_ns);
        }
        self.grant_waiting(number);
        if deadline_ms == 0 {
            self.watch_segment(number);
        }
        Ok(())
    }

    /// Grants what can be granted, and notes when to look again.
    pub(super) fn grant_waiting(&mut self, number: u32) {
        self.give_awaited_serials(number);
        loop {
            let Some(s) = self.segments.get_mut(&number) else {
                return;
            };
            if s.lock.waiting_writers() > 0 && !s.has_serials(GRANTED_SERIALS) {
                self.lack_serials(number);
                break;
            }
            let Some(outcome) = s.lock.grant(self.now_ns) else {
                break;
            };
            match outcome {
                Outcome::Writer { ticket, fence, .. } => self.grant_writer(number, ticket, fence),
                Outcome::StrictReader { ticket, .. } => {
                    let have = self.granted_have(number, ticket);
                    self.send_acquired(ticket.connection, ticket.stream, number, have);
                }
            }
        }
        self.arm_segment(number);
    }

    /// The request is about to be answered; the version that the client has: what it said, or what it
    /// was pushed while it waited [NOT-2].
    fn granted_have(&mut self, number: u32, ticket: Ticket) -> Option<Version> {
        self.answered(ticket.connection, ticket.stream);
        let open = self.opened(ticket.connection, number).ok()?;
        Some(open.known.stamp)
    }

    fn lack_serials(&mut self, number: u32) {
        let exhausted = |s: &super::segment::SegmentState| s.serials_below >= SERIALS_END;
        if self.segments.get(&number).is_some_and(exhausted) {
            self.refuse_writers(number, &no_serials());
        } else {
            self.extend_serials(number);
        }
    }

    fn grant_writer(&mut self, number: u32, ticket: Ticket, fence: u64) {
        let have = self.granted_have(number, ticket);
        let diff = have.and_then(|have| self.update(ticket.connection, number, have));
        let config = (self.config.lease_ms, self.config.max_hold_ms);
        let Some(s) = self.segments.get_mut(&number) else {
            return;
        };
        s.granted.clear();
        let body = WriterAcquired {
            now: s.stamp().into(),
            updated: diff.is_some(),
            fence,
            lease_ms: config.0,
            max_hold_ms: config.1,
            first_serial: s.give_serials(GRANTED_SERIALS),
            serial_count: GRANTED_SERIALS,
        };
        self.counters.grants += 1;
        self.now_newest(ticket.connection, number);
        let type_ = MessageType::WriterAcquired;
        let bulk = diff.unwrap_or_default();
        let reply = Outgoing::with_bulk(number, type_, ticket.stream, &body, bulk);
        self.send(ticket.connection, reply);
        self.extend_serials(number);
    }

    pub(super) fn renew_writer(&mut self, at: At, r: &RenewWriter) -> Result<(), Rejection> {
        let now_ns = self.now_ns;
        let segment = self.segment(r.segment)?;
        match segment.lock.renew(at.session, r.fence, now_ns) {
            Ok(lease_ns) => {
                let body = WriterRenewed {
                    lease_ms: (lease_ns / 1_000_000) as u32,
                };
                let type_ = MessageType::WriterRenewed;
                self.send(
                    at.connection,
                    Outgoing::about(r.segment, type_, at.stream, &body),
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

    /// Waits, like the answer to a release, for the log if that has to know first [LOG-8].
    pub(super) fn more_serials(&mut self, at: At, r: &MoreSerials) -> Result<(), Rejection> {
        let segment = self.segment(r.segment)?;
        if !segment.lock.holds(at.session, r.fence) {
            return Err(fenced(&segment.path, r.fence));
        }
        if u64::from(r.count) > SERIAL_STEP / 2 {
            let most = SERIAL_STEP / 2;
            let text = format!("{} serials were asked for; ask for at most {most}", r.count);
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        if segment.has_serials(r.count) {
            self.send_serials(at, r);
            return Ok(());
        }
        if segment.serials_below >= SERIALS_END {
            return Err(no_serials());
        }
        self.await_answer(at, Unanswered::Store)?;
        if let Some(segment) = self.segments.get_mut(&r.segment) {
            segment.awaiting_serials.push((at, r.clone()));
        }
        self.extend_serials(r.segment);
        Ok(())
    }

    fn send_serials(&mut self, at: At, r: &MoreSerials) {
        let Some(segment) = self.segments.get_mut(&r.segment) else {
            return;
        };
        let body = SerialsGranted {
            first_serial: segment.give_serials(r.count),
            serial_count: r.count,
        };
        let type_ = MessageType::SerialsGranted;
        let reply = Outgoing::about(r.segment, type_, at.stream, &body);
        self.send(at.connection, reply);
        self.extend_serials(r.segment);
    }

    /// Answers those who waited for the log to know of more serials, as far as it does.
    fn give_awaited_serials(&mut self, number: u32) {
        let Some(segment) = self.segments.get_mut(&number) else {
            return;
        };
        for (at, r) in std::mem::take(&mut segment.awaiting_serials) {
            let Some(segment) = self.segments.get_mut(&number) else {
                return;
            };
            if !segment.lock.holds(at.session, r.fence) {
                let rejection = fenced(&segment.path, r.fence);
                self.refuse_awaiting(at, &rejection);
            } else if segment.has_serials(r.count) {
                self.answered(at.connection, at.stream);
                self.send_serials(at, &r);
            } else {
                segment.awaiting_serials.push((at, r));
            }
        }
    }

    pub(super) fn refuse_awaiting(&mut self, at: At, rejection: &Rejection) {
        self.answered(at.connection, at.stream);
        let (code, text) = (rejection.code, rejection.text.clone());
        self.send(at.connection, Outgoing::error(at.stream, code, text));
    }

    pub(super) fn abort_writer(&mut self, at: At, r: &AbortWriter) -> Result<(), Rejection> {
        let segment = self.segment(r.segment)?;
        if segment.committing && segment.lock.holds(at.session, r.fence) {
            let text = "the release of this lock is on its way to the log; wait for its answer";
            return Err(Rejection::new(ErrorCode::BadArgument, text));
        }
        segment.lock.release(at.session, r.fence);
        self.answer(at, MessageType::Done)?;
        self.grant_waiting(r.segment);
        Ok(())
    }

    /// Leases and deadlines of one segment.
    pub(super) fn watch_segment(&mut self, number: u32) {
        let Some(s) = self.segments.get_mut(&number) else {
            return;
        };
        // A session on its way from one connection to the next may have been heard over both.
        let last_heard_ns = |session| {
            let session = self.sessions.get(session);
            let connection = session.and_then(|s| self.connections.get(&s.connection?));
            let over_connection_ns = connection.map_or(0, |c| c.heard_ns);
            over_connection_ns.max(session.map_or(0, |s| s.heard_ns))
        };
        for expired in s.lock.expire(self.now_ns, last_heard_ns) {
            match expired {
                Expired::Writer { session, fence } => self.writer_lost(number, session, fence),
                Expired::Waiter { ticket, .. } => self.timed_out(number, ticket),
                Expired::StrictReader { .. } => {}
            }
        }
        self.grant_waiting(number);
    }

    pub(super) fn arm_segment(&mut self, number: u32) {
        let deadline_ns = self
            .segments
            .get(&number)
            .and_then(|s| s.lock.next_deadline_ns());
        if let Some(deadline_ns) = deadline_ns {
            self.timers.arm(Timer::Segment(number), deadline_ns);
        }
    }

    /// The server takes the lock away and says so [LOCK-5].
    fn writer_lost(&mut self, number: u32, session: u64, fence: u64) {
        self.counters.leases_lost += 1;
        let connection = self.sessions.get(session).and_then(|s| s.connection);
        let c = connection.and_then(|c| self.connections.get_mut(&c));
        let (Some(connection), Some(c)) = (connection, c) else {
            return;
        };
        if !c.open.contains_key(&number) {
            return;
        }
        let stream = c.next_notification();
        let body = WriterLost {
            segment: number,
            fence,
        };
        let type_ = MessageType::WriterLost;
        self.send(connection, Outgoing::about(number, type_, stream, &body));
    }

    fn timed_out(&mut self, number: u32, ticket: Ticket) {
        let path = self.segments.get(&number).map(|s| s.path.clone());
        let text = format!(
            "the lock of {} was not free before the deadline; wait longer or try again",
            path.unwrap_or_default()
        );
        self.answered(ticket.connection, ticket.stream);
        let error = Outgoing::error(ticket.stream, ErrorCode::TimedOut, text);
        self.send(ticket.connection, error);
    }

    /// CANCEL of a request that waits for the segment's lock.
    pub(super) fn give_up_wait(&mut self, connection: u64, stream: u32, number: u32) {
        let ticket = Ticket { connection, stream };
        let waited = self
            .segments
            .get_mut(&number)
            .is_some_and(|s| s.lock.cancel(ticket));
        if waited {
            self.answered(connection, stream);
            let text = "the wait for the lock was given up".to_string();
            self.send(
                connection,
                Outgoing::error(stream, ErrorCode::Cancelled, text),
            );
            self.grant_waiting(number);
        }
    }

    /// Whatever the connection awaits of the segment is answered CANCELLED.
    pub(super) fn cancel_waits(&mut self, connection: u64, number: u32) {
        let Some(c) = self.connections.get(&connection) else {
            return;
        };
        let of_segment =
            |what: &Unanswered| matches!(what, Unanswered::Lock { segment } if *segment == number);
        let waiting = c.unanswered.iter().filter(|(_, what)| of_segment(what));
        let streams: Vec<u32> = waiting.map(|(stream, _)| *stream).collect();
        for stream in streams {
            self.give_up_wait(connection, stream, number);
        }
    }

    /// All who wait for a lock of the segment, or for serials, are refused.
    pub(super) fn refuse_writers(&mut self, number: u32, rejection: &Rejection) {
        let Some(s) = self.segments.get_mut(&number) else {
            return;
        };
        let awaiting = std::mem::take(&mut s.awaiting_serials);
        for ticket in s.lock.refuse_waiters() {
            self.answered(ticket.connection, ticket.stream);
            let (code, text) = (rejection.code, rejection.text.clone());
            self.send(
                ticket.connection,
                Outgoing::error(ticket.stream, code, text),
            );
        }
        for (at, _) in awaiting {
            self.refuse_awaiting(at, rejection);
        }
    }
}

pub(super) fn bound(model: CoherenceModel, x: f64) -> Result<Bound, Rejection> {
    let bound = Bound { model, x };
    match bound.is_valid() {
        true => Ok(bound),
        false => {
            let text = format!(
                "{x} is no bound under {}; versions and seconds are 0 or more, per cent 0 to 100",
                model.name()
            );
            Err(Rejection::new(ErrorCode::BadValue, text))
        }
    }
}

fn no_serials() -> Rejection {
    let text = "all 2^48 serials of the segment are given out; copy it to a new segment";
    Rejection::new(ErrorCode::TooLarge, text)
}

pub(super) fn fenced(path: &str, fence: u64) -> Rejection {
    let text = format!(
        "the writer lock of {path} under fence {fence} is not held any more: its lease ended, or it \
         was given back; take the lock again and repeat the change"
    );
    Rejection::new(ErrorCode::Fenced, text)
}
