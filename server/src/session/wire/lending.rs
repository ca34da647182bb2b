//! Large diffs while they are being sent: one copy of each diff, and a bounded number of bytes.
//!
//! All connections that are sent a diff between the same two versions share one copy of it, until
//! the last connection has taken it. Beyond the server's bound, the connections that have taken
//! nothing for the longest time are closed until the diffs of the others fit. So a reader that does
//! not read costs others nothing. Invariant: `lent_bytes` is the sum of the diffs that are held.
//! Implements [NOT-7].

use super::Wire;
use bytes::Bytes;
use interweave_wire::{Gathered, Resting};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

/// The bound of a connection's backlog covers smaller diffs.
pub const LENT_BYTES: usize = 64 << 10;

/// A diff that a connection is being sent.
#[derive(Debug)]
pub struct Lent {
    diff: Gathered,
    lent_bytes: Arc<AtomicU64>,
}

impl Lent {
    fn bytes(&self) -> u64 {
        self.diff.len() as u64
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.lent_bytes.fetch_sub(self.bytes(), Relaxed);
    }
}

/// A piece of a message's bytes, which keeps the diff lent.
struct Loan {
    _lent: Arc<Lent>,
    piece: Bytes,
}

impl AsRef<[u8]> for Loan {
    fn as_ref(&self) -> &[u8] {
        &self.piece
    }
}

/// The diffs of a segment to one version that are being sent, by the version at which they begin.
#[derive(Debug, Default)]
pub struct Shelf {
    to: u64,
    diffs: Vec<(u64, Weak<Lent>)>,
}

impl Resting for Shelf {
    const REST: Self = Shelf {
        to: 0,
        diffs: Vec::new(),
    };
    const AT_REST: &'static Self = &Self::REST;
}

impl Shelf {
    fn find(&self, from: u64, to: u64) -> Option<Arc<Lent>> {
        let diff = self.diffs.iter().find(|(begin, _)| *begin == from);
        diff.filter(|_| self.to == to)?.1.upgrade()
    }

    fn add(&mut self, from: u64, to: u64, lent: &Arc<Lent>) {
        let newer = self.to != to;
        self.to = to;
        self.diffs
            .retain(|(_, diff)| !newer && diff.strong_count() > 0);
        self.diffs.push((from, Arc::downgrade(lent)));
    }
}

impl Wire {
    /// Returns the sum of the diffs that are held.
    #[cfg(test)]
    pub fn lent_bytes(&self) -> u64 {
        self.lent_bytes.load(Relaxed)
    }

    /// Returns the diff between two versions for the connection, if it is being sent to another
    /// one.
    pub fn share(
        &mut self,
        connection: u64,
        shelf: &Shelf,
        (from, to): (u64, u64),
    ) -> Option<Gathered> {
        let lent = shelf.find(from, to)?;
        Some(self.lend_to(connection, lent))
    }

    /// Returns the diff between two versions for the connection. A large diff counts from now on,
    /// until no connection is being sent it.
    pub fn lend(
        &mut self,
        connection: u64,
        shelf: &mut Shelf,
        (from, to): (u64, u64),
        diff: &Gathered,
    ) -> Gathered {
        if diff.len() < LENT_BYTES {
            return diff.clone();
        }
        let lent = match shelf.find(from, to) {
            Some(lent) => lent,
            None => {
                let lent = self.count(diff);
                shelf.add(from, to, &lent);
                self.make_room(&lent);
                lent
            }
        };
        self.lend_to(connection, lent)
    }

    fn count(&self, diff: &Gathered) -> Arc<Lent> {
        let lent_bytes = self.lent_bytes.clone();
        lent_bytes.fetch_add(diff.len() as u64, Relaxed);
        let diff = diff.clone();
        Arc::new(Lent { diff, lent_bytes })
    }

    fn lend_to(&mut self, connection: u64, lent: Arc<Lent>) -> Gathered {
        if let Some(c) = self.connections.get_mut(&connection) {
            c.lent.retain(|diff| diff.strong_count() > 0);
            c.lent.push(Arc::downgrade(&lent));
        }
        let loan = |piece: &Bytes| Loan {
            _lent: Arc::clone(&lent),
            piece: piece.clone(),
        };
        let pieces = lent.diff.pieces();
        pieces.map(|piece| Bytes::from_owner(loan(piece))).collect()
    }

    /// Closes connections until the diffs of the others are within the bound, the new diff
    /// included.
    fn make_room(&mut self, new: &Arc<Lent>) {
        let most = self.config.sending_bytes;
        if self.lent_bytes.load(Relaxed) <= most {
            return;
        }
        // A diff that only closed connections hold counts as gone. `holders` has, by diff, how many
        // open connections have it.
        let mut holders: HashMap<*const Lent, usize> = HashMap::new();
        let mut slowest = Vec::new();
        let mut bytes = new.bytes();
        for (id, c) in &self.connections {
            let held = c.lent.iter().filter_map(Weak::upgrade);
            let held: Vec<_> = held.filter(|diff| !Arc::ptr_eq(diff, new)).collect();
            for diff in &held {
                let count = holders.entry(Arc::as_ptr(diff)).or_insert(0);
                *count += 1;
                bytes += if *count == 1 { diff.bytes() } else { 0 };
            }
            if !held.is_empty() {
                slowest.push((c.took_ns, *id, held));
            }
        }
        slowest.sort_unstable_by_key(|(took_ns, id, _)| (*took_ns, *id));
        for (_, connection, held) in slowest {
            if bytes <= most {
                return;
            }
            for diff in held {
                let count = holders.entry(Arc::as_ptr(&diff)).or_insert(1);
                *count -= 1;
                bytes -= if *count == 0 { diff.bytes() } else { 0 };
            }
            self.counters.stuck += 1;
            self.close(connection);
        }
    }
}
