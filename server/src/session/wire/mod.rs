//! The wire: connections, sessions, and what is sent to them.
//!
//! It knows segments by their numbers only. A connection that it closes leaves a [`Closed`], so
//! that the engine lets segments forget it before it grants their locks again. A connection or
//! session may be gone at any time, because its peer may go: what is looked up for a peer is an
//! Option, and what is sent to one that is gone is dropped. Invariants: `waiting_bytes` is the sum
//! of `backlog.kept` of the connections there are [NET-2]; notifications that a connection could
//! not take go before anything else that it is sent [NOT-6].

mod connection;
mod hello;
mod lending;
mod notifying;
mod origin;
mod receiving;
mod registry;
mod waiting;
mod watching;

use super::absence::Absence;
use super::config::{ns, Config};
use super::effect::Effect;
use super::message::Outgoing;
use super::statistics::Counters;
use super::timers::Timers;
use connection::MAX_OPEN_SEGMENTS;
pub use connection::{At, Connection, OpenSegmentState, Unanswered, MAX_UNANSWERED, NOTIFICATION};
pub use hello::no_common_version;
use interweave_wire::protocol::{ErrorCode, MessageType, SessionHash, SessionId};
use interweave_wire::Rejection;
pub use lending::{Shelf, LENT_BYTES};
pub use origin::Origin;
pub use receiving::largest_diff_bytes;
use receiving::Receiving;
use registry::Registry;
pub use registry::Session;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

/// What the wire looks at when its time comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    Connection(u64),
    Session(u64),
}

/// A connection that is gone, and what segments may still know of it.
#[derive(Debug)]
pub struct Closed {
    pub connection: u64,
    /// The segments that it had open.
    pub open: BTreeSet<u32>,
    /// The segments in whose queues its session may wait over it.
    pub locks: BTreeSet<u32>,
}

#[derive(Debug)]
pub struct Wire {
    config: Arc<Config>,
    now_ns: u64,
    connections: HashMap<u64, Connection>,
    sessions: Registry,
    receiving: Receiving,
    lent_bytes: Arc<AtomicU64>,
    /// The sum of what connections keep waiting, lent diffs apart [NET-2].
    waiting_bytes: usize,
    pub timers: Timers<Timer>,
    effects: Vec<Effect>,
    closed: Vec<Closed>,
    /// Of the whole engine: most of what is counted is sent or received here.
    pub counters: Counters,
}

impl Wire {
    pub fn new(config: Arc<Config>) -> Self {
        Wire {
            config,
            now_ns: 0,
            connections: HashMap::new(),
            sessions: Registry::default(),
            receiving: Receiving::default(),
            lent_bytes: Arc::default(),
            waiting_bytes: 0,
            timers: Timers::default(),
            effects: Vec::new(),
            closed: Vec::new(),
            counters: Counters::default(),
        }
    }

    /// The time of the present event.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Time does not go back.
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Moves what is to be sent and closed to `out`.
    pub fn take_effects(&mut self, out: &mut Vec<Effect>) {
        out.append(&mut self.effects);
    }

    /// The connections that were closed since [`Wire::take_closed`].
    pub fn closed(&self) -> &[Closed] {
        &self.closed
    }

    /// The connections that were closed since the last call.
    pub fn take_closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    pub fn connected(&mut self, connection: u64, unused_id: SessionId) {
        self.connections
            .insert(connection, Connection::new(unused_id, self.now_ns));
        self.counters.connections += 1;
        self.watch_connection(connection);
    }

    pub fn heard(&mut self, now_ns: u64, connection: u64) {
        if let Some(c) = self.connections.get_mut(&connection) {
            c.heard_ns = c.heard_ns.max(now_ns);
        }
    }

    /// None: it has gone.
    pub fn connection(&self, connection: u64) -> Option<&Connection> {
        self.connections.get(&connection)
    }

    pub fn connection_count(&self) -> usize {
        self.connections.len()
    }

    /// The session of a request: no session ends before its connection, so it is there.
    pub fn asking(&mut self, at: At) -> &mut Session {
        let session = self.sessions.get_mut(at.session);
        session.expect("a connection that has said hello has a session")
    }

    /// None: it has ended.
    pub fn session(&self, session: u64) -> Option<&Session> {
        self.sessions.get(session)
    }

