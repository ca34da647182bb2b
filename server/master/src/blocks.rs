//! The blocks of a segment: by serial, and in a list by the version of their last change (ICDCS'03
//! 3.2's svr_blk_number_tree and blk_version_list).
//!
//! Serials ascend over a segment's life. Blocks therefore lie in the order of their serials, in
//! pages that only grow at the end. A block is found by binary search. Blocks used in sequence need
//! no search (3.3's prediction). Freed blocks keep their place until an eighth of all places is
//! free; then the blocks close up. The list of versions links places.

use crate::block::{Block, Data, NONE};

const PAGE: usize = 256;

#[derive(Debug)]
pub(crate) struct Blocks {
    pages: Vec<Vec<Block>>,
    places: u32,
    freed: u32,
    oldest: u32,
    newest: u32,
}

/// Finds blocks by serial. Tries the block after the last one found first.
#[derive(Debug)]
pub(crate) struct Finder {
    last: u32,
    predicts: bool,
    /// How often a search was needed.
    pub searches: u64,
}

impl Default for Blocks {
    fn default() -> Self {
        Blocks {
            pages: Vec::new(),
            places: 0,
            freed: 0,
            oldest: NONE,
            newest: NONE,
        }
    }
}

impl Finder {
    pub fn new() -> Self {
        Finder {
            last: NONE,
            predicts: true,
            searches: 0,
        }
    }

    /// Makes a finder that searches for each block.
    pub fn without_prediction() -> Self {
        Finder {
            predicts: false,
            ..Finder::new()
        }
    }

    /// The place of a live block.
    pub fn find(&mut self, blocks: &Blocks, serial: u64) -> Option<u32> {
        if let Some(place) = self.expected(blocks, serial) {
            self.last = place;
            return Some(place);
        }
        self.searches += 1;
        let place = blocks.search(serial)?;
        self.last = place;
        Some(place)
    }

    fn expected(&self, blocks: &Blocks, serial: u64) -> Option<u32> {
        if !self.predicts {
            return None;
        }
        let is = |&place: &u32| {
            place < blocks.places && {
                let block = blocks.at(place);
                block.serial == serial && !block.is_freed()
            }
        };
        let next = Some(self.last.wrapping_add(1)).filter(is);
        next.or_else(|| Some(self.last).filter(is)).or_else(|| {
            let last = (self.last < blocks.places).then(|| blocks.at(self.last))?;
            Some(last.newer).filter(is)
        })
    }
}

impl Blocks {
    pub fn at(&self, place: u32) -> &Block {
        &self.pages[place as usize / PAGE][place as usize % PAGE]
    }

    pub fn at_mut(&mut self, place: u32) -> &mut Block {
        &mut self.pages[place as usize / PAGE][place as usize % PAGE]
    }

    pub fn len(&self) -> u32 {
        self.places - self.freed
    }

    /// Memory of the headers.
    pub fn held_bytes(&self) -> u64 {
        let capacity: usize = self.pages.iter().map(Vec::capacity).sum();
        (capacity * size_of::<Block>()) as u64
    }

    fn search(&self, serial: u64) -> Option<u32> {
        let place = self.first_from(serial);
        let found = place < self.places && {
            let block = self.at(place);
            block.serial == serial && !block.is_freed()
        };
        found.then_some(place)
    }

    /// The first place whose serial is `serial` or larger.
    fn first_from(&self, serial: u64) -> u32 {
        let page = self.pages.partition_point(|page| page[0].serial <= serial);
        let Some(page) = page.checked_sub(1) else {
            return 0;
        };
        let within = self.pages[page].partition_point(|block| block.serial < serial);
        (page * PAGE + within) as u32
    }

    /// Live blocks in order of serials, from the first whose serial is `serial` or larger.
    pub fn starting_at(&self, serial: u64) -> impl Iterator<Item = &Block> {
        let first = self.first_from(serial);
        (first..self.places)
            .map(|place| self.at(place))
            .filter(|block| !block.is_freed())
    }

