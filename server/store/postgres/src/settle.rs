//! Settle decides where segments end [STORE-11].
//!
//! It claims the segments anew, under an epoch of its own: an append that is still on its way under
//! the claim before finds its rows changed. Its commit waits for the standby. Since the log of the
//! database is one sequence, the standby then has everything that is read here.

use crate::connection::Connection;
use crate::doubt;
use crate::members;
use crate::outcome;
use crate::segments::Tail;
use crate::transaction::{self, Owner};
use interweave_store::StoreError;
use std::collections::{HashMap, HashSet};
use tokio_postgres::{Error, Row};

const COLUMNS: &str = "id, head, crc, version, incarnation, serials_below, is_removed";

/// The segments as the database says that they are.
#[derive(Debug, Default)]
pub struct Settled {
    /// The owner's new claim. None: another owner has claimed everything.
    pub claim: Option<u64>,
    /// The ends of those that are this owner's. Others in `foreign` are another owner's, and all
    /// others do not exist.
    pub tails: HashMap<u64, Tail>,
    pub foreign: HashSet<u64>,
}

/// Settles the segments. After an error the connection is to be closed.
pub async fn settle(
    connection: &Connection,
    owner: Owner,
    segments: &[u64],
) -> Result<Settled, StoreError> {
    let notices = connection.notices.count();
    let unknown = |error: Error| StoreError::Unknown(outcome::text_of(&error));
    let settled = in_transaction(connection, owner, segments).await;
    let settled = settled.map_err(unknown)?;
    if settled.claim.is_none() {
        // Nothing has changed.
        return Ok(settled);
    }
    match doubt::look(connection, notices).await {
        None => Ok(settled),
        Some(doubt) => Err(StoreError::Unknown(doubt.text().to_string())),
    }
}

async fn in_transaction(
    connection: &Connection,
    owner: Owner,
    segments: &[u64],
) -> Result<Settled, Error> {
    let client = &connection.client;
    let sql = |statement: &str| connection.sql(statement);
    client.batch_execute(&transaction::begin(true)).await?;
    // A server that finds this one over takes its row first, too.
    client
        .query(&sql(members::HOLD), &[&(owner.epoch as i64)])
        .await?;
    let next = sql("UPDATE {s}.store SET last_epoch = last_epoch + 1 RETURNING last_epoch");
    let claim: i64 = client.query_one(&next, &[]).await?.get(0);
    let renew = sql("UPDATE {s}.owner SET claim = $1 WHERE epoch = $2");
    let renewed = client
        .execute(&renew, &[&claim, &(owner.epoch as i64)])
        .await?;
    if renewed == 0 {
        client.batch_execute("ROLLBACK").await?;
        return Ok(Settled::default());
    }
    let ids: Vec<i64> = segments.iter().map(|&id| id as i64).collect();
    let take = sql(&format!(
        "UPDATE {{s}}.segment SET epoch = $1 WHERE id = ANY($2) AND owner = $3 \
         RETURNING {COLUMNS}"
    ));
    let taken = client
        .query(&take, &[&claim, &ids, &(owner.epoch as i64)])
        .await?;
    let others = sql("SELECT id FROM {s}.segment WHERE id = ANY($1) AND epoch <> $2");
    let others = client.query(&others, &[&ids, &claim]).await?;
    client.batch_execute("COMMIT").await?;
    Ok(Settled {
        claim: Some(claim as u64),
        tails: taken.iter().map(|row| (id_of(row), tail_of(row))).collect(),
        foreign: others.iter().map(id_of).collect(),
    })
}

/// Rows that were not as the owner knows them, as they are.
#[derive(Debug, Default)]
pub struct Seen {
    pub is_owner: bool,
    /// The claim and the head of each segment that is there.
    pub segments: HashMap<u64, (u64, u64)>,
}

/// Looks at the rows that a batch was to change.
pub async fn look(
    connection: &Connection,
    owner: Owner,
    segments: &[u64],
) -> Result<Seen, StoreError> {
    let select = "SELECT 1 FROM {s}.owner WHERE epoch = $1";
    let found = connection.rows(select, &[&(owner.epoch as i64)]).await?;
    let ids: Vec<i64> = segments.iter().map(|&id| id as i64).collect();
    let select = "SELECT id, epoch, head FROM {s}.segment WHERE id = ANY($1)";
    let rows = connection.rows(select, &[&ids]).await?;
    let of = |row: &Row| (row.get::<_, i64>(1) as u64, row.get::<_, i64>(2) as u64);
    Ok(Seen {
        is_owner: !found.is_empty(),
        segments: rows.iter().map(|row| (id_of(row), of(row))).collect(),
    })
}

fn id_of(row: &Row) -> u64 {
    row.get::<_, i64>(0) as u64
}

/// The end that a row with these columns says: id, head, crc, version, incarnation, serials_below,
/// is_removed.
pub fn tail_of(row: &Row) -> Tail {
    let number = |index| row.get::<_, i64>(index) as u64;
    Tail {
        head: number(1),
        crc: row.get::<_, i32>(2) as u32,
        version: number(3),
        incarnation: number(4),
        serials_below: number(5),
        is_removed: row.get(6),
    }
}
