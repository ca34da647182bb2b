//! [LOG-19]: checkpoints of small segments that wait together share a file.

use std::path::Path;
use std::sync::mpsc::{channel, Sender};
use std::sync::{Arc, Mutex};

use interweave_store::{
    backup, restore, verify, EmbeddedStore, Options, RecoveredSegment, SegmentStore, StoreError,
    Wanted,
};
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::{LogBody, VersionStamp};

use crate::failures::TinyDisk;
use crate::model::{
    append_now, checkpoint, close, create, diff, open, other, release, scratch, small, versions,
    Answer, REMOVE,
};
use crate::records::{files, logs};

const SEGMENTS: std::ops::RangeInclusive<u64> = 1..=10;
/// Its checkpoint is large, and has a file of its own.
const LARGE: u64 = 99;

fn packs(dir: &Path) -> Vec<std::path::PathBuf> {
    files(dir, ".iwp")
}

/// A store whose first checkpoint waits until it is told the result of its sync.
fn open_waiting(dir: &Path) -> (EmbeddedStore, Sender<std::io::Result<()>>) {
    let (say, hear) = channel::<std::io::Result<()>>();
    let hear = Mutex::new(hear);
    let options = Options {
        // after the first the channel is closed
        sync_checkpoint: Arc::new(move |file| match hear.lock().unwrap().recv() {
            Ok(told) => told,
            Err(_) => file.sync_all(),
        }),
        ..small()
    };
    (EmbeddedStore::open(dir, options).unwrap().0, say)
}

fn ask(store: &EmbeddedStore, segment_id: u64, number: u64, bytes: usize) -> Answer {
    let at = VersionStamp {
        incarnation: 1,
        number,
        chain: number,
    };
    checkpoint(store, segment_id, at, diff(segment_id, number, bytes))
}

/// Saves the segments at that version, with so many bytes. All wait while the checkpoint of another
/// is being written.
fn save_together(
    dir: &Path,
    segments: impl Iterator<Item = u64>,
    (number, bytes): (u64, usize),
) -> Vec<Result<(), StoreError>> {
    let (store, say) = open_waiting(dir);
    let large = ask(&store, LARGE, 0, 20_000);
    let asked: Vec<Answer> = segments.map(|id| ask(&store, id, number, bytes)).collect();
    // what was asked before has reached the thread of the checkpoints
    append_now(&store, vec![]).unwrap();
    say.send(Ok(())).unwrap();
    drop(say);
    large.recv().unwrap().unwrap();
    let told = asked.into_iter().map(|answer| answer.recv().unwrap());
    let told = told.collect();
    close(store);
    told
}

/// A store with the segments at version 1, which one pack has, and nothing else has.
fn packed() -> tempfile::TempDir {
    let dir = scratch();
    pack_in(dir.path(), 50);
    dir
}

/// Makes such a store, with so many bytes of each segment.
fn pack_in(dir: &Path, bytes: usize) {
    let (store, _) = open(dir);
    append_now(&store, vec![create(LARGE, Synced)]).unwrap();
    for id in SEGMENTS {
        append_now(&store, vec![create(id, Synced)]).unwrap();
        append_now(&store, vec![release(id, 1, diff(id, 1, 5000))]).unwrap();
    }
    close(store);
    let told = save_together(dir, SEGMENTS, (1, bytes));
    assert!(told.iter().all(Result::is_ok), "{told:?}");
    assert_eq!(packs(dir).len(), 1);
}

fn found(dir: &Path) -> Vec<RecoveredSegment> {
    let (store, mut segments) = open(dir);
    close(store);
    segments.retain(|segment| segment.segment_id != LARGE);
    segments
}

fn ids(segments: &[RecoveredSegment]) -> Vec<u64> {
    segments.iter().map(|segment| segment.segment_id).collect()
}

fn saved_at(segment: &RecoveredSegment) -> Option<u64> {
    segment.checkpoint.as_ref().map(|(head, _)| head.at.number)
}

#[test]
fn log_19_segments_that_wait_share_a_file_and_let_the_log_go() {
    let dir = packed();
    assert_eq!(files(dir.path(), ".iwk").len(), 1, "the large one's");
    assert!(logs(dir.path()).len() <= 2, "{:?}", logs(dir.path()));
    let segments = found(dir.path());
    assert_eq!(segments.len(), 10);
    for segment in &segments {
        let (head, whole) = segment.checkpoint.as_ref().unwrap();
        assert_eq!((head.at.number, &segment.damage), (1, &None));
        assert_eq!(head.path, format!("/segment/{}", segment.segment_id));
        assert_eq!(*whole, diff(segment.segment_id, 1, 50));
    }
    let report = verify(dir.path()).unwrap();
    assert_eq!((report.checkpoints, report.damage.len()), (11, 0));
}

