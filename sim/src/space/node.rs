//! A server of the database: a primary, or a standby. The log is one sequence. A commit that waits
//! for the standby is not seen by others before the standby has it, unless the primary was started
//! again meanwhile or the wait was cancelled.

use super::locks::Locks;
use super::tables::{Change, Tables};
use std::collections::VecDeque;
use std::sync::Arc;

#[derive(Debug, Clone)]
struct Entry {
    number: u64,
    changes: Arc<Vec<Change>>,
}

#[derive(Debug)]
pub struct Node {
    pub is_up: bool,
    pub is_primary: bool,
    pub timeline: u64,
    /// Tells its starts apart.
    pub life: u64,
    /// The rows that everybody sees, and those that a start would find.
    pub shown: Tables,
    disk: Tables,
    /// The numbers of the log's last entry, and of the last that is on the disk.
    end: u64,
    flushed: u64,
    log: VecDeque<Entry>,
    /// The standby's number.
    pub standby: Option<usize>,
    /// The standby is known to have the log up to here.
    pub acked: u64,
    pub locks: Locks,
    /// When the log is written to the disk next.
    pub flushes_ns: Option<u64>,
    /// When the last bytes for the standby arrive.
    pub shipped_ns: u64,
}

impl Node {
    pub fn primary() -> Node {
        Node {
            is_up: true,
            is_primary: true,
            timeline: 1,
            life: 0,
            shown: Tables::default(),
            disk: Tables::default(),
            end: 0,
            flushed: 0,
            log: VecDeque::new(),
            standby: None,
            acked: 0,
            locks: Locks::default(),
            flushes_ns: None,
            shipped_ns: 0,
        }
    }

    /// A standby that is made of what is on this node's disk.
    pub fn new_standby(&self) -> Node {
        Node {
            is_primary: false,
            timeline: self.timeline,
            shown: Tables::default(),
            disk: self.disk.clone(),
            end: self.flushed,
            flushed: self.flushed,
            ..Node::primary()
        }
    }

    /// Adds to the log. Returns the entry's number.
    pub fn log(&mut self, changes: &Arc<Vec<Change>>) -> u64 {
        self.end += 1;
        self.log.push_back(Entry {
            number: self.end,
            changes: Arc::clone(changes),
        });
        self.end
    }

    /// The log comes to the disk. Returns its end there.
    pub fn flush(&mut self) -> u64 {
        let new = self.log.iter().filter(|e| e.number > self.flushed);
        for entry in new {
            self.disk.apply(&entry.changes);
        }
        self.flushed = self.end;
        self.flushed
    }

    /// The entries that a standby lacks which has the log up to `from`, up to `to`.
    pub fn after(&self, from: u64, to: u64) -> Vec<Arc<Vec<Change>>> {
        let missing = self.log.iter();
        let missing = missing.filter(|e| e.number > from && e.number <= to);
        missing.map(|e| Arc::clone(&e.changes)).collect()
    }

    /// A standby takes a part of the primary's log.
    pub fn receive(&mut self, part: &[Arc<Vec<Change>>]) {
        part.iter().for_each(|changes| self.disk.apply(changes));
        self.end += part.len() as u64;
        self.flushed = self.end;
    }

    /// Where the log on its disk ends.
    pub fn flushed(&self) -> u64 {
        self.flushed
    }

    /// Nobody needs the log up to here any more.
    pub fn trim(&mut self, to: u64) {
        while self.log.front().is_some_and(|e| e.number <= to) {
            self.log.pop_front();
        }
    }

    /// It ends at once. Its next start finds its disk.
    pub fn crash(&mut self) {
        self.is_up = false;
        self.life += 1;
        self.locks = Locks::default();
        self.flushes_ns = None;
        self.end = self.flushed;
        let flushed = self.flushed;
        self.log.retain(|e| e.number <= flushed);
    }

    /// It starts: all that is on its disk is seen, whether the standby has it or not.
    pub fn start(&mut self) {
        self.is_up = true;
        self.life += 1;
        self.shown = self.disk.clone();
    }

    /// A standby becomes the primary of a new timeline.
    pub fn promote(&mut self) {
        self.is_primary = true;
        self.timeline += 1;
        self.acked = self.flushed;
        self.start();
    }
}
