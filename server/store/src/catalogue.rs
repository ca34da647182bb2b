//! The catalogue: which checkpoint is the newest of which segment, in redb.
//!
//! The log and the checkpoints are the truth; the catalogue only makes the loss of a whole checkpoint
//! file visible, and knows the path of a segment whose files are damaged. So it is written after the
//! checkpoint has its name and before the log is cut, and is made anew if it cannot be read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

use crate::files;

/// segment id -> (version of its newest checkpoint, path)
const CHECKPOINTS: TableDefinition<u64, (u64, &str)> = TableDefinition::new("checkpoints");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub version: u64,
    pub path: String,
}

#[derive(Debug)]
pub struct Catalogue {
    path: PathBuf,
    /// None after an error: it takes nothing more until it is opened again.
    database: Option<Database>,
}

impl Catalogue {
    /// Opens the catalogue, and tells what is in it; an unreadable one is replaced by an empty one.
    pub fn open(dir: &Path) -> Result<(Catalogue, BTreeMap<u64, Entry>), redb::Error> {
        let path = dir.join(files::CATALOGUE);
        if let Ok(opened) = Self::open_at(&path) {
            return Ok(opened);
        }
        let _ = std::fs::remove_file(&path);
        Self::open_at(&path)
    }

    fn open_at(path: &Path) -> Result<(Catalogue, BTreeMap<u64, Entry>), redb::Error> {
        let database = Database::create(path)?;
        let entries = entries(&database)?;
        let catalogue = Catalogue {
            path: path.to_path_buf(),
            database: Some(database),
        };
        Ok((catalogue, entries))
    }

    /// Changes the catalogue. Lack of space is over some day, so an error does not last.
    fn change(
        &mut self,
        change: impl FnOnce(&Database) -> Result<(), redb::Error>,
    ) -> Result<(), redb::Error> {
        let database = match self.database.take() {
            Some(database) => database,
            None => Database::create(&self.path)?,
        };
        change(&database)?;
        self.database = Some(database);
        Ok(())
    }

    pub fn set(&mut self, segment_id: u64, entry: &Entry) -> Result<(), redb::Error> {
        self.change(|database| {
            let transaction = database.begin_write()?;
            transaction
                .open_table(CHECKPOINTS)?
                .insert(segment_id, (entry.version, entry.path.as_str()))?;
            Ok(transaction.commit()?)
        })
    }

    pub fn remove(&mut self, segment_id: u64) -> Result<(), redb::Error> {
        self.change(|database| {
            let transaction = database.begin_write()?;
            transaction.open_table(CHECKPOINTS)?.remove(segment_id)?;
            Ok(transaction.commit()?)
        })
    }

    /// Makes the catalogue say exactly this.
    pub fn replace(&mut self, wanted: &BTreeMap<u64, Entry>) -> Result<(), redb::Error> {
        self.change(|database| {
            if entries(database)? == *wanted {
                return Ok(());
            }
            let transaction = database.begin_write()?;
            transaction.delete_table(CHECKPOINTS)?;
            {
                let mut table = transaction.open_table(CHECKPOINTS)?;
                for (segment_id, entry) in wanted {
                    table.insert(segment_id, (entry.version, entry.path.as_str()))?;
                }
            }
            Ok(transaction.commit()?)
        })
    }
}

fn entries(database: &Database) -> Result<BTreeMap<u64, Entry>, redb::Error> {
    let mut entries = BTreeMap::new();
    let transaction = database.begin_read()?;
    let table = match transaction.open_table(CHECKPOINTS) {
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(entries),
        table => table?,
    };
    for row in table.iter()? {
        let (segment_id, entry) = row?;
        let (version, path) = entry.value();
        let path = path.to_string();
        entries.insert(segment_id.value(), Entry { version, path });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::mount::{mount, unmount, MountFlags, UnmountFlags};

    #[test]
    fn a_catalogue_for_which_there_was_no_space_takes_changes_again() {
        let dir = tempfile::tempdir().unwrap();
        let size = c"size=4m";
        if let Err(error) = mount("tmpfs", dir.path(), "tmpfs", MountFlags::empty(), size) {
            println!("skipped: no tmpfs can be mounted ({error})");
            return;
        }
        let entry = Entry {
            version: 1,
            path: "/a".repeat(400),
        };
        let (mut catalogue, _) = Catalogue::open(dir.path()).unwrap();
        let ballast = dir.path().join("ballast");
        let free = rustix::fs::statvfs(dir.path()).unwrap().f_bavail as usize;
        std::fs::write(&ballast, vec![1; free * 4096]).unwrap();
        let refused = (0..10_000).find(|&id| catalogue.set(id, &entry).is_err());
        let refused = refused.expect("no space is needed");
        assert!(catalogue.set(refused, &entry).is_err());
        std::fs::remove_file(&ballast).unwrap();
        catalogue.set(refused, &entry).unwrap();
        drop(catalogue);
        let (catalogue, entries) = Catalogue::open(dir.path()).unwrap();
        assert_eq!(entries.len() as u64, refused + 1);
        drop(catalogue);
        unmount(dir.path(), UnmountFlags::DETACH).unwrap();
    }

    #[test]
    fn a_catalogue_that_cannot_be_read_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let entry = Entry {
            version: 7,
            path: "/a".to_string(),
        };
        let (mut catalogue, entries) = Catalogue::open(dir.path()).unwrap();
        assert!(entries.is_empty());
        catalogue.set(1, &entry).unwrap();
        drop(catalogue);
        let (catalogue, entries) = Catalogue::open(dir.path()).unwrap();
        assert_eq!(entries, BTreeMap::from([(1, entry.clone())]));
        drop(catalogue);
        std::fs::write(dir.path().join(files::CATALOGUE), b"not a database").unwrap();
        let (mut catalogue, entries) = Catalogue::open(dir.path()).unwrap();
        assert!(entries.is_empty());
        catalogue.replace(&BTreeMap::from([(1, entry)])).unwrap();
        catalogue.remove(1).unwrap();
        drop(catalogue);
        assert!(Catalogue::open(dir.path()).unwrap().1.is_empty());
    }
}
