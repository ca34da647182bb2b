//! The rights of a session's identity to a segment, and the rights that a request needs
//! [RULE-4..6]. sweeping.rs brings new rules to locks and subscriptions that exist.
//!
//! The rights to an open segment are kept with it, and are decided anew when the rules changed.
//! Invariant: rights of another generation than the present one are not used.

use super::engine::Engine;
use super::message::Request;
use super::wire::At;
use interweave_access::{Access, Identity, Operation};
use interweave_master::CheckedRelease;
use interweave_wire::protocol::ErrorCode;
use interweave_wire::Rejection;
use std::sync::Arc;

/// The decisions of one generation of the rules about one segment.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rights {
    /// 0: nothing was decided yet.
    generation: u32,
    read: bool,
    write: bool,
    steer: bool,
}

impl Rights {
    pub fn may_read(&self) -> bool {
        self.read
    }

    /// Whether the session may take the writer lock.
    pub fn may_change(&self) -> bool {
        self.read && (self.write || self.steer)
    }
}

/// The access of the present, and its number.
#[derive(Debug)]
pub(super) struct Permits {
    pub access: Arc<Access>,
    generation: u32,
    /// Whether a limit is of what happens in a second.
    pub slows_down: bool,
    /// Why the present request is refused, for the audit log.
    pub refused: Option<Refused>,
}

/// What was refused, and by which line.
#[derive(Debug, Clone, Default)]
pub struct Refused {
    /// Whose request it was, if the session does not say it.
    pub who: Option<Identity>,
    pub operation: Option<Operation>,
    pub path: String,
    pub line: Option<u32>,
    pub text: String,
}

impl Refused {
    pub fn because(text: impl Into<String>) -> Self {
        Refused {
            text: text.into(),
            ..Refused::default()
        }
    }
}

impl Default for Permits {
    fn default() -> Self {
        Permits {
            access: Arc::new(Access::open()),
            generation: 1,
            slows_down: false,
            refused: None,
        }
    }
}

impl Permits {
    pub fn replace(&mut self, access: Arc<Access>) {
        self.slows_down = access.slows_down();
        self.access = access;
        // 0 stands for rights that were never decided.
        self.generation = self.generation.wrapping_add(1).max(1);
    }

    /// Returns a number that is one more after each change of what holds.
    pub fn generation(&self) -> u64 {
        self.generation.into()
    }

    pub fn decide(&self, identity: &Identity, path: &str) -> Rights {
        let may = |operation| self.access.decide(identity, operation, path).is_allowed;
        Rights {
            generation: self.generation,
            read: may(Operation::Read),
            write: may(Operation::Write),
            steer: may(Operation::Steer),
        }
    }

    /// Refuses what the identity may not do.
    fn check(
        &mut self,
        identity: &Identity,
        asked: Operation,
        path: &str,
    ) -> Result<(), Rejection> {
        let decision = self.access.decide(identity, asked, path);
        if decision.is_allowed {
            return Ok(());
        }
        self.refused = Some(Refused {
            operation: Some(asked),
            path: path.to_string(),
            line: decision.line,
            ..Refused::default()
        });
        let reason = match decision.line {
            Some(line) => format!("line {line} of the rules denies it"),
            None => "no line of the rules allows it".to_string(),
        };
        let what = match asked.is_of_server() {
            true => format!("for {asked}"),
            false => format!("to {asked} {path}"),
        };
        let text =
            format!("{identity} asked {what}; {reason}; ask whoever runs the server for a rule");
        Err(Rejection::new(ErrorCode::Denied, text))
    }
}

/// The rights that a request needs [RULE-4]. OPEN_SEGMENT, which may also need `create`,
/// and RELEASE_WRITER, whose need depends on its diffs, ask for the rest themselves.
enum Need<'a> {
    Nothing,
    /// An operation on the server as a whole.
    Server(Operation),
    /// These operations on the segment of that path.
    Path(&'a str, &'static [Operation]),
    Read(u32),
    Change(u32),
    /// Nothing, but a segment that the session may not know of is answered as none.
    Known(u32),
}

fn need(request: &Request) -> Need<'_> {
    match request {
        Request::Hello(_) | Request::ForeignHello { .. } => Need::Nothing,
        Request::Ping | Request::Cancel(_) | Request::Goodbye => Need::Nothing,
        Request::CloseSegment(_) | Request::Unsubscribe(_) | Request::Credit(_) => Need::Nothing,
        Request::ReleaseReader(_) => Need::Nothing,
        Request::AbortWriter(r) => Need::Known(r.segment),
        Request::ReloadAccess
        | Request::FollowSegment(_)
        | Request::HandOver(_)
        | Request::Drain => Need::Server(Operation::Admin),
        // Shows what the session may read.
        Request::ListSegments(_) | Request::ListPlaces(_) => Need::Nothing,
        // Without `metrics` it shows less.
        Request::ListMembers(_) => Need::Nothing,
        Request::OpenSegment(r) => Need::Path(&r.path, &[Operation::Read]),
        Request::RemoveSegment(r) => Need::Path(&r.path, &[Operation::Read, Operation::Remove]),
        Request::DescribeBlocks(r) => Need::Read(r.segment),
        Request::AcquireReader(r) => Need::Read(r.segment),
        Request::ResolveRelease(r) => Need::Read(r.segment),
        Request::Subscribe(r) => Need::Read(r.segment),
        Request::AcquireWriter(r) => Need::Change(r.segment),
        Request::RenewWriter(r) => Need::Change(r.segment),
        Request::MoreSerials(r) => Need::Change(r.segment),
        // Each part is checked beside its diff.
        Request::ReleaseWriter(_) => Need::Nothing,
        Request::Unknown(_) | Request::Undecodable(..) => Need::Nothing,
    }
}

