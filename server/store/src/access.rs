//! Rules and tokens that the servers of a store share [SPACE-40].

use crate::StoreError;

/// A version of the shared rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedAccess {
    pub version: u64,
    /// The text of a rules file. None: the version lacks it.
    pub rules: Option<Vec<u8>>,
    /// The text of a tokens file. None: the version lacks it.
    pub tokens: Option<Vec<u8>>,
}

/// Looks for newer versions. It belongs to one thread, which may wait.
pub trait AccessSource: Send {
    /// Returns the newest version, if it is newer than the one that the server has taken (0: none),
    /// and notes in the store which one that is [SPACE-45]. Takes a few seconds at most.
    fn newer(&mut self, taken: u64) -> Result<Option<SharedAccess>, StoreError>;
}
