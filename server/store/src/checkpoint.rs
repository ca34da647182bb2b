//! Checkpoint files: `checkpoint_head`, the diff from version 0, and a CRC-32C of both. Those of
//! large segments are in pieces.rs.

use std::io::{self, ErrorKind, Read};

use bytes::Bytes;
use interweave_wire::protocol::xdr::{to_bytes, Reader, Xdr};
use interweave_wire::protocol::{CheckpointHead, MAX_PATH};

use crate::creator::keep_creator;
use crate::disk::{read_exact_at, DiskFile, SharedDisk, Stream};
use crate::embedded::SyncFn;
use crate::files::{checkpoint_name, Unnamed};
use crate::identity::Identity;
use crate::older;
use crate::owner::Owner;
use crate::pack::Item;
use crate::pieces;
use crate::record::Format;
use crate::store::Piece;
use crate::StoreError;

pub const MAGIC: [u8; 4] = *b"IWC3";
/// Of older formats [LOG-14].
const MAGIC_2: [u8; 4] = *b"IWC2";
const MAGIC_1: [u8; 4] = *b"IWC1";
/// `checkpoint_head.releases` has no more.
const MAX_RELEASES: usize = 1024;

/// A checkpoint as it was read.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub head: CheckpointHead,
    /// Empty if the contents came in pieces.
    pub diff: Bytes,
    pub pieces: Vec<Piece>,
}

/// Version, incarnation, bound of serials and fence.
pub type Age = (u64, u64, u64, u64);

impl Loaded {
    /// Of two checkpoints of a segment the one with the larger age was made later. What is equal in
    /// all of this recovers the same segment.
    pub fn age(&self) -> Age {
        let head = &self.head;
        let at = &head.at;
        (at.number, at.incarnation, head.next_serial, head.fence)
    }
}

/// Completes a head but for its magic and its length. `place` returns the checksum of the last
/// record that the checkpoint covers, and the bound of the serials in the log; it is not called for
/// a head that is too long.
pub fn complete_head(
    head: &mut CheckpointHead,
    identity: &Identity,
    place: impl FnOnce(&CheckpointHead) -> Result<(u32, u64), StoreError>,
) -> Result<(), StoreError> {
    if head.path.len() > MAX_PATH as usize || head.releases.len() > MAX_RELEASES {
        return Err(StoreError::Io(
            "the checkpoint's head is too long".to_string(),
        ));
    }
    let (parent, serials_below) = place(head)?;
    keep_creator(&mut head.fields);
    head.fields.extend(identity.fields());
    head.parent = parent;
    head.next_serial = head.next_serial.max(serials_below);
    Ok(())
}

/// Writes the checkpoint, whose head is complete; once this returns true it lasts. False: the owner
/// was fenced before the file had its name.
pub fn write(
    disk: &SharedDisk,
    head: &CheckpointHead,
    diff: &[u8],
    owner: &Owner,
    sync: &SyncFn,
) -> io::Result<bool> {
    let name = checkpoint_name(head.segment_id, head.at.number);
    let mut unnamed = Unnamed::create(disk, &name)?;
    let (head, crc) = encode(head, diff);
    unnamed.write_all(&head)?;
    unnamed.write_all(diff)?;
    unnamed.write_all(&crc)?;
    sync(unnamed.file())?;
    if owner.check().is_err() {
        return Ok(false);
    }
    unnamed.name(&name)?;
    Ok(true)
}

/// The bytes before the diff and after it.
fn encode(head: &CheckpointHead, diff: &[u8]) -> (Vec<u8>, [u8; 4]) {
    let head = to_bytes(head);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&head), diff);
    (head, crc.to_be_bytes())
}

/// The checkpoint as an item of a pack: the bytes that a file of its own would have [LOG-19].
pub fn to_item(head: &CheckpointHead, diff: &[u8]) -> Item {
    let (mut bytes, crc) = encode(head, diff);
    bytes.extend_from_slice(diff);
    bytes.extend_from_slice(&crc);
    Item {
        segment_id: head.segment_id,
        version: head.at.number,
        bytes: bytes.into(),
    }
}

/// The checkpoint in an item. What is wrong with one that cannot be used is told as text. The diff
/// is a copy, because a part of it would keep the whole pack in memory.
pub fn of_item(item: &Item) -> Result<Loaded, String> {
    let mut loaded = named(parse(&item.bytes)?, (item.segment_id, item.version))?;
    loaded.diff = Bytes::copy_from_slice(&loaded.diff);
    Ok(loaded)
}

