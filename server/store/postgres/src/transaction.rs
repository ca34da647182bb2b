//! An append is one transaction, which is sent as a whole.
//!
//! Its first statement changes the rows that a claim changes, and compares their owner and end with
//! what the owner knows. So an append and a claim never pass each other: one waits for the other's
//! commit, and then sees it.

use crate::batch::{Batch, Row};
use crate::connection::Connection;
use crate::doubt::{self, Look};
use crate::outcome::Outcome;
use crate::tables;
use futures_util::future::try_join_all;
use interweave_store::StoreError;
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio_postgres::{Error, Statement};

/// So many bytes of rows are sent by one statement. While it arrives, the session counts as idle.
const INSERT_BYTES: usize = 1 << 20;
/// A transaction with more bytes than this may be idle for longer, so that a statement arrives over
/// a slow link.
const SMALL_BYTES: u64 = 64 << 10;
const ARRIVAL: Duration = Duration::from_secs(4);

/// The division fails unless each row was as the owner knows it; that rolls all back. Each
/// statement compares the name of its transaction, and does nothing outside of it.
const MOVE: &str = "
WITH moved AS (
  UPDATE {s}.segment AS s
  SET head = n.head, crc = n.crc, version = n.version, incarnation = n.incarnation,
      serials_below = n.serials_below, is_removed = n.is_removed
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::int[], $6::bigint[],
              $7::bigint[], $8::bigint[], $9::boolean[])
       AS n(id, claim, was, head, crc, version, incarnation, serials_below, is_removed)
  WHERE s.id = n.id AND s.epoch = n.claim AND s.head = n.was
    AND current_setting('interweave.transaction', true) = $10
  RETURNING 1)
SELECT 1 / (count(*) = cardinality($1))::int FROM moved";

/// The path of a removed segment is free for another one.
const FREE: &str = "
DELETE FROM {s}.creation
WHERE segment = ANY($1) AND current_setting('interweave.transaction', true) = $2";

/// A new segment has no row that a claim has changed. Its creation changes the owner's.
const CREATE_AS_OWNER: &str = "
WITH owner AS (
  UPDATE {s}.owner SET creations = creations + 1
  WHERE epoch = $1 AND claim = $2 AND current_setting('interweave.transaction', true) = $3
  RETURNING 1)
SELECT 1 / (count(*) = 1)::int FROM owner";

const CREATE: &str = "
WITH created AS (
  INSERT INTO {s}.segment
    (id, epoch, owner, head, crc, version, incarnation, serials_below, is_removed)
  SELECT id, claim, $11, head, crc, version, incarnation, serials_below, is_removed
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::bigint[], $6::bigint[],
              $7::bigint[], $8::boolean[])
       AS n(id, claim, head, crc, version, incarnation, serials_below, is_removed)
  WHERE current_setting('interweave.transaction', true) = $10
  RETURNING id)
INSERT INTO {s}.creation (segment, path)
SELECT n.id, n.path FROM unnest($1::bigint[], $9::bytea[]) AS n(id, path), created
WHERE created.id = n.id";

const INSERT: &str = "
INSERT INTO {s}.log_{n} (segment, number, part, parts, crc, header, bytes)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::int[], $5::int[], $6::bytea[],
                     $7::bytea[]) AS n
WHERE current_setting('interweave.transaction', true) = $8";

/// The statements of appends, prepared for one connection.
pub struct Appends {
    transition: Statement,
    free: Statement,
    create_as_owner: Statement,
    create: Statement,
    /// One for each table of the log.
    inserts: Vec<Statement>,
}

/// The owner that appends: its epoch, and its claim for new segments.
#[derive(Debug, Clone, Copy)]
pub struct Owner {
    pub epoch: u64,
    pub claim: u64,
}

/// Begins a transaction with settings of its own, whatever the database's or the role's are. A
/// cancelled wait for the standby must be told, and no timeout may end a commit.
pub fn begin(waits: bool) -> String {
    let waits = if waits { "on" } else { "off" };
    format!(
        "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; \
         SET LOCAL synchronous_commit TO {waits}; SET LOCAL statement_timeout TO 0; \
         SET LOCAL client_min_messages TO notice"
    )
}

/// Begins the transaction of a batch, which has that name.
fn begin_of(batch: &Batch, idle: Duration, name: &str) -> String {
    let begin = begin(batch.waits);
    let mut begin = format!("{begin}; SET LOCAL interweave.transaction TO '{name}'");
    if batch.bytes() > SMALL_BYTES {
        let idle_ms = (idle + ARRIVAL).as_millis();
        begin += &format!("; SET LOCAL idle_in_transaction_session_timeout TO {idle_ms}");
    }
    begin
}

