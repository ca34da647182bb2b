//! The store's threads, each with an event loop of its own.

use crate::shared::Shared;
use interweave_store::panics::caught;
use interweave_store::StoreError;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Runtime};

/// It may be dropped in another event loop, where a runtime may not: a thread that could not begin
/// gives its own back to whoever began it.
pub struct EventLoop(Option<Runtime>);

impl Deref for EventLoop {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("it is there until it is dropped")
    }
}

impl Drop for EventLoop {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

pub fn event_loop() -> Result<EventLoop, StoreError> {
    let built = Builder::new_current_thread().enable_all().build();
    let built = built.map_err(|error| StoreError::Io(format!("the event loop: {error}")));
    built.map(|runtime| EventLoop(Some(runtime)))
}

/// Begins a thread that does this work in the event loop. A panic ends the store.
pub fn begin<F: Future<Output = ()>>(
    name: &str,
    event_loop: EventLoop,
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
