//! The settings of the database without which a promise does not hold, and who is in between.
//!
//! A start, a reconnection and `interweave doctor` do the same checks. A start takes the first
//! finding with something to mend as its error.

use crate::connection::Connection;
use crate::schema;
use crate::standbys::{copies_wanted, IS_STANDBY};
use crate::store::Options;
use crate::target::Target;
use crate::timelines::Timelines;
use interweave_store::StoreError;
use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;

const OLDEST: i32 = 15;

/// The finding of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    pub name: &'static str,
    pub found: String,
    /// The line to change. None: it is as it should be.
    pub mend: Option<String>,
}

impl Checked {
    pub fn ok(name: &'static str, found: impl Into<String>) -> Checked {
        Checked {
            name,
            found: found.into(),
            mend: None,
        }
    }

    pub fn wrong(name: &'static str, found: impl Into<String>, mend: &str) -> Checked {
        Checked {
            mend: Some(mend.to_string()),
            ..Checked::ok(name, found)
        }
    }

    pub fn result(&self) -> Result<(), StoreError> {
        match &self.mend {
            None => Ok(()),
            Some(mend) if self.name == STANDBY => {
                Err(StoreError::Alone(format!("{}: {mend}", self.found)))
            }
            Some(mend) => Err(StoreError::Away(format!("{}: {mend}", self.found))),
        }
    }
}

/// A setting without which acknowledged bytes may be lost, or damage is not noticed.
struct Setting {
    check: &'static str,
    name: &'static str,
    mend: &'static str,
}

const SETTINGS: &[Setting] = &[
    Setting {
        check: "fsync",
        name: "fsync",
        mend: "write `fsync = on` into postgresql.conf",
    },
    Setting {
        check: "full-page-writes",
        name: "full_page_writes",
        mend: "write `full_page_writes = on` into postgresql.conf",
    },
    Setting {
        check: "data-checksums",
        name: "data_checksums",
        mend: "stop the cluster and run `pg_checksums --enable -D DIR`",
    },
];

const STANDBY: &str = "standby";
const NAME_A_STANDBY: &str =
    "name one in postgresql.conf, as in `synchronous_standby_names = 'ANY 1 (standby1)'`, with \
     `application_name=standby1` in its primary_conninfo, or start the server with --store-alone, \
     which keeps one copy";
const STANDBY_NAMES: &str = "standby-names";
const STANDBY_SETTING: &str = "synchronous_standby_names";
const NAME_NO_RECEIVER: &str =
    "name the standbys in `synchronous_standby_names` instead of *, so that programs which only \
     copy the log, as pg_receivewal and pg_basebackup do, do not count as standbys";
const ATTACH_A_STANDBY: &str =
    "start it, or start the server with --store-alone, which keeps one copy";
const NAME_NOBODY: &str =
    "write `synchronous_standby_names = ''` into postgresql.conf, because commits wait for a \
     standby that is named, also with --store-alone";
const ATTACH_ALL: &str =
    "start the others, or change the number, or start the server with --store-alone, which keeps \
     one copy";
const WAIT_FOR_COMMITS: &str =
    "write `synchronous_commit = on` into postgresql.conf, or ALTER ROLE ... RESET \
     synchronous_commit";
const LET_IT_WRITE: &str =
    "run ALTER ROLE ... RESET default_transaction_read_only, or ALTER DATABASE ... RESET it, or \
     write `default_transaction_read_only = off` into postgresql.conf";
/// No step of the check of a pooler takes longer, also with a database that is far away.
const POOLER_TIME: Duration = Duration::from_secs(10);
/// In the words of a pgbouncer that shares connections statement by statement.
const REFUSES_TRANSACTIONS: &str = "statement pooling mode";
const LEAVE_THE_POOLER: &str =
    "name the port of PostgreSQL itself in --store, or a pool with `pool_mode = session`";
const NAME_THE_NEW_PRIMARY: &str =
    "it is an old primary, or an old backup; name the new primary in --store, and bring this one \
     back by pg_rewind";

/// Checks what a start and a reconnection check. `is_alone`: no standby is wanted.
pub async fn check(connection: &Connection, is_alone: bool) -> Result<(), StoreError> {
    let all = database(connection, is_alone).await?;
    all.iter().try_for_each(Checked::result)
}

