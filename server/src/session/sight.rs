//! The segments that an identity may see, of many in the order of their paths.
//!
//! Mostly the rules say the same of a whole folder. Then the folder is asked about once.

use interweave_access::{Access, Identity, Operation};

/// REQUIRES: the rules do not change meanwhile.
pub struct Sight<'a> {
    access: &'a Access,
    identity: &'a Identity,
    /// The beginning of paths of which the last answer holds.
    folder: Option<&'a str>,
    is_seen: bool,
}

impl<'a> Sight<'a> {
    pub fn new(access: &'a Access, identity: &'a Identity) -> Self {
        let is_open = access.is_open();
        Sight {
            access,
            identity,
            folder: is_open.then_some(""),
            is_seen: is_open,
        }
    }

    /// Whether the identity may see the segment of that path.
    pub fn sees(&mut self, path: &'a str) -> bool {
        if !self.folder.is_some_and(|folder| path.starts_with(folder)) {
            let (access, read) = (self.access, Operation::Read);
            let (decision, folder) = access.decide_with_reach(self.identity, read, path);
            self.folder = folder;
            self.is_seen = decision.is_allowed;
        }
        self.is_seen
    }

    /// Returns the beginning of paths of which the last answer holds. None: it may hold for one
    /// path alone.
    pub fn folder(&self) -> Option<&'a str> {
        self.folder
    }
}
