//! The optimisations of ICDCS'03, section 3.3, that a server can do without: each can be turned off
//! to measure what it brings.

/// How a segment does its work. What readers end with is the same under any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// What the diff cache of a segment holds at most; 0: there is none.
    pub cache_bytes: usize,
    pub order: Order,
    /// Whether the block after the last one is tried before a search.
    pub prediction: bool,
}

/// In which order blocks go out, and so come to lie in a fresh copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// What was changed together lies together.
    Version,
    Serial,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning {
            cache_bytes: 16 << 20,
            order: Order::Version,
            prediction: true,
        }
    }
}
