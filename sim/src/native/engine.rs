//! The client's engine in C++, as native/sim/face.h gives it.

use interweave_wire::protocol::{CoherenceModel, Durability, ErrorCode, VersionStamp};
use std::ffi::{c_char, c_int, CString};
use std::ptr;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct RawVersion {
    incarnation: u64,
    number: u64,
    chain: u64,
}

impl From<RawVersion> for VersionStamp {
    fn from(raw: RawVersion) -> VersionStamp {
        VersionStamp {
            incarnation: raw.incarnation,
            number: raw.number,
            chain: raw.chain,
        }
    }
}

#[repr(C)]
struct RawAction {
    kind: u32,
    segment: u32,
    model: u32,
    fresh: u32,
    x: f64,
    deadline_ns: i64,
    diff: *const u8,
    diff_bytes: usize,
}

#[repr(C)]
struct RawEvent {
    kind: u32,
    segment: u32,
    action: u32,
    code: i32,
    outcome: u32,
    is_asked: u32,
    is_promised: u32,
    is_resumed: u32,
    version: RawVersion,
    fence: u64,
    first_serial: u64,
    serials: u64,
    bytes: *const u8,
    size: usize,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct RawKnowledge {
    hears_of_all: u32,
    owes_lock: u32,
    newest: RawVersion,
}

#[repr(C)]
struct RawClient {
    _private: [u8; 0],
}

extern "C" {
    fn iw_sim_new(paths: *const *const c_char, durable: *const u32, count: usize)
        -> *mut RawClient;
    fn iw_sim_free(client: *mut RawClient);
    fn iw_sim_connected(client: *mut RawClient, now_ns: i64);
    fn iw_sim_disconnected(client: *mut RawClient, now_ns: i64);
    fn iw_sim_received(client: *mut RawClient, now_ns: i64, bytes: *const u8, size: usize);
    fn iw_sim_tick(client: *mut RawClient, now_ns: i64);
    fn iw_sim_due_ns(client: *const RawClient) -> i64;
    fn iw_sim_begin(client: *mut RawClient, now_ns: i64, action: *const RawAction) -> c_int;
    fn iw_sim_give_up(client: *mut RawClient, now_ns: i64);
    fn iw_sim_lack_memory(client: *mut RawClient, messages: u32);
    fn iw_sim_fail_apply(client: *mut RawClient, damages: c_int);
    fn iw_sim_next(client: *mut RawClient, out: *mut RawEvent) -> c_int;
    fn iw_sim_know(client: *const RawClient, segment: u32, out: *mut RawKnowledge);
    fn iw_sim_hash(client: *const RawClient) -> u64;
}

/// An action of the program, about a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    Read = 1,
    EndRead,
    Write,
    Release,
    Abort,
    Serials,
    Listen,
    Ignore,
    Close,
}

const KINDS: [Kind; 9] = [
    Kind::Read,
    Kind::EndRead,
    Kind::Write,
    Kind::Release,
    Kind::Abort,
    Kind::Serials,
    Kind::Listen,
    Kind::Ignore,
    Kind::Close,
];

#[derive(Debug, Clone)]
pub struct Action<'a> {
    pub kind: Kind,
    pub segment: usize,
    pub wish: (CoherenceModel, u64, bool),
    pub deadline_ns: u64,
    pub diff: &'a [u8],
}

/// The fate of a release's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    Unsaid,
    Held,
    RolledBack,
    Unknown,
    Unsent,
}

const OUTCOMES: [Outcome; 6] = [
    Outcome::Committed,
    Outcome::Unsaid,
    Outcome::Held,
    Outcome::RolledBack,
    Outcome::Unknown,
    Outcome::Unsent,
];

/// The end of an action.
#[derive(Debug, Clone)]
pub struct Done {
    pub kind: Kind,
    pub segment: usize,
    /// None: it succeeded.
    pub error: Option<ErrorCode>,
    pub outcome: Option<Outcome>,
    pub is_asked: bool,
    pub is_promised: bool,
    pub is_resumed: bool,
    pub version: VersionStamp,
    pub fence: u64,
    pub serials: (u64, u64),
}

#[derive(Debug)]
pub enum Said {
    Send(Vec<u8>),
    Connect,
    HangUp,
    Apply {
        segment: usize,
        diff: Vec<u8>,
        version: VersionStamp,
    },
    Changed {
        segment: usize,
    },
    Done(Done),
}

/// The engine's knowledge of a segment.
#[derive(Debug, Clone)]
pub struct Knowledge {
    pub hears_of_all: bool,
    pub owes_lock: bool,
    pub newest: VersionStamp,
}

pub struct Engine(*mut RawClient);

impl Engine {
    pub fn new(durable: &[Durability], paths: &[String]) -> Engine {
        let paths: Vec<CString> = paths
            .iter()
            .map(|path| CString::new(path.as_str()).expect("a path without zeros"))
            .collect();
        let names: Vec<*const c_char> = paths.iter().map(|path| path.as_ptr()).collect();
        let durable: Vec<u32> = durable.iter().map(|one| *one as u32).collect();
        // SAFETY: both arrays have that length, and are only read by the call.
        let client = unsafe { iw_sim_new(names.as_ptr(), durable.as_ptr(), names.len()) };
        assert!(!client.is_null(), "no memory");
        Engine(client)
    }

