//! The parser of diffs (spec/format/diff.md), which copies nothing. It finds the sections first,
//! and checks their contents as they are read. The master room carries out the rules of [DIFF-1..7]
//! that need a segment: whether blocks exist, and whether runs fit.
//!
//! The parser allocates at most a small multiple of the bytes that were received [DIFF-2].

use std::ops::Range;

use bytes::Bytes;

use crate::mip;
use crate::pointer::MAX_SERIAL;
use crate::protocol::xdr::{Reader, Xdr};
use crate::protocol::{ErrorCode, TypeDescriptor, MAX_NAME};
use crate::rejection::Rejection;
use crate::varint::Cursor;

pub const MAGIC: &[u8; 4] = b"IWD1";
pub const METADATA_ONLY: u8 = 1;

/// The tags of sections, in the order in which they occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Types = 1,
    Slots = 2,
    Freed = 3,
    Live = 4,
    Blocks = 5,
    Changes = 6,
}

const SECTIONS: usize = 6;

/// A diff whose head and sections are sound.
#[derive(Debug, Clone)]
pub struct Diff {
    bytes: Bytes,
    pub from: u64,
    pub to: u64,
    pub metadata_only: bool,
    sections: [Option<Range<usize>>; SECTIONS],
}

/// An entry of BLOCKS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewBlock<'a> {
    pub serial: u64,
    pub type_serial: u32,
    pub count: u64,
    /// "" for a block without a name.
    pub name: &'a str,
}

/// An entry of CHANGES: its runs are read with `value::next_run` and `check_run`.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    pub serial: u64,
    pub runs: &'a [u8],
}

impl Diff {
    pub fn parse(bytes: &Bytes) -> Result<Diff, Rejection> {
        let mut cursor = Cursor::new(bytes);
        if cursor.take(4)? != MAGIC {
            return malformed("a diff begins with IWD1");
        }
        let flags = cursor.byte()?;
        if flags & !METADATA_ONLY != 0 {
            return malformed(format!("the diff has unknown flags {flags:#x}"));
        }
        let (from, to) = (cursor.varint()?, cursor.varint()?);
        if from > to {
            return malformed(format!("a diff from {from} to {to} goes back"));
        }
        let mut diff = Diff {
            bytes: bytes.clone(),
            from,
            to,
            metadata_only: flags & METADATA_ONLY != 0,
            sections: Default::default(),
        };
        diff.find_sections(cursor)?;
        Ok(diff)
    }

    fn find_sections(&mut self, mut cursor: Cursor<'_>) -> Result<(), Rejection> {
        let mut last = 0;
        while !cursor.is_empty() {
            let tag = cursor.byte()?;
            if tag <= last || usize::from(tag) > SECTIONS {
                return malformed(format!("section {tag} after section {last}"));
            }
            let length = cursor.varint()?;
            let begin = cursor.at();
            cursor.take(length)?;
            self.sections[usize::from(tag) - 1] = Some(begin..cursor.at());
            last = tag;
        }
        if self.has(Section::Freed) && self.has(Section::Live) {
            return malformed("a diff has FREED or LIVE, not both");
        }
        if self.metadata_only && self.has(Section::Changes) {
            return malformed("a diff of metadata alone has CHANGES");
        }
        Ok(())
    }

