//! The identities of sessions [ACC-1].

use std::fmt;
use std::sync::Arc;

/// To whom a session belongs. Its text is the word that rules have for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The client showed nothing.
    Anyone,
    /// The client showed a token of that name.
    Name(Arc<str>),
    /// The client showed a certificate whose subject has that common name.
    Certificate(Arc<str>),
    /// The client is a process of that user, by what the system says of a Unix socket.
    User(u32),
}

/// What the server knows of a connection's peer before HELLO.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peer {
    /// The common name of the certificate that the peer has shown.
    pub certificate: Option<Arc<str>>,
    /// The user of the peer's process.
    pub user: Option<u32>,
}

impl Peer {
    /// Returns whose the peer's sessions are if it shows no token.
    pub fn identity(&self) -> Identity {
        match (&self.certificate, self.user) {
            (Some(name), _) => Identity::Certificate(name.clone()),
            (None, Some(user)) => Identity::User(user),
            (None, None) => Identity::Anyone,
        }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::Anyone => write!(f, "anyone"),
            Identity::Name(name) => write!(f, "{name}"),
            Identity::Certificate(name) => write!(f, "cert:{name}"),
            Identity::User(user) => write!(f, "uid:{user}"),
        }
    }
}
