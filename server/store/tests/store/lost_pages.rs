//! [LOG-4]: a sync fails, its pages are shown and never come to the disk, and a later sync succeeds
//! all the same. Then the power fails.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, IoSlice};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use interweave_store::disk::{Directory, Disk, DiskFile, How, OpenFile, SharedDisk};
use interweave_store::{
    verify, EmbeddedStore, Options, RecoveredSegment, SegmentStore, StoreError, Turns,
};
use interweave_wire::protocol::Durability::{self, Synced, Written};
use interweave_wire::protocol::VersionStamp;

use crate::model::{append, checkpoint, create, diff, release, scratch, small, versions, Random};

/// The bytes of one file that are shown and not on the disk.
#[derive(Debug, Default)]
struct Pages {
    dirty: BTreeSet<u64>,
    lost: BTreeSet<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// By inode.
    pages: HashMap<u64, Pages>,
    /// So many syncs of log files fail from now on.
    failing: u64,
    /// So many writes to log files fail from now on.
    failing_writes: u64,
}

/// A directory whose syncs can fail as those of Linux do.
#[derive(Debug)]
struct LossyDisk {
    inner: Directory,
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct LossyFile {
    inner: OpenFile,
    is_log: bool,
    state: Arc<Mutex<State>>,
}

impl LossyDisk {
    fn at(dir: &Path) -> LossyDisk {
        LossyDisk {
            inner: Directory::at(dir),
            state: Arc::default(),
        }
    }

    fn fail_syncs(&self, count: u64) {
        self.state.lock().unwrap().failing = count;
    }

    fn fail_writes(&self, count: u64) {
        self.state.lock().unwrap().failing_writes = count;
    }

    /// Of each file the bytes go that are not on the disk.
    fn lose_power(&self) {
        self.lose(|pages| pages.dirty.union(&pages.lost).copied().collect());
    }

    /// The bytes that failed syncs left out are not shown any more either.
    fn drop_lost(&self) {
        self.lose(|pages| pages.lost.iter().copied().collect());
    }

    /// Of each file these bytes go.
    fn lose(&self, which: impl Fn(&Pages) -> Vec<u64>) {
        let state = self.state.lock().unwrap();
        for entry in std::fs::read_dir(self.inner.path()).unwrap() {
            let path = entry.unwrap().path();
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            let about = file.metadata().unwrap();
            let Some(pages) = state.pages.get(&about.ino()) else {
                continue;
            };
            for at in which(pages).into_iter().filter(|&at| at < about.len()) {
                file.write_all_at(&[0], at).unwrap();
            }
        }
    }
}

impl LossyFile {
    fn pages(&self, change: impl FnOnce(&mut Pages)) {
        let file = self.inner.as_file().unwrap();
        let inode = file.metadata().unwrap().ino();
        change(self.state().pages.entry(inode).or_default());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn sync(&self) -> io::Result<()> {
        let fails = self.is_log && self.state().failing > 0;
        self.pages(|pages| {
            let dirty = std::mem::take(&mut pages.dirty);
            if fails {
                pages.lost.extend(dirty);
            }
        });
        if fails {
            self.state().failing -= 1;
            return Err(io::Error::from_raw_os_error(5));
        }
        Ok(())
    }
}

impl DiskFile for LossyFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        DiskFile::read_at(&*self.inner, bytes, offset)
    }

    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        if self.is_log && self.state().failing_writes > 0 {
            self.state().failing_writes -= 1;
            return Err(io::Error::from_raw_os_error(5));
        }
        let count = DiskFile::write_at(&*self.inner, slices, offset)?;
        self.pages(|pages| {
            for at in offset..offset + count as u64 {
                pages.lost.remove(&at);
                pages.dirty.insert(at);
            }
        });
        Ok(count)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.inner.set_bytes(bytes)
    }

    fn preallocate(&self, bytes: u64) -> io::Result<()> {
        self.inner.preallocate(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.sync()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync()
    }

    fn bytes(&self) -> io::Result<u64> {
        self.inner.bytes()
    }

    fn has_name(&self) -> io::Result<bool> {
        self.inner.has_name()
    }

    /// A process that was killed holds no lock.
    fn lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn unlock(&self) {}
}

