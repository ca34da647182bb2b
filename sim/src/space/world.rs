//! One run of a space: brings each event to whom it concerns, and looks after it whether all
//! promises hold.

mod faults;
mod seats;

use super::client::link::ClientHabits;
use super::client::SpaceClient;
use super::database::{member_of, Database};
use super::mover::Mover;
use crate::client::{Ending, Op};
use crate::clock::Clock;
use crate::env::{Counts, Env, Event, Machine, MS, SECOND};
use crate::history::{violation, Checked, Floor, SegmentHistory};
use crate::network::{Arrival, Item, Network, Side};
use crate::plan::moves::Order;
use crate::plan::space::Space;
use crate::plan::{Action, Plan};
use crate::random::Random;
use crate::trace::Trace;
use crate::world::Outcome;
use interweave_wire::protocol::{CoherenceModel, Durability};
use seats::Seat;
use std::collections::BTreeMap;

const BOTH_SIDES: [Side; 2] = [Side::Client, Side::Server];

pub struct SpaceWorld<'a> {
    plan: &'a Plan,
    space: &'a Space,
    env: Env,
    database: Database,
    seats: Vec<Seat>,
    random: Random,
    clients: Vec<SpaceClient>,
    /// It has the number after the last client.
    mover: Option<Mover>,
    /// The writers that stand still, by the fault's number.
    paused_writers: BTreeMap<usize, usize>,
    /// The faults that have come to their second part.
    begun: BTreeMap<usize, u64>,
    is_calm: bool,
    /// The newest acknowledged versions when the faults were over.
    calm: Vec<Floor>,
}

/// Runs the plan of a space.
pub fn run(plan: &Plan, space: &Space, keeps_lines: bool) -> Outcome {
    let mut world = SpaceWorld::new(plan, space, keeps_lines);
    let violation = world.run().err();
    let env = &mut world.env;
    Outcome {
        violation: violation.map(|violation| (env.world_ns, violation)),
        hash: env.trace.hash(),
        events: env.trace.events(),
        counts: std::mem::take(&mut env.counts),
        lines: env.trace.take_lines(),
        recorded: Vec::new(),
        simulated_ns: env.world_ns,
    }
}

