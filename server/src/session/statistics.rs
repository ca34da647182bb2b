//! Numbers about the engine, for /metrics and /healthz.

use super::engine::Engine;
use super::segment::SegmentState;
use super::sight::Sight;
use super::wire::{Connection, Origin};
use interweave_master::Overhead;
use interweave_store::Identity;
use std::ops::Bound;

/// Events counted since the start.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counters {
    pub connections: u64,
    pub requests: u64,
    pub errors: u64,
    pub malformed: u64,
    /// Connections whose hello had a token that is not valid.
    pub logins_refused: u64,
    /// Requests beyond a limit of their identity, and messages that waited because of one.
    pub limits_refused: u64,
    pub rests: u64,
    pub silent: u64,
    /// Connections that were closed because they took nothing, and others needed the memory.
    pub stuck: u64,
    pub releases: u64,
    pub releases_refused: u64,
    pub release_bytes: u64,
    pub leases_lost: u64,
    pub grants: u64,
    /// Releases after which the client kept the grant, and kept grants that somebody waited for.
    pub kept: u64,
    pub recalls: u64,
    pub pushes: u64,
    pub push_bytes: u64,
    pub announcements: u64,
    /// Diffs given to clients that asked. They were collected, found in a diff cache, or were on
    /// their way to another client already.
    pub collected: u64,
    pub collections: u64,
    pub cache_hits: u64,
    pub shared: u64,
    pub collected_bytes: u64,
    pub store_errors: u64,
    /// Appends whose outcome the store did not know.
    pub doubts: u64,
}

/// A client that has a segment open.
#[derive(Debug, Clone)]
pub struct OpenClient {
    pub label: String,
    pub origin: Origin,
    /// The version of the client's copy, as far as the server knows; None: it has no copy.
    pub version: Option<u64>,
    /// How many versions the copy is behind the newest, and for how long: 0 if it is the newest.
    pub behind: Option<u64>,
    pub stale_ns: Option<u64>,
}

#[derive(Debug, Clone)]
pub struct SegmentStatistics {
    pub path: String,
    pub version: u64,
    pub blocks: u64,
    pub wire_bytes: u64,
    pub overhead: Overhead,
    pub clients: usize,
    pub subscribers: usize,
    pub writer_locked: bool,
    pub writers_waiting: usize,
    pub damaged: bool,
    /// The labels of the clients that write, and that wait to write. Clients choose their labels.
    pub writer: Option<String>,
    pub writer_origin: Option<Origin>,
    pub waiting: Vec<String>,
    /// The first [`READERS_NAMED`] of them.
    pub readers: Vec<OpenClient>,
    /// The bytes of all diffs that clients were sent, and the bytes that whole copies would have
    /// taken.
    pub sent_bytes: u64,
    pub whole_bytes: u64,
}

/// What is known without a look at segments.
#[derive(Debug, Clone)]
pub struct Statistics {
    pub identity: Identity,
    pub counters: Counters,
    pub connections: usize,
    pub sessions: usize,
    pub store_waiting: usize,
    /// Of them those whose outcome the store is to decide.
    pub store_undecided: usize,
    pub segments: usize,
    pub damaged: usize,
}

/// Sums over segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    pub blocks: u64,
    pub wire_bytes: u64,
    pub overhead_bytes: u64,
    /// Connections that have a segment open, counted for each segment; and those that subscribe.
    pub clients: u64,
    pub subscribers: u64,
    pub writer_locked: u64,
    pub writers_waiting: u64,
}

/// The part of /healthz that is about the engine.
#[derive(Debug, Clone, Default)]
pub struct Health {
    pub segments: usize,
    pub connections: usize,
    pub damaged: usize,
    /// The paths of some damaged segments.
    pub damaged_paths: Vec<String>,
}

/// So many readers of a segment are named: `clients` counts all.
pub const READERS_NAMED: usize = 256;
/// So many damaged segments are named.
const NAMED: usize = 8;

impl Engine {
    pub fn health(&self) -> Health {
        let damaged = self.segments.damaged();
        let count = damaged.len();
        let named = damaged.filter_map(|n| self.segments.get(*n)).take(NAMED);
        let mut damaged_paths: Vec<String> = named.map(|s| s.path.to_string()).collect();
        damaged_paths.sort();
        Health {
            segments: self.segments.len(),
            connections: self.wire.connection_count(),
            damaged: count,
            damaged_paths,
        }
    }

