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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sharing::{Followed, Given, PageAsked, Sought};
    use std::ops::Bound;
    use std::sync::mpsc::channel;

    /// Returns the store's answer.
    fn told<T: Send + 'static>(ask: impl FnOnce(Box<dyn FnOnce(T) + Send>)) -> T {
        let (tell, answer) = channel();
        ask(Box::new(move |told| tell.send(told).unwrap()));
        answer.recv().unwrap()
    }

    #[test]
    fn a_store_that_is_not_shared_has_no_segments_of_others_and_no_members() {
        let store = MemoryStore::new();
        assert!(!store.is_in_need());
        let sought = told(|seek| store.seek("/a", true, seek));
        assert!(matches!(sought, Ok(Sought::Absent)));
        let followed = told(|follow| store.follow("/a", follow));
        assert!(matches!(followed, Ok(Followed::Absent)));
        let Ok(Given::Not(why)) = told(|give| store.give(1, 2, give)) else {
            panic!("it was given");
        };
        assert!(why.contains("with nobody"), "{why}");
        assert_eq!(told(|done| store.renew(false, done)), Ok(()));
        let asked = PageAsked {
            prefix: String::new(),
            from: Bound::Unbounded,
            most: 9,
        };
        let page = told(|page| store.page(asked, page)).unwrap();
        assert!(page.segments.is_empty() && page.is_last);
        let members = told(|members| store.members(0, false, members)).unwrap();
        assert_eq!((members.shares_store, members.members.len()), (false, 0));
        assert_eq!(members.store.kind, "memory");
    }
}
