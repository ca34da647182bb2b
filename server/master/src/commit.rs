//! Makes a checked diff the newest version. Nothing here can fail, because `check` refused every
//! diff that could. A failure would be a broken invariant of this room.

use std::sync::Arc;

use interweave_wire::diff::Change;
use interweave_wire::planted::{self, Defect};
use interweave_wire::value::{apply_run, next_run};
use interweave_wire::varint::Cursor;
use interweave_wire::{Layout, Type};

use crate::block::{Block, Data, Parts};
use crate::blocks::Finder;
use crate::check::{CheckedBlock, CheckedRelease};
use crate::segment::Segment;
use crate::shared::{SharedBuffers, SHARE_BYTES};

const CHECKED: &str = "the diff was checked";

impl Segment {
    /// Makes the checked release the newest version. Returns its number.
    /// REQUIRES: nothing was committed since the check.
    pub fn commit(&mut self, release: CheckedRelease) -> u64 {
        assert_eq!(release.base, self.version, "checked for this version");
        let version = release.diff.to;
        if !release.types.is_empty() || !release.slots.is_empty() {
            let types = release.types.len();
            self.tables.add(types, release.slots, version);
        }
        self.types.append(release.types);
        self.free(&release.freed, version);
        self.create(release.blocks, version);
        let mut changer = Changer {
            version,
            diff: release.diff.bytes(),
            buffer: None,
        };
        let mut finder = self.finder();
        for change in release.diff.changes() {
            self.change(change.expect(CHECKED), &mut finder, &mut changer);
        }
        self.charged_bytes = release.charged_bytes;
        self.metadata_bytes += release.metadata_bytes;
        self.thin_shared();
        self.blocks.close_up();
        self.version = version;
        if !planted::is_in(Defect::StaleDiff) {
            self.cache.clear();
        }
        let received = release.diff.bytes().clone().into();
        self.cache
            .add(release.diff.from, &received, self.tuning.cache_bytes);
        version
    }

    fn free(&mut self, freed: &[u64], version: u64) {
        let mut finder = self.finder();
        for &serial in freed {
            let place = finder.find(&self.blocks, serial).expect(CHECKED);
            self.keep_freed(place);
            let block = self.blocks.at(place);
            let layout = self.layout_of(block);
            let (units, bytes) = (layout.units(), layout.bytes());
            let (created, named) = (block.created, block.is_named());
            self.version_bytes -= block.version_bytes();
            self.freed.add(serial, created, version);
            self.total_units -= units;
            self.wire_bytes -= bytes;
            if named {
                self.names.remove(serial);
            }
            if let Data::Shared { buffer, .. } = self.blocks.free(place) {
                self.shared.release(buffer, bytes);
            }
        }
    }

    /// The checkpoint under way keeps the block if it needs it.
    fn keep_freed(&mut self, place: u32) {
        let Some(snapshot) = &mut self.snapshot else {
            return;
        };
        let block = self.blocks.at_mut(place);
        if !snapshot.wants(block) {
            return;
        }
        let layout = self.types.layout(block.type_serial(), block.count());
        let name = match block.is_named() {
            true => self.names.of(block.serial).unwrap_or(""),
            false => "",
        };
        self.version_bytes -= block.version_bytes();
        snapshot.before_free(block, layout.expect(CHECKED), name, &mut self.shared);
        self.version_bytes += block.version_bytes();
    }

    fn create(&mut self, new: Vec<CheckedBlock>, version: u64) {
        let mut blocks = Vec::with_capacity(new.len());
        for block in new {
            let layout = self.types.layout(block.type_serial, block.count);
            let layout = layout.expect(CHECKED);
            self.total_units += layout.units();
            self.wire_bytes += layout.bytes();
            self.next_serial = self.next_serial.max(block.serial + 1);
            let named = !block.name.is_empty();
            if named {
                self.names.add(&block.name, block.serial);
            }
            let (serial, ty, count) = (block.serial, block.type_serial, block.count);
            blocks.push(Block::new(serial, ty, count, named, version));
        }
        self.blocks.add(blocks);
    }

    fn change(&mut self, change: Change<'_>, finder: &mut Finder, changer: &mut Changer<'_>) {
        if change.runs.is_empty() {
            return;
        }
        let place = finder.find(&self.blocks, change.serial).expect(CHECKED);
        let block = self.blocks.at(place);
        let ty: Arc<Type> = self.types.get(block.type_serial()).expect(CHECKED).clone();
        let layout = Layout {
            ty: &ty,
            count: block.count(),
        };
        let block = self.blocks.at_mut(place);
        self.version_bytes -= block.version_bytes();
        if let Some(snapshot) = &mut self.snapshot {
            if snapshot.wants(block) {
                snapshot.before_change(block, layout, change.runs, &mut self.shared);
            }
        }
        changer.change(block, layout, change.runs, &mut self.shared);
        self.version_bytes += block.version_bytes();
        if block.created != changer.version {
            self.blocks.touch(place, changer.version);
        }
    }

