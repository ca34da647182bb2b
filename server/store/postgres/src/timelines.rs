//! The timelines of the database: each promotion of a standby begins a newer one.

use crate::connection::Connection;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use tokio::task::AbortHandle;

/// The newest timeline that was seen, and the connections. Threads share it.
pub struct Timelines {
    newest: AtomicI64,
    /// With the timeline of each.
    connections: Mutex<Vec<(i64, AbortHandle)>>,
}

impl Timelines {
    pub fn new(newest: i64) -> Timelines {
        Timelines {
            newest: AtomicI64::new(newest),
            connections: Mutex::default(),
        }
    }

    pub fn newest(&self) -> i64 {
        self.newest.load(Ordering::Relaxed)
    }

    /// Takes note of a connection to a primary on that timeline. Connections to older timelines
    /// break: their primary may stand still, and a caller would wait for its answer without end.
    pub fn saw(&self, timeline: i64, connection: &Connection) {
        self.newest.fetch_max(timeline, Ordering::Relaxed);
        let connections = self.connections.lock();
        let mut connections = connections.unwrap_or_else(PoisonError::into_inner);
        connections.push((timeline, connection.breaks()));
        let newest = self.newest();
        for (_, breaks) in connections.iter().filter(|(of, _)| *of < newest) {
            breaks.abort();
        }
        connections.retain(|(of, breaks)| *of >= newest && !breaks.is_finished());
    }
}
