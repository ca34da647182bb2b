//! C's declarators: a type around a name.

use super::Backend;
use crate::backends::limits::MAX_STRING_BOUND;
use crate::ir::{DefBody, DefId, Primitive, Type};
use std::collections::BTreeSet;

pub fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "char",
        Primitive::UChar => "unsigned char",
        Primitive::Short => "short",
        Primitive::UShort => "unsigned short",
        Primitive::Int => "int",
        Primitive::UInt => "unsigned int",
        Primitive::Hyper => "int64_t",
        Primitive::UHyper => "uint64_t",
        Primitive::Float => "float",
        Primitive::Double => "double",
        Primitive::Bool => "IW_bool_t",
        Primitive::Quadruple => unreachable!("declared as an array of bytes"),
    }
}

impl Backend<'_> {
    /// `T name`, as lines of code: a sequence takes four.
    pub fn declaration(&self, ty: &Type, name: &str, members: &BTreeSet<String>) -> Vec<String> {
        match ty {
            Type::Sequence(element, _) => {
                let values = Type::Pointer(element.clone());
                self.sequence(&values, name, members)
            }
            Type::OpaqueVar(_) => {
                let bytes = Type::Primitive(Primitive::UChar);
                self.sequence(&Type::Pointer(Box::new(bytes)), name, members)
            }
            Type::Named(id) if members.contains(&self.name(*id)) => {
                // Members hide types of their name in C++, unless the type is called by its kind.
                match &self.schema.def(*id).body {
                    DefBody::Alias(target) => self.declaration(target, name, members),
                    _ => vec![self.declarator(ty, name, members)],
                }
            }
            _ => vec![self.declarator(ty, name, members)],
        }
    }

    fn sequence(&self, values: &Type, name: &str, members: &BTreeSet<String>) -> Vec<String> {
        // Inside another declarator the name comes with stars and brackets.
        let base = name.trim_matches(|c: char| !c.is_alphanumeric() && c != '_');
        vec![
            "struct {".into(),
            format!("  unsigned int {base}_len;"),
            format!(
                "  {};",
                self.declarator(values, &format!("{base}_val"), members)
            ),
            format!("}} {name}"),
        ]
    }

    /// `T name` for everything but sequences, which have no form in one line.
    fn declarator(&self, ty: &Type, name: &str, members: &BTreeSet<String>) -> String {
        match ty {
            Type::Primitive(Primitive::Quadruple) => format!("unsigned char {name}[16]"),
            Type::Primitive(primitive) => format!("{} {name}", primitive_name(*primitive)),
            Type::Named(id) => self.named(*id, name, members),
            Type::AnyPointer => format!("void *{name}"),
            Type::Opaque(size) => format!("unsigned char {name}[{size}]"),
            Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => {
                format!("char {name}[{}]", bound + 1)
            }
            Type::String(_) => format!("char *{name}"),
            Type::Array(element, count) => {
                self.declarator(element, &format!("{name}[{count}]"), members)
            }
            Type::Pointer(target) if is_array_like(target) => {
                self.declarator(target, &format!("(*{name})"), members)
            }
            Type::Pointer(target) => self.declarator(target, &format!("*{name}"), members),
            Type::Sequence(..) | Type::OpaqueVar(_) => {
                // Only reached inside another declarator: the struct in one line.
                self.declaration(ty, name, members)
                    .join(" ")
                    .replace("  ", " ")
            }
        }
    }

    fn named(&self, id: DefId, name: &str, members: &BTreeSet<String>) -> String {
        let own = self.name(id);
        if !members.contains(&own) {
            return format!("{own} {name}");
        }
        match &self.schema.def(id).body {
            DefBody::Enum(_) => format!("enum {own} {name}"),
            DefBody::Alias(target) => self.declarator(target, name, members),
            _ => format!("struct {own} {name}"),
        }
    }
}

/// Whether the declarator puts something behind the name, which binds tighter than a star.
fn is_array_like(ty: &Type) -> bool {
    match ty {
        Type::Opaque(_) | Type::Array(..) | Type::Primitive(Primitive::Quadruple) => true,
        Type::String(bound) => bound.is_some_and(|bound| bound <= MAX_STRING_BOUND),
        _ => false,
    }
}
