//! The shell carries the engine's effects out, and brings the engine events and the time.
//!
//! Everything runs on one thread. The shell gives the engine an event, puts the event's messages on
//! their sockets at once, and lets the engine settle what it told. Then comes the next event.

mod storing;

use super::access_files::Wishes;
use super::allocator::Ebb;
use super::appends::Appends;
use super::audit::{AuditLog, AuditNumbers, Notes};
use super::client_socket::ClientSocket;
use super::clock::{self, Punctuality};
use super::freeing::free_elsewhere;
use super::relay::{Relays, Wanted};
use super::replicas::Replicas;
use super::spinning::Spinning;
use super::turns::Turns;
use crate::session::{
    Act, Audited, Effect, Engine, Health, Hindrance, Incoming, NumberMap, Request,
    SegmentStatistics, Statistics, Totals,
};
use interweave_access::{Access, Identity, Peer};
use interweave_store::{AccessSource, SegmentStore, StoreError, StoreStatus};
use interweave_wire::frame::READ_BYTES;
use interweave_wire::protocol::MemberList;
use std::cell::{Cell, OnceCell, RefCell};
use std::ops::Bound;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;
use tokio::sync::Notify;

/// Timers of the event loop are so coarse. Shorter pauses between slices of work are waited for
/// without sleeping, because other events come between.
const TIMERS_GRAIN: Duration = Duration::from_millis(1);

/// Bytes of all connections since the start, and connections that were refused.
#[derive(Debug, Default)]
pub struct Traffic {
    pub received: Cell<u64>,
    pub sent: Cell<u64>,
    pub refused: Cell<u64>,
}

pub use storing::Stored;

pub struct Shell {
    engine: RefCell<Engine>,
    connections: RefCell<NumberMap<u64, Rc<ClientSocket>>>,
    store: RefCell<Option<Box<dyn SegmentStore>>>,
    stored: UnboundedSender<Stored>,
    pub appends: Appends,
    /// The read buffer that connections share.
    pub buffer: RefCell<Vec<u8>>,
    /// Takes the bytes that follow the bulk of a frame.
    pub behind: RefCell<Vec<u8>>,
    pub traffic: Traffic,
    audit_log: OnceCell<AuditLog>,
    /// None: the server has no files that say who may do what.
    files: OnceCell<Wishes>,
    turns: Turns,
    /// The addresses at which programs connect.
    pub listening: RefCell<Vec<String>>,
    /// The servers of the space at the last look. None: nothing is known of them.
    pub space_view: RefCell<Option<MemberList>>,
    /// None: the server shares its store with nobody.
    relays: OnceCell<Relays>,
    /// The segments that are followed.
    replicas: Replicas,
    /// The segments that the store is to give away once what was sent is on the wire: number, id,
    /// and the member that gets it.
    giving: RefCell<Vec<(u32, u64, u64)>>,
    effects: Cell<Vec<Effect>>,
    /// The connections on which the present event has sent something.
    touched: Cell<Vec<Rc<ClientSocket>>>,
    last_connection: Cell<u64>,
    /// Connections whose sockets are open: those of the engine, and those that are parting.
    serving: Cell<usize>,
    /// Those of them that were refused.
    refusing: Cell<usize>,
    /// Those of them that end as soon as their tasks run, so that their places are free.
    leaving: Cell<usize>,
    max_connections: usize,
    /// The timer task sleeps until this time.
    armed_ns: Cell<u64>,
    /// When the present event began. It is the event's time however long the event takes, so that
    /// no peer counts as silent meanwhile.
    event_ns: Cell<u64>,
    punctuality: RefCell<Punctuality>,
    /// When the engine last looked at the store's wants.
    looked_ns: Cell<u64>,
    waiting: Ebb,
    earlier: Notify,
    spinning: RefCell<Spinning>,
    /// The server looks for messages until this time before it sleeps.
    spins_until_ns: Cell<u64>,
    spin: Notify,
    /// [`Shell::stop`] has begun.
    stopping: Cell<bool>,
    /// Something happened that may end the server, or let it end.
    progress: Notify,
    /// The text of a panic in one of the tasks. The engine must not be asked any more then.
    failure: RefCell<Option<String>>,
    has_failed: Notify,
}

