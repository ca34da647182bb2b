//! Reads what a claim has found [STORE-5] [STORE-6].
//!
//! Each segment is its checkpoint and the records after it. A record names the one before it, and
//! the segment's row names the last one: the row is a second witness of the log's end.

use crate::checkpoint;
use crate::connection::Connection;
use crate::outcome;
use crate::segments::{Effect, Saved, Segment, Tail, Uncovered};
use crate::settle::tail_of;
use crate::tables;
use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt;
use interweave_store::{creator_of, RecoveredSegment, Since, StoreError};
use interweave_wire::protocol::xdr::from_bytes;
use interweave_wire::protocol::{
    CheckpointHead, Durability, IdentityField, LogBody, LogCreate, LogHeader, LogRelease,
};
use std::collections::{BTreeMap, VecDeque};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

const SEGMENTS: &str = "
SELECT s.id, s.head, s.crc, s.version, s.incarnation, s.serials_below, s.is_removed, s.checkpoint,
       s.pieces, s.saved, s.saved_crc, c.path
FROM {s}.segment s LEFT JOIN {s}.creation c ON c.segment = s.id
WHERE {which}";

const PIECES: &str = "
SELECT p.segment, p.piece::bigint, p.part, p.parts, p.crc, p.bytes, ''::bytea, 0
FROM {s}.piece p JOIN {s}.segment s ON s.id = p.segment AND s.checkpoint = p.checkpoint
WHERE {which} AND NOT s.is_removed ORDER BY p.segment, p.piece, p.part";

const RECORDS: &str = "
SELECT l.segment, l.number, l.part, l.parts, l.crc, l.bytes, l.header, {n}
FROM {s}.log_{n} l JOIN {s}.segment s ON s.id = l.segment
WHERE {which} AND l.number > s.saved AND NOT s.is_removed";

/// A path whose segment has no row. Both are written and removed together.
const WITHOUT_ROW: &str = "
SELECT c.path FROM {s}.creation c
WHERE NOT EXISTS (SELECT FROM {s}.segment s WHERE s.id = c.segment) LIMIT 1";

/// The damage of a segment of which the database has the path, and not the row.
fn row_is_missing(path: &[u8]) -> StoreError {
    StoreError::Damaged {
        file: format!("the row of segment {}", String::from_utf8_lossy(path)),
        offset: 0,
        what: "the database has lost it: stop this PostgreSQL, and let its standby take over"
            .to_string(),
    }
}

/// Refuses a path whose segment has no row. `column`: of the row that is joined to the path.
pub fn expect_row(joined: &Row, column: usize, path: &[u8]) -> Result<(), StoreError> {
    match joined.get::<_, Option<i64>>(column) {
        Some(_) => Ok(()),
        None => Err(row_is_missing(path)),
    }
}

/// All that was found.
#[derive(Debug, Default)]
pub struct Found {
    pub segments: Vec<(u64, Segment)>,
    pub recovered: Vec<RecoveredSegment>,
    /// Segments of which rows are left that nobody needs.
    pub removed: Vec<u64>,
}

/// The claim of what is read: its epoch, and whether the owner before has ended in order.
pub type Claimed = (u64, bool);

/// The removed segments of all owners of which rows are left. A server ends before it has removed
/// the rows, or its connection breaks, and nobody else looks at them.
pub async fn removed(connection: &Connection) -> Result<Vec<u64>, StoreError> {
    let select = "SELECT id FROM {s}.segment WHERE is_removed";
    let rows = connection.rows(select, &[]).await?;
    Ok(rows.iter().map(|row| row.get::<_, i64>(0) as u64).collect())
}

/// Reads all segments.
pub async fn read(connection: &Connection, claimed: Claimed) -> Result<Found, StoreError> {
    if let Some(row) = connection.rows(WITHOUT_ROW, &[]).await?.first() {
        return Err(row_is_missing(row.get(0)));
    }
    let read = read_those(connection, claimed, "true").await;
    read.map_err(|error| outcome::failed(&error))
}

/// Reads one segment, which is there.
pub async fn read_one(
    connection: &Connection,
    claimed: Claimed,
    id: u64,
) -> Result<(Segment, RecoveredSegment), StoreError> {
    let which = format!("s.id = {id}");
    let read = read_those(connection, claimed, &which).await;
    let mut found = read.map_err(|error| outcome::failed(&error))?;
    let segment = found.segments.pop().map(|(_, segment)| segment);
    segment.zip(found.recovered.pop()).ok_or_else(|| {
        StoreError::Io(format!(
            "segment {id} was removed while it was read; ask again"
        ))
    })
}

/// Reads what came of a segment that was read before. None: that cannot be told, because the log
/// has not all of it any more, or because more has changed than a log tells.
pub async fn read_since(
    connection: &Connection,
    claimed: Claimed,
    id: u64,
    (before, is_logged): (&Segment, bool),
) -> Result<Option<(Segment, Since)>, StoreError> {
    let read = read_more(connection, id, (before, is_logged)).await;
    let Some(history) = read.map_err(|error| outcome::failed(&error))? else {
        return Ok(None);
    };
    let is_same = history.tail.incarnation == before.tail.incarnation;
    if !is_same || history.tail.is_removed || history.damage.is_some() {
        return Ok(None);
    }
    Ok(Some(history.end_since(claimed, before)))
}

