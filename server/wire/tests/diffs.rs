//! Diffs and values, byte by byte: the worked examples of spec/format and the rules [DIFF-1..7] and
//! [WIRE-1..7] that need no segment.

use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::value::{apply_run, check_run, collect_run, next_run, put_run};
use interweave_wire::varint::Cursor;
use interweave_wire::{Diff, DiffBuilder, Pointer, Rejection, TypeTable};

fn table(bodies: Vec<TypeBody>) -> TypeTable {
    let mut table = TypeTable::new();
    let descriptors = bodies
        .into_iter()
        .zip(64..)
        .map(|(body, serial)| TypeDescriptor {
            serial,
            name: String::new(),
            hash: 0,
            predecessor: 0,
            body,
        });
    let sealed = table.seal(descriptors.collect()).unwrap();
    table.extend(sealed).unwrap();
    table
}

fn record(types: &[u32]) -> TypeBody {
    let fields = types.iter().enumerate().map(|(index, &type_)| Field {
        name: format!("f{index}"),
        type_,
    });
    TypeBody::Record(fields.collect())
}

const INT: u32 = Primitive::Int as u32;
const BOOL: u32 = Primitive::Bool as u32;
const DOUBLE: u32 = Primitive::Double as u32;

/// Figure 3 of ICDCS'03: three ints, two doubles, a pointer. Type 65.
fn figure_3() -> TypeTable {
    table(vec![
        TypeBody::Pointer(0),
        record(&[INT, INT, INT, DOUBLE, DOUBLE, 64]),
    ])
}

const EXAMPLE: &[u8] = &[
    0x49, 0x57, 0x44, 0x31, 0x00, 0x04, 0x05, 0x06, 0x28, 0x0e, 0x26, //
    0x00, 0x01, 0x01, 0x00, 0x00, 0x00, //
    0x01, 0x01, 0x03, 0x00, 0x00, 0x00, //
    0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x40, //
    0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
];

#[test]
fn the_worked_example_is_built_and_read_byte_by_byte() {
    let types = figure_3();
    let layout = types.layout(65, 1).unwrap();
    let pointer = Pointer {
        slot: 0,
        serial: 7,
        offset: 2,
    };
    let mut slots = vec![0; 44];
    slots[0] = 1;
    slots[8] = 3;
    slots[20..28].copy_from_slice(&2.5f64.to_le_bytes());
    slots[28..].copy_from_slice(&pointer.to_bytes());

    let mut runs = Vec::new();
    put_run(layout, 0, (0, 1), &slots, &mut runs);
    put_run(layout, 1, (2, 1), &slots, &mut runs);
    put_run(layout, 1, (4, 2), &slots, &mut runs);
    let mut builder = DiffBuilder::new(4, 5);
    builder.change(7, &runs);
    assert_eq!(builder.finish(), EXAMPLE);

    let diff = Diff::parse(&Bytes::from_static(EXAMPLE)).unwrap();
    assert_eq!((diff.from, diff.to, diff.metadata_only), (4, 5, false));
    let changes: Vec<_> = diff.changes().collect::<Result<_, _>>().unwrap();
    assert_eq!((changes.len(), changes[0].serial), (1, 7));
    let (mut cursor, mut position) = (Cursor::new(changes[0].runs), 0);
    let mut block = vec![0; 44];
    while let Some((first, count)) = next_run(layout, &mut position, &mut cursor).unwrap() {
        let mut data = cursor;
        check_run(layout, first, count, &mut cursor, 0).unwrap();
        apply_run(layout, first, count, &mut data, &mut block).unwrap();
        assert_eq!(data.at(), cursor.at());
    }
    assert_eq!(block, slots);
}

