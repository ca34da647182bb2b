//! Groups that are appended in one transaction, as the rows that they change and add.

use crate::segments::{Effect, Segments, Tail, Uncovered};
use bytes::Bytes;
use interweave_store::{check_record, log_header, version_after, Record, StoreError};
use interweave_wire::protocol::xdr::to_bytes;
use interweave_wire::protocol::{Durability, LogBody};
use std::collections::BTreeMap;

/// A record with a longer diff has several rows [STORE-8].
pub const PART_BYTES: usize = 256 << 10;
/// A batch with so many bytes takes no further group.
const BATCH_BYTES: u64 = 4 << 20;
const BATCH_ROWS: usize = 1024;

/// A row of the log.
#[derive(Debug, Clone)]
pub struct Row {
    pub segment: u64,
    pub number: u64,
    pub part: u32,
    pub parts: u32,
    /// Of the header and the whole diff; the same in each row of a record.
    pub crc: u32,
    /// Empty but in the first row of a record.
    pub header: Bytes,
    pub bytes: Bytes,
}

/// A segment's row before and after the batch.
#[derive(Debug, Clone, Default)]
pub struct Change {
    /// The claim that the row must have.
    pub claim: u64,
    /// The head that it must have. None: the batch creates the segment, with that path.
    pub was: Option<u64>,
    pub path: String,
    pub tail: Tail,
    pub uncovered: Vec<Uncovered>,
}

#[derive(Debug, Default)]
pub struct Batch {
    pub changes: BTreeMap<u64, Change>,
    pub rows: Vec<Row>,
    /// The commit waits for the disk and the standby.
    pub waits: bool,
    /// The log's table that takes the rows.
    pub table: usize,
    bytes: u64,
}

impl Batch {
    /// Of its records.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// An empty one, of which that table of the log takes the rows.
    pub fn into(table: usize) -> Batch {
        Batch {
            table,
            ..Batch::default()
        }
    }

    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    pub fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.rows.len() >= BATCH_ROWS
    }

    pub fn creates(&self) -> bool {
        self.changes.values().any(|change| change.was.is_none())
    }

    /// Adds all records of a group, or none. `claim` is the owner's for new segments.
    pub fn add(
        &mut self,
        segments: &Segments,
        claim: u64,
        group: &[Record],
        durable: Durability,
    ) -> Result<(), StoreError> {
        let is_logged = |record: &&Record| {
            durable != Durability::Memory || !matches!(record.body, LogBody::Release(_))
        };
        let mut changed = BTreeMap::new();
        let mut rows = Vec::new();
        for record in group.iter().filter(is_logged) {
            let id = record.segment_id;
            let change = match changed.remove(&id) {
                Some(change) => Some(change),
                None => self.begun(segments, id)?,
            };
            let change = next(segments, change, (claim, self.table), record, &mut rows)?;
            changed.insert(id, change);
        }
        self.waits |= durable == Durability::Synced && !changed.is_empty();
        self.changes.extend(changed);
        self.bytes += rows.iter().map(|row| row.bytes.len() as u64).sum::<u64>();
        self.rows.extend(rows);
        Ok(())
    }

    /// The segment as the groups before leave it. None: the segment is not made yet.
    fn begun(&self, segments: &Segments, id: u64) -> Result<Option<Change>, StoreError> {
        if segments.is_undecided(id) {
            return Err(StoreError::Unknown(format!(
                "an earlier append to segment {id} is not settled"
            )));
        }
        if let Some(change) = self.changes.get(&id) {
            return Ok(Some(change.clone()));
        }
        Ok(segments.get(id).map(|segment| Change {
            claim: segment.claim,
            was: Some(segment.tail.head),
            tail: segment.tail,
            ..Change::default()
        }))
    }
}

