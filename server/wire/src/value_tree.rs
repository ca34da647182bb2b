//! Values as trees, for people and JSON.
use crate::json::Json;
use crate::pointer::Pointer;
use crate::rejection::Rejection;
use crate::types::{Layout, TypeTable};

/// Renders values. `pointer` gives the text of a pointer (a MIP); `owned` what an owned block holds
/// (None: print the pointer).
pub struct Renderer<'a> {
    pub types: &'a TypeTable,
    /// Of longer arrays only so many elements are shown, and then "...".
    pub max_elements: u64,
    pub pointer: &'a dyn Fn(Pointer) -> String,
    pub owned: &'a dyn Fn(Pointer) -> Option<Json>,
}

impl Renderer<'_> {
    /// A whole block; of a count of 1 the element alone.
    pub fn block(&self, _type_serial: u32, _count: u64, _slots: &[u8]) -> Json {
        todo!()
    }
    /// One unit.
    pub fn unit(&self, _layout: Layout<'_>, _unit: u64, _slots: &[u8]) -> Result<Json, Rejection> {
        todo!()
    }
}

/// Where a unit lies and what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// Serial of the unit's own type, or of the largest that begins there when `widest`.
    pub type_serial: u32,
    pub first_unit: u64,
    pub units: u64,
    pub byte: u64,
    pub bytes: u64,
    /// `[3].next`
    pub path: String,
}

/// The place of a unit in a block; None beyond its end.
pub fn place_of_unit(_types: &TypeTable, _layout: Layout<'_>, _unit: u64) -> Option<Place> {
    todo!()
}

/// The place that a path like `[3].next` or `header.cfl` names.
pub fn place_of_path(_types: &TypeTable, _layout: Layout<'_>, _path: &str) -> Result<Place, Rejection> {
    todo!()
}

/// The slot form of a value of a type; pointers and owned blocks may only be null.
pub fn parse_value(_types: &TypeTable, _type_serial: u32, _value: &Json) -> Result<Vec<u8>, Rejection> {
    todo!()
}

/// "node_t", "int[10]", "node_t *"
pub fn type_text(_types: &TypeTable, _type_serial: u32) -> String {
    todo!()
}
