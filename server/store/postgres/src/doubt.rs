//! Whether a commit that was to wait for the standby has done so.
//!
//! PostgreSQL reports a commit as done that waited for nobody: with a warning if somebody has
//! cancelled the wait, and without any word if `synchronous_standby_names` was emptied before the
//! commit or during its wait. So the setting is asked for after the commit's answer. A session
//! takes a setting over before its next statement, and its signal is sent before the one that ends
//! the waits.
//!
//! A setting that is there again need not be in effect yet: PostgreSQL's checkpointer puts it into
//! effect, and may be busy. So for a while after a session has taken settings over, each commit
//! also waits until the standbys say that they have it.

use crate::connection::Connection;
use crate::outcome;
use crate::standbys::{copies_wanted, IS_STANDBY};
use interweave_store::{NowFn, StoreError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow};

/// The names, when this session took its settings over, and an end of the log with the commit.
const SETTINGS: &str = "SELECT current_setting('synchronous_standby_names'), pg_conf_load_time(), \
                        pg_current_wal_flush_lsn()";
const UNSEEN: &str =
    "this role may not see the standbys any more; run `GRANT pg_read_all_stats TO` it";
const NOBODY: &str = "synchronous_standby_names was emptied, so that commits wait for no standby \
                      any more; name one again";
/// The checkpointer has put settings into effect after this time. It looks at them between the
/// pages of a checkpoint, but not while it waits for the disk.
const UNSETTLED: Duration = Duration::from_secs(300);
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Why nobody knows whether the standby has a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doubt {
    /// No standby is named any more.
    Alone,
    /// The role has no right to see what the standbys have.
    Unseen,
    /// PostgreSQL's words, or why it could not be asked.
    Said(String),
}

impl Doubt {
    /// The error of a commit. `text`: what is not known.
    pub fn error(&self, text: &str) -> StoreError {
        match self {
            Doubt::Alone => StoreError::Alone(format!("{text}: {NOBODY}")),
            Doubt::Unseen => StoreError::Alone(format!("{text}: {UNSEEN}")),
            Doubt::Said(why) => StoreError::Io(format!("{text}: {why}")),
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Doubt::Alone => NOBODY,
            Doubt::Unseen => UNSEEN,
            Doubt::Said(why) => why,
        }
    }

    fn of(error: &tokio_postgres::Error) -> Doubt {
        Doubt::Said(outcome::text_of(error))
    }
}

/// When a session took its settings over, and since when that is known. Threads share it.
#[derive(Default)]
pub struct Reloads {
    /// None: of a session that does not last, all settings are new.
    clock: Option<NowFn>,
    last: Mutex<Option<(String, Instant)>>,
}

impl Reloads {
    pub fn by(clock: &NowFn) -> Reloads {
        Reloads {
            clock: Some(Arc::clone(clock)),
            last: Mutex::default(),
        }
    }

    /// Returns whether the checkpointer may not have put the settings into effect yet.
    fn are_recent(&self, loaded: &str) -> bool {
        let Some(clock) = &self.clock else {
            return true;
        };
        let now = clock();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.as_ref().is_none_or(|(known, _)| known != loaded) {
            *last = Some((loaded.to_string(), now));
        }
        let since = last.as_ref().map_or(now, |(_, since)| *since);
        now.saturating_duration_since(since) < UNSETTLED
    }
}

/// What a session said after a commit.
pub enum Look {
    /// The standby has it.
    NoDoubt,
    /// It has it once its log reaches that far.
    Until(String),
    Doubt(Doubt),
}

/// Looks after a commit was answered. `notices`: how many there were before the transaction. None:
/// the standby has the commit.
pub async fn look(connection: &Connection, notices: u64) -> Option<Doubt> {
    ask(connection, notices).await.doubt(connection).await
}

/// Begins a look. Sent together with the commit, it looks after it, too.
pub async fn ask(connection: &Connection, notices: u64) -> Look {
    let settings = match connection.wants_standby {
        true => connection.client.simple_query(SETTINGS).await.map(Some),
        false => Ok(None),
    };
    if let Some(notice) = connection.notices.since(notices) {
        return Look::Doubt(Doubt::Said(format!("PostgreSQL: {notice}")));
    }
    match settings {
        Ok(Some(rows)) => look_at(connection, first(&rows)),
        Ok(None) => Look::NoDoubt,
        Err(error) => Look::Doubt(Doubt::of(&error)),
    }
}

fn look_at(connection: &Connection, settings: Option<&SimpleQueryRow>) -> Look {
    let text = |at: usize| settings.and_then(|row| row.get(at)).unwrap_or_default();
    if copies_wanted(text(0)) == 0 {
        return Look::Doubt(Doubt::Alone);
    }
    match connection.reloads.are_recent(text(1)) {
        true => Look::Until(text(2).to_string()),
        false => Look::NoDoubt,
    }
}

impl Look {
    /// Ends the look at a commit that has succeeded.
    pub async fn doubt(self, connection: &Connection) -> Option<Doubt> {
        match self {
            Look::NoDoubt => None,
            Look::Doubt(doubt) => Some(doubt),
            Look::Until(end) => wait_for_copies(connection, &end).await,
        }
    }
}

/// Waits until as many standbys have the log as the setting wants, as a commit does that waits.
async fn wait_for_copies(connection: &Connection, end: &str) -> Option<Doubt> {
    let copies = format!(
        "SELECT current_setting('synchronous_standby_names'), \
           count(*) FILTER (WHERE {IS_STANDBY} AND flush_lsn >= '{end}'), \
           count(*) FILTER (WHERE sync_state IS NULL) FROM pg_stat_replication"
    );
    let mut pause = FIRST_PAUSE;
    loop {
        let rows = match connection.client.simple_query(&copies).await {
            Ok(rows) => rows,
            Err(error) => return Some(Doubt::of(&error)),
        };
        let text = |at: usize| first(&rows).and_then(|row| row.get(at)).unwrap_or_default();
        let wanted = copies_wanted(text(0));
        if wanted == 0 {
            return Some(Doubt::Alone);
        }
        let count = |at: usize| text(at).parse().unwrap_or(0);
        if count(1) >= wanted {
            return None;
        }
        if count(2) > 0 {
            return Some(Doubt::Unseen);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn first(messages: &[SimpleQueryMessage]) -> Option<&SimpleQueryRow> {
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn settings_are_recent_for_a_while_after_a_session_took_them_over() {
        let (begin, passed_ms) = (Instant::now(), Arc::new(AtomicU64::new(0)));
        let of_clock = Arc::clone(&passed_ms);
        let clock: NowFn =
            Arc::new(move || begin + Duration::from_millis(of_clock.load(Ordering::Relaxed)));
        let (reloads, unsettled_ms) = (Reloads::by(&clock), UNSETTLED.as_millis() as u64);
        let are_recent = |loaded: &str, ms: u64| {
            passed_ms.store(ms, Ordering::Relaxed);
            reloads.are_recent(loaded)
        };
        assert!(are_recent("one", 0), "a new session");
        assert!(are_recent("one", unsettled_ms - 1));
        assert!(!are_recent("one", unsettled_ms));
        assert!(are_recent("two", unsettled_ms));
        assert!(are_recent("two", 2 * unsettled_ms - 1));
        assert!(!are_recent("two", 2 * unsettled_ms));
    }
}
