//! Whole stores: a store with a history of the input's making, the log, catalogue and checkpoints
//! of which are then changed as the input says, is opened and compared with what was acknowledged.
//! Every segment is as it was, or known to be damaged; only what follows the newest log file's end
//! may be missing, and nobody has another content for a version, or more versions than there were.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

use bytes::Bytes;
use interweave_store::{
    verify, Checkpoint, EmbeddedStore, Options, Record, RecoveredSegment, SegmentStore, StoreError,
};
use interweave_wire::protocol::{
    CheckpointHead, Durability, LogBody, LogCreate, LogKind, LogRelease, VersionStamp,
};

use crate::scratch;

const SEGMENTS: u64 = 5;
/// Each costs a few system calls.
const MOST_STEPS: u8 = 24;
const MOST_CHANGES: usize = 4;

/// The input, byte by byte; zeros when there are no more.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    fn below(&mut self, bound: usize) -> usize {
        let number = u32::from_be_bytes([0, self.byte(), self.byte(), self.byte()]);
        number as usize % bound.max(1)
    }
}

/// Newest versions by segment, and those that were removed.
#[derive(Default)]
struct Acknowledged {
    newest: BTreeMap<u64, u64>,
    removed: Vec<u64>,
}

fn options() -> Options {
    Options {
        log_file_bytes: 4 << 10,
        trial_interval: Duration::from_millis(1),
        // what is in the files counts here, not what is on the disk
        sync: std::sync::Arc::new(|_| Ok(())),
        sync_checkpoint: std::sync::Arc::new(|_| Ok(())),
        ..Options::default()
    }
}

fn path(id: u64) -> String {
    format!("/segment/{id}")
}

fn diff(id: u64, version: u64) -> Bytes {
    let bytes = (id * 131 + version * 57) % 700;
    (0..bytes)
        .map(|at| (at * 31 + id * 7 + version) as u8)
        .collect()
}

fn now(ask: impl FnOnce(interweave_store::Done)) -> Result<(), StoreError> {
    let (sender, receiver) = channel();
    ask(Box::new(move |result| drop(sender.send(result))));
    receiver.recv().expect("an answer")
}

fn append(store: &EmbeddedStore, id: u64, bodies: Vec<(LogBody, Bytes)>) {
    let group = bodies.into_iter().map(|(body, diff)| Record {
        segment_id: id,
        body,
        diff,
        fields: Vec::new(),
    });
    let group = group.collect();
    now(|done| store.append(group, Durability::Synced, done)).expect("there is space");
}

fn create(store: &EmbeddedStore, id: u64) {
    let create = LogCreate {
        path: path(id),
        durable: Durability::Synced,
        quota_bytes: 1 << 20,
        incarnation: 1,
    };
    let serials = LogBody::Serials(1 << 20);
    let bodies = vec![
        (LogBody::Create(create), Bytes::new()),
        (serials, Bytes::new()),
    ];
    append(store, id, bodies);
}

fn release(store: &EmbeddedStore, id: u64, version: u64) {
    let release = LogRelease {
        version,
        chain: version,
        session: [7; 16],
        sequence: version,
        fence: 1 << 32,
    };
    append(
        store,
        id,
        vec![(LogBody::Release(release), diff(id, version))],
    );
}

fn save(store: &EmbeddedStore, id: u64, version: u64) {
    let head = CheckpointHead {
        magic: [0; 4],
        segment_id: id,
        path: path(id),
        durable: Durability::Synced,
        quota_bytes: 1 << 20,
        at: VersionStamp {
            incarnation: 1,
            number: version,
            chain: version,
        },
        next_serial: 1,
        fence: 1 << 32,
        parent: 0,
        releases: Vec::new(),
        fields: Vec::new(),
        diff_bytes: 0,
    };
    let diff = diff(id, version);
    now(|done| store.checkpoint(Checkpoint { head, diff }, done)).expect("there is space");
}

