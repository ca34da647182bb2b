//! The lines of the audit log [AUDIT-1] [AUDIT-2]. The shell takes them from the effects and writes
//! them. Without an audit log none is made.

use super::access::Refused;
use super::effect::Effect;
use super::engine::Engine;
use super::message::Request;
use super::wire::{At, Origin};
use interweave_access::{Identity, Operation, Peer};
use interweave_wire::protocol::{ErrorCode, Hello};
use interweave_wire::{Fields, Rejection};
use std::net::SocketAddr;

/// What somebody did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Act {
    Login,
    Open,
    Create,
    Remove,
    /// Something else, which was not allowed.
    Request,
    LockLost,
    SubscriptionEnded,
    SessionEnded,
    ConnectionEnded,
    Reload,
    Admin,
    Start,
    Stop,
    Dropped,
}

impl Act {
    /// Returns the word that the log has for it.
    pub fn word(self) -> &'static str {
        match self {
            Act::Login => "login",
            Act::Open => "open",
            Act::Create => "create",
            Act::Remove => "remove",
            Act::Request => "request",
            Act::LockLost => "lock_lost",
            Act::SubscriptionEnded => "subscription_ended",
            Act::SessionEnded => "session_ended",
            Act::ConnectionEnded => "connection_ended",
            Act::Reload => "reload",
            Act::Admin => "admin",
            Act::Start => "start",
            Act::Stop => "stop",
            Act::Dropped => "dropped",
        }
    }
}

/// One line of the audit log, without its time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Audited {
    pub act: Act,
    /// None: it was the server itself, or nobody knows.
    pub who: Option<Identity>,
    /// The ID of the token of a login that was taken.
    pub token: Option<[u8; 6]>,
    pub from: Place,
    pub origin: Origin,
    pub path: String,
    pub operation: Option<Operation>,
    pub is_allowed: bool,
    /// The line of the rules file that decided.
    pub line: Option<u32>,
    pub error: Option<ErrorCode>,
    pub text: String,
}

/// Where a peer is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Place {
    #[default]
    Unknown,
    Unix,
    Address(SocketAddr),
}

impl Place {
    pub fn of(peer: &Peer) -> Place {
        match (peer.address, peer.user) {
            (Some(address), _) => Place::Address(address),
            (None, Some(_)) => Place::Unix,
            (None, None) => Place::Unknown,
        }
    }
}

impl Audited {
    /// What the server, or whoever runs it, did.
    pub fn of_server(act: Act, is_allowed: bool, text: impl Into<String>) -> Audited {
        Audited {
            act,
            who: None,
            token: None,
            from: Place::Unknown,
            origin: Origin::default(),
            path: String::new(),
            operation: None,
            is_allowed,
            line: None,
            error: None,
            text: text.into(),
        }
    }

    /// Whether the log never drops it [AUDIT-4].
    pub fn must_stay(&self) -> bool {
        !self.is_allowed
            || matches!(
                self.act,
                Act::Reload | Act::Admin | Act::Start | Act::Stop | Act::Dropped
            )
    }
}

impl Engine {
    fn audit(&mut self, audited: Audited) {
        self.wire.push_effect(Effect::Audit(Box::new(audited)));
    }

    /// Begins a line about a session.
    fn audited(&self, session: u64, act: Act) -> Option<Audited> {
        let session = self.wire.session(session)?;
        let connection = session.connection.and_then(|c| self.wire.connection(c));
        Some(Audited {
            who: Some(session.login.identity.clone()),
            from: connection.map(|c| Place::of(&c.peer)).unwrap_or_default(),
            origin: session.origin.clone(),
            ..Audited::of_server(act, true, "")
        })
    }

