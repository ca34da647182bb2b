//! Where values lie in a block's memory. The Java client keeps blocks in one layout on every
//! machine: numbers at their natural alignment, pointers and owned blocks in their 16 bytes of the
//! wire (java/src/main/java/org/interweave/types/Plan.java). So offsets are constants here.

use crate::backends::limits::MAX_STRING_BOUND;
use crate::ir::{DefBody, Field, Primitive, Schema, Type, Union};

#[derive(Clone, Copy)]
pub struct Extent {
    pub size: u128,
    pub align: u128,
}

pub fn round_up(at: u128, align: u128) -> u128 {
    at.div_ceil(align) * align
}

/// Recursion is as deep as embedding, which `ir::check` bounds.
pub fn extent(schema: &Schema, ty: &Type) -> Extent {
    let number = |size| Extent { size, align: size };
    let bytes = |size| Extent { size, align: 1 };
    match schema.resolve(ty) {
        Type::Primitive(primitive) => match primitive {
            Primitive::Char | Primitive::UChar => number(1),
            Primitive::Short | Primitive::UShort => number(2),
            Primitive::Int | Primitive::UInt | Primitive::Float | Primitive::Bool => number(4),
            Primitive::Hyper | Primitive::UHyper | Primitive::Double => number(8),
            Primitive::Quadruple => bytes(16),
        },
        Type::Opaque(size) => bytes((*size).into()),
        Type::String(Some(bound)) if *bound <= MAX_STRING_BOUND => bytes((*bound).into()),
        Type::Array(element, count) => {
            let element = extent(schema, element);
            let size = element.size.saturating_mul((*count).into());
            Extent { size, ..element }
        }
        Type::Named(id) => match &schema.def(*id).body {
            DefBody::Struct(fields) => of_struct(schema, fields),
            DefBody::Union(union) => of_union(schema, union),
            _ => number(4),
        },
        _ => Extent { size: 16, align: 8 },
    }
}

/// Where each field begins.
pub fn offsets(schema: &Schema, fields: &[Field]) -> Vec<u128> {
    let mut at = 0;
    let place = |field: &Field| {
        let Extent { size, align } = extent(schema, &field.ty);
        let begin = round_up(at, align);
        at = begin + size;
        begin
    };
    fields.iter().map(place).collect()
}

fn of_struct(schema: &Schema, fields: &[Field]) -> Extent {
    let extents = fields.iter().map(|field| extent(schema, &field.ty));
    let (mut size, mut align) = (0, 1);
    for part in extents {
        size = round_up(size, part.align) + part.size;
        align = align.max(part.align);
    }
    Extent {
        size: round_up(size, align),
        align,
    }
}

/// Where the arms begin, which share their place.
pub fn arms_at(schema: &Schema, union: &Union) -> u128 {
    let aligns = union
        .arm_fields()
        .map(|field| extent(schema, &field.ty).align);
    round_up(4, aligns.max().unwrap_or(1))
}

fn of_union(schema: &Schema, union: &Union) -> Extent {
    let arms = union.arm_fields().map(|field| extent(schema, &field.ty));
    let (size, align) = arms.fold((0, 4), |(size, align), arm| {
        (arm.size.max(size), arm.align.max(align))
    });
    let size = round_up(arms_at(schema, union) + size, align);
    Extent { size, align }
}
