//! A server, a store and this process's environment, which checks look at. The connection, which
//! several checks need, is made once.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use interweave_server::client::{Client, ClientError, Greeting, Ring};
use interweave_store_postgres::Checked;
use interweave_wire::mip::{Address, Servers};

use super::database::Database;
use crate::http::{place_beside, Place};

/// A server that answered the hello.
pub struct Connected {
    pub server: Address,
    pub greeted_in: Duration,
    pub client: std::cell::RefCell<Client>,
}

pub struct Subject {
    servers: Servers,
    /// The user named the server, so it should be there.
    pub server_is_named: bool,
    /// Where the server answers HTTP, if the user named that.
    named_http: Option<Place>,
    /// None if the user has no home directory and named no folder.
    pub store: Option<PathBuf>,
    pub store_is_named: bool,
    /// The store, if it is a database. Then no folder is one.
    pub database: Option<Database>,
    inspected: OnceCell<Result<Vec<Checked>, String>>,
    connected: OnceCell<Result<Connected, ClientError>>,
}

impl Subject {
    pub fn new(servers: Servers, http: Option<Place>, store: Option<PathBuf>) -> Subject {
        Subject {
            servers,
            server_is_named: false,
            named_http: http,
            store,
            store_is_named: false,
            database: None,
            inspected: OnceCell::new(),
            connected: OnceCell::new(),
        }
    }

    /// Returns the findings about the database. None: the store is a folder.
    pub fn inspected(&self) -> Option<&Result<Vec<Checked>, String>> {
        let database = self.database.as_ref()?;
        Some(self.inspected.get_or_init(|| database.inspect()))
    }

    /// The server that is looked at: the first that welcomes this client, or else the last that was
    /// asked.
    pub fn server(&self) -> &Address {
        match self.servers.only() {
            Some(only) => only,
            None => match self.connected() {
                Ok(connected) => &connected.server,
                Err(ClientError::NotWelcomed(asked)) => {
                    asked.last().map_or(self.servers.first(), |(last, _)| last)
                }
                Err(_) => self.servers.first(),
            },
        }
    }

    /// Where the server answers HTTP. None: nobody can tell without being told.
    pub fn http(&self) -> Option<Place> {
        let named = self.named_http.clone();
        named.or_else(|| place_beside(self.server()))
    }

    pub fn connected(&self) -> &Result<Connected, ClientError> {
        self.connected.get_or_init(|| {
            let greeting = Greeting {
                token: variable("IW_TOKEN").unwrap_or_default(),
                client: format!("interweave {} doctor (Rust)", env!("CARGO_PKG_VERSION")),
                ..Greeting::default()
            };
            let begun = Instant::now();
            let (client, server) = Ring::new(self.servers.clone()).connect(&greeting)?;
            Ok(Connected {
                server,
                greeted_in: begun.elapsed(),
                client: client.into(),
            })
        })
    }
}

/// A variable of the environment that is set, and not empty.
pub fn variable(name: &str) -> Option<String> {
    let value = std::env::var_os(name).filter(|value| !value.is_empty());
    value.map(|value| value.to_string_lossy().into_owned())
}
