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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Directory, OpenFile};
    use std::path::Path;

    const MIB: u64 = 1 << 20;

    /// A directory on a disk with so many free bytes.
    #[derive(Debug)]
    struct Free {
        dir: Directory,
        bytes: u64,
    }

    impl Disk for Free {
        fn path(&self) -> &Path {
            self.dir.path()
        }

        fn make(&self) -> io::Result<()> {
            self.dir.make()
        }

        fn open(&self, name: &str, how: How) -> io::Result<OpenFile> {
            self.dir.open(name, how)
        }

        fn rename(&self, from: &str, to: &str) -> io::Result<()> {
            self.dir.rename(from, to)
        }

        fn remove(&self, name: &str) -> io::Result<()> {
            self.dir.remove(name)
        }

        fn list(&self) -> io::Result<Vec<String>> {
            self.dir.list()
        }

        fn sync(&self) -> io::Result<()> {
            self.dir.sync()
        }

        fn bytes_of(&self, name: &str) -> io::Result<u64> {
            self.dir.bytes_of(name)
        }

        fn free_bytes(&self) -> u64 {
            self.bytes
        }

        fn restrict(&self, names: &[String]) {
            self.dir.restrict(names);
        }
    }

    fn space(free_bytes: u64, log_file_bytes: u64) -> (tempfile::TempDir, Space) {
        let dir = tempfile::tempdir().unwrap();
        let disk: SharedDisk = Arc::new(Free {
            dir: Directory::at(dir.path()),
            bytes: free_bytes,
        });
        (dir, Space::new(&disk, log_file_bytes))
    }

    #[test]
    fn log_5_a_log_file_takes_half_of_what_is_free_at_most_and_is_not_too_small() {
        let of = |free, needed, frees| space(free, 16 * MIB).1.capacities(needed, frees);
        assert_eq!(of(100 * MIB, 9, false), [16 * MIB, MIB]);
        assert_eq!(of(100 * MIB, 2 * MIB, false), [16 * MIB, 2 * MIB]);
        assert_eq!(of(100 * MIB, 20 * MIB, true), [20 * MIB]);
        assert_eq!(of(8 * MIB, 9, false), [4 * MIB, MIB]);
        assert_eq!(of(2 * MIB, 9, false), [MIB]);
        assert!(of(2 * MIB - 2, 9, false).is_empty());
        assert_eq!(of(2 * MIB - 2, 9, true), [9]);
        let smallest = |log_file_bytes| space(0, log_file_bytes).1.smallest();
        assert_eq!(smallest(16 * MIB), MIB);
        assert_eq!(smallest(MIB), 64 << 10);
        assert_eq!(smallest(16 << 10), 16 << 10);
    }

    #[test]
    fn log_5_space_is_low_when_two_log_files_and_a_checkpoint_do_not_fit() {
        let is_low = |free| space(free, 16 * MIB).1.is_low(MIB);
        assert!(is_low(33 * MIB - 1));
        assert!(!is_low(33 * MIB));
    }

    #[test]
    fn a_reserve_takes_what_there_is_and_no_more_than_a_start_needs() {
        let kept = |free, log_file_bytes| {
            let (dir, space) = space(free, log_file_bytes);
            space.keep_reserve();
            let reserve = std::fs::metadata(dir.path().join(RESERVE));
            reserve.ok().map(|meta| meta.len())
        };
        assert_eq!(kept(100 * MIB, 64 * MIB), Some(MIB));
        assert_eq!(kept(100 * MIB, 16 << 10), Some(32 << 10));
        assert_eq!(kept(5000, MIB), Some(5000));
        assert_eq!(kept(0, MIB), None);
    }
}
