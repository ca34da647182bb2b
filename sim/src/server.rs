//! The server: its engine and its store as they are, and in the place of net's sockets and tasks
//! this shell, which carries effects out over the simulated network.

mod ending;
mod moving;
mod removing;
mod saving;
mod sharing;
mod turns;

use crate::disk::{OfProcess, SimDisk};
use crate::env::{send_in_parts, Env, Event, MS};
use crate::history::{violation, Checked};
use crate::leases::Leases;
use crate::network::{Item, Side};
use crate::plan::Plan;
use crate::random::Random;
use crate::space::member::Member;
use bytes::Bytes;
use interweave_access::{Access, Peer, Rules};
use interweave_server::net::{Admission, Inbound, Outbound, Punctuality, Replicas};
use interweave_server::session::{Config, Effect, Engine, Read, Request};
use interweave_store::{
    Done, End, Given, Next, Record, RecoveredSegment, SegmentStore, StoreError, Threads,
};
use interweave_wire::protocol::Durability;
use moving::Moving;
use removing::Removing;
use sharing::Brought;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use turns::Workers;

pub use turns::base;

/// A message of the store.
#[derive(Debug)]
pub enum Stored {
    /// The request with that ticket is done.
    Completed(u64, Result<(), StoreError>),
    /// The store asks for a piece of the checkpoint with that ticket.
    Wants(u64),
    /// It has looked for the segment of that path.
    Sought(String, Brought),
    /// It has read a segment of another server.
    Followed(String, Result<Read, StoreError>),
    /// It has given the segment of that number to another server, or has not.
    Given(u32, Result<Given, StoreError>),
    /// It has renewed the lease, which was asked for at that time.
    Renewed(u64, Result<(), StoreError>),
    /// It has decided where segments end.
    Settled(Result<Vec<(u64, End)>, StoreError>),
}

/// Messages of the store that the engine has not heard.
type Said = Arc<Mutex<Vec<Stored>>>;

/// The workers that carry out the engine's orders to the store.
enum Works {
    Embedded(Workers),
    Member(Box<Member>),
}

struct Asking {
    engine: Rc<RefCell<Engine>>,
    connection: u64,
}

impl Admission for Asking {
    fn is_greeted(&self) -> bool {
        self.engine.borrow().is_greeted(self.connection)
    }

    fn admits(&self, request: &Request, bulk_bytes: u64) -> bool {
        let mut engine = self.engine.borrow_mut();
        engine.admits(self.connection, request, bulk_bytes)
    }

    fn came(&self, request: &Request, bytes: usize) -> bool {
        let mut engine = self.engine.borrow_mut();
        engine.came(self.connection, request, bytes as u64)
    }
}

struct Connection {
    inbound: Inbound<Asking>,
    outbound: Outbound,
    is_touched: bool,
    /// Since that moment of the world something waits to be sent.
    behind_ns: Option<u64>,
    /// Bytes that came and were not read, and whether a part of those that were is not parsed.
    unread: VecDeque<Bytes>,
    has_unparsed: bool,
}

struct Append {
    group: Vec<Record>,
    durable: Durability,
    done: Done,
}

/// How far a stop in order is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stopping {
    Not,
    Idle,
    Saving,
}

pub struct Server {
    /// Tells this server from those before.
    pub start: u64,
    /// Its number at the disk.
    pub process: u64,
    engine: Rc<RefCell<Engine>>,
    store: Option<Box<dyn SegmentStore>>,
    works: Works,
    said: Said,
    connections: BTreeMap<u64, Connection>,
    appends: Vec<Append>,
    /// The segments of other servers, as far as they were read.
    replicas: Replicas,
    /// Segments that the store gives away once the messages before are on the wire: the number of
    /// each, that in the store, and the member that gets it.
    giving: Vec<(u32, u64, u64)>,
    /// The store has got something that it has not written.
    has_unwritten: bool,
    armed_ns: u64,
    /// So often in a row the engine's next deadline was at once, after it was told the time.
    past_deadlines: u32,
    punctuality: Punctuality,
    looked_ns: u64,
    stopping: Stopping,
    random: Random,
    /// While it is paused, what comes waits.
    pub is_paused: bool,
    waiting: Vec<Event>,
    leases: Leases,
    removing: Removing,
    moving: Moving,
    /// The first promise that its messages broke.
    broken: Checked<()>,
    /// Since then its clients do not reach it, because another server owns its store.
    deaf_ns: Option<u64>,
}

