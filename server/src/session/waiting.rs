//! What waits to be sent, over all connections: bounded, large diffs apart, which lending.rs bounds.
//!
//! A connection that asks much and takes little is not asked for more (the net room stops reading it);
//! many of them together are bounded here, at the cost of those that took nothing for longest.
//! Invariant: `waiting_bytes` is the sum of `backlog.kept` of the connections there are.
//! Implements [NET-2].

use super::connection::Connection;
use super::engine::Engine;

impl Engine {
    /// What waits to be sent over all connections, lent diffs apart.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Whether the connection is sent no diffs until it has caught up. Where memory is short nobody is
    /// sent more who has not taken all.
    pub(super) fn is_slow(&self, c: &Connection) -> bool {
        let short = self.waiting_bytes > self.config.waiting_bytes / 2;
        c.backlog.all > self.config.slow_bytes || (short && c.backlog.all > 0)
    }

    /// Closes connections until what waits on the others is within the bound.
    pub(super) fn close_slowest(&mut self) {
        let waiting = self.connections.iter().filter(|(_, c)| c.backlog.kept > 0);
        let mut slowest: Vec<_> = waiting.map(|(id, c)| (c.took_ns, *id)).collect();
        slowest.sort_unstable();
        for (_, connection) in slowest {
            if self.waiting_bytes <= self.config.waiting_bytes {
                return;
            }
            self.counters.stuck += 1;
            self.close(connection);
        }
    }
}
