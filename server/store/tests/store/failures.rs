//! [LOG-1] [LOG-4]: group commit; syncs that fail; a disk that is full, then has space again.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use interweave_store::{verify, EmbeddedStore, Options, SegmentStore, StoreError, SyncFn};
use interweave_wire::protocol::Durability::{Memory, Synced, Written};
use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};

use crate::checkpoints::save;
use crate::model::{
    all_known, append, append_now, create, diff, open, release, scratch, small, Answer, Model,
    Random,
};

fn open_with(dir: &Path, sync: SyncFn) -> EmbeddedStore {
    let options = Options { sync, ..small() };
    EmbeddedStore::open(dir, options).unwrap().0
}

#[test]
fn all_appends_that_wait_share_one_sync() {
    let dir = scratch();
    let gate = Arc::new(Mutex::new(()));
    let (entered, entries) = std::sync::mpsc::channel();
    let inner = Arc::clone(&gate);
    let store = open_with(
        dir.path(),
        Arc::new(move |file| {
            entered.send(()).unwrap();
            drop(inner.lock().unwrap());
            file.sync_data()
        }),
    );
    append_now(&store, (1..=64).map(|id| create(id, Synced)).collect()).unwrap();
    entries.recv().unwrap();
    let closed = gate.lock().unwrap();
    let first = append(&store, vec![release(1, 1, Bytes::new())], Synced);
    entries.recv().unwrap();
    // the writer is in its sync; these wait
    let waiting: Vec<Answer> = (2..=64)
        .map(|id| append(&store, vec![release(id, 1, Bytes::new())], Synced))
        .collect();
    let before = store.status();
    drop(closed);
    for answer in [first].iter().chain(&waiting) {
        answer.recv().unwrap().unwrap();
    }
    let after = store.status();
    // a sync counts when it begins: the first group's has begun, and one follows for all others
    assert_eq!(after.syncs - before.syncs, 1);
    assert_eq!(after.groups - before.groups, 64);
}

#[test]
fn a_log_that_has_lost_what_was_written_takes_nothing_more_and_says_why() {
    let dir = scratch();
    let calls = AtomicU64::new(0);
    let store = open_with(
        dir.path(),
        Arc::new(move |file| match calls.fetch_add(1, SeqCst) {
            1 => {
                file.set_bytes(40)?;
                Err(io::Error::from_raw_os_error(5))
            }
            _ => file.sync_data(),
        }),
    );
    append_now(&store, vec![create(1, Synced)]).unwrap();
    let refused = append_now(&store, vec![release(1, 1, Bytes::new())]).unwrap_err();
    assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
    assert_eq!(store.stopped(), Some(refused));
}

#[test]
fn a_panic_of_the_thread_that_writes_is_told_to_all_who_wait_and_who_come() {
    let dir = scratch();
    let calls = AtomicU64::new(0);
    let store = open_with(
        dir.path(),
        Arc::new(move |file| match calls.fetch_add(1, SeqCst) {
            1 => panic!("told by the test"),
            _ => file.sync_data(),
        }),
    );
    append_now(&store, vec![create(1, Synced)]).unwrap();
    assert_eq!(store.stopped(), None);
    let waiting: Vec<Answer> = (1..=3)
        .map(|version| append(&store, vec![release(1, version, Bytes::new())], Synced))
        .collect();
    // answered, or let go at once: nobody waits for ever
    for answer in waiting {
        let answered = answer.recv();
        assert!(!matches!(answered, Ok(Ok(()))), "{answered:?}");
    }
    let refused = append_now(&store, vec![release(1, 1, Bytes::new())]).unwrap_err();
    assert!(
        refused.to_string().contains("told by the test"),
        "{refused}"
    );
    assert_eq!(store.stopped(), Some(refused.clone()));
    assert_eq!(Box::new(store).close(true), Err(refused));
    let (_, segments) = open(dir.path());
    assert_eq!(segments.len(), 1);
}

