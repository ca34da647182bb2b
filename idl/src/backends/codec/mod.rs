//! Encoders and decoders of the protocol's messages (RFC 4506), for the languages that speak it.
//!
//! The runtimes they lean on are written by hand: `server/wire/src/protocol/xdr.rs`,
//! `native/protocol/xdr.h`, `web/src/wire/protocol/xdr.ts` and `Xdr*.java` of java/. Generated code
//! holds no rule of its own beyond the order of fields: bounds, padding, UTF-8, recursion depth and
//! "never allocate more than the bytes at hand can fill" are the runtimes' business.
//!
//! The cluster's messages are not in XDR: [`cluster`] says how they lie.

pub mod cluster;
pub mod cpp;
pub mod java;
pub mod rust;
pub mod typescript;
mod walk;

use crate::backends::order::Cycles;
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Arm, DefBody, DefId, Primitive, Schema, Type};
use std::cell::RefCell;

/// Reports types that a program's data may have and an encoding may not.
pub fn check(schema: &Schema, report: &mut Report) {
    for def in &schema.defs {
        for mut ty in def.types() {
            while let Type::Array(element, _) | Type::Sequence(element, _) = ty {
                ty = element;
            }
            if *ty == Type::AnyPointer {
                let message = format!("`{}` has a `void *`, which cannot be encoded", def.name);
                report.error(Diagnostic::new(def.span, message));
            }
        }
    }
}

/// What all languages ask about encodings.
pub struct Encodings<'a> {
    schema: &'a Schema,
    pub cycles: Cycles,
    known: RefCell<Vec<Option<u64>>>,
}

impl<'a> Encodings<'a> {
    pub fn new(schema: &'a Schema) -> Self {
        Encodings {
            schema,
            cycles: Cycles::of(schema),
            known: RefCell::new(vec![None; schema.defs.len()]),
        }
    }

    /// The fewest bytes that a value of the type can take, at most 2^32-1: a count of elements is
    /// believed only if that many times as many bytes are there.
    pub fn least_bytes(&self, ty: &Type) -> u64 {
        let bytes = match ty {
            Type::Primitive(Primitive::Quadruple) => 16,
            Type::Primitive(Primitive::Hyper | Primitive::UHyper | Primitive::Double) => 8,
            Type::Primitive(_) => 4,
            Type::Named(id) => self.least_bytes_of(*id),
            Type::Opaque(size) => u64::from(*size).next_multiple_of(4),
            Type::Array(element, count) => {
                self.least_bytes(element).saturating_mul((*count).into())
            }
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::OpaqueVar(_) | Type::String(_) | Type::Sequence(..) | Type::Pointer(_) => 4,
        };
        bytes.min(u64::from(u32::MAX))
    }

    fn least_bytes_of(&self, id: DefId) -> u64 {
        if let Some(bytes) = self.known.borrow()[id.0] {
            return bytes;
        }
        let bytes = match &self.schema.def(id).body {
            DefBody::Const(_) => unreachable!("a constant is not a type"),
            DefBody::Enum(_) => 4,
            DefBody::Alias(ty) => self.least_bytes(ty),
            DefBody::Struct(fields) => fields.iter().map(|f| self.least_bytes(&f.ty)).sum(),
            DefBody::Union(union) => {
                let arms = union.every_arm().map(Arm::field);
                let least = arms.map(|field| field.map_or(0, |f| self.least_bytes(&f.ty)));
                4 + least.min().unwrap_or(0)
            }
        };
        self.known.borrow_mut()[id.0] = Some(bytes);
        bytes
    }
}
