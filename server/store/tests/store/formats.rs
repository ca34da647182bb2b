//! Stores that older programs wrote [LOG-14], and what a store says of itself [LOG-16].

use std::io::Read;
use std::path::Path;

use bytes::Bytes;
use interweave_store::{
    backup, restore, verify, EmbeddedStore, Identity, Options, RecoveredSegment, SegmentStore,
    Wanted,
};
use interweave_wire::chain;
use interweave_wire::protocol::Durability::{Synced, Written};
use interweave_wire::protocol::LogBody;
use interweave_wire::session_hash::session_hash;

use crate::model::{append_now, close, create, diff, open, release, scratch, small};
use crate::records::{copy_dir, files, logs};

/// The formats, and the session of the releases in the log of each sample.
const SAMPLES: [(u32, u128); 2] = [
    (1, 0xc938_573b_8754_eee1_ed64_6c4d_ea60_9d5e),
    (2, 0xe7a1_fcb1_f7fa_6705_c7dd_de17_8c25_78a9),
];

fn sample(format: u32) -> std::path::PathBuf {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    samples.join(format!("format-{format}"))
}

/// As the store of a server that was killed.
fn copy_of(format: u32) -> tempfile::TempDir {
    let dir = scratch();
    copy_dir(&sample(format), dir.path());
    std::fs::remove_file(dir.path().join("BACKUP")).unwrap();
    dir
}

fn contains(path: &Path, bytes: &[u8]) -> bool {
    let all = std::fs::read(path).unwrap();
    all.windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn log_14_a_store_of_an_older_format_is_read_and_continued_in_format_3() {
    for (format, session) in SAMPLES {
        continues(format, session.to_be_bytes());
    }
}

fn continues(format: u32, session: [u8; 16]) {
    let dir = copy_of(format);
    let old = logs(dir.path());
    assert!(contains(&old[0], &session), "the sample has ids");

    let (store, segments) = open(dir.path());
    let mut found: Vec<_> = segments
        .iter()
        .map(|s| {
            assert_eq!(s.damage, None);
            let saved = s.checkpoint.as_ref().map(|(head, _)| head.at.number);
            let logged: Vec<u64> = s.releases.iter().map(|(r, _)| r.version).collect();
            (s.path.as_str(), saved, logged)
        })
        .collect();
    found.sort();
    let expected = [
        ("/memory", Some(1), vec![]),
        ("/synced", Some(3), vec![4, 5]),
        ("/written", Some(2), vec![3]),
    ];
    assert_eq!(found, expected);
    let synced = segments.iter().find(|s| s.path == "/synced").unwrap();
    let (last, _) = synced.releases.last().unwrap();
    assert_eq!((last.session, last.sequence), (session_hash(&session), 2));
    let identity = store.identity();
    let mut next = release(synced.segment_id, 6, bytes::Bytes::new());
    next.diff = synced.releases[0].1.clone();
    append_now(&store, vec![next]).unwrap();
    drop(store);

    let newest = logs(dir.path()).pop().unwrap();
    assert_ne!(newest, old[0]);
    assert!(std::fs::read(&newest).unwrap().starts_with(b"IWL3"));
    let (store, segments) = open(dir.path());
    assert_eq!(store.identity(), identity);
    let again = segments.iter().find(|s| s.path == "/synced").unwrap();
    assert_eq!(again.damage, None);
    assert_eq!(again.releases.len(), 3);
    close(store);
}

#[test]
fn log_14_a_backup_of_an_older_format_is_verified_and_restored() {
    for (format, _) in SAMPLES {
        let report = verify(&sample(format)).unwrap();
        assert_eq!((report.segments, report.damage), (3, Vec::new()));
        let to = scratch();
        let report = restore(&sample(format), to.path(), &mut |_, _| {}).unwrap();
        assert_eq!((report.segments, report.damage), (3, Vec::new()));
        let (store, segments) = open(to.path());
        assert_eq!(segments.len(), 3);
        close(store);
    }
}

/// Each release has the chain that its diff makes, also where format 1 did not say it.
fn assert_chains_hold(segments: &[RecoveredSegment]) {
    for segment in segments.iter().filter(|s| s.damage.is_none()) {
        let head = segment.checkpoint.as_ref().map(|(head, _)| head);
        let mut newest = head.map_or(0, |head| head.at.chain);
        for (release, diff) in &segment.releases {
            newest = chain::next(newest, diff);
            assert_eq!(
                release.chain, newest,
                "{} {}",
                segment.path, release.version
            );
        }
    }
}

#[test]
fn log_14_the_chains_that_an_older_format_does_not_say_are_made_of_its_diffs() {
    for (format, _) in SAMPLES {
        let (segments, _) = found(copy_of(format).path());
        assert_chains_hold(&segments);
    }
}

/// A file of format 4 is one of format 3 but for its digit.
#[test]
fn log_14_a_store_with_a_file_of_format_4_is_read_and_continued_in_format_3() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Written)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 10))]).unwrap();
    drop(store);
    let newest = logs(dir.path()).pop().unwrap();
    let mut bytes = std::fs::read(&newest).unwrap();
    bytes[3] = b'4';
    let crc = crc32c::crc32c(&bytes[..24]);
    bytes[24..28].copy_from_slice(&crc.to_be_bytes());
    std::fs::write(&newest, bytes).unwrap();
    let (store, segments) = open(dir.path());
    assert_eq!(segments[0].damage, None);
    assert_eq!(segments[0].releases.len(), 1);
    append_now(&store, vec![release(1, 2, diff(1, 2, 10))]).unwrap();
    drop(store);
    let digits: Vec<u8> = logs(dir.path()).iter().map(|path| digit(path)).collect();
    assert_eq!(digits, *b"43");
}

