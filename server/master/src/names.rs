//! Names of blocks, both ways. Blocks without a name cost nothing here.
//!
//! The first names of a segment are in a list, because a server may have a million segments of one
//! or two blocks, and tables would take more than the blocks. Invariant: there are `tables` if and
//! only if there were once more than [`FEW`] names, and then the list is empty.

use std::collections::HashMap;
use std::sync::Arc;

const FEW: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Names {
    few: Vec<(Box<str>, u64)>,
    tables: Option<Box<Tables>>,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Tables {
    serials: HashMap<Arc<str>, u64>,
    names: HashMap<u64, Arc<str>>,
}

impl Tables {
    fn add(&mut self, name: Arc<str>, serial: u64) {
        self.serials.insert(name.clone(), serial);
        self.names.insert(serial, name);
    }
}

impl Names {
    pub fn serial(&self, name: &str) -> Option<u64> {
        match &self.tables {
            Some(tables) => tables.serials.get(name).copied(),
            None => self.few.iter().find(|(n, _)| **n == *name).map(|n| n.1),
        }
    }

    pub fn of(&self, serial: u64) -> Option<&str> {
        match &self.tables {
            Some(tables) => tables.names.get(&serial).map(|name| &**name),
            None => self.few.iter().find(|n| n.1 == serial).map(|n| &*n.0),
        }
    }

    pub fn add(&mut self, name: &str, serial: u64) {
        self.bytes += name_bytes(name);
        if self.tables.is_none() && self.few.len() < FEW {
            if self.few.is_empty() {
                self.few.reserve_exact(1);
            }
            self.few.push((name.into(), serial));
            return;
        }
        let tables = self.tables.get_or_insert_default();
        for (name, serial) in std::mem::take(&mut self.few) {
            tables.add(name.into(), serial);
        }
        tables.add(name.into(), serial);
    }

    pub fn remove(&mut self, serial: u64) {
        if let Some(tables) = &mut self.tables {
            if let Some(name) = tables.names.remove(&serial) {
                self.bytes -= name_bytes(&name);
                tables.serials.remove(&name);
            }
        } else if let Some(at) = self.few.iter().position(|n| n.1 == serial) {
            let (name, _) = self.few.swap_remove(at);
            self.bytes -= name_bytes(&name);
        }
    }

    /// The memory of all names, about.
    pub fn held_bytes(&self) -> u64 {
        self.bytes
    }
}

fn name_bytes(name: &str) -> u64 {
    const ENTRY: usize = size_of::<(Arc<str>, u64)>();
    (name.len() + 2 * size_of::<usize>() + 2 * ENTRY) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_names_and_many_are_found_both_ways_and_forgotten() {
        for count in [1, FEW as u64, FEW as u64 + 1, 100] {
            let mut names = Names::default();
            (1..=count).for_each(|serial| names.add(&format!("n{serial}"), serial));
            for serial in 1..=count {
                let name = format!("n{serial}");
                assert_eq!(names.serial(&name), Some(serial), "of {count}");
                assert_eq!(names.of(serial), Some(name.as_str()), "of {count}");
            }
            assert_eq!(names.serial("n0"), None);
            (1..=count).for_each(|serial| names.remove(serial));
            assert_eq!(
                (names.serial("n1"), names.of(1)),
                (None, None),
                "of {count}"
            );
            assert_eq!(names.held_bytes(), 0, "of {count}");
        }
    }
}
