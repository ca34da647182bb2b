//! The locks of rows. A transaction keeps its locks until it has ended, and one that finds a row
//! locked waits for that. So of a claim and an append of one segment, one comes after the other's
//! commit.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Store,
    Owner(u64),
    Segment(u64),
    Path(String),
}

/// PostgreSQL's KEY SHARE, NO KEY UPDATE and UPDATE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    KeyShare,
    Change,
    Delete,
}

impl Mode {
    fn goes_with(self, other: Mode) -> bool {
        match (self, other) {
            (Mode::KeyShare, other) | (other, Mode::KeyShare) => other != Mode::Delete,
            _ => false,
        }
    }
}

#[derive(Debug, Default)]
struct Row {
    holders: Vec<(u64, Mode)>,
    waiting: VecDeque<(u64, Mode)>,
}

impl Row {
    fn lets_in(&self, transaction: u64, mode: Mode) -> bool {
        let others = self.holders.iter().filter(|(of, _)| *of != transaction);
        others
            .map(|(_, held)| *held)
            .all(|held| mode.goes_with(held))
    }
}

#[derive(Debug, Default)]
pub struct Locks(BTreeMap<Key, Row>);

impl Locks {
    /// False: the transaction waits, and is among those that a later [`Locks::end`] returns.
    pub fn take(&mut self, key: &Key, transaction: u64, mode: Mode) -> bool {
        let row = self.0.entry(key.clone()).or_default();
        let may = row.waiting.is_empty() && row.lets_in(transaction, mode);
        match may {
            true => row.holders.push((transaction, mode)),
            false => row.waiting.push_back((transaction, mode)),
        }
        may
    }

    /// The transaction has ended. Returns those that have a lock now for which they waited.
    pub fn end(&mut self, transaction: u64) -> Vec<u64> {
        let mut let_in = Vec::new();
        for row in self.0.values_mut() {
            row.holders.retain(|(of, _)| *of != transaction);
            row.waiting.retain(|(of, _)| *of != transaction);
            while let Some(&(first, mode)) = row.waiting.front() {
                if !row.lets_in(first, mode) {
                    break;
                }
                row.waiting.pop_front();
                row.holders.push((first, mode));
                let_in.push(first);
            }
        }
        self.0
            .retain(|_, row| !row.holders.is_empty() || !row.waiting.is_empty());
        let_in
    }

    /// Whether the transaction waits for itself over others.
    pub fn is_deadlocked(&self, transaction: u64) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = vec![transaction];
        while let Some(waiting) = next.pop() {
            for row in self.0.values() {
                if !row.waiting.iter().any(|(of, _)| *of == waiting) {
                    continue;
                }
                for (holder, _) in &row.holders {
                    if *holder == transaction {
                        return true;
                    }
                    if seen.insert(*holder) {
                        next.push(*holder);
                    }
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_waits_for_the_end_of_the_other() {
        let mut locks = Locks::default();
        assert!(locks.take(&Key::Segment(1), 1, Mode::Change));
        assert!(!locks.take(&Key::Segment(1), 2, Mode::Change));
        assert!(locks.take(&Key::Segment(2), 3, Mode::Change));
        assert!(locks.end(3).is_empty());
        assert_eq!(locks.end(1), [2]);
    }

    #[test]
    fn a_server_that_claims_may_renew_and_may_not_be_deleted() {
        let mut locks = Locks::default();
        assert!(locks.take(&Key::Owner(7), 1, Mode::KeyShare));
        assert!(locks.take(&Key::Owner(7), 2, Mode::Change));
        assert!(locks.end(2).is_empty());
        assert!(!locks.take(&Key::Owner(7), 3, Mode::Delete));
    }

    #[test]
    fn two_that_wait_for_each_other_are_found() {
        let mut locks = Locks::default();
        assert!(locks.take(&Key::Owner(1), 1, Mode::KeyShare));
        assert!(locks.take(&Key::Owner(2), 2, Mode::KeyShare));
        assert!(!locks.take(&Key::Owner(2), 1, Mode::Delete));
        assert!(!locks.is_deadlocked(1));
        assert!(!locks.take(&Key::Owner(1), 2, Mode::Delete));
        assert!(locks.is_deadlocked(1) && locks.is_deadlocked(2));
    }
}