impl Engine {
    /// Refuses a request that the rules do not allow.
    pub(super) fn check_permitted(&mut self, at: At, request: &Request) -> Result<(), Rejection> {
        if self.permits.access.is_open() {
            return Ok(());
        }
        match need(request) {
            Need::Nothing => Ok(()),
            Need::Server(operation) => self.permit(at, operation, ""),
            Need::Path(path, operations) => {
                let mut each = operations.iter();
                each.try_for_each(|asked| self.permit(at, *asked, path))
            }
            Need::Known(number) => match self.wire.opened(at.connection, number).is_some() {
                true => Ok(()),
                false => self.permit_open(at, number, Rights::may_read, Operation::Read),
            },
            Need::Read(number) => self.permit_open(at, number, Rights::may_read, Operation::Read),
            Need::Change(number) => {
                self.permit_open(at, number, Rights::may_change, Operation::Write)
            }
        }
    }

    /// Refuses an operation of a connection's client on the segment of that path. Allows it to a
    /// client that has not said hello, or has gone.
    pub(super) fn permit_name(
        &mut self,
        connection: u64,
        asked: Operation,
        path: &str,
    ) -> Result<(), Rejection> {
        match self.wire.session_of(connection) {
            Some(session) => self.permits.check(&session.login.identity, asked, path),
            None => Ok(()),
        }
    }

    /// Refuses one operation on the server, or on the segment of that path, whether there is such a
    /// segment or not.
    pub(super) fn permit(&mut self, at: At, asked: Operation, path: &str) -> Result<(), Rejection> {
        let identity = &self.wire.asking(at).login.identity;
        self.permits.check(identity, asked, path)
    }

    /// Refuses a part of a release whose writer may not make such a change.
    pub(super) fn permit_release(
        &mut self,
        at: At,
        number: u32,
        change: Option<&CheckedRelease>,
    ) -> Result<(), Rejection> {
        if self.permits.access.is_open() {
            return Ok(());
        }
        let values_alone = change.is_none_or(CheckedRelease::changes_values_alone);
        let suffices =
            |rights: &Rights| rights.read && (rights.write || values_alone && rights.steer);
        self.permit_open(at, number, suffices, Operation::Write)
    }

    /// Refuses a request about a segment number. A number that is not open on the connection, and
    /// whose segment may not be read, is answered as one that is not there [RULE-6].
    fn permit_open(
        &mut self,
        at: At,
        number: u32,
        suffices: impl Fn(&Rights) -> bool,
        asked: Operation,
    ) -> Result<(), Rejection> {
        let rights = self.rights(at.session, Some(at.connection), number);
        if rights.is_some_and(|rights| suffices(&rights)) {
            return Ok(());
        }
        let is_open = self.wire.opened(at.connection, number).is_some();
        let may_know = is_open || rights.is_some_and(|rights| rights.read);
        let Some(segment) = self.segments.get(number) else {
            return Err(self.not_open(at.connection, number));
        };
        let identity = &self.wire.asking(at).login.identity;
        if !may_know {
            // The answer hides it, but the audit log says it.
            let _ = self.permits.check(identity, Operation::Read, &segment.path);
            return Err(self.not_open(at.connection, number));
        }
        let operations = [Operation::Read, asked];
        let mut each = operations.iter();
        each.try_for_each(|asked| self.permits.check(identity, *asked, &segment.path))
    }

    /// Returns what the session may do with a segment. None: the engine does not know the segment
    /// or the session.
    pub(super) fn rights(
        &mut self,
        session: u64,
        connection: Option<u64>,
        number: u32,
    ) -> Option<Rights> {
        let generation = self.permits.generation;
        let open = connection.and_then(|connection| self.wire.opened(connection, number));
        let known = open.map(|open| open.rights);
        if let Some(rights) = known.filter(|rights| rights.generation == generation) {
            return Some(rights);
        }
        let segment = self.segments.get(number)?;
        let identity = &self.wire.session(session)?.login.identity;
        let rights = self.permits.decide(identity, &segment.path);
        let open = connection.and_then(|connection| self.wire.opened(connection, number));
        if let Some(open) = open {
            open.rights = rights;
        }
        Some(rights)
    }
}
