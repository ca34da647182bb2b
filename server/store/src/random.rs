//! Numbers that a client cannot guess.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

pub fn random() -> u64 {
    // the standard library's hasher is keyed from the system's random numbers
    RandomState::new().build_hasher().finish()
}
