//! The bytes of a log file: its head, and the head of each record (spec/format/server-log.md).
//!
//! Nothing here touches a file. A record's header is believed only if its mark is the file's, its
//! lengths fit, its crc holds and it decodes and names the file's owner. The body has a crc of its
//! own, under the header's: where only the body is damaged, it is known whose it was.

use interweave_wire::protocol::xdr::{from_bytes, to_bytes, Xdr};
use interweave_wire::protocol::{FieldList, LogHeader};

use crate::identity::Identity;
use crate::older;

/// What the head of a log file begins with in every format.
pub const CORE_BYTES: u64 = 32;
/// The head of a log file that this program writes.
pub const FILE_HEAD_BYTES: u64 = 88;
pub const RECORD_HEAD_BYTES: usize = 24;
/// The largest diff of a record in a file of format 3 or older.
const MAX_DIFF_BYTES_3: u64 = 1 << 30;
/// The largest diff of one record: with its header it has a length of 32 bits.
pub const MAX_DIFF_BYTES: u64 = (1 << 32) - (1 << 16);
/// More than any `log_header` takes: a path has 1,024 bytes at most.
const MAX_HEADER_BYTES: u32 = 4096;
/// The format's digit follows [LOG-14].
const MAGIC: &[u8; 3] = b"IWL";
/// More than any list of fields takes.
const MAX_LIST_BYTES: u64 = 1 << 16;
/// Flags in the field of header_bytes.
const GOES_ON: u32 = 1 << 31;
const CONTINUES: u32 = 1 << 30;

/// How many bytes a record, or what is padded like one, takes in the file.
pub fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(8)
}

/// The formats that this program reads [LOG-14]. It writes the last two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As the next; one checksum a record, and versions without chains.
    One,
    /// Heads and records had no fields, and records the ids of sessions.
    Two,
    Three,
    /// As the third, with larger diffs.
    Four,
}

impl Format {
    pub const READ: &'static str = "formats 1 to 4";

    pub fn of(number: u8) -> Option<Format> {
        match number {
            1 => Some(Format::One),
            2 => Some(Format::Two),
            3 => Some(Format::Three),
            4 => Some(Format::Four),
            _ => None,
        }
    }

    fn digit(self) -> u8 {
        match self {
            Format::One => b'1',
            Format::Two => b'2',
            Format::Three => b'3',
            Format::Four => b'4',
        }
    }

    /// Of a new file with room for so many bytes of records. Servers that do not know the fourth
    /// read all files but those that may have larger diffs than they know.
    fn with_room(bytes: u64) -> Format {
        match bytes <= MAX_DIFF_BYTES_3 {
            true => Format::Three,
            false => Format::Four,
        }
    }

    fn max_diff_bytes(self) -> u64 {
        match self {
            Format::One | Format::Two | Format::Three => MAX_DIFF_BYTES_3,
            Format::Four => MAX_DIFF_BYTES,
        }
    }

