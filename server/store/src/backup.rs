//! Copies of a store.

use std::path::Path;

use crate::StoreError;

/// What a store or a backup holds.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub segments: u64,
    pub records: u64,
    pub checkpoints: u64,
    pub bytes: u64,
    /// The last owner stopped cleanly.
    pub clean: bool,
    /// Bytes after the end of the log that were never acknowledged.
    pub torn_bytes: u64,
    /// What is damaged: which file, where, what. Empty: the store is whole.
    pub damage: Vec<String>,
}

/// Copies a store, running or not, into an empty or new directory. `progress` hears bytes done and
/// bytes in all. The copy is verified.
pub fn backup(
    _store_dir: &Path,
    _to: &Path,
    _progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, StoreError> {
    todo!()
}

/// Makes a store of a backup, in an empty or new directory. Every segment begins a new incarnation,
/// because clients may have seen versions later than the backup.
pub fn restore(
    _from: &Path,
    _to_empty_dir: &Path,
    _progress: &mut dyn FnMut(u64, u64),
) -> Result<Report, StoreError> {
    todo!()
}

/// Reads everything in a store or a backup without changing it.
pub fn verify(_dir: &Path) -> Result<Report, StoreError> {
    todo!()
}
