//! Builds diffs.
use bytes::Bytes;

#[derive(Debug, Default)]
pub struct DiffBuilder {}

impl DiffBuilder {
    pub fn new(_from: u64, _to: u64) -> Self {
        todo!()
    }
    /// All runs of one block: `body` is as `run` made it.
    pub fn change(&mut self, _serial: u64, _body: &[u8]) {
        todo!()
    }
    pub fn finish(self) -> Bytes {
        todo!()
    }
}
