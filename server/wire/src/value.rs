//! Values in travelling form and in slot form: checking, and conversion both ways [WIRE-1..7].
//!
//! `check_run` checks the travelling form once, and `apply_run` relies on that check.

use crate::plan::{Leaf, Selected, UnionPlan, Visit, SHORT_STRING};
use crate::pointer::{Pointer, POINTER_BYTES};
use crate::protocol::ErrorCode;
use crate::rejection::Rejection;
use crate::types::Layout;
use crate::varint::{self, Cursor};
use std::ffi::CStr;

/// Takes `count` units in travelling form off the cursor and checks them. Pointers may use slots up
/// to `slots`. Returns the bytes that were taken. REQUIRES: the units lie within the layout.
pub fn check_run<'a>(
    layout: Layout<'_>,
    first: u64,
    count: u64,
    input: &mut Cursor<'a>,
    slots: u16,
) -> Result<&'a [u8], Rejection> {
    let mut rest = *input;
    let mut check = Check {
        input: *input,
        slots,
    };
    layout.ty.plan.walk_repeated(first, count, 0, &mut check)?;
    *input = check.input;
    rest.take((input.at() - rest.at()) as u64)
}

/// Writes `count` units, which `check_run` found right, into a block's slot form.
pub fn apply_run<'a>(
    layout: Layout<'_>,
    first: u64,
    count: u64,
    input: &mut Cursor<'a>,
    block: &mut [u8],
) -> Result<(), Rejection> {
    let mut apply = Apply {
        input: *input,
        block,
    };
    layout.ty.plan.walk_repeated(first, count, 0, &mut apply)?;
    *input = apply.input;
    Ok(())
}

/// Appends `count` units of a block's slot form in travelling form.
pub fn collect_run(layout: Layout<'_>, first: u64, count: u64, block: &[u8], out: &mut Vec<u8>) {
    let mut collect = Collect { block, out };
    let done = layout.ty.plan.walk_repeated(first, count, 0, &mut collect);
    done.expect("a collector refuses nothing");
}

/// Appends a run of a block diff: gap, count and data.
pub fn put_run(
    layout: Layout<'_>,
    gap: u64,
    (first, count): (u64, u64),
    block: &[u8],
    out: &mut Vec<u8>,
) {
    varint::put(gap, out);
    varint::put(count, out);
    collect_run(layout, first, count, block, out);
}

/// Takes the next run's gap and count off a block diff. `position` is the unit after the previous
/// run, and becomes the unit after this run. Returns None at the end.
pub fn next_run(
    layout: Layout<'_>,
    position: &mut u64,
    input: &mut Cursor<'_>,
) -> Result<Option<(u64, u64)>, Rejection> {
    if input.is_empty() {
        return Ok(None);
    }
    let (gap, count) = (input.varint()?, input.varint()?);
    let units = layout.units();
    let first = position.checked_add(gap);
    let end = first.and_then(|first| first.checked_add(count));
    match (first, end) {
        (Some(first), Some(end)) if count > 0 && end <= units => {
            *position = end;
            Ok(Some((first, count)))
        }
        _ => Err(Rejection::malformed(format!(
            "a run of {count} units, {gap} after unit {position}, in a block of {units} units"
        ))),
    }
}

fn bad_value<T>(text: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::new(ErrorCode::BadValue, text))
}

fn number(bytes: &[u8]) -> i32 {
    i32::from_le_bytes(bytes.try_into().expect("four bytes"))
}

/// Checks that the value is one of the plain number, bool or enum [WIRE-4].
fn check_number(leaf: &Leaf, value: i32) -> Result<(), Rejection> {
    match leaf {
        Leaf::Bool if value & !1 != 0 => bad_value(format!("a bool is {value}, not 0 or 1")),
        Leaf::Enum(members) if value != 0 && members.binary_search(&value).is_err() => {
            bad_value(format!("{value} is not a member of its enum"))
        }
        _ => Ok(()),
    }
}

