//! A segment's cached copy as commands look at it: blocks found, values rendered.

use std::cell::Cell;

use interweave_master::{BlockInfo, Segment};
use interweave_server::client::Copy;
use interweave_wire::protocol::ErrorCode;
use interweave_wire::value_tree::{
    is_begun_at, place_of_path, place_of_unit, type_text, Place as UnitPlace, Reader, Renderer,
};
use interweave_wire::{BlockRef, Json, Mip, Pointer, Rejection, TypeTable, Url};

use crate::failure::Failure;
use crate::target::Place;

/// How deep values that own others are shown within one another; further in, where they are is
/// shown. Somebody else made them, and may have made them 20,000 deep: each level takes stack.
const MAX_OWNED_DEPTH: u32 = 32;

pub struct View {
    pub url: Url,
    pub copy: Copy,
    nesting: Nesting,
}

/// Where the rendering is among values that own others.
#[derive(Default)]
struct Nesting {
    depth: Cell<u32>,
    /// Owned blocks that were rendered: each has one owner, so there are no more than blocks.
    rendered: Cell<u64>,
    was_cut: Cell<bool>,
}

impl View {
    pub fn new(url: Url, copy: Copy) -> View {
        View {
            url,
            copy,
            nesting: Nesting::default(),
        }
    }

    /// A warning about values that were not shown whole.
    pub fn remark(&self) -> Option<String> {
        self.nesting.was_cut.get().then(|| {
            format!(
                "values more than {MAX_OWNED_DEPTH} deep in others are shown as the MIP where they \
                 are; `interweave show MIP` continues from there"
            )
        })
    }

    pub fn segment(&self) -> &Segment {
        self.copy.segment()
    }

    pub fn version(&self) -> u64 {
        self.segment().newest()
    }

    pub fn block_count(&self) -> u64 {
        self.segment().block_count()
    }

    pub fn wire_bytes(&self) -> u64 {
        self.segment().wire_bytes()
    }

    pub fn types(&self) -> &TypeTable {
        self.segment().types()
    }

