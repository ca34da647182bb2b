//! Tells the engine's thread that the certificate of a connection's client is not valid any more.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::sync::Notify;

/// Whether the certificate of one connection's client has expired, was revoked, or lost its
/// authority since the connection began. Without a certificate that never happens.
#[derive(Debug, Default)]
pub struct Validity {
    has_ended: AtomicBool,
    end: Notify,
}

impl Validity {
    pub fn end(&self) {
        self.has_ended.store(true, Relaxed);
        self.end.notify_one();
    }

    pub fn has_ended(&self) -> bool {
        self.has_ended.load(Relaxed)
    }

    /// Waits for [`Validity::end`]. REQUIRES: one task at a time waits.
    pub async fn ended(&self) {
        while !self.has_ended() {
            self.end.notified().await;
        }
    }
}
