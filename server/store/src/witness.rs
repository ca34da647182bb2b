//! The second witness of a log file's end: a small file beside it that says how much of the log
//! file is on the disk, and whose the last records there are [LOG-15].
//!
//! It is written after each sync of the log and not synced with it: what it says was true when it
//! was written, so it never says too much, whatever of it a loss of power leaves. Two slots are
//! written in turn, so that one is whole. A failure to read or write it is not an
//! error: nothing is witnessed.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use interweave_wire::protocol::xdr::Xdr;

use crate::disk::{read_all, write_all_at, Disk, How, OpenFile};
use crate::files::witness_name;
use crate::record::{FileHead, CORE_BYTES, FILE_HEAD_BYTES};

const MAGIC: &[u8; 4] = b"IWW1";
/// One page each, so that a torn write harms one.
const SLOT_BYTES: u64 = 4096;
/// A longer file has nothing more.
const MOST_BYTES: u64 = 2 * SLOT_BYTES;
const HEAD_BYTES: usize = 32;
const ENTRY_BYTES: usize = 16;
/// As many of the last records as are named.
const MOST_ENTRIES: usize = 128;

/// A record of the log file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    pub offset: u32,
    pub crc: u32,
    pub segment_id: u64,
}

/// What a witness says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub mark: u32,
    pub first: u64,
    turn: u64,
    /// So many bytes of the log file were on the disk.
    pub synced: u64,
    /// The last records before there, without a gap.
    entries: Vec<Entry>,
}

impl Seen {
    /// Reads the log file's witness; None if it is missing or cannot be believed.
    pub fn read(disk: &dyn Disk, first: u64) -> io::Result<Option<Seen>> {
        let bytes = match read_all(disk, &witness_name(first), MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read?,
        };
        Ok(Seen::of(&bytes, first))
    }

    /// What the bytes of the log file's witness say, if that can be believed.
    pub fn of(bytes: &[u8], first: u64) -> Option<Seen> {
        let slots = bytes.chunks(SLOT_BYTES as usize).take(2);
        let seen = slots.filter_map(Seen::decode);
        let seen = seen.filter(|seen| seen.first == first);
        seen.max_by_key(|seen| seen.turn)
    }

    /// All records from there to what was synced, if the witness knows them all.
    pub fn records_from(&self, from: u64) -> Option<&[Entry]> {
        let at = |entry: &Entry| u64::from(entry.offset);
        let begin = self.entries.iter().position(|entry| at(entry) == from)?;
        self.entries.get(begin..)
    }

    /// All records that were synced, if the witness knows them all: while it has room for more, it
    /// has dropped none.
    pub fn all_records(&self) -> Option<&[Entry]> {
        let heads = [CORE_BYTES, FILE_HEAD_BYTES];
        let is_first = |entry: &Entry| heads.contains(&u64::from(entry.offset));
        let is_whole = self.entries.len() < MOST_ENTRIES || is_first(self.entries.first()?);
        is_whole.then_some(&self.entries)
    }

    /// Whether there were records that a sync brought to the disk.
    pub fn has_records(&self) -> bool {
        !self.entries.is_empty()
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        self.mark.encode(&mut out);
        self.first.encode(&mut out);
        self.turn.encode(&mut out);
        (self.synced as u32).encode(&mut out);
        (self.entries.len() as u32).encode(&mut out);
        for entry in &self.entries {
            entry.offset.encode(&mut out);
            entry.crc.encode(&mut out);
            entry.segment_id.encode(&mut out);
        }
        crc32c::crc32c(&out).encode(&mut out);
        out
    }

    fn decode(slot: &[u8]) -> Option<Seen> {
        let word = |at: usize| Some(u32::from_be_bytes(*slot.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u64::from_be_bytes(*slot.get(at..)?.first_chunk()?));
        let count = usize::try_from(word(28)?).ok()?;
        let end = HEAD_BYTES + ENTRY_BYTES * Some(count).filter(|&n| n <= MOST_ENTRIES)?;
        let is_sound = slot.starts_with(MAGIC) && crc32c::crc32c(slot.get(..end)?) == word(end)?;
        if !is_sound {
            return None;
        }
        let entry = |i: usize| {
            let at = HEAD_BYTES + ENTRY_BYTES * i;
            Some(Entry {
                offset: word(at)?,
                crc: word(at + 4)?,
                segment_id: long(at + 8)?,
            })
        };
        Some(Seen {
            mark: word(4)?,
            first: long(8)?,
            turn: long(16)?,
            synced: u64::from(word(24)?),
            entries: (0..count).map(entry).collect::<Option<Vec<Entry>>>()?,
        })
    }
}

/// The witness of the log file that is being written.
pub struct Witness {
    file: Option<OpenFile>,
    seen: Seen,
    /// Records that were written, synced or not.
    entries: VecDeque<Entry>,
    /// The newest contents may not be on the disk.
    is_unsynced: bool,
}

impl Witness {
    /// Of a log file that was just made.
    pub fn begin(disk: &dyn Disk, head: &FileHead) -> Witness {
        let opened = disk.open(&witness_name(head.first), How::Empty);
        Witness {
            file: opened.ok(),
            seen: Seen {
                mark: head.mark,
                first: head.first,
                turn: 0,
                synced: head.bytes,
                entries: Vec::new(),
            },
            entries: VecDeque::new(),
            is_unsynced: false,
        }
    }

