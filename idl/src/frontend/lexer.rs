//! Characters to tokens.
//!
//! Lines whose first character is `%`, and lines that begin with `#` after blanks, become one token
//! each. Comments are no tokens: they are kept with the token they speak of, because backends carry
//! them over as documentation.

use super::token::{Tok, Token};
use crate::source::{FileId, Span};

/// Longest first, so that `<<` is not read as two `<`.
const SYMBOLS: [&str; 30] = [
    "<<", ">>", "&&", "||", "==", "!=", "<=", ">=", "::", "{", "}", "(", ")", "[", "]", "<", ">",
    "=", ",", ";", ":", "*", "-", "+", "!", "/", "%", "&", "|", "~",
];

pub struct Lexer<'a> {
    text: &'a str,
    file: FileId,
    at: usize,
    end: usize,
    /// Only blanks so far on this line.
    line_is_blank: bool,
    comments: Comments,
    /// Where a comment began that has no end.
    unclosed: Option<usize>,
}

/// Comments met since the last token.
#[derive(Default)]
struct Comments {
    /// Adjacent comments so far, with the offset behind the last.
    doc: Option<(String, usize)>,
    remark: Option<String>,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str, file: FileId) -> Self {
        Lexer {
            text,
            file,
            at: 0,
            end: text.len(),
            line_is_blank: true,
            comments: Comments::default(),
            unclosed: None,
        }
    }

    /// Reads only a range of the file: what follows a directive's first character.
    pub fn part(text: &'a str, span: Span) -> Self {
        Lexer {
            text,
            file: span.file,
            at: span.start,
            end: span.end,
            line_is_blank: false,
            comments: Comments::default(),
            unclosed: None,
        }
    }

    /// The next token; `Tok::End` for ever at the end.
    pub fn next_token(&mut self) -> Token {
        self.skip_blanks_and_comments();
        if let Some(start) = self.unclosed.take() {
            return Token {
                tok: Tok::Bad("this comment has no end".into()),
                span: self.span(start, start + 2),
                doc: None,
                remark: None,
            };
        }
        let start = self.at;
        let tok = self.scan();
        let doc = self.comments.doc.take();
        let doc = doc.filter(|&(_, end)| self.newlines_between(end, start) <= 1);
        self.line_is_blank = matches!(tok, Tok::Directive | Tok::PassThrough);
        Token {
            tok,
            span: self.span(start, self.at),
            doc: doc.map(|(text, _)| text),
            remark: self.comments.remark.take(),
        }
    }

    fn scan(&mut self) -> Tok {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Tok::End;
        };
        if first == '#' && self.line_is_blank {
            self.skip_line();
            return Tok::Directive;
        }
        if first == '%' && self.line_is_blank && self.at_line_start() {
            self.skip_line();
            return Tok::PassThrough;
        }
        if first.is_ascii_alphabetic() || first == '_' {
            let word = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
            return Tok::Word(word);
        }
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '"' || first == '\'' {
            return self.quoted(first);
        }
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.at += symbol.len();
            return Tok::Symbol(symbol);
        }
        self.at += first.len_utf8();
        if is_binary(first) {
            return Tok::Binary;
        }
        Tok::Bad(format!("unexpected character `{first}`"))
    }

    fn number(&mut self) -> Tok {
        let text = self.take_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.');
        // C's suffixes mean nothing here: every constant is as wide as it must be.
        let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
        let lower = digits.to_ascii_lowercase();
        let value = if let Some(hex) = lower.strip_prefix("0x") {
            i128::from_str_radix(hex, 16)
        } else if lower.len() > 1 && lower.starts_with('0') {
            i128::from_str_radix(&lower[1..], 8)
        } else {
            lower.parse()
        };
        match value {
            Ok(value) if value <= u64::MAX as i128 => Tok::Int(value),
            Ok(_) => Tok::Bad(format!("`{text}` does not fit in 64 bits")),
            Err(_) => Tok::Bad(format!("`{text}` is not an integer constant")),
        }
    }

    /// `"text"`, or `'c'`, which is the character's number.
    fn quoted(&mut self, quote: char) -> Tok {
        self.at += 1;
        let mut escaped = false;
        let inner = self.take_while(|c| {
            let ends = (c == quote && !escaped) || c == '\n';
            escaped = c == '\\' && !escaped && quote == '"';
            !ends
        });
        if !self.rest().starts_with(quote) {
            return Tok::Bad("a quoted text does not end on its line".into());
        }
        self.at += 1;
        if quote == '"' {
            return Tok::Text(inner);
        }
        let mut characters = inner.chars();
        match (characters.next(), characters.next()) {
            (Some(c), None) if c.is_ascii() => Tok::Int(c as i128),
            _ => Tok::Bad(format!("'{inner}' is not one ASCII character")),
        }
    }

    fn skip_blanks_and_comments(&mut self) {
        loop {
            let rest = self.rest();
            if rest.starts_with("/*") {
                let end = rest.find("*/").map(|end| end + 2);
                if end.is_none() {
                    self.unclosed = Some(self.at);
                }
                self.comment(end.unwrap_or(rest.len()));
            } else if rest.starts_with("//") {
                self.comment(rest.find('\n').unwrap_or(rest.len()));
            } else if rest.starts_with("\\\n") || rest.starts_with("\\\r\n") {
                self.at += rest.find('\n').map_or(1, |end| end + 1);
            } else if let Some(c) = rest.chars().next().filter(|c| c.is_whitespace()) {
                self.line_is_blank |= c == '\n';
                self.at += c.len_utf8();
            } else {
                return;
            }
        }
    }

    /// Takes the comment of `length` bytes that begins here.
    fn comment(&mut self, length: usize) {
        let start = self.at;
        let text = clean_comment(&self.text[start..start + length]);
        self.at += length;
        if !self.line_is_blank && self.comments.doc.is_none() && start > 0 {
            self.comments.remark.get_or_insert(text);
            return;
        }
        let joined = match self.comments.doc.take() {
            Some((before, end)) if self.newlines_between(end, start) <= 1 => {
                format!("{before}\n{text}")
            }
            _ => text,
        };
        self.comments.doc = Some((joined, self.at));
    }

    fn take_while(&mut self, mut keep: impl FnMut(char) -> bool) -> String {
        let rest = self.rest();
        let length = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += length;
        rest[..length].to_string()
    }

    /// Skips to the end of the line; a backslash at its end, or a comment, carries
    /// it over the next.
    fn skip_line(&mut self) {
        while let Some(c) = self.rest().chars().next() {
            let rest = self.rest();
            if rest.starts_with("\\\n") || rest.starts_with("\\\r\n") {
                self.at += rest.find('\n').map_or(rest.len(), |end| end + 1);
            } else if rest.starts_with("/*") {
                self.at += rest.find("*/").map_or(rest.len(), |end| end + 2);
            } else if c == '\n' {
                return;
            } else {
                self.at += c.len_utf8();
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..self.end]
    }

    fn at_line_start(&self) -> bool {
        self.at == 0 || self.text.as_bytes()[self.at - 1] == b'\n'
    }

    fn newlines_between(&self, from: usize, to: usize) -> usize {
        self.text[from..to].matches('\n').count()
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span {
            file: self.file,
            start,
            end,
        }
    }
}

