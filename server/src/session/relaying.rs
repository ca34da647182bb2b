//! Clients that cannot reach the owner of a segment: their connections are passed on to it
//! [SPACE-48..54].
//!
//! The engine lets such a client in, counts its connection and ends it; the net room looks for the
//! owner among the members, and passes the bytes on.

use super::effect::Effect;
use super::engine::Engine;
use interweave_store::Elsewhere;
use interweave_wire::fields::{readable, Fields};
use interweave_wire::protocol::{ErrorCode, FieldKey, HeaderField, Hello, RedirectField};
use interweave_wire::Rejection;

/// Returns where the client wishes to be passed on to. None: nowhere.
pub(super) fn wish(hello: &Hello) -> Result<Option<RedirectField>, Rejection> {
    let field: Option<RedirectField> = Fields::of(&hello.fields)?.get(FieldKey::Redirect)?;
    Ok(field.filter(|field| field.relay))
}

/// Makes the refusal of a client that is not passed on. The client may reach the owner in another
/// way, or later.
pub fn unreachable(text: impl Into<String>) -> Rejection {
    Rejection::new(ErrorCode::Unreachable, text)
}

impl Engine {
    /// Whether this server passes connections on: the tokens that it takes are not its own alone
    /// [SPACE-48].
    pub(super) fn relays(&self) -> bool {
        self.space.is_some() && !self.permits.access.is_of_own_token()
    }

    /// Lets a client in whose connection is passed on.
    pub(super) fn greet_relayed(
        &mut self,
        connection: u64,
        stream: u32,
        hello: &Hello,
        to: RedirectField,
    ) -> Result<(), Rejection> {
        let access = &self.permits.access;
        let admitted = self.wire.admit(connection, hello, access, self.stopping)?;
        let Some(admitted) = admitted else {
            return Ok(());
        };
        self.check_relays(connection, hello, &to)?;
        let (now_ns, access) = (self.wire.now_ns(), &self.permits.access);
        let limits = |who: &_| access.limits(who);
        let identity = &admitted.login.identity;
        let account = match self.accounts.enter(identity, limits, 0, now_ns) {
            Ok(account) => account,
            Err(over) => return Err(self.note_over(over)),
        };
        self.wire.pass_on(connection, admitted, account);
        let is_passed = |field: &&HeaderField| field.key != FieldKey::Redirect as u32;
        let fields = hello.fields.iter().filter(is_passed).cloned().collect();
        self.wire.push_effect(Effect::Relay {
            connection,
            stream,
            to: Elsewhere {
                address: to.address,
                tls_name: to.tls_name,
            },
            hello: Box::new(Hello {
                fields,
                ..hello.clone()
            }),
        });
        Ok(())
    }

    fn check_relays(
        &self,
        connection: u64,
        hello: &Hello,
        to: &RedirectField,
    ) -> Result<(), Rejection> {
        let to = readable(&to.address);
        if self.space.is_none() {
            let text = format!(
                "this server shares its store with nobody, so it passes no connection on to {to}; \
                 ask it for the segment itself"
            );
            return Err(unreachable(text));
        }
        if !self.relays() {
            let text = format!(
                "this server takes its own token alone, which is not valid at {to}, so it passes \
                 no connection on; give the space rules that its servers share (`interweave rules \
                 push`), or connect to {to} directly"
            );
            return Err(unreachable(text));
        }
        let access = &self.permits.access;
        let connection = self.wire.connection(connection);
        let has_token =
            !hello.token.is_empty() || connection.is_some_and(|c| c.peer.login.is_some());
        if !has_token && !access.is_open() && !access.lets_anyone_in() {
            let text = format!(
                "the segment is at {to}, which sees no certificate and no user of a client that is \
                 passed on: set IW_TOKEN to a token of the space, or connect to {to} \
                 directly"
            );
            return Err(Rejection::new(ErrorCode::Denied, text));
        }
        Ok(())
    }

    /// The connection could not be passed on. `stream`: of its client's hello.
    pub fn not_relayed(
        &mut self,
        now_ns: u64,
        connection: u64,
        stream: u32,
        rejection: &Rejection,
    ) {
        self.advance(now_ns);
        self.wire.counters.errors += 1;
        self.wire.refuse(connection, stream, rejection);
        self.wire.close(connection);
        self.forget_closed();
    }

    /// Ends the relayed connections whose clients are not let in any more [SPACE-53].
    pub(super) fn end_relays(&mut self) {
        let access = &self.permits.access;
        let relayed = self.wire.relayed();
        let over = relayed.filter(|(_, login)| !access.still_lets_in(login));
        let over: Vec<u64> = over.map(|(connection, _)| connection).collect();
        for connection in over {
            self.wire.close(connection);
        }
        self.forget_closed();
    }
}
