//! Checkpoint files of large segments, which are written and read a piece at a time [LOG-18].
//!
//! Each CRC-32C is of everything in the file before it, so that a piece that is missing, damaged or
//! at another place shows.

use std::io::{self, BufReader, Read};

use bytes::Bytes;
use interweave_wire::protocol::xdr::{from_bytes, to_bytes};
use interweave_wire::protocol::CheckpointHead;

use crate::disk::{DiskFile, SharedDisk, Stream};
use crate::embedded::SyncFn;
use crate::files::{checkpoint_name, Unnamed};
use crate::owner::Owner;
use crate::store::Piece;

pub const MAGIC: [u8; 4] = *b"IWC4";
/// A head with 1,024 releases, fields and a path is smaller.
const MAX_HEAD_BYTES: u32 = 1 << 20;
/// Pieces are rarely larger.
const ORDINARY_BYTES: u32 = 1 << 19;

/// A checkpoint file that is being written. It has no name until it is finished.
pub struct Writing {
    unnamed: Unnamed,
    name: String,
    crc: u32,
    pieces: u32,
    bytes: u64,
    /// How many of the bytes were brought to the disk.
    synced: u64,
}

impl Writing {
    pub fn begin(disk: &SharedDisk, head: &CheckpointHead) -> io::Result<Writing> {
        let name = checkpoint_name(head.segment_id, head.at.number);
        let mut writing = Writing {
            unnamed: Unnamed::create(disk, &name)?,
            name,
            crc: 0,
            pieces: 0,
            bytes: 0,
            synced: 0,
        };
        let head = to_bytes(head);
        let head_bytes = (head.len() as u32).to_be_bytes();
        writing.put(&[&MAGIC, &head_bytes, &head])?;
        Ok(writing)
    }

    pub fn add(&mut self, piece: &Piece) -> io::Result<()> {
        let length = |bytes: &Bytes| (bytes.len() as u32).to_be_bytes();
        let lengths = [length(&piece.diff), length(&piece.ages)].concat();
        self.pieces += 1;
        self.put(&[&lengths, &piece.diff, &piece.ages])
    }

    /// Writes the parts, and a checksum of everything so far.
    fn put(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        for part in parts {
            self.put_part(part)?;
        }
        self.put_part(&self.crc.to_be_bytes())
    }

    fn put_part(&mut self, part: &[u8]) -> io::Result<()> {
        self.crc = crc32c::crc32c_append(self.crc, part);
        self.bytes += part.len() as u64;
        self.unnamed.write_all(part)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many bytes were written since the last sync.
    pub fn unsynced(&self) -> u64 {
        self.bytes - self.synced
    }

    pub fn sync(&mut self, sync: &SyncFn) -> io::Result<()> {
        sync(self.unnamed.file())?;
        self.synced = self.bytes;
        Ok(())
    }

    /// Ends the file and gives it its name; once this returns true it lasts. False: the owner was
    /// fenced before.
    pub fn finish(mut self, owner: &Owner, sync: &SyncFn) -> io::Result<bool> {
        let end = [[0; 4], self.pieces.to_be_bytes()].concat();
        self.put(&[&end])?;
        self.sync(sync)?;
        if owner.check().is_err() {
            return Ok(false);
        }
        self.unnamed.name(&self.name)?;
        Ok(true)
    }
}

/// Reads the file after its magic number; the head says how many bytes the diffs have. Without
/// `keeps` the pieces are checked and let go. The fault of a file that cannot be used is told as
/// text.
pub fn read(
    file: &dyn DiskFile,
    keeps: bool,
) -> io::Result<Result<(CheckpointHead, Vec<Piece>), String>> {
    let mut reading = Reading {
        file: BufReader::new(Stream::from(file, MAGIC.len() as u64)),
        crc: crc32c::crc32c(&MAGIC),
    };
    match reading.all(keeps) {
        Ok(all) => Ok(Ok(all)),
        Err(Wrong::Text(text)) => Ok(Err(text)),
        Err(Wrong::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Ok(Err("it is cut short".to_string()))
        }
        Err(Wrong::Io(error)) => Err(error),
    }
}

enum Wrong {
    Io(io::Error),
    Text(String),
}

impl From<io::Error> for Wrong {
    fn from(error: io::Error) -> Wrong {
        Wrong::Io(error)
    }
}

fn wrong<T>(text: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong::Text(text.into()))
}

struct Reading<'a> {
    file: BufReader<Stream<'a>>,
    crc: u32,
}

impl Reading<'_> {
    fn all(&mut self, keeps: bool) -> Result<(CheckpointHead, Vec<Piece>), Wrong> {
        let head_bytes = self.number()?;
        if head_bytes > MAX_HEAD_BYTES {
            return wrong(format!("its head would have {head_bytes} bytes"));
        }
        let head = self.take(head_bytes)?;
        self.check()?;
        let mut head: CheckpointHead =
            from_bytes(&head).map_err(|error| Wrong::Text(error.to_string()))?;
        let mut pieces = Vec::new();
        let mut count = 0u32;
        head.diff_bytes = 0;
        loop {
            let lengths = (self.number()?, self.number()?);
            if lengths.0 == 0 {
                self.check()?;
                if lengths.1 != count || self.file.read(&mut [0])? != 0 {
                    return wrong("its end does not fit its pieces");
                }
                return Ok((head, pieces));
            }
            let piece = Piece {
                diff: self.take(lengths.0)?,
                ages: self.take(lengths.1)?,
            };
            self.check()?;
            count += 1;
            head.diff_bytes += piece.diff.len() as u64;
            if keeps {
                pieces.push(piece);
            }
        }
    }

    fn number(&mut self) -> Result<u32, Wrong> {
        let mut bytes = [0; 4];
        self.file.read_exact(&mut bytes)?;
        self.crc = crc32c::crc32c_append(self.crc, &bytes);
        Ok(u32::from_be_bytes(bytes))
    }

    /// Takes so many bytes. Memory is taken for those that are there, or for an ordinary piece.
    fn take(&mut self, bytes: u32) -> Result<Bytes, Wrong> {
        let mut taken = Vec::with_capacity(bytes.min(ORDINARY_BYTES) as usize);
        let mut rest = (&mut self.file).take(bytes.into());
        if rest.read_to_end(&mut taken)? < bytes as usize {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        self.crc = crc32c::crc32c_append(self.crc, &taken);
        Ok(taken.into())
    }

    fn check(&mut self) -> Result<(), Wrong> {
        let crc = self.crc;
        match self.number()? == crc {
            true => Ok(()),
            false => wrong("its checksum does not hold"),
        }
    }
}
