//! A disk on which calls of the log fail, stand still, or find no space. A process can end, too:
//! afterwards its calls do nothing.

use crate::locked;
use interweave_store::disk::{Disk, DiskFile, How, OpenFile, SharedDisk};
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Longer than any append takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A call of the log that can stand still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Before its bytes are written.
    Write,
    /// Before they are synced.
    Sync,
}

#[derive(Debug, Default)]
struct State {
    has_ended: bool,
    is_full: bool,
    failing_syncs: u32,
    hold: Option<Step>,
    is_held: bool,
}

/// The faults that the calls of one process meet.
#[derive(Debug, Default, Clone)]
pub struct Faults(Arc<(Mutex<State>, Condvar)>);

impl Faults {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.0 .0)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state());
        self.0 .1.notify_all();
    }

    /// The process ends.
    pub fn end(&self) {
        self.change(|state| state.has_ended = true);
    }

    pub fn fill(&self, is_full: bool) {
        self.change(|state| state.is_full = is_full);
    }

    /// So many of the next commits to log files fail. A file can still be made or cut.
    pub fn fail_syncs(&self, count: u32) {
        self.change(|state| state.failing_syncs = count);
    }

    /// The next call of that kind stands still.
    pub fn hold(&self, step: Step) {
        self.change(|state| state.hold = Some(step));
    }

    /// Waits until a call stands still. False: none does.
    pub fn is_held(&self) -> bool {
        let waits = |state: &mut State| !state.is_held;
        let waited = self.0 .1.wait_timeout_while(self.state(), PATIENCE, waits);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_held
    }

    pub fn let_go(&self) {
        self.change(|state| {
            state.is_held = false;
            state.hold = None;
        });
    }

    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let state = self.state();
        match state.has_ended {
            true => Err(io::Error::other("the process has ended")),
            false => Ok(state),
        }
    }

    /// A call of the log: it may stand still here.
    fn begin_step(&self, step: Step) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.begin()?;
        if state.hold == Some(step) {
            state.hold = None;
            state.is_held = true;
            self.0 .1.notify_all();
            let waits = |state: &mut State| state.is_held && !state.has_ended;
            let waited = self.0 .1.wait_while(state, waits);
            drop(waited.unwrap_or_else(PoisonError::into_inner));
            return self.begin();
        }
        Ok(state)
    }
}

/// Another disk with these faults, as one process sees it.
#[derive(Debug)]
pub struct FaultyDisk {
    disk: SharedDisk,
    faults: Faults,
}

impl FaultyDisk {
    pub fn over(disk: SharedDisk, faults: Faults) -> FaultyDisk {
        FaultyDisk { disk, faults }
    }

    fn begin(&self) -> io::Result<&dyn Disk> {
        drop(self.faults.begin()?);
        Ok(&*self.disk)
    }
}

impl Disk for FaultyDisk {
    fn path(&self) -> &Path {
        self.disk.path()
    }

    fn make(&self) -> io::Result<()> {
        self.begin()?.make()
    }

    fn open(&self, name: &str, how: How) -> io::Result<OpenFile> {
        Ok(Arc::new(FaultyFile {
            file: self.begin()?.open(name, how)?,
            faults: self.faults.clone(),
            is_log: name.contains(".iwl"),
        }))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.begin()?.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.begin()?.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.begin()?.list()
    }

    fn sync(&self) -> io::Result<()> {
        self.begin()?.sync()
    }

    fn bytes_of(&self, name: &str) -> io::Result<u64> {
        self.begin()?.bytes_of(name)
    }

    fn free_bytes(&self) -> u64 {
        match self.faults.state().is_full {
            true => 0,
            false => self.disk.free_bytes(),
        }
    }

    fn restrict(&self, names: &[String]) {
        if let Ok(disk) = self.begin() {
            disk.restrict(names);
        }
    }
}

#[derive(Debug)]
struct FaultyFile {
    file: OpenFile,
    faults: Faults,
    is_log: bool,
}

impl FaultyFile {
    fn begin(&self) -> io::Result<&dyn DiskFile> {
        drop(self.faults.begin()?);
        Ok(&*self.file)
    }

    /// A full disk takes what it has space for already.
    fn grow_to(&self, bytes: u64) -> io::Result<&dyn DiskFile> {
        let is_full = self.faults.begin()?.is_full;
        match is_full && bytes > self.file.bytes()? {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(&*self.file),
        }
    }

    /// Begins the sync of a commit, which may stand still or fail.
    fn begin_sync(&self) -> io::Result<&dyn DiskFile> {
        if !self.is_log {
            return self.begin();
        }
        let mut state = self.faults.begin_step(Step::Sync)?;
        match state.failing_syncs.checked_sub(1) {
            None => Ok(&*self.file),
            Some(left) => {
                state.failing_syncs = left;
                Err(io::Error::other("the disk fails"))
            }
        }
    }
}

impl DiskFile for FaultyFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.begin()?.read_at(bytes, offset)
    }

    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        if self.is_log {
            drop(self.faults.begin_step(Step::Write)?);
        }
        let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
        let file = self.grow_to(offset + bytes as u64)?;
        file.write_at(slices, offset)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.grow_to(bytes)?.set_bytes(bytes)
    }

    fn preallocate(&self, bytes: u64) -> io::Result<()> {
        self.grow_to(bytes)?.preallocate(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.begin_sync()?.sync_data()
    }

    fn sync_all(&self) -> io::Result<()> {
        self.begin()?.sync_all()
    }

    fn bytes(&self) -> io::Result<u64> {
        self.begin()?.bytes()
    }

    fn has_name(&self) -> io::Result<bool> {
        self.begin()?.has_name()
    }

    /// Several owners live here, as where locks do not work.
    fn lock(&self) -> io::Result<bool> {
        self.begin().map(|_| true)
    }

    fn unlock(&self) {}
}
