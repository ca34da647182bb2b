//! Source files and places in them.
//!
//! Every token, definition and message of the compiler carries a [`Span`]; only this module turns
//! byte offsets into lines and columns. Lines and columns count from 1; a column counts characters.

use std::path::{Path, PathBuf};

/// A file of the compilation, as an index into its [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub usize);

/// A range of bytes in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub file: FileId,
    pub start: usize,
    pub end: usize,
}

impl Span {
    /// The range from the start of `self` to the end of `last` (of the same file).
    pub fn to(self, last: Span) -> Span {
        if self.file != last.file {
            return self;
        }
        Span {
            end: last.end.max(self.end),
            ..self
        }
    }

    /// The empty range just behind this one: where something was forgotten.
    pub fn after(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }
}

/// One file's path, as the user wrote it, and its text.
#[derive(Debug)]
pub struct SourceFile {
    pub path: PathBuf,
    pub text: String,
    line_starts: Vec<usize>,
}

/// All files read during one compilation.
#[derive(Debug, Default)]
pub struct SourceMap {
    files: Vec<SourceFile>,
}

/// A line and column, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

impl SourceMap {
    /// Adds a file's text; later spans refer to it by the id returned.
    pub fn add(&mut self, path: PathBuf, text: String) -> FileId {
        let mut line_starts = vec![0];
        line_starts.extend(text.match_indices('\n').map(|(at, _)| at + 1));
        self.files.push(SourceFile {
            path,
            text,
            line_starts,
        });
        FileId(self.files.len() - 1)
    }

    pub fn file(&self, id: FileId) -> &SourceFile {
        &self.files[id.0]
    }

    pub fn path(&self, id: FileId) -> &Path {
        &self.files[id.0].path
    }
}

impl SourceFile {
    /// The line and column of a byte offset.
    pub fn line_column(&self, offset: usize) -> LineColumn {
        let line = self.line_starts.partition_point(|&start| start <= offset);
        let start = self.line_starts[line - 1];
        let upto = self.text.get(start..offset).unwrap_or("");
        LineColumn {
            line,
            column: upto.chars().count() + 1,
        }
    }

    /// The text of a line, without its end.
    pub fn line(&self, line: usize) -> &str {
        let start = self.line_starts[line - 1];
        let end = self
            .line_starts
            .get(line)
            .map_or(self.text.len(), |&next| next - 1);
        self.text[start..end].trim_end_matches('\r')
    }
}
