//! The newest version of one segment.
use bytes::Bytes;

use interweave_wire::{Layout, Rejection, TypeTable};

#[derive(Debug)]
pub struct Segment {}

/// A diff that was found right for a segment at its newest version: `commit` cannot fail.
#[derive(Debug)]
pub struct CheckedRelease {}

/// What a segment holds beyond its wire bytes, for /metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Headers of blocks, and names.
    pub block_bytes: u64,
    /// Versions of subblocks.
    pub version_bytes: u64,
    /// Received diffs kept alive beyond the blocks that share their bytes.
    pub shared_bytes: u64,
    /// The diff cache (what no block shares).
    pub cache_bytes: u64,
    /// Types, slots and the history of freed serials.
    pub metadata_bytes: u64,
}

/// One block, looked at.
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

/// The bulk of BLOCKS_DESCRIBED.
#[derive(Debug, Clone)]
pub struct Described {
    pub diff: Bytes,
    pub more: bool,
}

impl Segment {
    /// Empty, at version 0; quota 0: no bound.
    pub fn new(_quota_bytes: u64) -> Self {
        todo!()
    }
    /// From a checkpoint. Clients of versions before it will be given complete copies.
    pub fn restore(_checkpoint: &Bytes, _quota_bytes: u64) -> Result<Self, Rejection> {
        todo!()
    }
    /// Is this a writer's diff from `base` (which must be the newest version) to the next? Changes
    /// nothing. New serials must lie in the ranges (first, count).
    pub fn check(
        &self,
        _diff: &Bytes,
        _base: u64,
        _allowed_serials: &[(u64, u64)],
    ) -> Result<CheckedRelease, Rejection> {
        todo!()
    }
    /// The same for a release read back from the log: any serials that were never used.
    pub fn check_logged(&self, _diff: &Bytes) -> Result<CheckedRelease, Rejection> {
        todo!()
    }
    /// Makes the checked release the newest version, which it returns. Nothing may have been committed
    /// since the check.
    pub fn commit(&mut self, _release: CheckedRelease) -> u64 {
        todo!()
    }
    /// Applies a server's diff (client side): from this version, or from 0 to replace everything.
    pub fn apply(&mut self, _diff: &Bytes) -> Result<u64, Rejection> {
        todo!()
    }
    /// One diff from that version to the newest; a complete copy from 0 and from versions not known.
    pub fn collect(&mut self, _from: u64) -> Bytes {
        todo!()
    }
    /// A diff from 0 with everything, in version order.
    pub fn checkpoint(&self) -> Bytes {
        todo!()
    }
    /// Types, and headers of the blocks asked for; with none asked for, of the first `max` after
    /// `after` [SEG-3].
    pub fn describe(&self, _serials: &[u64], _names: &[String], _after: u64, _max: usize) -> Described {
        todo!()
    }
    /// How many units a release changes, for Diff coherence: never too few [COH-6].
    pub fn changed_units(&self, _release: &CheckedRelease) -> u64 {
        todo!()
    }
    pub fn total_units(&self) -> u64 {
        todo!()
    }
    pub fn newest(&self) -> u64 {
        todo!()
    }
    /// The smallest serial above all that were ever used.
    pub fn next_serial(&self) -> u64 {
        todo!()
    }
    pub fn quota_bytes(&self) -> u64 {
        todo!()
    }
    pub fn block_count(&self) -> u64 {
        todo!()
    }
    /// Slot bytes of all blocks.
    pub fn wire_bytes(&self) -> u64 {
        todo!()
    }
    pub fn overhead_bytes(&self) -> Overhead {
        todo!()
    }
    pub fn block(&self, _serial: u64) -> Option<BlockInfo<'_>> {
        todo!()
    }
    pub fn block_by_name(&self, _name: &str) -> Option<BlockInfo<'_>> {
        todo!()
    }
    /// In order of serials.
    pub fn blocks(&self) -> impl Iterator<Item = BlockInfo<'_>> {
        std::iter::empty()
    }
    pub fn types(&self) -> &TypeTable {
        todo!()
    }
    /// The text of slot k is at k - 1.
    pub fn slots(&self) -> &[String] {
        todo!()
    }
}