    pub fn session_mut(&mut self, session: u64) -> Option<&mut Session> {
        self.sessions.get_mut(session)
    }

    /// The number of the session with that hash, unless it has ended.
    pub fn find_session(&self, hash: &SessionHash) -> Option<u64> {
        self.sessions.find(hash)
    }

    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// The session is over; None: it was before.
    pub fn end_session(&mut self, session: u64) -> Option<Session> {
        self.sessions.remove(session)
    }

    /// The label that the session's client gave itself.
    pub fn label(&self, session: u64) -> String {
        let session = self.sessions.get(session);
        session.map(|s| s.label.clone()).unwrap_or_default()
    }

    /// Where the session's client runs, as far as it said.
    pub fn origin(&self, session: u64) -> Origin {
        let session = self.sessions.get(session);
        session.map(|s| s.origin.clone()).unwrap_or_default()
    }

    /// When the session was heard last.
    pub fn last_heard_ns(&self, session: u64) -> u64 {
        // A session on its way from one connection to the next may have been heard over both.
        let session = self.sessions.get(session);
        let connection = session.and_then(|s| self.connections.get(&s.connection?));
        let over_connection_ns = connection.map_or(0, |c| c.heard_ns);
        over_connection_ns.max(session.map_or(0, |s| s.heard_ns))
    }

    /// Answers with a message that has no body.
    pub fn answer(&mut self, at: At, type_: MessageType) {
        self.send(at.connection, Outgoing::new(type_, at.stream, &()));
    }

    /// Answers a request with an error, in the form that a client of any version reads while the
    /// client's is not known [SES-5].
    pub fn refuse(&mut self, connection: u64, stream: u32, rejection: &Rejection) {
        let (code, text) = (rejection.code, rejection.text.clone());
        let is_known = |c: &Connection| c.session.is_some();
        let message = match self.connections.get(&connection).is_some_and(is_known) {
            true => Outgoing::error(stream, code, text),
            false => Outgoing::plain_error(stream, code, text),
        };
        self.send(connection, message);
    }

    /// An error that answers no request: the connection is about to be closed.
    pub fn complain(&mut self, connection: u64, code: ErrorCode, text: String) {
        self.refuse(connection, 0, &Rejection { code, text });
    }

    /// The same for one that waited for its answer.
    pub fn refuse_awaiting(&mut self, connection: u64, stream: u32, rejection: &Rejection) {
        self.answered(connection, stream);
        self.refuse(connection, stream, rejection);
    }

    /// Sends a message; notifications that the connection could not take before go first, in their
    /// short form [NOT-6].
    pub fn send(&mut self, connection: u64, message: Outgoing) {
        let behind = self
            .connections
            .get_mut(&connection)
            .map(|c| std::mem::take(&mut c.behind));
        for segment in behind.into_iter().flatten() {
            self.announce_behind(connection, segment);
        }
        self.put(connection, message);
    }

