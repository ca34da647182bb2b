//! The engine without sockets, clock or store: events in, effects out, in made-up time.

mod access;
mod auditing;
mod damage;
mod doubts;
mod draining;
mod durability;
mod incarnations;
mod keeping;
mod lending;
mod limits;
mod locks;
mod moving;
mod notifications;
mod order;
mod pieces;
mod random;
mod relaying;
mod releases;
mod removing;
mod resolving;
mod segments;
mod sessions;
mod situations;
mod slices;
mod space;
mod statistics;
mod waiting;

use super::{
    Absence, Access, Audited, Backlog, Config, Effect, Engine, Incoming, PartChains, Peer, Request,
};
use bytes::Bytes;
use interweave_store::{Checkpoint, Elsewhere, Next, PageAsked, Record, StoreError};
use interweave_wire::protocol::xdr::{from_bytes, Reader, Xdr};
use interweave_wire::protocol::*;
use interweave_wire::DiffBuilder;
use interweave_wire::Gathered;
use std::collections::HashMap;

pub const LEASE_MS: u32 = 10_000;
pub const FIRST_FENCE: u64 = 5 << 32;
const INT: u32 = Primitive::Int as u32;

/// A message that the engine sent, taken apart.
#[derive(Debug, Clone)]
pub struct Sent {
    pub connection: u64,
    pub type_: MessageType,
    pub stream: u32,
    pub body: Vec<u8>,
    pub bulk: Bytes,
    /// The same in the pieces that were sent, which keep a diff lent.
    pub pieces: Gathered,
}

impl Sent {
    pub fn body<T: Xdr>(&self) -> T {
        from_bytes(&self.body).expect("the body of the message")
    }

    pub fn error(&self) -> ErrorCode {
        assert_eq!(self.type_, MessageType::Error, "{self:?}");
        // before a hello it is in the form that clients of all versions read
        let reply = from_bytes::<ErrorReply>(&self.body).map(|reply| reply.code);
        reply.unwrap_or_else(|_| self.body::<PlainError>().code)
    }
}

/// What was asked of the store.
#[derive(Debug)]
pub enum Asked {
    Append(u64, Vec<Record>, Durability),
    Checkpoint(u64, Checkpoint),
    InPieces(u64, Box<CheckpointHead>),
}

/// An engine and all that came out of it and was not looked at.
pub struct World {
    pub engine: Engine,
    pub now_ms: u64,
    pub sent: Vec<Sent>,
    pub asked: Vec<Asked>,
    /// The pieces of checkpoints that the store was given, by segment.
    pub given: Vec<(u64, Next)>,
    pub closed: Vec<u64>,
    pub audited: Vec<Audited>,
    /// The readings of files that were asked for.
    pub readings: Vec<u64>,
    /// The paths that the store was to look for.
    pub seeking: Vec<String>,
    /// The segments that the store was to decide about.
    pub settling: Vec<Vec<u64>>,
    /// Whether it might claim each.
    pub claims: Vec<bool>,
    /// Segments that the store is to read without a claim, that it forgets, and that it gives.
    pub follows: Vec<String>,
    pub unfollowed: Vec<String>,
    pub gives: Vec<(u32, u64)>,
    /// How many renewals were asked for.
    pub renewals: u32,
    /// Whether the last of them says that the server was drained.
    pub says_drained: bool,
    /// The looks for the servers of the space that were asked for: number, from where, whether all.
    pub looks: Vec<(u64, u64, bool)>,
    /// The pages of the catalogue that were asked for.
    pub pages: Vec<(u64, PageAsked)>,
    /// Where connections were passed on to, and what is said there.
    pub relays: Vec<(Elsewhere, Hello)>,
    /// The connections that were to be asked about the bulk that comes in on them.
    pub refused_bulk: Vec<u64>,
    /// These connections take nothing of what they are sent.
    pub stuck: Vec<u64>,
    /// What waits on them.
    waiting: HashMap<u64, Backlog>,
    last_stream: u32,
}