/// Checks again what may change while a connection lasts.
pub async fn look_again(connection: &Connection, is_alone: bool) -> Result<(), StoreError> {
    check_rights(connection).await?;
    let named = setting(connection, STANDBY_SETTING).await?;
    of_standby(connection, &named, is_alone).await?.result()
}

/// Refuses a role that may not update the table which each append updates first.
pub async fn check_rights(connection: &Connection) -> Result<(), StoreError> {
    let table = connection.sql("{s}.segment");
    let asked = "SELECT has_table_privilege($1::text, 'UPDATE')";
    match connection.one(asked, &[&table]).await?.get(0) {
        true => Ok(()),
        false => Err(StoreError::Away(format!(
            "the role may not update the table {table}; run GRANT SELECT, INSERT, UPDATE, DELETE, \
             TRUNCATE ON ALL TABLES IN SCHEMA"
        ))),
    }
}

/// Connects again, with the checks of a reconnection.
pub async fn connect(options: &Options, timelines: &Timelines) -> Result<Connection, StoreError> {
    let (connection, checked) = connect_and_check(options, timelines).await?;
    checked.map(|()| connection)
}

/// The same, to look at a primary which may have no standby.
pub async fn connect_to_look(
    options: &Options,
    timelines: &Timelines,
) -> Result<Connection, StoreError> {
    let (connection, checked) = connect_and_check(options, timelines).await?;
    match checked {
        Ok(()) | Err(StoreError::Alone(_)) => Ok(connection),
        Err(error) => Err(error),
    }
}

async fn connect_and_check(
    options: &Options,
    timelines: &Timelines,
) -> Result<(Connection, Result<(), StoreError>), StoreError> {
    let connection = Connection::of(options).await?;
    let served = options.target.first.get();
    let checking = check_again(&connection, options.is_alone, timelines);
    let checked = connection.soon(checking).await;
    if matches!(checked, Err(StoreError::Away(_))) {
        options.target.first.pass_over(served);
    }
    Ok((connection, checked))
}

async fn check_again(
    connection: &Connection,
    is_alone: bool,
    timelines: &Timelines,
) -> Result<(), StoreError> {
    let checked = check(connection, is_alone).await;
    // A primary without a standby is the newest one all the same.
    if matches!(checked, Ok(()) | Err(StoreError::Alone(_))) {
        check_newest(connection, timelines).await?;
    }
    checked
}

/// Refuses a primary of an older timeline. Connections to such a one break.
pub async fn check_newest(
    connection: &Connection,
    timelines: &Timelines,
) -> Result<(), StoreError> {
    let timeline = timeline(connection).await?;
    refuse_older(timeline, timelines.newest())?;
    timelines.saw(timeline, connection);
    Ok(())
}

/// Does all checks.
pub async fn inspect(target: &Target, is_alone: bool) -> Result<Vec<Checked>, StoreError> {
    let connection = Connection::open(target).await?;
    let mut all = database(&connection, is_alone).await?;
    all.push(standby_names(&connection, is_alone).await?);
    let is_primary = all.iter().any(|c| c.name == "primary" && c.mend.is_none());
    match schema::state(&connection).await {
        Ok(found) => {
            let (version, newest) = found.unzip();
            all.push(schema::check(version, &target.schema));
            if is_primary {
                let timeline = timeline(&connection).await?;
                all.push(check_timeline(timeline, newest.unwrap_or(0)));
            }
        }
        Err(error) => {
            let mend = "run GRANT USAGE ON SCHEMA, and GRANT SELECT ON ALL TABLES IN SCHEMA";
            all.push(Checked::wrong("schema", error.to_string(), mend));
        }
    }
    // The last one, because a session may wait in it for the other one.
    all.push(pooler(&connection, target).await?);
    Ok(all)
}

async fn setting(connection: &Connection, name: &str) -> Result<String, StoreError> {
    let row = connection
        .one("SELECT current_setting($1)", &[&name])
        .await?;
    Ok(row.get(0))
}