#[test]
fn log_19_a_pack_goes_when_newer_checkpoints_have_replaced_its_items() {
    let dir = packed();
    let first = packs(dir.path());
    // six of ten: what is needed of the first pack moves to the new one
    let (store, _) = open(dir.path());
    for id in 1..=6 {
        append_now(&store, vec![release(id, 2, diff(id, 2, 10))]).unwrap();
    }
    close(store);
    save_together(dir.path(), 1..=6, (2, 50));
    save_together(dir.path(), 1..=2, (2, 50));
    let segments = found(dir.path());
    let expected = |s: &RecoveredSegment| Some(if s.segment_id <= 6 { 2 } else { 1 });
    assert!(segments.iter().all(|s| saved_at(s) == expected(s)));
    assert!(!packs(dir.path()).contains(&first[0]));
    // a file of its own takes the place of an item, also at the same version
    let (store, _) = open(dir.path());
    for id in SEGMENTS {
        let number = if id <= 6 { 2 } else { 1 };
        ask(&store, id, number, 60).recv().unwrap().unwrap();
    }
    close(store);
    assert!(packs(dir.path()).is_empty());
    let segments = found(dir.path());
    assert!(segments
        .iter()
        .all(|s| s.checkpoint.as_ref().unwrap().1.len() == 60));
    // and an item the place of a file
    save_together(dir.path(), SEGMENTS, (2, 50));
    assert_eq!(files(dir.path(), ".iwk").len(), 1);
}

/// A pack is written anew only for a good part of its bytes.
#[test]
fn log_19_a_pack_stays_while_more_than_half_of_its_items_are_needed() {
    let dir = packed();
    let first = packs(dir.path());
    let steps = [
        (1..=4, 2, true),
        (1..=2, 3, true),
        (5..=5, 3, true),
        // what is needed of the first and the second goes into a new one
        (7..=8, 2, false),
    ];
    for (replaced, count, stays) in steps {
        save_together(dir.path(), replaced, (1, 50));
        let all = packs(dir.path());
        assert_eq!((all.len(), all.contains(&first[0])), (count, stays));
    }
    assert!(found(dir.path()).iter().all(|s| s.damage.is_none()));
}

/// No owner that is fenced only now writes a pack of the same number.
#[test]
fn log_19_the_number_of_a_pack_is_of_its_owner() {
    let dir = packed();
    for _ in 0..2 {
        save_together(dir.path(), SEGMENTS, (1, 50));
        let all = packs(dir.path());
        let name = all[0].file_stem().unwrap().to_str().unwrap();
        let number = u64::from_str_radix(name.strip_prefix("pack-").unwrap(), 16).unwrap();
        let (store, _) = open(dir.path());
        assert_eq!((all.len(), number >> 32), (1, store.owner_epoch() - 1));
        close(store);
    }
}

#[test]
fn log_19_a_pack_that_somebody_has_deleted_keeps_no_checkpoint_from_being_made() {
    let dir = packed();
    let (store, _) = open(dir.path());
    std::fs::remove_file(&packs(dir.path())[0]).unwrap();
    for id in SEGMENTS {
        ask(&store, id, 1, 60).recv().unwrap().unwrap();
    }
    close(store);
    assert!(found(dir.path()).iter().all(|s| s.damage.is_none()));
}

#[test]
fn log_19_a_removed_segment_leaves_no_item_that_brings_it_back() {
    for is_crash in [false, true] {
        let dir = packed();
        let (store, _) = open(dir.path());
        append_now(&store, vec![other(3, REMOVE), other(4, REMOVE)]).unwrap();
        match is_crash {
            true => drop(store),
            false => close(store),
        }
        assert_eq!(ids(&found(dir.path())), [1, 2, 5, 6, 7, 8, 9, 10]);
        for log in logs(dir.path()) {
            std::fs::remove_file(log).unwrap();
        }
        std::fs::remove_file(dir.path().join("catalogue")).unwrap();
        let segments = found(dir.path());
        assert_eq!(ids(&segments), [1, 2, 5, 6, 7, 8, 9, 10]);
    }
}

