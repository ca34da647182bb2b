//! Translation plans: a type flattened into pieces of equal units, so that a run of units whose
//! travelling form is its slot form is one memcpy (spec/format/wire-format.md).
//!
//! Invariants: pieces are in order and cover all units and bytes without gaps; a plan has at least
//! one unit; plans nest no deeper than types embed each other (64).

use std::sync::Arc;

use crate::rejection::Rejection;

/// Embedded plans of up to this many pieces are copied into the embedding plan. Longer ones are
/// shared, so that the size of the descriptor bounds the memory of the plan.
const INLINED_PIECES: usize = 2;

/// The kind of one unit.
#[derive(Debug, Clone)]
pub enum Leaf {
    /// A number. All bytes are valid.
    Plain,
    Bool,
    /// The members' values, ascending.
    Enum(Arc<[i32]>),
    Pointer,
    /// A sequence or text: a pointer to its owned block [WIRE-7].
    Owned,
    /// The bound.
    String(u32),
    Union(Arc<UnionPlan>),
}

#[derive(Debug)]
pub struct UnionPlan {
    /// Plain, Bool or Enum.
    pub discriminant: Leaf,
    /// Values and the arms that they select, by value.
    pub cases: Vec<(i32, u32)>,
    /// None: void. The default arm is the last one.
    pub arms: Vec<Option<Arc<Plan>>>,
    pub has_default: bool,
}

#[derive(Debug, Clone)]
pub struct Piece {
    pub first_unit: u64,
    pub first_byte: u64,
    pub units: u64,
    pub body: PieceBody,
}

#[derive(Debug, Clone)]
pub enum PieceBody {
    Leaves { leaf: Leaf, width: u64 },
    Repeat { each: Arc<Plan> },
}

#[derive(Debug)]
pub struct Plan {
    pub units: u64,
    pub bytes: u64,
    /// The travelling form is the slot form: no long strings and no unions.
    pub fixed: bool,
    /// The plan is fixed and all bytes are valid, so nothing is checked.
    pub exact: bool,
    pub pieces: Vec<Piece>,
}

/// Receives the units of a walk. `at` is where the units begin in the slot form.
pub trait Visit {
    /// Whether each value is visited by itself. If not, all fixed units come as `bytes`.
    const CHECKS: bool;
    fn bytes(&mut self, at: u64, bytes: u64) -> Result<(), Rejection>;
    fn leaves(&mut self, leaf: &Leaf, width: u64, at: u64, units: u64) -> Result<(), Rejection>;
}

/// What a discriminant selects: an arm (None: a void one), or nothing.
pub enum Selected<'a> {
    Arm(Option<&'a Arc<Plan>>),
    Nothing,
}

impl UnionPlan {
    pub fn select(&self, discriminant: i32) -> Selected<'_> {
        match self
            .cases
            .binary_search_by_key(&discriminant, |case| case.0)
        {
            Ok(found) => Selected::Arm(self.arms[self.cases[found].1 as usize].as_ref()),
            Err(_) if self.has_default => Selected::Arm(self.arms.last().and_then(Option::as_ref)),
            Err(_) => Selected::Nothing,
        }
    }
}

impl Leaf {
    fn is_fixed(&self) -> bool {
        match self {
            Leaf::String(bound) => *bound <= SHORT_STRING,
            Leaf::Union(_) => false,
            _ => true,
        }
    }

    fn is_plain(&self) -> bool {
        matches!(self, Leaf::Plain)
    }

