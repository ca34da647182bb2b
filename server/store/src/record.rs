//! The bytes of a log file: its head, and the head of each record (spec/format/server-log.md).
//!
//! Nothing here touches a file. A record's header is believed only if its mark is the file's, its
//! lengths fit, its crc holds and it decodes and names the file's owner. The body has a crc of its
//! own, under the header's: where only the body is damaged, it is known whose it was.

use interweave_wire::protocol::xdr::{from_bytes, Xdr};
use interweave_wire::protocol::LogHeader;

pub const FILE_HEAD_BYTES: u64 = 32;
pub const RECORD_HEAD_BYTES: usize = 24;
/// The largest diff of one record.
pub const MAX_DIFF_BYTES: u64 = 1 << 30;
/// More than any `log_header` takes: a path has 1,024 bytes at most.
const MAX_HEADER_BYTES: u32 = 2048;
const MAGIC: &[u8; 4] = b"IWL2";
/// Records had one checksum, and versions no chain.
const OLD_MAGIC: &[u8; 4] = b"IWL1";
/// Flags in the field of header_bytes.
const GOES_ON: u32 = 1 << 31;
const CONTINUES: u32 = 1 << 30;

/// How many bytes a record, or what is padded like one, takes in the file.
pub fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(8)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileHead {
    /// Random: begins each record of this file, so that no client can put bytes into a diff that
    /// pass for a record.
    pub mark: u32,
    /// Of the owner that made the file.
    pub epoch: u64,
    /// The number of the first record.
    pub first: u64,
}

impl FileHead {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        self.mark.encode(&mut out);
        self.epoch.encode(&mut out);
        self.first.encode(&mut out);
        crc32c::crc32c(&out).encode(&mut out);
        0u32.encode(&mut out);
        out
    }

    pub fn decode(bytes: &[u8]) -> Option<FileHead> {
        Self::decode_with(MAGIC, bytes)
    }

    /// Whether it is the head of a file in the format before this one, which is not read any more.
    pub fn is_old(bytes: &[u8]) -> bool {
        Self::decode_with(OLD_MAGIC, bytes).is_some()
    }

    fn decode_with(expected: &[u8; 4], bytes: &[u8]) -> Option<FileHead> {
        let (magic, rest) = bytes.split_first_chunk::<4>()?;
        let (mark, rest) = rest.split_first_chunk::<4>()?;
        let (epoch, rest) = rest.split_first_chunk::<8>()?;
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let crc = rest.first_chunk::<4>()?;
        let sound = magic == expected && crc32c::crc32c(&bytes[..24]) == u32::from_be_bytes(*crc);
        sound.then_some(FileHead {
            mark: u32::from_be_bytes(*mark),
            epoch: u64::from_be_bytes(*epoch),
            first: u64::from_be_bytes(*first),
        })
    }
}

/// Where a record stands in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
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
    pub place: Place,
    /// How much of the file was on the disk when this record was written: what is bad before there
    /// is damage; what is bad after there may have been lost with the power, unacknowledged.
    pub synced: u32,
    pub body_crc: u32,
    /// Of all before it and the header; as it covers the body's, it stands for the whole record.
    pub crc: u32,
}

impl RecordHead {
    /// None if this cannot be the head of a record of a file with this mark.
    pub fn decode(bytes: &[u8; RECORD_HEAD_BYTES], mark: u32) -> Option<RecordHead> {
        let (words, _) = bytes.as_chunks::<4>();
        let [found, length, header, synced, body_crc, crc] =
            [0, 1, 2, 3, 4, 5].map(|i| u32::from_be_bytes(words[i]));
        let head = RecordHead {
            length,
            header_bytes: header & !(GOES_ON | CONTINUES),
            place: Place {
                continues: header & CONTINUES != 0,
                goes_on: header & GOES_ON != 0,
            },
            synced,
            body_crc,
            crc,
        };
        let plausible = found == mark
            && head.header_bytes <= MAX_HEADER_BYTES
            && head.header_bytes <= length
            && u64::from(length - head.header_bytes) <= MAX_DIFF_BYTES;
        plausible.then_some(head)
    }

    /// Head and header.
    pub fn bytes_before_body(&self) -> u64 {
        RECORD_HEAD_BYTES as u64 + u64::from(self.header_bytes)
    }

