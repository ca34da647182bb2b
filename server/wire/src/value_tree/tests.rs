use super::*;
use crate::json::{self, Json};
use crate::pointer::Pointer;
use crate::protocol::*;
use crate::rejection::Rejection;
use crate::types::TypeTable;

const CHAR: u32 = 1;
const UCHAR: u32 = 2;
const INT: u32 = 5;
const HYPER: u32 = 7;
const FLOAT: u32 = 9;
const DOUBLE: u32 = 10;
const BOOL: u32 = 11;

fn field(name: &str, type_: u32) -> Field {
    Field {
        name: name.into(),
        type_,
    }
}

fn arm(name: &str, type_: u32, value: i32) -> UnionArm {
    UnionArm {
        name: name.into(),
        type_,
        values: vec![value],
    }
}

/// 64 colour, 65 string<8>, 66 int[2], 67 point, 68 choice, 69 text, 70 all, 71 point[2], 72
/// char[4], 73 uchar[2].
fn types() -> TypeTable {
    let array = |element, count| TypeBody::Array(ArrayBody { element, count });
    let member = |name: &str, value| EnumMember {
        name: name.into(),
        value,
    };
    let choice = UnionBody {
        discriminant: "kind".into(),
        discriminant_type: 64,
        arms: vec![arm("pair", 66, 1), arm("", 0, 2)],
        otherwise: None,
    };
    let bodies = [
        (
            "colour",
            TypeBody::Enum(vec![member("RED", 1), member("BLUE", 2)]),
        ),
        ("", TypeBody::String(8)),
        ("", array(INT, 2)),
        (
            "point",
            TypeBody::Record(vec![field("x", DOUBLE), field("y", DOUBLE)]),
        ),
        ("choice", TypeBody::Union(choice)),
        ("", TypeBody::Text(0)),
        (
            "all",
            TypeBody::Record(vec![
                field("name", 65),
                field("points", 71),
                field("choice", 68),
                field("text", 69),
                field("on", BOOL),
                field("big", HYPER),
            ]),
        ),
    ];
    let mut table = TypeTable::new();
    let mut add = |serial, name: &str, body| {
        let descriptor = TypeDescriptor {
            serial,
            name: name.into(),
            hash: 0,
            predecessor: 0,
            body,
        };
        let sealed = table.seal(vec![descriptor]).unwrap();
        table.extend(sealed).unwrap();
    };
    let (last, first) = bodies.split_last().unwrap();
    for (serial, (name, body)) in (64..).zip(first) {
        add(serial, name, body.clone());
    }
    add(70, "", array(67, 2));
    add(71, "", array(CHAR, 4));
    add(72, "", array(UCHAR, 2));
    let TypeBody::Record(mut fields) = last.1.clone() else {
        unreachable!();
    };
    fields[1].type_ = 70;
    add(73, "all", TypeBody::Record(fields));
    table
}

const POINTS: u32 = 70;
const CHARS: u32 = 71;
const BYTES: u32 = 72;
const ALL: u32 = 73;

fn shown(types: &TypeTable, serial: u32, count: u64, slots: &[u8], max_elements: u64) -> String {
    let renderer = Renderer {
        types,
        max_elements,
        pointer: &|pointer| format!("#{}", pointer.serial),
        owned: &|pointer| (pointer.serial == 5).then(|| Json::from("long text")),
    };
    json::line(&renderer.block(serial, count, slots))
}

fn parsed(types: &TypeTable, serial: u32, text: &str) -> Result<Vec<u8>, ErrorCode> {
    let value = json::parse(text).unwrap();
    let reader = Reader {
        types,
        pointer: &|target, text| match (target, text) {
            (INT, "#9") => Ok(Pointer::from_bytes(&[9; 16])),
            _ => Err(Rejection::new(ErrorCode::BadPointer, "no such block")),
        },
    };
    reader.slots(serial, &value).map_err(|refused| refused.code)
}

