//! Names of blocks, both ways. Blocks without a name cost nothing here.
//!
//! One name lies here itself, and the first names of a segment are in a list, because a server may
//! have a million segments of one or two blocks, and tables would take more than the blocks.
//! Invariants: there are tables if and only if there were once more than [`FEW`] names; a list has
//! been a list since there were two names.

use std::collections::HashMap;
use std::sync::Arc;

const FEW: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Names {
    held: Held,
    bytes: u64,
}

#[derive(Debug, Default)]
enum Held {
    #[default]
    Nothing,
    One((Box<str>, u64)),
    Few(Vec<(Box<str>, u64)>),
    Many(Box<Tables>),
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

impl Held {
    /// The names that are not in tables.
    fn few(&self) -> &[(Box<str>, u64)] {
        match self {
            Held::One(name) => std::slice::from_ref(name),
            Held::Few(names) => names,
            Held::Nothing | Held::Many(_) => &[],
        }
    }

    fn with(self, name: Box<str>, serial: u64) -> Held {
        match self {
            Held::Nothing => Held::One((name, serial)),
            Held::One(first) => Held::Few(vec![first, (name, serial)]),
            Held::Few(mut names) if names.len() < FEW => {
                names.push((name, serial));
                Held::Few(names)
            }
            Held::Few(names) => {
                let mut tables = Box::<Tables>::default();
                let names = names.into_iter().chain([(name, serial)]);
                names.for_each(|(name, serial)| tables.add(name.into(), serial));
                Held::Many(tables)
            }
            Held::Many(mut tables) => {
                tables.add(name.into(), serial);
                Held::Many(tables)
            }
        }
    }

    /// Takes the name out. Returns the name.
    fn remove(&mut self, serial: u64) -> Option<Box<str>> {
        match self {
            Held::Nothing => None,
            Held::One((_, of)) if *of != serial => None,
            Held::One((name, _)) => {
                let name = std::mem::take(name);
                *self = Held::Nothing;
                Some(name)
            }
            Held::Few(names) => {
                let at = names.iter().position(|n| n.1 == serial)?;
                Some(names.swap_remove(at).0)
            }
            Held::Many(tables) => {
                let name = tables.names.remove(&serial)?;
                tables.serials.remove(&name);
                Some((*name).into())
            }
        }
    }
}

impl Names {
    pub fn serial(&self, name: &str) -> Option<u64> {
        match &self.held {
            Held::Many(tables) => tables.serials.get(name).copied(),
            held => held.few().iter().find(|(n, _)| **n == *name).map(|n| n.1),
        }
    }

    pub fn of(&self, serial: u64) -> Option<&str> {
        match &self.held {
            Held::Many(tables) => tables.names.get(&serial).map(|name| &**name),
            held => held.few().iter().find(|n| n.1 == serial).map(|n| &*n.0),
        }
    }

    pub fn add(&mut self, name: &str, serial: u64) {
        self.bytes += name_bytes(name);
        self.held = std::mem::take(&mut self.held).with(name.into(), serial);
    }

    pub fn remove(&mut self, serial: u64) {
        if let Some(name) = self.held.remove(serial) {
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
        for count in [1, 2, FEW as u64, FEW as u64 + 1, 100] {
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