/// Returns the arm that a checked discriminant selects, or Nothing for the discriminant 0 of fresh
/// memory if no arm has 0 [WIRE-4].
fn select(union: &UnionPlan, discriminant: i32) -> Result<Selected<'_>, Rejection> {
    match union.select(discriminant) {
        Selected::Nothing if discriminant != 0 => {
            bad_value(format!("a union has no arm for {discriminant}"))
        }
        selected => Ok(selected),
    }
}

/// Whether only zeros follow the first zero.
fn is_padded(slot: &[u8]) -> bool {
    let mut pairs = slot.iter().zip(slot.iter().skip(1));
    pairs.all(|(&byte, &next)| (byte != 0) | (next == 0))
}

struct Check<'a> {
    input: Cursor<'a>,
    slots: u16,
}

impl Check<'_> {
    fn pointers(&mut self, owned: bool, units: u64) -> Result<(), Rejection> {
        let bytes = self.input.take(units * POINTER_BYTES as u64)?;
        let (pointers, _) = bytes.as_chunks::<POINTER_BYTES>();
        for pointer in pointers.iter().map(Pointer::from_bytes) {
            let wrong = match pointer {
                Pointer::NULL => continue,
                Pointer { slot, .. } if slot > self.slots => {
                    format!("slot {slot} is not in the table of {}", self.slots)
                }
                Pointer { serial: 0, .. } => "no block, but not NULL".to_string(),
                Pointer {
                    slot: 0, offset: 0, ..
                } => continue,
                _ if owned => "an owned block lies in its own segment, offset 0".to_string(),
                _ => continue,
            };
            return Err(Rejection::new(
                ErrorCode::BadPointer,
                format!("a pointer ({pointer:?}) is refused: {wrong}"),
            ));
        }
        Ok(())
    }

    fn short_strings(&mut self, bound: u32, units: u64) -> Result<(), Rejection> {
        let bytes = self.input.take(u64::from(bound) * units)?;
        let bound = bound.max(1) as usize;
        // Strings that are full have no zero: many are looked at together.
        let mut groups = bytes.chunks(64 * bound);
        match groups.all(|group| !group.contains(&0) || group.chunks(bound).all(is_padded)) {
            true => Ok(()),
            false => bad_value("bytes follow the end of a string"),
        }
    }

    fn long_string(&mut self, bound: u32) -> Result<(), Rejection> {
        let bytes = self.input.take(2)?;
        let length = u16::from_le_bytes([bytes[0], bytes[1]]);
        if u32::from(length) > bound {
            return bad_value(format!(
                "a string of {length} bytes where {bound} is the most"
            ));
        }
        match self.input.take(length.into())?.contains(&0) {
            false => Ok(()),
            true => bad_value("a NUL inside a string"),
        }
    }

    fn union(&mut self, union: &UnionPlan) -> Result<(), Rejection> {
        let discriminant = number(self.input.take(4)?);
        check_number(&union.discriminant, discriminant)?;
        match select(union, discriminant)? {
            Selected::Arm(Some(arm)) => arm.walk(0, arm.units, 0, self),
            _ => Ok(()),
        }
    }
}

impl Visit for Check<'_> {
    const CHECKS: bool = true;

    fn bytes(&mut self, _at: u64, bytes: u64) -> Result<(), Rejection> {
        self.input.take(bytes).map(|_| ())
    }

    fn leaves(&mut self, leaf: &Leaf, width: u64, _at: u64, units: u64) -> Result<(), Rejection> {
        match leaf {
            Leaf::Plain => self.bytes(0, width * units),
            Leaf::Bool | Leaf::Enum(_) => {
                let bytes = self.input.take(4 * units)?;
                let mut numbers = bytes.chunks_exact(4).map(number);
                numbers.try_for_each(|value| check_number(leaf, value))
            }
            Leaf::Pointer => self.pointers(false, units),
            Leaf::Owned => self.pointers(true, units),
            Leaf::String(bound) if *bound <= SHORT_STRING => self.short_strings(*bound, units),
            Leaf::String(bound) => (0..units).try_for_each(|_| self.long_string(*bound)),
            Leaf::Union(union) => (0..units).try_for_each(|_| self.union(union)),
        }
    }
}

