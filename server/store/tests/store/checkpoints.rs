//! [LOG-5] [LOG-6] [LOG-8]: checkpoints, the files that they make unneeded, and what is recovered.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use interweave_store::{EmbeddedStore, Options, Piece, SegmentStore, StoreError};
use interweave_wire::protocol::Durability::{Memory, Synced};
use interweave_wire::protocol::{LogBody, VersionStamp};

use crate::model::{
    append, append_now, checkpoint, checkpoint_in_pieces, close, create, diff, open, other,
    release, scratch, small, versions, REMOVE,
};
use crate::records::{files, head_bytes, logs, spans};

fn at(incarnation: u64, number: u64) -> VersionStamp {
    VersionStamp {
        incarnation,
        number,
        chain: number,
    }
}

/// Releases of versions from..=to, large enough that a log file takes three.
fn releases(store: &EmbeddedStore, segment_id: u64, from: u64, to: u64) {
    for version in from..=to {
        let diff = diff(segment_id, version, 5000);
        append_now(store, vec![release(segment_id, version, diff)]).unwrap();
    }
}

pub fn save(store: &EmbeddedStore, segment_id: u64, number: u64) -> Result<(), StoreError> {
    let whole = diff(segment_id, number, 50);
    checkpoint(store, segment_id, at(1, number), whole)
        .recv()
        .unwrap()
}

#[test]
fn a_checkpoint_lets_old_log_files_and_checkpoints_go_and_nothing_is_lost() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    for round in 0..5 {
        releases(&store, 1, round * 10 + 1, round * 10 + 10);
        assert!(store.log_bytes(1) > 50_000);
        save(&store, 1, round * 10 + 8).unwrap();
        assert!((10_000..11_000).contains(&store.log_bytes(1)));
        assert!(logs(dir.path()).len() <= 3);
        assert_eq!(files(dir.path(), ".iwk").len(), 1);
    }
    assert_eq!(store.status().checkpoints, 5);
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(versions(&segments[0]), [48, 49, 50]);
    let (head, whole) = segments[0].checkpoint.as_ref().unwrap();
    assert_eq!(*whole, diff(1, 48, 50));
    assert_eq!(head.path, "/segment/1");
    assert_eq!(segments[0].releases[1].1, diff(1, 50, 5000));
    assert!(!segments[0].clean);
}

#[test]
fn a_checkpoint_that_somebody_has_deleted_is_not_missed_by_the_next() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    releases(&store, 1, 1, 2);
    save(&store, 1, 1).unwrap();
    std::fs::remove_file(&files(dir.path(), ".iwk")[0]).unwrap();
    save(&store, 1, 2).unwrap();
    close(store);
    assert_eq!(versions(&open(dir.path()).1[0]), [2]);
}

#[test]
fn a_checkpoint_covers_only_what_is_in_it() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    releases(&store, 1, 1, 4);
    append_now(&store, vec![other(1, LogBody::Serials(5 << 20))]).unwrap();
    // taken of version 2, when 3 and 4 are in the log already
    save(&store, 1, 2).unwrap();
    assert!(matches!(save(&store, 1, 1), Err(StoreError::Io(_))));
    drop(store);
    let (store, segments) = open(dir.path());
    assert_eq!(versions(&segments[0]), [2, 3, 4]);
    assert_eq!(segments[0].serials_below, 5 << 20);
    // the bound is kept by checkpoints too
    save(&store, 1, 4).unwrap();
    close(store);
    let (_, segments) = open(dir.path());
    assert_eq!(versions(&segments[0]), [4]);
    assert_eq!(segments[0].serials_below, 5 << 20);
    assert!(segments[0].clean);
}

#[test]
fn a_memory_segment_is_as_of_its_checkpoint() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append(&store, vec![create(1, Memory)], Memory)
        .recv()
        .unwrap()
        .unwrap();
    for version in 1..=9 {
        let release = release(1, version, diff(1, version, 100));
        append(&store, vec![release], Memory)
            .recv()
            .unwrap()
            .unwrap();
    }
    save(&store, 1, 6).unwrap();
    drop(store);
    let (store, segments) = open(dir.path());
    assert_eq!(versions(&segments[0]), [6]);
    assert_eq!(segments[0].incarnation, 1);
    let begun = other(1, LogBody::Incarnation(at(2, 6)));
    append(&store, vec![begun], Memory).recv().unwrap().unwrap();
    checkpoint(&store, 1, at(2, 7), diff(1, 7, 10))
        .recv()
        .unwrap()
        .unwrap();
    assert_eq!(store.log_bytes(1), 0);
    close(store);
    let (_, segments) = open(dir.path());
    assert_eq!(versions(&segments[0]), [7]);
    assert_eq!(segments[0].incarnation, 2);
    assert!(segments[0].clean);
}

#[test]
fn a_clean_stop_is_clean_only_until_the_next_start() {
    let dir = scratch();
    let (store, segments) = open(dir.path());
    assert!(segments.is_empty());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    close(store);
    let (store, segments) = open(dir.path());
    assert!(segments[0].clean);
    drop(store);
    let (_, segments) = open(dir.path());
    assert!(!segments[0].clean);
}

