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
