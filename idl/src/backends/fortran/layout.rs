//! The storage of a union's arms. Fortran has no unions, and Fortran 2003 no size of a type in a
//! constant expression, so the storage is measured here: for each way in which C lays out XDR's
//! types on the machines that there are. Where these differ the module picks at its compilation, by
//! constants of the library's module. The storage is an array of integers as wide as their
//! alignment, so that its size and alignment are those of C's union.

use crate::backends::limits::MAX_STRING_BOUND;
use crate::ir::{DefBody, Primitive, Schema, Type, Union};

/// Bytes in a pointer, and the alignment of an eight-byte number.
struct Machine {
    pointer: u64,
    number_alignment: u64,
}

const MACHINES: usize = 3;
/// The library's constants, of which one is 1 and the others are 0: 64 bits; 32 bits; 32 bits with
/// eight-byte numbers at multiples of four.
pub const MACHINE_NAMES: [&str; MACHINES] = ["IW_on_64", "IW_on_32", "IW_on_i386"];
const LAYOUTS: [Machine; MACHINES] = [
    Machine {
        pointer: 8,
        number_alignment: 8,
    },
    Machine {
        pointer: 4,
        number_alignment: 8,
    },
    Machine {
        pointer: 4,
        number_alignment: 4,
    },
];

#[derive(Clone, Copy)]
struct Measure {
    size: u64,
    align: u64,
}

/// An array of integers of a kind, its extent on each machine.
pub struct Storage {
    pub kind: &'static str,
    pub extents: [u64; MACHINES],
}

/// What holds the arms; nothing if all of them are void.
pub fn storage(schema: &Schema, union: &Union) -> Option<Storage> {
    let measures = LAYOUTS.map(|machine| machine.arms(schema, union));
    if measures[0].size == 0 {
        return None;
    }
    let kind = match measures.map(|measure| measure.align) {
        [1, ..] => "c_signed_char",
        [2, ..] => "c_short",
        [4, ..] => "c_int",
        [_, 4, _] => "c_intptr_t",
        _ => "IW_wide",
    };
    Some(Storage {
        kind,
        extents: measures.map(|measure| measure.size / measure.align),
    })
}

impl Machine {
    /// Of C's union of the arms. Recursion is as deep as embedding, which `ir::check` bounds.
    fn arms(&self, schema: &Schema, union: &Union) -> Measure {
        let mut whole = Measure { size: 0, align: 1 };
        for field in union.arm_fields() {
            let arm = self.of(schema, &field.ty);
            whole.size = whole.size.max(arm.size);
            whole.align = whole.align.max(arm.align);
        }
        whole.size = whole.size.next_multiple_of(whole.align);
        whole
    }

    fn of(&self, schema: &Schema, ty: &Type) -> Measure {
        match ty {
            Type::Primitive(primitive) => self.of_primitive(*primitive),
            Type::Named(id) => match &schema.def(*id).body {
                DefBody::Alias(target) => self.of(schema, target),
                DefBody::Struct(fields) => {
                    let parts = fields.iter().map(|field| self.of(schema, &field.ty));
                    in_a_row(parts)
                }
                DefBody::Union(union) => {
                    let discriminant = Measure { size: 4, align: 4 };
                    in_a_row([discriminant, self.arms(schema, union)].into_iter())
                }
                DefBody::Enum(_) | DefBody::Const(_) => Measure { size: 4, align: 4 },
            },
            Type::Opaque(size) => bytes(u64::from(*size)),
            Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => bytes(u64::from(*bound) + 1),
            Type::Array(element, count) => {
                let element = self.of(schema, element);
                // `limits` has bounded the size in wire format, of which this is a small multiple.
                Measure {
                    size: element.size * u64::from(*count),
                    ..element
                }
            }
            Type::String(_) | Type::Pointer(_) | Type::AnyPointer => Measure {
                size: self.pointer,
                align: self.pointer,
            },
            Type::Sequence(..) | Type::OpaqueVar(_) => Measure {
                size: 2 * self.pointer,
                align: self.pointer,
            },
        }
    }

    fn of_primitive(&self, primitive: Primitive) -> Measure {
        let number = |size| Measure { size, align: size };
        match primitive {
            Primitive::Char | Primitive::UChar => number(1),
            Primitive::Short | Primitive::UShort => number(2),
            Primitive::Int | Primitive::UInt | Primitive::Float | Primitive::Bool => number(4),
            Primitive::Hyper | Primitive::UHyper | Primitive::Double => Measure {
                size: 8,
                align: self.number_alignment,
            },
            Primitive::Quadruple => bytes(16),
        }
    }
}

fn bytes(size: u64) -> Measure {
    Measure { size, align: 1 }
}

fn in_a_row(parts: impl Iterator<Item = Measure>) -> Measure {
    let mut whole = Measure { size: 0, align: 1 };
    for part in parts {
        whole.size = whole.size.next_multiple_of(part.align) + part.size;
        whole.align = whole.align.max(part.align);
    }
    whole.size = whole.size.next_multiple_of(whole.align);
    whole
}
