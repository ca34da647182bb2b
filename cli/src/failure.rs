//! Why a command did not do what was asked: one line for people, and the exit status 1.

use std::fmt;
use std::path::Path;

use interweave_wire::fields::readable;
use interweave_wire::Rejection;

use crate::colour::{self, Colour};

#[derive(Debug)]
pub struct Failure {
    text: String,
    /// The text is whole lines, shown as they are.
    already_worded: bool,
    /// A connection was lost, or the server may not serve for a moment.
    may_pass: bool,
    /// The segment that was asked for is not there.
    is_gone: bool,
}

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Failure {
            text: text.into(),
            already_worded: false,
            may_pass: false,
            is_gone: false,
        }
    }

    /// All was said already.
    pub fn silent() -> Self {
        Failure::already_worded("")
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn that_may_pass(self) -> Self {
        Failure {
            may_pass: true,
            ..self
        }
    }

    /// Whether another attempt may do better.
    pub fn may_pass(&self) -> bool {
        self.may_pass
    }

    pub fn of_what_is_gone(self) -> Self {
        Failure {
            is_gone: true,
            ..self
        }
    }

    /// Whether the segment is not there, or not any more.
    pub fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Names the file, then the error.
    pub fn at(path: &Path, error: impl fmt::Display) -> Self {
        Failure::new(format!("{}: {error}", path.display()))
    }

    pub fn already_worded(text: impl Into<String>) -> Self {
        Failure {
            already_worded: true,
            ..Failure::new(text)
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.already_worded {
            true => f.write_str(&self.text),
            // Parts of it may come from a server [FIELD-8].
            false => {
                let name = colour::err(Colour::Red, "interweave:");
                writeln!(f, "{name} {}", readable(&self.text))
            }
        }
    }
}

impl From<Rejection> for Failure {
    fn from(rejection: Rejection) -> Self {
        Failure::new(rejection.text)
    }
}