#[test]
fn sections_come_back_as_they_were_given() {
    let types = figure_3();
    let mut builder = DiffBuilder::new(0, 300);
    builder.change_in_place(1 << 47, 3, |out| out.bytes().extend([0, 1, 9]));
    builder.change(5, &[]);
    builder.add_block(9, 65, 300, "head");
    builder.add_block(1 << 47, 1, 1, "");
    builder.live(5, 1);
    builder.live(9, 3);
    builder.slots(3, ["/other", "iw://h:1/p"].into_iter());
    for ty in types.described() {
        builder.add_type(&ty.descriptor);
    }
    let diff = Diff::parse(&builder.finish()).unwrap();
    assert_eq!(diff.types().unwrap().len(), 2);
    assert_eq!(
        diff.slots().unwrap(),
        Some((3, vec!["/other", "iw://h:1/p"]))
    );
    assert_eq!(diff.live().unwrap(), Some(vec![5..6, 9..12]));
    let blocks: Vec<_> = diff.new_blocks().map(Result::unwrap).collect();
    let shown: Vec<_> = blocks
        .iter()
        .map(|b| (b.serial, b.type_serial, b.count, b.name))
        .collect();
    assert_eq!(shown, [(9, 65, 300, "head"), (1 << 47, 1, 1, "")]);
    let changes: Vec<_> = diff.changes().map(Result::unwrap).collect();
    let shown: Vec<_> = changes.iter().map(|c| (c.serial, c.runs)).collect();
    assert_eq!(shown, [(1 << 47, &[0u8, 1, 9][..]), (5, &[])]);
}

#[test]
fn a_head_beyond_its_room_is_put_before_the_changes() {
    let mut builder = DiffBuilder::new(1, 2);
    (1..=1000).for_each(|serial| builder.free(3 * serial));
    builder.change(1, &[0, 1, 9]);
    let diff = Diff::parse(&builder.finish()).unwrap();
    assert_eq!(diff.freed().unwrap().len(), 1000);
    assert_eq!(diff.changes().next().unwrap().unwrap().runs, [0, 1, 9]);
}

fn with_sections(sections: &[u8]) -> Result<Diff, Rejection> {
    Diff::parse(&[b"IWD1\x00\x04\x05", sections].concat().into())
}

#[test]
fn broken_heads_and_sections_are_malformed() {
    let heads: [&[u8]; 7] = [
        b"",
        b"IWD",
        b"IWD2\x00\x04\x05",
        b"IWD1\x02\x04\x05",
        b"IWD1\x00\x05\x04",
        b"IWD1\x00\x84\x00\x05",
        b"IWD1\x01\x04\x05\x06\x00",
    ];
    for head in heads {
        assert!(Diff::parse(&Bytes::from_static(head)).is_err(), "{head:x?}");
    }
    assert!(with_sections(&[]).is_ok());
    let broken: [&[u8]; 6] = [
        &[0, 0],
        &[7, 0],
        &[5, 0, 5, 0],
        &[6, 0, 5, 0],
        &[6, 1],
        &[3, 1, 2, 4, 2, 1, 1],
    ];
    for sections in broken {
        assert!(with_sections(sections).is_err(), "{sections:x?}");
    }
}

#[test]
fn broken_entries_are_refused() {
    let blocks = |body: &[u8]| {
        let sections = [&[5, body.len() as u8], body].concat();
        let diff = with_sections(&sections).unwrap();
        let read: Result<Vec<_>, _> = diff.new_blocks().map(|b| b.map(|_| ())).collect();
        read.map(|_| ()).map_err(|rejection| rejection.code)
    };
    assert_eq!(blocks(&[2, 5, 1, 0]), Ok(()));
    assert_eq!(
        blocks(&[2, 5, 0, 0]),
        Err(ErrorCode::Malformed),
        "a count of 0"
    );
    assert_eq!(blocks(&[0, 5, 1, 0]), Err(ErrorCode::Malformed), "serial 0");
    assert_eq!(
        blocks(&[2, 5, 1, 2, b'a']),
        Err(ErrorCode::Malformed),
        "a name cut off"
    );
    for name in [&b"1a"[..], b"a#", b"a\n", b"\xff"] {
        let entry = [&[2, 5, 1, name.len() as u8], name].concat();
        assert_eq!(blocks(&entry), Err(ErrorCode::BadName), "{name:?}");
    }
    let live: [&[u8]; 4] = [
        &[4, 2, 0, 1],
        &[4, 2, 1, 0],
        &[4, 1, 1],
        &[4, 4, 1, 1, 1, 0],
    ];
    for sections in live {
        assert!(
            with_sections(sections).unwrap().live().is_err(),
            "{sections:?}"
        );
    }
    let slots: [&[u8]; 3] = [&[2, 0], &[2, 3, 1, 1, b'x'], &[2, 3, 1, 2, b'/']];
    for sections in slots {
        assert!(
            with_sections(sections).unwrap().slots().is_err(),
            "{sections:?}"
        );
    }
    assert!(with_sections(&[1, 3, 0, 0, 0]).unwrap().types().is_err());
    assert!(
        with_sections(&[3, 1, 1]).unwrap().freed().is_err(),
        "serial -1"
    );
}

