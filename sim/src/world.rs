//! One run: brings each event to whom it concerns, and looks after it whether all promises hold.

use crate::actor::Actor;
use crate::client::{Ending, Op};
use crate::disk::{Faults, SimDisk};
use crate::env::{Counts, Env, Event, MS, SECOND};
use crate::history::{violation, Checked, Floor, SegmentHistory, Violation};
use crate::network::{Arrival, Item, Network, Side};
use crate::plan::{Action, Fault, Plan};
use crate::random::Random;
use crate::server::Server;
use crate::trace::Trace;
use interweave_wire::protocol::{CoherenceModel, Durability};

/// How a run ended.
#[derive(Debug)]
pub struct Outcome {
    pub violation: Option<(u64, Violation)>,
    /// Of everything that happened. The same for each run of a plan.
    pub hash: u64,
    pub events: u64,
    pub counts: Counts,
    pub lines: Vec<String>,
    pub simulated_ns: u64,
}

/// How the server's process is to end within the store's work.
#[derive(Debug, Clone, Copy)]
struct Within {
    loses_power: bool,
    down_ns: u64,
}

struct World<'a> {
    plan: &'a Plan,
    env: Env,
    disk: SimDisk,
    server: Option<Server>,
    is_starting: bool,
    starts: u64,
    random: Random,
    clients: Vec<Actor>,
    within_store: Option<Within>,
    is_calm: bool,
    /// The newest acknowledged versions when the faults were over.
    calm: Vec<Floor>,
}

/// Runs the plan.
pub fn run(plan: &Plan, keeps_lines: bool) -> Outcome {
    let mut world = World::new(plan, keeps_lines);
    let violation = world.run().err();
    let env = &mut world.env;
    let (_, failures) = world.disk.counts();
    env.counts.faults += failures;
    Outcome {
        violation: violation.map(|violation| (env.now_ns, violation)),
        hash: env.trace.hash(),
        events: env.trace.events(),
        counts: env.counts,
        lines: env.trace.take_lines(),
        simulated_ns: env.now_ns,
    }
}

