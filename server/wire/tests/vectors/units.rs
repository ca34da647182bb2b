//! Units of a block, read off its slot form by the descriptors alone, as the JSON of the vectors.

use interweave_wire::pointer::POINTER_BYTES;
use interweave_wire::protocol::{TypeBody, UnionBody};
use interweave_wire::{Json, Pointer, TypeTable};

use crate::show::{integer, object};

/// Takes a slot's bytes off the front.
fn take<'a>(slots: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (taken, rest) = slots.split_at(count);
    *slots = rest;
    taken
}

fn array_of<const N: usize>(slots: &mut &[u8]) -> [u8; N] {
    take(slots, N)
        .try_into()
        .expect("as many bytes as asked for")
}

/// Takes the units of one value off the front of `slots`.
pub fn read(types: &TypeTable, serial: u32, slots: &mut &[u8], out: &mut Vec<Json>) {
    if serial < 64 {
        return out.push(primitive(serial, slots));
    }
    let ty = types.get(serial).expect("a type of the table");
    match &ty.descriptor.body {
        TypeBody::Array(array) => {
            (0..array.count).for_each(|_| read(types, array.element, slots, out))
        }
        TypeBody::Record(fields) => fields
            .iter()
            .for_each(|field| read(types, field.type_, slots, out)),
        TypeBody::Enum(_) => out.push(primitive(5, slots)),
        TypeBody::String(bound) => {
            let bytes = take(slots, *bound as usize);
            let used = bytes.iter().take_while(|&&byte| byte != 0);
            out.push(Json::String(used.map(|&byte| char::from(byte)).collect()));
        }
        TypeBody::Union(choice) => {
            let slot = take(slots, ty.slot_bytes as usize);
            out.push(union(types, choice, slot));
        }
        _ => out.push(pointer(Pointer::from_bytes(&array_of::<POINTER_BYTES>(
            slots,
        )))),
    }
}

fn primitive(serial: u32, slots: &mut &[u8]) -> Json {
    let float = |text: String| Json::from(text.parse::<f64>().expect("a number"));
    match serial {
        1 => integer(i8::from_le_bytes(array_of(slots)).into()),
        2 => integer(u8::from_le_bytes(array_of(slots)).into()),
        3 => integer(i16::from_le_bytes(array_of(slots)).into()),
        4 => integer(u16::from_le_bytes(array_of(slots)).into()),
        5 => integer(i32::from_le_bytes(array_of(slots)).into()),
        6 => integer(u32::from_le_bytes(array_of(slots)).into()),
        7 => integer(i64::from_le_bytes(array_of(slots)).into()),
        8 => integer(u64::from_le_bytes(array_of(slots)).into()),
        9 => float(format!("{:?}", f32::from_le_bytes(array_of(slots)))),
        10 => float(format!("{:?}", f64::from_le_bytes(array_of(slots)))),
        11 => Json::Bool(u32::from_le_bytes(array_of(slots)) != 0),
        other => panic!("no primitive {other}"),
    }
}

fn union(types: &TypeTable, choice: &UnionBody, mut slot: &[u8]) -> Json {
    let case = i32::from_le_bytes(array_of(&mut slot));
    let arm = choice.arms.iter().find(|arm| arm.values.contains(&case));
    let arm = arm.or(choice.otherwise.as_deref());
    let mut units = Vec::new();
    if let Some(arm) = arm.filter(|arm| arm.type_ != 0) {
        read(types, arm.type_, &mut slot, &mut units);
    }
    object([
        ("case", integer(case.into())),
        ("units", Json::Array(units)),
    ])
}

pub fn pointer(pointer: Pointer) -> Json {
    if pointer.is_null() {
        return Json::Null;
    }
    let parts = [pointer.slot.into(), pointer.serial, pointer.offset];
    Json::Array(parts.map(|part| integer(part.into())).into())
}
