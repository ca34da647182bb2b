//! JSON as the command line writes and reads it (RFC 8259). Numbers stay text, so that 64-bit
//! integers lose nothing.

use std::fmt;

use crate::protocol::ErrorCode;
use crate::rejection::Rejection;

const MAX_DEPTH: u32 = 128;

#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    /// As it was written.
    Number(String),
    String(String),
    Array(Vec<Json>),
    /// In order; a name may occur twice.
    Object(Vec<(String, Json)>),
}

impl Json {
    pub fn number(value: impl fmt::Display) -> Json {
        Json::Number(value.to_string())
    }

    pub fn string(text: impl Into<String>) -> Json {
        Json::String(text.into())
    }

    /// An object's member.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The one value that the text is.
    pub fn parse(text: &str) -> Result<Json, Rejection> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        match parser.at == text.len() {
            true => Ok(value),
            false => parser.wrong("the end"),
        }
    }

    /// On several lines; what fits on one of 80 columns stays on it.
    pub fn pretty(&self) -> String {
        let mut out = String::new();
        self.put_pretty(0, &mut out);
        out
    }

    fn put_pretty(&self, indent: usize, out: &mut String) {
        let line = self.to_string();
        let nested = match self {
            Json::Array(items) => items.len(),
            Json::Object(members) => members.len(),
            _ => 0,
        };
        if nested == 0 || line.len() + indent <= 80 {
            out.push_str(&line);
            return;
        }
        let pad = " ".repeat(indent + 2);
        let (open, close) = match self {
            Json::Array(_) => ('[', ']'),
            _ => ('{', '}'),
        };
        out.push(open);
        for index in 0..nested {
            out.push_str(if index > 0 { ",\n" } else { "\n" });
            out.push_str(&pad);
            match self {
                Json::Array(items) => items[index].put_pretty(indent + 2, out),
                Json::Object(members) => {
                    out.push_str(&Json::String(members[index].0.clone()).to_string());
                    out.push_str(": ");
                    members[index].1.put_pretty(indent + 2, out);
                }
                _ => (),
            }
        }
        out.push('\n');
        out.push_str(&pad[2..]);
        out.push(close);
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(text) => f.write_str(text),
            Json::String(text) => write_string(text, f),
            Json::Array(items) => {
                f.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    write!(f, "{item}")?;
                }
                f.write_str("]")
            }
            Json::Object(members) => {
                f.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    f.write_str(if index > 0 { ", " } else { "" })?;
                    write_string(name, f)?;
                    write!(f, ": {value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_string(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\t' => f.write_str("\\t")?,
            '\r' => f.write_str("\\r")?,
            // C1 controls too: terminals obey them.
            c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
            c => write!(f, "{c}")?,
        }
    }
    f.write_str("\"")
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn wrong<T>(&self, wanted: &str) -> Result<T, Rejection> {
        let text = format!("not JSON: {wanted} was expected at byte {}", self.at);
        Err(Rejection::new(ErrorCode::BadArgument, text))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn space(&mut self) {
        let trimmed = self.rest().trim_start_matches([' ', '\t', '\n', '\r']);
        self.at = self.text.len() - trimmed.len();
    }

    fn accept(&mut self, wanted: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(wanted);
        self.at += if found { wanted.len() } else { 0 };
        found
    }

    fn value(&mut self, depth: u32) -> Result<Json, Rejection> {
        if depth > MAX_DEPTH {
            return self.wrong("less nesting");
        }
        self.space();
        match self.rest().chars().next() {
            Some('{') => self.object(depth),
            Some('[') => self.array(depth),
            Some('"') => Ok(Json::String(self.string()?)),
            Some('-' | '0'..='9') => self.number(),
            _ if self.accept("null") => Ok(Json::Null),
            _ if self.accept("true") => Ok(Json::Bool(true)),
            _ if self.accept("false") => Ok(Json::Bool(false)),
            _ => self.wrong("a value"),
        }
    }

    fn array(&mut self, depth: u32) -> Result<Json, Rejection> {
        self.at += 1;
        let mut items = Vec::new();
        if self.accept("]") {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            if self.accept("]") {
                return Ok(Json::Array(items));
            }
            if !self.accept(",") {
                return self.wrong("`,` or `]`");
            }
        }
    }

    fn object(&mut self, depth: u32) -> Result<Json, Rejection> {
        self.at += 1;
        let mut members = Vec::new();
        if self.accept("}") {
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            let name = self.string()?;
            if !self.accept(":") {
                return self.wrong("`:`");
            }
            members.push((name, self.value(depth + 1)?));
            if self.accept("}") {
                return Ok(Json::Object(members));
            }
            if !self.accept(",") {
                return self.wrong("`,` or `}`");
            }
        }
    }

    fn digits(&mut self) -> usize {
        let rest = self.rest();
        let count = rest.bytes().take_while(u8::is_ascii_digit).count();
        self.at += count;
        count
    }

    fn number(&mut self) -> Result<Json, Rejection> {
        let begin = self.at;
        if self.rest().starts_with('-') {
            self.at += 1;
        }
        let zero = self.rest().starts_with('0');
        let whole = self.digits();
        if whole == 0 || zero && whole > 1 {
            return self.wrong("a number");
        }
        if self.rest().starts_with('.') {
            self.at += 1;
            if self.digits() == 0 {
                return self.wrong("a digit");
            }
        }
        if self.rest().starts_with(['e', 'E']) {
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return self.wrong("a digit");
            }
        }
        Ok(Json::Number(self.text[begin..self.at].to_string()))
    }

    fn string(&mut self) -> Result<String, Rejection> {
        if !self.rest().starts_with('"') {
            return self.wrong("a string");
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let Some(c) = self.rest().chars().next() else {
                return self.wrong("`\"`");
            };
            match c {
                '"' => {
                    self.at += 1;
                    return Ok(out);
                }
                '\\' => out.push(self.escape()?),
                c if u32::from(c) < 0x20 => return self.wrong("an escape"),
                c => {
                    out.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, Rejection> {
        self.at += 1;
        let kind = self.rest().bytes().next().unwrap_or(0);
        let plain = match kind {
            b'"' | b'\\' | b'/' => kind as char,
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return self.wrong("an escape"),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char, Rejection> {
        let first = self.hex()?;
        let code = if (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u") {
            self.at += 1;
            let second = self.hex()?;
            if !(0xdc00..0xe000).contains(&second) {
                return self.wrong("the second half of a pair");
            }
            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
        } else {
            first
        };
        char::from_u32(code).map_or_else(|| self.wrong("a character"), Ok)
    }

    /// `uXXXX`
    fn hex(&mut self) -> Result<u32, Rejection> {
        let digits = self.rest().get(1..5).unwrap_or("");
        let all = digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(code) if all => {
                self.at += 5;
                Ok(code)
            }
            _ => self.wrong("four hex digits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = r#"{"a": [1, -2.5e+3, true, null], "b\"\\\n\u0007": {"é😀": []}}"#;
        let value = Json::parse(text).unwrap();
        assert_eq!(value.to_string(), text);
        assert_eq!(Json::parse(&value.pretty()).unwrap(), value);
        assert_eq!(
            value.get("a").unwrap().to_string(),
            "[1, -2.5e+3, true, null]"
        );
        assert_eq!(
            Json::parse(r#""\ud83d\ude00\u00e9\/""#).unwrap(),
            Json::string("😀é/")
        );
    }

    #[test]
    fn long_values_are_broken_into_lines() {
        let items = (0..40).map(Json::number).collect();
        let object = Json::Object(vec![("numbers".into(), Json::Array(items))]);
        assert!(object.pretty().lines().all(|line| line.len() <= 80));
        assert_eq!(Json::parse(&object.pretty()).unwrap(), object);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            "",
            "{",
            "[1,]",
            "{\"a\"}",
            "{\"a\":1,}",
            "01",
            "1.",
            "-",
            "1e",
            "\"",
            "\"\\x\"",
            "\"\\u12\"",
            "\"\\ud800\"",
            "\"\n\"",
            "nul",
            "1 2",
            "+1",
            "'a'",
            "\"\\u+123\"",
            &deep,
        ] {
            assert!(Json::parse(text).is_err(), "{text:.20}");
        }
    }
}
