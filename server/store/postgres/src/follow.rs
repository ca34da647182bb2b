//! Reads segments that other servers own, before this one claims them [STORE-16].
//!
//! A copy has what the store's next reading of the segment must know; the contents are the
//! caller's. A caller that reads a copy on, or takes it, has it locked until the answer was heard.
//! So answers about one segment come in the order in which it was read.

use crate::connection::Connection;
use crate::reading;
use crate::seek::{Owner, Seeker};
use crate::segments::Segment;
use crate::tables;
use crate::waits;
use interweave_store::{Followed, StoreError};
use interweave_wire::protocol::Durability;
use std::collections::HashMap;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::Instant;
use tokio::sync::Mutex;

/// A segment that was read, and not claimed.
#[derive(Debug)]
pub struct Copy {
    pub id: u64,
    pub segment: Segment,
    /// Its releases are in the log.
    pub is_logged: bool,
}

/// A place for the copy of one segment.
pub type Place = Arc<Mutex<Option<Copy>>>;

/// The copies by the paths of their segments.
#[derive(Debug, Default)]
pub struct Copies(StdMutex<HashMap<String, Place>>);

impl Copies {
    /// Returns the place of that segment's copy.
    pub fn place(&self, path: &str) -> Place {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(all.entry(path.to_string()).or_default())
    }

    pub fn forget(&self, path: &str) -> Option<Place> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(path)
    }

    /// Takes the copy out, if there is one. Waits while it is being read on.
    pub async fn take(&self, path: &str) -> Option<Copy> {
        self.forget(path)?.lock().await.take()
    }
}

/// Reads the segment, or what came since its copy was read. After an error the copy is not to be
/// used any more.
pub async fn follow(
    connection: &Connection,
    seeker: &Seeker,
    (path, now): (&str, impl Fn() -> Instant),
    copy: &mut Option<Copy>,
) -> Result<Followed, StoreError> {
    let wait = seeker.wait(connection, waits::SHORT);
    let Some(place) = seeker.find(connection, path, now).await? else {
        return Ok(Followed::Absent);
    };
    drop(wait);
    if !matches!(place.owner, Owner::Alive(_)) {
        return Ok(Followed::Free);
    }
    let _wait = seeker.wait(connection, waits::LONG);
    connection.run(&begin()).await?;
    let followed = read(connection, place.id as u64, copy).await?;
    connection.run("COMMIT").await?;
    Ok(followed)
}

/// All that is read is of one moment. The lock comes first, because a table that is emptied later
/// would be empty for the reader, too.
fn begin() -> String {
    let names = (0..tables::COUNT).map(|table| format!("{{s}}.log_{table}"));
    let names: Vec<String> = names.collect();
    format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout TO 0; \
         LOCK TABLE {} IN ACCESS SHARE MODE",
        names.join(", ")
    )
}

async fn read(
    connection: &Connection,
    id: u64,
    copy: &mut Option<Copy>,
) -> Result<Followed, StoreError> {
    // Nothing is claimed.
    let claimed = (0, true);
    if let Some(copy) = copy.as_mut().filter(|copy| copy.id == id) {
        let before = (&copy.segment, copy.is_logged);
        let since = reading::read_since(connection, claimed, id, before).await?;
        if let Some((segment, since)) = since {
            copy.segment = segment;
            return Ok(Followed::More(Box::new(since)));
        }
    }
    let (segment, recovered) = reading::read_one(connection, claimed, id).await?;
    *copy = Some(Copy {
        id,
        segment,
        is_logged: recovered.durable != Durability::Memory,
    });
    Ok(Followed::Whole(Box::new(recovered)))
}