    /// Whether a chain of 0 may stand for one that is not known.
    pub fn may_lack_chains(self) -> bool {
        matches!(self, Format::One | Format::Two)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHead {
    pub format: Format,
    /// How many bytes the head takes.
    pub bytes: u64,
    /// None: the head does not say.
    pub identity: Option<Identity>,
    /// Random: begins each record of this file, so that no client can put bytes into a diff that
    /// pass for a record.
    pub mark: u32,
    /// Of the owner that made the file.
    pub epoch: u64,
    /// The number of the first record.
    pub first: u64,
}

impl FileHead {
    /// Of a file that this program begins, with room for so many bytes of head and records.
    pub fn new(
        mark: u32,
        (epoch, first): (u64, u64),
        identity: Identity,
        capacity: u64,
    ) -> FileHead {
        FileHead {
            format: Format::with_room(capacity.saturating_sub(FILE_HEAD_BYTES)),
            bytes: FILE_HEAD_BYTES,
            identity: Some(identity),
            mark,
            epoch,
            first,
        }
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.push(self.format.digit());
        self.mark.encode(&mut out);
        self.epoch.encode(&mut out);
        self.first.encode(&mut out);
        crc32c::crc32c(&out).encode(&mut out);
        let fields = self.identity.map(|identity| identity.fields());
        let list = to_bytes(&FieldList {
            fields: fields.unwrap_or_default(),
        });
        let about_list = out.len();
        (list.len() as u32).encode(&mut out);
        out.extend_from_slice(&list);
        crc32c::crc32c(&out[about_list..]).encode(&mut out);
        out.resize(padded(out.len() as u64) as usize, 0);
        out
    }

    /// The format of a file that begins with these bytes, whether it can be read or not. None: they
    /// are damaged, or not the beginning of a log file.
    pub fn format_of(core: &[u8; CORE_BYTES as usize]) -> Option<u8> {
        let crc = core[24..].first_chunk::<4>()?;
        let is_sound = crc32c::crc32c(&core[..24]) == u32::from_be_bytes(*crc);
        (core.starts_with(MAGIC) && is_sound).then(|| core[3].wrapping_sub(b'0'))
    }

    /// How many bytes the head takes that begins with these; None: they are damaged.
    pub fn length(core: &[u8; CORE_BYTES as usize]) -> Option<u64> {
        let list = u64::from(u32::from_be_bytes(*core[28..].first_chunk()?));
        match Format::of(Self::format_of(core)?)? {
            Format::One | Format::Two => Some(CORE_BYTES),
            Format::Three | Format::Four if list > MAX_LIST_BYTES => None,
            Format::Three | Format::Four => Some(padded(CORE_BYTES + list + 4)),
        }
    }

    /// From all bytes of a head.
    pub fn decode(bytes: &[u8]) -> Option<FileHead> {
        let core = bytes.first_chunk()?;
        let format = Format::of(Self::format_of(core)?)?;
        let length = Self::length(core).filter(|length| *length == bytes.len() as u64)?;
        let (_, rest) = core.split_first_chunk::<4>()?;
        let (mark, rest) = rest.split_first_chunk::<4>()?;
        let (epoch, rest) = rest.split_first_chunk::<8>()?;
        let first = rest.first_chunk::<8>()?;
        Some(FileHead {
            format,
            bytes: length,
            identity: match format {
                Format::One | Format::Two => None,
                Format::Three | Format::Four => identity_in(bytes)?,
            },
            mark: u32::from_be_bytes(*mark),
            epoch: u64::from_be_bytes(*epoch),
            first: u64::from_be_bytes(*first),
        })
    }
}

/// What the fields of a head say of the store; None: they are damaged.
fn identity_in(head: &[u8]) -> Option<Option<Identity>> {
    let about_list = head.get(CORE_BYTES as usize - 4..)?;
    let bytes = u32::from_be_bytes(*about_list.first_chunk()?) as usize;
    let (checked, rest) = about_list.split_at_checked(4 + bytes)?;
    let (crc, padding) = rest.split_first_chunk::<4>()?;
    let is_sound = crc32c::crc32c(checked) == u32::from_be_bytes(*crc);
    if !is_sound || padding.iter().any(|&byte| byte != 0) {
        return None;
    }
    let list: FieldList = from_bytes(&checked[4..]).ok()?;
    Identity::of(&list.fields).ok()
}

/// Where a record stands in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceInGroup {
    /// Records of the group precede it.
    pub continues: bool,
    /// Records of the group follow it.
    pub goes_on: bool,
}

/// A record's head as it stands in the file; only its ranges are checked.
#[derive(Debug, Clone, Copy)]
pub struct RecordHead {
    pub length: u32,
    pub header_bytes: u32,
    pub place: PlaceInGroup,
    /// How much of the file was on the disk when this record was written: what is bad before there
    /// is damage; what is bad after there may have been lost with the power, unacknowledged.
    pub synced: u32,
    /// None: `crc` is of the body as well.
    pub body_crc: Option<u32>,
    /// How many bytes these numbers take.
    head_bytes: usize,
    /// Of all before it and the header; as it covers the body's, it stands for the whole record.
    pub crc: u32,
}

impl RecordHead {
    /// None if this cannot be the head of a record of that file.
    pub fn decode(bytes: &[u8; RECORD_HEAD_BYTES], file: &FileHead) -> Option<RecordHead> {
        let is_first = file.format == Format::One;
        let (words, _) = bytes.as_chunks::<4>();
        let [found, length, header, synced, body_crc, crc] =
            [0, 1, 2, 3, 4, 5].map(|i| u32::from_be_bytes(words[i]));
        let head = RecordHead {
            length,
            header_bytes: header & !(GOES_ON | CONTINUES),
            place: PlaceInGroup {
                continues: header & CONTINUES != 0,
                goes_on: header & GOES_ON != 0,
            },
            synced,
            body_crc: (!is_first).then_some(body_crc),
            crc: if is_first { body_crc } else { crc },
            head_bytes: RECORD_HEAD_BYTES - if is_first { 4 } else { 0 },
        };
        let plausible = found == file.mark
            && head.header_bytes <= MAX_HEADER_BYTES
            && head.header_bytes <= length
            && u64::from(length - head.header_bytes) <= file.format.max_diff_bytes();
        plausible.then_some(head)
    }

