//! The things that all parts of the world share: time, coming events, the network, the history.

use crate::clock::Clock;
use crate::history::SegmentHistory;
use crate::network::{Item, Network, Side};
use crate::server::Stored;
use crate::space::database::{member_of, Step, Told};
use crate::trace::Trace;
use bytes::Bytes;
use interweave_wire::planted::{self, Defect};
use std::cmp::Ordering;
use std::collections::{BTreeMap, BinaryHeap};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

#[derive(Debug)]
pub enum Event {
    /// The planned action of that number.
    Planned(usize),
    /// The effect of the planned action of that number is over.
    Over(usize),
    Arrives {
        connection: u64,
        to: Side,
        item: Item,
        sent_ns: u64,
    },
    /// That end of the connection learns that it is lost.
    Lost {
        connection: u64,
        at: Side,
    },
    /// The server's next deadline. Numbers of starts tell a server from those before.
    Deadline {
        start: u64,
    },
    /// The store writes its log.
    Write {
        start: u64,
    },
    /// The store writes checkpoints.
    Save {
        start: u64,
    },
    Answered {
        start: u64,
        stored: Stored,
    },
    /// Something happens in the database.
    Database(Step),
    /// A connection of that server's store hears from the database.
    Told {
        start: u64,
        told: Told,
    },
    StartServer,
    /// The server of that number in the space starts.
    StartMember(usize),
    Client {
        client: usize,
        timer: u64,
    },
    /// The faults are over.
    Calm,
    /// By now everything must be as before the faults.
    Soon,
    /// Everybody has had time to do what is left.
    Rest,
    End,
}

impl Event {
    /// The machine whose clock brings it.
    fn timer_of(&self) -> Option<Machine> {
        match self {
            Event::Deadline { start }
            | Event::Write { start }
            | Event::Save { start }
            | Event::Answered { start, .. } => Some(Machine::of(*start)),
            Event::Client { client, .. } => Some(Machine::Client(*client)),
            _ => None,
        }
    }

    /// Tells kinds of events apart.
    fn kind(&self) -> u64 {
        match self {
            Event::Planned(number) => 100 + *number as u64,
            Event::Over(number) => 1_000_000 + *number as u64,
            Event::Arrives { .. } => 1,
            Event::Lost { .. } => 2,
            Event::Deadline { .. } => 3,
            Event::Write { .. } => 4,
            Event::Save { .. } => 5,
            Event::Answered { .. } => 6,
            Event::StartServer => 7,
            Event::Client { .. } => 8,
            Event::Calm => 9,
            Event::Rest => 10,
            Event::End => 11,
            Event::Soon => 12,
            Event::Database(_) => 13,
            Event::Told { .. } => 14,
            Event::StartMember(member) => 20 + *member as u64,
        }
    }
}

#[derive(Debug)]
struct Entry {
    at_ns: u64,
    order: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.order == other.order
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The heap has the largest on top.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.at_ns, other.order).cmp(&(self.at_ns, self.order))
    }
}

/// Conversions between two clocks round times by less than this.
const ROUNDING_NS: u64 = 4;

/// A computer with a clock of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Machine {
    Server,
    /// One of the servers of a space.
    Member(usize),
    Client(usize),
}

impl Machine {
    /// The machine of the server with that start.
    fn of(start: u64) -> Machine {
        match start >> 32 {
            0 => Machine::Server,
            _ => Machine::Member(member_of(start)),
        }
    }
}

/// Numbers for the report.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    pub operations: u64,
    pub releases: u64,
    pub reads: u64,
    /// By kind.
    pub faults: BTreeMap<&'static str, u64>,
    /// Orders, moves and effects of faults, by kind.
    pub events: BTreeMap<&'static str, u64>,
    pub starts: u64,
    pub messages: u64,
}

impl Counts {
    pub fn fault(&mut self, kind: &'static str) {
        self.add_faults(kind, 1);
    }

    pub fn add_faults(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            *self.faults.entry(kind).or_default() += count;
        }
    }

    pub fn event(&mut self, kind: &'static str) {
        *self.events.entry(kind).or_default() += 1;
    }

    pub fn all_faults(&self) -> u64 {
        self.faults.values().sum()
    }

    /// Adds those of another run.
    pub fn add(&mut self, one: &Counts) {
        self.operations += one.operations;
        self.releases += one.releases;
        self.reads += one.reads;
        self.starts += one.starts;
        self.messages += one.messages;
        for (kind, count) in &one.faults {
            self.add_faults(kind, *count);
        }
        for (kind, count) in &one.events {
            *self.events.entry(kind).or_default() += count;
        }
    }
}

#[derive(Debug)]
pub struct Env {
    /// The time, as the machine that acts sees it.
    pub now_ns: u64,
    /// The time of the world, which no machine knows.
    pub world_ns: u64,
    acts: Option<Machine>,
    clocks: BTreeMap<Machine, Clock>,
    /// How far the wall clock of the server's machine is off. Nobody may count by it.
    wall_ns: i64,
    queue: BinaryHeap<Entry>,
    order: u64,
    pub net: Network,
    /// The size of the chunks in which servers send diffs; None: as the protocol says.
    pub chunk_bytes: Option<usize>,
    pub trace: Trace,
    pub history: Vec<SegmentHistory>,
    /// Records that did not wait for the standby may be gone.
    pub database_has_lost: bool,
    pub counts: Counts,
}