/// Makes the store, stopped or killed.
fn make(dir: &Path, input: &mut Input) -> Acknowledged {
    let (store, _) = EmbeddedStore::open(dir, options()).expect("a new store");
    let mut known = Acknowledged::default();
    for _ in 0..1 + input.byte() % MOST_STEPS {
        let step = input.byte();
        let id = 1 + u64::from(step >> 2) % SEGMENTS;
        if known.removed.contains(&id) {
            continue;
        }
        match (known.newest.get_mut(&id), step & 3) {
            (None, _) => {
                create(&store, id);
                known.newest.insert(id, 0);
            }
            (Some(version), 2) => save(&store, id, *version),
            (Some(_), 3) if step > 0xc0 => {
                let remove = LogBody::Other(LogKind::Remove as i32);
                append(&store, id, vec![(remove, Bytes::new())]);
                known.newest.remove(&id);
                known.removed.push(id);
            }
            (Some(version), _) => {
                *version += 1;
                release(&store, id, *version);
            }
        }
    }
    match input.byte() & 1 {
        0 => drop(store),
        _ => Box::new(store).close(true).expect("a clean stop"),
    }
    known
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).expect("a directory");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    files
}

fn is_log(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "iwl")
}

/// What may be wrong afterwards beside damage that is told.
#[derive(Default)]
struct Changed {
    /// The newest log file: its end may look torn.
    tail: bool,
    /// The catalogue and something else: whole segments may be gone.
    several: bool,
}

fn change(dir: &Path, input: &mut Input) -> Changed {
    let mut touched: Vec<PathBuf> = Vec::new();
    let mut changed = Changed::default();
    for _ in 0..1 + input.byte() as usize % MOST_CHANGES {
        let all = files(dir);
        let path = &all[input.below(all.len())];
        let newest = all.iter().rfind(|path| is_log(path));
        changed.tail |= newest == Some(path) && is_log(path);
        if !touched.contains(path) {
            touched.push(path.clone());
        }
        let mut bytes = fs::read(path).expect("a file");
        let at = input.below(bytes.len());
        match input.byte() % 6 {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << (input.byte() & 7),
            1 => bytes.truncate(at),
            2 => {
                let end = (at + 64).min(bytes.len());
                bytes[at..end].fill(input.byte());
            }
            3 => bytes.extend_from_slice(&[input.byte(); 40]),
            4 => {
                let from = input.below(at);
                let count = (bytes.len() - at).min(64);
                bytes.copy_within(from..from + count, at);
            }
            _ => {
                fs::remove_file(path).expect("a file");
                continue;
            }
        }
        fs::write(path, bytes).expect("a file");
    }
    changed.several = touched.len() > 1;
    changed
}

/// The newest version, if all that there is of the segment is what it was.
fn newest(segment: &RecoveredSegment) -> u64 {
    let id = segment.segment_id;
    let saved = segment.checkpoint.as_ref();
    let mut version = saved.map_or(0, |(head, _)| head.at.number);
    if let Some((_, found)) = saved {
        assert_eq!(*found, diff(id, version), "another content");
    }
    for (release, found) in &segment.releases {
        version += 1;
        assert_eq!(release.version, version, "a gap");
        assert_eq!(*found, diff(id, version), "another content");
    }
    version
}

fn check(segments: &[RecoveredSegment], known: &Acknowledged, changed: &Changed) {
    for segment in segments {
        let id = segment.segment_id;
        let expected = known.newest.get(&id);
        if segment.damage.is_some() {
            continue;
        }
        assert_eq!(segment.path, path(id), "another path");
        match expected {
            Some(&expected) => {
                let found = newest(segment);
                assert!(found <= expected, "a version that there never was");
                // the end of what is now the newest file may look torn as well
                let lost = found < expected;
                assert!(!lost || changed.tail || changed.several, "lost");
            }
            // its removal was in what is now torn or damaged
            None => assert!(changed.tail || changed.several, "it was removed"),
        }
    }
    for id in known.newest.keys() {
        let found = segments.iter().any(|segment| segment.segment_id == *id);
        assert!(found || changed.several, "segment {id} is missing");
    }
}

pub fn run(data: &[u8]) {
    let dir = scratch::directory().join("store");
    // left by the input before, should it have failed
    let _ = fs::remove_dir_all(&dir);
    let mut input = Input(data);
    let known = make(&dir, &mut input);
    let changed = change(&dir, &mut input);
    // it changes nothing, and finds what the start finds
    let report = verify(&dir);
    for _ in 0..2 {
        let (store, segments) = match EmbeddedStore::open(&dir, options()) {
            Ok(opened) => opened,
            Err(error) => panic!("it does not open: {error}; {report:?}"),
        };
        check(&segments, &known, &changed);
        drop(store);
    }
    let _ = fs::remove_dir_all(&dir);
}
