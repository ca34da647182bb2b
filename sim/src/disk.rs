//! The disk in memory. It keeps what the operating system shows and what a loss of power leaves
//! apart, and fails as it is told.
//!
//! A file's bytes are `shown`; `kept` are those that a loss of power leaves. Between both lie the
//! dirty places, which a sync takes over. So do the names: `kept_names` follow `names` when the
//! directory is synced. A loss of power takes over some of the dirty bytes, in sectors, and the
//! first of the changed names.

mod file;

use crate::random::Random;
use file::File;
use interweave_store::disk::{Disk, How, OpenFile};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A write of so many bytes is whole or not there after a loss of power.
const SECTOR_BYTES: usize = 512;
/// How long a call takes, and a sync at most.
const CALL_NS: u64 = 4_000;
const SYNC_NS: u64 = 3_000_000;
/// Of a store (spec/format/server-log.md): the catalogue's name, and the head of a log file.
const CATALOGUE: &str = "catalogue";
const LOG_HEAD_BYTES: usize = 88;

#[derive(Debug, Default)]
struct Inode {
    shown: Vec<u8>,
    kept: Vec<u8>,
    dirty: Vec<(usize, usize)>,
    links: u32,
    /// The process that has locked it.
    locked: Option<u64>,
}

#[derive(Debug, Clone)]
enum NameChange {
    Set(String, u64),
    Removed(String),
}

/// A disk's faults.
#[derive(Debug, Clone, Copy, Default)]
pub struct Faults {
    /// The disk has no space for more.
    pub is_full: bool,
    /// Each so manieth write fails; 0: none.
    pub failing_writes: u64,
    /// The next sync of a file fails, and its dirty bytes never come to the disk.
    pub fails_sync: bool,
    /// With that, what is shown is what the disk has, too.
    pub drops_pages: bool,
}

/// A file of which a bit has changed.
#[derive(Debug)]
pub struct Flipped {
    pub name: String,
    /// It is the log that was written last.
    pub is_newest: bool,
}

#[derive(Debug)]
struct State {
    inodes: BTreeMap<u64, Inode>,
    names: BTreeMap<String, u64>,
    kept_names: BTreeMap<String, u64>,
    changes: Vec<NameChange>,
    last_inode: u64,
    last_process: u64,
    /// The server's, if there are several.
    process: u64,
    /// Those that may use the disk. The calls of others fail.
    living: BTreeSet<u64>,
    /// Locks of others do not keep it out.
    lawless: Option<u64>,
    /// The power goes off, or the server's process ends, after so many of its calls.
    ends_after: Option<u64>,
    has_ended: bool,
    /// An older state of all files.
    copy: Option<BTreeMap<String, Vec<u8>>>,
    faults: Faults,
    /// Something may be lost although the power was never off.
    has_lost: bool,
    has_flipped: bool,
    has_lost_catalogue: bool,
    random: Random,
    cost_ns: u64,
    calls: u64,
    failures: u64,
    capacity: usize,
}

/// The disk of one machine.
#[derive(Debug, Clone)]
pub struct SimDisk(Arc<Mutex<State>>);

