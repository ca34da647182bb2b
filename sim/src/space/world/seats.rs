//! The servers of the space: how they start, and how they end.

use super::SpaceWorld;
use crate::disk::SimDisk;
use crate::env::{Env, Event, Machine, MS, SECOND};
use crate::history::Checked;
use crate::random::Random;
use crate::server::Server;
use crate::space::database::{member_of, Heard, Line, Step, Told};
use crate::space::member::{address_of, About, Member};
use crate::space::work::{Found, Work};

/// The place of a server: its number, its machine and its address.
#[derive(Default)]
pub struct Seat {
    server: Option<Server>,
    /// A start that has not joined yet, and the timeline of the database that it has found.
    joining: Option<(u64, u64)>,
    starts: u64,
    /// It has had standing, so that it listens.
    listens: bool,
    /// A server of another space has the address.
    is_usurped: bool,
}

impl Seat {
    pub fn is_of(&self, start: u64) -> bool {
        self.server.as_ref().is_some_and(|s| s.start == start)
    }

    pub fn listens(&self) -> bool {
        self.server.is_some() && self.listens
    }

    fn is_drained(&self) -> bool {
        self.server.as_ref().is_some_and(Server::is_drained)
    }

    fn stays_drained(&self) -> bool {
        let server = self.server.as_ref();
        server.is_some_and(|s| s.is_drained() && !s.is_stopping())
    }
}

