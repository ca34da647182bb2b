//! The engine: its state, its events, and how a request finds its rule.
//!
//! Single-threaded: each event is taken whole, so a segment's rules never meet each other half done.
//! Every event brings the time; whatever ended by then ends before the event is looked at.

use super::config::{ns, Config};
use super::connection::{At, Connection, Unanswered, MAX_UNANSWERED, NOTIFICATION};
use super::effect::Effect;
use super::journal::Journal;
use super::message::{Backlog, Incoming, Outgoing, Request};
use super::receiving::Receiving;
use super::registry::Registry;
use super::segment::SegmentState;
use super::statistics::Counters;
use super::timers::{Timer, Timers};
use interweave_wire::protocol::{
    ErrorCode, Hello, MessageType, Unimplemented, Welcome, PROTOCOL_VERSION_MAX,
    PROTOCOL_VERSION_MIN,
};
use interweave_wire::Rejection;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

/// The server's rules and everything that they are applied to.
#[derive(Debug)]
pub struct Engine {
    pub(super) config: Config,
    pub(super) now_ns: u64,
    pub(super) effects: Vec<Effect>,
    pub(super) connections: HashMap<u64, Connection>,
    pub(super) sessions: Registry,
    pub(super) segments: HashMap<u32, SegmentState>,
    pub(super) paths: BTreeMap<String, u32>,
    pub(super) timers: Timers,
    pub(super) journal: Journal,
    pub(super) last_number: u32,
    pub(super) last_segment_id: u64,
    pub(super) last_incarnation: u64,
    pub(super) receiving: Receiving,
    pub(super) lent_bytes: Arc<AtomicU64>,
    /// The sum of what connections keep waiting, lent diffs apart [NET-2].
    pub(super) waiting_bytes: usize,
    pub(super) stopping: bool,
    /// Damaged segments whose paths are lost [LOG-12].
    pub(super) nameless: Vec<u32>,
    pub(super) counters: Counters,
}

