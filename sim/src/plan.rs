//! A run's plan. It is made of the seed before the run, as a list of events that can be made
//! shorter.
//!
//! To add a fault: a variant of [`Fault`], its arm in `Plan::fault`, and its deed in
//! world/faults.rs.

use crate::client::{Ending, Op, Watching, MOST_PUSH_BYTES};
use crate::env::{MS, SECOND};
use crate::flood::Flood;
use crate::network::Side;
use crate::random::Random;
use interweave_wire::protocol::{CoherenceModel, Durability};
use moves::Order;
use space::{Space, SpaceFault};

pub mod moves;
pub mod space;
mod traced;

#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// The process ends; the operating system lives on.
    KillServer {
        down_ns: u64,
    },
    /// Bytes that were not synced may be lost.
    LosePower {
        down_ns: u64,
    },
    /// The process ends within the store's work, after so many calls to the disk.
    EndWithinStore {
        calls: u64,
        loses_power: bool,
        down_ns: u64,
    },
    StopServer {
        down_ns: u64,
    },
    /// The process stands still, or its machine is suspended while the machine's clock continues.
    PauseServer {
        ns: u64,
    },
    /// The machine stands still, and its clock with it.
    SuspendServer {
        ns: u64,
    },
    /// Somebody starts a second server on the same store, with `amid_write` as soon as the first
    /// one has something to write. Without a lock that works, the first one continues for so long.
    SecondServer {
        breaks_lock: bool,
        amid_write: bool,
        ns: u64,
    },
    /// The wall clock of the server's machine is set, so that it is off by so much.
    SetWallClock {
        by_ns: i64,
    },
    KillClient {
        client: usize,
        down_ns: u64,
    },
    PauseClient {
        client: usize,
        ns: u64,
    },
    SuspendClient {
        client: usize,
        ns: u64,
    },
    /// The client that has the segment's writer lock stands still for longer than its lease.
    PauseWriter {
        segment: usize,
        ns: u64,
    },
    Partition {
        client: usize,
        sides: Vec<Side>,
        ns: u64,
    },
    /// The client's connection is reset; these ends are told.
    Reset {
        client: usize,
        told: Vec<Side>,
    },
    /// The client's connection breaks after so many bytes in that direction.
    Cut {
        client: usize,
        to: Side,
        bytes: usize,
    },
    SlowReader {
        client: usize,
        ns: u64,
    },
    /// Strangers come, and hang up after so long.
    Flood {
        flood: Flood,
        ns: u64,
    },
    FullDisk {
        ns: u64,
    },
    FailingWrites {
        one_in: u64,
        ns: u64,
    },
    FailingSync {
        drops_pages: bool,
    },
    /// The process ends, and a bit of a file changes. The catalogue may be lost as well.
    FlipBit {
        down_ns: u64,
        loses_catalogue: bool,
    },
    /// The process ends, and an older copy of the store's directory is put in its place.
    CopyBack {
        down_ns: u64,
    },
    /// The operator denies everybody to write, or all, for so long.
    Deny {
        reads: bool,
        ns: u64,
    },
    /// A fault of a space.
    Space(SpaceFault),
}