#[test]
fn a_panic_in_a_checkpoint_is_its_own_failure_and_the_next_is_made() {
    let dir = scratch();
    let calls = AtomicU64::new(0);
    let options = Options {
        sync_checkpoint: Arc::new(move |file| match calls.fetch_add(1, SeqCst) {
            0 => panic!("told by the test"),
            _ => file.sync_all(),
        }),
        ..small()
    };
    let (store, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    append_now(&store, vec![create(1, Synced)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 50))]).unwrap();
    let refused = save(&store, 1, 1).unwrap_err();
    assert!(
        refused.to_string().contains("told by the test"),
        "{refused}"
    );
    assert_eq!(store.stopped(), None);
    assert_eq!(store.status().errors, 1);
    save(&store, 1, 1).unwrap();
    append_now(&store, vec![release(1, 2, diff(1, 2, 50))]).unwrap();
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(crate::model::versions(&segments[0]), [1, 2]);
}

#[test]
fn what_is_not_synced_costs_no_sync() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append(&store, vec![create(1, Written)], Written)
        .recv()
        .unwrap()
        .unwrap();
    append(&store, vec![release(1, 1, Bytes::new())], Written)
        .recv()
        .unwrap()
        .unwrap();
    append(&store, vec![release(1, 2, Bytes::new())], Memory)
        .recv()
        .unwrap()
        .unwrap();
    assert_eq!(store.status().syncs, 0);
}

#[test]
fn after_a_sync_that_fails_the_log_goes_on_in_a_new_file_and_loses_nothing() {
    for seed in 21..=24 {
        let mut random = Random::seeded(seed);
        let dir = scratch();
        let calls = AtomicU64::new(0);
        let store = open_with(
            dir.path(),
            Arc::new(move |file| match calls.fetch_add(1, SeqCst) % 3 {
                2 => Err(io::Error::from_raw_os_error(5)),
                _ => file.sync_data(),
            }),
        );
        let mut model = Model::default();
        for _ in 0..80 {
            let (group, durable) = model.step(&mut random);
            append(&store, group, durable).recv().unwrap().unwrap();
        }
        assert!(store.status().errors > 10);
        assert!(store.status().full.is_none());
        drop(store);
        assert_eq!(verify(dir.path()).unwrap().damage, [] as [String; 0]);
        let (_, segments) = open(dir.path());
        assert_eq!(all_known(&segments), model.segments);
    }
}

#[test]
fn while_no_sync_succeeds_appends_are_refused_and_none_comes_back() {
    let dir = scratch();
    let broken = Arc::new(AtomicU64::new(0));
    let inner = Arc::clone(&broken);
    let store = open_with(
        dir.path(),
        Arc::new(move |file| match inner.load(SeqCst) {
            0 => file.sync_data(),
            _ => Err(io::Error::from_raw_os_error(5)),
        }),
    );
    append_now(&store, vec![create(1, Synced)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 99))]).unwrap();
    broken.store(1, SeqCst);
    let refused = append_now(&store, vec![release(1, 2, diff(1, 2, 99))]).unwrap_err();
    assert!(matches!(refused, StoreError::Io(_)), "{refused}");
    assert!(store.status().full.is_some());
    // a crash now
    let crashed = scratch();
    crate::records::copy_dir(dir.path(), crashed.path());
    broken.store(0, SeqCst);
    resumes(&store);
    append_now(&store, vec![release(1, 2, diff(1, 2, 55))]).unwrap();
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(segments[0].releases[1].1, diff(1, 2, 55));
    let (_, segments) = open(crashed.path());
    assert_eq!(segments[0].releases.len(), 1);
    assert_eq!(segments[0].damage, None);
}

#[test]
fn a_store_that_refuses_tries_again_when_the_time_that_it_is_given_has_come() {
    const HOUR: Duration = Duration::from_secs(3600);
    let dir = scratch();
    let (is_broken, now) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(Mutex::new(Instant::now())),
    );
    let (breaks, clock) = (Arc::clone(&is_broken), Arc::clone(&now));
    let options = Options {
        trial_interval: HOUR,
        sync: Arc::new(move |file| match breaks.load(SeqCst) {
            true => Err(io::Error::other("broken")),
            false => file.sync_data(),
        }),
        now: Arc::new(move || *clock.lock().unwrap()),
        ..small()
    };
    let (store, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    append_now(&store, vec![create(1, Synced)]).unwrap();
    is_broken.store(true, SeqCst);
    append_now(&store, vec![create(2, Synced)]).unwrap_err();
    is_broken.store(false, SeqCst);
    for id in 3..6 {
        append_now(&store, vec![create(id, Synced)]).unwrap_err();
    }
    *now.lock().unwrap() += HOUR;
    // The writer may wait with the old time still; behind its next message it looks again.
    drop(append_now(&store, vec![create(6, Synced)]));
    append_now(&store, vec![create(7, Synced)]).unwrap();
}

