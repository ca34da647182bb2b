//! Looks whether the database can be reached and has its standby, so that /healthz can tell also
//! while nobody writes, and breaks connections that carry nothing any more.
//!
//! It has a connection of its own: an append may be waiting for a standby that has gone.

use crate::checks;
use crate::connection::Connection;
use crate::hosts;
use crate::shared::Shared;
use crate::store::Options;
use interweave_store::StoreError;
use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// A database that says nothing for so long counts as one that cannot be reached. A new connection
/// may take longer, because a host may be passed over.
const PATIENCE: Duration = Duration::from_secs(5);

/// Looks again and again, until it is dropped.
pub async fn look_out(options: &Options, shared: &Shared) {
    let mut connection: Option<Connection> = None;
    loop {
        tokio::time::sleep(PAUSE).await;
        let open = connection.take().filter(|c| !c.is_closed());
        let patience = match open {
            Some(_) => PATIENCE,
            None => PATIENCE + hosts::longest(&options.target),
        };
        let looking = look(options, shared, open);
        let silent = || StoreError::Away(format!("PostgreSQL has said nothing for {patience:?}"));
        let looked = tokio::time::timeout(patience, looking).await;
        match looked.unwrap_or_else(|_| Err(silent())) {
            Ok(looked) => {
                connection = Some(looked);
                shared.saw(Ok(()));
                break_overdue(shared, "others were answered; is a proxy in between?");
            }
            Err(error) => {
                shared.saw(Err(error));
                if shared.is_hurried() {
                    break_overdue(shared, "the server stops");
                }
            }
        }
    }
}

/// Whoever has waited for too long waits for nothing, where the database answers and has its
/// standby, or where the server stops.
fn break_overdue(shared: &Shared, meanwhile: &str) {
    let broken = shared.waits.break_overdue(shared.now());
    if broken > 0 {
        shared.note(&StoreError::Away(format!(
            "{broken} connections to PostgreSQL were broken because a transaction had no answer \
             for too long, while {meanwhile}"
        )));
    }
}

/// Returns the connection by which it has looked.
async fn look(
    options: &Options,
    shared: &Shared,
    open: Option<Connection>,
) -> Result<Connection, StoreError> {
    let Some(connection) = open else {
        let made = checks::connect(options, &shared.timelines).await?;
        checks::check_rights(&made).await?;
        return Ok(made);
    };
    checks::look_again(&connection, options.is_alone).await?;
    Ok(connection)
}