    /// Head and header.
    pub fn bytes_before_body(&self) -> u64 {
        self.head_bytes as u64 + u64::from(self.header_bytes)
    }

    pub fn body_bytes(&self) -> u64 {
        u64::from(self.length - self.header_bytes)
    }

    /// How many bytes the record takes in the file.
    pub fn span(&self) -> u64 {
        padded(self.head_bytes as u64 + u64::from(self.length))
    }

    /// Where the header begins in the record.
    pub fn header_at(&self) -> u64 {
        self.head_bytes as u64
    }

    /// How many bytes of the record `crc` is of.
    pub fn checked_bytes(&self) -> u64 {
        match self.body_crc {
            Some(_) => self.bytes_before_body(),
            None => self.head_bytes as u64 + u64::from(self.length),
        }
    }
}

/// Appends a record's head and header to `out`; `body` is to follow. Returns the record's crc.
pub fn encode_record(
    mark: u32,
    synced: u32,
    place: PlaceInGroup,
    header: &LogHeader,
    body: &[u8],
    out: &mut Vec<u8>,
) -> u32 {
    let start = out.len();
    out.resize(start + RECORD_HEAD_BYTES, 0);
    header.encode(out);
    let header_bytes = out.len() - start - RECORD_HEAD_BYTES;
    let flags =
        if place.goes_on { GOES_ON } else { 0 } | if place.continues { CONTINUES } else { 0 };
    let mut words = Vec::with_capacity(RECORD_HEAD_BYTES);
    mark.encode(&mut words);
    ((header_bytes + body.len()) as u32).encode(&mut words);
    (header_bytes as u32 | flags).encode(&mut words);
    synced.encode(&mut words);
    crc32c::crc32c(body).encode(&mut words);
    let crc = crc32c::crc32c(&words);
    let crc = crc32c::crc32c_append(crc, &out[start + RECORD_HEAD_BYTES..]);
    crc.encode(&mut words);
    out[start..start + RECORD_HEAD_BYTES].copy_from_slice(&words);
    crc
}

/// The header of a record (`bytes` are its checked ones), if it is valid.
pub fn check_header(bytes: &[u8], head: &RecordHead, file: &FileHead) -> Option<LogHeader> {
    let (numbers, checked) = bytes.split_at_checked(head.head_bytes)?;
    let crc = crc32c::crc32c(&numbers[..head.head_bytes - 4]);
    if crc32c::crc32c_append(crc, checked) != head.crc {
        return None;
    }
    let header = checked.get(..head.header_bytes as usize)?;
    decode_header(header, file.format).filter(|header| header.owner == file.epoch)
}

/// A header of any format, with the hash of its session's id [SES-6].
pub fn decode_header(bytes: &[u8], format: Format) -> Option<LogHeader> {
    let header = match format {
        Format::One => older::header_of_1(bytes),
        Format::Two => older::header_of_2(bytes),
        Format::Three | Format::Four => from_bytes(bytes),
    };
    header.ok()
}

/// Whether the body is the one that was written with the header.
pub fn check_body(body: &[u8], head: &RecordHead) -> bool {
    head.body_crc.is_none_or(|crc| crc32c::crc32c(body) == crc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::protocol::{HeaderField, LogBody};

    #[test]
    fn a_file_head_is_the_bytes_of_the_specification() {
        let identity = Identity {
            server: [0x55; 16],
            space: [0xaa; 16],
        };
        let head = FileHead::new(0x01020304, (7, 0x21), identity, 64 << 20);
        let bytes = head.encode();
        assert_eq!(&bytes[..8], b"IWL3\x01\x02\x03\x04");
        assert_eq!(
            &bytes[8..24],
            &[0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0x21]
        );
        assert_eq!(bytes.len() as u64, FILE_HEAD_BYTES);
        assert_eq!(FileHead::decode(&bytes), Some(head));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FileHead::decode(&bad), None, "bit {bit}");
        }
    }

