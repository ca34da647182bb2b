//! Whether a commit that was to wait for the standby has done so.
//!
//! PostgreSQL reports a commit as done that waited for nobody: with a warning if somebody has
//! cancelled the wait, and without any word if `synchronous_standby_names` was emptied before the
//! commit or during its wait. So the setting is asked for after the commit's answer. A session
//! takes a setting over before its next statement, and its signal is sent before the one that ends
//! the waits.

use crate::connection::Connection;
use crate::outcome;
use interweave_store::StoreError;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

const NAMES: &str = "SHOW synchronous_standby_names";
const NOBODY: &str = "synchronous_standby_names was emptied, so that commits wait for no standby \
                      any more; name one again";

/// Why nobody knows whether the standby has a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// No standby is named any more.
    Alone,
    /// PostgreSQL's words, or why it could not be asked.
    Said(String),
}

impl Doubt {
    /// The error of a commit. `text`: what is not known.
    pub fn error(&self, text: &str) -> StoreError {
        match self {
            Doubt::Alone => StoreError::Alone(format!("{text}: {NOBODY}")),
            Doubt::Said(why) => StoreError::Io(format!("{text}: {why}")),
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Doubt::Alone => NOBODY,
            Doubt::Said(why) => why,
        }
    }
}

/// Looks after a commit was answered. `notices`: how many there were before the transaction. None:
/// the standby has the commit. Sent together with the commit, it looks after it, too.
pub async fn look(connection: &Connection, notices: u64) -> Option<Doubt> {
    let names = match connection.wants_standby {
        true => connection.client.simple_query(NAMES).await.map(Some),
        false => Ok(None),
    };
    if let Some(notice) = connection.notices.since(notices) {
        return Some(Doubt::Said(format!("PostgreSQL: {notice}")));
    }
    match names {
        Ok(Some(rows)) if !rows.iter().any(names_somebody) => Some(Doubt::Alone),
        Ok(_) => None,
        Err(error) => Some(Doubt::Said(outcome::text_of(&error))),
    }
}

fn names_somebody(message: &SimpleQueryMessage) -> bool {
    let names = |row: &SimpleQueryRow| row.get(0).is_some_and(|names| !names.trim().is_empty());
    matches!(message, SimpleQueryMessage::Row(row) if names(row))
}
