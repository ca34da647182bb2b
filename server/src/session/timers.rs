//! Which connection, session or segment is to be looked at when.
//!
//! Lazy: an object is armed for its earliest deadline and looked at then; deadlines that have moved
//! away meanwhile cost nothing but the look. So the common case, a lease that is given and given
//! back, touches no heap.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    Connection(u64),
    Session(u64),
    Segment(u32),
    /// Looking after the store.
    Store,
}

#[derive(Debug, Default)]
pub struct Timers {
    heap: BinaryHeap<Reverse<(u64, Timer)>>,
    armed: HashMap<Timer, u64>,
}

impl Timers {
    /// The object is to be looked at no later than that.
    pub fn arm(&mut self, timer: Timer, at_ns: u64) {
        let armed = self.armed.entry(timer).or_insert(u64::MAX);
        if at_ns < *armed {
            *armed = at_ns;
            self.heap.push(Reverse((at_ns, timer)));
        }
    }

    pub fn next_ns(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// An object whose time has come.
    pub fn pop(&mut self, now_ns: u64) -> Option<Timer> {
        while self.next_ns()? <= now_ns {
            let Reverse((at_ns, timer)) = self.heap.pop()?;
            if self.armed.get(&timer) == Some(&at_ns) {
                self.armed.remove(&timer);
                return Some(timer);
            }
        }
        None
    }
}
