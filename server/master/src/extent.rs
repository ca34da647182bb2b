//! Which runs of which blocks a diff brings, decided before a byte is copied. The diff's memory is
//! thus reserved once, in the right size. This matters for large copies, because fresh pages cost
//! more than the copying. A long run of a block that shares a received diff is not copied at all.

use std::ops::Range;

use bytes::Bytes;
use interweave_wire::build::Changes;
use interweave_wire::value::put_run;
use interweave_wire::{varint, DiffBuilder, Layout};

use crate::block::{Block, Data};
use crate::segment::Segment;

/// A fresh copy leaves out zeros in stretches of about this many bytes.
const STRETCH_BYTES: usize = 4096;
/// A shorter run is copied. A piece of its own would cost more when it is sent.
const PIECE_BYTES: u64 = 64 << 10;

/// The changes of a diff, in its order of blocks.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    blocks: Vec<BlockExtent>,
    runs: Vec<(u64, u64)>,
    /// What is copied.
    bytes: u64,
}

#[derive(Debug)]
struct BlockExtent {
    place: u32,
    runs: Range<usize>,
    /// The length of all runs; an estimate for types with long strings or unions.
    bytes: u64,
}

impl Extent {
    /// Finds the changes of the blocks in `places` after version `from`.
    pub fn of(segment: &Segment, from: u64, places: &[u32]) -> Extent {
        let mut extent = Extent::default();
        for &place in places {
            extent.add(segment, from, place);
        }
        extent
    }

    fn add(&mut self, segment: &Segment, from: u64, place: u32) {
        let block = segment.blocks.at(place);
        let layout = segment.layout_of(block);
        let begin = self.runs.len();
        changed_runs(segment, from, block, layout, &mut self.runs);
        let runs = begin..self.runs.len();
        if runs.is_empty() {
            return;
        }
        let bytes = runs_bytes(layout, &self.runs[runs.clone()]);
        let shared_bytes = match is_shareable(block, layout) {
            true => long_bytes(layout, &self.runs[runs.clone()]),
            false => 0,
        };
        self.bytes += bytes - shared_bytes + DiffBuilder::CHANGE_HEAD_BYTES;
        self.blocks.push(BlockExtent { place, runs, bytes });
    }

    /// Appends the changes to the diff. Runs whose length is known are written in place.
    pub fn put(&self, segment: &Segment, diff: &mut DiffBuilder) {
        diff.reserve_changes(self.bytes);
        let mut body = Vec::new();
        for one in &self.blocks {
            let block = segment.blocks.at(one.place);
            let layout = segment.layout_of(block);
            let Some(slots) = block.slots(layout.bytes(), &segment.shared) else {
                continue;
            };
            let runs = &self.runs[one.runs.clone()];
            let shared = shared_bytes(segment, block, layout);
            if let Some(whole) = &shared {
                diff.change_in_place(block.serial, one.bytes, |out| {
                    put_shared_runs(layout, runs, whole, out)
                });
            } else if layout.ty.plan.fixed {
                diff.change_in_place(block.serial, one.bytes, |out| {
                    put_runs(layout, runs, slots, out.bytes())
                });
            } else {
                body.clear();
                put_runs(layout, runs, slots, &mut body);
                diff.change(block.serial, &body);
            }
        }
    }
}

fn changed_runs(
    segment: &Segment,
    from: u64,
    block: &Block,
    layout: Layout<'_>,
    runs: &mut Vec<(u64, u64)>,
) {
    let Some(slots) = block.slots(layout.bytes(), &segment.shared) else {
        return;
    };
    match &block.data {
        // The receiver makes a new block of zeros [DIFF-3].
        _ if block.created > from => nonzero_runs(layout, slots, runs),
        Data::Parts(parts) => {
            parts.changed_since(from, layout, |first, count| runs.push((first, count)))
        }
        _ => runs.push((0, layout.units())),
    }
}

/// Adds the runs of a block's units to `runs`, without long stretches of zeros.
fn nonzero_runs(layout: Layout<'_>, slots: &[u8], runs: &mut Vec<(u64, u64)>) {
    let units = layout.units();
    let step = (STRETCH_BYTES as u64 * units / layout.bytes()).max(1);
    let mut end_of_last = None;
    for first in (0..units).step_by(step as usize) {
        let end = units.min(first + step);
        let bytes = layout.byte_of(first) as usize..layout.byte_of(end) as usize;
        if is_zero(&slots[bytes]) {
            continue;
        }
        match runs.last_mut().filter(|_| end_of_last == Some(first)) {
            Some(run) => run.1 += end - first,
            None => runs.push((first, end - first)),
        }
        end_of_last = Some(end);
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; STRETCH_BYTES] = [0; STRETCH_BYTES];
    bytes
        .chunks(STRETCH_BYTES)
        .all(|chunk| *chunk == ZEROS[..chunk.len()])
}