impl World<'_> {
    fn new(plan: &Plan, keeps_lines: bool) -> World<'_> {
        let seed = plan.seed;
        let net = Network::new(Random::of(seed, "network"), plan.delays_ns);
        let paths = plan.durable.iter().enumerate();
        let history = paths.map(|(i, durable)| SegmentHistory::new(format!("/s{i}"), *durable));
        let lease_ns = u64::from(plan.lease_ms) * MS;
        let client = |number| {
            let about = (lease_ns, plan.durable.clone());
            Actor::new(seed, (number, number == plan.clients), about)
        };
        World {
            plan,
            env: Env::new(net, Trace::new(keeps_lines), history.collect()),
            disk: SimDisk::new(Random::of(seed, "disk"), plan.disk_bytes),
            server: None,
            is_starting: false,
            starts: 0,
            random: Random::of(seed, "world"),
            // The last one looks at the end.
            clients: (0..=plan.clients).map(client).collect(),
            within_store: None,
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
                if self
                    .server
                    .as_ref()
                    .is_some_and(|server| server.start == start)
                {
                    self.bring_to_server(event);
                }
                Ok(())
            }
            Event::StartServer => self.start_server(),
            Event::Client { client, .. } => self.clients[client].take(&mut self.env, event),
            Event::Calm => self.begin_calm(),
            Event::Rest => self.begin_rest(),
            Event::End => Ok(()),
        }
    }

    fn bring_to_server(&mut self, event: Event) {
        if let Some(server) = &mut self.server {
            server.take(&mut self.env, event);
        }
    }

    fn bring_to_client_of(&mut self, connection: u64, event: Event) -> Checked<()> {
        match self.env.net.client_of(connection) {
            Some(client) => self.clients[client].take(&mut self.env, event),
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
        match (to, &mut self.server) {
            (Side::Server, Some(server)) => server.take(&mut self.env, event),
            (Side::Server, None) => self.env.break_connection(connection, &[Side::Client]),
            (Side::Client, _) => {
                self.bring_to_client_of(connection, event)?;
                if let Some(server) = &mut self.server {
                    server.has_room(&mut self.env, connection);
                }
            }
        }
        if is_cut {
            self.env.counts.faults += 1;
            self.env
                .break_connection(connection, &[Side::Client, Side::Server]);
        }
        Ok(())
    }

    /// After each event: has the server ended?
    fn look_at_the_server(&mut self) -> Checked<()> {
        let Some(server) = &self.server else {
            return Ok(());
        };
        if self.disk.has_ended() {
            let ending = self.within_store.take().unwrap_or(Within {
                loses_power: false,
                down_ns: 0,
            });
            self.end_server(ending.loses_power, ending.down_ns);
        } else if let Some(is_saved) = server.has_stopped() {
            self.env
                .say(|| format!("server: it has stopped, saved: {is_saved}"));
            let down_ns = self.random.skewed(10 * MS, SECOND);
            if let Some(server) = self.server.take() {
                server.end(&mut self.env);
            }
            let has_lost = self.disk.take_has_lost();
            if !is_saved || has_lost {
                self.may_have_lost(has_lost);
            }
            self.start_after(down_ns);
        } else if server.has_lost_store() {
            self.env.say(|| "server: its store is lost".to_string());
            self.end_server(false, 10 * MS);
        } else if let Some(why) = server.has_stopped_store() {
            self.env
                .say(|| format!("server: an operator ends it: {why}"));
            let down_ns = self.random.skewed(10 * MS, SECOND);
            self.end_server(false, down_ns);
        }
        self.check_memory()
    }

    /// The bytes that wait to be sent are bounded [NET-2].
    fn check_memory(&self) -> Checked<()> {
        let waiting = self.server.as_ref().map_or(0, Server::waiting_bytes);
        let bound = (self.clients.len() + 2) * (512 << 10);
        match waiting > bound {
            true => violation("bounded memory", format!("{waiting} bytes wait")),
            false => Ok(()),
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
        self.starts += 1;
        self.env.counts.starts += 1;
        let random = Random::of(self.plan.seed, &format!("server {}", self.starts));
        let about = (self.starts, self.plan.lease_ms);
        match Server::begin(&mut self.env, &self.disk, about, random) {
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

    fn end_server(&mut self, loses_power: bool, down_ns: u64) {
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
        let now_ns = self.env.now_ns;
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
            Action::Do { client, op } => self.clients[*client].add(&mut self.env, op.clone()),
            Action::Fault(fault) => {
                self.env.counts.faults += 1;
                self.env.say(|| format!("fault: {fault:?}"));
                self.begin_fault(number, fault)
            }
        }
    }

    fn begin_fault(&mut self, number: usize, fault: &Fault) -> Checked<()> {
        let over = Event::Over(number);
        match fault {
            Fault::KillServer { down_ns } => self.end_server(false, *down_ns),
            Fault::LosePower { down_ns } => self.end_server(true, *down_ns),
            Fault::EndWithinStore {
                calls,
                loses_power,
                down_ns,
            } => {
                self.within_store = Some(Within {
                    loses_power: *loses_power,
                    down_ns: *down_ns,
                });
                self.disk.end_after(*calls);
            }
            Fault::StopServer { .. } => {
                if let Some(server) = &mut self.server {
                    server.stop(&mut self.env);
                }
            }
            Fault::PauseServer { ns } => {
                if let Some(server) = &mut self.server {
                    server.is_paused = true;
                    self.env.after(*ns, over);
                }
            }
            Fault::KillClient { client, down_ns } => {
                self.clients[*client].kill(&mut self.env);
                self.env.after(*down_ns, over);
            }
            Fault::PauseClient { client, ns } => {
                self.clients[*client].pause();
                self.env.after(*ns, over);
            }
            Fault::Partition { client, sides, ns } => {
                for side in sides {
                    self.env.net.block(*client, *side);
                }
                self.env.after(*ns, over);
            }
            Fault::Reset { client, told } => {
                if let Some(connection) = self.clients[*client].connection() {
                    self.env.break_connection(connection, told);
                }
            }
            Fault::Cut { client, to, bytes } => {
                if let Some(connection) = self.clients[*client].connection() {
                    self.env.net.cut_after(connection, *to, *bytes);
                }
            }
            Fault::SlowReader { client, ns } => {
                self.env.net.set_slow(*client, true);
                self.env.after(*ns, over);
            }
            of_the_disk => self.begin_fault_of_disk(number, of_the_disk),
        }
        Ok(())
    }

    fn begin_fault_of_disk(&mut self, number: usize, fault: &Fault) {
        let over = Event::Over(number);
        match fault {
            Fault::FullDisk { ns } => {
                self.disk.faults(|faults| faults.is_full = true);
                self.env.after(*ns, over);
            }
            Fault::FailingWrites { one_in, ns } => {
                self.disk.faults(|faults| faults.failing_writes = *one_in);
                self.env.after(*ns, over);
            }
            Fault::FailingSync { drops_pages } => {
                self.disk.faults(|faults| {
                    faults.fails_sync = true;
                    faults.drops_pages = *drops_pages;
                });
                self.may_damage(*drops_pages);
            }
            Fault::FlipBit { down_ns } => {
                self.end_server(false, *down_ns);
                let name = self.disk.flip_bit();
                self.env.say(|| format!("disk: a bit of {name:?}"));
                self.may_damage(name.is_some());
            }
            _ => {}
        }
    }

    fn over(&mut self, number: usize) -> Checked<()> {
        let Action::Fault(fault) = &self.plan.events[number].action else {
            return Ok(());
        };
        self.end_fault(fault)
    }

    fn end_fault(&mut self, fault: &Fault) -> Checked<()> {
        self.env.say(|| format!("over: {fault:?}"));
        match fault {
            Fault::PauseServer { .. } => self.resume_server(),
            Fault::KillClient { client, .. } => self.clients[*client].restart(),
            Fault::PauseClient { client, .. } => self.clients[*client].resume(&mut self.env)?,
            Fault::Partition { client, sides, .. } => self.env.heal(*client, sides),
            Fault::SlowReader { client, .. } => self.env.net.set_slow(*client, false),
            Fault::FullDisk { .. } => self.disk.faults(|faults| faults.is_full = false),
            Fault::FailingWrites { .. } => self.disk.faults(|faults| faults.failing_writes = 0),
            _ => {}
        }
        Ok(())
    }

    fn resume_server(&mut self) {
        if let Some(server) = self.server.as_mut().filter(|server| server.is_paused) {
            server.resume(&mut self.env);
        }
    }

    /// All faults have ended, and everybody writes.
    fn begin_calm(&mut self) -> Checked<()> {
        self.env.say(|| "the faults are over".to_string());
        self.is_calm = true;
        self.within_store = None;
        self.disk.end_after(u64::MAX);
        self.disk.faults(|faults| *faults = Faults::default());
        self.env.net.calm();
        for client in 0..self.clients.len() {
            self.env.heal(client, &[Side::Client, Side::Server]);
        }
        self.resume_server();
        if self.server.is_none() {
            self.start_after(0);
        }
        self.calm = self.env.history.iter().map(SegmentHistory::floor).collect();
        for client in 0..self.plan.clients {
            self.clients[client].restart();
            self.clients[client].forget_ops();
            self.clients[client].insist();
            self.clients[client].resume(&mut self.env)?;
            for segment in 0..self.plan.durable.len() {
                let op = Op::Write {
                    segments: vec![segment],
                    hold_ns: 0,
                    ending: Ending::Release,
                };
                self.clients[client].add(&mut self.env, op)?;
            }
        }
        let lease_ns = u64::from(self.plan.lease_ms) * MS;
        // A client may hold a lock for long, and the clients that wait for it have their turns.
        self.env.after(8 * lease_ns + 2 * SECOND, Event::Rest);
        Ok(())
    }

    /// Everybody had time to write.
    fn begin_rest(&mut self) -> Checked<()> {
        for (history, before) in self.env.history.iter().zip(&self.calm) {
            if history.floor() == *before && !history.is_damaged {
                let text = format!("{}: nobody could write since the faults", history.path);
                return violation("liveness", text);
            }
        }
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
            self.clients[auditor].add(&mut self.env, op)?;
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
