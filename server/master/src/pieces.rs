//! A checkpoint in pieces: the segment as it was at one version, collected a little at a time while
//! releases continue [LOG-18].
//!
//! Blocks go out in the order of their serials, because a block's place in that order never
//! changes: "not yet collected" is a comparison. Before a commit overwrites a part of a block that
//! is not yet collected, it keeps the part: in chunks of 4 KiB, each once at most. A block that a
//! commit replaces or frees whole is moved, not copied. A commit thus does work in proportion to
//! its own diff.
//!
//! Invariant: until a unit is collected, its value at the version is in the image of its block, or
//! in the block if there is no image of it.

use std::collections::BTreeMap;

use bytes::Bytes;
use interweave_wire::diff::Diff;
use interweave_wire::value::{check_run, collect_run, next_run};
use interweave_wire::varint::{self, Cursor};
use interweave_wire::{DiffBuilder, Layout, Rejection};

use crate::block::{Block, Data};
use crate::check::Source;
use crate::segment::Segment;
use crate::shared::SharedBuffers;

/// About so much is kept at a time of what a commit overwrites.
const CHUNK_BYTES: u64 = 4096;
/// A block counts so much against the size of a piece in addition to its data.
const BLOCK_COST: u64 = 64;

/// A part of a checkpoint. All parts in their order make the segment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Piece {
    /// The first one is from version 0, the others from the checkpoint's version to itself.
    pub diff: Bytes,
    /// For each new block of the diff, the versions from its last change to the checkpoint's.
    pub ages: Bytes,
}

/// A checkpoint under way.
#[derive(Debug)]
pub(crate) struct Snapshot {
    version: u64,
    /// What is announced before the first block: types and slots, until it was.
    metadata: Option<(usize, usize)>,
    /// The first block and its first unit that are not collected.
    serial: u64,
    unit: u64,
    images: BTreeMap<u64, Image>,
}

/// The values of a block at the checkpoint's version that the block does not have any more.
#[derive(Debug)]
struct Image {
    changed: u64,
    /// Of a block that was freed.
    header: Option<Header>,
    /// The whole block; what `chunks` has is of an earlier time, and right.
    whole: Option<Whole>,
    chunks: BTreeMap<u64, Box<[u8]>>,
}

#[derive(Debug)]
struct Header {
    type_serial: u32,
    count: u64,
    name: Box<str>,
}

#[derive(Debug)]
enum Whole {
    Zero,
    Owned(Box<[u8]>),
    Shared(Bytes),
}

impl Whole {
    /// Takes the block's data, which is not copied unless it is small.
    fn take(data: Data, bytes: u64, shared: &mut SharedBuffers) -> Whole {
        match data {
            Data::Freed | Data::Zero => Whole::Zero,
            Data::Shared { buffer, offset } => {
                let whole = shared.bytes(buffer, offset, bytes as usize);
                shared.release(buffer, bytes);
                Whole::Shared(whole)
            }
            data => Whole::Owned(data.into_owned(bytes, shared)),
        }
    }

    fn slots(&self) -> Option<&[u8]> {
        match self {
            Whole::Zero => None,
            Whole::Owned(data) => Some(data),
            Whole::Shared(data) => Some(data),
        }
    }
}

/// How many units a chunk of such a block has. A chunk of a type with strings or unions has whole
/// elements, so that it can be read by itself.
fn chunk_units(layout: Layout<'_>) -> u64 {
    let each = match layout.ty.plan.fixed {
        true => 1,
        false => layout.ty.units,
    };
    let fitting = CHUNK_BYTES * layout.units() / layout.bytes();
    (fitting / each * each).max(each)
}

/// The units of a chunk.
fn chunk(layout: Layout<'_>, number: u64) -> (u64, u64) {
    let step = chunk_units(layout);
    (number * step, ((number + 1) * step).min(layout.units()))
}

fn range(layout: Layout<'_>, (first, end): (u64, u64)) -> std::ops::Range<usize> {
    layout.byte_of(first) as usize..layout.byte_of(end) as usize
}

impl Image {
    fn of(block: &Block) -> Image {
        Image {
            changed: block.changed,
            header: None,
            whole: None,
            chunks: BTreeMap::new(),
        }
    }