impl SpaceWorld<'_> {
    fn new<'a>(plan: &'a Plan, space: &'a Space, keeps_lines: bool) -> SpaceWorld<'a> {
        let seed = plan.seed;
        let net = Network::new(Random::of(seed, "network"), plan.delays_ns);
        let paths = plan.durable.iter().enumerate();
        let history = paths.map(|(i, durable)| SegmentHistory::new(format!("/s{i}"), *durable));
        let mut random = Random::of(seed, "clocks");
        let mut clock = |ppm| Clock::new(ppm, random.skewed(SECOND, 1 << 50));
        let machines = (0..space.servers).map(Machine::Member);
        let last = plan.clients + usize::from(space.moves);
        let machines = machines.chain((0..=last).map(Machine::Client));
        let clocks = machines.zip(&plan.drifts_ppm);
        let clocks = clocks.map(|(machine, ppm)| (machine, clock(*ppm)));
        let clocks = clocks.collect();
        let env = Env::new(net, Trace::new(keeps_lines), history.collect(), clocks);
        let lease_ns = u64::from(plan.lease_ms) * MS;
        let database = Database::new(Random::of(seed, "database"), space.lag_ns);
        let own_space = database.identity.space;
        let client = |number| {
            let random = Random::of(seed, &format!("client {number}"));
            let about = (lease_ns, plan.durable.clone());
            let mut habit = Random::of(seed, &format!("habit {number}"));
            let habits = ClientHabits {
                follows_moves: space.moves && habit.one_in(2),
                keeps_grants: space.keeps_grants && habit.one_in(2),
            };
            let own = (space.servers, own_space);
            SpaceClient::new(number, random, own, about, habits)
        };
        let mover = || Mover::new(last, Random::of(seed, "mover"), lease_ns);
        SpaceWorld {
            plan,
            space,
            env,
            database,
            seats: (0..space.servers).map(|_| Seat::default()).collect(),
            random: Random::of(seed, "world"),
            // The last one looks at the end.
            clients: (0..=plan.clients).map(client).collect(),
            mover: space.moves.then(mover),
            paused_writers: BTreeMap::new(),
            begun: BTreeMap::new(),
            is_calm: false,
            calm: Vec::new(),
        }
    }

    fn run(&mut self) -> Checked<()> {
        let (durable, lease_ms, space) = (&self.plan.durable, self.plan.lease_ms, self.space);
        self.env
            .say(|| format!("segments {durable:?}, leases of {lease_ms} ms, {space:?}"));
        for member in 0..self.space.servers {
            self.start_after(member, 0);
        }
        for (number, planned) in self.plan.events.iter().enumerate() {
            self.env.at(planned.at_ns, Event::Planned(number));
        }
        self.env.at(self.plan.calm_ns, Event::Calm);
        while let Some(event) = self.env.next() {
            if matches!(event, Event::End) {
                return self.end();
            }
            self.take(event)?;
            self.note_losses();
        }
        violation("simulator", "the end did not come")
    }

    fn take(&mut self, event: Event) -> Checked<()> {
        match event {
            Event::Planned(number) => self.planned(number),
            Event::Over(number) => self.over(number),
            Event::Arrives {
                connection,
                to,
                item,
                sent_ns,
            } => self.arrives(connection, to, item, sent_ns),
            Event::Lost { connection, at } => match at {
                Side::Server => self.bring_to_server_of(connection, event),
                Side::Client => self.bring_to_client_of(connection, event),
            },
            Event::Database(step) => {
                self.database.take(&mut self.env, step);
                Ok(())
            }
            Event::Told { start, told } => self.told(start, told),
            Event::Deadline { start }
            | Event::Write { start }
            | Event::Save { start }
            | Event::Answered { start, .. } => self.bring_to_start(start, event),
            Event::StartMember(member) => {
                self.start(member);
                Ok(())
            }
            Event::Client { client, .. } => self.bring_to_client(client, event),
            Event::Calm => self.begin_calm(),
            Event::Soon => self.look_soon(),
            Event::Rest => self.begin_rest(),
            Event::StartServer | Event::End => Ok(()),
        }
    }

    /// Lets the client act.
    fn with_client<T>(
        &mut self,
        client: usize,
        act: impl FnOnce(&mut SpaceClient, &mut Env) -> T,
    ) -> T {
        self.env.act_as(Some(Machine::Client(client)));
        let done = act(&mut self.clients[client], &mut self.env);
        self.env.act_as(None);
        done
    }

    fn bring_to_client(&mut self, client: usize, event: Event) -> Checked<()> {
        if client > self.plan.clients {
            return self.with_mover(|mover, env| mover.take(env, event));
        }
        self.with_client(client, |client, env| client.take(env, event))
    }

    /// Lets the mover act, if there is one.
    fn with_mover(&mut self, act: impl FnOnce(&mut Mover, &mut Env) -> Checked<()>) -> Checked<()> {
        let Some(mover) = &mut self.mover else {
            return Ok(());
        };
        self.env.act_as(Some(Machine::Client(mover.number)));
        let done = act(mover, &mut self.env);
        self.env.act_as(None);
        done
    }

    fn bring_to_client_of(&mut self, connection: u64, event: Event) -> Checked<()> {
        match self.env.net.client_of(connection) {
            Some(client) => self.bring_to_client(client, event),
            None => Ok(()),
        }
    }

    fn bring_to_server_of(&mut self, connection: u64, event: Event) -> Checked<()> {
        match self.env.net.server_of(connection) {
            Some(member) => self.with_server(member, |server, env| server.take(env, event)),
            None => Ok(()),
        }
    }

    fn bring_to_start(&mut self, start: u64, event: Event) -> Checked<()> {
        let member = member_of(start);
        match self.seats[member].is_of(start) {
            true => self.with_server(member, |server, env| server.take(env, event)),
            false => Ok(()),
        }
    }

    fn arrives(&mut self, connection: u64, to: Side, item: Item, sent_ns: u64) -> Checked<()> {
        let (item, is_cut) = match self.env.net.arrives(connection, to, item, sent_ns) {
            Arrival::Taken(item) => (item, false),
            Arrival::Cut(item) => (item, true),
            Arrival::Nothing => return Ok(()),
        };
        let Some(member) = self.env.net.server_of(connection) else {
            return Ok(());
        };
        let event = Event::Arrives {
            connection,
            to,
            item,
            sent_ns,
        };
        match to {
            Side::Server if self.seats[member].listens() => {
                self.with_server(member, |server, env| server.take(env, event))?;
            }
            Side::Server => self.env.break_connection(connection, &[Side::Client]),
            Side::Client => {
                self.bring_to_client_of(connection, event)?;
                self.with_server(member, |server, env| server.has_room(env, connection))?;
            }
        }
        if is_cut {
            self.env.counts.event("a connection is cut");
            self.env
                .break_connection(connection, &[Side::Client, Side::Server]);
        }
        Ok(())
    }

    /// Takes note of what the database has done to segments. Changes that did not wait for the
    /// standby may be lost.
    fn note_losses(&mut self) {
        for path in self.database.take_removed() {
            if let Some(segment) = self.env.segment_at(&path) {
                self.env.history[segment].removed(self.env.world_ns, true);
            }
        }
        for path in self.database.take_unremoved() {
            if let Some(segment) = self.env.segment_at(&path) {
                self.env.history[segment].unremoved(self.env.world_ns);
            }
        }
        for owned in self.database.take_owned() {
            if let Some(segment) = self.env.segment_at(&owned.path) {
                let now_ns = self.env.world_ns;
                let history = &mut self.env.history[segment];
                history.is_owned_by(now_ns, owned.owner);
                history.gift.row_written(now_ns, &owned);
            }
        }
        if !self.env.database_has_lost {
            return;
        }
        let is_synced = |history: &SegmentHistory| history.durable == Durability::Synced;
        let may_be_damaged = !self.env.history.iter().all(is_synced);
        for history in &mut self.env.history {
            // A server that has known more than is there stops, with all that it has.
            history.may_be_damaged = may_be_damaged;
        }
    }

    fn may_have_lost(&mut self) {
        self.note_losses();
        let now_ns = self.env.world_ns;
        let all = self.env.history.iter_mut();
        // Also a segment in memory, whose creation did not wait either.
        for history in all.filter(|h| h.durable != Durability::Synced) {
            history.may_have_lost(now_ns);
        }
    }

    fn planned(&mut self, number: usize) -> Checked<()> {
        let planned = &self.plan.events[number];
        match &planned.action {
            Action::Do { client, op } => {
                self.with_client(*client, |client, env| client.add(env, op.clone()))
            }
            Action::Fault(fault) => {
                self.env.counts.fault(fault.kind());
                self.env.say(|| format!("fault: {fault:?}"));
                self.begin_fault(number, fault)
            }
            Action::Order(order) => {
                self.env.counts.event(order.kind());
                self.env.say(|| format!("{order:?}"));
                let about = (self.space.servers, self.plan.durable.len());
                self.with_mover(|mover, env| mover.order(env, order, about))
            }
        }
    }

    /// The time after which a segment of a server that has ended is served again.
    fn takeover_ns(&self) -> u64 {
        3 * u64::from(self.space.lease_ms) * MS
    }

    /// All faults have ended. Everybody listens, then writes.
    fn begin_calm(&mut self) -> Checked<()> {
        self.env.say(|| "the faults are over".to_string());
        self.is_calm = true;
        self.env.net.calm();
        for client in 0..self.clients.len() {
            for server in 0..self.space.servers {
                self.env.heal((client, server), &BOTH_SIDES);
            }
        }
        self.database.calm(&mut self.env);
        self.with_mover(|mover, env| {
            mover.fall_silent(env);
            Ok(())
        })?;
        self.begin_calm_of_servers()?;
        self.calm = self.env.history.iter().map(SegmentHistory::floor).collect();
        for client in 0..self.plan.clients {
            self.clients[client].restart();
            self.clients[client].grow_calm();
            self.with_client(client, |client, env| client.resume(env))?;
            for segment in 0..self.plan.durable.len() {
                let op = Op::Write {
                    segments: vec![segment],
                    hold_ns: 0,
                    ending: Ending::Release,
                };
                self.with_client(client, |client, env| client.add(env, op))?;
            }
        }
        self.move_all()?;
        let lease_ns = u64::from(self.plan.lease_ms) * MS;
        let takeover_ns = self.takeover_ns();
        self.env
            .after(2 * lease_ns + takeover_ns + 2 * SECOND, Event::Soon);
        // The clients have more to do than one write each.
        self.env
            .after(8 * lease_ns + takeover_ns + 4 * SECOND, Event::Rest);
        Ok(())
    }

    /// Each segment is moved while everybody writes.
    fn move_all(&mut self) -> Checked<()> {
        if self.mover.is_none() {
            return Ok(());
        }
        let (servers, segments) = (self.space.servers as u64, self.plan.durable.len());
        let able = self.able();
        for segment in 0..segments {
            let order = Order::Move {
                segment,
                from: self.random.below(servers) as usize,
                to: *self.random.pick(&able),
                wait_ms: 2 * self.plan.lease_ms,
            };
            self.with_mover(|mover, env| {
                mover.insists = true;
                mover.order(env, &order, (servers as usize, segments))
            })?;
        }
        Ok(())
    }

    /// Some leases after the faults: each segment was written, and each listener knows of all
    /// versions that were acknowledged before.
    fn look_soon(&mut self) -> Checked<()> {
        for history in &self.env.history {
            // A server that was drained may have ended since, with what it had in memory.
            let is_lost =
                history.durable == Durability::Memory && history.has_lost_since(self.plan.calm_ns);
            if !is_lost && !history.was_written_since(self.plan.calm_ns) {
                let text = format!("{}: nobody could write since the faults", history.path);
                return violation("liveness", text);
            }
        }
        for client in &self.clients[..self.plan.clients] {
            if let Some(segment) = client.is_deaf_to(&self.env, &self.calm) {
                let number = client.number;
                let text = format!("client {number} has not heard of segment {segment}");
                return violation("listeners hear", text);
            }
        }
        Ok(())
    }

    /// Everybody had time to write. Now all servers and the primary end, and the standby has what
    /// was acknowledged.
    fn begin_rest(&mut self) -> Checked<()> {
        for client in &self.clients {
            let number = client.number;
            if !client.is_idle() {
                return violation("liveness", format!("client {number} is not done"));
            }
            if let Some(segment) = client.has_heard_of_all(&self.env) {
                let text = format!("client {number} has not heard of segment {segment}");
                return violation("listeners hear", text);
            }
        }
        if self.mover.as_ref().is_some_and(|mover| !mover.is_idle()) {
            return violation("liveness", "a segment could not be moved");
        }
        for member in 0..self.space.servers {
            self.end_member(member, 10 * MS);
        }
        self.database.promote(&mut self.env, false);
        self.database.attach(&mut self.env);
        self.may_have_lost();
        let auditor = self.plan.clients;
        for segment in 0..self.plan.durable.len() {
            let op = Op::Read {
                segment,
                model: CoherenceModel::Full,
                x: 0,
                fresh: true,
            };
            self.with_client(auditor, |client, env| client.add(env, op))?;
        }
        self.env.after(self.takeover_ns() + 3 * SECOND, Event::End);
        Ok(())
    }

    fn end(&mut self) -> Checked<()> {
        match self.clients[self.plan.clients].is_idle() {
            true => Ok(()),
            false => violation("liveness", "nobody can read at the end"),
        }
    }

    fn counts(&mut self) -> &mut Counts {
        &mut self.env.counts
    }
}
