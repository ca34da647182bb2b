//! The orders of a run in which segments move between the servers of a space.

use super::space::SpaceFault;
use super::{Action, Fault, Plan};
use crate::env::{MS, SECOND};
use crate::random::Random;

/// An order to the mover.
#[derive(Debug, Clone, PartialEq)]
pub enum Order {
    /// The segment is to go to that server. The server `from` is asked first who has it.
    Move {
        segment: usize,
        from: usize,
        to: usize,
        wait_ms: u32,
    },
    /// The server is to claim nothing more, and its segments are to go to others.
    Drain { server: usize, wait_ms: u32 },
    /// The mover hangs up, and leaves what it has begun.
    HangUp,
}

impl Order {
    /// Its name in the report.
    pub fn kind(&self) -> &'static str {
        match self {
            Order::Move { .. } => "an order to move",
            Order::Drain { .. } => "an order to drain",
            Order::HangUp => "the mover hangs up",
        }
    }
}

impl Plan {
    /// The plan of a space in which segments move.
    pub fn moves(seed: u64) -> Plan {
        let mut plan = Plan::space_of(seed, true);
        let mut random = Random::of(seed, "orders");
        plan.add_orders(&mut random);
        plan.events.sort_by_key(|planned| planned.at_ns);
        plan
    }

    fn add_orders(&mut self, random: &mut Random) {
        let servers = self.space.as_ref().map_or(1, |space| space.servers) as u64;
        let pause_ns = random.skewed(50 * MS, 2 * SECOND);
        let drains_in = *random.pick(&[0, 10, 40]);
        let hangs_up_in = *random.pick(&[0, 4, 20]);
        let mut at_ns = SECOND;
        loop {
            at_ns += random.between(1, 2 * pause_ns);
            if at_ns >= self.calm_ns {
                return;
            }
            let server = random.below(servers) as usize;
            let wait_ms = random.skewed(10, 4 * u64::from(self.lease_ms)) as u32;
            if drains_in > 0 && random.one_in(drains_in) {
                self.add(at_ns, Action::Order(Order::Drain { server, wait_ms }));
                self.add_start(at_ns, server, random);
                continue;
            }
            let segment = random.below(self.durable.len() as u64) as usize;
            let from = random.below(servers) as usize;
            let order = |from| Order::Move {
                segment,
                from,
                to: server,
                wait_ms,
            };
            self.add(at_ns, Action::Order(order(from)));
            if self.is_aimed() && random.one_in(2) {
                self.aim(at_ns, random);
                // The next owner claims it, while the one before knows nothing yet.
                let again_ns = at_ns + random.between(20 * MS, 200 * MS);
                if again_ns < self.calm_ns {
                    self.add(again_ns, Action::Order(Order::HangUp));
                    self.add(again_ns + 1, Action::Order(order(server)));
                }
            }
            if hangs_up_in > 0 && random.one_in(hangs_up_in) {
                let soon_ns = at_ns + random.skewed(MS / 10, 300 * MS);
                self.add(soon_ns, Action::Order(Order::HangUp));
            }
        }
    }

    /// A server that was drained is started again, mostly in order.
    fn add_start(&mut self, at_ns: u64, server: usize, random: &mut Random) {
        let at_ns = at_ns + random.skewed(10 * MS, 8 * SECOND);
        let down_ns = random.skewed(10 * MS, SECOND);
        let fault = match random.one_in(4) {
            true => SpaceFault::KillMember { server, down_ns },
            false => SpaceFault::StopMember { server, down_ns },
        };
        if at_ns < self.calm_ns {
            self.add(at_ns, Action::Fault(Fault::Space(fault)));
        }
    }
}
