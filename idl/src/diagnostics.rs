//! What the compiler says about a wrong file.
//!
//! A message is one line `FILE:LINE:COL: error: text`, the source line with the place underlined,
//! and, where one is known, a hint that says what to do. Errors are collected so that one run shows
//! several; [`MAX_ERRORS`] keeps a hopeless file from flooding the terminal. Warnings look the same
//! and fail nothing. Control characters of a file never reach the terminal.

use crate::source::{SourceMap, Span};
use std::fmt;

/// Errors kept from one run.
pub const MAX_ERRORS: usize = 20;
/// Of a longer line only a part is shown.
const MAX_SHOWN: usize = 160;

/// One message, with its place unless it concerns no file.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub message: String,
    pub span: Option<Span>,
    pub hint: Option<String>,
    /// Another place that belongs to the matter, such as the first of two definitions.
    pub related: Option<Box<(Span, String)>>,
}

impl Diagnostic {
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        Diagnostic {
            message: message.into(),
            span: Some(span),
            hint: None,
            related: None,
        }
    }

    /// A message about the whole run rather than about a place in a file.
    pub fn global(message: impl Into<String>) -> Self {
        Diagnostic {
            message: message.into(),
            span: None,
            hint: None,
            related: None,
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn hint_if(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    pub fn related(mut self, span: Span, message: impl Into<String>) -> Self {
        self.related = Some(Box::new((span, message.into())));
        self
    }
}

/// The errors and warnings collected so far.
#[derive(Debug, Default)]
pub struct Report {
    errors: Vec<Diagnostic>,
    warnings: Vec<Diagnostic>,
    dropped: usize,
}

impl Report {
    /// Adds an error; a second one at the same place is a consequence of the first and left out.
    pub fn error(&mut self, error: Diagnostic) {
        let same_place = |e: &Diagnostic| e.span.is_some() && e.span == error.span;
        if self.errors.iter().any(same_place) {
            return;
        }
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        } else {
            self.dropped += 1;
        }
    }

    pub fn warn(&mut self, warning: Diagnostic) {
        self.warnings.push(warning);
    }

    /// Adds another report's errors behind these.
    pub fn append(&mut self, other: Report) {
        self.warnings.extend(other.warnings);
        self.dropped += other.dropped;
        other.errors.into_iter().for_each(|error| self.error(error));
    }

    /// No errors; there may be warnings.
    pub fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }
}

/// What a compilation says: its errors and warnings, and the sources that they point into.
/// `Display` renders them.
#[derive(Debug)]
pub struct Diagnostics {
    sources: SourceMap,
    report: Report,
}

impl Diagnostics {
    pub fn new(sources: SourceMap, mut report: Report) -> Self {
        let place = |e: &Diagnostic| e.span.map(|span| (span.file, span.start));
        report.errors.sort_by_key(place);
        Diagnostics { sources, report }
    }

    /// The messages, in the order of their places.
    pub fn errors(&self) -> &[Diagnostic] {
        &self.report.errors
    }

    /// The warnings, in the order in which they were found.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.report.warnings
    }

    fn write_one(&self, f: &mut fmt::Formatter<'_>, kind: &str, error: &Diagnostic) -> fmt::Result {
        let message: String = error.message.chars().map(plain).collect();
        match error.span {
            Some(span) => self.write_at(f, span, kind, &message)?,
            None => writeln!(f, "{kind}: {message}")?,
        }
        if let Some(related) = &error.related {
            self.write_at(f, related.0, "note", &related.1)?;
        }
        match &error.hint {
            Some(hint) => writeln!(f, "  hint: {hint}"),
            None => Ok(()),
        }
    }

    /// `FILE:LINE:COL: kind: message`, then the line and carets under the range.
    fn write_at(
        &self,
        f: &mut fmt::Formatter<'_>,
        span: Span,
        kind: &str,
        message: &str,
    ) -> fmt::Result {
        let file = self.sources.file(span.file);
        let from = file.line_column(span.start);
        let path = file.path.display();
        writeln!(f, "{path}:{}:{}: {kind}: {message}", from.line, from.column)?;

        let line = file.line(from.line);
        let number = from.line.to_string();
        // Tabs are kept in the margin so that the carets stand under the text
        // whatever a tab's width.
        let hidden = hidden_before(line, from.column - 1);
        let margin: String = line
            .chars()
            .take(from.column - 1)
            .skip(hidden)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let length = file.text.get(span.start..span.end).unwrap_or("");
        let length = length.lines().next().unwrap_or("").chars().count().max(1);
        let room = (hidden + MAX_SHOWN).saturating_sub(from.column - 1);
        let line: String = line
            .chars()
            .skip(hidden)
            .take(MAX_SHOWN)
            .map(plain)
            .collect();
        writeln!(f, "  {number} | {line}")?;
        writeln!(
            f,
            "  {} | {margin}{}",
            " ".repeat(number.len()),
            "^".repeat(length.min(room))
        )
    }
}

/// How many of a line's characters are not shown, so that the one at `at` is.
fn hidden_before(line: &str, at: usize) -> usize {
    match line.chars().count() > MAX_SHOWN {
        true => at.saturating_sub(MAX_SHOWN / 2),
        false => 0,
    }
}

/// As it may be shown: what terminals obey is not, and keeps its place.
fn plain(c: char) -> char {
    match c {
        '\t' => c,
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for warning in &self.report.warnings {
            self.write_one(f, "warning", warning)?;
        }
        for error in &self.report.errors {
            self.write_one(f, "error", error)?;
        }
        match self.report.dropped {
            0 => Ok(()),
            more => writeln!(f, "error: {more} more errors are not shown"),
        }
    }
}

impl std::error::Error for Diagnostics {}
