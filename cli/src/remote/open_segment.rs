//! Requests about a segment that a command has open. They go where the segment moves [SPACE-23].

use std::time::{Duration, Instant};

use bytes::Bytes;
use interweave_server::client::{
    Client, ClientError, Copy, Notification, OpenOptions, WriterLock, MOST_HOPS,
};
use interweave_wire::fields::field;
use interweave_wire::protocol::{
    CoherenceModel, Durability, ErrorCode, FieldKey, MessageType, RedirectField, ReleaseResolved,
    ResolveRelease, SegmentMoved, SegmentOpened, SessionId,
};
use interweave_wire::{value, DiffBuilder, Rejection, Url};

use super::{Remote, Repeated};
use crate::failure::Failure;
use crate::view::View;

/// How many bytes of pushed diffs a watcher lets the server send ahead.
const PUSH_BYTES: u64 = 16 << 20;
/// How long a watcher waits for a notification before it waits again.
const AWHILE: Duration = Duration::from_secs(3600);
/// The slowest connection that is waited for.
const SLOWEST_BYTES_A_SECOND: u64 = 1 << 20;

/// A change of one value: what `set` makes of its arguments, under the writer lock.
pub struct Change {
    pub serial: u64,
    pub first_unit: u64,
    pub units: u64,
    /// Where in the block's slot form the value begins, and the value.
    pub byte: u64,
    pub bytes: Vec<u8>,
}

/// An event of a watched segment.
pub enum Event {
    /// There is a newer version, and the view has it.
    Newer,
    Removed,
    /// The server stops.
    Goodbye,
}

impl Remote {
    /// Makes a request about the segment of the view. If it has moved, opens it where it is and
    /// makes the request there, as often as a client is sent on for one request [SPACE-10].
    fn ask<T>(
        &mut self,
        view: &mut View,
        options: &OpenOptions,
        mut request: impl FnMut(&mut Client, &mut Copy) -> Result<T, ClientError>,
    ) -> Result<T, ClientError> {
        for _ in 0..MOST_HOPS {
            let error = match request(&mut self.client, &mut view.copy) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let to = error.redirect();
            self.open_again(view, Some(to.ok_or(error)?), options)?;
        }
        request(&mut self.client, &mut view.copy)
    }

    /// Opens the segment of the view on another connection: at the server to which this client was
    /// sent on, and else where its servers say that it is.
    fn open_again(
        &mut self,
        view: &mut View,
        to: Option<RedirectField>,
        options: &OpenOptions,
    ) -> Result<(), ClientError> {
        if to.is_none() {
            self.connect_again()?;
        }
        let open = |client: &mut Client| client.open(&view.url.path, options);
        let opened = self.where_it_went(to, Repeated::Always, open)?;
        view.copy.reopened(opened.segment);
        Ok(())
    }

    /// A copy of the newest version.
    pub fn fetch(&mut self, url: &Url) -> Result<View, Failure> {
        self.fetch_with_options(url).map(|(view, _)| view)
    }

    /// The same, and how its segment was made.
    pub fn fetch_with_options(&mut self, url: &Url) -> Result<(View, SegmentOpened), Failure> {
        let fetched = self.open_and_fetch(url, &OpenOptions::reading());
        fetched.map_err(|error| self.failure(error))
    }

    fn open_and_fetch(
        &mut self,
        url: &Url,
        options: &OpenOptions,
    ) -> Result<(View, SegmentOpened), ClientError> {
        let opened = self.opened(&url.path, options)?;
        let mut view = View::new(url.clone(), Copy::new(opened.segment));
        self.ask(&mut view, options, |client, copy| copy.fetch(client))?;
        Ok((view, opened))
    }

    /// Fetches the segment and subscribes to what follows.
    pub fn watch(&mut self, url: &Url) -> Result<View, ClientError> {
        let (mut view, _) = self.open_and_fetch(url, &OpenOptions::reading())?;
        self.subscribe(&mut view)?;
        Ok(view)
    }

    fn subscribe(&mut self, view: &mut View) -> Result<(), ClientError> {
        let subscribe = |client: &mut Client, copy: &mut Copy| {
            client.subscribe(copy, CoherenceModel::Full, 0.0, PUSH_BYTES)
        };
        let subscribed = self.ask(view, &OpenOptions::reading(), subscribe);
        subscribed.map(drop)
    }

    /// Waits until the segment changes, and brings the view up to date. The segment may move any
    /// number of times meanwhile.
    pub fn next_event(&mut self, view: &mut View) -> Result<Event, ClientError> {
        loop {
            let error = match self.event_here(view) {
                Ok(Some(event)) => return Ok(event),
                Ok(None) => continue,
                Err(error) => error,
            };
            let to = error.redirect();
            self.open_again(view, Some(to.ok_or(error)?), &OpenOptions::reading())?;
            self.subscribe(view)?;
        }
    }

