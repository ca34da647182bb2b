//! One diff from an older version to the newest: from the cache, or from the versions of blocks and
//! subblocks (ICDCS'03 3.2). Blocks go out in the order of their versions, so that what was changed
//! together lies together in a fresh copy (3.3).

use std::collections::{HashMap, HashSet};

use bytes::Bytes;
use interweave_wire::value::put_run;
use interweave_wire::{varint, DiffBuilder, Layout};

use crate::block::{Block, Data};
use crate::blocks::Finder;
use crate::segment::Segment;

/// What the cache holds at most, in bytes and in diffs.
const CACHE_BYTES: usize = 16 << 20;
const CACHED_DIFFS: usize = 64;

/// Diffs to the newest version, by the version that they are from.
#[derive(Debug, Default)]
pub(crate) struct DiffCache {
    diffs: HashMap<u64, Bytes>,
    bytes: usize,
    /// How often a diff had to be collected.
    collections: u64,
}

impl DiffCache {
    pub fn clear(&mut self) {
        self.diffs.clear();
        self.bytes = 0;
    }

    /// There is a newest version, and the diff that made it.
    pub fn renew(&mut self, from: u64, received: &Bytes) {
        self.clear();
        self.add(from, received);
    }

    fn add(&mut self, from: u64, diff: &Bytes) {
        if self.bytes + diff.len() <= CACHE_BYTES && self.diffs.len() < CACHED_DIFFS {
            self.bytes += diff.len();
            self.diffs.insert(from, diff.clone());
        }
    }

    pub fn bytes_beyond(&self, shared: u64) -> u64 {
        (self.bytes as u64).saturating_sub(shared)
    }
}

/// The bulk of BLOCKS_DESCRIBED.
#[derive(Debug, Clone)]
pub struct Described {
    pub diff: Bytes,
    pub more: bool,
}

impl Segment {
    /// One diff from that version to the newest; a complete copy from 0 and from versions not known
    /// (the diff says from which version it is). Collected once, however many ask.
    pub fn collect(&mut self, from: u64) -> Bytes {
        let from = self.base_of(from);
        if let Some(diff) = self.cache.diffs.get(&from) {
            return diff.clone();
        }
        self.cache.collections += 1;
        let diff = self.collected(from);
        self.cache.add(from, &diff);
        diff
    }

    /// The version from which [`Segment::collect`] of that one is: itself, or 0.
    pub fn base_of(&self, from: u64) -> u64 {
        let known = self.known_from..=self.version;
        if known.contains(&from) {
            from
        } else {
            0
        }
    }

    /// How many diffs were collected, rather than forwarded or sent again.
    pub fn collections(&self) -> u64 {
        self.cache.collections
    }

    /// A diff from 0 with everything, in version order.
    pub fn checkpoint(&self) -> Bytes {
        self.collected(0)
    }

    fn collected(&self, from: u64) -> Bytes {
        let mut diff = DiffBuilder::new(from, self.version);
        self.collect_types(from, &mut diff);
        let first_slot = self
            .slot_versions
            .partition_point(|&version| version <= from);
        if first_slot < self.slots.len() {
            let texts = self.slots[first_slot..].iter().map(String::as_str);
            diff.slots(first_slot as u64 + 1, texts);
        }
        self.collect_freed(from, &mut diff);
        let changed = self.blocks.changed_since(from);
        let mut whole_bytes = 0;
        for &place in &changed {
            let block = self.blocks.at(place);
            if block.created > from {
                let name = self.name_of(block);
                diff.add_block(block.serial, block.type_serial(), block.count(), name);
            }
            if matches!(block.data, Data::Whole(_) | Data::Shared { .. }) {
                whole_bytes += self.layout_of(block).bytes() + 32;
            }
        }
        diff.reserve_changes(whole_bytes);
        let mut collector = Collector::default();
        for place in changed {
            self.collect_block(from, self.blocks.at(place), &mut collector, &mut diff);
        }
        diff.finish()
    }

    fn collect_types(&self, from: u64, diff: &mut DiffBuilder) {
        let first = self
            .type_versions
            .partition_point(|&version| version <= from);
        for ty in &self.types.described()[first..] {
            diff.add_type(&ty.descriptor);
        }
    }

    /// FREED, or the list of what is live: for a complete copy [SEG-1], and when the history does
    /// not reach back far enough.
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

    fn collect_block(
        &self,
        from: u64,
        block: &Block,
        collector: &mut Collector,
        diff: &mut DiffBuilder,
    ) {
        let layout = self.layout_of(block);
        collector.runs.clear();
        match &block.data {
            Data::Parts(parts) if block.created <= from => {
                let runs = &mut collector.runs;
                parts.changed_since(from, layout, |first, count| runs.push((first, count)));
            }
            _ => collector.runs.push((0, layout.units())),
        }
        let slots = block.slots(layout.bytes(), &self.shared);
        // A new block is zeros already [DIFF-3]; one that changed since its creation has data.
        let is_zero = |slots: &[u8]| slots.iter().all(|&byte| byte == 0);
        if let Some(slots) = slots.filter(|slots| block.created <= from || !is_zero(slots)) {
            collector.put(block.serial, layout, slots, diff);
        }
    }

    /// Types, and headers of the blocks asked for; with none asked for, of the first `max` after
    /// `after` [SEG-3]. A diff of metadata from 0, so its types are the whole table.
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
            let mut finder = Finder::new();
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

/// Memory that is used again from block to block.
#[derive(Default)]
struct Collector {
    runs: Vec<(u64, u64)>,
    body: Vec<u8>,
}

impl Collector {
    /// The runs of one block. When their length can be told beforehand they are written in place.
    fn put(&mut self, serial: u64, layout: Layout<'_>, slots: &[u8], diff: &mut DiffBuilder) {
        let runs = &self.runs;
        if layout.ty.plan.fixed {
            let bytes = runs_bytes(layout, runs);
            diff.change_in_place(serial, bytes, |out| put_runs(layout, runs, slots, out));
        } else {
            self.body.clear();
            put_runs(layout, runs, slots, &mut self.body);
            diff.change(serial, &self.body);
        }
    }
}

fn put_runs(layout: Layout<'_>, runs: &[(u64, u64)], slots: &[u8], out: &mut Vec<u8>) {
    let mut end = 0;
    for &(first, count) in runs {
        put_run(layout, first - end, (first, count), slots, out);
        end = first + count;
    }
}

/// How long `put_runs` will be, of a type whose travelling form is its slot form.
fn runs_bytes(layout: Layout<'_>, runs: &[(u64, u64)]) -> u64 {
    let mut end = 0;
    let lengths = runs.iter().map(|&(first, count)| {
        let gap = first - end;
        end = first + count;
        let numbers = varint::length(gap) + varint::length(count);
        numbers as u64 + layout.byte_of(end) - layout.byte_of(first)
    });
    lengths.sum()
}
