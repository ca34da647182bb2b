//! Maps by numbers that the server itself gives out.
//!
//! No client can choose such numbers so that they fall together. So their hash is one
//! multiplication, and not the standard one, which withstands chosen keys and takes ten times as
//! long.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// The odd number next to 2^64 divided by the golden ratio: neighbours are spread evenly.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug, Default)]
pub struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        let product = (self.0 ^ number).wrapping_mul(SPREAD);
        // The map takes its buckets by the lowest bits, which depend on the fewest bits of the
        // number.
        self.0 = product ^ (product >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    /// Returns how many of 4,096 numbers so far apart fall into a bucket or a tag of their own.
    fn distinct(step: u64) -> (usize, usize) {
        let hasher = BuildHasherDefault::<NumberHasher>::default();
        let hashes = (0..4096).map(|at| hasher.hash_one(at * step));
        let hashes: Vec<u64> = hashes.collect();
        let buckets: HashSet<u64> = hashes.iter().map(|hash| hash % 8192).collect();
        let tags: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
        (buckets.len(), tags.len())
    }

    #[test]
    fn numbers_at_any_regular_distance_are_spread() {
        for step in [1, 2, 3, 1000, 1 << 8, 1 << 16, 1 << 32] {
            let (buckets, tags) = distinct(step);
            // By chance it would be 3,223 buckets and all of 128 tags.
            assert!(buckets >= 2600, "{buckets} buckets for distance {step}");
            assert_eq!(tags, 128, "distance {step}");
        }
    }
}
