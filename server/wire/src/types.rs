//! The types of a segment: built from descriptors with every check of [TYPE-2], by serial.
//!
//! Invariants: a type embeds only types of lower serials, so recursion over embedding ends (at
//! depth 64 at most); units and slot bytes of every type are from 1 to 2^40; every hash was
//! recomputed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::plan::{Leaf, Plan, UnionPlan};
use crate::pointer::POINTER_BYTES;
use crate::protocol::{
    ErrorCode, Primitive, TypeBody, TypeDescriptor, UnionArm, UnionBody, FIRST_TYPE_SERIAL,
    MAX_FIELDS, MAX_STRING_BOUND, MAX_TYPES,
};
use crate::rejection::Rejection;
use crate::signature;

const MAX_EXTENT: u64 = 1 << 40;
const MAX_DEPTH: u32 = 64;
const PRIMITIVES: u32 = 11;

/// One type: its descriptor and what is derived from the descriptor. A primitive has an invented
/// descriptor, whose body is `Other`.
#[derive(Debug)]
pub struct Type {
    pub descriptor: TypeDescriptor,
    pub units: u64,
    pub slot_bytes: u64,
    pub plan: Arc<Plan>,
    /// A subblock has 2^shift units: at least 16, and at least 64 bytes on average.
    pub subblock_shift: u32,
    depth: u32,
}

/// Types by serial; grows at its end only. All tables share the primitives (serials 1..=11).
#[derive(Debug, Clone, Default)]
pub struct TypeTable {
    /// None: there are no types but the primitives, as in very many small segments.
    described: Option<Box<Described>>,
}

/// The types from serial 64 on.
#[derive(Debug, Clone, Default)]
struct Described {
    types: Vec<Arc<Type>>,
    hash_of_name: HashMap<String, u64>,
}

impl Type {
    fn new(descriptor: TypeDescriptor, plan: Arc<Plan>, depth: u32) -> Self {
        let mut subblock_shift = 4;
        while plan.bytes << subblock_shift < 64 * plan.units {
            subblock_shift += 1;
        }
        Type {
            units: plan.units,
            slot_bytes: plan.bytes,
            descriptor,
            plan,
            subblock_shift,
            depth,
        }
    }
}

fn primitives() -> &'static [Arc<Type>] {
    static TYPES: OnceLock<Vec<Arc<Type>>> = OnceLock::new();
    TYPES.get_or_init(|| (1..=PRIMITIVES as i32).map(primitive).collect())
}

fn primitive(serial: i32) -> Arc<Type> {
    let Ok(primitive) = Primitive::try_from(serial) else {
        unreachable!("serials 1 to 11 are the primitives");
    };
    let width = match primitive {
        Primitive::Char | Primitive::Uchar => 1,
        Primitive::Short | Primitive::Ushort => 2,
        Primitive::Int | Primitive::Uint | Primitive::Float | Primitive::Bool => 4,
        Primitive::Hyper | Primitive::Uhyper | Primitive::Double => 8,
    };
    let leaf = match primitive {
        Primitive::Bool => Leaf::Bool,
        _ => Leaf::Plain,
    };
    let descriptor = TypeDescriptor {
        serial: serial as u32,
        name: primitive.name().to_lowercase(),
        hash: signature::of_primitive(serial as u8),
        predecessor: 0,
        body: TypeBody::Other(1),
    };
    Arc::new(Type::new(descriptor, Arc::new(Plan::leaf(leaf, width)), 0))
}

impl TypeTable {
    pub fn new() -> Self {
        Self::default()
    }

    /// Primitives included.
    pub fn get(&self, serial: u32) -> Option<&Arc<Type>> {
        match serial {
            1..=PRIMITIVES => primitives().get(serial as usize - 1),
            FIRST_TYPE_SERIAL.. => self.described().get((serial - FIRST_TYPE_SERIAL) as usize),
            _ => None,
        }
    }

    /// The serial that the next descriptor must have.
    pub fn next_serial(&self) -> u32 {
        self.described().len() as u32 + FIRST_TYPE_SERIAL
    }

    /// The types in order, without the primitives.
    pub fn described(&self) -> &[Arc<Type>] {
        self.described.as_ref().map_or(&[], |d| &d.types)
    }

