//! The servers of a URL, of which a client is connected with one at a time [SPACE-46] [SPACE-47].

use super::redirect::space_of;
use super::{Client, ClientError, Greeting, OwnTokens, PATIENCE};
use interweave_wire::mip::{Address, Servers};
use interweave_wire::protocol::RedirectField;
use std::io;
use std::time::Instant;

/// Which server of a URL is asked next, and what the client knows of all.
#[derive(Debug, Clone)]
pub struct Ring {
    servers: Servers,
    /// The place of the server that is asked first: the last one that welcomed the client. After
    /// the last place comes the first.
    first: usize,
    /// The space of the server that welcomed the client first. Only several servers must agree.
    space: Option<[u8; 16]>,
    own_tokens: OwnTokens,
}

impl Ring {
    pub fn new(servers: Servers) -> Ring {
        Ring {
            servers,
            first: 0,
            space: None,
            own_tokens: OwnTokens::default(),
        }
    }

    /// Connects to the next server that welcomes the client, and returns its address, too. Each
    /// server is asked once, without a pause; the last one that welcomed the client is asked first.
    /// An error other than one of reaching a server is final [SPACE-46]: no other server is
    /// asked.
    pub fn connect(&mut self, greeting: &Greeting) -> Result<(Client, Address), ClientError> {
        let servers: Vec<Address> = self.servers.iter().cloned().collect();
        let mut failed = Vec::new();
        for tried in 0..servers.len() {
            let at = (self.first + tried) % servers.len();
            let server = &servers[at];
            let error = match self.ask(server, greeting.clone()) {
                Ok(client) => {
                    self.first = at;
                    return Ok((client, server.clone()));
                }
                Err(error) => error,
            };
            let is_final = !error.is_lost();
            failed.push((server.clone(), error));
            if is_final {
                break;
            }
        }
        if self.servers.only().is_some() {
            if let Some((_, error)) = failed.pop() {
                return Err(error);
            }
        }
        Err(ClientError::NotWelcomed(failed))
    }

    /// Follows a server of the space that sends the client on, encrypted as the ring's servers are
    /// [SPACE-11]. If it cannot be reached, one of the ring's servers passes the client on
    /// [SPACE-49].
    pub fn follow(
        &mut self,
        client: &Client,
        to: &RedirectField,
        greeting: Greeting,
    ) -> Result<Client, ClientError> {
        let (is_secure, own) = (self.servers.is_secure(), &mut self.own_tokens);
        let error = match client.follow(to, is_secure, greeting.clone(), own) {
            Ok(next) => return Ok(next),
            Err(error) => error,
        };
        let is_out_of_reach = error.is_lost() || matches!(error, ClientError::TimedOut);
        if !to.relay || !is_out_of_reach {
            return Err(error);
        }
        let relay = Some(to.clone());
        let (next, _) = self.connect(&Greeting { relay, ..greeting })?;
        client.of_same_space(to, next)
    }

    fn ask(&mut self, server: &Address, greeting: Greeting) -> Result<Client, ClientError> {
        let several = self.servers.only().is_none();
        // One that does not answer leaves time to ask the others.
        let until = Instant::now() + PATIENCE / self.servers.iter().len() as u32;
        let asked = Client::connect_named((server, None), greeting, &mut self.own_tokens, until);
        let client = match asked {
            Err(ClientError::TimedOut) if several => return Err(silent()),
            asked => asked?,
        };
        let found = space_of(client.welcome())?;
        if several {
            match (self.space, found) {
                (None, Some(_)) => {}
                (Some(first), Some(found)) if first == found => {}
                _ => return Err(of_another_space()),
            }
        }
        self.space = found;
        Ok(client)
    }
}

fn silent() -> ClientError {
    let kind = io::ErrorKind::TimedOut;
    ClientError::Unreachable(io::Error::new(kind, "it did not answer in time"))
}

fn of_another_space() -> ClientError {
    ClientError::Unreachable(io::Error::other("it serves another space"))
}
