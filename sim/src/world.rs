//! One run: brings each event to whom it concerns, and looks after it whether all promises hold.

mod faults;

use crate::actor::{self, Actor};
use crate::client::{Ending, Op};
use crate::clock::Clock;
use crate::disk::{Faults, OfProcess, SimDisk};
use crate::env::{Counts, Env, Event, Machine, MS, SECOND};
use crate::flood;
use crate::history::{violation, Checked, Floor, SegmentHistory, Violation};
use crate::network::{Arrival, Item, Network, Side};
use crate::plan::{Action, Fault, Plan, Planned};
use crate::random::Random;
use crate::server::Server;
use crate::trace::Trace;
use interweave_store::StoreError;
use interweave_wire::protocol::{CoherenceModel, Durability};
use std::collections::BTreeMap;

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub violation: Option<(u64, Violation)>,
    /// Of everything that happened. The same for each run of a plan.
    pub hash: u64,
    pub events: u64,
    pub counts: Counts,
    pub lines: Vec<String>,
    /// The trace of the client that was recorded.
    pub recorded: Vec<String>,
    pub simulated_ns: u64,
}

/// How the server's process is to end within the store's work.
#[derive(Debug, Clone, Copy)]
struct Within {
    loses_power: bool,
    down_ns: u64,
}

/// A second server that somebody is about to start.
#[derive(Debug, Clone, Copy)]
struct Second {
    breaks_lock: bool,
    /// As soon as the first one has something to write.
    amid_write: bool,
    /// The fault's.
    number: usize,
    ns: u64,
}

struct World<'a> {
    plan: &'a Plan,
    env: Env,
    disk: SimDisk,
    server: Option<Server>,
    /// A server that does not know yet that another one owns its store.
    older: Option<Server>,
    /// Copies of the store are made while no server runs.
    copies: bool,
    is_starting: bool,
    starts: u64,
    random: Random,
    clients: Vec<Actor>,
    within_store: Option<Within>,
    second: Option<Second>,
    /// The connections of strangers, by the fault's number.
    floods: BTreeMap<usize, Vec<u64>>,
    /// The writers that stand still, by the fault's number.
    paused_writers: BTreeMap<usize, usize>,
    is_calm: bool,
    /// The newest acknowledged versions when the faults were over.
    calm: Vec<Floor>,
}

/// Runs the plan.
pub fn run(plan: &Plan, keeps_lines: bool) -> Outcome {
    if let Some(space) = &plan.space {
        return crate::space::world::run(plan, space, keeps_lines);
    }
    let mut world = World::new(plan, keeps_lines);
    let violation = world.run().err();
    let env = &mut world.env;
    let (_, failures) = world.disk.counts();
    env.counts.add_faults("a call of the disk fails", failures);
    Outcome {
        violation: violation.map(|violation| (env.world_ns, violation)),
        hash: env.trace.hash(),
        events: env.trace.events(),
        counts: std::mem::take(&mut env.counts),
        lines: env.trace.take_lines(),
        recorded: world.clients[0].recorded(),
        simulated_ns: env.world_ns,
    }
}

fn is_start(server: &Option<Server>, start: u64) -> bool {
    server.as_ref().is_some_and(|server| server.start == start)
}