impl World {
    pub fn new(stored: bool) -> World {
        World::with(Config {
            stored,
            lease_ms: LEASE_MS,
            max_hold_ms: 3 * LEASE_MS,
            first_fence: FIRST_FENCE,
            ..Config::default()
        })
    }

    pub fn with(config: Config) -> World {
        World {
            engine: Engine::new(config),
            now_ms: 1000,
            sent: Vec::new(),
            asked: Vec::new(),
            given: Vec::new(),
            closed: Vec::new(),
            audited: Vec::new(),
            readings: Vec::new(),
            seeking: Vec::new(),
            claims: Vec::new(),
            follows: Vec::new(),
            unfollowed: Vec::new(),
            gives: Vec::new(),
            settling: Vec::new(),
            renewals: 0,
            says_drained: false,
            looks: Vec::new(),
            pages: Vec::new(),
            relays: Vec::new(),
            refused_bulk: Vec::new(),
            stuck: Vec::new(),
            waiting: HashMap::new(),
            last_stream: 0,
        }
    }

    pub fn now_ns(&self) -> u64 {
        self.now_ms * 1_000_000
    }

    /// Takes the effects so far; what was told is settled after it, as the shell does it.
    pub fn drain(&mut self) {
        loop {
            let mut effects = Vec::new();
            self.engine.take_effects(&mut effects);
            if effects.is_empty() && !self.engine.settle() {
                return;
            }
            for effect in effects {
                self.take(effect);
            }
        }
    }

    fn take(&mut self, effect: Effect) {
        match effect {
            Effect::Send {
                connection,
                message,
            } => {
                let mut reader = Reader::new(&message.control);
                let envelope = Envelope::decode(&mut reader).expect("an envelope");
                let body = message.control[message.control.len() - reader.remaining()..].to_vec();
                assert_eq!(envelope.bulk_bytes, message.bulk.len() as u64);
                assert_eq!(envelope.stream, message.stream);
                let cost = message.cost();
                self.sent.push(Sent {
                    connection,
                    type_: MessageType::try_from(envelope.type_).expect("a known type"),
                    stream: envelope.stream,
                    body,
                    bulk: message.bulk.clone().joined(),
                    pieces: message.bulk,
                });
                // Everything is on the wire at once, unless a test says otherwise.
                let waiting = self.waiting.entry(connection).or_default();
                match self.stuck.contains(&connection) {
                    true => *waiting += cost,
                    false => *waiting = Backlog::default(),
                }
                let waiting = *waiting;
                self.engine.backlog(self.now_ns(), connection, waiting);
            }
            Effect::Close { connection } => self.closed.push(connection),
            Effect::RefuseBulk { connection } => self.refused_bulk.push(connection),
            Effect::Append {
                ticket,
                group,
                durable,
            } => self.asked.push(Asked::Append(ticket, group, durable)),
            Effect::Checkpoint { ticket, checkpoint } => {
                self.asked.push(Asked::Checkpoint(ticket, checkpoint))
            }
            Effect::CheckpointInPieces { ticket, head } => {
                self.asked.push(Asked::InPieces(ticket, head))
            }
            Effect::Next { segment_id, next } => self.given.push((segment_id, next)),
            Effect::LookAfterStore => {}
            Effect::Seek { path, claims } => {
                self.seeking.push(path);
                self.claims.push(claims);
            }
            Effect::Follow { path } => self.follows.push(path),
            Effect::Unfollow { path } => self.unfollowed.push(path),
            Effect::Give {
                segment, member, ..
            } => self.gives.push((segment, member)),
            Effect::Free(_) => {}
            Effect::Settle { segments } => self.settling.push(segments),
            Effect::Renew { is_drained } => {
                self.renewals += 1;
                self.says_drained = is_drained;
            }
            Effect::Page { asked, page } => self.pages.push((asked, page)),
            Effect::Members {
                asked,
                after,
                tells_all,
            } => self.looks.push((asked, after, tells_all)),
            Effect::Relay { to, hello, .. } => self.relays.push((to, *hello)),
            Effect::Audit(audited) => self.audited.push(*audited),
            Effect::ReadFiles { asked } => self.readings.push(asked),
        }
    }

