//! The wire room: what the bytes mean. It knows no segments, locks, sockets or clocks.
//!
//! Specified by spec/protocol (the generated codecs in `protocol`) and spec/format.

pub mod build;
pub mod chain;
pub mod diff;
pub mod fields;
pub mod frame;
mod gathered;
pub mod json;
pub mod mip;
pub mod plan;
pub mod planted;
pub mod pointer;
pub mod protocol;
pub mod rare;
pub mod rejection;
pub mod segment_file;
pub mod session_hash;
mod signature;
pub mod types;
pub mod value;
pub mod value_tree;
pub mod varint;

pub use build::DiffBuilder;
pub use diff::Diff;
pub use fields::Fields;
pub use frame::{FrameDecoder, FrameEncoder, Message};
pub use gathered::Gathered;
pub use json::Json;
pub use mip::{BlockRef, Mip, Url};
pub use pointer::Pointer;
pub use rare::{Rare, Resting};
pub use rejection::Rejection;
pub use types::{Layout, Type, TypeTable};
