//! The engine of the server under sequences of events: several clients that connect, ask anything,
//! go and come back with their sessions; a store that answers in any order, or refuses; time that
//! passes; a server that stops, or is killed, and starts again with what the store has.
//!
//! Most requests are of the kinds that lead somewhere, with numbers that the engine gave before, so
//! that locks are taken and releases committed; others are any bytes. Whatever comes, it holds
//! that:
//! - a request is answered once: not twice, and at the end not never;
//! - nothing is sent on a connection that is closed;
//! - fences only grow, and no version of an incarnation is given to two releases;
//! - nobody is told of a version before the store has it;
//! - nobody is granted or told less than a version that was acknowledged, also after a start;
//! - what the store has is a whole segment to the next engine;
//! - nobody is sent a diff or granted a lock that the rules of the moment do not allow [RULE-7].

mod client;
mod disk;

use bytes::Bytes;
use client::{About, Arriving, Client};
use disk::{Asked, Disk, Large};
use interweave_access::{Operation, Rules};
use interweave_server::session::message::Kind;
use interweave_server::session::{
    Absence, Access, Backlog, Config, Effect, Engine, Incoming, Peer, Request, ServerMessage,
};
use interweave_store::{unshared, StoreError, StoreStatus};
use interweave_wire::fields::field;
use interweave_wire::protocol::xdr::{from_bytes, Reader, Xdr};
use interweave_wire::protocol::*;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

const CLIENTS: u8 = 5;
/// What the certificates of clients 0 to 4 may do, at different times.
const RULES: [&str; 4] = [
    "limit cert:c1 connections 0\nlimit cert:c2 segments 1\nlimit * bytes 300K\n\
     limit * releases 2\nlimit cert:c0 rate 1K\nallow * all /**\nend\n",
    "allow cert:c0 all /**\nallow cert:c1 read,steer /a/**\nallow * read /c\nend\n",
    "deny cert:c0 write,read /a\nallow * all /a/*\nallow cert:c2 all /**\nend\n",
    "end\n",
];
/// The same, parsed once for all inputs.
static PARSED: LazyLock<[Rules; 4]> =
    LazyLock::new(|| RULES.map(|text| Rules::parse(text).expect("rules")));
/// The top bit of the streams of notifications.
const NOTIFICATION: u32 = 1 << 31;

/// The input, byte for byte; zeros when it has ended.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn number(&mut self) -> u64 {
        u64::from(self.byte()) << 8 | u64::from(self.byte())
    }

    fn bytes(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(count);
        self.0 = rest;
        bytes
    }
}

struct World {
    engine: Engine,
    stored: bool,
    starts: u64,
    now_ns: u64,
    clients: Vec<Client>,
    /// The questions that the store has not answered.
    waiting: Vec<(u64, Asked)>,
    disk: Disk,
    last_connection: u64,
    /// The connection that was lost last. Messages that the engine sent on it before hearing of the
    /// loss are lost, too.
    lost: u64,
    last_stream: u32,
    /// By segment, since the start.
    fences: HashMap<u32, u64>,
    /// By incarnation and number: whose release made the version.
    released: HashMap<(u64, u64), (SessionId, u64)>,
    /// By incarnation: the newest version that was acknowledged.
    acknowledged: HashMap<u64, u64>,
    /// By the store's number of a segment.
    incarnations: HashMap<u64, u64>,
    /// By incarnation and number: the ticket that the version waits for.
    unlogged: HashMap<(u64, u64), u64>,
    access: Arc<Access>,
    /// By number, since the start.
    paths: HashMap<u32, String>,
}

pub fn run(data: &[u8]) {
    let mut script = Script(data);
    let stored = !script.byte().is_multiple_of(4);
    let mut world = World {
        engine: engine(stored, 0),
        stored,
        starts: 0,
        now_ns: 1_000_000_000,
        clients: (0..CLIENTS).map(|_| Client::default()).collect(),
        waiting: Vec::new(),
        disk: Disk::default(),
        last_connection: 0,
        lost: 0,
        last_stream: 0,
        fences: HashMap::new(),
        released: HashMap::new(),
        acknowledged: HashMap::new(),
        incarnations: HashMap::new(),
        unlogged: HashMap::new(),
        access: Arc::new(Access::open()),
        paths: HashMap::new(),
    };
    while !script.0.is_empty() {
        world.step(&mut script);
        world.carry_out();
    }
    world.stop();
}