#[test]
fn a_removed_segment_does_not_come_back() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    releases(&store, 1, 1, 5);
    save(&store, 1, 3).unwrap();
    append_now(&store, vec![other(1, REMOVE)]).unwrap();
    let refused = append_now(&store, vec![release(1, 6, diff(1, 6, 1))]);
    assert!(matches!(refused, Err(StoreError::Io(_))));
    assert!(matches!(save(&store, 1, 5), Err(StoreError::Io(_))));
    close(store);
    assert!(files(dir.path(), ".iwk").is_empty());
    for _ in 0..2 {
        let (_, segments) = open(dir.path());
        assert_eq!(segments.len(), 1);
        assert_eq!(segments[0].segment_id, 2);
    }
}

#[test]
fn a_removal_that_a_crash_interrupts_is_finished_at_the_next_start() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    save(&store, 1, 0).unwrap();
    let kept = std::fs::read(&files(dir.path(), ".iwk")[0]).unwrap();
    append_now(&store, vec![other(1, REMOVE)]).unwrap();
    drop(store);
    std::fs::write(dir.path().join("checkpoint-1-0.iwk"), kept).unwrap();
    let (_, segments) = open(dir.path());
    assert!(segments.is_empty());
    assert!(files(dir.path(), ".iwk").is_empty());
}

#[test]
fn a_group_that_fills_a_log_file_to_its_last_byte_goes_into_it() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 8))]).unwrap();
    let path = &logs(dir.path())[0];
    let last = *spans(&std::fs::read(path).unwrap()).last().unwrap();
    let before_diff = last.body - last.start;
    let rest = small().log_file_bytes as usize - last.next - before_diff;
    append_now(&store, vec![release(1, 2, diff(1, 2, rest))]).unwrap();
    assert_eq!(logs(dir.path()).len(), 1);
    let last = *spans(&std::fs::read(path).unwrap()).last().unwrap();
    assert_eq!(last.end as u64, small().log_file_bytes);
    append_now(&store, vec![release(1, 3, diff(1, 3, 8))]).unwrap();
    assert_eq!(logs(dir.path()).len(), 2);
}

/// Returns the number of the log files in the directory, and their bytes to the last record.
fn log_in(dir: &Path) -> (u64, u64) {
    let end = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        let records = spans(&bytes);
        let end = records.last().map_or(head_bytes(&bytes), |last| last.next);
        end as u64
    };
    let all = logs(dir);
    (all.len() as u64, all.iter().map(end).sum())
}

#[test]
fn the_status_says_how_large_the_log_is_and_what_was_done() {
    let dir = scratch();
    let clock = Arc::new(Mutex::new(Instant::now()));
    let (now, slow) = (Arc::clone(&clock), Arc::clone(&clock));
    let options = Options {
        now: Arc::new(move || *now.lock().unwrap()),
        sync: Arc::new(move |file| {
            *slow.lock().unwrap() += Duration::from_millis(3);
            file.sync_data()
        }),
        ..small()
    };
    let (store, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    let log = || (store.status().log_files, store.status().log_bytes);
    append_now(&store, vec![create(1, Synced)]).unwrap();
    assert_eq!(log(), log_in(dir.path()));
    releases(&store, 1, 1, 10);
    assert_eq!(log(), log_in(dir.path()));
    save(&store, 1, 8).unwrap();
    assert_eq!(log(), log_in(dir.path()));
    let status = store.status();
    assert_eq!((status.groups, status.checkpoints), (11, 1));
    assert_eq!(store.kind(), "directory");
    assert_eq!(
        status.syncing,
        status.syncs as u32 * Duration::from_millis(3)
    );
    drop(store);
    let (store, _) = open(dir.path());
    let status = store.status();
    assert_eq!((status.log_files, status.log_bytes), log_in(dir.path()));
}

#[test]
fn idle_segments_that_hold_the_log_are_overdue() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    let mut version = 0;
    assert!(!store.is_in_need());
    while store.overdue().is_empty() {
        releases(&store, 2, version + 1, version + 3);
        version += 3;
        save(&store, 2, version).unwrap();
        assert!(logs(dir.path()).len() <= 6, "the log is bounded");
    }
    assert!(logs(dir.path()).len() >= 3, "some log does no harm");
    assert_eq!(store.overdue(), [1]);
    assert!(store.is_in_need());
    save(&store, 1, 0).unwrap();
    assert_eq!(store.overdue(), [] as [u64; 0]);
    assert!(logs(dir.path()).len() <= 2);
}

#[test]
fn of_segments_that_hold_the_same_file_the_one_with_the_smallest_checkpoint_is_overdue_first() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, (1..=3).map(|id| create(id, Synced)).collect()).unwrap();
    // all of its pieces count
    let pieces = [3000, 900].map(|bytes| Piece {
        diff: diff(1, 0, bytes),
        ages: Bytes::new(),
    });
    checkpoint_in_pieces(&store, 1, at(1, 0), pieces.to_vec()).unwrap();
    let whole = checkpoint(&store, 2, at(1, 0), diff(2, 0, 2000));
    whole.recv().unwrap().unwrap();
    let both = (1..=2).map(|id| release(id, 1, diff(id, 1, 9))).collect();
    append_now(&store, both).unwrap();
    let mut version = 0;
    while store.overdue().is_empty() {
        releases(&store, 3, version + 1, version + 3);
        version += 3;
        save(&store, 3, version).unwrap();
        assert!(logs(dir.path()).len() <= 8, "the log is bounded");
    }
    assert_eq!(store.overdue(), [2, 1]);
}

