//! The engine: its parts, its events, and the way of a request to its rule.
//!
//! [`Wire`] has the connections and sessions. [`Segments`] has the segments, each with its
//! [`super::serials::Serials`]. [`Journal`] has the requests to the store. The engine takes an
//! event to the part that it concerns, and carries between parts what one may not know of the
//! other. The engine runs on one thread and takes each event whole, so no rule sees another one
//! half done. Every event brings the time. Leases and deadlines that are over by then end before
//! the event.

use super::access::Permits;
use super::accounts::Accounts;
use super::cataloguing::Catalogue;
use super::config::{ns, Config};
use super::crowd::Crowd;
use super::effect::Effect;
use super::journal::Journal;
use super::listing::Listing;
use super::members::{Looks, SharedRules};
use super::message::{Backlog, Incoming, Request, ServerMessage};
use super::relaying::wish;
use super::reloading::Reloading;
use super::saving::Saving;
use super::segments::Segments;
use super::space::Space;
use super::sweeping::Sweep;
use super::wire::{self, At, Unanswered, Wire, NOTIFICATION};
use interweave_access::{Identity, LimitName, Peer};
use interweave_wire::protocol::xdr::XdrError;
use interweave_wire::protocol::{Cancel, ErrorCode, Hello, MessageType, SessionId, Unimplemented};
use interweave_wire::Rejection;
use std::sync::Arc;

const HELLO: i32 = MessageType::Hello as i32;

/// The server's rules and everything that they are applied to.
#[derive(Debug)]
pub struct Engine {
    pub(super) config: Arc<Config>,
    pub(super) wire: Wire,
    pub(super) journal: Journal,
    pub(super) segments: Segments,
    pub(super) saving: Saving,
    pub(super) permits: Permits,
    pub(super) accounts: Accounts,
    pub(super) sweep: Sweep,
    pub(super) listing: Listing,
    pub(super) reloading: Reloading,
    pub(super) looks: Looks,
    pub(super) shared_rules: SharedRules,
    pub(super) catalogue: Catalogue,
    /// None: the server shares its store with nobody.
    pub(super) space: Option<Space>,
    pub(super) stopping: bool,
}

impl Engine {
    /// Makes an engine without segments. [`Engine::recover`] brings the segments of the store.
    pub fn new(config: Config) -> Self {
        let config = Arc::new(config.bound_heartbeat());
        Engine {
            wire: Wire::new(config.clone()),
            journal: Journal::default(),
            segments: Segments::new(config.first_fence),
            saving: Saving::default(),
            permits: Permits::default(),
            accounts: Accounts::new(ns(config.lease_ms) / 4),
            sweep: Sweep::default(),
            listing: Listing::default(),
            reloading: Reloading::default(),
            looks: Looks::default(),
            shared_rules: SharedRules::default(),
            catalogue: Catalogue::default(),
            space: Space::begin(&config),
            stopping: false,
            config,
        }
    }

    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the bytes that wait to be sent over all connections, without lent diffs.
    pub fn waiting_bytes(&self) -> usize {
        self.wire.waiting_bytes()
    }

