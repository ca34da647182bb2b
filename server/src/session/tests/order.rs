//! First the log, then the writer's answer, then the readers: whatever the order in which the store
//! answers, nothing that the journal makes known is before its append.

use super::random::Random;
use super::*;
use std::collections::{HashMap, HashSet};

const SEGMENTS: u64 = 3;
/// As many as are told after the writer.
const READERS: u64 = 4;

/// Each segment has two writers, and everybody reads all of them.
struct Order {
    world: World,
    random: Random,
    segments: Vec<u32>,
    /// By segment: the newest version that the store has said to have.
    durable: HashMap<u32, u64>,
    /// By segment: the version that its writer was answered last.
    answered: HashMap<u32, u64>,
    /// By stream: what was asked, of which segment.
    asked: HashMap<u32, u32>,
    grants: HashMap<u64, WriterAcquired>,
    /// Writers that await an answer.
    waiting: HashSet<u64>,
    sequence: u64,
}

impl Order {
    fn new(seed: u64) -> Order {
        let mut world = World::new(true);
        let mut segments = Vec::new();
        for connection in 1..=2 * SEGMENTS + READERS {
            world.hello(connection);
            segments.clear();
            for number in 0..SEGMENTS {
                let path = format!("/{number}");
                segments.push(world.open(connection, &path, Durability::Synced));
            }
            for segment in segments.clone() {
                super::notifications::subscribe(&mut world, connection, segment, 1 << 20);
            }
        }
        world.sent.clear();
        Order {
            world,
            random: Random(seed),
            segments,
            durable: HashMap::new(),
            answered: HashMap::new(),
            asked: HashMap::new(),
            grants: HashMap::new(),
            waiting: HashSet::new(),
            sequence: 0,
        }
    }

    fn step(&mut self) {
        match self.random.below(8) {
            0..=3 => self.write(),
            4 => {
                let now_ns = self.world.now_ns();
                let ids = FIRST_FENCE + 1..=FIRST_FENCE + SEGMENTS;
                let with_much_log: Vec<_> = ids.map(|id| (id, 1 << 40)).collect();
                self.world
                    .engine
                    .store_looked_at(now_ns, &with_much_log, &[]);
                self.world.drain();
            }
            _ => self.store(),
        }
        self.look();
    }

    /// A writer asks for its lock, or gives it back with a change.
    fn write(&mut self) {
        let writer = self.random.below(2 * SEGMENTS);
        let (connection, segment) = (writer + 1, self.segments[(writer / 2) as usize]);
        if !self.waiting.insert(connection) {
            return;
        }
        let stream = match self.grants.remove(&connection) {
            Some(grant) => {
                self.sequence += 1;
                let sequence = self.sequence;
                self.world.release(connection, segment, &grant, sequence)
            }
            None => self.world.send(connection, acquire_writer(segment, 60_000)),
        };
        self.asked.insert(stream, segment);
    }

    /// The store answers something that it was asked, sometimes that it has no room.
    fn store(&mut self) {
        if self.world.asked.is_empty() {
            return;
        }
        let which = self.random.below(self.world.asked.len() as u64) as usize;
        let asked = self.world.asked.remove(which);
        let result = match self.random.below(6) {
            0 => Err(StoreError::Full("no room".to_string())),
            _ => Ok(()),
        };
        if let (Asked::Append(_, group, _), Ok(())) = (&asked, &result) {
            for record in group {
                if let LogBody::Release(release) = &record.body {
                    // The engine gives segments their numbers and their ids in one order.
                    let segment = self.segments[(record.segment_id - FIRST_FENCE - 1) as usize];
                    self.durable.insert(segment, release.version);
                }
            }
        }
        self.world.stored(&asked, result);
    }

    /// Nothing that was sent or is to be saved is newer than the log.
    fn look(&mut self) {
        for sent in std::mem::take(&mut self.world.sent) {
            self.look_at(&sent);
        }
        for asked in &self.world.asked {
            if let Asked::Checkpoint(_, checkpoint) = asked {
                let segment = checkpoint.head.segment_id - FIRST_FENCE - 1;
                let durable = self.durable.get(&self.segments[segment as usize]);
                assert!(checkpoint.head.at.number <= durable.copied().unwrap_or(0));
            }
        }
    }

