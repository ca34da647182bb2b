//! The recovery scan of the log: a file of records, some of them damaged, is read without being
//! believed. Checksums are put right, since no mutation would find them.

use std::fs;

use interweave_store::verify;

use crate::scratch;

/// As in the vectors; the file's owner too.
const MARK: [u8; 4] = *b"MARK";
const EPOCH: u64 = 3;
const RECORD_HEAD_BYTES: usize = 24;
/// The bits of `place` that count the header.
const HEADER_BYTES: u32 = (1 << 30) - 1;
/// A checksum of this value is left wrong.
const LEFT_WRONG: [u8; 4] = [0xff; 4];

/// `list_bytes`, an empty list, its checksum, zeros.
fn head_without_fields() -> Vec<u8> {
    let mut list = 4u32.to_be_bytes().to_vec();
    list.extend([0; 4]);
    list.extend(crc32c::crc32c(&list).to_be_bytes());
    list.resize(12, 0);
    list
}

fn seal(records: &mut [u8]) {
    let mut at = 0;
    while at + RECORD_HEAD_BYTES <= records.len() {
        let record = &mut records[at..];
        let length = u32::from_be_bytes(record[4..8].try_into().expect("four bytes")) as usize;
        let whole = RECORD_HEAD_BYTES
            .checked_add(length)
            .filter(|&whole| whole <= record.len());
        let Some(whole) = whole.filter(|_| record[..4] == MARK) else {
            at += 8;
            continue;
        };
        let place = u32::from_be_bytes(record[8..12].try_into().expect("four bytes"));
        let header = (place & HEADER_BYTES) as usize;
        let body_at = whole.min(RECORD_HEAD_BYTES + header);
        if record[16..20] != LEFT_WRONG {
            let crc = crc32c::crc32c(&record[body_at..whole]);
            record[16..20].copy_from_slice(&crc.to_be_bytes());
        }
        if record[20..24] != LEFT_WRONG {
            let crc = crc32c::crc32c(&record[..20]);
            let crc = crc32c::crc32c_append(crc, &record[RECORD_HEAD_BYTES..body_at]);
            record[20..24].copy_from_slice(&crc.to_be_bytes());
        }
        at += whole.next_multiple_of(8);
    }
}

pub fn run(data: &[u8]) {
    for magic in [b"IWL4", b"IWL3", b"IWL2"] {
        read(magic, data);
    }
}

/// The file of a format with no fields in its head, and the data as its records.
fn read(magic: &[u8; 4], data: &[u8]) {
    let mut file = magic.to_vec();
    file.extend(MARK);
    file.extend(EPOCH.to_be_bytes());
    file.extend(1u64.to_be_bytes());
    file.extend(crc32c::crc32c(&file).to_be_bytes());
    file.extend(match magic {
        b"IWL2" => vec![0; 4],
        _ => head_without_fields(),
    });
    let head = file.len();
    file.extend_from_slice(data);
    seal(&mut file[head..]);
    let path = scratch::directory().join("log-0000000000000001.iwl");
    fs::write(&path, &file).expect("a log file");
    // Damage is told in the report, or it is an error; neither is a crash.
    if let Ok(report) = verify(&scratch::directory()) {
        assert!(report.torn_bytes <= file.len() as u64);
    }
}