    pub fn pass(&mut self, ms: u64) {
        self.now_ms += ms;
        self.engine.advance(self.now_ns());
        self.drain();
    }

    /// Time passes in small steps while these connections keep talking.
    pub fn pass_talking(&mut self, ms: u64, connections: &[u64]) {
        for _ in 0..ms / 500 {
            for connection in connections {
                self.engine.heard(self.now_ns(), *connection);
            }
            self.pass(500);
        }
    }

    /// The store has done everything that it was asked.
    pub fn store_all(&mut self) {
        while !self.asked.is_empty() {
            let asked = self.asked.remove(0);
            self.stored(&asked, Ok(()));
        }
    }

    pub fn stored(&mut self, asked: &Asked, result: Result<(), StoreError>) {
        let (Asked::Append(ticket, ..)
        | Asked::Checkpoint(ticket, ..)
        | Asked::InPieces(ticket, ..)) = asked;
        self.engine.stored(self.now_ns(), *ticket, result);
        self.drain();
    }

    /// Sends a request; returns its stream.
    pub fn send(&mut self, connection: u64, request: Request) -> u32 {
        self.send_with(connection, request, Bytes::new())
    }

    pub fn send_with(&mut self, connection: u64, request: Request, bulk: Bytes) -> u32 {
        self.last_stream += 1;
        let incoming = Incoming {
            stream: self.last_stream,
            announced_bytes: bulk.len() as u64,
            chains: self.chains_of(&request, &bulk),
            request,
            bulk,
        };
        self.engine.request(self.now_ns(), connection, incoming);
        self.drain();
        self.last_stream
    }

    /// The chains of every second release, as if its bulk had come in several frames.
    fn chains_of(&self, request: &Request, bulk: &Bytes) -> Vec<u64> {
        match request {
            Request::ReleaseWriter(release) if self.last_stream.is_multiple_of(2) => {
                let mut chains = PartChains::of(release);
                chains.add(bulk);
                chains.finish()
            }
            _ => Vec::new(),
        }
    }

    /// The answer on that stream, which must be there.
    pub fn answer(&mut self, stream: u32) -> Sent {
        self.try_answer(stream).expect("an answer")
    }

    pub fn try_answer(&mut self, stream: u32) -> Option<Sent> {
        let at = self.sent.iter().position(|s| s.stream == stream)?;
        Some(self.sent.remove(at))
    }

    /// Sends a request and takes its answer.
    pub fn ask(&mut self, connection: u64, request: Request) -> Sent {
        let stream = self.send(connection, request);
        self.answer(stream)
    }

    /// Notifications of that type to the connection, taken out.
    pub fn notifications(&mut self, connection: u64, type_: MessageType) -> Vec<Sent> {
        let wanted = |s: &Sent| s.connection == connection && s.type_ == type_;
        let found = self.sent.iter().filter(|s| wanted(s)).cloned().collect();
        self.sent.retain(|s| !wanted(s));
        found
    }

    /// Connects and says hello with a session's id, or all zeros.
    pub fn hello_as(&mut self, connection: u64, session: SessionId) -> Welcome {
        self.engine.connected(
            self.now_ns(),
            connection,
            session_of(connection),
            Peer::default(),
        );
        let welcome = self.ask(connection, Request::Hello(hello(session)));
        assert_eq!(welcome.type_, MessageType::Welcome);
        welcome.body()
    }

    pub fn hello(&mut self, connection: u64) -> SessionId {
        self.hello_as(connection, [0; 16]).session
    }

    pub fn open(&mut self, connection: u64, path: &str, durable: Durability) -> u32 {
        let stream = self.send(connection, open(path, durable));
        self.store_all();
        let opened = self.answer(stream);
        assert_eq!(opened.type_, MessageType::SegmentOpened, "{opened:?}");
        opened.body::<SegmentOpened>().segment
    }

