//! The tokens of an .x file.

use crate::source::Span;

#[derive(Clone, Debug, PartialEq)]
pub enum Tok {
    /// Identifiers and keywords; the parser knows which words are reserved where.
    Word(String),
    Int(i128),
    /// A quoted text; only include lines and string constants have them.
    Text(String),
    Symbol(&'static str),
    /// A whole `#...` line.
    Directive,
    /// A whole `%...` line.
    PassThrough,
    /// Text that is not a token; reported only where it is not skipped.
    Bad(String),
    /// A character that no text has.
    Binary,
    End,
}

#[derive(Clone, Debug)]
pub struct Token {
    pub tok: Tok,
    pub span: Span,
    /// The comment that ends on this token's line or the line before it.
    pub doc: Option<String>,
    /// The comment that begins on the line of the token before this one, and so speaks of that.
    pub remark: Option<String>,
}

impl Token {
    pub fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.tok, Tok::Symbol(s) if s == symbol)
    }

    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.tok, Tok::Word(w) if w == word)
    }

    /// How a message names this token.
    pub fn describe(&self) -> String {
        match &self.tok {
            Tok::Word(word) => format!("`{word}`"),
            Tok::Int(value) => format!("`{value}`"),
            Tok::Text(text) => format!("\"{text}\""),
            Tok::Symbol(symbol) => format!("`{symbol}`"),
            Tok::Directive | Tok::PassThrough => "a preprocessor line".into(),
            Tok::Bad(message) => message.clone(),
            Tok::Binary => "a character that no text has".into(),
            Tok::End => "the end of the file".into(),
        }
    }
}
