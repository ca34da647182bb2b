//! The store's owner: one process at a time, and each start with a larger epoch.
//!
//! LOCK keeps a second server out. Should that fail (the file removed, a file system without
//! working locks), the `owner` file still fences: a new owner replaces it before it reads anything,
//! and the older one looks after each write, before it acknowledges, whether its own
//! file is still there.

use std::io::{self, Read};
use std::path::PathBuf;

use interweave_wire::planted::{self, Defect};

use crate::disk::{read_all, write_all_at, Disk, How, OpenFile, SharedDisk, Stream};
use crate::files::{self, failed, Unnamed};
use crate::StoreError;

/// A longer file is damaged.
const MOST_BYTES: u64 = 64;

/// The right to write to a store, before the epoch is known.
#[derive(Debug)]
pub struct Lock {
    file: OpenFile,
}

impl Lock {
    pub fn take(disk: &dyn Disk) -> Result<Lock, StoreError> {
        let path = disk.path().join(files::LOCK);
        let file = disk
            .open(files::LOCK, How::Make)
            .map_err(|error| failed("opening", &path, &error))?;
        match file.lock() {
            Ok(true) => {}
            Ok(false) if planted::is_in(Defect::LockIgnored) => {}
            Ok(false) => {
                let mut pid = String::new();
                let _ = Stream::of(&*file).read_to_string(&mut pid);
                let text = format!("{} is locked by process {}", path.display(), pid.trim());
                return Err(StoreError::Fenced(text));
            }
            Err(error) => return Err(failed("locking", &path, &error)),
        }
        // For people only: whose lock it is.
        let text = format!("{}\n", std::process::id());
        let _ = file
            .set_bytes(0)
            .and_then(|()| write_all_at(&*file, text.as_bytes(), 0));
        Ok(Lock { file })
    }
}

impl Drop for Lock {
    /// Closing alone would leave the lock to a child that is between fork and exec.
    fn drop(&mut self) {
        self.file.unlock();
    }
}

/// The owner of a store.
#[derive(Debug)]
pub struct Owner {
    pub epoch: u64,
    path: PathBuf,
    file: OpenFile,
    _lock: Lock,
}

impl Owner {
    /// Fences every earlier owner. `seen` is the largest epoch found in the log, should the file be
    /// lost or damaged.
    pub fn begin(disk: &SharedDisk, lock: Lock, seen: u64) -> Result<Owner, StoreError> {
        let epoch = read_epoch(&**disk).unwrap_or(0).max(seen) + 1;
        let path = disk.path().join(files::OWNER);
        let file = write_epoch(disk, epoch).map_err(|error| failed("writing", &path, &error))?;
        Ok(Owner {
            epoch,
            path,
            file,
            _lock: lock,
        })
    }

    /// Fails once a newer owner has replaced the file.
    pub fn check(&self) -> Result<(), StoreError> {
        if planted::is_in(Defect::OwnerUnchecked) {
            return Ok(());
        }
        let fenced = |what: &str| StoreError::Fenced(format!("{} {what}", self.path.display()));
        match self.file.has_name() {
            Ok(true) => Ok(()),
            Ok(false) => Err(fenced("was replaced")),
            Err(error) => Err(fenced(&format!("cannot be looked at ({error})"))),
        }
    }
}

/// The epoch of the last owner; None if the file is missing or damaged.
pub fn read_epoch(disk: &dyn Disk) -> Option<u64> {
    let bytes = read_all(disk, files::OWNER, MOST_BYTES).ok()?;
    let (epoch, crc) = bytes.split_first_chunk::<8>()?;
    let sound = crc == crc32c::crc32c(epoch).to_be_bytes();
    sound.then_some(u64::from_be_bytes(*epoch))
}

pub fn write_epoch(disk: &SharedDisk, epoch: u64) -> io::Result<OpenFile> {
    let mut unnamed = Unnamed::create(disk, files::OWNER)?;
    let bytes = epoch.to_be_bytes();
    unnamed.write_all(&bytes)?;
    unnamed.write_all(&crc32c::crc32c(&bytes).to_be_bytes())?;
    unnamed.publish(files::OWNER)
}
