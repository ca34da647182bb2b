//! A disk in memory, which loses what was not synced.
//!
//! A reader sees `shown`. A loss of power leaves `kept` at least. A sync makes both equal, for a
//! file or for the names.

use crate::locked;
use crate::records::Random;
use interweave_store::disk::{Disk, DiskFile, How, OpenFile};
use std::collections::BTreeMap;
use std::io::{self, IoSlice};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A write of so many bytes is whole or not there after a loss of power.
const SECTOR: usize = 512;

#[derive(Debug, Default)]
struct Content {
    shown: Vec<u8>,
    kept: Vec<u8>,
    names: u32,
}

type Shared = Arc<Mutex<Content>>;
type Names = BTreeMap<String, Shared>;

#[derive(Debug, Default)]
struct Directory {
    shown: Names,
    kept: Names,
    /// The states between `kept` and `shown`.
    unsynced: Vec<Names>,
}

/// The disk of one machine.
#[derive(Debug, Default, Clone)]
pub struct MemoryDisk(Arc<Mutex<Directory>>);

fn missing<T>() -> io::Result<T> {
    Err(io::ErrorKind::NotFound.into())
}

impl MemoryDisk {
    /// The power goes off. 0: nothing that was not synced is left; 1: all of it; otherwise some
    /// sectors, and the names as they were at some time.
    pub fn lose_power(&self, which: u64) {
        let mut random = Random(which);
        let mut directory = locked(&self.0);
        let mut states = std::mem::take(&mut directory.unsynced);
        let count = match which {
            0 => 0,
            1 => states.len(),
            _ => random.below(states.len() as u64 + 1) as usize,
        };
        if count > 0 {
            directory.kept = states.swap_remove(count - 1);
        }
        let kept = directory.kept.clone();
        for content in kept.values() {
            locked(content).lose_power(which, &mut random);
        }
        directory.shown = kept;
        for content in directory.shown.values() {
            locked(content).names = 1;
        }
    }
}

impl Content {
    fn lose_power(&mut self, which: u64, random: &mut Random) {
        let mut takes = || match which {
            0 => false,
            1 => true,
            _ => random.below(2) == 0,
        };
        if takes() {
            self.kept.resize(self.shown.len(), 0);
        }
        let shared = self.kept.len().min(self.shown.len());
        for at in (0..shared).step_by(SECTOR) {
            let end = (at + SECTOR).min(shared);
            if self.kept[at..end] != self.shown[at..end] && takes() {
                self.kept[at..end].copy_from_slice(&self.shown[at..end]);
            }
        }
        self.shown.clone_from(&self.kept);
    }
}

impl Directory {
    fn change(&mut self, change: impl FnOnce(&mut Names)) {
        change(&mut self.shown);
        self.unsynced.push(self.shown.clone());
    }
}

impl Disk for MemoryDisk {
    fn path(&self) -> &Path {
        Path::new("/memory")
    }

    fn make(&self) -> io::Result<()> {
        Ok(())
    }

    fn open(&self, name: &str, how: How) -> io::Result<OpenFile> {
        let mut directory = locked(&self.0);
        let found = directory.shown.get(name).cloned();
        let content = match (found, how) {
            (None, How::Read | How::Change) => return missing(),
            (Some(content), _) => content,
            (None, _) => {
                let content = Shared::default();
                locked(&content).names = 1;
                let made = Arc::clone(&content);
                directory.change(|names| drop(names.insert(name.to_string(), made)));
                content
            }
        };
        if how == How::Empty {
            locked(&content).shown.clear();
        }
        Ok(Arc::new(File(content)))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let mut directory = locked(&self.0);
        let Some(content) = directory.shown.get(from).cloned() else {
            return missing();
        };
        directory.change(|names| {
            names.remove(from);
            if let Some(replaced) = names.insert(to.to_string(), content) {
                locked(&replaced).names -= 1;
            }
        });
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        let mut directory = locked(&self.0);
        let Some(content) = directory.shown.get(name).cloned() else {
            return missing();
        };
        locked(&content).names -= 1;
        directory.change(|names| drop(names.remove(name)));
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(locked(&self.0).shown.keys().cloned().collect())
    }

    fn sync(&self) -> io::Result<()> {
        let mut directory = locked(&self.0);
        directory.kept = directory.shown.clone();
        directory.unsynced.clear();
        Ok(())
    }