/// A control character, or a byte that was not UTF-8 and was replaced: texts have neither.
fn is_binary(c: char) -> bool {
    c.is_control() || c == char::REPLACEMENT_CHARACTER
}

/// A comment's words without its marks and the stars down its left side. A lone carriage return
/// would end a line in some languages, so it and its like become blanks.
fn clean_comment(raw: &str) -> String {
    let plain = |c: char| if c.is_control() && c != '\n' { ' ' } else { c };
    let raw: &str = &raw.chars().map(plain).collect::<String>();
    if let Some(line) = raw.strip_prefix("//") {
        return line.trim_start_matches('/').trim().to_string();
    }
    let inner = raw.strip_prefix("/*").unwrap_or(raw);
    let inner = inner.strip_suffix("*/").unwrap_or(inner);
    let lines: Vec<&str> = inner.lines().map(strip_star).collect();
    let first = lines.iter().position(|line| !line.is_empty());
    let last = lines.iter().rposition(|line| !line.is_empty());
    match (first, last) {
        (Some(first), Some(last)) => lines[first..=last].join("\n"),
        _ => String::new(),
    }
}

fn strip_star(line: &str) -> &str {
    let line = line.trim();
    let line = line.trim_start_matches('*');
    line.strip_prefix(' ')
        .unwrap_or(line)
        .trim_end_matches('*')
        .trim_end()
}
