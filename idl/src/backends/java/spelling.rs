//! Values in Java: the type of a field, and the call that carries it between the field
//! and the block's memory (org/interweave/IW_Memory.java).

use super::names::type_name;
use super::{flattened, is_class_target};
use crate::backends::limits::MAX_STRING_BOUND;
use crate::compile::Unit;
use crate::ir::{DefBody, Primitive, Type};

/// `call` has `{}` where the field stands.
pub struct Value {
    pub class: String,
    pub call: String,
    /// Of an unsigned number: the type of getter and setter, and how many bits it has.
    pub wide: Option<(&'static str, &'static str)>,
    /// Of an array in its place.
    pub length: Option<u128>,
}

impl Value {
    /// The statements that load a number from bytes and store it there. None for other values.
    pub fn number(&self, field: &str, at: u128) -> Option<(String, String)> {
        let method = self.call.split('(').next()?;
        let place = match at {
            0 => "iw_at".to_string(),
            _ => format!("iw_at + {at}"),
        };
        let method = match method {
            "i8" => {
                let byte = format!("iw_bytes[{place}]");
                return Some((format!("{field} = {byte};"), format!("{byte} = {field};")));
            }
            "i16" | "i32" | "i64" | "f32" | "f64" | "bool" => method,
            "member" => "i32",
            _ => return None,
        };
        let load = format!("{field} = iw_{method}(iw_bytes, {place});");
        let store = format!("iw_{method}(iw_bytes, {place}, {field});");
        Some((load, store))
    }
}

fn value(class: impl Into<String>, call: String) -> Value {
    Value {
        class: class.into(),
        call,
        wide: None,
        length: None,
    }
}

/// A value at that place, relative to the object's first byte.
pub fn spell(unit: &Unit<'_>, ty: &Type, at: u128) -> Value {
    let schema = unit.schema;
    match schema.resolve(ty) {
        Type::Primitive(Primitive::Quadruple) => row(unit, ty, at),
        Type::Primitive(primitive) => primitive_value(*primitive, at),
        Type::Opaque(_) | Type::Array(..) => row(unit, ty, at),
        Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => {
            value("String", format!("string({at}, {bound}, {{}})"))
        }
        Type::String(_) => value("String", format!("text({at}, {{}})")),
        Type::Pointer(target) => match class_of_target(unit, target) {
            Some(class) => value(&class, format!("reference({at}, {{}}, {class}.class)")),
            None => value("IW_Ref", format!("pointer({at}, {{}})")),
        },
        Type::AnyPointer => value("IW_Ref", format!("pointer({at}, {{}})")),
        Type::OpaqueVar(_) => value("byte[]", format!("owned({at}, {{}})")),
        Type::Sequence(element, _) => owned(unit, element, at),
        Type::Named(id) => {
            let def = schema.def(*id);
            match &def.body {
                DefBody::Enum(_) => value("int", format!("member({at}, {{}})")),
                _ => {
                    let class = type_name(def);
                    value(&class, format!("embedded({at}, {{}}, {class}.class)"))
                }
            }
        }
    }
}

fn primitive_value(primitive: Primitive, at: u128) -> Value {
    let (class, method, wide) = match primitive {
        Primitive::Char => ("byte", "i8", None),
        Primitive::UChar => ("byte", "i8", Some(("int", "8"))),
        Primitive::Short => ("short", "i16", None),
        Primitive::UShort => ("short", "i16", Some(("int", "16"))),
        Primitive::Int => ("int", "i32", None),
        Primitive::UInt => ("int", "i32", Some(("long", "32"))),
        Primitive::Hyper | Primitive::UHyper => ("long", "i64", None),
        Primitive::Float => ("float", "f32", None),
        Primitive::Double => ("double", "f64", None),
        Primitive::Bool => ("boolean", "bool", None),
        Primitive::Quadruple => unreachable!("is a row of bytes"),
    };
    Value {
        wide,
        ..value(class, format!("{method}({at}, {{}})"))
    }
}

