//! Gives memory back to the system that many small messages took.
//!
//! The allocator keeps freed memory that lies between living blocks. After many connections that
//! did not read, it would keep most of what their messages took.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::task::spawn_local;
use tokio::time::sleep;

/// If fewer bytes have waited, nothing is given back.
const MUCH_BYTES: usize = 8 << 20;
/// Closed connections and their messages are gone after that time. It also bounds how often memory
/// is given back.
const AFTERWARDS: Duration = Duration::from_secs(2);

/// Follows how many bytes wait to be sent.
#[derive(Debug, Default)]
pub struct Ebb {
    most_bytes: Cell<usize>,
    due: Rc<Cell<bool>>,
}

impl Ebb {
    /// `bytes` wait now. When an eighth of many is left, memory is given back a little later.
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

/// Gives back what is free now.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_back() {
    extern "C" {
        fn malloc_trim(pad: usize) -> i32;
    }
    // SAFETY: any thread may call glibc's malloc_trim at any time. It frees only pages that hold
    // nothing.
    let _ = unsafe { malloc_trim(0) };
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}
