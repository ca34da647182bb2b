//! A server, a store and this process's environment, which checks look at. The connection, which
//! several checks need, is made once.

use std::cell::OnceCell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use interweave_server::client::{Client, ClientError, Greeting};
use interweave_wire::mip::Address;

use crate::http::Place;

/// A server that answered the hello.
pub struct Connected {
    pub greeted_in: Duration,
    pub client: std::cell::RefCell<Client>,
}

pub struct Subject {
    pub server: Address,
    /// The user named the server, so it should be there.
    pub server_is_named: bool,
    /// Where the server answers HTTP.
    pub http: Option<Place>,
    /// None if the user has no home directory and named no folder.
    pub store: Option<PathBuf>,
    pub store_is_named: bool,
    connected: OnceCell<Result<Connected, ClientError>>,
}

impl Subject {
    pub fn new(server: Address, http: Option<Place>, store: Option<PathBuf>) -> Subject {
        Subject {
            server,
            server_is_named: false,
            http,
            store,
            store_is_named: false,
            connected: OnceCell::new(),
        }
    }

    pub fn connected(&self) -> &Result<Connected, ClientError> {
        self.connected.get_or_init(|| {
            let greeting = Greeting {
                token: variable("IW_TOKEN").unwrap_or_default(),
                client: format!("interweave {} doctor (Rust)", env!("CARGO_PKG_VERSION")),
                ..Greeting::default()
            };
            let begun = Instant::now();
            let client = Client::connect(&self.server, greeting)?;
            Ok(Connected {
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
