//! [LOG-18] Checkpoints in pieces: what is read is what was given, or the file is damaged.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use bytes::Bytes;
use interweave_store::{
    backup, restore, verify, EmbeddedStore, Next, Options, Piece, SegmentStore, StoreError, Wanted,
};
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::VersionStamp;

use crate::model::{
    append_now, begin_pieces, checkpoint_in_pieces, close, create, diff, open, release, scratch,
    small, versions, Random, REMOVE,
};
use crate::records::{copy_dir, files, logs};

fn at(number: u64) -> VersionStamp {
    VersionStamp {
        incarnation: 1,
        number,
        chain: number,
    }
}

/// Pieces of several sizes; the last has no ages.
fn pieces() -> Vec<Piece> {
    let piece = |version: u64, bytes, ages: &'static [u8]| Piece {
        diff: diff(1, version, bytes),
        ages: Bytes::from_static(ages),
    };
    vec![
        piece(1, 3000, &[1, 2, 3]),
        piece(2, 70, &[9]),
        piece(3, 900, &[]),
    ]
}

/// Versions 1 to 10 of segment 1, of which a checkpoint in pieces has 8: the log is cut.
fn fill(store: &EmbeddedStore) {
    append_now(store, vec![create(1, Synced)]).unwrap();
    for version in 1..=10 {
        append_now(store, vec![release(1, version, diff(1, version, 5000))]).unwrap();
    }
    checkpoint_in_pieces(store, 1, at(8), pieces()).unwrap();
}

fn saved(dir: &Path) -> Vec<u8> {
    let all = files(dir, ".iwk");
    assert_eq!(all.len(), 1, "{all:?}");
    std::fs::read(&all[0]).unwrap()
}

#[test]
fn what_is_read_is_what_was_given() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    fill(&store);
    assert!((10_000..11_000).contains(&store.log_bytes(1)));
    assert!(saved(dir.path()).starts_with(b"IWC4"));
    drop(store);
    let (store, segments) = open(dir.path());
    assert_eq!(versions(&segments[0]), [8, 9, 10]);
    assert_eq!(segments[0].pieces, pieces());
    let (head, whole) = segments[0].checkpoint.as_ref().unwrap();
    assert!(whole.is_empty());
    let bytes: usize = pieces().iter().map(|piece| piece.diff.len()).sum();
    assert_eq!((&*head.path, head.diff_bytes), ("/segment/1", bytes as u64));
    checkpoint_in_pieces(&store, 1, at(10), pieces()).unwrap();
    close(store);
    saved(dir.path());
    let (_, segments) = open(dir.path());
    assert_eq!(versions(&segments[0]), [10]);
    assert!(segments[0].clean);
}

#[test]
fn a_large_checkpoint_is_synced_after_each_mib_and_at_its_end() {
    let dir = scratch();
    let syncs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&syncs);
    let options = Options {
        sync_checkpoint: Arc::new(move |file| {
            counted.fetch_add(1, Ordering::SeqCst);
            file.sync_all()
        }),
        ..small()
    };
    let (store, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    append_now(&store, vec![create(1, Synced)]).unwrap();
    let piece = Piece {
        diff: diff(1, 0, 400 << 10),
        ages: Bytes::new(),
    };
    checkpoint_in_pieces(&store, 1, at(0), vec![piece; 8]).unwrap();
    // after the third and the sixth
    assert_eq!(syncs.load(Ordering::SeqCst), 3);
}

/// [LOG-10]
#[test]
fn a_backup_of_whole_segments_has_the_pieces() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    fill(&store);
    append_now(&store, vec![create(2, Synced)]).unwrap();
    append_now(&store, vec![release(2, 1, diff(2, 1, 5000))]).unwrap();
    drop(store);
    let log = logs(dir.path()).pop().unwrap();
    let mut bytes = std::fs::read(&log).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[end - 2500] ^= 1;
    std::fs::write(&log, bytes).unwrap();
    let copy = scratch();
    let report = backup(
        dir.path(),
        copy.path(),
        Wanted::WholeSegments,
        &mut |_, _| {},
    )
    .unwrap();
    assert_eq!(report.left_out[0].path, "/segment/2");
    let again = scratch();
    restore(copy.path(), again.path(), &mut |_, _| {}).unwrap();
    let (_, segments) = open(again.path());
    assert_eq!(versions(&segments[0]), [8, 9, 10]);
    assert_eq!(segments[0].pieces, pieces());
}

