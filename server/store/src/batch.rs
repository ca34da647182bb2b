//! Records on their way into a log file. Heads and small bodies are gathered in one buffer, large
//! diffs are written from where they are.

use std::io::{self, IoSlice};
use std::ops::Range;

use bytes::Bytes;
use interweave_wire::protocol::LogHeader;

use crate::disk::DiskFile;
use crate::record::{encode_record, padded, PlaceInGroup, RECORD_HEAD_BYTES};

/// Below this a copy costs less than one more element of the vector.
const COPIED_BYTES: usize = 4096;
/// The kernel takes no more elements at once (IOV_MAX).
const SLICES: usize = 1024;

#[derive(Debug)]
enum Part {
    Gathered(Range<usize>),
    Body(Bytes),
}

/// Records for one file, one after the other.
#[derive(Debug)]
pub struct Batch {
    mark: u32,
    synced: u32,
    gathered: Vec<u8>,
    /// Where in `gathered` what belongs to no part begins.
    pending: usize,
    parts: Vec<Part>,
    bytes: u64,
}

/// How many bytes the record will take in the file.
pub fn record_bytes(header: &LogHeader, diff_bytes: u64) -> u64 {
    let header = interweave_wire::protocol::xdr::to_bytes(header).len();
    padded((RECORD_HEAD_BYTES + header) as u64 + diff_bytes)
}

impl Batch {
    /// For a file with this mark, of which `synced` bytes are on the disk.
    pub fn new(mark: u32, synced: u32) -> Batch {
        Batch {
            mark,
            synced,
            gathered: Vec::new(),
            pending: 0,
            parts: Vec::new(),
            bytes: 0,
        }
    }

    /// Adds a record. Returns its crc and how many bytes it takes.
    pub fn push(&mut self, place: PlaceInGroup, header: &LogHeader, diff: &Bytes) -> (u32, u64) {
        let before = self.gathered.len();
        let gathered = &mut self.gathered;
        let crc = encode_record(self.mark, self.synced, place, header, diff, gathered);
        let whole = (gathered.len() - before + diff.len()) as u64;
        if diff.len() < COPIED_BYTES {
            gathered.extend_from_slice(diff);
        } else {
            self.parts
                .push(Part::Gathered(self.pending..gathered.len()));
            self.parts.push(Part::Body(diff.clone()));
            self.pending = gathered.len();
        }
        let padding = padded(whole) - whole;
        gathered.resize(gathered.len() + padding as usize, 0);
        self.bytes += whole + padding;
        (crc, whole + padding)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn write_at(&self, file: &dyn DiskFile, mut offset: u64) -> io::Result<()> {
        let slices = self.parts.iter().map(|part| match part {
            Part::Gathered(range) => IoSlice::new(&self.gathered[range.clone()]),
            Part::Body(diff) => IoSlice::new(diff),
        });
        let last = IoSlice::new(&self.gathered[self.pending..]);
        let mut slices: Vec<IoSlice> = slices.chain([last]).collect();
        let mut rest = &mut slices[..];
        // drops leading empty elements, which the kernel would answer with 0 bytes written
        IoSlice::advance_slices(&mut rest, 0);
        while !rest.is_empty() {
            let now = &rest[..rest.len().min(SLICES)];
            let written = file.write_at(now, offset)?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            offset += written as u64;
            IoSlice::advance_slices(&mut rest, written);
        }
        Ok(())
    }
}
