//! A store that several servers share: where a segment is, how it goes to another server, and which
//! servers there are (spec/space.md).

use crate::{RecoveredSegment, StoreError, StoreStatus};
use bytes::Bytes;
use interweave_wire::protocol::{LogRelease, MemberList, StoreState, MAX_TROUBLE};
use std::ops::Bound;

/// Another server of the space, as clients reach it [SPACE-9].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// HOST:PORT
    pub address: String,
    /// The name that the certificate there must have. Empty: the host of the address.
    pub tls_name: String,
}

/// A segment that was looked for by its path.
#[derive(Debug)]
pub enum Sought {
    /// This server has claimed it now [SPACE-5].
    Here(Box<RecoveredSegment>),
    /// The same, and it was followed: this came since the last answer about it [SPACE-21].
    Followed(Box<Since>),
    /// Another server owns it, and is not over; or it is to be claimed there.
    Elsewhere(Elsewhere),
    /// An earlier start of this server owns it, and is not over yet.
    Earlier,
    /// The store does not have it. Or nobody may claim it here, and no other server is there.
    Absent,
}

/// What came of a segment since it was read last. Its incarnation and its maker are the same.
#[derive(Debug)]
pub struct Since {
    pub segment_id: u64,
    /// The epoch of this owner's claim; without one, 0.
    pub epoch: u64,
    pub releases: Vec<(LogRelease, Bytes)>,
    pub serials_below: u64,
    /// No version was lost [`RecoveredSegment::clean`].
    pub clean: bool,
}

impl Since {
    /// The bytes of the diffs.
    pub fn bytes(&self) -> u64 {
        let diffs = self.releases.iter().map(|(_, diff)| diff.len() as u64);
        diffs.sum()
    }
}

/// A segment that was followed [SPACE-18].
#[derive(Debug)]
pub enum Followed {
    /// The whole segment, as another server owns it. Its epoch is 0.
    Whole(Box<RecoveredSegment>),
    /// This came since the last answer.
    More(Box<Since>),
    /// No other server owns it: [`SegmentStore::seek`](crate::SegmentStore::seek) claims it.
    Free,
    /// The store does not have it.
    Absent,
}

/// A segment that was to be given to another member.
#[derive(Debug)]
pub enum Given {
    /// The member that owns it now.
    To(Elsewhere),
    /// Nothing was changed. The text says why.
    Not(String),
}

/// Hears where a segment is. It runs on a thread of the store that does nothing else. So it may
/// take its time, and holds up only other segments that are looked for.
pub type Seek = Box<dyn FnOnce(Result<Sought, StoreError>) + Send>;

/// Hears what was read of a segment. As `Seek`, it may take its time.
pub type Follow = Box<dyn FnOnce(Result<Followed, StoreError>) + Send>;

/// Hears whether a segment was given. After an error that is not known. As `Done`, it must not
/// wait.
pub type Give = Box<dyn FnOnce(Result<Given, StoreError>) + Send>;
/// Hears which servers share the store, as LIST_MEMBERS is answered [SPACE-30]: but for `tells_all`
/// and, of a store that is not shared, the row of the only server. As `Done`, it must not wait.
pub type Members = Box<dyn FnOnce(Result<MemberList, StoreError>) + Send>;

/// A store of that kind which this server shares with nobody.
pub fn unshared(kind: &str, status: &StoreStatus) -> MemberList {
    MemberList {
        shares_store: false,
        tells_all: true,
        members: Vec::new(),
        more: false,
        unowned: 0,
        rules_version: 0,
        store: StoreState {
            kind: kind.to_string(),
            primary: String::new(),
            timeline: 0,
            standbys: 0,
            wants_standby: false,
            trouble: trouble(status),
        },
    }
}

/// Why writes fail, in at most MAX_TROUBLE bytes. Empty: as far as is known they do not.
pub fn trouble(status: &StoreStatus) -> String {
    let stopped = status.stopped.as_ref().map(StoreError::to_string);
    let full = || status.full.as_ref().map(|full| full.text.clone());
    let mut text = stopped.or_else(full).unwrap_or_default();
    text.truncate(text.floor_char_boundary(MAX_TROUBLE as usize));
    text
}

/// A server's part in a segment, as the store's catalogue has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The server that asks.
    Asked,
    Other(Elsewhere),
    /// Nobody, or a server that is over.
    Nobody,
}

/// A segment of the catalogue [SPACE-35].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub path: String,
    pub incarnation: u64,
    pub version: u64,
    pub holder: Holder,
}

/// A part of the catalogue, in the order of paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    pub segments: Vec<Listed>,
    /// No segment of the prefix follows.
    pub is_last: bool,
}

/// A part of the catalogue that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageAsked {
    pub prefix: String,
    pub from: Bound<String>,
    /// How many segments the page has at most.
    pub most: u32,
}

/// Hears of a page. As `Done`, it must not wait.
pub type Pages = Box<dyn FnOnce(Result<Page, StoreError>) + Send>;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Full;
    use std::time::Instant;

    #[test]
    fn the_bytes_of_what_came_since_are_those_of_its_diffs() {
        let release = LogRelease {
            version: 1,
            chain: 1,
            session: [0; 16],
            sequence: 1,
            fence: 0,
        };
        let diff = |count| (release.clone(), Bytes::from(vec![0; count]));
        let since = Since {
            segment_id: 1,
            epoch: 1,
            releases: vec![diff(300), diff(0), diff(21)],
            serials_below: 1,
            clean: true,
        };
        assert_eq!(since.bytes(), 321);
    }

    #[test]
    fn space_33_trouble_is_why_the_store_has_stopped_or_else_why_it_is_full() {
        let mut status = StoreStatus::default();
        assert_eq!(trouble(&status), "");
        // a letter of two bytes lies across the bound
        let text = format!("x{}", "é".repeat(MAX_TROUBLE as usize));
        status.full = Some(Full {
            since: Instant::now(),
            text: text.clone(),
        });
        assert_eq!(trouble(&status), text[..MAX_TROUBLE as usize - 1]);
        status.stopped = Some(StoreError::Closed);
        assert_eq!(trouble(&status), "the store is closed");
    }
}
