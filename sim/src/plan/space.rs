//! The plan of a run of several servers on one database.

use super::{Action, Fault, Habits, Plan, BUSY_NS, MOST_DRIFT_PPM};
use crate::client::{Op, Watching};
use crate::env::{MS, SECOND};
use crate::network::Side;
use crate::random::Random;
use interweave_wire::protocol::{CoherenceModel, Durability};

/// The properties that only a space has.
#[derive(Debug, Clone)]
pub struct Space {
    pub servers: usize,
    /// The lease of each server among the others.
    pub lease_ms: u32,
    /// The longest time that the log takes to the standby.
    pub lag_ns: u64,
    /// About half of the clients keep grants.
    pub keeps_grants: bool,
    /// Segments move, and about half of the clients follow them over the connection that they have.
    pub moves: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SpaceFault {
    /// The process ends.
    KillMember {
        server: usize,
        down_ns: u64,
    },
    StopMember {
        server: usize,
        down_ns: u64,
    },
    /// The process stands still, or its machine is suspended. Its clock counts that.
    PauseMember {
        server: usize,
        ns: u64,
    },
    /// A client and a server cannot reach each other; None: all clients.
    PartMember {
        server: usize,
        client: Option<usize>,
        ns: u64,
    },
    /// The server and the database cannot reach each other.
    PartDatabase {
        server: usize,
        ns: u64,
    },
    /// The answer to the next give or removal comes so much later.
    LateAnswer {
        ns: u64,
    },
    /// The server's connections to the database are reset. Messages on the way may come later.
    CutDatabase {
        server: usize,
    },
    /// The primary ends, and starts again with what is on its disk.
    CrashPrimary {
        down_ns: u64,
    },
    /// The standby becomes the primary. A new standby is there after that time. The old primary is
    /// cut off, or ends, and may not know of it until then.
    Promote {
        old_lives: bool,
        ns: u64,
    },
    /// The primary ends, and the standby becomes the primary after that time.
    FailOver {
        ns: u64,
    },
    /// The log comes to the standby late, or not at all.
    Lag {
        lag_ns: Option<u64>,
        ns: u64,
    },
    /// Somebody cancels the waits for the standby, again and again for so long.
    CancelWaits {
        ns: u64,
    },
    /// Somebody empties the list of standbys for which commits wait, and fills it later.
    EmptyNames {
        ns: u64,
    },
    /// A server of another space has the address for a while.
    Usurp {
        server: usize,
        ns: u64,
    },
}

impl SpaceFault {
    /// Its name in the report.
    pub fn kind(&self) -> &'static str {
        match self {
            SpaceFault::KillMember { .. } => "KillMember",
            SpaceFault::StopMember { .. } => "StopMember",
            SpaceFault::PauseMember { .. } => "PauseMember",
            SpaceFault::PartMember { .. } => "PartMember",
            SpaceFault::PartDatabase { .. } => "PartDatabase",
            SpaceFault::LateAnswer { .. } => "LateAnswer",
            SpaceFault::CutDatabase { .. } => "CutDatabase",
            SpaceFault::CrashPrimary { .. } => "CrashPrimary",
            SpaceFault::Promote { .. } => "Promote",
            SpaceFault::FailOver { .. } => "FailOver",
            SpaceFault::Lag { .. } => "Lag",
            SpaceFault::CancelWaits { .. } => "CancelWaits",
            SpaceFault::EmptyNames { .. } => "EmptyNames",
            SpaceFault::Usurp { .. } => "Usurp",
        }
    }
}

const KINDS: u64 = 18;

/// Kinds that come over the database.
const KINDS_OF_DATABASE: std::ops::RangeInclusive<u64> = 5..=10;

/// Seeds of spaces from this one on have faults of the database alone, quickly one after the other:
/// what is lost at a promotion takes two or three of them within a lease.
pub const DATABASE_SEEDS: u64 = 1_000_000_000;

/// Seeds of moves from this one on have faults shortly after orders and removals alone: the
/// database's answer to them comes late, or a server dies, and a client begins anew.
pub const AIMED_SEEDS: u64 = 2_000_000_000;

impl Plan {
    /// The plan of a space. Each seed has some kinds of faults, and not the others.
    pub fn space(seed: u64) -> Plan {
        Plan::space_of(seed, false)
    }

