//! The end of a transaction, read from the answers of the server, and from those that are missing.

use interweave_store::StoreError;
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_postgres::Error;

#[derive(Debug)]
pub enum Outcome {
    Kept,
    /// The transaction was rolled back.
    Refused(StoreError),
    /// It was rolled back because a row was not as the owner knows it.
    NotAsKnown,
    /// It was rolled back because a segment of a path that it creates is there.
    PathTaken,
    /// It was rolled back because it and another waited for each other.
    Deadlock,
    Unknown(String),
}

/// The error of the server, if it says that the statement had no effect and the session lives. A
/// FATAL error may have come after a commit.
fn definite(error: &Error) -> Option<&DbError> {
    let error = error.as_db_error()?;
    let is_error = match error.parsed_severity() {
        Some(severity) => severity == Severity::Error,
        None => error.severity() == "ERROR",
    };
    is_error.then_some(error)
}

impl Outcome {
    /// The outcome of a transaction of which a statement, or the commit, failed. `was_committing`:
    /// the commit was sent.
    pub fn of(error: &Error, was_committing: bool) -> Outcome {
        let Some(said) = definite(error) else {
            return match was_committing {
                true => Outcome::Unknown(text_of(error)),
                false => Outcome::Refused(failed(error)),
            };
        };
        if *said.code() == SqlState::DIVISION_BY_ZERO {
            Outcome::NotAsKnown
        } else if said.constraint() == Some("creation_path") {
            Outcome::PathTaken
        } else if *said.code() == SqlState::T_R_DEADLOCK_DETECTED {
            Outcome::Deadlock
        } else {
            Outcome::Refused(failed(error))
        }
    }
}

/// The error as the store says it. The statement had no effect, or only read.
pub fn failed(error: &Error) -> StoreError {
    let text = text_of(error);
    match error.code() {
        Some(&SqlState::DISK_FULL) => StoreError::Full(text),
        Some(code) if !says_away(code) => StoreError::Io(text),
        // Without the server's words, nobody has answered.
        _ => StoreError::Away(text),
    }
}

/// Whether the server does not serve this store now: it ends, begins, takes no further connection,
/// lets the role not in, lacks the store's tables or the role's rights there, became a standby, or
/// somebody or something else has ended the statement or its transaction.
fn says_away(code: &SqlState) -> bool {
    let of_class = ["08", "25", "28", "3D", "3F", "40", "55", "57"];
    let is_of_class = of_class.iter().any(|class| code.code().starts_with(class));
    let others = [
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::INSUFFICIENT_PRIVILEGE,
        SqlState::UNDEFINED_TABLE,
    ];
    is_of_class || others.contains(code)
}

/// The server's words, with its hint; of another error all of its causes.
pub fn text_of(error: &Error) -> String {
    if let Some(said) = error.as_db_error() {
        let hint = said.hint().map(|hint| format!(" ({hint})"));
        return format!(
            "PostgreSQL: {}{} [{}]",
            said.message(),
            hint.unwrap_or_default(),
            said.code().code()
        );
    }
    let mut text = format!("PostgreSQL: {error}");
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// The damage of a segment of which the database lacks records that it had.
pub fn gone(id: u64, schema: &str) -> StoreError {
    StoreError::Damaged {
        file: format!("the log of segment {id} in {schema}"),
        offset: 0,
        what: "records written before are gone: PostgreSQL has lost commits that did not wait for \
               its disk; start the server again"
            .to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_is_not_served_is_told_from_a_disk_that_fails() {
        for code in [
            "08006", "28P01", "3D000", "3F000", "42501", "42P01", "57P03", "53300", "25006",
            "57014", "25P02", "40P01", "55P03",
        ] {
            assert!(says_away(&SqlState::from_code(code)), "{code}");
        }
        for code in ["53100", "53200", "58030", "XX001", "42601"] {
            assert!(!says_away(&SqlState::from_code(code)), "{code}");
        }
    }
}
