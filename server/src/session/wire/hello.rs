//! The beginning of a connection: HELLO, and the session that it begins or resumes [SES-1] [SES-2].

use super::super::config::ns;
use super::super::engine::stopping;
use super::super::message::{common_version, ServerMessage};
use super::connection::FailedLogin;
use super::{Origin, Wire};
use interweave_access::{Access, Identity, Login, NotLetIn};
use interweave_wire::fields::{field, readable, Fields};
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{
    ErrorCode, FieldKey, HeaderField, Hello, IdField, KeepingField, MessageType, MovingField,
    SessionId, Welcome, PROTOCOL_VERSION_MAX, PROTOCOL_VERSION_MIN,
};
use interweave_wire::session_hash::session_hash;
use interweave_wire::Rejection;

/// How long the answer to a token that is not valid waits [ACC-8].
const FAILED_LOGIN_MS: u32 = 1_000;

/// A client that is let in, and what its hello says.
pub struct Admitted {
    unused_id: SessionId,
    version: u32,
    origin: Origin,
    /// Whether it keeps grants, and whether it follows SEGMENT_MOVED.
    abilities: (bool, bool),
    pub login: Login,
}

impl Wire {
    /// Decides whether a client is let in. `is_stopping`: nobody is any more. None: the connection
    /// has gone.
    pub fn admit(
        &mut self,
        connection: u64,
        hello: &Hello,
        access: &Access,
        is_stopping: bool,
    ) -> Result<Option<Admitted>, Rejection> {
        let Some(c) = self.connections.get_mut(&connection) else {
            return Ok(None);
        };
        let Some(unused_id) = c.unused_id.take() else {
            let text = "hello was said on this connection already";
            return Err(Rejection::malformed(text));
        };
        let version = agreed_version(hello)?;
        let fields = Fields::of(&hello.fields)?;
        let origin = Origin::of(fields)?;
        let abilities = abilities(fields)?;
        if is_stopping {
            return Err(stopping());
        }
        let login = access.login(&hello.token, &c.peer);
        let login = login.map_err(|why| not_let_in(why, access))?;
        Ok(Some(Admitted {
            unused_id,
            version,
            origin,
            abilities,
            login,
        }))
    }

    /// Answers the hello of a client that is let in. `enter` counts the connection for an identity,
    /// in place of so many others, and returns the account.
    pub fn welcome(
        &mut self,
        (connection, stream): (u64, u32),
        hello: &Hello,
        admitted: Admitted,
        enter: impl FnOnce(&Identity, u64) -> Result<u32, Rejection>,
    ) -> Result<(), Rejection> {
        let Admitted {
            unused_id,
            version,
            origin,
            abilities,
            login,
        } = admitted;
        let resumed = self.sessions.find(&session_hash(&hello.session));
        let is_same = |number: &u64| {
            let session = self.sessions.get(*number);
            session.is_some_and(|s| s.login.identity == login.identity)
        };
        let resumed = resumed.filter(is_same);
        let older = resumed.and_then(|number| self.sessions.get(number)?.connection);
        let account = enter(&login.identity, u64::from(older.is_some()))?;
        // Only the bytes of the WELCOME have the id, until the client has taken them [SES-6].
        let id = resumed.map_or(unused_id, |_| hello.session);
        let session = match resumed {
            Some(session) => {
                self.resume(session, connection, login);
                session
            }
            None => {
                let label = readable(&hello.client);
                self.sessions
                    .create(session_hash(&id), connection, login, (label, origin))
            }
        };
        if let Some(c) = self.connections.get_mut(&connection) {
            c.session = Some(session);
            c.version = version;
            self.ungreeted.end(connection);
            c.account = Some(account);
            (c.keeps_grants, c.follows_moves) = abilities;
        }
        let welcome = Welcome {
            version,
            session: id,
            resumed: resumed.is_some(),
            heartbeat_ms: self.config.heartbeat_ms,
            session_lease_ms: self.config.lease_ms,
            max_diff_bytes: self.config.max_diff_bytes,
            server: self.config.label.clone(),
            fields: self.own_fields(),
        };
        self.send(
            connection,
            ServerMessage::new(MessageType::Welcome, stream, &welcome),
        );
        self.watch_connection(connection);
        Ok(())
    }

    /// The connection of a client that is let in is passed on to another server, and counts for the
    /// account.
    pub fn pass_on(&mut self, connection: u64, admitted: Admitted, account: u32) {
        if let Some(c) = self.connections.get_mut(&connection) {
            c.relayed = Some(Box::new(admitted.login));
            c.account = Some(account);
            self.ungreeted.end(connection);
        }
    }

