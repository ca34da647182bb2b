//! Names in the store's directory, and making files there so that a crash leaves the
//! old or the new.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::StoreError;

pub const LOCK: &str = "LOCK";
pub const OWNER: &str = "owner";
pub const CATALOGUE: &str = "catalogue";
/// Of earlier versions; a start removes it.
pub const OLD_CATALOGUE: &str = "catalogue.redb";
/// Lists the files of a backup; a store does not have it.
pub const BACKUP: &str = "BACKUP";
/// Space for the next start, should the disk be full.
pub const RESERVE: &str = "reserve";
const TEMPORARY: &str = ".tmp";

pub fn log_name(first: u64) -> String {
    format!("log-{first:016x}.iwl")
}

pub fn log_first(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("log-")?.strip_suffix(".iwl")?;
    let first = u64::from_str_radix(digits, 16).ok()?;
    (log_name(first) == name).then_some(first)
}

pub fn checkpoint_name(segment_id: u64, version: u64) -> String {
    format!("checkpoint-{segment_id}-{version}.iwk")
}

/// A file with the checkpoints of several segments [LOG-19].
pub fn pack_name(number: u64) -> String {
    format!("pack-{number:016x}.iwp")
}

pub fn pack_number(name: &str) -> Option<u64> {
    let digits = name.strip_prefix("pack-")?.strip_suffix(".iwp")?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (pack_name(number) == name).then_some(number)
}

/// A pack that nobody can read and that may have what nothing else has [LOG-19].
pub fn aside_name(number: u64) -> String {
    format!("{}.damaged", pack_name(number))
}

pub fn is_aside(name: &str) -> bool {
    let pack = name.strip_suffix(".damaged");
    pack.is_some_and(|pack| pack_number(pack).is_some())
}

/// The log file's witness [LOG-15].
pub fn witness_name(first: u64) -> String {
    format!("log-{first:016x}.iww")
}

pub fn witness_first(name: &str) -> Option<u64> {
    log_first(&name.replace(".iww", ".iwl")).filter(|&first| witness_name(first) == name)
}

/// The segment and version that a checkpoint's name says.
pub fn checkpoint_of(name: &str) -> Option<(u64, u64)> {
    let middle = name.strip_prefix("checkpoint-")?.strip_suffix(".iwk")?;
    let (segment_id, version) = middle.split_once('-')?;
    let of = (segment_id.parse().ok()?, version.parse().ok()?);
    (checkpoint_name(of.0, of.1) == name).then_some(of)
}

/// The names of all files in the directory, sorted.
pub fn list(dir: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        if let Ok(name) = entry?.file_name().into_string() {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// A store is its user's alone: it has the data, and the ids by which sessions are known.
const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// As for any directory: less the umask.
const PARENT_MODE: u32 = 0o777;

/// Makes the directory and those above it that are missing, so that they last.
pub fn make_dir(dir: &Path) -> io::Result<()> {
    make_dir_with(dir, DIR_MODE, &mut sync_dir)
}

/// Takes from others what an earlier version, or whoever made the directory, has given them. To be
/// asked only of a directory that is known to be a store's.
pub fn restrict_all(dir: &Path) -> io::Result<()> {
    restrict(dir, DIR_MODE);
    let ours = [LOCK, OWNER, CATALOGUE, RESERVE, BACKUP];
    for name in list(dir)? {
        let is_ours = ours.contains(&&*name)
            || log_first(&name).is_some()
            || witness_first(&name).is_some()
            || checkpoint_of(&name).is_some()
            || pack_number(&name).is_some()
            || is_aside(&name);
        if is_ours {
            restrict(&dir.join(name), FILE_MODE);
        }
    }
    Ok(())
}

/// What belongs to another user keeps its mode, and so does a directory that all share (sticky).
fn restrict(path: &Path, mode: u32) {
    let is_wider = |found: u32| found & 0o1000 == 0 && found & 0o777 & !mode != 0;
    if std::fs::metadata(path).is_ok_and(|meta| is_wider(meta.permissions().mode())) {
        let _ = std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
    }
}

/// How files of a store are opened for writing: only their user may read them.
pub fn writing() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).mode(FILE_MODE);
    options
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
    // Who may not read it did not make what is in it.
    match sync(parent) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        synced => synced,
    }
}

/// Makes renames and removals in the directory last.
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

/// A file that has its name only once it is whole.
#[derive(Debug)]
pub struct Unnamed {
    temporary: PathBuf,
    file: File,
}

impl Unnamed {
    pub fn create(dir: &Path, name: &str) -> io::Result<Unnamed> {
        let temporary = dir.join(format!("{name}{TEMPORARY}"));
        let file = writing().truncate(true).open(&temporary)?;
        Ok(Unnamed { temporary, file })
    }

    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Syncs the file, gives it the name, replacing what had it, and syncs the directory.
    pub fn publish(self, dir: &Path, name: &str) -> io::Result<File> {
        self.file.sync_all()?;
        self.name(dir, name)
    }

    /// The same for a file that was synced.
    pub fn name(self, dir: &Path, name: &str) -> io::Result<File> {
        std::fs::rename(&self.temporary, dir.join(name))?;
        sync_dir(dir)?;
        self.file.try_clone()
    }
}

impl Drop for Unnamed {
    /// After `publish` there is nothing under this name.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.temporary);
    }
}

/// Removes what an interrupted start or checkpoint has left.
pub fn remove_temporary(dir: &Path) -> io::Result<()> {
    for name in list(dir)? {
        if name.ends_with(TEMPORARY) {
            std::fs::remove_file(dir.join(name))?;
        }
    }
    Ok(())
}

/// An error of the system, with what was being done. No space is its own kind of error.
pub fn failed(doing: &str, path: &Path, error: &io::Error) -> StoreError {
    let text = format!("{doing} {}: {error}", path.display());
    match is_full(error.kind()) {
        true => StoreError::Full(text),
        false => StoreError::Io(text),
    }
}

/// Whether it says that there is no space.
pub fn is_full(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(kind, StorageFull | QuotaExceeded | FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_were_made_from_and_nothing_else_does() {
        assert_eq!(log_first(&log_name(0x1f)), Some(0x1f));
        assert_eq!(log_first("log-1f.iwl"), None);
        assert_eq!(log_first("log-000000000000001F.iwl"), None);
        assert_eq!(checkpoint_of(&checkpoint_name(7, 12)), Some((7, 12)));
        assert_eq!(checkpoint_of("checkpoint-7-012.iwk"), None);
        assert_eq!(checkpoint_of("checkpoint-7-12.iwk.tmp"), None);
        assert_eq!(pack_number(&pack_name(0x2f)), Some(0x2f));
        assert_eq!(pack_number("pack-2f.iwp"), None);
    }

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
        assert!(make_dir(&below("file")).is_err());
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        drop(Unnamed::create(dir.path(), "a").unwrap());
        assert!(list(dir.path()).unwrap().is_empty());
        Unnamed::create(dir.path(), "a")
            .unwrap()
            .publish(dir.path(), "a")
            .unwrap();
        assert_eq!(list(dir.path()).unwrap(), ["a"]);
    }
}