#[test]
fn one_that_is_given_up_leaves_nothing_and_is_no_error() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    let (wanted, answer) = begin_pieces(&store, 1, at(0));
    wanted.recv().unwrap();
    store.next(1, Next::Piece(pieces().remove(0)));
    wanted.recv().unwrap();
    assert_eq!(files(dir.path(), ".tmp").len(), 1);
    store.next(1, Next::Nothing);
    answer.recv().unwrap().unwrap();
    assert_eq!(files(dir.path(), ".tmp").len(), 0);
    assert_eq!(files(dir.path(), ".iwk").len(), 0);
    // nobody waits for this one
    store.next(1, Next::Last(pieces().remove(0)));

    let (wanted, answer) = begin_pieces(&store, 1, at(0));
    wanted.recv().unwrap();
    append_now(&store, vec![crate::model::other(1, REMOVE)]).unwrap();
    answer.recv().unwrap().unwrap();
    assert_eq!((store.status().checkpoints, store.status().errors), (0, 0));
    drop(wanted);
    close(store);
    assert_eq!(files(dir.path(), ".iwk").len(), 0);
}

#[test]
fn one_that_is_under_way_at_the_end_is_told_so() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    let (wanted, answer) = begin_pieces(&store, 1, at(0));
    wanted.recv().unwrap();
    store.next(1, Next::Piece(pieces().remove(0)));
    drop(store);
    assert!(matches!(answer.recv().unwrap(), Err(StoreError::Closed)));
    assert_eq!(files(dir.path(), ".iwk").len(), 0);
}

#[test]
fn it_is_synced_in_steps_and_a_sync_that_fails_ends_it() {
    let dir = scratch();
    let syncs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&syncs);
    let options = Options {
        sync_checkpoint: Arc::new(move |file| match counted.fetch_add(1, Ordering::SeqCst) {
            3 => Err(std::io::Error::other("a test")),
            _ => file.sync_all(),
        }),
        ..small()
    };
    let (store, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    append_now(&store, vec![create(1, Synced)]).unwrap();
    let large = |version| Piece {
        diff: diff(1, version, 1 << 19),
        ages: Bytes::new(),
    };
    let all: Vec<Piece> = (1..=20).map(large).collect();
    let error = checkpoint_in_pieces(&store, 1, at(0), all.clone()).unwrap_err();
    assert!(
        matches!(&error, StoreError::Io(text) if text.contains("a test")),
        "{error}"
    );
    assert_eq!(syncs.load(Ordering::SeqCst), 4);
    assert_eq!(files(dir.path(), ".tmp").len(), 0);
    checkpoint_in_pieces(&store, 1, at(0), all).unwrap();
    assert!(syncs.load(Ordering::SeqCst) >= 4 + 10);
    close(store);
}

#[test]
fn any_damage_to_the_file_is_found() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    fill(&store);
    close(store);
    let whole = saved(dir.path());
    let mut random = Random::seeded(47);
    for round in 0..150 {
        let to = scratch();
        copy_dir(dir.path(), to.path());
        let mut bytes = whole.clone();
        let place = random.below(bytes.len() as u64) as usize;
        match round % 4 {
            0 => bytes.truncate(place),
            1 => bytes.push(0),
            2 => drop(bytes.drain(place..(place + 8).min(whole.len()))),
            _ => bytes[place] ^= 1 << (round % 7),
        }
        std::fs::write(&files(to.path(), ".iwk")[0], bytes).unwrap();
        let (_, segments) = open(to.path());
        let damage = segments[0].damage.as_ref();
        assert!(damage.is_some(), "round {round}, at byte {place}");
        assert!(segments[0].pieces.is_empty());
    }
}

#[test]
fn a_backup_of_a_store_with_pieces_is_verified_and_restored() {
    let (dir, to, again) = (scratch(), scratch(), scratch());
    let (store, _) = open(dir.path());
    fill(&store);
    backup(
        dir.path(),
        &to.path().join("b"),
        Wanted::Everything,
        &mut |_, _| {},
    )
    .unwrap();
    close(store);
    let report = verify(&to.path().join("b")).unwrap();
    assert_eq!((report.segments, report.damage), (1, Vec::new()));
    restore(&to.path().join("b"), again.path(), &mut |_, _| {}).unwrap();
    let (_, segments) = open(again.path());
    assert_eq!(segments[0].pieces, pieces());
    assert!(!logs(again.path()).is_empty());
}
