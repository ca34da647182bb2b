//! The bounded history of freed serials. A client whose version is older than the history gets the
//! list of live blocks instead.

use std::collections::VecDeque;

use interweave_wire::Resting;

const KEPT: usize = 4096;

#[derive(Debug)]
pub(crate) struct FreedHistory {
    freed: VecDeque<Freed>,
    /// The history has every block that was freed after this version.
    complete_from: u64,
}

impl Resting for FreedHistory {
    const REST: Self = FreedHistory {
        freed: VecDeque::new(),
        complete_from: 0,
    };
    const AT_REST: &'static Self = &Self::REST;
}

#[derive(Debug, Clone, Copy)]
struct Freed {
    serial: u64,
    created: u64,
    freed: u64,
}

impl FreedHistory {
    pub fn add(&mut self, serial: u64, created: u64, version: u64) {
        self.freed.push_back(Freed {
            serial,
            created,
            freed: version,
        });
        if self.freed.len() > KEPT {
            if let Some(forgotten) = self.freed.pop_front() {
                self.complete_from = forgotten.freed;
            }
        }
    }

    /// Returns the serials that existed at `version` and were freed since; None if the history does
    /// not reach back that far.
    pub fn since(&self, version: u64) -> Option<impl Iterator<Item = u64> + '_> {
        if version < self.complete_from {
            return None;
        }
        let first = self.freed.partition_point(|freed| freed.freed <= version);
        let later = self.freed.range(first..);
        let existed = later.filter(move |freed| freed.created <= version);
        Some(existed.map(|freed| freed.serial))
    }

    pub fn held_bytes(&self) -> u64 {
        (self.freed.capacity() * size_of::<Freed>()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_that_the_reader_had_are_listed() {
        let mut history = FreedHistory::REST;
        history.add(1, 1, 5);
        history.add(2, 4, 5);
        history.add(3, 1, 6);
        let since = |version| history.since(version).unwrap().collect::<Vec<_>>();
        assert_eq!(since(3), [1, 3]);
        assert_eq!(since(4), [1, 2, 3]);
        assert_eq!(since(5), [3]);
        assert!(since(6).is_empty());
    }

    #[test]
    fn the_history_is_bounded_and_knows_what_it_forgot() {
        let mut history = FreedHistory::REST;
        for serial in 1..=KEPT as u64 + 1 {
            history.add(serial, 0, serial);
        }
        assert!(history.since(0).is_none());
        assert_eq!(history.since(1).unwrap().count(), KEPT);
    }
}