impl Shell {
    pub fn new(
        engine: Engine,
        store: Box<dyn SegmentStore>,
        stored: UnboundedSender<Stored>,
        max_connections: usize,
        spinning: Spinning,
    ) -> Rc<Self> {
        Rc::new(Shell {
            engine: RefCell::new(engine),
            connections: RefCell::default(),
            store: RefCell::new(Some(store)),
            stored,
            appends: Appends::default(),
            buffer: RefCell::new(vec![0; READ_BYTES]),
            behind: RefCell::default(),
            traffic: Traffic::default(),
            audit_log: OnceCell::new(),
            files: OnceCell::new(),
            turns: Turns::default(),
            listening: RefCell::default(),
            space_view: RefCell::default(),
            relays: OnceCell::new(),
            replicas: Replicas::default(),
            giving: RefCell::default(),
            effects: Cell::default(),
            touched: Cell::default(),
            last_connection: Cell::new(0),
            serving: Cell::new(0),
            refusing: Cell::new(0),
            leaving: Cell::new(0),
            max_connections,
            armed_ns: Cell::new(u64::MAX),
            event_ns: Cell::new(0),
            punctuality: RefCell::default(),
            looked_ns: Cell::new(0),
            waiting: Ebb::default(),
            earlier: Notify::new(),
            spinning: RefCell::new(spinning),
            spins_until_ns: Cell::new(0),
            spin: Notify::new(),
            stopping: Cell::new(false),
            progress: Notify::new(),
            failure: RefCell::default(),
            has_failed: Notify::new(),
        })
    }

    /// Gives the engine an event, and carries out the effects.
    pub fn event(&self, event: impl FnOnce(&mut Engine, u64)) {
        let now_ns = clock::now_ns();
        self.event_ns.set(now_ns);
        let absence = self
            .punctuality
            .borrow_mut()
            .absence(self.armed_ns.get(), now_ns);
        if let Some(absence) = absence {
            let absent_ms = (absence.to_ns - absence.from_ns) / 1_000_000;
            tracing::debug!(absent_ms, "the server was busy, or did not run");
            self.engine.borrow_mut().was_absent(absence);
        }
        event(&mut self.engine.borrow_mut(), now_ns);
        loop {
            self.carry_out();
            let mut engine = self.engine.borrow_mut();
            if engine.is_about_to_tell() {
                std::thread::yield_now();
            }
            if !engine.settle() {
                self.rearm(engine.next_deadline_ns());
                break;
            }
        }
        let engine = self.engine.borrow();
        self.waiting.follow(engine.waiting_bytes());
        // Not at each event, because it wakes the task that ends the server.
        if self.stopping.get() || engine.lost_store().is_some() {
            self.progress.notify_one();
        }
    }

    /// Carries out effects until there are none.
    fn carry_out(&self) {
        let mut effects = self.effects.take();
        let mut touched = self.touched.take();
        loop {
            self.engine.borrow_mut().take_effects(&mut effects);
            if effects.is_empty() {
                break;
            }
            for effect in effects.drain(..) {
                self.carry_out_one(effect, &mut touched);
            }
            for connection in touched.drain(..) {
                connection.touched.set(false);
                self.flush(&connection);
            }
            for giving in self.giving.take() {
                self.give(giving);
            }
        }
        self.effects.set(effects);
        self.touched.set(touched);
    }

    fn carry_out_one(&self, effect: Effect, touched: &mut Vec<Rc<ClientSocket>>) {
        match effect {
            Effect::Send {
                connection,
                message,
            } => {
                let connections = self.connections.borrow();
                let Some(connection) = connections.get(&connection) else {
                    return;
                };
                connection.outbound.borrow_mut().push(message);
                if !connection.touched.replace(true) {
                    touched.push(connection.clone());
                }
            }
            Effect::Close { connection } => {
                if let Some(connection) = self.connections.borrow_mut().remove(&connection) {
                    connection.end();
                }
            }
            Effect::Relay {
                connection,
                stream,
                to,
                hello,
            } => {
                if let Some(connection) = self.connections.borrow().get(&connection) {
                    connection.pass_on(Wanted { stream, to, hello });
                }
            }
            Effect::RefuseBulk { connection } => {
                if let Some(connection) = self.connections.borrow().get(&connection) {
                    connection.refuse_bulk();
                }
            }
            Effect::Append {
                ticket,
                group,
                durable,
            } => {
                self.appends.add(group, durable, self.done(ticket));
            }
            Effect::Checkpoint { ticket, checkpoint } => self.checkpoint(ticket, checkpoint),
            Effect::CheckpointInPieces { ticket, head } => self.in_pieces(ticket, *head),
            Effect::Next { segment_id, next } => self.next(segment_id, next),
            Effect::Seek { path, claims } => self.seek(path, claims),
            Effect::Follow { path } => self.follow(path),
            Effect::Unfollow { path } => self.unfollow(&path),
            Effect::Give {
                segment,
                segment_id,
                member,
            } => self.giving.borrow_mut().push((segment, segment_id, member)),
            Effect::Free(segment) => free_elsewhere(segment),
            Effect::Settle { segments } => self.settle_doubts(segments),
            Effect::Renew { is_drained } => self.renew(is_drained),
            Effect::Page { asked, page } => self.page(asked, page),
            Effect::Members {
                asked,
                after,
                tells_all,
            } => self.list_members(asked, after, tells_all),
            Effect::Audit(audited) => self.audit(audited),
            Effect::ReadFiles { asked } => self.read_files(asked),
            Effect::LookAfterStore => self.look_after_store(&mut self.engine.borrow_mut()),
        }
    }

