//! Gives a segment to another server that shares the store [STORE-17].
//!
//! It changes the segment's row, as appends and claims do, so none of them passes another one. It
//! holds the rows of both servers: a server that finds one of them over does so before it, and it
//! changes nothing, or after it. Then the segment is claimed as one of a server that is over.

use crate::claim;
use crate::connection::Connection;
use crate::members;
use crate::transaction;
use interweave_store::{Given, StoreError};

const MEMBER: &str = "
SELECT address, tls_name, is_drained FROM {s}.owner
WHERE epoch = $1 AND address IS NOT NULL AND NOT is_clean FOR KEY SHARE";

const GIVE: &str = "
UPDATE {s}.segment SET epoch = $1, owner = $2 WHERE id = $3 AND epoch = $4 AND NOT is_removed";

/// Gives the segment with that id and claim, of the server of that epoch, to the member. An error:
/// the outcome is not known.
pub async fn give(
    connection: &Connection,
    epoch: u64,
    (id, claim): (u64, u64),
    member: u64,
) -> Result<Given, StoreError> {
    let notices = connection.notices.count();
    let given = try_to_give(connection, epoch, (id, claim), member).await?;
    if matches!(given, Given::Not(_)) {
        connection.run("ROLLBACK").await?;
    }
    match connection.notices.since(notices) {
        None => Ok(given),
        Some(notice) => Err(StoreError::Io(format!(
            "it is not known whether the standby knows to whom segment {id} was given: {notice}"
        ))),
    }
}

async fn try_to_give(
    connection: &Connection,
    epoch: u64,
    (id, claim): (u64, u64),
    member: u64,
) -> Result<Given, StoreError> {
    connection.run(&transaction::begin(true)).await?;
    members::hold(connection, epoch).await?;
    let found = connection.rows(MEMBER, &[&(member as i64)]).await?;
    let Some(row) = found.first() else {
        return Ok(Given::Not(format!(
            "member {member} is not one of this space, or has ended; see who is there"
        )));
    };
    if row.get(2) {
        return Ok(Given::Not(format!(
            "member {member} was drained, and takes no segment until it is started again"
        )));
    }
    let to = members::elsewhere_in(row, 0);
    let next = claim::next_epoch(connection).await?;
    let columns = (next.epoch as i64, member as i64, id as i64, claim as i64);
    let changed = connection
        .execute(GIVE, &[&columns.0, &columns.1, &columns.2, &columns.3])
        .await?;
    if changed == 0 {
        return Err(StoreError::SegmentsFenced(vec![id]));
    }
    connection.run("COMMIT").await?;
    Ok(Given::To(to))
}
