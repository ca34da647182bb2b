//! Which segments are being removed, or handed over to another server. Until that is answered,
//! nobody is granted their locks [SPACE-28] [SPACE-19].

use super::Name;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct Removals {
    /// The paths of requests to open.
    opening: BTreeMap<Name, String>,
    numbers: BTreeMap<String, u32>,
    /// The segments of requests to remove them or to hand them over.
    asked: BTreeMap<Name, u32>,
}

impl Removals {
    pub fn asked_to_open(&mut self, name: Name, path: &str) {
        self.opening.insert(name, path.to_string());
    }

    /// The segment is to be removed, or handed over.
    pub fn asked(&mut self, name: Name, path: &str) {
        if let Some(segment) = self.numbers.get(path) {
            self.asked.insert(name, *segment);
        }
    }

    pub fn opened(&mut self, name: Name, segment: u32) {
        if let Some(path) = self.opening.remove(&name) {
            self.numbers.insert(path, segment);
        }
    }

    /// The request is answered. Gives the segment if it was one that keeps locks back.
    pub fn answered(&mut self, name: Name) -> Option<u32> {
        self.opening.remove(&name);
        self.asked.remove(&name)
    }

    /// A lock is granted, so nothing keeps it back any more, also no request whose connection is
    /// lost.
    pub fn granted(&mut self, segment: u32) {
        self.asked.retain(|_, of| *of != segment);
    }

    pub fn is_removing(&self, segment: u32) -> bool {
        self.asked.values().any(|of| *of == segment)
    }
}
