//! Work that must leave nothing half done: on an error, Ctrl-C and SIGTERM the unfinished thing is
//! taken away.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::signal::unix::{signal, SignalKind};

use crate::failure::Failure;

type Cleanup = Box<dyn FnOnce() + Send>;

/// All unfinished things of the process. One thread takes them away when a signal comes.
struct Things {
    last: u64,
    is_watched: bool,
    cleanups: BTreeMap<u64, Cleanup>,
}

static THINGS: Mutex<Things> = Mutex::new(Things {
    last: 0,
    is_watched: false,
    cleanups: BTreeMap::new(),
});

fn things() -> MutexGuard<'static, Things> {
    THINGS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes the unfinished thing away when it is dropped, unless the work was done.
pub struct Unfinished(u64);

impl Unfinished {
    /// Begins to watch signals.
    pub fn new(cleanup: impl FnOnce() + Send + 'static) -> Result<Unfinished, Failure> {
        let mut things = things();
        if !things.is_watched {
            watch().map_err(|error| Failure::new(format!("watching signals: {error}")))?;
            things.is_watched = true;
        }
        things.last += 1;
        let number = things.last;
        things.cleanups.insert(number, Box::new(cleanup));
        Ok(Unfinished(number))
    }

    /// Finishes the work. A signal that comes before takes the thing away, one that comes after
    /// leaves it.
    pub fn finish<T>(self, last_step: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
        let mut things = things();
        let done = last_step()?;
        things.cleanups.remove(&self.0);
        Ok(done)
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let cleanup = things().cleanups.remove(&self.0);
        if let Some(cleanup) = cleanup {
            cleanup();
        }
    }
}

/// Begins the thread that ends the process when a signal comes.
fn watch() -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let within = runtime.enter();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    drop(within);
    std::thread::spawn(move || {
        let status = runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
            }
        });
        // Locked until the process ends: no work must be finished meanwhile.
        let mut things = things();
        for (_, cleanup) in std::mem::take(&mut things.cleanups) {
            cleanup();
        }
        std::process::exit(status);
    });
    Ok(())
}
