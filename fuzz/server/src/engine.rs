//! The engine of the server under sequences of events: several clients that connect, ask anything,
//! go and come back, a store that completes or refuses, time that passes.
//!
//! Most requests are of the kinds that lead somewhere, with numbers that the engine gave before, so
//! that locks are taken and releases committed; others are any bytes. Whatever comes, it holds
//! that: a request is answered once at most, nothing is sent on a connection that is closed, fences
//! only grow, and no version of an incarnation is given to two releases.

use bytes::Bytes;
use interweave_server::session::{Backlog, Config, Effect, Engine, Incoming, Outgoing, Request};
use interweave_store::StoreError;
use interweave_wire::protocol::xdr::{from_bytes, Reader, Xdr};
use interweave_wire::protocol::*;
use interweave_wire::{varint, DiffBuilder};
use std::collections::{HashMap, VecDeque};

const PATHS: [&str; 3] = ["/a", "/a/b", "/c"];
const CLIENTS: u8 = 4;
/// The top bit of the streams of notifications.
const NOTIFICATION: u32 = 1 << 31;

/// What the input says, byte for byte; zeros when it has ended.
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

/// What a client knows.
#[derive(Default)]
struct Client {
    connection: u64,
    session: SessionId,
    segments: Vec<u32>,
    granted: HashMap<u32, WriterAcquired>,
    /// Its requests that are not answered, and what they ask about.
    asked: HashMap<u32, About>,
    sequence: u64,
}

/// The parts of a request that its answer must match: a segment, and a release's sequence.
#[derive(Clone, Copy, Default)]
struct About {
    segment: u32,
    sequence: u64,
    /// A release without a diff makes no version.
    changes: bool,
}

impl About {
    fn of(request: &Request) -> About {
        match request {
            Request::AcquireWriter(r) => About {
                segment: r.segment,
                ..About::default()
            },
            Request::ReleaseWriter(r) => About {
                segment: r.parts.first().map_or(0, |part| part.segment),
                sequence: r.sequence,
                changes: r.parts.iter().all(|part| part.diff_bytes > 0),
            },
            _ => About::default(),
        }
    }
}

struct World {
    engine: Engine,
    now_ns: u64,
    clients: Vec<Client>,
    tickets: VecDeque<u64>,
    last_connection: u64,
    last_stream: u32,
    fences: HashMap<u32, u64>,
    /// By incarnation and number, whose release made the version.
    released: HashMap<(u64, u64), (SessionId, u64)>,
}

pub fn run(data: &[u8]) {
    let mut script = Script(data);
    let config = Config {
        stored: script.byte() % 2 == 1,
        lease_ms: 2_000,
        max_hold_ms: 5_000,
        quota_bytes: 1 << 16,
        max_quota_bytes: 1 << 18,
        max_segments: 2,
        sending_bytes: 1 << 18,
        waiting_bytes: 1 << 14,
        slow_bytes: 1 << 10,
        ..Config::default()
    };
    let mut world = World {
        engine: Engine::new(config),
        now_ns: 1_000_000_000,
        clients: (0..CLIENTS).map(|_| Client::default()).collect(),
        tickets: VecDeque::new(),
        last_connection: 0,
        last_stream: 0,
        fences: HashMap::new(),
        released: HashMap::new(),
    };
    while !script.0.is_empty() {
        world.step(&mut script);
        world.carry_out();
    }
    world.end();
}

impl World {
    fn step(&mut self, script: &mut Script<'_>) {
        let what = script.byte();
        let client = usize::from(script.byte() % CLIENTS);
        if self.clients[client].connection == 0 {
            return self.connect(client, script.byte() % 2 == 1);
        }
        match what % 12 {
            0 => self.disconnect(client),
            1 => {
                self.now_ns += script.number() * 100_000;
                self.engine.advance(self.now_ns);
            }
            2 | 3 => self.store(script.byte()),
            4 => {
                let connection = self.clients[client].connection;
                let bytes = usize::from(script.byte()) << 6;
                let mut backlog = Backlog::default();
                let kind = interweave_server::session::message::Kind::Reply;
                backlog.add(kind, bytes);
                self.engine.backlog(self.now_ns, connection, backlog);
            }
            5 => {
                let request = Request::decode(script.byte().into(), script.bytes());
                let bulk = Bytes::copy_from_slice(script.bytes());
                self.ask(client, request, bulk);
            }
            6 => self.release(client, script),
            _ => {
                let request = self.request(client, script);
                self.ask(client, request, Bytes::new());
            }
        }
    }

