//! The types of a segment.
use std::sync::Arc;

use crate::protocol::TypeDescriptor;
use crate::rejection::Rejection;

/// One type: its descriptor and what follows from it.
#[derive(Debug)]
pub struct Type {
    pub descriptor: TypeDescriptor,
    pub units: u64,
    pub slot_bytes: u64,
}

/// Types by serial; grows at its end only.
#[derive(Debug, Clone, Default)]
pub struct TypeTable {
    types: Vec<Arc<Type>>,
}

impl TypeTable {
    pub fn new() -> Self {
        todo!()
    }
    /// Primitives included.
    pub fn get(&self, _serial: u32) -> Option<&Arc<Type>> {
        todo!()
    }
    /// The serial that the next descriptor must have.
    pub fn next_serial(&self) -> u32 {
        todo!()
    }
    /// Appends all of them, or none.
    pub fn extend(&mut self, _descriptors: Vec<TypeDescriptor>) -> Result<(), Rejection> {
        todo!()
    }
    /// The descriptors in order, without the primitives.
    pub fn descriptors(&self) -> impl Iterator<Item = &TypeDescriptor> {
        self.types.iter().map(|t| &t.descriptor)
    }
}

/// A block's shape: an array of `count` elements of one type.
#[derive(Debug, Clone, Copy)]
pub struct Layout<'a> {
    pub ty: &'a Type,
    pub count: u64,
}

impl Layout<'_> {
    pub fn units(&self) -> u64 {
        todo!()
    }
    pub fn bytes(&self) -> u64 {
        todo!()
    }
    pub fn byte_of(&self, _unit: u64) -> u64 {
        todo!()
    }
}