impl Engine {
    /// Without segments; [`Engine::recover`] brings those of the store.
    pub fn new(config: Config) -> Self {
        Engine {
            now_ns: 0,
            effects: Vec::new(),
            connections: HashMap::new(),
            sessions: Registry::default(),
            segments: HashMap::new(),
            paths: BTreeMap::new(),
            timers: Timers::default(),
            journal: Journal::default(),
            last_number: 0,
            last_segment_id: config.first_fence,
            last_incarnation: config.first_fence,
            receiving: Receiving::default(),
            lent_bytes: Arc::default(),
            waiting_bytes: 0,
            stopping: false,
            nameless: Vec::new(),
            counters: Counters::default(),
            config,
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Moves what is to be done to `out`: what the store is asked comes before what peers are sent.
    pub fn take_effects(&mut self, out: &mut Vec<Effect>) {
        self.journal.take_effects(out);
        out.append(&mut self.effects);
    }

    /// When [`Engine::advance`] has something to do next.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        self.timers.next_ns()
    }

    /// Time passes: leases, deadlines and heartbeats.
    pub fn advance(&mut self, now_ns: u64) {
        while self.settle() {}
        self.now_ns = self.now_ns.max(now_ns);
        while let Some(timer) = self.timers.pop(self.now_ns) {
            match timer {
                Timer::Connection(connection) => self.watch_connection(connection),
                Timer::Session(session) => self.watch_session(session),
                Timer::Segment(segment) => self.watch_segment(segment),
                Timer::Store => self.look_after_store(),
            }
        }
    }

    /// A connection exists. `entropy` is random: a new session is known by it.
    pub fn connected(&mut self, now_ns: u64, connection: u64, entropy: [u8; 16]) {
        self.advance(now_ns);
        self.connections
            .insert(connection, Connection::new(entropy, self.now_ns));
        self.counters.connections += 1;
        self.watch_connection(connection);
    }

    /// Bytes came on the connection, or it took some.
    pub fn heard(&mut self, now_ns: u64, connection: u64) {
        if let Some(c) = self.connections.get_mut(&connection) {
            c.heard_ns = c.heard_ns.max(now_ns);
        }
    }

    /// The connection is gone; its session lives on for its lease [SES-2].
    pub fn disconnected(&mut self, now_ns: u64, connection: u64) {
        self.advance(now_ns);
        self.drop_connection(connection);
    }

    /// The connection's framing is lost [FRAME-1..4].
    pub fn malformed(&mut self, now_ns: u64, connection: u64, text: String) {
        self.advance(now_ns);
        self.counters.malformed += 1;
        self.send(connection, Outgoing::error(0, ErrorCode::Malformed, text));
        self.close(connection);
    }

    /// What the connection has yet to send.
    pub fn backlog(&mut self, now_ns: u64, connection: u64, backlog: Backlog) {
        let slow_bytes = self.config.slow_bytes;
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        if backlog.all < c.backlog.all {
            c.took_ns = c.took_ns.max(now_ns);
        }
        if backlog.all == 0 {
            c.lent.clear();
        }
        self.waiting_bytes = self.waiting_bytes - c.backlog.kept + backlog.kept;
        c.backlog = backlog;
        // Only then is it an event; otherwise what was told may settle later.
        if backlog.all <= slow_bytes / 2 && !c.behind.is_empty() {
            self.advance(now_ns);
            self.catch_up(connection);
        }
        if self.waiting_bytes > self.config.waiting_bytes {
            self.advance(now_ns);
            self.close_slowest();
        }
    }

    /// A message came in whole.
    pub fn request(&mut self, now_ns: u64, connection: u64, incoming: Incoming) {
        self.advance(now_ns);
        self.heard(now_ns, connection);
        self.counters.requests += 1;
        self.received(connection, &incoming);
        if let Err((rejection, close)) = self.take_request(connection, &incoming) {
            self.counters.errors += 1;
            let error = Outgoing::error(incoming.stream, rejection.code, rejection.text);
            self.send(connection, error);
            if close {
                self.close(connection);
            }
        }
    }

    /// The error goes to the request's stream; true: and the connection is closed.
    fn take_request(
        &mut self,
        connection: u64,
        incoming: &Incoming,
    ) -> Result<(), (Rejection, bool)> {
        let Some(c) = self.connections.get(&connection) else {
            return Ok(());
        };
        let stream = incoming.stream;
        if let Request::Hello(hello) = &incoming.request {
            return self.hello(connection, stream, hello).map_err(|e| (e, true));
        }
        let Some(session) = c.session else {
            let text = "the first message of a connection must be HELLO; say hello, then ask";
            return Err((Rejection::new(ErrorCode::NotOpen, text), true));
        };
        let numbered = !matches!(incoming.request, Request::Cancel(_) | Request::Credit(_));
        if numbered && (stream == 0 || stream & NOTIFICATION != 0) {
            let text = format!(
                "{stream} is no stream for a request; use 1 to {}",
                !NOTIFICATION
            );
            return Err((Rejection::malformed(text), true));
        }
        if numbered && c.unanswered.contains_key(&stream) {
            let text = format!("stream {stream} has a request that is not answered; use another");
            return Err((Rejection::malformed(text), true));
        }
        if incoming.announced_bytes > 0 && !incoming.request.takes_bulk() {
            let text = format!(
                "a request of stream {stream} brings {} bytes of bulk, which only RELEASE_WRITER may",
                incoming.announced_bytes
            );
            return Err((Rejection::malformed(text), false));
        }
        self.dispatch(connection, session, incoming)
            .map_err(|rejection| (rejection, false))
    }

    fn dispatch(
        &mut self,
        connection: u64,
        session: u64,
        incoming: &Incoming,
    ) -> Result<(), Rejection> {
        let at = At {
            connection,
            session,
            stream: incoming.stream,
        };
        match &incoming.request {
            Request::Hello(_) => Ok(()),
            Request::Ping => self.answer(at, MessageType::Pong),
            Request::Cancel(r) => self.cancel(at, r),
            Request::Goodbye => self.goodbye(at),
            Request::OpenSegment(r) => self.open_segment(at, r),
            Request::CloseSegment(r) => self.close_segment(at, r),
            Request::RemoveSegment(r) => self.remove_segment(at, r),
            Request::ListSegments(r) => self.list_segments(at, r),
            Request::DescribeBlocks(r) => self.describe_blocks(at, r),
            Request::AcquireReader(r) => self.acquire_reader(at, r),
            Request::ReleaseReader(r) => self.release_reader(at, r),
            Request::AcquireWriter(r) => self.acquire_writer(at, r),
            Request::RenewWriter(r) => self.renew_writer(at, r),
            Request::MoreSerials(r) => self.more_serials(at, r),
            Request::ReleaseWriter(r) => self.release_writer(at, r, incoming),
            Request::AbortWriter(r) => self.abort_writer(at, r),
            Request::ResolveRelease(r) => self.resolve_release(at, r),
            Request::Subscribe(r) => self.subscribe(at, r),
            Request::Unsubscribe(r) => self.unsubscribe(at, r),
            Request::Credit(r) => self.credit(at, r),
            Request::Unknown(type_) => {
                let body = Unimplemented { type_: *type_ };
                let reply = Outgoing::new(MessageType::Unimplemented, at.stream, &body);
                self.send(connection, reply);
                Ok(())
            }
            Request::Undecodable(type_, error) => Err(Rejection::malformed(format!(
                "the body of a message of type {type_} is not what spec/protocol says: {error}"
            ))),
        }
    }

    fn hello(&mut self, connection: u64, stream: u32, hello: &Hello) -> Result<(), Rejection> {
        let Some(c) = self.connections.get(&connection) else {
            return Ok(());
        };
        if c.session.is_some() || hello.magic != *b"IWV1" {
            let text = match c.session {
                Some(_) => "hello was said on this connection already",
                None => "hello does not begin with IWV1; is this an InterWeave client?",
            };
            return Err(Rejection::malformed(text));
        }
        let version = hello.version_max.min(PROTOCOL_VERSION_MAX);
        if version < hello.version_min.max(PROTOCOL_VERSION_MIN) {
            let text = format!(
                "the client speaks protocol versions {} to {}, this server {PROTOCOL_VERSION_MIN} \
                 to {PROTOCOL_VERSION_MAX}; update the older of them",
                hello.version_min, hello.version_max
            );
            return Err(Rejection::new(ErrorCode::VersionMismatch, text));
        }
        if self.stopping {
            return Err(stopping());
        }
        let entropy = c.entropy;
        let resumed = self.sessions.find(&hello.session);
        let session = match resumed {
            Some(session) => {
                self.resume(session, connection);
                session
            }
            None => {
                let label = hello.client.clone();
                self.sessions.create(entropy, connection, label)
            }
        };
        let id = self.sessions.get(session).map_or(entropy, |s| s.id);
        if let Some(c) = self.connections.get_mut(&connection) {
            c.session = Some(session);
        }
        let welcome = Welcome {
            version,
            session: id,
            resumed: resumed.is_some(),
            heartbeat_ms: self.config.heartbeat_ms,
            session_lease_ms: self.config.lease_ms,
            max_diff_bytes: self.config.max_diff_bytes,
            server: self.config.label.clone(),
        };
        self.send(
            connection,
            Outgoing::new(MessageType::Welcome, stream, &welcome),
        );
        self.watch_connection(connection);
        Ok(())
    }

    /// The session goes on over another connection; an older one is closed [SES-2].
    fn resume(&mut self, session: u64, connection: u64) {
        let older = self.sessions.get(session).and_then(|s| s.connection);
        if let Some(older) = older {
            self.close(older);
        }
        if let Some(s) = self.sessions.get_mut(session) {
            s.connection = Some(connection);
            s.expires_ns = u64::MAX;
        }
    }

    fn goodbye(&mut self, at: At) -> Result<(), Rejection> {
        self.end_session(at.session);
        self.close(at.connection);
        Ok(())
    }

    /// Gives up a waiting request; it is answered CANCELLED.
    fn cancel(
        &mut self,
        at: At,
        cancel: &interweave_wire::protocol::Cancel,
    ) -> Result<(), Rejection> {
        let waiting = self
            .connections
            .get(&at.connection)
            .and_then(|c| c.unanswered.get(&cancel.stream).copied());
        if let Some(Unanswered::Lock { segment }) = waiting {
            self.give_up_wait(at.connection, cancel.stream, segment);
        }
        Ok(())
    }

    /// Answers with a message that has no body.
    pub(super) fn answer(&mut self, at: At, type_: MessageType) -> Result<(), Rejection> {
        self.send(at.connection, Outgoing::new(type_, at.stream, &()));
        Ok(())
    }

    /// Sends a message; notifications that the connection could not take before go first, in their
    /// short form [NOT-6].
    pub(super) fn send(&mut self, connection: u64, message: Outgoing) {
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
    pub(super) fn put(&mut self, connection: u64, message: Outgoing) {
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
    pub(super) fn close(&mut self, connection: u64) {
        self.drop_connection(connection);
        self.effects.push(Effect::Close { connection });
    }

    /// Whether a request may be left without an answer for now.
    pub(super) fn may_await(&self, at: At) -> Result<(), Rejection> {
        let c = self.connections.get(&at.connection);
        if c.is_some_and(|c| c.unanswered.len() >= MAX_UNANSWERED) {
            let text = format!(
                "{MAX_UNANSWERED} requests of this connection wait already; wait for some of them"
            );
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        Ok(())
    }

    /// Remembers a request that cannot be answered yet. If that is refused the request must not
    /// have changed anything: the refusal is its answer.
    pub(super) fn await_answer(&mut self, at: At, what: Unanswered) -> Result<(), Rejection> {
        self.may_await(at)?;
        if let Some(c) = self.connections.get_mut(&at.connection) {
            c.unanswered.insert(at.stream, what);
        }
        Ok(())
    }

    pub(super) fn answered(&mut self, connection: u64, stream: u32) -> Option<Unanswered> {
        let c = self.connections.get_mut(&connection)?;
        c.unanswered.remove(&stream)
    }

    fn drop_connection(&mut self, connection: u64) {
        let Some(c) = self.connections.remove(&connection) else {
            return;
        };
        self.receiving.forget(connection);
        self.waiting_bytes -= c.backlog.kept;
        for segment in c.open.keys() {
            self.forget_client(*segment, connection);
        }
        let Some(session) = c.session else {
            return;
        };
        let expires_ns = self.now_ns + ns(self.config.lease_ms);
        let Some(s) = self.sessions.get_mut(session) else {
            return;
        };
        if s.connection != Some(connection) {
            return;
        }
        s.connection = None;
        s.heard_ns = c.heard_ns;
        s.expires_ns = expires_ns;
        for segment in &s.locks {
            if let Some(state) = self.segments.get_mut(segment) {
                state.lock.disconnect(connection);
            }
        }
        self.timers.arm(Timer::Session(session), expires_ns);
    }

    /// The session is over: its locks are free, its places in queues gone.
    pub(super) fn end_session(&mut self, session: u64) {
        let Some(s) = self.sessions.remove(session) else {
            return;
        };
        for segment in s.locks {
            if let Some(state) = self.segments.get_mut(&segment) {
                state.lock.end_session(session);
                state.remembered.session_ended(&s.id, self.now_ns);
            }
            self.grant_waiting(segment);
        }
    }

    fn watch_session(&mut self, session: u64) {
        let Some(s) = self.sessions.get(session) else {
            return;
        };
        if s.connection.is_some() {
            return;
        }
        if s.expires_ns <= self.now_ns {
            self.end_session(session);
        } else {
            self.timers.arm(Timer::Session(session), s.expires_ns);
        }
    }

    /// Hello in time, heartbeats when there is nothing else to say [SES-3], silence.
    fn watch_connection(&mut self, connection: u64) {
        let Some(c) = self.connections.get(&connection) else {
            return;
        };
        // Three quarters of the beat, so that a late timer does not make it longer.
        let beat_ns = ns(self.config.heartbeat_ms) / 4 * 3;
        let silence_ns = c.heard_ns + ns(self.config.lease_ms);
        let stuck_ns = match c.backlog.all {
            0 => u64::MAX,
            _ => c.took_ns + ns(self.config.lease_ms),
        };
        let hello_ns = c.connected_ns + ns(self.config.hello_ms);
        if c.session.is_none() {
            if hello_ns <= self.now_ns {
                let text = "no hello came in time; say hello as soon as the connection is made";
                let error = Outgoing::error(0, ErrorCode::TimedOut, text.to_string());
                self.send(connection, error);
                self.close(connection);
            } else {
                self.timers.arm(Timer::Connection(connection), hello_ns);
            }
            return;
        }
        if silence_ns <= self.now_ns {
            self.counters.silent += 1;
            self.close(connection);
            return;
        }
        // [NET-3]
        if stuck_ns <= self.now_ns {
            self.counters.stuck += 1;
            self.close(connection);
            return;
        }
        // Whoever does not take what it was sent is not sent heartbeats on top of it.
        let next_ns = if c.backlog.all > self.config.slow_bytes {
            self.now_ns + beat_ns
        } else {
            if c.sent_ns + beat_ns <= self.now_ns {
                self.heartbeat(connection);
            }
            let sent_ns = self.connections.get(&connection).map_or(0, |c| c.sent_ns);
            sent_ns + beat_ns
        };
        self.timers.arm(
            Timer::Connection(connection),
            next_ns.min(silence_ns).min(stuck_ns),
        );
    }

    fn heartbeat(&mut self, connection: u64) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        let stream = c.next_notification();
        self.send(
            connection,
            Outgoing::new(MessageType::Heartbeat, stream, &()),
        );
    }
}

pub(super) fn stopping() -> Rejection {
    let text = "the server is stopping; connect again when it is back";
    Rejection::new(ErrorCode::Stopping, text)
}