/// Waits, by asking it again and again, until the store takes appends.
fn resumes(store: &EmbeddedStore) {
    let mut tries = 0;
    while append_now(store, vec![create(1000 + tries, Synced)]).is_err() {
        tries += 1;
        std::thread::yield_now();
    }
    assert!(store.status().full.is_none());
}

/// A file system of a few hundred KiB; needs root, which tests have in CI.
pub struct TinyDisk(tempfile::TempDir);

impl TinyDisk {
    pub fn mount() -> Option<TinyDisk> {
        let dir = tempfile::tempdir().unwrap();
        let options = c"size=2m";
        match mount("tmpfs", dir.path(), "tmpfs", MountFlags::empty(), options) {
            Ok(()) => Some(TinyDisk(dir)),
            Err(error) => {
                println!("skipped: no tmpfs can be mounted ({error})");
                None
            }
        }
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Takes all space but this. Returns the file that has it.
    pub fn fill(&self, but_bytes: u64) -> PathBuf {
        let ballast = self.path().join("ballast");
        let free = rustix::fs::statvfs(self.path()).unwrap().f_bavail * 4096;
        std::fs::write(&ballast, vec![1; (free - but_bytes) as usize]).unwrap();
        ballast
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).unwrap();
    }
}

#[test]
fn a_full_disk_refuses_appends_until_there_is_space_again() {
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let dir = disk.path().join("store");
    let (store, _) = open(&dir);
    append_now(&store, vec![create(1, Synced), create(2, Memory)]).unwrap();
    // someone else takes the space but for little
    let ballast = disk.fill(100 << 10);
    let mut version = 0;
    let error = loop {
        let record = release(1, version + 1, diff(1, version + 1, 5000));
        match append_now(&store, vec![record]) {
            Ok(()) => version += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full(_)), "{error}");
    assert!(version > 5, "{version}");
    let full = store.status().full.unwrap();
    assert!(full.text.contains("space"), "{}", full.text);
    // still full: refused at once; requests that need no space succeed
    let again = append_now(&store, vec![release(1, version + 1, diff(1, 0, 10))]);
    assert!(matches!(again, Err(StoreError::Full(_))));
    append(&store, vec![release(2, 1, Bytes::new())], Memory)
        .recv()
        .unwrap()
        .unwrap();
    // as a crash would leave it
    let crashed = scratch();
    crate::records::copy_dir(&dir, crashed.path());
    let (_, segments) = open(crashed.path());
    assert_eq!(all_known(&segments)[&1].releases.len() as u64, version);

    std::fs::remove_file(&ballast).unwrap();
    resumes(&store);
    append_now(
        &store,
        vec![release(1, version + 1, diff(1, version + 1, 10))],
    )
    .unwrap();
    drop(store);
    let (_, segments) = open(&dir);
    let known = all_known(&segments);
    assert_eq!(known[&1].releases.len() as u64, version + 1);
    assert_eq!(verify(&dir).unwrap().damage, [] as [String; 0]);
}

/// Takes all the space that is left.
fn fill(disk: &TinyDisk) -> std::path::PathBuf {
    let ballast = disk.0.path().join("ballast");
    let mut file = std::fs::File::create(&ballast).unwrap();
    while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
    assert_eq!(rustix::fs::statvfs(disk.0.path()).unwrap().f_bavail, 0);
    ballast
}

/// Releases of a segment until the store is full; the last version.
fn until_full(store: &EmbeddedStore, segment_id: u64, mut version: u64) -> u64 {
    loop {
        let next = release(segment_id, version + 1, diff(segment_id, version + 1, 5000));
        match append_now(store, vec![next]) {
            Ok(()) => version += 1,
            Err(StoreError::Full(_)) => return version,
            Err(other) => panic!("{other}"),
        }
    }
}