impl Disk for LossyDisk {
    fn path(&self) -> &Path {
        self.inner.path()
    }

    fn make(&self) -> io::Result<()> {
        self.inner.make()
    }

    fn open(&self, name: &str, how: How) -> io::Result<OpenFile> {
        Ok(Arc::new(LossyFile {
            inner: self.inner.open(name, how)?,
            is_log: name.contains(".iwl"),
            state: Arc::clone(&self.state),
        }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn bytes_of(&self, name: &str) -> io::Result<u64> {
        self.inner.bytes_of(name)
    }

    fn free_bytes(&self) -> u64 {
        self.inner.free_bytes()
    }

    fn restrict(&self, names: &[String]) {
        self.inner.restrict(names);
    }
}

/// A store on such a disk, with segment 1 that is WRITTEN and segment 2 that is SYNCED.
struct Bench {
    dir: tempfile::TempDir,
    disk: Arc<LossyDisk>,
    store: EmbeddedStore,
    turns: Turns,
    versions: [u64; 2],
}

fn open(disk: &Arc<LossyDisk>) -> (EmbeddedStore, Turns, Vec<RecoveredSegment>) {
    let shared: SharedDisk = Arc::clone(disk) as SharedDisk;
    let options = Options {
        // Each turn tries again.
        trial_interval: Duration::ZERO,
        ..small()
    };
    EmbeddedStore::open_in_turns(&shared, options).unwrap()
}

impl Bench {
    fn new() -> Bench {
        let dir = scratch();
        let disk = Arc::new(LossyDisk::at(dir.path()));
        let (store, turns, _) = open(&disk);
        let bench = Bench {
            dir,
            disk,
            store,
            turns,
            versions: [0, 0],
        };
        bench.append(vec![create(1, Written)], Written).unwrap();
        bench.append(vec![create(2, Synced)], Synced).unwrap();
        bench
    }

    fn append(
        &self,
        group: Vec<interweave_store::Record>,
        durable: Durability,
    ) -> Result<(), StoreError> {
        let answer = append(&self.store, group, durable);
        while self.turns.write() {}
        // A group that failed and may yet be found is answered later.
        let late = || StoreError::Io("not answered yet".to_string());
        answer.try_recv().unwrap_or_else(|_| Err(late()))
    }

    /// The next version of the segment, as durable as the segment is.
    fn release(&mut self, id: u64) -> bool {
        let version = self.versions[id as usize - 1] + 1;
        let durable = [Written, Synced][id as usize - 1];
        let done = self.append(vec![release(id, version, diff(id, version, 90))], durable);
        self.versions[id as usize - 1] += u64::from(done.is_ok());
        done.is_ok()
    }

    fn checkpoint(&self, id: u64) -> bool {
        let number = self.versions[id as usize - 1];
        let at = VersionStamp {
            incarnation: 1,
            number,
            chain: number,
        };
        let answer = checkpoint(&self.store, id, at, Bytes::new());
        while self.turns.write() | self.turns.save() {}
        answer.try_recv().unwrap().is_ok()
    }

    /// The process is killed and another one starts. What it finds.
    fn restart(self) -> (Bench, Vec<RecoveredSegment>) {
        let Bench {
            dir,
            disk,
            store,
            turns,
            versions,
        } = self;
        std::mem::forget(store);
        drop(turns);
        let (store, turns, found) = open(&disk);
        let bench = Bench {
            dir,
            disk,
            store,
            turns,
            versions,
        };
        (bench, found)
    }

    /// Lets the power fail. No segment is damaged, SYNCED releases are all there, and others to
    /// some version.
    fn lose_power(self, what: &str) {
        let Bench {
            dir,
            disk,
            store,
            turns,
            versions: acknowledged,
        } = self;
        std::mem::forget(store);
        drop(turns);
        disk.lose_power();
        assert_eq!(
            verify(dir.path()).unwrap().damage,
            [] as [String; 0],
            "{what}"
        );
        let (_, _, found) = open(&disk);
        for segment in &found {
            let last = versions(segment).last().copied().unwrap_or(0);
            let all = acknowledged[segment.segment_id as usize - 1];
            assert!(last <= all, "{what}: {last} of {all}");
            assert!(
                segment.segment_id == 1 || last == all,
                "{what}: {last} of {all}"
            );
        }
        assert_eq!(found.len(), 2, "{what}");
    }
}

#[test]
fn log_4_what_a_failed_sync_left_out_is_written_again_before_a_newer_file() {
    // the second failure is that of the same place, the third that of the copy
    for failures in 1..=3 {
        let mut bench = Bench::new();
        assert!(bench.release(1));
        bench.disk.fail_syncs(failures);
        assert_eq!(bench.release(2), failures < 3, "{failures} failures");
        bench.disk.fail_syncs(0);
        bench.lose_power(&format!("{failures} failures"));
    }
}

#[test]
fn log_4_a_store_that_refuses_stops_when_what_was_written_is_dropped() {
    let mut bench = Bench::new();
    assert!(bench.release(1));
    bench.disk.fail_syncs(100);
    assert!(!bench.release(2));
    bench.disk.fail_syncs(0);
    bench.disk.drop_lost();
    assert!(!bench.release(2));
    let stopped = bench.store.stopped();
    let is_damage = |error: &StoreError| matches!(error, StoreError::Damaged { .. });
    assert!(stopped.as_ref().is_some_and(is_damage), "{stopped:?}");
}

/// The rest of a write that failed is cut off, and the cut needs a sync of its own.
#[test]
fn log_4_what_the_sync_of_a_cut_left_out_is_written_again() {
    let mut bench = Bench::new();
    assert!(bench.release(1));
    // the record's, and that of the head of a new file
    bench.disk.fail_writes(2);
    bench.disk.fail_syncs(1);
    assert!(!bench.release(1));
    bench.disk.fail_syncs(0);
    assert!(bench.release(1) && bench.release(2));
    bench.lose_power("after a cut");
}

#[test]
fn log_4_a_start_writes_again_what_no_sync_of_an_earlier_process_covers() {
    let mut bench = Bench::new();
    assert!(bench.release(1));
    bench.disk.fail_syncs(100);
    assert!(!bench.release(2));
    bench.disk.fail_syncs(0);
    let (mut bench, found) = bench.restart();
    assert_eq!(versions(&found[0]), [1]);
    assert!(bench.release(1) && bench.release(2));
    bench.lose_power("after a restart");
}

#[test]
fn log_4_no_checkpoint_is_ahead_of_what_a_failed_sync_left_out() {
    let mut bench = Bench::new();
    assert!(bench.release(1));
    bench.disk.fail_syncs(1);
    assert!(bench.checkpoint(1));
    assert!(bench.release(1) && bench.release(2));
    bench.lose_power("after a checkpoint");
}

#[test]
fn log_4_a_file_takes_nothing_more_after_a_sync_for_a_checkpoint_has_failed() {
    // the second failure is that of the same place, the third that of the copy
    for failures in 1..=3 {
        let mut bench = Bench::new();
        assert!(bench.release(1));
        bench.disk.fail_syncs(failures);
        assert_eq!(bench.checkpoint(1), failures < 3, "{failures} failures");
        bench.disk.fail_syncs(0);
        assert!(bench.release(2) && bench.release(2));
        bench.lose_power(&format!("{failures} failures"));
    }
}

#[test]
fn log_4_no_segment_suffers_wherever_syncs_fail() {
    for seed in 301..=420 {
        let mut random = Random::seeded(seed);
        let mut bench = Bench::new();
        for _ in 0..60 + random.below(100) {
            match random.below(16) {
                0 => bench.disk.fail_syncs(1 + random.below(4)),
                3 => bench.disk.fail_writes(1 + random.below(4)),
                1 => {
                    bench.disk.fail_syncs(0);
                    bench.disk.fail_writes(0);
                    bench = bench.restart().0;
                }
                2 => drop(bench.checkpoint(1 + random.below(2))),
                _ => drop(bench.release(1 + random.below(2))),
            }
        }
        bench.disk.fail_syncs(0);
        bench.disk.fail_writes(0);
        bench.lose_power(&format!("seed {seed}"));
    }
}
