//! How durable a segment is, in the words of the command line.

use clap::ValueEnum;
use interweave_wire::protocol::Durability;

/// The durability that somebody asks for.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Asked {
    /// Releases are on the disk when they are acknowledged, and survive a loss of power
    Synced,
    /// Releases are handed to the operating system, and survive the end of the server's process
    Written,
    /// Releases are in the server's memory, and on the disk after a checkpoint or a clean stop
    Memory,
}

impl From<Asked> for Durability {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Synced => Durability::Synced,
            Asked::Written => Durability::Written,
            Asked::Memory => Durability::Memory,
        }
    }
}

/// The durability to make a copy with. A source in memory says little about a copy, because a
/// server without a disk keeps every segment in memory. Without a wish such a copy is synced.
pub fn of_copy(asked: Option<Asked>, source: Durability) -> Durability {
    match (asked, source) {
        (Some(asked), _) => asked.into(),
        (None, Durability::Memory) => Durability::Synced,
        (None, kept) => kept,
    }
}
