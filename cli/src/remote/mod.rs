//! The requests of commands: they list, fetch, watch, change and remove segments.
//! `interweave_server::client` speaks the protocol. This file finds the servers, adds their names
//! to errors, and says what to do.

mod open_segment;

pub use open_segment::{lock_lost, Change, Event};

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use interweave_server::client::{Client, ClientError, Greeting, OpenOptions, Ring, MOST_HOPS};
use interweave_wire::mip::{Address, HostAndPort, Servers};
use interweave_wire::protocol::{
    AccessReloaded, ErrorCode, ListedPlace, MemberList, RedirectField, SegmentFollowed,
    SegmentInfo, SegmentOpened, SegmentPlace, MAX_TOKEN,
};
use interweave_wire::Url;

use crate::failure::Failure;

/// The time between two attempts to connect again.
const PAUSE: Duration = Duration::from_millis(200);

pub struct Remote {
    client: Client,
    ring: Ring,
    /// The server that welcomed this client.
    server: Address,
    /// How another server named this one. Its certificate has that name.
    sent_to: Option<RedirectField>,
    /// The user was told that an owner is away.
    has_said: bool,
}

/// When a request may be made again.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Repeated {
    /// The owner may have done it already.
    Always,
    /// Only if it was not sent to the owner.
    Unsent,
}

/// The reason for which a request about a segment has no answer.
enum Unanswered {
    /// Another server may take the segment over.
    OwnerIsAway(ClientError),
    /// The server that was asked first stops, or the connection to it is gone. It may have had the
    /// request.
    IsLost(ClientError),
    Failed(ClientError),
}

impl Remote {
    /// Connects to the first server that welcomes this client.
    pub fn connect(servers: &Servers) -> Result<Remote, Failure> {
        if token().len() > MAX_TOKEN as usize {
            return Err(Failure::new(format!(
                "IW_TOKEN is longer than {MAX_TOKEN} bytes"
            )));
        }
        let mut ring = Ring::new(servers.clone());
        let connected = ring.connect(&greeting());
        let (client, server) = connected.map_err(|error| failure_at(servers.first(), &error))?;
        Ok(Remote {
            client,
            ring,
            server,
            sent_to: None,
            has_said: false,
        })
    }

    /// The server that welcomed this client.
    pub fn server(&self) -> &Address {
        &self.server
    }

    /// Makes a request about a segment, and goes where its servers send it [SPACE-10]. From then on
    /// the connection is that of the segment's owner. If the owner is away, asks again until
    /// another server has taken the segment over [SPACE-55].
    fn where_it_is<T>(
        &mut self,
        repeated: Repeated,
        request: impl FnMut(&mut Client) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        self.where_it_went(None, repeated, request)
    }

    /// The same. A server has sent this client there already, for another request.
    fn where_it_went<T>(
        &mut self,
        mut there: Option<RedirectField>,
        repeated: Repeated,
        mut request: impl FnMut(&mut Client) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        let until = Instant::now() + self.client.patience;
        let mut may_connect = repeated == Repeated::Always;
        loop {
            let away = match self.ask_along(there.take(), repeated, &mut request) {
                Ok(answer) => return Ok(answer),
                Err(Unanswered::OwnerIsAway(error)) => error,
                // It stops, or is gone. Another one of the URL may serve.
                Err(Unanswered::IsLost(_)) if may_connect => {
                    (self.client, self.server) = self.ring.connect(&greeting())?;
                    may_connect = false;
                    continue;
                }
                Err(Unanswered::IsLost(error) | Unanswered::Failed(error)) => return Err(error),
            };
            if Instant::now() + PAUSE >= until {
                return Err(away);
            }
            self.say_once(&away);
            sleep(PAUSE);
            may_connect = repeated == Repeated::Always;
            if repeated == Repeated::Unsent {
                // On a connection that has just answered the request is lost by no old closing.
                (self.client, self.server) = self.ring.connect(&greeting())?;
            }
        }
    }

