//! Files that hold one segment, as `interweave import` reads them. A file is refused, or its
//! segment is written into another file, which is read again. Lengths and checksum are put right,
//! because no mutation would find them.

use bytes::Bytes;
use interweave_master::Segment;
use interweave_wire::segment_file::{checksum, parse, pieces, SegmentHead};

use crate::diff::{seen, QUOTA_BYTES};

const MAGIC: &[u8] = b"IWSEG1\r\n";
/// The texts of a head have at most so many bytes when a program writes it.
const MAX_TEXT_BYTES: usize = 16 << 10;

fn sealed(mut file: Vec<u8>) -> Bytes {
    file.extend(checksum(&file).to_be_bytes());
    file.into()
}

/// Makes a file of the data: two bytes for the head's length, the head, and the diff.
fn framed(data: &[u8]) -> Option<Bytes> {
    let (length, rest) = data.split_at_checked(2)?;
    let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
    let (head, diff) = rest.split_at(length.min(rest.len()));
    let mut file = MAGIC.to_vec();
    file.extend((head.len() as u32).to_be_bytes());
    file.extend(head);
    file.extend((diff.len() as u64).to_be_bytes());
    file.extend(diff);
    Some(sealed(file))
}

/// Reads a file as an import does [SEGF-7]. None: the file is refused.
fn imported(file: &Bytes) -> Option<(SegmentHead, Segment)> {
    let (head, diff) = parse(file).ok()?;
    let quota = match head.quota_bytes {
        0 => QUOTA_BYTES,
        quota => quota.min(QUOTA_BYTES),
    };
    let mut segment = Segment::new(quota);
    segment.apply(&diff).ok()?;
    Some((head, segment))
}

fn write_again(head: &SegmentHead, segment: &mut Segment) {
    // Version 0 is the empty segment, of which nobody collects a diff.
    if segment.newest() == 0 {
        return;
    }
    if head.path.len() + head.server.len() + head.program.len() > MAX_TEXT_BYTES {
        return;
    }
    let file: Bytes = pieces(head, &segment.collect(0)).concat().into();
    let (again, diff) = parse(&file).expect("a file of the writer's own");
    assert_eq!(&again, head);
    let mut copy = Segment::new(0);
    copy.apply(&diff).expect("a complete copy");
    assert_eq!(seen(&copy), seen(segment), "the file has something else");
}

pub fn run(data: &[u8]) {
    let raw = Bytes::copy_from_slice(data);
    let files = [Some(raw), Some(sealed(data.to_vec())), framed(data)];
    for file in files.iter().flatten() {
        if let Some((head, mut segment)) = imported(file) {
            write_again(&head, &mut segment);
        }
    }
}
