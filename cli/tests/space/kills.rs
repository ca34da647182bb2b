//! Kills of owners under writers: nothing that was acknowledged is lost, nothing is applied twice,
//! and no read is stale.

use crate::clients::PATIENT;
use crate::member::{new_port, Member};
use crate::native_agent::NativeAgent;
use crate::subscriber::Subscriber;
use crate::wanderer::Wanderer;
use interweave_postgres_cluster::Cluster;
use interweave_wire::mip::Address;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const SERVERS: usize = 3;
const WRITERS: usize = 8;
const SEGMENTS: usize = 16;
/// Reads are counted apart for so long after a disturbance, because it makes owners change.
const SOON: Duration = Duration::from_secs(5);

/// Longer than any copy may be old.
const REMEMBERED: Duration = Duration::from_secs(20);
/// A busy machine may bring a message late.
const LATE: Duration = Duration::from_secs(1);

/// A segment, as its writer and the reader tell of it.
pub struct Spot {
    pub path: String,
    /// The newest version that was acknowledged.
    acknowledged: AtomicU64,
    /// When it was written last, and the longest pause since somebody asked.
    written: Mutex<(Instant, Duration)>,
    /// When the versions of the last seconds were acknowledged.
    recent: Mutex<VecDeque<(Instant, u64)>>,
}

impl Spot {
    fn new(path: String) -> Spot {
        Spot {
            path,
            acknowledged: AtomicU64::new(0),
            written: Mutex::new((Instant::now(), Duration::ZERO)),
            recent: Mutex::default(),
        }
    }

    fn was_written(&self, version: u64) {
        self.acknowledged.store(version, Ordering::SeqCst);
        self.remember(version);
        let mut written = self.written.lock().expect("no writer has failed");
        let now = Instant::now();
        written.1 = written.1.max(now - written.0);
        written.0 = now;
    }

    fn remember(&self, version: u64) {
        let mut recent = self.recent.lock().expect("no writer has failed");
        recent.push_back((Instant::now(), version));
        while recent[0].0.elapsed() > REMEMBERED {
            recent.pop_front();
        }
    }

    /// For how long a newer version than that had been acknowledged then.
    fn age(&self, version: u64, then: Instant) -> Duration {
        let recent = self.recent.lock().expect("no writer has failed");
        // After a pause the versions before are forgotten.
        let newer = recent.iter().find(|(_, newer)| *newer > version);
        newer.map_or(Duration::ZERO, |(at, _)| {
            then.saturating_duration_since(*at)
        })
    }

    /// The longest pause between two releases since the last call.
    fn take_pause(&self) -> Duration {
        let mut written = self.written.lock().expect("no writer has failed");
        std::mem::take(&mut written.1)
    }
}

pub struct World {
    pub spots: Vec<Spot>,
    servers: Vec<Address>,
    is_over: AtomicBool,
    /// When the last disturbance began.
    disturbed: Mutex<Instant>,
    reads: AtomicU64,
    /// The reads within `SOON` of a disturbance.
    reads_soon: AtomicU64,
    /// The reads of subscribers, and how long a newer version had been acknowledged at one of them.
    reads_subscribed: AtomicU64,
    oldest: Mutex<Duration>,
    /// A subscribed copy is confirmed for so long [FRESH-3].
    confirmed: Duration,
}

impl World {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    fn wanderer(&self, segment: usize) -> Wanderer {
        Wanderer::new(&self.spots[segment].path, self.servers.clone(), segment)
    }

    /// The only writer of some segments.
    fn write(&self, writer: usize) {
        let own: Vec<usize> = (writer..SEGMENTS).step_by(WRITERS).collect();
        let mut wanderers: Vec<Wanderer> = own.iter().map(|&s| self.wanderer(s)).collect();
        while !self.is_over() {
            for (&segment, wanderer) in own.iter().zip(&mut wanderers) {
                if let Ok(version) = wanderer.write() {
                    self.spots[segment].was_written(version);
                }
            }
        }
    }

    /// A read is never older than the version that was acknowledged before the read was asked for.
    /// `reader`: its number. Each reader begins at another segment, so that not all of them wait
    /// for one owner.
    fn read(&self, reader: usize) {
        let order = (0..SEGMENTS).map(|n| (n + reader * SEGMENTS / readers()) % SEGMENTS);
        let mut wanderers: Vec<_> = order.map(|s| (&self.spots[s], self.wanderer(s))).collect();
        while !self.is_over() {
            for (spot, wanderer) in &mut wanderers {
                let floor = spot.acknowledged.load(Ordering::SeqCst);
                if let Ok(version) = wanderer.read() {
                    assert!(version >= floor, "{}: {version} after {floor}", spot.path);
                    self.count_read();
                }
            }
        }
    }