/// Each look at the store's wants that an answer causes comes so long after the last.
const LOOK_AGAIN_NS: u64 = 20 * MS;

/// So many looks at a deadline in a row must bring the engine beyond it.
const MOST_PAST_DEADLINES: u32 = 100;

/// The most bytes that wait to be sent over all connections.
const WAITING_BYTES: usize = 512 << 10;
/// While so many bytes of replies wait on a connection, the server takes no request from it
/// [NET-2].
const FULL_BYTES: usize = 64 << 10;
/// The most bytes of replies that wait on a connection. The requests that were read together with
/// the one that filled it are answered as well, and so are those that wait for a lock.
const MOST_REPLIES: usize = FULL_BYTES + (384 << 10);

fn config(store: &dyn SegmentStore, lease_ms: u32) -> Config {
    Config {
        lease_ms,
        max_hold_ms: 4 * lease_ms,
        heartbeat_ms: lease_ms / 5,
        hello_ms: lease_ms,
        quota_bytes: 1 << 16,
        max_quota_bytes: 1 << 18,
        max_segments: 64,
        whole_bytes: 1 << 11,
        piece_bytes: 1 << 9,
        slow_bytes: 1 << 12,
        waiting_bytes: WAITING_BYTES,
        stored: true,
        first_fence: store.owner_epoch() << 32,
        identity: store.identity(),
        threads: Threads::OfCaller,
        ..Config::default()
    }
}

impl Server {
    /// Starts on what the disk has. An error: it does not start.
    pub fn begin(
        env: &mut Env,
        (disk, of_process): (&SimDisk, OfProcess),
        (start, plan): (u64, &Plan),
        mut random: Random,
    ) -> Result<Server, StoreError> {
        let process = of_process.process;
        let about = (plan.log_file_bytes, &mut random);
        let (store, workers, found) = Workers::open(env, disk, of_process, about)?;
        let config = config(&*store, plan.lease_ms);
        let works = (store, Works::Embedded(workers), found);
        Ok(Server::of(env, works, config, (start, process, random)))
    }

    /// Starts as one of the servers of a space. It has no standing yet.
    pub fn join(
        env: &mut Env,
        (store, member): (Box<dyn SegmentStore>, Member),
        (start, plan): (u64, &Plan),
        random: Random,
    ) -> Server {
        let config = Config {
            space_lease_ms: Some(member.lease_ms()),
            // Short ones leave the standing as long as they can, which is what tries the lease.
            heartbeat_ms: member.lease_ms() / 20,
            ..config(&*store, plan.lease_ms)
        };
        let works = (store, Works::Member(Box::new(member)), Vec::new());
        Server::of(env, works, config, (start, 0, random))
    }

    fn of(
        env: &mut Env,
        (store, works, found): (Box<dyn SegmentStore>, Works, Vec<RecoveredSegment>),
        config: Config,
        (start, process, random): (u64, u64, Random),
    ) -> Server {
        let (lease_ms, hold_ms) = (config.lease_ms, config.max_hold_ms);
        let leases = Leases::new(u64::from(lease_ms) * MS, u64::from(hold_ms) * MS);
        let mut engine = Engine::new(config);
        let segments = found.len() as u64;
        let remarks = engine.recover(env.now_ns, found);
        engine.set_access(env.now_ns, Arc::new(Access::open()));
        env.trace.note(env.now_ns, &[segments, store.owner_epoch()]);
        for remark in remarks {
            env.say(|| format!("server: {remark}"));
        }
        let is_shared = matches!(works, Works::Member(_));
        let removing = Removing::of(store.owner_epoch(), is_shared);
        let moving = Moving::of(store.owner_epoch());
        let mut server = Server {
            start,
            process,
            engine: Rc::new(RefCell::new(engine)),
            store: Some(store),
            works,
            said: Said::default(),
            connections: BTreeMap::new(),
            appends: Vec::new(),
            replicas: Replicas::default(),
            giving: Vec::new(),
            has_unwritten: false,
            armed_ns: u64::MAX,
            past_deadlines: 0,
            punctuality: Punctuality::default(),
            looked_ns: 0,
            stopping: Stopping::Not,
            random,
            is_paused: false,
            waiting: Vec::new(),
            leases,
            removing,
            moving,
            broken: Ok(()),
            deaf_ns: None,
        };
        server.event(env, |engine, now_ns| engine.advance(now_ns));
        server
    }