    pub fn connected(&mut self, now_ns: u64) {
        // SAFETY: the client lives as long as this object, which one thread has; so below.
        unsafe { iw_sim_connected(self.0, now_ns as i64) }
    }

    pub fn disconnected(&mut self, now_ns: u64) {
        // SAFETY: as above.
        unsafe { iw_sim_disconnected(self.0, now_ns as i64) }
    }

    pub fn received(&mut self, now_ns: u64, bytes: &[u8]) {
        // SAFETY: as above; the bytes are only read by the call.
        unsafe { iw_sim_received(self.0, now_ns as i64, bytes.as_ptr(), bytes.len()) }
    }

    pub fn tick(&mut self, now_ns: u64) {
        // SAFETY: as above.
        unsafe { iw_sim_tick(self.0, now_ns as i64) }
    }

    /// When it must be ticked; None: never.
    pub fn due_ns(&self) -> Option<u64> {
        // SAFETY: as above.
        let due_ns = unsafe { iw_sim_due_ns(self.0) };
        (due_ns != i64::MAX).then(|| due_ns.max(0) as u64)
    }

    /// False: an action is not done yet.
    pub fn begin(&mut self, now_ns: u64, action: &Action) -> bool {
        let (model, x, fresh) = action.wish;
        let raw = RawAction {
            kind: action.kind as u32,
            segment: action.segment as u32,
            model: model as u32,
            fresh: fresh.into(),
            x: x as f64,
            deadline_ns: i64::try_from(action.deadline_ns).unwrap_or(i64::MAX),
            diff: match action.diff.is_empty() {
                true => ptr::null(),
                false => action.diff.as_ptr(),
            },
            diff_bytes: action.diff.len(),
        };
        // SAFETY: as above; the action and its diff are only read by the call.
        unsafe { iw_sim_begin(self.0, now_ns as i64, &raw) != 0 }
    }

    pub fn give_up(&mut self, now_ns: u64) {
        // SAFETY: as above.
        unsafe { iw_sim_give_up(self.0, now_ns as i64) }
    }

    pub fn lack_memory(&mut self, messages: u32) {
        // SAFETY: as above.
        unsafe { iw_sim_lack_memory(self.0, messages) }
    }

    pub fn fail_apply(&mut self, damages: bool) {
        // SAFETY: as above.
        unsafe { iw_sim_fail_apply(self.0, damages.into()) }
    }

    pub fn next(&mut self) -> Option<Said> {
        let mut raw = std::mem::MaybeUninit::<RawEvent>::uninit();
        // SAFETY: as above; the event is filled if the call says so, and its bytes are good until
        // the next call.
        let (raw, bytes) = unsafe {
            if iw_sim_next(self.0, raw.as_mut_ptr()) == 0 {
                return None;
            }
            let raw = raw.assume_init();
            let bytes = match raw.size {
                0 => Vec::new(),
                size => std::slice::from_raw_parts(raw.bytes, size).to_vec(),
            };
            (raw, bytes)
        };
        let segment = raw.segment as usize;
        Some(match raw.kind {
            1 => Said::Send(bytes),
            2 => Said::Connect,
            3 => Said::HangUp,
            4 => Said::Apply {
                segment,
                diff: bytes,
                version: raw.version.into(),
            },
            5 => Said::Changed { segment },
            6 => Said::Done(done(&raw)),
            kind => panic!("the engine says an event of kind {kind}"),
        })
    }

    pub fn knowledge(&self, segment: usize) -> Knowledge {
        let mut raw = RawKnowledge::default();
        // SAFETY: as above.
        unsafe { iw_sim_know(self.0, segment as u32, &mut raw) }
        Knowledge {
            hears_of_all: raw.hears_of_all != 0,
            owes_lock: raw.owes_lock != 0,
            newest: raw.newest.into(),
        }
    }

    pub fn hash(&self) -> u64 {
        // SAFETY: as above.
        unsafe { iw_sim_hash(self.0) }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // SAFETY: nobody has the client any more.
        unsafe { iw_sim_free(self.0) }
    }
}

fn done(raw: &RawEvent) -> Done {
    let error = match raw.code {
        0 => None,
        code => Some(ErrorCode::try_from(code).expect("a code of the protocol")),
    };
    Done {
        kind: KINDS[raw.action as usize - 1],
        segment: raw.segment as usize,
        error,
        outcome: (raw.outcome != 0).then(|| OUTCOMES[raw.outcome as usize - 1]),
        is_asked: raw.is_asked != 0,
        is_promised: raw.is_promised != 0,
        is_resumed: raw.is_resumed != 0,
        version: raw.version.into(),
        fence: raw.fence,
        serials: (raw.first_serial, raw.serials),
    }
}
