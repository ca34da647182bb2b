//! Which segments are being removed. Until the store has answered, nobody is granted their locks
//! [SPACE-28].

use super::Name;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct Removals {
    /// The paths of requests to open.
    opening: BTreeMap<Name, String>,
    numbers: BTreeMap<String, u32>,
    /// The segments of requests to remove.
    asked: BTreeMap<Name, u32>,
}

impl Removals {
    pub fn asked_to_open(&mut self, name: Name, path: &str) {
        self.opening.insert(name, path.to_string());
    }

    pub fn asked_to_remove(&mut self, name: Name, path: &str) {
        if let Some(segment) = self.numbers.get(path) {
            self.asked.insert(name, *segment);
        }
    }

    pub fn opened(&mut self, name: Name, segment: u32) {
        if let Some(path) = self.opening.remove(&name) {
            self.numbers.insert(path, segment);
        }
    }

    /// The request is answered. Gives the segment if it was one to remove it.
    pub fn answered(&mut self, name: Name) -> Option<u32> {
        self.opening.remove(&name);
        self.asked.remove(&name)
    }

    /// A lock is granted, so no removal is on its way any more, also none whose connection is lost.
    pub fn granted(&mut self, segment: u32) {
        self.asked.retain(|_, of| *of != segment);
    }

    pub fn is_removing(&self, segment: u32) -> bool {
        self.asked.values().any(|of| *of == segment)
    }
}
