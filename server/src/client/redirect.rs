//! Following a server that sends the client on to another one of its space [SPACE-9..12].

use super::{Client, ClientError, Greeting, OwnTokens};
use interweave_wire::fields::{readable, Fields};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{ErrorCode, FieldKey, IdField, RedirectField, Welcome};
use interweave_wire::Rejection;
use std::time::{Duration, Instant};

/// So often a client is sent on for one request [SPACE-10].
pub const MOST_HOPS: u32 = 3;

/// So long a client tries each way to a server to which it was sent on [SPACE-55].
pub(super) const EACH_WAY: Duration = Duration::from_secs(2);

impl ClientError {
    /// Where the server says that the request is to be made.
    pub fn redirect(&self) -> Option<RedirectField> {
        let ClientError::Refused(rejection) = self else {
            return None;
        };
        let field = rejection.field.as_deref()?;
        let fields = Fields::of(std::slice::from_ref(field)).ok()?;
        fields.get(FieldKey::Redirect).ok()?
    }
}

impl Client {
    /// Connects to the server to which this client's server has sent it. `is_secure`: the
    /// connection is to be encrypted, as the first one was.
    pub fn follow(
        &self,
        to: &RedirectField,
        is_secure: bool,
        greeting: Greeting,
        own: &mut OwnTokens,
    ) -> Result<Client, ClientError> {
        let address = address_of(to, is_secure)?;
        let tls_name = Some(&*to.tls_name).filter(|name| !name.is_empty());
        let until = Instant::now() + EACH_WAY;
        let next = Client::connect_named((&address, tls_name), greeting, own, until)?;
        self.of_same_space(to, next)
    }

    /// Returns the next server's client. REDIRECTED: that server is not of this one's space.
    pub(super) fn of_same_space(
        &self,
        to: &RedirectField,
        next: Client,
    ) -> Result<Client, ClientError> {
        match (space_of(self.welcome())?, space_of(next.welcome())?) {
            (Some(here), Some(there)) if here == there => Ok(next),
            _ => Err(refused(to, "it serves another space; ask its operator")),
        }
    }
}

pub fn space_of(welcome: &Welcome) -> Result<Option<[u8; 16]>, Rejection> {
    let space: Option<IdField> = Fields::of(&welcome.fields)?.get(FieldKey::SpaceId)?;
    Ok(space.map(|space| space.id))
}

fn address_of(to: &RedirectField, is_secure: bool) -> Result<Address, ClientError> {
    let scheme = if is_secure { "iws" } else { "iw" };
    let address = Address::parse(&format!("{scheme}://{}", to.address));
    address.ok_or_else(|| refused(to, "that is not an address; ask its operator"))
}

fn refused(to: &RedirectField, why: &str) -> ClientError {
    let text = format!(
        "the server sent this client on to {}: {why}",
        readable(&to.address)
    );
    ClientError::Refused(Rejection::new(ErrorCode::Redirected, text))
}
