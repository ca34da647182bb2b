//! The one clock of the server, which is monotonic and counts suspend [FRESH-1]. It also shows when
//! the server did not run for a while.

use crate::session::Absence;
use rustix::time::{clock_gettime, ClockId};

#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: ClockId = ClockId::Monotonic;

/// Nanoseconds since some moment before the server's start.
pub fn now_ns() -> u64 {
    let now = clock_gettime(CLOCK);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(now.tv_nsec).unwrap_or(0)
}

/// A timer that is later than this tells of an absence.
const LATE_NS: u64 = 10_000_000;

/// Notices that the server came late to its work. It was busy with one thing, or it did not run
/// because it was stopped or suspended.
#[derive(Debug, Default)]
pub struct Punctuality {
    /// Absences before this time were told.
    told_ns: u64,
}

impl Punctuality {
    /// Returns the absence that must be told, if there was one. `armed_ns`: the time of the work.
    pub fn absence(&mut self, armed_ns: u64, now_ns: u64) -> Option<Absence> {
        let from_ns = armed_ns.max(self.told_ns);
        let late = now_ns > from_ns.saturating_add(LATE_NS);
        late.then(|| {
            self.told_ns = now_ns;
            Absence {
                from_ns,
                to_ns: now_ns,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_was_an_absence_and_is_told_once() {
        const SECOND_NS: u64 = 1_000_000_000;
        let mut punctuality = Punctuality::default();
        assert_eq!(punctuality.absence(5 * SECOND_NS, 4 * SECOND_NS), None);
        assert_eq!(
            punctuality.absence(5 * SECOND_NS, 5 * SECOND_NS + LATE_NS),
            None
        );
        assert_eq!(punctuality.absence(u64::MAX, 6 * SECOND_NS), None);
        let absence = Absence {
            from_ns: 5 * SECOND_NS,
            to_ns: 15 * SECOND_NS,
        };
        assert_eq!(
            punctuality.absence(5 * SECOND_NS, 15 * SECOND_NS),
            Some(absence)
        );
        // The timer has not been served yet, and the next event comes at once.
        assert_eq!(punctuality.absence(5 * SECOND_NS, 15 * SECOND_NS + 1), None);
        let absence = Absence {
            from_ns: 15 * SECOND_NS,
            to_ns: 18 * SECOND_NS,
        };
        assert_eq!(
            punctuality.absence(5 * SECOND_NS, 18 * SECOND_NS),
            Some(absence)
        );
    }
}
