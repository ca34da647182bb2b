//! JSON as the command line writes and reads it (RFC 8259): serde_json's values, in one line with a
//! blank behind `,` and `:`. 64-bit integers lose nothing; members keep their order.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::protocol::ErrorCode;
use crate::rejection::Rejection;

pub use serde_json::Value as Json;

/// Parses a text that is one value.
pub fn parse(text: &str) -> Result<Json, Rejection> {
    serde_json::from_str(text).map_err(|why| {
        let text = format!("that is not JSON: {why}");
        Rejection::new(ErrorCode::BadArgument, text)
    })
}

/// The value in one line.
pub fn line(value: &Json) -> String {
    let mut out = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut out, Spaced))
        .expect("a tree of values is written to memory");
    String::from_utf8(out).expect("JSON is text")
}

/// Compact, but with a blank between items.
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    /// The shortest text, without a `+` before the exponent.
    fn write_f64<W: ?Sized + io::Write>(&mut self, to: &mut W, value: f64) -> io::Result<()> {
        write!(to, "{value:?}")
    }

    /// DEL and the C1 controls, which JSON allows and terminals obey, are escaped like the others.
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        to: &mut W,
        text: &str,
    ) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(char::is_control) {
            let (plain, control) = rest.split_at(at);
            to.write_all(plain.as_bytes())?;
            let mut behind = control.chars();
            let code = behind.next().map_or(0, u32::from);
            write!(to, "\\u{code:04x}")?;
            rest = behind.as_str();
        }
        to.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            r#"{"z": [1, -2.5, true, null], "b\"\\\n\u0007": {"é😀": []}, "a": {}}"#,
            "[18446744073709551615, -9223372036854775808, 0.1, 5e-324, 1.7976931348623157e308]",
        ] {
            assert_eq!(line(&parse(text).unwrap()), text);
        }
        assert_eq!(parse(r#""\ud83d\ude00\u00e9\/""#).unwrap(), "😀é/");
    }

    #[test]
    fn no_terminal_is_given_a_control() {
        let value = Json::from("a\u{9b}31m\u{7f}b\u{1b}");
        assert_eq!(line(&value), r#""a\u009b31m\u007fb\u001b""#);
        assert_eq!(parse(&line(&value)).unwrap(), value);
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        let refused = parse("{bad").unwrap_err();
        assert!(
            refused.text.ends_with("line 1 column 2"),
            "{}",
            refused.text
        );
        let deep = "[".repeat(100_000);
        for text in ["", "[1,]", "01", "1 2", "\"\\ud800\"", "nul", &deep] {
            assert!(parse(text).is_err(), "{text:.20}");
        }
    }
}
