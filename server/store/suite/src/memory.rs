//! The place of the store that keeps nothing.

use crate::place::{Ability, Crash, Opened, Place};
use interweave_store::{MemoryStore, StoreError};

pub struct Nowhere;

impl Place for Nowhere {
    fn can(&self, _ability: Ability) -> bool {
        false
    }

    fn open(&self) -> Result<Opened, StoreError> {
        Ok(Opened {
            store: Box::new(MemoryStore::new()),
            segments: Vec::new(),
        })
    }

    fn crash(&self, _crash: Crash) {}
}