    /// Asks the server that this client is connected to, or the one `there`, and where its servers
    /// send it. Stays at the server that answered.
    fn ask_along<T>(
        &mut self,
        there: Option<RedirectField>,
        repeated: Repeated,
        request: &mut impl FnMut(&mut Client) -> Result<T, ClientError>,
    ) -> Result<T, Unanswered> {
        let mut owner = match there {
            Some(to) => Some(self.connect_there(None, to)?),
            None => None,
        };
        for hops in 0.. {
            let client = match &mut owner {
                Some((_, client)) => client,
                None => &mut self.client,
            };
            let error = match request(client) {
                Ok(answer) => {
                    if let Some((_, client)) = owner {
                        self.client = client;
                    }
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let Some(to) = error.redirect().filter(|_| hops < MOST_HOPS) else {
                return Err(match owner {
                    Some((to, _)) => self.unanswered(&to, repeated, error),
                    None if error.is_lost() || error.code() == Some(ErrorCode::Stopping) => {
                        Unanswered::IsLost(error)
                    }
                    None => Unanswered::Failed(error),
                });
            };
            owner = Some(self.connect_there(owner.as_ref(), to)?);
        }
        unreachable!("a client is sent on a bounded number of times")
    }

    /// Connects to the server to which `by` has sent this client. None: the server that it is
    /// connected to.
    fn connect_there(
        &mut self,
        by: Option<&(RedirectField, Client)>,
        to: RedirectField,
    ) -> Result<(RedirectField, Client), Unanswered> {
        let by = by.map_or(&self.client, |(_, client)| client);
        match self.ring.follow(by, &to, greeting()) {
            Ok(client) => Ok((to, client)),
            Err(error) if error.is_lost() => Err(Unanswered::OwnerIsAway(error)),
            Err(error) => Err(Unanswered::Failed(error)),
        }
    }

    /// The owner was asked.
    fn unanswered(&self, to: &RedirectField, repeated: Repeated, why: ClientError) -> Unanswered {
        let is_lost = why.is_lost();
        match is_lost || matches!(why, ClientError::TimedOut) {
            false => Unanswered::Failed(why),
            true if is_lost && repeated == Repeated::Always => {
                Unanswered::OwnerIsAway(self.ring.owner_away(to, &why))
            }
            true => Unanswered::Failed(self.ring.owner_away(to, &why)),
        }
    }

    /// A user who waits is told what for.
    fn say_once(&mut self, why: &ClientError) {
        if !self.has_said {
            eprintln!("interweave: {why}; waiting until a server has the segment");
        }
        self.has_said = true;
    }

    /// Connects in place of a connection that was lost, to the server that welcomed this client or
    /// to the next one that does. After an error nothing has changed.
    pub fn connect_again(&mut self) -> Result<(), ClientError> {
        match &self.sent_to {
            Some(to) => self.client = self.ring.follow(&self.client, to, greeting())?,
            None => (self.client, self.server) = self.ring.connect(&greeting())?,
        }
        Ok(())
    }

    /// The same. Waits while the server is away, or may not serve for a moment [SPACE-2].
    pub fn connect_again_within(&mut self, patience: Duration) -> Result<(), Failure> {
        let until = Instant::now() + patience;
        loop {
            match self.connect_again() {
                Err(error) if error.is_lost() && Instant::now() < until => sleep(PAUSE),
                connected => return connected.map_err(|error| self.failure(error)),
            }
        }
    }

    pub fn list(&mut self, prefix: &str) -> Result<Vec<SegmentInfo>, Failure> {
        let listed = self.client.list(prefix);
        listed.map_err(|error| self.failure(error))
    }

    /// The id of the space that the server belongs to.
    pub fn space(&self) -> Result<Option<[u8; 16]>, Failure> {
        self.client.space().map_err(|error| self.failure(error))
    }

    pub fn follow_segment(&mut self, path: &str) -> Result<SegmentFollowed, Failure> {
        let followed = self.client.follow_segment(path);
        followed.map_err(|error| self.failure(error))
    }

    /// Has the owner hand the segment over, wherever it is.
    pub fn hand_over(&mut self, path: &str, member: u64, wait: Duration) -> Result<(), Failure> {
        let asked = |client: &mut Client| client.hand_over(path, member, wait);
        let done = self.where_it_is(Repeated::Unsent, asked);
        done.map_err(|error| self.failure(error))
    }

    /// The same, with the place of each. A server of before has all of them itself.
    pub fn places(&mut self, prefix: &str) -> Result<Vec<ListedPlace>, Failure> {
        let place = |segment| ListedPlace {
            segment,
            place: SegmentPlace::Here,
            address: String::new(),
            tls_name: String::new(),
        };
        match self.client.places(prefix) {
            Ok(places) => Ok(places),
            Err(ClientError::Unexpected(_)) => {
                Ok(self.list(prefix)?.into_iter().map(place).collect())
            }
            Err(error) => Err(self.failure(error)),
        }
    }

    /// The servers of the space, as this one sees them.
    pub fn members(&mut self) -> Result<MemberList, Failure> {
        let members = self.client.members();
        members.map_err(|error| self.failure(error))
    }

    pub fn drain(&mut self) -> Result<(), Failure> {
        self.client.drain().map_err(|error| self.failure(error))
    }

    /// Connects to another server of the space.
    pub fn sent_to(&mut self, to: &RedirectField) -> Result<Remote, Failure> {
        let followed = self.ring.follow(&self.client, to, greeting());
        let client = followed.map_err(|error| self.failure(error))?;
        let is_secure = matches!(self.server, Address::Tcp { secure: true, .. });
        let scheme = if is_secure { "iws" } else { "iw" };
        let server = Address::parse(&format!("{scheme}://{}", to.address));
        let server = server.unwrap_or_else(|| self.server.clone());
        Ok(Remote {
            client,
            ring: Ring::new(server.clone().into()),
            server,
            sent_to: Some(to.clone()),
            has_said: false,
        })
    }

    pub fn reload_access(&mut self) -> Result<AccessReloaded, Failure> {
        let reloaded = self.client.reload_access();
        reloaded.map_err(|error| self.failure(error))
    }

    /// Whether the server has stopped the segment because of damage.
    pub fn is_damaged(&mut self, path: &str) -> Result<bool, Failure> {
        match self.opened(path, &OpenOptions::reading()) {
            Ok(opened) => {
                let closed = self.client.close(opened.segment);
                closed.map_err(|error| self.failure(error)).map(|()| false)
            }
            Err(error) if error.is_lost() => Err(self.failure(error)),
            Err(ClientError::Refused(refusal)) => Ok(refusal.code == ErrorCode::Damaged),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Returns false, and not an error, if the segment does not exist.
    pub fn remove(&mut self, url: &Url, if_exists: bool) -> Result<bool, Failure> {
        match self.where_it_is(Repeated::Unsent, |client| client.remove(&url.path)) {
            Ok(()) => Ok(true),
            Err(error) if if_exists && error.code() == Some(ErrorCode::NoSegment) => Ok(false),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Opens the segment at the server that has it.
    fn opened(&mut self, path: &str, options: &OpenOptions) -> Result<SegmentOpened, ClientError> {
        self.where_it_is(Repeated::Always, |client| client.open(path, options))
    }

    /// Opens a segment that is to be made, at the server that is to have it. That server is asked
    /// once: a second request would find the segment that the first one has made.
    pub fn make(&mut self, path: &str, options: &OpenOptions) -> Result<SegmentOpened, Failure> {
        let made = self.where_it_is(Repeated::Unsent, |client| client.open(path, options));
        made.map_err(|error| self.failure(error))
    }

    /// Removes the segment if it exists and nothing was ever released to it.
    pub fn remove_if_empty(&mut self, url: &Url) -> Result<(), Failure> {
        match self.opened(&url.path, &OpenOptions::reading()) {
            Ok(opened) if opened.newest.number == 0 => self.remove(url, true).map(drop),
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some(ErrorCode::NoSegment) => Ok(()),
            Err(error) => Err(self.failure(error)),
        }
    }

    pub fn failure(&self, error: ClientError) -> Failure {
        let failure = failure_at(&self.server, &error);
        match error.code() {
            _ if error.is_lost() => failure.that_may_pass(),
            Some(ErrorCode::NoSegment | ErrorCode::Removed) => failure.of_what_is_gone(),
            _ => failure,
        }
    }
}

/// The token that this user shows, or none.
fn token() -> String {
    std::env::var("IW_TOKEN").unwrap_or_default()
}

fn greeting() -> Greeting {
    Greeting {
        token: token(),
        client: format!("interweave {} (Rust)", env!("CARGO_PKG_VERSION")),
        follows_moves: true,
        ..Greeting::default()
    }
}

/// Names the server and what to do.
pub fn failure_at(server: &Address, error: &ClientError) -> Failure {
    let server = address_text(server);
    Failure::new(match error {
        // The server's own words.
        ClientError::Refused(rejection) if rejection.code != ErrorCode::Malformed => {
            rejection.text.clone()
        }
        ClientError::Refused(rejection) => format!("{server}: {}", rejection.text),
        ClientError::Unreachable(error) => unreachable_text(&server, error),
        // It names each server.
        several @ ClientError::NotWelcomed(_) => several.to_string(),
        other => format!("{server}: {other}"),
    })
}

fn unreachable_text(server: &str, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => {
            "; is one running there? (interweave serve)"
        }
        io::ErrorKind::PermissionDenied => {
            "; it is another user's: ask whoever runs the server for write permission"
        }
        _ => "",
    };
    format!("cannot reach a server at {server}: {error}{advice}")
}

/// As people write it: without a scheme unless it asks for TLS.
pub fn address_text(address: &Address) -> String {
    match address {
        Address::Tcp { host, port, secure } => {
            let scheme = if *secure { "iws://" } else { "" };
            format!("{scheme}{}", HostAndPort(host, *port))
        }
        Address::Unix { file } => format!("unix:{file}"),
    }
}

/// The same of the servers of a URL, with commas between.
pub fn servers_text(servers: &Servers) -> String {
    let mut texts = servers.iter().map(address_text);
    let first = texts.next().unwrap_or_default();
    texts.fold(first, |all, next| {
        all + "," + next.trim_start_matches("iws://")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_fits_what_was_wrong() {
        let text = |kind: io::ErrorKind| unreachable_text("unix:/run/iw.sock", &kind.into());
        assert!(text(io::ErrorKind::ConnectionRefused).contains("is one running there?"));
        assert!(text(io::ErrorKind::NotFound).contains("is one running there?"));
        let forbidden = text(io::ErrorKind::PermissionDenied);
        assert!(!forbidden.contains("running"), "{forbidden}");
        assert!(forbidden.contains("write permission"), "{forbidden}");
    }
}
