//! The master room: the newest version of each segment, in wire format.
//!
//! The room knows no locks, sessions, files or clocks. A `Segment` checks whether a diff is right
//! (`check`), makes the diff the newest version (`commit`), and returns one diff from any older
//! version to the newest (`collect`). A client's cached copy in wire format is a `Segment` too
//! (`apply`).

mod block;
mod blocks;
mod cache;
mod check;
mod collect;
mod commit;
mod extent;
mod freed;
mod names;
mod pieces;
mod segment;
mod shared;
mod tuning;

pub use check::CheckedRelease;
pub use collect::Described;
pub use interweave_wire::Rejection;
pub use pieces::Piece;
pub use segment::{BlockInfo, Overhead, Segment};
pub use tuning::{Order, Tuning};
