//! Questions of a test to the database itself.

use std::path::Path;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, NoTls, Row};

pub const USER: &str = "iw";
pub const PORT: u16 = 5432;

/// A connection of the superuser.
pub struct Admin {
    runtime: Runtime,
    client: Client,
}

impl Admin {
    pub fn of(sockets: &Path) -> Admin {
        Admin::connect(sockets).unwrap()
    }

    /// An error if no server listens at the socket.
    pub fn connect(sockets: &Path) -> Result<Admin, tokio_postgres::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut config = Config::new();
        config
            .host_path(sockets)
            .port(PORT)
            .user(USER)
            .dbname("postgres");
        let (client, connection) = runtime.block_on(config.connect(NoTls))?;
        runtime.spawn(async move {
            // Its end is seen by the client.
            let _ = connection.await;
        });
        Ok(Admin { runtime, client })
    }

    pub fn run(&self, statements: &str) {
        let run = self.client.batch_execute(statements);
        self.runtime
            .block_on(run)
            .unwrap_or_else(|error| panic!("{statements}: {error:?}"));
    }

    pub fn rows(&self, statement: &str, parameters: &[&(dyn ToSql + Sync)]) -> Vec<Row> {
        let rows = self.client.query(statement, parameters);
        self.runtime
            .block_on(rows)
            .unwrap_or_else(|error| panic!("{statement}: {error:?}"))
    }

    pub fn number(&self, statement: &str) -> i64 {
        self.rows(statement, &[])[0].get(0)
    }

    /// The session that waits for the standby with a commit, once there is one.
    pub fn waiting(&self) -> i64 {
        loop {
            let found = "SELECT coalesce(max(pid), 0)::bigint FROM pg_stat_activity \
                         WHERE wait_event = 'SyncRep'";
            match self.number(found) {
                0 => std::thread::yield_now(),
                pid => return pid,
            }
        }
    }
}
