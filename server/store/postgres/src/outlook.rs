//! Looks whether the database can be reached and has its standby, so that /healthz can tell also
//! while nobody writes.
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
    let mut connection = None;
    loop {
        tokio::time::sleep(PAUSE).await;
        let is_open = |connection: &Connection| !connection.is_closed();
        let patience = match connection.as_ref().is_some_and(is_open) {
            true => PATIENCE,
            false => PATIENCE + hosts::longest(&options.target),
        };
        let looking = look(options, shared, &mut connection);
        let silent = || StoreError::Away(format!("PostgreSQL has said nothing for {patience:?}"));
        let looked = tokio::time::timeout(patience, looking).await;
        let looked = looked.unwrap_or_else(|_| Err(silent()));
        if looked.is_err() {
            connection = None;
        }
        shared.saw(looked);
    }
}

async fn look(
    options: &Options,
    shared: &Shared,
    connection: &mut Option<Connection>,
) -> Result<(), StoreError> {
    if let Some(connection) = connection.as_ref().filter(|c| !c.is_closed()) {
        return checks::look_again(connection, options.is_alone).await;
    }
    let made = checks::connect(options, &shared.timelines).await?;
    checks::check_rights(&made).await?;
    *connection = Some(made);
    Ok(())
}
