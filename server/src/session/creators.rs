//! The maker of a segment: the account for which the segment counts, and the field by which the
//! store keeps the maker, so that the segment counts after a start, too [LIM-4] [LOG-20].

use super::accounts::Accounts;
use interweave_access::{is_name, Identity};
use interweave_store::creator_field;
use interweave_wire::protocol::{HeaderField, IdentityField, MAX_FIELD_TEXT};

/// The schemes of the store's files, as spec/access.md has them.
const ANYONE: &str = "anyone";
const TOKEN: &str = "token";
const CERTIFICATE: &str = "cert";
const USER: &str = "uid";

/// Returns the field of a segment's creation and checkpoints that names the account's identity. The
/// list is empty if the account is not known, or if its name is too long.
pub fn creator_fields(accounts: &Accounts, account: u32) -> Vec<HeaderField> {
    let creator = accounts.identity(account).and_then(to_field);
    creator.iter().map(creator_field).collect()
}

/// None: the identity's name is too long.
fn to_field(identity: &Identity) -> Option<IdentityField> {
    let (scheme, name) = match identity {
        Identity::Anyone => (ANYONE, String::new()),
        Identity::Name(name) => (TOKEN, name.to_string()),
        Identity::Certificate(name) => (CERTIFICATE, name.to_string()),
        Identity::User(user) => (USER, user.to_string()),
    };
    let scheme = scheme.to_string();
    (name.len() <= MAX_FIELD_TEXT as usize).then_some(IdentityField { scheme, name })
}

/// None: this server does not know the scheme, or the name is not one of that scheme.
pub fn from_field(field: &IdentityField) -> Option<Identity> {
    let name = field.name.as_str();
    match field.scheme.as_str() {
        ANYONE => name.is_empty().then_some(Identity::Anyone),
        TOKEN => is_name(name).then(|| Identity::Name(name.into())),
        CERTIFICATE => (!name.is_empty()).then(|| Identity::Certificate(name.into())),
        USER => Identity::parse(&format!("uid:{name}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(scheme: &str, name: &str) -> IdentityField {
        IdentityField {
            scheme: scheme.to_string(),
            name: name.to_string(),
        }
    }

    #[test]
    fn lim_4_every_identity_is_found_again() {
        let longest = "n".repeat(MAX_FIELD_TEXT as usize);
        for identity in [
            Identity::Anyone,
            Identity::Name("alice".into()),
            Identity::Certificate("alice".into()),
            Identity::Certificate("uid:5, é".into()),
            Identity::Certificate(longest.as_str().into()),
            Identity::User(0),
            Identity::User(u32::MAX),
        ] {
            let kept = to_field(&identity).expect("it is kept");
            assert_eq!(from_field(&kept), Some(identity));
        }
        let too_long = Identity::Certificate(format!("{longest}n").into());
        assert_eq!(to_field(&too_long), None);
    }

    #[test]
    fn lim_4_what_is_not_an_identity_is_nobody() {
        for (scheme, name) in [
            ("", ""),
            ("none", "é"),
            ("TOKEN", "alice"),
            (ANYONE, "alice"),
            (TOKEN, ""),
            (TOKEN, "anyone"),
            (TOKEN, "cert:alice"),
            (TOKEN, "a b"),
            (CERTIFICATE, ""),
            (USER, ""),
            (USER, "-1"),
            (USER, "007"),
            (USER, "4294967296"),
        ] {
            let read = from_field(&field(scheme, name));
            assert_eq!(read, None, "{scheme} {name}");
        }
    }
}
