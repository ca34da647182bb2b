//! The chain of a version: a hash of all diffs that made it [DIFF-10].

use xxhash_rust::xxh3::Xxh3;

/// The chain of the version that the diff makes of one with chain `parent`.
pub fn next(parent: u64, diff: &[u8]) -> u64 {
    let mut hash = Xxh3::new();
    hash.update(&parent.to_be_bytes());
    hash.update(diff);
    hash.digest()
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
}
