//! The chain of a version: a hash of all diffs that made it [DIFF-10].

use std::fmt;
use xxhash_rust::xxh3::Xxh3;

/// The chain of a version whose diff comes in parts.
pub struct NextChain(Xxh3);

impl NextChain {
    /// Begins at the chain of the version before.
    pub fn after(parent: u64) -> NextChain {
        let mut hash = Xxh3::new();
        hash.update(&parent.to_be_bytes());
        NextChain(hash)
    }

    /// Adds the next bytes of the diff.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the chain, if the diff is what was added.
    pub fn chain(&self) -> u64 {
        self.0.digest()
    }
}

impl fmt::Debug for NextChain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NextChain({:016x})", self.chain())
    }
}

/// The chain of the version that the diff makes of one with chain `parent`.
pub fn next(parent: u64, diff: &[u8]) -> u64 {
    let mut next = NextChain::after(parent);
    next.add(diff);
    next.chain()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diff_10_chains_are_those_of_the_specification() {
        let first = next(0, b"IWD1\x00\x00\x01");
        assert_eq!(first, 0x4df6_cbdb_9161_28cb);
        assert_eq!(next(first, b"IWD1\x00\x01\x02"), 0x7496_b292_a4ca_ec67);
        let long: Vec<u8> = (0..5000_u32).map(|i| (i % 251) as u8).collect();
        assert_eq!(next(0, &long), 0x77ad_1082_0810_ea07);
        for step in [1, 7, 255, 256, 1024, 4999] {
            let mut parts = NextChain::after(0);
            long.chunks(step).for_each(|part| parts.add(part));
            assert_eq!(parts.chain(), 0x77ad_1082_0810_ea07, "in parts of {step}");
        }
    }
}