#[test]
fn a_store_that_is_full_with_its_own_log_is_freed_by_the_checkpoints_that_it_asks_for() {
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let dir = disk.0.path().join("store");
    let (store, _) = open(&dir);
    append_now(&store, vec![create(1, Synced), create(2, Synced)]).unwrap();
    append_now(&store, vec![release(2, 1, diff(2, 1, 5000))]).unwrap();
    let version = until_full(&store, 1, 0);
    assert!(version > 100, "{version} releases filled the disk");
    let mut overdue = store.overdue();
    overdue.sort();
    assert_eq!(overdue, [1, 2]);
    for (id, version) in [(2, 1), (1, version)] {
        save(&store, id, version).unwrap();
    }
    resumes(&store);
    append_now(&store, vec![release(1, version + 1, diff(1, 0, 5000))]).unwrap();
    drop(store);
    assert_eq!(verify(&dir).unwrap().damage, [] as [String; 0]);
}

#[test]
fn a_store_is_opened_on_a_disk_without_any_space_again_and_again() {
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let dir = disk.0.path().join("store");
    // so large that what is put by for the start does not make another
    let options = Options {
        log_file_bytes: 256 << 10,
        ..small()
    };
    let open = |dir: &Path| EmbeddedStore::open(dir, options.clone()).unwrap();
    let (store, _) = open(&dir);
    append_now(&store, vec![create(1, Synced)]).unwrap();
    save(&store, 1, 0).unwrap();
    // what is freed at last is enough for a log file
    let spare = disk.0.path().join("spare");
    std::fs::write(&spare, vec![1; 256 << 10]).unwrap();
    let version = until_full(&store, 1, 0);
    let ballast = fill(&disk);
    drop(store);
    for _ in 0..3 {
        let (store, segments) = open(&dir);
        assert_eq!(segments[0].releases.len() as u64, version);
        assert_eq!(segments[0].damage, None);
        assert!(store.status().full.is_some());
        let refused = append_now(&store, vec![release(1, version + 1, diff(1, 0, 10))]);
        assert!(matches!(refused, Err(StoreError::Full(_))), "{refused:?}");
        assert_eq!(store.overdue(), [1]);
    }
    std::fs::remove_file(&ballast).unwrap();
    std::fs::remove_file(&spare).unwrap();
    let (store, _) = open(&dir);
    append_now(&store, vec![release(1, version + 1, diff(1, 0, 10))]).unwrap();
}

/// Not a test: a process whose files may not grow, whose limit is then lifted.
#[test]
#[ignore = "run by the test below"]
fn runs_into_a_limit_of_file_size() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    let lifted = getrlimit(Resource::Fsize);
    let limit = Rlimit {
        current: Some(8 << 10),
        ..lifted
    };
    setrlimit(Resource::Fsize, limit).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 5000))]).unwrap();
    // neither into this file nor into any that may be made
    let refused = append_now(&store, vec![release(1, 2, diff(1, 2, 9000))]).unwrap_err();
    assert!(matches!(refused, StoreError::Full(_)), "{refused}");
    setrlimit(Resource::Fsize, lifted).unwrap();
    resumes(&store);
    append_now(&store, vec![release(1, 2, diff(1, 2, 77))]).unwrap();
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(segments[0].releases[1].1, diff(1, 2, 77));
    println!("the limit was lifted");
}

#[test]
fn a_write_that_fails_half_way_leaves_nothing() {
    let child = Command::new("sh")
        .args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "failures::runs_into_a_limit_of_file_size"])
        .args(["--ignored", "--nocapture"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
    assert!(said.contains("the limit was lifted"), "{said}");
}

#[test]
fn a_release_larger_than_a_log_file_and_than_the_format() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    let large = diff(1, 1, 3 << 20);
    append_now(&store, vec![release(1, 1, large.clone())]).unwrap();
    append_now(&store, vec![release(1, 2, diff(1, 2, 10))]).unwrap();
    // never touched, so never in memory
    let huge = Bytes::from(vec![0; (1 << 32) - (1 << 16) + 1]);
    let refused = append_now(&store, vec![release(1, 3, huge)]);
    assert!(matches!(refused, Err(StoreError::TooLarge { .. })));
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(segments[0].releases.len(), 2);
    assert_eq!(segments[0].releases[0].1, large);
}
