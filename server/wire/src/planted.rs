//! Defects that are put in on purpose, one at a time, to test the simulator's checkers
//! ([sim](../../../sim/README.md#planted-defects)). Without the feature `planted`, which no release
//! build can have, there are none.

#[cfg(all(feature = "planted", not(debug_assertions)))]
compile_error!("planted defects are for the simulator alone: make/sim.sh builds with them");

/// A planted defect.
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
    /// Leases are counted by a clock that people set.
    LeaseByWallClock,
    /// The time in which the server stood still counts as the silence of others.
    SilenceWhileStopped,
    /// A lease that is renewed does not end with the hold time.
    RenewedForEver,
    /// Nobody looks whether the lease of a lock is over.
    LeaseNotWatched,
    /// A writer is granted the lock while others read strictly.
    StrictForgotten,
    /// A grant is left with its client although others wait.
    KeptFromOthers,
    /// A kept grant whose client is gone ends only with the next grant [LOCK-16].
    AbandonedStays,
    /// A file is synced again after a sync that failed, and its bytes are not written again.
    SyncedAgain,
    /// A group is said to have failed that may still be found.
    FailedTooEarly,
    /// A release on its way to the log is said to be rolled back.
    ResolvedTooEarly,
    /// A session continues over a new connection, and messages on the older one still count.
    OlderConnectionStays,
    /// Releases that are only in the log are not remembered after a start.
    ForgottenAtStart,
    /// A copy is told apart by the number of its version alone.
    HistoryByNumber,
    /// A copy takes an update in that begins at another version.
    DiffOutOfOrder,
    /// An update to an earlier version is given for one to the newest.
    StaleDiff,
    /// The log's second witness of its end is not asked.
    WitnessIgnored,
    /// Segments are made although a damaged one has lost its name.
    NamelessForgotten,
    /// Nobody looks whether another server owns the store.
    OwnerUnchecked,
    /// A store that another process has locked is opened.
    LockIgnored,
    /// More is pushed to a client than it said it would buffer.
    CreditIgnored,
    /// Under Delta a copy may lack one version more.
    DeltaTooOld,
    /// Under Diff the units of a new version are not counted.
    UnitsUncounted,
    /// A checkpoint is not brought to the disk before the log is cut.
    UnsyncedCheckpoint,
    /// A removal is acknowledged before it is on the disk.
    RemovalUnsynced,
    /// An update leaves out what changed in its first version.
    ChangesMissed,
    /// Nobody counts the requests of a connection that wait for their answers.
    UnansweredUncounted,
    /// No connection is closed although too much waits to be sent.
    SlowestKept,
    /// An append does not compare its claim with the database's row.
    ClaimNotCompared,
    /// An append reads its claim, and changes the row later without a look.
    ClaimReadBefore,
    /// A commit whose wait for the standby was cancelled is taken for done.
    WarningBelieved,
    /// A claim does not wait for the standby, nor for what it has read.
    ClaimUnreplicated,
    /// A lease is renewed at a primary that has no standby.
    RenewalUnreplicated,
    /// A server serves on although its standing has ended.
    StandingKept,
    /// A server is found over after half of its lease.
    OverTooSoon,
    /// Whoever takes a segment over forgets the last releases of sessions.
    TakeoverForgets,
    /// A client that is sent on does not look which space it is in.
    SpaceIdIgnored,
    /// A client is sent on to the server that it asks.
    SentInCircles,
    /// A renewal raises the counter by one, whatever others have seen of it.
    CounterRepeated,
    /// A server of a space makes a segment that a crash of the database may lose.
    CreationUnsynced,
    /// A server of a space confirms copies of a segment that the store is asked to remove.
    ConfirmedWhileRemoved,
    /// A lock whose lease has ended is granted to nobody.
    LockStaysTaken,
    /// A segment is given away by a server that does not look whether it is still its owner.
    GivenUncompared,
    /// A segment is given away although records of it are gone.
    GivenBehind,
    /// A segment is given away while a release of it is on its way to the store.
    GivenAmidRelease,
    /// A server that does not know whether it has given a segment away serves it on.
    GivenInDoubt,
    /// A server confirms copies of a segment that it gives away.
    ConfirmedWhileGiven,
    /// A segment that was given begins another incarnation, as if versions were lost.
    GivenBeginsAnew,
    /// A segment in memory is given away as it was saved some time before.
    GivenUnsaved,
    /// A server claims a segment, and continues its copy of another incarnation.
    CopyOfOtherIncarnation,
    /// A server claims a segment that it has made while the segment was to be followed.
    FollowedAndMade,
    /// A server that was drained claims segments.
    DrainForgotten,
    /// Requests that waited for a claim do not wait for a gift that is asked for before them.
    GivenOverWaiting,
}

impl Defect {
    pub const ALL: [Defect; 62] = [
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
        Defect::LeaseByWallClock,
        Defect::SilenceWhileStopped,
        Defect::RenewedForEver,
        Defect::LeaseNotWatched,
        Defect::StrictForgotten,
        Defect::KeptFromOthers,
        Defect::AbandonedStays,
        Defect::SyncedAgain,
        Defect::FailedTooEarly,
        Defect::ResolvedTooEarly,
        Defect::OlderConnectionStays,
        Defect::ForgottenAtStart,
        Defect::HistoryByNumber,
        Defect::DiffOutOfOrder,
        Defect::StaleDiff,
        Defect::WitnessIgnored,
        Defect::NamelessForgotten,
        Defect::OwnerUnchecked,
        Defect::LockIgnored,
        Defect::CreditIgnored,
        Defect::DeltaTooOld,
        Defect::UnitsUncounted,
        Defect::UnsyncedCheckpoint,
        Defect::RemovalUnsynced,
        Defect::ChangesMissed,
        Defect::UnansweredUncounted,
        Defect::SlowestKept,
        Defect::ClaimNotCompared,
        Defect::ClaimReadBefore,
        Defect::WarningBelieved,
        Defect::ClaimUnreplicated,
        Defect::RenewalUnreplicated,
        Defect::StandingKept,
        Defect::OverTooSoon,
        Defect::TakeoverForgets,
        Defect::SpaceIdIgnored,
        Defect::SentInCircles,
        Defect::CounterRepeated,
        Defect::CreationUnsynced,
        Defect::ConfirmedWhileRemoved,
        Defect::LockStaysTaken,
        Defect::GivenUncompared,
        Defect::GivenBehind,
        Defect::GivenAmidRelease,
        Defect::GivenInDoubt,
        Defect::ConfirmedWhileGiven,
        Defect::GivenBeginsAnew,
        Defect::GivenUnsaved,
        Defect::CopyOfOtherIncarnation,
        Defect::FollowedAndMade,
        Defect::DrainForgotten,
        Defect::GivenOverWaiting,
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
