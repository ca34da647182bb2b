//! A value that most of its owners never need.
//!
//! At rest it takes eight bytes and reads as its type's value at rest. The first change puts it
//! into a box. A server may have a million segments that nobody uses, so lists of users and the
//! like must cost nothing until somebody comes.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// A type with a value at rest.
pub trait Resting: Sized + 'static {
    const REST: Self;
    /// Is `&Self::REST`. The compiler takes this only where it knows the type.
    const AT_REST: &'static Self;
}

pub struct Rare<T>(Option<Box<T>>);

impl<T> Rare<T> {
    /// Returns the value for a change, unless it is at rest. Unlike a plain change, this takes no
    /// memory.
    pub fn awake(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Rare(None)
    }
}

impl<T: Resting> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or(T::AT_REST)
    }
}

impl<T: Resting> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_with(|| Box::new(T::REST))
    }
}

impl<T: Resting + fmt::Debug> fmt::Debug for Rare<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Resting for Vec<u8> {
        const REST: Self = Vec::new();
        const AT_REST: &'static Self = &Self::REST;
    }

    #[test]
    fn a_rare_value_takes_a_box_only_from_its_first_change_on() {
        let mut rare = Rare::<Vec<u8>>::default();
        assert_eq!(size_of_val(&rare), size_of::<usize>());
        assert!(rare.is_empty() && rare.awake().is_none());
        rare.push(7);
        assert_eq!(*rare, [7]);
        assert_eq!(rare.awake().map(|bytes| bytes.len()), Some(1));
    }
}
