//! Reads what a claim has found [STORE-5] [STORE-6].
//!
//! Each segment is its checkpoint and the records after it. A record names the one before it, and
//! the segment's row names the last one: the row is a second witness of the log's end.

use crate::checkpoint;
use crate::claim::Claim;
use crate::connection::Connection;
use crate::outcome;
use crate::schema::in_schema;
use crate::segments::{Effect, Saved, Segment, Tail, Uncovered};
use crate::settle::tail_of;
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use interweave_store::{creator_of, RecoveredSegment, StoreError};
use interweave_wire::protocol::xdr::from_bytes;
use interweave_wire::protocol::{
    CheckpointHead, Durability, IdentityField, LogBody, LogCreate, LogHeader, LogRelease,
};
use std::collections::BTreeMap;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

const SEGMENTS: &str = "
SELECT s.id, s.head, s.crc, s.version, s.incarnation, s.serials_below, s.is_removed, s.checkpoint,
       s.pieces, s.saved, s.saved_crc, c.path
FROM {s}.segment s LEFT JOIN {s}.creation c ON c.segment = s.id";

const PIECES: &str = "
SELECT p.segment, p.piece, p.part, p.parts, p.crc, p.bytes, p.checkpoint
FROM {s}.piece p JOIN {s}.segment s ON s.id = p.segment AND s.checkpoint = p.checkpoint
WHERE NOT s.is_removed ORDER BY p.segment, p.piece, p.part";

const RECORDS: &str = "
SELECT l.segment, l.number, l.part, l.parts, l.crc, l.bytes, l.header
FROM {s}.log l JOIN {s}.segment s ON s.id = l.segment
WHERE l.number > s.saved AND NOT s.is_removed ORDER BY l.segment, l.number, l.part";

/// All that was found.
#[derive(Debug, Default)]
pub struct Found {
    pub segments: Vec<(u64, Segment)>,
    pub recovered: Vec<RecoveredSegment>,
    /// Segments of which rows are left that nobody needs.
    pub removed: Vec<u64>,
}

pub async fn read(connection: &Connection, claim: &Claim) -> Result<Found, StoreError> {
    let read = read_all(connection, claim).await;
    read.map_err(|error| outcome::failed(&error))
}

async fn read_all(connection: &Connection, claim: &Claim) -> Result<Found, Error> {
    let sql = |statement: &str| in_schema(statement, &connection.schema);
    let mut found = Found::default();
    let mut histories: BTreeMap<u64, History> = BTreeMap::new();
    for row in connection.client.query(&sql(SEGMENTS), &[]).await? {
        let history = History::of(&row);
        match history.row.is_removed {
            true => found.removed.push(history.id),
            false => drop(histories.insert(history.id, history)),
        }
    }
    let log = sql("{s}.log");
    let pieces = Parted::default();
    each(connection, &sql(PIECES), pieces, |whole| {
        if let Some(history) = histories.get_mut(&whole.segment) {
            history.take_piece(&whole);
        }
    })
    .await?;
    histories.values_mut().for_each(History::end_checkpoint);
    each(connection, &sql(RECORDS), Parted::default(), |whole| {
        if let Some(history) = histories.get_mut(&whole.segment) {
            history.take_record(&whole, &log);
        }
    })
    .await?;
    for (id, mut history) in histories {
        history.finish(&log);
        let (segment, recovered) = history.end(claim);
        found.segments.push((id, segment));
        found.recovered.push(recovered);
    }
    Ok(found)
}

/// Something that lies in several rows: a record, or a piece of a checkpoint.
#[derive(Debug, Default, Clone)]
struct Whole {
    segment: u64,
    number: u64,
    crc: u32,
    bytes: Bytes,
    /// Of a record.
    header: Bytes,
    /// Of a piece.
    checkpoint: u64,
    /// A part of it is missing.
    is_torn: bool,
}

/// Puts rows together.
#[derive(Debug, Default)]
struct Parted {
    begun: Option<Whole>,
    parts: i32,
    taken: i32,
    bytes: BytesMut,
}

