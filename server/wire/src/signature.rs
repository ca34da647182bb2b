//! The hash of a type's structure: FNV-1a over its signature [TYPE-3].

use crate::protocol::{TypeBody, TypeDescriptor, UnionArm};
use crate::rejection::Rejection;
use crate::types::Growing;

/// FNV-1a, 64 bits, over the bytes that are written to it.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(14695981039346656037)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(1099511628211);
        }
    }

    fn u8(&mut self, value: u8) {
        self.bytes(&[value]);
    }

    fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("counts are bounded by the codec"));
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.bytes(text.as_bytes());
    }
}

pub(crate) fn of_primitive(serial: u8) -> u64 {
    let mut hash = Fnv::new();
    hash.u8(1);
    hash.u8(serial);
    hash.0
}

/// The hash that the descriptor must carry. `Growing` checks the types to which it refers.
pub(crate) fn of(descriptor: &TypeDescriptor, types: &Growing<'_>) -> Result<u64, Rejection> {
    let mut hash = Fnv::new();
    match &descriptor.body {
        TypeBody::Enum(members) => {
            hash.u8(2);
            hash.count(members.len());
            for member in members {
                hash.text(&member.name);
                hash.u32(member.value as u32);
            }
        }
        TypeBody::String(bound) => {
            hash.u8(3);
            hash.u32(*bound);
        }
        TypeBody::Array(array) => {
            hash.u8(4);
            hash.u64(embedded(types, array.element)?);
            hash.u32(array.count);
        }
        TypeBody::Record(fields) => {
            hash.u8(5);
            hash.count(fields.len());
            for field in fields {
                hash.text(&field.name);
                hash.u64(embedded(types, field.type_)?);
            }
        }
        TypeBody::Union(body) => {
            hash.u8(6);
            hash.text(&body.discriminant);
            hash.u64(embedded(types, body.discriminant_type)?);
            hash.count(body.arms.len());
            for each in &body.arms {
                arm(&mut hash, each, types)?;
            }
            hash.u8(body.otherwise.is_some().into());
            if let Some(otherwise) = &body.otherwise {
                arm(&mut hash, otherwise, types)?;
            }
        }
        TypeBody::Pointer(serial) => {
            hash.u8(7);
            target(&mut hash, *serial, types)?;
        }
        TypeBody::Sequence(body) => {
            hash.u8(8);
            hash.u32(body.bound);
            target(&mut hash, body.element, types)?;
        }
        TypeBody::Text(bound) => {
            hash.u8(9);
            hash.u32(*bound);
        }
        TypeBody::Other(_) => return Err(Rejection::malformed("a primitive needs no descriptor")),
    }
    Ok(hash.0)
}

fn embedded(types: &Growing<'_>, serial: u32) -> Result<u64, Rejection> {
    Ok(types.embedded(serial)?.descriptor.hash)
}

fn arm(hash: &mut Fnv, arm: &UnionArm, types: &Growing<'_>) -> Result<(), Rejection> {
    hash.text(&arm.name);
    hash.u64(match arm.type_ {
        0 => 0,
        serial => embedded(types, serial)?,
    });
    hash.count(arm.values.len());
    for &value in &arm.values {
        hash.u32(value as u32);
    }
    Ok(())
}

fn target(hash: &mut Fnv, serial: u32, types: &Growing<'_>) -> Result<(), Rejection> {
    if serial == 0 {
        hash.u8(2);
        return Ok(());
    }
    match types.target(serial)? {
        ("", anonymous) => {
            hash.u8(0);
            hash.u64(anonymous);
        }
        (name, _) => {
            hash.u8(1);
            hash.text(name);
        }
    }
    Ok(())
}
