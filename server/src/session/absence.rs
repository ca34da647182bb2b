//! Time in which the server did not run or was busy with one thing: nobody could be heard then, so
//! it counts neither as anybody's silence nor against a lease [SES-2, SES-3, LOCK-3]. Longer leases
//! are safe: a client counts its own from earlier, and a release is checked by its fence.

use super::engine::Engine;

/// From when to when nothing was listened to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Absence {
    pub from_ns: u64,
    pub to_ns: u64,
}

impl Absence {
    /// A moment before its end, as if what was absent had not passed.
    pub fn excuse_moment(&self, at_ns: &mut u64) {
        if *at_ns < self.to_ns {
            *at_ns += self.to_ns - self.from_ns.max(*at_ns);
        }
    }

    /// A deadline that was not over when it began.
    pub fn excuse_deadline(&self, until_ns: &mut u64) {
        if *until_ns > self.from_ns {
            *until_ns = until_ns.saturating_add(self.to_ns - self.from_ns);
        }
    }
}

impl Engine {
    /// To be told before any event that comes after it.
    pub fn was_absent(&mut self, absence: Absence) {
        for number in self.wire.was_absent(absence) {
            if let Some(s) = self.segments.if_still_there(number) {
                let excuse_moment = |at_ns: &mut u64| absence.excuse_moment(at_ns);
                let excuse_deadline = |until_ns: &mut u64| absence.excuse_deadline(until_ns);
                s.lock.excuse(excuse_moment, excuse_deadline);
            }
        }
    }
}
