//! Header fields: what messages and heads of files carry besides their own members [FIELD-1..8].
//!
//! A list is checked before any of its values is read: a key stands in it once. What a reader does
//! not ask for is ignored, whatever it holds.

use crate::protocol::xdr::{from_bytes, to_bytes, Xdr};
use crate::protocol::{FieldKey, HeaderField, MAX_FIELD_TEXT};
use crate::Rejection;

/// A list that was received.
#[derive(Debug, Clone, Copy)]
pub struct Fields<'a>(&'a [HeaderField]);

impl<'a> Fields<'a> {
    /// MALFORMED if a key stands in the list twice [FIELD-2].
    pub fn of(list: &'a [HeaderField]) -> Result<Fields<'a>, Rejection> {
        for (i, field) in list.iter().enumerate() {
            if list[..i].iter().any(|before| before.key == field.key) {
                return Err(Rejection::malformed(format!(
                    "the header field {} is there twice",
                    field.key
                )));
            }
        }
        Ok(Fields(list))
    }

    /// The value of the key, if there is one; MALFORMED if it is not of that type [FIELD-5].
    pub fn get<T: Xdr>(&self, key: FieldKey) -> Result<Option<T>, Rejection> {
        let Some(field) = self.0.iter().find(|field| field.key == key as u32) else {
            return Ok(None);
        };
        let value = from_bytes(&field.value);
        value.map(Some).map_err(|error| {
            Rejection::malformed(format!(
                "the header field {} cannot be read: {error}",
                key.name()
            ))
        })
    }
}

/// A field to be sent or written.
pub fn field(key: FieldKey, value: &impl Xdr) -> HeaderField {
    HeaderField {
        key: key as u32,
        value: to_bytes(value),
    }
}

/// A text of a peer as it is shown and kept: its control characters are replaced [FIELD-8].
pub fn readable(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { '?' } else { c });
    shown.collect()
}

/// The beginning of a text, as far as a field may have it.
pub fn fitting(text: &str) -> String {
    let most = MAX_FIELD_TEXT as usize;
    let end = (0..=most.min(text.len())).rev();
    let end = end.into_iter().find(|&at| text.is_char_boundary(at));
    text[..end.unwrap_or(0)].to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{ErrorCode, LabelField, PidField};

    fn label(text: &str) -> LabelField {
        LabelField {
            label: text.to_string(),
        }
    }

    #[test]
    fn field_1_and_3_unknown_keys_are_ignored_in_any_order() {
        let unknown = |key| HeaderField {
            key,
            value: vec![1, 2, 3],
        };
        let mut list = vec![
            unknown(4_000_000_000),
            field(FieldKey::Pid, &PidField { pid: 7 }),
            unknown(4711),
            field(FieldKey::Program, &label("a")),
        ];
        for _ in 0..list.len() {
            list.rotate_left(1);
            let fields = Fields::of(&list).unwrap();
            let pid: Option<PidField> = fields.get(FieldKey::Pid).unwrap();
            assert_eq!(pid.map(|field| field.pid), Some(7));
            let host: Option<LabelField> = fields.get(FieldKey::Host).unwrap();
            assert_eq!(host, None);
        }
    }

    #[test]
    fn field_2_a_key_that_is_there_twice_is_malformed_also_an_unknown_one() {
        for key in [FieldKey::Pid as u32, 4711] {
            let one = HeaderField {
                key,
                value: Vec::new(),
            };
            let refused = Fields::of(&[one.clone(), one]).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Malformed);
        }
    }

    #[test]
    fn field_5_a_value_that_cannot_be_read_is_malformed_when_it_is_asked_for() {
        let mut list = vec![field(FieldKey::Pid, &PidField { pid: 7 })];
        for length in [0, 7, 9] {
            list[0].value.resize(length, 0);
            let fields = Fields::of(&list).unwrap();
            let refused = fields.get::<PidField>(FieldKey::Pid).unwrap_err();
            assert_eq!(refused.code, ErrorCode::Malformed, "{length} bytes");
            assert!(fields.get::<LabelField>(FieldKey::Host).is_ok());
        }
    }

    #[test]
    fn field_8_control_characters_are_not_shown() {
        assert_eq!(readable("a\u{1b}[2J\n\u{9b}é"), "a?[2J??é");
        assert_eq!(fitting(&"é".repeat(200)).len(), 254);
        assert_eq!(fitting("short"), "short");
    }
}
