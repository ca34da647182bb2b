//! What the engine keeps of one connection. All of it is bounded: per open segment a version, a
//! subscription and a flag, per unanswered request a few words.

use super::super::message::Backlog;
use super::lending::Lent;
use crate::coherence::{Known, Newest, Watch, NO_COPY};
use interweave_wire::protocol::SessionId;
use std::collections::HashMap;
use std::sync::Weak;

/// Notifications of the server have the top bit set in their stream number.
pub const NOTIFICATION: u32 = 1 << 31;
/// Requests of one connection that may wait for locks or the store at a time.
pub const MAX_UNANSWERED: usize = 1024;
/// Segments that one connection may have open.
pub const MAX_OPEN_SEGMENTS: usize = 65_536;

/// Where a request came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At {
    pub connection: u64,
    pub session: u64,
    pub stream: u32,
}

/// A segment that the connection has open.
#[derive(Debug)]
pub struct OpenSegmentState {
    pub read_only: bool,
    pub known: Known,
    pub watch: Option<Watch>,
    /// The newest version, of which a notification is due that the connection could not take.
    pub behind: Option<Newest>,
}

impl OpenSegmentState {
    pub fn new(read_only: bool) -> Self {
        OpenSegmentState {
            read_only,
            known: Known::at(NO_COPY),
            watch: None,
            behind: None,
        }
    }
}

/// A request that is not answered yet.
#[derive(Debug, Clone, Copy)]
pub enum Unanswered {
    /// Waits for a lock of the segment.
    Lock { segment: u32 },
    /// Waits for the store.
    Store,
}

#[derive(Debug)]
pub struct Connection {
    /// None until hello.
    pub session: Option<u64>,
    /// Random bytes: a new session gets them as its id. Hello takes them out, because the server
    /// keeps no session's id [SES-6]; None from then on.
    pub unused_id: Option<SessionId>,
    pub open: HashMap<u32, OpenSegmentState>,
    pub unanswered: HashMap<u32, Unanswered>,
    pub connected_ns: u64,
    pub heard_ns: u64,
    pub sent_ns: u64,
    /// What waits to be sent, as far as is known.
    pub backlog: Backlog,
    /// When it took some of them last, or had none.
    pub took_ns: u64,
    /// Large diffs that it is being sent.
    pub lent: Vec<Weak<Lent>>,
    /// Segments with `behind` set.
    pub behind: Vec<u32>,
    notifications: u32,
}

impl Connection {
    pub fn new(unused_id: SessionId, now_ns: u64) -> Self {
        Connection {
            session: None,
            unused_id: Some(unused_id),
            open: HashMap::new(),
            unanswered: HashMap::new(),
            connected_ns: now_ns,
            heard_ns: now_ns,
            sent_ns: now_ns,
            backlog: Backlog::default(),
            took_ns: now_ns,
            lent: Vec::new(),
            behind: Vec::new(),
            notifications: 0,
        }
    }

    /// The stream number of the next notification.
    pub fn next_notification(&mut self) -> u32 {
        self.notifications = self.notifications.wrapping_add(1);
        NOTIFICATION | self.notifications
    }
}
