//! The requests of commands: they list, fetch, watch, change and remove segments.
//! `interweave_server::client` speaks the protocol. This file adds the server's name to errors, and
//! says what to do.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use interweave_server::client::{
    Client, ClientError, Copy, Greeting, Notification, OpenOptions, OwnTokens,
};
use interweave_wire::mip::{Address, HostAndPort};
use interweave_wire::protocol::{
    AccessReloaded, CoherenceModel, ErrorCode, SegmentInfo, SegmentOpened, MAX_TOKEN,
};
use interweave_wire::{value, DiffBuilder, Url};

use crate::failure::Failure;
use crate::view::View;

/// How many bytes of pushed diffs a watcher lets the server send ahead.
const PUSH_BYTES: u64 = 16 << 20;
/// How long a watcher waits for a notification before it waits again.
const AWHILE: Duration = Duration::from_secs(3600);

/// A change of one value: what `set` makes of its arguments, under the writer lock.
pub struct Change {
    pub serial: u64,
    pub first_unit: u64,
    pub units: u64,
    /// Where in the block's slot form the value begins, and the value.
    pub byte: u64,
    pub bytes: Vec<u8>,
}

/// What a watched segment did.
pub enum Event {
    /// There is a newer version, and the view has it.
    Newer,
    Removed,
    /// The server stops.
    Goodbye,
}

pub struct Remote {
    client: Client,
    server: Address,
    own_tokens: OwnTokens,
}

impl Remote {
    pub fn connect(server: &Address) -> Result<Remote, Failure> {
        let token = std::env::var("IW_TOKEN").unwrap_or_default();
        if token.len() > MAX_TOKEN as usize {
            return Err(Failure::new(format!(
                "IW_TOKEN is longer than {MAX_TOKEN} bytes"
            )));
        }
        let mut own = OwnTokens::default();
        Remote::greet(server, token, &mut own).map_err(|error| failure_at(server, &error))
    }

    fn greet(server: &Address, token: String, own: &mut OwnTokens) -> Result<Remote, ClientError> {
        let greeting = Greeting {
            token,
            client: format!("interweave {} (Rust)", env!("CARGO_PKG_VERSION")),
            ..Greeting::default()
        };
        Ok(Remote {
            client: Client::connect_knowing(server, greeting, own)?,
            server: server.clone(),
            own_tokens: own.clone(),
        })
    }

    /// A connection in place of one that was lost.
    pub fn again(&mut self) -> Result<Remote, ClientError> {
        let token = std::env::var("IW_TOKEN").unwrap_or_default();
        Remote::greet(&self.server, token, &mut self.own_tokens)
    }

    pub fn list(&mut self, prefix: &str) -> Result<Vec<SegmentInfo>, Failure> {
        let listed = self.client.list(prefix);
        listed.map_err(|error| self.failure(error))
    }

    pub fn reload_access(&mut self) -> Result<AccessReloaded, Failure> {
        let reloaded = self.client.reload_access();
        reloaded.map_err(|error| self.failure(error))
    }

