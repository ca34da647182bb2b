//! Random histories and what a store must know of them.

use std::collections::hash_map::DefaultHasher;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

use bytes::Bytes;
use interweave_store::{
    Checkpoint, EmbeddedStore, Next, Options, Piece, Record, RecoveredSegment, SegmentStore,
    StoreError,
};
use interweave_wire::protocol::{
    CheckpointHead, Durability, LogBody, LogCreate, LogKind, LogRelease, VersionStamp,
};

pub const REMOVE: LogBody = LogBody::Other(LogKind::Remove as i32);

/// splitmix64
pub struct Random(u64);

impl Random {
    /// The seed of this run, printed so that a failure can be repeated.
    pub fn seeded(number: u64) -> Random {
        let seed = match std::env::var("STORE_SEED") {
            Ok(seed) => seed.parse().expect("STORE_SEED is a number"),
            Err(_) => number,
        };
        println!("STORE_SEED={seed}");
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// What a store must know of a segment.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    pub path: String,
    pub durable: Durability,
    pub incarnation: u64,
    pub serials_below: u64,
    /// Versions and fingerprints of the diffs.
    pub releases: Vec<(u64, u64)>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    pub segments: BTreeMap<u64, Known>,
    next_id: u64,
}

pub fn diff(segment_id: u64, version: u64, bytes: usize) -> Bytes {
    let mut random = Random(segment_id << 32 | version);
    (0..bytes).map(|_| random.next() as u8).collect()
}

/// Short enough to be printed.
pub fn fingerprint(diff: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    diff.hash(&mut hasher);
    hasher.finish()
}

pub fn create(segment_id: u64, durable: Durability) -> Record {
    Record {
        segment_id,
        body: LogBody::Create(LogCreate {
            path: format!("/segment/{segment_id}"),
            durable,
            quota_bytes: 1 << 20,
            incarnation: 1,
        }),
        diff: Bytes::new(),
        fields: Vec::new(),
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

pub fn other(segment_id: u64, body: LogBody) -> Record {
    Record {
        segment_id,
        body,
        diff: Bytes::new(),
        fields: Vec::new(),
    }
}

impl Model {
    /// Makes up the next group, and knows it.
    pub fn step(&mut self, random: &mut Random) -> (Vec<Record>, Durability) {
        let durable = match random.below(4) {
            0 => Durability::Written,
            _ => Durability::Synced,
        };
        let known: Vec<u64> = self.segments.keys().copied().collect();
        let some = |random: &mut Random| known.get(random.below(known.len() as u64 + 1) as usize);
        let group = match (random.below(20), some(random)) {
            (_, None) => vec![self.created(durable)],
            (0, Some(&id)) => vec![other(id, REMOVE)],
            (1 | 2, Some(&id)) => {
                let below = self.segments[&id].serials_below + (1 << 20);
                vec![other(id, LogBody::Serials(below))]
            }
            (3, Some(&id)) => {
                let incarnation = self.segments[&id].incarnation + 1;
                let number = self.segments[&id].releases.len() as u64;
                let stamp = VersionStamp {
                    incarnation,
                    number,
                    chain: number,
                };
                vec![other(id, LogBody::Incarnation(stamp))]
            }
            (4 | 5, Some(_)) => known
                .iter()
                .map(|&id| self.next_release(id, random))
                .collect(),
            (_, Some(&id)) => vec![self.next_release(id, random)],
        };
        self.apply(&group);
        (group, durable)
    }

    fn created(&mut self, durable: Durability) -> Record {
        self.next_id += 1;
        create(self.next_id, durable)
    }

    pub fn next_release(&self, segment_id: u64, random: &mut Random) -> Record {
        let version = self.segments[&segment_id].releases.len() as u64 + 1;
        let bytes = match random.below(8) {
            0 => 0,
            1 => 4000 + random.below(3000),
            _ => random.below(300),
        };
        release(
            segment_id,
            version,
            diff(segment_id, version, bytes as usize),
        )
    }

    pub fn apply(&mut self, group: &[Record]) {
        for record in group {
            let id = record.segment_id;
            match &record.body {
                LogBody::Create(create) => {
                    let known = Known {
                        path: create.path.clone(),
                        durable: create.durable,
                        incarnation: create.incarnation,
                        serials_below: 0,
                        releases: Vec::new(),
                    };
                    self.segments.insert(id, known);
                }
                LogBody::Release(release) => {
                    let known = self.segments.get_mut(&id).unwrap();
                    known
                        .releases
                        .push((release.version, fingerprint(&record.diff)));
                }
                LogBody::Serials(below) => {
                    self.segments.get_mut(&id).unwrap().serials_below = *below;
                }
                LogBody::Incarnation(stamp) => {
                    self.segments.get_mut(&id).unwrap().incarnation = stamp.incarnation;
                }
                LogBody::Other(_) => {
                    self.segments.remove(&id);
                }
            }
        }
    }
}

/// A segment without a checkpoint as the model would have it.
pub fn known(segment: &RecoveredSegment) -> Known {
    assert!(segment.checkpoint.is_none());
    let releases = segment.releases.iter();
    Known {
        path: segment.path.clone(),
        durable: segment.durable,
        incarnation: segment.incarnation,
        serials_below: segment.serials_below,
        releases: releases
            .map(|(r, diff)| (r.version, fingerprint(diff)))
            .collect(),
    }
}

/// All segments, none damaged.
pub fn all_known(segments: &[RecoveredSegment]) -> BTreeMap<u64, Known> {
    let sound = |segment: &RecoveredSegment| {
        assert_eq!(segment.damage, None);
        (segment.segment_id, known(segment))
    };
    segments.iter().map(sound).collect()
}

/// Versions and diffs from the checkpoint on, which must follow one another; the checkpoint's diff
/// stands for its version.
pub fn versions(segment: &RecoveredSegment) -> Vec<u64> {
    assert_eq!(segment.damage, None);
    let checkpoint = segment.checkpoint.iter().map(|(head, _)| head.at.number);
    let releases = segment.releases.iter().map(|(release, _)| release.version);
    checkpoint.chain(releases).collect()
}

/// A directory for a store whose syncs cost nothing: for tests of what is in the files.
pub fn scratch() -> tempfile::TempDir {
    match Path::new("/dev/shm").is_dir() {
        true => tempfile::tempdir_in("/dev/shm").unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// Hears how far a backup or a restore has come.
pub fn quiet(_done: u64, _total: u64) {}

/// Small files, so that histories have many.
pub fn small() -> Options {
    Options {
        log_file_bytes: 16 << 10,
        trial_interval: Duration::from_millis(20),
        ..Options::default()
    }
}

pub fn open(dir: &Path) -> (EmbeddedStore, Vec<RecoveredSegment>) {
    EmbeddedStore::open(dir, small()).unwrap()
}

pub type Answer = Receiver<Result<(), StoreError>>;

pub fn append(store: &EmbeddedStore, group: Vec<Record>, durable: Durability) -> Answer {
    let (done, answer) = channel();
    let done = move |result| done.send(result).unwrap_or(());
    store.append(group, durable, Box::new(done));
    answer
}

pub fn append_now(store: &EmbeddedStore, group: Vec<Record>) -> Result<(), StoreError> {
    append(store, group, Durability::Synced).recv().unwrap()
}

pub fn head(segment_id: u64, at: VersionStamp) -> CheckpointHead {
    CheckpointHead {
        magic: [0; 4],
        segment_id,
        path: format!("/segment/{segment_id}"),
        durable: Durability::Synced,
        quota_bytes: 1 << 20,
        at,
        next_serial: 1,
        fence: 1 << 32,
        parent: 0,
        releases: Vec::new(),
        fields: Vec::new(),
        diff_bytes: 0,
    }
}

pub fn checkpoint(store: &EmbeddedStore, segment_id: u64, at: VersionStamp, diff: Bytes) -> Answer {
    save(store, head(segment_id, at), diff)
}

pub fn save(store: &EmbeddedStore, head: CheckpointHead, diff: Bytes) -> Answer {
    let (done, answer) = channel();
    let done = move |result| done.send(result).unwrap_or(());
    store.checkpoint(Checkpoint { head, diff }, Box::new(done));
    answer
}

/// Begins a checkpoint in pieces. The first receiver hears when a piece is wanted.
pub fn begin_pieces(
    store: &EmbeddedStore,
    segment_id: u64,
    at: VersionStamp,
) -> (Receiver<()>, Answer) {
    begin_pieces_of(store, head(segment_id, at))
}

fn begin_pieces_of(store: &EmbeddedStore, head: CheckpointHead) -> (Receiver<()>, Answer) {
    let (done, answer) = channel();
    let (want, wanted) = channel();
    let done = move |result| done.send(result).unwrap_or(());
    let want = move || want.send(()).unwrap_or(());
    store.checkpoint_in_pieces(head, Box::new(want), Box::new(done));
    (wanted, answer)
}

/// Takes a checkpoint in these pieces, each when it is wanted.
pub fn checkpoint_in_pieces(
    store: &EmbeddedStore,
    segment_id: u64,
    at: VersionStamp,
    pieces: Vec<Piece>,
) -> Result<(), StoreError> {
    checkpoint_in_pieces_of(store, head(segment_id, at), pieces)
}

pub fn checkpoint_in_pieces_of(
    store: &EmbeddedStore,
    head: CheckpointHead,
    pieces: Vec<Piece>,
) -> Result<(), StoreError> {
    let segment_id = head.segment_id;
    let (wanted, answer) = begin_pieces_of(store, head);
    let count = pieces.len();
    for (i, piece) in pieces.into_iter().enumerate() {
        // no more are wanted when it has failed
        if wanted.recv().is_err() {
            break;
        }
        let next = match i + 1 == count {
            true => Next::Last(piece),
            false => Next::Piece(piece),
        };
        store.next(segment_id, next);
    }
    answer.recv().unwrap()
}

pub fn close(store: EmbeddedStore) {
    Box::new(store).close(true).unwrap();
}
