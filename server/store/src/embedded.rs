//! The store in a directory.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use interweave_wire::protocol::Durability;

use crate::store::{Checkpoint, Done, Record, RecoveredSegment, SegmentStore, StoreStatus};
use crate::StoreError;

/// How a log file is brought to the disk.
pub type SyncFn = Arc<dyn Fn(&File) -> io::Result<()> + Send + Sync>;

#[derive(Clone)]
pub struct Options {
    /// How large a log file is made.
    pub log_file_bytes: u64,
    /// How often a store that is full looks for space.
    pub trial_interval: Duration,
    /// fdatasync, unless a test wants to see or fail it.
    pub sync: SyncFn,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            log_file_bytes: 64 << 20,
            trial_interval: Duration::from_secs(1),
            sync: Arc::new(|file| file.sync_data()),
        }
    }
}

#[derive(Debug)]
pub struct EmbeddedStore {}

impl EmbeddedStore {
    /// Takes the store over, makes it if there is none, and tells what is in it.
    pub fn open(
        _dir: &Path,
        _options: Options,
    ) -> Result<(Self, Vec<RecoveredSegment>), StoreError> {
        todo!()
    }
}

impl SegmentStore for EmbeddedStore {
    fn owner_epoch(&self) -> u64 {
        todo!()
    }

    fn append(&self, _group: Vec<Record>, _durable: Durability, _done: Done) {
        todo!()
    }

    fn checkpoint(&self, _checkpoint: Checkpoint, _done: Done) {
        todo!()
    }

    fn log_bytes(&self, _segment_id: u64) -> u64 {
        todo!()
    }

    fn status(&self) -> StoreStatus {
        todo!()
    }

    fn close(self: Box<Self>, _clean: bool) -> Result<(), StoreError> {
        todo!()
    }
}