    /// The fields that this program writes need no padding.
    #[test]
    fn a_file_head_with_a_padding_that_is_not_zero_is_damaged() {
        let head = FileHead::new(1, (2, 3), Identity::default(), 64 << 20);
        let mut fields = Identity::default().fields();
        let unknown = HeaderField {
            key: 1 << 20,
            value: vec![1, 2, 3, 4],
        };
        fields.push(unknown);
        let list = to_bytes(&FieldList { fields });
        let mut bytes = head.encode();
        bytes.truncate(CORE_BYTES as usize - 4);
        let mut checked = (list.len() as u32).to_be_bytes().to_vec();
        checked.extend_from_slice(&list);
        bytes.extend_from_slice(&checked);
        bytes.extend_from_slice(&crc32c::crc32c(&checked).to_be_bytes());
        let unpadded = bytes.len();
        bytes.resize(padded(unpadded as u64) as usize, 0);
        let whole = FileHead {
            bytes: bytes.len() as u64,
            ..head
        };
        assert_eq!(FileHead::decode(&bytes), Some(whole));
        for at in unpadded..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] = 1;
            assert_eq!(FileHead::decode(&bad), None, "byte {at}");
        }
        assert_eq!(bytes.len() - unpadded, 4);
    }

    #[test]
    fn a_record_is_the_bytes_of_the_specification() {
        let header = LogHeader {
            owner: 3,
            segment_id: 9,
            parent: 0,
            body: LogBody::Serials(1 << 20),
            fields: Vec::new(),
        };
        let alone = PlaceInGroup {
            continues: false,
            goes_on: false,
        };
        let mut bytes = Vec::new();
        encode_record(0x4d41524b, 32, alone, &header, b"", &mut bytes);
        let text: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let specified = "4d 41 52 4b 00 00 00 24 00 00 00 24 00 00 00 20 00 00 00 00 85 4d 82 d3 \
            00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 09 00 00 00 00 00 00 00 04 \
            00 00 00 00 00 10 00 00 00 00 00 00";
        assert_eq!(text.join(" "), specified);
    }

    #[test]
    fn a_record_with_any_bit_changed_is_not_believed() {
        let header = LogHeader {
            owner: 3,
            segment_id: 9,
            parent: 0xabcdef01,
            body: LogBody::Serials(1 << 20),
            fields: Vec::new(),
        };
        let file = FileHead::new(5, (3, 1), Identity::default(), 64 << 20);
        let place = PlaceInGroup {
            continues: false,
            goes_on: true,
        };
        let mut bytes = Vec::new();
        let crc = encode_record(5, 32, place, &header, b"body", &mut bytes);
        bytes.extend_from_slice(b"body");
        let whole = |bytes: &[u8]| {
            let head = RecordHead::decode(bytes.first_chunk()?, &file)?;
            let (before, body) = bytes.split_at_checked(head.bytes_before_body() as usize)?;
            let header = check_header(before, &head, &file)?;
            check_body(body, &head).then_some((head.crc, head.place, header))
        };
        assert_eq!(whole(&bytes), Some((crc, place, header)));
        for bit in 0..bytes.len() * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(whole(&bad).is_none(), "bit {bit}");
        }
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
        let head = RecordHead::decode(bytes.first_chunk().unwrap(), &file).unwrap();
        let (before, _) = bytes.split_at(head.bytes_before_body() as usize);
        assert!(
            check_header(before, &head, &file).is_some(),
            "a damaged body leaves the header"
        );
    }

    #[test]
    fn log_14_only_a_file_with_room_for_more_than_a_gib_is_of_format_4() {
        let head = |capacity| FileHead::new(1, (2, 3), Identity::default(), capacity);
        let gib = 1 << 30;
        for (room, digit) in [(0, b'3'), (gib, b'3'), (gib + 1, b'4'), (4 * gib - 1, b'4')] {
            let head = head(FILE_HEAD_BYTES + room);
            assert_eq!(head.encode()[3], digit, "room for {room}");
            assert_eq!(FileHead::decode(&head.encode()), Some(head));
        }
        let record = |bytes: u64, file: &FileHead| {
            let length = u32::try_from(bytes + 40).unwrap();
            let words = [file.mark, length, 40, 88, 0, 0].map(u32::to_be_bytes);
            RecordHead::decode(words.as_flattened().first_chunk().unwrap(), file)
        };
        let (three, four) = (head(gib), head(2 * gib));
        assert!(record(gib, &three).is_some());
        assert!(record(gib + 1, &three).is_none());
        let found = record(MAX_DIFF_BYTES, &four).unwrap();
        assert_eq!(found.body_bytes(), (1 << 32) - (1 << 16));
        assert!(record(MAX_DIFF_BYTES + 1, &four).is_none());
    }

    #[test]
    fn log_14_a_file_of_another_format_is_known_as_such() {
        let now = FileHead::new(1, (2, 3), Identity::default(), 64 << 20).encode();
        let mut other = *now.first_chunk::<32>().unwrap();
        assert_eq!(FileHead::format_of(&other), Some(3));
        for (digit, length) in [
            (b'1', Some(32)),
            (b'2', Some(32)),
            (b'4', Some(88)),
            (b'5', None),
        ] {
            other[3] = digit;
            assert_eq!(FileHead::format_of(&other), None, "a changed bit is damage");
            let crc = crc32c::crc32c(&other[..24]);
            other[24..28].copy_from_slice(&crc.to_be_bytes());
            assert_eq!(FileHead::format_of(&other), Some(digit - b'0'));
            assert_eq!(FileHead::length(&other), length);
        }
    }

    #[test]
    fn a_head_or_a_header_that_would_be_too_long_is_not_believed() {
        let file = FileHead::new(1, (2, 3), Identity::default(), 64 << 20);
        let length = |list: u64| {
            let mut core = *file.encode().first_chunk::<32>().unwrap();
            core[28..].copy_from_slice(&(list as u32).to_be_bytes());
            FileHead::length(&core)
        };
        assert_eq!(length(MAX_LIST_BYTES), Some(MAX_LIST_BYTES + 40));
        assert_eq!(length(MAX_LIST_BYTES + 1), None);
        let header = |bytes: u32| {
            let words = [file.mark, 5000, bytes, 88, 0, 0].map(u32::to_be_bytes);
            RecordHead::decode(words.as_flattened().first_chunk().unwrap(), &file)
        };
        assert!(header(MAX_HEADER_BYTES).is_some());
        assert!(header(MAX_HEADER_BYTES + 1).is_none());
    }
}