    /// The same, at the present server. None: nothing was heard for a while. An error with a
    /// redirect: the segment moved.
    fn event_here(&mut self, view: &mut View) -> Result<Option<Event>, ClientError> {
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
                Some(Notification::SegmentGone(_)) => return Ok(Some(Event::Removed)),
                Some(Notification::Goodbye) => return Ok(Some(Event::Goodbye)),
                Some(Notification::SegmentMoved(to)) => return Err(moved(to)),
                Some(Notification::WriterLost(_)) => {}
                None => return Ok(None),
            }
            if *view.copy.stamp() != before {
                return Ok(Some(Event::Newer));
            }
        }
    }

    /// Changes one value under the writer lock and returns the new version. `decide` sees the
    /// newest version; if it refuses, nothing is changed. It is asked again if the lock was lost
    /// before the change was made.
    pub fn change(
        &mut self,
        url: &Url,
        timeout: Duration,
        decide: impl Fn(&View) -> Result<Change, Failure>,
    ) -> Result<u64, Failure> {
        let opened = self.open_and_fetch(url, &writing());
        let (mut view, _) = opened.map_err(|error| self.failure(error))?;
        let until = Instant::now() + timeout;
        loop {
            let lock = self.lock(&mut view, |client, copy| {
                let wait = until.saturating_duration_since(Instant::now());
                copy.lock(client, wait, 1)
            })?;
            let change = match decide(&view) {
                Ok(change) => change,
                Err(refused) => return Err(self.aborted(&view, &lock).err().unwrap_or(refused)),
            };
            let diff = diff_of(&view, lock.grant.now.number, change);
            let released = self.release(&mut view, &lock, diff);
            match released.map_err(|error| self.failure(error))? {
                Some(version) => return Ok(version),
                None if until <= Instant::now() => return Err(lock_lost(url)),
                None => {}
            }
        }
    }

    /// Takes the writer lock, wherever the segment moves meanwhile. `take` asks for it.
    pub fn lock(
        &mut self,
        view: &mut View,
        take: impl FnMut(&mut Client, &mut Copy) -> Result<WriterLock, ClientError>,
    ) -> Result<WriterLock, Failure> {
        let taken = self.ask(view, &writing(), take);
        taken.map_err(|error| self.failure(error))
    }

    /// Gives the lock back without a change. A segment that moved has no lock of before.
    fn aborted(&mut self, view: &View, lock: &WriterLock) -> Result<(), Failure> {
        match view.copy.abort(&mut self.client, lock) {
            Err(error) if error.redirect().is_none() => Err(self.failure(error)),
            _ => Ok(()),
        }
    }

    /// Gives the lock back with the change, and returns the new version. None: the lock was lost
    /// before, and nothing has changed. The release is sent once. If no answer says what became of
    /// it, the server that has the segment then is asked [LOCK-9].
    pub fn release(
        &mut self,
        view: &mut View,
        lock: &WriterLock,
        diff: Bytes,
    ) -> Result<Option<u64>, ClientError> {
        let session = self.client.welcome().session;
        self.client.patience += Duration::from_secs(diff.len() as u64 / SLOWEST_BYTES_A_SECOND);
        let error = match view.copy.release_alone(&mut self.client, lock, diff) {
            Ok(now) => return Ok(Some(now.number)),
            Err(error) => error,
        };
        let to = error.redirect();
        let is_in_doubt = to.is_some() || error.is_lost() || matches!(error, ClientError::TimedOut);
        if !is_in_doubt {
            return Err(error);
        }
        let asked = self.open_again(view, to, &writing());
        let resolved = asked.and_then(|()| self.resolved(view, session, lock.sequence));
        resolved.map_err(|why| not_known(&error, &why))
    }

    /// The version that a release has made. None: it made none, and never will.
    fn resolved(
        &mut self,
        view: &mut View,
        session: SessionId,
        sequence: u64,
    ) -> Result<Option<u64>, ClientError> {
        let resolve = |client: &mut Client, copy: &mut Copy| {
            let body = ResolveRelease {
                segment: copy.number(),
                session,
                sequence,
            };
            let answer = MessageType::ReleaseResolved;
            client.request(MessageType::ResolveRelease, &body, answer)
        };
        let (resolved, _): (ReleaseResolved, _) = self.ask(view, &writing(), resolve)?;
        Ok(resolved.committed.then_some(resolved.version.number))
    }
}

/// An existing segment, to write.
fn writing() -> OpenOptions {
    OpenOptions {
        create: false,
        ..OpenOptions::creating(Durability::Synced)
    }
}

/// The error of a request about a segment that has moved.
fn moved(to: SegmentMoved) -> ClientError {
    let redirect = RedirectField {
        address: to.address,
        tls_name: to.tls_name,
        relay: true,
    };
    let text = format!("the segment has moved to {}", redirect.address);
    ClientError::Refused(Rejection {
        field: Some(Box::new(field(FieldKey::Redirect, &redirect))),
        ..Rejection::new(ErrorCode::Redirected, text)
    })
}

fn not_known(lost: &ClientError, why: &ClientError) -> ClientError {
    ClientError::Unexpected(format!(
        "{lost}; whether the change was made cannot be found out: {why}; look at the segment \
         before you make the change again"
    ))
}

pub fn lock_lost(url: &Url) -> Failure {
    Failure::new(format!(
        "the writer lock of {url} was lost before the change was made, and nothing has changed; \
         make the change again"
    ))
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
