//! The state of one connection. It is bounded: a version, a subscription and a flag for each open
//! segment, and a few words for each unanswered request.

use super::super::access::Rights;
use super::super::message::Backlog;
use super::super::number_map::NumberMap;
use super::lending::Lent;
use crate::coherence::{Known, Newest, Watch, NO_COPY};
use interweave_access::{Login, Peer};
use interweave_store::Elsewhere;
use interweave_wire::protocol::SessionId;
use interweave_wire::Rejection;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};

/// Notifications of the server have the top bit set in their stream number.
pub const NOTIFICATION: u32 = 1 << 31;
/// The most requests of one connection that may wait for locks or the store.
pub const MAX_UNANSWERED: usize = 1024;
/// The most lists of one connection that may be under way.
pub const MAX_LISTS: usize = 16;
/// The most segments that one connection may have open.
pub const MAX_OPEN_SEGMENTS: usize = 131_072;

/// The connection, session and stream of a request.
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
    /// What the session may do with it.
    pub rights: Rights,
    pub known: Known,
    pub watch: Option<Watch>,
    /// The newest version, if a notification of it is due that the connection could not take.
    pub behind: Option<Newest>,
}

impl OpenSegmentState {
    pub fn new(read_only: bool) -> Self {
        OpenSegmentState {
            read_only,
            rights: Rights::default(),
            known: Known::at(NO_COPY),
            watch: None,
            behind: None,
        }
    }
}

/// A segment that another server has now: its path, and where it is.
#[derive(Debug, Clone)]
pub struct Moved(pub Arc<str>, pub Elsewhere);

/// A request that is not answered yet.
#[derive(Debug, Clone, Copy)]
pub enum Unanswered {
    /// Waits for a lock of the segment.
    Lock { segment: u32 },
    /// Waits for the store.
    Store,
    /// Waits until the tokens file and the rules file are read.
    Files,
    /// Waits until enough segments are looked at.
    List,
}

/// The answer to a hello with a token that is not valid, and when it is due.
#[derive(Debug)]
pub struct FailedLogin {
    pub stream: u32,
    pub due_ns: u64,
    pub rejection: Rejection,
}

#[derive(Debug)]
pub struct Connection {
    /// What the server knows of the peer without a hello.
    pub peer: Peer,
    /// A login that failed, and is answered later [ACC-8].
    pub failed: Option<FailedLogin>,
    /// None until hello.
    pub session: Option<u64>,
    /// Of a client whose connection is passed on to another server: it has no session here
    /// [SPACE-50].
    pub relayed: Option<Box<Login>>,
    /// The protocol version that both speak. 0 until hello.
    pub version: u32,
    /// The account of the session's identity. None until hello.
    pub account: Option<u32>,
    /// Random bytes: a new session gets them as its id. Hello takes them out, because the server
    /// keeps no session's id [SES-6]; None from then on.
    pub unused_id: Option<SessionId>,
    /// Its client answers RECALL_WRITER [LOCK-13].
    pub keeps_grants: bool,
    /// Its client follows SEGMENT_MOVED [SPACE-23].
    pub follows_moves: bool,
    pub open: NumberMap<u32, OpenSegmentState>,
    /// Those of them that it watches, in order, so that the sweep can go through them in slices.
    pub watched: BTreeSet<u32>,
    /// The paths of segments that were removed while it had them open, until it closes them.
    pub gone: BTreeMap<u32, Arc<str>>,
    /// The segments that moved while it had them open, until it closes them.
    pub moved: BTreeMap<u32, Moved>,
    pub unanswered: HashMap<u32, Unanswered>,
    pub connected_ns: u64,
    pub heard_ns: u64,
    pub sent_ns: u64,
    /// The bytes that wait to be sent, as far as is known.
    pub backlog: Backlog,
    /// When the peer last took some of them, or nothing waited.
    pub took_ns: u64,
    /// The large diffs that the connection is being sent.
    pub lent: Vec<Weak<Lent>>,
    /// The segments with `behind` set.
    pub behind: Vec<u32>,
    notifications: u32,
}

impl Connection {
    pub fn new(unused_id: SessionId, peer: Peer, now_ns: u64) -> Self {
        Connection {
            peer,
            failed: None,
            session: None,
            relayed: None,
            version: 0,
            account: None,
            unused_id: Some(unused_id),
            keeps_grants: false,
            follows_moves: false,
            open: NumberMap::default(),
            watched: BTreeSet::new(),
            gone: BTreeMap::new(),
            moved: BTreeMap::new(),
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

    /// Returns the stream number of the next notification.
    pub fn next_notification(&mut self) -> u32 {
        self.notifications = self.notifications.wrapping_add(1);
        NOTIFICATION | self.notifications
    }
}
