//! [LOG-15]: what was acknowledged at the log's end is told apart from a torn end.

use std::path::{Path, PathBuf};

use interweave_store::{
    backup, restore, verify, EmbeddedStore, RecoveredSegment, Report, SegmentStore, StoreError,
    Wanted,
};
use interweave_wire::protocol::Durability::{Synced, Written};
use interweave_wire::protocol::VersionStamp;

use crate::model::{
    append, append_now, checkpoint, close, create, diff, open, release, scratch, versions,
};
use crate::records::{copy_dir, files, logs, spans, Span};

/// Three segments with a release each, all acknowledged; the process was killed.
fn killed() -> tempfile::TempDir {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    append_now(&store, vec![create(3, Synced)]).unwrap();
    for id in 1..=3 {
        append_now(&store, vec![release(id, 1, diff(id, 1, 100))]).unwrap();
    }
    append_now(&store, vec![release(2, 2, diff(2, 2, 100))]).unwrap();
    drop(store);
    dir
}

fn save(store: &EmbeddedStore, id: u64, number: u64) {
    let at = VersionStamp {
        incarnation: 1,
        number,
        chain: number,
    };
    let saved = checkpoint(store, id, at, diff(id, number, 100)).recv();
    saved.unwrap().unwrap();
}

fn newest(dir: &Path) -> PathBuf {
    logs(dir).pop().unwrap()
}

fn damaged(segments: &[RecoveredSegment]) -> Vec<u64> {
    let damaged = segments.iter().filter(|s| s.damage.is_some());
    damaged.map(|s| s.segment_id).collect()
}

fn back_up(from: &Path, to: &Path, wanted: Wanted) -> Result<Report, StoreError> {
    backup(from, to, wanted, &mut |_, _| {})
}

/// A backup of the store decides as a start does: it is refused, or leaves these segments out.
fn backups_leave_out(store: &Path, damaged: &[u64]) {
    let (copy, rest, again) = (scratch(), scratch(), scratch());
    let refused = back_up(store, copy.path(), Wanted::Everything);
    assert!(
        matches!(refused, Err(StoreError::NotWhole { .. })),
        "{refused:?}"
    );
    assert!(files(copy.path(), "").is_empty(), "a refused copy is gone");
    let report = back_up(store, rest.path(), Wanted::WholeSegments).unwrap();
    let left_out: Vec<&str> = report.left_out.iter().map(|s| s.path.as_str()).collect();
    let expected: Vec<String> = damaged.iter().map(|id| format!("/segment/{id}")).collect();
    assert_eq!(left_out, expected);
    restore(rest.path(), again.path(), &mut |_, _| {}).unwrap();
    let (_, segments) = open(again.path());
    assert!(segments.iter().all(|s| !damaged.contains(&s.segment_id)));
    assert_eq!(segments.len() + damaged.len(), 3);
}

