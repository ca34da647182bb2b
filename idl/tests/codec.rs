//! The generated codecs at work: values survive the way through bytes, malformed bytes are refused,
//! and Rust and C++ agree on every one of thousands of damaged encodings.

mod golden;

// The generated modules, over the runtime that the server uses.
#[path = "codec/rust/everything.rs"]
#[rustfmt::skip]
mod everything;
#[path = "codec/rust/shapes.rs"]
#[rustfmt::skip]
mod shapes;
#[allow(dead_code)]
#[path = "../../server/wire/src/protocol/xdr.rs"]
mod xdr;

use everything::*;
use golden::{tests_dir, Expected};
use interweave_idl::{run, CodecLanguage, CompileOptions, Output};
use shapes::*;
use std::fmt::Debug;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use xdr::{from_bytes, to_bytes, Reader, Xdr, XdrError, MAX_DEPTH};

fn primitives() -> Primitives {
    Primitives {
        c: -5,
        uc: 250,
        s: -300,
        us: 65_535,
        i: i32::MIN,
        ui: u32::MAX,
        h: i64::MIN,
        uh: u64::MAX,
        f: -1.5,
        d: 1e300,
        q: [9; 16],
        b: true,
    }
}

fn bytes() -> Bytes {
    Bytes {
        fixed: [1, 2, 3],
        named: *b"\x00\x01\x02\x03\xff",
        bounded: vec![7; 6],
        open: vec![8; 9],
        text: "héy".into(),
        any: "a longer text with \u{10ffff}".into(),
        name: String::new(),
        maybe: Some(Box::new("x".into())),
    }
}

fn point() -> Point {
    Point { x: 0.5, y: -0.0 }
}

fn arrays() -> Arrays {
    Arrays {
        fixed: [1, -1],
        matrix: [[1, 2, 3], [-4, -5, -6]],
        points: vec![point(), point(), point()],
        names: vec!["one".into(), "two".into()],
        flags: [true, false, true],
        optional: Some(Box::new(point())),
        some: [None, Some(Box::new(point()))],
        texts: vec![None, Some(Box::new("t".into()))],
    }
}

fn unions() -> Unions {
    Unions {
        e: ByEnum::Red(-9),
        i: ByInt::Negative(bytes()),
        b: ByBool::True(77),
        u: ByUnsigned::Case4294967295(4),
        s: Strict::Case5,
    }
}

fn tree(depth: u32) -> Tree {
    let below = |show: bool| show.then(|| Box::new(tree(depth - 1)));
    Tree {
        key: depth as i32,
        left: below(depth > 0),
        right: below(depth > 0 && depth.is_multiple_of(2)),
    }
}

fn forest() -> Forest {
    let leaf = |label: &str| Forest {
        kids: Vec::new(),
        type_: label.into(),
    };
    Forest {
        kids: vec![leaf("a"), leaf("b")],
        type_: "root".into(),
    }
}

fn ping() -> Ping {
    let inner = Ping { next: None };
    Ping {
        next: Some(Box::new(Pong {
            others: vec![inner.clone(), inner],
        })),
    }
}

fn expression() -> Expression {
    let leaf = |number| Some(Box::new(Expression::Case0(number)));
    Expression::Case1(ExpressionSum {
        left: leaf(1.0),
        right: leaf(2.0),
    })
}

fn survives<T: Xdr + Debug + PartialEq>(value: T) {
    let encoded = to_bytes(&value);
    assert_eq!(encoded.len() % 4, 0);
    assert_eq!(from_bytes::<T>(&encoded).unwrap(), value);
}

#[test]
fn values_survive_the_way_through_bytes() {
    survives(primitives());
    survives(bytes());
    survives(arrays());
    survives(unions());
    survives(tree(6));
    survives(forest());
    survives(ping());
    survives(expression());
    for e in [ByEnum::Green, ByEnum::Other(-7)] {
        survives(e);
    }
    for i in [
        ByInt::Case0(point()),
        ByInt::Case7(point()),
        ByInt::Other(8, "text".into()),
    ] {
        survives(i);
    }
}

#[test]
fn encodings_are_those_of_the_standard() {
    let point = Point { x: 1.0, y: -2.0 };
    assert_eq!(
        to_bytes(&point),
        [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0]
    );
    let tree = Tree {
        key: -1,
        left: None,
        right: None,
    };
    assert_eq!(
        to_bytes(&tree),
        [255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0]
    );
    let forest = Forest {
        kids: Vec::new(),
        type_: "abcde".into(),
    };
    assert_eq!(
        to_bytes(&forest),
        [0, 0, 0, 0, 0, 0, 0, 5, 97, 98, 99, 100, 101, 0, 0, 0]
    );
    assert_eq!(to_bytes(&ByEnum::Other(-7)), [255, 255, 255, 249]);
    assert_eq!(
        to_bytes(&ByBool::True(1)),
        [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1]
    );
}

