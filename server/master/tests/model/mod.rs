//! A simple model of a segment and its writer, apart from the code under test: blocks are slot
//! bytes in a map, types are walked descriptor by descriptor, and units travel one by one.

use std::collections::BTreeMap;

use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::{varint, DiffBuilder, Pointer, TypeTable};

/// Random numbers that a seed reproduces (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelBlock {
    pub type_serial: u32,
    pub count: u64,
    pub name: String,
    pub slots: Vec<u8>,
}

/// What the segment should be.
#[derive(Debug, Clone)]
pub struct Model {
    pub version: u64,
    pub types: TypeTable,
    pub slots: Vec<String>,
    pub blocks: BTreeMap<u64, ModelBlock>,
    next_serial: u64,
    names_given: u64,
}

/// Where a unit lies, and its travelling form.
struct Unit {
    bytes: std::ops::Range<usize>,
    travelling: Vec<u8>,
}

impl Model {
    pub fn new() -> Self {
        Model {
            version: 0,
            types: TypeTable::new(),
            slots: Vec::new(),
            blocks: BTreeMap::new(),
            next_serial: 1,
            names_given: 0,
        }
    }

    /// Edits at random; gives the diff to the next version.
    pub fn release(&mut self, random: &mut Random) -> Bytes {
        let mut diff = DiffBuilder::new(self.version, self.version + 1);
        self.version += 1;
        if self.types.described().is_empty() || random.one_in(6) {
            self.add_types(random, &mut diff);
        }
        if random.one_in(8) {
            let text = format!("/other{}", self.slots.len());
            diff.slots(self.slots.len() as u64 + 1, [text.as_str()].into_iter());
            self.slots.push(text);
        }
        let old: Vec<u64> = self.blocks.keys().copied().collect();
        let mut free_names = Vec::new();
        let crowded = old.len() > 40;
        for &serial in &old {
            if random.one_in(if crowded { 4 } else { 40 }) {
                diff.free(serial);
                free_names.push(self.blocks.remove(&serial).unwrap().name);
            }
        }
        for _ in 0..random.below(4) {
            self.create(random, &mut free_names, &mut diff);
        }
        let mut touched: Vec<u64> = self.blocks.keys().copied().collect();
        touched.retain(|serial| random.one_in(if old.contains(serial) { 5 } else { 2 }));
        if random.one_in(2) {
            touched.reverse();
        }
        for serial in touched {
            let runs = self.edit(serial, random);
            diff.change(serial, &runs);
        }
        diff.finish()
    }

    fn create(
        &mut self,
        random: &mut Random,
        free_names: &mut Vec<String>,
        diff: &mut DiffBuilder,
    ) {
        self.next_serial += random.below(3);
        let serial = self.next_serial;
        self.next_serial += 1;
        let described = self.types.described().len() as u64;
        let type_serial = match random.below(described + 4) {
            0 => 1,
            1 => 5,
            2 => 10,
            3 => 11,
            other => 64 + (other as u32 - 4),
        };
        let ty = self.types.get(type_serial).unwrap();
        let count = match random.below(4) {
            0 => 1,
            1 => 1 + random.below(40),
            _ => 1 + random.below(1 + 6000 / ty.slot_bytes),
        };
        let name = match random.below(4) {
            0 => {
                self.names_given += 1;
                format!("block-{}", self.names_given)
            }
            1 => free_names.pop().unwrap_or_default(),
            _ => String::new(),
        };
        diff.add_block(serial, type_serial, count, &name);
        let slots = vec![0; (ty.slot_bytes * count) as usize];
        let block = ModelBlock {
            type_serial,
            count,
            name,
            slots,
        };
        self.blocks.insert(serial, block);
    }

