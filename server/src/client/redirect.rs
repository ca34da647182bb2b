//! Following a server that sends the client on to another one of its space [SPACE-9..12].

use super::error::listed;
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
        let next = Client::connect_named((&address, tls_name), greeting, own, until);
        let next = next.map_err(|error| refused_there(self.address.as_ref(), &address, error))?;
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

/// Says of a refusal which server it is from, and which one has sent the client there. Of a lost
/// connection the caller says it.
fn refused_there(by: Option<&Address>, there: &Address, error: ClientError) -> ClientError {
    let by = by.map_or("the server".to_string(), Address::to_string);
    let sent = format!("{by} sent this client on to {there}");
    match error {
        lost if lost.is_lost() => lost,
        ClientError::NotNamed { wanted, names } => {
            let text = format!(
                "{sent}, whose certificate is for {}, not for {wanted}; correct \
                 --advertise-tls-name of that server, or give its certificate that name",
                listed(&names)
            );
            ClientError::Refused(Rejection::new(ErrorCode::Denied, text))
        }
        ClientError::Refused(why) => {
            let text = format!("{sent}: {}", why.text);
            ClientError::Refused(Rejection { text, ..why })
        }
        other => other,
    }
}

fn refused(to: &RedirectField, why: &str) -> ClientError {
    let text = format!(
        "the server sent this client on to {}: {why}",
        readable(&to.address)
    );
    ClientError::Refused(Rejection::new(ErrorCode::Redirected, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(error: ClientError) -> ClientError {
        let at = |text: &str| Address::parse(text).expect("an address");
        let (by, there) = (at("iws://a.example"), at("iws://10.0.0.2:7748"));
        refused_there(Some(&by), &there, error)
    }

    #[test]
    fn space_11_a_certificate_without_the_tls_name_is_told_with_both_servers() {
        let told = told(ClientError::NotNamed {
            wanted: "c.example".to_string(),
            names: vec!["localhost".to_string(), "::1".to_string()],
        });
        assert_eq!(told.code(), Some(ErrorCode::Denied));
        let text = told.to_string();
        for part in [
            "iws://a.example:7747 sent this client on to iws://10.0.0.2:7748, whose certificate",
            "is for localhost and ::1, not for c.example; correct --advertise-tls-name of that",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("IW_CA"), "{text}");
    }

    #[test]
    fn a_refusal_is_told_with_both_servers_and_a_lost_connection_stays_one() {
        let denied = Rejection::new(ErrorCode::Denied, "the token is not valid");
        let text = told(denied.into()).to_string();
        let expected = "sent this client on to iws://10.0.0.2:7748: the token is not valid";
        assert!(text.contains(expected), "{text}");
        assert!(told(ClientError::Silent).is_lost());
    }
}
