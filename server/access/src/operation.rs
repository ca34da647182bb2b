//! The operations that rules allow and deny.

use std::fmt;

/// What a client wants to do. Metrics and Admin are about the server, the others about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    Read,
    Write,
    Steer,
    Create,
    Remove,
    Metrics,
    Admin,
}

impl Operation {
    pub const ALL: [Operation; 7] = [
        Operation::Read,
        Operation::Write,
        Operation::Steer,
        Operation::Create,
        Operation::Remove,
        Operation::Metrics,
        Operation::Admin,
    ];

    /// Reads the word that rules have for it.
    pub fn parse(word: &str) -> Option<Operation> {
        Operation::ALL
            .into_iter()
            .find(|operation| operation.word() == word)
    }

    /// Whether it is about the server as a whole, so that it has no path.
    pub fn is_of_server(self) -> bool {
        matches!(self, Operation::Metrics | Operation::Admin)
    }

    /// Returns the word that rules have for it.
    pub fn word(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::Steer => "steer",
            Operation::Create => "create",
            Operation::Remove => "remove",
            Operation::Metrics => "metrics",
            Operation::Admin => "admin",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}
