//! How long the engine's thread is held up by rights, and how long new rules take: the sweep after
//! a change of the rules, and a list by an identity that may read next to nothing.
//!
//!   rights
//!
//! Writes rights.csv: case,events,longest_ms,sum_ms,due_ms. An event is one call of the engine. The
//! times are those of the processor, so that other programs do not count. The due time adds the
//! engine's own pauses to the work, in the engine's time.

use bytes::Bytes;
use interweave_access::Rules;
use interweave_server::session::{Access, Config, Effect, Engine, Incoming, Peer, Request};
use interweave_wire::protocol::*;
use rustix::time::{clock_gettime, ClockId};
use std::path::PathBuf;
use std::sync::Arc;

const SEGMENTS: u32 = 130_000;
const LISTED: u32 = 1_000_000;
const RULES: &str = "allow * all /lab/**\nend\n";

/// An engine with clients, in made-up time, whose work is measured.
struct World {
    engine: Engine,
    now_ns: u64,
    effects: Vec<Effect>,
    stream: u32,
    sent: usize,
}

/// What a case cost.
#[derive(Default)]
struct Cost {
    events: usize,
    longest_ms: f64,
    sum_ms: f64,
    due_ms: f64,
}

impl World {
    fn new() -> World {
        let config = Config {
            max_segments: LISTED as usize + 1,
            ..Config::default()
        };
        let mut world = World {
            engine: Engine::new(config),
            now_ns: 1_000_000_000,
            effects: Vec::new(),
            stream: 0,
            sent: 0,
        };
        world.engine.set_access(world.now_ns, access(RULES));
        world
    }

    fn enter(&mut self, connection: u64, name: &str) {
        let mut id = [7; 16];
        id[..8].copy_from_slice(&connection.to_be_bytes());
        let peer = Peer {
            certificate: Some(name.into()),
            ..Peer::default()
        };
        self.engine.connected(self.now_ns, connection, id, peer);
        let hello = Hello {
            magic: *b"IWV1",
            version_min: PROTOCOL_VERSION_MIN,
            version_max: PROTOCOL_VERSION_MAX,
            session: [0; 16],
            token: String::new(),
            client: "bench".to_string(),
            fields: Vec::new(),
        };
        self.ask(connection, Request::Hello(hello));
    }

    fn ask(&mut self, connection: u64, request: Request) {
        self.stream += 1;
        let incoming = Incoming {
            stream: self.stream,
            request,
            bulk: Bytes::new(),
            announced_bytes: 0,
            chains: Vec::new(),
        };
        self.engine.request(self.now_ns, connection, incoming);
        self.carry_out();
    }

    fn open(&mut self, connection: u64, path: String) {
        let request = OpenSegment {
            path,
            create: true,
            read_only: false,
            durable: Durability::Memory,
            quota_bytes: 1 << 16,
            fields: Vec::new(),
        };
        self.ask(connection, Request::OpenSegment(request));
    }

    fn subscribe(&mut self, connection: u64, segment: u32) {
        let request = Subscribe {
            segment,
            have: VersionStamp {
                incarnation: 0,
                number: 0,
                chain: 0,
            },
            model: CoherenceModel::Full,
            x: 0.0,
            push: false,
            push_bytes: 0,
        };
        self.ask(connection, Request::Subscribe(request));
    }

    fn carry_out(&mut self) {
        loop {
            self.engine.take_effects(&mut self.effects);
            if self.effects.is_empty() && !self.engine.settle() {
                return;
            }
            for effect in self.effects.drain(..) {
                if let Effect::Send { connection, .. } = effect {
                    self.sent += 1;
                    // The peer takes everything at once.
                    self.engine
                        .backlog(self.now_ns, connection, Default::default());
                }
            }
        }
    }

    /// Measures the event, and what follows within `within_ms` of the engine's time until
    /// `is_done`.
    fn measure(
        &mut self,
        event: impl FnOnce(&mut World),
        is_done: impl Fn(&World) -> bool,
    ) -> Cost {
        let begun_ns = self.now_ns;
        let mut cost = Cost::default();
        self.timed(&mut cost, event);
        while !is_done(self) {
            let next_ns = self.engine.next_deadline_ns().expect("work is left");
            self.now_ns = self.now_ns.max(next_ns);
            self.timed(&mut cost, |world| {
                world.engine.advance(world.now_ns);
                world.carry_out();
            });
        }
        cost.due_ms = cost.sum_ms + (self.now_ns - begun_ns) as f64 / 1e6;
        cost
    }