impl Env {
    pub fn new(
        net: Network,
        trace: Trace,
        history: Vec<SegmentHistory>,
        clocks: BTreeMap<Machine, Clock>,
    ) -> Env {
        Env {
            now_ns: SECOND,
            world_ns: SECOND,
            acts: None,
            clocks,
            wall_ns: 0,
            queue: BinaryHeap::new(),
            order: 0,
            net,
            chunk_bytes: None,
            trace,
            history,
            database_has_lost: false,
            counts: Counts::default(),
        }
    }

    /// From now on times are those of that machine; None: those of the world.
    pub fn act_as(&mut self, machine: Option<Machine>) {
        self.acts = machine;
        self.now_ns = self.own(self.world_ns);
    }

    fn own(&self, world_ns: u64) -> u64 {
        let clock = self.acts.and_then(|machine| self.clocks.get(&machine));
        let own_ns = clock.map_or(world_ns, |clock| clock.own(world_ns));
        own_ns.saturating_add_signed(self.wall_error_ns())
    }

    /// The moment of the world at which the machine that acts has that time.
    pub fn world_at(&self, own_ns: u64) -> u64 {
        let own_ns = own_ns.saturating_add_signed(-self.wall_error_ns());
        let clock = self.acts.and_then(|machine| self.clocks.get(&machine));
        clock.map_or(own_ns, |clock| clock.world(own_ns))
    }

    /// 0, unless the server counts by its wall clock.
    fn wall_error_ns(&self) -> i64 {
        let is_wrong = planted::is_in(Defect::LeaseByWallClock);
        match self.acts == Some(Machine::Server) && is_wrong {
            true => self.wall_ns,
            false => 0,
        }
    }

    /// Somebody sets the wall clock of the server's machine.
    pub fn set_wall_clock(&mut self, by_ns: i64) {
        self.wall_ns = by_ns;
    }

    /// The clock of a suspended machine stands still, and all its timers with it.
    pub fn stand_still(&mut self, machine: Machine, ns: u64) {
        if let Some(clock) = self.clocks.get_mut(&machine) {
            clock.stand(self.world_ns, ns);
        }
        let entries = std::mem::take(&mut self.queue).into_iter();
        let later = entries.map(|mut entry| {
            if entry.event.timer_of() == Some(machine) {
                entry.at_ns += ns + ROUNDING_NS;
            }
            entry
        });
        self.queue = later.collect();
    }

    pub fn at(&mut self, at_ns: u64, event: Event) {
        self.at_world(self.world_at(at_ns), event);
    }

    fn at_world(&mut self, at_ns: u64, event: Event) {
        self.order += 1;
        self.queue.push(Entry {
            at_ns: at_ns.max(self.world_ns),
            order: self.order,
            event,
        });
    }

    pub fn after(&mut self, ns: u64, event: Event) {
        self.at(self.now_ns + ns, event);
    }

    /// The next event; its time is now.
    pub fn next(&mut self) -> Option<Event> {
        let entry = self.queue.pop()?;
        self.world_ns = entry.at_ns;
        self.act_as(None);
        self.trace.note(entry.at_ns, &[entry.event.kind()]);
        Some(entry.event)
    }

    pub fn segment_at(&self, path: &str) -> Option<usize> {
        self.history.iter().position(|history| history.path == path)
    }

    /// The message that a client hears now was said then.
    pub fn is_said(&mut self, said_ns: u64) {
        let all = self.history.iter_mut();
        all.for_each(|history| history.said_ns = said_ns);
    }

    pub fn say(&mut self, text: impl FnOnce() -> String) {
        self.trace.say(self.world_ns, text);
    }

    /// Puts something on a connection.
    pub fn send(&mut self, connection: u64, to: Side, item: Item) {
        self.send_said(connection, to, item, self.world_ns);
    }

    /// Puts something on a connection that was said at that moment of the world.
    pub fn send_said(&mut self, connection: u64, to: Side, item: Item, said_ns: u64) {
        let now_ns = self.world_ns;
        match self.net.send(now_ns, connection, to, &item) {
            Some(at_ns) => self.at_world(
                at_ns,
                Event::Arrives {
                    connection,
                    to,
                    item,
                    sent_ns: said_ns,
                },
            ),
            // Whoever sends on a broken connection is told.
            None => self.after(
                MS,
                Event::Lost {
                    connection,
                    at: to.other(),
                },
            ),
        }
    }

    /// The connection breaks; these ends are told soon.
    pub fn break_connection(&mut self, connection: u64, told: &[Side]) {
        self.net.break_link(connection);
        for at in told {
            let at = *at;
            let ns = self.net.delay_ns();
            self.after(ns, Event::Lost { connection, at });
        }
    }

    /// The client and the server reach each other again in these directions. Messages that were
    /// held come at once, because they were sent before those that are still on their way.
    pub fn heal(&mut self, of: (usize, usize), sides: &[Side]) {
        for &to in sides {
            for (connection, item, sent_ns) in self.net.heal(of, to) {
                let arrives = Event::Arrives {
                    connection,
                    to,
                    item,
                    sent_ns,
                };
                self.at_world(self.world_ns, arrives);
            }
        }
    }
}

/// Bytes may arrive apart from one another. They were said then, and waited since.
pub fn send_in_parts(env: &mut Env, connection: u64, to: Side, mut bytes: Bytes, said_ns: u64) {
    while !bytes.is_empty() {
        let count = env.net.split(&bytes);
        let part = bytes.split_to(count);
        env.send_said(connection, to, Item::Bytes(part), said_ns);
    }
}
