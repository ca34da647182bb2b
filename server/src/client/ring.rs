//! The servers of a URL, of which a client is connected with one at a time [SPACE-46] [SPACE-47].

use super::redirect::{space_of, EACH_WAY};
use super::{Client, ClientError, Greeting, OwnTokens, PATIENCE};
use interweave_wire::fields::readable;
use interweave_wire::mip::{Address, Servers};
use interweave_wire::protocol::{ErrorCode, RedirectField};
use interweave_wire::Rejection;
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
    /// [SPACE-49]. An error that is one of a lost connection: the owner is away, and another server
    /// may take the segment over [SPACE-55].
    pub fn follow(
        &mut self,
        client: &Client,
        to: &RedirectField,
        greeting: Greeting,
    ) -> Result<Client, ClientError> {
        let (is_secure, own) = (self.servers.is_secure(), &mut self.own_tokens);
        let error = match client.follow(to, is_secure, greeting.clone(), own) {
            Ok(next) => return Ok(next),
            Err(error) if is_away(&error) => error,
            Err(error) => return Err(error),
        };
        if !to.relay {
            return Err(self.owner_away(to, &error));
        }
        let relay = Some(to.clone());
        match self.connect(&Greeting { relay, ..greeting }) {
            Ok((next, _)) => client.of_same_space(to, next),
            Err(relayed) if is_away(&relayed) => {
                let by = self.servers.only().map(|only| format!(" by {only}"));
                let by = by.unwrap_or_default();
                let why = format!("{}; passed on{by}: {}", reason(&error), reason(&relayed));
                Err(self.owner_away(to, &ClientError::Unreachable(io::Error::other(why))))
            }
            Err(error) => Err(error),
        }
    }

    /// The error of a request whose owner cannot be reached, or was lost before it answered.
    pub fn owner_away(&self, to: &RedirectField, why: &ClientError) -> ClientError {
        // It may stop, or be busy with the segment: the text says which.
        let (code, what) = match why.code() == Some(ErrorCode::Stopping) {
            true => (ErrorCode::Stopping, "does not serve this now"),
            false => (ErrorCode::Unreachable, "cannot be reached"),
        };
        let first = self.servers.iter().nth(self.first);
        let first = first.unwrap_or(self.servers.first());
        let scheme = if self.servers.is_secure() {
            "iws"
        } else {
            "iw"
        };
        let text = format!(
            "the server {scheme}://{}, to which this client was sent on, {what}: {}; \
             `interweave status {first}` says whether it lives",
            readable(&to.address),
            reason(why)
        );
        ClientError::Refused(Rejection::new(code, text))
    }

    fn ask(&mut self, server: &Address, greeting: Greeting) -> Result<Client, ClientError> {
        let several = self.servers.only().is_none();
        // One that does not answer leaves time to ask the others.
        let patience = match greeting.relay {
            Some(_) => EACH_WAY,
            None => PATIENCE / self.servers.iter().len() as u32,
        };
        let until = Instant::now() + patience;
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

/// Whether a server could not be reached.
fn is_away(error: &ClientError) -> bool {
    error.is_lost() || matches!(error, ClientError::TimedOut)
}

/// Returns the reason for which a server could not be reached. The text around it names the server.
fn reason(error: &ClientError) -> String {
    match error {
        ClientError::Unreachable(error) => error.to_string(),
        error => error.to_string(),
    }
}

fn silent() -> ClientError {
    let kind = io::ErrorKind::TimedOut;
    ClientError::Unreachable(io::Error::new(kind, "it did not answer in time"))
}

fn of_another_space() -> ClientError {
    ClientError::Unreachable(io::Error::other("it serves another space"))
}
