//! A place where a store lies, and what can happen to it there.

use interweave_store::{RecoveredSegment, SegmentStore, StoreError};

/// Makes an empty place.
pub type Make<'a> = &'a dyn Fn() -> Box<dyn Place>;

/// A thing that a place can do, and that a case may need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// The store keeps what it is given.
    Keep,
    /// A process ends at once.
    Crash,
    /// The machine stops. Records that are not durable as SYNCED may be lost.
    LosePower,
    /// A request stands still on its way, at each of the steps.
    Hold,
    /// A commit fails, once or until it is told otherwise.
    Fail,
    /// There is no space.
    Fill,
    /// A commit is cancelled, as a database does it.
    Cancel,
    /// Another owner takes some of the segments.
    Take,
    /// Bytes change where they lie.
    Damage,
    /// All that the store has is copied, and the copy put back later.
    CopyBack,
}

/// How everything that runs at the place ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// The processes of all owners end. What was written stays.
    Process,
    /// Records that were not durable as SYNCED are lost in part. The number says which part: 0 all
    /// of them, 1 none of them.
    Power(u64),
}

/// The fate of a commit that is cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// It never reaches the database.
    Before,
    /// It is reported as done, with a warning: the standby does not have it.
    Local,
    /// The connection breaks; it takes effect later, with [`Place::let_go`] at the latest.
    Late,
}

pub struct Opened {
    pub store: Box<dyn SegmentStore>,
    pub segments: Vec<RecoveredSegment>,
}

/// Where a store lies. Faults are asked for only of a place that can do them.
pub trait Place {
    fn can(&self, ability: Ability) -> bool;

    /// Opens the store as a new owner. Earlier owners may live. While one of their requests is
    /// held, this returns all the same.
    fn open(&self) -> Result<Opened, StoreError>;

    /// Everything ends. A request that is held is let go, and fails. The owners' stores are dropped
    /// afterwards; that must do nothing.
    fn crash(&self, crash: Crash);

    /// How many steps of an append can be held, the first 0.
    fn steps(&self) -> u32 {
        0
    }

    /// The next append of any owner stands still at that step.
    fn hold(&self, _step: u32) {}

    /// Waits until an append stands still. False: none does, after a long time.
    fn is_held(&self) -> bool {
        false
    }

    /// A request that is held continues, and what is late takes effect, if it can.
    fn let_go(&self) {}

    /// So many of the next commits fail.
    fn fail(&self, _commits: u32) {}

    fn fill(&self, _is_full: bool) {}

    /// The next append is cancelled.
    fn cancel(&self, _cancel: Cancel) {}

    /// Another owner takes these segments, and only these.
    fn take(&self, _segments: &[u64]) {}

    /// Changes a bit of these bytes, wherever the store has them.
    fn damage(&self, _bytes: &[u8]) {}

    /// Copies all that the store has. Nobody has it open.
    fn copy(&self) {}

    /// Puts the copy in the place of the store's content. Nobody has the store open.
    fn put_copy_back(&self) {}
}
