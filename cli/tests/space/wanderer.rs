//! A client that knows several servers of a space, and goes where the segment is.

use crate::clients::{all_equal, value, PATIENT};
use interweave_server::client::{
    Client, ClientError, Copy, Greeting, OpenOptions, OwnTokens, MOST_HOPS,
};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{
    Durability, MessageType, ReleaseResolved, ResolveRelease, SessionId,
};
use std::collections::HashMap;
use std::time::Duration;

const INTS: u64 = 16;
/// A server that says nothing for so long counts as dead for this client.
const PATIENCE: Duration = Duration::from_secs(5);

/// A release whose answer did not come.
#[derive(Debug)]
struct Doubt {
    session: SessionId,
    sequence: u64,
    value: i32,
}

/// The only writer of a segment: each value that it writes is one more than the last.
pub struct Wanderer {
    path: String,
    servers: Vec<Address>,
    /// The server that it asks next, of `servers`.
    next: usize,
    at: Option<(Client, Copy)>,
    /// The copy that it had where it was before.
    kept: Option<Copy>,
    /// Where its last server has sent it.
    sent_on: Option<Address>,
    /// It follows SEGMENT_MOVED; otherwise its connection is closed where a segment moves.
    follows_moves: bool,
    /// So many versions of the segment are not its own.
    before: u64,
    /// Its sessions, by their servers. A server that lives on still has their locks.
    sessions: HashMap<Address, SessionId>,
    sequence: u64,
    acknowledged: i32,
    doubt: Option<Doubt>,
}

impl Wanderer {
    pub fn new(path: &str, servers: Vec<Address>, first: usize) -> Wanderer {
        Wanderer {
            path: path.to_string(),
            servers,
            next: first,
            at: None,
            kept: None,
            sent_on: None,
            follows_moves: first.is_multiple_of(2),
            before: 0,
            sessions: HashMap::new(),
            sequence: 0,
            acknowledged: 0,
            doubt: None,
        }
    }

    /// The segment has so many versions before the first one of this writer.
    pub fn after(self, before: u64) -> Wanderer {
        Wanderer { before, ..self }
    }

    /// Opens the segment wherever it is.
    pub fn arrive(&mut self) -> Result<&mut (Client, Copy), ClientError> {
        if self.at.is_none() {
            let server = self.sent_on.take().unwrap_or_else(|| {
                self.next += 1;
                self.servers[(self.next - 1) % self.servers.len()].clone()
            });
            let follows = self.follows_moves;
            let (client, number) = opened(&server, &self.path, &mut self.sessions, follows)?;
            let mut copy = self.kept.take().unwrap_or_else(|| Copy::new(number));
            copy.reopened(number);
            self.at = Some((client, copy));
        }
        Ok(self.at.as_mut().expect("it has arrived"))
    }

    /// Writes the next value. An error: the connection is gone, and the next call asks another
    /// server. Panics if a promise is broken.
    pub fn write(&mut self) -> Result<u64, ClientError> {
        let written = self.try_to_write();
        if let Err(error) = &written {
            self.leave(error);
        }
        written
    }

    /// Reads the newest version; errors are as those of `write`.
    pub fn read(&mut self) -> Result<u64, ClientError> {
        let read = self.try_to_read();
        if let Err(error) = &read {
            self.leave(error);
        }
        read
    }

    fn leave(&mut self, why: &ClientError) {
        if let Some(to) = why.redirect() {
            self.sent_on = self.servers.iter().find(|s| is_at(s, &to.address)).cloned();
            assert!(
                self.sent_on.is_some(),
                "{} is not one of the servers",
                to.address
            );
        }
        self.kept = self.at.take().map(|(_, copy)| copy);
    }

    fn try_to_read(&mut self) -> Result<u64, ClientError> {
        let before = self.before;
        let (client, copy) = self.arrive()?;
        copy.fetch(client)?;
        let version = copy.stamp().number - before;
        let found = value(copy).unwrap_or(0);
        assert_eq!(version, found as u64, "{}: another content", self.path);
        Ok(version)
    }

