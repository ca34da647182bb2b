//! Records for cases, and what a case sees of a segment.

use bytes::Bytes;
use interweave_store::{creator_field, Record, RecoveredSegment};
use interweave_wire::protocol::{
    CheckpointHead, Durability, IdentityField, LogBody, LogCreate, LogKind, LogRelease,
    VersionStamp,
};

pub const REMOVE: LogBody = LogBody::Other(LogKind::Remove as i32);

/// splitmix64
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.draw() % bound
    }
}

/// The diff of a version. `by` tells apart what different owners make of the same version.
pub fn diff(segment_id: u64, version: u64, by: u64, bytes: usize) -> Bytes {
    let mut random = Random(segment_id << 40 | version << 8 | by);
    (0..bytes).map(|_| random.draw() as u8).collect()
}

pub fn create(segment_id: u64, durable: Durability) -> Record {
    let created = LogCreate {
        path: format!("/segment/{segment_id}"),
        durable,
        quota_bytes: 1 << 20,
        incarnation: 1,
    };
    Record {
        fields: vec![creator_field(&creator(segment_id))],
        ..other(segment_id, LogBody::Create(created))
    }
}

/// The maker of the segment.
pub fn creator(segment_id: u64) -> IdentityField {
    IdentityField {
        scheme: "token".to_string(),
        name: format!("maker of {segment_id}"),
    }
}

pub fn release(segment_id: u64, version: u64, diff: Bytes) -> Record {
    let release = LogRelease {
        version,
        chain: version,
        session: [7; 16],
        sequence: version,
        fence: 1 << 32,
    };
    Record {
        segment_id,
        body: LogBody::Release(release),
        diff,
        fields: Vec::new(),
    }
}

/// A release of a few bytes.
pub fn small(segment_id: u64, version: u64, by: u64) -> Record {
    release(segment_id, version, diff(segment_id, version, by, 40))
}

pub fn serials(segment_id: u64, below: u64) -> Record {
    other(segment_id, LogBody::Serials(below))
}

pub fn other(segment_id: u64, body: LogBody) -> Record {
    Record {
        segment_id,
        body,
        diff: Bytes::new(),
        fields: Vec::new(),
    }
}

pub fn stamp(number: u64) -> VersionStamp {
    VersionStamp {
        incarnation: 1,
        number,
        chain: number,
    }
}

pub fn head(segment_id: u64, version: u64, next_serial: u64) -> CheckpointHead {
    CheckpointHead {
        magic: [0; 4],
        segment_id,
        path: format!("/segment/{segment_id}"),
        durable: Durability::Synced,
        quota_bytes: 1 << 20,
        at: stamp(version),
        next_serial,
        fence: 1 << 32,
        parent: 0,
        releases: Vec::new(),
        fields: Vec::new(),
        diff_bytes: 0,
    }
}

/// The releases of a segment from its checkpoint on.
pub fn releases(segment: &RecoveredSegment) -> Vec<(u64, Bytes)> {
    let releases = segment.releases.iter();
    releases
        .map(|(release, diff)| (release.version, diff.clone()))
        .collect()
}
