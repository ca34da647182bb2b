//! Which segments keep the log from being cut: the holders of its oldest files, and those with much
//! log of their own [LOG-5].
//!
//! Kept up to date by each change of a segment, because a look at all segments would hold up the
//! log: there may be a million of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// A segment with at least so many bytes of log since its checkpoint has much.
pub const MUCH_LOG_BYTES: u64 = 64 << 20;
/// So many segments are named as overdue at a time; the others follow when these are saved.
pub const NAMED: usize = 256;

/// What a segment means to the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hold {
    /// The oldest file with a record that no checkpoint covers, if a checkpoint would change that.
    pub oldest_file: Option<u64>,
    pub checkpoint_bytes: u64,
    pub log_bytes: u64,
}

/// The sum and the largest of all checkpoints' sizes.
#[derive(Debug, Default)]
struct Sizes {
    sum: u64,
    /// How many checkpoints have that size.
    counts: BTreeMap<u64, u64>,
}

impl Sizes {
    fn add(&mut self, bytes: u64) {
        self.sum += bytes;
        *self.counts.entry(bytes).or_insert(0) += 1;
    }

    fn remove(&mut self, bytes: u64) {
        self.sum -= bytes;
        if let Some(count) = self.counts.get_mut(&bytes) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&bytes);
            }
        }
    }

    fn largest(&self) -> u64 {
        self.counts.last_key_value().map_or(0, |(&bytes, _)| bytes)
    }
}

#[derive(Debug, Default)]
pub struct Holders {
    /// The oldest file, the size of the checkpoint, the segment.
    holding: BTreeSet<(u64, u64, u64)>,
    with_much: BTreeSet<u64>,
    sizes: Sizes,
    postponed: BTreeSet<(Instant, u64)>,
}

impl Holders {
    /// A segment has changed from the one to the other; None: it did not exist, or does not.
    pub fn changed(&mut self, id: u64, before: Option<Hold>, after: Option<Hold>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.sizes.remove(before.checkpoint_bytes);
            if let Some(file) = before.oldest_file {
                self.holding.remove(&(file, before.checkpoint_bytes, id));
            }
        }
        if let Some(after) = after {
            self.sizes.add(after.checkpoint_bytes);
            if let Some(file) = after.oldest_file {
                self.holding.insert((file, after.checkpoint_bytes, id));
            }
        }
        match after.is_some_and(|hold| hold.log_bytes >= MUCH_LOG_BYTES) {
            true => self.with_much.insert(id),
            false => self.with_much.remove(&id),
        };
    }

    /// A checkpoint of the segment is not asked for before then.
    pub fn postpone(&mut self, id: u64, until: Instant) {
        self.postponed.insert((until, id));
    }

    /// A segment that was postponed until now.
    pub fn take_resumed(&mut self, now: Instant) -> Option<u64> {
        let &(until, _) = self.postponed.first()?;
        match until <= now {
            true => self.postponed.pop_first().map(|(_, id)| id),
            false => None,
        }
    }

    /// The first of those that hold that file or an older one: the holders of the oldest first,
    /// then the smallest.
    pub fn holding(&self, last: u64) -> Vec<u64> {
        let holding = self.holding.range(..=(last, u64::MAX, u64::MAX));
        holding.take(NAMED).map(|&(_, _, id)| id).collect()
    }

    /// The segments with much log.
    pub fn with_much(&self) -> impl Iterator<Item = u64> + '_ {
        self.with_much.iter().copied()
    }

    /// What all checkpoints hold, and the largest of them.
    pub fn checkpoint_bytes(&self) -> (u64, u64) {
        (self.sizes.sum, self.sizes.largest())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn hold(file: u64, checkpoint_bytes: u64) -> Option<Hold> {
        Some(Hold {
            oldest_file: Some(file),
            checkpoint_bytes,
            log_bytes: 0,
        })
    }

    #[test]
    fn the_holders_of_the_oldest_file_come_first_and_of_them_the_smallest() {
        let mut holders = Holders::default();
        for (id, file, bytes) in [(1, 20, 5), (2, 10, 9), (3, 10, 3), (4, 30, 1)] {
            holders.changed(id, None, hold(file, bytes));
        }
        assert_eq!(holders.holding(20), [3, 2, 1]);
        assert_eq!(holders.checkpoint_bytes(), (18, 9));
        holders.changed(2, hold(10, 9), hold(40, 4));
        assert_eq!(holders.holding(39), [3, 1, 4]);
        assert_eq!(holders.checkpoint_bytes(), (13, 5));
        holders.changed(1, hold(20, 5), None);
        assert_eq!(holders.holding(40), [3, 4, 2]);
        assert_eq!(holders.checkpoint_bytes(), (8, 4));
    }

    #[test]
    fn only_some_of_many_are_named_and_the_others_later() {
        let mut holders = Holders::default();
        for id in 0..1000 {
            holders.changed(id, None, hold(id, 1));
        }
        let first = holders.holding(2000);
        assert_eq!(first, (0..NAMED as u64).collect::<Vec<_>>());
        for id in first {
            holders.changed(id, hold(id, 1), hold(5000, 1));
        }
        assert_eq!(holders.holding(2000)[0], NAMED as u64);
    }

    #[test]
    fn a_segment_has_much_log_until_it_is_saved() {
        let mut holders = Holders::default();
        let much = Some(Hold {
            log_bytes: MUCH_LOG_BYTES,
            ..Hold::default()
        });
        holders.changed(7, None, much);
        assert!(holders.with_much().eq([7]));
        holders.changed(7, much, Some(Hold::default()));
        assert_eq!(holders.with_much().count(), 0);
    }

    #[test]
    fn who_was_postponed_comes_back_when_the_time_is_over() {
        let mut holders = Holders::default();
        let begin = Instant::now();
        let later = begin + Duration::from_secs(5);
        holders.postpone(7, later);
        assert_eq!(holders.take_resumed(begin), None);
        assert_eq!(holders.take_resumed(later), Some(7));
        assert_eq!(holders.take_resumed(later), None);
    }
}
