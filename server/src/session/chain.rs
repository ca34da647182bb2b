//! The chain hash of a segment's versions: the same number with another content is found out.
//!
//! The last versions' chains are remembered, so that a client which names one of them is sent what
//! changed since then. Invariant: `newest` is that of the segment's newest version, `earlier` those
//! of the versions just before it, oldest first. Implements [DIFF-10] and [SEG-1] of spec/.

use interweave_wire::protocol::MAX_CHAINS;
use std::collections::VecDeque;
use xxhash_rust::xxh3::Xxh3;

/// The chain of the version that the diff makes of one with chain `parent`.
pub fn next(parent: u64, diff: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&parent.to_be_bytes());
    hash.update(diff);
    hash.digest()
}

/// The chains of one segment's last versions.
#[derive(Debug, Clone, Default)]
pub struct Chains {
    earlier: VecDeque<u64>,
    newest: u64,
}

impl Chains {
    /// Of a checkpoint, which tells no earlier ones: there are no diffs from those either.
    pub fn begin(newest: u64) -> Self {
        Chains {
            earlier: VecDeque::new(),
            newest,
        }
    }

    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// A version follows.
    pub fn add(&mut self, chain: u64) {
        if self.earlier.len() >= MAX_CHAINS as usize {
            self.earlier.pop_front();
        }
        self.earlier.push_back(self.newest);
        self.newest = chain;
    }

    /// Whether the version `back` versions before the newest is known to have that chain.
    pub fn has(&self, back: u64, chain: u64) -> bool {
        let known = match usize::try_from(back) {
            Ok(0) => Some(self.newest),
            Ok(back) => {
                let at = self.earlier.len().checked_sub(back);
                at.and_then(|at| self.earlier.get(at)).copied()
            }
            Err(_) => None,
        };
        known == Some(chain)
    }
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
    }

    #[test]
    fn seg_1_the_last_versions_are_known_and_older_ones_are_not() {
        let mut chains = Chains::default();
        let newest = u64::from(MAX_CHAINS) + 5;
        for version in 1..=newest {
            chains.add(version * 7);
        }
        for version in newest - u64::from(MAX_CHAINS)..=newest {
            assert!(chains.has(newest - version, version * 7), "{version}");
            assert!(!chains.has(newest - version, version * 7 + 1), "{version}");
        }
        assert!(!chains.has(u64::from(MAX_CHAINS) + 1, 4 * 7));
        assert!(!chains.has(u64::MAX, 0));
        let recovered = Chains::begin(chains.newest());
        assert!(recovered.has(0, newest * 7) && !recovered.has(1, (newest - 1) * 7));
    }
}
