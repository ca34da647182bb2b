//! Bounds the bytes that wait to be sent over all connections. lending.rs bounds large diffs.
//!
//! The net room stops reading from a connection that takes too little. Many such connections
//! together are bounded here: those that took nothing for the longest time are closed. Implements
//! [NET-2].

use super::super::message::Backlog;
use super::connection::Connection;
use super::Wire;
use interweave_wire::planted::{self, Defect};

impl Wire {
    /// Returns the bytes that wait to be sent over all connections, without lent diffs.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// Notes the bytes that wait on the connection. Returns true if it takes messages again and is
    /// behind.
    pub fn note_backlog(&mut self, now_ns: u64, connection: u64, backlog: Backlog) -> bool {
        let Some(c) = self.connections.get_mut(&connection) else {
            return false;
        };
        if backlog.all < c.backlog.all {
            c.took_ns = c.took_ns.max(now_ns);
        }
        if backlog.all == 0 {
            c.lent.clear();
        }
        self.waiting_bytes = self.waiting_bytes - c.backlog.kept + backlog.kept;
        c.backlog = backlog;
        backlog.all <= self.config.slow_bytes / 2 && !c.behind.is_empty()
    }

    /// Whether more bytes wait than may.
    pub fn is_overfull(&self) -> bool {
        self.waiting_bytes > self.config.waiting_bytes && !planted::is_in(Defect::SlowestKept)
    }

    /// Whether the connection is sent no diffs until it has caught up. When memory is short, that
    /// holds for each connection that has not taken all.
    pub(super) fn is_slow(&self, c: &Connection) -> bool {
        let short = self.waiting_bytes >= self.config.waiting_bytes / 2;
        c.backlog.all > self.config.slow_bytes || (short && c.backlog.all > 0)
    }

    /// Closes connections until the bytes that wait on the others are within the bound.
    pub fn close_slowest(&mut self) {
        let waiting = self.connections.iter().filter(|(_, c)| c.backlog.kept > 0);
        let mut slowest: Vec<_> = waiting.map(|(id, c)| (c.took_ns, *id)).collect();
        slowest.sort_unstable();
        for (_, connection) in slowest {
            if !self.is_overfull() {
                return;
            }
            self.counters.stuck += 1;
            self.close(connection);
        }
    }
}