    pub fn blocks(&self) -> impl Iterator<Item = BlockInfo<'_>> {
        self.segment().blocks()
    }

    fn find(&self, block: &BlockRef) -> Option<BlockInfo<'_>> {
        match block {
            BlockRef::Serial(serial) => self.segment().block(*serial),
            BlockRef::Name(name) => self.segment().block_by_name(name),
        }
    }

    pub fn block(&self, block: &BlockRef) -> Result<BlockInfo<'_>, Failure> {
        self.find(block).ok_or_else(|| {
            Failure::new(format!(
                "{} has no block {}; it has {}",
                self.url_text(),
                block_text(block),
                self.some_blocks()
            ))
        })
    }

    /// The names, or the number, of what is there, for an error.
    fn some_blocks(&self) -> String {
        let names: Vec<&str> = self
            .blocks()
            .filter_map(|block| block.name)
            .take(8)
            .collect();
        match names.is_empty() {
            true if self.block_count() == 0 => "no blocks yet".to_string(),
            true => format!(
                "{} blocks without names (interweave show)",
                self.block_count()
            ),
            false => names.join(", "),
        }
    }

    pub fn block_type_text(&self, block: &BlockInfo<'_>) -> String {
        let element = type_text(self.types(), block.type_serial);
        match block.layout.count {
            1 => element,
            count => format!("{element}[{count}]"),
        }
    }

    /// The value of a whole block.
    pub fn render(&self, block: &BlockInfo<'_>, max_elements: u64) -> Json {
        self.with_renderer(max_elements, |renderer| {
            renderer.block(block.type_serial, block.layout.count, &self.slots(block))
        })
    }

    /// The value at a place of the block.
    pub fn render_place(
        &self,
        block: &BlockInfo<'_>,
        place: &Place,
        max_elements: u64,
    ) -> Result<Json, Failure> {
        if *place == Place::Whole {
            return Ok(self.render(block, max_elements));
        }
        let place = self.locate(block, place)?;
        let slots = self.slots(block);
        let bytes = &slots[place.byte as usize..(place.byte + place.bytes) as usize];
        Ok(self.with_renderer(max_elements, |renderer| {
            renderer.block(place.type_serial, 1, bytes)
        }))
    }

    /// Where a unit offset or a path of the block is.
    pub fn locate(&self, block: &BlockInfo<'_>, place: &Place) -> Result<UnitPlace, Failure> {
        match place {
            Place::Whole => locate_unit(self, block, 0),
            Place::Unit(unit) => locate_unit(self, block, *unit),
            Place::Path(path) => {
                place_of_path(self.types(), block.layout, path).map_err(Failure::from)
            }
        }
    }

    /// The place to set: a whole block only if it is a single value.
    pub fn locate_to_set(
        &self,
        block: &BlockInfo<'_>,
        place: &Place,
    ) -> Result<UnitPlace, Failure> {
        match place {
            Place::Whole if block.layout.count == 1 => Ok(UnitPlace {
                type_serial: block.type_serial,
                first_unit: 0,
                units: block.layout.units(),
                byte: 0,
                bytes: block.layout.bytes(),
                path: String::new(),
            }),
            Place::Whole => Err(Failure::new(format!(
                "block #{} is {}; name an element: ...#{}#[0]",
                block.serial,
                self.block_type_text(block),
                block.serial
            ))),
            other => self.locate(block, other),
        }
    }

    /// The slot form of a value. Fields that it does not have stay as in `old`.
    pub fn slots_over(
        &self,
        type_serial: u32,
        value: &Json,
        old: &[u8],
    ) -> Result<Vec<u8>, Rejection> {
        let pointer = |target: u32, text: &str| self.pointer_to(target, text);
        let reader = Reader {
            types: self.types(),
            pointer: &pointer,
        };
        reader.slots_over(type_serial, value, old)
    }

    /// The pointer that `#2`, `#head#1` or such a MIP of this segment is; it must lead to a value
    /// of the type (0: any).
    fn pointer_to(&self, target: u32, text: &str) -> Result<Pointer, Rejection> {
        let bad = |why: String| Err(Rejection::new(ErrorCode::BadPointer, why));
        let mip = match text.starts_with('#') {
            true => Mip::parse(&format!("{}{text}", self.url))?,
            false => Mip::parse(text)?,
        };
        let Some(named) = mip.block.filter(|_| mip.url == self.url) else {
            let url = self.url_text();
            return bad(format!(
                "`{text}` is not a block of {url}; write #BLOCK or null"
            ));
        };
        let Some(block) = self.find(&named) else {
            return bad(format!(
                "{} has no block {}",
                self.url_text(),
                block_text(&named)
            ));
        };
        let (layout, offset) = (block.layout, mip.offset);
        let fits = match target {
            0 => offset < layout.units(),
            _ => is_begun_at(self.types(), layout, offset, target),
        };
        if !fits {
            let wanted = type_text(self.types(), target);
            let found = self.block_type_text(&block);
            return bad(format!(
                "`{text}` is in a block of {found}, and no {wanted} begins there"
            ));
        }
        Ok(Pointer {
            slot: 0,
            serial: block.serial,
            offset,
        })
    }

    /// The block in slot form.
    pub fn slots(&self, block: &BlockInfo<'_>) -> Vec<u8> {
        match block.slots {
            Some(slots) => slots.to_vec(),
            None => vec![0; block.layout.bytes() as usize],
        }
    }

    fn with_renderer<T>(&self, max_elements: u64, render: impl FnOnce(&Renderer<'_>) -> T) -> T {
        let pointer = |pointer: Pointer| self.pointer_text(pointer);
        if self.nesting.depth.get() == 0 {
            self.nesting.rendered.set(0);
        }
        let owned = |pointer: Pointer| self.render_owned(pointer, max_elements);
        render(&Renderer {
            types: self.types(),
            max_elements,
            pointer: &pointer,
            owned: &owned,
        })
    }

    /// What an owned block holds; None: it is not there, or too deep.
    fn render_owned(&self, pointer: Pointer, max_elements: u64) -> Option<Json> {
        let block = self.segment().block(pointer.serial)?;
        let Nesting {
            depth,
            rendered,
            was_cut,
        } = &self.nesting;
        if depth.get() == MAX_OWNED_DEPTH || rendered.get() == self.block_count() {
            was_cut.set(true);
            return None;
        }
        rendered.set(rendered.get() + 1);
        depth.set(depth.get() + 1);
        let value = self.render(&block, max_elements);
        depth.set(depth.get() - 1);
        Some(value)
    }

    /// A pointer as the MIP it stands for.
    fn pointer_text(&self, pointer: Pointer) -> String {
        let segment = match pointer.slot {
            0 => self.url_text(),
            slot => match self.segment().slots().get(slot as usize - 1) {
                Some(path) if path.starts_with('/') => {
                    format!("{}{path}", self.url.servers)
                }
                Some(url) => url.clone(),
                None => "?".to_string(),
            },
        };
        match pointer.offset {
            0 => format!("{segment}#{}", pointer.serial),
            offset => format!("{segment}#{}#{offset}", pointer.serial),
        }
    }

    pub fn url_text(&self) -> String {
        self.url.to_string()
    }
}

fn locate_unit(view: &View, block: &BlockInfo<'_>, unit: u64) -> Result<UnitPlace, Failure> {
    place_of_unit(view.types(), block.layout, unit).ok_or_else(|| {
        Failure::new(format!(
            "block #{} has {} units; {unit} is beyond its end",
            block.serial,
            block.layout.units()
        ))
    })
}

fn block_text(block: &BlockRef) -> String {
    match block {
        BlockRef::Serial(serial) => format!("#{serial}"),
        BlockRef::Name(name) => format!("\"{name}\""),
    }
}