#[test]
fn what_is_shown_can_be_set_again() {
    let types = types();
    let text = concat!(
        r#"{"name": "Ann", "points": [{"x": 0.5, "y": -1e300}, {"x": 0.0, "y": "NaN"}], "#,
        r#""choice": {"kind": "RED", "pair": [1, -2]}, "text": "", "on": true, "#,
        r#""big": -9223372036854775808}"#
    );
    let slots = parsed(&types, ALL, text).unwrap();
    assert_eq!(slots.len() as u64, types.get(ALL).unwrap().slot_bytes);
    assert_eq!(shown(&types, ALL, 1, &slots, 100), text);
    for (serial, text) in [
        (CHARS, r#""hiya""#),
        (CHARS, r#""""#),
        (CHARS, "[1, -2, 0, 4]"),
        (BYTES, r#""00ff""#),
        (68, r#"{"kind": "BLUE"}"#),
        (FLOAT, "0.1"),
        (HYPER, "9223372036854775807"),
        (DOUBLE, r#""-inf""#),
    ] {
        let slots = parsed(&types, serial, text).unwrap();
        assert_eq!(shown(&types, serial, 1, &slots, 100), text);
    }
}

#[test]
fn long_arrays_are_cut_and_owned_blocks_are_asked_for() {
    let types = types();
    let numbers: Vec<u8> = (0..10i32).flat_map(i32::to_le_bytes).collect();
    assert_eq!(shown(&types, INT, 10, &numbers, 3), r#"[0, 1, 2, "..."]"#);
    assert_eq!(shown(&types, UCHAR, 4, &[1, 2, 3, 4], 3), r#""010203...""#);
    let owned = |serial: u8| {
        let mut slot = [0; 16];
        slot[2] = serial;
        shown(&types, 69, 1, &slot, 3)
    };
    assert_eq!(owned(0), r#""""#);
    assert_eq!(owned(5), r#""long text""#);
    assert_eq!(owned(6), r##""#6""##);
    assert_eq!(shown(&types, 64, 1, &[9, 0, 0, 0], 3), "9", "no member");
}

#[test]
fn what_is_not_of_the_type_is_refused() {
    let types = types();
    for (serial, text) in [
        (INT, "2147483648"),
        (INT, "1.5"),
        (INT, "\"1\""),
        (UCHAR, "-1"),
        (BOOL, "1"),
        (64, "\"GREEN\""),
        (64, "3"),
        (65, "\"123456789\""),
        (65, "\"a\\u0000b\""),
        (66, "[1]"),
        (66, "[1, true]"),
        (67, r#"{"x": 1}"#),
        (67, r#"{"x": 1, "y": 2, "z": 3}"#),
        (68, r#"{"kind": "RED"}"#),
        (68, r#"{"kind": "RED", "pair": [1, 2], "single": 1}"#),
        (68, r#"{"kind": "BLUE", "pair": [1, 2]}"#),
        (69, "\"text\""),
        (CHARS, "\"12345\""),
        (BYTES, "\"0g00\""),
        (BYTES, "\"+1+2\""),
        (DOUBLE, "\"infinity\""),
    ] {
        assert_eq!(
            parsed(&types, serial, text),
            Err(ErrorCode::BadValue),
            "{serial} {text}"
        );
    }
    assert_eq!(parsed(&types, 99, "1"), Err(ErrorCode::UnknownType));
}

#[test]
fn units_and_paths_are_the_same_places() {
    let types = types();
    let layout = types.layout(ALL, 3).unwrap();
    let paths = [
        "name",
        "points[0].x",
        "points[0].y",
        "points[1].x",
        "points[1].y",
        "choice",
        "text",
        "on",
        "big",
    ];
    assert_eq!(layout.ty.units, paths.len() as u64);
    for unit in 0..layout.units() {
        let place = place_of_unit(&types, layout, unit).unwrap();
        let within = paths[(unit % 9) as usize];
        assert_eq!(place.path, format!("[{}].{within}", unit / 9));
        assert_eq!((place.first_unit, place.units), (unit, 1));
        assert_eq!(place.byte, layout.byte_of(unit));
        assert_eq!(place.byte + place.bytes, layout.byte_of(unit + 1));
        assert_eq!(place_of_path(&types, layout, &place.path).unwrap(), place);
    }
    assert_eq!(place_of_unit(&types, layout, layout.units()), None);
}

#[test]
fn a_path_may_end_at_a_whole_part() {
    let types = types();
    let one = types.layout(ALL, 1).unwrap();
    let place = place_of_path(&types, one, "points").unwrap();
    assert_eq!(
        (place.type_serial, place.first_unit, place.units),
        (POINTS, 1, 4)
    );
    assert_eq!(
        place_of_path(&types, one, ".points[1].y")
            .unwrap()
            .first_unit,
        4
    );
    assert_eq!(place_of_path(&types, one, "").unwrap().units, 9);
    for path in [
        "x",
        "points[2]",
        "points[",
        "points[-1]",
        "on.x",
        "points.x",
        "[0]",
        "name..",
        ".",
    ] {
        assert!(place_of_path(&types, one, path).is_err(), "{path}");
    }
    let three = types.layout(ALL, 3).unwrap();
    assert!(place_of_path(&types, three, "name").is_err());
    assert!(place_of_path(&types, three, "[3].name").is_err());
}