    /// The hash of the newest described type with the name.
    fn hash_of(&self, name: &str) -> Option<u64> {
        self.described.as_ref()?.hash_of_name.get(name).copied()
    }

    /// The newest type with the name, or a primitive.
    pub fn by_name(&self, name: &str) -> Option<&Arc<Type>> {
        let described = self.described().iter().rev();
        described
            .chain(primitives())
            .find(|ty| ty.descriptor.name == name)
    }

    /// Appends all the types, or no type if one of them is refused.
    pub fn extend(&mut self, descriptors: Vec<TypeDescriptor>) -> Result<(), Rejection> {
        let types = self.check(descriptors)?;
        self.append(types);
        Ok(())
    }

    /// Returns the descriptors with their hashes, for programs that make types without an .x file.
    /// REQUIRES: the descriptors are the table's next ones, and none has a pointer to a later
    /// anonymous one, because that pointer has no hash.
    pub fn seal(
        &self,
        mut descriptors: Vec<TypeDescriptor>,
    ) -> Result<Vec<TypeDescriptor>, Rejection> {
        let mut new = Vec::with_capacity(descriptors.len());
        for index in 0..descriptors.len() {
            let growing = Growing {
                table: self,
                new,
                descriptors: &descriptors,
                hash_of_name: HashMap::new(),
            };
            let hash = signature::of(&descriptors[index], &growing)?;
            new = growing.new;
            descriptors[index].hash = hash;
            let mut growing = Growing {
                table: self,
                new,
                descriptors: &descriptors,
                hash_of_name: HashMap::new(),
            };
            growing.add(&descriptors[index])?;
            new = growing.new;
        }
        Ok(descriptors)
    }

    /// The types that the descriptors would append.
    pub fn check(&self, descriptors: Vec<TypeDescriptor>) -> Result<Vec<Arc<Type>>, Rejection> {
        let mut growing = Growing {
            table: self,
            new: Vec::with_capacity(descriptors.len()),
            descriptors: &descriptors,
            hash_of_name: HashMap::new(),
        };
        for descriptor in &descriptors {
            growing.add(descriptor).map_err(|rejection| {
                let text = format!(
                    "type {} `{}`: {}",
                    descriptor.serial, descriptor.name, rejection.text
                );
                Rejection::new(rejection.code, text)
            })?;
        }
        Ok(growing.new)
    }

    /// Appends types. REQUIRES: `check` returned them for this table as it is now.
    pub fn append(&mut self, types: Vec<Arc<Type>>) {
        for ty in types {
            assert_eq!(ty.descriptor.serial, self.next_serial(), "types in order");
            let described = self.described.get_or_insert_default();
            let descriptor = &ty.descriptor;
            if !descriptor.name.is_empty() {
                let name = descriptor.name.clone();
                described.hash_of_name.insert(name, descriptor.hash);
            }
            described.types.push(ty);
        }
    }

    pub fn layout(&self, type_serial: u32, count: u64) -> Option<Layout<'_>> {
        Layout::checked(self.get(type_serial)?, count)
    }
}

/// A table with the descriptors of one TYPES section being added.
pub(crate) struct Growing<'a> {
    table: &'a TypeTable,
    new: Vec<Arc<Type>>,
    descriptors: &'a [TypeDescriptor],
    hash_of_name: HashMap<&'a str, u64>,
}

impl<'a> Growing<'a> {
    fn add(&mut self, descriptor: &'a TypeDescriptor) -> Result<(), Rejection> {
        let serial = self.table.next_serial() + self.new.len() as u32;
        if descriptor.serial != serial {
            return malformed(format!("the segment's next type serial is {serial}"));
        }
        if serial - FIRST_TYPE_SERIAL >= MAX_TYPES {
            return Err(Rejection::new(
                ErrorCode::TooLarge,
                format!("a segment has at most {MAX_TYPES} types"),
            ));
        }
        let (plan, depth) = self.plan(&descriptor.body)?;
        if plan.units > MAX_EXTENT || plan.bytes > MAX_EXTENT {
            return malformed("it has more than 2^40 units or bytes");
        }
        if depth > MAX_DEPTH {
            return malformed("types are embedded more than 64 deep");
        }
        let hash = signature::of(descriptor, self)?;
        if hash != descriptor.hash {
            return malformed(format!(
                "its hash is {hash:016x}, the descriptor says {:016x}",
                descriptor.hash
            ));
        }
        self.check_name(descriptor)?;
        self.new
            .push(Arc::new(Type::new(descriptor.clone(), plan, depth)));
        Ok(())
    }