struct Apply<'a, 'b> {
    input: Cursor<'a>,
    block: &'b mut [u8],
}

impl Apply<'_, '_> {
    fn slot(&mut self, at: u64, bytes: u64) -> &mut [u8] {
        &mut self.block[at as usize..][..bytes as usize]
    }

    fn long_string(&mut self, at: u64, width: u64) -> Result<(), Rejection> {
        let length = self.input.take(2)?;
        let length = u16::from_le_bytes([length[0], length[1]]);
        let bytes = self.input.take(length.into())?;
        let (used, rest) = self.slot(at, width).split_at_mut(bytes.len());
        used.copy_from_slice(bytes);
        rest.fill(0);
        Ok(())
    }

    fn union(&mut self, union: &UnionPlan, at: u64, width: u64) -> Result<(), Rejection> {
        let discriminant = self.input.take(4)?;
        let slot = self.slot(at, width);
        slot.fill(0);
        slot[..4].copy_from_slice(discriminant);
        match select(union, number(discriminant))? {
            Selected::Arm(Some(arm)) => arm.walk(0, arm.units, at + 4, self),
            _ => Ok(()),
        }
    }
}

impl Visit for Apply<'_, '_> {
    const CHECKS: bool = false;

    fn bytes(&mut self, at: u64, bytes: u64) -> Result<(), Rejection> {
        let source = self.input.take(bytes)?;
        self.slot(at, bytes).copy_from_slice(source);
        Ok(())
    }

    fn leaves(&mut self, leaf: &Leaf, width: u64, at: u64, units: u64) -> Result<(), Rejection> {
        let mut slots = (0..units).map(|unit| at + unit * width);
        match leaf {
            Leaf::String(bound) if *bound > SHORT_STRING => {
                slots.try_for_each(|at| self.long_string(at, width))
            }
            Leaf::Union(union) => slots.try_for_each(|at| self.union(union, at, width)),
            _ => self.bytes(at, width * units),
        }
    }
}

struct Collect<'a> {
    block: &'a [u8],
    out: &'a mut Vec<u8>,
}

impl Collect<'_> {
    fn long_string(&mut self, at: u64, width: u64) {
        let slot = &self.block[at as usize..][..width as usize];
        let length = CStr::from_bytes_until_nul(slot).map_or(slot.len(), CStr::count_bytes);
        self.out.extend_from_slice(&(length as u16).to_le_bytes());
        self.out.extend_from_slice(&slot[..length]);
    }

    fn union(&mut self, union: &UnionPlan, at: u64) -> Result<(), Rejection> {
        self.bytes(at, 4)?;
        let discriminant = number(&self.block[at as usize..][..4]);
        match union.select(discriminant) {
            Selected::Arm(Some(arm)) => arm.walk(0, arm.units, at + 4, self),
            _ => Ok(()),
        }
    }
}

impl Visit for Collect<'_> {
    const CHECKS: bool = false;

    fn bytes(&mut self, at: u64, bytes: u64) -> Result<(), Rejection> {
        let bytes = &self.block[at as usize..][..bytes as usize];
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    fn leaves(&mut self, leaf: &Leaf, width: u64, at: u64, units: u64) -> Result<(), Rejection> {
        let mut slots = (0..units).map(|unit| at + unit * width);
        match leaf {
            Leaf::String(bound) if *bound > SHORT_STRING => {
                slots.for_each(|at| self.long_string(at, width));
                Ok(())
            }
            Leaf::Union(union) => slots.try_for_each(|at| self.union(union, at)),
            _ => self.bytes(at, width * units),
        }
    }
}