    fn connect(&mut self, client: usize, again: bool) {
        self.last_connection += 1;
        let mut entropy = [7; 16];
        entropy[..8].copy_from_slice(&self.last_connection.to_be_bytes());
        let session = match again {
            true => self.clients[client].session,
            false => [0; 16],
        };
        let sequence = self.clients[client].sequence;
        self.clients[client] = Client {
            connection: self.last_connection,
            session,
            sequence,
            ..Client::default()
        };
        self.engine
            .connected(self.now_ns, self.last_connection, entropy);
        let hello = Hello {
            magic: *b"IWV1",
            version_min: 1,
            version_max: 1,
            session,
            token: String::new(),
            client: "fuzz".to_string(),
        };
        self.ask(client, Request::Hello(hello), Bytes::new());
    }

    fn disconnect(&mut self, client: usize) {
        let connection = std::mem::take(&mut self.clients[client].connection);
        self.clients[client].asked.clear();
        self.engine.disconnected(self.now_ns, connection);
    }

    fn store(&mut self, how: u8) {
        if let Some(ticket) = self.tickets.pop_front() {
            let result = match how % 8 {
                0 => Err(StoreError::Closed),
                _ => Ok(()),
            };
            self.engine.stored(self.now_ns, ticket, result);
        }
    }

    /// A request that may lead somewhere.
    fn request(&mut self, client: usize, script: &mut Script<'_>) -> Request {
        let which = script.byte();
        let opened = &self.clients[client].segments;
        let segment = match opened.is_empty() {
            true => u32::from(which),
            false => opened[usize::from(which) % opened.len()],
        };
        let have = VersionStamp {
            incarnation: u64::from(script.byte()),
            number: u64::from(script.byte() % 4),
            chain: u64::from(script.byte() % 2),
        };
        let path = PATHS[usize::from(which) % PATHS.len()].to_string();
        let deadline_ms = u32::from(script.byte()) * 10;
        let fence = self.clients[client]
            .granted
            .get(&segment)
            .map_or(0, |g| g.fence);
        let model = [
            CoherenceModel::Full,
            CoherenceModel::Delta,
            CoherenceModel::Strict,
            CoherenceModel::Temporal,
        ][usize::from(which) % 4];
        let kind = script.byte() % 16;
        match kind {
            0..=2 => Request::OpenSegment(OpenSegment {
                path,
                create: true,
                read_only: which % 8 == 7,
                durable: [Durability::Memory, Durability::Synced][usize::from(which) % 2],
                quota_bytes: 0,
            }),
            3..=6 => Request::AcquireWriter(AcquireWriter {
                segment,
                have,
                deadline_ms,
            }),
            7 => Request::AcquireReader(AcquireReader {
                segment,
                have,
                model,
                x: f64::from(which) / 7.0,
                fresh: which.is_multiple_of(2),
                deadline_ms,
            }),
            8 => Request::Subscribe(Subscribe {
                segment,
                have,
                model,
                x: f64::from(which) / 7.0,
                push: which.is_multiple_of(2),
                push_bytes: u64::from(which),
            }),
            9 => Request::RenewWriter(RenewWriter { segment, fence }),
            10 => Request::AbortWriter(AbortWriter { segment, fence }),
            11 => Request::RemoveSegment(RemoveSegment { path }),
            12 => Request::CloseSegment(CloseSegment { segment }),
            13 => Request::ListSegments(ListSegments {
                prefix: "/".to_string(),
                after: path,
            }),
            14 => Request::Cancel(Cancel {
                stream: self.last_stream,
            }),
            _ => Request::Ping,
        }
    }

    /// A release under a lock that the client has: mostly a new int, else any bytes.
    fn release(&mut self, client: usize, script: &mut Script<'_>) {
        let how = script.byte();
        let client_of = &mut self.clients[client];
        let Some((&segment, grant)) = client_of
            .granted
            .iter()
            .min_by_key(|(segment, _)| **segment)
        else {
            return;
        };
        let base = grant.now.number;
        let diff = match how % 4 {
            0 => Bytes::copy_from_slice(script.bytes()),
            _ => {
                let mut diff = DiffBuilder::new(base, base + 1);
                diff.add_block(grant.first_serial, Primitive::Int as u32, 1, "");
                let mut runs = Vec::new();
                varint::put(0, &mut runs);
                varint::put(1, &mut runs);
                runs.extend_from_slice(&[how; 4]);
                diff.change(grant.first_serial, &runs);
                diff.finish()
            }
        };
        let part = ReleasePart {
            segment,
            fence: grant.fence,
            base: grant.now.clone(),
            diff_bytes: diff.len() as u64,
        };
        // The same again now and then, as after a lost answer.
        if how % 16 != 15 {
            client_of.sequence += 1;
        }
        let request = Request::ReleaseWriter(ReleaseWriter {
            sequence: client_of.sequence,
            parts: vec![part],
        });
        self.ask(client, request, diff);
    }

