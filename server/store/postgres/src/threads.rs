//! The store's threads, each with an event loop of its own.

use crate::shared::Shared;
use interweave_store::panics::caught;
use interweave_store::StoreError;
use std::future::Future;
use std::sync::mpsc::channel;
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
    let (give, given) = channel::<Runtime>();
    let run = move || {
        let Ok(event_loop) = given.recv() else {
            return;
        };
        if let Err(text) = caught(move || event_loop.block_on(work())) {
            shared.stop(&StoreError::Ended(text));
        }
    };
    match thread::Builder::new().name(name.to_string()).spawn(run) {
        Ok(thread) => {
            // The thread waits for it.
            let _ = give.send(event_loop);
            Ok(thread)
        }
        Err(error) => {
            // The caller may be in an event loop itself, where none may be dropped otherwise.
            event_loop.shutdown_background();
            Err(StoreError::Io(format!("a thread of the store: {error}")))
        }
    }
}
