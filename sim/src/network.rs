//! The network: connections of clients to the server, each with two directions. Bytes arrive in
//! their order, late, in other pieces than they were sent, or never.

use crate::random::Random;
use bytes::Bytes;
use std::collections::{BTreeMap, BTreeSet};

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Client,
    Server,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }
}

/// A thing that travels over a connection.
#[derive(Debug, Clone)]
pub enum Item {
    Open,
    Bytes(Bytes),
    /// The other end was closed in order.
    Close,
}

/// So many bytes are on their way in one direction at most.
const WINDOW_BYTES: usize = 64 << 10;
/// To a client that takes nothing.
const SMALL_WINDOW_BYTES: usize = 4 << 10;

#[derive(Debug, Default)]
struct Direction {
    last_ns: u64,
    in_flight: usize,
    held: Vec<(Item, u64)>,
    /// The connection breaks after so many further bytes.
    cut_after: Option<usize>,
}

#[derive(Debug)]
struct Link {
    client: usize,
    /// The server's number in its space.
    server: usize,
    to_client: Direction,
    to_server: Direction,
    is_broken: bool,
    /// The ends that do not take anything more.
    closed: BTreeSet<Side>,
}

impl Link {
    fn direction(&mut self, to: Side) -> &mut Direction {
        match to {
            Side::Client => &mut self.to_client,
            Side::Server => &mut self.to_server,
        }
    }
}

/// The fate of something that arrives.
pub enum Arrival {
    Taken(Item),
    /// The first bytes are taken, then the connection breaks.
    Cut(Item),
    Nothing,
}

#[derive(Debug)]
pub struct Network {
    random: Random,
    links: BTreeMap<u64, Link>,
    last_connection: u64,
    /// The clients and servers between which nothing comes to that side.
    blocked: BTreeSet<(usize, usize, Side)>,
    slow: BTreeSet<usize>,
    /// Those that take nothing.
    stuck: BTreeSet<usize>,
    /// The shortest and the longest delay.
    delays_ns: (u64, u64),
}

impl Network {
    pub fn new(random: Random, delays_ns: (u64, u64)) -> Network {
        Network {
            random,
            links: BTreeMap::new(),
            last_connection: 0,
            blocked: BTreeSet::new(),
            slow: BTreeSet::new(),
            stuck: BTreeSet::new(),
            delays_ns,
        }
    }

    /// Makes a connection of the client. The server hears of it by an [`Item::Open`].
    pub fn connect(&mut self, client: usize) -> u64 {
        self.connect_to(client, 0)
    }

    /// The same, to a server of a space.
    pub fn connect_to(&mut self, client: usize, server: usize) -> u64 {
        self.last_connection += 1;
        let link = Link {
            client,
            server,
            to_client: Direction::default(),
            to_server: Direction::default(),
            is_broken: false,
            closed: BTreeSet::new(),
        };
        self.links.insert(self.last_connection, link);
        self.last_connection
    }

    pub fn client_of(&self, connection: u64) -> Option<usize> {
        Some(self.links.get(&connection)?.client)
    }

    pub fn server_of(&self, connection: u64) -> Option<usize> {
        Some(self.links.get(&connection)?.server)
    }

    /// Also those that the client has closed, while something is on its way.
    pub fn connections_of(&self, client: usize) -> Vec<u64> {
        let of_client = self.links.iter().filter(|(_, link)| link.client == client);
        of_client.map(|(connection, _)| *connection).collect()
    }

    pub fn delay_ns(&mut self) -> u64 {
        self.random.skewed(self.delays_ns.0, self.delays_ns.1)
    }

    /// When it will arrive; None: the connection is broken.
    pub fn send(&mut self, now_ns: u64, connection: u64, to: Side, item: &Item) -> Option<u64> {
        let mut delay_ns = self.delay_ns();
        let link = self.links.get_mut(&connection)?;
        if link.is_broken {
            return None;
        }
        if to == Side::Client && self.slow.contains(&link.client) {
            delay_ns += 300_000_000;
        }
        let direction = link.direction(to);
        direction.in_flight += bytes_of(item);
        direction.last_ns = direction.last_ns.max(now_ns + delay_ns);
        Some(direction.last_ns)
    }

