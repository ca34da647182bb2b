//! Work that must leave nothing half done: on an error, Ctrl-C and SIGTERM the unfinished thing is
//! taken away.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::signal::unix::{signal, SignalKind};

use crate::failure::Failure;

type Cleanup = Box<dyn FnOnce() + Send>;

/// Takes the unfinished thing away when it is dropped, unless the work was done.
pub struct Unfinished(Arc<Mutex<Option<Cleanup>>>);

impl Unfinished {
    /// Begins to listen for signals.
    pub fn new(cleanup: impl FnOnce() + Send + 'static) -> Result<Unfinished, Failure> {
        let kept: Arc<Mutex<Option<Cleanup>>> = Arc::new(Mutex::new(Some(Box::new(cleanup))));
        let failed = |error: std::io::Error| Failure::new(format!("watching signals: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .map_err(failed)?;
        let signals = {
            let _within = runtime.enter();
            let interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
            (interrupt, signal(SignalKind::terminate()).map_err(failed)?)
        };
        let watched = kept.clone();
        std::thread::spawn(move || {
            let (mut interrupt, mut terminate) = signals;
            let status = runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => 130,
                    _ = terminate.recv() => 143,
                }
            });
            // Until the process ends: the work must not be finished meanwhile.
            let mut cleanup = watched.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(cleanup) = cleanup.take() {
                cleanup();
            }
            std::process::exit(status);
        });
        Ok(Unfinished(kept))
    }

    /// Finishes the work. A signal that comes before takes the thing away, one that comes after
    /// leaves it.
    pub fn finish<T>(self, last_step: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut cleanup = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let done = last_step()?;
        *cleanup = None;
        Ok(done)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut cleanup = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cleanup) = cleanup.take() {
            cleanup();
        }
    }
}