impl Parted {
    /// Takes the next row. Returns what is complete before it.
    fn take(&mut self, row: &Row) -> Option<Whole> {
        let number = |index| row.get::<_, i64>(index) as u64;
        let piece_or_record =
            (row.columns()[1].name() == "piece").then(|| u64::from(row.get::<_, i32>(1) as u32));
        let place = (number(0), piece_or_record.unwrap_or_else(|| number(1)));
        let is_same = self
            .begun
            .as_ref()
            .is_some_and(|w| (w.segment, w.number) == place);
        let before = match is_same {
            true => None,
            false => self.end(),
        };
        let whole = self.begun.get_or_insert_with(|| Whole {
            segment: place.0,
            number: place.1,
            crc: row.get::<_, i32>(4) as u32,
            ..Whole::default()
        });
        whole.is_torn |= row.get::<_, i32>(2) != self.taken;
        self.parts = row.get(3);
        self.taken += 1;
        self.bytes.extend_from_slice(row.get(5));
        match piece_or_record {
            Some(_) => whole.checkpoint = number(6),
            None if whole.header.is_empty() => {
                whole.header = Bytes::copy_from_slice(row.get(6));
            }
            None => {}
        }
        before
    }

    fn end(&mut self) -> Option<Whole> {
        let mut whole = self.begun.take()?;
        whole.is_torn |= self.parts != self.taken;
        whole.bytes = self.bytes.split().freeze();
        self.taken = 0;
        Some(whole)
    }
}

/// Gives each whole thing of a result to `take`, as the rows come.
async fn each(
    connection: &Connection,
    statement: &str,
    mut parted: Parted,
    mut take: impl FnMut(Whole),
) -> Result<(), Error> {
    let none: [&(dyn ToSql + Sync); 0] = [];
    let rows = connection.client.query_raw(statement, none).await?;
    let mut rows = std::pin::pin!(rows);
    while let Some(row) = rows.try_next().await? {
        parted.take(&row).into_iter().for_each(&mut take);
    }
    parted.end().into_iter().for_each(&mut take);
    Ok(())
}

/// A segment's history, put together from its checkpoint and its records.
#[derive(Debug)]
struct History {
    id: u64,
    row: Tail,
    path: Option<String>,
    pieces: u32,
    saved: Saved,
    checkpoint: checkpoint::Reading,
    whole: Option<(CheckpointHead, Bytes)>,
    in_pieces: Vec<interweave_store::Piece>,
    /// The end as far as it was read.
    tail: Tail,
    created: Option<LogCreate>,
    creator: Option<IdentityField>,
    releases: Vec<(LogRelease, Bytes)>,
    uncovered: Vec<Uncovered>,
    damage: Option<StoreError>,
}

impl History {
    fn of(row: &Row) -> History {
        let number = |index| row.get::<_, i64>(index) as u64;
        let path: Option<Vec<u8>> = row.get(11);
        let saved = Saved {
            checkpoint: number(7),
            version: 0,
            number: number(9),
            crc: row.get::<_, i32>(10) as u32,
        };
        History {
            id: number(0),
            row: tail_of(row),
            path: path.map(|path| String::from_utf8_lossy(&path).into_owned()),
            pieces: row.get::<_, i32>(8) as u32,
            saved,
            checkpoint: checkpoint::Reading::default(),
            whole: None,
            in_pieces: Vec::new(),
            tail: Tail {
                head: saved.number,
                crc: saved.crc,
                ..Tail::default()
            },
            created: None,
            creator: None,
            releases: Vec::new(),
            uncovered: Vec::new(),
            damage: None,
        }
    }

    fn damaged(&mut self, place: String, what: impl Into<String>) {
        let error = StoreError::Damaged {
            file: place,
            offset: 0,
            what: what.into(),
        };
        self.damage.get_or_insert(error);
    }

    fn damaged_checkpoint(&mut self, what: String) {
        let place = format!("the checkpoint of segment {}", self.id);
        self.damaged(place, what);
    }

    fn take_piece(&mut self, whole: &Whole) {
        let place = (whole.checkpoint, whole.number as u32);
        let taken = match whole.is_torn {
            true => Err(format!("a part of piece {} is missing", whole.number)),
            false => self.checkpoint.take(place, whole.crc, &whole.bytes),
        };
        taken.unwrap_or_else(|what| self.damaged_checkpoint(what));
    }