#[test]
fn log_19_damage_in_an_item_stops_its_segment_and_damage_in_the_index_all() {
    let dir = packed();
    let path = &packs(dir.path())[0];
    let whole = std::fs::read(path).unwrap();
    let damage = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        std::fs::write(path, bytes).unwrap();
        let segments = found(dir.path());
        assert_eq!(segments.len(), 10);
        segments.iter().filter(|s| s.damage.is_some()).count()
    };
    assert_eq!(damage(whole.len() - 1), 1);
    assert_eq!(damage(whole.len() - 1), 1, "the next start finds the same");
    assert!(!verify(dir.path()).unwrap().damage.is_empty());
    assert_eq!(damage(20), 10);
    std::fs::write(path, &whole).unwrap();
    assert!(found(dir.path()).iter().all(|s| s.damage.is_none()));
}

/// Nothing names the segments of such a pack. Its bytes may be the only ones.
#[test]
fn log_19_a_pack_and_a_catalogue_that_are_both_damaged_are_not_forgotten() {
    let dir = packed();
    let path = packs(dir.path())[0].clone();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[20] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    std::fs::write(dir.path().join("catalogue"), b"").unwrap();
    for start in 0..3 {
        let (store, _) = open(dir.path());
        let told = store.status().damage;
        close(store);
        assert!(
            told.iter().any(|d| d.contains("pack-")),
            "start {start}: {told:?}"
        );
        let aside = files(dir.path(), ".iwp.damaged");
        assert_eq!(std::fs::read(&aside[0]).unwrap(), bytes, "start {start}");
    }
}

/// The catalogue may have lost the line of a segment that only this pack has.
#[test]
fn log_19_a_pack_that_cannot_be_read_is_set_aside_though_no_segment_misses_it() {
    let dir = packed();
    let path = packs(dir.path())[0].clone();
    let mut bytes = std::fs::read(&path).unwrap();
    let (store, _) = open(dir.path());
    for id in SEGMENTS {
        ask(&store, id, 1, 60).recv().unwrap().unwrap();
    }
    close(store);
    assert!(packs(dir.path()).is_empty());
    bytes[20] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    for start in 0..2 {
        let (store, segments) = open(dir.path());
        let told = store.status().damage;
        close(store);
        assert!(
            told.iter().any(|d| d.contains("pack-")),
            "start {start}: {told:?}"
        );
        assert!(segments.iter().all(|s| s.damage.is_none()));
        let aside = files(dir.path(), ".iwp.damaged");
        assert_eq!(std::fs::read(&aside[0]).unwrap(), bytes, "start {start}");
    }
}

/// The file may have had a later incarnation or a higher bound of serials than the item.
#[test]
fn log_19_a_damaged_file_beside_an_item_of_its_version_is_damage_unless_the_log_goes_on() {
    for is_in_log in [false, true] {
        let dir = packed();
        let (store, _) = open(dir.path());
        if is_in_log {
            append_now(&store, vec![release(1, 2, diff(1, 2, 10))]).unwrap();
        }
        ask(&store, 1, 1, 60).recv().unwrap().unwrap();
        close(store);
        let file = dir.path().join("checkpoint-1-1.iwk");
        let mut bytes = std::fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&file, bytes).unwrap();
        for _ in 0..2 {
            let segments = found(dir.path());
            let first = segments.iter().find(|s| s.segment_id == 1).unwrap();
            assert_eq!(first.damage.is_none(), is_in_log, "{:?}", first.damage);
            assert_eq!(file.exists(), !is_in_log);
        }
    }
}

/// A crash may leave the file that an item has replaced.
#[test]
fn log_19_a_file_beside_a_pack_with_a_newer_item_of_its_segment_is_not_needed() {
    for (number, is_whole) in [(1, true), (2, true), (2, false)] {
        let dir = packed();
        let (store, _) = open(dir.path());
        ask(&store, 1, 1, 60).recv().unwrap().unwrap();
        let file = dir.path().join("checkpoint-1-1.iwk");
        let mut bytes = std::fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= u8::from(!is_whole);
        // of the same version the item is newer by its bound of serials
        append_now(&store, vec![other(1, LogBody::Serials(1 << 20))]).unwrap();
        for id in (1..=2).filter(|_| number == 2) {
            append_now(&store, vec![release(id, 2, diff(id, 2, 10))]).unwrap();
        }
        close(store);
        save_together(dir.path(), 1..=2, (number, 50));
        std::fs::write(&file, bytes).unwrap();
        for log in logs(dir.path()) {
            std::fs::remove_file(log).unwrap();
        }
        let segments = found(dir.path());
        let first = &segments[0];
        assert_eq!((saved_at(first), &first.damage), (Some(number), &None));
        assert_eq!(first.serials_below, 1 << 20);
        assert!(!file.exists());
    }
}

