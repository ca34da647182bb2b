//! The locks of one segment: one writer at a time, strict readers, and who waits for them.
//!
//! Pure: time is an argument, in nanoseconds of a monotonic clock. Sessions are numbers that the
//! caller gives; a ticket says which request of which connection waits. Invariants: a writer and
//! strict readers never hold together [LOCK-11]; waiters are granted in order of arrival, except
//! that one whose connection is lost keeps its place but is passed over [LOCK-1]; fences only grow
//! [LOCK-2]; a lock whose release is being logged is not taken away; a grant that is kept over a
//! lost connection stands in nobody's way once its grace is over [LOCK-16].
//! Implements [LOCK-1..5], [LOCK-11] and [LOCK-13..16] of spec/coherence.md.

use interweave_wire::planted::{self, Defect};
use interweave_wire::{Rare, Resting};
use std::collections::VecDeque;

#[cfg(test)]
mod tests;

/// How long a grant lasts without renewal, and with any number of renewals.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub lease_ns: u64,
    pub max_hold_ns: u64,
    /// So long after the loss of its connection a client that keeps a grant may still say that a
    /// section is under way [LOCK-16].
    pub grace_ns: u64,
}

/// A request that waits: its connection and stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub connection: u64,
    pub stream: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Writer,
    StrictReader,
}

/// The end of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Writer {
        session: u64,
        ticket: Ticket,
        fence: u64,
    },
    StrictReader {
        session: u64,
        ticket: Ticket,
    },
}

/// What the passing of time ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expired {
    /// The lease or the hold time of the writer is over [LOCK-5].
    Writer { session: u64, fence: u64 },
    /// The deadline of a waiting request passed.
    Waiter { session: u64, ticket: Ticket },
    /// The session of a strict reader was silent for a lease, or its hold time is over [LOCK-11].
    StrictReader { session: u64 },
}

/// Why a lock is not renewed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The fence is not the holder's.
    NotHeld,
    /// The lease cannot be extended beyond the hold time.
    HeldTooLong,
}

/// A session may keep its grant once it was granted so many in a row [LOCK-13].
const GRANTS_BEFORE_KEPT: u32 = 3;

/// A kept grant that somebody waits for: the connection to be told, and the fence [LOCK-15].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recall {
    pub connection: u64,
    pub fence: u64,
}

#[derive(Debug, Clone, Copy)]
struct Hold {
    session: u64,
    fence: u64,
    lease_until_ns: u64,
    hold_until_ns: u64,
    /// The connection on which the grant was sent.
    connection: u64,
    /// Its release is on the way to the log.
    committing: bool,
    /// The sequence number of the release that was refused last; 0: none was.
    refused: u64,
    keeping: Keeping,
}

/// What becomes of a grant when its holder releases, and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keeping {
    /// The first section of the grant, or the first after a recall.
    Not,
    /// The release that is being answered leaves the grant with the client.
    Granted,
    /// The client keeps it. Nobody knows whether a section has begun.
    Kept,
    /// Likewise, and it was told that somebody waits.
    Recalled,
    /// Likewise, and its connection is lost. From then on whoever asks gets the lock.
    Away { until_ns: u64 },
}

impl Hold {
    /// Lease and hold time begin.
    fn begin(&mut self, terms: &Terms, now_ns: u64) {
        self.hold_until_ns = now_ns.saturating_add(terms.max_hold_ns);
        let lease_until_ns = now_ns.saturating_add(terms.lease_ns);
        self.lease_until_ns = lease_until_ns.min(self.hold_until_ns);
    }

    /// The client has shown over another connection that it is in a writer section. It will not
    /// keep the grant after it.
    fn is_in_section(&mut self) {
        if matches!(self.keeping, Keeping::Away { .. }) {
            self.keeping = Keeping::Not;
        }
    }

