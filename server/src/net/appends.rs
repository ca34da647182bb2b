//! What the engine appends to the log waits for the end of the loop's turn, and goes to the store
//! together.
//!
//! The store's thread writes and syncs all that waits at once. If it got each group at once, the
//! first group of a turn would wake the thread, which would sync that one alone while the others of
//! the same turn wait.

use super::shell::Shell;
use interweave_store::{Done, Record, SegmentStore, StoreError};
use interweave_wire::protocol::Durability;
use std::cell::RefCell;
use std::rc::Rc;
use tokio::sync::Notify;
use tokio::task::yield_now;

struct Append {
    group: Vec<Record>,
    durable: Durability,
    done: Done,
}

#[derive(Default)]
pub struct Appends {
    waiting: RefCell<Vec<Append>>,
    wake: Notify,
}

impl Appends {
    pub fn add(&self, group: Vec<Record>, durable: Durability, done: Done) {
        let mut waiting = self.waiting.borrow_mut();
        if waiting.is_empty() {
            self.wake.notify_one();
        }
        waiting.push(Append {
            group,
            durable,
            done,
        });
    }

    /// Gives the store all that waits, in its order. Without a store each is answered with Closed.
    pub fn hand_over(&self, store: Option<&dyn SegmentStore>) {
        for append in self.waiting.take() {
            match store {
                Some(store) => store.append(append.group, append.durable, append.done),
                None => (append.done)(Err(StoreError::Closed)),
            }
        }
    }
}

/// Hands over what waits at the end of each turn. Tokio wakes a task that yields only after it has
/// looked for messages, so that what came meanwhile is worked on before.
pub async fn hand_over_each_turn(shell: Rc<Shell>) {
    loop {
        shell.appends.wake.notified().await;
        yield_now().await;
        shell.hand_over();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_store::MemoryStore;
    use std::sync::mpsc::channel;

    #[test]
    fn groups_wait_until_they_are_handed_over_and_keep_their_order() {
        let appends = Appends::default();
        let (said, heard) = channel();
        for number in 0..3 {
            let said = said.clone();
            let done = Box::new(move |result| said.send((number, result)).unwrap());
            appends.add(Vec::new(), Durability::Synced, done);
        }
        assert!(heard.try_recv().is_err());
        appends.hand_over(Some(&MemoryStore::new()));
        assert_eq!(
            heard.try_iter().collect::<Vec<_>>(),
            [(0, Ok(())), (1, Ok(())), (2, Ok(()))]
        );
        appends.hand_over(Some(&MemoryStore::new()));
        assert!(heard.try_recv().is_err());
    }

    #[test]
    fn groups_that_no_store_takes_are_answered() {
        let appends = Appends::default();
        let (said, heard) = channel();
        let done = Box::new(move |result| said.send(result).unwrap());
        appends.add(Vec::new(), Durability::Synced, done);
        appends.hand_over(None);
        assert_eq!(heard.try_recv(), Ok(Err(StoreError::Closed)));
    }
}