impl SpaceWorld<'_> {
    /// Lets the server act, if it is there, and looks after it.
    pub(super) fn with_server(
        &mut self,
        member: usize,
        act: impl FnOnce(&mut Server, &mut Env),
    ) -> Checked<()> {
        if let Some(server) = &mut self.seats[member].server {
            self.env.act_as(Some(Machine::Member(member)));
            act(server, &mut self.env);
            self.env.act_as(None);
        }
        self.look_at(member)
    }

    pub(super) fn start_after(&mut self, member: usize, down_ns: u64) {
        self.env.after(down_ns, Event::StartMember(member));
    }

    fn next_start(&mut self, member: usize) -> u64 {
        let seat = &mut self.seats[member];
        seat.starts += 1;
        (member as u64 + 1) << 32 | seat.starts
    }

    /// The server begins to join the space, unless it is there.
    pub(super) fn start(&mut self, member: usize) {
        let seat = &self.seats[member];
        if seat.server.is_some() || seat.joining.is_some() || seat.is_usurped {
            return;
        }
        let start = self.next_start(member);
        self.seats[member].joining = Some((start, 0));
        self.counts().starts += 1;
        let line = Line::Join;
        self.env
            .after(MS, Event::Database(Step::Connect { start, line }));
    }

    /// The connection of a start hears from the database.
    pub(super) fn told(&mut self, start: u64, told: Told) -> Checked<()> {
        let member = member_of(start);
        let joining = self.seats[member].joining.filter(|(of, _)| *of == start);
        let Some((_, timeline)) = joining else {
            return self.bring_to_start(start, Event::Told { start, told });
        };
        match told.heard {
            Heard::Connected { session, timeline } => {
                self.seats[member].joining = Some((start, timeline));
                let work = Box::new(Work::Join {
                    address: address_of(member),
                    lease_ms: u64::from(self.space.lease_ms),
                });
                self.env
                    .after(MS / 10, Event::Database(Step::Comes { session, work }));
                Ok(())
            }
            Heard::Ended {
                result: Ok(Found::Joined { epoch }),
                warned: false,
                ..
            } => self.joined(member, (start, epoch, timeline)),
            other => {
                self.env
                    .say(|| format!("server {member}: it does not start: {other:?}"));
                self.seats[member].joining = None;
                self.start_after(member, 200 * MS);
                Ok(())
            }
        }
    }

    fn joined(&mut self, member: usize, (start, epoch, timeline): (u64, u64, u64)) -> Checked<()> {
        self.seats[member].joining = None;
        self.env
            .say(|| format!("server {member}: it has joined as {epoch} (start {start:x})"));
        let about = About {
            address: address_of(member),
            lease_ms: self.space.lease_ms,
        };
        let random = |name| Random::of(self.plan.seed, &format!("{name} {start}"));
        let joined = (epoch, timeline, self.database.identity);
        let store = Member::joined(about, joined, random("lines"));
        let random = random("server");
        self.env.act_as(Some(Machine::Member(member)));
        let server = Server::join(&mut self.env, store, (start, self.plan), random);
        self.env.act_as(None);
        self.seats[member].server = Some(server);
        self.seats[member].listens = false;
        self.look_at(member)
    }

    /// After each event: has the server ended?
    fn look_at(&mut self, member: usize) -> Checked<()> {
        let seat = &mut self.seats[member];
        let Some(server) = &mut seat.server else {
            return Ok(());
        };
        seat.listens |= server.has_standing();
        self.env.act_as(Some(Machine::Member(member)));
        let checked = server.check(self.env.now_ns);
        self.env.act_as(None);
        checked?;
        if let Some(is_saved) = server.has_stopped() {
            self.env
                .say(|| format!("server {member}: it has stopped, saved: {is_saved}"));
            let down_ns = self.short_pause();
            self.end_member(member, down_ns);
        } else if server.has_lost_store() {
            self.env
                .say(|| format!("server {member}: its store is lost"));
            let down_ns = self.short_pause();
            self.end_member(member, down_ns);
        } else if let Some(why) = server.has_stopped_store() {
            self.env
                .say(|| format!("server {member}: an operator ends it: {why}"));
            let down_ns = self.short_pause();
            self.end_member(member, down_ns);
        }
        Ok(())
    }

    /// The time until the server starts again: short once the faults are over.
    fn short_pause(&mut self) -> u64 {
        let down_ns = self.random.skewed(10 * MS, SECOND);
        match self.is_calm {
            true => 10 * MS,
            false => down_ns,
        }
    }

    /// The process ends, and starts again after that time.
    pub(super) fn end_member(&mut self, member: usize, down_ns: u64) {
        let seat = &mut self.seats[member];
        let started = seat.joining.take().map(|(start, _)| start);
        let server = seat.server.take();
        let started = started.or(server.as_ref().map(|server| server.start));
        if let Some(server) = server {
            server.end(&mut self.env);
        }
        if let Some(start) = started {
            self.env.say(|| format!("server {member}: it ends"));
            self.database.cut(&mut self.env, start, false);
            self.database.paused.remove(&member);
            self.start_after(member, down_ns);
        }
    }

    /// False: it does not run.
    pub(super) fn pause_member(&mut self, member: usize) -> bool {
        let server = self.seats[member].server.as_mut();
        let running = server.filter(|server| !server.is_paused);
        let is_running = running.is_some();
        if let Some(server) = running {
            server.is_paused = true;
            self.database.paused.insert(member);
        }
        is_running
    }

    pub(super) fn resume_member(&mut self, member: usize) -> Checked<()> {
        self.database.paused.remove(&member);
        self.with_server(member, |server, env| {
            if server.is_paused {
                server.resume(env);
            }
        })
    }

    pub(super) fn stop_member(&mut self, member: usize) -> Checked<()> {
        self.with_server(member, |server, env| server.stop(env))
    }

    /// The server's connections to the database are reset.
    pub(super) fn cut_database(&mut self, member: usize) {
        let start = self.seats[member].server.as_ref().map(|s| s.start);
        if let Some(start) = start {
            self.database.cut(&mut self.env, start, true);
        }
    }

    /// The server ends, and one of another space gets its address.
    pub(super) fn usurp(&mut self, member: usize) {
        if self.seats[member].is_usurped {
            return;
        }
        self.end_member(member, 0);
        let start = self.next_start(member);
        let mut random = Random::of(self.plan.seed, &format!("stranger {start}"));
        let disk = SimDisk::new(random.clone(), self.plan.disk_bytes);
        let of_process = disk.of_new_process();
        random.next();
        self.env.act_as(Some(Machine::Member(member)));
        let about = (start, self.plan);
        let made = Server::begin(&mut self.env, (&disk, of_process), about, random);
        self.env.act_as(None);
        let seat = &mut self.seats[member];
        seat.server = made.ok();
        seat.is_usurped = true;
    }

    pub(super) fn end_usurper(&mut self, member: usize) {
        if std::mem::take(&mut self.seats[member].is_usurped) {
            if let Some(server) = self.seats[member].server.take() {
                server.end(&mut self.env);
            }
            self.start_after(member, 10 * MS);
        }
    }

    /// All servers run.
    pub(super) fn begin_calm_of_servers(&mut self) -> Checked<()> {
        for member in 0..self.seats.len() {
            self.end_usurper(member);
            self.resume_member(member)?;
            self.start_after(member, 0);
        }
        self.undrain()
    }

    /// Some drained servers are started again, and one at least is not drained then. Others must do
    /// without the rest.
    fn undrain(&mut self) -> Checked<()> {
        let members = 0..self.seats.len();
        let is_drained = |member: &usize| self.seats[*member].is_drained();
        let drained: Vec<usize> = members.filter(is_drained).collect();
        let mut all = drained.len() == self.seats.len();
        for member in drained {
            if std::mem::take(&mut all) || self.random.one_in(2) {
                self.stop_member(member)?;
            }
        }
        Ok(())
    }

    /// The servers that may be given segments, once all that is to be started is.
    pub(super) fn able(&self) -> Vec<usize> {
        let members = 0..self.seats.len();
        members
            .filter(|m| !self.seats[*m].stays_drained())
            .collect()
    }
}
