//! Tasks of the server's thread.
//!
//! A panic is an error of ours, and may leave the engine half changed. Therefore a panic in a task
//! ends the server with an error. It is caught at the task's edge, logged, and told by /healthz. No
//! acknowledged release is lost, because the store has it. Nothing waits for a task that is gone.

use super::shell::Shell;
use interweave_store::panics;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::task::{spawn_local, JoinHandle};

static PANICS: AtomicU64 = AtomicU64::new(0);

/// How many panics this process had, caught or not.
pub fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// Makes each panic a line of the log from now on, and counts it.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        let place = panic.location().map(ToString::to_string);
        let thread = std::thread::current();
        tracing::error!(
            place = place.unwrap_or_default(),
            thread = thread.name().unwrap_or_default(),
            "an error of the server: {}",
            panics::text_of(panic.payload())
        );
    }));
}

/// Begins a task that the server needs, or that changes the engine.
pub fn spawn(
    shell: &Rc<Shell>,
    what: &'static str,
    task: impl Future<Output = ()> + 'static,
) -> JoinHandle<()> {
    let shell = shell.clone();
    let task = Guarded(Box::pin(task));
    spawn_local(async move {
        if let Err(text) = task.await {
            shell.fail(format!("{what}: {text}"));
        }
    })
}

/// Runs a task. Returns the text of its panic, if it panics.
struct Guarded(Pin<Box<dyn Future<Output = ()>>>);

impl Future for Guarded {
    type Output = Result<(), String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match panics::caught(|| self.0.as_mut().poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => Poll::Ready(Ok(())),
            Err(text) => Poll::Ready(Err(text)),
        }
    }
}
