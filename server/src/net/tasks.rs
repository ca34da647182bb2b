//! Tasks of the server's thread. A panic in one is an error of ours, and may have left the engine
//! half changed: it is caught at the task's edge, logged, told by /healthz, and ends the server with
//! an error. What was acknowledged is in the store; nothing waits for ever for a task that is gone.

use super::shell::Shell;
use interweave_store::panics;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use tokio::task::{spawn_local, JoinHandle};

static PANICS: AtomicU64 = AtomicU64::new(0);

/// How many panics there were in this process, caught or not.
pub fn panics() -> u64 {
    PANICS.load(Ordering::Relaxed)
}

/// From now on panics are lines of the log, and counted.
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

/// Begins a task that the server cannot do without, or that changes the engine.
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

/// Ends with the text of a panic, if there is one.
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
