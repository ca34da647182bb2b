//! What Rust says of types: their names, and the expressions that encode and decode their values.

use crate::backends::codec::walk::{primitive_word, Element, Spelling};
use crate::backends::names::rust_type;
use crate::ir::{DefId, Primitive, Schema};

/// A type's name.
pub struct TypeName<'a>(pub &'a Schema);

impl Spelling for TypeName<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = false;

    fn primitive(&self, primitive: Primitive) -> String {
        primitive_word(primitive).into()
    }

    fn named(&self, id: DefId) -> String {
        rust_type(&self.0.def(id).name)
    }

    fn fixed(&self, size: u32) -> String {
        format!("[u8; {size}]")
    }

    fn bytes(&self, _bound: Option<u32>) -> String {
        "Vec<u8>".into()
    }

    fn text(&self, _bound: Option<u32>) -> String {
        "String".into()
    }

    fn elements(&self, count: u32, each: &Element<'_>) -> String {
        format!("[{}; {count}]", each.text)
    }

    fn array(&self, _bound: Option<u32>, each: &Element<'_>) -> String {
        format!("Vec<{}>", each.text)
    }

    fn optional(&self, each: &Element<'_>) -> String {
        format!("Option<Box<{}>>", each.text)
    }

    fn inner(&self) -> Self {
        TypeName(self.0)
    }
}

/// An expression that writes a value to `out`.
pub struct Encode<'a> {
    value: &'a str,
    is_reference: bool,
}

impl<'a> Encode<'a> {
    /// Of a value that stands at a place.
    pub fn place(value: &'a str) -> Self {
        Encode {
            value,
            is_reference: false,
        }
    }

    /// Of a value behind a reference.
    pub fn reference(value: &'a str) -> Self {
        Encode {
            value,
            is_reference: true,
        }
    }

    fn method(&self) -> String {
        format!("{}.encode(out)", self.value)
    }

    fn borrowed(&self) -> String {
        let mark = if self.is_reference { "" } else { "&" };
        format!("{mark}{}", self.value)
    }
}

impl Spelling for Encode<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = true;

    fn primitive(&self, _primitive: Primitive) -> String {
        self.method()
    }

    fn named(&self, _id: DefId) -> String {
        self.method()
    }

    fn fixed(&self, _size: u32) -> String {
        format!("xdr::put_fixed({}, out)", self.borrowed())
    }

    fn bytes(&self, bound: Option<u32>) -> String {
        let (value, bound) = (self.borrowed(), limit(bound));
        format!("xdr::put_opaque({value}, {bound}, out)")
    }

    fn text(&self, bound: Option<u32>) -> String {
        let (value, bound) = (self.borrowed(), limit(bound));
        format!("xdr::put_string({value}, {bound}, out)")
    }

    fn elements(&self, _count: u32, each: &Element<'_>) -> String {
        let (value, each) = (self.borrowed(), &each.text);
        format!("xdr::put_elements({value}, out, |item, out| {each})")
    }

    fn array(&self, bound: Option<u32>, each: &Element<'_>) -> String {
        let (value, bound, each) = (self.borrowed(), limit(bound), &each.text);
        format!("xdr::put_array({value}, {bound}, out, |item, out| {each})")
    }

    fn optional(&self, each: &Element<'_>) -> String {
        let (value, each) = (self.borrowed(), &each.text);
        format!("xdr::put_optional({value}, out, |item, out| {each})")
    }

    fn inner(&self) -> Self {
        Encode::reference("item")
    }
}

/// An expression that reads a result from `r`.
pub struct Decode<'a>(pub &'a Schema);

impl Spelling for Decode<'_> {
    const SEES_THROUGH_TYPEDEFS: bool = true;

    fn primitive(&self, primitive: Primitive) -> String {
        format!("{}::decode(r)", primitive_word(primitive))
    }

    fn named(&self, id: DefId) -> String {
        format!("{}::decode(r)", rust_type(&self.0.def(id).name))
    }

    fn fixed(&self, size: u32) -> String {
        format!("r.fixed::<{size}>()")
    }

    fn bytes(&self, bound: Option<u32>) -> String {
        format!("r.opaque({})", limit(bound))
    }

    fn text(&self, bound: Option<u32>) -> String {
        format!("r.string({})", limit(bound))
    }

    fn elements(&self, _count: u32, each: &Element<'_>) -> String {
        format!("r.elements({}, |r| {})", each.least, each.text)
    }

    fn array(&self, bound: Option<u32>, each: &Element<'_>) -> String {
        let bound = limit(bound);
        format!("r.array({bound}, {}, |r| {})", each.least, each.text)
    }

    fn optional(&self, each: &Element<'_>) -> String {
        format!("r.optional(|r| {})", each.text)
    }

    fn inner(&self) -> Self {
        Decode(self.0)
    }
}

fn limit(bound: Option<u32>) -> u32 {
    bound.unwrap_or(u32::MAX)
}