    /// [TYPE-3]
    fn check_name(&mut self, descriptor: &'a TypeDescriptor) -> Result<(), Rejection> {
        let name = descriptor.name.as_str();
        if name.is_empty() {
            return Ok(());
        }
        let known = self.table.hash_of(name);
        let known = known.or_else(|| self.hash_of_name.get(name).copied());
        if known.is_some_and(|hash| hash != descriptor.hash) {
            return Err(Rejection::new(
                ErrorCode::TypeConflict,
                "the segment has a type of this name with another structure; rename one of the \
                 two, or compile both programs from the same .x file",
            ));
        }
        self.hash_of_name.insert(name, descriptor.hash);
        Ok(())
    }

    /// A type that may be embedded: a primitive or one of a lower serial.
    pub(crate) fn embedded(&self, serial: u32) -> Result<&Arc<Type>, Rejection> {
        let found = self.table.get(serial).or_else(|| {
            let first = self.table.next_serial();
            self.new.get(serial.checked_sub(first)? as usize)
        });
        found.ok_or_else(|| {
            Rejection::malformed(format!(
                "it embeds type {serial}, which is not known before"
            ))
        })
    }

    /// Name and hash of a type pointed at, which may follow in the same section.
    pub(crate) fn target(&self, serial: u32) -> Result<(&str, u64), Rejection> {
        let known = self.table.get(serial).map(|ty| &ty.descriptor);
        let found = known.or_else(|| {
            let first = self.table.next_serial();
            self.descriptors.get(serial.checked_sub(first)? as usize)
        });
        match found {
            Some(descriptor) => Ok((&descriptor.name, descriptor.hash)),
            None => malformed(format!("it points at type {serial}, which is not known")),
        }
    }

    fn plan(&self, body: &TypeBody) -> Result<(Arc<Plan>, u32), Rejection> {
        let leaf = |leaf, width: usize| Ok((Arc::new(Plan::leaf(leaf, width as u64)), 0));
        match body {
            TypeBody::Enum(members) => {
                distinct(members.iter().map(|member| member.name.as_str()), "member")?;
                let mut values: Vec<i32> = members.iter().map(|member| member.value).collect();
                values.sort_unstable();
                values.dedup();
                leaf(Leaf::Enum(values.into()), 4)
            }
            TypeBody::String(bound) if (1..=MAX_STRING_BOUND).contains(bound) => {
                leaf(Leaf::String(*bound), *bound as usize)
            }
            TypeBody::String(_) => malformed("a string's bound is from 1 to 4096"),
            TypeBody::Array(array) => {
                let element = self.embedded(array.element)?;
                if array.count == 0 {
                    return malformed("an array has no elements");
                }
                let plan = Plan::repeat(&element.plan, array.count.into());
                Ok((Arc::new(plan), element.depth + 1))
            }
            TypeBody::Record(fields) => {
                if fields.is_empty() || fields.len() > MAX_FIELDS as usize {
                    return malformed("a record has from 1 to 4096 fields");
                }
                distinct(fields.iter().map(|field| field.name.as_str()), "field")?;
                self.record(fields.iter().map(|field| field.type_))
            }
            TypeBody::Union(body) => self.union(body),
            TypeBody::Pointer(0) => leaf(Leaf::Pointer, POINTER_BYTES),
            TypeBody::Pointer(target) => {
                self.target(*target)?;
                leaf(Leaf::Pointer, POINTER_BYTES)
            }
            TypeBody::Sequence(body) => {
                self.target(body.element)?;
                leaf(Leaf::Owned, POINTER_BYTES)
            }
            TypeBody::Text(_) => leaf(Leaf::Owned, POINTER_BYTES),
            TypeBody::Other(kind) => malformed(format!("kind {kind} needs no descriptor")),
        }
    }

    fn record(&self, fields: impl Iterator<Item = u32>) -> Result<(Arc<Plan>, u32), Rejection> {
        let types = fields.map(|field| self.embedded(field));
        let types = types.collect::<Result<Vec<_>, _>>()?;
        let depth = types.iter().map(|ty| ty.depth).max().unwrap_or(0);
        // At most 4,096 fields of 2^40 each: the sums do not overflow.
        let plan = Plan::sequence(types.iter().map(|ty| &ty.plan));
        Ok((Arc::new(plan), depth + 1))
    }

