//! The store's owner: one process at a time, and each start with a larger epoch.
//!
//! LOCK keeps a second server out. Should that fail (the file removed, a file system without
//! working locks), the `owner` file still fences: a new owner replaces it before it reads anything,
//! and the older one looks after each write, before it acknowledges, whether its own
//! file is still there.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{flock, fstat, FlockOperation};
use rustix::io::Errno;

use crate::files::{self, failed, Unnamed};
use crate::StoreError;

/// The right to write to a store, before the epoch is known.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Lock {
    pub fn take(dir: &Path) -> Result<Lock, StoreError> {
        let path = dir.join(files::LOCK);
        let mut file = files::writing()
            .truncate(false)
            .open(&path)
            .map_err(|error| failed("opening", &path, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                let mut pid = String::new();
                let _ = file.read_to_string(&mut pid);
                let text = format!("{} is locked by process {}", path.display(), pid.trim());
                return Err(StoreError::Fenced(text));
            }
            Err(error) => return Err(failed("locking", &path, &error.into())),
        }
        // For people only: whose lock it is.
        let _ = file
            .set_len(0)
            .and_then(|()| writeln!(file, "{}", std::process::id()));
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    /// Closing alone would leave the lock to a child that is between fork and exec.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The owner of a store.
#[derive(Debug)]
pub struct Owner {
    pub epoch: u64,
    path: PathBuf,
    file: File,
    _lock: Lock,
}

impl Owner {
    /// Fences every earlier owner. `seen` is the largest epoch found in the log, should the file be
    /// lost or damaged.
    pub fn begin(dir: &Path, lock: Lock, seen: u64) -> Result<Owner, StoreError> {
        let epoch = read_epoch(dir).unwrap_or(0).max(seen) + 1;
        let path = dir.join(files::OWNER);
        let file = write_epoch(dir, epoch).map_err(|error| failed("writing", &path, &error))?;
        Ok(Owner {
            epoch,
            path,
            file,
            _lock: lock,
        })
    }

    /// Fails once a newer owner has replaced the file.
    pub fn check(&self) -> Result<(), StoreError> {
        let fenced = |what: &str| StoreError::Fenced(format!("{} {what}", self.path.display()));
        match fstat(&self.file) {
            Ok(stat) if stat.st_nlink > 0 => Ok(()),
            Ok(_) => Err(fenced("was replaced")),
            Err(error) => Err(fenced(&format!("cannot be looked at ({error})"))),
        }
    }
}

/// The epoch of the last owner; None if the file is missing or damaged.
pub fn read_epoch(dir: &Path) -> Option<u64> {
    let bytes = std::fs::read(dir.join(files::OWNER)).ok()?;
    let (epoch, crc) = bytes.split_first_chunk::<8>()?;
    let sound = crc == crc32c::crc32c(epoch).to_be_bytes();
    sound.then_some(u64::from_be_bytes(*epoch))
}

pub fn write_epoch(dir: &Path, epoch: u64) -> std::io::Result<File> {
    let mut unnamed = Unnamed::create(dir, files::OWNER)?;
    let bytes = epoch.to_be_bytes();
    unnamed.file().write_all(&bytes)?;
    unnamed
        .file()
        .write_all(&crc32c::crc32c(&bytes).to_be_bytes())?;
    unnamed.publish(dir, files::OWNER)
}
