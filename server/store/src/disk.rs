//! The calls that the embedded store needs of a disk, which is one directory of files
//! ([the store's interface](../../../docs/store.md#the-disk)).
//!
//! [`Directory`] is a directory of the file system. The simulator has another one, in memory, which
//! loses what was not synced.

use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::path::Path;
use std::sync::Arc;

mod directory;

pub use directory::Directory;

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// For reading. It must be there.
    Read,
    /// For writing what is there.
    Change,
    /// For writing; made if it is missing.
    Make,
    /// For writing; empty, whatever was there.
    Empty,
}

/// An open file.
pub type OpenFile = Arc<dyn DiskFile>;

/// A file that is open. It stays the same file when its name is given to another.
pub trait DiskFile: fmt::Debug + Send + Sync {
    /// Reads from there on, at most until the file's end. Returns how many bytes; 0 at the end.
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes the first of these bytes, one slice after the other. Returns how many.
    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize>;

    /// Cuts the file, or makes it longer by zeros.
    fn set_bytes(&self, bytes: u64) -> io::Result<()>;

    /// Takes space for so many bytes; the file is then so long at least.
    fn preallocate(&self, bytes: u64) -> io::Result<()>;

    /// Brings the bytes to the disk, and the file's length.
    fn sync_data(&self) -> io::Result<()>;

    /// As `sync_data`, with all that the file system says of the file.
    fn sync_all(&self) -> io::Result<()>;

    fn bytes(&self) -> io::Result<u64>;

    /// Whether the file still has a name.
    fn has_name(&self) -> io::Result<bool>;

    /// Locks the file for this process. False: another process has it locked.
    fn lock(&self) -> io::Result<bool>;

    fn unlock(&self);

    /// The system's file, if it is one.
    fn as_file(&self) -> Option<&std::fs::File> {
        None
    }
}

/// The directory of a store. What was made, renamed or removed lasts once `sync` has returned.
pub trait Disk: fmt::Debug + Send + Sync {
    /// The directory's path, for people.
    fn path(&self) -> &Path;

    /// Makes the directory, so that it lasts.
    fn make(&self) -> io::Result<()>;

    fn open(&self, name: &str, how: How) -> io::Result<OpenFile>;

    /// Gives the file another name, and takes it from the file that had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    fn remove(&self, name: &str) -> io::Result<()>;

    /// The names of all files, sorted.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Brings the names to the disk.
    fn sync(&self) -> io::Result<()>;

    /// How many bytes the file of that name has.
    fn bytes_of(&self, name: &str) -> io::Result<u64>;

    /// How many bytes are free. `u64::MAX`: the disk cannot tell.
    fn free_bytes(&self) -> u64;

    /// Takes from other users what they may do with the directory and these files [LOG-13].
    fn restrict(&self, names: &[String]);
}

/// A disk as the parts of a store share it.
pub type SharedDisk = Arc<dyn Disk>;

/// Writes all bytes at that place.
pub fn write_all_at(file: &dyn DiskFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    Stream::from(file, offset).write_all(bytes)
}

/// Reads so many bytes; `UnexpectedEof` if the file ends before.
pub fn read_exact_at(file: &dyn DiskFile, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    Stream::from(file, offset).read_exact(bytes)
}

/// Reads the file of that name, `most` bytes at most.
pub fn read_all(disk: &dyn Disk, name: &str, most: u64) -> io::Result<Vec<u8>> {
    let file = disk.open(name, How::Read)?;
    let mut bytes = Vec::with_capacity(file.bytes()?.min(most) as usize);
    Stream::of(&*file).take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A file that is read or written from one place on.
#[derive(Debug)]
pub struct Stream<'a> {
    file: &'a dyn DiskFile,
    at: u64,
}

impl<'a> Stream<'a> {
    /// From the file's beginning on.
    pub fn of(file: &'a dyn DiskFile) -> Stream<'a> {
        Stream { file, at: 0 }
    }

    pub fn from(file: &'a dyn DiskFile, at: u64) -> Stream<'a> {
        Stream { file, at }
    }
}

impl Read for Stream<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(bytes, self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write_at(&[IoSlice::new(bytes)], self.at)?;
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