fn engine(stored: bool, starts: u64) -> Engine {
    Engine::new(Config {
        audits: true,
        stored,
        first_fence: starts << 32,
        lease_ms: 2_000,
        max_hold_ms: 5_000,
        quota_bytes: 1 << 16,
        max_quota_bytes: 1 << 18,
        max_segments: 3,
        max_diff_bytes: 1 << 19,
        receiving_bytes: 1 << 19,
        sending_bytes: 1 << 18,
        waiting_bytes: 1 << 14,
        slow_bytes: 1 << 10,
        whole_bytes: 1 << 9,
        piece_bytes: 1 << 8,
        ..Config::default()
    })
}

/// What the server knows of a client's peer.
fn peer(client: usize) -> Peer {
    Peer {
        certificate: Some(format!("c{client}").into()),
        ..Peer::default()
    }
}

impl World {
    fn step(&mut self, script: &mut Script<'_>) {
        let what = script.byte();
        let client = usize::from(script.byte() % CLIENTS);
        if self.clients[client].connection == 0 {
            return self.connect(client, script.byte());
        }
        match what % 24 {
            0 => self.disconnect(client),
            1 => {
                self.now_ns += script.number() * 100_000;
                self.engine.advance(self.now_ns);
            }
            2..=5 => self.answer_store(script),
            6 => self.backlog(client, script),
            7 => self.any_request(client, script),
            8..=10 => {
                if let Some((request, bulk)) = self.clients[client].release(script) {
                    self.ask(client, request, bulk);
                }
            }
            11 => self.begin_release(client, script),
            12 => self.finish_release(client),
            13 => {
                if let Some((request, bulk)) = self.clients[client].released.clone() {
                    self.ask(client, request, bulk);
                }
            }
            14 => {
                let whose = usize::from(script.byte() % CLIENTS);
                let session = self.clients[whose].session;
                let request = self.clients[client].resolve(session, script);
                self.ask(client, request, Bytes::new());
            }
            15 => self.event(client, script),
            _ => {
                let request = self.clients[client].request(script, self.last_stream);
                self.ask(client, request, Bytes::new());
            }
        }
    }

    /// What happens to a server besides requests and answers.
    fn event(&mut self, client: usize, script: &mut Script<'_>) {
        let connection = self.clients[client].connection;
        match script.byte() % 9 {
            0 => {
                let from_ns = self.now_ns;
                self.now_ns += script.number() * 100_000;
                let to_ns = self.now_ns;
                self.engine.was_absent(Absence { from_ns, to_ns });
            }
            1 | 2 => {
                let log_bytes = u64::from(script.byte()) << 20;
                let overdue = [1, 2, u64::from(script.byte())];
                let with_much_log = overdue.map(|id| (id, log_bytes));
                self.engine
                    .store_looked_at(self.now_ns, &with_much_log, &overdue);
            }
            3 => {
                let text = "not a frame".to_string();
                self.engine.malformed(self.now_ns, connection, text);
            }
            4 => self.engine.heard(self.now_ns, connection),
            5 => {
                self.engine.statistics();
                let all = std::ops::Bound::Unbounded;
                self.engine.segment_statistics(self.now_ns, all, usize::MAX);
                self.engine.health();
            }
            6 => {
                let clean = script.byte().is_multiple_of(2) && self.stop();
                self.start(clean);
            }
            7 => self.engine.stop(self.now_ns),
            _ => self.change_rules(script.byte()),
        }
    }

    /// New rules, or none.
    fn change_rules(&mut self, which: u8) {
        // The old rules hold for everything that is due before.
        self.engine.advance(self.now_ns);
        self.carry_out();
        let rules = PARSED.get(usize::from(which) % (PARSED.len() + 1)).cloned();
        self.access = Arc::new(Access::new(rules, None));
        self.engine.set_access(self.now_ns, self.access.clone());
    }

    /// REQUIRES: the client was told the segment's number.
    fn check_allowed(&self, client: usize, segment: u32, to_change: bool) {
        let identity = peer(client).identity();
        let path = &self.paths[&segment];
        let may = |operation| self.access.decide(&identity, operation, path).is_allowed;
        assert!(may(Operation::Read), "{identity} read {path}");
        let is_writer = may(Operation::Write) || may(Operation::Steer);
        assert!(is_writer || !to_change, "{identity} was granted {path}");
    }

