//! What C++ says of types: their names, and the expressions that encode and decode their values.

use crate::backends::codec::walk::{primitive_word, Element, Spelling};
use crate::backends::names::c_name;
use crate::ir::{DefId, Primitive, Schema};
use std::collections::BTreeSet;

pub fn name_of(schema: &Schema, id: DefId) -> String {
    c_name(&schema.def(id).full_name("_"))
}

/// A type's name in a struct. A member with the same name would hide the type.
pub struct TypeName<'a> {
    pub schema: &'a Schema,
    pub members: &'a BTreeSet<String>,
}

impl Spelling for TypeName<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = false;

    fn primitive(&self, primitive: Primitive) -> String {
        primitive_name(primitive).into()
    }

    fn named(&self, id: DefId) -> String {
        match name_of(self.schema, id) {
            name if self.members.contains(&name) => format!("protocol::{name}"),
            name => name,
        }
    }

    fn fixed(&self, size: u32) -> String {
        format!("std::array<std::uint8_t, {size}>")
    }

    fn bytes(&self, _bound: Option<u32>) -> String {
        "std::vector<std::uint8_t>".into()
    }

    fn text(&self, _bound: Option<u32>) -> String {
        "std::string".into()
    }

    fn elements(&self, count: u32, each: &Element<'_>) -> String {
        format!("std::array<{}, {count}>", each.text)
    }

    fn array(&self, _bound: Option<u32>, each: &Element<'_>) -> String {
        format!("std::vector<{}>", each.text)
    }

    fn optional(&self, each: &Element<'_>) -> String {
        format!("std::unique_ptr<{}>", each.text)
    }

    fn inner(&self) -> Self {
        TypeName { ..*self }
    }
}

/// A call that writes `place` to `writer`. Names of lambdas' parameters tell their depth.
pub struct Encode {
    writer: String,
    place: String,
    depth: usize,
}

impl Encode {
    pub fn place(place: impl Into<String>) -> Self {
        Encode {
            writer: "w".into(),
            place: place.into(),
            depth: 0,
        }
    }

    fn lambda(&self, each: &Element<'_>) -> String {
        let Encode { writer, place, .. } = self.inner();
        let call = &each.text;
        format!("[](xdr::Writer& {writer}, const auto& {place}) {{ {call}; }}")
    }

    /// A function of the runtime and its arguments behind the place.
    fn put(&self, what: &str, arguments: &[String]) -> String {
        call("put", what, &self.writer, &self.place, arguments)
    }
}

impl Spelling for Encode {
    const SEES_THROUGH_TYPEDEFS: bool = true;

    fn primitive(&self, primitive: Primitive) -> String {
        format!("{}.{}({})", self.writer, method(primitive), self.place)
    }

    fn named(&self, _id: DefId) -> String {
        format!("encode({}, {})", self.writer, self.place)
    }

    fn fixed(&self, _size: u32) -> String {
        fixed(&self.writer, &self.place)
    }

    fn bytes(&self, bound: Option<u32>) -> String {
        self.put("opaque", &[limit(bound)])
    }

    fn text(&self, bound: Option<u32>) -> String {
        self.put("string", &[limit(bound)])
    }

    fn elements(&self, _count: u32, each: &Element<'_>) -> String {
        self.put("elements", &[self.lambda(each)])
    }

    fn array(&self, bound: Option<u32>, each: &Element<'_>) -> String {
        self.put("array", &[limit(bound), self.lambda(each)])
    }

    fn optional(&self, each: &Element<'_>) -> String {
        self.put("optional", &[self.lambda(each)])
    }

    fn inner(&self) -> Self {
        Encode {
            writer: format!("to{}", self.depth),
            place: format!("item{}", self.depth),
            depth: self.depth + 1,
        }
    }
}

/// An expression that reads `place` from `reader` and is true if that went well.
pub struct Decode {
    reader: String,
    place: String,
    depth: usize,
}

