//! The last move of a segment from one server to another, and what must hold from then on.

use crate::space::database::Owned;
use interweave_wire::protocol::{Durability, VersionStamp};

#[derive(Debug, Clone, Copy)]
struct Gift {
    from: u64,
    to: u64,
    incarnation: u64,
    since_ns: u64,
}

#[derive(Debug, Default)]
pub struct Gifts {
    /// None: the segment has not moved since it was made, or somebody has claimed it since that it
    /// was not given to, or versions may be lost.
    last: Option<Gift>,
    /// The row was written last by a claim of this server, which took the segment from another one.
    taken_by: Option<u64>,
}

impl Gifts {
    /// The database shows another row of the segment.
    pub fn row_written(&mut self, now_ns: u64, owned: &Owned) {
        if owned.is_given {
            self.last = Some(Gift {
                from: owned.before.unwrap_or(0),
                to: owned.owner,
                incarnation: owned.incarnation,
                since_ns: now_ns,
            });
            return;
        }
        // An owner that claims its own segment again takes it from nobody.
        let is_taken = owned.before != Some(owned.owner);
        self.taken_by = is_taken.then_some(owned.owner);
        // The next owner may write down that it begins another incarnation. `breaks` looks for
        // that.
        self.last = self.last.filter(|gift| gift.to == owned.owner);
    }

    /// Nothing is known of the incarnation any more.
    pub fn forget(&mut self) {
        self.last = None;
    }

    /// The server has given the segment away, and has not got it back.
    pub fn is_from(&self, server: u64) -> bool {
        self.last.is_some_and(|gift| gift.from == server)
    }

    pub fn is_to(&self, server: u64) -> bool {
        self.last.is_some_and(|gift| gift.to == server)
    }

    /// The server has taken the segment from another one, and has not written to it yet.
    pub fn is_taken_by(&self, server: u64) -> bool {
        self.taken_by == Some(server)
    }

    /// Whether somebody is told of another incarnation than the one that was given.
    pub fn breaks(&self, said_ns: u64, durable: Durability, stamp: &VersionStamp) -> bool {
        durable != Durability::Memory
            && self.last.is_some_and(|gift| {
                gift.since_ns < said_ns && gift.incarnation != stamp.incarnation
            })
    }
}
