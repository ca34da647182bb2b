//! The master room: the newest version of each segment, in wire format.

pub mod segment;

pub use interweave_wire::Rejection;
pub use segment::{BlockInfo, CheckedRelease, Described, Overhead, Segment};
