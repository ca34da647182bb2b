//! URLs and MIPs as text: spec/format/mip.md. Pure text; whether anything exists is not asked here.

use crate::rejection::Rejection;

pub const DEFAULT_PORT: u16 = 7747;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// The host in lower case, an IPv6 address without its brackets.
    Tcp { host: String, port: u16 },
    Unix { file: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Url {
    pub server: Address,
    /// Begins with '/'.
    pub path: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BlockRef {
    Serial(u64),
    Name(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mip {
    pub url: Url,
    /// None: the segment itself.
    pub block: Option<BlockRef>,
    pub offset: u64,
}

impl Url {
    pub fn parse(_text: &str) -> Result<Url, Rejection> {
        todo!()
    }
}

impl Mip {
    pub fn parse(_text: &str) -> Result<Mip, Rejection> {
        todo!()
    }
}

/// [SEG-4]
pub fn is_block_name(_name: &str) -> bool {
    todo!()
}

/// '/' first, no '#', no control characters, at most MAX_PATH bytes.
pub fn is_path(_path: &str) -> bool {
    todo!()
}