    /// From now on the rules deny everybody these operations; empty: none.
    pub fn deny(&mut self, env: &mut Env, operations: &str) {
        let rules = format!("deny * {operations} /**\nallow * all /**\nend\n");
        let access = match operations {
            "" => Access::open(),
            _ => Access::new(Some(Rules::parse(rules).expect("rules")), None),
        };
        self.event(env, |engine, now_ns| {
            engine.set_access(now_ns, Arc::new(access));
        });
    }

    /// Takes an event that is the server's.
    pub fn take(&mut self, env: &mut Env, event: Event) {
        if self.is_paused {
            return self.waiting.push(event);
        }
        match event {
            Event::Arrives {
                connection, item, ..
            } => self.arrived(env, connection, item),
            Event::Lost { connection, .. } => self.lost(env, connection),
            Event::Deadline { .. } => {
                if self.armed_ns <= env.now_ns {
                    self.event(env, |engine, now_ns| engine.advance(now_ns));
                    let passed = self.check_deadline(env.now_ns);
                    self.note(passed);
                }
            }
            Event::Write { .. } => self.write(env),
            Event::Save { .. } => self.save(env),
            Event::Answered { stored, .. } => self.answered(env, stored),
            Event::Told { told, .. } => self.told(env, told),
            other => panic!("{other:?} is not the server's"),
        }
        self.go_on_stopping(env);
    }

    /// The server continues. What came meanwhile comes now.
    pub fn resume(&mut self, env: &mut Env) {
        self.is_paused = false;
        for event in std::mem::take(&mut self.waiting) {
            self.take(env, event);
        }
    }

    /// Gives the engine an event, as net's shell does.
    fn event(&mut self, env: &mut Env, event: impl FnOnce(&mut Engine, u64)) {
        let now_ns = env.now_ns;
        self.excuse_absence(now_ns);
        if self.armed_ns <= now_ns {
            self.armed_ns = u64::MAX;
        }
        event(&mut self.engine.borrow_mut(), now_ns);
        loop {
            self.carry_out(env);
            if !self.engine.borrow_mut().settle() {
                break;
            }
        }
        self.hand_over(env);
        let next_ns = self.engine.borrow().next_deadline_ns();
        if let Some(next_ns) = next_ns.filter(|next_ns| *next_ns < self.armed_ns) {
            self.armed_ns = next_ns;
            env.at(next_ns, Event::Deadline { start: self.start });
        }
    }

    /// A deadline that has passed and stays would be looked at for ever, and nothing else would.
    fn check_deadline(&mut self, now_ns: u64) -> Checked<()> {
        let next_ns = self.engine.borrow().next_deadline_ns();
        self.past_deadlines = match next_ns {
            Some(next_ns) if next_ns <= now_ns + 1 => self.past_deadlines + 1,
            _ => 0,
        };
        match self.past_deadlines < MOST_PAST_DEADLINES {
            true => Ok(()),
            false => violation("deadlines pass", "a deadline that has passed stays"),
        }
    }

    /// Engine and checkers are told of an absence once, before they hear of anything else.
    fn excuse_absence(&mut self, now_ns: u64) {
        if let Some(absence) = self.punctuality.absence(self.armed_ns, now_ns) {
            self.engine.borrow_mut().was_absent(absence);
            self.leases.excuse(absence);
        }
    }

    fn carry_out(&mut self, env: &mut Env) {
        let mut effects = Vec::new();
        loop {
            self.engine.borrow_mut().take_effects(&mut effects);
            if effects.is_empty() {
                return;
            }
            let heard = self.leases.heard(env.now_ns, &effects);
            self.note(heard);
            let heard = self.moving.heard(env, &effects);
            self.note(heard);
            let mut touched = Vec::new();
            for effect in effects.drain(..) {
                self.carry_out_one(env, effect, &mut touched);
            }
            for connection in touched {
                self.flush(env, connection);
            }
            for giving in std::mem::take(&mut self.giving) {
                self.give(env, giving);
            }
        }
    }