/// Reads a checkpoint. Without `keeps` its diffs are checked and let go. The fault of one that
/// cannot be used is told as text.
pub fn read(
    file: &dyn DiskFile,
    (segment_id, version): (u64, u64),
    keeps: bool,
) -> io::Result<Result<Loaded, String>> {
    let mut magic = [0; 4];
    let loaded = match read_exact_at(file, &mut magic, 0) {
        Ok(()) if magic == pieces::MAGIC => read_pieces(file, keeps)?,
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => return Err(error),
        _ => read_whole(file, keeps)?,
    };
    Ok(loaded.and_then(|loaded| named(loaded, (segment_id, version))))
}

/// The checkpoint, if it is what its name or the index of its pack says.
fn named(loaded: Loaded, (segment_id, version): (u64, u64)) -> Result<Loaded, String> {
    let head = &loaded.head;
    match head.segment_id == segment_id && head.at.number == version {
        true => Ok(loaded),
        false => Err("it is of another segment or version than its name says".to_string()),
    }
}

fn read_pieces(file: &dyn DiskFile, keeps: bool) -> io::Result<Result<Loaded, String>> {
    Ok(pieces::read(file, keeps)?.map(|(head, pieces)| Loaded {
        head,
        diff: Bytes::new(),
        pieces,
    }))
}

fn read_whole(file: &dyn DiskFile, keeps: bool) -> io::Result<Result<Loaded, String>> {
    let mut bytes = Vec::with_capacity(file.bytes()? as usize);
    Stream::of(file).read_to_end(&mut bytes)?;
    Ok(parse(&Bytes::from(bytes)).map(|mut loaded| {
        if !keeps {
            loaded.diff = Bytes::new();
        }
        loaded
    }))
}

fn parse(bytes: &Bytes) -> Result<Loaded, String> {
    let (content, crc) = bytes
        .split_last_chunk::<4>()
        .ok_or("it is empty or cut short")?;
    if crc32c::crc32c(content) != u32::from_be_bytes(*crc) {
        return Err("its checksum does not hold".to_string());
    }
    let mut reader = Reader::new(content);
    let head = match content.first_chunk::<4>() {
        Some(&MAGIC) => CheckpointHead::decode(&mut reader),
        Some(&MAGIC_2) => older::checkpoint_of_2(&mut reader),
        Some(&MAGIC_1) => older::checkpoint_of_1(&mut reader),
        Some([b'I', b'W', b'C', digit]) => {
            let number = digit.wrapping_sub(b'0');
            let reads = Format::READ;
            return Err(format!(
                "it is of format {number}, this program reads {reads}"
            ));
        }
        _ => return Err("it is not a checkpoint".to_string()),
    };
    let head = head.map_err(|error| error.to_string())?;
    let diff_bytes = reader.remaining();
    if head.diff_bytes != diff_bytes as u64 {
        return Err("it is not a checkpoint".to_string());
    }
    let diff = bytes.slice(content.len() - diff_bytes..content.len());
    Ok(Loaded {
        head,
        diff,
        pieces: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::protocol::{CommittedRelease, Durability, VersionStamp};

    fn head(path: String, releases: Vec<CommittedRelease>) -> CheckpointHead {
        CheckpointHead {
            magic: MAGIC,
            segment_id: 1,
            path,
            durable: Durability::Synced,
            quota_bytes: 0,
            at: VersionStamp {
                incarnation: 1,
                number: 3,
                chain: 1,
            },
            next_serial: 5,
            fence: 0,
            parent: 0,
            releases,
            fields: Vec::new(),
            diff_bytes: 0,
        }
    }

    #[test]
    fn a_checkpoint_of_another_segment_or_version_than_its_place_says_is_not_taken() {
        let item = to_item(&head("/1".to_string(), Vec::new()), b"");
        let taken = |segment_id, version| {
            let bytes = item.bytes.clone();
            let item = Item {
                segment_id,
                version,
                bytes,
            };
            of_item(&item).is_ok()
        };
        assert!(taken(1, 3));
        assert!(!taken(2, 3) && !taken(1, 4) && !taken(2, 4));
    }

    #[test]
    fn a_head_with_the_longest_path_and_the_most_releases_is_completed_and_no_longer_one() {
        let release = CommittedRelease {
            session: [1; 16],
            sequence: 1,
            version: 1,
            chain: 1,
        };
        let completed = |path_bytes: usize, releases: usize| {
            let mut head = head("a".repeat(path_bytes), vec![release.clone(); releases]);
            complete_head(&mut head, &Identity::default(), |_| Ok((7, 9)))
                .map(|()| (head.parent, head.next_serial, head.fields.len()))
        };
        let most = MAX_PATH as usize;
        assert_eq!(completed(most, MAX_RELEASES), Ok((7, 9, 2)));
        assert!(completed(most + 1, 0).is_err());
        assert!(completed(1, MAX_RELEASES + 1).is_err());
    }
}