    /// The bytes that were parsed.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    pub fn has(&self, section: Section) -> bool {
        self.sections[section as usize - 1].is_some()
    }

    /// Empty when absent.
    fn body(&self, section: Section) -> &[u8] {
        match &self.sections[section as usize - 1] {
            Some(range) => &self.bytes[range.clone()],
            None => &[],
        }
    }

    pub fn types(&self) -> Result<Vec<TypeDescriptor>, Rejection> {
        let mut reader = Reader::new(self.body(Section::Types));
        let mut types = Vec::new();
        while reader.remaining() > 0 {
            types.push(TypeDescriptor::decode(&mut reader)?);
        }
        Ok(types)
    }

    /// The index of the first entry, and the entries; None if the diff does not have the section.
    pub fn slots(&self) -> Result<Option<(u64, Vec<&str>)>, Rejection> {
        if !self.has(Section::Slots) {
            return Ok(None);
        }
        let mut cursor = Cursor::new(self.body(Section::Slots));
        let first = cursor.varint()?;
        let mut slots = Vec::new();
        while !cursor.is_empty() {
            let length = cursor.varint()?;
            match std::str::from_utf8(cursor.take(length)?) {
                Ok(text) if mip::is_slot_text(text) => slots.push(text),
                _ => return malformed("a slot is neither a path nor a URL"),
            }
        }
        Ok(Some((first, slots)))
    }

    /// In the order of the section.
    pub fn freed(&self) -> Result<Vec<u64>, Rejection> {
        let mut cursor = Cursor::new(self.body(Section::Freed));
        let mut freed = Vec::new();
        let mut serial = 0;
        while !cursor.is_empty() {
            serial = cursor.serial_after(serial)?;
            freed.push(serial);
        }
        Ok(freed)
    }

    /// Ranges of serials, ascending; None if the diff does not have the section.
    pub fn live(&self) -> Result<Option<Vec<Range<u64>>>, Rejection> {
        if !self.has(Section::Live) {
            return Ok(None);
        }
        let mut cursor = Cursor::new(self.body(Section::Live));
        let mut live = Vec::new();
        let mut end = 0u64;
        while !cursor.is_empty() {
            let (gap, count) = (cursor.varint()?, cursor.varint()?);
            let first = end.checked_add(gap);
            let after = first.and_then(|first| first.checked_add(count));
            match (first, after) {
                (Some(first @ 1..), Some(after)) if count > 0 && after <= MAX_SERIAL + 1 => {
                    live.push(first..after);
                    end = after;
                }
                _ => return malformed("a range of LIVE has no serials, or serials beyond 48 bits"),
            }
        }
        Ok(Some(live))
    }

    pub fn new_blocks(&self) -> NewBlocks<'_> {
        NewBlocks {
            cursor: Cursor::new(self.body(Section::Blocks)),
            serial: 0,
        }
    }

    pub fn changes(&self) -> Changes<'_> {
        Changes {
            cursor: Cursor::new(self.body(Section::Changes)),
            serial: 0,
        }
    }
}

fn malformed<T>(text: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::malformed(text))
}

/// After an error, nothing more follows.
#[derive(Debug, Clone)]
pub struct NewBlocks<'a> {
    cursor: Cursor<'a>,
    serial: u64,
}

impl<'a> NewBlocks<'a> {
    fn read(&mut self) -> Result<NewBlock<'a>, Rejection> {
        self.serial = self.cursor.serial_after(self.serial)?;
        let type_serial = self.cursor.varint()?;
        let count = self.cursor.varint()?;
        let name_bytes = self.cursor.varint()?;
        let name = self.cursor.take(name_bytes)?;
        if count == 0 {
            return malformed(format!("block {} has a count of 0", self.serial));
        }
        let name = match std::str::from_utf8(name) {
            Ok(name) if name.is_empty() || mip::is_block_name(name) => name,
            _ => {
                return Err(Rejection::new(
                    ErrorCode::BadName,
                    format!(
                    "the name of block {} is not valid: UTF-8, at most {MAX_NAME} bytes, no digit \
                         first, no '#', no control characters",
                    self.serial
                ),
                ))
            }
        };
        Ok(NewBlock {
            serial: self.serial,
            type_serial: u32::try_from(type_serial).unwrap_or(u32::MAX),
            count,
            name,
        })
    }
}

impl<'a> Iterator for NewBlocks<'a> {
    type Item = Result<NewBlock<'a>, Rejection>;

    fn next(&mut self) -> Option<Self::Item> {
        let more = !self.cursor.is_empty();
        more.then(|| {
            let read = self.read();
            if read.is_err() {
                self.cursor = Cursor::new(&[]);
            }
            read
        })
    }
}

/// After an error, nothing more follows.
#[derive(Debug, Clone)]
pub struct Changes<'a> {
    cursor: Cursor<'a>,
    serial: u64,
}

impl<'a> Changes<'a> {
    fn read(&mut self) -> Result<Change<'a>, Rejection> {
        self.serial = self.cursor.serial_after(self.serial)?;
        let length = self.cursor.varint()?;
        Ok(Change {
            serial: self.serial,
            runs: self.cursor.take(length)?,
        })
    }
}

impl<'a> Iterator for Changes<'a> {
    type Item = Result<Change<'a>, Rejection>;

    fn next(&mut self) -> Option<Self::Item> {
        let more = !self.cursor.is_empty();
        more.then(|| {
            let read = self.read();
            if read.is_err() {
                self.cursor = Cursor::new(&[]);
            }
            read
        })
    }
}
