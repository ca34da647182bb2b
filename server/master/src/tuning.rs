//! The optimisations of ICDCS'03, section 3.3, that a server can do without. Each can be turned off
//! to measure its effect.

/// How a segment does its work. Readers get the same contents under every tuning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    /// The largest size of a segment's diff cache; 0 turns the cache off.
    pub cache_bytes: usize,
    pub order: Order,
    /// Whether the block after the last one is tried before a search.
    pub prediction: bool,
}

/// In which order blocks go out, and so come to lie in a fresh copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Blocks that changed together lie together.
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
