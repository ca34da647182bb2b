//! Time in which the server did not run, or was busy with one thing.
//!
//! The server heard no peer in that time. So the time counts neither as a peer's silence nor
//! against a lease [SES-2, SES-3, LOCK-3]. A lease that becomes longer so is safe, because a client
//! counts its lease from an earlier moment, and each release is checked by its fence.

use super::engine::Engine;
use interweave_wire::planted::{self, Defect};

/// The time in which the server listened to nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Absence {
    /// Moves a moment before the absence's end, as if the absence had taken no time.
    pub fn excuse_moment(&self, at_ns: &mut u64) {
        if *at_ns < self.to_ns {
            *at_ns += self.to_ns - self.from_ns.max(*at_ns);
        }
    }

    /// Moves a deadline that was not over when the absence began.
    pub fn excuse_deadline(&self, until_ns: &mut u64) {
        if *until_ns > self.from_ns {
            *until_ns = until_ns.saturating_add(self.to_ns - self.from_ns);
        }
    }
}

impl Engine {
    /// Takes note of an absence. REQUIRES: no event after the absence was given to the engine.
    pub fn was_absent(&mut self, absence: Absence) {
        if planted::is_in(Defect::SilenceWhileStopped) {
            return;
        }
        for number in self.wire.was_absent(absence) {
            if let Some(s) = self.segments.if_still_there(number) {
                let excuse_moment = |at_ns: &mut u64| absence.excuse_moment(at_ns);
                let excuse_deadline = |until_ns: &mut u64| absence.excuse_deadline(until_ns);
                s.lock.excuse(excuse_moment, excuse_deadline);
            }
        }
    }
}