    fn timed(&mut self, cost: &mut Cost, event: impl FnOnce(&mut World)) {
        let begin = processor_ms();
        event(self);
        let ms = processor_ms() - begin;
        cost.events += 1;
        cost.longest_ms = cost.longest_ms.max(ms);
        cost.sum_ms += ms;
    }
}

/// How long this thread has had a processor.
fn processor_ms() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn access(rules: &str) -> Arc<Access> {
    let rules = Rules::parse(rules).expect("rules");
    Arc::new(Access::new(Some(rules), None))
}

/// The rules change for so many connections that have all segments open, or subscribed to.
fn sweep(connections: u64, subscribed: bool, rules: &str) -> Cost {
    let mut world = World::new();
    for connection in 1..=connections {
        world.enter(connection, "simulation");
        for segment in 0..SEGMENTS {
            world.open(connection, format!("/lab/cell-{segment}/robot/pose"));
            if subscribed {
                world.subscribe(connection, segment + 1);
            }
        }
    }
    // The last handle that the sweep comes to says when it is over.
    let access = access(rules);
    let is_done = |world: &World| {
        let next_ns = world.engine.next_deadline_ns();
        next_ns.is_none_or(|next_ns| next_ns > world.now_ns + 20_000_000)
    };
    world.measure(
        |world| {
            world.engine.set_access(world.now_ns, access);
            world.carry_out();
        },
        is_done,
    )
}

/// A list by an identity that may read no segment of so many.
fn list(segments: u32) -> Cost {
    let mut world = World::new();
    world.enter(1, "simulation");
    for segment in 0..segments {
        world.open(1, format!("/lab/cell-{segment}/robot/pose"));
        let number = segment + 1;
        world.ask(1, Request::CloseSegment(CloseSegment { segment: number }));
    }
    let rules = "deny cert:guest read /lab/**\nallow * all /**\nend\n";
    world.engine.set_access(world.now_ns, access(rules));
    for _ in 0..100 {
        world.now_ns += 10_000_000;
        world.engine.advance(world.now_ns);
        world.carry_out();
    }
    world.enter(2, "guest");
    let request = ListSegments {
        prefix: "/".to_string(),
        after: String::new(),
    };
    let answered = world.sent + 1;
    world.measure(
        |world| world.ask(2, Request::ListSegments(request)),
        |world| world.sent >= answered,
    )
}

fn main() {
    let deny = "end\n";
    let cases = [
        ("1 connection, 130,000 handles", sweep(1, false, deny)),
        ("2 connections, 130,000 handles each", sweep(2, false, deny)),
        (
            "2 connections, 130,000 subscriptions each",
            sweep(2, true, deny),
        ),
        (
            "the same, and the rules keep allowing it",
            sweep(2, true, RULES),
        ),
        ("list of 20,000 segments by a stranger", list(20_000)),
        ("list of 1,000,000 segments by a stranger", list(LISTED)),
    ];
    let mut csv = "case,events,longest_ms,sum_ms,due_ms\n".to_string();
    for (name, cost) in &cases {
        let Cost {
            events,
            longest_ms,
            sum_ms,
            due_ms,
        } = cost;
        println!(
            "{name:45} {events:6} events, longest {longest_ms:8.3} ms, sum {sum_ms:8.1} ms, \
             due {due_ms:8.1} ms"
        );
        csv += &format!("\"{name}\",{events},{longest_ms:.3},{sum_ms:.1},{due_ms:.1}\n");
    }
    let results = std::env::var_os("BENCH_RESULTS").map_or("bench/results".into(), PathBuf::from);
    let unfinished = results.join("rights.csv.new");
    std::fs::write(&unfinished, csv).expect("the results can be written");
    std::fs::rename(unfinished, results.join("rights.csv")).expect("they can be written");
}