    /// Reads a segment in the client library in C++. Its copy is subscribed to soon, and most reads
    /// ask no server.
    fn read_subscribed(&self, program: &OsString, segment: usize) {
        let mut subscriber = Subscriber::start(program, &self.servers);
        let spot = &self.spots[segment];
        while !self.is_over() && !subscriber.opens(&spot.path) {}
        let mut last = 0;
        while !self.is_over() {
            let begun = Instant::now();
            let Some(version) = subscriber.read() else {
                continue;
            };
            let age = spot.age(version, begun);
            let (path, most) = (&spot.path, self.confirmed + LATE);
            assert!(
                age <= most,
                "{path}: a copy of version {version} is {age:?} old"
            );
            assert!(version >= last, "{path}: {version} after {last} was read");
            last = version;
            let mut oldest = self.oldest.lock().expect("nobody has failed");
            *oldest = oldest.max(age);
            self.reads_subscribed.fetch_add(1, Ordering::Relaxed);
            self.count_read();
        }
    }

    fn count_read(&self) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let disturbed = *self.disturbed.lock().expect("nobody has failed");
        if disturbed.elapsed() <= SOON {
            self.reads_soon.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A disturbance begins now.
    fn note_disturbance(&self) {
        *self.disturbed.lock().expect("nobody has failed") = Instant::now();
    }

    /// Waits until there were so many reads.
    fn wait_for_reads(&self, count: u64) {
        let (mut read, mut since) = (0, Instant::now());
        while read < count {
            thread::sleep(Duration::from_millis(5));
            let now = self.reads.load(Ordering::Relaxed);
            if now > read {
                (read, since) = (now, Instant::now());
            }
            assert!(since.elapsed() < PATIENT, "nobody reads any more");
        }
    }

    pub fn forget_pauses(&self) {
        for spot in &self.spots {
            spot.take_pause();
        }
    }

    /// Waits until each segment was written after now.
    pub fn wait_for_all(&self) {
        let begun = Instant::now();
        for spot in &self.spots {
            let is_written = || spot.written.lock().expect("no writer has failed").0 > begun;
            while !is_written() {
                let (path, waited) = (&spot.path, begun.elapsed());
                assert!(waited < PATIENT, "{path} is not written since the kill");
                thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// A number from the environment, or this one.
pub fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |n| n.parse().expect("a number"))
}

/// IW_KILLS: how many.
pub fn kills(default: usize) -> usize {
    number("IW_KILLS", default)
}

/// IW_READS: how many reads there are to be in the whole campaign, at least. Disturbances wait for
/// their share of them.
fn reads_wanted() -> u64 {
    number("IW_READS", 0) as u64
}

/// IW_READERS: how many readers look at all segments.
fn readers() -> usize {
    number("IW_READERS", 1)
}

/// IW_SUBSCRIBERS: how many segments are read by a subscriber each. The program of the subscribers
/// has to be built (make/test_rust.sh).
fn subscribers() -> usize {
    number("IW_SUBSCRIBERS", 0).min(SEGMENTS)
}

/// IW_LEASE: the lease of servers that are killed, in seconds. A busy machine may keep a server
/// from renewing a short one.
pub fn lease() -> &'static str {
    static LEASE: LazyLock<String> =
        LazyLock::new(|| std::env::var("IW_LEASE").unwrap_or("1".to_string()));
    &LEASE
}

/// The servers of a space.
pub struct Servers {
    schema: &'static str,
    lease: &'static str,
    pub members: Vec<Member>,
}

impl Servers {
    fn start(cluster: &Cluster, schema: &'static str, lease: &'static str) -> Servers {
        let start = |_| Member::secure(cluster, (schema, new_port()), lease);
        Servers {
            schema,
            lease,
            members: (0..SERVERS).map(start).collect(),
        }
    }

    pub fn start_again(&mut self, cluster: &Cluster, index: usize) {
        let port = self.members[index].port();
        self.members[index] = Member::secure(cluster, (self.schema, port), self.lease);
    }

    /// The primary is killed. Servers that end are started again, as an operator's service manager
    /// does.
    fn fail_over(&mut self, cluster: &mut Cluster) {
        cluster.fail_over();
        cluster.recover();
        for index in 0..self.members.len() {
            if self.members[index].server.has_ended() {
                self.start_again(cluster, index);
            }
        }
    }
}

/// Two heartbeats of a server with that lease, in seconds [SPACE-2].
fn confirmed(lease: &str) -> Duration {
    let lease_s: u64 = lease.parse().expect("a number of seconds");
    Duration::from_secs(lease_s) / 4
}

/// Writes and reads on a space of its own, while `disturb` does something so often. Prints the
/// pauses.
pub fn campaign(
    (kind, schema, lease): (&str, &'static str, &'static str),
    count: usize,
    mut disturb: impl FnMut(usize, &mut Cluster, &mut Servers, &World),
) {
    let mut cluster = Cluster::start();
    let mut servers = Servers::start(&cluster, schema, lease);
    let world = World {
        spots: (0..SEGMENTS)
            .map(|number| Spot::new(format!("/kills/{number}")))
            .collect(),
        servers: servers.members.iter().map(|m| m.address.clone()).collect(),
        is_over: AtomicBool::new(false),
        disturbed: Mutex::new(Instant::now()),
        reads: AtomicU64::new(0),
        reads_soon: AtomicU64::new(0),
        reads_subscribed: AtomicU64::new(0),
        oldest: Mutex::default(),
        confirmed: confirmed(lease),
    };
    let mut pauses = Vec::new();
    thread::scope(|scope| {
        let ends = Ends(&world);
        for writer in 0..WRITERS {
            let world = &world;
            scope.spawn(move || world.write(writer));
        }
        for reader in 0..readers() {
            let world = &world;
            scope.spawn(move || world.read(reader));
        }
        world.wait_for_all();
        // All segments are there.
        if subscribers() > 0 {
            let program = NativeAgent::program().expect("IW_TEST_AGENT names the program");
            for segment in 0..subscribers() {
                let (world, program) = (&world, program.clone());
                scope.spawn(move || world.read_subscribed(&program, segment));
            }
        }
        for number in 0..count {
            world.forget_pauses();
            world.note_disturbance();
            disturb(number, &mut cluster, &mut servers, &world);
            world.wait_for_all();
            pauses.extend(world.spots.iter().map(Spot::take_pause).max());
            world.wait_for_reads(reads_wanted() * (number + 1) as u64 / count as u64);
        }
        drop(ends);
    });
    report((kind, count), &world, pauses);
}

fn report((kind, count): (&str, usize), world: &World, mut pauses: Vec<Duration>) {
    let written = world.spots.iter();
    let written = written.map(|s| s.acknowledged.load(Ordering::SeqCst));
    let reads = world.reads.load(Ordering::SeqCst);
    let soon = world.reads_soon.load(Ordering::SeqCst);
    let subscribed = world.reads_subscribed.load(Ordering::SeqCst);
    assert!(
        subscribed > 0 || subscribers() == 0,
        "no subscriber has read"
    );
    pauses.sort_unstable();
    let (median, worst) = (pauses[pauses.len() / 2], pauses[pauses.len() - 1]);
    println!(
        "{count} {kind}: {} releases, {reads} reads ({soon} within {} s, {subscribed} by \
         subscribers, whose oldest copy was {} ms old); lost 0, double 0, stale 0; longest pause \
         of a segment: median {} ms, worst {} ms",
        written.sum::<u64>(),
        SOON.as_secs(),
        world.oldest.lock().expect("nobody has failed").as_millis(),
        median.as_millis(),
        worst.as_millis()
    );
}

#[test]
fn killed_owners() {
    let mut killed = None;
    campaign(
        ("kills of owners", "owners", lease()),
        kills(3),
        |number, cluster, servers, world| {
            if let Some(index) = killed {
                servers.start_again(cluster, index);
                world.wait_for_all();
                world.forget_pauses();
            }
            let index = number % SERVERS;
            servers.members[index].server.kill();
            killed = Some(index);
        },
    );
}

/// The primary of the database is killed, the standby takes over, and gets a standby of its own.
#[test]
fn killed_primaries() {
    let space = ("kills of primaries", "primaries", lease());
    campaign(space, kills(3), |_, cluster, servers, _| {
        servers.fail_over(cluster);
    });
}

/// Nothing is written without the standby: releases wait until it is back, and a server that cannot
/// renew its lease closes connections. No server ends.
#[test]
fn killed_standbys() {
    let space = ("standbys", "standbys", lease());
    campaign(space, kills(3), |_, cluster, servers, _| {
        cluster.kill_standby();
        cluster.start_standby();
        for member in &mut servers.members {
            assert!(!member.server.has_ended());
        }
    });
}

#[test]
fn killed_owners_with_primaries() {
    let space = ("kills of owners and primaries", "together", lease());
    campaign(space, kills(3), |number, cluster, servers, _| {
        servers.members[number % SERVERS].server.kill();
        servers.fail_over(cluster);
    });
}

/// Ends writers and readers, also after a failure.
struct Ends<'a>(&'a World);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::SeqCst);
    }
}
