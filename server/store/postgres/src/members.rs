//! The servers that share the store: how one joins, and finds another one over (spec/space.md).
//!
//! Each server has a row with a counter, and raises it (renewals.rs). No clock of the database
//! counts: whoever finds the same counter a whole lease after it has seen it, by its own clock, may
//! take the other one's segments.

use crate::claim::{self, Claim};
use crate::connection::Connection;
use crate::doubt;
use crate::transaction;
use interweave_store::{Elsewhere, StoreError, Watch};
use std::time::{Duration, Instant};
use tokio_postgres::Row;

/// This server as the others are told of it [SPACE-1].
#[derive(Debug, Clone)]
pub struct Member {
    pub at: Elsewhere,
    pub lease: Duration,
}

const JOIN: &str = "
INSERT INTO {s}.owner (epoch, claim, creations, is_clean, address, tls_name, lease_ms)
VALUES ($1, $1, 0, false, $2, $3, $4)";

/// A server that shares with nobody has no address.
const ALONE: &str = "SELECT epoch FROM {s}.owner WHERE address IS NULL AND NOT is_clean";

/// The other servers, as a renewal sees them.
pub const OTHERS: &str = "
SELECT epoch, counter, lease_ms, address, tls_name, is_drained FROM {s}.owner
WHERE address IS NOT NULL AND NOT is_clean AND epoch <> $1 ORDER BY epoch";

/// Joins those that share the store. Claims nothing.
pub async fn join(connection: &Connection, member: &Member) -> Result<Claim, StoreError> {
    let notices = connection.notices.count();
    let joined = try_to_join(connection, member).await;
    if joined.is_err() {
        // The connection is not used any more where this fails, too.
        let _ = connection.run("ROLLBACK").await;
        return joined;
    }
    match doubt::look(connection, notices).await {
        None => joined,
        Some(doubt) => {
            Err(doubt
                .error("it is not known whether the server has joined the store; start it again"))
        }
    }
}

async fn try_to_join(connection: &Connection, member: &Member) -> Result<Claim, StoreError> {
    connection.run(&transaction::begin(true)).await?;
    let claim = claim::next_epoch(connection).await?;
    if !connection.rows(ALONE, &[]).await?.is_empty() {
        return Err(StoreError::Io(
            "the store has an owner that shares it with nobody: stop that server in order, or \
             start it with --advertise; if it has crashed, start it once more and stop it"
                .to_string(),
        ));
    }
    let lease_ms = member.lease.as_millis() as i64;
    let (address, tls_name) = (&member.at.address, &member.at.tls_name);
    connection
        .execute(JOIN, &[&(claim.epoch as i64), address, tls_name, &lease_ms])
        .await?;
    connection.run("COMMIT").await?;
    Ok(claim)
}

/// The same, but for earlier starts of this server, which clients must not be sent to.
const OTHER_ADDRESSES: &str = "
SELECT epoch, counter, lease_ms, address, tls_name, is_drained FROM {s}.owner
WHERE address IS NOT NULL AND NOT is_clean AND epoch <> $1
  AND address IS DISTINCT FROM (SELECT address FROM {s}.owner WHERE epoch = $1) ORDER BY epoch";

/// The other servers that are not over and were not drained, as clients reach them [SPACE-24].
pub async fn others(
    connection: &Connection,
    epoch: u64,
    watch: &Watch,
    now: impl Fn() -> Instant,
) -> Result<Vec<Elsewhere>, StoreError> {
    let asked = now();
    let rows = connection.rows(OTHER_ADDRESSES, &[&(epoch as i64)]).await?;
    let look = (asked, now());
    let mut others = Vec::new();
    for row in rows {
        let (epoch, counter, lease) = seen_in(&row, 0);
        let is_over = watch.saw((epoch, counter), lease, look);
        let is_drained: bool = row.get(5);
        if !is_over && !is_drained {
            others.push(elsewhere_in(&row, 3));
        }
    }
    Ok(others)
}

/// Address and TLS name, in columns from that one on.
pub fn elsewhere_in(row: &Row, first: usize) -> Elsewhere {
    Elsewhere {
        address: row.get(first),
        tls_name: row.get(first + 1),
    }
}

/// Epoch, counter and lease, in columns from that one on.
pub fn seen_in(row: &Row, first: usize) -> (i64, i64, Duration) {
    let lease_ms: i64 = row.get(first + 2);
    let lease = Duration::from_millis(lease_ms.try_into().unwrap_or(0));
    (row.get(first), row.get(first + 1), lease)
}

/// Ends the ownership of a server that is over, unless it has renewed its lease since [SPACE-4].
/// Runs in the caller's transaction. False: it has.
pub async fn end(connection: &Connection, epoch: i64, counter: i64) -> Result<bool, StoreError> {
    let end = "DELETE FROM {s}.owner WHERE epoch = $1 AND counter = $2 AND NOT is_clean";
    if connection.execute(end, &[&epoch, &counter]).await? == 1 {
        return Ok(true);
    }
    let is_there = "SELECT 1 FROM {s}.owner WHERE epoch = $1 AND NOT is_clean";
    Ok(connection.rows(is_there, &[&epoch]).await?.is_empty())
}

/// Holds a server's row until the end of the transaction. Its renewals pass meanwhile.
///
/// A transaction takes the rows of owners before the row of the store, and that before those of
/// segments. Otherwise two of them could wait for each other.
pub const HOLD: &str = "SELECT 1 FROM {s}.owner WHERE epoch = $1 AND NOT is_clean FOR KEY SHARE";

/// Holds this server's row until the end of the caller's transaction, so that nobody finds it over
/// meanwhile.
pub async fn hold(connection: &Connection, epoch: u64) -> Result<(), StoreError> {
    match connection.rows(HOLD, &[&(epoch as i64)]).await?.is_empty() {
        false => Ok(()),
        true => Err(StoreError::Fenced(
            "it has found this server over".to_string(),
        )),
    }
}
