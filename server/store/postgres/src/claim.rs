//! A new owner claims everything [STORE-1].
//!
//! It changes the rows that appends change: those of the owners, which creations change, and those
//! of the segments. An append that is under way holds its rows until its commit has ended, so the
//! claim waits for it. A read after the claim's commit finds every record: an append under an older
//! claim finds its rows changed.

use crate::connection::Connection;
use crate::outcome;
use crate::schema::in_schema;
use crate::transaction;
use interweave_store::{Identity, StoreError};
use tokio_postgres::error::SqlState;
use tokio_postgres::Error;

/// A claim and an append that change rows in different orders may wait for each other, and the
/// database ends one of the two. So often the claim is tried again.
const TRIES: u32 = 5;

#[derive(Debug, Clone, Copy)]
pub struct Claim {
    pub epoch: u64,
    pub identity: Identity,
    /// The owner before has ended in order.
    pub is_clean: bool,
}

pub async fn claim(connection: &Connection) -> Result<Claim, StoreError> {
    let mut tried = 1;
    loop {
        let claimed = try_claim(connection).await;
        let error = match claimed {
            Ok(Ok(claim)) => return Ok(claim),
            Ok(Err(error)) => return Err(error),
            Err(error) => error,
        };
        let is_deadlock = error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED);
        if !is_deadlock || tried == TRIES {
            return Err(outcome::failed(&error));
        }
        connection.run("ROLLBACK").await?;
        tried += 1;
    }
}

async fn try_claim(connection: &Connection) -> Result<Result<Claim, StoreError>, Error> {
    let client = &connection.client;
    let sql = |statement: &str| in_schema(statement, &connection.schema);
    let notices = connection.notices.count();
    client
        .batch_execute(&transaction::begin(true, "claim"))
        .await?;
    let timeline = client
        .query_one(
            "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint",
            &[],
        )
        .await?;
    let timeline: i64 = timeline.get(0);
    let update = sql(
        "UPDATE {s}.store SET last_epoch = last_epoch + 1, timeline = greatest(timeline, $1) \
         RETURNING last_epoch, timeline, server_id, space_id",
    );
    let row = client.query_one(&update, &[&timeline]).await?;
    let newest: i64 = row.get(1);
    if timeline < newest {
        client.batch_execute("ROLLBACK").await?;
        return Ok(Err(older_timeline(timeline, newest)));
    }
    let epoch: i64 = row.get(0);
    let ended = sql("DELETE FROM {s}.owner RETURNING is_clean");
    let ended = client.query(&ended, &[]).await?;
    let is_clean = ended.iter().all(|row| row.get(0));
    let insert = sql("INSERT INTO {s}.owner VALUES ($1, $1, 0, false)");
    client.execute(&insert, &[&epoch]).await?;
    let update = sql("UPDATE {s}.segment SET epoch = $1");
    client.execute(&update, &[&epoch]).await?;
    client.batch_execute("COMMIT").await?;
    let of = |index| <[u8; 16]>::try_from(row.get::<_, &[u8]>(index)).unwrap_or_default();
    let claim = Claim {
        epoch: epoch as u64,
        identity: Identity {
            server: of(2),
            space: of(3),
        },
        is_clean,
    };
    match connection.notices.count() == notices {
        true => Ok(Ok(claim)),
        // The standby may not have the claim, nor what was committed before.
        false => Ok(Err(StoreError::Io(format!(
            "the claim of the store is not on the standby: {}; start the server again",
            connection.notices.last()
        )))),
    }
}

fn older_timeline(timeline: i64, newest: i64) -> StoreError {
    StoreError::Io(format!(
        "this database is on timeline {timeline}, and the store was on {newest}: it is an old \
         primary, or an old backup; name the new primary in --store, and bring this one back by \
         pg_rewind"
    ))
}
