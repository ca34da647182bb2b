//! The wire room: what the bytes mean. It knows no segment, no lock, no socket and no clock.
//!
//! Specified by spec/protocol (the generated codecs in `protocol`) and spec/format.

pub mod protocol;