#[test]
fn log_5_a_segment_with_much_log_is_named_with_how_much_it_has() {
    const DIFF: usize = 16 << 20;
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    append_now(&store, vec![release(2, 1, diff(2, 1, DIFF))]).unwrap();
    for version in 1..=4 {
        assert!(store.with_much_log().is_empty());
        append_now(&store, vec![release(1, version, diff(1, version, DIFF))]).unwrap();
    }
    let [(1, log_bytes)] = store.with_much_log()[..] else {
        panic!("not segment 1: {:?}", store.with_much_log());
    };
    let headers = 5 * 1024;
    assert!((4 * DIFF as u64..4 * DIFF as u64 + headers).contains(&log_bytes));
    save(&store, 1, 4).unwrap();
    assert!(store.with_much_log().is_empty());
}

#[test]
fn all_that_hold_the_log_beyond_its_bound_are_overdue_together() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, (1..=6).map(|id| create(id, Synced)).collect()).unwrap();
    // one after the other, so that each holds other files
    for id in 1..=6 {
        releases(&store, id, 1, 9);
    }
    let overdue = store.overdue();
    assert!(overdue.len() >= 3, "{overdue:?}");
    for id in overdue {
        save(&store, id, 9).unwrap();
    }
    assert_eq!(store.overdue(), [] as [u64; 0]);
    assert!(logs(dir.path()).len() <= 5, "{}", logs(dir.path()).len());
}

#[test]
fn a_checkpoint_of_an_incarnation_that_could_not_be_logged_covers_the_earlier_ones() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    releases(&store, 1, 1, 2);
    append_now(&store, vec![other(1, LogBody::Incarnation(at(5, 2)))]).unwrap();
    releases(&store, 1, 3, 4);
    let saved = checkpoint(&store, 1, at(9, 4), diff(1, 4, 50));
    saved.recv().unwrap().unwrap();
    assert_eq!(store.log_bytes(1), 0);
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(
        (segments[0].incarnation, segments[0].damage.clone()),
        (9, None)
    );
}

/// A checkpoint of version 4 in a store whose log begins with version 1, or after it was cut.
fn damaged_checkpoint(cut_log: bool, damage: impl Fn(&std::path::Path)) -> Option<String> {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    releases(&store, 1, 1, 4);
    if cut_log {
        releases(&store, 1, 5, 8);
        save(&store, 1, 8).unwrap();
    }
    let held = logs(dir.path())
        .iter()
        .map(|p| (p.clone(), std::fs::read(p).unwrap()))
        .collect();
    let held: Vec<(std::path::PathBuf, Vec<u8>)> = held;
    save(&store, 1, if cut_log { 8 } else { 4 }).unwrap();
    drop(store);
    for (path, bytes) in held.iter().filter(|_| !cut_log) {
        std::fs::write(path, bytes).unwrap();
    }
    damage(&files(dir.path(), ".iwk")[0]);
    let (_, segments) = EmbeddedStore::open(dir.path(), small()).unwrap();
    assert_eq!(segments.len(), 1);
    assert_eq!(segments[0].path, "/segment/1");
    if segments[0].damage.is_none() {
        assert_eq!(versions(&segments[0]), [1, 2, 3, 4]);
    }
    segments[0].damage.clone()
}

#[test]
fn a_damaged_or_missing_checkpoint_is_damage_unless_the_log_makes_up_for_it() {
    let change = |path: &std::path::Path| {
        let mut bytes = std::fs::read(path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(path, bytes).unwrap();
    };
    // Not even its magic is left.
    let cut = |path: &std::path::Path| std::fs::write(path, "IW").unwrap();
    let remove = |path: &std::path::Path| std::fs::remove_file(path).unwrap();
    let damages: [&dyn Fn(&std::path::Path); 3] = [&change, &cut, &remove];
    for damage in damages {
        assert_eq!(damaged_checkpoint(false, damage), None);
        let damage = damaged_checkpoint(true, damage).unwrap();
        assert!(damage.contains("checkpoint-1-8.iwk"), "{damage}");
    }
}

#[test]
fn a_missing_log_file_is_damage() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    releases(&store, 1, 1, 12);
    append_now(&store, vec![release(2, 1, diff(2, 1, 10))]).unwrap();
    drop(store);
    let all = logs(dir.path());
    std::fs::remove_file(&all[all.len() / 2]).unwrap();
    let (_, segments) = open(dir.path());
    assert!(segments[0].damage.is_some());
    // its next record shows that none is missing
    assert_eq!(segments[1].damage, None);
    assert_eq!(versions(&segments[1]), [1]);
}
