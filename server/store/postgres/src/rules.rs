//! Rules and tokens that the servers share: versions in a table [SPACE-40..45].

use crate::checks;
use crate::connection::Connection;
use crate::doubt::{self, Doubt};
use crate::hosts;
use crate::schema;
use crate::shared::Shared;
use crate::store::Options;
use crate::target::Target;
use crate::threads::{self, EventLoop};
use crate::transaction;
use interweave_store::{AccessSource, SharedAccess, StoreError};
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Row;

/// A look that takes longer has failed. A new connection may take longer, because a host may be
/// passed over.
const PATIENCE: Duration = Duration::from_secs(2);
/// The first look is that of a start. If it fails, the server does not begin.
const PATIENCE_OF_A_START: Duration = Duration::from_secs(10);
/// So many versions are kept.
const KEPT: i64 = 64;

/// The newest version, if it is another one than that. It may have a smaller number, or the same
/// one: a promoted standby may lack a version that servers have taken already.
const OTHER: &str = "
SELECT version, made_us, rules, tokens
FROM (SELECT version, (extract(epoch FROM made_at) * 1000000)::bigint AS made_us, rules, tokens
      FROM {s}.access ORDER BY version DESC LIMIT 1) AS newest
WHERE (version, made_us) <> ($1, $2)";

const TAKEN: &str = "UPDATE {s}.owner SET rules_version = $1 WHERE epoch = $2";

/// Two writers of one version meet at the primary key.
const WRITE: &str = "
INSERT INTO {s}.access (version, rules, tokens, note)
SELECT $1::bigint + 1, $2::bytea, $3::bytea, $4::text
WHERE coalesce((SELECT max(version) FROM {s}.access), 0) = $1
ON CONFLICT DO NOTHING";

const HISTORY: &str = "
SELECT version, to_char(made_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"'), made_by,
  note, coalesce(octet_length(rules), -1)::bigint, coalesce(octet_length(tokens), -1)::bigint
FROM {s}.access ORDER BY version DESC";

/// The versions of a server.
pub struct Source {
    options: Options,
    shared: Arc<Shared>,
    epoch: u64,
    runtime: EventLoop,
    connection: Option<Connection>,
    /// What the server's row says. None: that is not known.
    told: Option<u64>,
}

impl Source {
    pub fn of(options: &Options, shared: &Arc<Shared>, epoch: u64) -> Result<Source, StoreError> {
        Ok(Source {
            options: Options {
                // Rules are read without a standby.
                is_alone: true,
                ..options.clone()
            },
            shared: Arc::clone(shared),
            epoch,
            runtime: threads::event_loop()?,
            connection: None,
            told: None,
        })
    }
}

impl AccessSource for Source {
    fn other(&mut self, taken: (u64, i64)) -> Result<Option<SharedAccess>, StoreError> {
        let (version, made_us) = (taken.0 as i64, taken.1);
        let Source {
            options,
            shared,
            epoch,
            runtime,
            connection,
            told,
        } = self;
        let is_open = connection.as_ref().is_some_and(|c| !c.is_closed());
        let patience = match (&told, is_open) {
            (None, _) => PATIENCE_OF_A_START,
            (Some(_), true) => PATIENCE,
            (Some(_), false) => PATIENCE + hosts::longest(&options.target),
        };
        let look = async {
            if !is_open {
                *connection = None;
                *connection = Some(checks::connect(options, &shared.timelines).await?);
            }
            let connection = connection.as_ref().ok_or(StoreError::Closed)?;
            if *told != Some(taken.0) {
                let epoch = *epoch as i64;
                connection.execute(TAKEN, &[&version, &epoch]).await?;
                *told = Some(taken.0);
            }
            let rows = connection.rows(OTHER, &[&version, &made_us]).await?;
            Ok(rows.first().map(access_in))
        };
        let looked = runtime.block_on(async { tokio::time::timeout(patience, look).await });
        let looked = looked.unwrap_or_else(|_| {
            Err(StoreError::Io(format!(
                "the database has given no answer to a look for shared rules for {patience:?}"
            )))
        });
        if looked.is_err() {
            self.connection = None;
        }
        looked
    }
}

fn access_in(row: &Row) -> SharedAccess {
    SharedAccess {
        version: row.get::<_, i64>(0) as u64,
        made_us: row.get(1),
        rules: row.get(2),
        tokens: row.get(3),
    }
}

/// A version as the history shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Past {
    pub version: u64,
    /// When it was written, by the database's clock: `2026-01-31T12:00:00Z`.
    pub at: String,
    /// The role of the database that wrote it.
    pub by: String,
    pub note: String,
    /// None: it has no such text.
    pub rules_bytes: Option<u64>,
    pub tokens_bytes: Option<u64>,
}

