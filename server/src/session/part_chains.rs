//! The chains that the parts of a large release make [DIFF-10], computed while the bytes come in.
//!
//! A pass over all bytes of a release of 1 GiB, once it is whole, would hold the engine's thread
//! for a tenth of a second. Each part names the chain that it begins at, and the engine refuses the
//! release if the segment has another chain. So a chain computed here is used only if it is right.

use interweave_wire::chain::NextChain;
use interweave_wire::protocol::ReleaseWriter;

/// The chains of a release's parts, as far as its bytes have come.
#[derive(Debug)]
pub struct PartChains {
    /// Of each part, the chain that it begins at, and how many bytes its diff has.
    parts: Vec<(u64, u64)>,
    /// Of the parts that are whole.
    chains: Vec<u64>,
    next: NextChain,
    missing_bytes: u64,
}

impl PartChains {
    pub fn of(release: &ReleaseWriter) -> PartChains {
        let parts = release.parts.iter();
        let parts: Vec<(u64, u64)> = parts.map(|p| (p.base.chain, p.diff_bytes)).collect();
        let (parent, missing_bytes) = parts.first().copied().unwrap_or_default();
        PartChains {
            chains: Vec::with_capacity(parts.len()),
            next: NextChain::after(parent),
            missing_bytes,
            parts,
        }
    }

    /// Takes the next bytes of the release.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.chains.len() < self.parts.len() {
            let its = usize::try_from(self.missing_bytes).unwrap_or(usize::MAX);
            let (its, rest) = bytes.split_at(its.min(bytes.len()));
            self.next.add(its);
            self.missing_bytes -= its.len() as u64;
            bytes = rest;
            self.end_whole_parts();
        }
    }

    fn end_whole_parts(&mut self) {
        while self.missing_bytes == 0 && self.chains.len() < self.parts.len() {
            self.chains.push(self.next.chain());
            if let Some(&(parent, bytes)) = self.parts.get(self.chains.len()) {
                self.next = NextChain::after(parent);
                self.missing_bytes = bytes;
            }
        }
    }

    /// Returns the chain that each part makes. A part that is not whole has none.
    pub fn finish(mut self) -> Vec<u64> {
        self.end_whole_parts();
        self.chains
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::chain;
    use interweave_wire::protocol::{ReleasePart, VersionStamp};

    fn release(parts: &[(u64, u64)]) -> ReleaseWriter {
        let part = |&(chain, diff_bytes): &(u64, u64)| ReleasePart {
            segment: 1,
            fence: 1,
            base: VersionStamp {
                incarnation: 0,
                number: 0,
                chain,
            },
            diff_bytes,
        };
        ReleaseWriter {
            sequence: 1,
            parts: parts.iter().map(part).collect(),
        }
    }

    #[test]
    fn diff_10_each_part_has_the_chain_of_its_diff_however_the_bytes_come() {
        let bytes: Vec<u8> = (0..3000_u32).map(|i| (i % 253) as u8).collect();
        let parts = [(0, 0), (7, 1000), (0, 0), (9, 1), (11, 1999), (5, 0)];
        for step in [1, 3, 999, 1000, 1001, 3000] {
            let mut chains = PartChains::of(&release(&parts));
            bytes.chunks(step).for_each(|some| chains.add(some));
            let expected: Vec<u64> = [
                (0, 0..0),
                (7, 0..1000),
                (0, 0..0),
                (9, 1000..1001),
                (11, 1001..3000),
                (5, 0..0),
            ]
            .map(|(parent, range)| chain::next(parent, &bytes[range]))
            .into();
            assert_eq!(chains.finish(), expected, "{step} bytes at a time");
        }
    }

    #[test]
    fn parts_that_are_not_whole_have_no_chain_and_bytes_behind_the_last_part_none_either() {
        let mut chains = PartChains::of(&release(&[(1, 4), (2, 4)]));
        chains.add(b"1234567");
        assert_eq!(chains.finish(), [chain::next(1, b"1234")]);
        let mut chains = PartChains::of(&release(&[(1, 4)]));
        chains.add(b"12345678");
        assert_eq!(chains.finish(), [chain::next(1, b"1234")]);
        let mut none = PartChains::of(&release(&[]));
        none.add(b"1");
        assert!(none.finish().is_empty());
    }
}
