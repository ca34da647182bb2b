//! The identities of sessions [ACC-1].

use crate::Login;
use std::fmt;
use std::net::SocketAddr;
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
    /// Where the peer is, for people. None: on a Unix socket, or unknown.
    pub address: Option<SocketAddr>,
    /// The login of the request by which a WebSocket began: it was let in with a token [ACC-9].
    pub login: Option<Login>,
}

/// Words of the files' grammar; a name that is one of them would be misread.
const NOT_NAMES: [&str; 5] = ["anyone", "group", "allow", "deny", "end"];

/// Whether a token or a group may have that name.
pub fn is_name(word: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&word.len())
        && word.as_bytes()[0].is_ascii_alphanumeric()
        && word.bytes().all(is_good)
        && !NOT_NAMES.contains(&word)
}

/// Reads a number as the files have it: decimal digits without leading zeros.
pub(crate) fn number(word: &str) -> Option<u64> {
    let is_good = word == "0" || !word.starts_with('0') && word.bytes().all(|b| b.is_ascii_digit());
    is_good.then(|| word.parse().ok()).flatten()
}

impl Identity {
    /// Reads the word that rules have for an identity.
    pub fn parse(word: &str) -> Option<Identity> {
        if word == "anyone" {
            return Some(Identity::Anyone);
        }
        if let Some(name) = word.strip_prefix("cert:") {
            return (!name.is_empty()).then(|| Identity::Certificate(name.into()));
        }
        if let Some(user) = word.strip_prefix("uid:") {
            let user = number(user).and_then(|user| u32::try_from(user).ok());
            return user.map(Identity::User);
        }
        is_name(word).then(|| Identity::Name(word.into()))
    }
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

#[cfg(test)]
mod tests;