    /// Adds blocks, and puts them at the new end of the list in the order given.
    pub fn add(&mut self, mut new: Vec<Block>) {
        let order: Vec<u64> = new.iter().map(|block| block.serial).collect();
        new.sort_unstable_by_key(|block| block.serial);
        let last = self
            .places
            .checked_sub(1)
            .map_or(0, |last| self.at(last).serial);
        if new.first().is_some_and(|block| block.serial <= last) {
            self.rebuild(new);
        } else {
            new.into_iter().for_each(|block| self.push(block));
        }
        let mut finder = Finder::new();
        for serial in order {
            let place = finder.find(self, serial);
            self.link_newest(place.expect("the block was just added"));
        }
    }

    fn push(&mut self, block: Block) {
        match self.pages.last_mut() {
            Some(page) if page.len() < PAGE => page.push(block),
            None => {
                // A segment of one block takes no more than that.
                self.pages.reserve_exact(1);
                self.pages.push(vec![block]);
            }
            _ => {
                let mut page = Vec::with_capacity(PAGE);
                page.push(block);
                self.pages.push(page);
            }
        }
        self.places += 1;
    }

    fn link_newest(&mut self, place: u32) {
        let older = std::mem::replace(&mut self.newest, place);
        let block = self.at_mut(place);
        block.older = older;
        block.newer = NONE;
        match older {
            NONE => self.oldest = place,
            older => self.at_mut(older).newer = place,
        }
    }

    fn unlink(&mut self, place: u32) {
        let (older, newer) = (self.at(place).older, self.at(place).newer);
        match older {
            NONE => self.oldest = newer,
            older => self.at_mut(older).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.at_mut(newer).older = older,
        }
    }

    /// Moves a block that changed to the new end of the list of versions.
    pub fn touch(&mut self, place: u32, version: u64) {
        self.at_mut(place).changed = version;
        if self.newest != place {
            self.unlink(place);
            self.link_newest(place);
        }
    }

    /// Puts the blocks in the order given, each with the version of its last change. REQUIRES: all
    /// live blocks are given, each once.
    pub fn relink(&mut self, by_age: &[(u64, u64)]) {
        (self.oldest, self.newest) = (NONE, NONE);
        let mut finder = Finder::new();
        for &(version, serial) in by_age {
            let place = finder.find(self, serial);
            let place = place.expect("the blocks given are live");
            let block = self.at_mut(place);
            (block.created, block.changed) = (version, version);
            self.link_newest(place);
        }
    }

    /// Marks the block as freed and returns its data.
    pub fn free(&mut self, place: u32) -> Data {
        self.unlink(place);
        self.freed += 1;
        std::mem::replace(&mut self.at_mut(place).data, Data::Freed)
    }

    /// Live blocks that changed after a version, the longest unchanged first. The time it takes
    /// does not depend on the other blocks.
    pub fn changed_since(&self, from: u64) -> Vec<u32> {
        let mut changed = Vec::new();
        let mut place = self.newest;
        while place != NONE && self.at(place).changed > from {
            changed.push(place);
            place = self.at(place).older;
        }
        changed.reverse();
        changed
    }

    /// Reclaims places when many are free. Places change.
    pub fn close_up(&mut self) {
        if self.freed > 64 && self.freed > self.places / 8 {
            self.rebuild(Vec::new());
        }
    }