    fn carry_out_one(&mut self, env: &mut Env, effect: Effect, touched: &mut Vec<u64>) {
        match effect {
            Effect::Send {
                connection,
                message,
            } => {
                if let Some(c) = self.connections.get_mut(&connection) {
                    c.outbound.push(message);
                    if !std::mem::replace(&mut c.is_touched, true) {
                        touched.push(connection);
                    }
                }
            }
            Effect::Close { connection } => self.close(env, connection),
            Effect::RefuseBulk { connection } => {
                if let Some(c) = self.connections.get_mut(&connection) {
                    c.inbound.ask_again();
                }
            }
            Effect::Append {
                ticket,
                group,
                durable,
            } => {
                self.removing.append(env, ticket, &group);
                self.appends.push(Append {
                    group,
                    durable,
                    done: self.done(ticket),
                });
            }
            Effect::Checkpoint { ticket, checkpoint } => {
                self.hand_over(env);
                let done = self.done(ticket);
                match &self.store {
                    Some(store) => store.checkpoint(checkpoint, done),
                    None => done(Err(StoreError::Closed)),
                }
                self.plan_writing(env);
            }
            Effect::CheckpointInPieces { ticket, head } => {
                self.save_in_pieces(env, ticket, *head);
            }
            Effect::Next { segment_id, next } => self.next(env, segment_id, next),
            Effect::Seek { path, claims } => self.seek(env, path, claims),
            Effect::Settle { segments } => self.settle(env, segments),
            Effect::Renew { is_drained } => self.renew(env, is_drained),
            Effect::Follow { path } => self.follow(env, path),
            Effect::Unfollow { path } => self.unfollow(&path),
            Effect::Give {
                segment,
                segment_id,
                member,
            } => self.giving.push((segment, segment_id, member)),
            // No client of the simulator asks for a list of servers and segments.
            Effect::Page { .. } | Effect::Members { .. } | Effect::Relay { .. } => {}
            Effect::Free(_) | Effect::Audit(_) => {}
            Effect::ReadFiles { asked } => self.read_files(env.now_ns, asked),
            Effect::LookAfterStore => self.look_after_store(env.now_ns),
        }
    }

    fn read_files(&self, now_ns: u64, asked: u64) {
        let mut engine = self.engine.borrow_mut();
        engine.files_read(now_ns, asked, Vec::new());
    }

    fn next(&mut self, env: &mut Env, segment_id: u64, next: Next) {
        self.hand_over(env);
        if let Some(store) = &self.store {
            store.next(segment_id, next);
        }
        self.plan_writing(env);
    }

    fn note(&mut self, checked: Checked<()>) {
        if self.broken.is_ok() {
            self.broken = checked;
        }
    }

    /// Whether its messages keep the promises about locks, and what waits is bounded.
    pub fn check(&mut self, now_ns: u64) -> Checked<()> {
        if !self.is_paused && self.deaf_ns.is_none() {
            let checked = self.leases.check(now_ns);
            self.note(checked);
            self.note(self.check_memory());
        }
        std::mem::replace(&mut self.broken, Ok(()))
    }

    /// The bytes that wait to be sent are bounded, on each connection and over all [NET-2].
    fn check_memory(&self) -> Checked<()> {
        let mut waiting = 0;
        for connection in self.connections.values() {
            let backlog = connection.outbound.backlog();
            waiting += backlog.kept;
            if backlog.replies > MOST_REPLIES {
                let text = format!("{} bytes of replies wait on a connection", backlog.replies);
                return violation("bounded memory", text);
            }
        }
        match waiting > WAITING_BYTES {
            true => violation("bounded memory", format!("{waiting} bytes wait")),
            false => Ok(()),
        }
    }

    fn done(&self, ticket: u64) -> Done {
        let said = Arc::clone(&self.said);
        Box::new(move |result| say(&said, Stored::Completed(ticket, result)))
    }

    /// The store gets what the event has asked of it.
    fn hand_over(&mut self, env: &mut Env) {
        if self.appends.is_empty() {
            return;
        }
        self.has_unwritten = true;
        for append in std::mem::take(&mut self.appends) {
            match &self.store {
                Some(store) => store.append(append.group, append.durable, append.done),
                None => (append.done)(Err(StoreError::Closed)),
            }
        }
        self.plan_writing(env);
    }

    fn look_after_store(&mut self, now_ns: u64) {
        let Some(store) = &self.store else {
            return;
        };
        let mut engine = self.engine.borrow_mut();
        if let Some(why) = store.stopped() {
            engine.store_stopped(why);
        }
        self.looked_ns = now_ns;
        engine.store_looked_at(now_ns, &store.with_much_log(), &store.overdue());
    }