/// [LOG-19] The pack is larger than the reserve with which a start begins.
#[test]
fn log_19_a_start_on_a_full_disk_leaves_a_pack_that_it_cannot_write_again() {
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let dir = disk.path().join("store");
    pack_in(&dir, 8000);
    let path = packs(&dir)[0].clone();
    let whole = std::fs::read(&path).unwrap();
    let rest = [1, 2, 4, 5, 6, 7, 8, 9, 10];
    let (store, _) = open(&dir);
    let ballast = disk.fill(0);
    append_now(&store, vec![other(3, REMOVE)]).unwrap();
    close(store);
    for start in 0..3 {
        assert_eq!(ids(&found(&dir)), rest, "start {start}");
        assert_eq!(std::fs::read(&path).unwrap(), whole, "start {start}");
    }
    let (store, _) = open(&dir);
    std::fs::remove_file(ballast).unwrap();
    ask(&store, LARGE, 0, 20_000).recv().unwrap().unwrap();
    close(store);
    assert!(std::fs::read(&path).unwrap().len() < whole.len());
    for log in logs(&dir) {
        std::fs::remove_file(log).unwrap();
    }
    std::fs::remove_file(dir.join("catalogue")).unwrap();
    assert_eq!(ids(&found(&dir)), rest);
}

/// Until a removed segment is forgotten, the record of its removal is needed, and no other record.
#[test]
fn log_19_a_start_on_a_full_disk_keeps_no_log_file_of_a_removed_segment_but_the_removals() {
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let dir = disk.path().join("store");
    pack_in(&dir, 8000);
    let (store, _) = open(&dir);
    for number in 2..=20 {
        append_now(&store, vec![release(3, number, diff(3, number, 5000))]).unwrap();
    }
    let ballast = disk.fill(0);
    append_now(&store, vec![other(3, REMOVE)]).unwrap();
    drop(store);
    assert!(logs(&dir).len() > 5, "{:?}", logs(&dir));
    let (store, segments) = open(&dir);
    assert!(!ids(&segments).contains(&3));
    drop(store);
    assert_eq!(logs(&dir).len(), 2, "that of the removal, and the new one");
    for start in 0..2 {
        assert!(!ids(&found(&dir)).contains(&3), "start {start}");
    }
    std::fs::remove_file(ballast).unwrap();
    assert!(!ids(&found(&dir)).contains(&3));
}

#[test]
fn log_19_a_pack_that_cannot_be_written_changes_nothing() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(LARGE, Synced)]).unwrap();
    for id in SEGMENTS {
        append_now(&store, vec![create(id, Synced)]).unwrap();
        append_now(&store, vec![release(id, 1, diff(id, 1, 100))]).unwrap();
    }
    close(store);
    let (store, say) = open_waiting(dir.path());
    let large = ask(&store, LARGE, 0, 20_000);
    let asked: Vec<Answer> = SEGMENTS.map(|id| ask(&store, id, 1, 50)).collect();
    append_now(&store, vec![]).unwrap();
    say.send(Ok(())).unwrap();
    say.send(Err(std::io::Error::other("a test"))).unwrap();
    large.recv().unwrap().unwrap();
    for answer in asked {
        assert!(answer.recv().unwrap().is_err());
    }
    drop(say);
    close(store);
    assert!(packs(dir.path()).is_empty());
    let segments = found(dir.path());
    assert!(segments
        .iter()
        .all(|s| versions(s) == [1] && s.damage.is_none()));
}

#[test]
fn log_19_a_backup_has_the_packs() {
    let dir = packed();
    let (copy, again) = (scratch(), scratch());
    backup(dir.path(), copy.path(), Wanted::Everything, &mut |_, _| ()).unwrap();
    restore(copy.path(), again.path(), &mut |_, _| ()).unwrap();
    let segments = found(again.path());
    assert_eq!(segments.len(), 10);
    assert!(segments.iter().all(|s| saved_at(s) == Some(1)));
}