    fn edit(&mut self, serial: u64, random: &mut Random) -> Vec<u8> {
        let mut block = self.blocks[&serial].clone();
        let all = self
            .units(block.type_serial, block.count, &block.slots)
            .len() as u64;
        let mut runs = Vec::new();
        let mut at = 0;
        let mut ranges = Vec::new();
        if random.one_in(3) {
            ranges.push((0, all));
        } else {
            while at < all && ranges.len() < 6 {
                let first = at + random.below(all - at);
                let longest = 1 + random.below(50);
                let count = 1 + random.below((all - first).min(longest));
                ranges.push((first, count));
                at = first + count;
            }
        }
        let fresh = self.random_block(block.type_serial, block.count, random);
        let source = self.units(block.type_serial, block.count, &fresh);
        let mut end = 0;
        for (first, count) in ranges {
            varint::put(first - end, &mut runs);
            varint::put(count, &mut runs);
            end = first + count;
            for unit in &source[first as usize..end as usize] {
                runs.extend_from_slice(&unit.travelling);
                block.slots[unit.bytes.clone()].copy_from_slice(&fresh[unit.bytes.clone()]);
            }
        }
        self.blocks.insert(serial, block);
        runs
    }

    fn random_block(&self, type_serial: u32, count: u64, random: &mut Random) -> Vec<u8> {
        let mut slots = Vec::new();
        for _ in 0..count {
            self.random_value(type_serial, random, &mut slots);
        }
        slots
    }

    fn random_value(&self, serial: u32, random: &mut Random, out: &mut Vec<u8>) {
        let ty = self.types.get(serial).unwrap();
        let end = out.len() + ty.slot_bytes as usize;
        match &ty.descriptor.body {
            TypeBody::Other(_) if serial == 11 => out.push(random.below(2) as u8),
            TypeBody::Other(_) => {
                out.extend_from_slice(&random.next().to_le_bytes()[..ty.slot_bytes as usize]);
            }
            TypeBody::Enum(members) => {
                let member = &members[random.below(members.len() as u64) as usize];
                out.extend_from_slice(&member.value.to_le_bytes());
            }
            TypeBody::String(bound) => {
                let length = random.below(u64::from(*bound) + 1);
                out.extend((0..length).map(|_| 1 + random.below(255) as u8));
            }
            TypeBody::Array(array) => {
                (0..array.count).for_each(|_| self.random_value(array.element, random, out));
            }
            TypeBody::Record(fields) => {
                fields
                    .iter()
                    .for_each(|field| self.random_value(field.type_, random, out));
            }
            TypeBody::Union(body) => {
                let arm = &body.arms[random.below(body.arms.len() as u64) as usize];
                out.extend_from_slice(&arm.values[0].to_le_bytes());
                if arm.type_ != 0 {
                    self.random_value(arm.type_, random, out);
                }
            }
            TypeBody::Pointer(_) if random.one_in(3) => (),
            TypeBody::Pointer(_) => {
                let pointer = Pointer {
                    slot: random.below(self.slots.len() as u64 + 1) as u16,
                    serial: 1 + random.below(100),
                    offset: random.below(100),
                };
                out.extend_from_slice(&pointer.to_bytes());
            }
            TypeBody::Sequence(_) | TypeBody::Text(_) => {
                let pointer = Pointer {
                    serial: 1 + random.below(100),
                    ..Pointer::NULL
                };
                out.extend_from_slice(&pointer.to_bytes());
            }
        }
        out.resize(end, 0);
    }