    fn thin_shared(&mut self) {
        let mut finder = self.finder();
        for (buffer, serials) in self.shared.thin() {
            for serial in serials {
                let Some(place) = finder.find(&self.blocks, serial) else {
                    continue;
                };
                let block = self.blocks.at(place);
                if !matches!(block.data, Data::Shared { buffer: b, .. } if b == buffer) {
                    continue;
                }
                let bytes = self.layout_of(block).bytes();
                let data = &mut self.blocks.at_mut(place).data;
                let shared = std::mem::replace(data, Data::Zero);
                *data = Data::uniform(shared.into_owned(bytes, &mut self.shared));
            }
        }
        self.shared.thin();
    }
}

/// Applies the block diffs of one release.
struct Changer<'a> {
    version: u64,
    diff: &'a bytes::Bytes,
    /// The diff's place among the shared buffers, once a block shares the diff.
    buffer: Option<u32>,
}

impl Changer<'_> {
    fn change(
        &mut self,
        block: &mut Block,
        layout: Layout<'_>,
        runs: &[u8],
        shared: &mut SharedBuffers,
    ) {
        let mut cursor = Cursor::new(runs);
        let first_run = next_run(layout, &mut 0, &mut cursor).expect(CHECKED);
        if first_run == Some((0, layout.units())) && layout.ty.plan.fixed {
            let slots = &runs[cursor.at()..];
            self.replace(block, layout, slots, shared);
        } else {
            self.edit(
                block,
                layout,
                runs,
                first_run == Some((0, layout.units())),
                shared,
            );
        }
    }

    /// Replaces a whole block by data in slot form.
    fn replace(
        &mut self,
        block: &mut Block,
        layout: Layout<'_>,
        slots: &[u8],
        shared: &mut SharedBuffers,
    ) {
        let offset = slots.as_ptr() as usize - self.diff.as_ptr() as usize;
        let old = std::mem::replace(&mut block.data, Data::Zero);
        if let (SHARE_BYTES.., Ok(offset)) = (layout.bytes(), u32::try_from(offset)) {
            if let Data::Shared { buffer, .. } = old {
                shared.release(buffer, layout.bytes());
            }
            let diff = self.diff;
            let buffer = *self.buffer.get_or_insert_with(|| shared.add(diff.clone()));
            shared.retain(buffer, block.serial, layout.bytes());
            block.data = Data::Shared { buffer, offset };
            return;
        }
        block.data = match old {
            Data::Whole(mut data) => {
                data.copy_from_slice(slots);
                Data::Whole(data)
            }
            old => {
                if let Data::Shared { buffer, .. } = old {
                    shared.release(buffer, layout.bytes());
                }
                Data::uniform(slots.into())
            }
        };
    }

    /// Applies runs to a block, in memory that no other block shares.
    fn edit(
        &mut self,
        block: &mut Block,
        layout: Layout<'_>,
        runs: &[u8],
        whole: bool,
        shared: &mut SharedBuffers,
    ) {
        let uniform = whole || block.created == self.version || layout.subblocks() == 1;
        let old = std::mem::replace(&mut block.data, Data::Zero);
        block.data = match old {
            Data::Inline(mut data) => {
                apply(
                    layout,
                    runs,
                    &mut data[..layout.bytes() as usize],
                    |_, _| (),
                );
                Data::Inline(data)
            }
            Data::Parts(mut parts) if !uniform => {
                self.apply_parts(layout, runs, &mut parts);
                Data::Parts(parts)
            }
            old if uniform => {
                let mut data = old.into_owned(layout.bytes(), shared);
                apply(layout, runs, &mut data, |_, _| ());
                Data::uniform(data)
            }
            old => {
                let data = old.into_owned(layout.bytes(), shared);
                let mut parts = Box::new(Parts::new(data, block.changed, layout.subblocks()));
                self.apply_parts(layout, runs, &mut parts);
                Data::Parts(parts)
            }
        };
    }

    fn apply_parts(&self, layout: Layout<'_>, runs: &[u8], parts: &mut Parts) {
        let shift = layout.ty.subblock_shift;
        let mut data = std::mem::take(&mut parts.data);
        apply(layout, runs, &mut data, |first, count| {
            parts.mark(first, count, shift, self.version)
        });
        parts.data = data;
    }
}

fn apply(layout: Layout<'_>, runs: &[u8], data: &mut [u8], mut ran: impl FnMut(u64, u64)) {
    let mut cursor = Cursor::new(runs);
    let mut position = 0;
    while let Some((first, count)) = next_run(layout, &mut position, &mut cursor).expect(CHECKED) {
        apply_run(layout, first, count, &mut cursor, data).expect(CHECKED);
        ran(first, count);
    }
}
