//! Packs: files that hold the checkpoints of several small segments [LOG-19].
//!
//! A checkpoint of its own costs a small segment three syncs, and its file more space than the
//! segment. In a pack many segments share both. An item of a pack has the bytes that a checkpoint's
//! own file would have. An index at the beginning says whose they are.

use std::io;

use bytes::Bytes;
use interweave_wire::protocol::xdr::Xdr;
use interweave_wire::protocol::CheckpointHead;

use crate::disk::{read_all, Disk, SharedDisk};
use crate::embedded::SyncFn;
use crate::files::{pack_name, Unnamed};
use crate::owner::Owner;

const MAGIC: [u8; 4] = *b"IWP1";
/// Of the index: magic and count.
const HEAD_BYTES: usize = 8;
/// Of the index, an item: segment, version, bytes.
const PLACE_BYTES: usize = 20;
/// A larger diff, or more releases, and the checkpoint has a file of its own.
const SMALL_BYTES: usize = 8 << 10;
const SMALL_RELEASES: usize = 64;
/// A pack gets no more items when it has so many, or so many bytes. It must be cheap to write anew.
pub const MOST_ITEMS: usize = 256;
pub const MOST_BYTES: usize = 1 << 20;

/// A checkpoint in a pack.
#[derive(Debug, Clone)]
pub struct Item {
    pub segment_id: u64,
    pub version: u64,
    pub bytes: Bytes,
}

/// Whether the checkpoint may be an item of a pack.
pub fn is_small(head: &CheckpointHead, diff: &[u8]) -> bool {
    diff.len() <= SMALL_BYTES && head.releases.len() <= SMALL_RELEASES
}

/// Writes the pack, replacing what had its number. Once this returns true it lasts. False: the
/// owner was fenced before the file had its name.
pub fn write(
    disk: &SharedDisk,
    number: u64,
    items: &[Item],
    (owner, sync): (&Owner, &SyncFn),
) -> io::Result<bool> {
    let name = pack_name(number);
    let mut unnamed = Unnamed::create(disk, &name)?;
    let mut bytes = MAGIC.to_vec();
    (items.len() as u32).encode(&mut bytes);
    for item in items {
        item.segment_id.encode(&mut bytes);
        item.version.encode(&mut bytes);
        (item.bytes.len() as u32).encode(&mut bytes);
    }
    crc32c::crc32c(&bytes).encode(&mut bytes);
    for item in items {
        bytes.extend_from_slice(&item.bytes);
    }
    unnamed.write_all(&bytes)?;
    sync(unnamed.file())?;
    if owner.check().is_err() {
        return Ok(false);
    }
    unnamed.name(&name)?;
    Ok(true)
}

/// Reads a pack's items, whose own checksums are not looked at. An item that the file is too short
/// for has fewer bytes. Text: the index does not hold.
pub fn read(disk: &dyn Disk, number: u64) -> io::Result<Result<Vec<Item>, String>> {
    let bytes = read_all(disk, &pack_name(number), u64::MAX)?;
    Ok(parse(Bytes::from(bytes)).ok_or_else(|| "the index of the pack does not hold".to_string()))
}

fn parse(bytes: Bytes) -> Option<Vec<Item>> {
    let word = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let long = |at: usize| Some(u64::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
    let count = word(4)? as usize;
    let index_bytes = HEAD_BYTES.checked_add(count.checked_mul(PLACE_BYTES)?)?;
    let index = bytes.get(..index_bytes)?;
    if !index.starts_with(&MAGIC) || word(index_bytes)? != crc32c::crc32c(index) {
        return None;
    }
    let mut begin = index_bytes + 4;
    let mut items = Vec::with_capacity(count);
    for place in (HEAD_BYTES..index_bytes).step_by(PLACE_BYTES) {
        let end = begin + word(place + 16)? as usize;
        items.push(Item {
            segment_id: long(place)?,
            version: long(place + 8)?,
            bytes: bytes.slice(begin.min(bytes.len())..end.min(bytes.len())),
        });
        begin = end;
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Directory;
    use crate::owner::Lock;
    use std::sync::Arc;

    fn item(segment_id: u64, bytes: &'static [u8]) -> Item {
        Item {
            segment_id,
            version: segment_id + 10,
            bytes: Bytes::from_static(bytes),
        }
    }

    /// [LOG-19]
    #[test]
    fn a_pack_has_the_bytes_of_the_specification_and_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let disk: SharedDisk = Arc::new(Directory::at(dir.path()));
        let owner = Owner::begin(&disk, Lock::take(&*disk).unwrap(), 0).unwrap();
        let sync: SyncFn = Arc::new(|file| file.sync_all());
        let items = [item(1, b"one"), item(2, b"")];
        assert!(write(&disk, 5, &items, (&owner, &sync)).unwrap());
        let path = dir.path().join("pack-0000000000000005.iwp");
        let bytes = std::fs::read(&path).unwrap();
        let index = b"IWP1\0\0\0\x02\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x0b\0\0\0\x03\
            \0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x0c\0\0\0\0";
        let crc = crc32c::crc32c(index).to_be_bytes();
        assert_eq!(bytes, [&index[..], &crc, b"one"].concat());
        let again = read(&*disk, 5).unwrap().unwrap();
        let told: Vec<_> = again.iter().map(|i| (i.segment_id, i.version)).collect();
        assert_eq!(told, [(1, 11), (2, 12)]);
        assert_eq!(again[0].bytes, "one");
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let cut = read(&*disk, 5).unwrap();
            assert_eq!(cut.is_ok(), length >= index.len() + 4, "cut at {length}");
        }
        for bit in 0..(index.len() + 4) * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, changed).unwrap();
            assert!(read(&*disk, 5).unwrap().is_err(), "bit {bit}");
        }
    }
}