    fn try_to_write(&mut self) -> Result<u64, ClientError> {
        self.arrive()?;
        self.sequence += 1;
        let sequence = self.sequence;
        let (client, copy) = self.at.as_mut().expect("it has arrived");
        let lock = copy.lock(client, PATIENT, sequence)?;
        let found = value(copy).unwrap_or(0);
        self.check(found)?;
        let (client, copy) = self.at.as_mut().expect("it has arrived");
        let diff = all_equal(copy, &lock, INTS, found + 1);
        self.doubt = Some(Doubt {
            session: client.welcome().session,
            sequence,
            value: found + 1,
        });
        let version = copy.release(client, &lock, diff)?.number - self.before;
        assert_eq!(version, (found + 1) as u64, "{}: applied once", self.path);
        self.acknowledged = found + 1;
        self.doubt = None;
        Ok(version)
    }

    /// The newest value is the last that was acknowledged, or one whose answer did not come. The
    /// server knows which [LOCK-9].
    fn check(&mut self, found: i32) -> Result<(), ClientError> {
        let Some(doubt) = &self.doubt else {
            assert_eq!(found, self.acknowledged, "{}: lost or double", self.path);
            return Ok(());
        };
        assert!(
            found == self.acknowledged || found == doubt.value,
            "{}: {found} after {} was acknowledged, {doubt:?}",
            self.path,
            self.acknowledged
        );
        let (client, copy) = self.at.as_mut().expect("it has arrived");
        let resolve = ResolveRelease {
            segment: copy.number(),
            session: doubt.session,
            sequence: doubt.sequence,
        };
        let (asked, answer) = (MessageType::ResolveRelease, MessageType::ReleaseResolved);
        let (resolved, _): (ReleaseResolved, _) = client.request(asked, &resolve, answer)?;
        assert_eq!(resolved.committed, found == doubt.value, "{}", self.path);
        self.acknowledged = found;
        self.doubt = None;
        Ok(())
    }
}

/// Whether that server is at HOST:PORT.
fn is_at(server: &Address, host_and_port: &str) -> bool {
    match server {
        Address::Tcp { host, port, .. } => format!("{host}:{port}") == host_and_port,
        Address::Unix { .. } => false,
    }
}

/// Resumes the session of that server, if there is one.
fn greeting(sessions: &HashMap<Address, SessionId>, at: &Address, follows_moves: bool) -> Greeting {
    Greeting {
        session: sessions.get(at).copied().unwrap_or_default(),
        follows_moves,
        ..Greeting::default()
    }
}

/// Connects, and goes where a server sends it [SPACE-10] [SPACE-11].
fn opened(
    server: &Address,
    path: &str,
    sessions: &mut HashMap<Address, SessionId>,
    follows: bool,
) -> Result<(Client, u32), ClientError> {
    let is_secure = matches!(server, Address::Tcp { secure: true, .. });
    let mut own = OwnTokens::default();
    let mut at = server.clone();
    let mut client = Client::connect(server, greeting(sessions, &at, follows))?;
    for _ in 0..=MOST_HOPS {
        sessions.insert(at, client.welcome().session);
        client.patience = PATIENCE;
        let options = OpenOptions::creating(Durability::Synced);
        let error = match client.open(path, &options) {
            Ok(opened) => return Ok((client, opened.segment)),
            Err(error) => error,
        };
        let Some(to) = error.redirect() else {
            return Err(error);
        };
        let scheme = if is_secure { "iws" } else { "iw" };
        at = Address::parse(&format!("{scheme}://{}", to.address)).expect("an address");
        client = client.follow(&to, is_secure, greeting(sessions, &at, follows), &mut own)?;
    }
    Err(ClientError::Unexpected(format!("{path} is nowhere")))
}
