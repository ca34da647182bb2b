//! Names in the store's directory, and making files there so that a crash leaves the
//! old or the new.

use std::io;
use std::path::Path;
use std::sync::Arc;

use interweave_wire::planted::{self, Defect};

use crate::disk::{write_all_at, Disk, DiskFile, How, OpenFile, SharedDisk};
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

/// Takes from others what an earlier version, or whoever made the directory, has given them. To be
/// asked only of a directory that is known to be a store's.
pub fn restrict_all(disk: &dyn Disk) -> io::Result<()> {
    let ours = [LOCK, OWNER, CATALOGUE, RESERVE, BACKUP];
    let mut names = disk.list()?;
    names.retain(|name| {
        ours.contains(&name.as_str())
            || log_first(name).is_some()
            || witness_first(name).is_some()
            || checkpoint_of(name).is_some()
            || pack_number(name).is_some()
            || is_aside(name)
    });
    disk.restrict(&names);
    Ok(())
}

/// A file that has its name only once it is whole.
#[derive(Debug)]
pub struct Unnamed {
    disk: SharedDisk,
    temporary: String,
    file: OpenFile,
    end: u64,
}

impl Unnamed {
    pub fn create(disk: &SharedDisk, name: &str) -> io::Result<Unnamed> {
        let temporary = format!("{name}{TEMPORARY}");
        let file = disk.open(&temporary, How::Empty)?;
        Ok(Unnamed {
            disk: Arc::clone(disk),
            temporary,
            file,
            end: 0,
        })
    }

    pub fn file(&self) -> &dyn DiskFile {
        &*self.file
    }

    /// Writes behind what was written before.
    pub fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        write_all_at(&*self.file, bytes, self.end)?;
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Syncs the file, gives it the name, replacing what had it, and syncs the directory.
    pub fn publish(self, name: &str) -> io::Result<OpenFile> {
        self.file.sync_all()?;
        self.name(name)
    }

    /// The same for a file that was synced.
    pub fn name(self, name: &str) -> io::Result<OpenFile> {
        self.disk.rename(&self.temporary, name)?;
        if !planted::is_in(Defect::UnsyncedNames) {
            self.disk.sync()?;
        }
        Ok(Arc::clone(&self.file))
    }
}

impl Drop for Unnamed {
    /// After `publish` there is nothing under this name.
    fn drop(&mut self) {
        let _ = self.disk.remove(&self.temporary);
    }
}

/// Removes what an interrupted start or checkpoint has left.
pub fn remove_temporary(disk: &dyn Disk) -> io::Result<()> {
    for name in disk.list()? {
        if name.ends_with(TEMPORARY) {
            disk.remove(&name)?;
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
    use crate::disk::Directory;

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
    fn a_file_that_is_given_up_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let disk: SharedDisk = Arc::new(Directory::at(dir.path()));
        drop(Unnamed::create(&disk, "a").unwrap());
        assert!(disk.list().unwrap().is_empty());
        Unnamed::create(&disk, "a").unwrap().publish("a").unwrap();
        assert_eq!(disk.list().unwrap(), ["a"]);
    }

    #[test]
    fn log_13_all_files_of_a_store_are_taken_from_others_and_no_other_file() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let mode = |name: &str| {
            let meta = std::fs::metadata(dir.path().join(name)).unwrap();
            meta.permissions().mode() & 0o777
        };
        let ours = [LOCK, OWNER, CATALOGUE, RESERVE, BACKUP].map(String::from);
        let named = [
            log_name(1),
            witness_name(1),
            checkpoint_name(7, 12),
            pack_name(3),
            aside_name(3),
        ];
        let all = [&ours[..], &named, &["thesis".to_string()]].concat();
        for name in &all {
            let path = dir.path().join(name);
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
        }
        restrict_all(&Directory::at(dir.path())).unwrap();
        let (other, ours) = all.split_last().unwrap();
        assert_eq!(mode(other), 0o644);
        for name in ours {
            assert_eq!(mode(name), 0o600, "{name}");
        }
    }
}
