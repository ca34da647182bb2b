//! A flood: strangers open many connections at once, or ask for much on one, and some of them take
//! nothing. Nobody checks what they are told, but the server must bear them.

use crate::client::bytes_of;
use crate::env::{send_in_parts, Env};
use crate::network::{Item, Side};
use crate::random::Random;
use bytes::Bytes;
use interweave_wire::protocol::xdr::Xdr;
use interweave_wire::protocol::*;
use interweave_wire::Message;

/// The numbers by which the network knows strangers, who take what comes or nothing.
pub const TAKING: usize = usize::MAX - 1;
pub const STUCK: usize = usize::MAX;

/// On all connections.
const MOST_REQUESTS: u64 = 4_096;
/// The longest wait of a request.
const DEADLINE_MS: u32 = 300;

/// The requests of a stranger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// None, and no HELLO either.
    Nothing,
    Pings,
    Lists,
    Copies,
    /// Of a writer lock: all but the first wait.
    Locks,
}

impl Wish {
    pub const ALL: [Wish; 5] = [
        Wish::Nothing,
        Wish::Pings,
        Wish::Lists,
        Wish::Copies,
        Wish::Locks,
    ];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flood {
    pub connections: u64,
    /// On each connection.
    pub requests: u64,
    pub wish: Wish,
    pub takes: bool,
}

impl Flood {
    /// Many connections with some requests each, or one with many.
    pub fn of(random: &mut Random) -> Flood {
        let connections = match random.one_in(2) {
            true => random.skewed(8, 64),
            false => 1,
        };
        let requests = random.skewed(16, MOST_REQUESTS / connections);
        Flood {
            connections,
            requests,
            wish: *random.pick(&Wish::ALL),
            takes: random.one_in(3),
        }
    }

    /// The strangers come. Returns their connections.
    pub fn begin(&self, env: &mut Env) -> Vec<u64> {
        let connections = (0..self.connections).map(|i| {
            let connection = env.net.connect(if self.takes { TAKING } else { STUCK });
            env.send(connection, Side::Server, Item::Open);
            if self.wish != Wish::Nothing {
                let words = self.words(env, i);
                send_in_parts(env, connection, Side::Server, words, env.world_ns);
            }
            connection
        });
        connections.collect()
    }

    /// All that a stranger says. It does not read which numbers the segments have: they are the
    /// first ones, unless some were removed.
    fn words(&self, env: &Env, number: u64) -> Bytes {
        let mut words = Words::default();
        words.hello();
        for history in &env.history {
            words.open(&history.path);
        }
        let segment = 1 + (number % env.history.len() as u64) as u32;
        for _ in 0..self.requests {
            words.wish(self.wish, segment);
        }
        words.bytes.into()
    }
}

/// The strangers hang up.
pub fn end(env: &mut Env, connections: &[u64]) {
    for &connection in connections {
        env.net.close(connection, Side::Client);
        env.net.forget_held(connection);
        env.send(connection, Side::Server, Item::Close);
    }
}

#[derive(Debug, Default)]
struct Words {
    bytes: Vec<u8>,
    last_stream: u32,
}

impl Words {
    fn put(&mut self, type_: MessageType, body: &impl Xdr) {
        self.last_stream += 1;
        let message = Message::new(type_, self.last_stream, body, Bytes::new());
        self.bytes.extend(bytes_of(message));
    }

    fn hello(&mut self) {
        let hello = Hello {
            magic: *b"IWV1",
            version_min: PROTOCOL_VERSION_MIN,
            version_max: PROTOCOL_VERSION_MAX,
            session: [0; 16],
            token: String::new(),
            client: "flood".to_string(),
            fields: Vec::new(),
        };
        self.put(MessageType::Hello, &hello);
    }

    fn open(&mut self, path: &str) {
        let open = OpenSegment {
            path: path.to_string(),
            create: false,
            read_only: false,
            durable: Durability::Synced,
            quota_bytes: 0,
            fields: Vec::new(),
        };
        self.put(MessageType::OpenSegment, &open);
    }

    fn wish(&mut self, wish: Wish, segment: u32) {
        let have = VersionStamp {
            incarnation: 0,
            number: 0,
            chain: 0,
        };
        match wish {
            Wish::Nothing => {}
            Wish::Pings => {
                self.last_stream += 1;
                let ping = Message::bare(MessageType::Ping, self.last_stream);
                self.bytes.extend(bytes_of(ping));
            }
            Wish::Lists => {
                let list = ListSegments {
                    prefix: "/".to_string(),
                    after: String::new(),
                };
                self.put(MessageType::ListSegments, &list);
            }
            Wish::Copies => {
                let read = AcquireReader {
                    segment,
                    have,
                    model: CoherenceModel::Full,
                    x: 0.0,
                    fresh: true,
                    deadline_ms: DEADLINE_MS,
                };
                self.put(MessageType::AcquireReader, &read);
            }
            Wish::Locks => {
                let lock = AcquireWriter {
                    segment,
                    have,
                    deadline_ms: DEADLINE_MS,
                };
                self.put(MessageType::AcquireWriter, &lock);
            }
        }
    }
}
