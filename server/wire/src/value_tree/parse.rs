//! JSON to slot form.

use crate::json::{self, Json};
use crate::pointer::{Pointer, POINTER_BYTES};
use crate::protocol::{ArrayBody, ErrorCode, Field, Primitive, TypeBody, UnionBody};
use crate::rejection::Rejection;
use crate::types::TypeTable;

/// Reads values. `pointer` finds the target of a text like `#2` or a MIP, for a pointer to the
/// given type (0: to any type).
pub struct Reader<'a> {
    pub types: &'a TypeTable,
    pub pointer: &'a dyn Fn(u32, &str) -> Result<Pointer, Rejection>,
}

fn wrong<T>(wanted: &str, value: &Json) -> Result<T, Rejection> {
    let shown: String = json::line(value).chars().take(60).collect();
    let text = format!("{wanted} was expected, not {shown}");
    Err(Rejection::new(ErrorCode::BadValue, text))
}

fn within<T>(part: &str, result: Result<T, Rejection>) -> Result<T, Rejection> {
    result.map_err(|inner| Rejection::new(inner.code, format!("{part}: {}", inner.text)))
}

impl Reader<'_> {
    /// Returns the slot form of a value of a type. Owned blocks may only be null or empty, because
    /// this function cannot make blocks.
    pub fn slots(&self, type_serial: u32, value: &Json) -> Result<Vec<u8>, Rejection> {
        let mut slots = Vec::new();
        self.put(type_serial, value, None, &mut slots)?;
        Ok(slots)
    }

    /// The same, but fields that the value does not have stay as in `old`, the slot form of a value
    /// of the type.
    pub fn slots_over(
        &self,
        type_serial: u32,
        value: &Json,
        old: &[u8],
    ) -> Result<Vec<u8>, Rejection> {
        let mut slots = Vec::new();
        self.put(type_serial, value, Some(old), &mut slots)?;
        Ok(slots)
    }

    fn put(
        &self,
        serial: u32,
        value: &Json,
        old: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), Rejection> {
        let Some(ty) = self.types.get(serial) else {
            return Err(Rejection::new(
                ErrorCode::UnknownType,
                format!("no type {serial}"),
            ));
        };
        match &ty.descriptor.body {
            TypeBody::Enum(members) => {
                let found = members.iter().find(|member| match value {
                    Json::String(name) => *name == member.name,
                    Json::Number(number) => number.as_i64() == Some(member.value.into()),
                    _ => false,
                });
                let Some(member) = found else {
                    let names: Vec<&str> =
                        members.iter().map(|member| member.name.as_str()).collect();
                    return wrong(&format!("one of {}", names.join(", ")), value);
                };
                out.extend_from_slice(&member.value.to_le_bytes());
            }
            TypeBody::String(bound) => match value {
                Json::String(text) if text.len() <= *bound as usize && !text.contains('\0') => {
                    padded(text.as_bytes(), *bound as usize, out);
                }
                _ => return wrong(&format!("a string of at most {bound} bytes"), value),
            },
            TypeBody::Array(array) => self.array_of(array, value, old, out)?,
            TypeBody::Record(fields) => self.record(fields, value, old, out)?,
            TypeBody::Union(body) => self.union(body, ty.slot_bytes as usize, value, out)?,
            TypeBody::Pointer(target) => {
                let pointer = match value {
                    Json::Null => Pointer::NULL,
                    Json::String(text) => (self.pointer)(*target, text)?,
                    _ => return wrong("null, or a block as \"#2\" or \"#name\",", value),
                };
                out.extend_from_slice(&pointer.to_bytes());
            }
            TypeBody::Sequence(_) | TypeBody::Text(_) => {
                let empty = match value {
                    Json::Null => true,
                    Json::Array(items) => items.is_empty(),
                    Json::String(text) => text.is_empty(),
                    _ => false,
                };
                if !empty {
                    return wrong(
                        "null (it lies in a block of its own, which a program makes)",
                        value,
                    );
                }
                padded(&[], POINTER_BYTES, out);
            }
            TypeBody::Other(_) => primitive(serial, value, out)?,
        }
        Ok(())
    }

    fn array_of(
        &self,
        array: &ArrayBody,
        value: &Json,
        old: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), Rejection> {
        let (element, count) = (array.element, array.count as usize);
        match value {
            Json::Array(items) if items.len() == count => {
                for (index, item) in items.iter().enumerate() {
                    let bytes = old.map_or(0, |old| old.len() / count);
                    let old = old.map(|old| &old[index * bytes..][..bytes]);
                    within(&format!("[{index}]"), self.put(element, item, old, out))?;
                }
                Ok(())
            }
            Json::String(text) if element == Primitive::Char as u32 && text.len() <= count => {
                padded(text.as_bytes(), count, out);
                Ok(())
            }
            Json::String(hex) if element == Primitive::Uchar as u32 && hex.len() == 2 * count => {
                for index in 0..count {
                    let digits = hex.get(2 * index..2 * index + 2).unwrap_or("");
                    match u8::from_str_radix(digits, 16) {
                        Ok(byte) if !digits.starts_with('+') => out.push(byte),
                        _ => return wrong("hex digits", value),
                    }
                }
                Ok(())
            }
            _ => wrong(&format!("an array of {count} elements"), value),
        }
    }

    fn record(
        &self,
        fields: &[Field],
        value: &Json,
        old: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> Result<(), Rejection> {
        let Json::Object(members) = value else {
            return wrong("an object", value);
        };
        let known: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        check_members(members.keys(), &known)?;
        let mut rest = old;
        for field in fields {
            let bytes = self
                .types
                .get(field.type_)
                .map_or(0, |ty| ty.slot_bytes as usize);
            let old = rest.map(|rest| &rest[..bytes]);
            rest = rest.map(|rest| &rest[bytes..]);
            match (value.get(&field.name), old) {
                (Some(member), _) => {
                    within(&field.name, self.put(field.type_, member, old, out))?;
                }
                (None, Some(old)) => out.extend_from_slice(old),
                (None, None) => {
                    return wrong(
                        &format!("an object with the member `{}`", field.name),
                        value,
                    )
                }
            }
        }
        Ok(())
    }

    fn union(
        &self,
        body: &UnionBody,
        slot_bytes: usize,
        value: &Json,
        out: &mut Vec<u8>,
    ) -> Result<(), Rejection> {
        let Some(discriminant) = value.get(&body.discriminant) else {
            return wrong(
                &format!("an object with the member `{}`", body.discriminant),
                value,
            );
        };
        let end = out.len() + slot_bytes;
        let begin = out.len();
        within(
            &body.discriminant,
            self.put(body.discriminant_type, discriminant, None, out),
        )?;
        let number = i32::from_le_bytes(out[begin..begin + 4].try_into().expect("four bytes"));
        let arm = body.arms.iter().find(|arm| arm.values.contains(&number));
        let Some(arm) = arm.or(body.otherwise.as_deref()) else {
            return wrong("a discriminant that selects an arm", discriminant);
        };
        let is_void = arm.type_ == 0;
        let known = [body.discriminant.as_str(), arm.name.as_str()];
        let members = value
            .as_object()
            .into_iter()
            .flat_map(|object| object.keys());
        check_members(members, &known[..if is_void { 1 } else { 2 }])?;
        if !is_void {
            match value.get(&arm.name) {
                Some(member) => within(&arm.name, self.put(arm.type_, member, None, out))?,
                None => return wrong(&format!("an object with the member `{}`", arm.name), value),
            }
        }
        out.resize(end, 0);
        Ok(())
    }
}