/// The outcome of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    Kept,
    /// No standby is named, so it may be lost with the primary.
    InOneCopy,
    /// The store has a newer one, and nothing was written.
    NotNewest,
}

/// The shared rules of a store, for a person who looks at them or writes them.
pub struct SharedRules {
    runtime: EventLoop,
    connection: Connection,
}

impl SharedRules {
    /// Connects to the database. An error: it is not a primary, or no server of this version has
    /// made its tables.
    pub fn open(target: &Target) -> Result<SharedRules, StoreError> {
        let runtime = threads::event_loop()?;
        let connection = runtime.block_on(async {
            let mut connection = Connection::open(target).await?;
            connection.wants_standby = true;
            checks::check(&connection, true).await?;
            match schema::state(&connection).await? {
                Some((version, _)) if version >= schema::WITH_RULES => Ok(connection),
                _ => Err(StoreError::Io(format!(
                    "the schema {} has no table of shared rules; start a server of this version on \
                     it once",
                    target.schema
                ))),
            }
        })?;
        Ok(SharedRules {
            runtime,
            connection,
        })
    }

    /// The newest version. None: the store has no rules.
    pub fn newest(&self) -> Result<Option<SharedAccess>, StoreError> {
        let rows = self.connection.rows(OTHER, &[&0_i64, &0_i64]);
        let rows = self.runtime.block_on(rows)?;
        Ok(rows.first().map(access_in))
    }

    /// All versions that are kept, the newest first.
    pub fn history(&self) -> Result<Vec<Past>, StoreError> {
        let rows = self.runtime.block_on(self.connection.rows(HISTORY, &[]))?;
        let bytes = |row: &Row, index| u64::try_from(row.get::<_, i64>(index)).ok();
        let past = |row: &Row| Past {
            version: row.get::<_, i64>(0) as u64,
            at: row.get(1),
            by: row.get(2),
            note: row.get(3),
            rules_bytes: bytes(row, 4),
            tokens_bytes: bytes(row, 5),
        };
        Ok(rows.iter().map(past).collect())
    }

    /// Writes the version after `access.version`, which must be the newest (0: the store
    /// has none). REQUIRES: the texts parse.
    pub fn write(&self, access: &SharedAccess, note: &str) -> Result<Pushed, StoreError> {
        self.runtime.block_on(self.try_to_write(access, note))
    }

    async fn try_to_write(&self, access: &SharedAccess, note: &str) -> Result<Pushed, StoreError> {
        let connection = &self.connection;
        let notices = connection.notices.count();
        connection.run(&transaction::begin(true)).await?;
        let SharedAccess {
            version,
            rules,
            tokens,
            ..
        } = access;
        let before = *version as i64;
        let written = connection
            .execute(WRITE, &[&before, rules, tokens, &note])
            .await?;
        if written == 0 {
            connection.run("ROLLBACK").await?;
            return Ok(Pushed::NotNewest);
        }
        let older = "DELETE FROM {s}.access WHERE version <= $1";
        connection.execute(older, &[&(before + 1 - KEPT)]).await?;
        connection.run("COMMIT").await?;
        match doubt::look(connection, notices).await {
            // A role that may not see the standbys believes the commit.
            None | Some(Doubt::Unseen) => Ok(Pushed::Kept),
            // A store of one copy has no other one.
            Some(Doubt::Alone) => Ok(Pushed::InOneCopy),
            Some(doubt) => Err(doubt.error(&format!(
                "version {} is written, but perhaps not on the standby; look at it with \
                 `interweave rules history`",
                before + 1
            ))),
        }
    }
}