    /// The store has something to do.
    fn plan_writing(&mut self, env: &mut Env) {
        match &mut self.works {
            Works::Embedded(workers) => {
                workers.plan_writing(env, self.start, &mut self.random);
            }
            Works::Member(member) => {
                member.begin(env, self.start);
                // A checkpoint in pieces wants its first piece.
                self.bring(env, env.now_ns);
            }
        }
    }

    /// A turn of the store's writer.
    fn write(&mut self, env: &mut Env) {
        let Works::Embedded(workers) = &mut self.works else {
            return;
        };
        if let Some((has_worked, until_ns)) = workers.write(env) {
            self.has_unwritten &= has_worked;
            self.bring(env, until_ns);
            self.turn_ended(env, (has_worked, true));
        }
    }

    /// A turn of the store's saver.
    fn save(&mut self, env: &mut Env) {
        let Works::Embedded(workers) = &mut self.works else {
            return;
        };
        if let Some((has_worked, until_ns)) = workers.save(env) {
            self.bring(env, until_ns);
            self.turn_ended(env, (has_worked, false));
        }
    }

    /// Both have something to do after a turn in which something was done.
    fn turn_ended(&mut self, env: &mut Env, (has_worked, writes_first): (bool, bool)) {
        let (start, random) = (self.start, &mut self.random);
        let Works::Embedded(workers) = &mut self.works else {
            return;
        };
        if has_worked && writes_first {
            workers.plan_writing(env, start, random);
            workers.plan_saving(env, start);
        } else if has_worked {
            workers.plan_saving(env, start);
            workers.plan_writing(env, start, random);
        }
        workers.wake(env, start);
    }

    /// Brings what the store has said to the engine at that time.
    fn bring(&mut self, env: &mut Env, at_ns: u64) {
        let said = std::mem::take(&mut *self.said.lock().unwrap_or_else(PoisonError::into_inner));
        for stored in said {
            let start = self.start;
            env.at(at_ns, Event::Answered { start, stored });
        }
    }

    fn answered(&mut self, env: &mut Env, stored: Stored) {
        let (ticket, result) = match stored {
            Stored::Wants(ticket) => {
                return self.event(env, |engine, now_ns| engine.piece_wanted(now_ns, ticket));
            }
            Stored::Completed(ticket, result) => (ticket, result),
            Stored::Sought(path, found) => return self.sought(env, &path, found),
            Stored::Followed(path, read) => return self.followed(env, &path, read),
            Stored::Given(segment, given) => return self.given(env, segment, given),
            Stored::Renewed(asked_ns, result) => return self.renewed(env, asked_ns, result),
            Stored::Settled(ends) => return self.settled(env, ends),
        };
        env.trace
            .note(env.now_ns, &[ticket, u64::from(result.is_ok())]);
        if let Err(error) = &result {
            env.say(|| format!("store: ticket {ticket}: {error}"));
        }
        let heard = result.clone();
        self.event(env, |engine, now_ns| engine.stored(now_ns, ticket, result));
        self.removing.answered(env, ticket, &heard);
        let is_in_need = self.store.as_ref().is_some_and(|store| store.is_in_need());
        if env.now_ns >= self.looked_ns + LOOK_AGAIN_NS && is_in_need {
            self.look_after_store(env.now_ns);
            self.event(env, |_, _| ());
        }
    }

    fn arrived(&mut self, env: &mut Env, connection: u64, item: Item) {
        match item {
            Item::Open => self.opened(env, connection),
            Item::Close => self.lost(env, connection),
            Item::Bytes(bytes) => {
                if let Some(c) = self.connections.get_mut(&connection) {
                    c.unread.push_back(bytes);
                    self.engine.borrow_mut().heard(env.now_ns, connection);
                    self.read(env, connection);
                }
            }
        }
    }

    fn opened(&mut self, env: &mut Env, connection: u64) {
        let asking = Asking {
            engine: Rc::clone(&self.engine),
            connection,
        };
        let made = Connection {
            inbound: Inbound::new(asking),
            outbound: Outbound::cutting_at(env.chunk_bytes),
            is_touched: false,
            behind_ns: None,
            unread: VecDeque::new(),
            has_unparsed: false,
        };
        self.connections.insert(connection, made);
        let unused_id = self.random.bytes();
        self.event(env, |engine, now_ns| {
            engine.connected(now_ns, connection, unused_id, Peer::default());
        });
    }