    /// From now on the files that say who may do what are read when somebody wishes it.
    pub fn begin_files(&self, wishes: Wishes) {
        // A server begins once, so that these are the first ones.
        let _ = self.files.set(wishes);
    }

    /// Has the files read for the request of that number.
    fn read_files(&self, asked: u64) {
        let is_asked = self.files.get().map(|wishes| wishes.send(asked));
        if is_asked.is_none_or(|sent| sent.is_err()) {
            let now_ns = self.event_ns.get();
            self.engine
                .borrow_mut()
                .files_read(now_ns, asked, Vec::new());
        }
    }

    /// From now on connections are passed on.
    pub fn begin_relays(&self, relays: Relays) {
        // A server begins once, so that these are the first ones.
        let _ = self.relays.set(relays);
    }

    /// None: the server shares its store with nobody.
    pub fn relays(&self) -> Option<&Relays> {
        self.relays.get()
    }

    /// From now on there is this audit log.
    pub fn begin_audit(&self, log: AuditLog) {
        // A server begins once, so that this is the first one.
        let _ = self.audit_log.set(log);
        self.audit(Audited::of_server(Act::Start, true, ""));
    }

    /// Adds a line to the audit log, if there is one.
    pub fn audit(&self, audited: impl Into<Box<Audited>>) {
        if let Some(log) = self.audit_log.get() {
            log.note(audited.into());
        }
    }

    /// Where the threads beside the engine's put their lines. None: the server keeps no audit log.
    pub fn audit_notes(&self) -> Option<Notes> {
        self.audit_log.get().map(AuditLog::notes)
    }

    /// Opens the file of the audit log anew.
    pub fn reopen_audit(&self) {
        self.audit_log.get().map_or((), AuditLog::reopen)
    }

    /// Writes what the audit log still has. REQUIRES: nothing is served any more.
    pub fn end_audit(&self) {
        self.audit(Audited::of_server(Act::Stop, true, ""));
        self.audit_log.get().map_or((), AuditLog::close)
    }

    /// None: the server keeps no audit log.
    pub fn audit_numbers(&self) -> Option<AuditNumbers> {
        self.audit_log.get().map(AuditLog::numbers)
    }

    /// Writes the connection's frames, as far as the socket takes them.
    fn flush(&self, connection: &ClientSocket) {
        let sent = connection.flush();
        self.traffic.sent.set(self.traffic.sent.get() + sent as u64);
        let backlog = connection.backlog();
        let mut engine = self.engine.borrow_mut();
        engine.carried(self.event_ns.get(), connection.id, sent);
        engine.backlog(self.event_ns.get(), connection.id, backlog);
    }

    /// As [`Shell::flush`], for the connection's own task.
    pub fn flush_later(&self, connection: &ClientSocket) {
        let sent = connection.flush();
        self.traffic.sent.set(self.traffic.sent.get() + sent as u64);
        let backlog = connection.backlog();
        self.event(|engine, now_ns| {
            if sent > 0 {
                engine.carried(now_ns, connection.id, sent);
                engine.heard(now_ns, connection.id);
            }
            engine.backlog(now_ns, connection.id, backlog);
        });
    }

    fn rearm(&self, next_ns: Option<u64>) {
        let next_ns = next_ns.unwrap_or(u64::MAX);
        if next_ns < self.armed_ns.get() {
            self.armed_ns.set(next_ns);
            self.earlier.notify_one();
        }
    }

