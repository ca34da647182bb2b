//! The other servers of a space, as this one has seen them: which of them are over [SPACE-3].
//!
//! No clock of the store or of another machine counts. A server is over when the looks of a whole
//! lease have found the same counter, by the clock of the one who looks.

use interweave_wire::planted::{self, Defect};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Defects that the simulator does not find where looks begin anew after renewals that failed or
/// were late, because their causes make renewals fail as well. Each is planted without that second
/// defence.
const HIDDEN: [Defect; 4] = [
    Defect::OverTooSoon,
    Defect::ClaimUnreplicated,
    Defect::RenewalUnreplicated,
    Defect::CounterRepeated,
];

/// Another server's row at the last looks.
#[derive(Debug, Clone, Copy)]
struct Seen {
    counter: i64,
    /// A look that found this counter had its answer then, and no earlier one did.
    since: Instant,
}

#[derive(Debug, Default)]
struct Looks {
    others: HashMap<i64, Seen>,
    /// This server's own last renewal was asked for then. It is good for so long.
    renewed: Option<(Instant, Duration)>,
}

impl Looks {
    fn begin_anew(&mut self) {
        if !HIDDEN.into_iter().any(planted::is_in) {
            self.others.clear();
        }
    }

    /// Begins anew if this server's own lease had run out by then. Its renewal may still be on its
    /// way, and the store that delays it may delay those of the others, too.
    fn begin_anew_if_late(&mut self, at: Instant) {
        let is_late = |(asked, lease)| at.saturating_duration_since(asked) >= lease;
        if self.renewed.is_some_and(is_late) {
            self.begin_anew();
        }
    }
}

/// The other servers, as this one has seen them. Threads may share it.
#[derive(Debug, Default)]
pub struct Watch(Mutex<Looks>);

impl Watch {
    /// Takes note of a look that was asked for and answered at these times. It has found that
    /// epoch's counter. Returns whether the other server is over.
    pub fn saw(&self, place: (i64, i64), lease: Duration, look: (Instant, Instant)) -> bool {
        let lease = match planted::is_in(Defect::OverTooSoon) {
            true => lease / 2,
            false => lease,
        };
        self.unseen(place, look) >= lease
    }

    /// The same. Returns for how long the counter of the server of that epoch was the same.
    pub fn unseen(
        &self,
        (epoch, counter): (i64, i64),
        (asked, answered): (Instant, Instant),
    ) -> Duration {
        let mut looks = self.lock();
        looks.begin_anew_if_late(asked);
        let seen = looks.others.entry(epoch).or_insert(Seen {
            counter,
            since: answered,
        });
        if seen.counter != counter {
            *seen = Seen {
                counter,
                since: answered,
            };
        }
        asked.saturating_duration_since(seen.since)
    }

    /// This server could not renew its own lease. The store may be away, and then the others cannot
    /// renew theirs: such a silence does not count.
    pub fn begin_anew(&self) {
        self.lock().begin_anew();
    }

    /// This server has renewed its own lease, which is so long. The renewal was asked for and
    /// answered at these times.
    pub fn renewed(&self, lease: Duration, (asked, answered): (Instant, Instant)) {
        let mut looks = self.lock();
        looks.begin_anew_if_late(answered);
        looks.renewed = Some((asked, lease));
    }

    /// Forgets the servers that have no row any more.
    pub fn forget_all_but(&self, epochs: &[i64]) {
        let mut looks = self.lock();
        looks.others.retain(|epoch, _| epochs.contains(epoch));
    }

    fn lock(&self) -> MutexGuard<'_, Looks> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(2);

    /// A look that was asked for then, and took 100 ms.
    fn look(begin: Instant, at_ms: u64) -> (Instant, Instant) {
        let asked = begin + Duration::from_millis(at_ms);
        (asked, asked + Duration::from_millis(100))
    }

    #[test]
    fn space_3_a_server_is_over_when_its_counter_was_the_same_for_a_lease_of_looks() {
        let (watch, begin) = (Watch::default(), Instant::now());
        let saw = |counter, at_ms| watch.saw((7, counter), LEASE, look(begin, at_ms));
        assert!(!saw(4, 0));
        assert!(!saw(4, 2_000), "the first look's answer came at 100 ms");
        assert!(!saw(5, 2_100), "it has changed");
        assert!(!saw(5, 4_199));
        assert!(saw(5, 4_200));
        // A counter that goes back has changed: a standby was promoted that lacked renewals.
        assert!(!saw(3, 4_300));
    }

    #[test]
    fn space_3_a_silence_while_nobody_could_renew_does_not_count() {
        let (watch, begin) = (Watch::default(), Instant::now());
        let saw = |at_ms| watch.saw((7, 4), LEASE, look(begin, at_ms));
        assert!(!saw(0));
        watch.begin_anew();
        assert!(!saw(20_000), "the store was away");
        assert!(!saw(22_000));
        assert!(saw(22_100));
    }

    #[test]
    fn space_3_a_silence_does_not_count_while_a_renewal_is_on_its_way() {
        let (watch, begin) = (Watch::default(), Instant::now());
        let saw = |at_ms| watch.saw((7, 4), LEASE, look(begin, at_ms));
        watch.renewed(LEASE, look(begin, 0));
        assert!(!saw(100));
        assert!(!saw(2_000), "the store stands still");
        assert!(!saw(20_000));
        assert!(!saw(22_100));
        // The renewal was asked for before.
        watch.renewed(LEASE, (begin, begin + Duration::from_millis(22_200)));
        watch.renewed(LEASE, look(begin, 22_300));
        assert!(!saw(22_500));
        watch.renewed(LEASE, look(begin, 24_000));
        assert!(!saw(24_599));
        assert!(saw(24_600));
    }

    #[test]
    fn space_3_looks_before_a_late_renewal_do_not_count() {
        let (watch, begin) = (Watch::default(), Instant::now());
        let saw = |at_ms| watch.saw((7, 4), LEASE, look(begin, at_ms));
        watch.renewed(LEASE, look(begin, 0));
        assert!(!saw(100));
        watch.renewed(LEASE, look(begin, 1_900));
        assert!(!saw(2_300), "it is over at once");
    }

    #[test]
    fn space_3_a_server_that_came_back_is_watched_anew() {
        let (watch, begin) = (Watch::default(), Instant::now());
        assert!(!watch.saw((7, 4), LEASE, look(begin, 0)));
        watch.forget_all_but(&[]);
        assert!(!watch.saw((7, 4), LEASE, look(begin, 9_000)));
    }
}