    /// `how`: odd numbers resume the client's session.
    fn connect(&mut self, client: usize, how: u8) {
        self.last_connection += 1;
        let mut unused_id = [7; 16];
        unused_id[..8].copy_from_slice(&self.last_connection.to_be_bytes());
        let known = &mut self.clients[client];
        known.connection = self.last_connection;
        if how.is_multiple_of(2) {
            known.session = [0; 16];
            known.granted.clear();
        }
        let keeping = KeepingField {
            keeps_grants: client % 2 == 1,
        };
        let hello = Hello {
            magic: *b"IWV1",
            version_min: PROTOCOL_VERSION_MIN,
            version_max: PROTOCOL_VERSION_MAX,
            session: known.session,
            token: String::new(),
            client: "fuzz".to_string(),
            fields: vec![field(FieldKey::Keeping, &keeping)],
        };
        let now_ns = self.now_ns;
        self.engine
            .connected(now_ns, self.last_connection, unused_id, peer(client));
        // Somebody who never says hello.
        if how < 250 {
            self.ask(client, Request::Hello(hello), Bytes::new());
        }
    }

    fn disconnect(&mut self, client: usize) {
        self.lost = self.clients[client].connection;
        self.closed(client);
        self.engine.disconnected(self.now_ns, self.lost);
    }

    fn closed(&mut self, client: usize) {
        let client = &mut self.clients[client];
        client.connection = 0;
        client.asked.clear();
        client.arriving = None;
    }

    fn backlog(&mut self, client: usize, script: &mut Script<'_>) {
        let kinds = [Kind::Reply, Kind::Notification, Kind::Lent];
        let kind = kinds[usize::from(script.byte()) % 3];
        let mut backlog = Backlog::default();
        backlog.add(kind, usize::from(script.byte()) << 6);
        let connection = self.clients[client].connection;
        self.engine.backlog(self.now_ns, connection, backlog);
    }

    /// Of any type, with any body and bulk, at times on no stream.
    fn any_request(&mut self, client: usize, script: &mut Script<'_>) {
        let type_ = script.byte();
        let request = Request::decode(type_.into(), script.bytes());
        let bulk = Bytes::copy_from_slice(script.bytes());
        if type_ >= 0x80 {
            let connection = self.clients[client].connection;
            let incoming = incoming(0, request, bulk, true);
            return self.engine.request(self.now_ns, connection, incoming);
        }
        self.ask(client, request, bulk);
    }

    /// The first bytes of a release came in; the last ones may never come.
    fn begin_release(&mut self, client: usize, script: &mut Script<'_>) {
        if self.clients[client].arriving.is_some() {
            return;
        }
        let Some((request, bulk)) = self.clients[client].release(script) else {
            return;
        };
        let connection = self.clients[client].connection;
        let admitted = self.admits(connection, &request, &bulk);
        // Room may have been made by closing this very connection.
        if self.clients[client].connection != 0 {
            self.clients[client].arriving = Some(Arriving {
                request,
                bulk,
                admitted,
            });
        }
    }

    fn finish_release(&mut self, client: usize) {
        if let Some(arriving) = self.clients[client].arriving.take() {
            self.send(client, arriving);
        }
    }

    fn ask(&mut self, client: usize, request: Request, bulk: Bytes) {
        let connection = self.clients[client].connection;
        let admitted = self.admits(connection, &request, &bulk);
        let arriving = Arriving {
            request,
            bulk,
            admitted,
        };
        if self.clients[client].connection != 0 {
            self.send(client, arriving);
        }
    }

    fn admits(&mut self, connection: u64, request: &Request, bulk: &Bytes) -> bool {
        let bytes = bulk.len() as u64;
        let admitted = bytes > 0 && self.engine.admits(connection, request, bytes);
        self.carry_out();
        admitted
    }

    fn send(&mut self, client: usize, arriving: Arriving) {
        self.last_stream += 1;
        let Arriving {
            request,
            bulk,
            admitted,
        } = arriving;
        let about = self.clients[client].about(&request);
        self.clients[client].asked.insert(self.last_stream, about);
        let connection = self.clients[client].connection;
        let incoming = incoming(self.last_stream, request, bulk, admitted);
        self.engine.request(self.now_ns, connection, incoming);
    }

