//! The workers of an embedded store: they take turns, and the disk's work takes time.

use crate::disk::{OfProcess, SimDisk};
use crate::env::{Env, Event, MS};
use crate::random::Random;
use interweave_store::disk::Disk;
use interweave_store::{
    EmbeddedStore, Identity, Options, RecoveredSegment, SegmentStore, StoreError, Threads, Turns,
};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// A store, its workers, and the segments that it has.
type Opened = (Box<dyn SegmentStore>, Workers, Vec<RecoveredSegment>);

pub struct Workers {
    turns: Turns,
    disk: SimDisk,
    clock: Arc<AtomicU64>,
    /// When they have their next turns.
    writes_at_ns: u64,
    saves_at_ns: u64,
    /// They are busy until then.
    writes_until_ns: u64,
    saves_until_ns: u64,
}

/// The clock of the store: the world's time, and what the disk has taken of it since.
fn options(clock: &Arc<AtomicU64>, log_file_bytes: u64, random: &mut Random) -> Options {
    let begin = base();
    let now = Arc::clone(clock);
    let chance = Mutex::new(Random::of(random.next(), "store"));
    let identity = Identity {
        server: random.bytes(),
        space: random.bytes(),
    };
    Options {
        log_file_bytes,
        now: Arc::new(move || begin + Duration::from_nanos(now.load(Ordering::Relaxed))),
        identity: Some(identity),
        random: Arc::new(move || {
            let mut chance = chance.lock().unwrap_or_else(PoisonError::into_inner);
            chance.next()
        }),
        threads: Threads::OfCaller,
        ..Options::default()
    }
}

/// Some moment. Only differences to it count.
pub fn base() -> Instant {
    static BASE: OnceLock<Instant> = OnceLock::new();
    *BASE.get_or_init(Instant::now)
}

impl Workers {
    /// Opens what the disk has.
    pub fn open(
        env: &Env,
        disk: &SimDisk,
        of_process: OfProcess,
        (log_file_bytes, random): (u64, &mut Random),
    ) -> Result<Opened, StoreError> {
        let clock = Arc::new(AtomicU64::new(env.now_ns));
        let options = options(&clock, log_file_bytes, random);
        let of_process: Arc<dyn Disk> = Arc::new(of_process);
        let (store, turns, found) = EmbeddedStore::open_in_turns(&of_process, options)?;
        let workers = Workers {
            turns,
            disk: disk.clone(),
            clock,
            writes_at_ns: u64::MAX,
            saves_at_ns: u64::MAX,
            writes_until_ns: env.now_ns + disk.take_cost_ns(),
            saves_until_ns: 0,
        };
        Ok((Box::new(store), workers, found))
    }

    /// The writer has something to do.
    pub fn plan_writing(&mut self, env: &mut Env, start: u64, random: &mut Random) {
        // More may come meanwhile, and is written together.
        let ns = random.skewed(1_000, 200_000);
        self.write_at(env, start, self.writes_until_ns.max(env.now_ns + ns));
    }

    fn write_at(&mut self, env: &mut Env, start: u64, at_ns: u64) {
        if at_ns < self.writes_at_ns {
            self.writes_at_ns = at_ns;
            env.at(at_ns, Event::Write { start });
        }
    }

    pub fn plan_saving(&mut self, env: &mut Env, start: u64) {
        let at_ns = self.saves_until_ns.max(env.now_ns + 1_000);
        if at_ns < self.saves_at_ns {
            self.saves_at_ns = at_ns;
            env.at(at_ns, Event::Save { start });
        }
    }

    /// A turn of the writer. Returns whether it has done something, and until when that takes.
    /// None: it is not its turn.
    pub fn write(&mut self, env: &Env) -> Option<(bool, u64)> {
        if env.now_ns < self.writes_at_ns {
            return None;
        }
        self.writes_at_ns = u64::MAX;
        self.clock.store(env.now_ns, Ordering::Relaxed);
        let has_worked = self.turns.write();
        self.writes_until_ns = env.now_ns + self.disk.take_cost_ns();
        Some((has_worked, self.writes_until_ns))
    }

    /// The same of the saver.
    pub fn save(&mut self, env: &Env) -> Option<(bool, u64)> {
        if env.now_ns < self.saves_at_ns {
            return None;
        }
        self.saves_at_ns = u64::MAX;
        self.clock.store(env.now_ns, Ordering::Relaxed);
        let has_worked = self.turns.save();
        self.saves_until_ns = env.now_ns + self.disk.take_cost_ns();
        Some((has_worked, self.saves_until_ns))
    }

    /// The store has something to do later although nothing is asked of it.
    pub fn wake(&mut self, env: &mut Env, start: u64) {
        let Some(at) = self.turns.next_at() else {
            return;
        };
        let at_ns = at.duration_since(base()).as_nanos() as u64;
        self.write_at(env, start, at_ns.max(env.now_ns + MS));
    }
}