/// The settings that are checked, in one round: a database may be far away.
async fn settings(connection: &Connection) -> Result<HashMap<String, String>, StoreError> {
    let others = [
        "server_version_num",
        "server_version",
        "synchronous_commit",
        "default_transaction_read_only",
        STANDBY_SETTING,
    ];
    let names = SETTINGS.iter().map(|setting| setting.name).chain(others);
    let names: Vec<&str> = names.collect();
    let asked = "SELECT name, current_setting(name) FROM unnest($1::text[]) AS n(name)
      UNION ALL SELECT 'in_recovery', pg_is_in_recovery()::text";
    let rows = connection.rows(asked, &[&names]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

async fn database(connection: &Connection, is_alone: bool) -> Result<Vec<Checked>, StoreError> {
    let settings = settings(connection).await?;
    let setting = |name: &str| settings.get(name).map_or("", |is| is);
    let version = format!("this is PostgreSQL {}", setting("server_version"));
    let number = setting("server_version_num").parse::<i32>();
    let is_old = number.unwrap_or(0) / 10_000 < OLDEST;
    let recovers = setting("in_recovery") != "false";
    let mut all = vec![
        match is_old {
            true => Checked::wrong("version", version, "install PostgreSQL 15 or newer"),
            false => Checked::ok("version", version),
        },
        match recovers {
            true => Checked::wrong(
                "primary",
                "this is a standby",
                "name the primary in --store",
            ),
            false => Checked::ok("primary", "this is a primary"),
        },
    ];
    for &Setting { check, name, mend } in SETTINGS {
        let is = setting(name);
        let found = format!("{name} is {is}");
        all.push(match is {
            "on" => Checked::ok(check, found),
            _ => Checked::wrong(check, found, mend),
        });
    }
    let is = setting("synchronous_commit");
    let found = format!("synchronous_commit is {is}");
    all.push(match is {
        "off" | "local" => Checked::wrong("synchronous-commit", found, WAIT_FOR_COMMITS),
        _ => Checked::ok("synchronous-commit", found),
    });
    let is = setting("default_transaction_read_only");
    let found = format!("default_transaction_read_only is {is}");
    all.push(match is {
        "off" => Checked::ok("read-write", found),
        _ => Checked::wrong("read-write", found, LET_IT_WRITE),
    });
    let named = setting(STANDBY_SETTING);
    all.push(of_standby(connection, named, is_alone).await?);
    Ok(all)
}

/// With `*` a program that only copies the log acknowledges commits while the standby stands still.
/// A start does not refuse that, because a standby is attached.
async fn standby_names(connection: &Connection, is_alone: bool) -> Result<Checked, StoreError> {
    let named = setting(connection, STANDBY_SETTING).await?;
    Ok(match named.contains('*') && !is_alone {
        true => {
            let found = format!("`synchronous_standby_names = '{named}'` names every program");
            Checked::wrong(STANDBY_NAMES, found, NAME_NO_RECEIVER)
        }
        false => Checked::ok(STANDBY_NAMES, "each synchronous standby has its name"),
    })
}

/// `is_alone`: no standby is wanted. PostgreSQL waits all the same for one that is named.
async fn of_standby(
    connection: &Connection,
    named: &str,
    is_alone: bool,
) -> Result<Checked, StoreError> {
    if is_alone && copies_wanted(named) == 0 {
        let found = "none is wanted: the store has one copy";
        return Ok(Checked::ok(STANDBY, found));
    }
    let checked = standby(connection, named).await?;
    Ok(match checked.mend.is_some() && is_alone {
        true => Checked::wrong(STANDBY, checked.found, NAME_NOBODY),
        false => checked,
    })
}

pub async fn standby(connection: &Connection, named: &str) -> Result<Checked, StoreError> {
    let wanted = i64::from(copies_wanted(named));
    if wanted == 0 {
        let found = "no standby is synchronous";
        return Ok(Checked::wrong(STANDBY, found, NAME_A_STANDBY));
    }
    let counts = format!(
        "SELECT count(*) FILTER (WHERE {IS_STANDBY}),
           count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')),
           count(*) FILTER (WHERE sync_state IS NULL) FROM pg_stat_replication"
    );
    let row = connection.one(&counts, &[]).await?;
    let [standbys, synced, unknown]: [i64; 3] = [row.get(0), row.get(1), row.get(2)];
    Ok(if standbys >= wanted {
        Checked::ok(STANDBY, "a synchronous standby is attached")
    } else if standbys > 0 {
        let found = format!(
            "`synchronous_standby_names = '{named}'` makes each commit wait for {wanted} \
             standbys, and {standbys} is attached"
        );
        Checked::wrong(STANDBY, found, ATTACH_ALL)
    } else if synced > 0 {
        let found = "what is attached only copies the log, and cannot become the primary";
        Checked::wrong(STANDBY, found, NAME_NO_RECEIVER)
    } else if unknown > 0 {
        let found = "this role may not see whether a standby is attached";
        Checked::wrong(STANDBY, found, "run `GRANT pg_read_all_stats TO` it")
    } else {
        let found = "`synchronous_standby_names` names a standby, and none is attached";
        Checked::wrong(STANDBY, found, ATTACH_A_STANDBY)
    })
}

/// Refuses a pooler that gives a session another connection for each transaction.
pub async fn check_pooler(connection: &Connection, target: &Target) -> Result<(), StoreError> {
    pooler(connection, target).await?.result()
}

/// Two sessions are in transactions together, again and again. They end them in both orders, so
/// that a pooler that shares connections gives one of them the other's, whether it takes the
/// connection that was used last or first. With one connection for all the second one waits.
async fn pooler(connection: &Connection, target: &Target) -> Result<Checked, StoreError> {
    let second = Connection::open(target).await?;
    let rounds = async {
        let mut processes = Vec::new();
        for ends_first in [&second, connection, &second] {
            for session in [&second, connection] {
                step(session.run("BEGIN")).await?;
            }
            let of_second = step(process(&second)).await?;
            processes.push((of_second, step(process(connection)).await?));
            step(ends_first.run("ROLLBACK")).await?;
            for session in [&second, connection] {
                if !std::ptr::eq(session, ends_first) {
                    step(session.run("ROLLBACK")).await?;
                }
            }
        }
        Ok(processes)
    };
    let shares = match rounds.await {
        Ok(processes) => shares_connections(&processes),
        Err(Failed::Waited) => true,
        Err(Failed::Said(error)) if error.to_string().contains(REFUSES_TRANSACTIONS) => true,
        Err(Failed::Said(error)) => return Err(error),
    };
    Ok(match shares {
        true => Checked::wrong(
            "pooler",
            "a pooler that gives each transaction or statement another connection is in between",
            LEAVE_THE_POOLER,
        ),
        false => Checked::ok("pooler", "each session has a process of its own"),
    })
}

/// Why a step of the check of a pooler failed.
enum Failed {
    /// It waited: most likely for the connection that the other session has.
    Waited,
    Said(StoreError),
}

async fn step<T>(step: impl Future<Output = Result<T, StoreError>>) -> Result<T, Failed> {
    match tokio::time::timeout(POOLER_TIME, step).await {
        Ok(done) => done.map_err(Failed::Said),
        Err(_) => Err(Failed::Waited),
    }
}

async fn process(connection: &Connection) -> Result<i32, StoreError> {
    let row = connection.one("SELECT pg_backend_pid()", &[]);
    row.await.map(|row| row.get(0))
}

/// Whether a session had several processes. `rounds`: those of two sessions.
fn shares_connections(rounds: &[(i32, i32)]) -> bool {
    rounds.windows(2).any(|pair| pair[0] != pair[1])
}

/// The timeline of a primary.
pub const TIMELINE: &str =
    "SELECT ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint";

pub async fn timeline(connection: &Connection) -> Result<i64, StoreError> {
    let row = connection.one(TIMELINE, &[]);
    row.await.map(|row| row.get(0))
}

/// Refuses a database that is on an older timeline than the store has seen.
pub fn refuse_older(timeline: i64, newest: i64) -> Result<(), StoreError> {
    check_timeline(timeline, newest).result()
}

fn check_timeline(timeline: i64, newest: i64) -> Checked {
    match timeline < newest {
        true => Checked::wrong(
            "timeline",
            format!("this database is on timeline {timeline}, and the store was on {newest}"),
            NAME_THE_NEW_PRIMARY,
        ),
        false => Checked::ok(
            "timeline",
            format!("the database is on timeline {timeline}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pooler_shows_by_the_processes() {
        assert!(!shares_connections(&[(1, 2), (1, 2), (1, 2)]));
        assert!(shares_connections(&[(1, 2), (2, 1), (1, 2)]));
        assert!(shares_connections(&[(1, 2), (1, 2), (1, 3)]));
    }
}
