//! Diffs against the master copy: refused without a trace, or committed so that whatever the master
//! sends on makes the same segment.

use bytes::Bytes;
use interweave_master::Segment;
use interweave_wire::{varint, Diff};

/// The types of the vectors node, strings, figure-3 and compound, in this order (see build.rs).
const TYPES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/types"));

/// Blocks (serial, type, count, name) of the vectors' contexts, and of a type with everything.
const BLOCKS: &[(i64, u64, u64, &str)] = &[
    (1, 79, 1, "m"),
    (5, 5, 4, "a"),
    (6, 11, 1, ""),
    (7, 70, 1, ""),
    (8, 65, 3, "old"),
    (9, 68, 2, ""),
    (200, 2, 400, ""),
];

/// A segment of that version, with all types and blocks or empty.
fn segment(version: u64, rich: bool) -> Segment {
    let mut diff = b"IWD1\0\0".to_vec();
    varint::put(version, &mut diff);
    if rich {
        let mut section = |tag: u8, body: &[u8]| {
            diff.push(tag);
            varint::put(body.len() as u64, &mut diff);
            diff.extend_from_slice(body);
        };
        section(1, TYPES);
        section(2, b"\x01\x06/other");
        let (mut blocks, mut last) = (Vec::new(), 0);
        for &(serial, type_serial, count, name) in BLOCKS {
            varint::put(varint::zigzag(serial - last), &mut blocks);
            varint::put(type_serial, &mut blocks);
            varint::put(count, &mut blocks);
            varint::put(name.len() as u64, &mut blocks);
            blocks.extend_from_slice(name.as_bytes());
            last = serial;
        }
        section(5, &blocks);
    }
    Segment::restore(&diff.into(), 0).expect("a segment")
}

/// What can be seen of a segment: its blocks, in order of serials.
pub type Seen = Vec<(u64, u32, u64, Option<String>, Vec<u8>)>;

/// A block of huge count takes little to say and much to hold: such ones are left out.
const SEEN_BYTES: u64 = 1 << 16;

pub fn seen(segment: &Segment) -> Seen {
    let look = |block: interweave_master::BlockInfo<'_>| {
        let bytes = block.layout.bytes().min(SEEN_BYTES) as usize;
        let slots = match block.slots {
            Some(slots) => slots[..bytes].to_vec(),
            None => vec![0; bytes],
        };
        let name = block.name.map(str::to_string);
        (
            block.serial,
            block.type_serial,
            block.layout.count,
            name,
            slots,
        )
    };
    segment.blocks().map(look).collect()
}

/// A segment's data is bounded by its quota [DIFF-2]; here by this.
pub const QUOTA_BYTES: u64 = 16 << 20;

fn against(bytes: &Bytes, diff: &Diff, rich: bool) {
    // Version 0 is the empty segment.
    if rich && diff.from == 0 {
        return;
    }
    let start = segment(diff.from, rich);
    let before = seen(&start);
    let checkpoint = start.checkpoint();
    let mut master = Segment::restore(&checkpoint, QUOTA_BYTES).expect("a checkpoint");
    let Ok(release) = master.check(bytes, diff.from, &[(1, (1 << 48) - 1)]) else {
        assert_eq!(seen(&master), before, "a check has changed the segment");
        return;
    };
    let version = master.commit(release);
    assert_eq!(Some(version), diff.from.checked_add(1));
    let mut follower = start;
    follower
        .apply(&master.collect(diff.from).joined())
        .expect("a diff of the master's own");
    assert_eq!(
        seen(&follower),
        seen(&master),
        "a follower has something else"
    );
    let mut copy = Segment::new(0);
    copy.apply(&master.collect(0).joined())
        .expect("a complete copy");
    assert_eq!(
        seen(&copy),
        seen(&master),
        "a complete copy has something else"
    );
}

fn update(bytes: &Bytes, diff: &Diff, rich: bool) {
    // Version 0 is the empty segment: no server sends a diff that leads to it.
    if diff.to == 0 {
        return;
    }
    let mut follower = segment(diff.from.max(1), rich);
    let before = seen(&follower);
    // A client's memory is bounded by its own limit; a diff here may not make huge blocks.
    let huge = |block: Result<interweave_wire::diff::NewBlock<'_>, _>| {
        block.is_ok_and(|block| block.count > 1 << 16)
    };
    if diff.new_blocks().any(huge) {
        return;
    }
    match follower.apply(bytes) {
        Err(_) => assert_eq!(
            seen(&follower),
            before,
            "a refused diff has changed the copy"
        ),
        Ok(version) => {
            assert_eq!(version, diff.to);
            let again = Segment::restore(&follower.checkpoint(), 0).expect("a checkpoint");
            assert_eq!(seen(&again), seen(&follower));
        }
    }
}

pub fn run(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let Ok(diff) = Diff::parse(&bytes) else {
        return;
    };
    for rich in [false, true] {
        against(&bytes, &diff, rich);
        update(&bytes, &diff, rich);
    }
}