async fn read_more(
    connection: &Connection,
    id: u64,
    (before, is_logged): (&Segment, bool),
) -> Result<Option<History>, Error> {
    let which = format!("s.id = {id}");
    let sql = |statement: &str, which: &str| connection.sql(&statement.replace("{which}", which));
    let rows = connection.client.query(&sql(SEGMENTS, &which), &[]).await?;
    let Some(mut history) = rows.first().map(History::of) else {
        return Ok(None);
    };
    // The log has the records no more that a checkpoint covers, or never had them.
    let is_covered = history.saved.number > before.tail.head
        || !is_logged && history.saved.checkpoint != before.saved.checkpoint;
    if is_covered || history.row.is_removed || before.damage.is_some() {
        return Ok(None);
    }
    history.tail = before.tail;
    let which = format!("{which} AND l.number > {}", before.tail.head);
    each(connection, &sql(&all_records(), &which), |whole| {
        history.take_record(&whole, &connection.schema);
    })
    .await?;
    history.finish(&connection.schema);
    Ok(Some(history))
}

/// The statement that reads records of all tables, in their order.
fn all_records() -> String {
    let of_table = |table: usize| RECORDS.replace("{n}", &table.to_string());
    let of_tables: Vec<String> = (0..tables::COUNT).map(of_table).collect();
    format!("{} ORDER BY 1, 2, 3", of_tables.join(" UNION ALL "))
}

/// Reads the segments `s` for which that holds.
async fn read_those(
    connection: &Connection,
    claimed: Claimed,
    which: &str,
) -> Result<Found, Error> {
    let sql = |statement: &str| connection.sql(&statement.replace("{which}", which));
    let mut found = Found::default();
    let mut histories: BTreeMap<u64, History> = BTreeMap::new();
    for row in connection.client.query(&sql(SEGMENTS), &[]).await? {
        let history = History::of(&row);
        match history.row.is_removed {
            true => found.removed.push(history.id),
            false => drop(histories.insert(history.id, history)),
        }
    }
    each(connection, &sql(PIECES), |whole| {
        if let Some(history) = histories.get_mut(&whole.segment) {
            history.take_piece(&whole);
        }
    })
    .await?;
    histories.values_mut().for_each(History::end_checkpoint);
    each(connection, &sql(&all_records()), |whole| {
        if let Some(history) = histories.get_mut(&whole.segment) {
            history.take_record(&whole, &connection.schema);
        }
    })
    .await?;
    for (id, mut history) in histories {
        history.finish(&connection.schema);
        let (segment, recovered) = history.end(claimed);
        found.segments.push((id, segment));
        found.recovered.push(recovered);
    }
    Ok(found)
}

/// Something that lies in several rows: a record, or a piece of a checkpoint.
#[derive(Debug, Default)]
struct Whole {
    segment: u64,
    number: u64,
    crc: u32,
    bytes: Bytes,
    /// Empty in a piece.
    header: Bytes,
    /// The number of the log's table that it lies in.
    table: usize,
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
        let place = (number(0), number(1));
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
            table: row.get::<_, i32>(7) as usize,
            ..Whole::default()
        });
        whole.is_torn |= row.get::<_, i32>(2) != self.taken;
        self.parts = row.get(3);
        self.taken += 1;
        self.bytes.extend_from_slice(row.get(5));
        if whole.header.is_empty() {
            whole.header = Bytes::copy_from_slice(row.get(6));
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
    mut take: impl FnMut(Whole),
) -> Result<(), Error> {
    let mut parted = Parted::default();
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
        let place = (self.saved.checkpoint, whole.number as u32);
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

    fn take_record(&mut self, whole: &Whole, schema: &str) {
        let place = format!(
            "record {} of segment {} in {schema}.log_{}",
            whole.number, self.id, whole.table
        );
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
            table: whole.table,
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
    fn finish(&mut self, schema: &str) {
        if (self.tail.head, self.tail.crc) != (self.row.head, self.row.crc) {
            let place = format!("the log of segment {} in {schema}", self.id);
            let what = format!(
                "it ends with record {}, and the segment's row names record {}",
                self.tail.head, self.row.head
            );
            self.damaged(place, what);
        }
    }

    /// The end of what came since a segment was read.
    fn end_since(self, (epoch, clean): Claimed, before: &Segment) -> (Segment, Since) {
        let since = Since {
            segment_id: self.id,
            epoch,
            releases: self.releases,
            serials_below: self.tail.serials_below,
            clean,
        };
        let is_uncovered = |record: &&Uncovered| record.number > self.saved.number;
        let uncovered = before.uncovered.iter().chain(&self.uncovered);
        let uncovered: VecDeque<Uncovered> = uncovered.filter(is_uncovered).copied().collect();
        let segment = Segment {
            claim: epoch,
            tail: self.tail,
            damage: None,
            saved: Saved {
                // A later checkpoint has a later version. Its head was not read.
                version: before.saved.version,
                ..self.saved
            },
            log_bytes: uncovered.iter().map(|record| record.bytes).sum(),
            uncovered,
        };
        (segment, since)
    }

    fn end(self, (epoch, clean): Claimed) -> (Segment, RecoveredSegment) {
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
            epoch,
            path: path.unwrap_or_default(),
            durable: durable.unwrap_or(Durability::Synced),
            quota_bytes: quota_bytes.or(created.map(|c| c.quota_bytes)).unwrap_or(0),
            creator: self.creator.map(Box::new),
            incarnation: self.tail.incarnation,
            checkpoint: self.whole,
            pieces: self.in_pieces,
            releases: self.releases,
            serials_below: self.tail.serials_below,
            clean,
            damage: self.damage.as_ref().map(StoreError::to_string),
        };
        let segment = Segment {
            claim: epoch,
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
