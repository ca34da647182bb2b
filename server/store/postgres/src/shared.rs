//! The state that the store's thread and its callers share.

use crate::connection::Connection;
use crate::segments::Segments;
use crate::timelines::Timelines;
use crate::waits::{Wait, Waits};
use interweave_store::{Full, NowFn, StoreError, StoreStatus};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Told {
    pub segments: Segments,
    pub status: StoreStatus,
    /// The epochs under which this server has claimed, or made, segments.
    pub claims: HashSet<i64>,
    /// The segments that it has tried to claim, and has not read since. It has forgotten their
    /// last owners.
    pub doubts: HashSet<i64>,
}

/// `told` is never held while the database is asked.
pub struct Shared {
    told: Mutex<Told>,
    now: NowFn,
    pub timelines: Timelines,
    pub waits: Waits,
    is_hurried: AtomicBool,
}

impl Shared {
    pub fn new(now: NowFn, timeline: i64) -> Shared {
        Shared {
            told: Mutex::default(),
            now,
            timelines: Timelines::new(timeline),
            waits: Waits::default(),
            is_hurried: AtomicBool::new(false),
        }
    }

    pub fn now(&self) -> Instant {
        (self.now)()
    }

    /// Somebody waits for an answer on that connection from now on, and no longer than that.
    pub fn wait(&self, connection: &Connection, longest: Duration) -> Wait<'_> {
        self.waits.until(self.now() + longest, connection)
    }

    /// The store is about to be closed: nobody waits any more for a database that does not answer.
    pub fn hurry(&self) {
        self.is_hurried.store(true, Ordering::Relaxed);
    }

    pub fn is_hurried(&self) -> bool {
        self.is_hurried.load(Ordering::Relaxed)
    }

    pub fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing is written any more.
    pub fn stop(&self, why: &StoreError) {
        self.lock()
            .status
            .stopped
            .get_or_insert_with(|| why.clone());
    }

    pub fn stopped(&self) -> Option<StoreError> {
        self.lock().status.stopped.clone()
    }

    pub fn note(&self, error: &StoreError) {
        let since = self.now();
        let status = &mut self.lock().status;
        status.errors += 1;
        status.last_error = Some(error.to_string());
        match error {
            StoreError::Full(text) => {
                let text = text.clone();
                status.full.get_or_insert(Full { since, text });
            }
            StoreError::Alone(text) => status.alone = Some(text.clone()),
            _ => {}
        }
    }

    /// Takes note of a look at the database.
    pub fn saw(&self, looked: Result<(), StoreError>) {
        let status = &mut self.lock().status;
        (status.alone, status.away) = match looked {
            Ok(()) => (None, None),
            Err(StoreError::Alone(text)) => (Some(text), None),
            Err(error) => (None, Some(error.to_string())),
        };
    }
}
