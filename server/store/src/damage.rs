//! Where bytes on the disk are not those that were written.

use std::fmt;

use crate::StoreError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    pub file: String,
    pub offset: u64,
    pub what: String,
}

impl Damage {
    pub fn new(file: &str, offset: u64, what: impl Into<String>) -> Damage {
        Damage {
            file: file.to_string(),
            offset,
            what: what.into(),
        }
    }
}

impl From<Damage> for StoreError {
    fn from(damage: Damage) -> StoreError {
        StoreError::Damaged {
            file: damage.file,
            offset: damage.offset,
            what: damage.what,
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        StoreError::from(self.clone()).fmt(f)
    }
}