#[test]
fn malformed_bytes_are_refused_with_their_error() {
    fn error<T: Xdr + Debug>(bytes: &[u8]) -> XdrError {
        from_bytes::<T>(bytes).unwrap_err()
    }
    assert_eq!(error::<Point>(&[0; 11]), XdrError::Truncated);
    assert_eq!(error::<Point>(&[0; 13]), XdrError::Trailing);
    assert_eq!(error::<Color>(&[0, 0, 0, 3]), XdrError::BadEnum);
    assert_eq!(error::<ByEnum>(&[0, 0, 0, 3]), XdrError::BadEnum);
    assert_eq!(error::<ByBool>(&[0, 0, 0, 2]), XdrError::BadBool);
    assert_eq!(error::<Strict>(&[0, 0, 0, 6]), XdrError::BadDiscriminant);
    assert_eq!(
        error::<ByUnsigned>(&[0, 0, 0, 2]),
        XdrError::BadDiscriminant
    );
    assert_eq!(error::<Ping>(&[0, 0, 0, 2]), XdrError::BadOptional);
    assert_eq!(error::<Ping>(&[0, 0, 0, 1, 0, 0, 0, 3]), XdrError::TooLong);
    assert_eq!(
        error::<Ping>(&[0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0]),
        XdrError::Truncated
    );
    assert_eq!(error::<i8>(&[0, 0, 0, 128]), XdrError::BadNumber);
    assert_eq!(error::<u16>(&[0, 1, 0, 0]), XdrError::BadNumber);

    let mut forest = to_bytes(&Forest {
        kids: Vec::new(),
        type_: "abcde".into(),
    });
    forest[13] = 1;
    assert_eq!(error::<Forest>(&forest), XdrError::BadPadding);
    forest[13] = 0;
    forest[8] = 0xff;
    assert_eq!(error::<Forest>(&forest), XdrError::BadText);
    forest[7] = 9;
    assert_eq!(error::<Forest>(&forest), XdrError::TooLong);
}

#[test]
fn a_count_is_believed_only_if_its_bytes_are_there() {
    // Four thousand million trees of at least eight bytes, in eight bytes.
    let mut reader = Reader::new(&[255, 255, 255, 255, 0, 0, 0, 0]);
    assert_eq!(
        Forest::decode(&mut reader).unwrap_err(),
        XdrError::Truncated
    );
}

#[test]
fn recursion_ends_at_its_limit() {
    let chain = |depth: u32| {
        let one = [0, 0, 0, 9, 0, 0, 0, 1];
        let mut bytes = one.repeat(depth as usize - 1);
        bytes.extend([0, 0, 0, 9, 0, 0, 0, 0]);
        bytes.extend([0; 4].repeat(depth as usize));
        bytes
    };
    assert!(from_bytes::<Tree>(&chain(MAX_DEPTH)).is_ok());
    let error = from_bytes::<Tree>(&chain(MAX_DEPTH + 1)).unwrap_err();
    assert_eq!(error, XdrError::TooDeep);
}

#[test]
#[should_panic(expected = "longer than its bound of 8")]
fn encoding_beyond_a_bound_is_a_mistake_of_the_caller() {
    to_bytes(&Forest {
        kids: Vec::new(),
        type_: "nine long".into(),
    });
}

#[test]
fn names_and_numbers_of_enums_are_known() {
    assert_eq!(Color::try_from(-7), Ok(Color::DeepBlue));
    assert_eq!(Color::DeepBlue.name(), "COLOR_DEEP_BLUE");
    assert_eq!(ByInt::Negative(bytes()).discriminant(), NEGATIVE);
    assert_eq!((LIMIT, WIDE), (3, 0x1_2345_6789));
}