    /// Whether the server has stopped the segment because of damage.
    pub fn is_damaged(&mut self, path: &str) -> Result<bool, Failure> {
        match self.client.open(path, &OpenOptions::reading()) {
            Ok(opened) => {
                let closed = self.client.close(opened.segment);
                closed.map_err(|error| self.failure(error)).map(|()| false)
            }
            Err(ClientError::Refused(refusal)) => Ok(refusal.code == ErrorCode::Damaged),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Returns false, and not an error, if the segment does not exist.
    pub fn remove(&mut self, url: &Url, if_exists: bool) -> Result<bool, Failure> {
        let listed = if_exists.then(|| self.list(&url.path)).transpose()?;
        if listed.is_some_and(|found| !found.iter().any(|segment| segment.path == url.path)) {
            return Ok(false);
        }
        let removed = self.client.remove(&url.path);
        removed.map_err(|error| self.failure(error))?;
        Ok(true)
    }

    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// A copy of the newest version, and how its segment was made.
    pub fn fetch_with_options(&mut self, url: &Url) -> Result<(View, SegmentOpened), Failure> {
        let opened = self.client.open(&url.path, &OpenOptions::reading());
        let opened = opened.map_err(|error| self.failure(error))?;
        let mut copy = Copy::new(opened.segment);
        let fetched = copy.fetch(&mut self.client);
        fetched.map_err(|error| self.failure(error))?;
        Ok((View::new(url.clone(), copy), opened))
    }

    /// A copy of the newest version.
    pub fn fetch(&mut self, url: &Url) -> Result<View, Failure> {
        let view = self.open_and_fetch(url, &OpenOptions::reading());
        view.map_err(|error| self.failure(error))
    }

    fn open_and_fetch(&mut self, url: &Url, options: &OpenOptions) -> Result<View, ClientError> {
        let mut copy = Copy::open(&mut self.client, &url.path, options)?;
        copy.fetch(&mut self.client)?;
        Ok(View::new(url.clone(), copy))
    }

    /// Fetches the segment and subscribes to what follows.
    pub fn watch(&mut self, url: &Url) -> Result<View, ClientError> {
        let view = self.open_and_fetch(url, &OpenOptions::reading())?;
        self.client
            .subscribe(&view.copy, CoherenceModel::Full, 0.0, PUSH_BYTES)?;
        Ok(view)
    }

    /// Waits until the segment changes, and brings the view up to date.
    pub fn next_event(&mut self, view: &mut View) -> Result<Event, ClientError> {
        let before = view.copy.stamp().clone();
        loop {
            match self.client.next_notification(AWHILE)? {
                Some(Notification::Push(push, diff)) => {
                    self.client.credit(view.copy.number(), diff.len() as u64)?;
                    match push.from == before {
                        true => view.copy.update(&diff, &push.now)?,
                        false => view.copy.fetch(&mut self.client)?,
                    }
                }
                Some(Notification::NotRecent(_)) => view.copy.fetch(&mut self.client)?,
                Some(Notification::SegmentGone(_)) => return Ok(Event::Removed),
                Some(Notification::Goodbye) => return Ok(Event::Goodbye),
                Some(Notification::WriterLost(_)) | None => {}
            }
            if *view.copy.stamp() != before {
                return Ok(Event::Newer);
            }
        }
    }

    /// Changes one value under the writer lock and returns the new version. `decide` sees the
    /// newest version; if it refuses, nothing is changed.
    pub fn change(
        &mut self,
        url: &Url,
        timeout: Duration,
        decide: impl FnOnce(&View) -> Result<Change, Failure>,
    ) -> Result<u64, Failure> {
        let writing = OpenOptions {
            read_only: false,
            ..OpenOptions::reading()
        };
        let opened = self.open_and_fetch(url, &writing);
        let mut view = opened.map_err(|error| self.failure(error))?;
        let locked = view.copy.lock(&mut self.client, timeout, 1);
        let lock = locked.map_err(|error| self.failure(error))?;
        match decide(&view) {
            Ok(change) => {
                let diff = diff_of(&view, lock.grant.now.number, change);
                let released = view.copy.release(&mut self.client, &lock, diff);
                Ok(released.map_err(|error| self.failure(error))?.number)
            }
            Err(refused) => {
                let aborted = view.copy.abort(&mut self.client, &lock);
                aborted.map_err(|error| self.failure(error))?;
                Err(refused)
            }
        }
    }

    pub fn failure(&self, error: ClientError) -> Failure {
        failure_at(&self.server, &error)
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

fn diff_of(view: &View, base: u64, change: Change) -> Bytes {
    let block = view
        .segment()
        .block(change.serial)
        .expect("the change was decided on this copy");
    let mut slots = view.slots(&block);
    slots[change.byte as usize..change.byte as usize + change.bytes.len()]
        .copy_from_slice(&change.bytes);
    let mut run = Vec::new();
    let units = (change.first_unit, change.units);
    value::put_run(block.layout, change.first_unit, units, &slots, &mut run);
    let mut builder = DiffBuilder::new(base, base + 1);
    builder.change(change.serial, &run);
    builder.finish()
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
