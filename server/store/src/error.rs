//! Why the store did not do what was asked. The text says what to do about it.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// No space: nothing of the group was kept. The store tries again by itself, and continues once
    /// there is room.
    Full(String),
    /// The database has no synchronous standby: nothing of the group was kept. The store continues
    /// once one is attached.
    Alone(String),
    /// The database cannot be reached, or is not as the store needs it: nothing of the group was
    /// kept. The store tries again by itself.
    Away(String),
    /// The operating system failed, or the caller asked for what cannot be.
    Io(String),
    /// Another server has taken the store over; this one must stop.
    Fenced(String),
    /// Another server owns these segments of the group. The store kept no record of the group.
    SegmentsFenced(Vec<u64>),
    /// A segment was to be created, and another server of the space has made its path meanwhile.
    /// Nothing of the group was kept.
    PathTaken(u64),
    /// The group may be kept, now or later. [`SegmentStore::settle`](crate::SegmentStore::settle)
    /// decides.
    Unknown(String),
    /// Bytes on the disk are not those that were written. Only the segments concerned stop.
    Damaged {
        file: String,
        offset: u64,
        what: String,
    },
    /// A store or backup to be copied is damaged; the text of the first damage.
    NotWhole { dir: String, damage: String },
    /// A record or group is larger than the log's format allows.
    TooLarge { bytes: u64, limit: u64 },
    /// An error of ours has ended the store's thread: nothing is written any more.
    Ended(String),
    /// The store is closed.
    Closed,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Full(text) => write!(f, "no space is left: {text}; free some"),
            StoreError::Alone(text) | StoreError::Away(text) | StoreError::Io(text) => {
                f.write_str(text)
            }
            StoreError::Fenced(text) => write!(
                f,
                "another server owns the store now: {text}; stop this one"
            ),
            StoreError::SegmentsFenced(segments) => write!(
                f,
                "another server owns segments of the group now: {segments:?}"
            ),
            StoreError::PathTaken(segment) => write!(
                f,
                "segment {segment} was not created: another server has made one of that name"
            ),
            StoreError::Unknown(text) => write!(
                f,
                "it is not known whether the store has kept the change: {text}"
            ),
            StoreError::Damaged { file, offset, what } => {
                write!(f, "{file} is damaged at byte {offset}: {what}")
            }
            StoreError::NotWhole { dir, damage } => {
                write!(
                    f,
                    "{dir} is not whole, so no store was made from it: {damage}"
                )
            }
            StoreError::TooLarge { bytes, limit } => write!(
                f,
                "{bytes} bytes are more than one release may hold ({limit}); make smaller releases"
            ),
            StoreError::Ended(text) => write!(
                f,
                "the store ended by an error of the server: {text}; start the server again, what \
                 was acknowledged is there"
            ),
            StoreError::Closed => f.write_str("the store is closed"),
        }
    }
}

impl StoreError {
    /// Whether the store keeps nothing of a group with this answer, now or later [STORE-4].
    pub fn is_final(&self) -> bool {
        match self {
            StoreError::Full(_)
            | StoreError::Alone(_)
            | StoreError::Away(_)
            | StoreError::Io(_)
            | StoreError::TooLarge { .. }
            | StoreError::Damaged { .. }
            | StoreError::NotWhole { .. }
            | StoreError::SegmentsFenced(_)
            | StoreError::PathTaken(_) => true,
            StoreError::Unknown(_)
            | StoreError::Fenced(_)
            | StoreError::Ended(_)
            | StoreError::Closed => false,
        }
    }
}

impl std::error::Error for StoreError {}
