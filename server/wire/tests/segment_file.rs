//! Files that hold one segment: spec/format/segment-file.md.

use bytes::Bytes;
use interweave_wire::protocol::{Durability, ErrorCode};
use interweave_wire::segment_file::{parse, pieces, SegmentHead};
use interweave_wire::Gathered;
use xxhash_rust::xxh3::xxh3_64;

const EMPTY: &[u8] = b"IWD1\0\0\x01";

fn head() -> SegmentHead {
    SegmentHead {
        path: "/a".to_string(),
        durable: Durability::Written,
        quota_bytes: 1024,
        server: "iw://127.0.0.1:7747".to_string(),
        program: "a test".to_string(),
        written: 7,
    }
}

fn file(diff: &'static [u8]) -> Vec<u8> {
    pieces(&head(), &Gathered::from(Bytes::from_static(diff))).concat()
}

fn framed(head: &str, diff: &[u8]) -> Bytes {
    let mut bytes = b"IWSEG1\r\n".to_vec();
    bytes.extend_from_slice(&(head.len() as u32).to_be_bytes());
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(&(diff.len() as u64).to_be_bytes());
    bytes.extend_from_slice(diff);
    let checksum = xxh3_64(&bytes);
    bytes.extend_from_slice(&checksum.to_be_bytes());
    bytes.into()
}

fn refusal(bytes: impl Into<Bytes>) -> String {
    let refused = parse(&bytes.into()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::Malformed);
    refused.text
}

#[test]
fn a_file_is_read_as_it_was_written() {
    let (read, diff) = parse(&file(EMPTY).into()).unwrap();
    assert_eq!((read, &*diff), (head(), EMPTY));
}

#[test]
fn the_worked_example_is_so() {
    let text = r#"{"path":"/a","durability":"memory","quota_bytes":1024}"#;
    let bytes = framed(text, EMPTY);
    assert_eq!((text.len(), bytes.len()), (54, 81 + 8));
    let spec = include_str!("../../../spec/format/segment-file.md");
    let digits: Vec<String> = bytes[81..].iter().map(|b| format!("{b:02x}")).collect();
    assert!(spec.contains(&digits.join(" ")), "{}", digits.join(" "));
    assert!(parse(&bytes).is_ok());
}

#[test]
fn segf_1_each_cut_and_each_changed_byte_is_found() {
    let whole = file(EMPTY);
    for end in 0..whole.len() {
        refusal(whole[..end].to_vec());
        let mut changed = whole.clone();
        changed[end] ^= 1;
        refusal(changed);
    }
    refusal([&whole[..], b"\0"].concat());
}

#[test]
fn segf_2_unknown_members_are_ignored_and_wrong_ones_refused() {
    let text = r#"{"path":"/a","durability":"synced","quota_bytes":1,"colour":[]}"#;
    assert!(parse(&framed(text, EMPTY)).is_ok());
    for wrong in [
        "",
        "[]",
        r#"{"path":"/a","durability":"synced"}"#,
        r#"{"path":"a","durability":"synced","quota_bytes":1}"#,
        r#"{"path":"/a","durability":"often","quota_bytes":1}"#,
        r#"{"path":"/a","durability":"synced","quota_bytes":-1}"#,
        r#"{"path":"/a","durability":"synced","quota_bytes":1,"written":"now"}"#,
        r#"{"path":"/a","durability":"synced","quota_bytes":1,"server":7}"#,
    ] {
        assert!(refusal(framed(wrong, EMPTY)).contains("head"), "{wrong}");
    }
}

#[test]
fn segf_3_another_version_and_other_files_are_named() {
    let changed = |at: usize, byte: u8| {
        let mut bytes = file(EMPTY);
        bytes[at] = byte;
        refusal(bytes)
    };
    assert!(changed(5, b'2').contains("version 2"));
    assert!(changed(6, b'\n').contains("as binary"));
    assert!(changed(0, b'x').contains("interweave export"));
}

#[test]
fn segf_4_only_a_complete_copy_will_do() {
    let text = r#"{"path":"/a","durability":"synced","quota_bytes":1}"#;
    for wrong in [
        &b"IWD1\0\x01\x02"[..],
        b"IWD1\x01\0\x01",
        b"IWD2\0\0\x01",
        b"",
    ] {
        refusal(framed(text, wrong));
    }
}

#[test]
fn segf_7_lengths_that_lie_allocate_nothing() {
    let whole = file(EMPTY);
    let head_bytes = u32::from_be_bytes(whole[8..12].try_into().unwrap()) as usize;
    // The lengths of the head and of the diff.
    for at in [8, 12 + head_bytes] {
        let mut bytes = whole.clone();
        bytes[at..at + 4].fill(0xff);
        refusal(bytes);
    }
}
