//! What one client of the engine knows, and what it asks for, as the input says.

use super::Script;
use bytes::Bytes;
use interweave_server::session::Request;
use interweave_wire::protocol::*;
use interweave_wire::DiffBuilder;
use std::collections::{BTreeMap, HashMap};

const PATHS: [&str; 3] = ["/a", "/a/b", "/c"];
const DURABLE: [Durability; 3] = [Durability::Memory, Durability::Synced, Durability::Written];
const MODELS: [CoherenceModel; 5] = [
    CoherenceModel::Full,
    CoherenceModel::Delta,
    CoherenceModel::Strict,
    CoherenceModel::Temporal,
    CoherenceModel::Diff,
];
/// More than a chunk, so that its bytes count while they come in.
static LARGE: [u8; 300 << 10] = [0; 300 << 10];

/// The parts of a request that its answer must match.
#[derive(Debug, Default)]
pub struct About {
    pub is_answered: bool,
    pub segment: u32,
    /// Of an OPEN_SEGMENT.
    pub path: String,
    pub sequence: u64,
    /// Of a release: whether each part changes something.
    pub changes: Vec<bool>,
}

impl About {
    fn of(request: &Request) -> About {
        let mut about = About {
            // These are answered only if they are refused.
            is_answered: !matches!(
                request,
                Request::Cancel(_) | Request::Credit(_) | Request::Goodbye
            ),
            ..About::default()
        };
        match request {
            Request::AcquireWriter(r) => about.segment = r.segment,
            Request::AcquireReader(r) => about.segment = r.segment,
            Request::OpenSegment(r) => about.path.clone_from(&r.path),
            Request::ReleaseWriter(r) => {
                about.sequence = r.sequence;
                about.changes = r.parts.iter().map(|part| part.diff_bytes > 0).collect();
            }
            _ => {}
        }
        about
    }
}

/// A request whose bulk is not there whole.
pub struct Arriving {
    pub request: Request,
    pub bulk: Bytes,
    pub admitted: bool,
}

#[derive(Default)]
pub struct Client {
    /// 0: none.
    pub connection: u64,
    pub session: SessionId,
    pub segments: Vec<u32>,
    pub granted: BTreeMap<u32, WriterAcquired>,
    /// The newest version of a segment that the client was told.
    pub told: HashMap<u32, VersionStamp>,
    /// Its requests that are not answered, and what they ask about.
    pub asked: HashMap<u32, About>,
    pub arriving: Option<Arriving>,
    pub released: Option<(Request, Bytes)>,
    pub sequence: u64,
    /// By sequence: the first request that used it.
    pub first: HashMap<u64, Request>,
}

impl Client {
    /// What the answer must match. A release under the number of another is answered as that one
    /// was, whatever it changes.
    pub fn about(&mut self, request: &Request) -> About {
        let mut about = About::of(request);
        if let Request::ReleaseWriter(r) = request {
            let first = self.first.entry(r.sequence);
            if first.or_insert_with(|| request.clone()) != request {
                about.changes.clear();
            }
        }
        about
    }

    fn segment(&self, which: u8) -> u32 {
        match self.segments.is_empty() {
            true => u32::from(which),
            false => self.segments[usize::from(which) % self.segments.len()],
        }
    }

    /// A version: mostly one that the client was told.
    fn have(&self, segment: u32, script: &mut Script<'_>) -> VersionStamp {
        let how = script.byte();
        match self.told.get(&segment).filter(|_| !how.is_multiple_of(4)) {
            Some(told) => VersionStamp {
                number: told.number.saturating_sub(u64::from(how / 64)),
                ..told.clone()
            },
            None => VersionStamp {
                incarnation: u64::from(how / 4),
                number: u64::from(script.byte() % 4),
                chain: u64::from(script.byte() % 2),
            },
        }
    }