/// Takes a record into its segment's change, and adds its rows.
fn next(
    segments: &Segments,
    change: Option<Change>,
    (claim, table): (u64, usize),
    record: &Record,
    rows: &mut Vec<Row>,
) -> Result<Change, StoreError> {
    let id = record.segment_id;
    check_record(record)?;
    let creates = matches!(record.body, LogBody::Create(_));
    if change.is_none() && segments.is_shared && !creates {
        // Another owner's claim was seen before. The server has not heard of it yet.
        return Err(StoreError::SegmentsFenced(vec![id]));
    }
    let version = change.as_ref().filter(|change| !change.tail.is_removed);
    let version = version.map(|change| change.tail.version);
    let damage = segments.get(id).and_then(|s| s.damage.as_deref().cloned());
    version_after(id, version, change.is_some(), damage, &record.body)?;
    let mut change = change.unwrap_or(Change {
        claim,
        ..Change::default()
    });
    if let LogBody::Create(create) = &record.body {
        change.path.clone_from(&create.path);
    }
    let header = log_header(record, change.claim, change.tail.crc);
    let header = Bytes::from(to_bytes(&header));
    let crc = crc32c::crc32c_append(crc32c::crc32c(&header), &record.diff);
    change.tail.take(&record.body, crc);
    let number = change.tail.head;
    change.uncovered.push(Uncovered {
        number,
        crc,
        bytes: (header.len() + record.diff.len()) as u64,
        effect: Effect::of(&record.body),
        table,
    });
    let parts = parts_of(&record.diff);
    let count = parts.len() as u32;
    rows.extend(parts.into_iter().zip(0..).map(|(bytes, part)| Row {
        segment: id,
        number,
        part,
        parts: count,
        crc,
        header: if part == 0 {
            header.clone()
        } else {
            Bytes::new()
        },
        bytes,
    }));
    Ok(change)
}

/// Cuts bytes into parts of at most [`PART_BYTES`]; no bytes are one part.
pub fn parts_of(bytes: &Bytes) -> Vec<Bytes> {
    let count = bytes.len().div_ceil(PART_BYTES).max(1);
    let part = |index: usize| {
        let begin = index * PART_BYTES;
        bytes.slice(begin..bytes.len().min(begin + PART_BYTES))
    };
    (0..count).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_store_suite::records::{create, diff, release, small};
    use interweave_wire::protocol::Durability::{Memory, Synced, Written};
    use interweave_wire::protocol::LogHeader;

    fn added(batch: &mut Batch, group: &[Record], durable: Durability) -> Result<(), StoreError> {
        batch.add(&Segments::default(), 4, group, durable)
    }

    #[test]
    fn a_group_that_cannot_be_leaves_nothing_in_the_batch() {
        let mut batch = Batch::default();
        added(&mut batch, &[create(1, Synced), small(1, 1, 0)], Written).unwrap();
        assert!(!batch.waits);
        for bad in [small(1, 4, 0), create(1, Synced), small(9, 1, 0)] {
            let refused = added(&mut batch, &[small(1, 2, 0), bad], Synced);
            assert!(refused.is_err_and(|error| error.is_final()));
        }
        assert_eq!((batch.rows.len(), batch.changes.len()), (2, 1));
        added(&mut batch, &[small(1, 2, 0)], Synced).unwrap();
        assert!(batch.waits);
        let change = &batch.changes[&1];
        assert_eq!(
            (change.was, change.tail.head, change.tail.version),
            (None, 3, 2)
        );
        assert_eq!(change.path, "/segment/1");
    }

    #[test]
    fn releases_of_memory_have_no_row() {
        let mut batch = Batch::default();
        added(&mut batch, &[create(1, Memory), small(1, 1, 0)], Memory).unwrap();
        assert_eq!(batch.rows.len(), 1);
        let mut none = Batch::default();
        added(&mut none, &[small(1, 7, 0)], Memory).unwrap();
        assert!(none.is_empty());
    }

    #[test]
    fn each_record_names_the_one_before_and_a_large_one_has_several_rows() {
        let mut batch = Batch::default();
        let large = release(1, 1, diff(1, 1, 0, PART_BYTES + 1));
        added(
            &mut batch,
            &[create(1, Synced), large, small(1, 2, 0)],
            Synced,
        )
        .unwrap();
        let rows: Vec<_> = batch
            .rows
            .iter()
            .map(|r| (r.number, r.part, r.parts))
            .collect();
        assert_eq!(rows, [(1, 0, 1), (2, 0, 2), (2, 1, 2), (3, 0, 1)]);
        let header = |index: usize| -> LogHeader {
            interweave_wire::protocol::xdr::from_bytes(&batch.rows[index].header).unwrap()
        };
        assert_eq!(header(0).parent, 0);
        assert_eq!(header(1).parent, batch.rows[0].crc);
        assert_eq!(header(3).parent, batch.rows[2].crc);
        assert_eq!(batch.rows[1].crc, batch.rows[2].crc);
    }
}