    /// Returns the connections that are passed on, with the logins of their clients.
    pub fn relayed(&self) -> impl Iterator<Item = (u64, &Login)> {
        let connections = self.connections.iter();
        connections.filter_map(|(number, c)| Some((*number, c.relayed.as_deref()?)))
    }

    /// A token was not valid. The answer comes late, so that guesses cost time [ACC-8].
    pub fn fail_login(&mut self, connection: u64, stream: u32, rejection: Rejection) {
        self.counters.logins_refused += 1;
        let due_ns = self.now_ns + ns(FAILED_LOGIN_MS);
        if let Some(c) = self.connections.get_mut(&connection) {
            c.failed = Some(FailedLogin {
                stream,
                due_ns,
                rejection,
            });
        }
        self.watch_connection(connection);
    }

    /// Returns the ids of this server and its name space [FIELD-1].
    fn own_fields(&self) -> Vec<HeaderField> {
        let id = |key, id| field(key, &IdField { id });
        vec![
            id(FieldKey::SpaceId, self.config.identity.space),
            id(FieldKey::ServerId, self.config.identity.server),
        ]
    }

    /// Continues the session over another connection. The older connection is closed [SES-2].
    fn resume(&mut self, session: u64, connection: u64, login: Login) {
        let older = self.sessions.get(session).and_then(|s| s.connection);
        let older = older.filter(|_| !planted::is_in(Defect::OlderConnectionStays));
        if let Some(older) = older {
            self.close(older);
        }
        if let Some(s) = self.sessions.get_mut(session) {
            s.connection = Some(connection);
            // The same identity may come with a newer token.
            s.login = login;
            s.expires_ns = u64::MAX;
        }
    }
}

/// Whether the client keeps grants [LOCK-13], and whether it follows SEGMENT_MOVED [SPACE-23].
fn abilities(fields: Fields<'_>) -> Result<(bool, bool), Rejection> {
    let keeping: Option<KeepingField> = fields.get(FieldKey::Keeping)?;
    let moving: Option<MovingField> = fields.get(FieldKey::Moving)?;
    let keeps_grants = keeping.is_some_and(|field| field.keeps_grants);
    Ok((
        keeps_grants,
        moving.is_some_and(|field| field.follows_moves),
    ))
}

/// Returns the highest version that client and server speak [SES-1].
fn agreed_version(hello: &Hello) -> Result<u32, Rejection> {
    if hello.magic != *b"IWV1" {
        let text = "hello does not begin with IWV1; is this an InterWeave client?";
        return Err(Rejection::malformed(text));
    }
    let (least, most) = (hello.version_min, hello.version_max);
    common_version(least, most).ok_or_else(|| no_common_version(least, most))
}

/// Makes the refusal of a client that is not let in [ACC-2..4].
fn not_let_in(why: NotLetIn, access: &Access) -> Rejection {
    let own = access.own_folder().map(|folder| {
        format!(
            "its user's programs find its token at iw://127.0.0.1 by themselves; elsewhere set \
             IW_TOKEN to the token that is in PORT.token of {}",
            folder.display()
        )
    });
    let text = match (why, own) {
        (NotLetIn::NotValid, None) => {
            "the token is not valid here: this server does not know it, or it has expired; set \
             IW_TOKEN to another one, which `interweave token new` makes"
                .to_string()
        }
        (NotLetIn::NotValid, Some(own)) => {
            format!(
                "the token is not valid here: unset IW_TOKEN, if it is of another server; {own}"
            )
        }
        (NotLetIn::ShowedNothing, None) => {
            "this server lets nobody in who shows nothing: set IW_TOKEN to a token that \
             `interweave token new` made for this server, or IW_CERT and IW_KEY to a certificate"
                .to_string()
        }
        (NotLetIn::ShowedNothing, Some(own)) => {
            format!("this server lets in the programs of its own user alone: {own}")
        }
    };
    Rejection::new(ErrorCode::Denied, text)
}

/// Makes the refusal of a client of other versions [SES-1].
pub fn no_common_version(version_min: u32, version_max: u32) -> Rejection {
    let text = format!(
        "the client speaks protocol versions {version_min} to {version_max}, this server \
         {PROTOCOL_VERSION_MIN} to {PROTOCOL_VERSION_MAX}; update the older program"
    );
    Rejection::new(ErrorCode::VersionMismatch, text)
}