    fn units(&self, type_serial: u32, count: u64, slots: &[u8]) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut at = 0;
        for _ in 0..count {
            self.add_units(type_serial, slots, &mut at, &mut units);
        }
        units
    }

    fn add_units(&self, serial: u32, slots: &[u8], at: &mut usize, units: &mut Vec<Unit>) {
        let ty = self.types.get(serial).unwrap();
        match &ty.descriptor.body {
            TypeBody::Array(array) => {
                (0..array.count).for_each(|_| self.add_units(array.element, slots, at, units))
            }
            TypeBody::Record(fields) => fields
                .iter()
                .for_each(|field| self.add_units(field.type_, slots, at, units)),
            _ => {
                let bytes = *at..*at + ty.slot_bytes as usize;
                *at = bytes.end;
                let travelling = self.travelling(serial, &slots[bytes.clone()]);
                units.push(Unit { bytes, travelling });
            }
        }
    }

    fn travelling(&self, serial: u32, slot: &[u8]) -> Vec<u8> {
        match &self.types.get(serial).unwrap().descriptor.body {
            TypeBody::String(bound) if *bound > 16 => {
                let length = slot.iter().position(|&b| b == 0).unwrap_or(slot.len());
                let mut bytes = (length as u16).to_le_bytes().to_vec();
                bytes.extend_from_slice(&slot[..length]);
                bytes
            }
            TypeBody::Union(body) => {
                let mut bytes = slot[..4].to_vec();
                let value = i32::from_le_bytes(slot[..4].try_into().unwrap());
                let arm = body.arms.iter().find(|arm| arm.values.contains(&value));
                if let Some(arm) = arm.filter(|arm| arm.type_ != 0) {
                    let slots = self.types.get(arm.type_).unwrap().slot_bytes as usize;
                    for unit in self.units(arm.type_, 1, &slot[4..4 + slots]) {
                        bytes.extend(unit.travelling);
                    }
                }
                bytes
            }
            _ => slot.to_vec(),
        }
    }

    fn add_types(&mut self, random: &mut Random, diff: &mut DiffBuilder) {
        let first = self.types.next_serial();
        let mut descriptors = Vec::new();
        for index in 0..1 + random.below(4) as u32 {
            let serial = first + index;
            let body = random_body(serial, random);
            let name = match random.one_in(2) {
                true => format!("type{serial}"),
                false => String::new(),
            };
            descriptors.push(TypeDescriptor {
                serial,
                name,
                hash: 0,
                predecessor: random.below(2),
                body,
            });
        }
        let sealed = self.types.seal(descriptors).unwrap();
        // The first type that is too large is left out, and all later ones, which may embed it.
        let mut longer = self.types.clone();
        longer.extend(sealed.clone()).unwrap();
        let fits = |d: &&TypeDescriptor| longer.get(d.serial).unwrap().slot_bytes < 20_000;
        for descriptor in sealed.iter().take_while(fits) {
            diff.add_type(descriptor);
            self.types.extend(vec![descriptor.clone()]).unwrap();
        }
    }
}

fn random_body(serial: u32, random: &mut Random) -> TypeBody {
    let mut lower = || match random.below(u64::from(serial) - 64 + 6) {
        other @ 6.. => 64 + (other as u32 - 6),
        primitive => [1, 4, 5, 9, 10, 11][primitive as usize],
    };
    let (a, b, c) = (lower(), lower(), lower());
    let field = |index: usize, type_| Field {
        name: format!("f{index}"),
        type_,
    };
    let arm = |value: i32, type_| UnionArm {
        name: format!("a{value}"),
        type_,
        values: vec![value, value + 100],
    };
    match random.below(10) {
        0 => TypeBody::Enum(vec![
            EnumMember {
                name: "LOW".into(),
                value: -5,
            },
            EnumMember {
                name: "HIGH".into(),
                value: 1 << 30,
            },
        ]),
        1 => TypeBody::String(1 + random.below(16) as u32),
        2 => TypeBody::String(17 + random.below(40) as u32),
        3 | 4 => TypeBody::Array(ArrayBody {
            element: a,
            count: 1 + random.below(9) as u32,
        }),
        5 => TypeBody::Union(UnionBody {
            discriminant: "kind".into(),
            discriminant_type: 5,
            arms: vec![arm(1, a), arm(2, b), arm(3, 0)],
            otherwise: None,
        }),
        6 => TypeBody::Pointer([a, 0][random.below(2) as usize]),
        7 => TypeBody::Sequence(SequenceBody {
            element: a,
            bound: 0,
        }),
        8 => TypeBody::Record(vec![field(0, a), field(1, a), field(2, b)]),
        _ => {
            let repeated =
                (3..3 + random.below(6) as usize).map(|index| field(index, [a, b][index % 2]));
            let fields = [field(0, a), field(1, b), field(2, c)]
                .into_iter()
                .chain(repeated);
            TypeBody::Record(fields.collect())
        }
    }
}
