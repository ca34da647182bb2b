//! Memory that many small messages took, given back to the system.
//!
//! The allocator keeps what was freed between blocks that live on; after a crowd of connections that
//! did not read, that is most of what they took.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::sleep;

/// After less than that nothing is done.
const MUCH_BYTES: usize = 8 << 20;
/// By then connections that were closed are gone with what they held; and it is not done more often.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// Follows how much waits to be sent.
#[derive(Debug, Default)]
pub struct Ebb {
    most_bytes: Cell<usize>,
    due: Rc<Cell<bool>>,
}

impl Ebb {
    /// So much waits now. Once little of much is left, memory is given back a little later.
    pub fn follow(&self, bytes: usize) {
        let most = self.most_bytes.get().max(bytes);
        self.most_bytes.set(most);
        if most < MUCH_BYTES || bytes > most / 8 || self.due.replace(true) {
            return;
        }
        self.most_bytes.set(bytes);
        let due = self.due.clone();
        spawn_local(async move {
            sleep(AFTERWARDS).await;
            due.set(false);
            give_back();
        });
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn give_back() {
    extern "C" {
        fn malloc_trim(pad: usize) -> i32;
    }
    // SAFETY: glibc's malloc_trim may be called at any time, from any thread; it frees only pages that
    // hold nothing.
    let _ = unsafe { malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back() {}
