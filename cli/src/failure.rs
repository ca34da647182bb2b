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
}

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Failure {
            text: text.into(),
            already_worded: false,
        }
    }

    /// All was said already.
    pub fn silent() -> Self {
        Failure::already_worded("")
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Names the file, then the error.
    pub fn at(path: &Path, error: impl fmt::Display) -> Self {
        Failure::new(format!("{}: {error}", path.display()))
    }

    pub fn already_worded(text: impl Into<String>) -> Self {
        Failure {
            text: text.into(),
            already_worded: true,
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
