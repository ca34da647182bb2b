//! What the store's threads tell those who ask how it is.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::StoreStatus;
use crate::StoreError;

#[derive(Debug, Default)]
pub struct Told {
    pub status: StoreStatus,
    pub overdue: Vec<u64>,
    pub with_much_log: Vec<(u64, u64)>,
}

/// Never held over a system call.
#[derive(Debug, Default)]
pub struct Status(Mutex<Told>);

impl Status {
    pub fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread that writes the log has panicked.
    pub fn ended(&self, text: String) -> StoreError {
        let error = StoreError::Ended(text);
        self.error(&error);
        self.lock().status.stopped = Some(error.clone());
        error
    }

    pub fn error(&self, error: &StoreError) {
        let mut told = self.lock();
        told.status.errors += 1;
        told.status.last_error = Some(error.to_string());
    }
}