impl Fault {
    /// Its name in the report.
    pub fn kind(&self) -> &'static str {
        match self {
            Fault::KillServer { .. } => "KillServer",
            Fault::LosePower { .. } => "LosePower",
            Fault::EndWithinStore { .. } => "EndWithinStore",
            Fault::StopServer { .. } => "StopServer",
            Fault::PauseServer { .. } => "PauseServer",
            Fault::SuspendServer { .. } => "SuspendServer",
            Fault::SecondServer { .. } => "SecondServer",
            Fault::SetWallClock { .. } => "SetWallClock",
            Fault::KillClient { .. } => "KillClient",
            Fault::PauseClient { .. } => "PauseClient",
            Fault::SuspendClient { .. } => "SuspendClient",
            Fault::PauseWriter { .. } => "PauseWriter",
            Fault::Partition { .. } => "Partition",
            Fault::Reset { .. } => "Reset",
            Fault::Cut { .. } => "Cut",
            Fault::SlowReader { .. } => "SlowReader",
            Fault::Flood { .. } => "Flood",
            Fault::FullDisk { .. } => "FullDisk",
            Fault::FailingWrites { .. } => "FailingWrites",
            Fault::FailingSync { .. } => "FailingSync",
            Fault::FlipBit { .. } => "FlipBit",
            Fault::CopyBack { .. } => "CopyBack",
            Fault::Deny { .. } => "Deny",
            Fault::Space(fault) => fault.kind(),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    Do {
        client: usize,
        op: Op,
    },
    Fault(Fault),
    /// Somebody moves segments between the servers of a space.
    Order(Order),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    pub at_ns: u64,
    pub action: Action,
}

/// The first client's recording.
#[derive(Debug, Clone, Copy)]
pub struct Traced {
    /// It says in HELLO that it keeps grants.
    pub keeps_grants: bool,
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    pub clients: usize,
    pub durable: Vec<Durability>,
    habits: Habits,
    pub lease_ms: u32,
    pub log_file_bytes: u64,
    pub delays_ns: (u64, u64),
    /// By so many millionths the clocks are too fast: the server's, and each client's.
    pub drifts_ppm: Vec<i64>,
    pub disk_bytes: usize,
    /// After a sync that fails, what the disk has is shown.
    drops_pages: bool,
    /// All faults end then.
    pub calm_ns: u64,
    pub events: Vec<Planned>,
    /// None: no client is recorded.
    pub traced: Option<Traced>,
    /// None: one server has its store alone.
    pub space: Option<Space>,
}

/// The habits of a seed's clients.
#[derive(Debug, Clone)]
struct Habits {
    /// One write in so many keeps its locks for about a lease.
    long_in: u64,
    /// One write in so many takes several locks.
    several_in: u64,
    /// One op in so many removes a segment; 0: none.
    removes_in: u64,
}

impl Habits {
    fn of(random: &mut Random) -> Habits {
        Habits {
            long_in: *random.pick(&[40, 40, 2]),
            several_in: *random.pick(&[4, 2]),
            removes_in: *random.pick(&[0, 0, 80, 20]),
        }
    }
}

const BUSY_NS: u64 = 30 * SECOND;
const KINDS: u64 = 21;
/// Clocks of real machines are off by a hundredth of that.
const MOST_DRIFT_PPM: u64 = 20_000;

impl Plan {
    /// Each seed has some kinds of faults, and not the others.
    pub fn of(seed: u64) -> Plan {
        let mut random = Random::of(seed, "plan");
        let clients = random.between(2, 5) as usize;
        let all = [Durability::Synced, Durability::Written, Durability::Memory];
        // A SYNCED segment brings what others have written to the disk as well.
        let mut durable = vec![match random.one_in(4) {
            true => *random.pick(&all),
            false => Durability::Synced,
        }];
        for _ in 0..random.between(0, 2) {
            durable.push(*random.pick(&all));
        }
        let lease_ms = *random.pick(&[500, 1_000, 2_000]);
        let most_ppm = *random.pick(&[0, 100, MOST_DRIFT_PPM]);
        let mut drift = || random.between(0, 2 * most_ppm) as i64 - most_ppm as i64;
        let drifts_ppm = (0..=clients + 1).map(|_| drift()).collect();
        let mut plan = Plan {
            seed,
            drifts_ppm,
            clients,
            durable,
            habits: Habits::of(&mut random),
            lease_ms,
            log_file_bytes: *random.pick(&[8 << 10, 64 << 10]),
            delays_ns: (20_000, *random.pick(&[100_000, 2_000_000, 30_000_000])),
            disk_bytes: *random.pick(&[700 << 10, 4 << 20, 64 << 20]),
            drops_pages: random.one_in(2),
            calm_ns: SECOND + BUSY_NS,
            events: Vec::new(),
            traced: None,
            space: None,
        };
        plan.add_operations(&mut random);
        plan.add_faults(&mut random);
        plan.events.sort_by_key(|planned| planned.at_ns);
        plan
    }

    fn add(&mut self, at_ns: u64, action: Action) {
        self.events.push(Planned { at_ns, action });
    }

    fn add_operations(&mut self, random: &mut Random) {
        let pause_ns = random.skewed(4 * MS, 100 * MS);
        let mut at_ns = SECOND;
        loop {
            at_ns += random.between(1, 2 * pause_ns);
            if at_ns >= self.calm_ns {
                return;
            }
            let client = random.below(self.clients as u64) as usize;
            let op = self.operation(random);
            self.add(at_ns, Action::Do { client, op });
        }
    }

    fn operation(&self, random: &mut Random) -> Op {
        let segment = random.below(self.durable.len() as u64) as usize;
        let removes_in = self.habits.removes_in;
        if removes_in > 0 && random.one_in(removes_in) {
            return Op::Remove { segment };
        }
        match random.below(12) {
            0..=5 => self.write(segment, random),
            6..=9 => {
                let models = [
                    CoherenceModel::Full,
                    CoherenceModel::Delta,
                    CoherenceModel::Temporal,
                    CoherenceModel::Diff,
                    CoherenceModel::Strict,
                    CoherenceModel::NullCoherence,
                ];
                let model = *random.pick(&models);
                Op::Read {
                    segment,
                    model,
                    x: bound(model, random),
                    fresh: random.one_in(8),
                }
            }
            10 => {
                let models = [
                    CoherenceModel::Full,
                    CoherenceModel::Delta,
                    CoherenceModel::Diff,
                ];
                let model = *random.pick(&models);
                let watching = Watching {
                    model,
                    x: bound(model, random),
                    push: random.one_in(2),
                    push_bytes: *random.pick(&[400, MOST_PUSH_BYTES]),
                };
                Op::Subscribe { segment, watching }
            }
            _ => Op::Unsubscribe { segment },
        }
    }

