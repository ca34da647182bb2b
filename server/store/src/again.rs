//! Brings to the disk what a failed sync may have left out [LOG-4].
//!
//! After a sync has failed, the system may show bytes that are not on the disk, and a later sync
//! that succeeds does not bring them there. They come to the disk only if they are written again.

use std::io::{self, Read};
use std::ops::Range;

use crate::disk::{write_all_at, DiskFile, OpenFile, SharedDisk, Stream};
use crate::files::Unnamed;

const CHUNK_BYTES: usize = 1 << 20;

/// Writes these bytes of the file again at their place. They are to be synced then. The handles are
/// of one file: one reads, the other one writes.
pub fn in_place(shown: &dyn DiskFile, written: &dyn DiskFile, range: Range<u64>) -> io::Result<()> {
    chunks(shown, range, |chunk, at| write_all_at(written, chunk, at))
}

/// Gives the name to a new file with the first `bytes` bytes of the file that has it, for a disk
/// that refuses the old place. The new file is on the disk.
pub fn as_copy(
    disk: &SharedDisk,
    name: &str,
    shown: &dyn DiskFile,
    bytes: u64,
) -> io::Result<OpenFile> {
    let mut copy = Unnamed::create(disk, name)?;
    chunks(shown, 0..bytes, |chunk, _| copy.write_all(chunk))?;
    copy.publish(name)
}

fn chunks(
    file: &dyn DiskFile,
    range: Range<u64>,
    mut each: impl FnMut(&[u8], u64) -> io::Result<()>,
) -> io::Result<()> {
    let mut at = range.start;
    let mut chunk = Vec::new();
    while at < range.end {
        chunk.clear();
        let count = (range.end - at).min(CHUNK_BYTES as u64);
        Stream::from(file, at).take(count).read_to_end(&mut chunk)?;
        if (chunk.len() as u64) < count {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        each(&chunk, at)?;
        at += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::{Directory, Disk, How};
    use std::sync::Arc;

    /// Bytes of several chunks, of which no two are alike.
    fn bytes() -> Vec<u8> {
        let words = (0..CHUNK_BYTES as u32 * 5 / 8).map(u32::to_be_bytes);
        words.flatten().collect()
    }

    #[test]
    fn log_4_a_range_is_written_again_at_its_place_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Directory::at(dir.path());
        let whole = bytes();
        std::fs::write(dir.path().join("shown"), &whole).unwrap();
        std::fs::write(dir.path().join("written"), vec![0; whole.len()]).unwrap();
        let shown = disk.open("shown", How::Read).unwrap();
        let written = disk.open("written", How::Change).unwrap();
        let (from, to) = (100, whole.len() - 50);
        in_place(&*shown, &*written, from as u64..to as u64).unwrap();
        let mut expected = vec![0; whole.len()];
        expected[from..to].copy_from_slice(&whole[from..to]);
        assert!(std::fs::read(dir.path().join("written")).unwrap() == expected);
        let beyond = in_place(&*shown, &*written, 0..whole.len() as u64 + 1);
        assert!(beyond.is_err(), "the file is shorter");
    }

    #[test]
    fn log_4_a_copy_has_the_bytes_that_are_asked_for_and_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let disk: SharedDisk = Arc::new(Directory::at(dir.path()));
        let whole = bytes();
        std::fs::write(dir.path().join("a"), &whole).unwrap();
        let shown = disk.open("a", How::Read).unwrap();
        let count = whole.len() - 7;
        let copy = as_copy(&disk, "a", &*shown, count as u64).unwrap();
        assert!(copy.has_name().unwrap() && !shown.has_name().unwrap());
        assert!(std::fs::read(dir.path().join("a")).unwrap() == whole[..count]);
    }
}