impl SimDisk {
    pub fn new(random: Random, capacity: usize) -> SimDisk {
        SimDisk(Arc::new(Mutex::new(State {
            inodes: BTreeMap::new(),
            names: BTreeMap::new(),
            kept_names: BTreeMap::new(),
            changes: Vec::new(),
            last_inode: 0,
            last_process: 0,
            process: 0,
            living: BTreeSet::new(),
            lawless: None,
            ends_after: None,
            has_ended: false,
            copy: None,
            faults: Faults::default(),
            has_lost: false,
            has_flipped: false,
            has_lost_catalogue: false,
            random,
            cost_ns: 0,
            calls: 0,
            failures: 0,
            capacity,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The disk as a new process of a server sees it. All earlier processes have ended.
    pub fn of_new_process(&self) -> OfProcess {
        self.state().living.clear();
        let disk = self.of_further_process();
        self.is_of_server(disk.process);
        disk
    }

    /// The disk as a process sees it that begins while others live.
    pub fn of_further_process(&self) -> OfProcess {
        let mut state = self.state();
        state.last_process += 1;
        let process = state.last_process;
        state.living.insert(process);
        OfProcess {
            disk: self.clone(),
            process,
        }
    }

    /// From now on the process is the server's, and so are all locks.
    pub fn is_of_server(&self, process: u64) {
        let mut state = self.state();
        state.process = process;
        state.lawless = None;
        for inode in state
            .inodes
            .values_mut()
            .filter(|inode| inode.locked.is_some())
        {
            inode.locked = Some(process);
        }
        state.has_ended = false;
        state.ends_after = None;
    }

    /// The process ends at once.
    pub fn end(&self, process: u64) {
        self.state().living.remove(&process);
    }

    /// Locks of files do not keep that process out.
    pub fn let_in(&self, process: u64) {
        self.state().lawless = Some(process);
    }

    /// Keeps a copy of all files. REQUIRES: no process has the disk open.
    pub fn copy(&self) {
        let mut state = self.state();
        let shown = |number| state.inodes.get(number).map(|inode| inode.shown.clone());
        let files = state.names.iter();
        let files = files.filter_map(|(name, number)| Some((name.clone(), shown(number)?)));
        let files = files.collect();
        state.copy = Some(files);
    }

    /// Puts the copy in the place of all files. False: no copy was made.
    pub fn put_copy_back(&self) -> bool {
        let mut state = self.state();
        let Some(copy) = state.copy.clone() else {
            return false;
        };
        state.inodes.clear();
        state.names.clear();
        state.changes.clear();
        for (name, bytes) in copy {
            state.last_inode += 1;
            let number = state.last_inode;
            let inode = Inode {
                kept: bytes.clone(),
                shown: bytes,
                links: 1,
                ..Inode::default()
            };
            state.inodes.insert(number, inode);
            state.names.insert(name, number);
        }
        state.kept_names = state.names.clone();
        true
    }

    /// The process ends after so many further calls; see [`SimDisk::has_ended`].
    pub fn end_after(&self, calls: u64) {
        self.state().ends_after = Some(calls);
    }

    pub fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    pub fn faults(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.state().faults);
    }

    /// How long the calls since the last time took.
    pub fn take_cost_ns(&self) -> u64 {
        std::mem::take(&mut self.state().cost_ns)
    }

    /// Whether something may be lost although the power was never off. Then begins anew.
    pub fn take_has_lost(&self) -> bool {
        std::mem::take(&mut self.state().has_lost)
    }

    /// The power goes off and comes back.
    pub fn lose_power(&self) {
        self.state().lose_power();
    }

    /// Changes a bit of a file, and may lose the catalogue. None: the disk has no file for it.
    pub fn flip_bit(&self, loses_catalogue: bool) -> Option<Flipped> {
        self.state().flip_bit(loses_catalogue)
    }

    /// How many calls there were, and how many of them failed.
    pub fn counts(&self) -> (u64, u64) {
        let state = self.state();
        (state.calls, state.failures)
    }
}

impl State {
    /// The beginning of each call.
    fn begin(&mut self, process: u64) -> io::Result<()> {
        let is_servers = self.process == process;
        if !self.living.contains(&process) || is_servers && self.has_ended {
            return Err(io::Error::other("the process has ended"));
        }
        self.calls += 1;
        self.cost_ns += CALL_NS;
        if let Some(left) = self.ends_after.as_mut().filter(|_| is_servers) {
            if *left == 0 {
                self.has_ended = true;
                return Err(io::Error::other("the process has ended"));
            }
            *left -= 1;
        }
        Ok(())
    }

    fn inode(&mut self, number: u64) -> io::Result<&mut Inode> {
        let inode = self.inodes.get_mut(&number);
        inode.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn named(&self, name: &str) -> io::Result<u64> {
        let number = self.names.get(name).copied();
        number.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn used(&self) -> usize {
        let linked = self.inodes.values().filter(|inode| inode.links > 0);
        linked.map(|inode| inode.shown.len()).sum()
    }

    fn free(&self) -> usize {
        match self.faults.is_full {
            true => 0,
            false => self.capacity.saturating_sub(self.used()),
        }
    }

    fn open(&mut self, name: &str, how: How) -> io::Result<u64> {
        if let Ok(number) = self.named(name) {
            if how == How::Empty {
                let inode = self.inode(number)?;
                inode.dirty.clear();
                inode.shown.clear();
            }
            return Ok(number);
        }
        if matches!(how, How::Read | How::Change) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.last_inode += 1;
        let number = self.last_inode;
        let inode = Inode {
            links: 1,
            ..Inode::default()
        };
        self.inodes.insert(number, inode);
        self.names.insert(name.to_string(), number);
        self.changes.push(NameChange::Set(name.to_string(), number));
        Ok(number)
    }

    fn unlink(&mut self, number: u64) {
        if let Some(inode) = self.inodes.get_mut(&number) {
            inode.links -= 1;
        }
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let number = self.named(from)?;
        self.names.remove(from);
        if let Some(replaced) = self.names.insert(to.to_string(), number) {
            self.unlink(replaced);
        }
        self.changes.push(NameChange::Set(to.to_string(), number));
        self.changes.push(NameChange::Removed(from.to_string()));
        Ok(())
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        let number = self.named(name)?;
        self.names.remove(name);
        self.unlink(number);
        self.changes.push(NameChange::Removed(name.to_string()));
        Ok(())
    }

    fn keep_names(&mut self, count: usize) {
        for change in self.changes.drain(..count) {
            match change {
                NameChange::Set(name, number) => drop(self.kept_names.insert(name, number)),
                NameChange::Removed(name) => drop(self.kept_names.remove(&name)),
            }
        }
    }

    fn sync_file(&mut self, number: u64) -> io::Result<()> {
        self.cost_ns += self.random.skewed(50_000, SYNC_NS);
        let faults = self.faults;
        let inode = self.inode(number)?;
        if !faults.fails_sync {
            inode.take_over();
            return Ok(());
        }
        let has_dirty = !inode.dirty.is_empty();
        inode.dirty.clear();
        if faults.drops_pages {
            inode.shown.clone_from(&inode.kept);
        }
        self.faults.fails_sync = false;
        self.has_lost |= has_dirty;
        self.failures += 1;
        Err(io::Error::from_raw_os_error(5))
    }

    /// By now all that was written has come to the disk. With the catalogue goes the only other
    /// place of a segment's name. Then the bit is in a record or a checkpoint, and is the only one
    /// of the run, because further damage could hide which segments there were.
    fn flip_bit(&mut self, loses_catalogue: bool) -> Option<Flipped> {
        if self.has_lost_catalogue {
            return None;
        }
        let loses_catalogue = loses_catalogue && !self.has_flipped;
        self.inodes.values_mut().for_each(Inode::take_over);
        self.keep_names(self.changes.len());
        let log = |name: &&String| name.ends_with(".iwl");
        let newest = self.names.keys().rfind(log).cloned();
        let ends: &[&str] = match loses_catalogue {
            true => &[".iwl", ".iwk"],
            false => &[".iwl", ".iwk", ".iwp", ".iww", CATALOGUE, "owner"],
        };
        let may_flip = |name: &&String| {
            let is_end = Some(*name) == newest.as_ref() || *name == CATALOGUE;
            // A write that failed may have been the one that would tell of the damage.
            ends.iter().any(|end| name.ends_with(end)) && !(is_end && self.failures > 0)
        };
        let names: Vec<String> = self.names.keys().filter(may_flip).cloned().collect();
        if names.is_empty() {
            return None;
        }
        let name = self.random.pick(&names).clone();
        let is_newest = Some(&name) == newest.as_ref();
        let from = match loses_catalogue && name.ends_with(".iwl") {
            true => LOG_HEAD_BYTES,
            false => 0,
        };
        let number = self.names[&name];
        let at = self.place_to_flip(number, from)?;
        let bit = 1 << self.random.below(8);
        let inode = self.inodes.get_mut(&number)?;
        inode.shown[at] ^= bit;
        if let Some(byte) = inode.kept.get_mut(at) {
            *byte ^= bit;
        }
        self.has_flipped = true;
        if loses_catalogue && self.remove(CATALOGUE).is_ok() {
            self.keep_names(self.changes.len());
            self.has_lost_catalogue = true;
        }
        Some(Flipped { name, is_newest })
    }

    /// Heads and first records are as likely as all that follows, and so are the last bytes that
    /// were written.
    fn place_to_flip(&mut self, number: u64, from: usize) -> Option<usize> {
        let shown = &self.inodes.get(&number)?.shown;
        let written = shown.iter().rposition(|byte| *byte != 0)? + 1;
        let (all, written) = (shown.len(), written.checked_sub(from)?);
        if written == 0 {
            return None;
        }
        Some(match self.random.below(4) {
            0 => all - self.random.skewed(1, (all - from) as u64) as usize,
            1 => from + written - self.random.skewed(1, written as u64) as usize,
            _ => from + self.random.skewed(1, written as u64) as usize - 1,
        })
    }

    fn lose_power(&mut self) {
        let names = self.random.between(0, self.changes.len() as u64) as usize;
        self.keep_names(names);
        self.changes.clear();
        self.names.clone_from(&self.kept_names);
        let mut links: BTreeMap<u64, u32> = BTreeMap::new();
        for number in self.names.values() {
            *links.entry(*number).or_default() += 1;
        }
        self.inodes.retain(|number, _| links.contains_key(number));
        for (number, inode) in &mut self.inodes {
            inode.lose_power(&mut self.random);
            inode.links = links[number];
            inode.locked = None;
        }
    }
}

impl Inode {
    /// All is on the disk.
    fn take_over(&mut self) {
        self.kept.resize(self.shown.len(), 0);
        for (from, to) in self.dirty.drain(..) {
            let to = to.min(self.shown.len());
            if from < to {
                self.kept[from..to].copy_from_slice(&self.shown[from..to]);
            }
        }
    }

    /// Some of what is not on the disk comes there.
    fn lose_power(&mut self, random: &mut Random) {
        if self.shown.len() != self.kept.len() && random.one_in(2) {
            self.kept.resize(self.shown.len(), 0);
        }
        // Of a disk that keeps an order, of one that keeps none, or nothing.
        let mode = random.below(4);
        for (from, to) in std::mem::take(&mut self.dirty) {
            let to = to.min(self.shown.len());
            let mut at = from;
            while at < to {
                let end = ((at / SECTOR_BYTES + 1) * SECTOR_BYTES).min(to);
                let keeps = match mode {
                    0 => false,
                    1 => true,
                    _ => random.one_in(2),
                };
                if keeps {
                    if self.kept.len() < end {
                        self.kept.resize(end, 0);
                    }
                    self.kept[at..end].copy_from_slice(&self.shown[at..end]);
                }
                at = end;
            }
        }
        self.shown.clone_from(&self.kept);
    }
}

/// The disk as one process has it.
pub struct OfProcess {
    disk: SimDisk,
    pub process: u64,
}

impl OfProcess {
    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.disk.state();
        state.begin(self.process)?;
        Ok(state)
    }
}

impl fmt::Debug for OfProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the simulated disk")
    }
}

impl Disk for OfProcess {
    fn path(&self) -> &Path {
        Path::new("/sim")
    }

    fn make(&self) -> io::Result<()> {
        Ok(())
    }

    fn open(&self, name: &str, how: How) -> io::Result<OpenFile> {
        let number = self.begin()?.open(name, how)?;
        Ok(Arc::new(File::new(self.disk.clone(), self.process, number)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.begin()?.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.begin()?.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.begin()?.names.keys().cloned().collect())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.begin()?;
        let all = state.changes.len();
        state.cost_ns += state.random.skewed(50_000, SYNC_NS);
        state.keep_names(all);
        Ok(())
    }

    fn bytes_of(&self, name: &str) -> io::Result<u64> {
        let mut state = self.begin()?;
        let number = state.named(name)?;
        Ok(state.inode(number)?.shown.len() as u64)
    }

    fn free_bytes(&self) -> u64 {
        self.disk.state().free() as u64
    }

    fn restrict(&self, _names: &[String]) {}
}
