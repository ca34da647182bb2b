//! The newest version of one segment: its state, and the functions that read it.
//!
//! Invariants: every block's type is in the table, and its data is a valid value of the type; names
//! are unique; all serials ever used are below `next_serial`; `charged_bytes` is the sum of
//! `charge`s and never above the quota. check.rs checks a diff, commit.rs applies it, and
//! collect.rs collects one.

use bytes::Bytes;
use interweave_wire::diff::Diff;
use interweave_wire::protocol::xdr;
use interweave_wire::{Layout, Rare, Rejection, Resting, Type, TypeTable};

use crate::block::Block;
use crate::blocks::{Blocks, Finder};
use crate::cache::DiffCache;
use crate::check::{CheckedRelease, Source};
use crate::freed::FreedHistory;
use crate::names::Names;
use crate::pieces::Snapshot;
use crate::shared::SharedBuffers;
use crate::tuning::Tuning;

#[derive(Debug)]
pub struct Segment {
    pub(crate) version: u64,
    /// The segment was restored at this version, so changes since older versions are not known.
    pub(crate) known_from: u64,
    pub(crate) types: TypeTable,
    pub(crate) tables: Rare<Tables>,
    pub(crate) blocks: Blocks,
    pub(crate) shared: SharedBuffers,
    pub(crate) names: Names,
    pub(crate) freed: Rare<FreedHistory>,
    pub(crate) next_serial: u64,
    pub(crate) quota_bytes: u64,
    pub(crate) charged_bytes: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) total_units: u64,
    pub(crate) metadata_bytes: u64,
    /// Of the versions of all blocks' subblocks.
    pub(crate) version_bytes: u64,
    pub(crate) cache: Rare<DiffCache>,
    /// The checkpoint under way.
    pub(crate) snapshot: Option<Box<Snapshot>>,
    /// How often a diff had to be collected.
    pub(crate) collections: u64,
    pub(crate) tuning: Tuning,
}

/// The tables of described types and of pointers. Most small segments have neither.
#[derive(Debug)]
pub(crate) struct Tables {
    /// The version that brought each described type.
    pub type_versions: Vec<u64>,
    pub slots: Vec<String>,
    pub slot_versions: Vec<u64>,
}

impl Resting for Tables {
    const REST: Self = Tables {
        type_versions: Vec::new(),
        slots: Vec::new(),
        slot_versions: Vec::new(),
    };
    const AT_REST: &'static Self = &Self::REST;
}

impl Tables {
    /// Adds the types and slots of a release.
    pub fn add(&mut self, types: usize, slots: Vec<String>, version: u64) {
        let types = self.type_versions.len() + types;
        self.type_versions.resize(types, version);
        self.slots.extend(slots);
        self.slot_versions.resize(self.slots.len(), version);
    }
}

/// The memory of a segment beyond its wire bytes, for /metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Headers of blocks, and names.
    pub block_bytes: u64,
    /// Versions of subblocks.
    pub version_bytes: u64,
    /// Bytes of received diffs that are kept although no block uses them.
    pub shared_bytes: u64,
    /// The diff cache, without what blocks share.
    pub cache_bytes: u64,
    /// Types, slots and the history of freed serials.
    pub metadata_bytes: u64,
}

impl Overhead {
    pub fn total(&self) -> u64 {
        let of_blocks = self.block_bytes + self.version_bytes;
        let of_diffs = self.shared_bytes + self.cache_bytes;
        of_blocks + of_diffs + self.metadata_bytes
    }
}

/// One block, for readers.
#[derive(Debug, Clone, Copy)]
pub struct BlockInfo<'a> {
    pub serial: u64,
    pub name: Option<&'a str>,
    pub type_serial: u32,
    pub layout: Layout<'a>,
    pub created: u64,
    pub changed: u64,
    /// Slot form; None: all zeros.
    pub slots: Option<&'a [u8]>,
}

/// The bytes that a block counts against the quota: its data, but never less than its header.
pub(crate) fn charge_of_block(layout: Layout<'_>, name: &str) -> u64 {
    layout.bytes().max(size_of::<Block>() as u64) + name.len() as u64
}

pub(crate) fn charge_of_type(ty: &Type) -> u64 {
    let descriptor = xdr::to_bytes(&ty.descriptor).len() + size_of::<Type>();
    descriptor as u64 + ty.plan.memory_bytes()
}

pub(crate) fn charge_of_slot(text: &str) -> u64 {
    (text.len() + size_of::<String>() + size_of::<u64>()) as u64
}

impl Segment {
    /// Makes an empty segment at version 0. The quota 0 means no bound.
    pub fn new(quota_bytes: u64) -> Self {
        Segment {
            version: 0,
            known_from: 0,
            types: TypeTable::new(),
            tables: Rare::default(),
            blocks: Blocks::default(),
            shared: SharedBuffers::default(),
            names: Names::default(),
            freed: Rare::default(),
            next_serial: 1,
            quota_bytes,
            charged_bytes: 0,
            wire_bytes: 0,
            total_units: 0,
            metadata_bytes: 0,
            version_bytes: 0,
            cache: Rare::default(),
            snapshot: None,
            collections: 0,
            tuning: Tuning::default(),
        }
    }

    /// Makes a segment from a checkpoint. Clients with older versions will get complete copies.
    pub fn restore(checkpoint: &Bytes, quota_bytes: u64) -> Result<Self, Rejection> {
        // Without a quota: a lower quota since then must not refuse blocks that were accepted.
        let mut segment = Segment::new(0);
        segment.apply(checkpoint)?;
        segment.quota_bytes = quota_bytes;
        segment.known_from = segment.version;
        segment.cache = Rare::default();
        Ok(segment)
    }

