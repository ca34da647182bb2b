//! Files that hold one segment at one version: spec/format/segment-file.md.

use bytes::Bytes;
use xxhash_rust::xxh3::{xxh3_64, Xxh3Default};

use crate::diff::Diff;
use crate::gathered::Gathered;
use crate::json::{self, Json};
use crate::mip::is_path;
use crate::protocol::Durability;
use crate::rejection::Rejection;

const BEFORE_VERSION: &[u8] = b"IWSEG";
const VERSION: u8 = b'1';
const AFTER_VERSION: &[u8] = b"\r\n";
const MAX_HEAD_BYTES: usize = 65_536;
/// Magic, the length of the head, the length of the diff, and the checksum.
const FRAME_BYTES: usize = 8 + 4 + 8 + 8;

/// A segment's properties in a file, without its types and blocks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentHead {
    pub path: String,
    pub durable: Durability,
    pub quota_bytes: u64,
    /// For people; empty if the file does not say.
    pub server: String,
    pub program: String,
    /// Seconds since 1970; 0 if the file does not say.
    pub written: u64,
}

/// The pieces of a file, in order. REQUIRES: the diff is a complete copy; the texts have at most
/// 16 KiB in all.
pub fn pieces(head: &SegmentHead, diff: &Gathered) -> Vec<Bytes> {
    let head = head_text(head);
    let mut begin = [BEFORE_VERSION, &[VERSION], AFTER_VERSION].concat();
    begin.extend_from_slice(&(head.len() as u32).to_be_bytes());
    begin.extend_from_slice(head.as_bytes());
    begin.extend_from_slice(&(diff.len() as u64).to_be_bytes());
    let mut pieces = vec![Bytes::from(begin)];
    pieces.extend(diff.pieces().cloned());
    let mut checksum = Xxh3Default::new();
    pieces.iter().for_each(|piece| checksum.update(piece));
    let checksum = checksum.digest().to_be_bytes();
    pieces.push(Bytes::copy_from_slice(&checksum));
    pieces
}

fn head_text(head: &SegmentHead) -> String {
    let members = [
        ("path", Json::from(&*head.path)),
        ("durability", Json::from(durability_text(head.durable))),
        ("quota_bytes", Json::from(head.quota_bytes)),
        ("server", Json::from(&*head.server)),
        ("program", Json::from(&*head.program)),
        ("written", Json::from(head.written)),
    ];
    let object: Json = members.into_iter().collect();
    object.to_string()
}

/// Takes a file apart. The diff's bytes are shared with the file's.
pub fn parse(file: &Bytes) -> Result<(SegmentHead, Bytes), Rejection> {
    check_magic(file)?;
    if file.len() < FRAME_BYTES {
        return malformed("the file ends early");
    }
    let head_bytes = number(&file[8..12]);
    if head_bytes > MAX_HEAD_BYTES as u64 {
        return malformed(format!(
            "the head has {head_bytes} bytes; at most {MAX_HEAD_BYTES}"
        ));
    }
    let head_end = 12 + head_bytes as usize;
    let Some(length) = file.get(head_end..head_end + 8) else {
        return malformed("the file ends within its head");
    };
    let diff_begin = head_end + 8;
    let rest = (file.len() - diff_begin) as u64;
    if number(length).checked_add(8) != Some(rest) {
        return malformed(format!(
            "the file has {rest} bytes after its head, and says that there are {} and 8 of a \
             checksum; it was cut, or something was added",
            number(length)
        ));
    }
    let checked = file.len() - 8;
    if number(&file[checked..]) != checksum(&file[..checked]) {
        return malformed("the checksum is wrong; the file was changed or damaged");
    }
    let head = read_head(&file[12..head_end])?;
    let diff = file.slice(diff_begin..checked);
    let parsed = Diff::parse(&diff)?;
    if parsed.from != 0 || parsed.metadata_only {
        return malformed("the file's diff is not a complete copy of a segment");
    }
    Ok((head, diff))
}

/// Returns the checksum that the last eight bytes of a file have of all bytes before them.
pub fn checksum(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

fn check_magic(file: &[u8]) -> Result<(), Rejection> {
    let magic = file.get(..8).unwrap_or_default();
    let version = magic.strip_prefix(BEFORE_VERSION);
    match version.map(|rest| rest.split_at(1)) {
        Some(([VERSION], AFTER_VERSION)) => Ok(()),
        Some(([version], AFTER_VERSION)) => malformed(format!(
            "the file has version {} of the format; this program reads version {}",
            version.escape_ascii(),
            VERSION.escape_ascii()
        )),
        Some(_) => malformed("ends of lines of the file were changed; transfer it as binary"),
        None => malformed("the file does not hold a segment (interweave export writes such files)"),
    }
}

fn read_head(bytes: &[u8]) -> Result<SegmentHead, Rejection> {
    let text = std::str::from_utf8(bytes).ok();
    let Some(head) = text.and_then(|text| json::parse(text).ok()) else {
        return malformed("the head is not JSON");
    };
    let text = |name: &str| match head.get(name) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(_) => malformed(format!("`{name}` of the head is not a text")),
    };
    let number = |name: &str| match head.get(name).map(Json::as_u64) {
        None => Ok(None),
        Some(Some(number)) => Ok(Some(number)),
        Some(None) => malformed(format!("`{name}` of the head is not a number")),
    };
    let durable = text("durability")?.and_then(|word| durability_of(&word));
    let path = text("path")?.filter(|path| is_path(path));
    let (Some(path), Some(durable), Some(quota_bytes)) = (path, durable, number("quota_bytes")?)
    else {
        return malformed("the head does not say path, durability and quota_bytes of a segment");
    };
    Ok(SegmentHead {
        path,
        durable,
        quota_bytes,
        server: text("server")?.unwrap_or_default(),
        program: text("program")?.unwrap_or_default(),
        written: number("written")?.unwrap_or_default(),
    })
}

/// Returns the word that people and files have for it.
pub fn durability_text(durable: Durability) -> &'static str {
    match durable {
        Durability::Memory => "memory",
        Durability::Written => "written",
        Durability::Synced => "synced",
    }
}

fn durability_of(word: &str) -> Option<Durability> {
    let all = [Durability::Memory, Durability::Written, Durability::Synced];
    all.into_iter()
        .find(|durable| durability_text(*durable) == word)
}

fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

fn malformed<T>(text: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::malformed(text))
}
