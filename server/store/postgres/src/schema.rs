//! The tables, and their migrations. docs/store.md says what each of them is for.

use crate::checks::Checked;
use crate::connection::Connection;
use crate::tables;
use interweave_store::{Identity, StoreError};

/// The version that this program writes. It also works on the next one. No schema has version 2: a
/// program of version 1, which has one table of the log, would take it for its own.
const VERSION: i32 = 5;
/// From this version on there is a table of shared rules.
pub const WITH_RULES: i32 = 4;
/// The versions that this program brings to its own.
const OLDER: [i32; 3] = [1, 3, 4];

/// "IW" and a number of its own: a migration holds this lock until its transaction ends.
const MIGRATION_LOCK: i64 = 0x4957_0001;

/// A head row is changed by each append. With half of each page free, and no index on what
/// changes, the new row stays on the old one's page, and no index is touched (HOT).
const TABLES: &str = "
CREATE TABLE {s}.store (
  is_one boolean PRIMARY KEY DEFAULT true CHECK (is_one),
  schema_version int NOT NULL,
  server_id bytea NOT NULL,
  space_id bytea NOT NULL,
  last_epoch bigint NOT NULL,
  timeline bigint NOT NULL);
CREATE TABLE {s}.owner (
  epoch bigint PRIMARY KEY,
  claim bigint NOT NULL,
  creations bigint NOT NULL,
  is_clean boolean NOT NULL,
  address text,
  tls_name text NOT NULL DEFAULT '',
  lease_ms bigint NOT NULL DEFAULT 0,
  counter bigint NOT NULL DEFAULT 0) WITH (fillfactor = 50);
CREATE TABLE {s}.segment (
  id bigint PRIMARY KEY,
  epoch bigint NOT NULL,
  owner bigint NOT NULL,
  head bigint NOT NULL,
  crc int NOT NULL,
  version bigint NOT NULL,
  incarnation bigint NOT NULL,
  serials_below bigint NOT NULL,
  is_removed boolean NOT NULL,
  checkpoint bigint NOT NULL DEFAULT 0,
  pieces int NOT NULL DEFAULT 0,
  saved bigint NOT NULL DEFAULT 0,
  saved_crc int NOT NULL DEFAULT 0) WITH (fillfactor = 50);
CREATE TABLE {s}.creation (
  segment bigint PRIMARY KEY,
  path bytea NOT NULL);
CREATE UNIQUE INDEX creation_path ON {s}.creation (path);
CREATE TABLE {s}.piece (
  segment bigint NOT NULL,
  checkpoint bigint NOT NULL,
  piece int NOT NULL,
  part int NOT NULL,
  parts int NOT NULL,
  crc int NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (segment, checkpoint, piece, part));
ALTER TABLE {s}.piece ALTER bytes SET STORAGE EXTERNAL;
ALTER TABLE {s}.piece SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
";

/// A table of the log is emptied as a whole, so that vacuum has nothing to do in it.
const LOG_TABLE: &str = "
CREATE TABLE {s}.log_{n} (
  segment bigint NOT NULL,
  number bigint NOT NULL,
  part int NOT NULL,
  parts int NOT NULL,
  crc int NOT NULL,
  header bytea NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (segment, number, part)) WITH (autovacuum_enabled = false);
ALTER TABLE {s}.log_{n} ALTER bytes SET STORAGE EXTERNAL;
";

/// The only table of the log becomes the first. A removed segment's path is free.
const OLDER_TABLES: &str = "
ALTER TABLE {s}.owner ADD address text, ADD tls_name text NOT NULL DEFAULT '',
  ADD lease_ms bigint NOT NULL DEFAULT 0, ADD counter bigint NOT NULL DEFAULT 0;
ALTER TABLE {s}.segment ADD owner bigint NOT NULL DEFAULT 0;
ALTER TABLE {s}.segment ALTER owner DROP DEFAULT;
UPDATE {s}.segment SET owner = coalesce((SELECT max(epoch) FROM {s}.owner), 0);
DELETE FROM {s}.creation USING {s}.segment WHERE id = segment AND is_removed;
CREATE UNIQUE INDEX creation_path ON {s}.creation (path);
ALTER TABLE {s}.log RENAME TO log_0;
ALTER INDEX {s}.log_pkey RENAME TO log_0_pkey;
ALTER TABLE {s}.log_0 RESET (autovacuum_vacuum_scale_factor, autovacuum_vacuum_threshold);
ALTER TABLE {s}.log_0 SET (autovacuum_enabled = false);
";

/// The rules that servers share, and which version each of them has taken.
const RULES: &str = "
ALTER TABLE {s}.owner ADD rules_version bigint NOT NULL DEFAULT 0;
CREATE TABLE {s}.access (
  version bigint PRIMARY KEY,
  rules bytea,
  tokens bytea,
  made_at timestamptz NOT NULL DEFAULT now(),
  made_by text NOT NULL DEFAULT session_user,
  note text NOT NULL DEFAULT '');
