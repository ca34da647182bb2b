//! What type descriptors cannot express, whatever the language: the bounds of
//! spec/format/type-descriptor.md ([TYPE-1], [TYPE-2]). The server refuses what exceeds them; here
//! the place in the file is known.

use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Arm, Def, DefBody, DefId, Primitive, Schema, Type};
use crate::source::{FileId, Span};

/// Limits of spec/protocol/descriptor.x; a test compares them with that file.
pub const MAX_TYPE_NAME: usize = 255;
pub const MAX_FIELDS: usize = 4096;
pub const MAX_ENUM_MEMBERS: usize = 4096;
/// The largest bound of a string that is stored in its block; longer ones live in their own.
pub const MAX_STRING_BOUND: u32 = 4096;
/// The most bytes of a type in wire format.
pub const MAX_SLOT: u128 = 1 << 40;
/// How deep types may embed each other.
pub const MAX_DEPTH: u32 = 64;

/// The limits above, by their names in spec/protocol/descriptor.x.
pub fn descriptor_limits() -> [(&'static str, usize); 4] {
    [
        ("MAX_TYPE_NAME", MAX_TYPE_NAME),
        ("MAX_FIELDS", MAX_FIELDS),
        ("MAX_ENUM_MEMBERS", MAX_ENUM_MEMBERS),
        ("MAX_STRING_BOUND", MAX_STRING_BOUND as usize),
    ]
}

/// Checks the definitions of one file.
pub fn check(schema: &Schema, file: FileId, report: &mut Report) {
    let mut measures = Measures {
        schema,
        known: vec![None; schema.defs.len()],
    };
    for id in schema.of_file(file) {
        let def = schema.def(id);
        check_counts(def, report);
        if matches!(def.body, DefBody::Const(_)) {
            continue;
        }
        let Measure { slot, depth } = measures.of_def(id);
        let name = &def.name;
        if slot > MAX_SLOT {
            let message = format!("`{name}` takes {slot} bytes; 2^40 is the most");
            let hint = "hold the parts by pointer, in blocks of their own";
            report.error(Diagnostic::new(def.span, message).hint(hint));
        } else if depth > MAX_DEPTH {
            let message =
                format!("`{name}` holds types nested {depth} deep; {MAX_DEPTH} is the most");
            report.error(Diagnostic::new(def.span, message));
        }
    }
}

/// A type's size in wire format, and how deep it embeds others.
#[derive(Clone, Copy)]
struct Measure {
    slot: u128,
    depth: u32,
}

/// Recursion is as deep as embedding, which `ir::check` bounds.
struct Measures<'a> {
    schema: &'a Schema,
    known: Vec<Option<Measure>>,
}

impl Measures<'_> {
    fn of_def(&mut self, id: DefId) -> Measure {
        if let Some(measure) = self.known[id.0] {
            return measure;
        }
        let schema = self.schema;
        let measure = match &schema.def(id).body {
            DefBody::Const(_) => unreachable!("a constant is not a type"),
            DefBody::Enum(_) => leaf(4),
            DefBody::Alias(ty) => self.of(ty),
            DefBody::Struct(fields) => {
                let parts = fields.iter().map(|field| self.of(&field.ty));
                let add = |a: Measure, b: Measure| Measure {
                    slot: a.slot.saturating_add(b.slot),
                    depth: a.depth.max(b.depth),
                };
                deeper(parts.fold(leaf(0), add))
            }
            DefBody::Union(union) => {
                let parts = union.arm_fields().map(|field| self.of(&field.ty));
                let largest = |a: Measure, b: Measure| Measure {
                    slot: a.slot.max(b.slot),
                    depth: a.depth.max(b.depth),
                };
                let mut measure = deeper(parts.fold(leaf(0), largest));
                measure.slot = measure.slot.saturating_add(4);
                measure
            }
        };
        self.known[id.0] = Some(measure);
        measure
    }

    fn of(&mut self, ty: &Type) -> Measure {
        match ty {
            Type::Primitive(primitive) => match primitive {
                Primitive::Char | Primitive::UChar => leaf(1),
                Primitive::Short | Primitive::UShort => leaf(2),
                Primitive::Int | Primitive::UInt | Primitive::Float | Primitive::Bool => leaf(4),
                Primitive::Hyper | Primitive::UHyper | Primitive::Double => leaf(8),
                Primitive::Quadruple => deeper(leaf(16)),
            },
            Type::Named(id) => self.of_def(*id),
            Type::Opaque(size) => deeper(leaf((*size).into())),
            Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => leaf((*bound).into()),
            Type::Array(element, count) => {
                let element = self.of(element);
                deeper(Measure {
                    slot: element.slot.saturating_mul((*count).into()),
                    ..element
                })
            }
            Type::String(_) | Type::OpaqueVar(_) | Type::Sequence(..) => leaf(16),
            Type::Pointer(_) | Type::AnyPointer => leaf(16),
        }
    }
}

fn leaf(slot: u128) -> Measure {
    Measure { slot, depth: 0 }
}

fn deeper(measure: Measure) -> Measure {
    Measure {
        depth: measure.depth + 1,
        ..measure
    }
}

fn check_counts(def: &Def, report: &mut Report) {
    check_name(&def.full_name("::"), def.span, report);
    match &def.body {
        DefBody::Const(_) | DefBody::Alias(_) => {}
        DefBody::Enum(members) => {
            check_count(def, members.len(), MAX_ENUM_MEMBERS, "members", report);
            members
                .iter()
                .for_each(|member| check_name(&member.name, member.span, report));
        }
        DefBody::Struct(fields) => {
            check_count(def, fields.len(), MAX_FIELDS, "fields", report);
            fields
                .iter()
                .for_each(|field| check_name(&field.name, field.span, report));
        }
        DefBody::Union(union) => {
            check_count(def, union.arms.len(), MAX_FIELDS, "arms", report);
            for Arm { cases, field, .. } in union.every_arm() {
                check_count(
                    def,
                    cases.len(),
                    MAX_ENUM_MEMBERS,
                    "cases in one arm",
                    report,
                );
                field
                    .iter()
                    .for_each(|field| check_name(&field.name, field.span, report));
            }
        }
    }
}

fn check_name(name: &str, span: Span, report: &mut Report) {
    if name.len() > MAX_TYPE_NAME {
        let message = format!("the name is longer than {MAX_TYPE_NAME} bytes");
        report.error(Diagnostic::new(span, message));
    }
}

fn check_count(def: &Def, count: usize, most: usize, what: &str, report: &mut Report) {
    if count > most {
        let message = format!("`{}` has {count} {what}; {most} is the most", def.name);
        report.error(Diagnostic::new(def.span, message));
    }
}
