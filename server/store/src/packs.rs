//! Which packs there are, and which of their items are needed [LOG-19].
//!
//! Invariants: `of` names the pack of each segment whose newest checkpoint is in a pack. `live`
//! counts the items of a pack that are such checkpoints. A pack without live items is deleted. No
//! pack has an item of a removed segment once the store has forgotten the segment, because the item
//! would bring the segment back when the log has lost the record of the removal.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::Arc;

use crate::disk::SharedDisk;
use crate::files::{failed, pack_name};
use crate::pack::{self, Item, MOST_BYTES, MOST_ITEMS};
use crate::StoreError;

#[derive(Debug, Default)]
struct Contents {
    /// The segments of all items.
    segments: Vec<u64>,
    live: usize,
}

impl Contents {
    fn is_thin(&self) -> bool {
        2 * self.live <= self.segments.len()
    }
}

#[derive(Debug)]
pub struct Packs {
    disk: SharedDisk,
    by_number: BTreeMap<u64, Contents>,
    of: HashMap<u64, u64>,
    /// The packs of which at least half is not needed.
    thin: BTreeSet<u64>,
    last_number: u64,
}

/// Writes a pack in the place of another. False: the owner was fenced.
pub type Rewrite<'a> = &'a dyn Fn(u64, &[Item]) -> io::Result<bool>;

impl Packs {
    /// `all`: the segments of all items, by the packs' numbers. `of`: the packs of the items that
    /// are needed. `last_number`: no pack that is there has a larger one.
    pub fn new(
        disk: &SharedDisk,
        all: &BTreeMap<u64, Vec<u64>>,
        of: HashMap<u64, u64>,
        last_number: u64,
    ) -> Packs {
        let contents = |segments: &Vec<u64>| Contents {
            segments: segments.clone(),
            live: 0,
        };
        let by_number = all.iter().map(|(&n, segments)| (n, contents(segments)));
        let mut packs = Packs {
            disk: Arc::clone(disk),
            by_number: by_number.collect(),
            of,
            thin: BTreeSet::new(),
            last_number,
        };
        for number in packs.of.values() {
            if let Some(contents) = packs.by_number.get_mut(number) {
                contents.live += 1;
            }
        }
        let thin = packs.by_number.iter().filter(|(_, c)| c.is_thin());
        packs.thin = thin.map(|(&number, _)| number).collect();
        packs
    }

    /// Deletes the packs of which nothing is needed. The caller syncs the directory.
    pub fn remove_unneeded(&mut self) -> Result<(), StoreError> {
        let unneeded = self.by_number.iter().filter(|(_, c)| c.live == 0);
        let unneeded: Vec<u64> = unneeded.map(|(&number, _)| number).collect();
        unneeded
            .into_iter()
            .try_for_each(|number| self.remove(number))
    }

    /// Whether the segment's newest checkpoint is in a pack.
    pub fn has(&self, segment_id: u64) -> bool {
        self.of.contains_key(&segment_id)
    }

    pub fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Adds to the items of a new pack what is needed of packs of which most is not.
    pub fn carry(&self, items: &mut Vec<Item>) {
        let mut bytes: usize = items.iter().map(|item| item.bytes.len()).sum();
        let new: BTreeSet<u64> = items.iter().map(|item| item.segment_id).collect();
        for &number in &self.thin {
            let live = self.by_number.get(&number).map_or(0, |c| c.live);
            if items.len() + live > 2 * MOST_ITEMS || bytes >= MOST_BYTES {
                return;
            }
            // One that cannot be read stays as it is.
            let mut carried = self.items(number).unwrap_or_default();
            carried.retain(|item| {
                let id = item.segment_id;
                self.of.get(&id) == Some(&number) && !new.contains(&id)
            });
            bytes += carried.iter().map(|item| item.bytes.len()).sum::<usize>();
            items.append(&mut carried);
        }
    }

    fn items(&self, number: u64) -> Result<Vec<Item>, StoreError> {
        let path = self.disk.path().join(pack_name(number));
        let read = pack::read(&*self.disk, number).map_err(|e| failed("reading", &path, &e))?;
        read.map_err(|what| StoreError::Damaged {
            file: path.display().to_string(),
            offset: 0,
            what,
        })
    }

    /// A pack with these items lasts. They are the newest checkpoints of their segments.
    pub fn added(&mut self, number: u64, items: &[Item]) -> Result<(), StoreError> {
        let segments: Vec<u64> = items.iter().map(|item| item.segment_id).collect();
        let contents = Contents {
            live: segments.len(),
            segments: segments.clone(),
        };
        self.by_number.insert(number, contents);
        for segment_id in segments {
            let before = self.of.insert(segment_id, number);
            self.lose(before)?;
        }
        Ok(())
    }

    /// The segment has a newer checkpoint in a file of its own.
    pub fn replaced(&mut self, segment_id: u64) -> Result<(), StoreError> {
        let before = self.of.remove(&segment_id);
        self.lose(before)
    }

    /// An item of the pack is not needed any more.
    fn lose(&mut self, number: Option<u64>) -> Result<(), StoreError> {
        let Some(number) = number else {
            return Ok(());
        };
        let Some(contents) = self.by_number.get_mut(&number) else {
            return Ok(());
        };
        contents.live -= 1;
        if contents.live == 0 {
            return self.remove(number);
        }
        if contents.is_thin() {
            self.thin.insert(number);
        }
        Ok(())
    }

    fn remove(&mut self, number: u64) -> Result<(), StoreError> {
        self.by_number.remove(&number);
        self.thin.remove(&number);
        let path = self.disk.path().join(pack_name(number));
        match self.disk.remove(&pack_name(number)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("removing", &path, &error))
            }
            _ => Ok(()),
        }
    }

    /// Takes all items of these segments out of all packs. The caller syncs the directory, because
    /// packs may be gone.
    pub fn forget(&mut self, segments: &[u64], rewrite: Rewrite) -> Result<(), StoreError> {
        let gone: BTreeSet<u64> = segments.iter().copied().collect();
        let has_some = |contents: &Contents| contents.segments.iter().any(|id| gone.contains(id));
        let touched = self.by_number.iter().filter(|(_, c)| has_some(c));
        let touched: Vec<u64> = touched.map(|(&number, _)| number).collect();
        for number in touched {
            let mut items = self.items(number)?;
            items.retain(|item| !gone.contains(&item.segment_id));
            let needed = |item: &Item| self.of.get(&item.segment_id) == Some(&number);
            if !items.iter().any(needed) {
                self.remove(number)?;
                continue;
            }
            let written = rewrite(number, &items);
            let path = self.disk.path().join(pack_name(number));
            if !written.map_err(|error| failed("writing", &path, &error))? {
                return Err(StoreError::Fenced(path.display().to_string()));
            }
            let live = items.iter().filter(|item| needed(item)).count();
            let segments = items.iter().map(|item| item.segment_id).collect();
            self.by_number.insert(number, Contents { segments, live });
        }
        self.of.retain(|id, _| !gone.contains(id));
        Ok(())
    }
}
