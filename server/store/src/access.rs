//! Rules and tokens that the servers of a store share [SPACE-40].

use crate::StoreError;

/// A version of the shared rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SharedAccess {
    pub version: u64,
    /// When it was written, by the database's clock, in microseconds since 1970. Two versions have
    /// one number if the first was lost with a primary. This time tells them apart.
    pub made_us: i64,
    /// The text of a rules file. None: the version lacks it.
    pub rules: Option<Vec<u8>>,
    /// The text of a tokens file. None: the version lacks it.
    pub tokens: Option<Vec<u8>>,
}

/// Looks for other versions. It belongs to one thread, which may wait.
pub trait AccessSource: Send {
    /// Returns the newest version, if it is another one than the server has taken, and notes in the
    /// store which one that is [SPACE-45]. `taken`: its number (0: none), and when it was written.
    /// Takes a few seconds at most.
    fn other(&mut self, taken: (u64, i64)) -> Result<Option<SharedAccess>, StoreError>;
}