    /// The store answers one of the tickets, mostly the oldest, mostly well.
    fn answer_store(&mut self, script: &mut Script<'_>) {
        let (which, how) = (script.byte(), script.byte());
        if self.waiting.is_empty() {
            return;
        }
        let at = usize::from(which) % self.waiting.len();
        let text = || "fuzz".to_string();
        let result = match how {
            0x80..=0x87 => Err(StoreError::Full(text())),
            0x88..=0x8b => Err(StoreError::Io(text())),
            0x8c..=0x8f => Err(StoreError::Away(text())),
            0x90..=0x97 => Err(StoreError::TooLarge { bytes: 9, limit: 8 }),
            0x98..=0x9f => Err(StoreError::Damaged {
                file: text(),
                offset: 0,
                what: text(),
            }),
            0xa0..=0xa3 => Err(StoreError::Fenced(text())),
            0xa4..=0xa7 => Err(StoreError::Ended(text())),
            0xa8..=0xaf => Err(StoreError::Closed),
            _ => Ok(()),
        };
        let again = how >= 0xf0;
        let ticket = self.waiting[at].0;
        if self.answer(at, result) && again {
            self.carry_out();
            self.engine.stored(self.now_ns, ticket, Ok(()));
        }
    }

    /// Answers, or asks for the next piece of a checkpoint first. Returns whether it has answered.
    fn answer(&mut self, at: usize, result: Result<(), StoreError>) -> bool {
        if let ((ticket, Asked::Large(large)), Ok(())) = (&self.waiting[at], &result) {
            if large.wants_more() {
                self.engine.piece_wanted(self.now_ns, *ticket);
                return false;
            }
        }
        let (ticket, asked) = self.waiting.remove(at);
        self.unlogged.retain(|_, waits_for| *waits_for != ticket);
        if result.is_ok() {
            self.disk.keep(&asked);
        }
        self.engine.stored(self.now_ns, ticket, result);
        true
    }

    fn carry_out(&mut self) {
        let mut effects = Vec::new();
        loop {
            self.engine.take_effects(&mut effects);
            if effects.is_empty() && !self.engine.settle() {
                return;
            }
            for effect in effects.drain(..) {
                self.carry_out_one(effect);
            }
        }
    }

    fn carry_out_one(&mut self, effect: Effect) {
        match effect {
            Effect::Send {
                connection,
                message,
            } => self.sent(connection, &message),
            Effect::RefuseBulk { .. } => {}
            Effect::Close { connection } => {
                if let Some(client) = self.client_of(connection) {
                    self.closed(client);
                }
            }
            Effect::Append { ticket, group, .. } => {
                for record in &group {
                    self.note(ticket, record.segment_id, &record.body);
                }
                self.waiting.push((ticket, Asked::Group(group)));
            }
            Effect::Checkpoint { ticket, checkpoint } => {
                self.waiting.push((ticket, Asked::Save(checkpoint)));
            }
            Effect::CheckpointInPieces { ticket, head } => {
                let large = Asked::Large(Large::begin(head));
                self.waiting.push((ticket, large));
            }
            Effect::Next { segment_id, next } => {
                let of = |asked: &&mut (u64, Asked)| match &asked.1 {
                    Asked::Large(large) => large.head.segment_id == segment_id,
                    _ => false,
                };
                if let Some((_, Asked::Large(large))) = self.waiting.iter_mut().find(of) {
                    large.take(next);
                }
            }
            // This server has its store alone.
            Effect::Seek { .. } | Effect::Renew { .. } | Effect::Page { .. } | Effect::Free(_) => {}
            Effect::Follow { .. } | Effect::Unfollow { .. } | Effect::Give { .. } => {}
            Effect::Relay { .. } => panic!("it has its store alone"),
            Effect::Members { asked, .. } => {
                let found = unshared("directory", &StoreStatus::default());
                self.engine.members_found(self.now_ns, asked, Ok(found));
            }
            Effect::Settle { .. } => panic!("no outcome was unknown"),
            Effect::Audit(_) => {}
            Effect::ReadFiles { asked } => self.engine.files_read(self.now_ns, asked, Vec::new()),
            Effect::LookAfterStore => {
                self.engine.store_looked_at(self.now_ns, &[], &[]);
            }
        }
    }

