//! Vectors of diffs: what the parser finds in them, and what a segment is after them.

use bytes::Bytes;
use interweave_master::Segment;
use interweave_wire::diff::{Diff, Section};
use interweave_wire::value::{apply_run, next_run};
use interweave_wire::varint::{self, Cursor};
use interweave_wire::{Json, Rejection, TypeTable};

use crate::decode::Decoded;
use crate::show::{hex, integer, object, text, Show};
use crate::units;
use crate::vector::{items, member, number_of, text_of, Vector};

const ALL_SERIALS: &[(u64, u64)] = &[(1, (1 << 48) - 1)];

/// The segment that the receiver has: a complete copy of `context`, all zeros.
fn context_segment(vector: &Vector) -> Segment {
    let mut diff = b"IWD1\0\0".to_vec();
    varint::put(vector.context_number("version").unwrap_or(0), &mut diff);
    let mut section = |tag: u8, body: &[u8]| {
        diff.push(tag);
        varint::put(body.len() as u64, &mut diff);
        diff.extend_from_slice(body);
    };
    section(1, &vector.context_types());
    let mut slots = vec![1];
    for slot in vector.context_slots() {
        varint::put(slot.len() as u64, &mut slots);
        slots.extend_from_slice(slot.as_bytes());
    }
    section(2, &slots);
    let (mut blocks, mut previous) = (Vec::new(), 0);
    for block in vector.context("blocks").map_or(&[][..], items) {
        let number = |name| number_of(member(block, name).expect("a member of a block"));
        let name = text_of(member(block, "name").expect("a name"));
        varint::put(
            varint::zigzag(number("serial") as i64 - previous),
            &mut blocks,
        );
        varint::put(number("type"), &mut blocks);
        varint::put(number("count"), &mut blocks);
        varint::put(name.len() as u64, &mut blocks);
        blocks.extend_from_slice(name.as_bytes());
        previous = number("serial") as i64;
    }
    section(5, &blocks);
    Segment::restore(&diff.into(), 0).expect("the context of a vector is a segment")
}

pub fn decode(vector: &Vector) -> Result<Decoded, Rejection> {
    let bytes = Bytes::from(vector.bytes());
    let mut segment = context_segment(vector);
    let base = segment.newest();
    let diff = Diff::parse(&bytes)?;
    if vector.text("role") == Some("release") {
        let release = segment.check(&bytes, base, ALL_SERIALS)?;
        segment.commit(release);
        check_collected(vector, &mut segment, base);
    } else if !diff.metadata_only {
        if let Err(refused) = segment.apply(&bytes) {
            // A diff that no client accepts is not a valid release either.
            let release = segment.check(&bytes, base, ALL_SERIALS);
            assert!(release.is_err(), "{} is a release", vector.name);
            return Err(refused);
        }
    } else {
        // Described blocks are not a version. They make a segment of their own.
        segment = described(&bytes)?;
    }
    let mut meaning = sections(&diff, &segment)?;
    if !diff.metadata_only {
        meaning.push(("after".to_string(), blocks(&segment)));
    }
    Ok(Decoded {
        meaning: Json::from_iter(meaning),
        bytes: None,
    })
}

/// What the master sends to a client of the version before, and to a new one,
/// makes the same blocks.
fn check_collected(vector: &Vector, segment: &mut Segment, base: u64) {
    let mut follower = context_segment(vector);
    follower
        .apply(&segment.collect(base).joined())
        .expect("a diff of the master's own");
    assert_eq!(blocks(&follower), blocks(segment), "{}", vector.name);
    let restored = Segment::restore(&segment.checkpoint(), 0).expect("a checkpoint");
    assert_eq!(blocks(&restored), blocks(segment), "{}", vector.name);
}

fn described(bytes: &Bytes) -> Result<Segment, Rejection> {
    let mut complete = bytes.to_vec();
    complete[4] = 0;
    Segment::restore(&complete.into(), 0)
}

fn blocks(segment: &Segment) -> Json {
    let shown = segment.blocks().map(|block| {
        let zeros = vec![0; block.layout.bytes() as usize];
        object([
            ("serial", block.serial.show()),
            ("type", block.type_serial.show()),
            ("count", block.layout.count.show()),
            ("name", text(block.name.unwrap_or(""))),
            ("slots", hex(block.slots.unwrap_or(&zeros))),
        ])
    });
    Json::Array(shown.collect())
}

/// `segment` is what the diff was applied to: it has the types and the blocks.
fn sections(diff: &Diff, segment: &Segment) -> Result<Vec<(String, Json)>, Rejection> {
    let mut meaning = vec![
        ("metadata_only", Json::Bool(diff.metadata_only)),
        ("from", diff.from.show()),
        ("to", diff.to.show()),
    ];
    if diff.has(Section::Types) {
        let types = diff.types()?;
        let shown = types
            .iter()
            .map(|one| object([("serial", one.serial.show()), ("name", one.name.show())]));
        meaning.push(("types", Json::Array(shown.collect())));
    }
    if let Some((first, texts)) = diff.slots()? {
        let texts = texts.into_iter().map(text).collect();
        let slots = [("first", first.show()), ("texts", Json::Array(texts))];
        meaning.push(("slots", object(slots)));
    }
    if diff.has(Section::Freed) {
        meaning.push(("freed", diff.freed()?.show()));
    }
    if let Some(live) = diff.live()? {
        let ranges = live
            .iter()
            .map(|range| vec![range.start, range.end - range.start].show());
        meaning.push(("live", Json::Array(ranges.collect())));
    }
    if diff.has(Section::Blocks) {
        let mut shown = Vec::new();
        for block in diff.new_blocks() {
            let block = block?;
            shown.push(object([
                ("serial", block.serial.show()),
                ("type", block.type_serial.show()),
                ("count", block.count.show()),
                ("name", text(block.name)),
            ]));
        }
        meaning.push(("blocks", Json::Array(shown)));
    }
    if diff.has(Section::Changes) {
        meaning.push(("changes", changes(diff, segment)?));
    }
    let named = |(name, value): (&str, Json)| (name.to_string(), value);
    Ok(meaning.into_iter().map(named).collect())
}

fn changes(diff: &Diff, segment: &Segment) -> Result<Json, Rejection> {
    let mut shown = Vec::new();
    for change in diff.changes() {
        let change = change?;
        let block = segment
            .block(change.serial)
            .expect("a block that was changed");
        let mut cursor = Cursor::new(change.runs);
        let (mut position, mut runs) = (0, Vec::new());
        while let Some((first, count)) = next_run(block.layout, &mut position, &mut cursor)? {
            let mut slots = vec![0; block.layout.bytes() as usize];
            apply_run(block.layout, first, count, &mut cursor, &mut slots)?;
            let all = units_of(segment.types(), block.type_serial, &slots);
            let values = &all[first as usize..(first + count) as usize];
            runs.push(object([
                ("unit", first.show()),
                ("values", Json::Array(values.to_vec())),
            ]));
        }
        let runs = Json::Array(runs);
        shown.push(object([
            ("serial", integer(change.serial.into())),
            ("runs", runs),
        ]));
    }
    Ok(Json::Array(shown))
}

fn units_of(types: &TypeTable, serial: u32, slots: &[u8]) -> Vec<Json> {
    let (mut rest, mut units) = (slots, Vec::new());
    while !rest.is_empty() {
        units::read(types, serial, &mut rest, &mut units);
    }
    units
}
