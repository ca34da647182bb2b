//! The chains of a segment's last versions, which show the same number with another content.
//!
//! A client that names one of these versions is sent what changed since then [SEG-1]. Invariant:
//! `newest` is the chain of the segment's newest version. `earlier` has the chains of the versions
//! just before, oldest first.

use interweave_wire::protocol::MAX_CHAINS;
use std::collections::VecDeque;

/// The chains of one segment's last versions.
#[derive(Debug, Clone, Default)]
pub struct Chains {
    earlier: VecDeque<u64>,
    newest: u64,
}

impl Chains {
    /// Begins at a checkpoint's version. Earlier versions are not known, and no diff begins at
    /// them.
    pub fn begin(newest: u64) -> Self {
        Chains {
            earlier: VecDeque::new(),
            newest,
        }
    }

    pub fn newest(&self) -> u64 {
        self.newest
    }

    /// Adds the chain of the next version.
    pub fn add(&mut self, chain: u64) {
        if self.earlier.len() >= MAX_CHAINS as usize {
            self.earlier.pop_front();
        }
        if self.earlier.is_empty() {
            // Most segments of a large server have had one release since they were saved.
            self.earlier.reserve_exact(1);
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
