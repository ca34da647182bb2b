//! A check, and what it can find. Each group of checks is a table in a file of its own.

use super::subject::Subject;

/// One thing that `doctor` looks at.
pub struct Check {
    pub name: &'static str,
    pub looks_at: &'static str,
    /// Changes nothing.
    pub run: fn(&Subject) -> Finding,
}

/// Checks of one kind.
pub struct Group {
    pub name: &'static str,
    pub checks: &'static [Check],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Ok,
    /// Works, but not as well as it could.
    Note,
    Problem,
    /// There was nothing to look at.
    Skipped,
}

impl Level {
    pub fn word(self) -> &'static str {
        match self {
            Level::Ok => "ok",
            Level::Note => "note",
            Level::Problem => "problem",
            Level::Skipped => "skipped",
        }
    }
}

#[derive(Debug)]
pub struct Finding {
    pub level: Level,
    pub found: String,
    /// The advice; empty if the check has none.
    pub mend: String,
}

impl Finding {
    pub fn ok(found: impl Into<String>) -> Finding {
        Finding::of(Level::Ok, found, "")
    }

    pub fn skipped(found: impl Into<String>) -> Finding {
        Finding::of(Level::Skipped, found, "")
    }

    pub fn note(found: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding::of(Level::Note, found, mend)
    }

    pub fn problem(found: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding::of(Level::Problem, found, mend)
    }

    fn of(level: Level, found: impl Into<String>, mend: impl Into<String>) -> Finding {
        Finding {
            level,
            found: found.into(),
            mend: mend.into(),
        }
    }
}