    /// Brings the engine the time when it wants it.
    pub async fn keep_time(&self) {
        loop {
            let armed_ns = self.armed_ns.get();
            let wait = Duration::from_nanos(armed_ns.saturating_sub(clock::now_ns()));
            if wait < TIMERS_GRAIN && self.engine.borrow().works_in_slices() {
                tokio::task::yield_now().await;
                let is_due = self.armed_ns.get() <= clock::now_ns();
                if is_due {
                    self.on_time();
                }
                continue;
            }
            let due = tokio::select! {
                _ = self.earlier.notified() => false,
                _ = tokio::time::sleep(wait), if armed_ns != u64::MAX => true,
            };
            if due {
                self.on_time();
            }
        }
    }

    fn on_time(&self) {
        self.event(|engine, now_ns| {
            self.armed_ns.set(u64::MAX);
            engine.advance(now_ns);
        });
    }

    /// Takes a new connection in, and counts it until its socket is closed. None: there are too
    /// many.
    pub fn connect(
        self: &Rc<Self>,
        peer: Peer,
        make: impl FnOnce(u64) -> Rc<ClientSocket>,
    ) -> Option<(Rc<ClientSocket>, Serving)> {
        self.make_room();
        let mut unused_id = [0; 16];
        let staying = self.serving.get() - self.leaving.get();
        let full = staying >= self.max_connections;
        if full || getrandom::fill(&mut unused_id).is_err() {
            self.traffic.refused.set(self.traffic.refused.get() + 1);
            return None;
        }
        let id = self.last_connection.get() + 1;
        self.last_connection.set(id);
        let connection = make(id);
        let mut serving = self.serving();
        serving.1 = Some(connection.clone());
        self.connections.borrow_mut().insert(id, connection.clone());
        tracing::debug!(connection = id, peer = %peer.identity(), "a connection begins");
        self.event(|engine, now_ns| engine.connected(now_ns, id, unused_id, peer));
        Some((connection, serving))
    }

    /// Ends a connection that has not said hello, if such connections have taken half of all
    /// places. So strangers who say nothing keep no client out.
    fn make_room(&self) {
        let first_to_go = {
            let engine = self.engine.borrow();
            let ungreeted = engine.ungreeted();
            // The count is at hand, and the first one is looked for.
            match ungreeted.count() > self.max_connections / 2 {
                true => ungreeted.first_to_go(),
                false => None,
            }
        };
        let first = first_to_go.and_then(|id| self.connections.borrow().get(&id).cloned());
        if let Some(first) = first {
            self.leaving.set(self.leaving.get() + 1);
            first.hurry();
            self.disconnected(&first);
        }
    }

    pub fn disconnected(&self, connection: &ClientSocket) {
        self.connections.borrow_mut().remove(&connection.id);
        self.event(|engine, now_ns| match connection.validity.has_ended() {
            true => engine.certificate_ended(now_ns, connection.id),
            false => engine.disconnected(now_ns, connection.id),
        });
    }

    pub fn heard(&self, connection: u64, bytes: usize) {
        let received = self.traffic.received.get() + bytes as u64;
        self.traffic.received.set(received);
        let now_ns = clock::now_ns();
        {
            let mut engine = self.engine.borrow_mut();
            engine.heard(now_ns, connection);
            engine.carried(now_ns, connection, bytes);
        }
        if let Some(until_ns) = self.spinning.borrow_mut().heard(now_ns) {
            self.spins_until_ns.set(until_ns);
            self.spin.notify_one();
        }
    }