    /// Keeps the chunks that the runs overwrite. REQUIRES: the runs were checked.
    fn keep_chunks(&mut self, layout: Layout<'_>, slots: &[u8], runs: &[u8]) {
        const CHECKED: &str = "the diff was checked";
        let step = chunk_units(layout);
        let mut cursor = Cursor::new(runs);
        let mut position = 0;
        while let Some((first, count)) =
            next_run(layout, &mut position, &mut cursor).expect(CHECKED)
        {
            check_run(layout, first, count, &mut cursor, u16::MAX).expect(CHECKED);
            for number in first / step..=(first + count - 1) / step {
                let bytes = range(layout, chunk(layout, number));
                let keep = || slots[bytes].into();
                self.chunks.entry(number).or_insert_with(keep);
            }
        }
    }
}

impl Snapshot {
    /// Whether the block is of the checkpoint, and not collected yet.
    pub fn wants(&self, block: &Block) -> bool {
        block.created <= self.version && block.serial >= self.serial
    }

    fn forget_collected(&mut self) {
        while let Some(first) = self.images.first_entry() {
            if *first.key() >= self.serial {
                return;
            }
            first.remove();
        }
    }

    /// Keeps what the runs overwrite. A block that they replace whole is left without its data.
    /// REQUIRES: the block is wanted.
    pub fn before_change(
        &mut self,
        block: &mut Block,
        layout: Layout<'_>,
        runs: &[u8],
        shared: &mut SharedBuffers,
    ) {
        let image = self.images.entry(block.serial);
        let image = image.or_insert_with(|| Image::of(block));
        if image.whole.is_some() {
            return;
        }
        let first_run = next_run(layout, &mut 0, &mut Cursor::new(runs));
        if matches!(first_run, Ok(Some((0, count))) if count == layout.units()) {
            let data = std::mem::replace(&mut block.data, Data::Zero);
            image.whole = Some(Whole::take(data, layout.bytes(), shared));
            return;
        }
        match block.slots(layout.bytes(), shared) {
            None => image.whole = Some(Whole::Zero),
            Some(slots) => image.keep_chunks(layout, slots, runs),
        }
    }

    /// Keeps a block that is freed; its data is moved here. REQUIRES: the block is wanted.
    pub fn before_free(
        &mut self,
        block: &mut Block,
        layout: Layout<'_>,
        name: &str,
        shared: &mut SharedBuffers,
    ) {
        let image = self.images.entry(block.serial);
        let image = image.or_insert_with(|| Image::of(block));
        image.header = Some(Header {
            type_serial: block.type_serial(),
            count: block.count(),
            name: name.into(),
        });
        if image.whole.is_none() {
            let data = std::mem::replace(&mut block.data, Data::Zero);
            image.whole = Some(Whole::take(data, layout.bytes(), shared));
        }
    }
}

/// A block as it was at the checkpoint's version.
struct Found<'a> {
    serial: u64,
    type_serial: u32,
    name: &'a str,
    changed: u64,
    layout: Layout<'a>,
    slots: Option<&'a [u8]>,
    chunks: Option<&'a BTreeMap<u64, Box<[u8]>>>,
}

/// A piece as it is made.
struct Making {
    diff: DiffBuilder,
    ages: Vec<u8>,
    left: u64,
}

impl Making {
    fn add_block(&mut self, found: &Found<'_>, version: u64) {
        let count = found.layout.count;
        self.diff
            .add_block(found.serial, found.type_serial, count, found.name);
        varint::put(version - found.changed, &mut self.ages);
        self.spend(BLOCK_COST);
    }

    fn spend(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }

    /// Adds the block's data from a unit on. Returns the unit that follows what was added.
    fn add_units(&mut self, found: &Found<'_>, mut unit: u64) -> u64 {
        let layout = found.layout;
        if found.slots.is_none() && found.chunks.is_none_or(BTreeMap::is_empty) {
            return layout.units();
        }
        let mut runs = Vec::new();
        let begin = unit;
        let mut end_of_last = 0;
        // One chunk always: a block that is announced has begun.
        while unit < layout.units() && (self.left > 0 || unit == begin) {
            let number = unit / chunk_units(layout);
            let units = chunk(layout, number);
            let bytes = range(layout, units);
            self.spend(bytes.len() as u64);
            unit = units.1;
            let kept = found.chunks.and_then(|chunks| chunks.get(&number));
            let slots = kept.map(|kept| &kept[..]);
            let slots = slots.or_else(|| found.slots.map(|slots| &slots[bytes]));
            let Some(slots) = slots.filter(|slots| slots.iter().any(|&byte| byte != 0)) else {
                continue;
            };
            let count = units.1 - units.0;
            varint::put(units.0 - end_of_last, &mut runs);
            varint::put(count, &mut runs);
            put_chunk(layout, count, slots, &mut runs);
            end_of_last = units.1;
        }
        if !runs.is_empty() {
            self.diff.change(found.serial, &runs);
        }
        unit
    }
}

/// Appends a chunk in travelling form.
fn put_chunk(layout: Layout<'_>, count: u64, slots: &[u8], out: &mut Vec<u8>) {
    if layout.ty.plan.fixed {
        out.extend_from_slice(slots);
        return;
    }
    let elements = Layout {
        ty: layout.ty,
        count: count / layout.ty.units,
    };
    collect_run(elements, 0, count, slots, out);
}

impl Segment {
    /// Begins a checkpoint of the newest version. One that was under way is given up.
    pub fn begin_checkpoint(&mut self) {
        self.snapshot = Some(Box::new(Snapshot {
            version: self.version,
            metadata: Some((self.types.described().len(), self.tables.slots.len())),
            serial: 0,
            unit: 0,
            images: BTreeMap::new(),
        }));
    }

    /// Ends the checkpoint under way, if there is one.
    pub fn end_checkpoint(&mut self) {
        self.snapshot = None;
    }

    /// The next piece of the checkpoint under way, of about `bytes` bytes, and whether more follow.
    /// None: no checkpoint is under way. After the last piece none is.
    pub fn next_piece(&mut self, bytes: u64) -> Option<(Piece, bool)> {
        let mut snapshot = self.snapshot.take()?;
        let version = snapshot.version;
        let metadata = snapshot.metadata.take();
        let from = if metadata.is_some() { 0 } else { version };
        let mut making = Making {
            diff: DiffBuilder::new(from, version),
            ages: Vec::new(),
            left: bytes,
        };
        if let Some((types, slots)) = metadata {
            for ty in &self.types.described()[..types] {
                making.diff.add_type(&ty.descriptor);
            }
            if slots > 0 {
                let texts = self.tables.slots[..slots].iter().map(String::as_str);
                making.diff.slots(1, texts);
            }
        }
        let more = self.fill(&mut snapshot, &mut making);
        if more {
            snapshot.forget_collected();
            self.snapshot = Some(snapshot);
        }
        let piece = Piece {
            diff: making.diff.finish(),
            ages: making.ages.into(),
        };
        Some((piece, more))
    }

    /// Whether blocks are left when the piece is full.
    fn fill(&self, snapshot: &mut Snapshot, making: &mut Making) -> bool {
        let begin = snapshot.serial;
        let mut live = self.blocks.starting_at(begin).peekable();
        let freed = snapshot.images.range(begin..);
        let mut freed = freed
            .filter_map(|(&serial, image)| Some((serial, image, image.header.as_ref()?)))
            .peekable();
        let mut unit = snapshot.unit;
        loop {
            let next_live = live.peek().map_or(u64::MAX, |block| block.serial);
            let next_freed = freed.peek().map_or(u64::MAX, |&(serial, ..)| serial);
            let serial = next_live.min(next_freed);
            if serial == u64::MAX {
                return false;
            }
            if making.left == 0 {
                (snapshot.serial, snapshot.unit) = (serial, unit);
                return true;
            }
            let found = match next_freed == serial {
                true => freed
                    .peek()
                    .map(|&(_, image, h)| self.found_freed(serial, image, h)),
                false => {
                    let was_there = |block: &&&Block| block.created <= snapshot.version;
                    let block = live.peek().filter(was_there);
                    block.map(|block| self.found_live(block, snapshot.images.get(&serial)))
                }
            };
            match found {
                Some(found) => {
                    if unit == 0 {
                        making.add_block(&found, snapshot.version);
                    }
                    unit = making.add_units(&found, unit);
                    if unit < found.layout.units() {
                        continue;
                    }
                    unit = 0;
                }
                None => making.spend(BLOCK_COST),
            }
            match next_freed == serial {
                true => drop(freed.next()),
                false => drop(live.next()),
            }
        }
    }