    fn union(&self, body: &UnionBody) -> Result<(Arc<Plan>, u32), Rejection> {
        if body.arms.is_empty() || body.arms.len() > MAX_FIELDS as usize {
            return malformed("a union has from 1 to 4096 arms");
        }
        let all = || body.arms.iter().chain(body.otherwise.as_deref());
        distinct(
            all()
                .filter(|arm| arm.type_ != 0)
                .map(|arm| arm.name.as_str()),
            "arm",
        )?;
        let (mut bytes, mut depth, mut arms) = (0, 0, Vec::new());
        for arm in all() {
            arms.push(self.arm(arm, &mut bytes, &mut depth)?);
        }
        let plan = UnionPlan {
            discriminant: self.discriminant(body.discriminant_type)?,
            cases: cases(body)?,
            arms,
            has_default: body.otherwise.is_some(),
        };
        let plan = Plan::leaf(Leaf::Union(Arc::new(plan)), 4 + bytes);
        Ok((Arc::new(plan), depth + 1))
    }

    fn arm(
        &self,
        arm: &UnionArm,
        bytes: &mut u64,
        depth: &mut u32,
    ) -> Result<Option<Arc<Plan>>, Rejection> {
        if arm.type_ == 0 {
            return Ok(None);
        }
        let ty = self.embedded(arm.type_)?;
        *bytes = (*bytes).max(ty.slot_bytes);
        *depth = (*depth).max(ty.depth);
        Ok(Some(ty.plan.clone()))
    }

    fn discriminant(&self, serial: u32) -> Result<Leaf, Rejection> {
        let ty = self.embedded(serial)?;
        let allowed = serial == Primitive::Int as u32
            || serial == Primitive::Uint as u32
            || serial == Primitive::Bool as u32
            || matches!(ty.descriptor.body, TypeBody::Enum(_));
        match &ty.plan.pieces[0].body {
            crate::plan::PieceBody::Leaves { leaf, .. } if allowed => Ok(leaf.clone()),
            _ => malformed("a union's discriminant is an int, a uint, a bool or an enum"),
        }
    }
}

fn cases(body: &UnionBody) -> Result<Vec<(i32, u32)>, Rejection> {
    let arms = body.arms.iter().zip(0u32..);
    let mut cases: Vec<(i32, u32)> = arms
        .flat_map(|(arm, index)| arm.values.iter().map(move |&value| (value, index)))
        .collect();
    cases.sort_unstable();
    if let Some(twice) = cases.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return malformed(format!("case {} occurs twice", twice[0].0));
    }
    if body
        .otherwise
        .as_ref()
        .is_some_and(|arm| !arm.values.is_empty())
    {
        return malformed("the default arm has case values");
    }
    Ok(cases)
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>, what: &str) -> Result<(), Rejection> {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return malformed(format!("{what} `{name}` occurs twice"));
        }
    }
    Ok(())
}

fn malformed<T>(text: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::malformed(text))
}

/// A block's shape: an array of `count` elements of one type. At most 2^40 units and bytes.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub ty: &'a Type,
    pub count: u64,
}

impl<'a> Layout<'a> {
    /// None for a count of 0, and beyond 2^40 units or bytes.
    pub fn checked(ty: &'a Type, count: u64) -> Option<Self> {
        let fits = |each: u64| each.checked_mul(count).is_some_and(|all| all <= MAX_EXTENT);
        let fits = count > 0 && fits(ty.units) && fits(ty.slot_bytes);
        fits.then_some(Layout { ty, count })
    }

    pub fn units(&self) -> u64 {
        self.ty.units * self.count
    }

    pub fn bytes(&self) -> u64 {
        self.ty.slot_bytes * self.count
    }

    /// Where a unit begins in the slot form; at the end for `units()`.
    pub fn byte_of(&self, unit: u64) -> u64 {
        self.ty.plan.byte_of_repeated(unit)
    }

    pub fn subblocks(&self) -> u64 {
        let shift = self.ty.subblock_shift;
        (self.units() + (1 << shift) - 1) >> shift
    }
}