    fn ask(&mut self, client: usize, request: Request, bulk: Bytes) {
        self.last_stream += 1;
        let connection = self.clients[client].connection;
        let admitted =
            bulk.is_empty() || self.engine.admits(connection, &request, bulk.len() as u64);
        let announced_bytes = bulk.len() as u64;
        let about = About::of(&request);
        let incoming = Incoming {
            stream: self.last_stream,
            request,
            announced_bytes,
            bulk: if admitted { bulk } else { Bytes::new() },
        };
        self.clients[client].asked.insert(self.last_stream, about);
        self.engine.request(self.now_ns, connection, incoming);
    }

    fn carry_out(&mut self) {
        let mut effects = Vec::new();
        loop {
            self.engine.take_effects(&mut effects);
            if effects.is_empty() && !self.engine.settle() {
                return;
            }
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send {
                        connection,
                        message,
                    } => self.sent(connection, &message),
                    Effect::Close { connection } => {
                        if let Some(client) = self.client_of(connection) {
                            self.clients[client].connection = 0;
                            self.clients[client].asked.clear();
                        }
                    }
                    Effect::Append { ticket, .. } | Effect::Checkpoint { ticket, .. } => {
                        self.tickets.push_back(ticket);
                    }
                    Effect::LookAfterStore => {}
                }
            }
        }
    }

    fn client_of(&self, connection: u64) -> Option<usize> {
        self.clients.iter().position(|c| c.connection == connection)
    }

    fn sent(&mut self, connection: u64, message: &Outgoing) {
        let client = self
            .client_of(connection)
            .expect("nothing is sent on a closed connection");
        let mut reader = Reader::new(&message.control);
        let envelope = Envelope::decode(&mut reader).expect("an envelope");
        let body = &message.control[message.control.len() - reader.remaining()..];
        let type_ = MessageType::try_from(envelope.type_).expect("a known type");
        if envelope.stream == 0 || envelope.stream & NOTIFICATION != 0 {
            return;
        }
        let asked = self.clients[client].asked.remove(&envelope.stream);
        let about = asked.expect("a request is answered once at most");
        self.answered(client, about, type_, body);
    }

    fn answered(&mut self, client: usize, about: About, type_: MessageType, body: &[u8]) {
        let client = &mut self.clients[client];
        match type_ {
            MessageType::Welcome => {
                client.session = from_bytes::<Welcome>(body).expect("a body").session;
            }
            MessageType::SegmentOpened => {
                let opened = from_bytes::<SegmentOpened>(body).expect("a body");
                client.segments.push(opened.segment);
            }
            MessageType::WriterAcquired => {
                let granted = from_bytes::<WriterAcquired>(body).expect("a body");
                let before = self.fences.insert(about.segment, granted.fence);
                assert!(before < Some(granted.fence), "fences only grow");
                client.granted.insert(about.segment, granted);
            }
            MessageType::WriterReleased => {
                let released = from_bytes::<WriterReleased>(body).expect("a body");
                client.granted.remove(&about.segment);
                for version in released.versions.into_iter().filter(|_| about.changes) {
                    let version = (version.incarnation, version.number);
                    let release = (client.session, about.sequence);
                    let first = *self.released.entry(version).or_insert(release);
                    assert_eq!(first, release, "version {version:?} is given twice");
                }
            }
            _ => {}
        }
    }

    /// The server stops: everything on its way completes.
    fn end(&mut self) {
        self.engine.stop(self.now_ns);
        self.carry_out();
        self.complete_all();
        self.engine.save_and_part(self.now_ns);
        self.carry_out();
        self.complete_all();
        assert!(self.engine.is_idle(), "it stops");
    }

    fn complete_all(&mut self) {
        while let Some(ticket) = self.tickets.pop_front() {
            self.engine.stored(self.now_ns, ticket, Ok(()));
            self.carry_out();
        }
    }
}