    /// What a record says that waits for the store.
    fn note(&mut self, ticket: u64, segment_id: u64, body: &LogBody) {
        match body {
            LogBody::Create(create) => {
                self.incarnations.insert(segment_id, create.incarnation);
            }
            LogBody::Incarnation(stamp) => {
                self.incarnations.insert(segment_id, stamp.incarnation);
            }
            LogBody::Release(release) => {
                let incarnation = self.incarnations[&segment_id];
                let version = (incarnation, release.version);
                let other = self.unlogged.insert(version, ticket);
                assert!(other.is_none(), "version {version:?} is logged twice");
            }
            LogBody::Serials(_) | LogBody::Other(_) => {}
        }
    }

    fn client_of(&self, connection: u64) -> Option<usize> {
        self.clients.iter().position(|c| c.connection == connection)
    }

    fn sent(&mut self, connection: u64, message: &ServerMessage) {
        let Some(client) = self.client_of(connection) else {
            let lost = self.lost;
            assert_eq!(connection, lost, "something is sent on a closed connection");
            return;
        };
        let mut reader = Reader::new(&message.control);
        let envelope = Envelope::decode(&mut reader).expect("an envelope");
        let body = &message.control[message.control.len() - reader.remaining()..];
        let type_ = MessageType::try_from(envelope.type_).expect("a known type");
        assert_eq!(envelope.bulk_bytes, message.bulk.len() as u64);
        if envelope.stream & NOTIFICATION != 0 {
            return self.notified(client, type_, body);
        }
        if envelope.stream == 0 {
            return;
        }
        let asked = self.clients[client].asked.remove(&envelope.stream);
        let about = asked.expect("a request is answered once at most");
        self.answered(client, &about, type_, body);
    }

    /// Somebody is told of that version.
    fn told(&mut self, client: usize, segment: u32, now: VersionStamp) {
        self.check_logged(&now);
        let acknowledged = self.acknowledged.get(&now.incarnation);
        assert!(
            acknowledged.is_none_or(|number| now.number >= *number),
            "version {} is told, {acknowledged:?} was acknowledged",
            now.number
        );
        self.clients[client].told.insert(segment, now);
    }

    fn check_logged(&self, now: &VersionStamp) {
        let waits_for = self.unlogged.get(&(now.incarnation, now.number));
        assert_eq!(waits_for, None, "{now:?} is told before the store has it");
    }

    fn notified(&mut self, client: usize, type_: MessageType, body: &[u8]) {
        match type_ {
            MessageType::Push => {
                let push = from_bytes::<Push>(body).expect("a body");
                self.check_logged(&push.now);
                self.check_allowed(client, push.segment, false);
                self.clients[client].told.insert(push.segment, push.now);
            }
            MessageType::NotRecent => {
                let not_recent = from_bytes::<NotRecent>(body).expect("a body");
                self.check_logged(&not_recent.now);
            }
            MessageType::SegmentGone => {
                let gone = from_bytes::<SegmentGone>(body).expect("a body");
                let client = &mut self.clients[client];
                client.segments.retain(|segment| *segment != gone.segment);
                client.granted.remove(&gone.segment);
            }
            // The client asks on as if it had the lock: the fence must refuse it.
            MessageType::WriterLost
            // It answers now and then, because aborts and releases follow anyway.
            | MessageType::RecallWriter
            | MessageType::Goodbye | MessageType::Heartbeat => {}
            other => panic!("{other:?} was sent as a notification"),
        }
    }