    pub(super) fn space_of(seed: u64, moves: bool) -> Plan {
        let mut random = Random::of(seed, if moves { "moves" } else { "space" });
        let random = &mut random;
        let (clients, servers) = (random.between(2, 5) as usize, random.between(2, 4) as usize);
        let all = [Durability::Synced, Durability::Written, Durability::Memory];
        let mut durable = vec![Durability::Synced];
        for _ in 0..random.between(0, 3) {
            durable.push(match random.one_in(3) {
                true => *random.pick(&all),
                false => Durability::Synced,
            });
        }
        let lease_ms = *random.pick(&[500, 1_000, 2_000]);
        let most_ppm = *random.pick(&[0, 100, MOST_DRIFT_PPM, MOST_DRIFT_PPM]);
        let mut drift = || random.between(0, 2 * most_ppm) as i64 - most_ppm as i64;
        let machines = clients + servers + 1 + usize::from(moves);
        let drifts_ppm = (0..machines).map(|_| drift()).collect();
        let mut plan = Plan {
            seed,
            drifts_ppm,
            clients,
            durable,
            habits: Habits::of_space(random),
            lease_ms,
            log_file_bytes: 64 << 10,
            delays_ns: (20_000, *random.pick(&[100_000, 2_000_000, 30_000_000])),
            disk_bytes: 4 << 20,
            drops_pages: false,
            calm_ns: SECOND + BUSY_NS,
            events: Vec::new(),
            traced: None,
            space: Some(Space {
                servers,
                lease_ms: *random.pick(&[500, 1_000, 2_000]),
                lag_ns: *random.pick(&[MS, 20 * MS, 100 * MS]),
                // Seeds that find rare planted defects are among the others.
                keeps_grants: moves || seed % 2 == 1 && seed < DATABASE_SEEDS,
                moves,
            }),
        };
        if plan.is_aimed() {
            plan.habits.removes_in = 40;
        }
        plan.add_space_operations(random);
        match plan.is_aimed() {
            true => plan.aim_at_removals(random),
            false => {
                plan.add_space_faults(random, servers);
                plan.empty_names();
            }
        }
        plan.events.sort_by_key(|planned| planned.at_ns);
        plan
    }

    pub(super) fn is_aimed(&self) -> bool {
        let moves = self.space.as_ref().is_some_and(|space| space.moves);
        moves && self.seed >= AIMED_SEEDS
    }

    fn aim_at_removals(&mut self, random: &mut Random) {
        let is_removal = |action: &Action| match action {
            Action::Do { op, .. } => matches!(op, Op::Remove { .. }),
            _ => false,
        };
        let removals = self.events.iter().filter(|p| is_removal(&p.action));
        let removals: Vec<u64> = removals.map(|planned| planned.at_ns).collect();
        for at_ns in removals {
            self.aim(at_ns, random);
        }
    }

    /// Adds faults for what begins then: the answer is late, or a server dies, and a client begins
    /// anew.
    pub(super) fn aim(&mut self, at_ns: u64, random: &mut Random) {
        let space = self.space.as_ref().expect("it is a plan of a space");
        let (servers, lease_ns) = (space.servers as u64, u64::from(space.lease_ms) * MS);
        let soon_ns = at_ns + random.skewed(MS / 10, 100 * MS);
        if soon_ns >= self.calm_ns {
            return;
        }
        let ns = random.skewed(10 * MS, 2 * lease_ns);
        if random.one_in(3) {
            let server = random.below(servers) as usize;
            let down_ns = ns;
            let fault = SpaceFault::KillMember { server, down_ns };
            return self.add(soon_ns, Action::Fault(Fault::Space(fault)));
        }
        let fault = SpaceFault::LateAnswer { ns };
        self.add(at_ns, Action::Fault(Fault::Space(fault)));
        let fault = Fault::KillClient {
            client: random.below(self.clients as u64) as usize,
            down_ns: random.skewed(MS, 50 * MS),
        };
        self.add(soon_ns, Action::Fault(fault));
    }

    fn add_space_operations(&mut self, random: &mut Random) {
        let pause_ns = random.skewed(10 * MS, 100 * MS);
        let mut at_ns = SECOND;
        loop {
            at_ns += random.between(1, 2 * pause_ns);
            if at_ns >= self.calm_ns {
                return;
            }
            let client = random.below(self.clients as u64) as usize;
            // A move ends subscriptions, and many orders move segments.
            let op = match self.is_aimed() && random.one_in(3) {
                true => {
                    let segment = random.below(self.durable.len() as u64) as usize;
                    subscribing(segment, random)
                }
                false => self.space_operation(random),
            };
            self.add(at_ns, Action::Do { client, op });
        }
    }

    fn space_operation(&self, random: &mut Random) -> Op {
        let segment = random.below(self.durable.len() as u64) as usize;
        let removes_in = self.habits.removes_in;
        if removes_in > 0 && random.one_in(removes_in) {
            return Op::Remove { segment };
        }
        match random.below(12) {
            0..=4 => self.write(segment, random),
            5..=9 => {
                let models = [
                    CoherenceModel::Full,
                    CoherenceModel::Full,
                    CoherenceModel::Delta,
                    CoherenceModel::Temporal,
                ];
                Op::Read {
                    segment,
                    model: *random.pick(&models),
                    x: random.between(0, 3),
                    fresh: random.one_in(4),
                }
            }
            10 => subscribing(segment, random),
            _ => Op::Unsubscribe { segment },
        }
    }

