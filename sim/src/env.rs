//! The things that all parts of the world share: time, plans, the network, the history.

use crate::history::SegmentHistory;
use crate::network::{Item, Network, Side};
use crate::server::Stored;
use crate::trace::Trace;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

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
    StartServer,
    Client {
        client: usize,
        timer: u64,
    },
    /// The faults are over.
    Calm,
    /// Everybody has had time to do what is left.
    Rest,
    End,
}

impl Event {
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

/// Numbers for the report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    pub operations: u64,
    pub releases: u64,
    pub reads: u64,
    pub faults: u64,
    pub starts: u64,
    pub messages: u64,
}

#[derive(Debug)]
pub struct Env {
    pub now_ns: u64,
    queue: BinaryHeap<Entry>,
    order: u64,
    pub net: Network,
    pub trace: Trace,
    pub history: Vec<SegmentHistory>,
    pub counts: Counts,
}

impl Env {
    pub fn new(net: Network, trace: Trace, history: Vec<SegmentHistory>) -> Env {
        Env {
            now_ns: SECOND,
            queue: BinaryHeap::new(),
            order: 0,
            net,
            trace,
            history,
            counts: Counts::default(),
        }
    }

    pub fn at(&mut self, at_ns: u64, event: Event) {
        self.order += 1;
        self.queue.push(Entry {
            at_ns: at_ns.max(self.now_ns),
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
        self.now_ns = entry.at_ns;
        self.trace.note(entry.at_ns, &[entry.event.kind()]);
        Some(entry.event)
    }

    pub fn say(&mut self, text: impl FnOnce() -> String) {
        self.trace.say(self.now_ns, text);
    }

    /// Puts something on a connection.
    pub fn send(&mut self, connection: u64, to: Side, item: Item) {
        self.send_said(connection, to, item, self.now_ns);
    }

    /// Puts something on a connection that was said then.
    pub fn send_said(&mut self, connection: u64, to: Side, item: Item, said_ns: u64) {
        let now_ns = self.now_ns;
        match self.net.send(now_ns, connection, to, &item) {
            Some(at_ns) => self.at(
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

    /// The client can be reached again in these directions. What was held comes at once, because it
    /// was sent before what is still on its way.
    pub fn heal(&mut self, client: usize, sides: &[Side]) {
        for side in sides {
            for (connection, item, sent_ns) in self.net.heal(client, *side) {
                let to = *side;
                self.at(
                    self.now_ns,
                    Event::Arrives {
                        connection,
                        to,
                        item,
                        sent_ns,
                    },
                );
            }
        }
    }
}