    fn look_at(&mut self, sent: &Sent) {
        let asked = self.asked.get(&sent.stream).copied();
        if asked.is_some() {
            self.waiting.remove(&sent.connection);
        }
        let (segment, version) = match sent.type_ {
            MessageType::WriterAcquired => {
                let grant: WriterAcquired = sent.body();
                let number = grant.now.number;
                self.grants.insert(sent.connection, grant);
                (asked.expect("it was asked"), number)
            }
            MessageType::WriterReleased => {
                let released: WriterReleased = sent.body();
                let segment = asked.expect("it was asked");
                let version = released.versions[0].number;
                assert_eq!(self.durable.get(&segment), Some(&version), "the log first");
                self.answered.insert(segment, version);
                (segment, version)
            }
            MessageType::Push => {
                let push: Push = sent.body();
                let answered = self.answered.get(&push.segment);
                assert_eq!(answered, Some(&push.now.number), "the writer first");
                (push.segment, push.now.number)
            }
            MessageType::NotRecent => {
                let news: NotRecent = sent.body();
                (news.segment, news.now.number)
            }
            // The store had no room: the writer keeps its lock, and lets it go here.
            MessageType::Error => {
                assert_eq!(sent.error(), ErrorCode::StoreFull);
                return self.abort(sent.connection, asked.expect("it was asked"));
            }
            _ => return,
        };
        let durable = self.durable.get(&segment).copied().unwrap_or(0);
        assert!(version <= durable, "{sent:?} is before the log");
    }

    fn abort(&mut self, connection: u64, segment: u32) {
        let held = self
            .world
            .engine
            .segments
            .get(segment)
            .unwrap()
            .lock
            .last_fence();
        let request = Request::AbortWriter(AbortWriter {
            segment,
            fence: held,
        });
        self.world.send(connection, request);
    }
}

#[test]
fn lock_7_log_then_answer_then_readers_however_the_store_answers() {
    for seed in 1..=20 {
        let mut order = Order::new(seed);
        for _ in 0..400 {
            order.step();
        }
        let versions: u64 = order.answered.values().sum();
        assert!(versions > 30, "seed {seed}: only {versions} were written");
    }
}

#[test]
fn what_the_store_is_asked_comes_before_what_peers_are_sent() {
    let mut world = World::new(true);
    world.hello(1);
    let incoming = Incoming {
        stream: 99,
        request: open("/list", Durability::Memory),
        bulk: Bytes::new(),
        announced_bytes: 0,
        chains: Vec::new(),
    };
    world.engine.request(world.now_ns(), 1, incoming);
    let mut effects = Vec::new();
    world.engine.take_effects(&mut effects);
    assert!(
        matches!(
            effects[..],
            [Effect::Append { .. }, Effect::Send { connection: 1, .. }]
        ),
        "{effects:?}"
    );
}

#[test]
fn the_shell_is_told_when_many_readers_are_yet_to_be_told() {
    for (readers, is_many) in [(1, false), (2, false), (3, true), (READERS, true)] {
        let mut world = World::new(false);
        let segment = world.clients(1 + readers, Durability::Memory);
        for reader in 2..=1 + readers {
            super::notifications::subscribe(&mut world, reader, segment, 1 << 20);
        }
        let grant = world.lock(1, segment);
        let bulk = int_diff(&grant, 7);
        let incoming = Incoming {
            stream: 1000,
            announced_bytes: bulk.len() as u64,
            chains: Vec::new(),
            request: release_writer(segment, &grant, 1, bulk.len()),
            bulk,
        };
        assert!(!world.engine.has_effects());
        world.engine.request(world.now_ns(), 1, incoming);
        assert!(world.engine.has_effects(), "the writer's answer");
        assert_eq!(world.engine.is_about_to_tell(), is_many);
        world.drain();
        assert!(!world.engine.has_effects() && !world.engine.is_about_to_tell());
        let told = world.sent.iter().filter(|s| s.type_ == MessageType::Push);
        assert_eq!(told.count(), readers as usize);
    }
}