/// A name that no other transaction of the process has.
fn new_name() -> String {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed).to_string()
}

fn signed<'a>(values: impl Iterator<Item = u64> + 'a) -> Vec<i64> {
    values.map(|value| value as i64).collect()
}

impl Appends {
    pub async fn prepare(connection: &Connection) -> Result<Appends, StoreError> {
        // All at once: a database may be far away.
        let insert = |table: usize| {
            let insert = INSERT.replace("{n}", &table.to_string());
            async move { connection.prepare(&insert).await }
        };
        let (transition, free, create_as_owner, create, inserts) = tokio::try_join!(
            connection.prepare(MOVE),
            connection.prepare(FREE),
            connection.prepare(CREATE_AS_OWNER),
            connection.prepare(CREATE),
            try_join_all((0..tables::COUNT).map(insert)),
        )?;
        Ok(Appends {
            transition,
            free,
            create_as_owner,
            create,
            inserts,
        })
    }

    /// Appends the batch. Its rows are all there afterwards, or none, or that is not known.
    pub async fn run(&self, connection: &Connection, owner: Owner, batch: &Batch) -> Outcome {
        let notices = connection.notices.count();
        let name = new_name();
        let mut inserts = cut(&batch.rows).into_iter();
        let first = inserts.next().unwrap_or(&[]);
        let client = &connection.client;
        let begin = begin_of(batch, connection.idle, &name);
        let (has_failed, is_committing) = (Cell::new(false), Cell::new(false));
        let noted = |result: Result<(), Error>| {
            has_failed.set(has_failed.get() || result.is_err());
            result
        };
        let opening = async {
            // Each future sends its statement when it is polled for the first time.
            let results = tokio::join!(
                biased;
                async { noted(client.batch_execute(&begin).await) },
                async { noted(self.owns(connection, owner, batch, &name).await) },
                async { noted(self.moves(connection, batch, &name).await) },
                async { noted(self.frees(connection, batch, &name).await) },
                async { noted(self.creates(connection, owner, batch, &name).await) },
                async { noted(self.inserts(connection, (first, batch.table), &name).await) },
            );
            let first = results.0.and(results.1).and(results.2);
            first.and(results.3).and(results.4).and(results.5)
        };
        // No commit follows a statement that could not be sent.
        let ending = async {
            is_committing.set(!has_failed.get());
            let end = if is_committing.get() {
                "COMMIT"
            } else {
                "ROLLBACK"
            };
            client.batch_execute(end).await
        };
        let looking = async {
            match batch.waits {
                true => doubt::ask(connection, notices).await,
                false => Look::NoDoubt,
            }
        };
        let (sent, ended, look) = if inserts.len() == 0 {
            tokio::join!(biased; opening, ending, looking)
        } else {
            let mut sent = opening.await;
            for rows in inserts {
                if sent.is_ok() {
                    sent = noted(self.inserts(connection, (rows, batch.table), &name).await);
                }
            }
            let (ended, look) = tokio::join!(biased; ending, looking);
            (sent, ended, look)
        };
        match sent.and(ended) {
            Err(error) => Outcome::of(&error, is_committing.get()),
            Ok(()) => match (
                look.doubt(connection).await,
                connection.notices.since(notices),
            ) {
                (Some(doubt), _) => Outcome::Unknown(doubt.text().to_string()),
                (None, Some(notice)) => Outcome::Unknown(format!("PostgreSQL: {notice}")),
                (None, None) => Outcome::Kept,
            },
        }
    }

    async fn owns(
        &self,
        connection: &Connection,
        owner: Owner,
        batch: &Batch,
        name: &str,
    ) -> Result<(), Error> {
        if !batch.creates() {
            return Ok(());
        }
        let (epoch, claim) = (owner.epoch as i64, owner.claim as i64);
        let found = connection
            .client
            .query_one(&self.create_as_owner, &[&epoch, &claim, &name])
            .await;
        found.map(drop)
    }