    fn same(&self, other: &Leaf) -> bool {
        match (self, other) {
            (Leaf::Plain, Leaf::Plain)
            | (Leaf::Bool, Leaf::Bool)
            | (Leaf::Pointer, Leaf::Pointer)
            | (Leaf::Owned, Leaf::Owned) => true,
            (Leaf::Enum(a), Leaf::Enum(b)) => Arc::ptr_eq(a, b),
            (Leaf::String(a), Leaf::String(b)) => a == b,
            (Leaf::Union(a), Leaf::Union(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// Strings up to this bound travel as their whole slot [WIRE-2].
pub const SHORT_STRING: u32 = 16;

impl Plan {
    pub fn leaf(leaf: Leaf, width: u64) -> Plan {
        Plan {
            units: 1,
            bytes: width,
            fixed: leaf.is_fixed(),
            exact: leaf.is_plain(),
            pieces: vec![Piece {
                first_unit: 0,
                first_byte: 0,
                units: 1,
                body: PieceBody::Leaves { leaf, width },
            }],
        }
    }

    /// The embedded plans one after another.
    pub fn sequence<'a>(parts: impl Iterator<Item = &'a Arc<Plan>>) -> Plan {
        let mut plan = Plan {
            units: 0,
            bytes: 0,
            fixed: true,
            exact: true,
            pieces: Vec::new(),
        };
        for part in parts {
            plan.append(part);
        }
        plan.pieces.shrink_to_fit();
        plan
    }

    /// `count` of one plan.
    pub fn repeat(each: &Arc<Plan>, count: u64) -> Plan {
        let body = match each.single_body() {
            Some(body) => body.clone(),
            None => PieceBody::Repeat { each: each.clone() },
        };
        // A product that does not fit stays too large for any type to be accepted [TYPE-2].
        let units = each.units.saturating_mul(count);
        Plan {
            units,
            bytes: each.bytes.saturating_mul(count),
            fixed: each.fixed,
            exact: each.exact,
            pieces: vec![Piece {
                first_unit: 0,
                first_byte: 0,
                units,
                body,
            }],
        }
    }

    /// Memory of the plan itself, without what it shares.
    pub fn memory_bytes(&self) -> u64 {
        (self.pieces.len() * size_of::<Piece>()) as u64
    }

    fn single_body(&self) -> Option<&PieceBody> {
        match &self.pieces[..] {
            [piece] => Some(&piece.body),
            _ => None,
        }
    }

    fn append(&mut self, part: &Arc<Plan>) {
        if part.pieces.len() <= INLINED_PIECES {
            for piece in &part.pieces {
                self.push(Piece {
                    first_unit: self.units + piece.first_unit,
                    first_byte: self.bytes + piece.first_byte,
                    ..piece.clone()
                });
            }
        } else {
            self.push(Piece {
                first_unit: self.units,
                first_byte: self.bytes,
                units: part.units,
                body: PieceBody::Repeat { each: part.clone() },
            });
        }
        self.units += part.units;
        self.bytes += part.bytes;
        self.fixed &= part.fixed;
        self.exact &= part.exact;
    }

    fn push(&mut self, piece: Piece) {
        if let Some(last) = self.pieces.last_mut() {
            let joins = match (&last.body, &piece.body) {
                (
                    PieceBody::Leaves { leaf: a, width: x },
                    PieceBody::Leaves { leaf: b, width: y },
                ) => x == y && a.same(b),
                _ => false,
            };
            if joins {
                last.units += piece.units;
                return;
            }
        }
        self.pieces.push(piece);
    }

    fn piece_of(&self, unit: u64) -> usize {
        self.pieces
            .partition_point(|piece| piece.first_unit <= unit)
            - 1
    }

    /// Where a unit begins in the slot form; at the end for `units`.
    pub fn byte_of(&self, unit: u64) -> u64 {
        if unit == self.units {
            return self.bytes;
        }
        let piece = &self.pieces[self.piece_of(unit)];
        let within = unit - piece.first_unit;
        piece.first_byte
            + match &piece.body {
                PieceBody::Leaves { width, .. } => within * width,
                PieceBody::Repeat { each } => each.byte_of_repeated(within),
            }
    }

    /// Where a unit begins in the slot form of an array of this plan.
    pub fn byte_of_repeated(&self, unit: u64) -> u64 {
        if let Some(PieceBody::Leaves { width, .. }) = self.single_body() {
            return unit * width;
        }
        unit / self.units * self.bytes + self.byte_of(unit % self.units)
    }

    /// Visits `count` units of an array of this plan that begins at byte `base`.
    pub fn walk_repeated<V: Visit>(
        &self,
        first: u64,
        count: u64,
        base: u64,
        visitor: &mut V,
    ) -> Result<(), Rejection> {
        if self.exact || !V::CHECKS && self.fixed {
            let begin = self.byte_of_repeated(first);
            return visitor.bytes(base + begin, self.byte_of_repeated(first + count) - begin);
        }
        if let Some(PieceBody::Leaves { leaf, width }) = self.single_body() {
            return visitor.leaves(leaf, *width, base + first * width, count);
        }
        let mut element = first / self.units;
        let mut within = first % self.units;
        let mut left = count;
        while left > 0 {
            let here = left.min(self.units - within);
            self.walk(within, here, base + element * self.bytes, visitor)?;
            left -= here;
            element += 1;
            within = 0;
        }
        Ok(())
    }

    /// Visits `count` units of one value that begins at byte `base`.
    pub fn walk<V: Visit>(
        &self,
        first: u64,
        count: u64,
        base: u64,
        visitor: &mut V,
    ) -> Result<(), Rejection> {
        let end = first + count;
        let mut unit = first;
        for piece in &self.pieces[self.piece_of(first)..] {
            if unit == end {
                break;
            }
            let within = unit - piece.first_unit;
            let here = (end - unit).min(piece.units - within);
            let begin = base + piece.first_byte;
            match &piece.body {
                PieceBody::Leaves { leaf, width } => {
                    let at = begin + within * width;
                    if leaf.is_plain() || !V::CHECKS && leaf.is_fixed() {
                        visitor.bytes(at, here * width)?;
                    } else {
                        visitor.leaves(leaf, *width, at, here)?;
                    }
                }
                PieceBody::Repeat { each } => each.walk_repeated(within, here, begin, visitor)?,
            }
            unit += here;
        }
        Ok(())
    }
}
