//! When the allocator gives memory back to the system.
//!
//! The allocator keeps freed memory that lies between living blocks. After many connections that
//! did not read, it would keep most of what their messages took, so it is told to give memory back.
//! While a store is read, it is told to keep it.

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

/// While this lives, freed memory of any size is used again, and the system does not get it.
///
/// A start reads a store through large buffers, one after the other. The system would clear fresh
/// pages for each of them, which took half of the time of a start with 10 GB. It clears them once
/// so.
#[derive(Debug)]
pub struct Recycling(());

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::ffi::c_int;

    const TRIM_THRESHOLD: c_int = -1;
    const MMAP_THRESHOLD: c_int = -3;

    extern "C" {
        fn mallopt(parameter: c_int, value: c_int) -> c_int;
    }

    /// Sets the size from which an allocation has pages of its own, and how much free memory at
    /// the end is kept.
    pub fn set_thresholds(mmap: c_int, trim: c_int) {
        // SAFETY: any thread may call glibc's mallopt at any time. A value that it does not take
        // changes nothing.
        unsafe {
            mallopt(MMAP_THRESHOLD, mmap);
            mallopt(TRIM_THRESHOLD, trim);
        }
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
impl Recycling {
    pub fn begin() -> Recycling {
        glibc::set_thresholds(1 << 30, i32::MAX);
        Recycling(())
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
impl Drop for Recycling {
    fn drop(&mut self) {
        // What the allocator comes to by itself after large blocks were freed.
        glibc::set_thresholds(32 << 20, 64 << 20);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
impl Recycling {
    pub fn begin() -> Recycling {
        Recycling(())
    }
}