#[test]
fn runs_lie_within_their_block_and_are_not_empty() {
    let types = figure_3();
    let layout = types.layout(65, 2).unwrap();
    let run = |bytes: &[u8], mut position: u64| {
        next_run(layout, &mut position, &mut Cursor::new(bytes)).map(|run| (run, position))
    };
    assert_eq!(run(&[], 3).unwrap(), (None, 3));
    assert_eq!(run(&[2, 7], 3).unwrap(), (Some((5, 7)), 12));
    assert!(run(&[2, 8], 3).is_err());
    assert!(run(&[2, 0], 3).is_err());
    let huge = [
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 1,
    ];
    assert!(run(&huge, 3).is_err());
    assert!(run(
        &[1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        3
    )
    .is_err());
}

/// Checks the travelling form of the only unit of type 64.. and gives its slot form.
fn slot_of(types: &TypeTable, serial: u32, travelling: &[u8]) -> Result<Vec<u8>, ErrorCode> {
    let layout = types.layout(serial, 1).unwrap();
    let mut cursor = Cursor::new(travelling);
    let taken = check_run(layout, 0, layout.units(), &mut cursor, 2);
    let taken = taken.map_err(|rejection| rejection.code)?;
    assert_eq!(taken, travelling, "all of it is the value");
    let mut block = vec![0xee; layout.bytes() as usize];
    apply_run(
        layout,
        0,
        layout.units(),
        &mut Cursor::new(taken),
        &mut block,
    )
    .unwrap();
    let mut again = Vec::new();
    collect_run(layout, 0, layout.units(), &block, &mut again);
    assert_eq!(again, travelling, "it travels back as it came");
    Ok(block)
}

const BAD_VALUE: Result<Vec<u8>, ErrorCode> = Err(ErrorCode::BadValue);
const BAD_POINTER: Result<Vec<u8>, ErrorCode> = Err(ErrorCode::BadPointer);
const MALFORMED: Result<Vec<u8>, ErrorCode> = Err(ErrorCode::Malformed);

#[test]
fn short_strings_travel_whole_and_long_ones_as_length_and_bytes() {
    let types = table(vec![TypeBody::String(16), TypeBody::String(17)]);
    assert!(slot_of(&types, 64, b"abc\0\0\0\0\0\0\0\0\0\0\0\0\0").is_ok());
    assert!(slot_of(&types, 64, b"0123456789abcdef").is_ok());
    assert_eq!(
        slot_of(&types, 64, b"abc\0\0\0\0\0\0\0\0\0\0\0\0x"),
        BAD_VALUE
    );
    let mut long = b"abc".to_vec();
    long.resize(17, 0);
    assert_eq!(slot_of(&types, 65, b"\x03\x00abc"), Ok(long));
    assert_eq!(slot_of(&types, 65, b"\x00\x00"), Ok(vec![0; 17]));
    assert!(slot_of(&types, 65, b"\x11\x000123456789abcdefg").is_ok());
    assert_eq!(
        slot_of(&types, 65, b"\x12\x000123456789abcdefgh"),
        BAD_VALUE
    );
    assert_eq!(slot_of(&types, 65, b"\x03\x00a\0c"), BAD_VALUE);
    assert_eq!(slot_of(&types, 65, b"\x03\x00ab"), MALFORMED);
}

/// Short strings are checked in groups.
#[test]
fn a_short_string_with_bytes_behind_its_end_is_found_among_any_others() {
    let types = table(vec![TypeBody::String(3)]);
    let layout = types.layout(64, 1000).unwrap();
    let check = |strings: &[u8]| check_run(layout, 0, 1000, &mut Cursor::new(strings), 0).is_ok();
    for (others, index) in [(b"abc", 0), (b"abc", 63), (b"ab\0", 64), (b"\0\0\0", 999)] {
        let mut strings = others.repeat(1000);
        assert!(check(&strings));
        strings[3 * index..3 * index + 3].copy_from_slice(b"a\0c");
        assert!(!check(&strings), "string {index}");
        strings[3 * index..3 * index + 3].copy_from_slice(b"a\0\0");
        assert!(check(&strings), "string {index}");
    }
}

#[test]
fn bools_and_enums_have_only_their_values() {
    let members = vec![EnumMember {
        name: "A".into(),
        value: -2,
    }];
    let types = table(vec![TypeBody::Enum(members)]);
    let (yes, two) = (1u32.to_le_bytes(), 2u32.to_le_bytes());
    assert!(slot_of(&types, BOOL, &yes).is_ok());
    assert_eq!(slot_of(&types, BOOL, &two), BAD_VALUE);
    assert!(slot_of(&types, 64, &(-2i32).to_le_bytes()).is_ok());
    assert!(
        slot_of(&types, 64, &[0; 4]).is_ok(),
        "memory that was never written"
    );
    assert_eq!(slot_of(&types, 64, &two), BAD_VALUE);
}

#[test]
fn pointers_use_known_slots_and_name_a_block() {
    let types = table(vec![TypeBody::Pointer(0), TypeBody::Text(0)]);
    let bytes = |slot, serial, offset| {
        Pointer {
            slot,
            serial,
            offset,
        }
        .to_bytes()
    };
    for pointer in [bytes(0, 0, 0), bytes(0, 9, 0), bytes(2, 9, u64::MAX)] {
        assert!(slot_of(&types, 64, &pointer).is_ok());
    }
    for pointer in [bytes(3, 9, 0), bytes(0, 0, 1), bytes(1, 0, 0)] {
        assert_eq!(slot_of(&types, 64, &pointer), BAD_POINTER);
    }
    assert!(slot_of(&types, 65, &bytes(0, 9, 0)).is_ok());
    assert_eq!(slot_of(&types, 65, &bytes(1, 9, 0)), BAD_POINTER);
    assert_eq!(slot_of(&types, 65, &bytes(0, 9, 1)), BAD_POINTER);
}

#[test]
fn a_union_travels_as_discriminant_and_active_arm() {
    let arm = |type_, values: &[i32]| UnionArm {
        name: format!("a{type_}"),
        type_,
        values: values.to_vec(),
    };
    let union = |otherwise| {
        TypeBody::Union(UnionBody {
            discriminant: "kind".into(),
            discriminant_type: INT,
            arms: vec![arm(1, &[1]), arm(64, &[2, 3]), arm(0, &[4])],
            otherwise,
        })
    };
    let types = table(vec![
        TypeBody::String(20),
        union(None),
        union(Some(Box::new(arm(BOOL, &[])))),
    ]);
    let slot = |begin: &[u8]| {
        let mut slot = begin.to_vec();
        slot.resize(24, 0);
        Ok(slot)
    };
    assert_eq!(slot_of(&types, 65, b"\x01\0\0\0x"), slot(b"\x01\0\0\0x"));
    assert_eq!(
        slot_of(&types, 65, b"\x03\0\0\0\x02\0hi"),
        slot(b"\x03\0\0\0hi")
    );
    assert_eq!(slot_of(&types, 65, b"\x04\0\0\0"), slot(b"\x04"));
    assert_eq!(
        slot_of(&types, 65, b"\0\0\0\0"),
        slot(b""),
        "memory that was never written"
    );
    assert_eq!(slot_of(&types, 65, b"\x05\0\0\0"), BAD_VALUE);
    assert_eq!(
        slot_of(&types, 66, b"\x05\0\0\0\x01\0\0\0"),
        slot(b"\x05\0\0\0\x01")
    );
    assert_eq!(slot_of(&types, 66, b"\x05\0\0\0\x02\0\0\0"), BAD_VALUE);
    assert_eq!(
        slot_of(&types, 66, b"\0\0\0\0"),
        MALFORMED,
        "the default arm travels too"
    );
}
