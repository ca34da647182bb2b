//! The segments that are being removed, or handed over to another server. Until that is answered,
//! nobody is granted their locks [SPACE-28] [SPACE-19]. A hand-over ends with its connection,
//! unless the store is already asked to give the segment.

use super::Name;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Removal,
    HandOver,
}

#[derive(Debug, Default)]
pub struct Removals {
    /// The paths of requests to open.
    opening: BTreeMap<Name, String>,
    numbers: BTreeMap<String, u32>,
    /// The segments of requests to remove them or to hand them over.
    asked: BTreeMap<Name, (u32, Wish)>,
    /// The store is asked to give these to other servers.
    giving: BTreeSet<u32>,
}

impl Removals {
    pub fn asked_to_open(&mut self, name: Name, path: &str) {
        self.opening.insert(name, path.to_string());
    }

    pub fn asked(&mut self, name: Name, path: &str, wish: Wish) {
        if let Some(segment) = self.numbers.get(path) {
            self.asked.insert(name, (*segment, wish));
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
        let (segment, _) = self.asked.remove(&name)?;
        Some(segment)
    }

    /// Gives the segments whose hand-overs end with the connection.
    pub fn gone(&mut self, connection: u64) -> Vec<u32> {
        let ends = |name: &Name, wish: Wish| name.0 == connection && wish == Wish::HandOver;
        let ended = self.asked.iter().filter(|(name, of)| ends(name, of.1));
        let ended = ended.map(|(_, (segment, _))| *segment).collect();
        self.asked.retain(|name, of| !ends(name, of.1));
        ended
    }

    pub fn gives(&mut self, segment: u32) {
        self.giving.insert(segment);
    }

    /// The store has given the segment, or has not.
    pub fn given(&mut self, segment: u32) {
        self.giving.remove(&segment);
    }

    /// A lock is granted, so nothing keeps it back any more, also no removal whose connection is
    /// lost.
    pub fn granted(&mut self, segment: u32) {
        self.asked.retain(|_, of| of.0 != segment);
    }

    pub fn keeps_back(&self, segment: u32) -> bool {
        self.giving.contains(&segment) || self.asked.values().any(|of| of.0 == segment)
    }
}