/// A diff of more than 2^30 bytes, which format 3 has no room for.
#[test]
#[ignore = "3 GiB of memory: make test-long"]
fn log_14_a_large_release_makes_a_file_of_format_4_and_the_next_file_is_of_format_3() {
    const LARGE_BYTES: usize = (1 << 30) + 4096;
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Written)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 10))]).unwrap();
    let large = Bytes::from(vec![0; LARGE_BYTES]);
    append_now(&store, vec![release(1, 2, large)]).unwrap();
    append_now(&store, vec![release(1, 3, diff(1, 3, 10))]).unwrap();
    drop(store);

    let digits: Vec<u8> = logs(dir.path()).iter().map(|path| digit(path)).collect();
    assert_eq!(digits, *b"343");
    let (store, segments) = open(dir.path());
    assert_eq!(segments[0].damage, None);
    let lengths: Vec<usize> = segments[0].releases.iter().map(|(_, d)| d.len()).collect();
    assert_eq!(lengths, [10, LARGE_BYTES, 10]);
    close(store);
}

fn digit(log: &Path) -> u8 {
    let mut core = [0; 4];
    std::fs::File::open(log)
        .unwrap()
        .read_exact(&mut core)
        .unwrap();
    core[3]
}

/// Format 3, in which the backup is, has no word for a chain that is not known [LOG-10].
#[test]
fn log_14_what_is_whole_of_a_damaged_store_of_an_older_format_has_chains_in_its_backup() {
    for (format, _) in SAMPLES {
        let (dir, copy, again) = (copy_of(format), scratch(), scratch());
        let checkpoints = files(dir.path(), "-1.iwk");
        let mut bytes = std::fs::read(&checkpoints[0]).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&checkpoints[0], bytes).unwrap();
        let report = backup(
            dir.path(),
            copy.path(),
            Wanted::WholeSegments,
            &mut |_, _| {},
        );
        let left_out = report.unwrap().left_out;
        assert_eq!(left_out.len(), 1, "/memory, whose checkpoint had its path");
        restore(copy.path(), again.path(), &mut |_, _| {}).unwrap();
        let (segments, _) = found(again.path());
        let logged: usize = segments.iter().map(|s| s.releases.len()).sum();
        assert_eq!((segments.len(), logged), (2, 3));
        assert_chains_hold(&segments);
    }
}

/// What is in the store, and what is known to be lost.
fn found(dir: &Path) -> (Vec<RecoveredSegment>, bool) {
    let (store, mut segments) = open(dir);
    let status = store.status();
    let is_lost = !status.damage.is_empty() || status.torn_bytes > 0;
    segments.sort_by(|a, b| a.path.cmp(&b.path));
    (segments, is_lost)
}

/// [LOG-2], also where one checksum covers a whole record.
#[test]
fn log_14_what_is_changed_in_a_log_of_an_older_format_is_never_taken_for_what_was_written() {
    for (format, _) in SAMPLES {
        let bytes = std::fs::read(&logs(&sample(format))[0]).unwrap();
        let (whole, is_lost) = found(copy_of(format).path());
        assert!(!is_lost);
        for at in (0..bytes.len()).step_by(13) {
            let dir = copy_of(format);
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            std::fs::write(&logs(dir.path())[0], bad).unwrap();
            let (segments, is_lost) = found(dir.path());
            let said = |all: &[RecoveredSegment]| {
                let releases = all.iter().map(|s| (s.path.clone(), s.releases.clone()));
                format!("{:?}", releases.collect::<Vec<_>>())
            };
            let is_same = said(&segments) == said(&whole);
            assert!(is_lost || is_same, "format {format}, byte {at}");
        }
    }
}

#[test]
fn log_16_a_store_keeps_its_ids_and_another_has_others() {
    let (dir, other) = (scratch(), scratch());
    let (store, _) = open(dir.path());
    let identity = store.identity();
    assert_ne!(identity.server, identity.space);
    append_now(&store, vec![create(1, Synced)]).unwrap();
    drop(store);
    for _ in 0..3 {
        let (store, _) = open(dir.path());
        assert_eq!(store.identity(), identity);
        close(store);
    }
    let (store, _) = open(other.path());
    assert_ne!(store.identity().server, identity.server);
    drop(store);
    let given = Identity {
        server: [1; 16],
        space: [2; 16],
    };
    let options = Options {
        identity: Some(given),
        ..small()
    };
    let (store, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    assert_eq!(store.identity(), identity, "it has ids already");
}

#[test]
fn log_16_ids_survive_the_loss_of_all_log_files_in_checkpoints() {
    use crate::model::checkpoint;
    use interweave_wire::protocol::VersionStamp;
    let dir = scratch();
    let (store, _) = open(dir.path());
    let identity = store.identity();
    append_now(&store, vec![create(1, Synced)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 10))]).unwrap();
    let at = VersionStamp {
        incarnation: 1,
        number: 1,
        chain: 0,
    };
    let saved = checkpoint(&store, 1, at, diff(1, 1, 10));
    saved.recv().unwrap().unwrap();
    drop(store);
    for path in logs(dir.path())
        .into_iter()
        .chain(files(dir.path(), ".iww"))
    {
        std::fs::remove_file(path).unwrap();
    }
    let (store, _) = open(dir.path());
    assert_eq!(store.identity(), identity);
}

/// In the first two formats it stands for a chain that is not known.
#[test]
fn log_14_a_chain_of_0_is_a_chain_in_the_format_that_is_written() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    let mut record = release(1, 1, diff(1, 1, 100));
    if let LogBody::Release(release) = &mut record.body {
        release.chain = 0;
    }
    append_now(&store, vec![create(1, Synced), record]).unwrap();
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(segments[0].releases[0].0.chain, 0);
}
