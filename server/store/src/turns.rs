//! A store without threads: whoever has it says when its two workers take their turns. So a
//! simulator decides in which order things happen, and how long they take.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::writer::Writer;

/// The workers of a store that was opened by
/// [`EmbeddedStore::open_in_turns`](crate::EmbeddedStore::open_in_turns).
#[derive(Clone)]
pub struct Turns(Arc<Mutex<Writer>>);

impl Turns {
    pub(crate) fn of(writer: Writer) -> Turns {
        Turns(Arc::new(Mutex::new(writer)))
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log's worker does what waits first: all groups that wait together, or one message.
    /// False: nothing waits.
    pub fn write(&self) -> bool {
        self.writer().turn()
    }

    /// The worker of the checkpoints does one job. False: no job waits.
    pub fn save(&self) -> bool {
        self.writer().saver.turn()
    }

    /// When a turn has something to do although nothing is asked of the store.
    pub fn next_at(&self) -> Option<Instant> {
        let writer = self.writer();
        writer
            .next_at()
            .into_iter()
            .chain(writer.saver.next_at())
            .min()
    }

    /// Does all that waits, until the store is told to close.
    pub(crate) fn end(&self) {
        self.writer().run();
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns")
    }
}
