//! The log file that is being written. It only ever grows, and older files are whole on the disk
//! before a newer one exists, so that only the newest can have a torn end [LOG-2].

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use interweave_wire::planted::{self, Defect};

use crate::again;
use crate::batch::Batch;
use crate::disk::{OpenFile, SharedDisk};
use crate::embedded::SyncFn;
use crate::files::{log_name, Unnamed};
use crate::identity::Identity;
use crate::record::FileHead;
use crate::scan::{read_head, Scan, Step};

/// Offsets in a log file have 32 bits.
pub const MAX_FILE_BYTES: u64 = u32::MAX as u64;

pub struct Log {
    disk: SharedDisk,
    file: OpenFile,
    head: FileHead,
    records: u64,
    /// Where the next record goes.
    end: u64,
    /// How many bytes are known to be on the disk.
    synced: u64,
    capacity: u64,
    sync: SyncFn,
    /// A write or sync has failed: the file takes nothing more [LOG-4].
    abandoned: bool,
    /// A sync has failed: what is not known to be on the disk may never come there.
    doubtful: bool,
    /// What failed may still be there, behind the end.
    uncut: bool,
}

impl Log {
    /// Makes an empty log file with room for `capacity` bytes. The numbers are a random one, and
    /// those of the owner and of the file's first record. `before_name` runs when the file is ready
    /// but has no name yet: it brings to the disk all that must be there before the file exists.
    pub fn create(
        disk: &SharedDisk,
        ((mark, numbers), identity): ((u64, (u64, u64)), Identity),
        capacity: u64,
        sync: SyncFn,
        before_name: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<Log> {
        let head = FileHead::new((mark as u32).max(1), numbers, identity, capacity);
        let name = log_name(head.first);
        let mut unnamed = Unnamed::create(disk, &name)?;
        unnamed.file().preallocate(capacity)?;
        unnamed.write_all(&head.encode())?;
        before_name()?;
        let file = unnamed.publish(&name)?;
        Ok(Log {
            disk: Arc::clone(disk),
            file,
            head,
            records: 0,
            end: head.bytes,
            synced: head.bytes,
            capacity,
            sync,
            abandoned: false,
            doubtful: false,
            uncut: false,
        })
    }

    pub fn head(&self) -> &FileHead {
        &self.head
    }

    /// How many bytes are known to be on the disk.
    pub fn synced(&self) -> u64 {
        self.synced
    }

    pub fn first(&self) -> u64 {
        self.head.first
    }

    pub fn path(&self) -> PathBuf {
        self.disk.path().join(log_name(self.head.first))
    }

    pub fn next_number(&self) -> u64 {
        self.head.first + self.records
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    /// How many bytes of records still fit.
    pub fn room(&self) -> u64 {
        match self.abandoned {
            true => 0,
            false => self.capacity - self.end,
        }
    }

    pub fn batch(&self) -> Batch {
        Batch::new(self.head.mark, self.synced as u32)
    }

    /// Writes the batch and, if asked, syncs. On an error none of it counts, but it may be there:
    /// the file takes nothing more, and is to be cut or followed by another [LOG-4].
    pub fn append(&mut self, batch: &Batch, records: u64, sync: bool) -> io::Result<()> {
        let written = batch.write_at(&*self.file, self.end);
        let written = match sync {
            true if !planted::is_in(Defect::EarlyAcknowledgement) => {
                written.and_then(|()| self.call_sync())
            }
            _ => written,
        };
        self.abandoned |= written.is_err();
        self.uncut |= written.is_err();
        written?;
        self.end += batch.bytes();
        self.records += records;
        if sync {
            self.synced = self.end;
        }
        Ok(())
    }

    /// Brings everything to the disk. After an error the next call writes again what the failed
    /// sync may have left out.
    pub fn sync(&mut self) -> io::Result<()> {
        if self.synced < self.end {
            match self.doubtful && !planted::is_in(Defect::SyncedAgain) {
                true => self.write_again()?,
                false => self.call_sync()?,
            }
            self.synced = self.end;
        }
        Ok(())
    }

    fn call_sync(&mut self) -> io::Result<()> {
        let synced = (self.sync)(&*self.file);
        self.abandoned |= synced.is_err();
        self.doubtful |= synced.is_err();
        synced
    }

    /// Writes what is not known to be on the disk again: at its place, or into a copy of the file
    /// if the disk refuses that.
    fn write_again(&mut self) -> io::Result<()> {
        if !self.is_whole()? {
            let text = "records written before are gone";
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let file = &*self.file;
        let written = again::in_place(file, file, self.synced..self.end);
        if written.and_then(|()| self.call_sync()).is_err() {
            let name = log_name(self.head.first);
            self.file = again::as_copy(&self.disk, &name, &*self.file, self.end)?;
            self.uncut = false;
        }
        self.doubtful = false;
        Ok(())
    }

    /// Ends the file: on the disk, and no longer than its records. An abandoned file may be longer:
    /// the next file's number says where it ends.
    pub fn seal(&mut self) -> io::Result<()> {
        if planted::is_in(Defect::UnsealedFile) {
            return self.file.set_bytes(self.end);
        }
        self.sync()?;
        match self.cut() {
            Err(_) if self.abandoned => Ok(()),
            sealed => sealed,
        }
    }

    /// Cuts off what follows the records. The sync is of all of the file: one that fails may leave
    /// out records as well.
    pub fn cut(&mut self) -> io::Result<()> {
        self.file.set_bytes(self.end)?;
        let synced = self.file.sync_all();
        self.doubtful |= synced.is_err();
        synced?;
        self.capacity = self.end;
        self.uncut = false;
        Ok(())
    }

    pub fn sync_fn(&self) -> SyncFn {
        self.sync.clone()
    }

    pub fn is_abandoned(&self) -> bool {
        self.abandoned
    }

    /// A sync has failed: the next one writes again what is not known to be on the disk.
    pub fn is_doubtful(&self) -> bool {
        self.doubtful
    }

    /// Records that were not acknowledged may be found behind the end after a crash.
    pub fn is_uncut(&self) -> bool {
        self.uncut
    }

    /// Reads the file again: is everything there that was acknowledged?
    pub fn is_whole(&self) -> io::Result<bool> {
        if read_head(&*self.file)? != Some(self.head) {
            return Ok(false);
        }
        let mut scan = Scan::new(&*self.file, self.head, Some(self.records))?;
        while let Some(step) = scan.next()? {
            if let Step::Hole(_) = step {
                return Ok(false);
            }
        }
        Ok(scan.end() == self.end)
    }
}