    /// Takes requests from the connection, as long as few replies wait on it.
    fn read(&mut self, env: &mut Env, connection: u64) {
        loop {
            let Some(c) = self.connections.get_mut(&connection) else {
                return;
            };
            if c.outbound.backlog().replies > FULL_BYTES {
                return;
            }
            let parsed = match c.has_unparsed {
                true => c.inbound.parse_on(),
                false => match c.unread.pop_front() {
                    Some(bytes) => c.inbound.parse(&bytes),
                    None => return,
                },
            };
            let complete = c.inbound.take_complete();
            c.has_unparsed = !complete.is_empty();
            if self.engine.borrow().has_effects() {
                self.event(env, |_, _| ());
            }
            for incoming in complete {
                env.counts.messages += 1;
                self.excuse_absence(env.now_ns);
                self.leases.asked(env.now_ns, connection, &incoming);
                self.removing.request(env, &incoming.request);
                self.moving.asked(env, connection, &incoming);
                self.event(env, |engine, now_ns| {
                    engine.request(now_ns, connection, incoming);
                });
            }
            if let Err(rejection) = parsed {
                return self.event(env, |engine, now_ns| {
                    engine.malformed(now_ns, connection, rejection.text);
                });
            }
        }
    }

    /// The client has taken bytes: there is room for more.
    pub fn has_room(&mut self, env: &mut Env, connection: u64) {
        let waits = self.connections.get(&connection);
        if self.is_paused || waits.is_none_or(|c| c.outbound.is_empty()) {
            return;
        }
        self.flush(env, connection);
        self.event(env, |engine, now_ns| engine.heard(now_ns, connection));
        self.read(env, connection);
    }

    fn flush(&mut self, env: &mut Env, connection: u64) {
        let Some(c) = self.connections.get_mut(&connection) else {
            return;
        };
        c.is_touched = false;
        let mut room = env.net.room(connection);
        let mut pieces: Vec<Bytes> = Vec::new();
        let mut written = 0;
        // An error says that there is no room now.
        let _ = c.outbound.write_with(&mut written, |slices| {
            if room == 0 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let mut bytes = Vec::new();
            for slice in slices {
                let count = slice.len().min(room - bytes.len());
                bytes.extend_from_slice(&slice[..count]);
            }
            room -= bytes.len();
            let count = bytes.len();
            pieces.push(bytes.into());
            Ok(count)
        });
        let backlog = c.outbound.backlog();
        let now_ns = env.now_ns;
        let world_ns = self.deaf_ns.unwrap_or(env.world_ns);
        let said_ns = c.behind_ns.unwrap_or(world_ns);
        c.behind_ns = (!c.outbound.is_empty()).then_some(said_ns);
        for piece in pieces {
            send_in_parts(env, connection, Side::Client, piece, said_ns);
        }
        self.engine
            .borrow_mut()
            .backlog(now_ns, connection, backlog);
    }

    fn close(&mut self, env: &mut Env, connection: u64) {
        if self.connections.remove(&connection).is_some() {
            self.leases.gone(env.now_ns, connection);
            env.net.close(connection, Side::Server);
            env.send(connection, Side::Client, Item::Close);
        }
    }

    fn lost(&mut self, env: &mut Env, connection: u64) {
        if self.connections.remove(&connection).is_some() {
            self.leases.going(connection);
            env.net.close(connection, Side::Server);
            self.event(env, |engine, now_ns| {
                engine.disconnected(now_ns, connection);
            });
            self.leases.gone(env.now_ns, connection);
        }
    }

    pub fn has_unwritten(&self) -> bool {
        self.has_unwritten && !self.is_paused
    }

    /// Whether the connection is with this server.
    pub fn has(&self, connection: u64) -> bool {
        self.connections.contains_key(&connection)
    }

    /// Another server owns the store now. This one hears nothing from now on. Its messages count as
    /// sent now.
    pub fn is_replaced(&mut self, env: &Env) {
        self.deaf_ns = Some(env.world_ns);
    }

    /// The process ends: its peers are told by the operating system.
    pub fn end(self, env: &mut Env) {
        self.removing.end(env);
        for &connection in self.connections.keys() {
            env.break_connection(connection, &[Side::Client]);
        }
    }
}

fn say(said: &Said, stored: Stored) {
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    said.push(stored);
}
