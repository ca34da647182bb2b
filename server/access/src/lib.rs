//! Who may do what at a server: identities, tokens and rules, as spec/access.md has them.
//!
//! This room knows no connection, no clock and no file: texts come in, decisions go out. An
//! [`Access`] does not change. The server replaces it by another one when a file changed or a token
//! expired.

mod access;
mod identity;
mod operation;
pub mod own_token;

pub use access::{Access, Decision, Login, NotLetIn};
pub use identity::{Identity, Peer};
pub use operation::Operation;