    fn answered(&mut self, client: usize, about: &About, type_: MessageType, body: &[u8]) {
        match type_ {
            MessageType::Welcome => {
                let welcome = from_bytes::<Welcome>(body).expect("a body");
                self.clients[client].session = welcome.session;
            }
            MessageType::SegmentOpened => {
                let opened = from_bytes::<SegmentOpened>(body).expect("a body");
                self.clients[client].segments.push(opened.segment);
                self.paths.insert(opened.segment, about.path.clone());
                self.told(client, opened.segment, opened.newest);
            }
            MessageType::ReaderAcquired => {
                let acquired = from_bytes::<ReaderAcquired>(body).expect("a body");
                self.check_allowed(client, about.segment, false);
                self.told(client, about.segment, acquired.now);
            }
            MessageType::WriterAcquired => {
                let granted = from_bytes::<WriterAcquired>(body).expect("a body");
                self.check_allowed(client, about.segment, true);
                let before = self.fences.insert(about.segment, granted.fence);
                assert!(before < Some(granted.fence), "fences only grow");
                self.told(client, about.segment, granted.now.clone());
                self.clients[client].granted.insert(about.segment, granted);
            }
            MessageType::WriterReleased => {
                let released = from_bytes::<WriterReleased>(body).expect("a body");
                self.acknowledge(client, about, released.versions);
            }
            MessageType::WriterKept => {
                let kept = from_bytes::<WriterKept>(body).expect("a body");
                assert!(client % 2 == 1, "it did not say that it keeps grants");
                self.keep(client, about, kept.versions);
            }
            MessageType::ReleaseResolved => {
                let resolved = from_bytes::<ReleaseResolved>(body).expect("a body");
                self.check_logged(&resolved.version);
            }
            _ => {}
        }
    }

    fn acknowledge(&mut self, client: usize, about: &About, versions: Vec<VersionStamp>) {
        let client = &mut self.clients[client];
        let release = (client.session, about.sequence);
        client.granted.retain(|_, grant| {
            let now = |v: &VersionStamp| v.incarnation == grant.now.incarnation;
            !versions.iter().any(now)
        });
        for (version, changes) in versions.iter().zip(&about.changes) {
            self.check_logged(version);
            let newest = self.acknowledged.entry(version.incarnation).or_insert(0);
            *newest = version.number.max(*newest);
            if *changes {
                let version = (version.incarnation, version.number);
                let first = *self.released.entry(version).or_insert(release);
                assert_eq!(first, release, "version {version:?} is given twice");
            }
        }
    }

    /// The client keeps the grants of the release [LOCK-13].
    fn keep(&mut self, client: usize, about: &About, versions: Vec<VersionStamp>) {
        let before = self.clients[client].granted.clone();
        self.acknowledge(client, about, versions.clone());
        for (segment, mut grant) in before {
            let now = |v: &&VersionStamp| v.incarnation == grant.now.incarnation;
            if let Some(version) = versions.iter().find(now).cloned() {
                self.told(client, segment, version.clone());
                grant.now = version;
                self.clients[client].granted.insert(segment, grant);
            }
        }
    }

    /// The server stops in order: everything on its way completes. Whether all was saved.
    fn stop(&mut self) -> bool {
        self.engine.stop(self.now_ns);
        self.carry_out();
        self.complete_all();
        for client in self.clients.iter().filter(|c| c.connection != 0) {
            let asked = client.asked.iter().find(|(_, about)| about.is_answered);
            assert!(asked.is_none(), "{asked:?} is never answered");
        }
        self.engine.save_and_part(self.now_ns);
        self.carry_out();
        self.complete_all();
        assert!(self.engine.is_idle(), "it stops");
        self.engine.is_saved()
    }

    fn complete_all(&mut self) {
        while !self.waiting.is_empty() {
            self.answer(0, Ok(()));
            self.carry_out();
        }
    }

    /// Another server begins with what the store has.
    fn start(&mut self, clean: bool) {
        self.starts += 1;
        self.waiting.clear();
        self.unlogged.clear();
        self.fences.clear();
        for client in 0..self.clients.len() {
            self.closed(client);
            let client = &mut self.clients[client];
            client.segments.clear();
            client.granted.clear();
            client.told.clear();
        }
        self.paths.clear();
        self.engine = engine(self.stored, self.starts);
        self.engine.set_access(self.now_ns, self.access.clone());
        if self.stored {
            let found = self.disk.found(self.starts, clean);
            let remarks = self.engine.recover(self.now_ns, found);
            assert!(remarks.is_empty(), "{remarks:?}");
        }
    }
}

fn incoming(stream: u32, request: Request, bulk: Bytes, admitted: bool) -> Incoming {
    Incoming {
        stream,
        request,
        announced_bytes: bulk.len() as u64,
        bulk: if admitted { bulk } else { Bytes::new() },
        chains: Vec::new(),
    }
}