    pub fn arrives(&mut self, connection: u64, to: Side, item: Item, sent_ns: u64) -> Arrival {
        let Some(link) = self.links.get_mut(&connection) else {
            return Arrival::Nothing;
        };
        let is_taken = !link.is_broken && !link.closed.contains(&to);
        let is_blocked = self.blocked.contains(&(link.client, link.server, to));
        let direction = link.direction(to);
        if is_taken && is_blocked {
            direction.held.push((item, sent_ns));
            return Arrival::Nothing;
        }
        direction.in_flight -= bytes_of(&item);
        if !is_taken {
            return Arrival::Nothing;
        }
        match (direction.cut_after, item) {
            (Some(left), Item::Bytes(bytes)) if bytes.len() > left => {
                Arrival::Cut(Item::Bytes(bytes.slice(..left)))
            }
            (left, item) => {
                direction.cut_after = left.map(|left| left - bytes_of(&item));
                Arrival::Taken(item)
            }
        }
    }

    pub fn break_link(&mut self, connection: u64) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.is_broken = true;
        }
    }

    /// That end takes nothing more. False: it did not before either.
    pub fn close(&mut self, connection: u64, side: Side) -> bool {
        let Some(link) = self.links.get_mut(&connection) else {
            return false;
        };
        let was_open = link.closed.insert(side);
        if link.closed.len() == 2 && link.to_client.in_flight + link.to_server.in_flight == 0 {
            self.links.remove(&connection);
        }
        was_open
    }

    /// How many bytes the server may send on the connection now.
    pub fn room(&self, connection: u64) -> usize {
        let link = self.links.get(&connection);
        link.map_or(0, |link| {
            let window = match self.stuck.contains(&link.client) {
                true => SMALL_WINDOW_BYTES,
                false => WINDOW_BYTES,
            };
            window.saturating_sub(link.to_client.in_flight)
        })
    }

    pub fn cut_after(&mut self, connection: u64, to: Side, bytes: usize) {
        if let Some(link) = self.links.get_mut(&connection) {
            link.direction(to).cut_after = Some(bytes);
        }
    }

    /// What the client and that server send comes to that side later.
    pub fn block(&mut self, (client, server): (usize, usize), to: Side) {
        self.blocked.insert((client, server, to));
    }

    /// The client never takes anything.
    pub fn set_stuck(&mut self, client: usize) {
        self.stuck.insert(client);
        self.block((client, 0), Side::Client);
    }

    /// Returns what was held on its way to that side, in its order.
    pub fn heal(&mut self, (client, server): (usize, usize), to: Side) -> Vec<(u64, Item, u64)> {
        self.blocked.remove(&(client, server, to));
        let mut held = Vec::new();
        let of_both = |link: &Link| (link.client, link.server) == (client, server);
        for (&connection, link) in self.links.iter_mut().filter(|(_, link)| of_both(link)) {
            let items = std::mem::take(&mut link.direction(to).held);
            held.extend(items.into_iter().map(|(item, ns)| (connection, item, ns)));
        }
        held
    }

    /// The client takes nothing more, also not what was held.
    pub fn forget_held(&mut self, connection: u64) {
        if let Some(link) = self.links.get_mut(&connection) {
            let direction = link.direction(Side::Client);
            let held = std::mem::take(&mut direction.held);
            let bytes: usize = held.iter().map(|(item, _)| bytes_of(item)).sum();
            direction.in_flight -= bytes;
        }
    }

    /// All faults have ended.
    pub fn calm(&mut self) {
        self.slow.clear();
        for link in self.links.values_mut() {
            link.to_client.cut_after = None;
            link.to_server.cut_after = None;
        }
    }

    pub fn set_slow(&mut self, client: usize, is_slow: bool) {
        match is_slow {
            true => self.slow.insert(client),
            false => self.slow.remove(&client),
        };
    }

    /// Cuts bytes where they arrive apart from one another.
    pub fn split(&mut self, bytes: &Bytes) -> usize {
        match bytes.len() > 1 && self.random.one_in(6) {
            true => self.random.between(1, bytes.len() as u64 - 1) as usize,
            false => bytes.len(),
        }
    }
}

fn bytes_of(item: &Item) -> usize {
    match item {
        Item::Bytes(bytes) => bytes.len(),
        Item::Open | Item::Close => 0,
    }
}
