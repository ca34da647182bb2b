//! The store's threads, each with an event loop of its own.

use crate::shared::Shared;
use interweave_store::panics::caught;
use interweave_store::StoreError;
use std::future::Future;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Runtime};

pub fn event_loop() -> Result<Runtime, StoreError> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|error| StoreError::Io(format!("the event loop: {error}")))
}

/// Begins a thread that does this work in the event loop. A panic ends the store.
pub fn begin<F: Future<Output = ()>>(
    name: &str,
    event_loop: Runtime,
    shared: &Arc<Shared>,
    work: impl FnOnce() -> F + Send + 'static,
) -> Result<JoinHandle<()>, StoreError> {
    let shared = Arc::clone(shared);
    let run = move || {
        if let Err(text) = caught(move || event_loop.block_on(work())) {
            shared.stop(&StoreError::Ended(text));
        }
    };
    let begun = thread::Builder::new().name(name.to_string()).spawn(run);
    begun.map_err(|error| StoreError::Io(format!("a thread of the store: {error}")))
}