    /// From when on whoever asks gets the lock at once [LOCK-16].
    fn abandoned_from_ns(&self) -> Option<u64> {
        match self.keeping {
            Keeping::Away { until_ns } if !self.committing => Some(until_ns),
            _ => None,
        }
    }

    fn is_abandoned(&self, now_ns: u64) -> bool {
        self.abandoned_from_ns().is_some_and(|from| from <= now_ns)
    }
}

#[derive(Debug, Clone, Copy)]
struct Waiter {
    session: u64,
    /// None: the connection is lost, the place is kept for the session's next request.
    ticket: Option<Ticket>,
    kind: Kind,
    deadline_ns: u64,
}

#[derive(Debug, Clone, Copy)]
struct StrictHold {
    session: u64,
    /// When the session was heard last, as far as was asked.
    heard_ns: u64,
    hold_until_ns: u64,
}

impl StrictHold {
    fn until_ns(&self, terms: &Terms) -> u64 {
        let lease_until_ns = self.heard_ns.saturating_add(terms.lease_ns);
        lease_until_ns.min(self.hold_until_ns)
    }
}

/// The strict readers and those who wait. Most segments of a large server have neither.
#[derive(Debug)]
struct Line {
    strict: Vec<StrictHold>,
    queue: VecDeque<Waiter>,
    /// Nothing is granted.
    is_closed: bool,
}

impl Resting for Line {
    const REST: Self = Line {
        strict: Vec::new(),
        queue: VecDeque::new(),
        is_closed: false,
    };
    const AT_REST: &'static Self = &Self::REST;
}

/// The locks of one segment.
#[derive(Debug)]
pub struct SegmentLock {
    terms: Terms,
    last_fence: u64,
    holder: Option<Hold>,
    line: Rare<Line>,
    /// The session that was granted the writer lock last, and how often in a row. Strict readers of
    /// other sessions end the row.
    row: (u64, u32),
}

impl SegmentLock {
    /// `last_fence`: every fence given will be larger.
    pub fn new(terms: Terms, last_fence: u64) -> Self {
        SegmentLock {
            terms,
            last_fence,
            holder: None,
            line: Rare::default(),
            row: (0, 0),
        }
    }

    pub fn last_fence(&self) -> u64 {
        self.last_fence
    }

    pub fn is_write_locked(&self) -> bool {
        self.holder.is_some()
    }

    pub fn waiting_writers(&self) -> usize {
        self.waiting_sessions().count()
    }

    /// The session that writes.
    pub fn writing_session(&self) -> Option<u64> {
        Some(self.holder?.session)
    }

