//! The faults of a space: their begin, and their end.

use super::{SpaceWorld, BOTH_SIDES};
use crate::env::{Event, MS};
use crate::history::Checked;
use crate::plan::space::SpaceFault;
use crate::plan::{Action, Fault};

/// Waits for the standby are cancelled so often.
const CANCELS_NS: u64 = 20 * MS;

impl SpaceWorld<'_> {
    pub(super) fn begin_fault(&mut self, number: usize, fault: &Fault) -> Checked<()> {
        match fault {
            Fault::Space(fault) => self.begin_fault_of_space(number, fault),
            of_clients => {
                self.begin_fault_of_client(number, of_clients);
                Ok(())
            }
        }
    }

    fn begin_fault_of_space(&mut self, number: usize, fault: &SpaceFault) -> Checked<()> {
        let over = Event::Over(number);
        match fault {
            SpaceFault::KillMember { server, down_ns } => self.end_member(*server, *down_ns),
            SpaceFault::StopMember { server, .. } => return self.stop_member(*server),
            SpaceFault::PauseMember { server, ns } => {
                if self.pause_member(*server) {
                    self.env.after(*ns, over);
                }
            }
            SpaceFault::PartMember { server, client, ns } => {
                for client in self.parted(*client) {
                    for side in BOTH_SIDES {
                        self.env.net.block((client, *server), side);
                    }
                }
                self.env.after(*ns, over);
            }
            SpaceFault::Usurp { server, ns } => {
                self.usurp(*server);
                self.env.after(*ns, over);
            }
            of_database => self.begin_fault_of_database(number, of_database),
        }
        Ok(())
    }

    fn parted(&self, client: Option<usize>) -> Vec<usize> {
        client.map_or_else(|| (0..self.plan.clients).collect(), |client| vec![client])
    }

    fn begin_fault_of_database(&mut self, number: usize, fault: &SpaceFault) {
        let over = Event::Over(number);
        match fault {
            SpaceFault::PartDatabase { server, ns } => {
                self.database.part(*server);
                self.env.after(*ns, over);
            }
            SpaceFault::LateAnswer { ns } => self.database.be_late(*ns),
            SpaceFault::CutDatabase { server } => self.cut_database(*server),
            SpaceFault::CrashPrimary { down_ns: ns } | SpaceFault::FailOver { ns } => {
                self.database.crash(&mut self.env);
                self.may_have_lost();
                self.env.after(*ns, over);
            }
            SpaceFault::Promote { old_lives, ns } => {
                self.promote((number, *ns), *old_lives);
            }
            SpaceFault::Lag { lag_ns, ns } => {
                self.database.set_lag(&mut self.env, Some(*lag_ns));
                self.env.after(*ns, over);
            }
            SpaceFault::EmptyNames { ns } => {
                self.database.name_nobody(&mut self.env);
                self.env.after(*ns, over);
            }
            SpaceFault::CancelWaits { ns } => {
                let until_ns = self.env.world_ns + ns;
                self.begun.insert(number, until_ns);
                self.cancel_waits(number);
            }
            _ => {}
        }
    }

    /// The standby is promoted, and gets a standby of its own later. False: the primary has none.
    fn promote(&mut self, (number, ns): (usize, u64), old_lives: bool) -> bool {
        let is_promoted = self.database.promote(&mut self.env, old_lives);
        if is_promoted {
            self.may_have_lost();
            self.env.after(ns, Event::Over(number));
        }
        is_promoted
    }

    /// Cancels the waits for the standby, and those of a little later as well.
    fn cancel_waits(&mut self, number: usize) {
        let count = self.database.cancel(&mut self.env) as u64;
        self.counts().add_faults("a wait is cancelled", count);
        let until_ns = self.begun.get(&number).copied().unwrap_or(0);
        if self.env.world_ns < until_ns && !self.is_calm {
            self.env.after(CANCELS_NS, Event::Over(number));
        }
    }

    fn begin_fault_of_client(&mut self, number: usize, fault: &Fault) {
        let over = Event::Over(number);
        match fault {
            Fault::KillClient { client, down_ns } => {
                self.with_client(*client, |client, env| client.kill(env));
                self.env.after(*down_ns, over);
            }
            Fault::PauseClient { client, ns } => self.pause_client(*client, *ns, over),
            Fault::PauseWriter { segment, ns } => {
                let mut clients = self.clients.iter();
                let writer = clients.position(|client| client.holds(*segment));
                if let Some(writer) = writer.filter(|writer| !self.clients[*writer].is_paused) {
                    self.pause_client(writer, *ns, over);
                    self.paused_writers.insert(number, writer);
                }
            }
            Fault::Reset { client, told } => {
                if let Some(connection) = self.some_connection(*client) {
                    self.env.break_connection(connection, told);
                }
            }
            Fault::Cut { client, to, bytes } => {
                if let Some(connection) = self.some_connection(*client) {
                    self.env.net.cut_after(connection, *to, *bytes);
                }
            }
            Fault::SlowReader { client, ns } => {
                self.env.net.set_slow(*client, true);
                self.env.after(*ns, over);
            }
            _ => {}
        }
    }

    fn some_connection(&mut self, client: usize) -> Option<u64> {
        let connections = self.clients[client].connections();
        let chosen = (!connections.is_empty()).then(|| *self.random.pick(&connections));
        chosen.map(|(_, connection)| connection)
    }

    fn pause_client(&mut self, client: usize, ns: u64, over: Event) {
        if !std::mem::replace(&mut self.clients[client].is_paused, true) {
            self.env.after(ns, over);
        }
    }

    pub(super) fn over(&mut self, number: usize) -> Checked<()> {
        let Action::Fault(fault) = &self.plan.events[number].action else {
            return Ok(());
        };
        match fault {
            Fault::Space(fault) => return self.over_in_space(number, fault),
            Fault::KillClient { client, .. } => self.clients[*client].restart(),
            Fault::PauseClient { client, .. } => {
                self.with_client(*client, |client, env| client.resume(env))?;
            }
            Fault::PauseWriter { .. } => {
                if let Some(writer) = self.paused_writers.remove(&number) {
                    self.with_client(writer, |client, env| client.resume(env))?;
                }
            }
            Fault::SlowReader { client, .. } => self.env.net.set_slow(*client, false),
            _ => {}
        }
        Ok(())
    }

    fn over_in_space(&mut self, number: usize, fault: &SpaceFault) -> Checked<()> {
        match fault {
            SpaceFault::CancelWaits { .. } => self.cancel_waits(number),
            other => self.env.say(|| format!("over: {other:?}")),
        }
        match fault {
            SpaceFault::PauseMember { server, .. } => return self.resume_member(*server),
            SpaceFault::PartMember { server, client, .. } => {
                for client in self.parted(*client) {
                    self.env.heal((client, *server), &BOTH_SIDES);
                }
            }
            SpaceFault::Usurp { server, .. } => self.end_usurper(*server),
            SpaceFault::PartDatabase { server, .. } => {
                self.database.heal(&mut self.env, *server);
            }
            SpaceFault::CrashPrimary { .. } => self.database.restart(&mut self.env),
            SpaceFault::Promote { .. } => {
                self.database.retire_old(&mut self.env);
                self.database.attach(&mut self.env);
            }
            SpaceFault::FailOver { ns } => self.fail_over(number, *ns),
            SpaceFault::Lag { .. } => self.database.set_lag(&mut self.env, None),
            SpaceFault::EmptyNames { .. } => self.database.name_somebody(),
            _ => {}
        }
        Ok(())
    }

    /// The primary has ended: the standby takes its place, and gets a standby of its own later.
    fn fail_over(&mut self, number: usize, ns: u64) {
        let is_second = self.begun.insert(number, 0).is_some() || self.is_calm;
        if is_second || !self.promote((number, ns), false) {
            self.database.restart(&mut self.env);
            self.database.attach(&mut self.env);
        }
    }
}