    fn add_space_faults(&mut self, random: &mut Random, servers: usize) {
        let (kinds, longest_ns) = match self.seed >= DATABASE_SEEDS {
            true => (KINDS_OF_DATABASE, SECOND),
            false => (0..=KINDS - 1, 5 * SECOND),
        };
        let kinds: Vec<u64> = kinds.filter(|_| random.one_in(3)).collect();
        if kinds.is_empty() {
            return;
        }
        let pause_ns = random.skewed(200 * MS, longest_ns);
        let mut at_ns = SECOND;
        loop {
            // Troubles may come one upon the other.
            at_ns += match random.one_in(4) {
                true => random.skewed(MS / 10, 300 * MS),
                false => random.between(1, 2 * pause_ns),
            };
            if at_ns >= self.calm_ns {
                return;
            }
            let kind = *random.pick(&kinds);
            let server = random.below(servers as u64) as usize;
            let fault = self.space_fault(kind, server, random);
            self.add(at_ns, Action::Fault(fault));
        }
    }

    /// In some seeds somebody changes the list of standbys. The choice is apart from that of the
    /// other faults, which are then the same with and without it.
    fn empty_names(&mut self) {
        let mut random = Random::of(self.seed, "empty names");
        if !random.one_in(6) {
            return;
        }
        let longest_ns = 2 * self.space.as_ref().map_or(0, |s| u64::from(s.lease_ms)) * MS;
        let mut at_ns = SECOND;
        loop {
            at_ns += random.skewed(200 * MS, 8 * SECOND);
            if at_ns >= self.calm_ns {
                return;
            }
            let ns = random.skewed(10 * MS, longest_ns);
            self.add(
                at_ns,
                Action::Fault(Fault::Space(SpaceFault::EmptyNames { ns })),
            );
        }
    }

    fn space_fault(&self, kind: u64, server: usize, random: &mut Random) -> Fault {
        let lease_ns = self.space.as_ref().map_or(0, |s| u64::from(s.lease_ms)) * MS;
        let client = random.below(self.clients as u64) as usize;
        let down_ns = random.skewed(10 * MS, 4 * lease_ns);
        let ns = random.skewed(10 * MS, 4 * lease_ns);
        Fault::Space(match kind {
            0 => SpaceFault::KillMember { server, down_ns },
            1 => SpaceFault::StopMember { server, down_ns },
            2 => SpaceFault::PauseMember { server, ns },
            3 => SpaceFault::PartMember {
                server,
                client: (!random.one_in(3)).then_some(client),
                ns,
            },
            4 => SpaceFault::PartDatabase { server, ns },
            5 => SpaceFault::CutDatabase { server },
            6 => SpaceFault::CrashPrimary { down_ns },
            7 => SpaceFault::Promote {
                old_lives: random.one_in(2),
                ns,
            },
            8 => SpaceFault::FailOver { ns },
            9 => SpaceFault::Lag {
                lag_ns: match random.one_in(2) {
                    true => None,
                    false => Some(random.skewed(10 * MS, SECOND)),
                },
                ns,
            },
            10 => SpaceFault::CancelWaits { ns },
            11 => SpaceFault::Usurp { server, ns },
            other => return self.fault_of_client(other, (client, ns, down_ns), random),
        })
    }

    fn fault_of_client(
        &self,
        kind: u64,
        (client, ns, down_ns): (usize, u64, u64),
        random: &mut Random,
    ) -> Fault {
        match kind {
            12 => Fault::KillClient { client, down_ns },
            13 => Fault::PauseClient { client, ns },
            14 => Fault::Reset {
                client,
                told: vec![Side::Client, Side::Server],
            },
            15 => Fault::Cut {
                client,
                to: *random.pick(&[Side::Client, Side::Server]),
                bytes: random.skewed(1, 4096) as usize,
            },
            16 => Fault::SlowReader { client, ns },
            _ => Fault::PauseWriter {
                segment: random.below(self.durable.len() as u64) as usize,
                ns: u64::from(self.lease_ms) * MS + random.skewed(MS, 2 * ns),
            },
        }
    }
}

fn subscribing(segment: usize, random: &mut Random) -> Op {
    let watching = Watching {
        push: random.one_in(2),
        ..Watching::default()
    };
    Op::Subscribe { segment, watching }
}

impl Habits {
    fn of_space(random: &mut Random) -> Habits {
        Habits {
            long_in: *random.pick(&[40, 40, 4]),
            several_in: *random.pick(&[8, 3]),
            removes_in: *random.pick(&[0, 0, 0, 40]),
        }
    }
}
