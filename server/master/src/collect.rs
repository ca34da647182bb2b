//! One diff from an older version to the newest: from the cache, or from the versions of blocks and
//! subblocks (ICDCS'03 3.2). Blocks are sent in the order of their versions, unless the segment's
//! tuning says otherwise. Blocks that changed together then lie together in a fresh copy (3.3).

use std::collections::HashSet;

use bytes::Bytes;
use interweave_wire::planted::{self, Defect};
use interweave_wire::{DiffBuilder, Gathered};

use crate::block::Block;
use crate::extent::Extent;
use crate::segment::Segment;
use crate::tuning::Order;

/// The bulk of BLOCKS_DESCRIBED.
#[derive(Debug, Clone)]
pub struct Described {
    pub diff: Bytes,
    pub more: bool,
}

impl Segment {
    /// Returns one diff from `from` to the newest version. If `from` is 0 or not known, the diff is
    /// a complete copy; its head names the version that it begins at. The cache keeps the diff, so
    /// that it is collected once for all clients. Large blocks are shared with the segment, not
    /// copied.
    pub fn collect(&mut self, from: u64) -> Gathered {
        let from = self.base_of(from);
        if let Some(diff) = self.cache.find(from) {
            return diff;
        }
        self.collections += 1;
        let diff = self.collected(from, self.tuning.order);
        self.cache.add(from, &diff, self.tuning.cache_bytes);
        diff
    }

    /// The version at which the diff of [`Segment::collect`] begins: `from`, or 0.
    pub fn base_of(&self, from: u64) -> u64 {
        let known = self.known_from..=self.version;
        if known.contains(&from) {
            from
        } else {
            0
        }
    }

    /// How many diffs were collected. Diffs from the cache do not count.
    pub fn collections(&self) -> u64 {
        self.collections
    }

    /// Returns a complete diff from version 0 in version order, because only the order of the
    /// blocks records the list of versions.
    pub fn checkpoint(&self) -> Bytes {
        self.collected(0, Order::Version).joined()
    }

    fn collected(&self, from: u64, order: Order) -> Gathered {
        let mut diff = DiffBuilder::new(from, self.version);
        let from = from + u64::from(from > 0 && planted::is_in(Defect::ChangesMissed));
        self.collect_types(from, &mut diff);
        let first_slot = self
            .tables
            .slot_versions
            .partition_point(|&version| version <= from);
        if first_slot < self.tables.slots.len() {
            let texts = self.tables.slots[first_slot..].iter().map(String::as_str);
            diff.slots(first_slot as u64 + 1, texts);
        }
        self.collect_freed(from, &mut diff);
        let mut changed = self.blocks.changed_since(from);
        if order == Order::Serial {
            // Places are in the order of serials.
            changed.sort_unstable();
        }
        for block in changed.iter().map(|&place| self.blocks.at(place)) {
            if block.created > from {
                let name = self.name_of(block);
                diff.add_block(block.serial, block.type_serial(), block.count(), name);
            }
        }
        Extent::of(self, from, &changed).put(self, &mut diff);
        diff.gathered()
    }

    fn collect_types(&self, from: u64, diff: &mut DiffBuilder) {
        let first = self
            .tables
            .type_versions
            .partition_point(|&version| version <= from);
        for ty in &self.types.described()[first..] {
            diff.add_type(&ty.descriptor);
        }
    }

    /// Adds FREED to the diff. A complete copy gets LIVE instead [SEG-1], and so does a diff from a
    /// version that the history of freed serials does not reach.
    fn collect_freed(&self, from: u64, diff: &mut DiffBuilder) {
        let freed = self.freed.since(from).filter(|_| from > 0);
        if let Some(freed) = freed {
            freed.for_each(|serial| diff.free(serial));
            return;
        }
        diff.lists_live();
        let mut range = 0..0;
        for block in self.blocks.starting_at(0) {
            if block.serial != range.end {
                if !range.is_empty() {
                    diff.live(range.start, range.end - range.start);
                }
                range.start = block.serial;
            }
            range.end = block.serial + 1;
        }
        if !range.is_empty() {
            diff.live(range.start, range.end - range.start);
        }
    }

    /// Returns all types, and the headers of the blocks asked for [SEG-3]. If no block is asked
    /// for, these are the first `max` blocks after `after`. The diff is one of metadata from
    /// version 0.
    pub fn describe(&self, serials: &[u64], names: &[String], after: u64, max: usize) -> Described {
        let mut diff = DiffBuilder::new(0, self.version);
        diff.metadata_only();
        self.collect_types(0, &mut diff);
        let mut more = false;
        let mut add = |block: &Block| {
            let name = self.name_of(block);
            diff.add_block(block.serial, block.type_serial(), block.count(), name);
        };
        if serials.is_empty() && names.is_empty() {
            let mut blocks = self.blocks.starting_at(after.saturating_add(1));
            blocks.by_ref().take(max).for_each(&mut add);
            more = blocks.next().is_some();
        } else {
            let named = names.iter().filter_map(|name| self.names.serial(name));
            let mut given = HashSet::new();
            let mut finder = self.finder();
            for serial in serials.iter().copied().chain(named) {
                let place = finder.find(&self.blocks, serial);
                if let Some(place) = place.filter(|_| given.insert(serial)) {
                    add(self.blocks.at(place));
                }
            }
        }
        Described {
            diff: diff.finish(),
            more,
        }
    }
}
