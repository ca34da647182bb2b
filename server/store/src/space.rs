//! Space on the disk: how large the next log file is made, when the log must give space back, and
//! a reserve for the next start.
//!
//! Half of what is free stays free for checkpoints, because only they let old log files go: a store
//! that took all space for its log could never be rid of it [LOG-5].

use std::io;
use std::sync::Arc;

use crate::disk::{Disk, How, SharedDisk};
use crate::files::{self, RESERVE};

/// A start takes little, but not nothing: the owner's file, a log file's head, the catalogue.
const LEAST_RESERVE_BYTES: u64 = 32 << 10;
const LEAST_FILE_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone)]
pub struct Space {
    disk: SharedDisk,
    /// Of a log file, where there is enough of it.
    log_file_bytes: u64,
}

impl Space {
    pub fn new(disk: &SharedDisk, log_file_bytes: u64) -> Space {
        Space {
            disk: Arc::clone(disk),
            log_file_bytes,
        }
    }

    pub fn log_file_bytes(&self) -> u64 {
        self.log_file_bytes
    }

    /// A log file is not made smaller than this where others must stay.
    pub fn smallest(&self) -> u64 {
        let part = (self.log_file_bytes / 16).max(LEAST_FILE_BYTES);
        part.min(self.log_file_bytes)
    }

    /// If a file system cannot tell, making a file shows whether it has space.
    fn free_bytes(&self) -> u64 {
        self.disk.free_bytes()
    }

    /// Sizes to try for a new log file that must hold so many bytes. `frees` says that with it all
    /// older ones can go: it may take the last there is.
    pub fn capacities(&self, needed: u64, frees: bool) -> Vec<u64> {
        let wanted = (self.free_bytes() / 2).min(self.log_file_bytes);
        let smallest = self.smallest();
        let mut capacities = Vec::new();
        if wanted >= smallest {
            capacities.extend([wanted.max(needed), smallest.max(needed)]);
        }
        if frees {
            capacities.push(needed);
        }
        capacities.dedup();
        capacities
    }

    /// Too little is free for another two log files and one more checkpoint as
    /// large as the largest.
    pub fn is_low(&self, largest: u64) -> bool {
        self.free_bytes() < (2 * self.log_file_bytes).saturating_add(largest)
    }

    /// Puts space by for the next start, as far as there is some.
    pub fn keep_reserve(&self) {
        if self.disk.bytes_of(RESERVE).is_ok() {
            return;
        }
        let wanted = (self.log_file_bytes / 64).max(LEAST_RESERVE_BYTES);
        let mut bytes = wanted.min(self.free_bytes());
        while bytes > 0 {
            let made = self.disk.open(RESERVE, How::Empty);
            let kept = made.and_then(|file| file.preallocate(bytes));
            if kept.is_ok() {
                return;
            }
            bytes /= 2;
        }
        // An empty one would not be made again.
        let _ = self.disk.remove(RESERVE);
    }
}

/// At the start: what was put by is there to be used.
pub fn use_reserve(disk: &dyn Disk) -> io::Result<()> {
    match disk.remove(RESERVE) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub fn none() -> io::Error {
    io::Error::new(
        io::ErrorKind::StorageFull,
        "too little space is free for another log file and for checkpoints",
    )
}

pub fn is_lacking(error: &io::Error) -> bool {
    files::is_full(error.kind())
}