/// The class of the objects that a pointer leads to; None if it may lead elsewhere.
pub fn class_of_target(unit: &Unit<'_>, target: &Type) -> Option<String> {
    let id = is_class_target(unit.schema, target)?;
    (!flattened(unit.schema, id)).then(|| type_name(unit.schema.def(id)))
}

/// An array in its place. Arrays of arrays are one row, in C's order.
fn row(unit: &Unit<'_>, ty: &Type, at: u128) -> Value {
    let schema = unit.schema;
    let (mut count, mut element) = (1u128, ty);
    let bytes = Type::Primitive(Primitive::UChar);
    loop {
        match schema.resolve(element) {
            Type::Array(inner, size) => {
                count = count.saturating_mul((*size).into());
                element = inner;
            }
            Type::Opaque(size) => {
                count = count.saturating_mul((*size).into());
                element = &bytes;
                break;
            }
            Type::Primitive(Primitive::Quadruple) => {
                count = count.saturating_mul(16);
                element = &bytes;
                break;
            }
            _ => break,
        }
    }
    let one = elements(unit, element);
    let bound = one
        .bound
        .map_or(String::new(), |bound| format!("{bound}, "));
    let class = one
        .class
        .map_or(String::new(), |class| format!(", {class}.class"));
    let call = format!("{}({at}, {count}, {bound}{{}}{class})", one.method);
    Value {
        length: Some(count),
        ..value(one.list, call)
    }
}

fn owned(unit: &Unit<'_>, element: &Type, at: u128) -> Value {
    let schema = unit.schema;
    if matches!(schema.resolve(element), Type::Array(..) | Type::Opaque(_)) {
        return value("IW_Ref", format!("ownedPointer({at}, {{}})"));
    }
    let one = elements(unit, element);
    match (one.method, one.class) {
        ("row", _) => value(one.list, format!("owned({at}, {{}})")),
        ("elements", Some(class)) => value(
            one.list,
            format!("ownedElements({at}, {{}}, {class}.class)"),
        ),
        ("references", Some(class)) => value(
            one.list,
            format!("ownedReferences({at}, {{}}, {class}.class)"),
        ),
        _ => value("IW_Ref", format!("ownedPointer({at}, {{}})")),
    }
}

struct Elements {
    list: String,
    method: &'static str,
    bound: Option<u32>,
    class: Option<String>,
}

/// A list of such values: its class, and the method that carries it.
fn elements(unit: &Unit<'_>, element: &Type) -> Elements {
    let schema = unit.schema;
    let plain = |list: &str, method| Elements {
        list: list.into(),
        method,
        bound: None,
        class: None,
    };
    match schema.resolve(element) {
        Type::Primitive(Primitive::Quadruple) => plain("byte[]", "row"),
        Type::Primitive(primitive) => {
            let number = primitive_value(*primitive, 0).class;
            plain(&format!("{number}[]"), "row")
        }
        Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => Elements {
            bound: Some(*bound),
            ..plain("String[]", "strings")
        },
        Type::String(_) => plain("String[]", "texts"),
        Type::Pointer(target) => match class_of_target(unit, target) {
            Some(class) => Elements {
                class: Some(class.clone()),
                ..plain(&format!("{class}[]"), "references")
            },
            None => plain("IW_Ref[]", "pointers"),
        },
        Type::Named(id) => match &schema.def(*id).body {
            DefBody::Enum(_) => plain("int[]", "row"),
            _ => {
                let class = type_name(schema.def(*id));
                let list = format!("IW_Elements<{class}>");
                Elements {
                    class: Some(class),
                    ..plain(&list, "elements")
                }
            }
        },
        Type::AnyPointer => plain("IW_Ref[]", "pointers"),
        _ => plain("IW_Ref[]", "ownedPointers"),
    }
}
