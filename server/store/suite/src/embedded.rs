//! Places of the embedded store: a directory, and a disk in memory.

use crate::disk::MemoryDisk;
use crate::faulty::{Faults, FaultyDisk, Step};
use crate::place::{Ability, Crash, Opened, Place};
use interweave_store::disk::{read_all, write_all_at, Directory, How, SharedDisk};
use interweave_store::{EmbeddedStore, Options, StoreError};
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

/// Small files, so that histories have many.
const LOG_FILE_BYTES: u64 = 16 << 10;
/// How often a store that refuses tries again.
const TRIAL_INTERVAL: Duration = Duration::from_millis(2);

/// Where an embedded store lies.
pub struct Embedded {
    disk: SharedDisk,
    memory: Option<MemoryDisk>,
    /// The directory of the store, which is removed with the place.
    _dir: Option<tempfile::TempDir>,
    /// The faults of the processes that run now.
    faults: RefCell<Faults>,
    /// The files of the last copy, with their names.
    copy: RefCell<Vec<(String, Vec<u8>)>>,
}

impl Embedded {
    /// A directory of the file system.
    ///
    /// # Panics
    /// No directory can be made.
    pub fn in_directory() -> Embedded {
        let dir = tempfile::tempdir().expect("a directory can be made");
        Embedded {
            disk: Arc::new(Directory::at(dir.path())),
            memory: None,
            _dir: Some(dir),
            faults: RefCell::default(),
            copy: RefCell::default(),
        }
    }

    /// A disk that can lose power.
    pub fn in_memory() -> Embedded {
        let disk = MemoryDisk::default();
        Embedded {
            disk: Arc::new(disk.clone()),
            memory: Some(disk),
            _dir: None,
            faults: RefCell::default(),
            copy: RefCell::default(),
        }
    }

    fn faults(&self) -> Faults {
        self.faults.borrow().clone()
    }

    /// Changes one bit of the bytes. Returns whether the file has the bytes.
    fn flip(&self, name: &str, bytes: &[u8]) -> std::io::Result<bool> {
        let mut all = read_all(&*self.disk, name, u64::MAX)?;
        let Some(at) = all.windows(bytes.len()).position(|part| part == bytes) else {
            return Ok(false);
        };
        all[at + bytes.len() / 2] ^= 1;
        write_all_at(&*self.disk.open(name, How::Change)?, &all, 0)?;
        Ok(true)
    }

    fn files(&self) -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let names = self.disk.list()?.into_iter();
        let read = |name: String| Ok((name.clone(), read_all(&*self.disk, &name, u64::MAX)?));
        names.map(read).collect()
    }

    fn put(&self, files: &[(String, Vec<u8>)]) -> std::io::Result<()> {
        for name in self.disk.list()? {
            self.disk.remove(&name)?;
        }
        for (name, bytes) in files {
            let file = self.disk.open(name, How::Empty)?;
            write_all_at(&*file, bytes, 0)?;
            file.sync_data()?;
        }
        self.disk.sync()
    }
}

impl Place for Embedded {
    fn can(&self, ability: Ability) -> bool {
        match ability {
            Ability::LosePower => self.memory.is_some(),
            Ability::Cancel | Ability::Take => false,
            _ => true,
        }
    }

    fn open(&self) -> Result<Opened, StoreError> {
        let options = Options {
            log_file_bytes: LOG_FILE_BYTES,
            trial_interval: TRIAL_INTERVAL,
            ..Options::default()
        };
        let disk = FaultyDisk::over(Arc::clone(&self.disk), self.faults());
        let (store, segments) = EmbeddedStore::open_on(Arc::new(disk), options)?;
        Ok(Opened {
            store: Box::new(store),
            segments,
        })
    }

    fn crash(&self, crash: Crash) {
        self.faults.take().end();
        if let (Crash::Power(which), Some(memory)) = (crash, &self.memory) {
            memory.lose_power(which);
        }
    }

    fn steps(&self) -> u32 {
        2
    }

    fn hold(&self, step: u32) {
        self.faults().hold(match step {
            0 => Step::Write,
            _ => Step::Sync,
        });
    }

    fn is_held(&self) -> bool {
        self.faults().is_held()
    }

    fn let_go(&self) {
        self.faults().let_go();
    }

    fn fail(&self, commits: u32) {
        self.faults().fail_syncs(commits);
    }

    fn fill(&self, is_full: bool) {
        self.faults().fill(is_full);
    }

    fn damage(&self, bytes: &[u8]) {
        let names = self.disk.list().unwrap_or_default();
        let flipped = names
            .iter()
            .filter(|name| self.flip(name, bytes).unwrap_or(false));
        assert_eq!(flipped.count(), 1, "the bytes lie in one file");
    }

    fn copy(&self) {
        self.copy
            .replace(self.files().expect("the files can be read"));
    }

    fn put_copy_back(&self) {
        let put = self.put(&self.copy.borrow());
        put.expect("the files can be written");
    }
}