    /// Takes all segments out. REQUIRES: nobody is connected, and nobody will be.
    pub fn take_segments(&mut self) -> impl Send + 'static {
        self.segments.take_all()
    }

    /// Whether messages to peers, or what concerns their connections, were not taken.
    pub fn has_effects(&self) -> bool {
        self.wire.has_effects()
    }

    /// Moves the effects to `out`, requests to the store before messages to peers.
    pub fn take_effects(&mut self, out: &mut Vec<Effect>) {
        self.journal.take_effects(out);
        self.wire.take_effects(out);
    }

    /// Returns when [`Engine::advance`] has work next.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        let next = [
            self.wire.timers.next_ns(),
            self.segments.timers.next_ns(),
            self.journal.next_look_ns(),
            self.journal.next_doubt_ns(),
            self.sweep.next_ns(),
            self.listing.next_ns(),
            self.space.as_ref().and_then(Space::next_ns),
        ];
        next.into_iter().flatten().min()
    }

    /// Whether work is left that is done in slices, with short pauses between.
    pub fn works_in_slices(&self) -> bool {
        self.sweep.next_ns().is_some() || self.listing.next_ns().is_some()
    }

    /// Time passes: leases, deadlines and heartbeats.
    pub fn advance(&mut self, now_ns: u64) {
        while self.settle() {}
        self.wire.advance(now_ns);
        let now_ns = self.wire.now_ns();
        while let Some(next_ns) = self.next_deadline_ns().filter(|next| *next <= now_ns) {
            // At one moment the wire's timers come first, because a session that is over is granted
            // nothing. The look at the store comes last.
            if self.wire.timers.next_ns() == Some(next_ns) {
                self.watch_wire(now_ns);
            } else if self.sweep.next_ns() == Some(next_ns) {
                self.sweep_slice();
            } else if self.listing.next_ns() == Some(next_ns) {
                self.list_slice();
            } else if self.space.as_ref().and_then(Space::next_ns) == Some(next_ns) {
                self.watch_space(now_ns);
            } else if self.journal.next_doubt_ns() == Some(next_ns) {
                self.settle_doubts();
            } else if self.segments.timers.next_ns() != Some(next_ns) {
                self.journal.look_after_store(now_ns);
            } else if let Some(segment) = self.segments.timers.pop(now_ns) {
                self.watch_segment(segment);
            }
        }
    }

    fn watch_wire(&mut self, now_ns: u64) {
        match self.wire.timers.pop(now_ns) {
            Some(wire::Timer::Connection(connection)) => {
                self.wire.watch_connection(connection);
                self.forget_closed();
            }
            Some(wire::Timer::Session(session)) if self.wire.is_session_over(session) => {
                self.end_session(session);
            }
            Some(wire::Timer::Session(_)) | None => {}
        }
    }

    /// A connection exists. `unused_id` is random, and the id of a session that begins here. `peer`
    /// is what the server knows of the client before it says hello.
    pub fn connected(&mut self, now_ns: u64, connection: u64, unused_id: SessionId, peer: Peer) {
        self.advance(now_ns);
        self.wire.connected(connection, unused_id, peer);
        self.forget_closed();
    }

    /// The connections that have not been greeted.
    pub fn ungreeted(&self) -> &Crowd {
        self.wire.ungreeted()
    }

    /// Bytes came on the connection, or the peer took some.
    pub fn heard(&mut self, now_ns: u64, connection: u64) {
        self.wire.heard(now_ns, connection);
    }

    /// The connection is gone. Its session lives for a lease more [SES-2].
    pub fn disconnected(&mut self, now_ns: u64, connection: u64) {
        self.advance(now_ns);
        self.wire.lost(connection);
        self.forget_closed();
    }

    /// The connection is gone because its client's certificate is not valid any more. Its session
    /// ends if the certificate is the session's identity [ACC-12].
    pub fn certificate_ended(&mut self, now_ns: u64, connection: u64) {
        self.advance(now_ns);
        let session = self.wire.connection(connection).and_then(|c| c.session);
        let is_identity = |session: &wire::Session| {
            // The session may continue over another connection already.
            session.connection == Some(connection)
                && matches!(session.login.identity, Identity::Certificate(_))
        };
        let ends = |number: &u64| self.wire.session(*number).is_some_and(is_identity);
        if let Some(session) = session.filter(ends) {
            self.audit_session_end(session);
            self.end_session(session);
        }
        self.wire.lost(connection);
        self.forget_closed();
    }

    /// The connection's framing is lost [FRAME-1..4].
    pub fn malformed(&mut self, now_ns: u64, connection: u64, text: String) {
        self.advance(now_ns);
        self.wire.counters.malformed += 1;
        self.wire.complain(connection, ErrorCode::Malformed, text);
        self.close(connection);
    }

    /// So much waits to be sent on the connection.
    pub fn backlog(&mut self, now_ns: u64, connection: u64, backlog: Backlog) {
        // This is an event only if something follows from it. Otherwise a release that was told may
        // settle later.
        if self.wire.note_backlog(now_ns, connection, backlog) {
            self.advance(now_ns);
            self.catch_up(connection);
        }
        if self.wire.is_overfull() {
            self.advance(now_ns);
            self.wire.close_slowest();
        }
        self.forget_closed();
    }

    /// A message came in whole.
    pub fn request(&mut self, now_ns: u64, connection: u64, incoming: Incoming) {
        self.advance(now_ns);
        self.wire.heard(now_ns, connection);
        self.wire.counters.requests += 1;
        self.wire.received(connection, &incoming);
        if let Err((rejection, close)) = self.take_request(connection, &incoming) {
            self.wire.counters.errors += 1;
            self.wire.refuse(connection, incoming.stream, &rejection);
            if close {
                self.wire.close(connection);
            }
        }
        self.forget_closed();
    }

    /// Whether the connection's HELLO was taken.
    pub fn is_greeted(&self, connection: u64) -> bool {
        let connection = self.wire.connection(connection);
        connection.is_some_and(|c| c.session.is_some())
    }

    /// An error goes to the request's stream. True: the connection is then closed.
    fn take_request(
        &mut self,
        connection: u64,
        incoming: &Incoming,
    ) -> Result<(), (Rejection, bool)> {
        let Some(c) = self.wire.connection(connection) else {
            return Ok(());
        };
        if c.failed.is_some() {
            return Ok(());
        }
        let stream = incoming.stream;
        if let Request::ForeignHello {
            version_min,
            version_max,
        } = incoming.request
        {
            return Err((wire::no_common_version(version_min, version_max), true));
        }
        if let Request::Hello(hello) = &incoming.request {
            return self.greet(connection, stream, hello);
        }
        let Some(session) = c.session else {
            if let Request::Undecodable(HELLO, error) = &incoming.request {
                return Err((undecodable(HELLO, *error), true));
            }
            let text = "the first message of a connection must be HELLO; say hello, then ask";
            return Err((Rejection::new(ErrorCode::NotOpen, text), true));
        };
        let numbered = !matches!(incoming.request, Request::Cancel(_) | Request::Credit(_));
        if numbered && (stream == 0 || stream & NOTIFICATION != 0) {
            let text = format!(
                "stream {stream} cannot carry a request; use 1 to {}",
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
                "a request of stream {stream} brings {} bytes of bulk, which only RELEASE_WRITER \
                 may",
                incoming.announced_bytes
            );
            return Err((Rejection::malformed(text), false));
        }
        let at = At {
            connection,
            session,
            stream,
        };
        let waits = match self.waits_for_owner(at, incoming) {
            Ok(false) => self.seeks_first(at, incoming),
            waits => waits,
        };
        let done = match waits {
            Ok(true) => return Ok(()),
            Ok(false) => self.dispatch_and_audit(at, incoming),
            Err(rejection) => {
                let refused = Err(rejection);
                self.audit_request(at, &incoming.request, false, &refused);
                refused
            }
        };
        done.map_err(|rejection| (rejection, false))
    }

    pub(super) fn dispatch_and_audit(
        &mut self,
        at: At,
        incoming: &Incoming,
    ) -> Result<(), Rejection> {
        let creates = self.will_create(&incoming.request);
        let done = self.dispatch(at, incoming);
        self.audit_request(at, &incoming.request, creates, &done);
        done
    }

    fn greet(
        &mut self,
        connection: u64,
        stream: u32,
        hello: &Hello,
    ) -> Result<(), (Rejection, bool)> {
        if let Some(hindrance) = self.hindrance() {
            return Err((hindrance.rejection(), true));
        }
        if let Some(unread) = &self.shared_rules.unread {
            return Err((unread.clone(), true));
        }
        let greeted = match wish(hello) {
            Ok(Some(to)) => self.greet_relayed(connection, stream, hello, to),
            Ok(None) => self.greet_own(connection, stream, hello),
            Err(malformed) => Err(malformed),
        };
        self.audit_login(connection, hello, &greeted);
        match greeted {
            Err(e) if e.code == ErrorCode::Denied && !hello.token.is_empty() => {
                self.wire.fail_login(connection, stream, e);
                Ok(())
            }
            greeted => greeted.map_err(|e| (e, true)),
        }
    }

    /// Begins or resumes a session of this server.
    fn greet_own(&mut self, connection: u64, stream: u32, hello: &Hello) -> Result<(), Rejection> {
        let now_ns = self.wire.now_ns();
        let access = &self.permits.access;
        let admitted = self.wire.admit(connection, hello, access, self.stopping)?;
        let Some(admitted) = admitted else {
            return Ok(());
        };
        let accounts = &mut self.accounts;
        let mut over = None;
        let enter = |identity: &Identity, replaced| {
            let entered = accounts.enter(identity, |who| access.limits(who), replaced, now_ns);
            entered.map_err(|limit| {
                let rejection = Rejection::clone(&limit.rejection);
                over = Some(limit);
                rejection
            })
        };
        let at = (connection, stream);
        let greeted = self.wire.welcome(at, hello, admitted, enter);
        if let Some(over) = over {
            self.note_over(over);
        }
        greeted
    }

    fn dispatch(&mut self, at: At, incoming: &Incoming) -> Result<(), Rejection> {
        self.check_permitted(at, &incoming.request)?;
        match &incoming.request {
            Request::Hello(_) | Request::ForeignHello { .. } => Ok(()),
            Request::Ping => self.answer(at, MessageType::Pong),
            Request::Cancel(r) => self.cancel(at, r),
            Request::Goodbye => self.goodbye(at),
            Request::ReloadAccess => self.reload_access(at),
            Request::FollowSegment(r) => self.follow_segment(at, r),
            Request::HandOver(r) => self.hand_over(at, r),
            Request::Drain => self.drain(at),
            Request::ListMembers(r) => self.list_members(at, r),
            Request::OpenSegment(r) => self.open_segment(at, r),
            Request::CloseSegment(r) => self.close_segment(at, r),
            Request::RemoveSegment(r) => self.remove_segment(at, r),
            Request::ListSegments(r) => self.list_segments(at, r),
            Request::ListPlaces(r) => self.list_places(at, r),
            Request::DescribeBlocks(r) => self.describe_blocks(at, r),
            Request::AcquireReader(r) => self.acquire_reader(at, r),
            Request::ReleaseReader(r) => self.release_reader(at, r),
            Request::AcquireWriter(r) => self.acquire_writer(at, r),
            Request::RenewWriter(r) => self.renew_writer(at, r),
            Request::MoreSerials(r) => self.more_serials(at, r),
            Request::ReleaseWriter(r) => {
                let now_ns = self.wire.now_ns();
                self.spend(now_ns, at.connection, LimitName::Releases, 1);
                self.release_writer(at, r, incoming)
            }
            Request::AbortWriter(r) => self.abort_writer(at, r),
            Request::ResolveRelease(r) => self.resolve_release(at, r),
            Request::Subscribe(r) => self.subscribe(at, r),
            Request::Unsubscribe(r) => self.unsubscribe(at, r),
            Request::Credit(r) => self.credit(at, r),
            Request::Unknown(type_) => {
                let body = Unimplemented { type_: *type_ };
                let reply = ServerMessage::new(MessageType::Unimplemented, at.stream, &body);
                self.wire.send(at.connection, reply);
                Ok(())
            }
            Request::Undecodable(type_, error) => Err(undecodable(*type_, *error)),
        }
    }

    fn goodbye(&mut self, at: At) -> Result<(), Rejection> {
        self.end_session(at.session);
        self.wire.close(at.connection);
        Ok(())
    }

    /// Gives up a waiting request, which is answered CANCELLED.
    fn cancel(&mut self, at: At, cancel: &Cancel) -> Result<(), Rejection> {
        let waiting = self.wire.awaited(at.connection, cancel.stream);
        if let Some(Unanswered::Lock { segment }) = waiting {
            self.give_up_wait(at.connection, cancel.stream, segment);
        }
        Ok(())
    }

    /// Answers with a message that has no body.
    pub(super) fn answer(&mut self, at: At, type_: MessageType) -> Result<(), Rejection> {
        self.wire.answer(at, type_);
        Ok(())
    }

    /// Ends a connection after what was sent on it.
    pub(super) fn close(&mut self, connection: u64) {
        self.wire.close(connection);
        self.forget_closed();
    }

    /// Lets segments forget the connections that are gone. This happens before a lock is granted
    /// again, and at the end of every event.
    pub(super) fn forget_closed(&mut self) {
        let now_ns = self.wire.now_ns();
        let closed = self.wire.take_closed();
        if closed.is_empty() {
            return;
        }
        let mut free = Vec::new();
        for closed in closed {
            if let Some(account) = closed.account {
                self.accounts.leave(account);
                self.listing.forget(account, closed.connection);
            }
            free.append(&mut self.segments.forget(&closed, now_ns));
        }
        for number in free {
            self.grant_waiting(number);
        }
        self.go_on_all_handing();
    }

    /// Ends a session: its locks become free, and its places in queues are gone.
    pub(super) fn end_session(&mut self, session: u64) {
        let Some(s) = self.wire.end_session(session) else {
            return;
        };
        let now_ns = self.wire.now_ns();
        for number in s.locks {
            if let Some(segment) = self.segments.if_still_there(number) {
                segment.lock.end_session(session);
                segment.remembered.session_ended(&s.hash, now_ns);
                self.grant_waiting(number);
            }
        }
    }
}

fn undecodable(type_: i32, error: XdrError) -> Rejection {
    Rejection::malformed(format!(
        "the body of a message of type {type_} is not what spec/protocol says: {error}"
    ))
}

pub(super) fn stopping() -> Rejection {
    let text = "the server is stopping; connect again when it is back";
    Rejection::new(ErrorCode::Stopping, text)
}
