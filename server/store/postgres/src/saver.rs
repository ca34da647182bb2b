//! Saves checkpoints, and removes the rows that they cover, on a connection of its own.
//!
//! The pieces of a checkpoint are in transactions of their own, which wait for nothing. One
//! transaction that waits for the disk and the standby makes them valid: the database's log is one
//! sequence, so the pieces last with it.

use crate::answer::Answer;
use crate::checkpoint::Parts;
use crate::checks;
use crate::connection::Connection;
use crate::outcome;
use crate::segments::{Place, Saved};
use crate::shared::Shared;
use crate::store::Options;
use crate::tables;
use crate::transaction;
use crate::waits;
use bytes::Bytes;
use interweave_store::{
    complete_head, Checkpoint, Identity, Next, Piece, StoreError, Want, CHECKPOINT_IN_PIECES,
    WHOLE_CHECKPOINT,
};
use interweave_wire::protocol::CheckpointHead;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::Statement;

/// Rows that nobody needs are removed so many at a time.
const REMOVED_ROWS: u64 = 1000;
/// So many parts of a piece are sent by one statement.
const SENT_PARTS: usize = 16;

/// After so many bytes of pieces the saver waits until the standby has them. A renewal of the
/// lease, and each release, waits for all that the database's log has before it, and that is not
/// more than this then.
const BYTES_AHEAD: usize = 16 << 20;
/// A transaction that writes nothing waits for nothing, so this one writes a message for nobody.
const CATCH_UP: &str = "SET LOCAL synchronous_commit TO on; \
                        SELECT pg_logical_emit_message(true, 'interweave', '')";

/// These are no matter of durability: the last transaction of a checkpoint has its own settings.
const SESSION: &str = "SET synchronous_commit TO off; SET statement_timeout TO 0";

const INSERT: &str = "
INSERT INTO {s}.piece (segment, checkpoint, piece, part, parts, crc, bytes)
SELECT $1, $2, $3, n.part, $4, $5, n.bytes FROM unnest($6::int[], $7::bytea[]) AS n(part, bytes)";

/// A row that lacks what the checkpoint covers has lost records that did not wait for the disk.
const SAVE: &str = "
UPDATE {s}.segment
SET checkpoint = $1, pieces = $2, saved = $3, saved_crc = $4, version = greatest(version, $5)
WHERE id = $6 AND epoch = $7 AND NOT is_removed AND checkpoint < $1 AND head >= $3";

pub enum Save {
    Whole(Box<Checkpoint>, Answer),
    Begin(Box<CheckpointHead>, Want, Answer),
    Next(u64, Next),
    /// Nothing of the segment is needed any more.
    Clear(u64),
    /// A table of the log may be needed no more.
    Empty,
}

/// A checkpoint that is being written.
struct Writing {
    head: Box<CheckpointHead>,
    checkpoint: u64,
    /// The number of those that were written; the head is the first.
    pieces: u32,
    /// So many bytes were written since the standby had all.
    ahead: usize,
}

fn broke() -> StoreError {
    StoreError::Away("the connection to PostgreSQL broke during a checkpoint".to_string())
}

/// One of which the pieces are still coming.
struct Large {
    writing: Writing,
    want: Want,
    answer: Answer,
}

pub struct Saver {
    options: Options,
    shared: Arc<Shared>,
    identity: Identity,
    /// With [`INSERT`], which is prepared for it.
    connection: Option<(Connection, Statement)>,
    /// How many checkpoints were begun. With the claim of its segment above it, it is the id of a
    /// checkpoint. So ids grow from owner to owner, whatever the epochs of the owners are.
    begun: u32,
    large: HashMap<u64, Large>,
    /// The removed segments of which rows may be left.
    uncleared: BTreeSet<u64>,
}

impl Saver {
    pub fn new(options: Options, shared: Arc<Shared>, identity: Identity) -> Saver {
        Saver {
            options,
            shared,
            identity,
            connection: None,
            begun: 0,
            large: HashMap::new(),
            uncleared: BTreeSet::new(),
        }
    }

