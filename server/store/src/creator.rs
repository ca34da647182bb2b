//! The maker of a segment, as the header of its LOG_CREATE and its checkpoints say it [LOG-20].
//!
//! The store keeps the value and does not know what its scheme means. A field that does not hold is
//! not damage, because the checksums hold: the program that wrote it was another one.

use interweave_wire::fields::{field, Fields};
use interweave_wire::protocol::{FieldKey, HeaderField, IdentityField};

/// Returns the field that says who made a segment.
pub fn creator_field(creator: &IdentityField) -> HeaderField {
    field(FieldKey::Identity, creator)
}

/// Returns who made the segment of that head. None: the head does not say it in a way that holds.
pub fn creator_of(fields: &[HeaderField]) -> Option<IdentityField> {
    Fields::of(fields).ok()?.get(FieldKey::Identity).ok()?
}

/// Keeps the one field that a checkpoint has besides those of the store.
pub fn keep_creator(fields: &mut Vec<HeaderField>) {
    let creator = creator_of(fields);
    fields.clear();
    fields.extend(creator.iter().map(creator_field));
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::protocol::{IdField, MAX_FIELD_VALUE};

    fn alice() -> IdentityField {
        IdentityField {
            scheme: "token".to_string(),
            name: "alice".to_string(),
        }
    }

    #[test]
    fn log_20_a_field_that_does_not_hold_says_nothing() {
        let whole = creator_field(&alice());
        let of = |value: &[u8]| HeaderField {
            key: whole.key,
            value: value.to_vec(),
        };
        assert_eq!(creator_of(std::slice::from_ref(&whole)), Some(alice()));
        assert_eq!(creator_of(&[]), None);
        assert_eq!(creator_of(&[whole.clone(), whole.clone()]), None, "twice");
        for length in 0..whole.value.len() {
            let cut = of(&whole.value[..length]);
            assert_eq!(creator_of(&[cut]), None, "the first {length} bytes");
        }
        let longest = MAX_FIELD_VALUE as usize;
        assert_eq!(creator_of(&[of(&vec![0xff; longest])]), None);
        let with_more = [&whole.value[..], &[0; 4]].concat();
        assert_eq!(creator_of(&[of(&with_more)]), None, "bytes follow");
    }

    #[test]
    fn log_20_a_checkpoint_keeps_the_field_once_and_no_other() {
        let id = field(FieldKey::SpaceId, &IdField { id: [7; 16] });
        let mut fields = vec![id, creator_field(&alice())];
        keep_creator(&mut fields);
        assert_eq!(fields, [creator_field(&alice())]);
        fields.push(creator_field(&alice()));
        keep_creator(&mut fields);
        assert_eq!(fields, []);
    }
}
