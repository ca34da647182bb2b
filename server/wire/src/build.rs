//! Builds diffs. The caller may add to the sections in any interleaving, and decides the order of
//! entries within each section.
//!
//! The bytes of CHANGES are written once: room for the head is left before them, and the head,
//! whose length is known last, is put there at the end. Bytes that another owner has are shared,
//! so that a large copy takes hardly any memory.

use bytes::Bytes;

use crate::diff::{Section, MAGIC, METADATA_ONLY};
use crate::gathered::Gathered;
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
    changes: Changes,
    last_change: u64,
}

/// The body of CHANGES while it is built.
#[derive(Debug, Default)]
pub struct Changes {
    /// Empty, or `HEAD_ROOM` bytes and the body up to the first shared bytes.
    first: Vec<u8>,
    /// From the first shared bytes to the last ones.
    shared: Gathered,
    last: Vec<u8>,
}

impl Changes {
    /// The bytes that are appended to.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        match self.shared.is_empty() {
            true => &mut self.first,
            false => &mut self.last,
        }
    }

    /// Appends bytes without a copy.
    pub fn share(&mut self, bytes: Bytes) {
        self.shared.push(std::mem::take(&mut self.last).into());
        self.shared.push(bytes);
    }

    fn len(&self) -> usize {
        self.first.len() + self.shared.len() + self.last.len()
    }
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
            changes: Changes::default(),
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

    /// One run of a block's first units. `values`: as a run has them.
    pub fn set(&mut self, serial: u64, units: u64, values: &[u8]) {
        let mut run = Vec::new();
        varint::put(0, &mut run);
        varint::put(units, &mut run);
        run.extend_from_slice(values);
        self.change(serial, &run);
    }

    /// All runs of one block, as `value::put_run` made them.
    pub fn change(&mut self, serial: u64, runs: &[u8]) {
        self.change_in_place(serial, runs.len() as u64, |out| {
            out.bytes().extend_from_slice(runs);
        });
    }

    /// Adds the runs of one block without a copy. REQUIRES: `write` appends exactly `bytes` bytes.
    pub fn change_in_place(&mut self, serial: u64, bytes: u64, write: impl FnOnce(&mut Changes)) {
        if self.changes.first.is_empty() {
            self.changes.first.resize(HEAD_ROOM, 0);
        }
        let out = self.changes.bytes();
        put_delta(&mut self.last_change, serial, out);
        varint::put(bytes, out);
        let begin = self.changes.len();
        write(&mut self.changes);
        let written = (self.changes.len() - begin) as u64;
        assert_eq!(
            written, bytes,
            "a block diff is as long as it was announced"
        );
    }

    /// Reserves memory for this many bytes of changes, those that are shared not counted.
    pub fn reserve_changes(&mut self, bytes: u64) {
        self.changes.first.reserve_exact(bytes as usize + HEAD_ROOM);
    }

    /// The diff in one place.
    pub fn finish(self) -> Bytes {
        self.gathered().joined()
    }

    /// The diff with its shared bytes where they are.
    pub fn gathered(self) -> Gathered {
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
        let body_bytes = self.changes.len();
        let mut first = self.changes.first;
        if body_bytes == 0 {
            return Bytes::from(head).into();
        }
        head.push(Section::Changes as u8);
        varint::put((body_bytes - HEAD_ROOM) as u64, &mut head);
        let begin = HEAD_ROOM.saturating_sub(head.len());
        if head.len() > HEAD_ROOM {
            first.splice(..HEAD_ROOM, head);
        } else {
            first[begin..HEAD_ROOM].copy_from_slice(&head);
        }
        let first = Bytes::from(first).slice(begin..);
        let rest = self.changes.shared.into_pieces();
        let pieces = std::iter::once(first).chain(rest);
        pieces.chain([self.changes.last.into()]).collect()
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
