//! Why bytes or a request are refused: the code for programs, the text for people [ERR-1].

use std::fmt;

use crate::protocol::xdr::XdrError;
use crate::protocol::{ErrorCode, ErrorReply, MAX_ERROR_TEXT};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub code: ErrorCode,
    pub text: String,
}

impl Rejection {
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Rejection {
            code,
            text: text.into(),
        }
    }

    pub fn malformed(text: impl Into<String>) -> Self {
        Self::new(ErrorCode::Malformed, text)
    }

    /// The reply that tells a peer; its text is cut to the protocol's bound.
    pub fn reply(&self) -> ErrorReply {
        let bound = MAX_ERROR_TEXT as usize;
        let mut end = self.text.len().min(bound);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        ErrorReply {
            code: self.code,
            text: self.text[..end].to_string(),
            fields: Vec::new(),
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text, self.code.name())
    }
}

impl std::error::Error for Rejection {}

impl From<XdrError> for Rejection {
    fn from(error: XdrError) -> Self {
        Rejection::malformed(error.to_string())
    }
}