    /// Waits while a limit of the connection's identity is used up, a quarter of a lease at most
    /// [LIM-5].
    pub async fn rested(&self, connection: u64) {
        if !self.engine.borrow().slows_down() {
            return;
        }
        let mut left_ns = u64::from(self.engine.borrow().config().lease_ms) * 1_000_000 / 4;
        loop {
            let rest_ns = self
                .engine
                .borrow_mut()
                .rest_ns(clock::now_ns(), connection);
            let rest_ns = rest_ns.min(left_ns);
            if rest_ns == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_nanos(rest_ns)).await;
            left_ns -= rest_ns;
            self.engine.borrow_mut().rested(clock::now_ns(), connection);
        }
    }

    /// Waits for a turn of the connection's identity, before so many bytes and messages of the
    /// connection are worked on. If all connections are of one identity, nobody waits.
    pub async fn take_turn(&self, connection: u64, bytes: usize, messages: usize) {
        let account = self.engine.borrow().sharing_account(connection);
        if let Some(account) = account {
            self.turns.take(account, connection, bytes, messages).await;
        }
    }

    /// Waits for a message after which it pays to look for the next one. Returns until when.
    pub async fn wants_spinning(&self) -> u64 {
        self.spin.notified().await;
        self.spins_until_ns.get()
    }

    pub fn spins_until_ns(&self) -> u64 {
        self.spins_until_ns.get()
    }

    /// One look for messages has found nothing. Returns whether to look again.
    pub fn looked(&self, from_ns: u64, now_ns: u64) -> bool {
        self.spinning.borrow_mut().looked(from_ns, now_ns)
    }

    pub fn request(&self, connection: u64, incoming: Incoming) {
        let hindrance = self.hindrance();
        self.event(|engine, now_ns| {
            if let Some(hindrance) = hindrance {
                engine.hindered_by(hindrance);
            }
            engine.request(now_ns, connection, incoming);
        });
    }

    pub fn malformed(&self, connection: u64, text: String) {
        self.event(|engine, now_ns| engine.malformed(now_ns, connection, text));
    }

    /// Whether the connection's HELLO was taken.
    pub fn is_greeted(&self, connection: u64) -> bool {
        self.engine.borrow().is_greeted(connection)
    }

    pub fn admits(&self, connection: u64, request: &Request, bulk_bytes: u64) -> bool {
        self.asked(|engine| engine.admits(connection, request, bulk_bytes))
    }

    /// Tells the engine of bytes of a large release. Returns whether they are kept.
    pub fn came(&self, connection: u64, request: &Request, bytes: usize) -> bool {
        self.asked(|engine| engine.came(connection, request, bytes as u64))
    }

    /// Asks the engine whether bulk is kept. To make room, the engine may refuse other bulk, whose
    /// memory is to be freed before more bytes come.
    fn asked(&self, ask: impl FnOnce(&mut Engine) -> bool) -> bool {
        let (kept, has_effects) = {
            let mut engine = self.engine.borrow_mut();
            (ask(&mut engine), engine.has_effects())
        };
        if has_effects {
            self.event(|_, _| ());
        }
        kept
    }

    /// How long a peer may take no byte while something waits for it [NET-3].
    pub fn lease(&self) -> Duration {
        Duration::from_millis(self.engine.borrow().config().lease_ms.into())
    }

    pub fn statistics(&self) -> Statistics {
        self.engine.borrow().statistics()
    }

    /// Adds the next segments that the identity may read, of `most` that are looked at. Returns the
    /// last that was looked at; None: no segment is left.
    pub fn add_statistics(
        &self,
        segments: &mut Vec<SegmentStatistics>,
        identity: &Identity,
        from: Bound<&str>,
        most: usize,
    ) -> Option<String> {
        let engine = self.engine.borrow();
        engine.add_statistics(clock::now_ns(), segments, identity, from, most)
    }

    /// What the tokens file and the rules file say now.
    pub fn access(&self) -> Arc<Access> {
        self.engine.borrow().access().clone()
    }

    pub fn add_to_totals(
        &self,
        totals: &mut Totals,
        from: Bound<&str>,
        most: usize,
    ) -> Option<String> {
        self.engine.borrow().add_to_totals(totals, from, most)
    }

    /// A look-out for the rules that the servers of the store share.
    pub fn access_source(&self) -> Result<Option<Box<dyn AccessSource>>, StoreError> {
        let store = self.store.borrow();
        store.as_ref().map_or(Ok(None), |store| store.access())
    }

    /// Looks for the servers that share the store: a page of those with higher numbers [SPACE-30].
    /// `tells_all`: segments are counted, too. None: the store is closed, or keeps no servers.
    pub async fn members(
        &self,
        after: u64,
        tells_all: bool,
    ) -> Option<Result<MemberList, StoreError>> {
        let (found, heard) = oneshot::channel();
        {
            let store = self.store.borrow();
            let store = store.as_ref().filter(|store| store.kind() == "postgres")?;
            let hear = move |list| {
                // The server may have ended meanwhile.
                let _ = found.send(list);
            };
            store.members(after, tells_all, Box::new(hear));
        }
        heard.await.ok()
    }

    /// The version of the shared rules that holds; 0: the store has none.
    pub fn rules_version(&self) -> u64 {
        self.engine.borrow().rules_version()
    }

    /// Whether this server lets nobody in, because it could not read the shared rules for a while
    /// [SPACE-44].
    pub fn lacks_rules(&self) -> bool {
        self.engine.borrow().lacks_rules()
    }

    pub fn store_status(&self) -> StoreStatus {
        let store = self.store.borrow();
        store.as_ref().map(|s| s.status()).unwrap_or_default()
    }

    /// Does not go through the segments.
    pub fn health(&self) -> Health {
        self.engine.borrow().health()
    }

    /// Whether the server may serve: always, unless it shares its store.
    pub fn has_standing(&self) -> bool {
        self.engine.borrow().has_standing()
    }

    /// Returns the reason for which the server has no standing, as the store says it. None: the
    /// server has standing.
    pub fn hindrance(&self) -> Option<Hindrance> {
        if self.has_standing() {
            return None;
        }
        let status = self.store_status();
        Some(match (status.alone, status.away, status.full) {
            (Some(_), ..) => Hindrance::Alone,
            (None, Some(_), _) => Hindrance::Away,
            (None, None, Some(_)) => Hindrance::Full,
            (None, None, None) => Hindrance::Unknown,
        })
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.get()
    }

    /// Why the server cannot use its store any more.
    pub fn lost_store(&self) -> Option<StoreError> {
        self.engine.borrow().lost_store().cloned()
    }

    /// Notes that a task has panicked.
    pub fn fail(&self, text: String) {
        self.failure.borrow_mut().get_or_insert(text);
        self.progress.notify_one();
        self.has_failed.notify_one();
    }

    pub fn failure(&self) -> Option<String> {
        self.failure.borrow().clone()
    }

    /// Waits until a task has panicked.
    pub async fn failed(&self) {
        while self.failure.borrow().is_none() {
            self.has_failed.notified().await;
        }
    }

    /// Waits until the server cannot continue.
    pub async fn ended(&self) {
        while self.failure.borrow().is_none() && self.lost_store().is_none() {
            self.progress.notified().await;
        }
    }

    /// Waits until nothing is on its way to the store.
    async fn idle(&self) {
        while !self.engine.borrow().is_idle() {
            self.progress.notified().await;
        }
    }

    /// Takes a place for a connection that is refused. None: all of the few such places are taken.
    pub fn place(self: &Rc<Self>) -> Option<RefusedPlace> {
        let most = MOST_REFUSED.min(self.max_connections / 4);
        let has_room = self.refusing.get() < most && self.serving.get() < self.max_connections;
        has_room.then(|| {
            self.refusing.set(self.refusing.get() + 1);
            RefusedPlace(self.serving())
        })
    }

    /// Counts a connection until the returned value is dropped.
    fn serving(self: &Rc<Self>) -> Serving {
        self.serving.set(self.serving.get() + 1);
        Serving(self.clone(), None)
    }

    /// Waits until the tasks of all connections have ended.
    pub async fn parted(&self) {
        while self.serving.get() > 0 {
            self.progress.notified().await;
        }
    }

    /// Ends the server in order. The store takes what is on its way, what the log lacks is saved,
    /// and clients are told.
    pub async fn stop(&self) -> Result<(), StoreError> {
        self.stopping.set(true);
        if let Some(store) = &*self.store.borrow() {
            store.hurry();
        }
        self.event(|engine, now_ns| engine.stop(now_ns));
        self.idle().await;
        self.event(|engine, now_ns| engine.save_and_part(now_ns));
        self.idle().await;
        let clean = self.engine.borrow().is_saved();
        match self.store.borrow_mut().take() {
            Some(store) => store.close(clean),
            None => Ok(()),
        }
    }

    /// Gives the memory of all segments back, on a thread of its own. A process that ends now does
    /// not wait for a million segments to be taken apart.
    /// REQUIRES: the shell has stopped and its connections have parted.
    pub fn let_segments_go(&self) {
        let segments = self.engine.borrow_mut().take_segments();
        let thread = std::thread::Builder::new().name("iw-end".to_string());
        // If there is no thread, the segments go at once.
        let _ = thread.spawn(move || drop(segments));
    }
}

/// The most refused connections whose peers may still take their last bytes. So strangers who are
/// refused take no places of clients.
const MOST_REFUSED: usize = 32;

/// The place of a refused connection; see [`Shell::place`].
pub struct RefusedPlace(Serving);

impl Drop for RefusedPlace {
    fn drop(&mut self) {
        let refusing = &self.0 .0.refusing;
        refusing.set(refusing.get() - 1);
    }
}

/// A connection that is counted; see [`Shell::connect`].
pub struct Serving(Rc<Shell>, Option<Rc<ClientSocket>>);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.serving.set(self.0.serving.get() - 1);
        if self.1.as_ref().is_some_and(|c| c.is_hurried()) {
            self.0.leaving.set(self.0.leaving.get() - 1);
        }
        self.0.progress.notify_one();
    }
}
