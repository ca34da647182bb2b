//! The settings of the database without which a promise does not hold, and who is in between.

use crate::connection::Connection;
use crate::outcome;
use crate::target::Target;
use interweave_store::StoreError;

const OLDEST: i32 = 15;

/// A setting without which acknowledged bytes may be lost, or damage is not noticed.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("fsync", "on", "write `fsync = on` into postgresql.conf"),
    (
        "full_page_writes",
        "on",
        "write `full_page_writes = on` into postgresql.conf",
    ),
    (
        "data_checksums",
        "on",
        "stop the cluster and run `pg_checksums --enable -D DIR`",
    ),
];

const NO_STANDBY_NAMED: &str =
    "no standby is synchronous: name one in postgresql.conf, as in `synchronous_standby_names = \
     'ANY 1 (*)'`, or start the server with --store-alone, which keeps one copy";
const NO_STANDBY_HERE: &str =
    "`synchronous_standby_names` names a standby, and none is attached: start it, or start the \
     server with --store-alone, which keeps one copy";
const NOT_SHOWN: &str =
    "this role may not see whether a standby is attached: run `GRANT pg_read_all_stats TO` it";
const POOLER: &str =
    "a pooler that gives each transaction another connection is in between: name the port of \
     PostgreSQL itself in --store, or a pool with `pool_mode = session`";

/// Checks what a start and a reconnection check. `alone`: no standby is wanted.
pub async fn check(connection: &Connection, alone: bool) -> Result<(), StoreError> {
    let setting = |name: &'static str| async move {
        let row = connection
            .client
            .query_one("SELECT current_setting($1)", &[&name])
            .await;
        row.map(|row| row.get::<_, String>(0))
            .map_err(|error| outcome::failed(&error))
    };
    let wrong = |text: String| Err(StoreError::Io(text));
    let version = setting("server_version_num").await?;
    let major = version.parse::<i32>().unwrap_or(0) / 10_000;
    if major < OLDEST {
        return wrong(format!(
            "this is PostgreSQL {major}; {OLDEST} or newer is needed"
        ));
    }
    let row = connection
        .client
        .query_one("SELECT pg_is_in_recovery()", &[])
        .await;
    let row = row.map_err(|error| outcome::failed(&error))?;
    if row.get(0) {
        return wrong("this is a standby; name the primary in --store".to_string());
    }
    for &(name, wanted, remedy) in SETTINGS {
        let is = setting(name).await?;
        if is != wanted {
            return wrong(format!("{name} is {is}: {remedy}"));
        }
    }
    let remote = setting("synchronous_commit").await?;
    if matches!(&*remote, "off" | "local") {
        return wrong(format!(
            "synchronous_commit is {remote}: write `synchronous_commit = on` into \
             postgresql.conf, or ALTER ROLE ... RESET synchronous_commit"
        ));
    }
    match alone {
        true => Ok(()),
        false => check_standby(connection, &setting("synchronous_standby_names").await?).await,
    }
}

async fn check_standby(connection: &Connection, named: &str) -> Result<(), StoreError> {
    let wrong = |text: &str| Err(StoreError::Io(text.to_string()));
    if named.trim().is_empty() {
        return wrong(NO_STANDBY_NAMED);
    }
    let rows = connection
        .client
        .query("SELECT sync_state FROM pg_stat_replication", &[])
        .await;
    let rows = rows.map_err(|error| outcome::failed(&error))?;
    let states: Vec<Option<String>> = rows.iter().map(|row| row.get(0)).collect();
    let is_synced = |state: &Option<String>| {
        let state = state.as_deref();
        matches!(state, Some("sync" | "quorum"))
    };
    if states.iter().any(is_synced) {
        Ok(())
    } else if states.iter().any(Option::is_none) {
        wrong(NOT_SHOWN)
    } else {
        wrong(NO_STANDBY_HERE)
    }
}

/// Refuses a pooler that gives a session another connection for each transaction. While a second
/// session is in a transaction, the first one is asked for its process before and during it.
pub async fn check_pooler(connection: &Connection, target: &Target) -> Result<(), StoreError> {
    let second = Connection::open(target).await?;
    let before = process(connection).await?;
    second.run("BEGIN").await?;
    let other = process(&second).await?;
    let during = process(connection).await?;
    second.run("ROLLBACK").await?;
    match shares_connections(before, other, during) {
        true => Err(StoreError::Io(POOLER.to_string())),
        false => Ok(()),
    }
}

async fn process(connection: &Connection) -> Result<i32, StoreError> {
    let row = connection
        .client
        .query_one("SELECT pg_backend_pid()", &[])
        .await;
    row.map(|row| row.get(0))
        .map_err(|error| outcome::failed(&error))
}

/// Whether two sessions had the same process, or one had two.
fn shares_connections(before: i32, other: i32, during: i32) -> bool {
    before == other || before != during
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_shows_by_the_processes() {
        assert!(!shares_connections(1, 2, 1));
        assert!(shares_connections(1, 1, 3), "the free one was given away");
        assert!(shares_connections(1, 2, 3), "each transaction has another");
    }
}
