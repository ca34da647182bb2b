//! Defects that are put in on purpose, one at a time, to test the simulator's checkers
//! ([sim](../../../sim/README.md#planted-defects)). Without the feature `planted`, which no release
//! build can have, there are none.

#[cfg(all(feature = "planted", not(debug_assertions)))]
compile_error!("planted defects are for the simulator alone: make/sim.sh builds with them");

/// A thing that is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// A release is taken without a look at its fence.
    SkippedFence,
    /// SYNCED releases are acknowledged before they are on the disk.
    EarlyAcknowledgement,
    /// A grant's serials are given out again.
    ReusedSerials,
    /// A subscriber is not told of some versions.
    LostSubscription,
    /// A segment that may have lost versions keeps its incarnation.
    WrongIncarnation,
    /// A group of which the end is torn off is taken for whole.
    TornGroupTaken,
    /// A release that comes again is not recognized.
    ReleaseForgotten,
    /// A file gets its name without a sync of the directory.
    UnsyncedNames,
    /// A file of the log has a successor before it is on the disk.
    UnsealedFile,
    /// Fences begin anew with each start.
    FencesBeginAnew,
}

impl Defect {
    pub const ALL: [Defect; 10] = [
        Defect::SkippedFence,
        Defect::EarlyAcknowledgement,
        Defect::ReusedSerials,
        Defect::LostSubscription,
        Defect::WrongIncarnation,
        Defect::TornGroupTaken,
        Defect::ReleaseForgotten,
        Defect::UnsyncedNames,
        Defect::UnsealedFile,
        Defect::FencesBeginAnew,
    ];
}

#[cfg(feature = "planted")]
mod planting {
    use super::Defect;
    use std::cell::Cell;

    thread_local! {
        static PLANTED: Cell<Option<Defect>> = const { Cell::new(None) };
    }

    /// From now on this thread does that wrong, and nothing else.
    pub fn plant(defect: Option<Defect>) {
        PLANTED.set(defect);
    }

    pub fn is_in(defect: Defect) -> bool {
        PLANTED.get() == Some(defect)
    }
}

#[cfg(feature = "planted")]
pub use planting::{is_in, plant};

/// Whether the defect is in.
#[cfg(not(feature = "planted"))]
#[inline(always)]
pub const fn is_in(_: Defect) -> bool {
    false
}