    fn write(&self, segment: usize, random: &mut Random) -> Op {
        let mut segments = vec![segment];
        if random.one_in(self.habits.several_in) {
            segments.push(random.below(self.durable.len() as u64) as usize);
            segments.sort_unstable();
            segments.dedup();
        }
        let lease_ns = u64::from(self.lease_ms) * MS;
        let hold_ns = match random.below(10) {
            _ if random.one_in(self.habits.long_in) => random.between(lease_ns / 2, 3 * lease_ns),
            0 => random.skewed(MS, lease_ns / 4),
            _ => random.between(0, 2 * MS),
        };
        let ending = match random.below(20) {
            0 => Ending::Abort,
            1 => Ending::Nothing,
            _ => Ending::Release,
        };
        Op::Write {
            segments,
            hold_ns,
            ending,
        }
    }

    fn add_faults(&mut self, random: &mut Random) {
        let kinds: Vec<u64> = (0..KINDS).filter(|_| random.one_in(3)).collect();
        if kinds.is_empty() {
            return;
        }
        let pause_ns = random.skewed(100 * MS, 5 * SECOND);
        let mut at_ns = SECOND;
        loop {
            // Troubles may come one upon the other.
            at_ns += match random.one_in(4) {
                true => random.skewed(MS / 10, 100 * MS),
                false => random.between(1, 2 * pause_ns),
            };
            if at_ns >= self.calm_ns {
                return;
            }
            let kind = *random.pick(&kinds);
            let client = random.below(self.clients as u64) as usize;
            let fault = self.fault((at_ns, kind), client, random);
            self.add(at_ns, Action::Fault(fault));
        }
    }

    fn fault(&self, (at_ns, kind): (u64, u64), client: usize, random: &mut Random) -> Fault {
        let lease_ns = u64::from(self.lease_ms) * MS;
        let down_ns = random.skewed(10 * MS, 3 * lease_ns);
        let ns = random.skewed(10 * MS, 3 * lease_ns);
        let sides = [Side::Client, Side::Server];
        let some_sides = match random.below(3) {
            0 => vec![Side::Client],
            1 => vec![Side::Server],
            _ => sides.to_vec(),
        };
        match kind {
            0 => Fault::KillServer { down_ns },
            1 => Fault::LosePower { down_ns },
            2 | 3 => Fault::EndWithinStore {
                calls: random.skewed(1, 60),
                loses_power: kind == 3,
                down_ns,
            },
            4 => Fault::StopServer { down_ns },
            5 => Fault::PauseServer { ns },
            6 => Fault::KillClient { client, down_ns },
            7 => Fault::PauseClient { client, ns },
            8 => Fault::Partition {
                client,
                sides: some_sides,
                ns,
            },
            9 => Fault::Reset {
                client,
                told: some_sides,
            },
            10 => Fault::Cut {
                client,
                to: *random.pick(&sides),
                bytes: random.skewed(1, 4096) as usize,
            },
            11 => Fault::SlowReader { client, ns },
            12..=14 => self.fault_of_disk(kind, (down_ns, ns), random),
            15 => {
                // A clock that stands still does not know when the faults are over.
                let ns = ns.min(self.calm_ns - at_ns);
                match random.one_in(2) {
                    true => Fault::SuspendServer { ns },
                    false => Fault::SuspendClient { client, ns },
                }
            }
            16 => Fault::SetWallClock {
                by_ns: random.between(0, 2 * 3_600) as i64 * SECOND as i64 - 3_600 * SECOND as i64,
            },
            17 => Fault::SecondServer {
                breaks_lock: random.one_in(2),
                amid_write: random.one_in(2),
                ns: random.skewed(MS, 100 * MS),
            },
            18 => Fault::CopyBack { down_ns },
            19 => Fault::PauseWriter {
                segment: random.below(self.durable.len() as u64) as usize,
                ns: lease_ns + random.skewed(MS, 2 * lease_ns),
            },
            _ => Fault::Flood {
                flood: Flood::of(random),
                ns,
            },
        }
    }

    fn fault_of_disk(&self, kind: u64, (down_ns, ns): (u64, u64), random: &mut Random) -> Fault {
        match kind {
            12 if random.one_in(2) => Fault::FullDisk { ns },
            12 => Fault::FailingWrites {
                one_in: random.between(1, 5),
                ns,
            },
            13 => Fault::FailingSync {
                drops_pages: self.drops_pages,
            },
            _ => Fault::FlipBit {
                down_ns,
                loses_catalogue: random.one_in(4),
            },
        }
    }
}

/// Versions under Delta, seconds under Temporal, per cent under Diff.
fn bound(model: CoherenceModel, random: &mut Random) -> u64 {
    match model {
        CoherenceModel::Diff => *random.pick(&[0, 2, 10, 40]),
        _ => random.between(0, 3),
    }
}
