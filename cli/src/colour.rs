//! Colours of what commands print: on terminals, unless NO_COLOR is set; `--color` decides
//! otherwise.

use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On terminals, unless NO_COLOR is set
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Bold,
    Dim,
    Reversed,
}

static CHOSEN: OnceLock<When> = OnceLock::new();

/// Called once, with what the command line says.
pub fn choose(when: When) {
    // A second call would change colours in the middle of the output.
    let _ = CHOSEN.set(when);
}

/// A text for standard output.
pub fn out(colour: Colour, text: &str) -> String {
    painted(colour, text, is_on(std::io::stdout().is_terminal()))
}

/// A text for standard error.
pub fn err(colour: Colour, text: &str) -> String {
    painted(colour, text, is_on(std::io::stderr().is_terminal()))
}

fn is_on(is_terminal: bool) -> bool {
    let wish = CHOSEN.get().copied().unwrap_or(When::Auto);
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    decided(wish, is_terminal, no_color || dumb)
}

fn decided(wish: When, is_terminal: bool, is_unwanted: bool) -> bool {
    match wish {
        When::Auto => is_terminal && !is_unwanted,
        When::Always => true,
        When::Never => false,
    }
}

pub fn painted(colour: Colour, text: &str, is_on: bool) -> String {
    let code = match colour {
        Colour::Red => "31",
        Colour::Green => "32",
        Colour::Yellow => "33",
        Colour::Bold => "1",
        Colour::Dim => "2",
        Colour::Reversed => "7",
    };
    match is_on {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_goes_before_the_environment_and_that_before_the_terminal() {
        assert!(decided(When::Always, false, true));
        assert!(!decided(When::Never, true, false));
        assert!(decided(When::Auto, true, false));
        assert!(!decided(When::Auto, true, true));
        assert!(!decided(When::Auto, false, false));
    }
}
