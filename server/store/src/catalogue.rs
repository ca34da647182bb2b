//! The catalogue: which checkpoint is the newest of which segment, in redb.
//!
//! The log and the checkpoints are the truth; the catalogue only makes the loss of a whole checkpoint
//! file visible, and knows the path of a segment whose files are damaged. So it is written after the
//! checkpoint has its name and before the log is cut, and is made anew if it cannot be read.

use std::collections::BTreeMap;
use std::path::Path;

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
    database: Database,
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
        let catalogue = Catalogue {
            database: Database::create(path)?,
        };
        let entries = catalogue.entries()?;
        Ok((catalogue, entries))
    }

    fn entries(&self) -> Result<BTreeMap<u64, Entry>, redb::Error> {
        let mut entries = BTreeMap::new();
        let transaction = self.database.begin_read()?;
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

    pub fn set(&self, segment_id: u64, entry: &Entry) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        transaction
            .open_table(CHECKPOINTS)?
            .insert(segment_id, (entry.version, entry.path.as_str()))?;
        Ok(transaction.commit()?)
    }

    pub fn remove(&self, segment_id: u64) -> Result<(), redb::Error> {
        let transaction = self.database.begin_write()?;
        transaction.open_table(CHECKPOINTS)?.remove(segment_id)?;
        Ok(transaction.commit()?)
    }

    /// Makes the catalogue say exactly this.
    pub fn replace(&self, entries: &BTreeMap<u64, Entry>) -> Result<(), redb::Error> {
        if self.entries()? == *entries {
            return Ok(());
        }
        let transaction = self.database.begin_write()?;
        transaction.delete_table(CHECKPOINTS)?;
        {
            let mut table = transaction.open_table(CHECKPOINTS)?;
            for (segment_id, entry) in entries {
                table.insert(segment_id, (entry.version, entry.path.as_str()))?;
            }
        }
        Ok(transaction.commit()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_catalogue_that_cannot_be_read_is_begun_anew() {
        let dir = tempfile::tempdir().unwrap();
        let entry = Entry {
            version: 7,
            path: "/a".to_string(),
        };
        let (catalogue, entries) = Catalogue::open(dir.path()).unwrap();
        assert!(entries.is_empty());
        catalogue.set(1, &entry).unwrap();
        drop(catalogue);
        let (catalogue, entries) = Catalogue::open(dir.path()).unwrap();
        assert_eq!(entries, BTreeMap::from([(1, entry.clone())]));
        drop(catalogue);
        std::fs::write(dir.path().join(files::CATALOGUE), b"not a database").unwrap();
        let (catalogue, entries) = Catalogue::open(dir.path()).unwrap();
        assert!(entries.is_empty());
        catalogue.replace(&BTreeMap::from([(1, entry)])).unwrap();
        catalogue.remove(1).unwrap();
        assert!(catalogue.entries().unwrap().is_empty());
    }
}
