//! Says when an owner must look at which of its objects.
//!
//! An object is armed for its earliest deadline, and looked at then. A deadline that has moved away
//! meanwhile costs only that look. So the common case, a lease that begins and is given back, does
//! not change the heap. Invariant: the first object of the heap is armed for its time.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::hash::Hash;

#[derive(Debug)]
pub struct Timers<T> {
    heap: BinaryHeap<Reverse<(u64, T)>>,
    armed: HashMap<T, u64>,
}

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Timers {
            heap: BinaryHeap::new(),
            armed: HashMap::new(),
        }
    }
}

impl<T: Copy + Ord + Hash> Timers<T> {
    /// Arms the object: it is looked at no later than `at_ns`.
    pub fn arm(&mut self, timer: T, at_ns: u64) {
        let armed = self.armed.entry(timer).or_insert(u64::MAX);
        if at_ns < *armed {
            *armed = at_ns;
            self.heap.push(Reverse((at_ns, timer)));
        }
    }

    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Takes out an object whose time has come, the earliest first.
    pub fn pop(&mut self, now_ns: u64) -> Option<T> {
        let Reverse((at_ns, timer)) = *self.heap.peek()?;
        if at_ns > now_ns {
            return None;
        }
        self.heap.pop();
        self.armed.remove(&timer);
        while let Some(Reverse((at_ns, later))) = self.heap.peek() {
            if self.armed.get(later) == Some(at_ns) {
                break;
            }
            self.heap.pop();
        }
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_looked_at_once_at_its_earliest_time() {
        let mut timers = Timers::default();
        timers.arm('a', 30);
        timers.arm('a', 10);
        timers.arm('a', 20);
        timers.arm('b', 15);
        assert_eq!((timers.next_ns(), timers.pop(9)), (Some(10), None));
        assert_eq!(timers.pop(10), Some('a'));
        assert_eq!((timers.next_ns(), timers.pop(40)), (Some(15), Some('b')));
        assert_eq!((timers.next_ns(), timers.pop(40)), (None, None));
        timers.arm('a', 50);
        assert_eq!(timers.next_ns(), Some(50), "it may be armed again");
    }
}