";

/// Which servers were drained.
const DRAINS: &str = "
ALTER TABLE {s}.owner ADD is_drained boolean NOT NULL DEFAULT false;
";

/// Makes the tables, or brings them to this program's version.
pub async fn migrate(connection: &Connection, identity: &Identity) -> Result<(), StoreError> {
    let version = version_of(connection).await?;
    if version.is_some_and(|version| !OLDER.contains(&version)) {
        return check(version, &connection.schema).result();
    }
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})");
    connection.run(&begin).await?;
    // Another server may have migrated meanwhile.
    let made = match version_of(connection).await? {
        None => make_tables(connection, identity).await,
        Some(older) if OLDER.contains(&older) => bring_up(connection, older).await,
        other => check(other, &connection.schema).result(),
    };
    match made {
        Ok(()) => connection.run("COMMIT").await,
        Err(error) => {
            connection.run("ROLLBACK").await?;
            Err(error)
        }
    }
}

async fn make_tables(connection: &Connection, identity: &Identity) -> Result<(), StoreError> {
    let made = connection.run("CREATE SCHEMA IF NOT EXISTS {s}").await;
    made.map_err(|error| {
        StoreError::Io(format!(
            "{error}; let the role that owns the database start the server once, or run GRANT \
             CREATE ON DATABASE ... TO this role"
        ))
    })?;
    connection.run(TABLES).await?;
    connection.run(RULES).await?;
    connection.run(DRAINS).await?;
    make_log(connection, 0).await?;
    let insert = "INSERT INTO {s}.store \
                  (schema_version, server_id, space_id, last_epoch, timeline) \
                  VALUES ($1, $2, $3, 0, 0)";
    let ids = (&identity.server[..], &identity.space[..]);
    let inserted = connection
        .execute(insert, &[&VERSION, &ids.0, &ids.1])
        .await;
    inserted.map(drop)
}

/// Makes the tables of the log, from that one on.
async fn make_log(connection: &Connection, first: usize) -> Result<(), StoreError> {
    for table in first..tables::COUNT {
        let make = LOG_TABLE.replace("{n}", &table.to_string());
        connection.run(&make).await?;
    }
    Ok(())
}

/// Brings the schema from its older version to this one.
async fn bring_up(connection: &Connection, older: i32) -> Result<(), StoreError> {
    if older < 3 {
        connection.run(OLDER_TABLES).await?;
        make_log(connection, 1).await?;
    }
    if older < 4 {
        connection.run(RULES).await?;
    }
    connection.run(DRAINS).await?;
    let update = "UPDATE {s}.store SET schema_version = $1";
    connection.execute(update, &[&VERSION]).await.map(drop)
}

async fn version_of(connection: &Connection) -> Result<Option<i32>, StoreError> {
    let state = state(connection).await?;
    Ok(state.map(|(version, _)| version))
}

/// The version of the schema, and the newest timeline that the store has seen. None: there are no
/// tables.
pub async fn state(connection: &Connection) -> Result<Option<(i32, i64)>, StoreError> {
    let table = connection.sql("{s}.store");
    // A name that the session has not found before may be remembered as missing in the same
    // transaction, though another one has made the table meanwhile. So the catalogue is read.
    let is_there = "SELECT EXISTS (SELECT FROM pg_catalog.pg_class c \
                    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
                    WHERE n.nspname = $1 AND c.relname = 'store')";
    let schema: &str = &connection.schema;
    if !connection
        .one(is_there, &[&schema])
        .await?
        .get::<_, bool>(0)
    {
        return Ok(None);
    }
    let rows = connection.rows("SELECT schema_version, timeline FROM {s}.store", &[]);
    match rows.await?.first() {
        Some(row) => Ok(Some((row.get(0), row.get(1)))),
        None => Err(StoreError::Io(format!(
            "the table {table} is empty; restore a backup of the database"
        ))),
    }
}

/// Whether this program works on a schema of that version, as it is or after a migration.
pub fn check(version: Option<i32>, schema: &str) -> Checked {
    match version {
        None => Checked::ok("schema", format!("the schema {schema} is yet to be made")),
        // The next version only adds what this program does not read.
        Some(known) if [VERSION, VERSION + 1].contains(&known) || OLDER.contains(&known) => {
            Checked::ok("schema", format!("the schema {schema} has version {known}"))
        }
        Some(other) => Checked::wrong(
            "schema",
            format!("the schema {schema} has version {other}, and this program knows {VERSION}"),
            "install the program that wrote it, or a newer one",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_works_on_its_version_and_on_the_next() {
        for known in [VERSION, VERSION + 1].into_iter().chain(OLDER) {
            assert!(check(Some(known), "s").result().is_ok());
        }
        for other in [2, VERSION + 2] {
            let error = check(Some(other), "s").result().unwrap_err().to_string();
            assert!(error.contains(&format!("version {other}")), "{error}");
        }
    }
}
