//! An open file of the simulated disk.

use super::{SimDisk, State};
use interweave_store::disk::DiskFile;
use std::fmt;
use std::io::{self, IoSlice};
use std::sync::MutexGuard;

/// "No space left on device", as the operating system says it.
const NO_SPACE: i32 = 28;
const IO: i32 = 5;

pub struct File {
    disk: SimDisk,
    process: u64,
    number: u64,
}

impl File {
    pub fn new(disk: SimDisk, process: u64, number: u64) -> File {
        File {
            disk,
            process,
            number,
        }
    }

    fn begin(&self) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.disk.state();
        state.begin(self.process)?;
        Ok(state)
    }

    /// The file grows to that length, if there is space.
    fn grow(&self, state: &mut State, bytes: usize) -> io::Result<()> {
        let free = state.free();
        let inode = state.inode(self.number)?;
        let more = bytes.saturating_sub(inode.shown.len());
        if more > free {
            state.failures += 1;
            return Err(io::Error::from_raw_os_error(NO_SPACE));
        }
        if more > 0 {
            inode.dirty.push((inode.shown.len(), bytes));
            inode.shown.resize(bytes, 0);
        }
        Ok(())
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "file {}", self.number)
    }
}

impl DiskFile for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.begin()?;
        let shown = &state.inode(self.number)?.shown;
        let from = (offset as usize).min(shown.len());
        let count = bytes.len().min(shown.len() - from);
        bytes[..count].copy_from_slice(&shown[from..from + count]);
        Ok(count)
    }

    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let mut state = self.begin()?;
        let offset = offset as usize;
        let all: usize = slices.iter().map(|slice| slice.len()).sum();
        let is_last = state.ends_after == Some(0) && state.process == self.process;
        let failing = state.faults.failing_writes;
        let fails = failing > 0 && state.random.one_in(failing);
        // Of a write that fails or ends the process, all may be there, a part or nothing.
        let is_torn = (is_last || fails) && !state.random.one_in(4);
        let most = match is_torn {
            true => state.random.below(all as u64 + 1) as usize,
            false => all,
        };
        self.grow(&mut state, offset + most)?;
        let inode = state.inode(self.number)?;
        let mut at = offset;
        for slice in slices {
            let count = slice.len().min(offset + most - at);
            inode.shown[at..at + count].copy_from_slice(&slice[..count]);
            at += count;
        }
        inode.dirty.push((offset, at));
        if is_last {
            state.has_ended = true;
            return Err(io::Error::other("the process has ended"));
        }
        if fails {
            state.failures += 1;
            return Err(io::Error::from_raw_os_error(IO));
        }
        Ok(most)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.begin()?;
        self.grow(&mut state, bytes as usize)?;
        state.inode(self.number)?.shown.truncate(bytes as usize);
        Ok(())
    }

    fn preallocate(&self, bytes: u64) -> io::Result<()> {
        let mut state = self.begin()?;
        self.grow(&mut state, bytes as usize)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.begin()?.sync_file(self.number)
    }

    fn sync_all(&self) -> io::Result<()> {
        self.begin()?.sync_file(self.number)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.begin()?.inode(self.number)?.shown.len() as u64)
    }

    fn has_name(&self) -> io::Result<bool> {
        Ok(self.begin()?.inode(self.number)?.links > 0)
    }

    fn lock(&self) -> io::Result<bool> {
        let mut state = self.begin()?;
        let locked = state.inode(self.number)?.locked;
        let is_free = !locked.is_some_and(|process| state.living.contains(&process));
        if is_free {
            state.inode(self.number)?.locked = Some(self.process);
        }
        Ok(is_free || state.lawless == Some(self.process))
    }

    fn unlock(&self) {
        let mut state = self.disk.state();
        if let Ok(inode) = state.inode(self.number) {
            if inode.locked == Some(self.process) {
                inode.locked = None;
            }
        }
    }
}