/// A copy of the store with the change.
fn changed(from: &Path, change: impl FnOnce(&Path, &mut Vec<u8>, &[Span])) -> tempfile::TempDir {
    let to = scratch();
    copy_dir(from, to.path());
    let path = newest(to.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let spans = spans(&bytes);
    change(to.path(), &mut bytes, &spans);
    if path.exists() {
        std::fs::write(&path, bytes).unwrap();
    }
    to
}

/// The segments that are stopped then, at this start and at the next.
fn stopped(from: &Path, change: impl FnOnce(&Path, &mut Vec<u8>, &[Span])) -> Vec<u64> {
    let to = changed(from, change);
    let (store, segments) = open(to.path());
    let status = store.status();
    assert!(
        status.lost_bytes > 0 && status.torn_bytes == 0,
        "{status:?}"
    );
    assert!(!status.damage.is_empty());
    let first = damaged(&segments);
    drop(store);
    for _ in 0..2 {
        let (_, segments) = open(to.path());
        assert_eq!(damaged(&segments), first, "at the next start");
        for segment in segments.iter().filter(|s| s.damage.is_none()) {
            let expected: &[u64] = if segment.segment_id == 2 {
                &[1, 2]
            } else {
                &[1]
            };
            assert_eq!(versions(segment), expected);
        }
    }
    first
}

#[test]
fn log_15_a_changed_bit_in_the_last_record_is_damage_of_its_segment() {
    let dir = killed();
    let bytes = std::fs::read(newest(dir.path())).unwrap();
    let last = *spans(&bytes).last().unwrap();
    for at in last.start..last.end {
        let ids = stopped(dir.path(), |_, bytes, _| bytes[at] ^= 1 << (at % 8));
        assert_eq!(ids, [2], "byte {}", at - last.start);
    }
}

#[test]
fn log_15_a_tail_that_is_cut_or_zeroed_is_damage_of_the_segments_that_were_there() {
    let dir = killed();
    for (records, ids) in [(1, vec![2]), (2, vec![2, 3]), (4, vec![1, 2, 3])] {
        let cut = stopped(dir.path(), |_, bytes, spans| {
            bytes.truncate(spans[spans.len() - records].start);
        });
        assert_eq!(cut, ids);
        let zeroed = stopped(dir.path(), |_, bytes, spans| {
            bytes[spans[spans.len() - records].start..].fill(0);
        });
        assert_eq!(zeroed, ids);
    }
    let cut = stopped(dir.path(), |_, bytes, spans| {
        bytes.truncate(spans.last().unwrap().body + 7);
    });
    assert_eq!(cut, [2], "the header is left");
}

#[test]
fn log_15_a_newest_file_that_is_deleted_or_whose_head_is_damaged_is_damage() {
    let dir = killed();
    let (store, _) = open(dir.path());
    append_now(&store, vec![release(1, 2, diff(1, 2, 100))]).unwrap();
    append_now(&store, vec![release(3, 2, diff(3, 2, 100))]).unwrap();
    drop(store);
    let ids = stopped(dir.path(), |dir, _, _| {
        std::fs::remove_file(newest(dir)).unwrap();
    });
    assert_eq!(ids, [1, 3]);
    let ids = stopped(dir.path(), |_, bytes, _| bytes[9] ^= 4);
    assert_eq!(ids, [1, 3]);
}

#[test]
fn log_15_the_bytes_that_are_lost_are_told() {
    let dir = killed();
    let lost = |change: fn(&Path, &mut Vec<u8>, &[Span])| {
        let to = changed(dir.path(), change);
        let (store, _) = open(to.path());
        store.status().lost_bytes
    };
    let bytes = std::fs::read(newest(dir.path())).unwrap();
    let all = spans(&bytes);
    let (first, last) = (all[0], all[all.len() - 1]);
    let of_record = lost(|_, bytes, spans| bytes[spans[spans.len() - 1].body] ^= 1);
    assert_eq!(of_record, (last.next - last.start) as u64);
    let of_file = lost(|dir, _, _| std::fs::remove_file(newest(dir)).unwrap());
    assert_eq!(of_file, (last.next - first.start) as u64);
    let of_head = lost(|_, bytes, _| bytes[9] ^= 4);
    assert_eq!(of_head, bytes.len() as u64);
}

/// The witness says less than is true: of what no sync covers, and after a loss of power.
#[test]
fn log_15_a_witness_that_lacks_records_clears_no_segment_of_a_damaged_head() {
    let dir = killed();
    let (store, _) = open(dir.path());
    append_now(&store, vec![release(1, 2, diff(1, 2, 100))]).unwrap();
    let group = vec![release(3, 2, diff(3, 2, 100))];
    append(&store, group, Written).recv().unwrap().unwrap();
    std::mem::forget(store);
    let ids = stopped(dir.path(), |_, bytes, _| bytes[9] ^= 4);
    assert_eq!(ids, [1, 2, 3], "nobody knows whose the last record was");
    let dir = killed();
    let (store, _) = open(dir.path());
    append_now(&store, vec![release(1, 2, diff(1, 2, 100))]).unwrap();
    append_now(&store, vec![release(3, 2, diff(3, 2, 100))]).unwrap();
    drop(store);
    let ids = stopped(dir.path(), |dir, bytes, _| {
        bytes[9] ^= 4;
        // the second turn, which is in the first slot
        let path = files(dir, ".iww").pop().unwrap();
        let mut witness = std::fs::read(&path).unwrap();
        witness[13] ^= 1;
        std::fs::write(path, witness).unwrap();
    });
    assert_eq!(ids, [1, 2, 3], "the first turn does not know of segment 3");
}

/// The file is synced when it ends, and the witness hears of that.
#[test]
fn log_15_a_witness_knows_all_of_a_file_that_has_ended() {
    let dir = killed();
    let (store, _) = open(dir.path());
    append_now(&store, vec![release(1, 2, diff(1, 2, 100))]).unwrap();
    let written = |id, version| {
        let group = vec![release(id, version, diff(id, version, 3000))];
        append(&store, group, Written).recv().unwrap().unwrap();
    };
    written(3, 2);
    let files = logs(dir.path());
    let path = files.last().unwrap();
    let mut version = 3;
    while logs(dir.path()).len() == files.len() {
        written(3, version);
        version += 1;
    }
    drop(store);
    for path in [path, &newest(dir.path())] {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[9] ^= 4;
        std::fs::write(path, bytes).unwrap();
    }
    assert_eq!(damaged(&open(dir.path()).1), [1, 3]);
}

/// A disk may give wrong bytes once, and an operator may find a file that was missing.
#[test]
fn log_15_a_log_file_that_comes_back_is_not_read_short() {
    let dir = killed();
    let path = newest(dir.path());
    let whole = std::fs::read(&path).unwrap();
    for (is_deleted, is_witnessed) in [(false, true), (false, false), (true, true)] {
        let to = scratch();
        copy_dir(dir.path(), to.path());
        let path = newest(to.path());
        match is_deleted {
            true => std::fs::remove_file(&path).unwrap(),
            false => {
                let mut bytes = whole.clone();
                bytes[9] ^= 4;
                std::fs::write(&path, bytes).unwrap();
            }
        }
        for witness in files(to.path(), ".iww").iter().filter(|_| !is_witnessed) {
            std::fs::remove_file(witness).unwrap();
        }
        let (store, segments) = open(to.path());
        assert_eq!(damaged(&segments), [1, 2, 3]);
        drop(store);
        std::fs::write(&path, &whole).unwrap();
        let (_, segments) = open(to.path());
        // how many records it had is known from the witness alone
        let expected: &[u64] = if is_witnessed { &[] } else { &[1, 2, 3] };
        assert_eq!(damaged(&segments), expected);
        for segment in segments.iter().filter(|s| s.damage.is_none()) {
            let expected: &[u64] = if segment.segment_id == 2 {
                &[1, 2]
            } else {
                &[1]
            };
            assert_eq!(versions(segment), expected);
        }
    }
}

#[test]
fn log_15_the_end_of_a_store_that_was_stopped_cleanly_is_witnessed_too() {
    let dir = killed();
    let (store, _) = open(dir.path());
    append_now(&store, vec![release(2, 3, diff(2, 3, 100))]).unwrap();
    close(store);
    let mark = |bytes: &mut Vec<u8>, spans: &[Span]| bytes[spans.last().unwrap().start + 4] ^= 1;
    let to = scratch();
    copy_dir(dir.path(), to.path());
    let path = newest(to.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let spans = spans(&bytes);
    mark(&mut bytes, &spans);
    std::fs::write(&path, bytes).unwrap();
    let (_, segments) = open(to.path());
    assert!(damaged(&segments).is_empty(), "nobody has lost anything");
    assert!(segments.iter().all(|segment| !segment.clean));
    assert_eq!(versions(&segments[1]), [1, 2, 3]);
}

#[test]
fn log_15_a_backup_of_a_killed_store_takes_a_lost_end_for_damage_as_a_start_does() {
    let dir = killed();
    let last = |spans: &[Span]| *spans.last().unwrap();
    let flipped = changed(dir.path(), |_, bytes, spans| {
        bytes[last(spans).body + 9] ^= 1
    });
    backups_leave_out(flipped.path(), &[2]);
    let cut = changed(dir.path(), |_, bytes, spans| {
        bytes.truncate(last(spans).start);
    });
    backups_leave_out(cut.path(), &[2]);
    let zeroed = changed(dir.path(), |_, bytes, spans| {
        bytes[spans[spans.len() - 2].start..].fill(0);
    });
    backups_leave_out(zeroed.path(), &[2, 3]);
    let (store, _) = open(dir.path());
    append_now(&store, vec![release(1, 2, diff(1, 2, 100))]).unwrap();
    drop(store);
    let deleted = changed(dir.path(), |dir, _, _| {
        std::fs::remove_file(newest(dir)).unwrap();
    });
    backups_leave_out(deleted.path(), &[1]);
}

#[test]
fn log_15_a_backup_of_a_killed_store_has_all_that_was_acknowledged_and_no_witness() {
    let (dir, copy, again) = (killed(), scratch(), scratch());
    back_up(dir.path(), copy.path(), Wanted::Everything).unwrap();
    assert!(files(copy.path(), ".iww").is_empty());
    restore(copy.path(), again.path(), &mut |_, _| {}).unwrap();
    let (_, segments) = open(again.path());
    assert!(damaged(&segments).is_empty());
    assert_eq!(versions(&segments[1]), [1, 2]);
}

#[test]
fn log_15_without_a_witness_the_end_is_torn_and_its_bytes_are_told() {
    let dir = killed();
    for witness in files(dir.path(), ".iww") {
        std::fs::remove_file(witness).unwrap();
    }
    let path = newest(dir.path());
    let mut bytes = std::fs::read(&path).unwrap();
    let last = *spans(&bytes).last().unwrap();
    bytes[last.body + 9] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let torn = (last.end - last.start) as u64;
    assert_eq!(verify(dir.path()).unwrap().torn_bytes, torn);
    let (store, segments) = open(dir.path());
    assert_eq!(store.status().torn_bytes, torn);
    assert!(damaged(&segments).is_empty());
    assert_eq!(versions(&segments[1]), [1]);
}

#[test]
fn log_15_an_earlier_state_of_all_files_is_whole() {
    let dir = killed();
    let earlier = scratch();
    copy_dir(dir.path(), earlier.path());
    let (store, _) = open(dir.path());
    append_now(&store, vec![release(2, 3, diff(2, 3, 100))]).unwrap();
    drop(store);
    let (_, segments) = open(earlier.path());
    assert!(damaged(&segments).is_empty());
    assert_eq!(versions(&segments[1]), [1, 2]);
}

#[test]
fn log_15_an_older_state_of_the_newest_file_alone_is_damage() {
    let dir = killed();
    let old = std::fs::read(newest(dir.path())).unwrap();
    let ids = stopped(dir.path(), |_, bytes, spans| {
        let last = spans.last().unwrap();
        let mut older = old.clone();
        older[last.start..].fill(0);
        *bytes = older;
    });
    assert_eq!(ids, [2]);
}

#[test]
fn log_15_a_log_file_that_is_not_the_newest_and_is_lost_is_damage() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    for id in [1, 2] {
        save(&store, id, 0);
    }
    append_now(&store, vec![release(1, 1, diff(1, 1, 100))]).unwrap();
    drop(store);
    let oldest = logs(dir.path()).remove(0);
    let (store, _) = open(dir.path());
    append_now(&store, vec![release(2, 1, diff(2, 1, 100))]).unwrap();
    drop(store);
    std::fs::remove_file(oldest).unwrap();
    for _ in 0..2 {
        let (store, segments) = open(dir.path());
        assert_eq!(damaged(&segments), [1], "each start finds the same");
        drop(store);
    }
}

#[test]
fn log_15_a_witness_goes_with_its_log_file() {
    let dir = killed();
    let (store, _) = open(dir.path());
    for version in 3..40 {
        append_now(&store, vec![release(2, version, diff(2, version, 3000))]).unwrap();
    }
    let before = logs(dir.path()).len();
    assert_eq!(files(dir.path(), ".iww").len(), before);
    for (id, version) in [(1, 1), (2, 39), (3, 1)] {
        save(&store, id, version);
    }
    close(store);
    let after = logs(dir.path()).len();
    assert!(after < before, "{after} of {before} log files are left");
    assert_eq!(files(dir.path(), ".iww").len(), after);
}
