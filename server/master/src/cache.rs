//! The diff cache of a segment (ICDCS'03 3.3): diffs to the newest version, bounded in bytes and in
//! number. The first is the one that made the newest version, as it was received.

use interweave_wire::{Gathered, Resting};

/// The largest number of diffs that are kept.
const CACHED_DIFFS: usize = 64;

/// Diffs to the newest version, by the version that each begins at.
#[derive(Debug)]
pub(crate) struct DiffCache {
    diffs: Vec<(u64, Gathered)>,
    bytes: usize,
}

impl Resting for DiffCache {
    const REST: Self = DiffCache {
        diffs: Vec::new(),
        bytes: 0,
    };
    const AT_REST: &'static Self = &Self::REST;
}

impl DiffCache {
    pub fn clear(&mut self) {
        self.diffs.clear();
        self.bytes = 0;
    }

    pub fn find(&self, from: u64) -> Option<Gathered> {
        let found = self.diffs.iter().find(|(begin, _)| *begin == from);
        found.map(|(_, diff)| diff.clone())
    }

    /// Keeps the diff unless the cache would then hold more than `most_bytes`.
    /// REQUIRES: `find` has found no diff from that version.
    pub fn add(&mut self, from: u64, diff: &Gathered, most_bytes: usize) {
        if self.bytes + diff.len() <= most_bytes && self.diffs.len() < CACHED_DIFFS {
            self.bytes += diff.len();
            if self.diffs.is_empty() {
                // Most segments are asked for no diff but the last.
                self.diffs.reserve_exact(1);
            }
            self.diffs.push((from, diff.clone()));
        }
    }

    pub fn bytes_beyond(&self, shared: u64) -> u64 {
        (self.bytes as u64).saturating_sub(shared)
    }
}