    /// Closes up and adds new blocks. REQUIRES: their serials ascend; they are not in the list yet.
    fn rebuild(&mut self, new: Vec<Block>) {
        let mut listed = Vec::with_capacity(self.len() as usize);
        let mut place = self.oldest;
        while place != NONE {
            listed.push(self.at(place).serial);
            place = self.at(place).newer;
        }
        let pages = std::mem::take(self).pages;
        let live = pages
            .into_iter()
            .flatten()
            .filter(|block| !block.is_freed());
        let mut live = live.peekable();
        for block in new {
            while let Some(before) = live.next_if(|old| old.serial < block.serial) {
                self.push(before);
            }
            self.push(block);
        }
        live.for_each(|block| self.push(block));
        let mut finder = Finder::new();
        for serial in listed {
            let place = finder.find(self, serial);
            self.link_newest(place.expect("listed blocks are live"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(serials: impl Iterator<Item = u64>) -> Blocks {
        let mut blocks = Blocks::default();
        blocks.add(
            serials
                .map(|serial| Block::new(serial, 5, 1, false, 1))
                .collect(),
        );
        blocks
    }

    fn serials(blocks: &Blocks) -> Vec<u64> {
        blocks.starting_at(0).map(|block| block.serial).collect()
    }

    fn by_version(blocks: &Blocks) -> Vec<u64> {
        let places = blocks.changed_since(0).into_iter();
        places.map(|place| blocks.at(place).serial).collect()
    }

    #[test]
    fn blocks_used_in_sequence_are_found_without_a_search() {
        let mut blocks = blocks((1..=1000).map(|index| index * 3));
        let mut finder = Finder::new();
        for serial in (1..=1000).map(|index| index * 3) {
            let place = finder.find(&blocks, serial).unwrap();
            assert_eq!(blocks.at(place).serial, serial);
        }
        assert_eq!(finder.searches, 0);
        let mut finder = Finder::without_prediction();
        assert!((1..=1000).all(|index| finder.find(&blocks, index * 3).is_some()));
        assert_eq!(finder.searches, 1000);
        // The list has the order of an earlier release, not the order of the serials.
        let order = [900, 30, 600, 3, 2997];
        for serial in order {
            let place = Finder::new().find(&blocks, serial).unwrap();
            blocks.touch(place, 2);
        }
        let mut finder = Finder::new();
        assert!(order
            .iter()
            .all(|&serial| finder.find(&blocks, serial).is_some()));
        assert_eq!(finder.searches, 1);
        assert_eq!(finder.find(&blocks, 4), None);
        assert_eq!(finder.find(&blocks, 0), None);
        assert_eq!(finder.find(&blocks, 3001), None);
    }

    #[test]
    fn freed_blocks_are_not_found_and_their_places_are_reclaimed() {
        let mut blocks = blocks(1..=1000);
        for serial in (1..=1000).filter(|serial| serial % 4 != 0) {
            let place = Finder::new().find(&blocks, serial).unwrap();
            blocks.free(place);
            assert_eq!(Finder::new().find(&blocks, serial), None);
        }
        let left: Vec<u64> = (1..=250).map(|index| index * 4).collect();
        let before = blocks.held_bytes();
        assert_eq!(serials(&blocks), left);
        blocks.close_up();
        assert!(blocks.held_bytes() < before / 3);
        assert_eq!(
            (serials(&blocks), by_version(&blocks)),
            (left.clone(), left)
        );
    }

    #[test]
    fn blocks_close_up_when_more_than_64_and_an_eighth_of_all_places_are_free() {
        for (count, freed, closes_up) in [
            (100, 64, false),
            (100, 65, true),
            (528, 66, false),
            (528, 67, true),
            (20, 10, false),
        ] {
            let mut blocks = blocks(1..=count);
            for serial in 1..=freed {
                let place = Finder::new().find(&blocks, serial).unwrap();
                blocks.free(place);
            }
            blocks.close_up();
            let left = count - freed;
            let places = if closes_up { left } else { count };
            assert_eq!(u64::from(blocks.places), places, "{freed} of {count}");
            assert_eq!(u64::from(blocks.len()), left);
        }
    }

    #[test]
    fn serials_that_do_not_ascend_are_taken_in_too() {
        let mut blocks = blocks([5, 20, 10].into_iter());
        let new = [15, 1, 30].map(|serial| Block::new(serial, 5, 1, false, 2));
        blocks.add(new.into());
        assert_eq!(serials(&blocks), [1, 5, 10, 15, 20, 30]);
        assert_eq!(by_version(&blocks), [5, 20, 10, 15, 1, 30]);
        assert_eq!(blocks.changed_since(1).len(), 3);
    }
}