    pub async fn work(mut self, mut asked: UnboundedReceiver<Save>) {
        let shared = Arc::clone(&self.shared);
        while let Some(save) = asked.recv().await {
            let connection = self.connection.as_ref();
            let _wait = connection.map(|(open, _)| shared.wait(open, waits::SAVING));
            match save {
                Save::Whole(checkpoint, answer) => self.whole(*checkpoint, answer).await,
                Save::Begin(head, want, answer) => self.begin(head, want, answer).await,
                Save::Next(segment, next) => self.next(segment, next).await,
                Save::Clear(segment) => {
                    self.uncleared.insert(segment);
                    self.clear_all().await;
                }
                Save::Empty => {
                    let emptied = self.empty_tables().await;
                    // After an error the next checkpoint does it.
                    emptied.unwrap_or_else(|error| self.note(&error));
                }
            }
        }
    }

    fn note(&self, error: &StoreError) {
        self.shared.note(error);
    }

    fn give(&self, answer: Answer, result: Result<(), StoreError>) {
        if let Err(error) = &result {
            self.note(error);
        }
        answer.give(result);
    }

    async fn whole(&mut self, checkpoint: Checkpoint, answer: Answer) {
        let Checkpoint { head, diff } = checkpoint;
        let piece = Piece {
            diff,
            ages: Bytes::new(),
        };
        let written = match self.start(Box::new(head), WHOLE_CHECKPOINT).await {
            Ok(mut writing) => match self.add(&mut writing, &piece).await {
                Ok(()) => self.finish(writing).await,
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        self.end(answer, written).await;
    }

    async fn begin(&mut self, head: Box<CheckpointHead>, want: Want, answer: Answer) {
        match self.start(head, CHECKPOINT_IN_PIECES).await {
            Ok(writing) => {
                want();
                let segment = writing.head.segment_id;
                let large = Large {
                    writing,
                    want,
                    answer,
                };
                self.large.insert(segment, large);
            }
            Err(error) => self.give(answer, Err(error)),
        }
    }

    async fn next(&mut self, segment: u64, next: Next) {
        let Some(mut large) = self.large.remove(&segment) else {
            return;
        };
        let (piece, is_last) = match next {
            Next::Piece(piece) => (piece, false),
            Next::Last(piece) => (piece, true),
            Next::Nothing => return large.answer.give(Ok(())),
        };
        match self.add(&mut large.writing, &piece).await {
            Err(error) => self.give(large.answer, Err(error)),
            Ok(()) if is_last => {
                let written = self.finish(large.writing).await;
                self.end(large.answer, written).await;
            }
            Ok(()) => {
                (large.want)();
                self.large.insert(segment, large);
            }
        }
    }

    /// Answers, then removes what the checkpoint covers.
    async fn end(&mut self, answer: Answer, written: Result<(u64, Saved), StoreError>) {
        let (segment, saved) = match written {
            Ok(saved) => saved,
            Err(error) => return self.give(answer, Err(error)),
        };
        answer.give(Ok(()));
        let trimmed = self.trim(segment, saved.checkpoint).await;
        if let Err(error) = trimmed {
            // The next checkpoint does it.
            self.note(&error);
        }
    }

    fn place(&self, head: &CheckpointHead) -> Result<Place, StoreError> {
        let told = self.shared.lock();
        match &told.status.stopped {
            Some(why) => Err(why.clone()),
            None => told.segments.place(head.segment_id, &head.at),
        }
    }

    async fn start(
        &mut self,
        mut head: Box<CheckpointHead>,
        magic: [u8; 4],
    ) -> Result<Writing, StoreError> {
        let mut claim = 0;
        complete_head(&mut head, &self.identity, |head| {
            let place = self.place(head)?;
            claim = place.claim;
            Ok((place.crc, place.serials_below))
        })?;
        head.magic = magic;
        head.diff_bytes = 0;
        self.begun = self.begun.wrapping_add(1);
        let mut writing = Writing {
            head,
            checkpoint: (claim << 32) + u64::from(self.begun),
            pieces: 0,
            ahead: 0,
        };
        let parts = Parts::of_head(writing.checkpoint, &writing.head);
        self.connect().await?;
        self.write(&mut writing, parts).await?;
        Ok(writing)
    }

    async fn add(&mut self, writing: &mut Writing, piece: &Piece) -> Result<(), StoreError> {
        let parts = Parts::of_piece(writing.checkpoint, writing.pieces, piece);
        self.write(writing, parts).await
    }

    /// Not on a new connection: after a restart of the database the pieces before may be gone.
    fn connected(&self) -> Result<&(Connection, Statement), StoreError> {
        let is_open = |(connection, _): &&(Connection, Statement)| !connection.is_closed();
        self.connection.as_ref().filter(is_open).ok_or_else(broke)
    }

    /// A new connection gives up the checkpoints that have begun on the one before.
    async fn connect(&mut self) -> Result<(), StoreError> {
        if self.connected().is_ok() {
            return Ok(());
        }
        let begun = std::mem::take(&mut self.large);
        for large in begun.into_values() {
            self.give(large.answer, Err(broke()));
        }
        let connection = Connection::of(&self.options).await?;
        let preparing = async {
            checks::check_newest(&connection, &self.shared.timelines).await?;
            connection.run(SESSION).await?;
            connection.prepare(INSERT).await
        };
        let insert = connection.soon(preparing).await?;
        self.connection = Some((connection, insert));
        Ok(())
    }

    async fn write(&self, writing: &mut Writing, parts: Parts) -> Result<(), StoreError> {
        let (connection, insert) = self.connected()?;
        let (segment, checkpoint) = (writing.head.segment_id as i64, writing.checkpoint as i64);
        let (piece, count) = (parts.piece as i32, parts.parts.len() as i32);
        for (index, sent) in parts.parts.chunks(SENT_PARTS).enumerate() {
            let first = (index * SENT_PARTS) as i32;
            let numbers: Vec<i32> = (first..).take(sent.len()).collect();
            let bytes: Vec<&[u8]> = sent.iter().map(|part| &part[..]).collect();
            let crc = parts.crc as i32;
            let inserted = connection
                .client
                .execute(
                    insert,
                    &[
                        &segment,
                        &checkpoint,
                        &piece,
                        &count,
                        &crc,
                        &numbers,
                        &bytes,
                    ],
                )
                .await;
            inserted.map_err(|error| outcome::failed(&error))?;
        }
        writing.pieces += 1;
        writing.ahead += parts.parts.iter().map(Bytes::len).sum::<usize>();
        if writing.ahead > BYTES_AHEAD {
            connection.run(CATCH_UP).await?;
            writing.ahead = 0;
        }
        Ok(())
    }

    /// Makes the checkpoint valid.
    async fn finish(&mut self, writing: Writing) -> Result<(u64, Saved), StoreError> {
        let head = &writing.head;
        let place = self.place(head)?;
        let saved = Saved {
            checkpoint: writing.checkpoint,
            version: head.at.number,
            number: place.number,
            crc: place.crc,
        };
        let done = self.make_valid(&writing, &place, &saved).await;
        if done.is_err() {
            // A transaction may be open on it.
            self.connection = None;
        }
        done?;
        let mut told = self.shared.lock();
        told.segments.saved(head.segment_id, saved);
        told.status.checkpoints += 1;
        Ok((head.segment_id, saved))
    }

    async fn make_valid(
        &self,
        writing: &Writing,
        place: &Place,
        saved: &Saved,
    ) -> Result<(), StoreError> {
        let (connection, _) = self.connected()?;
        let notices = connection.notices.count();
        connection.run(&transaction::begin(true)).await?;
        let segment = writing.head.segment_id;
        let changed = connection
            .execute(
                SAVE,
                &[
                    &(saved.checkpoint as i64),
                    &(writing.pieces as i32),
                    &(saved.number as i64),
                    &(saved.crc as i32),
                    &(saved.version as i64),
                    &(segment as i64),
                    &(place.claim as i64),
                ],
            )
            .await?;
        if changed == 0 {
            return Err(self.why_not_valid(segment, place.claim));
        }
        connection.run("COMMIT").await?;
        match connection.notices.since(notices) {
            None => Ok(()),
            Some(notice) => Err(StoreError::Io(format!(
                "it is not known whether the checkpoint of segment {segment} is on the standby: \
                 {notice}"
            ))),
        }
    }

    fn why_not_valid(&self, segment: u64, claim: u64) -> StoreError {
        let told = self.shared.lock();
        match told
            .segments
            .get(segment)
            .is_some_and(|now| now.claim == claim)
        {
            true => StoreError::SegmentsFenced(vec![segment]),
            false => StoreError::Io(format!(
                "segment {segment} was settled or removed during its checkpoint"
            )),
        }
    }

    /// Removes earlier checkpoints, and the tables' content that no checkpoint needs.
    async fn trim(&mut self, segment: u64, checkpoint: u64) -> Result<(), StoreError> {
        self.remove("piece", "checkpoint < $2", segment, checkpoint)
            .await?;
        self.empty_tables().await
    }

    /// Moves the rows of damaged segments to the table of the appends, so that they do not keep
    /// other tables for ever.
    async fn move_damaged(&self) -> Result<(), StoreError> {
        let (connection, _) = self.connected()?;
        let (segments, stuck, into, most_bytes) = {
            let told = self.shared.lock();
            let (segments, stuck) = told.segments.stuck();
            let tables = &told.segments.tables;
            (segments, stuck, tables.current(), tables.most_moved_bytes())
        };
        for from in stuck {
            let way = (from, into);
            let moved = tables::move_rows(connection, way, &segments, most_bytes).await?;
            if let Some(bytes) = moved.filter(|bytes| *bytes > 0) {
                self.shared.lock().segments.moved(&segments, way, bytes);
            }
        }
        Ok(())
    }

    async fn empty_tables(&mut self) -> Result<(), StoreError> {
        self.connect().await?;
        self.move_damaged().await?;
        let spared = self.shared.lock().segments.tables.spared();
        for table in spared {
            self.empty(table).await?;
        }
        self.move_others().await
    }

    /// Returns whether the table is empty now.
    async fn empty(&self, table: usize) -> Result<bool, StoreError> {
        let (connection, _) = self.connected()?;
        let is_empty = tables::empty(connection, table).await?;
        if is_empty {
            self.shared.lock().segments.tables.emptied(table);
        }
        Ok(is_empty)
    }

    /// Moves records of segments that other servers own, or nobody, to the table of the appends,
    /// where they alone keep all tables. An idle owner saves nothing, and would keep them for ever.
    async fn move_others(&self) -> Result<(), StoreError> {
        let (connection, _) = self.connected()?;
        let (kept, into, most_bytes) = {
            let told = self.shared.lock();
            let tables = &told.segments.tables;
            let kept = match told.segments.is_shared {
                true => tables.needed_by_others(),
                false => Vec::new(),
            };
            (kept, tables.current(), tables.most_moved_of_others())
        };
        for from in kept {
            let moved = tables::move_needed(connection, (from, into), most_bytes).await?;
            let Some(bytes) = moved else {
                continue;
            };
            self.shared.lock().segments.tables.add(into, bytes);
            if self.empty(from).await? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Tries each once. One that fails does not keep the others.
    async fn clear_all(&mut self) {
        for segment in self.uncleared.clone() {
            match self.clear(segment).await {
                Ok(()) => drop(self.uncleared.remove(&segment)),
                // The next removal tries it again, or the next start of a server.
                Err(error) => self.note(&error),
            }
            if self.connected().is_err() {
                return;
            }
        }
    }

    /// Removes all that is left of a removed segment, its row at last. All of that is deleted on
    /// the connection that has said that the segment is removed: another primary may have lost the
    /// removal.
    async fn clear(&mut self, segment: u64) -> Result<(), StoreError> {
        self.connect().await?;
        if !self.is_removed(segment).await? {
            return Ok(());
        }
        let all = i64::MAX as u64;
        for table in 0..tables::COUNT {
            let log = format!("log_{table}");
            self.remove(&log, "number <= $2", segment, all).await?;
        }
        self.remove("piece", "checkpoint < $2", segment, all)
            .await?;
        let (connection, _) = self.connected()?;
        let rest = format!(
            "DELETE FROM {{s}}.creation WHERE segment = {id}; \
             DELETE FROM {{s}}.segment WHERE id = {id} AND is_removed",
            id = segment as i64
        );
        connection.run(&rest).await
    }

    async fn is_removed(&self, segment: u64) -> Result<bool, StoreError> {
        let (connection, _) = self.connected()?;
        let select = "SELECT 1 FROM {s}.segment WHERE id = $1 AND is_removed";
        let rows = connection.rows(select, &[&(segment as i64)]).await?;
        Ok(!rows.is_empty())
    }

    /// Removes rows of the segment, in transactions that are short, and wait for nothing.
    async fn remove(
        &self,
        table: &str,
        condition: &str,
        segment: u64,
        last: u64,
    ) -> Result<(), StoreError> {
        let (connection, _) = self.connected()?;
        let delete = format!(
            "DELETE FROM {{s}}.{table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {{s}}.{table} \
             WHERE segment = $1 AND {condition} LIMIT {REMOVED_ROWS}))"
        );
        let delete = connection.prepare(&delete).await?;
        let (segment, last) = (segment as i64, last as i64);
        loop {
            let removed = connection.client.execute(&delete, &[&segment, &last]).await;
            let removed = removed.map_err(|error| outcome::failed(&error))?;
            if removed < REMOVED_ROWS {
                return Ok(());
            }
        }
    }
}