    fn bytes_of(&self, name: &str) -> io::Result<u64> {
        self.open(name, How::Read)?.bytes()
    }

    fn free_bytes(&self) -> u64 {
        1 << 40
    }

    fn restrict(&self, _names: &[String]) {}
}

#[derive(Debug)]
struct File(Shared);

impl DiskFile for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let content = locked(&self.0);
        let from = (offset as usize).min(content.shown.len());
        let count = bytes.len().min(content.shown.len() - from);
        bytes[..count].copy_from_slice(&content.shown[from..from + count]);
        Ok(count)
    }

    fn write_at(&self, slices: &[IoSlice<'_>], offset: u64) -> io::Result<usize> {
        let mut content = locked(&self.0);
        let mut at = offset as usize;
        for slice in slices {
            let end = at + slice.len();
            if content.shown.len() < end {
                content.shown.resize(end, 0);
            }
            content.shown[at..end].copy_from_slice(slice);
            at = end;
        }
        Ok(at - offset as usize)
    }

    fn set_bytes(&self, bytes: u64) -> io::Result<()> {
        locked(&self.0).shown.resize(bytes as usize, 0);
        Ok(())
    }

    fn preallocate(&self, bytes: u64) -> io::Result<()> {
        let mut content = locked(&self.0);
        let bytes = content.shown.len().max(bytes as usize);
        content.shown.resize(bytes, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut content = locked(&self.0);
        let Content { shown, kept, .. } = &mut *content;
        kept.clone_from(shown);
        Ok(())
    }

    fn sync_all(&self) -> io::Result<()> {
        self.sync_data()
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(locked(&self.0).shown.len() as u64)
    }

    fn has_name(&self) -> io::Result<bool> {
        Ok(locked(&self.0).names > 0)
    }

    fn lock(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn unlock(&self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_store::disk::{read_all, write_all_at};

    fn written(disk: &MemoryDisk, name: &str, bytes: &[u8]) -> OpenFile {
        let file = disk.open(name, How::Make).unwrap();
        write_all_at(&*file, bytes, 0).unwrap();
        file
    }

    #[test]
    fn what_was_synced_is_left_and_nothing_else() {
        let disk = MemoryDisk::default();
        let file = written(&disk, "a", b"synced");
        file.sync_data().unwrap();
        disk.sync().unwrap();
        write_all_at(&*file, b"dirty!", 0).unwrap();
        written(&disk, "b", b"dirty").sync_data().unwrap();
        disk.lose_power(0);
        assert_eq!(read_all(&disk, "a", 99).unwrap(), b"synced");
        assert_eq!(disk.list().unwrap(), ["a"]);
    }

    #[test]
    fn what_was_not_synced_may_be_left() {
        let disk = MemoryDisk::default();
        written(&disk, "a", b"dirty");
        disk.lose_power(1);
        assert_eq!(read_all(&disk, "a", 99).unwrap(), b"dirty");
    }

    #[test]
    fn sectors_are_lost_one_by_one() {
        let disk = MemoryDisk::default();
        let file = written(&disk, "a", &[1; 4 * SECTOR]);
        file.sync_data().unwrap();
        disk.sync().unwrap();
        let mut mixed = 0;
        for which in 2..20 {
            write_all_at(&*file, &[1; 4 * SECTOR], 0).unwrap();
            file.sync_data().unwrap();
            write_all_at(&*file, &[2; 4 * SECTOR], 0).unwrap();
            disk.lose_power(which);
            let left = read_all(&disk, "a", 9_999).unwrap();
            let whole = left
                .chunks(SECTOR)
                .all(|s| s.iter().all(|byte| *byte == s[0]));
            assert!(whole);
            mixed += u32::from(left.contains(&1) && left.contains(&2));
        }
        assert!(mixed > 5, "{mixed} of 18");
    }

    #[test]
    fn a_file_whose_name_was_given_away_knows_it() {
        let disk = MemoryDisk::default();
        let file = written(&disk, "a", b"old");
        written(&disk, "b", b"new");
        assert!(file.has_name().unwrap());
        disk.rename("b", "a").unwrap();
        assert!(!file.has_name().unwrap());
        assert_eq!(read_all(&disk, "a", 99).unwrap(), b"new");
    }
}
