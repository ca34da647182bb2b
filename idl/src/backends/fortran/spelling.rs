//! How Fortran writes a type: what stands before `::`, and the dimensions behind the name.

use super::type_name;
use crate::backends::limits::MAX_STRING_BOUND;
use crate::ir::{DefBody, Primitive, Schema, Type};

pub struct Spelling {
    pub base: String,
    /// The fastest first: C's `a[3][4]` is `a(4, 3)`.
    pub dimensions: Vec<u64>,
}

impl Spelling {
    fn scalar(base: impl Into<String>) -> Self {
        Spelling {
            base: base.into(),
            dimensions: Vec::new(),
        }
    }

    fn row(base: &str, count: u64) -> Self {
        Spelling {
            base: base.into(),
            dimensions: vec![count],
        }
    }

    /// `(4, 3)`, or nothing.
    pub fn shape(&self) -> String {
        match self.dimensions.is_empty() {
            true => String::new(),
            false => format!("({})", extents(&self.dimensions)),
        }
    }

    /// `(:, :)`, or nothing.
    pub fn deferred(&self) -> String {
        match self.dimensions.len() {
            0 => String::new(),
            rank => format!("({})", vec![":"; rank].join(", ")),
        }
    }
}

const BYTE: &str = "integer(c_signed_char)";
const SEQUENCE: &str = "type(IW_sequence_t)";

/// `4, 3`. All are of one kind, as an array constructor needs them.
pub fn extents(dimensions: &[u64]) -> String {
    let wide = dimensions
        .iter()
        .any(|&count| i32::try_from(count).is_err());
    let suffix = if wide { "_c_int64_t" } else { "" };
    let extents = dimensions.iter().map(|count| format!("{count}{suffix}"));
    extents.collect::<Vec<String>>().join(", ")
}

pub fn spell(schema: &Schema, ty: &Type) -> Spelling {
    match ty {
        Type::Primitive(Primitive::Quadruple) => Spelling::row(BYTE, 16),
        Type::Primitive(primitive) => Spelling::scalar(primitive_name(*primitive)),
        Type::Named(id) => {
            let def = schema.def(*id);
            match &def.body {
                DefBody::Alias(target) => spell(schema, target),
                DefBody::Enum(_) => Spelling::scalar("integer(c_int)"),
                _ => Spelling::scalar(format!("type({})", type_name(def))),
            }
        }
        Type::Opaque(size) => Spelling::row(BYTE, u64::from(*size)),
        Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => {
            Spelling::row("character(kind=c_char)", u64::from(*bound) + 1)
        }
        Type::Array(element, count) => {
            let mut element = spell(schema, element);
            element.dimensions.push(u64::from(*count));
            element
        }
        Type::String(_) | Type::Pointer(_) | Type::AnyPointer => Spelling::scalar("type(c_ptr)"),
        Type::Sequence(..) | Type::OpaqueVar(_) => Spelling::scalar(SEQUENCE),
    }
}

fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "character(kind=c_char)",
        Primitive::UChar => BYTE,
        Primitive::Short | Primitive::UShort => "integer(c_short)",
        Primitive::Int | Primitive::UInt | Primitive::Bool => "integer(c_int)",
        Primitive::Hyper | Primitive::UHyper => "integer(c_int64_t)",
        Primitive::Float => "real(c_float)",
        Primitive::Double => "real(c_double)",
        Primitive::Quadruple => unreachable!("spelt as a row of bytes"),
    }
}