impl World<'_> {
    fn new(plan: &Plan, keeps_lines: bool) -> World<'_> {
        let seed = plan.seed;
        let mut net = Network::new(Random::of(seed, "network"), plan.delays_ns);
        net.set_stuck(flood::STUCK);
        let paths = plan.durable.iter().enumerate();
        let history = paths.map(|(i, durable)| SegmentHistory::new(format!("/s{i}"), *durable));
        let lease_ns = u64::from(plan.lease_ms) * MS;
        let client = |number| {
            let about = (lease_ns, plan.durable.clone());
            if let (Some(traced), 0) = (plan.traced, number) {
                return Actor::traced(seed, number, traced, about);
            }
            Actor::new(seed, (number, number == plan.clients), about)
        };
        let is_put_back =
            |planned: &Planned| matches!(planned.action, Action::Fault(Fault::CopyBack { .. }));
        let mut random = Random::of(seed, "clocks");
        let mut clock = |ppm| Clock::new(ppm, random.skewed(SECOND, 1 << 50));
        let machines = std::iter::once(Machine::Server);
        let machines = machines.chain((0..=plan.clients).map(Machine::Client));
        let clocks = machines.zip(&plan.drifts_ppm);
        let clocks = clocks.map(|(machine, ppm)| (machine, clock(*ppm)));
        let clocks = clocks.collect();
        let mut env = Env::new(net, Trace::new(keeps_lines), history.collect(), clocks);
        env.chunk_bytes = actor::chunk_bytes(plan);
        World {
            plan,
            env,
            disk: SimDisk::new(Random::of(seed, "disk"), plan.disk_bytes),
            server: None,
            older: None,
            copies: plan.events.iter().any(is_put_back),
            is_starting: false,
            starts: 0,
            random: Random::of(seed, "world"),
            // The last one looks at the end.
            clients: (0..=plan.clients).map(client).collect(),
            within_store: None,
            second: None,
            floods: BTreeMap::new(),
            paused_writers: BTreeMap::new(),
            is_calm: false,
            calm: Vec::new(),
        }
    }

    fn run(&mut self) -> Checked<()> {
        let (durable, lease_ms) = (&self.plan.durable, self.plan.lease_ms);
        self.env
            .say(|| format!("segments {durable:?}, leases of {lease_ms} ms"));
        self.start_after(0);
        for (number, planned) in self.plan.events.iter().enumerate() {
            self.env.at(planned.at_ns, Event::Planned(number));
        }
        self.env.at(self.plan.calm_ns, Event::Calm);
        while let Some(event) = self.env.next() {
            if matches!(event, Event::End) {
                return self.end();
            }
            // A trace ends here. The checkers that follow do not know of operators who deny things.
            if matches!(event, Event::Calm) && self.plan.traced.is_some() {
                return Ok(());
            }
            self.take(event)?;
            self.look_at_the_server()?;
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
                Side::Server => {
                    self.bring_to_server(event);
                    Ok(())
                }
                Side::Client => self.bring_to_client_of(connection, event),
            },
            Event::Deadline { start }
            | Event::Write { start }
            | Event::Save { start }
            | Event::Answered { start, .. } => {
                if is_start(&self.server, start) {
                    self.bring_to_server(event);
                } else if let Some(older) = self.older.as_mut().filter(|s| s.start == start) {
                    self.env.act_as(Some(Machine::Server));
                    older.take(&mut self.env, event);
                    self.env.act_as(None);
                }
                Ok(())
            }
            Event::StartServer => self.start_server(),
            // It has its store alone.
            Event::Database(_) | Event::Told { .. } | Event::StartMember(_) => Ok(()),
            Event::Client { client, .. } => self.bring_to_client(client, event),
            Event::Calm => self.begin_calm(),
            Event::Soon => self.look_soon(),
            Event::Rest => self.begin_rest(),
            Event::End => Ok(()),
        }
    }

    /// Lets the server act, if it is there.
    fn with_server(&mut self, act: impl FnOnce(&mut Server, &mut Env)) {
        if let Some(server) = &mut self.server {
            self.env.act_as(Some(Machine::Server));
            act(server, &mut self.env);
            self.env.act_as(None);
        }
    }

    /// Lets the client act.
    fn with_client<T>(&mut self, client: usize, act: impl FnOnce(&mut Actor, &mut Env) -> T) -> T {
        self.env.act_as(Some(Machine::Client(client)));
        let done = act(&mut self.clients[client], &mut self.env);
        self.env.act_as(None);
        done
    }

    fn bring_to_server(&mut self, event: Event) {
        self.with_server(|server, env| server.take(env, event));
    }

    fn bring_to_client(&mut self, client: usize, event: Event) -> Checked<()> {
        self.with_client(client, |client, env| client.take(env, event))
    }

    fn bring_to_client_of(&mut self, connection: u64, event: Event) -> Checked<()> {
        let client = self.env.net.client_of(connection);
        // Strangers do not look at what comes.
        match client.filter(|client| *client < self.clients.len()) {
            Some(client) => self.bring_to_client(client, event),
            None => Ok(()),
        }
    }

    fn arrives(&mut self, connection: u64, to: Side, item: Item, sent_ns: u64) -> Checked<()> {
        let (item, is_cut) = match self.env.net.arrives(connection, to, item, sent_ns) {
            Arrival::Taken(item) => (item, false),
            Arrival::Cut(item) => (item, true),
            Arrival::Nothing => return Ok(()),
        };
        let event = Event::Arrives {
            connection,
            to,
            item,
            sent_ns,
        };
        let is_deaf = self.older.as_ref().is_some_and(|s| s.has(connection));
        match to {
            Side::Server if is_deaf => {}
            Side::Server if self.server.is_some() => self.bring_to_server(event),
            Side::Server => self.env.break_connection(connection, &[Side::Client]),
            Side::Client => {
                self.bring_to_client_of(connection, event)?;
                self.with_server(|server, env| server.has_room(env, connection));
            }
        }
        if is_cut {
            self.env.counts.event("a connection is cut");
            self.env
                .break_connection(connection, &[Side::Client, Side::Server]);
        }
        Ok(())
    }

    /// After each event: has the server ended?
    fn look_at_the_server(&mut self) -> Checked<()> {
        self.look_at_the_older_server();
        let Some(server) = &mut self.server else {
            return Ok(());
        };
        self.env.act_as(Some(Machine::Server));
        let checked = server.check(self.env.now_ns);
        self.env.act_as(None);
        // An operator who denies things takes locks early [RULE-7].
        if self.plan.traced.is_none() {
            checked?;
        }
        if self.disk.has_ended() {
            let ending = self.within_store.take().unwrap_or(Within {
                loses_power: false,
                down_ns: 0,
            });
            self.end_server(ending.loses_power, ending.down_ns);
        } else if let Some(is_saved) = server.has_stopped() {
            self.env
                .say(|| format!("server: it has stopped, saved: {is_saved}"));
            if let Some(server) = self.server.take() {
                server.end(&mut self.env);
            }
            let has_lost = self.disk.take_has_lost();
            if !is_saved || has_lost {
                self.may_have_lost(has_lost);
            }
            let down_ns = self.short_pause();
            self.start_after(down_ns);
        } else if server.has_lost_store() {
            self.env.say(|| "server: its store is lost".to_string());
            self.end_server(false, 10 * MS);
        } else if let Some(why) = server.has_stopped_store() {
            self.env
                .say(|| format!("server: an operator ends it: {why}"));
            let down_ns = self.short_pause();
            self.end_server(false, down_ns);
        }
        self.look_for_a_second_server()
    }

    fn look_at_the_older_server(&mut self) {
        let is_over = |older: &Server| older.has_lost_store() || older.has_stopped().is_some();
        if self.older.as_ref().is_some_and(is_over) {
            self.end_older_server();
        }
    }

    fn look_for_a_second_server(&mut self) -> Checked<()> {
        let Some(server) = &self.server else {
            return Ok(());
        };
        let has_come = |second: &Second| !second.amid_write || server.has_unwritten();
        match self.second.filter(has_come) {
            Some(second) => {
                self.second = None;
                self.start_second(second)
            }
            None => Ok(()),
        }
    }

    fn end_older_server(&mut self) {
        if let Some(older) = self.older.take() {
            self.env.say(|| "server: the older one ends".to_string());
            self.disk.end(older.process);
            older.end(&mut self.env);
        }
    }

    /// The time until the server starts again: short once the faults are over.
    fn short_pause(&mut self) -> u64 {
        let down_ns = self.random.skewed(10 * MS, SECOND);
        match self.is_calm {
            true => 10 * MS,
            false => down_ns,
        }
    }

    fn start_after(&mut self, down_ns: u64) {
        if !std::mem::replace(&mut self.is_starting, true) {
            self.env.after(down_ns, Event::StartServer);
        }
    }

    fn start_server(&mut self) -> Checked<()> {
        self.is_starting = false;
        if self.server.is_some() {
            return Ok(());
        }
        if self.copies && self.random.one_in(3) {
            self.disk.copy();
        }
        let of_process = self.disk.of_new_process();
        match self.make_server(of_process) {
            Ok(server) => {
                self.env.say(|| "server: it has started".to_string());
                self.server = Some(server);
                Ok(())
            }
            Err(error) if self.is_calm => {
                violation("the server starts", format!("it does not start: {error}"))
            }
            Err(error) => {
                self.env
                    .say(|| format!("server: it does not start: {error}"));
                let ending = self.within_store.take();
                if ending.is_some_and(|ending| ending.loses_power) {
                    self.disk.lose_power();
                    self.may_have_lost(true);
                }
                self.start_after(200 * MS);
                Ok(())
            }
        }
    }

    fn make_server(&mut self, of_process: OfProcess) -> Result<Server, StoreError> {
        self.starts += 1;
        self.env.counts.starts += 1;
        let random = Random::of(self.plan.seed, &format!("server {}", self.starts));
        let about = (self.starts, self.plan);
        self.env.act_as(Some(Machine::Server));
        let made = Server::begin(&mut self.env, (&self.disk, of_process), about, random);
        self.env.act_as(None);
        made
    }

    /// Somebody starts a second server on the store of the one that runs. The store's lock refuses
    /// it. Without a lock that works, the second one owns the store, and the first learns of it
    /// when it writes [STORE-1].
    fn start_second(&mut self, second: Second) -> Checked<()> {
        let breaks_lock = second.breaks_lock;
        if self.server.is_none() || self.older.is_some() {
            return Ok(());
        }
        let of_process = self.disk.of_further_process();
        let process = of_process.process;
        if breaks_lock {
            self.disk.let_in(process);
        }
        match self.make_server(of_process) {
            Ok(_) if !breaks_lock => {
                let text = "a second server started on the store of another that runs";
                violation("one owner", text)
            }
            Ok(made) => {
                self.env
                    .say(|| "server: a second one owns the store".to_string());
                self.disk.is_of_server(process);
                self.within_store = None;
                self.older = self.server.replace(made);
                if let Some(older) = &mut self.older {
                    older.is_replaced(&self.env);
                }
                // It reads what the disk has. The first one has more, until it looks.
                let has_lost = self.disk.take_has_lost();
                self.may_have_lost(has_lost);
                self.env.after(second.ns, Event::Over(second.number));
                Ok(())
            }
            Err(error) => {
                self.env
                    .say(|| format!("server: a second one does not start: {error}"));
                self.disk.end(process);
                Ok(())
            }
        }
    }

    /// An older state of the store's directory is put in its place [COH-11].
    fn copy_back(&mut self, down_ns: u64) {
        self.end_server(false, down_ns);
        if self.server.is_some() || !self.disk.put_copy_back() {
            return;
        }
        self.env
            .say(|| "disk: an older copy is put back".to_string());
        let now_ns = self.env.world_ns;
        let all = self.env.history.iter_mut();
        all.for_each(|history| history.put_back(now_ns));
    }

    fn end_server(&mut self, loses_power: bool, down_ns: u64) {
        self.end_older_server();
        let Some(server) = self.server.take() else {
            return;
        };
        self.env.say(|| {
            let how = if loses_power {
                "its power is lost"
            } else {
                "it is killed"
            };
            format!("server: {how}")
        });
        // Its writes that wait do not come to the disk.
        self.disk.end(server.process);
        server.end(&mut self.env);
        self.within_store = None;
        let has_lost = self.disk.take_has_lost();
        if loses_power {
            self.disk.lose_power();
        }
        self.may_have_lost(loses_power || has_lost);
        self.start_after(down_ns);
    }

    /// `written`: also what the operating system had.
    fn may_have_lost(&mut self, written: bool) {
        let now_ns = self.env.world_ns;
        for history in &mut self.env.history {
            match history.durable {
                Durability::Memory => history.may_have_lost(now_ns),
                Durability::Written if written => history.may_have_lost(now_ns),
                Durability::Written | Durability::Synced => {}
            }
        }
    }

    /// Segments may be stopped because what is stored is damaged.
    fn may_damage(&mut self, may: bool) {
        for history in &mut self.env.history {
            history.may_be_damaged |= may;
        }
    }

    fn planned(&mut self, number: usize) -> Checked<()> {
        let planned = &self.plan.events[number];
        match &planned.action {
            Action::Do { client, op } => {
                self.with_client(*client, |client, env| client.add(env, op.clone()))
            }
            Action::Order(_) => Ok(()),
            Action::Fault(fault) => {
                self.env.counts.fault(fault.kind());
                self.env.say(|| format!("fault: {fault:?}"));
                self.begin_fault(number, fault);
                Ok(())
            }
        }
    }

    fn resume_server(&mut self) {
        let running = [self.older.as_mut(), self.server.as_mut()];
        self.env.act_as(Some(Machine::Server));
        for server in running.into_iter().flatten().filter(|s| s.is_paused) {
            server.resume(&mut self.env);
        }
        self.env.act_as(None);
    }

    /// All faults have ended. Everybody listens, then writes.
    fn begin_calm(&mut self) -> Checked<()> {
        self.env.say(|| "the faults are over".to_string());
        self.is_calm = true;
        self.within_store = None;
        self.second = None;
        self.disk.end_after(u64::MAX);
        self.disk.faults(|faults| *faults = Faults::default());
        self.env.net.calm();
        for connections in std::mem::take(&mut self.floods).into_values() {
            flood::end(&mut self.env, &connections);
        }
        for client in 0..self.clients.len() {
            self.env.heal((client, 0), &[Side::Client, Side::Server]);
        }
        self.end_older_server();
        self.resume_server();
        if self.server.is_none() {
            self.env.after(0, Event::StartServer);
        }
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
        let lease_ns = u64::from(self.plan.lease_ms) * MS;
        let patience_ns = self.clients.iter().map(Actor::patience_ns).max();
        let patience_ns = patience_ns.unwrap_or(0);
        self.env
            .after(2 * lease_ns + SECOND + patience_ns, Event::Soon);
        // The clients have more to do than one write each.
        self.env
            .after(8 * lease_ns + 2 * SECOND + patience_ns, Event::Rest);
        Ok(())
    }

    /// Two leases, a second and the clients' patience after the faults: each segment was written,
    /// and each listener knows of all versions that were acknowledged before.
    fn look_soon(&mut self) -> Checked<()> {
        for history in &self.env.history {
            if !history.is_damaged && !history.was_written_since(self.plan.calm_ns) {
                let text = format!("{}: nobody could write since the faults", history.path);
                return violation("liveness", text);
            }
        }
        for client in &self.clients[..self.plan.clients] {
            if let Some(segment) = client.is_deaf_to(&self.env, &self.calm) {
                let number = client.number();
                let text = format!("client {number} has not heard of segment {segment}");
                return violation("listeners hear", text);
            }
        }
        Ok(())
    }

    /// Everybody had time to write.
    fn begin_rest(&mut self) -> Checked<()> {
        for client in &self.clients {
            if !client.is_idle() {
                let text = format!("client {} is not done", client.number());
                return violation("liveness", text);
            }
            if let Some(segment) = client.has_heard_of_all(&self.env) {
                let text = format!(
                    "client {} has not heard of segment {segment}",
                    client.number()
                );
                return violation("listeners hear", text);
            }
        }
        self.end_server(true, 10 * MS);
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
        self.env.after(2 * SECOND, Event::End);
        Ok(())
    }

    fn end(&mut self) -> Checked<()> {
        match self.clients[self.plan.clients].is_idle() {
            true => Ok(()),
            false => violation("liveness", "nobody can read at the end"),
        }
    }
}
