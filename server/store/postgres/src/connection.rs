//! A connection, and the notices that come on it.

use crate::outcome;
use crate::target::Target;
use crate::tls::Tls;
use interweave_store::StoreError;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio_postgres::{AsyncMessage, Client, Statement};

/// A server that stands still in a transaction is cut off after this time, so that it keeps no
/// other owner from its rows. No promise rests on it.
const SESSION: &str = "SET idle_in_transaction_session_timeout = '10s'";

/// What the server said unasked.
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

    pub fn last(&self) -> String {
        let last = self.last.lock();
        last.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub struct Connection {
    pub client: Client,
    pub notices: Arc<Notices>,
    pub schema: String,
}

impl Connection {
    pub async fn open(target: &Target) -> Result<Connection, StoreError> {
        let wrong = |text: String| StoreError::Io(format!("{}: {text}", target.name()));
        let tls = Tls::of(target).map_err(wrong)?;
        let config = target.with_password().map_err(wrong)?;
        let connected = config.connect(tls).await;
        let (client, mut connection) = connected.map_err(|e| wrong(outcome::text_of(&e)))?;
        let notices = Arc::new(Notices::default());
        let heard = Arc::clone(&notices);
        // A notice that the server sends before an answer is counted before the answer is heard.
        tokio::spawn(async move {
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
        };
        connection.run(SESSION).await?;
        Ok(connection)
    }

    pub fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Runs statements whose results nobody reads.
    pub async fn run(&self, statements: &str) -> Result<(), StoreError> {
        let run = self.client.batch_execute(statements).await;
        run.map_err(|error| outcome::failed(&error))
    }

    pub async fn prepare(&self, statement: &str) -> Result<Statement, StoreError> {
        let statement = crate::schema::in_schema(statement, &self.schema);
        let prepared = self.client.prepare(&statement).await;
        prepared.map_err(|error| outcome::failed(&error))
    }
}