#[test]
fn the_codecs_used_here_are_up_to_date() {
    std::env::set_current_dir(tests_dir().join("codec")).unwrap();
    let mut expected = Expected::new();
    for (language, dir) in [
        (CodecLanguage::Rust, "rust"),
        (CodecLanguage::Cpp, "cpp"),
        (CodecLanguage::TypeScript, "typescript"),
        (CodecLanguage::Java, "java"),
    ] {
        let options = CompileOptions {
            files: vec!["everything.x".into(), "shapes.x".into()],
            output: Output::Codec(language),
            include_dirs: Vec::new(),
            package: String::new(),
            defines: Vec::new(),
            types: Vec::new(),
        };
        let mut files = run(options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
        let index = [Path::new("mod.rs"), Path::new("index.ts")];
        files.retain(|file| !index.contains(&file.path.as_path()));
        for file in files {
            expected.compare(
                &tests_dir().join("codec").join(dir).join(&file.path),
                &file.text,
            );
        }
    }
    expected.finish();
}

/// A small generator of numbers (xorshift64*), so that every run damages the same bytes.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }
}

/// The encoding itself, every beginning of it, and copies with bytes changed, taken out, put in.
fn damaged(encoded: &[u8], numbers: &mut Numbers) -> Vec<Vec<u8>> {
    let mut cases: Vec<Vec<u8>> = (0..=encoded.len()).map(|n| encoded[..n].to_vec()).collect();
    for at in 0..encoded.len() {
        for value in [0, 1, 2, 0x7f, 0x80, 0xc0, 0xed, 0xf4, 0xff] {
            let mut case = encoded.to_vec();
            case[at] = value;
            cases.push(case);
        }
    }
    for _ in 0..300 {
        let mut case = encoded.to_vec();
        for _ in 0..=numbers.below(3) {
            let at = numbers.below(case.len().max(1)).min(case.len());
            match numbers.below(3) {
                0 if !case.is_empty() => drop(case.drain(at..(at + 4).min(case.len()))),
                1 => drop(case.splice(at..at, [0, 0, 0, numbers.below(4) as u8])),
                _ if at < case.len() => case[at] = numbers.below(256) as u8,
                _ => {}
            }
        }
        cases.push(case);
    }
    cases
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What Rust makes of the bytes; whatever is accepted must be the one encoding of its value.
fn rust_answer<T: Xdr>(bytes: &[u8]) -> String {
    match from_bytes::<T>(bytes) {
        Ok(value) => {
            let again = to_bytes(&value);
            assert_eq!(again, bytes, "two encodings of one value");
            format!("ok {}", hex(&again))
        }
        Err(error) => format!("error {error}"),
    }
}

fn build_check() -> std::path::PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codec-check");
    std::fs::create_dir_all(&dir).unwrap();
    let codec = tests_dir().join("codec");
    let program = dir.join("check");
    let output = Command::new("g++")
        .args(["-std=c++20", "-O1", "-g", "-fsanitize=address,undefined"])
        .args([
            "-fno-sanitize-recover=all",
            "-Wall",
            "-Wextra",
            "-Wconversion",
            "-Werror",
            "-I",
        ])
        .arg(tests_dir().join("../../native/protocol"))
        .arg("-I")
        .arg(codec.join("cpp"))
        .args([codec.join("check.cc"), codec.join("cpp/everything.gen.cc")])
        .arg(codec.join("cpp/shapes.gen.cc"))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("g++ runs");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "g++:\n{messages}");
    program
}

#[test]
fn rust_and_cpp_agree_on_good_and_damaged_bytes() {
    let mut numbers = Numbers(0x1234_5678_9abc_def1);
    let mut lines = Vec::new();
    let mut wanted = Vec::new();
    macro_rules! cases {
        ($($name:literal: $type:ty = $value:expr;)*) => {$(
            for case in damaged(&to_bytes::<$type>(&$value), &mut numbers) {
                lines.push(format!("{} {}\n", $name, hex(&case)));
                wanted.push(rust_answer::<$type>(&case));
            }
        )*};
    }
    cases! {
        "primitives": Primitives = primitives();
        "bytes": Bytes = bytes();
        "arrays": Arrays = arrays();
        "unions": Unions = unions();
        "tree": Tree = tree(4);
        "forest": Forest = forest();
        "ping": Ping = ping();
        "expression": Expression = expression();
    }
    assert!(lines.len() > 5000);
    let mut child = Command::new(build_check())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let text = lines.concat();
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), wanted.len());
    let accepted = wanted
        .iter()
        .filter(|answer| answer.starts_with("ok"))
        .count();
    assert!(
        accepted > 500 && accepted < wanted.len() - 500,
        "{accepted} accepted"
    );
    for ((line, wanted), answer) in lines.iter().zip(&wanted).zip(answers) {
        assert_eq!(answer, wanted, "for {line}");
    }
}
