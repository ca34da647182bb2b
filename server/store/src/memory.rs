//! The store that keeps nothing, for `--store memory`: everything is acknowledged at once.

use std::sync::atomic::{AtomicU64, Ordering};

use interweave_wire::protocol::{CheckpointHead, Durability};

use crate::identity::Identity;
use crate::store::{Checkpoint, Done, Next, Record, SegmentStore, Settled, StoreStatus, Want};
use crate::StoreError;

#[derive(Debug, Default)]
pub struct MemoryStore {
    identity: Identity,
    groups: AtomicU64,
    checkpoints: AtomicU64,
}

impl MemoryStore {
    pub fn new() -> MemoryStore {
        MemoryStore {
            identity: Identity::random(),
            ..MemoryStore::default()
        }
    }
}

impl SegmentStore for MemoryStore {
    fn owner_epoch(&self) -> u64 {
        1
    }

    fn identity(&self) -> Identity {
        self.identity
    }

    fn append(&self, _group: Vec<Record>, _durable: Durability, done: Done) {
        self.groups.fetch_add(1, Ordering::Relaxed);
        done(Ok(()));
    }

    /// Fails, because the store keeps nothing and does not know where a segment ends.
    fn settle(&self, _segments: Vec<u64>, settled: Settled) {
        let text = "the store keeps nothing, so it cannot tell where a segment ends";
        settled(Err(StoreError::Io(text.to_string())));
    }

    fn checkpoint(&self, _checkpoint: Checkpoint, done: Done) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        done(Ok(()));
    }

    fn checkpoint_in_pieces(&self, _head: CheckpointHead, _want: Want, done: Done) {
        self.checkpoints.fetch_add(1, Ordering::Relaxed);
        done(Ok(()));
    }

    fn next(&self, _segment_id: u64, _next: Next) {}

    fn kind(&self) -> &'static str {
        "memory"
    }

    fn status(&self) -> StoreStatus {
        StoreStatus {
            groups: self.groups.load(Ordering::Relaxed),
            checkpoints: self.checkpoints.load(Ordering::Relaxed),
            ..StoreStatus::default()
        }
    }

    fn close(self: Box<Self>, _clean: bool) -> Result<(), StoreError> {
        Ok(())
    }
}