    /// Notes a client that was let in, or was not because of what it showed.
    pub(super) fn audit_login(
        &mut self,
        connection: u64,
        hello: &Hello,
        greeted: &Result<(), Rejection>,
    ) {
        if !self.config.audits {
            return;
        }
        let refused = self.permits.refused.take();
        let Some(c) = self.wire.connection(connection) else {
            return;
        };
        let audited = match (greeted, c.session) {
            (Ok(()), Some(session)) => {
                let login = self.wire.session(session).map(|s| s.login.token);
                let audited = self.audited(session, Act::Login);
                audited.map(|audited| Audited {
                    token: login.flatten(),
                    ..audited
                })
            }
            (Ok(()), None) => c.relayed.as_ref().map(|login| Audited {
                who: Some(login.identity.clone()),
                token: login.token,
                from: Place::of(&c.peer),
                ..Audited::of_server(Act::Login, true, "passed on to another server")
            }),
            (Err(rejection), _) if rejection.code == ErrorCode::Denied || refused.is_some() => {
                let shown = match hello.token.is_empty() {
                    true => "the client shows no token that is valid here",
                    false => "the token is not valid",
                };
                let refused = refused.unwrap_or_else(|| Refused::because(shown));
                let origin = Fields::of(&hello.fields).and_then(Origin::of);
                Some(Audited {
                    who: refused.who.or_else(|| Some(c.peer.identity())),
                    from: Place::of(&c.peer),
                    origin: origin.unwrap_or_default(),
                    line: refused.line,
                    error: Some(rejection.code),
                    ..Audited::of_server(Act::Login, false, refused.text)
                })
            }
            _ => None,
        };
        audited.into_iter().for_each(|audited| self.audit(audited));
    }

    /// Returns whether the request is about to make a segment.
    pub(super) fn will_create(&self, request: &Request) -> bool {
        match request {
            Request::OpenSegment(r) if self.config.audits => {
                r.create && self.segments.number_at(&r.path).is_none()
            }
            _ => false,
        }
    }

    /// Notes a request of which the audit log tells. `creates`: it was about to make a segment.
    pub(super) fn audit_request(
        &mut self,
        at: At,
        request: &Request,
        creates: bool,
        result: &Result<(), Rejection>,
    ) {
        let refused = self.permits.refused.take();
        if !self.config.audits {
            return;
        }
        let (act, needs, path) = match request {
            Request::OpenSegment(r) if creates => (Act::Create, Operation::Create, &*r.path),
            Request::OpenSegment(r) => (Act::Open, Operation::Read, &*r.path),
            Request::ReloadAccess | Request::Drain => (Act::Admin, Operation::Admin, ""),
            Request::FollowSegment(r) => (Act::Admin, Operation::Admin, &*r.path),
            Request::HandOver(r) => (Act::Admin, Operation::Admin, &*r.path),
            Request::RemoveSegment(r) => (Act::Remove, Operation::Remove, &*r.path),
            _ => (Act::Request, Operation::Read, ""),
        };
        if act == Act::Request && refused.is_none() {
            return;
        }
        let Some(mut audited) = self.audited(at.session, act) else {
            return;
        };
        audited.error = result.as_ref().err().map(|rejection| rejection.code);
        audited.path = path.to_string();
        match refused {
            Some(refused) => {
                audited.is_allowed = false;
                audited.operation = refused.operation;
                audited.line = refused.line;
                audited.text = refused.text;
                if audited.path.is_empty() {
                    audited.path = refused.path;
                }
            }
            None => {
                audited.operation = Some(needs);
                audited.line = self.line_of(at.session, needs, path);
            }
        }
        self.audit(audited);
    }

    /// Notes that new rules took something from a session. `operation`: what it lacks.
    pub(super) fn audit_taken(
        &mut self,
        session: u64,
        act: Act,
        number: u32,
        operation: Operation,
    ) {
        if !self.config.audits {
            return;
        }
        let path = self.segments.get(number).map(|s| s.path.to_string());
        let path = path.unwrap_or_default();
        let line = self.line_of(session, operation, &path);
        if let Some(audited) = self.audited(session, act) {
            self.audit(Audited {
                path,
                operation: Some(operation),
                is_allowed: false,
                line,
                error: Some(ErrorCode::Denied),
                ..audited
            });
        }
    }

    /// Notes that a session ends because its login is not valid any more.
    pub(super) fn audit_session_end(&mut self, session: u64) {
        if !self.config.audits {
            return;
        }
        if let Some(audited) = self.audited(session, Act::SessionEnded) {
            self.audit(Audited {
                is_allowed: false,
                error: Some(ErrorCode::Denied),
                ..audited
            });
        }
    }

    fn line_of(&self, session: u64, operation: Operation, path: &str) -> Option<u32> {
        let identity = &self.wire.session(session)?.login.identity;
        let decision = self.permits.access.decide(identity, operation, path);
        decision.line
    }
}