    fn found_freed<'a>(&'a self, serial: u64, image: &'a Image, header: &'a Header) -> Found<'a> {
        let layout = self.types.layout(header.type_serial, header.count);
        Found {
            serial,
            type_serial: header.type_serial,
            name: &header.name,
            changed: image.changed,
            layout: layout.expect("the type of a block stays in the table"),
            slots: image.whole.as_ref().and_then(Whole::slots),
            chunks: Some(&image.chunks),
        }
    }

    fn found_live<'a>(&'a self, block: &'a Block, image: Option<&'a Image>) -> Found<'a> {
        let layout = self.layout_of(block);
        Found {
            serial: block.serial,
            type_serial: block.type_serial(),
            name: self.name_of(block),
            changed: image.map_or(block.changed, |image| image.changed),
            layout,
            slots: match image.and_then(|image| image.whole.as_ref()) {
                Some(whole) => whole.slots(),
                None => block.slots(layout.bytes(), &self.shared),
            },
            chunks: image.map(|image| &image.chunks),
        }
    }

    /// Makes a segment from the pieces of a checkpoint. Each is let go before the next is asked
    /// for. Clients with older versions will get complete copies.
    pub fn restore_pieces(
        pieces: impl Iterator<Item = Piece>,
        quota_bytes: u64,
    ) -> Result<Self, Rejection> {
        // Without a quota: a lower quota since then must not refuse blocks that were accepted.
        let mut segment = Segment::new(0);
        let mut by_age = Vec::new();
        for (number, piece) in pieces.enumerate() {
            let diff = Diff::parse(&piece.diff)?;
            if number > 0 && diff.to != segment.version {
                return Err(malformed("its pieces are of different versions"));
            }
            segment.read_ages(&diff, &piece.ages, &mut by_age)?;
            let checked = segment.check_from(diff, Source::Server)?;
            segment.commit(checked);
        }
        if by_age.len() as u64 != segment.block_count() {
            return Err(malformed("a piece lists what is live, or frees blocks"));
        }
        by_age.sort_unstable();
        segment.blocks.relink(&by_age);
        segment.quota_bytes = quota_bytes;
        segment.known_from = segment.version;
        segment.cache.clear();
        Ok(segment)
    }

    /// Adds the version and the serial of each new block of the diff to `by_age`.
    fn read_ages(
        &self,
        diff: &Diff,
        ages: &[u8],
        by_age: &mut Vec<(u64, u64)>,
    ) -> Result<(), Rejection> {
        let mut ages = Cursor::new(ages);
        for block in diff.new_blocks() {
            let changed = diff.to.checked_sub(ages.varint()?);
            let changed = changed.ok_or_else(|| malformed("a block is older than version 0"))?;
            by_age.push((changed, block?.serial));
        }
        match ages.is_empty() {
            true => Ok(()),
            false => Err(malformed("a piece has more ages than new blocks")),
        }
    }

    /// The bytes that are kept for the checkpoint under way.
    pub fn checkpoint_bytes(&self) -> u64 {
        let Some(snapshot) = &self.snapshot else {
            return 0;
        };
        let of_image = |image: &Image| {
            let whole = image.whole.as_ref().and_then(Whole::slots);
            let chunks: usize = image.chunks.values().map(|chunk| chunk.len()).sum();
            (whole.map_or(0, <[u8]>::len) + chunks + size_of::<Image>()) as u64
        };
        snapshot.images.values().map(of_image).sum()
    }
}

fn malformed(text: &str) -> Rejection {
    Rejection::malformed(format!("the checkpoint is not right: {text}"))
}
