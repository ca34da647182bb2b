//! Random clients against the engine: whatever they do, at most one writer is effective, versions
//! follow one another, and copies made of pushes and diffs are those of the master.

use super::*;
use interweave_master::Segment;
use std::collections::HashMap;

/// xorshift64*: the same numbers for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}

/// One client: its copy, its lock, and what it awaits.
struct Player {
    connection: u64,
    session: SessionId,
    copy: Segment,
    stamp: VersionStamp,
    grant: Option<WriterAcquired>,
    sequence: u64,
    /// Diffs of releases that are not answered, by stream.
    releasing: HashMap<u32, Bytes>,
}

impl Player {
    fn update(&mut self, from: u64, diff: &Bytes, now: VersionStamp) {
        assert!(from == 0 || from == self.stamp.number, "a diff that fits");
        assert!(now.number >= self.stamp.number, "no copy goes back");
        self.copy.apply(diff).expect("a good diff");
        self.stamp = now;
    }

    fn take(&mut self, message: &Sent) {
        match message.type_ {
            MessageType::WriterAcquired => {
                let grant: WriterAcquired = message.body();
                if grant.updated {
                    self.update_by(&message.bulk, grant.now.clone());
                }
                self.grant = Some(grant);
            }
            MessageType::ReaderAcquired => {
                let acquired: ReaderAcquired = message.body();
                if acquired.updated {
                    self.update_by(&message.bulk, acquired.now);
                }
            }
            MessageType::Push => {
                let push: Push = message.body();
                self.update(push.from.number, &message.bulk, push.now);
            }
            MessageType::WriterReleased => {
                let released: WriterReleased = message.body();
                let diff = self.releasing.remove(&message.stream);
                let diff = diff.expect("an answer to a release");
                self.update_by(&diff, released.versions[0].clone());
            }
            MessageType::WriterLost => self.grant = None,
            MessageType::Error => {
                self.releasing.remove(&message.stream);
            }
            _ => {}
        }
    }

    fn update_by(&mut self, diff: &Bytes, now: VersionStamp) {
        let from = interweave_wire::Diff::parse(diff).expect("a diff").from;
        self.update(from, diff, now);
    }
}

struct Game {
    world: World,
    random: Random,
    players: Vec<Player>,
    segment: u32,
    last_connection: u64,
    committed: u64,
}

impl Game {
    fn new(seed: u64, durable: Durability) -> Game {
        let mut world = World::new(true);
        let segment = world.clients(4, durable);
        let players = (1..=4).map(|connection| Player {
            connection,
            session: session_of(connection),
            copy: Segment::new(0),
            stamp: stamp(0, 0),
            grant: None,
            sequence: 0,
            releasing: HashMap::new(),
        });
        Game {
            players: players.collect(),
            world,
            random: Random(seed),
            segment,
            last_connection: 4,
            committed: 0,
        }
    }

    /// Gives each message to its player; counts commits by their acknowledgements.
    fn deliver(&mut self) {
        for message in std::mem::take(&mut self.world.sent) {
            if message.type_ == MessageType::WriterReleased {
                let released: WriterReleased = message.body();
                let number = released.versions[0].number;
                assert!(number <= self.committed + 1, "versions follow one another");
                self.committed = self.committed.max(number);
            }
            let to = |p: &&mut Player| p.connection == message.connection;
            if let Some(player) = self.players.iter_mut().find(to) {
                player.take(&message);
            }
        }
    }

    fn step(&mut self) {
        let index = self.random.below(self.players.len() as u64) as usize;
        let (connection, segment) = (self.players[index].connection, self.segment);
        let have = self.players[index].stamp.clone();
        match self.random.below(14) {
            0..=2 => self.acquire_writer(index),
            3..=5 => self.release(index),
            6 => {
                let read = acquire_reader(segment, have, CoherenceModel::Full);
                self.world.send(connection, read);
            }
            7 => {
                let request = Request::Subscribe(Subscribe {
                    segment,
                    have,
                    model: CoherenceModel::Full,
                    x: 0.0,
                    push: true,
                    push_bytes: self.random.below(400),
                });
                self.world.send(connection, request);
            }
            8 => {
                let ms = self.random.below(u64::from(LEASE_MS) / 2);
                let connections: Vec<u64> = self.players.iter().map(|p| p.connection).collect();
                self.world.pass_talking(ms, &connections);
            }
            9..=11 => self.store_some(),
            12 => self.reconnect(index),
            _ => {
                let bytes = self.random.below(2) as usize * (8 << 20);
                let now_ns = self.world.now_ns();
                self.world
                    .engine
                    .backlog(now_ns, connection, backlog(bytes));
                self.world.drain();
            }
        }
        self.deliver();
    }

