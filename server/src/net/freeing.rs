//! Frees the memory of large messages on a thread of its own.
//!
//! The system takes some 20 ms to take 256 MiB back. The last user of a message is mostly a master
//! copy, a cached diff or a socket, so it ends on the engine's thread. Everybody would wait there.

use bytes::Bytes;
use std::sync::mpsc::{channel, Sender};
use std::sync::OnceLock;
use std::thread;

/// Smaller memory is freed where its last user ends.
const LARGE_BYTES: usize = 1 << 20;

/// None: the system gave no thread, so everything is freed where its last user ends.
static FREEING: OnceLock<Option<Sender<Bytes>>> = OnceLock::new();

fn begin() -> Option<Sender<Bytes>> {
    let (sender, receiver) = channel::<Bytes>();
    let free = move || receiver.into_iter().for_each(drop);
    let thread = thread::Builder::new().name("freeing".to_string());
    thread.spawn(free).ok().map(|_| sender)
}

/// The memory of one message.
struct Large(Bytes);

impl AsRef<[u8]> for Large {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        if let Some(freeing) = FREEING.get_or_init(begin) {
            // Should the thread have ended, the error has the bytes and frees them here.
            let _ = freeing.send(std::mem::take(&mut self.0));
        }
    }
}

/// Frees a value that may have much memory on a thread of its own.
pub fn free_elsewhere(value: impl Send + 'static) {
    let thread = thread::Builder::new().name("freeing-one".to_string());
    // Without a thread the value is freed here.
    let _ = thread.spawn(move || drop(value));
}

/// Returns the same bytes. If they are many, their memory is freed on the thread when the last
/// slice of them is dropped.
pub fn freed_elsewhere(bytes: Bytes) -> Bytes {
    match bytes.len() < LARGE_BYTES {
        true => bytes,
        false => Bytes::from_owner(Large(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::ThreadId;

    /// Says on which thread it is dropped.
    struct Told(Vec<u8>, Sender<ThreadId>);

    impl AsRef<[u8]> for Told {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }

    impl Drop for Told {
        fn drop(&mut self) {
            self.1.send(thread::current().id()).unwrap();
        }
    }

    #[test]
    fn the_last_slice_of_a_large_message_frees_it_on_another_thread() {
        let (sender, dropped) = channel();
        let told = |bytes| Bytes::from_owner(Told(vec![7; bytes], sender.clone()));
        let small = freed_elsewhere(told(LARGE_BYTES - 1));
        drop(small);
        assert_eq!(dropped.recv().unwrap(), thread::current().id());
        let large = freed_elsewhere(told(LARGE_BYTES));
        let slice = large.slice(5..9);
        drop(large);
        assert_eq!(*slice, [7; 4]);
        assert!(dropped.try_recv().is_err(), "a slice is left");
        drop(slice);
        assert_ne!(dropped.recv().unwrap(), thread::current().id());
    }
}
