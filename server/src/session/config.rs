//! The options of an engine.

use interweave_master::Tuning;
use interweave_store::{Identity, Threads};

/// Times and bounds of the server; nothing here changes while it runs.
#[derive(Debug, Clone)]
pub struct Config {
    /// The lease of a writer lock, and of a session without a connection.
    pub lease_ms: u32,
    /// How long renewals keep a writer lock at most [LOCK-3].
    pub max_hold_ms: u32,
    /// How often a client hears from the server at least.
    pub heartbeat_ms: u32,
    /// How long a connection may take to say hello.
    pub hello_ms: u32,
    /// The quota of a segment whose creator asks for none.
    pub quota_bytes: u64,
    /// The largest quota that a creator may ask for.
    pub max_quota_bytes: u64,
    /// The number of segments at which no more are created.
    pub max_segments: usize,
    /// The largest bulk of one message, in both directions: a complete copy of a segment of the
    /// largest quota, with room for what is not data.
    pub max_diff_bytes: u64,
    /// The most bytes that have come of releases that are still arriving, over all connections. A
    /// release that fits in one frame does not count. One release has no more.
    pub receiving_bytes: u64,
    /// The most bytes of large diffs that are on their way out, each counted once. Beyond this
    /// bound the connections that take nothing are closed.
    pub sending_bytes: u64,
    /// The most bytes of everything else that waits to be sent, over all connections [NET-2].
    pub waiting_bytes: usize,
    /// A connection on which more bytes wait is slow: no diff is pushed to it until it has caught
    /// up.
    pub slow_bytes: usize,
    /// How master copies work.
    pub tuning: Tuning,
    /// A segment with more bytes is saved in pieces.
    pub whole_bytes: u64,
    /// The size of a piece.
    pub piece_bytes: u64,
    /// Whether there is a store. Without one every segment is of durability MEMORY.
    pub stored: bool,
    /// The lease of this server among those that share its store [SPACE-1]. None: it shares the
    /// store with nobody.
    pub space_lease_ms: Option<u32>,
    /// Fences and incarnations begin above this number, which grows with every start [LOG-9].
    pub first_fence: u64,
    /// How many threads rebuild the segments at a start.
    pub threads: Threads,
    /// Whether there is an audit log.
    pub audits: bool,
    /// The ids of this server and its name space.
    pub identity: Identity,
    /// For people: name and version of the server.
    pub label: String,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            lease_ms: 10_000,
            max_hold_ms: 300_000,
            heartbeat_ms: 1_000,
            hello_ms: 5_000,
            quota_bytes: 1 << 30,
            max_quota_bytes: 16 << 30,
            max_segments: 1_000_000,
            max_diff_bytes: 17 << 30,
            receiving_bytes: 5 << 30,
            sending_bytes: 2 << 30,
            waiting_bytes: 256 << 20,
            slow_bytes: 1 << 20,
            tuning: Tuning::default(),
            whole_bytes: 1 << 20,
            piece_bytes: 256 << 10,
            stored: false,
            space_lease_ms: None,
            first_fence: 1 << 32,
            threads: Threads::default(),
            audits: false,
            identity: Identity::default(),
            label: concat!("interweave ", env!("CARGO_PKG_VERSION")).to_string(),
        }
    }
}

impl Config {
    /// A client takes its copy for the newest for two heartbeats after it has heard of the server
    /// [FRESH-3]. In a space these are within the lease [SPACE-2].
    pub(super) fn bound_heartbeat(mut self) -> Self {
        let most = self.space_lease_ms.map_or(u32::MAX, |lease| lease / 8);
        self.heartbeat_ms = self.heartbeat_ms.min(most.max(1));
        self
    }
}

/// Milliseconds as the engine's nanoseconds.
pub(super) fn ns(ms: u32) -> u64 {
    u64::from(ms) * 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [LOCK-12] [LOG-18] [NET-2] [NOT-7]
    #[test]
    fn the_bounds_are_those_that_the_rules_name() {
        const MIB: u64 = 1_048_576;
        let config = Config::default();
        assert_eq!(config.waiting_bytes as u64, 256 * MIB);
        assert_eq!(config.sending_bytes, 2048 * MIB);
        assert_eq!(config.receiving_bytes, 5120 * MIB);
        assert_eq!(config.whole_bytes, MIB);
        assert!((1..MIB).contains(&config.piece_bytes));
        // The largest segment goes over the wire as a whole.
        assert_eq!(config.max_quota_bytes, 16_384 * MIB);
        assert!(config.max_diff_bytes > config.max_quota_bytes);
    }
}
