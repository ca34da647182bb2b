//! The wire: connections, sessions, and the messages to them.
//!
//! The wire knows segments by their numbers only. A closed connection leaves a [`Closed`], so that
//! the engine lets segments forget it before it grants their locks again. A peer may go at any
//! time. Therefore each look-up of a connection or session gives an Option, and a message to a
//! connection that is gone is dropped.
//!
//! Invariants: `waiting_bytes` is the sum of `backlog.kept` of all connections [NET-2].
//! Notifications that a connection could not take are sent before any other message to it [NOT-6].

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
use super::crowd::Crowd;
use super::effect::Effect;
use super::message::{code_for, ServerMessage};
use super::number_map::NumberMap;
use super::statistics::Counters;
use super::timers::Timers;
pub use connection::{
    At, Connection, Moved, OpenSegmentState, Unanswered, MAX_UNANSWERED, NOTIFICATION,
};
use connection::{MAX_LISTS, MAX_OPEN_SEGMENTS};
pub use hello::no_common_version;
use interweave_access::Peer;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{ErrorCode, MessageType, SessionHash, SessionId};
use interweave_wire::Rejection;
pub use lending::{Shelf, LENT_BYTES};
pub use origin::Origin;
use receiving::Receiving;
pub use receiving::{largest_diff_bytes, Lock};
use registry::Registry;
pub use registry::Session;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

/// The connection or session that the wire looks at when its time comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    Connection(u64),
    Session(u64),
}

/// A connection that is gone, and the segments that may still know of it.
#[derive(Debug)]
pub struct Closed {
    pub connection: u64,
    /// The segments that the connection had open.
    pub open: BTreeSet<u32>,
    /// The segments in whose queues its session may wait over it.
    pub locks: BTreeSet<u32>,
    /// The account for which it counted.
    pub account: Option<u32>,
}

#[derive(Debug)]
pub struct Wire {
    config: Arc<Config>,
    now_ns: u64,
    connections: NumberMap<u64, Connection>,
    /// The connections whose HELLO was not taken.
    ungreeted: Crowd,
    sessions: Registry,
    receiving: Receiving,
    lent_bytes: Arc<AtomicU64>,
    /// The bytes that wait on all connections, without lent diffs [NET-2].
    waiting_bytes: usize,
    pub timers: Timers<Timer>,
    effects: Vec<Effect>,
    closed: Vec<Closed>,
    /// The counters of the whole engine. They are here because most of them count messages.
    pub counters: Counters,
}