    /// A request that may lead somewhere. `last_stream`: of all clients.
    pub fn request(&self, script: &mut Script<'_>, last_stream: u32) -> Request {
        let (kind, which) = (script.byte(), script.byte());
        let segment = self.segment(which);
        let path = PATHS[usize::from(which) % PATHS.len()].to_string();
        match kind % 20 {
            0..=2 => Request::OpenSegment(OpenSegment {
                path,
                create: which < 240,
                read_only: which % 8 == 7,
                durable: DURABLE[usize::from(which) % 4 % 3],
                quota_bytes: 0,
                fields: Vec::new(),
            }),
            3..=5 => Request::AcquireWriter(AcquireWriter {
                segment,
                have: self.have(segment, script),
                deadline_ms: u32::from(script.byte()) * 10,
            }),
            6 => Request::AcquireReader(AcquireReader {
                segment,
                have: self.have(segment, script),
                model: MODELS[usize::from(which) % 5],
                x: f64::from(script.byte()) / 7.0,
                fresh: which.is_multiple_of(2),
                deadline_ms: u32::from(script.byte()) * 10,
            }),
            7 => Request::Subscribe(Subscribe {
                segment,
                have: self.have(segment, script),
                model: MODELS[usize::from(which) % 5],
                x: f64::from(script.byte()) / 7.0,
                push: which.is_multiple_of(2),
                push_bytes: u64::from(script.byte()) * 4,
            }),
            8 if which >= 248 => Request::ListMembers(ListMembers {
                after: u64::from(which - 248),
            }),
            8 if which >= 240 => Request::ListPlaces(ListPlaces {
                prefix: "/".to_string(),
                after: path,
            }),
            8 => Request::ListSegments(ListSegments {
                prefix: "/".to_string(),
                after: path,
            }),
            9 => Request::RemoveSegment(RemoveSegment { path }),
            10 => Request::Cancel(Cancel {
                stream: last_stream.saturating_sub(which.into()),
            }),
            11 => Request::DescribeBlocks(DescribeBlocks {
                segment,
                after_serial: u64::from(which % 4),
                serials: (0..u64::from(which % 8)).collect(),
                names: Vec::new(),
            }),
            other => self.of_segment(other, segment, which),
        }
    }

    fn of_segment(&self, kind: u8, segment: u32, which: u8) -> Request {
        let grant = self.granted.get(&segment);
        let fence = grant.map_or(u64::from(which), |grant| grant.fence);
        match kind {
            12 => Request::CloseSegment(CloseSegment { segment }),
            13 => Request::RenewWriter(RenewWriter { segment, fence }),
            14 => Request::AbortWriter(AbortWriter { segment, fence }),
            15 => Request::MoreSerials(MoreSerials {
                segment,
                fence,
                count: 1 << (which % 21),
            }),
            16 => Request::ReleaseReader(ReleaseReader { segment }),
            17 => Request::Unsubscribe(Unsubscribe { segment }),
            18 => Request::Credit(Credit {
                segment,
                bytes: u64::from(which) << (which % 64),
            }),
            _ if which == 255 => Request::Goodbye,
            _ => Request::Ping,
        }
    }

    /// What became of a release, mostly of the last one.
    pub fn resolve(&self, session: SessionId, script: &mut Script<'_>) -> Request {
        let which = script.byte();
        Request::ResolveRelease(ResolveRelease {
            segment: self.segment(which),
            session,
            sequence: self.sequence.saturating_sub(u64::from(which / 64)) + u64::from(which / 250),
        })
    }

    /// A release of locks that the client has: of the first one, or of all.
    pub fn release(&mut self, script: &mut Script<'_>) -> Option<(Request, Bytes)> {
        let how = script.byte();
        let most = if how & 0x40 == 0 { 1 } else { 4 };
        let mut parts = Vec::new();
        let mut bulk = Vec::new();
        for (segment, grant) in self.granted.iter().take(most) {
            let diff = diff(how, grant, script);
            parts.push(ReleasePart {
                segment: *segment,
                fence: grant.fence,
                base: grant.now.clone(),
                diff_bytes: diff.len() as u64,
            });
            bulk.extend_from_slice(&diff);
        }
        if parts.is_empty() {
            return None;
        }
        // The same number again now and then, for something else.
        self.sequence += u64::from(how % 16 != 15);
        let release = ReleaseWriter {
            sequence: self.sequence,
            parts,
        };
        let released = (Request::ReleaseWriter(release), bulk.into());
        self.released = Some(released.clone());
        Some(released)
    }
}

/// A diff from the granted version to the next: mostly a new int, or another value of one.
fn diff(how: u8, grant: &WriterAcquired, script: &mut Script<'_>) -> Bytes {
    let base = grant.now.number;
    let mut diff = DiffBuilder::new(base, base + 1);
    let value = [how; 4];
    match how % 16 {
        0 => return Bytes::new(),
        1 => return Bytes::copy_from_slice(script.bytes()),
        2 if how >= 0x80 => return Bytes::from_static(&LARGE),
        3..=5 => diff.set(earlier(grant, script), 1, &value),
        6 => diff.free(earlier(grant, script)),
        _ => {
            let count = u64::from(how % 4) * 8 + 1;
            diff.add_block(grant.first_serial, Primitive::Int as u32, count, "");
            diff.set(grant.first_serial, 1, &value);
        }
    }
    diff.finish()
}

/// The first serial of a grant, which an earlier release may have used.
fn earlier(grant: &WriterAcquired, script: &mut Script<'_>) -> u64 {
    1 + u64::from(script.byte() % 4) * u64::from(grant.serial_count)
}
