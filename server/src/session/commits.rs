//! Remembers when versions were committed, which says how long a copy has been behind.
//!
//! Memory is bounded: of older versions fewer are kept. So the time that is told is later than the
//! commit by at most a sixteenth of the time since, and never earlier. Of a version that is older
//! than this server's hold on the segment, the time is when the server got the segment.

use interweave_wire::{Rare, Resting};
use std::collections::VecDeque;

const MOST: usize = 256;
/// Versions are left out before one that came within this part of the time since.
const FINENESS: u64 = 16;

/// A version, which stands also for the versions before it that are left out.
#[derive(Debug, Default)]
struct Commit {
    version: u64,
    at_ns: u64,
    /// When the first of these versions was committed.
    first_ns: u64,
}

/// Versions ascend, and so do their times.
#[derive(Debug, Default)]
pub struct Commits {
    /// The oldest. It lies here, because most segments of a server do not change.
    first: Commit,
    later: Rare<Later>,
}

#[derive(Debug)]
struct Later(VecDeque<Commit>);

impl Resting for Later {
    const REST: Self = Later(VecDeque::new());
    const AT_REST: &'static Self = &Self::REST;
}

impl Commits {
    /// Begins when the server has the segment at that version.
    pub fn begin(version: u64, now_ns: u64) -> Self {
        Commits {
            first: Commit::new(version, now_ns),
            later: Rare::default(),
        }
    }

    pub fn add(&mut self, version: u64, at_ns: u64) {
        if self.len() >= MOST {
            self.thin(at_ns);
        }
        self.later.0.push_back(Commit::new(version, at_ns));
    }

    fn len(&self) -> usize {
        1 + self.later.0.len()
    }

    fn thin(&mut self, now_ns: u64) {
        let mut thinned: VecDeque<Commit> = VecDeque::with_capacity(MOST);
        let mut all = std::mem::take(&mut self.later.0);
        all.push_front(std::mem::take(&mut self.first));
        for commit in all.into_iter().rev() {
            // There is room again, for any times.
            let is_full = thinned.len() >= MOST - MOST / 8;
            match thinned.front_mut() {
                Some(later) if is_full || later.can_stand_for(&commit, now_ns) => {
                    later.first_ns = commit.first_ns;
                }
                _ => thinned.push_front(commit),
            }
        }
        self.first = thinned.pop_front().unwrap_or_default();
        self.later.0 = thinned;
    }

    /// Returns when that version was committed; None: it was not.
    pub fn at_ns(&self, version: u64) -> Option<u64> {
        if version <= self.first.version {
            return Some(self.first.at_ns);
        }
        let later = &self.later.0;
        let earlier = later.partition_point(|c| c.version < version);
        later.get(earlier).map(|c| c.at_ns)
    }
}

impl Commit {
    fn new(version: u64, at_ns: u64) -> Self {
        Commit {
            version,
            at_ns,
            first_ns: at_ns,
        }
    }

    fn can_stand_for(&self, earlier: &Commit, now_ns: u64) -> bool {
        let off_ns = self.at_ns.saturating_sub(earlier.first_ns);
        off_ns.saturating_mul(FINENESS) <= now_ns.saturating_sub(self.at_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_versions_are_exact_and_the_others_nearly_so() {
        let mut commits = Commits::begin(0, 0);
        // Bursts of seven, a hundred a second, and a pause of a minute every thousand.
        let time_of = |v: u64| (v / 7) * 70_000_000 + (v / 1000) * 60_000_000_000;
        let newest = 200_000;
        for version in 1..=newest {
            commits.add(version, time_of(version));
            assert!(commits.later.0.len() < MOST);
        }
        let now = time_of(newest);
        for version in 1..=newest {
            let said = commits.at_ns(version).expect("it was committed");
            let was = time_of(version);
            assert!(
                said >= was && said - was <= (now - was) / FINENESS,
                "{version}"
            );
        }
        assert_eq!(commits.at_ns(newest + 1), None);
    }

    #[test]
    fn memory_is_bounded_also_if_no_version_can_stand_for_another() {
        // The time since a version is more than a sixteenth longer than since the next one.
        let ages = std::iter::successors(Some(1000), |age: &u64| Some(age + age / 12));
        let ages: Vec<u64> = ages.take(300).collect();
        let now = ages[299];
        let mut commits = Commits::begin(0, 0);
        for (version, age) in ages.iter().rev().enumerate() {
            commits.add(version as u64 + 1, now - age);
            assert!(commits.later.0.len() < MOST, "{version}");
        }
        assert_eq!(commits.at_ns(300), Some(now - 1000));
    }

    #[test]
    fn of_what_was_there_before_it_is_known_since_when_the_segment_is_had() {
        let mut commits = Commits::begin(40, 5);
        commits.add(41, 9);
        assert_eq!(
            [30, 40, 41].map(|v| commits.at_ns(v)),
            [Some(5), Some(5), Some(9)]
        );
    }
}
