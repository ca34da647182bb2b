//! What the store's thread and those who ask it share.

use crate::segments::Segments;
use interweave_store::{Full, NowFn, StoreError, StoreStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

#[derive(Default)]
pub struct Told {
    pub segments: Segments,
    pub status: StoreStatus,
}

/// Never held while the database is asked.
pub struct Shared {
    told: Mutex<Told>,
    now: NowFn,
}

impl Shared {
    pub fn new(now: NowFn) -> Shared {
        Shared {
            told: Mutex::default(),
            now,
        }
    }

    pub fn now(&self) -> Instant {
        (self.now)()
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
        if let StoreError::Full(text) = error {
            let text = text.clone();
            status.full.get_or_insert(Full { since, text });
        }
    }
}