    /// Clients 1 to `count` with the segment open; returns its number.
    pub fn clients(&mut self, count: u64, durable: Durability) -> u32 {
        let mut segment = 0;
        for connection in 1..=count {
            self.hello(connection);
            segment = self.open(connection, "/list", durable);
        }
        segment
    }

    /// Takes the writer lock, which must be free.
    pub fn lock(&mut self, connection: u64, segment: u32) -> WriterAcquired {
        let granted = self.ask(connection, acquire_writer(segment, 0));
        assert_eq!(granted.type_, MessageType::WriterAcquired, "{granted:?}");
        granted.body()
    }

    /// A release of a diff that adds one int, or changes the one there is; returns its stream.
    pub fn release(
        &mut self,
        connection: u64,
        segment: u32,
        grant: &WriterAcquired,
        sequence: u64,
    ) -> u32 {
        let diff = int_diff(grant, 7);
        let request = release_writer(segment, grant, sequence, diff.len());
        self.send_with(connection, request, diff)
    }

    /// Lock and release, acknowledged; the new version.
    pub fn write(&mut self, connection: u64, segment: u32, sequence: u64) -> u64 {
        let grant = self.lock(connection, segment);
        let stream = self.release(connection, segment, &grant, sequence);
        self.store_all();
        let released = self.answer(stream);
        assert_eq!(released.type_, MessageType::WriterReleased, "{released:?}");
        released.body::<WriterReleased>().versions[0].number
    }

    pub fn newest(&mut self, connection: u64, segment: u32) -> VersionStamp {
        let have = stamp(0, 0);
        let answer = self.ask(
            connection,
            acquire_reader(segment, have, CoherenceModel::Full),
        );
        answer.body::<ReaderAcquired>().now
    }
}

/// So many bytes of notifications wait.
pub fn backlog(bytes: usize) -> Backlog {
    Backlog {
        all: bytes,
        kept: bytes,
        replies: 0,
    }
}

/// The id of the session that begins on that connection.
pub fn session_of(connection: u64) -> SessionId {
    let mut id = [0xE5; 16];
    id[..8].copy_from_slice(&connection.to_be_bytes());
    id
}

pub fn hello(session: SessionId) -> Hello {
    Hello {
        magic: *b"IWV1",
        version_min: 1,
        version_max: 9,
        session,
        token: String::new(),
        client: "test".to_string(),
        fields: Vec::new(),
    }
}

pub fn open(path: &str, durable: Durability) -> Request {
    Request::OpenSegment(OpenSegment {
        path: path.to_string(),
        create: true,
        read_only: false,
        durable,
        quota_bytes: 0,
        fields: Vec::new(),
    })
}

pub fn stamp(incarnation: u64, number: u64) -> VersionStamp {
    VersionStamp {
        incarnation,
        number,
        chain: 0,
    }
}

pub fn acquire_reader(segment: u32, have: VersionStamp, model: CoherenceModel) -> Request {
    Request::AcquireReader(AcquireReader {
        segment,
        have,
        model,
        x: 2.0,
        fresh: false,
        deadline_ms: 60_000,
    })
}

pub fn acquire_writer(segment: u32, deadline_ms: u32) -> Request {
    Request::AcquireWriter(AcquireWriter {
        segment,
        have: stamp(0, 0),
        deadline_ms,
    })
}

pub fn release_writer(
    segment: u32,
    grant: &WriterAcquired,
    sequence: u64,
    diff_bytes: usize,
) -> Request {
    Request::ReleaseWriter(ReleaseWriter {
        sequence,
        parts: vec![ReleasePart {
            segment,
            fence: grant.fence,
            base: grant.now.clone(),
            diff_bytes: diff_bytes as u64,
        }],
    })
}

/// From the granted version to the next: a new block of one int with that value.
pub fn int_diff(grant: &WriterAcquired, number: i32) -> Bytes {
    let base = grant.now.number;
    let mut diff = DiffBuilder::new(base, base + 1);
    diff.add_block(grant.first_serial, INT, 1, "");
    diff.set(grant.first_serial, 1, &number.to_le_bytes());
    diff.finish()
}
