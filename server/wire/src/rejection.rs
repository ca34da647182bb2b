//! Why bytes or a request are refused: the code for programs, the text for people [ERR-1].

use std::fmt;

use crate::protocol::xdr::XdrError;
use crate::protocol::{ErrorCode, ErrorReply, HeaderField, MAX_ERROR_TEXT};

#[derive(Debug, Clone, PartialEq)]
pub struct Rejection {
    pub code: ErrorCode,
    pub text: String,
    /// The header field of the reply, as FIELD_REDIRECT.
    pub field: Option<Box<HeaderField>>,
}

impl Rejection {
    pub fn new(code: ErrorCode, text: impl Into<String>) -> Self {
        Rejection {
            code,
            text: text.into(),
            field: None,
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
            fields: self
                .field
                .iter()
                .map(|field| HeaderField::clone(field))
                .collect(),
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
