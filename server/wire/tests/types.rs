//! Type descriptors: hashes held to numbers computed apart from this code, units and sizes, and
//! every refusal of [TYPE-2] and [TYPE-3].

use interweave_wire::protocol::*;
use interweave_wire::value_tree::type_text;
use interweave_wire::{Rejection, TypeTable};

const INT: u32 = Primitive::Int as u32;
const DOUBLE: u32 = Primitive::Double as u32;

fn descriptor(serial: u32, name: &str, body: TypeBody) -> TypeDescriptor {
    TypeDescriptor {
        serial,
        name: name.into(),
        hash: 0,
        predecessor: 0,
        body,
    }
}

fn record(fields: &[(&str, u32)]) -> TypeBody {
    let field = |&(name, type_): &(&str, u32)| Field {
        name: name.into(),
        type_,
    };
    TypeBody::Record(fields.iter().map(field).collect())
}

fn array(element: u32, count: u32) -> TypeBody {
    TypeBody::Array(ArrayBody { element, count })
}

fn members(members: &[(&str, i32)]) -> TypeBody {
    let member = |&(name, value): &(&str, i32)| EnumMember {
        name: name.into(),
        value,
    };
    TypeBody::Enum(members.iter().map(member).collect())
}

fn arm(name: &str, type_: u32, values: &[i32]) -> UnionArm {
    UnionArm {
        name: name.into(),
        type_,
        values: values.to_vec(),
    }
}

fn union(discriminant_type: u32, arms: Vec<UnionArm>, otherwise: Option<UnionArm>) -> TypeBody {
    TypeBody::Union(UnionBody {
        discriminant: "kind".into(),
        discriminant_type,
        arms,
        otherwise: otherwise.map(Box::new),
    })
}

/// A table with types of these bodies, from 64 on.
fn table(bodies: Vec<(&str, TypeBody)>) -> Result<TypeTable, Rejection> {
    let mut table = TypeTable::new();
    let described = bodies.into_iter().zip(64..);
    let descriptors = described.map(|((name, body), serial)| descriptor(serial, name, body));
    let sealed = table.seal(descriptors.collect())?;
    table.extend(sealed)?;
    Ok(table)
}

fn hash(table: &TypeTable, serial: u32) -> u64 {
    table.get(serial).unwrap().descriptor.hash
}

#[test]
fn the_worked_example_has_the_hashes_of_its_signatures() {
    let node = record(&[("key", INT), ("next", 64)]);
    let table = table(vec![("", TypeBody::Pointer(65)), ("node_t", node)]).unwrap();
    assert_eq!(hash(&table, INT), HASH_OF_INT);
    assert_eq!(hash(&table, 64), HASH_OF_POINTER);
    assert_eq!(hash(&table, 65), HASH_OF_NODE);
    let node = table.get(65).unwrap();
    assert_eq!((node.units, node.slot_bytes), (2, 20));
    assert_eq!(type_text(&table, 64), "node_t *");
}

#[test]
fn figure_3_has_the_units_and_sizes_of_the_paper() {
    let names = ["i0", "i1", "i2", "d0", "d1", "ptr"];
    let types = [INT, INT, INT, DOUBLE, DOUBLE, 64];
    let fields: Vec<_> = names.into_iter().zip(types).collect();
    let table = table(vec![("", TypeBody::Pointer(65)), ("T", record(&fields))]).unwrap();
    let layout = table.layout(65, 2).unwrap();
    assert_eq!((layout.units(), layout.bytes()), (12, 88));
    let bytes: Vec<u64> = (0..=12).map(|unit| layout.byte_of(unit)).collect();
    assert_eq!(bytes, [0, 4, 8, 12, 20, 28, 44, 48, 52, 56, 64, 72, 88]);
    assert_eq!(hash(&table, 65), HASH_OF_FIGURE_3);
}

#[test]
fn every_kind_has_the_hash_of_its_signature() {
    let arms = vec![arm("text", 66, &[1]), arm("", 0, &[-1])];
    let table = table(vec![
        ("", members(&[("RED", 1), ("BLUE", -1)])),
        ("", TypeBody::String(20)),
        ("", array(65, 3)),
        (
            "",
            TypeBody::Sequence(SequenceBody {
                element: INT,
                bound: 7,
            }),
        ),
        ("", TypeBody::Text(0)),
        ("", TypeBody::Pointer(0)),
        ("", TypeBody::Pointer(66)),
        ("", union(64, arms, Some(arm("other", DOUBLE, &[])))),
    ])
    .unwrap();
    for (serial, expected) in (64..).zip(HASHES_OF_KINDS) {
        assert_eq!(hash(&table, serial), expected, "type {serial}");
    }
    let extents: Vec<_> = (64..72)
        .map(|serial| table.get(serial).unwrap())
        .map(|ty| (ty.units, ty.slot_bytes))
        .collect();
    let expected = [
        (1, 4),
        (1, 20),
        (3, 60),
        (1, 16),
        (1, 16),
        (1, 16),
        (1, 16),
        (1, 64),
    ];
    assert_eq!(extents, expected);
    let texts: Vec<_> = (64..72).map(|serial| type_text(&table, serial)).collect();
    let expected = [
        "enum",
        "string<20>",
        "string<20>[3]",
        "int<7>",
        "string<>",
        "void *",
        "... *",
        "union",
    ];
    assert_eq!(texts, expected);
}

