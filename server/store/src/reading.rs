//! Reads one file of a store without knowledge of the others, so that a start can read several
//! files at a time. In recovery.rs the files come together.

use std::io;

use bytes::Bytes;

use crate::checkpoint::{self, Age, Loaded};
use crate::damage::Damage;
use crate::disk::{Disk, DiskFile, How};
use crate::files::{self, failed, log_name};
use crate::pack::{self, Item};
use crate::record::FileHead;
use crate::scan::{has_bytes_from, read_head, Scan, Step};
use crate::witness::Seen;
use crate::StoreError;

/// A log file as it was read.
pub struct Log {
    pub first: u64,
    pub name: String,
    pub is_newest: bool,
    pub bytes: u64,
    pub seen: Option<Seen>,
    /// All that was in the file until then is known to the witness.
    pub is_all_seen: bool,
    /// None: it does not hold.
    pub head: Option<FileHead>,
    /// Not to be looked at if the head does not count.
    pub contents: io::Result<Contents>,
}

#[derive(Default)]
pub struct Contents {
    pub steps: Vec<Step>,
    pub end: u64,
    pub synced: u64,
    pub records: u64,
    pub torn_bytes: u64,
}

impl Log {
    /// Of the file, which bound the memory to read it. A file that cannot be looked at has none;
    /// its reading says why.
    pub fn bytes(disk: &dyn Disk, first: u64) -> u64 {
        disk.bytes_of(&log_name(first)).unwrap_or(0)
    }

    pub fn read(
        disk: &dyn Disk,
        numbers: (u64, Option<u64>),
        bodies: bool,
    ) -> Result<Log, StoreError> {
        let path = disk.path().join(log_name(numbers.0));
        Log::open(disk, numbers, bodies).map_err(|error| failed("reading", &path, &error))
    }

    fn open(disk: &dyn Disk, (first, next): (u64, Option<u64>), bodies: bool) -> io::Result<Log> {
        let name = log_name(first);
        // before the log file, to which an owner that is fenced only now may still write
        let seen = Seen::read(disk, first)?;
        let file = disk.open(&name, How::Read)?;
        let head = read_head(&*file)?.filter(|head| head.first == first);
        let expected = next.map(|next| next - first);
        let contents = head.map_or(Ok(Contents::default()), |head| {
            let scan = Scan::new(&*file, head, expected)?;
            Contents::read(scan.witnessed(seen.clone()), bodies)
        });
        Ok(Log {
            first,
            is_newest: next.is_none(),
            bytes: file.bytes()?,
            is_all_seen: match (&seen, head) {
                (Some(seen), None) => is_all_seen(seen, &*file)?,
                (Some(seen), Some(_)) => contents.as_ref().is_ok_and(|c| c.end <= seen.synced),
                (None, _) => false,
            },
            contents,
            seen,
            head,
            name,
        })
    }
}

/// Whether nothing follows what the witness of the file has seen. The witness may say less than is
/// true: of what no sync has covered, and after a loss of power.
fn is_all_seen(seen: &Seen, file: &dyn DiskFile) -> io::Result<bool> {
    Ok(!has_bytes_from(file, seen.synced)?)
}

impl Contents {
    fn read(mut scan: Scan<'_>, bodies: bool) -> io::Result<Contents> {
        let mut steps = Vec::new();
        while let Some(mut step) = scan.next()? {
            if let (Step::Group(group), false) = (&mut step, bodies) {
                group
                    .iter_mut()
                    .for_each(|record| record.body = Bytes::new());
            }
            steps.push(step);
        }
        Ok(Contents {
            steps,
            end: scan.end(),
            synced: scan.synced(),
            records: scan.records(),
            torn_bytes: scan.torn_bytes(),
        })
    }
}

/// What the checkpoint files of one segment are.
#[derive(Default)]
pub struct InFiles {
    pub newest: Option<Loaded>,
    pub older: Vec<u64>,
    pub bad: Vec<(u64, Damage)>,
}

impl InFiles {
    /// Of the largest file, which bound the memory to read them, because one is read at a time.
    pub fn bytes(disk: &dyn Disk, segment_id: u64, versions: &[u64]) -> u64 {
        let name = |&version| files::checkpoint_name(segment_id, version);
        let found = versions.iter().map(|version| disk.bytes_of(&name(version)));
        found.flatten().max().unwrap_or(0)
    }

    /// `versions`: of the files, the newest first. `packed`: the age of the segment's newest item.
    pub fn read(
        disk: &dyn Disk,
        (segment_id, versions): (u64, &[u64]),
        packed: Option<Age>,
        keeps: bool,
    ) -> Result<InFiles, StoreError> {
        let mut found = InFiles::default();
        for &version in versions {
            let is_older = packed.is_some_and(|age| age.0 > version);
            if is_older || found.newest.is_some() {
                found.older.push(version);
                continue;
            }
            let name = files::checkpoint_name(segment_id, version);
            let path = disk.path().join(&name);
            let read = disk
                .open(&name, How::Read)
                .and_then(|file| checkpoint::read(&*file, (segment_id, version), keeps))
                .map_err(|error| failed("reading", &path, &error))?;
            match read {
                Ok(loaded) if packed.is_some_and(|age| age > loaded.age()) => {
                    found.older.push(version);
                }
                Ok(loaded) => found.newest = Some(loaded),
                Err(what) => found.bad.push((version, Damage::new(&name, 0, what))),
            }
        }
        Ok(found)
    }
}

/// An item that was read of a pack, or what is wrong with it.
pub type ReadItem = (Item, Result<Loaded, String>);

/// The items of a pack. Text: its index does not hold.
pub fn read_pack(
    disk: &dyn Disk,
    number: u64,
    keeps: bool,
) -> Result<Result<Vec<ReadItem>, String>, StoreError> {
    let path = disk.path().join(files::pack_name(number));
    let read = pack::read(disk, number).map_err(|error| failed("reading", &path, &error))?;
    let loaded = |item: Item| {
        let loaded = checkpoint::of_item(&item).map(|mut loaded| {
            if !keeps {
                loaded.diff = Bytes::new();
            }
            loaded
        });
        (item, loaded)
    };
    Ok(read.map(|items| items.into_iter().map(loaded).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Directory;

    #[test]
    fn the_largest_file_bounds_the_memory_to_read_the_files_of_a_segment() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Directory::at(dir.path());
        for (version, bytes) in [(9, 10), (7, 4000), (5, 30)] {
            let name = files::checkpoint_name(3, version);
            std::fs::write(dir.path().join(name), vec![0; bytes]).unwrap();
        }
        assert_eq!(InFiles::bytes(&disk, 3, &[9, 7, 5]), 4000);
        assert_eq!(InFiles::bytes(&disk, 3, &[9, 5]), 30);
        // a file that is gone is told of by its reading
        assert_eq!(InFiles::bytes(&disk, 3, &[8]), 0);
        assert_eq!(InFiles::bytes(&disk, 3, &[]), 0);
        std::fs::write(dir.path().join(log_name(2)), [0; 700]).unwrap();
        assert_eq!((Log::bytes(&disk, 2), Log::bytes(&disk, 1)), (700, 0));
    }
}
