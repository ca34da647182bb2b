//! Checks whether a diff is right for a segment as it is now. Everything is checked before anything
//! changes [DIFF-1], so the commit of a checked diff cannot fail.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use interweave_wire::diff::{Diff, NewBlock, Section};
use interweave_wire::protocol::ErrorCode;
use interweave_wire::value::{check_run, next_run};
use interweave_wire::varint::Cursor;
use interweave_wire::{Layout, Rejection, Type};

use crate::blocks::Finder;
use crate::segment::{charge_of_block, charge_of_slot, charge_of_type, Segment};

/// The bound of a segment without a quota. Sums of bytes and units cannot overflow below it.
const NO_QUOTA_BYTES: u64 = 1 << 48;

/// A diff that was found right for a segment at its newest version: `commit` cannot fail.
#[derive(Debug)]
pub struct CheckedRelease {
    pub(crate) diff: Diff,
    /// The version for which it was checked.
    pub(crate) base: u64,
    pub(crate) types: Vec<Arc<Type>>,
    pub(crate) slots: Vec<String>,
    pub(crate) freed: Vec<u64>,
    pub(crate) blocks: Vec<CheckedBlock>,
    pub(crate) changed_units: u64,
    pub(crate) charged_bytes: u64,
    pub(crate) metadata_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct CheckedBlock {
    pub serial: u64,
    pub type_serial: u32,
    pub count: u64,
    pub name: Box<str>,
}

impl CheckedRelease {
    /// Whether the release changes values alone: no block, type or slot comes, and no block goes.
    pub fn changes_values_alone(&self) -> bool {
        let structure = [
            self.types.len(),
            self.slots.len(),
            self.freed.len(),
            self.blocks.len(),
        ];
        structure == [0; 4]
    }

    /// The version that the release makes.
    pub fn version(&self) -> u64 {
        self.diff.to
    }

    /// The diff as it came.
    pub fn bytes(&self) -> &Bytes {
        self.diff.bytes()
    }
}

/// The origin of a diff.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    /// A writer. The ranges of serials granted to it, if new serials are to be checked [DIFF-5].
    Writer(Option<&'a [(u64, u64)]>),
    Server,
}

fn malformed<T>(text: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::malformed(text))
}

fn about(serial: u64, rejection: Rejection) -> Rejection {
    Rejection::new(
        rejection.code,
        format!("block {serial}: {}", rejection.text),
    )
}

impl Segment {
    /// How many units a release changes, for Diff coherence. The number is never too small [COH-6].
    pub fn changed_units(&self, release: &CheckedRelease) -> u64 {
        release.changed_units
    }

    pub(crate) fn check_from(
        &self,
        diff: Diff,
        source: Source<'_>,
    ) -> Result<CheckedRelease, Rejection> {
        self.check_versions(&diff, source)?;
        let types = self.types.check(diff.types()?)?;
        let slots = self.check_slots(&diff)?;
        let mut check = Check {
            segment: self,
            source,
            types: &types,
            slots: (self.tables.slots.len() + slots.len()) as u16,
            live: diff.live()?,
            freed: Vec::new(),
            new: Vec::new(),
            changed_units: 0,
            charged_bytes: self.charged_bytes,
        };
        let freed = check.freed(&diff)?;
        let metadata_bytes = check.charge_metadata(&slots);
        let blocks = check.blocks(&diff)?;
        check.quota()?;
        check.changes(&diff)?;
        Ok(CheckedRelease {
            base: self.version,
            freed,
            blocks,
            changed_units: check.changed_units,
            charged_bytes: check.charged_bytes,
            metadata_bytes,
            slots,
            types,
            diff,
        })
    }

    fn check_versions(&self, diff: &Diff, source: Source<'_>) -> Result<(), Rejection> {
        if diff.metadata_only {
            return malformed("a diff of metadata alone makes no version");
        }
        if diff.from != self.version {
            return malformed(format!(
                "the diff is from version {}, here is version {}",
                diff.from, self.version
            ));
        }
        match source {
            Source::Server => Ok(()),
            Source::Writer(_) if diff.from.checked_add(1) != Some(diff.to) => malformed(format!(
                "a release is from a version to the next, not from {} to {}",
                diff.from, diff.to
            )),
            Source::Writer(_) if diff.has(Section::Live) => {
                malformed("a release lists what it freed, not what is live")
            }
            Source::Writer(_) => Ok(()),
        }
    }