    pub fn statistics(&self) -> Statistics {
        Statistics {
            identity: self.config.identity,
            counters: self.wire.counters,
            connections: self.wire.connection_count(),
            sessions: self.wire.session_count(),
            store_waiting: self.journal.waiting(),
            store_undecided: self.journal.doubts.count(),
            segments: self.segments.len(),
            damaged: self.segments.damaged().len(),
        }
    }

    /// About the next `most` segments from that path on, in the order of paths. It takes some
    /// microseconds for each, so that a caller asks for few at a time.
    pub fn segment_statistics(
        &self,
        now_ns: u64,
        from: Bound<&str>,
        most: usize,
    ) -> Vec<SegmentStatistics> {
        let segments = self.segments.starting_at(from).take(most);
        segments.map(|s| self.statistics_of(s, now_ns)).collect()
    }

    /// Adds the next segments that the identity may read, of `most` that are looked at. Returns the
    /// last that was looked at; None: no segment is left.
    pub fn add_statistics(
        &self,
        now_ns: u64,
        segments: &mut Vec<SegmentStatistics>,
        identity: &interweave_access::Identity,
        from: Bound<&str>,
        most: usize,
    ) -> Option<String> {
        let mut last = None;
        let mut sight = Sight::new(self.access(), identity);
        for s in self.segments.starting_at(from).take(most) {
            if sight.sees(&s.path) {
                segments.push(self.statistics_of(s, now_ns));
            }
            last = Some(s);
        }
        last.map(|s| s.path.to_string())
    }

    /// Adds the next `most` segments from that path on. Returns the last of them; None: no segment
    /// is left.
    pub fn add_to_totals(
        &self,
        totals: &mut Totals,
        from: Bound<&str>,
        most: usize,
    ) -> Option<String> {
        let mut last = None;
        for s in self.segments.starting_at(from).take(most) {
            totals.add(s);
            last = Some(s);
        }
        last.map(|s| s.path.to_string())
    }

    fn statistics_of(&self, s: &SegmentState, now_ns: u64) -> SegmentStatistics {
        SegmentStatistics {
            path: s.path.to_string(),
            version: s.master.newest(),
            blocks: s.master.block_count(),
            wire_bytes: s.master.wire_bytes(),
            overhead: s.master.overhead_bytes(),
            clients: s.users.clients.len(),
            subscribers: s.users.subscribers.len(),
            writer_locked: s.lock.is_write_locked(),
            writers_waiting: s.lock.waiting_writers(),
            damaged: matches!(s.life, super::segment::Life::Damaged(_)),
            writer: s.lock.writing_session().map(|n| self.wire.label(n)),
            writer_origin: s.lock.writing_session().map(|n| self.wire.origin(n)),
            waiting: s
                .lock
                .waiting_sessions()
                .map(|n| self.wire.label(n))
                .collect(),
            readers: self.readers(s, now_ns),
            sent_bytes: s.sent_bytes,
            whole_bytes: s.whole_bytes,
        }
    }

    fn readers(&self, s: &SegmentState, now_ns: u64) -> Vec<OpenClient> {
        let newest = s.stamp();
        let named = s.users.clients.iter().take(READERS_NAMED);
        let connections = named.filter_map(|c| self.wire.connection(*c));
        let reader = |c: &Connection| {
            let have = c.open.get(&s.number)?.known.stamp;
            let has_copy = have.incarnation == newest.incarnation;
            // A copy is behind from the commit of the version after it.
            let since_ns = s
                .commits
                .at_ns(have.number.saturating_add(1))
                .unwrap_or(now_ns);
            Some(OpenClient {
                label: c.session.map(|n| self.wire.label(n)).unwrap_or_default(),
                origin: c.session.map(|n| self.wire.origin(n)).unwrap_or_default(),
                version: has_copy.then_some(have.number),
                behind: has_copy.then(|| newest.number.saturating_sub(have.number)),
                stale_ns: has_copy.then(|| now_ns.saturating_sub(since_ns)),
            })
        };
        connections.filter_map(reader).collect()
    }
}

impl Totals {
    fn add(&mut self, s: &SegmentState) {
        self.blocks += s.master.block_count();
        self.wire_bytes += s.master.wire_bytes();
        self.overhead_bytes += s.master.overhead_bytes().total();
        self.clients += s.users.clients.len() as u64;
        self.subscribers += s.users.subscribers.len() as u64;
        self.writer_locked += u64::from(s.lock.is_write_locked());
        self.writers_waiting += s.lock.waiting_writers() as u64;
    }
}
