//! The ids of a store, which it keeps as long as it lives, in the head of each log file [LOG-16].

use interweave_wire::fields::{field, Fields};
use interweave_wire::protocol::{FieldKey, HeaderField, IdField};
use interweave_wire::Rejection;

use crate::random::random;

/// 128 random bits each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Identity {
    pub server: [u8; 16],
    /// Of the name space, which other servers may share.
    pub space: [u8; 16],
}

impl Identity {
    pub fn random() -> Identity {
        Identity {
            server: random_id(),
            space: random_id(),
        }
    }

    pub fn fields(&self) -> Vec<HeaderField> {
        let of = |key, id| field(key, &IdField { id });
        vec![
            of(FieldKey::SpaceId, self.space),
            of(FieldKey::ServerId, self.server),
        ]
    }

    /// None: the list does not have both.
    pub fn of(list: &[HeaderField]) -> Result<Option<Identity>, Rejection> {
        let fields = Fields::of(list)?;
        let space: Option<IdField> = fields.get(FieldKey::SpaceId)?;
        let server: Option<IdField> = fields.get(FieldKey::ServerId)?;
        Ok(server.zip(space).map(|(server, space)| Identity {
            server: server.id,
            space: space.id,
        }))
    }
}

fn random_id() -> [u8; 16] {
    (u128::from(random()) << 64 | u128::from(random())).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_random_in_all_of_its_parts() {
        let (one, other) = (Identity::random(), Identity::random());
        let halves = [one.server, one.space, other.server, other.space];
        let halves: Vec<&[u8]> = halves.iter().flat_map(|id| id.chunks(8)).collect();
        for (i, half) in halves.iter().enumerate() {
            assert_ne!(*half, [0; 8]);
            assert!(!halves[..i].contains(half), "{halves:?}");
        }
    }
}