    /// The sessions that wait to write, in the order of their arrival.
    pub fn waiting_sessions(&self) -> impl Iterator<Item = u64> + '_ {
        let writers = self.line.queue.iter().filter(|w| w.kind == Kind::Writer);
        writers.map(|w| w.session)
    }

    /// The sessions that wait to write or to read.
    pub fn queued_sessions(&self) -> impl Iterator<Item = u64> + '_ {
        self.line.queue.iter().map(|w| w.session)
    }

    /// The fence under which the session writes, and the connection that was told.
    pub fn writer_hold(&self, session: u64) -> Option<(u64, u64)> {
        let hold = self.holder.filter(|hold| hold.session == session)?;
        Some((hold.fence, hold.connection))
    }

    /// Whether the fence is the session's and current [LOCK-4].
    pub fn holds(&self, session: u64, fence: u64) -> bool {
        self.writer_hold(session).is_some_and(|(f, _)| f == fence)
    }

    /// Whether the fence is current, whoever holds the lock.
    pub fn holds_fence(&self, fence: u64) -> bool {
        self.holder.is_some_and(|hold| hold.fence == fence)
    }

    /// Puts a request in the queue; [`SegmentLock::grant`] says when its turn has come. A place
    /// that the session lost with its connection is taken up again.
    pub fn request(&mut self, session: u64, ticket: Ticket, kind: Kind, deadline_ns: u64) {
        let kept = self
            .line
            .queue
            .iter_mut()
            .find(|w| w.session == session && w.kind == kind && w.ticket.is_none());
        let waiter = Waiter {
            session,
            ticket: Some(ticket),
            kind,
            deadline_ns,
        };
        match kept {
            Some(place) => *place = waiter,
            None => self.line.queue.push_back(waiter),
        }
    }

    /// The next request whose turn has come, if any; call until it returns None.
    pub fn grant(&mut self, now_ns: u64) -> Option<Outcome> {
        if self.line.queue.is_empty() || self.line.is_closed {
            return None;
        }
        if self.holder.is_some_and(|hold| !hold.is_abandoned(now_ns)) {
            return None;
        }
        let index = self.next_in_turn()?;
        let next = self.line.queue[index];
        let ticket = next.ticket?;
        self.holder = None;
        match next.kind {
            Kind::StrictReader => {
                self.line.queue.remove(index);
                self.hold_strictly(next.session, now_ns);
                Some(Outcome::StrictReader {
                    session: next.session,
                    ticket,
                })
            }
            Kind::Writer
                if self.line.strict.is_empty() || planted::is_in(Defect::StrictForgotten) =>
            {
                self.line.queue.remove(index);
                let fence = self.hold_writing(next.session, ticket.connection, now_ns);
                Some(Outcome::Writer {
                    session: next.session,
                    ticket,
                    fence,
                })
            }
            Kind::Writer => None,
        }
    }

    /// In order of arrival, but a session that reads strictly already does not wait for a writer
    /// that waits for it [LOCK-11].
    fn next_in_turn(&self) -> Option<usize> {
        let reads_already = |w: &Waiter| {
            w.kind == Kind::StrictReader && self.line.strict.iter().any(|s| s.session == w.session)
        };
        let is_connected = |w: &Waiter| w.ticket.is_some();
        let again = |w: &Waiter| is_connected(w) && reads_already(w);
        let again = self.line.queue.iter().position(again);
        again.or_else(|| self.line.queue.iter().position(is_connected))
    }

    /// Grants nothing from now on. Whoever waits keeps the place.
    pub fn close(&mut self) {
        self.line.is_closed = true;
    }

    /// Grants again.
    pub fn reopen(&mut self) {
        if let Some(line) = self.line.awake() {
            line.is_closed = false;
        }
    }

    /// Whether nobody writes or reads strictly. A grant that is kept over a lost connection counts
    /// for nothing after its grace.
    pub fn is_free(&self, now_ns: u64) -> bool {
        let is_held = self.holder.is_some_and(|hold| !hold.is_abandoned(now_ns));
        !is_held && self.line.strict.is_empty()
    }

    /// Whether somebody waits for the lock, or whoever has it is to give it back.
    fn is_wanted(&self) -> bool {
        self.line.is_closed || self.next_in_turn().is_some()
    }

    /// Whether a client keeps the grant, and may give it back as soon as it is told to.
    pub fn is_kept(&self) -> bool {
        let is_kept = |hold: &Hold| matches!(hold.keeping, Keeping::Kept | Keeping::Recalled);
        self.holder
            .is_some_and(|hold| is_kept(&hold) && !hold.committing)
    }

    /// Whether a client keeps the grant, and its connection is lost.
    pub fn is_kept_away(&self) -> bool {
        self.holder
            .is_some_and(|hold| hold.abandoned_from_ns().is_some())
    }

    /// The client that keeps the grant and must be told, once, that somebody waits [LOCK-15].
    pub fn recall(&mut self) -> Option<Recall> {
        if !self.is_wanted() {
            return None;
        }
        let hold = self.holder.as_mut()?;
        if hold.keeping != Keeping::Kept || hold.committing {
            return None;
        }
        hold.keeping = Keeping::Recalled;
        Some(Recall {
            connection: hold.connection,
            fence: hold.fence,
        })
    }

    /// Whether a release under that fence, over that connection, may leave the grant with its
    /// client [LOCK-13].
    pub fn may_keep(&self, session: u64, connection: u64, fence: u64) -> bool {
        let is_awaited = !self.line.queue.is_empty() && !planted::is_in(Defect::KeptFromOthers);
        let is_awaited = is_awaited || self.line.is_closed;
        let is_wanted = is_awaited || self.row.1 < GRANTS_BEFORE_KEPT;
        !is_wanted && self.writer_hold(session) == Some((fence, connection))
    }

    /// The release that is being answered leaves the grant with the client.
    pub fn keep(&mut self, fence: u64) {
        if let Some(hold) = self.holder.as_mut().filter(|hold| hold.fence == fence) {
            hold.keeping = Keeping::Granted;
        }
    }

    /// The release was committed. The lock is given back, unless the client was told that it keeps
    /// it: then lease and hold time begin anew.
    pub fn end_commit(&mut self, session: u64, fence: u64, now_ns: u64) {
        let terms = self.terms;
        let kept = |hold: &&mut Hold| hold.fence == fence && hold.keeping == Keeping::Granted;
        match self.holder.as_mut().filter(kept) {
            Some(hold) => {
                hold.keeping = Keeping::Kept;
                hold.committing = false;
                hold.begin(&terms, now_ns);
            }
            None => drop(self.release(session, fence)),
        }
    }

    /// The hold time runs from the first grant, however often the session asks again.
    fn hold_strictly(&mut self, session: u64, now_ns: u64) {
        if self.row.0 != session {
            self.row = (0, 0);
        }
        match self.line.strict.iter_mut().find(|s| s.session == session) {
            Some(hold) => hold.heard_ns = hold.heard_ns.max(now_ns),
            None => self.line.strict.push(StrictHold {
                session,
                heard_ns: now_ns,
                hold_until_ns: now_ns.saturating_add(self.terms.max_hold_ns),
            }),
        }
    }

    fn hold_writing(&mut self, session: u64, connection: u64, now_ns: u64) -> u64 {
        self.last_fence += 1;
        self.row = match self.row {
            (last, in_row) if last == session => (last, in_row.saturating_add(1)),
            _ => (session, 1),
        };
        let mut hold = Hold {
            session,
            fence: self.last_fence,
            lease_until_ns: 0,
            hold_until_ns: 0,
            connection,
            committing: false,
            refused: 0,
            keeping: Keeping::Not,
        };
        hold.begin(&self.terms, now_ns);
        self.holder = Some(hold);
        self.last_fence
    }

    /// Extends the lease within the hold time; returns how long it is from now [LOCK-3].
    pub fn renew(&mut self, session: u64, fence: u64, now_ns: u64) -> Result<u64, Refusal> {
        let terms = self.terms;
        let hold = self.holder.as_mut().ok_or(Refusal::NotHeld)?;
        if hold.session != session || hold.fence != fence {
            return Err(Refusal::NotHeld);
        }
        if planted::is_in(Defect::RenewedForEver) {
            hold.hold_until_ns = u64::MAX;
        }
        if now_ns >= hold.hold_until_ns {
            return Err(Refusal::HeldTooLong);
        }
        hold.is_in_section();
        hold.lease_until_ns = hold
            .hold_until_ns
            .min(now_ns.saturating_add(terms.lease_ns));
        Ok(hold.lease_until_ns - now_ns)
    }

    /// Gives the writer lock back; false if the fence is not the session's.
    pub fn release(&mut self, session: u64, fence: u64) -> bool {
        let held = self.holds(session, fence);
        if held {
            self.holder = None;
        }
        held
    }

    /// Gives the writer lock back that the session holds, unless a release under it is on its way.
    /// `refused`: only if it is the lock under which that release was refused last. False: there is
    /// no such lock.
    pub fn give_up(&mut self, session: u64, refused: Option<u64>) -> bool {
        let is_it = |hold: &Hold| {
            let is_refused = refused.is_none_or(|sequence| hold.refused == sequence);
            hold.session == session && !hold.committing && is_refused
        };
        self.holder.take_if(|hold| is_it(hold)).is_some()
    }

    /// The strict reader lock of the session ends.
    pub fn release_strict(&mut self, session: u64) -> bool {
        let Some(line) = self.line.awake() else {
            return false;
        };
        let before = line.strict.len();
        line.strict.retain(|s| s.session != session);
        line.strict.len() != before
    }

    /// While a release is on its way to the log its lock does not end, whatever time passes.
    pub fn begin_commit(&mut self, session: u64, fence: u64) {
        if let Some(hold) = self.holder.as_mut() {
            let is_holder = hold.session == session && hold.fence == fence;
            debug_assert!(is_holder || planted::is_in(Defect::SkippedFence));
            hold.committing = true;
        }
    }

    /// The release with that number failed in a way that leaves the lock held. The lease begins
    /// anew, so that the holder can try again.
    pub fn commit_failed(&mut self, fence: u64, sequence: u64, now_ns: u64) {
        let lease_ns = self.terms.lease_ns;
        if let Some(hold) = self.holder.as_mut().filter(|hold| hold.fence == fence) {
            hold.committing = false;
            hold.refused = sequence;
            hold.is_in_section();
            hold.lease_until_ns = now_ns.saturating_add(lease_ns);
            hold.hold_until_ns = hold.hold_until_ns.max(hold.lease_until_ns);
        }
    }

    /// Takes a waiting request out of the queue; false if it does not wait.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        let Some(line) = self.line.awake() else {
            return false;
        };
        let before = line.queue.len();
        line.queue.retain(|w| w.ticket != Some(ticket));
        line.queue.len() != before
    }

    /// Whether the session holds a lock here, or waits for one.
    pub fn concerns(&self, session: u64) -> bool {
        self.writer_hold(session).is_some()
            || self.line.strict.iter().any(|hold| hold.session == session)
            || self.line.queue.iter().any(|w| w.session == session)
    }

    /// Whether that request waits to write.
    pub fn waits_to_write(&self, ticket: Ticket) -> bool {
        let of_ticket = |w: &Waiter| w.ticket == Some(ticket) && w.kind == Kind::Writer;
        self.line.queue.iter().any(of_ticket)
    }

    /// Takes the writer lock back from the session. Returns its fence. None: the session has it
    /// not, or its release is on the way to the log.
    pub fn take_back(&mut self, session: u64) -> Option<u64> {
        let of_session = |hold: &Hold| hold.session == session && !hold.committing;
        let fence = self.holder.filter(of_session)?.fence;
        self.holder = None;
        Some(fence)
    }

    /// Empties the queue; returns the requests to be answered.
    pub fn refuse_waiters(&mut self) -> Vec<Ticket> {
        let waiters = self
            .line
            .awake()
            .map(|line| std::mem::take(&mut line.queue));
        let waiters = waiters.unwrap_or_default();
        waiters.into_iter().filter_map(|w| w.ticket).collect()
    }

    /// The connection is lost: its waiters keep their places without being granted. A grant that
    /// was kept over it goes to the next who waits, after the grace; true: somebody does.
    pub fn disconnect(&mut self, connection: u64, now_ns: u64) -> bool {
        let until_ns = now_ns.saturating_add(self.terms.grace_ns);
        let over_it = |hold: &&mut Hold| hold.connection == connection;
        if let Some(hold) = self.holder.as_mut().filter(over_it) {
            match hold.keeping {
                Keeping::Kept | Keeping::Recalled => hold.keeping = Keeping::Away { until_ns },
                // The client does not learn that it keeps the grant: the commit gives it back.
                Keeping::Granted => hold.keeping = Keeping::Not,
                Keeping::Not | Keeping::Away { .. } => {}
            }
        }
        for waiter in self
            .line
            .awake()
            .into_iter()
            .flat_map(|line| &mut line.queue)
        {
            if waiter.ticket.is_some_and(|t| t.connection == connection) {
                waiter.ticket = None;
            }
        }
        self.is_kept_away() && self.is_wanted()
    }

    /// The session is over, or closes the segment: its locks and places are gone. A lock whose
    /// release is on its way to the log stays until that is decided.
    pub fn end_session(&mut self, session: u64) {
        if let Some(line) = self.line.awake() {
            line.queue.retain(|w| w.session != session);
        }
        self.release_strict(session);
        self.holder = self
            .holder
            .filter(|hold| hold.session != session || hold.committing);
    }

    /// Time passed that counts against nobody: `moment` moves when a strict reader was heard,
    /// `deadline` moves the end of a lease. The hold time is not extended.
    pub fn excuse(&mut self, moment: impl Fn(&mut u64), deadline: impl Fn(&mut u64)) {
        if let Some(hold) = self.holder.as_mut() {
            deadline(&mut hold.lease_until_ns);
            hold.lease_until_ns = hold.lease_until_ns.min(hold.hold_until_ns);
            if let Keeping::Away { until_ns } = &mut hold.keeping {
                deadline(until_ns);
            }
        }
        for strict in self
            .line
            .awake()
            .into_iter()
            .flat_map(|line| &mut line.strict)
        {
            moment(&mut strict.heard_ns);
        }
    }

    /// What ended by `now_ns`. Grants that this makes possible are for [`SegmentLock::grant`].
    /// `last_heard_ns` says when a session was heard last: that renews strict readers [LOCK-11].
    pub fn expire(&mut self, now_ns: u64, last_heard_ns: impl Fn(u64) -> u64) -> Vec<Expired> {
        let mut expired = Vec::new();
        let terms = self.terms;
        let over = |hold: &Hold| !hold.committing && hold.lease_until_ns <= now_ns;
        if let Some(hold) = self.holder.filter(over) {
            self.holder = None;
            if planted::is_in(Defect::LockStaysTaken) {
                self.close();
            }
            expired.push(Expired::Writer {
                session: hold.session,
                fence: hold.fence,
            });
        }
        // An abandoned grant ends here as well. A closed lock gives nobody the next grant, which
        // would end it, so a deadline that has passed would stay the next one.
        if self.is_wanted() && !planted::is_in(Defect::AbandonedStays) {
            self.holder = self.holder.filter(|hold| !hold.is_abandoned(now_ns));
        }
        let Some(line) = self.line.awake() else {
            return expired;
        };
        line.strict.retain_mut(|hold| {
            hold.heard_ns = hold.heard_ns.max(last_heard_ns(hold.session));
            let keep = hold.until_ns(&terms) > now_ns;
            if !keep {
                expired.push(Expired::StrictReader {
                    session: hold.session,
                });
            }
            keep
        });
        line.queue.retain(|waiter| {
            let keep = waiter.deadline_ns > now_ns;
            if let (false, Some(ticket)) = (keep, waiter.ticket) {
                expired.push(Expired::Waiter {
                    session: waiter.session,
                    ticket,
                });
            }
            keep
        });
        expired
    }

    /// When [`SegmentLock::expire`] or [`SegmentLock::grant`] has something to do, or to ask, next.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        let is_watched = !planted::is_in(Defect::LeaseNotWatched);
        let holder = self
            .holder
            .iter()
            .filter(|hold| !hold.committing && is_watched);
        let leases = holder.map(|hold| match hold.abandoned_from_ns() {
            Some(from_ns) if self.is_wanted() => from_ns.min(hold.lease_until_ns),
            _ => hold.lease_until_ns,
        });
        let strict = self
            .line
            .strict
            .iter()
            .map(|hold| hold.until_ns(&self.terms));
        let waiters = self.line.queue.iter().map(|waiter| waiter.deadline_ns);
        leases.chain(strict).chain(waiters).min()
    }
}
