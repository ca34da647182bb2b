//! The parser of diffs.
use bytes::Bytes;

use crate::rejection::Rejection;

/// A diff whose sections are found; what is in them is checked as it is read.
#[derive(Debug, Clone)]
pub struct Diff {
    pub from: u64,
    pub to: u64,
    pub metadata_only: bool,
}

impl Diff {
    pub fn parse(_bytes: &Bytes) -> Result<Diff, Rejection> {
        todo!()
    }
}
