//! The disk as the operating system has it: each call is one of the system's.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{fallocate, flock, fstat, statvfs, FallocateFlags, FlockOperation};
use rustix::io::Errno;

use super::{Disk, DiskFile, How, OpenFile};

/// A store is its user's alone: it has the data, and the ids by which sessions are known.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// As for any directory: less the umask.
const PARENT_MODE: u32 = 0o777;

/// A directory of the file system.
#[derive(Debug, Clone)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    pub fn at(path: &Path) -> Directory {
        Directory {
            path: path.to_path_buf(),
        }
    }
}

impl Disk for Directory {
    fn path(&self) -> &Path {
        &self.path
    }

    fn make(&self) -> io::Result<()> {
        make_dir_with(&self.path, DIR_MODE, &mut sync_dir)
    }

    fn open(&self, name: &str, how: How) -> io::Result<OpenFile> {
        let mut options = OpenOptions::new();
        match how {
            How::Read => options.read(true),
            How::Change => options.write(true),
            How::Make | How::Empty => options
                .read(true)
                .write(true)
                .create(true)
                .truncate(how == How::Empty)
                .mode(FILE_MODE),
        };
        let file = options.open(self.path.join(name))?;
        Ok(Arc::new(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        std::fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn sync(&self) -> io::Result<()> {
        sync_dir(&self.path)
    }

    fn bytes_of(&self, name: &str) -> io::Result<u64> {
        Ok(std::fs::metadata(self.path.join(name))?.len())
    }

    fn free_bytes(&self) -> u64 {
        let free = statvfs(&self.path);
        free.map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn restrict(&self, names: &[String]) {
        restrict(&self.path, DIR_MODE);
        for name in names {
            restrict(&self.path.join(name), FILE_MODE);
        }
    }
}

impl DiskFile for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        FileExt::read_at(self, bytes, offset)
    }

    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let write = || rustix::io::pwritev(self, slices, offset);
        Ok(rustix::io::retry_on_intr(write)?)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn preallocate(&self, bytes: u64) -> io::Result<()> {
        match fallocate(self, FallocateFlags::empty(), 0, bytes) {
            Err(Errno::OPNOTSUPP) => self.set_len(bytes),
            other => Ok(other?),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        File::sync_data(self)
    }

    fn sync_all(&self) -> io::Result<()> {
        File::sync_all(self)
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn has_name(&self) -> io::Result<bool> {
        Ok(fstat(self)?.st_nlink > 0)
    }

    fn lock(&self) -> io::Result<bool> {
        match flock(self, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            locked => Ok(locked.map(|()| true)?),
        }
    }

    fn unlock(&self) {
        // Whoever closes the file unlocks it as well.
        let _ = flock(self, FlockOperation::Unlock);
    }

    fn as_file(&self) -> Option<&File> {
        Some(self)
    }
}

/// A file of another user keeps its mode, and so does a directory that all share (sticky).
fn restrict(path: &Path, mode: u32) {
    let is_wider = |found: u32| found & 0o1000 == 0 && found & 0o777 & !mode != 0;
    if std::fs::metadata(path).is_ok_and(|meta| is_wider(meta.permissions().mode())) {
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    }
}

/// `sync` brings the entries of a directory to the disk. One that is there may have been made just
/// before a crash, so the directory that it is in is synced all the same.
fn make_dir_with(
    dir: &Path,
    mode: u32,
    sync: &mut impl FnMut(&Path) -> io::Result<()>,
) -> io::Result<()> {
    let parent = match dir.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Ok(()),
    };
    let create = || std::fs::DirBuilder::new().mode(mode).create(dir);
    match create() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_dir_with(parent, PARENT_MODE, sync)?;
            create()?;
        }
        Err(_) if dir.is_dir() => {}
        made => made?,
    }
    // A user who may not read the directory did not make the files in it.
    match sync(parent) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_directory_that_is_made_is_synced_into_the_one_above() {
        let root = tempfile::tempdir().unwrap();
        let below = |path: &str| root.path().join(path);
        let mut synced = Vec::new();
        let mut sync = |dir: &Path| {
            synced.push(dir.to_path_buf());
            Ok(())
        };
        make_dir_with(&below("a/b/c"), DIR_MODE, &mut sync).unwrap();
        make_dir_with(&below("a/b/c"), DIR_MODE, &mut sync).unwrap();
        assert!(below("a/b/c").is_dir());
        let expected = [
            root.path().to_path_buf(),
            below("a"),
            below("a/b"),
            below("a/b"),
        ];
        assert_eq!(synced, expected);
        std::fs::write(below("file"), "").unwrap();
        assert!(Directory::at(&below("file")).make().is_err());
    }

    #[test]
    fn a_directory_is_made_below_one_that_the_user_may_not_read() {
        let root = tempfile::tempdir().unwrap();
        let make = |name: &str, kind: io::ErrorKind| {
            let mut sync = |_: &Path| Err(kind.into());
            make_dir_with(&root.path().join(name), DIR_MODE, &mut sync)
        };
        make("a", io::ErrorKind::PermissionDenied).unwrap();
        assert!(root.path().join("a").is_dir());
        assert!(make("b", io::ErrorKind::StorageFull).is_err());
    }

    #[test]
    fn log_13_a_mode_is_changed_only_where_others_may_do_something() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        std::fs::write(&file, "").unwrap();
        let restricted = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
            Directory::at(dir.path()).restrict(&["a".to_string()]);
            std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
        };
        let of_file = [0o400, 0o600, 0o644, 0o601].map(|mode| restricted(&file, mode));
        assert_eq!(of_file, [0o400, 0o600, 0o600, 0o600]);
        let of_dir = [0o500, 0o1777, 0o755].map(|mode| restricted(dir.path(), mode));
        assert_eq!(of_dir, [0o500, 0o1777, 0o700]);
    }
}