    /// Checks a writer's diff from `base`, which must be the newest version, to the next version.
    /// Changes nothing. New serials must lie in the ranges (first, count).
    pub fn check(
        &self,
        diff: &Bytes,
        base: u64,
        allowed_serials: &[(u64, u64)],
    ) -> Result<CheckedRelease, Rejection> {
        if base != self.version {
            return Err(Rejection::malformed(format!(
                "the release is from version {base}, the newest is {}",
                self.version
            )));
        }
        self.check_from(Diff::parse(diff)?, Source::Writer(Some(allowed_serials)))
    }

    /// Checks a release read back from the log. Its new serials may be any that were never used.
    pub fn check_logged(&self, diff: &Bytes) -> Result<CheckedRelease, Rejection> {
        self.check_from(Diff::parse(diff)?, Source::Writer(None))
    }

    /// Applies a server's diff to a client's copy: from the copy's version, or from 0 to replace
    /// everything. Returns the version that the copy has now.
    pub fn apply(&mut self, diff: &Bytes) -> Result<u64, Rejection> {
        let diff = Diff::parse(diff)?;
        if diff.from != 0 {
            let checked = self.check_from(diff, Source::Server)?;
            return Ok(self.commit(checked));
        }
        let mut fresh = Segment::new(self.quota_bytes);
        fresh.tuning = self.tuning;
        let checked = fresh.check_from(diff, Source::Server)?;
        let version = fresh.commit(checked);
        *self = fresh;
        Ok(version)
    }

    /// Sets the tuning, and applies it from now on.
    pub fn tune(&mut self, tuning: Tuning) {
        self.tuning = tuning;
        self.cache = Rare::default();
    }

    /// Makes a finder with or without prediction, as the segment's tuning says.
    pub(crate) fn finder(&self) -> Finder {
        match self.tuning.prediction {
            true => Finder::new(),
            false => Finder::without_prediction(),
        }
    }

    pub fn newest(&self) -> u64 {
        self.version
    }

    /// The smallest serial above all that were ever used.
    pub fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// Reserves all serials below `bound`, because they may have been used [LOCK-6].
    pub fn use_serials_below(&mut self, bound: u64) {
        self.next_serial = self.next_serial.max(bound);
    }

    pub fn quota_bytes(&self) -> u64 {
        self.quota_bytes
    }

    /// The bytes that count against the quota: data (at least 64 bytes a block, the size of its
    /// header), names, types and slots.
    pub fn charged_bytes(&self) -> u64 {
        self.charged_bytes
    }

    pub fn block_count(&self) -> u64 {
        self.blocks.len().into()
    }

    /// Slot bytes of all blocks.
    pub fn wire_bytes(&self) -> u64 {
        self.wire_bytes
    }

    pub fn total_units(&self) -> u64 {
        self.total_units
    }

    pub fn types(&self) -> &TypeTable {
        &self.types
    }

    /// The text of slot k is at k - 1.
    pub fn slots(&self) -> &[String] {
        &self.tables.slots
    }

    pub fn block(&self, serial: u64) -> Option<BlockInfo<'_>> {
        let place = Finder::new().find(&self.blocks, serial)?;
        Some(self.info(self.blocks.at(place)))
    }

    pub fn block_by_name(&self, name: &str) -> Option<BlockInfo<'_>> {
        self.block(self.names.serial(name)?)
    }

    /// In order of serials.
    pub fn blocks(&self) -> impl Iterator<Item = BlockInfo<'_>> {
        self.blocks_from(0)
    }

    /// Blocks in order of serials, from the first whose serial is `serial` or larger.
    pub fn blocks_from(&self, serial: u64) -> impl Iterator<Item = BlockInfo<'_>> {
        let blocks = self.blocks.starting_at(serial);
        blocks.map(|block| self.info(block))
    }

    pub(crate) fn name_of(&self, block: &Block) -> &str {
        match block.is_named() {
            true => self.names.of(block.serial).unwrap_or(""),
            false => "",
        }
    }

    pub(crate) fn layout_of(&self, block: &Block) -> Layout<'_> {
        let ty = self.types.get(block.type_serial());
        Layout {
            ty: ty.expect("a block's type is in the table"),
            count: block.count(),
        }
    }

    pub(crate) fn info<'a>(&'a self, block: &'a Block) -> BlockInfo<'a> {
        let layout = self.layout_of(block);
        BlockInfo {
            serial: block.serial,
            name: Some(self.name_of(block)).filter(|name| !name.is_empty()),
            type_serial: block.type_serial(),
            layout,
            created: block.created,
            changed: block.changed,
            slots: block.slots(layout.bytes(), &self.shared),
        }
    }

    /// Returns the memory beyond the wire bytes.
    pub fn overhead_bytes(&self) -> Overhead {
        let texts: usize = self.tables.slots.iter().map(String::capacity).sum();
        Overhead {
            block_bytes: self.blocks.held_bytes() + self.names.held_bytes(),
            version_bytes: self.version_bytes,
            shared_bytes: self.shared.excess_bytes(),
            cache_bytes: self.cache.bytes_beyond(self.shared.live_bytes()),
            metadata_bytes: self.metadata_bytes + texts as u64 + self.freed.held_bytes(),
        }
    }
}