impl Wire {
    pub fn new(config: Arc<Config>) -> Self {
        Wire {
            config,
            now_ns: 0,
            connections: NumberMap::default(),
            ungreeted: Crowd::default(),
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

    /// Returns the time of the present event.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Sets the time of the present event. Time does not go back.
    pub fn advance(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Moves the effects to `out`.
    pub fn take_effects(&mut self, out: &mut Vec<Effect>) {
        out.append(&mut self.effects);
    }

    /// Adds an effect that is not about a message.
    pub fn push_effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Whether there are effects that were not taken.
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Returns the connections that were closed since [`Wire::take_closed`].
    pub fn closed(&self) -> &[Closed] {
        &self.closed
    }

    /// Takes out the connections that were closed since the last call.
    pub fn take_closed(&mut self) -> Vec<Closed> {
        std::mem::take(&mut self.closed)
    }

    pub fn connected(&mut self, connection: u64, unused_id: SessionId, peer: Peer) {
        self.ungreeted.begin(connection, peer.address);
        self.connections
            .insert(connection, Connection::new(unused_id, peer, self.now_ns));
        self.counters.connections += 1;
        self.watch_connection(connection);
    }

    /// The connections that have not been greeted.
    pub fn ungreeted(&self) -> &Crowd {
        &self.ungreeted
    }

    pub fn heard(&mut self, now_ns: u64, connection: u64) {
        if let Some(c) = self.connections.get_mut(&connection) {
            c.heard_ns = c.heard_ns.max(now_ns);
        }
    }

    /// None: the connection has gone.
    pub fn connection(&self, connection: u64) -> Option<&Connection> {
        self.connections.get(&connection)
    }

    pub fn connection_count(&self) -> usize {
        self.connections.len()
    }

    /// Returns the session of a request, which is there because no session ends before its
    /// connection.
    pub fn asking(&mut self, at: At) -> &mut Session {
        let session = self.sessions.get_mut(at.session);
        session.expect("a connection that has said hello has a session")
    }

    /// None: the session has ended.
    pub fn session(&self, session: u64) -> Option<&Session> {
        self.sessions.get(session)
    }

    pub fn session_mut(&mut self, session: u64) -> Option<&mut Session> {
        self.sessions.get_mut(session)
    }

    /// Returns the number of the session with that hash, unless the session has ended.
    pub fn find_session(&self, hash: &SessionHash) -> Option<u64> {
        self.sessions.find(hash)
    }

    pub fn session_numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.sessions.numbers()
    }

    pub fn session_count(&self) -> usize {
        self.sessions.len()
    }

    /// Ends a session; None: it had ended before.
    pub fn end_session(&mut self, session: u64) -> Option<Session> {
        self.sessions.remove(session)
    }

    /// Returns the label that the session's client gave itself.
    pub fn label(&self, session: u64) -> String {
        let session = self.sessions.get(session);
        session.map(|s| s.label.clone()).unwrap_or_default()
    }

    /// Returns where the session's client runs, as far as it said.
    pub fn origin(&self, session: u64) -> Origin {
        let session = self.sessions.get(session);
        session.map(|s| s.origin.clone()).unwrap_or_default()
    }

    /// Returns when the session was heard last.
    pub fn last_heard_ns(&self, session: u64) -> u64 {
        // A session that moves from one connection to the next may have been heard over both.
        let session = self.sessions.get(session);
        let connection = session.and_then(|s| self.connections.get(&s.connection?));
        let over_connection_ns = connection.map_or(0, |c| c.heard_ns);
        over_connection_ns.max(session.map_or(0, |s| s.heard_ns))
    }

    /// Answers with a message that has no body.
    pub fn answer(&mut self, at: At, type_: MessageType) {
        self.send(at.connection, ServerMessage::new(type_, at.stream, &()));
    }

    /// Answers a request with an error. While the client's version is not known, the error has the
    /// form that clients of all versions read [SES-5].
    pub fn refuse(&mut self, connection: u64, stream: u32, rejection: &Rejection) {
        let greeted = self.connections.get(&connection);
        let message = match greeted.filter(|c| c.session.is_some()) {
            Some(c) => {
                let code = code_for(c.version, rejection.code);
                ServerMessage::refusal(stream, code, rejection)
            }
            None => ServerMessage::plain_error(stream, rejection.code, rejection.text.clone()),
        };
        self.send(connection, message);
    }

    /// Sends an error that answers no request. REQUIRES: the caller then closes the connection.
    pub fn complain(&mut self, connection: u64, code: ErrorCode, text: String) {
        self.refuse(connection, 0, &Rejection::new(code, text));
    }

    /// Answers a request that waited with an error.
    pub fn refuse_awaiting(&mut self, connection: u64, stream: u32, rejection: &Rejection) {
        self.answered(connection, stream);
        self.refuse(connection, stream, rejection);
    }

    /// Sends a message. Notifications that the connection could not take before go first, in their
    /// short form [NOT-6].
    pub fn send(&mut self, connection: u64, message: ServerMessage) {
        let behind = self
            .connections
            .get_mut(&connection)
            .map(|c| std::mem::take(&mut c.behind));
        for segment in behind.into_iter().flatten() {
            self.announce_behind(connection, segment);
        }
        self.put(connection, message);
    }

    /// Sends a message without due notifications before it.
    fn put(&mut self, connection: u64, message: ServerMessage) {
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

    /// Ends a connection after the messages that were sent on it.
    pub fn close(&mut self, connection: u64) {
        self.lost(connection);
        self.effects.push(Effect::Close { connection });
    }

    /// Forgets a connection that is gone. Its session lives for a lease more [SES-2].
    pub fn lost(&mut self, connection: u64) {
        let Some(c) = self.connections.remove(&connection) else {
            return;
        };
        self.ungreeted.end(connection);
        self.receiving.forget(connection);
        self.waiting_bytes -= c.backlog.kept;
        let mut closed = Closed {
            connection,
            open: c.open.into_keys().collect(),
            locks: BTreeSet::new(),
            account: c.account,
        };
        let expires_ns = self.now_ns + ns(self.config.lease_ms);
        let session = c.session.and_then(|number| {
            let session = self.sessions.get_mut(number)?;
            // The session may continue over another connection already.
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

    /// Says GOODBYE on all connections and closes them, because the server goes. A relayed
    /// connection has the bytes of another server, and is closed without it [SPACE-53].
    pub fn part(&mut self) {
        let is_own = |(&number, c): (&u64, &Connection)| (number, c.relayed.is_none());
        let connections: Vec<(u64, bool)> = self.connections.iter().map(is_own).collect();
        for (connection, is_own) in connections {
            if is_own {
                self.send_notification(connection, MessageType::Goodbye);
            }
            self.close(connection);
        }
    }

    /// Closes all connections.
    pub fn close_all(&mut self) {
        let connections: Vec<u64> = self.connections.keys().copied().collect();
        for connection in connections {
            self.close(connection);
        }
    }

    /// Sends a notification that has no body.
    fn send_notification(&mut self, connection: u64, type_: MessageType) {
        if let Some(c) = self.connections.get_mut(&connection) {
            let stream = c.next_notification();
            self.send(connection, ServerMessage::new(type_, stream, &()));
        }
    }

    /// Whether a request may wait for its answer.
    pub fn may_await(&self, at: At) -> Result<(), Rejection> {
        let c = self.connections.get(&at.connection);
        let is_counted = !planted::is_in(Defect::UnansweredUncounted);
        if c.is_some_and(|c| c.unanswered.len() >= MAX_UNANSWERED && is_counted) {
            let text = format!(
                "{MAX_UNANSWERED} requests of this connection wait already; wait for some answers"
            );
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        Ok(())
    }

    /// Remembers a request that cannot be answered yet. An error is the answer to the request.
    /// REQUIRES: the request has not changed anything, because it may be refused here.
    pub fn await_answer(&mut self, at: At, what: Unanswered) -> Result<(), Rejection> {
        self.may_await(at)?;
        if let Some(c) = self.connections.get_mut(&at.connection) {
            c.unanswered.insert(at.stream, what);
        }
        Ok(())
    }

    /// As [`Wire::await_answer`], for a list. A list keeps more than other requests, so few wait.
    pub fn await_list(&mut self, at: At) -> Result<(), Rejection> {
        let c = self.connections.get(&at.connection);
        let lists = c.into_iter().flat_map(|c| c.unanswered.values());
        let lists = lists.filter(|what| matches!(what, Unanswered::List));
        if lists.count() >= MAX_LISTS {
            let text = format!(
                "{MAX_LISTS} lists of this connection are being made already; wait for one"
            );
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        self.await_answer(at, Unanswered::List)
    }

    /// Forgets a request that is about to be answered. None: its connection has gone, or the
    /// request has its answer.
    pub fn answered(&mut self, connection: u64, stream: u32) -> Option<Unanswered> {
        let c = self.connections.get_mut(&connection)?;
        c.unanswered.remove(&stream)
    }

    /// Returns what a request waits for. None: it does not wait.
    pub fn awaited(&self, connection: u64, stream: u32) -> Option<Unanswered> {
        let c = self.connections.get(&connection)?;
        c.unanswered.get(&stream).copied()
    }

    /// Returns the streams on which the connection waits for a lock of the segment, in their order.
    pub fn waits_for_lock(&self, connection: u64, number: u32) -> Vec<u32> {
        let Some(c) = self.connections.get(&connection) else {
            return Vec::new();
        };
        let of_segment =
            |what: &Unanswered| matches!(what, Unanswered::Lock { segment } if *segment == number);
        let waiting = c.unanswered.iter().filter(|(_, what)| of_segment(what));
        let mut streams: Vec<u32> = waiting.map(|(stream, _)| *stream).collect();
        streams.sort_unstable();
        streams
    }

    /// Notes that the connection has the segment open. Returns false if it had before, because
    /// opening twice gives the same number [SEG-2].
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

    /// Returns the state of a segment that the connection has open. None: it has not, or has gone.
    pub fn opened(&mut self, connection: u64, number: u32) -> Option<&mut OpenSegmentState> {
        self.connections.get_mut(&connection)?.open.get_mut(&number)
    }

    /// Returns the session of a connection that has said hello.
    pub fn session_of(&self, connection: u64) -> Option<&Session> {
        self.sessions
            .get(self.connections.get(&connection)?.session?)
    }

    /// Returns the path of a segment that was removed while the connection had it open.
    pub fn gone(&self, connection: u64, number: u32) -> Option<Arc<str>> {
        self.connections
            .get(&connection)?
            .gone
            .get(&number)
            .cloned()
    }

    /// Returns what became of a segment that moved while the connection had it open.
    pub fn moved(&self, connection: u64, number: u32) -> Option<Moved> {
        let connection = self.connections.get(&connection)?;
        connection.moved.get(&number).cloned()
    }

    /// Whether the connection's client follows SEGMENT_MOVED.
    pub fn follows_moves(&self, connection: u64) -> bool {
        let connection = self.connections.get(&connection);
        connection.is_some_and(|c| c.follows_moves)
    }

    /// Whether the connection has closed a segment that was removed before, or has moved.
    pub fn closes_gone(&mut self, connection: u64, number: u32) -> bool {
        let Some(c) = self.connections.get_mut(&connection) else {
            return false;
        };
        c.gone.remove(&number).is_some() || c.moved.remove(&number).is_some()
    }

    /// Forgets a segment that the connection has closed.
    pub fn close_segment(&mut self, connection: u64, number: u32) {
        if let Some(c) = self.connections.get_mut(&connection) {
            c.watched.remove(&number);
            let open = c.open.remove(&number);
            if open.is_some_and(|open| open.behind.is_some()) {
                c.behind.retain(|segment| *segment != number);
            }
        }
    }

    /// Returns the first segment, from that number on, of which the session may hold or await a
    /// lock, or which its connection watches; and whether it is for a lock.
    pub fn next_held(&self, session: u64, from: u32) -> Option<(u32, bool)> {
        let session = self.sessions.get(session)?;
        let connection = session.connection.and_then(|c| self.connections.get(&c));
        let locked = session.locks.range(from..).next().copied();
        let watched = connection.and_then(|c| c.watched.range(from..).next().copied());
        let first = locked.into_iter().chain(watched).min()?;
        Some((first, locked == Some(first)))
    }

    /// Takes note of an absence. Returns the segments whose locks it concerns.
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