    fn acquire_writer(&mut self, index: usize) {
        let player = &self.players[index];
        if player.grant.is_some() || !player.releasing.is_empty() {
            return;
        }
        let request = Request::AcquireWriter(AcquireWriter {
            segment: self.segment,
            have: player.stamp.clone(),
            deadline_ms: 3_000,
        });
        self.world.send(player.connection, request);
    }

    fn release(&mut self, index: usize) {
        let player = &mut self.players[index];
        let Some(grant) = player.grant.take() else {
            return;
        };
        player.sequence += 1;
        let diff = int_diff(&grant, player.sequence as i32);
        let request = release_writer(self.segment, &grant, player.sequence, diff.len());
        // The answer may come within the call.
        let stream = self.world.last_stream + 1;
        player.releasing.insert(stream, diff.clone());
        let connection = player.connection;
        assert_eq!(self.world.send_with(connection, request, diff), stream);
    }

    fn store_some(&mut self) {
        if self.world.asked.is_empty() {
            return;
        }
        let asked = self.world.asked.remove(0);
        let result = match (self.random.below(5), &asked) {
            (0, Asked::Append(..)) => Err(StoreError::Full("no room".to_string())),
            _ => Ok(()),
        };
        self.world.stored(&asked, result);
    }

    /// The connection is lost; the session continues over another, and what became of a release is
    /// asked for.
    fn reconnect(&mut self, index: usize) {
        let now_ns = self.world.now_ns();
        let old = self.players[index].connection;
        self.world.engine.disconnected(now_ns, old);
        self.world.drain();
        while !self.world.asked.is_empty() {
            self.store_some();
        }
        self.deliver();
        self.last_connection += 1;
        let connection = self.last_connection;
        let player = &mut self.players[index];
        player.connection = connection;
        let welcome = self.world.hello_as(connection, player.session);
        let session = std::mem::replace(&mut player.session, welcome.session);
        self.world.open(connection, "/list", Durability::Synced);
        if !welcome.resumed {
            player.grant = None;
        }
        let unanswered = player.releasing.drain().next();
        if let Some((_, diff)) = unanswered {
            let request = Request::ResolveRelease(ResolveRelease {
                segment: self.segment,
                session,
                sequence: player.sequence,
            });
            let resolved: ReleaseResolved = self.world.ask(connection, request).body();
            if resolved.committed {
                assert!(resolved.version.number <= self.committed + 1);
                self.committed = self.committed.max(resolved.version.number);
                if player.stamp.number + 1 == resolved.version.number {
                    player.update_by(&diff, resolved.version);
                }
            }
        }
        if !welcome.resumed {
            player.sequence = 0;
        }
    }

    /// At rest every copy, brought up to date, is the master's.
    fn finish(&mut self) {
        while !self.world.asked.is_empty() {
            self.store_some();
        }
        self.deliver();
        for index in 0..self.players.len() {
            let player = &self.players[index];
            let have = player.stamp.clone();
            let read = acquire_reader(self.segment, have, CoherenceModel::Full);
            self.world.send(player.connection, read);
            self.deliver();
        }
        let master = self
            .world
            .engine
            .segments
            .get(self.segment)
            .unwrap()
            .master
            .checkpoint();
        for player in &self.players {
            assert_eq!(player.stamp.number, self.committed);
            let mut expected = Segment::new(0);
            expected.apply(&master).expect("the master's own");
            let values = |s: &Segment| -> Vec<(u64, Option<Vec<u8>>)> {
                let blocks = s.blocks();
                blocks
                    .map(|b| (b.serial, b.slots.map(<[u8]>::to_vec)))
                    .collect()
            };
            assert_eq!(values(&player.copy), values(&expected));
        }
    }
}

#[test]
fn random_clients_see_one_history() {
    for seed in 1..=40 {
        let durable = match seed % 2 {
            0 => Durability::Synced,
            _ => Durability::Memory,
        };
        println!("seed {seed}");
        let mut game = Game::new(seed * 0x9E37_79B9, durable);
        for _ in 0..2000 {
            game.step();
        }
        game.finish();
        assert!(game.committed > 20, "{} versions", game.committed);
    }
}
