//! Backups of stores at rest and at work, and what is made of them.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use interweave_store::{backup, restore, verify, EmbeddedStore, StoreError, Wanted};
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::VersionStamp;

use crate::model::{
    all_known, append_now, checkpoint, create, diff, known, open, quiet, release, scratch, small,
    versions, Model, Random,
};
use crate::records::{files, logs, spans};

/// [LOG-10]
#[test]
fn a_restored_store_is_the_one_that_was_backed_up_in_new_incarnations() {
    let mut random = Random::seeded(41);
    let (dir, copy, again) = (scratch(), scratch(), scratch());
    let (store, _) = open(dir.path());
    let mut model = Model::default();
    for _ in 0..60 {
        append_now(&store, model.step(&mut random).0).unwrap();
    }
    let mut heard = Vec::new();
    let report = backup(
        dir.path(),
        copy.path(),
        Wanted::Everything,
        &mut |done, total| heard.push((done, total)),
    );
    assert_eq!(report.unwrap().segments, model.segments.len() as u64);
    assert!(heard.is_sorted());
    assert_eq!(heard.last().unwrap().0, heard[0].1);
    let report = restore(copy.path(), again.path(), &mut quiet).unwrap();
    assert_eq!(report.damage, [] as [String; 0]);
    let epoch = interweave_store::SegmentStore::owner_epoch(&store);
    drop(store);

    let (store, segments) = open(again.path());
    // beyond any that the original may reach
    assert!(interweave_store::SegmentStore::owner_epoch(&store) > epoch);
    for segment in &segments {
        let mut found = known(segment);
        let original = &model.segments[&segment.segment_id];
        assert_ne!(found.incarnation, original.incarnation);
        found.incarnation = original.incarnation;
        assert_eq!(found, *original);
    }
    assert_eq!(segments.len(), model.segments.len());
}

/// A loss of power may leave none.
#[test]
fn a_store_without_witnesses_is_backed_up() {
    let (dir, copy) = (scratch(), scratch());
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    drop(store);
    for witness in files(dir.path(), ".iww") {
        std::fs::remove_file(witness).unwrap();
    }
    let report = backup(dir.path(), copy.path(), Wanted::Everything, &mut quiet);
    assert_eq!(report.unwrap().segments, 1);
}

#[test]
fn a_report_counts_the_records_and_the_checkpoints_and_their_bytes() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    for version in 1..=3 {
        append_now(&store, vec![release(1, version, diff(1, version, 77))]).unwrap();
    }
    for (id, number, bytes) in [(1, 3, 500), (2, 0, 60)] {
        let at = VersionStamp {
            incarnation: 1,
            number,
            chain: number,
        };
        let saved = checkpoint(&store, id, at, diff(id, number, bytes)).recv();
        saved.unwrap().unwrap();
    }
    drop(store);
    let log = std::fs::read(&logs(dir.path())[0]).unwrap();
    let all = spans(&log);
    let bytes: usize = all.iter().map(|span| span.next - span.start).sum();
    let report = verify(dir.path()).unwrap();
    let counts = (report.segments, report.records, report.checkpoints);
    assert_eq!(counts, (2, all.len() as u64, 2));
    assert_eq!((all.len(), report.bytes), (5, bytes as u64 + 560));
}

/// [LOG-10]
#[test]
fn a_backup_of_a_store_at_work_is_a_moment_of_it() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 3000))]).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let stopping = Stop(&stop);
        let writer = scope.spawn(|| work(&store, &stop));
        let mut last = 0;
        for _ in 0..30 {
            let (copy, again) = (scratch(), scratch());
            backup(dir.path(), copy.path(), Wanted::Everything, &mut quiet).unwrap();
            restore(copy.path(), again.path(), &mut quiet).unwrap();
            let (_, segments) = open(again.path());
            let found = versions(&segments[0]);
            assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1));
            for (release, diff_found) in &segments[0].releases {
                assert_eq!(*diff_found, diff(1, release.version, 3000));
            }
            assert!(*found.last().unwrap() >= last);
            last = *found.last().unwrap();
        }
        drop(stopping);
        assert!(writer.join().unwrap() >= last);
    });
}

/// Also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Releases, with a checkpoint now and then, until it is told to stop.
fn work(store: &EmbeddedStore, stop: &AtomicBool) -> u64 {
    let mut version = 1;
    while !stop.load(SeqCst) {
        version += 1;
        append_now(store, vec![release(1, version, diff(1, version, 3000))]).unwrap();
        if version % 20 == 0 {
            let at = VersionStamp {
                incarnation: 1,
                number: version,
                chain: version,
            };
            checkpoint(store, 1, at, diff(1, 0, 20))
                .recv()
                .unwrap()
                .unwrap();
        }
    }
    version
}

#[test]
fn any_changed_or_missing_byte_of_a_backup_shows() {
    let (dir, copy) = (scratch(), scratch());
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 30))]).unwrap();
    backup(dir.path(), copy.path(), Wanted::Everything, &mut quiet).unwrap();
    let path = &logs(copy.path())[0];
    let whole = std::fs::read(path).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 4;
        std::fs::write(path, changed).unwrap();
        assert!(!verify(copy.path()).unwrap().damage.is_empty(), "byte {at}");
    }
    std::fs::write(path, &whole[..whole.len() - 8]).unwrap();
    let again = scratch();
    let refused = restore(copy.path(), again.path(), &mut quiet).unwrap_err();
    assert!(matches!(refused, StoreError::NotWhole { .. }));
    std::fs::remove_file(path).unwrap();
    assert!(!verify(copy.path()).unwrap().damage.is_empty());
    std::fs::write(path, &whole).unwrap();
    assert_eq!(verify(copy.path()).unwrap().damage, [] as [String; 0]);
    let list = copy.path().join("BACKUP");
    let whole = std::fs::read(&list).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x84;
        std::fs::write(&list, changed).unwrap();
        assert!(!verify(copy.path()).unwrap().damage.is_empty(), "byte {at}");
        std::fs::write(&list, &whole[..at]).unwrap();
        assert!(
            !verify(copy.path()).unwrap().damage.is_empty(),
            "cut at {at}"
        );
    }
}

#[test]
fn a_backup_is_not_taken_for_a_store_nor_a_store_for_a_backup_nor_is_anything_overwritten() {
    let (dir, copy, again) = (scratch(), scratch(), scratch());
    assert!(matches!(
        backup(dir.path(), copy.path(), Wanted::Everything, &mut quiet),
        Err(StoreError::Io(_))
    ));
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    backup(dir.path(), copy.path(), Wanted::Everything, &mut quiet).unwrap();
    let refused = EmbeddedStore::open(copy.path(), small()).unwrap_err();
    assert!(
        refused.to_string().contains("interweave restore"),
        "{refused}"
    );
    let refused = restore(dir.path(), again.path(), &mut quiet).unwrap_err();
    assert!(refused.to_string().contains("not a backup"), "{refused}");
    let refused = backup(dir.path(), copy.path(), Wanted::Everything, &mut quiet).unwrap_err();
    assert!(refused.to_string().contains("not empty"), "{refused}");
    // as an interrupted copy is left
    std::fs::write(copy.path().join("BACKUP"), "interweave backup unfinished").unwrap();
    assert!(restore(copy.path(), again.path(), &mut quiet).is_err());
    assert!(files(again.path(), "").is_empty());
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(all_known(&segments).len(), 1);
}
