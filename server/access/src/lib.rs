//! Who may do what at a server: identities, tokens and rules, as spec/access.md has them.
//!
//! This room knows no connection, no clock and no file: texts come in, decisions go out. An
//! [`Access`] does not change. The server replaces it by another one when a file changed or a token
//! expired.

mod access;
mod file_error;
mod identity;
mod limits;
mod operation;
pub mod own_token;
mod rules;
mod tokens;

pub use access::{Access, Decision, Login, NotLetIn};
pub use file_error::FileError;
pub use identity::{is_name, Identity, Peer};
pub use limits::{Limit, LimitName, Limits};
pub use operation::Operation;
pub use rules::{Rules, MAX_RULES_FILE_BYTES};
pub use tokens::{to_hex, TokenLine, Tokens, MAX_TOKENS_FILE_BYTES};