    /// A record was written behind the others.
    pub fn wrote(&mut self, entry: Entry) {
        if self.entries.len() == MOST_ENTRIES {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// So many bytes of the log file, all that were written, are on the disk.
    pub fn synced(&mut self, synced: u64) {
        if synced == self.seen.synced {
            return;
        }
        self.seen.synced = synced;
        self.seen.turn += 1;
        self.seen.entries = self.entries.iter().copied().collect();
        let offset = self.seen.turn % 2 * SLOT_BYTES;
        let bytes = self.seen.encode();
        let written = self
            .file
            .as_ref()
            .map(|f| write_all_at(&**f, &bytes, offset));
        match written {
            Some(Ok(())) => self.is_unsynced = true,
            // the other slot says less, which is true as well
            Some(Err(_)) | None => self.file = None,
        }
    }

    /// The file, if it has something that should be brought to the disk when there is time.
    pub fn take_unsynced(&mut self) -> Option<OpenFile> {
        let is_unsynced = std::mem::take(&mut self.is_unsynced);
        let file = self.file.as_ref().filter(|_| is_unsynced);
        file.map(Arc::clone)
    }

    pub fn is_unsynced(&self) -> bool {
        self.is_unsynced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Directory;
    use crate::identity::Identity;

    fn head() -> FileHead {
        FileHead::new(7, (1, 3), Identity::default(), 64 << 20)
    }

    fn entry(number: u32) -> Entry {
        Entry {
            offset: 32 + 8 * number,
            crc: number,
            segment_id: 1,
        }
    }

    #[test]
    fn log_15_a_witness_says_what_was_synced_last_and_whose_the_last_records_are() {
        let dir = tempfile::tempdir().unwrap();
        let mut witness = Witness::begin(&Directory::at(dir.path()), &head());
        assert_eq!(Seen::read(&Directory::at(dir.path()), 3).unwrap(), None);
        for number in 0..300 {
            witness.wrote(entry(number));
            witness.synced(32 + 8 * u64::from(number + 1));
        }
        let seen = Seen::read(&Directory::at(dir.path()), 3).unwrap().unwrap();
        assert_eq!((seen.mark, seen.synced), (7, 32 + 8 * 300));
        let last = seen.records_from(u64::from(entry(298).offset)).unwrap();
        assert_eq!(last, [entry(298), entry(299)]);
        assert_eq!(seen.records_from(u64::from(entry(100).offset)), None);
        assert_eq!(Seen::read(&Directory::at(dir.path()), 4).unwrap(), None);
    }

    #[test]
    fn log_15_a_damaged_slot_leaves_what_was_said_before() {
        let dir = tempfile::tempdir().unwrap();
        let mut witness = Witness::begin(&Directory::at(dir.path()), &head());
        for number in 0..2 {
            witness.wrote(entry(number));
            witness.synced(32 + 8 * u64::from(number + 1));
        }
        let path = dir.path().join(witness_name(3));
        let whole = std::fs::read(&path).unwrap();
        // the second turn is in the first slot
        for bit in 0..(HEAD_BYTES + 2 * ENTRY_BYTES + 4) * 8 {
            let mut bad = whole.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, bad).unwrap();
            let seen = Seen::read(&Directory::at(dir.path()), 3).unwrap().unwrap();
            assert_eq!(seen.synced, 40, "bit {bit}");
        }
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let seen = Seen::read(&Directory::at(dir.path()), 3).unwrap();
            assert!(seen.is_none_or(|seen| seen.synced <= 48), "{length}");
        }
    }

    #[test]
    fn log_15_a_witness_knows_all_records_until_one_has_made_room_for_another() {
        let dir = tempfile::tempdir().unwrap();
        let mut witness = Witness::begin(&Directory::at(dir.path()), &head());
        for count in 1..=MOST_ENTRIES as u32 + 1 {
            witness.wrote(entry(count - 1));
            witness.synced(32 + 8 * u64::from(count));
            let seen = Seen::read(&Directory::at(dir.path()), 3).unwrap().unwrap();
            let known = seen.all_records().map(<[Entry]>::len);
            let all = (count as usize <= MOST_ENTRIES).then_some(count as usize);
            assert_eq!(known, all);
        }
    }
}
