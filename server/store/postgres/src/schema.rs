//! The tables, and their migrations. docs/store.md says what each of them is for.

use crate::connection::Connection;
use crate::outcome;
use interweave_store::{Identity, StoreError};

/// The version that this program writes. It also works on the next one.
const VERSION: i32 = 1;

/// "IW" and a number of its own: whoever migrates holds this lock until its transaction ends.
const MIGRATION_LOCK: i64 = 0x4957_0001;

/// A head row is changed by each append. With half of each page free, and no index on what
/// changes, the new row stays on the old one's page, and no index is touched (HOT).
const TABLES_1: &str = "
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
  is_clean boolean NOT NULL) WITH (fillfactor = 50);
CREATE TABLE {s}.segment (
  id bigint PRIMARY KEY,
  epoch bigint NOT NULL,
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
CREATE TABLE {s}.log (
  segment bigint NOT NULL,
  number bigint NOT NULL,
  part int NOT NULL,
  parts int NOT NULL,
  crc int NOT NULL,
  header bytea NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (segment, number, part));
CREATE TABLE {s}.piece (
  segment bigint NOT NULL,
  checkpoint bigint NOT NULL,
  piece int NOT NULL,
  part int NOT NULL,
  parts int NOT NULL,
  crc int NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (segment, checkpoint, piece, part));
ALTER TABLE {s}.log ALTER bytes SET STORAGE EXTERNAL;
ALTER TABLE {s}.piece ALTER bytes SET STORAGE EXTERNAL;
ALTER TABLE {s}.log SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
ALTER TABLE {s}.piece SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
";

/// Puts the schema's name into a statement.
pub fn in_schema(statement: &str, schema: &str) -> String {
    statement.replace("{s}", schema)
}

/// Makes the tables, or brings them to this program's version.
pub async fn migrate(connection: &Connection, identity: &Identity) -> Result<(), StoreError> {
    if let Some(version) = version_of(connection).await? {
        return check_version(version, &connection.schema);
    }
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})");
    connection.run(&begin).await?;
    // Another server may have made them meanwhile.
    if let Some(version) = version_of(connection).await? {
        connection.run("ROLLBACK").await?;
        return check_version(version, &connection.schema);
    }
    let made = make_tables(connection, identity).await;
    match made {
        Ok(()) => connection.run("COMMIT").await,
        Err(error) => {
            connection.run("ROLLBACK").await?;
            Err(error)
        }
    }
}

async fn make_tables(connection: &Connection, identity: &Identity) -> Result<(), StoreError> {
    let make_schema = in_schema("CREATE SCHEMA IF NOT EXISTS {s}", &connection.schema);
    connection.run(&make_schema).await.map_err(|error| {
        StoreError::Io(format!(
            "{error}; let the role that owns the database start the server once, or run GRANT \
             CREATE ON DATABASE ... TO this role"
        ))
    })?;
    let tables = in_schema(TABLES_1, &connection.schema);
    connection.run(&tables).await?;
    let insert = in_schema(
        "INSERT INTO {s}.store (schema_version, server_id, space_id, last_epoch, timeline) \
         VALUES ($1, $2, $3, 0, 0)",
        &connection.schema,
    );
    let ids = (&identity.server[..], &identity.space[..]);
    let inserted = connection
        .client
        .execute(&insert, &[&VERSION, &ids.0, &ids.1])
        .await;
    inserted.map(drop).map_err(|error| outcome::failed(&error))
}

/// None: there are no tables.
async fn version_of(connection: &Connection) -> Result<Option<i32>, StoreError> {
    let table = in_schema("{s}.store", &connection.schema);
    let found = connection
        .client
        .query_one("SELECT to_regclass($1::text) IS NOT NULL", &[&table])
        .await
        .map_err(|error| outcome::failed(&error))?;
    if !found.get::<_, bool>(0) {
        return Ok(None);
    }
    let select = in_schema("SELECT schema_version FROM {s}.store", &connection.schema);
    let row = connection.client.query_opt(&select, &[]).await;
    let row = row.map_err(|error| outcome::failed(&error))?;
    match row {
        Some(row) => Ok(Some(row.get(0))),
        None => Err(StoreError::Io(format!(
            "the table {table} is empty; restore a backup of the database"
        ))),
    }
}

fn check_version(version: i32, schema: &str) -> Result<(), StoreError> {
    match version {
        VERSION => Ok(()),
        // The next version only adds what this program does not read.
        next if next == VERSION + 1 => Ok(()),
        other => Err(StoreError::Io(format!(
            "the schema {schema} has version {other}, and this program knows {VERSION}; install \
             the program that wrote it, or a newer one"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_works_on_its_version_and_on_the_next() {
        assert!(check_version(VERSION, "s").is_ok());
        assert!(check_version(VERSION + 1, "s").is_ok());
        for other in [VERSION - 1, VERSION + 2] {
            let error = check_version(other, "s").unwrap_err().to_string();
            assert!(error.contains(&format!("version {other}")), "{error}");
        }
    }
}