/// Whether the block's travelling form is in a received diff.
fn is_shareable(block: &Block, layout: Layout<'_>) -> bool {
    let is_long = layout.bytes() >= PIECE_BYTES && layout.ty.plan.fixed;
    is_long && matches!(block.data, Data::Shared { .. })
}

/// The block's travelling form, if it is in a received diff.
fn shared_bytes(segment: &Segment, block: &Block, layout: Layout<'_>) -> Option<Bytes> {
    match block.data {
        Data::Shared { buffer, offset } if is_shareable(block, layout) => {
            let bytes = layout.bytes() as usize;
            Some(segment.shared.bytes(buffer, offset, bytes))
        }
        _ => None,
    }
}

/// The bytes of the runs that are not copied.
fn long_bytes(layout: Layout<'_>, runs: &[(u64, u64)]) -> u64 {
    let lengths = runs
        .iter()
        .map(|&(first, count)| run_bytes(layout, first, count));
    lengths.filter(|&bytes| bytes >= PIECE_BYTES).sum()
}

fn run_bytes(layout: Layout<'_>, first: u64, count: u64) -> u64 {
    layout.byte_of(first + count) - layout.byte_of(first)
}

/// The same as [`put_runs`], without a copy of the long runs.
fn put_shared_runs(layout: Layout<'_>, runs: &[(u64, u64)], whole: &Bytes, out: &mut Changes) {
    let mut end = 0;
    for &(first, count) in runs {
        if run_bytes(layout, first, count) < PIECE_BYTES {
            put_run(layout, first - end, (first, count), whole, out.bytes());
        } else {
            varint::put(first - end, out.bytes());
            varint::put(count, out.bytes());
            let begin = layout.byte_of(first) as usize;
            out.share(whole.slice(begin..layout.byte_of(first + count) as usize));
        }
        end = first + count;
    }
}

fn put_runs(layout: Layout<'_>, runs: &[(u64, u64)], slots: &[u8], out: &mut Vec<u8>) {
    let mut end = 0;
    for &(first, count) in runs {
        put_run(layout, first - end, (first, count), slots, out);
        end = first + count;
    }
}

/// The number of bytes that `put_runs` will write.
/// REQUIRES: the type's travelling form is its slot form.
fn runs_bytes(layout: Layout<'_>, runs: &[(u64, u64)]) -> u64 {
    let mut end = 0;
    let lengths = runs.iter().map(|&(first, count)| {
        let gap = first - end;
        end = first + count;
        let numbers = varint::length(gap) + varint::length(count);
        numbers as u64 + run_bytes(layout, first, count)
    });
    lengths.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: u32 = 5;

    fn commit(segment: &mut Segment, build: impl FnOnce(&mut DiffBuilder)) {
        let base = segment.newest();
        let mut diff = DiffBuilder::new(base, base + 1);
        build(&mut diff);
        let checked = segment.check(&diff.finish(), base, &[(1, 1 << 20)]);
        segment.commit(checked.expect("a right diff"));
    }

    #[test]
    fn memory_for_blocks_that_were_written_in_part_is_known_beforehand() {
        const COUNT: u64 = 100_000;
        let mut segment = Segment::new(0);
        segment.tune(crate::Tuning {
            cache_bytes: 0,
            ..Default::default()
        });
        commit(&mut segment, |diff| {
            diff.add_block(1, INT, COUNT, "");
            diff.set(1, COUNT, &vec![7; 4 * COUNT as usize]);
        });
        commit(&mut segment, |diff| diff.change(1, &[5, 1, 9, 9, 9, 9]));
        let place = segment.finder().find(&segment.blocks, 1).expect("a block");
        let block = segment.blocks.at(place);
        assert!(matches!(block.data, Data::Parts(_)));
        for from in 0..segment.newest() {
            let bytes = Extent::of(&segment, from, &[place]).bytes;
            let diff =
                interweave_wire::Diff::parse(&segment.collect(from).joined()).expect("a diff");
            let change = diff
                .changes()
                .next()
                .expect("a change")
                .expect("a right one");
            let beside = bytes - change.runs.len() as u64;
            assert_eq!(beside, DiffBuilder::CHANGE_HEAD_BYTES, "from {from}");
        }
    }
}