    pub fn body_bytes(&self) -> u64 {
        u64::from(self.length - self.header_bytes)
    }

    /// How many bytes the record takes in the file.
    pub fn span(&self) -> u64 {
        padded(RECORD_HEAD_BYTES as u64 + u64::from(self.length))
    }
}

/// Appends a record's head and header to `out`; `body` is to follow. Returns the record's crc.
pub fn encode_record(
    mark: u32,
    synced: u32,
    place: Place,
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

/// The header of a record (`bytes` is its head and header), if it is valid.
pub fn check_header(bytes: &[u8], head: &RecordHead, epoch: u64) -> Option<LogHeader> {
    let (fields, header) = bytes.split_at_checked(RECORD_HEAD_BYTES)?;
    let crc = crc32c::crc32c(&fields[..RECORD_HEAD_BYTES - 4]);
    if crc32c::crc32c_append(crc, header) != head.crc {
        return None;
    }
    from_bytes::<LogHeader>(header)
        .ok()
        .filter(|header| header.owner == epoch)
}

/// Whether the body is the one that was written with the header.
pub fn check_body(body: &[u8], head: &RecordHead) -> bool {
    crc32c::crc32c(body) == head.body_crc
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_wire::protocol::LogBody;

    #[test]
    fn a_file_head_is_the_bytes_of_the_specification() {
        let head = FileHead {
            mark: 0x01020304,
            epoch: 7,
            first: 0x21,
        };
        let bytes = head.encode();
        assert_eq!(&bytes[..8], b"IWL2\x01\x02\x03\x04");
        assert_eq!(
            &bytes[8..24],
            &[0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0x21]
        );
        assert_eq!(bytes.len() as u64, FILE_HEAD_BYTES);
        assert_eq!(FileHead::decode(&bytes), Some(head));
        for bit in 0..28 * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(FileHead::decode(&bad), None, "bit {bit}");
        }
    }

    #[test]
    fn a_record_is_the_bytes_of_the_specification() {
        let header = LogHeader {
            owner: 3,
            segment_id: 9,
            parent: 0,
            body: LogBody::Serials(1 << 20),
        };
        let alone = Place {
            continues: false,
            goes_on: false,
        };
        let mut bytes = Vec::new();
        encode_record(0x4d41524b, 32, alone, &header, b"", &mut bytes);
        let text: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let specified = "4d 41 52 4b 00 00 00 20 00 00 00 20 00 00 00 20 00 00 00 00 fd c6 39 15 \
            00 00 00 00 00 00 00 03 00 00 00 00 00 00 00 09 00 00 00 00 00 00 00 04 \
            00 00 00 00 00 10 00 00";
        assert_eq!(text.join(" "), specified);
    }

    #[test]
    fn a_record_with_any_bit_changed_is_not_believed() {
        let header = LogHeader {
            owner: 3,
            segment_id: 9,
            parent: 0xabcdef01,
            body: LogBody::Serials(1 << 20),
        };
        let place = Place {
            continues: false,
            goes_on: true,
        };
        let mut bytes = Vec::new();
        let crc = encode_record(5, 32, place, &header, b"body", &mut bytes);
        bytes.extend_from_slice(b"body");
        let whole = |bytes: &[u8]| {
            let head = RecordHead::decode(bytes.first_chunk()?, 5)?;
            let (before, body) = bytes.split_at_checked(head.bytes_before_body() as usize)?;
            let header = check_header(before, &head, 3)?;
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
        let head = RecordHead::decode(bytes.first_chunk().unwrap(), 5).unwrap();
        let (before, _) = bytes.split_at(head.bytes_before_body() as usize);
        assert!(
            check_header(before, &head, 3).is_some(),
            "a damaged body leaves the header"
        );
    }

    #[test]
    fn a_file_of_the_format_before_is_known_as_such() {
        let mut old = FileHead {
            mark: 1,
            epoch: 2,
            first: 3,
        }
        .encode();
        assert!(!FileHead::is_old(&old));
        old[3] = b'1';
        assert!(!FileHead::is_old(&old), "a changed bit is damage");
        let crc = crc32c::crc32c(&old[..24]);
        old[24..28].copy_from_slice(&crc.to_be_bytes());
        assert!(FileHead::is_old(&old));
    }
}