impl Decode {
    pub fn place(place: impl Into<String>) -> Self {
        Decode {
            reader: "r".into(),
            place: place.into(),
            depth: 0,
        }
    }

    fn lambda(&self, each: &Element<'_>) -> String {
        let Decode { reader, place, .. } = self.inner();
        let call = &each.text;
        format!("[](xdr::Reader& {reader}, auto& {place}) {{ return {call}; }}")
    }

    fn get(&self, what: &str, arguments: &[String]) -> String {
        call("get", what, &self.reader, &self.place, arguments)
    }
}

impl Spelling for Decode {
    const SEES_THROUGH_TYPEDEFS: bool = true;

    fn primitive(&self, primitive: Primitive) -> String {
        format!("{}.{}({})", self.reader, method(primitive), self.place)
    }

    fn named(&self, _id: DefId) -> String {
        format!("decode({}, {})", self.reader, self.place)
    }

    fn fixed(&self, _size: u32) -> String {
        fixed(&self.reader, &self.place)
    }

    fn bytes(&self, bound: Option<u32>) -> String {
        self.get("opaque", &[limit(bound)])
    }

    fn text(&self, bound: Option<u32>) -> String {
        self.get("string", &[limit(bound)])
    }

    fn elements(&self, _count: u32, each: &Element<'_>) -> String {
        self.get("elements", &[self.lambda(each)])
    }

    fn array(&self, bound: Option<u32>, each: &Element<'_>) -> String {
        let least = format!("{}U", each.least);
        self.get("array", &[limit(bound), least, self.lambda(each)])
    }

    fn optional(&self, each: &Element<'_>) -> String {
        self.get("optional", &[self.lambda(each)])
    }

    fn inner(&self) -> Self {
        Decode {
            reader: format!("from{}", self.depth),
            place: format!("item{}", self.depth),
            depth: self.depth + 1,
        }
    }
}

/// A call of a function of the runtime: `xdr::put_array(w, v.x, 3U, ...)`.
fn call(verb: &str, what: &str, stream: &str, place: &str, arguments: &[String]) -> String {
    let arguments = arguments.join(", ");
    format!("xdr::{verb}_{what}({stream}, {place}, {arguments})")
}

fn fixed(stream: &str, place: &str) -> String {
    format!("{stream}.fixed({place}.data(), {place}.size())")
}

pub fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "std::int8_t",
        Primitive::UChar => "std::uint8_t",
        Primitive::Short => "std::int16_t",
        Primitive::UShort => "std::uint16_t",
        Primitive::Int => "std::int32_t",
        Primitive::UInt => "std::uint32_t",
        Primitive::Hyper => "std::int64_t",
        Primitive::UHyper => "std::uint64_t",
        Primitive::Float => "float",
        Primitive::Double => "double",
        Primitive::Bool => "bool",
        Primitive::Quadruple => unreachable!("spelt as fixed bytes"),
    }
}

/// The runtime's method for a primitive.
fn method(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Bool => "boolean",
        other => primitive_word(other),
    }
}

/// The least negative number has no literal of its own.
pub fn number(value: i32) -> String {
    match value {
        i32::MIN => "(-2147483647 - 1)".into(),
        value => value.to_string(),
    }
}

/// A constant's type and value.
pub fn constant(value: i128) -> (&'static str, String) {
    match value {
        0..=0xffff_ffff => ("std::uint32_t", format!("{value}U")),
        0x1_0000_0000.. => ("std::uint64_t", format!("{value}ULL")),
        -0x7fff_ffff..=-1 => ("std::int32_t", value.to_string()),
        -0x7fff_ffff_ffff_ffff..=-0x8000_0000 => ("std::int64_t", format!("{value}LL")),
        _ => ("std::int64_t", "(-9223372036854775807LL - 1)".into()),
    }
}

fn limit(bound: Option<u32>) -> String {
    match bound {
        Some(bound) => format!("{bound}U"),
        None => "xdr::kNoBound".into(),
    }
}