    async fn moves(&self, connection: &Connection, batch: &Batch, name: &str) -> Result<(), Error> {
        let was = batch
            .changes
            .iter()
            .filter_map(|(id, c)| Some((*id, c, c.was?)));
        let was: Vec<_> = was.collect();
        if was.is_empty() {
            return Ok(());
        }
        let ids = signed(was.iter().map(|(id, _, _)| *id));
        let claims = signed(was.iter().map(|(_, change, _)| change.claim));
        let before = signed(was.iter().map(|(_, _, was)| *was));
        let tails = Tails::of(was.iter().map(|(_, change, _)| change.tail));
        let moved = connection
            .client
            .query_one(
                &self.transition,
                &[
                    &ids,
                    &claims,
                    &before,
                    &tails.heads,
                    &tails.crcs,
                    &tails.versions,
                    &tails.incarnations,
                    &tails.serials_below,
                    &tails.are_removed,
                    &name,
                ],
            )
            .await;
        moved.map(drop)
    }

    async fn frees(&self, connection: &Connection, batch: &Batch, name: &str) -> Result<(), Error> {
        let removed = batch.changes.iter().filter(|(_, c)| c.tail.is_removed);
        let removed = signed(removed.map(|(id, _)| *id));
        if removed.is_empty() {
            return Ok(());
        }
        let client = &connection.client;
        let freed = client.execute(&self.free, &[&removed, &name]).await;
        freed.map(drop)
    }

    async fn creates(
        &self,
        connection: &Connection,
        owner: Owner,
        batch: &Batch,
        name: &str,
    ) -> Result<(), Error> {
        let new = batch
            .changes
            .iter()
            .filter(|(_, change)| change.was.is_none());
        let new: Vec<_> = new.collect();
        if new.is_empty() {
            return Ok(());
        }
        let ids = signed(new.iter().map(|(id, _)| **id));
        let claims = signed(new.iter().map(|(_, change)| change.claim));
        let paths: Vec<&[u8]> = new
            .iter()
            .map(|(_, change)| change.path.as_bytes())
            .collect();
        let tails = Tails::of(new.iter().map(|(_, change)| change.tail));
        let created = connection
            .client
            .execute(
                &self.create,
                &[
                    &ids,
                    &claims,
                    &tails.heads,
                    &tails.crcs,
                    &tails.versions,
                    &tails.incarnations,
                    &tails.serials_below,
                    &tails.are_removed,
                    &paths,
                    &name,
                    &(owner.epoch as i64),
                ],
            )
            .await;
        created.map(drop)
    }

    async fn inserts(
        &self,
        connection: &Connection,
        (rows, table): (&[Row], usize),
        name: &str,
    ) -> Result<(), Error> {
        if rows.is_empty() {
            return Ok(());
        }
        let segments = signed(rows.iter().map(|row| row.segment));
        let numbers = signed(rows.iter().map(|row| row.number));
        let parts: Vec<i32> = rows.iter().map(|row| row.part as i32).collect();
        let counts: Vec<i32> = rows.iter().map(|row| row.parts as i32).collect();
        let crcs: Vec<i32> = rows.iter().map(|row| row.crc as i32).collect();
        let headers: Vec<&[u8]> = rows.iter().map(|row| &row.header[..]).collect();
        let bytes: Vec<&[u8]> = rows.iter().map(|row| &row.bytes[..]).collect();
        let inserted = connection
            .client
            .execute(
                &self.inserts[table],
                &[
                    &segments, &numbers, &parts, &counts, &crcs, &headers, &bytes, &name,
                ],
            )
            .await;
        inserted.map(drop)
    }
}

/// The columns of ends.
#[derive(Default)]
struct Tails {
    heads: Vec<i64>,
    crcs: Vec<i32>,
    versions: Vec<i64>,
    incarnations: Vec<i64>,
    serials_below: Vec<i64>,
    are_removed: Vec<bool>,
}

impl Tails {
    fn of(tails: impl Iterator<Item = crate::segments::Tail>) -> Tails {
        let mut columns = Tails::default();
        for tail in tails {
            columns.heads.push(tail.head as i64);
            columns.crcs.push(tail.crc as i32);
            columns.versions.push(tail.version as i64);
            columns.incarnations.push(tail.incarnation as i64);
            columns.serials_below.push(tail.serials_below as i64);
            columns.are_removed.push(tail.is_removed);
        }
        columns
    }
}

/// Cuts rows into those of one statement each.
fn cut(rows: &[Row]) -> Vec<&[Row]> {
    let mut cuts = Vec::new();
    let (mut begin, mut bytes) = (0, 0);
    for (index, row) in rows.iter().enumerate() {
        if bytes > 0 && bytes + row.bytes.len() > INSERT_BYTES {
            cuts.push(&rows[begin..index]);
            (begin, bytes) = (index, 0);
        }
        bytes += row.bytes.len();
    }
    if begin < rows.len() {
        cuts.push(&rows[begin..]);
    }
    cuts
}