    /// All pieces were taken.
    fn end_checkpoint(&mut self) {
        if self.saved.checkpoint == 0 {
            return;
        }
        let reading = std::mem::take(&mut self.checkpoint);
        match reading.end(self.pieces) {
            Ok((head, diff, pieces)) => {
                self.tail.version = head.at.number;
                self.tail.incarnation = head.at.incarnation;
                self.tail.serials_below = head.next_serial;
                self.saved.version = head.at.number;
                self.creator = creator_of(&head.fields);
                self.whole = Some((head, diff));
                self.in_pieces = pieces;
            }
            Err(what) => self.damaged_checkpoint(what),
        }
    }

    fn take_record(&mut self, whole: &Whole, log: &str) {
        let place = format!("record {} of segment {} in {log}", whole.number, self.id);
        let header = match self.header_of(whole) {
            Ok(header) => header,
            Err(what) => return self.damaged(place, what),
        };
        if self.damage.is_some() {
            return;
        }
        if let LogBody::Release(release) = &header.body {
            if self.tail.version.checked_add(1) != Some(release.version) {
                let what = format!("version {} follows {}", release.version, self.tail.version);
                return self.damaged(place, what);
            }
            self.releases.push((release.clone(), whole.bytes.clone()));
        }
        if let LogBody::Incarnation(stamp) = &header.body {
            self.releases
                .retain(|(release, _)| release.version <= stamp.number);
        }
        if let LogBody::Create(create) = &header.body {
            self.created = Some(create.clone());
            self.creator = creator_of(&header.fields);
        }
        self.tail.take(&header.body, whole.crc);
        self.uncovered.push(Uncovered {
            number: whole.number,
            crc: whole.crc,
            bytes: (whole.header.len() + whole.bytes.len()) as u64,
            effect: Effect::of(&header.body),
        });
    }

    /// Returns the record's header, if all its bytes are as they were written, at their place.
    fn header_of(&self, whole: &Whole) -> Result<LogHeader, String> {
        if whole.is_torn {
            return Err("a part of it is missing".to_string());
        }
        let crc = crc32c::crc32c_append(crc32c::crc32c(&whole.header), &whole.bytes);
        if crc != whole.crc {
            return Err("its checksum does not hold".to_string());
        }
        let header: LogHeader =
            from_bytes(&whole.header).map_err(|error| format!("its header: {error}"))?;
        if header.segment_id != self.id {
            return Err(format!("it is one of segment {}", header.segment_id));
        }
        let follows = whole.number == self.tail.head + 1 && header.parent == self.tail.crc;
        match follows || self.damage.is_some() {
            true => Ok(header),
            false => Err(format!(
                "the record before it is not record {}",
                self.tail.head
            )),
        }
    }

    /// All records were taken.
    fn finish(&mut self, log: &str) {
        if (self.tail.head, self.tail.crc) != (self.row.head, self.row.crc) {
            let place = format!("the log of segment {} in {log}", self.id);
            let what = format!(
                "it ends with record {}, and the segment's row names record {}",
                self.tail.head, self.row.head
            );
            self.damaged(place, what);
        }
    }

    fn end(self, claim: &Claim) -> (Segment, RecoveredSegment) {
        let head = self.whole.as_ref().map(|(head, _)| head);
        let created = self.created.as_ref();
        let durable = head.map(|head| head.durable).or(created.map(|c| c.durable));
        let quota_bytes = head.map(|head| head.quota_bytes);
        let path = head.map(|head| head.path.clone());
        let path = path
            .or_else(|| created.map(|c| c.path.clone()))
            .or(self.path);
        let recovered = RecoveredSegment {
            segment_id: self.id,
            epoch: claim.epoch,
            path: path.unwrap_or_default(),
            durable: durable.unwrap_or(Durability::Synced),
            quota_bytes: quota_bytes.or(created.map(|c| c.quota_bytes)).unwrap_or(0),
            creator: self.creator.map(Box::new),
            incarnation: self.tail.incarnation,
            checkpoint: self.whole,
            pieces: self.in_pieces,
            releases: self.releases,
            serials_below: self.tail.serials_below,
            clean: claim.is_clean,
            damage: self.damage.as_ref().map(StoreError::to_string),
        };
        let segment = Segment {
            claim: claim.epoch,
            tail: Tail {
                head: self.row.head,
                crc: self.row.crc,
                ..self.tail
            },
            damage: self.damage.map(Box::new),
            saved: self.saved,
            log_bytes: self.uncovered.iter().map(|record| record.bytes).sum(),
            uncovered: self.uncovered.into(),
        };
        (segment, recovered)
    }
}
