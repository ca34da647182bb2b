//! Why a tokens file or a rules file does not parse [RULE-3].

use std::fmt;

/// Lines and columns count from 1. A column counts characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    pub line: u32,
    pub column: u32,
    /// What was found there, and what to write.
    pub text: String,
}

impl FileError {
    /// An error at the byte `at` of the line's bytes. The column is right although the line may
    /// not be UTF-8 behind `at`.
    pub(crate) fn at(line: usize, bytes: &[u8], at: usize, text: impl Into<String>) -> Self {
        let before = &bytes[..at.min(bytes.len())];
        let characters = String::from_utf8_lossy(before).chars().count();
        FileError {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(characters).map_or(u32::MAX, |before| before.saturating_add(1)),
            text: text.into(),
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FileError { line, column, text } = self;
        write!(f, "line {line}, column {column}: {text}")
    }
}

impl std::error::Error for FileError {}

/// Shows a word of the file in an error's text: whatever it has, it stays one short line, and a
/// token that stands in the wrong place is not shown [ACC-7].
pub(crate) fn shown(word: &str) -> String {
    if word.contains("iw_") {
        return "a token's text".to_string();
    }
    let mut shown: String = word.chars().take(80).flat_map(char::escape_debug).collect();
    if word.chars().nth(80).is_some() {
        shown.push_str("...");
    }
    format!("`{shown}`")
}

/// Splits a file's bytes into its lines, without their line feeds, numbered from 1.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let text = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    text.split(|&byte| byte == b'\n')
        .zip(1..)
        .map(|(line, number)| (number, line))
}

/// The error of a file whose last line is not `end`: it points behind the last line.
pub(crate) fn no_end(bytes: &[u8]) -> FileError {
    let (number, line) = lines(bytes).last().unwrap_or((1, b""));
    let text = "the file stops here without a last line `end`; if the file is whole, add `end`";
    FileError::at(number, line, line.len(), text)
}
