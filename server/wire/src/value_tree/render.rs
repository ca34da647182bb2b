//! Slot form to JSON.

use crate::json::Json;
use crate::pointer::{Pointer, POINTER_BYTES};
use crate::protocol::{Field, Primitive, TypeBody, UnionBody};
use crate::types::{Type, TypeTable};

/// Renders values. `pointer` returns the text of a pointer (a MIP). `owned` returns the contents of
/// an owned block, or None to show the pointer.
pub struct Renderer<'a> {
    pub types: &'a TypeTable,
    /// The most elements of an array that are shown; "..." stands for the others.
    pub max_elements: u64,
    pub pointer: &'a dyn Fn(Pointer) -> String,
    pub owned: &'a dyn Fn(Pointer) -> Option<Json>,
}

fn le<const N: usize>(slots: &[u8]) -> [u8; N] {
    slots[..N].try_into().expect("a slot has its type's size")
}

/// The bytes before the first NUL, if they are text without control characters.
fn text_of(slots: &[u8]) -> Option<&str> {
    let end = slots
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(slots.len());
    let (text, rest) = slots.split_at(end);
    let text = std::str::from_utf8(text).ok()?;
    let plain = rest.iter().all(|&byte| byte == 0) && !text.contains(char::is_control);
    plain.then_some(text)
}

/// The shortest text of a number. Numbers that JSON does not have become strings.
fn float(shown: String) -> Json {
    match shown.parse::<f64>() {
        Ok(number) if number.is_finite() => Json::from(number),
        _ => Json::String(shown),
    }
}

impl Renderer<'_> {
    /// Renders a whole block. A block of one element is rendered as the element.
    pub fn block(&self, type_serial: u32, count: u64, slots: &[u8]) -> Json {
        match count {
            1 => self.value(type_serial, slots),
            _ => self.array(type_serial, count, slots),
        }
    }

    /// Renders one value, whose slot form is `slots`.
    pub fn value(&self, type_serial: u32, slots: &[u8]) -> Json {
        let ty = self.ty(type_serial);
        match &ty.descriptor.body {
            TypeBody::Enum(members) => {
                let value = i32::from_le_bytes(le(slots));
                let member = members.iter().find(|member| member.value == value);
                member.map_or(Json::from(value), |member| Json::from(&*member.name))
            }
            TypeBody::String(_) => {
                let end = slots
                    .iter()
                    .position(|&byte| byte == 0)
                    .unwrap_or(slots.len());
                Json::from(String::from_utf8_lossy(&slots[..end]))
            }
            TypeBody::Array(array) => self.array(array.element, array.count.into(), slots),
            TypeBody::Record(fields) => self.record(fields, slots),
            TypeBody::Union(body) => self.union(body, slots),
            TypeBody::Pointer(_) => match pointer(slots) {
                Pointer::NULL => Json::Null,
                pointer => Json::String((self.pointer)(pointer)),
            },
            TypeBody::Sequence(_) => self.owned(slots, Json::Array(Vec::new())),
            TypeBody::Text(_) => self.owned(slots, Json::from("")),
            TypeBody::Other(_) => primitive(type_serial, slots),
        }
    }

    fn ty(&self, serial: u32) -> &Type {
        self.types
            .get(serial)
            .expect("a table's types embed known types")
    }

    fn array(&self, element: u32, count: u64, slots: &[u8]) -> Json {
        if element == Primitive::Char as u32 {
            if let Some(text) = text_of(slots) {
                return Json::from(text);
            }
        }
        if element == Primitive::Uchar as u32 {
            return hex(slots, self.max_elements);
        }
        let bytes = self.ty(element).slot_bytes as usize;
        let shown = count.min(self.max_elements) as usize;
        let each = slots.chunks_exact(bytes).take(shown);
        let mut items: Vec<Json> = each.map(|slots| self.value(element, slots)).collect();
        if (shown as u64) < count {
            items.push(Json::from("..."));
        }
        Json::Array(items)
    }

    fn record(&self, fields: &[Field], slots: &[u8]) -> Json {
        let mut rest = slots;
        let members = fields.iter().map(|field| {
            let (slots, after) = rest.split_at(self.ty(field.type_).slot_bytes as usize);
            rest = after;
            (field.name.clone(), self.value(field.type_, slots))
        });
        Json::Object(members.collect())
    }

    fn union(&self, body: &UnionBody, slots: &[u8]) -> Json {
        let (discriminant, slots) = slots.split_at(4);
        let value = i32::from_le_bytes(le(discriminant));
        let shown = self.value(body.discriminant_type, discriminant);
        let mut members = vec![(body.discriminant.clone(), shown)];
        let arm = body.arms.iter().find(|arm| arm.values.contains(&value));
        if let Some(arm) = arm
            .or(body.otherwise.as_deref())
            .filter(|arm| arm.type_ != 0)
        {
            let bytes = self.ty(arm.type_).slot_bytes as usize;
            members.push((arm.name.clone(), self.value(arm.type_, &slots[..bytes])));
        }
        members.into_iter().collect()
    }

    fn owned(&self, slots: &[u8], empty: Json) -> Json {
        let pointer = pointer(slots);
        if pointer.is_null() {
            return empty;
        }
        (self.owned)(pointer).unwrap_or_else(|| Json::String((self.pointer)(pointer)))
    }
}

fn pointer(slots: &[u8]) -> Pointer {
    Pointer::from_bytes(&le::<POINTER_BYTES>(slots))
}

fn hex(bytes: &[u8], max_bytes: u64) -> Json {
    let shown = bytes
        .len()
        .min(usize::try_from(max_bytes).unwrap_or(usize::MAX));
    let mut text: String = bytes[..shown]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    if shown < bytes.len() {
        text.push_str("...");
    }
    Json::String(text)
}

fn primitive(serial: u32, slots: &[u8]) -> Json {
    match Primitive::try_from(serial as i32) {
        Ok(Primitive::Char) => Json::from(i8::from_le_bytes(le(slots))),
        Ok(Primitive::Uchar) => Json::from(slots[0]),
        Ok(Primitive::Short) => Json::from(i16::from_le_bytes(le(slots))),
        Ok(Primitive::Ushort) => Json::from(u16::from_le_bytes(le(slots))),
        Ok(Primitive::Int) => Json::from(i32::from_le_bytes(le(slots))),
        Ok(Primitive::Uint) => Json::from(u32::from_le_bytes(le(slots))),
        Ok(Primitive::Hyper) => Json::from(i64::from_le_bytes(le(slots))),
        Ok(Primitive::Uhyper) => Json::from(u64::from_le_bytes(le(slots))),
        Ok(Primitive::Float) => float(format!("{:?}", f32::from_le_bytes(le(slots)))),
        Ok(Primitive::Double) => float(format!("{:?}", f64::from_le_bytes(le(slots)))),
        Ok(Primitive::Bool) => Json::Bool(u32::from_le_bytes(le(slots)) != 0),
        Err(_) => unreachable!("a type without a body is a primitive"),
    }
}