    fn check_slots(&self, diff: &Diff) -> Result<Vec<String>, Rejection> {
        let Some((first, texts)) = diff.slots()? else {
            return Ok(Vec::new());
        };
        let next = self.tables.slots.len() as u64 + 1;
        if first != next {
            return malformed(format!("the segment's next slot is {next}, not {first}"));
        }
        if self.tables.slots.len() + texts.len() > usize::from(u16::MAX) {
            return Err(Rejection::new(
                ErrorCode::TooLarge,
                "a segment points into at most 65535 others",
            ));
        }
        Ok(texts.into_iter().map(str::to_string).collect())
    }
}

struct Check<'a> {
    segment: &'a Segment,
    source: Source<'a>,
    types: &'a [Arc<Type>],
    slots: u16,
    live: Option<Vec<std::ops::Range<u64>>>,
    /// Ascending.
    freed: Vec<u64>,
    /// The new blocks, by serial.
    new: Vec<(u64, Layout<'a>)>,
    changed_units: u64,
    charged_bytes: u64,
}

impl<'a> Check<'a> {
    fn type_of(&self, serial: u32) -> Option<&'a Type> {
        let known = self.segment.types.get(serial);
        let found = known.or_else(|| {
            let first = self.segment.types.next_serial();
            self.types.get(serial.checked_sub(first)? as usize)
        });
        found.map(|ty| &**ty)
    }

    fn is_live(&self, serial: u64) -> bool {
        self.live.as_ref().is_none_or(|live| {
            let after = live.partition_point(|range| range.end <= serial);
            live.get(after).is_some_and(|range| range.contains(&serial))
        })
    }

    /// The serials that the diff frees, in the order in which they are freed.
    fn freed(&mut self, diff: &Diff) -> Result<Vec<u64>, Rejection> {
        let freed: Vec<u64> = match self.live {
            None => diff.freed()?,
            Some(_) => {
                let all = self.segment.blocks.starting_at(0).map(|block| block.serial);
                all.filter(|&serial| !self.is_live(serial)).collect()
            }
        };
        let mut finder = self.segment.finder();
        for &serial in &freed {
            let Some(place) = finder.find(&self.segment.blocks, serial) else {
                return malformed(format!(
                    "block {serial} is freed, but the segment has no such block"
                ));
            };
            let block = self.segment.blocks.at(place);
            let layout = self.segment.layout_of(block);
            self.changed_units += layout.units();
            // A serial that is listed twice is charged back twice here. It is refused below.
            let charge = charge_of_block(layout, self.segment.name_of(block));
            self.charged_bytes = self.charged_bytes.saturating_sub(charge);
        }
        self.freed = freed.clone();
        self.freed.sort_unstable();
        if let Some(twice) = self.freed.windows(2).find(|pair| pair[0] == pair[1]) {
            return malformed(format!("block {} is freed twice", twice[0]));
        }
        Ok(freed)
    }

    fn charge_metadata(&mut self, slots: &[String]) -> u64 {
        let types = self.types.iter().map(|ty| charge_of_type(ty));
        let slots = slots.iter().map(|text| charge_of_slot(text));
        let bytes = types.chain(slots).sum();
        self.charged_bytes = self.charged_bytes.saturating_add(bytes);
        bytes
    }

    fn quota(&self) -> Result<(), Rejection> {
        let quota = match self.segment.quota_bytes {
            0 => NO_QUOTA_BYTES,
            quota => quota,
        };
        if self.charged_bytes <= quota {
            return Ok(());
        }
        Err(Rejection::new(
            ErrorCode::Quota,
            format!(
                "the segment would hold {} bytes, its quota is {quota}: free blocks, or make the \
                 segment with a larger quota",
                self.charged_bytes
            ),
        ))
    }

    fn blocks(&mut self, diff: &Diff) -> Result<Vec<CheckedBlock>, Rejection> {
        let mut blocks = Vec::new();
        let mut names = HashSet::new();
        for block in diff.new_blocks() {
            let block = block?;
            let layout = self.new_block(&block)?;
            self.check_name(&block, &mut names)?;
            self.charged_bytes = self
                .charged_bytes
                .saturating_add(charge_of_block(layout, block.name));
            self.changed_units = self.changed_units.saturating_add(layout.units());
            self.new.push((block.serial, layout));
            blocks.push(CheckedBlock {
                serial: block.serial,
                type_serial: block.type_serial,
                count: block.count,
                name: block.name.into(),
            });
        }
        self.new.sort_unstable_by_key(|new| new.0);
        if let Some(twice) = self.new.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return malformed(format!("block {} is created twice", twice[0].0));
        }
        let count = self.segment.block_count() + blocks.len() as u64;
        if count + count / 4 >= u64::from(u32::MAX) {
            return Err(Rejection::new(ErrorCode::TooLarge, "too many blocks"));
        }
        Ok(blocks)
    }

    fn new_block(&self, block: &NewBlock<'_>) -> Result<Layout<'a>, Rejection> {
        let serial = block.serial;
        let Some(ty) = self.type_of(block.type_serial) else {
            return malformed(format!("block {serial}: no type {}", block.type_serial));
        };
        let Some(layout) = Layout::checked(ty, block.count) else {
            return Err(Rejection::new(
                ErrorCode::TooLarge,
                format!("block {serial} has more than 2^40 units or bytes"),
            ));
        };
        if Finder::new().find(&self.segment.blocks, serial).is_some() {
            return malformed(format!("block {serial} is created, but exists"));
        }
        if !self.is_live(serial) {
            return malformed(format!(
                "block {serial} is created, but is not listed as live"
            ));
        }
        if let Source::Writer(granted) = self.source {
            let in_range = |&(first, count): &(u64, u64)| {
                serial.checked_sub(first).is_some_and(|index| index < count)
            };
            if serial < self.segment.next_serial
                || granted.is_some_and(|ranges| !ranges.iter().any(in_range))
            {
                return malformed(format!("serial {serial} was not granted to this release"));
            }
        }
        Ok(layout)
    }

    /// Checks a new block's name [SEG-4]. A diff that frees a block may reuse the block's name.
    fn check_name<'b>(
        &self,
        block: &NewBlock<'b>,
        names: &mut HashSet<&'b str>,
    ) -> Result<(), Rejection> {
        if block.name.is_empty() {
            return Ok(());
        }
        let holder = self.segment.names.serial(block.name);
        let taken = holder.is_some_and(|holder| self.freed.binary_search(&holder).is_err());
        if taken || !names.insert(block.name) {
            return Err(Rejection::new(
                ErrorCode::BadName,
                format!("the name `{}` is taken by another block", block.name),
            ));
        }
        Ok(())
    }

    fn changes(&mut self, diff: &Diff) -> Result<(), Rejection> {
        let mut finder = self.segment.finder();
        let mut seen = Distinct::default();
        for change in diff.changes() {
            let change = change?;
            seen.add(change.serial);
            let found = self.new.binary_search_by_key(&change.serial, |new| new.0);
            let layout = match found {
                Ok(index) => self.new[index].1,
                Err(_) => {
                    let place = finder.find(&self.segment.blocks, change.serial);
                    match place.filter(|_| self.freed.binary_search(&change.serial).is_err()) {
                        Some(place) => self.segment.layout_of(self.segment.blocks.at(place)),
                        None => {
                            return malformed(format!(
                                "block {} is changed, but the segment has no such block",
                                change.serial
                            ));
                        }
                    }
                }
            };
            let units = self.runs(layout, change.runs);
            let units = units.map_err(|rejection| about(change.serial, rejection))?;
            if found.is_err() {
                self.changed_units += units;
            }
        }
        match seen.twice() {
            Some(serial) => malformed(format!("block {serial} occurs twice in CHANGES")),
            None => Ok(()),
        }
    }

    fn runs(&self, layout: Layout<'_>, runs: &[u8]) -> Result<u64, Rejection> {
        let mut cursor = Cursor::new(runs);
        let (mut position, mut units) = (0, 0);
        while let Some((first, count)) = next_run(layout, &mut position, &mut cursor)? {
            check_run(layout, first, count, &mut cursor, self.slots)?;
            units += count;
        }
        Ok(units)
    }
}

/// Finds a number that was added twice.
#[derive(Default)]
struct Distinct {
    numbers: Vec<u64>,
    unordered: bool,
}

impl Distinct {
    fn add(&mut self, number: u64) {
        self.unordered |= self.numbers.last().is_some_and(|&last| last >= number);
        self.numbers.push(number);
    }

    fn twice(mut self) -> Option<u64> {
        if !self.unordered {
            return None;
        }
        self.numbers.sort_unstable();
        let twice = self.numbers.windows(2).find(|pair| pair[0] == pair[1]);
        twice.map(|pair| pair[0])
    }
}
