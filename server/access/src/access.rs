//! Who is let in, and what an identity may do.

use crate::{Identity, Operation, Peer};

/// What the tokens file and the rules file say, as long as both are as they are.
#[derive(Debug, Default)]
pub struct Access {}

/// The identity that a session got at HELLO, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub identity: Identity,
    /// The ID of the token that the client showed.
    pub token: Option<[u8; 6]>,
}

/// Why a client is not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotLetIn {
    /// The client showed a token that is not valid [ACC-2].
    NotValid,
    /// The client showed nothing, and this server lets nobody do anything [ACC-3] [ACC-4].
    ShowedNothing,
}

/// Whether an operation is allowed, and the rule that says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    pub is_allowed: bool,
    /// The line of the rule. None: no rule matches, or there is no rules file.
    pub line: Option<u32>,
}

impl Access {
    /// Everybody may do everything.
    pub fn open() -> Self {
        Access::default()
    }

    /// Whether there is neither a tokens file nor a rules file.
    pub fn is_open(&self) -> bool {
        true
    }

    /// Decides whose a session is. `token`: "" for none.
    pub fn login(&self, _token: &str, peer: &Peer) -> Result<Login, NotLetIn> {
        Ok(Login {
            identity: peer.identity(),
            token: None,
        })
    }

    /// Whether a session that got this login still has it.
    pub fn still_lets_in(&self, _login: &Login) -> bool {
        true
    }

    /// Decides one operation on one segment. `path` is "" for Metrics and Admin.
    pub fn decide(&self, _identity: &Identity, _operation: Operation, _path: &str) -> Decision {
        Decision {
            is_allowed: true,
            line: None,
        }
    }
}