    /// Sends a message with nothing before it.
    fn put(&mut self, connection: u64, message: Outgoing) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        if c.backlog.all == 0 {
            c.took_ns = self.now_ns;
        }
        let cost = message.cost();
        c.backlog += cost;
        self.waiting_bytes += cost.kept;
        c.sent_ns = self.now_ns;
        self.effects.push(Effect::Send {
            connection,
            message,
        });
    }

    /// Ends a connection after what was sent on it.
    pub fn close(&mut self, connection: u64) {
        self.lost(connection);
        self.effects.push(Effect::Close { connection });
    }

    /// The connection is gone; its session lives on for its lease [SES-2].
    pub fn lost(&mut self, connection: u64) {
        let Some(c) = self.connections.remove(&connection) else {
            return;
        };
        self.receiving.forget(connection);
        self.waiting_bytes -= c.backlog.kept;
        let mut closed = Closed {
            connection,
            open: c.open.into_keys().collect(),
            locks: BTreeSet::new(),
        };
        let expires_ns = self.now_ns + ns(self.config.lease_ms);
        let session = c.session.and_then(|number| {
            let session = self.sessions.get_mut(number)?;
            // Its session may continue over another connection already.
            (session.connection == Some(connection)).then_some((number, session))
        });
        if let Some((number, session)) = session {
            session.connection = None;
            session.heard_ns = c.heard_ns;
            session.expires_ns = expires_ns;
            closed.locks.extend(&session.locks);
            self.timers.arm(Timer::Session(number), expires_ns);
        }
        self.closed.push(closed);
    }

    /// The server goes: GOODBYE to all, and their connections are closed.
    pub fn part(&mut self) {
        let connections: Vec<u64> = self.connections.keys().copied().collect();
        for connection in connections {
            self.send_notification(connection, MessageType::Goodbye);
            self.close(connection);
        }
    }

    /// A notification that has no body.
    fn send_notification(&mut self, connection: u64, type_: MessageType) {
        if let Some(c) = self.connections.get_mut(&connection) {
            let stream = c.next_notification();
            self.send(connection, Outgoing::new(type_, stream, &()));
        }
    }

    /// Whether a request may be left without an answer for now.
    pub fn may_await(&self, at: At) -> Result<(), Rejection> {
        let c = self.connections.get(&at.connection);
        if c.is_some_and(|c| c.unanswered.len() >= MAX_UNANSWERED) {
            let text = format!(
                "{MAX_UNANSWERED} requests of this connection wait already; wait for some answers"
            );
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        Ok(())
    }

    /// Remembers a request that cannot be answered yet. If that is refused the request must not
    /// have changed anything: the refusal is its answer.
    pub fn await_answer(&mut self, at: At, what: Unanswered) -> Result<(), Rejection> {
        self.may_await(at)?;
        if let Some(c) = self.connections.get_mut(&at.connection) {
            c.unanswered.insert(at.stream, what);
        }
        Ok(())
    }

    /// The request is about to be answered. None: its connection has gone, or it has its answer.
    pub fn answered(&mut self, connection: u64, stream: u32) -> Option<Unanswered> {
        let c = self.connections.get_mut(&connection)?;
        c.unanswered.remove(&stream)
    }

    /// What a request waits for, if it does.
    pub fn awaited(&self, connection: u64, stream: u32) -> Option<Unanswered> {
        let c = self.connections.get(&connection)?;
        c.unanswered.get(&stream).copied()
    }

    /// The streams on which the connection waits for a lock of the segment.
    pub fn waits_for_lock(&self, connection: u64, number: u32) -> Vec<u32> {
        let Some(c) = self.connections.get(&connection) else {
            return Vec::new();
        };
        let of_segment =
            |what: &Unanswered| matches!(what, Unanswered::Lock { segment } if *segment == number);
        let waiting = c.unanswered.iter().filter(|(_, what)| of_segment(what));
        waiting.map(|(stream, _)| *stream).collect()
    }

    /// Notes that the connection has the segment open; whether it had not before. Opening twice
    /// gives the same number [SEG-2].
    pub fn open(
        &mut self,
        connection: u64,
        number: u32,
        read_only: bool,
    ) -> Result<bool, Rejection> {
        let Some(c) = self.connections.get_mut(&connection) else {
            return Ok(false);
        };
        if let Some(open) = c.open.get_mut(&number) {
            open.read_only &= read_only;
            return Ok(false);
        }
        if c.open.len() >= MAX_OPEN_SEGMENTS {
            let text = format!("{MAX_OPEN_SEGMENTS} segments are open already; close some");
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        c.open.insert(number, OpenSegmentState::new(read_only));
        Ok(true)
    }

    /// What is kept of a segment that the connection has open; None: it has not, or has gone.
    pub fn opened(&mut self, connection: u64, number: u32) -> Option<&mut OpenSegmentState> {
        self.connections.get_mut(&connection)?.open.get_mut(&number)
    }

    /// The connection has the segment open no more.
    pub fn close_segment(&mut self, connection: u64, number: u32) {
        if let Some(c) = self.connections.get_mut(&connection) {
            c.open.remove(&number);
            c.behind.retain(|segment| *segment != number);
        }
    }

    /// Time that counts as nobody's silence; returns the segments whose locks it concerns.
    pub fn was_absent(&mut self, absence: Absence) -> BTreeSet<u32> {
        for c in self.connections.values_mut() {
            absence.excuse_moment(&mut c.heard_ns);
            absence.excuse_moment(&mut c.connected_ns);
            absence.excuse_moment(&mut c.took_ns);
        }
        let mut locked = BTreeSet::new();
        for session in self.sessions.all_mut() {
            absence.excuse_deadline(&mut session.expires_ns);
            locked.extend(session.locks.iter().copied());
        }
        locked
    }
}
