//! The faults of a run: their begin, and their end.

use super::{Second, Within, World};
use crate::env::{Event, Machine};
use crate::flood;
use crate::history::Checked;
use crate::plan::{Action, Fault};

impl World<'_> {
    pub(super) fn begin_fault(&mut self, number: usize, fault: &Fault) {
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
            Fault::StopServer { .. } => self.with_server(|server, env| server.stop(env)),
            Fault::PauseServer { ns } => drop(self.pause_server(*ns, over)),
            Fault::SuspendServer { ns } => {
                if self.pause_server(*ns, over) {
                    self.env.stand_still(Machine::Server, *ns);
                }
            }
            Fault::SecondServer {
                breaks_lock,
                amid_write,
                ns,
            } => {
                self.second = Some(Second {
                    breaks_lock: *breaks_lock,
                    amid_write: *amid_write,
                    number,
                    ns: *ns,
                });
            }
            Fault::SetWallClock { by_ns } => self.env.set_wall_clock(*by_ns),
            Fault::Deny { reads, ns } => {
                let denied = if *reads { "read,write" } else { "write" };
                self.with_server(|server, env| server.deny(env, denied));
                self.env.after(*ns, over);
            }
            Fault::FullDisk { .. }
            | Fault::FailingWrites { .. }
            | Fault::FailingSync { .. }
            | Fault::FlipBit { .. }
            | Fault::CopyBack { .. } => self.begin_fault_of_disk(number, fault),
            of_clients => self.begin_fault_of_clients(number, of_clients),
        }
    }

    fn begin_fault_of_clients(&mut self, number: usize, fault: &Fault) {
        let over = Event::Over(number);
        match fault {
            Fault::KillClient { client, down_ns } => {
                self.with_client(*client, |client, env| client.kill(env));
                self.env.after(*down_ns, over);
            }
            Fault::PauseClient { client, ns } | Fault::SuspendClient { client, ns } => {
                let is_suspended = matches!(fault, Fault::SuspendClient { .. });
                if self.pause_client(*client, *ns, over) && is_suspended {
                    self.env.stand_still(Machine::Client(*client), *ns);
                }
            }
            Fault::PauseWriter { segment, ns } => {
                let mut clients = self.clients.iter();
                let writer = clients.position(|client| client.holds(*segment));
                if let Some(writer) = writer {
                    if self.pause_client(writer, *ns, over) {
                        self.paused_writers.insert(number, writer);
                    }
                }
            }
            Fault::Partition { client, sides, ns } => {
                for side in sides {
                    self.env.net.block((*client, 0), *side);
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
            Fault::Flood { flood, ns } => {
                let connections = flood.begin(&mut self.env);
                self.floods.insert(number, connections);
                self.env.after(*ns, over);
            }
            _ => {}
        }
    }

    /// False: it stands still already.
    fn pause_client(&mut self, client: usize, ns: u64, over: Event) -> bool {
        let runs = !self.clients[client].is_paused();
        if runs {
            self.clients[client].pause();
            self.env.after(ns, over);
        }
        runs
    }

    /// False: it does not run.
    fn pause_server(&mut self, ns: u64, over: Event) -> bool {
        let running = self.server.as_mut().filter(|server| !server.is_paused);
        let is_running = running.is_some();
        if let Some(server) = running {
            server.is_paused = true;
            self.env.after(ns, over);
        }
        is_running
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
            Fault::FlipBit {
                down_ns,
                loses_catalogue,
            } => self.flip_bit(*down_ns, *loses_catalogue),
            Fault::CopyBack { down_ns } => self.copy_back(*down_ns),
            _ => {}
        }
    }

    /// A start follows each bit that flips, so that the store hears of one at a time.
    fn flip_bit(&mut self, down_ns: u64, loses_catalogue: bool) {
        if self.server.is_none() {
            return;
        }
        self.end_server(false, down_ns);
        let flipped = self.disk.flip_bit(loses_catalogue);
        self.env.say(|| {
            let name = flipped.as_ref().map(|flipped| &flipped.name);
            format!("disk: a bit of {name:?}")
        });
        self.may_damage(flipped.is_some());
        if flipped.is_some_and(|flipped| flipped.is_newest) {
            self.may_have_lost(true);
        }
    }

    pub(super) fn over(&mut self, number: usize) -> Checked<()> {
        let Action::Fault(fault) = &self.plan.events[number].action else {
            return Ok(());
        };
        self.env.say(|| format!("over: {fault:?}"));
        match fault {
            Fault::PauseServer { .. } | Fault::SuspendServer { .. } => self.resume_server(),
            Fault::SecondServer { .. } => self.end_older_server(),
            Fault::KillClient { client, .. } => self.clients[*client].restart(),
            Fault::PauseClient { client, .. } | Fault::SuspendClient { client, .. } => {
                self.with_client(*client, |client, env| client.resume(env))?;
            }
            Fault::PauseWriter { .. } => {
                if let Some(writer) = self.paused_writers.remove(&number) {
                    self.with_client(writer, |client, env| client.resume(env))?;
                }
            }
            Fault::Flood { .. } => {
                if let Some(connections) = self.floods.remove(&number) {
                    flood::end(&mut self.env, &connections);
                }
            }
            Fault::Partition { client, sides, .. } => self.env.heal((*client, 0), sides),
            Fault::SlowReader { client, .. } => self.env.net.set_slow(*client, false),
            Fault::Deny { .. } => self.with_server(|server, env| server.deny(env, "")),
            Fault::FullDisk { .. } => self.disk.faults(|faults| faults.is_full = false),
            Fault::FailingWrites { .. } => self.disk.faults(|faults| faults.failing_writes = 0),
            _ => {}
        }
        Ok(())
    }
}
