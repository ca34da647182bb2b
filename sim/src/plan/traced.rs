//! Plans of short runs in which one client is recorded (spec/vectors/traces/README.md).

use super::{Action, Fault, Habits, Plan, Traced, SECOND};
use crate::client::Op;
use crate::env::MS;
use crate::random::Random;
use interweave_wire::protocol::Durability;

const TRACED_NS: u64 = 2 * SECOND;
/// The kinds of `Plan::fault` that a client can notice, without damage to the store. The client
/// that is recorded is not killed, because its recorder would end with it.
const KINDS: [u64; 9] = [0, 4, 5, 7, 8, 9, 9, 10, 11];

impl Plan {
    /// The first client is recorded, and it has the most to do.
    pub fn traced(seed: u64, keeps_grants: bool) -> Plan {
        let mut random = Random::of(seed, "trace");
        let all = [Durability::Synced, Durability::Synced, Durability::Memory];
        let clients = random.between(2, 3) as usize;
        let mut plan = Plan {
            seed,
            drifts_ppm: vec![0; clients + 2],
            clients,
            durable: vec![*random.pick(&all)],
            habits: Habits {
                long_in: 40,
                several_in: 5,
                removes_in: if random.one_in(4) { 80 } else { 0 },
            },
            lease_ms: *random.pick(&[500, 1_000]),
            delays_ns: (20_000, *random.pick(&[100_000, 2_000_000, 10_000_000])),
            log_file_bytes: 64 << 10,
            disk_bytes: 64 << 20,
            drops_pages: false,
            calm_ns: SECOND + TRACED_NS,
            events: Vec::new(),
            traced: Some(Traced { keeps_grants }),
            space: None,
        };
        plan.add_traced_operations(&mut random);
        plan.add_traced_faults(&mut random);
        plan.events.sort_by_key(|planned| planned.at_ns);
        plan
    }

    fn add_traced_operations(&mut self, random: &mut Random) {
        // Some programs read, some write, and some do either.
        let kind = random.below(3);
        let others_ns = random.skewed(20 * MS, 400 * MS);
        let own_ns = random.between(40 * MS, 120 * MS);
        for client in 0..self.clients {
            let pause_ns = if client == 0 { own_ns } else { others_ns };
            let mut at_ns = SECOND;
            loop {
                at_ns += random.between(1, 2 * pause_ns);
                if at_ns >= self.calm_ns {
                    break;
                }
                let mut op = self.operation(random);
                let is_write = matches!(op, Op::Write { .. });
                if client == 0 && (kind == 0 && is_write || kind == 1 && !is_write) {
                    op = self.operation(random);
                }
                self.add(at_ns, Action::Do { client, op });
            }
        }
    }

    fn add_traced_faults(&mut self, random: &mut Random) {
        let kinds: Vec<u64> = KINDS.into_iter().filter(|_| random.one_in(3)).collect();
        let denies = random.one_in(4);
        let pause_ns = random.skewed(200 * MS, SECOND);
        let mut at_ns = SECOND + random.below(SECOND / 2);
        while at_ns < self.calm_ns {
            let fault = match (denies && random.one_in(2), kinds.is_empty()) {
                (true, _) => Fault::Deny {
                    reads: random.one_in(3),
                    ns: random.skewed(50 * MS, SECOND),
                },
                (false, true) => return,
                (false, false) => {
                    let kind = *random.pick(&kinds);
                    self.fault((at_ns, kind), 0, random)
                }
            };
            self.add(at_ns, Action::Fault(fault));
            at_ns += random.between(1, 2 * pause_ns);
        }
    }
}
