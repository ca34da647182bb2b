//! A connection, and the notices that come on it.

use crate::doubt::Reloads;
use crate::hosts;
use crate::outcome;
use crate::store::Options;
use crate::target::Target;
use crate::waits;
use interweave_store::StoreError;
use std::future::{poll_fn, Future};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::AbortHandle;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Row, Statement};

/// A server that stands still in a transaction is cut off after this time, so that it keeps no
/// other owner from its rows. No promise rests on it.
const IDLE: Duration = Duration::from_secs(10);
/// Of a server of a space: so short that the others can claim its segments when its lease is over,
/// and so long that a busy machine does not reach it.
const LEAST_IDLE: Duration = Duration::from_secs(1);

/// The messages that the server sent unasked.
#[derive(Debug, Default)]
pub struct Notices {
    count: AtomicU64,
    last: Mutex<String>,
}

impl Notices {
    fn add(&self, text: &str) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = text.to_string();
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    pub fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Returns the last one. None: none has come since there were so many.
    pub fn since(&self, before: u64) -> Option<String> {
        let last = || {
            let last = self.last.lock();
            last.unwrap_or_else(PoisonError::into_inner).clone()
        };
        (self.count() != before).then(last)
    }
}

/// A name in quotes: as it is, and not taken for a word of SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

type Parameters<'a> = &'a [&'a (dyn ToSql + Sync)];

pub struct Connection {
    pub client: Client,
    pub notices: Arc<Notices>,
    pub schema: String,
    /// The same as it stands in statements.
    quoted: String,
    breaks: AbortHandle,
    /// So long a transaction may be idle.
    pub idle: Duration,
    /// Commits that wait do so for a standby: one without is in doubt.
    pub wants_standby: bool,
    pub reloads: Reloads,
}

impl Connection {
    /// A connection of a store with those options.
    pub async fn of(options: &Options) -> Result<Connection, StoreError> {
        let idle = options.member.as_ref().map(|member| member.lease / 2);
        let idle = idle.map_or(IDLE, |idle| idle.clamp(LEAST_IDLE, IDLE));
        let mut connection = Connection::open_for(&options.target, idle).await?;
        connection.wants_standby = !options.is_alone;
        connection.reloads = Reloads::by(&options.now);
        Ok(connection)
    }

    /// A connection of which no commit needs a standby.
    pub async fn open(target: &Target) -> Result<Connection, StoreError> {
        Connection::open_for(target, IDLE).await
    }

    async fn open_for(target: &Target, idle: Duration) -> Result<Connection, StoreError> {
        let (client, mut connection) = hosts::connect(target).await?;
        let notices = Arc::new(Notices::default());
        let heard = Arc::clone(&notices);
        // A notice that the server sends before an answer is counted before the answer is heard.
        let driven = tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notice(notice) = message {
                    tracing::debug!("{}: {}", notice.severity(), notice.message());
                    heard.add(notice.message());
                }
            }
        });
        let connection = Connection {
            client,
            notices,
            schema: target.schema.clone(),
            quoted: quoted(&target.schema),
            breaks: driven.abort_handle(),
            idle,
            wants_standby: false,
            reloads: Reloads::default(),
        };
        // A time limit of the role for statements would cut off the reading of large segments.
        let session = format!(
            "SET idle_in_transaction_session_timeout = {}; SET statement_timeout = 0",
            idle.as_millis()
        );
        connection.soon(connection.run(&session)).await?;
        Ok(connection)
    }

    /// Waits for an answer of the database, but no longer than a short transaction takes.
    pub async fn soon<T>(
        &self,
        asked: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let answered = tokio::time::timeout(waits::SHORT, asked).await;
        answered.unwrap_or_else(|_| {
            self.breaks.abort();
            Err(StoreError::Away(format!(
                "PostgreSQL has said nothing for {:?}",
                waits::SHORT
            )))
        })
    }

    /// Breaks the connection, from any thread: a statement that waits for its answer fails.
    pub fn breaks(&self) -> AbortHandle {
        self.breaks.clone()
    }

    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Puts the schema's name into a statement.
    pub fn sql(&self, statement: &str) -> String {
        statement.replace("{s}", &self.quoted)
    }

    /// Runs statements whose results nobody reads.
    pub async fn run(&self, statements: &str) -> Result<(), StoreError> {
        let run = self.client.batch_execute(&self.sql(statements)).await;
        run.map_err(|error| outcome::failed(&error))
    }

    pub async fn prepare(&self, statement: &str) -> Result<Statement, StoreError> {
        let prepared = self.client.prepare(&self.sql(statement)).await;
        prepared.map_err(|error| outcome::failed(&error))
    }

    pub async fn rows(&self, statement: &str, of: Parameters<'_>) -> Result<Vec<Row>, StoreError> {
        let rows = self.client.query(&self.sql(statement), of).await;
        rows.map_err(|error| outcome::failed(&error))
    }

    /// The rows of a prepared statement.
    pub async fn rows_of(
        &self,
        statement: &Statement,
        of: Parameters<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.client.query(statement, of).await;
        rows.map_err(|error| outcome::failed(&error))
    }

    /// Returns the only row of a statement that gives one.
    pub async fn one(&self, statement: &str, of: Parameters<'_>) -> Result<Row, StoreError> {
        let row = self.client.query_one(&self.sql(statement), of).await;
        row.map_err(|error| outcome::failed(&error))
    }

    /// Returns the number of rows that the statement changed.
    pub async fn execute(&self, statement: &str, of: Parameters<'_>) -> Result<u64, StoreError> {
        let changed = self.client.execute(&self.sql(statement), of).await;
        changed.map_err(|error| outcome::failed(&error))
    }
}
