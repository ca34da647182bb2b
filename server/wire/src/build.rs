//! Builds diffs. The caller may add to the sections in any interleaving, and decides the order of
//! entries within each section.
//!
//! The bytes of CHANGES are written once: room for the head is left before them, and the head,
//! whose length is known last, is put there at the end.

use bytes::Bytes;

use crate::diff::{Section, MAGIC, METADATA_ONLY};
use crate::protocol::xdr::Xdr;
use crate::protocol::TypeDescriptor;
use crate::varint;

/// Room left for the head and the small sections; larger ones cost one move of CHANGES.
const HEAD_ROOM: usize = 512;

#[derive(Debug)]
pub struct DiffBuilder {
    from: u64,
    to: u64,
    metadata_only: bool,
    types: Vec<u8>,
    slots: Vec<u8>,
    freed: Vec<u8>,
    last_freed: u64,
    live: Option<Vec<u8>>,
    live_end: u64,
    blocks: Vec<u8>,
    last_block: u64,
    /// Empty, or `HEAD_ROOM` bytes and then the section's body.
    changes: Vec<u8>,
    last_change: u64,
}

impl DiffBuilder {
    /// The most that a block diff takes in addition to its runs: the serial's distance, the length.
    pub const CHANGE_HEAD_BYTES: u64 = 2 * 10;

    pub fn new(from: u64, to: u64) -> Self {
        DiffBuilder {
            from,
            to,
            metadata_only: false,
            types: Vec::new(),
            slots: Vec::new(),
            freed: Vec::new(),
            last_freed: 0,
            live: None,
            live_end: 0,
            blocks: Vec::new(),
            last_block: 0,
            changes: Vec::new(),
            last_change: 0,
        }
    }

    /// The diff announces blocks without their data.
    pub fn metadata_only(&mut self) {
        self.metadata_only = true;
    }

    pub fn add_type(&mut self, descriptor: &TypeDescriptor) {
        descriptor.encode(&mut self.types);
    }

    /// Adds entries of the slot table; the first has the index `first`. REQUIRES: called once at
    /// most.
    pub fn slots<'a>(&mut self, first: u64, texts: impl Iterator<Item = &'a str>) {
        assert!(self.slots.is_empty(), "the slots are given once");
        varint::put(first, &mut self.slots);
        for text in texts {
            varint::put(text.len() as u64, &mut self.slots);
            self.slots.extend_from_slice(text.as_bytes());
        }
    }

    pub fn free(&mut self, serial: u64) {
        put_delta(&mut self.last_freed, serial, &mut self.freed);
    }

    /// Declares that the diff lists the live serials, even if no block is live.
    pub fn lists_live(&mut self) {
        self.live.get_or_insert_default();
    }

    /// Adds a range of live serials. REQUIRES: the ranges ascend.
    pub fn live(&mut self, first: u64, count: u64) {
        let live = self.live.get_or_insert_default();
        varint::put(first - self.live_end, live);
        varint::put(count, live);
        self.live_end = first + count;
    }

    /// A block without a name has the name "".
    pub fn add_block(&mut self, serial: u64, type_serial: u32, count: u64, name: &str) {
        put_delta(&mut self.last_block, serial, &mut self.blocks);
        varint::put(type_serial.into(), &mut self.blocks);
        varint::put(count, &mut self.blocks);
        varint::put(name.len() as u64, &mut self.blocks);
        self.blocks.extend_from_slice(name.as_bytes());
    }

    /// All runs of one block, as `value::put_run` made them.
    pub fn change(&mut self, serial: u64, runs: &[u8]) {
        self.change_in_place(serial, runs.len() as u64, |out| out.extend_from_slice(runs));
    }

    /// Adds the runs of one block without a copy. REQUIRES: `write` appends exactly `bytes` bytes.
    pub fn change_in_place(&mut self, serial: u64, bytes: u64, write: impl FnOnce(&mut Vec<u8>)) {
        if self.changes.is_empty() {
            self.changes.resize(HEAD_ROOM, 0);
        }
        put_delta(&mut self.last_change, serial, &mut self.changes);
        varint::put(bytes, &mut self.changes);
        self.changes.reserve(bytes as usize);
        let begin = self.changes.len();
        write(&mut self.changes);
        let written = (self.changes.len() - begin) as u64;
        assert_eq!(
            written, bytes,
            "a block diff is as long as it was announced"
        );
    }

    /// Reserves memory for this many bytes of changes.
    pub fn reserve_changes(&mut self, bytes: u64) {
        self.changes.reserve_exact(bytes as usize + HEAD_ROOM);
    }

    pub fn finish(mut self) -> Bytes {
        let mut head = MAGIC.to_vec();
        head.push(if self.metadata_only { METADATA_ONLY } else { 0 });
        varint::put(self.from, &mut head);
        varint::put(self.to, &mut head);
        let small = [
            (Section::Types, &self.types),
            (Section::Slots, &self.slots),
            (Section::Freed, &self.freed),
        ];
        for (section, body) in small {
            if !body.is_empty() {
                put_section(section, body, &mut head);
            }
        }
        if let Some(live) = &self.live {
            put_section(Section::Live, live, &mut head);
        }
        if !self.blocks.is_empty() {
            put_section(Section::Blocks, &self.blocks, &mut head);
        }
        if self.changes.is_empty() {
            return head.into();
        }
        head.push(Section::Changes as u8);
        varint::put((self.changes.len() - HEAD_ROOM) as u64, &mut head);
        if head.len() > HEAD_ROOM {
            self.changes.splice(..HEAD_ROOM, head);
            return self.changes.into();
        }
        let begin = HEAD_ROOM - head.len();
        self.changes[begin..HEAD_ROOM].copy_from_slice(&head);
        Bytes::from(self.changes).slice(begin..)
    }
}

fn put_delta(last: &mut u64, serial: u64, out: &mut Vec<u8>) {
    varint::put(varint::zigzag(serial as i64 - *last as i64), out);
    *last = serial;
}

fn put_section(section: Section, body: &[u8], out: &mut Vec<u8>) {
    out.push(section as u8);
    varint::put(body.len() as u64, out);
    out.extend_from_slice(body);
}
