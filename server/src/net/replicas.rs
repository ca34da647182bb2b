//! The segments that are followed, as far as they were read and rebuilt [SPACE-18].
//!
//! They are rebuilt on the store's threads, so that the engine's thread has nothing to do when the
//! server claims one of them.

use crate::session::{Found, Read, Rebuilt};
use interweave_store::{Followed, Sought, StoreError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The copies, by the paths of their segments. The lock is not held while one is rebuilt: the store
/// tells of one segment at a time.
#[derive(Clone, Default)]
pub struct Replicas(Arc<Mutex<HashMap<String, Rebuilt>>>);

impl Replicas {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Rebuilt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, path: &str) -> Option<Rebuilt> {
        self.lock().remove(path)
    }

    /// Takes what the store has read.
    pub fn followed(&self, path: &str, followed: Followed) -> Result<Read, StoreError> {
        let (rebuilt, bytes) = match followed {
            Followed::Whole(found) => {
                let bytes = found.bytes();
                // The memory of the copy before is free for the next one.
                drop(self.take(path));
                (Some(Rebuilt::of(*found)), bytes)
            }
            Followed::More(since) => {
                let bytes = since.bytes();
                (self.take(path).and_then(|copy| copy.with(*since)), bytes)
            }
            Followed::Free => return Ok(Read::Free),
            Followed::Absent => return Ok(Read::Absent),
        };
        let Some(rebuilt) = rebuilt else {
            let text = "what was read of the segment does not fit; ask again";
            return Err(StoreError::Io(text.to_string()));
        };
        self.lock().insert(path.to_string(), rebuilt);
        Ok(Read::Bytes(bytes))
    }

    /// Takes the store's answer about a segment that was looked for.
    pub fn sought(&self, path: &str, sought: Sought) -> Result<Found, StoreError> {
        Found::of(sought, || self.take(path))
    }

    /// Lets go of a copy. Its memory is freed on a thread of its own, because it may be large.
    pub fn forget(&self, path: &str) {
        if let Some(copy) = self.take(path) {
            super::freeing::free_elsewhere(copy);
        }
    }
}