const HASH_OF_INT: u64 = 0x082f_1f07_b4e8_87ab;
const HASH_OF_POINTER: u64 = 0x4830_9218_879b_e980;
const HASH_OF_NODE: u64 = 0x5f59_18dd_9461_ea69;
const HASH_OF_FIGURE_3: u64 = 0x7d69_2a56_6d6a_2d8b;
const HASHES_OF_KINDS: [u64; 8] = [
    0xabf7_0eb0_39cb_28ba,
    0x71ab_229f_97f6_7ce6,
    0x93b8_4061_eff1_9858,
    0xa274_017b_61fe_00b1,
    0x3d84_8602_9257_d204,
    0x0828_5407_b4e2_c30c,
    0x4719_0324_52dd_cf1e,
    0x1c66_570a_e3ae_dbf9,
];

#[test]
fn what_the_rules_forbid_is_refused() {
    let long = (0..4097).map(|index| (format!("f{index}"), INT));
    let long: Vec<_> = long.collect();
    let long: Vec<_> = long.iter().map(|(name, ty)| (name.as_str(), *ty)).collect();
    let wrong = [
        ("an embedded type that is not lower", record(&[("x", 64)])),
        ("an embedded type that is unknown", array(12, 3)),
        ("an unknown target", TypeBody::Pointer(65)),
        (
            "an unknown element",
            TypeBody::Sequence(SequenceBody {
                element: 0,
                bound: 0,
            }),
        ),
        ("no fields", record(&[])),
        ("too many fields", record(&long)),
        ("a field twice", record(&[("x", INT), ("x", INT)])),
        ("no elements", array(INT, 0)),
        ("a bound of 0", TypeBody::String(0)),
        ("a bound above 4096", TypeBody::String(4097)),
        ("a member twice", members(&[("A", 1), ("A", 2)])),
        ("no arms", union(INT, vec![], Some(arm("x", INT, &[])))),
        (
            "a case twice",
            union(INT, vec![arm("x", INT, &[1]), arm("y", INT, &[1])], None),
        ),
        (
            "a case twice in an arm",
            union(INT, vec![arm("x", INT, &[1, 1])], None),
        ),
        (
            "an arm twice",
            union(INT, vec![arm("x", INT, &[1]), arm("x", INT, &[2])], None),
        ),
        (
            "values of the default",
            union(INT, vec![arm("x", INT, &[1])], Some(arm("", 0, &[2]))),
        ),
        (
            "a double as discriminant",
            union(DOUBLE, vec![arm("x", INT, &[1])], None),
        ),
        ("a kind of no type", TypeBody::Other(1)),
    ];
    for (what, body) in wrong {
        let refused = table(vec![("t", body)]).expect_err(what);
        assert_eq!(refused.code, ErrorCode::Malformed, "{what}");
    }
}

#[test]
fn extents_end_at_2_to_the_40() {
    let most = [("", array(1, 1 << 20)), ("", array(64, 1 << 20))];
    assert!(table(most.to_vec()).is_ok());
    let more = [("", array(1, 1 << 20)), ("", array(64, (1 << 20) + 1))];
    assert!(table(more.to_vec()).is_err());
    let layouts = table(most.to_vec()).unwrap();
    assert!(layouts.layout(65, 1).is_some());
    assert!(layouts.layout(65, 2).is_none());
    assert!(layouts.layout(65, 0).is_none());
    assert!(layouts.layout(1, u64::MAX).is_none());
}

#[test]
fn embedding_is_at_most_64_deep() {
    let deep = |depth: u32| {
        let bodies = (0..depth).map(|level| match level {
            0 => ("", array(INT, 1)),
            level => ("", array(63 + level, 1)),
        });
        table(bodies.collect())
    };
    assert!(deep(64).is_ok());
    assert!(deep(65).is_err());
}

#[test]
fn serials_follow_each_other_and_hashes_are_recomputed() {
    let mut table = table(vec![("a", array(INT, 2))]).unwrap();
    let next = |serial| vec![descriptor(serial, "b", array(INT, 3))];
    let sealed = table.seal(next(65)).unwrap();
    assert!(table.check(sealed.clone()).is_ok());
    let mut wrong = sealed.clone();
    wrong[0].hash ^= 1;
    assert!(table.check(wrong).is_err());
    for serial in [64, 66, 0, 5] {
        let mut moved = sealed.clone();
        moved[0].serial = serial;
        assert!(table.check(moved).is_err(), "serial {serial}");
    }
    assert_eq!(table.next_serial(), 65);
    table.extend(sealed).unwrap();
    assert_eq!(table.next_serial(), 66);
}

#[test]
fn one_name_is_one_structure() {
    let table = table(vec![("a", array(INT, 2))]).unwrap();
    let second = |count| table.seal(vec![descriptor(65, "a", array(INT, count))]);
    assert!(second(2).is_ok());
    assert_eq!(second(3).unwrap_err().code, ErrorCode::TypeConflict);
    let both = vec![
        descriptor(65, "b", array(INT, 2)),
        descriptor(66, "b", array(INT, 3)),
    ];
    let both = table.seal(both).unwrap();
    assert_eq!(table.check(both).unwrap_err().code, ErrorCode::TypeConflict);
}

#[test]
fn subblocks_have_16_units_and_64_bytes_or_more() {
    let table = table(vec![("", record(&[("c", 1), ("d", DOUBLE)]))]).unwrap();
    let units = |serial| 1u64 << table.get(serial).unwrap().subblock_shift;
    let units: Vec<u64> = [1, 3, INT, DOUBLE, 64].into_iter().map(units).collect();
    assert_eq!(units, [64, 32, 16, 16, 16]);
}
