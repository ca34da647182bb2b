//! A segment's content, as plainly as can be: blocks of ints. Says which diff makes one content of
//! another, and what a copy holds.

use crate::random::Random;
use bytes::Bytes;
use interweave_master::Segment;
use interweave_wire::protocol::Primitive;
use interweave_wire::{varint, DiffBuilder};
use std::collections::BTreeMap;
use std::rc::Rc;

const MOST_BLOCKS: usize = 4;

/// The ints of each block, by its serial.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content(BTreeMap<u64, Rc<Vec<i32>>>);

impl Content {
    /// A copy's content.
    pub fn of(segment: &Segment) -> Content {
        let ints = |bytes: &[u8]| {
            let (words, _) = bytes.as_chunks::<4>();
            words.iter().map(|word| i32::from_le_bytes(*word)).collect()
        };
        let blocks = segment.blocks().map(|block| {
            let zeros = || vec![0; block.layout.count as usize];
            let values = block.slots.map_or_else(zeros, ints);
            (block.serial, Rc::new(values))
        });
        Content(blocks.collect())
    }

    pub fn units(&self) -> u64 {
        self.0.values().map(|block| block.len() as u64).sum()
    }

    /// How many units of blocks that both have differ.
    pub fn differs_in(&self, other: &Content) -> u64 {
        let differ = |(serial, block): (&u64, &Rc<Vec<i32>>)| {
            let both = other
                .0
                .get(serial)
                .filter(|other| !Rc::ptr_eq(other, block));
            let pairs = both.map(|other| block.iter().zip(other.iter()));
            pairs.map_or(0, |pairs| pairs.filter(|(one, two)| one != two).count())
        };
        self.0.iter().map(differ).sum::<usize>() as u64
    }

    /// Changes something, so that nothing else is like it. `mark` is written in any case.
    /// `serials`: the first of those for a new block.
    pub fn change(&mut self, base: u64, mark: u64, serial: u64, random: &mut Random) -> Bytes {
        let mut diff = DiffBuilder::new(base, base + 1);
        let is_new = self.0.is_empty() || self.0.len() < MOST_BLOCKS && random.one_in(4);
        if self.0.len() > 1 && random.one_in(8) {
            let serials: Vec<u64> = self.0.keys().copied().collect();
            let freed = *random.pick(&serials);
            self.0.remove(&freed);
            diff.free(freed);
        }
        if is_new {
            let count = random.skewed(4, 200);
            diff.add_block(serial, Primitive::Int as u32, count, "");
            self.0.insert(serial, Rc::new(vec![0; count as usize]));
        }
        let serials: Vec<u64> = self.0.keys().copied().collect();
        let changed = if is_new {
            serial
        } else {
            *random.pick(&serials)
        };
        for serial in serials {
            if serial == changed || random.one_in(4) {
                let block = self.0.get_mut(&serial).map(Rc::make_mut);
                change_block(&mut diff, serial, block.expect("a block"), mark, random);
            }
        }
        diff.finish()
    }
}

/// Writes the mark and some numbers at some place.
fn change_block(
    diff: &mut DiffBuilder,
    serial: u64,
    block: &mut [i32],
    mark: u64,
    random: &mut Random,
) {
    let most = block.len() as u64;
    let count = random.between(2, most.min(20));
    let gap = random.between(0, most - count);
    let changed = &mut block[gap as usize..(gap + count) as usize];
    for (i, int) in changed.iter_mut().enumerate() {
        *int = match i {
            0 => mark as i32,
            1 => (mark >> 32) as i32,
            _ => random.next() as i32,
        };
    }
    let mut runs = Vec::new();
    varint::put(gap, &mut runs);
    varint::put(count, &mut runs);
    for int in changed {
        runs.extend_from_slice(&int.to_le_bytes());
    }
    diff.change(serial, &runs);
}
