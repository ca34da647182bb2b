//! Text under construction: lines at an indentation, and comments.

/// Longer lines are broken where that is easy.
const COLUMNS: usize = 100;

pub struct Text {
    out: String,
    depth: usize,
    step: &'static str,
}

impl Text {
    /// `step` is one level of indentation.
    pub fn new(step: &'static str) -> Self {
        Text {
            out: String::new(),
            depth: 0,
            step,
        }
    }

    pub fn line(&mut self, line: impl AsRef<str>) {
        let line = line.as_ref();
        if !line.is_empty() {
            self.out.push_str(&self.step.repeat(self.depth));
            self.out.push_str(line);
        }
        self.out.push('\n');
    }

    /// A line; one longer than [`COLUMNS`] is continued below before each `mark` in it.
    pub fn broken_line(&mut self, line: impl AsRef<str>, mark: &str) {
        let line = line.as_ref();
        let indent = self.step.len() * self.depth;
        if indent + line.len() <= COLUMNS {
            return self.line(line);
        }
        let mut rest = line;
        self.depth += 1;
        let mut first = true;
        while !rest.is_empty() {
            let end = rest[1..].find(mark).map_or(rest.len(), |at| at + 1);
            self.depth -= usize::from(first);
            self.line(rest[..end].trim_end());
            self.depth += usize::from(first);
            first = false;
            rest = &rest[end..];
        }
        self.depth -= 1;
    }

    pub fn lines<S: AsRef<str>>(&mut self, lines: impl IntoIterator<Item = S>) {
        lines.into_iter().for_each(|line| self.line(line));
    }

    pub fn blank(&mut self) {
        self.out.push('\n');
    }

    /// A line, what follows being one level deeper.
    pub fn open(&mut self, line: impl AsRef<str>) {
        self.line(line);
        self.depth += 1;
    }

    /// A line one level back.
    pub fn close(&mut self, line: impl AsRef<str>) {
        self.depth -= 1;
        self.line(line);
    }

    /// One level deeper where the language has no line for it.
    pub fn indent(&mut self) {
        self.depth += 1;
    }

    /// One level back where the language has no line for it.
    pub fn outdent(&mut self) {
        self.depth -= 1;
    }

    /// A comment of lines that each begin with a mark (`///`, `//`).
    pub fn comment(&mut self, mark: &str, doc: &Option<String>) {
        for line in doc.iter().flat_map(|doc| doc.lines()) {
            // A backslash at the end would carry a C comment on to the next line.
            let line = line.trim_end_matches('\\');
            self.line(format!("{mark} {line}").trim_end());
        }
    }

    /// A comment in C's first form.
    pub fn block_comment(&mut self, doc: &Option<String>) {
        self.starred_comment("/*", doc);
    }

    /// The same for tools that read comments (JSDoc, Javadoc).
    pub fn doc_comment(&mut self, doc: &Option<String>) {
        self.starred_comment("/**", doc);
    }

    fn starred_comment(&mut self, mut start: &str, doc: &Option<String>) {
        let Some(doc) = doc else {
            return;
        };
        // The marks would end or seem to begin a comment within it.
        let doc = doc.replace("*/", "* /").replace("/*", "/ *");
        let mut lines = doc.lines().map(str::trim_end).peekable();
        while let Some(line) = lines.next() {
            let end = if lines.peek().is_none() { " */" } else { "" };
            self.line(format!("{start} {line}").trim_end().to_string() + end);
            start = " *";
        }
    }

    pub fn finish(self) -> String {
        self.out
    }
}
