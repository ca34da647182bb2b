//! A new owner claims everything [STORE-1].
//!
//! It changes the rows that appends change: those of the owners, which creations change, and those
//! of the segments. An append that is under way holds its rows until its commit has ended, so the
//! claim waits for it. A read after the claim's commit finds every record: an append under an older
//! claim finds its rows changed.

use crate::checks;
use crate::connection::Connection;
use crate::doubt;
use crate::outcome;
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
    pub timeline: i64,
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
    let sql = |statement: &str| connection.sql(statement);
    let notices = connection.notices.count();
    client.batch_execute(&transaction::begin(true)).await?;
    // In the order of members::HOLD.
    let hold = sql("SELECT 1 FROM {s}.owner ORDER BY epoch FOR UPDATE");
    client.query(&hold, &[]).await?;
    let next = match take_epoch(connection).await? {
        Ok(next) => next,
        Err(error) => {
            client.batch_execute("ROLLBACK").await?;
            return Ok(Err(error));
        }
    };
    let epoch = next.epoch as i64;
    let ended = sql("DELETE FROM {s}.owner RETURNING is_clean");
    let ended = client.query(&ended, &[]).await?;
    let is_clean = ended.iter().all(|row| row.get(0));
    let insert =
        sql("INSERT INTO {s}.owner (epoch, claim, creations, is_clean) VALUES ($1, $1, 0, false)");
    client.execute(&insert, &[&epoch]).await?;
    let update = sql("UPDATE {s}.segment SET epoch = $1, owner = $1");
    client.execute(&update, &[&epoch]).await?;
    client.batch_execute("COMMIT").await?;
    let claim = Claim { is_clean, ..next };
    Ok(match doubt::look(connection, notices).await {
        None => Ok(claim),
        // The standby may not have the claim, nor what was committed before.
        Some(doubt) => {
            Err(doubt
                .error("the claim of the store may not be on the standby; start the server again"))
        }
    })
}

/// Takes the next epoch, in the caller's transaction. Refuses a database that is older than what
/// the store has seen.
pub async fn next_epoch(connection: &Connection) -> Result<Claim, StoreError> {
    let taken = take_epoch(connection).await;
    taken.map_err(|error| outcome::failed(&error))?
}

async fn take_epoch(connection: &Connection) -> Result<Result<Claim, StoreError>, Error> {
    let client = &connection.client;
    let timeline: i64 = client.query_one(checks::TIMELINE, &[]).await?.get(0);
    let update = connection.sql(
        "UPDATE {s}.store SET last_epoch = last_epoch + 1, timeline = greatest(timeline, $1) \
         RETURNING last_epoch, timeline, server_id, space_id",
    );
    let row = client.query_one(&update, &[&timeline]).await?;
    if let Err(error) = checks::refuse_older(timeline, row.get(1)) {
        return Ok(Err(error));
    }
    let of = |index| <[u8; 16]>::try_from(row.get::<_, &[u8]>(index)).unwrap_or_default();
    Ok(Ok(Claim {
        epoch: row.get::<_, i64>(0) as u64,
        identity: Identity {
            server: of(2),
            space: of(3),
        },
        is_clean: true,
        timeline,
    }))
}