/// Refuses a value with a member that its type does not have.
fn check_members<'a>(
    mut members: impl Iterator<Item = &'a String>,
    known: &[&str],
) -> Result<(), Rejection> {
    let Some(name) = members.find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let text = format!(
        "the value has no field `{name}`; its fields are {}",
        known.join(", ")
    );
    Err(Rejection::new(ErrorCode::BadValue, text))
}

fn padded(bytes: &[u8], length: usize, out: &mut Vec<u8>) {
    let end = out.len() + length;
    out.extend_from_slice(bytes);
    out.resize(end, 0);
}

/// Also the names that a float has in JSON strings.
fn float(value: &Json) -> Result<f64, Rejection> {
    let number = match value {
        Json::Number(number) => number.as_f64(),
        Json::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    number.map_or_else(|| wrong("a number", value), Ok)
}

fn primitive(serial: u32, value: &Json, out: &mut Vec<u8>) -> Result<(), Rejection> {
    macro_rules! integer {
        ($type:ty) => {{
            let range = format!("an integer from {} to {}", <$type>::MIN, <$type>::MAX);
            // Wide enough for both signs.
            let number = value.as_i64().map(i128::from);
            let number = number.or_else(|| value.as_u64().map(i128::from));
            match number.and_then(|number| <$type>::try_from(number).ok()) {
                Some(number) => out.extend_from_slice(&number.to_le_bytes()),
                None => return wrong(&range, value),
            }
        }};
    }
    match Primitive::try_from(serial as i32) {
        Ok(Primitive::Char) => integer!(i8),
        Ok(Primitive::Uchar) => integer!(u8),
        Ok(Primitive::Short) => integer!(i16),
        Ok(Primitive::Ushort) => integer!(u16),
        Ok(Primitive::Int) => integer!(i32),
        Ok(Primitive::Uint) => integer!(u32),
        Ok(Primitive::Hyper) => integer!(i64),
        Ok(Primitive::Uhyper) => integer!(u64),
        Ok(Primitive::Float) => out.extend_from_slice(&(float(value)? as f32).to_le_bytes()),
        Ok(Primitive::Double) => out.extend_from_slice(&float(value)?.to_le_bytes()),
        Ok(Primitive::Bool) => match value {
            Json::Bool(value) => out.extend_from_slice(&u32::from(*value).to_le_bytes()),
            _ => return wrong("true or false", value),
        },
        Err(_) => unreachable!("a type without a body is a primitive"),
    }
    Ok(())
}
