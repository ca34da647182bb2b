//! Transactions that wait for the database.
//!
//! A connection may carry nothing any more, and not break: behind a proxy, over a Unix socket, or
//! with a process of PostgreSQL that hangs. Its caller would wait for ever. While others are
//! answered, a connection on which somebody has waited for too long is broken. Then its caller does
//! what it does after each broken connection.

use crate::connection::Connection;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// A transaction of a few rows may take so long, the wait for the standby included.
pub const SHORT: Duration = Duration::from_secs(20);
/// The slowest link to the database that is waited for.
const SLOWEST_BYTES_A_SECOND: u64 = 100 << 10;
/// A piece of a checkpoint may take so long, with the tidying after it.
pub const SAVING: Duration = Duration::from_secs(100);
/// One that reads a segment may take so long.
pub const LONG: Duration = Duration::from_secs(300);

/// A transaction that sends so many bytes may take so long.
pub fn sending(bytes: u64) -> Duration {
    SHORT + Duration::from_secs(bytes / SLOWEST_BYTES_A_SECOND)
}

#[derive(Default)]
struct All {
    next: u64,
    /// Until when each may take, and how to break its connection.
    ends: BTreeMap<u64, (Instant, AbortHandle)>,
}

/// Threads share it.
#[derive(Default)]
pub struct Waits(Mutex<All>);

/// Somebody waits, until this is dropped.
pub struct Wait<'a> {
    waits: &'a Waits,
    number: u64,
}

impl Waits {
    /// A transaction on that connection begins, and may take until then.
    pub fn until(&self, end: Instant, connection: &Connection) -> Wait<'_> {
        self.add(end, connection.breaks())
    }

    fn add(&self, end: Instant, breaks: AbortHandle) -> Wait<'_> {
        let mut all = self.lock();
        all.next += 1;
        let number = all.next;
        all.ends.insert(number, (end, breaks));
        Wait {
            waits: self,
            number,
        }
    }

    /// The database has answered somebody. Breaks the connections of those who have waited for too
    /// long, and returns how many there were.
    pub fn break_overdue(&self, now: Instant) -> usize {
        let mut all = self.lock();
        let overdue = all.ends.extract_if(.., |_, (end, _)| *end <= now);
        overdue.map(|(_, (_, breaks))| breaks.abort()).count()
    }

    fn lock(&self) -> MutexGuard<'_, All> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.waits.lock().ends.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_breaks_when_somebody_has_waited_on_it_for_too_long() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let task = || runtime.spawn(std::future::pending::<()>());
        let (waits, now) = (Waits::default(), Instant::now());
        let [short, long, over] = [task(), task(), task()];
        let _short = waits.add(now + SHORT, short.abort_handle());
        let _long = waits.add(now + LONG, long.abort_handle());
        drop(waits.add(now, over.abort_handle()));
        assert_eq!(
            waits.break_overdue(now + SHORT - Duration::from_millis(1)),
            0
        );
        assert_eq!(waits.break_overdue(now + SHORT), 1);
        assert_eq!(waits.break_overdue(now + SHORT), 0, "once");
        assert!(runtime.block_on(short).unwrap_err().is_cancelled());
        assert!(!long.is_finished() && !over.is_finished());
    }
}
