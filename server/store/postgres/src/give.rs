//! Gives a segment to another server that shares the store [STORE-17].
//!
//! It changes the segment's row, as appends and claims do, so none of them passes another one. It
//! holds the rows of both servers: a server that finds one of them over does so before it, and it
//! changes nothing, or after it. Then the segment is claimed as one of a server that is over.
//!
//! It compares the last record, too. Otherwise the next owner would continue the incarnation of a
//! segment that has lost versions with a crash of the database.

use crate::claim;
use crate::connection::Connection;
use crate::doubt;
use crate::members;
use crate::transaction;
use interweave_store::{Elsewhere, Given, StoreError};

/// A segment as its owner knows it: its id, the owner's claim, and the number of its last record.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub id: u64,
    pub claim: u64,
    pub head: u64,
}

/// The outcome of a give that is known.
pub enum Outcome {
    Given(Given),
    /// Nothing was changed, because records that the owner knows are gone.
    Behind,
}

const MEMBER: &str = "
SELECT address, tls_name, is_drained FROM {s}.owner
WHERE epoch = $1 AND address IS NOT NULL AND NOT is_clean FOR KEY SHARE";

const GIVE: &str = "
UPDATE {s}.segment SET epoch = $1, owner = $2
WHERE id = $3 AND epoch = $4 AND head >= $5 AND NOT is_removed";

const IS_BEHIND: &str = "
SELECT 1 FROM {s}.segment WHERE id = $1 AND epoch = $2 AND head < $3 AND NOT is_removed";

/// Gives the segment of the server with that epoch, which clients reach there, to the member. An
/// error: the outcome is not known.
pub async fn give(
    connection: &Connection,
    (epoch, own): (u64, Option<&Elsewhere>),
    known: Known,
    member: u64,
) -> Result<Outcome, StoreError> {
    let notices = connection.notices.count();
    let given = try_to_give(connection, (epoch, own), known, member).await?;
    if !matches!(given, Outcome::Given(Given::To(_))) {
        return connection.run("ROLLBACK").await.map(|()| given);
    }
    let id = known.id;
    match doubt::look(connection, notices).await {
        None => Ok(given),
        Some(doubt) => Err(doubt.error(&format!(
            "it is not known whether the standby knows to whom segment {id} was given"
        ))),
    }
}

async fn try_to_give(
    connection: &Connection,
    (epoch, own): (u64, Option<&Elsewhere>),
    known: Known,
    member: u64,
) -> Result<Outcome, StoreError> {
    let not = |text: String| Ok(Outcome::Given(Given::Not(text)));
    connection.run(&transaction::begin(true)).await?;
    members::hold(connection, epoch).await?;
    let found = connection.rows(MEMBER, &[&(member as i64)]).await?;
    let Some(row) = found.first() else {
        return not(format!(
            "member {member} is not one of this space, or has ended; see who is there"
        ));
    };
    if row.get(2) {
        return not(format!(
            "member {member} was drained, and takes no segment until it is started again"
        ));
    }
    let to = members::elsewhere_in(row, 0);
    if own.is_some_and(|own| own.address == to.address) {
        return not(format!(
            "member {member} is an earlier start of this server, which is not over yet; see who is \
             there"
        ));
    }
    let next = claim::next_epoch(connection).await?;
    let (epoch, member) = (next.epoch as i64, member as i64);
    let (id, claim, head) = (known.id as i64, known.claim as i64, known.head as i64);
    let changed = connection
        .execute(GIVE, &[&epoch, &member, &id, &claim, &head])
        .await?;
    if changed == 0 {
        let behind = connection.rows(IS_BEHIND, &[&id, &claim, &head]).await?;
        return match behind.is_empty() {
            true => Err(StoreError::SegmentsFenced(vec![known.id])),
            false => Ok(Outcome::Behind),
        };
    }
    connection.run("COMMIT").await?;
    Ok(Outcome::Given(Given::To(to)))
}
