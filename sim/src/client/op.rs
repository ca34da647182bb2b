//! The things that clients do.

use interweave_wire::protocol::CoherenceModel;

/// A thing that a client is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Op {
    /// Takes the locks of these segments, in this order, changes them, and gives the locks back.
    Write {
        segments: Vec<usize>,
        hold_ns: u64,
        ending: Ending,
    },
    Read {
        segment: usize,
        model: CoherenceModel,
        x: u64,
        fresh: bool,
    },
    Subscribe {
        segment: usize,
        watching: Watching,
    },
    Unsubscribe {
        segment: usize,
    },
    /// Removes the segment. Whoever opens it next makes it anew.
    Remove {
        segment: usize,
    },
}

/// How a subscriber wants to be told.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Watching {
    pub model: CoherenceModel,
    pub x: u64,
    pub push: bool,
    /// The bytes of diffs that the client buffers.
    pub push_bytes: u64,
}

pub const MOST_PUSH_BYTES: u64 = 2048;

impl Default for Watching {
    fn default() -> Watching {
        Watching {
            model: CoherenceModel::Full,
            x: 0,
            push: false,
            push_bytes: MOST_PUSH_BYTES,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Release,
    Abort,
    /// Gives the lock back by a release without a change.
    Nothing,
}
