//! The standbys for which commits wait: how many the setting wants, and which ones count.

/// Of pg_stat_replication: commits wait for it, and it can become the primary. A program that only
/// copies the log says how much it has, and never applies it.
pub const IS_STANDBY: &str = "sync_state IN ('sync', 'quorum') \
     AND NOT (flush_lsn IS NOT NULL AND replay_lsn IS NULL)";

/// How many standbys a commit waits for: `FIRST n (...)`, `ANY n (...)`, `n (...)`, or names alone,
/// of which it is one.
pub fn copies_wanted(names: &str) -> u32 {
    if names.trim().is_empty() {
        return 0;
    }
    let count = names.split('(').next().unwrap_or_default();
    let number = count.split_whitespace().next_back().map(str::parse);
    let has_list = count.len() < names.len();
    number
        .and_then(Result::ok)
        .filter(|_| has_list)
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_says_how_many_copies_it_wants() {
        let cases = [
            ("", 0),
            (" ", 0),
            ("standby1", 1),
            ("standby1, standby2", 1),
            ("7", 1),
            ("2 (a, b, c)", 2),
            ("ANY 1 (standby1)", 1),
            ("FIRST 3(a, b, c)", 3),
            ("any 2 (*)", 2),
            ("\"2 (a\"", 1),
        ];
        for (names, copies) in cases {
            assert_eq!(copies_wanted(names), copies, "{names}");
        }
    }
}
