//! Saves checkpoints, and removes the rows that they cover, on a connection of its own.
//!
//! The pieces of a checkpoint are in transactions of their own, which wait for nothing. One
//! transaction that waits for the disk and the standby makes them valid: the database's log is one
//! sequence, so the pieces last with it.

use crate::answer::Answer;
use crate::checkpoint::{Parts, IN_PIECES, WHOLE};
use crate::connection::Connection;
use crate::outcome;
use crate::schema::in_schema;
use crate::segments::{Place, Saved};
use crate::shared::Shared;
use crate::target::Target;
use crate::transaction;
use interweave_store::{keep_creator, Checkpoint, Identity, Next, Piece, StoreError, Want};
use interweave_wire::protocol::CheckpointHead;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::mpsc::UnboundedReceiver;

/// Rows that nobody needs are removed so many at a time.
const REMOVED_ROWS: u64 = 1000;
/// So many parts of a piece are sent by one statement.
const SENT_PARTS: usize = 16;

/// These are no matter of durability: the last transaction of a checkpoint has its own settings.
const SESSION: &str = "SET synchronous_commit TO off; SET statement_timeout TO 0";

const INSERT: &str = "
INSERT INTO {s}.piece (segment, checkpoint, piece, part, parts, crc, bytes)
SELECT $1, $2, $3, n.part, $4, $5, n.bytes FROM unnest($6::int[], $7::bytea[]) AS n(part, bytes)";

const SAVE: &str = "
UPDATE {s}.segment
SET checkpoint = $1, pieces = $2, saved = $3, saved_crc = $4, version = greatest(version, $5)
WHERE id = $6 AND epoch = $7 AND NOT is_removed AND checkpoint < $1";

pub enum Save {
    Whole(Box<Checkpoint>, Answer),
    Begin(Box<CheckpointHead>, Want, Answer),
    Next(u64, Next),
    /// Nothing of the segment is needed any more.
    Clear(u64),
}

/// A checkpoint that is being written.
struct Writing {
    head: Box<CheckpointHead>,
    checkpoint: u64,
    /// How many were written; the head is the first.
    pieces: u32,
}

/// One of which the pieces are still coming.
struct Large {
    writing: Writing,
    want: Want,
    answer: Answer,
}

pub struct Saver {
    pub target: Target,
    pub shared: Arc<Shared>,
    pub identity: Identity,
    pub connection: Option<Connection>,
    /// The id of the last checkpoint; ids grow from owner to owner.
    pub last: u64,
    large: HashMap<u64, Large>,
}

impl Saver {
    pub fn new(target: Target, shared: Arc<Shared>, identity: Identity, epoch: u64) -> Saver {
        Saver {
            target,
            shared,
            identity,
            connection: None,
            last: epoch << 32,
            large: HashMap::new(),
        }
    }

    pub async fn work(mut self, mut asked: UnboundedReceiver<Save>) {
        while let Some(save) = asked.recv().await {
            match save {
                Save::Whole(checkpoint, answer) => self.whole(*checkpoint, answer).await,
                Save::Begin(head, want, answer) => self.begin(head, want, answer).await,
                Save::Next(segment, next) => self.next(segment, next).await,
                Save::Clear(segment) => {
                    if let Err(error) = self.clear(segment).await {
                        // The next start does it.
                        self.note(&error);
                    }
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
            ages: bytes::Bytes::new(),
        };
        let written = match self.start(Box::new(head), WHOLE).await {
            Ok(mut writing) => match self.add(&mut writing, &piece).await {
                Ok(()) => self.finish(writing).await,
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        self.end(answer, written).await;
    }

    async fn begin(&mut self, head: Box<CheckpointHead>, want: Want, answer: Answer) {
        match self.start(head, IN_PIECES).await {
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
        if let Err(error) = self.trim(segment, saved).await {
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
        let place = self.place(&head)?;
        head.magic = magic;
        head.diff_bytes = 0;
        head.parent = place.crc;
        head.next_serial = head.next_serial.max(place.serials_below);
        keep_creator(&mut head.fields);
        head.fields.extend(self.identity.fields());
        head.fields.sort_by_key(|field| field.key);
        self.last += 1;
        let mut writing = Writing {
            head,
            checkpoint: self.last,
            pieces: 0,
        };
        let parts = Parts::of_head(self.last, &writing.head);
        self.connect().await?;
        self.write(&mut writing, parts).await?;
        Ok(writing)
    }

    async fn add(&mut self, writing: &mut Writing, piece: &Piece) -> Result<(), StoreError> {
        let parts = Parts::of_piece(writing.checkpoint, writing.pieces, piece);
        self.write(writing, parts).await
    }

    /// Not on a new connection: after a restart of the database the pieces before may be gone.
    fn connected(&self) -> Result<&Connection, StoreError> {
        let connection = self.connection.as_ref().filter(|c| !c.is_closed());
        connection.ok_or_else(|| {
            StoreError::Io("the connection to PostgreSQL broke during a checkpoint".to_string())
        })
    }

    /// A new connection gives up the checkpoints that have begun on the one before.
    async fn connect(&mut self) -> Result<(), StoreError> {
        if self.connected().is_ok() {
            return Ok(());
        }
        let begun = std::mem::take(&mut self.large);
        for large in begun.into_values() {
            let broke = "the connection to PostgreSQL broke during a checkpoint".to_string();
            self.give(large.answer, Err(StoreError::Io(broke)));
        }
        let connection = Connection::open(&self.target).await?;
        connection.run(SESSION).await?;
        self.connection = Some(connection);
        Ok(())
    }

    async fn write(&self, writing: &mut Writing, parts: Parts) -> Result<(), StoreError> {
        let connection = self.connected()?;
        let insert = in_schema(INSERT, &connection.schema);
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
                    &insert,
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
        let connection = self.connected()?;
        let notices = connection.notices.count();
        let save = in_schema(SAVE, &connection.schema);
        connection
            .run(&transaction::begin(true, "checkpoint"))
            .await?;
        let segment = writing.head.segment_id;
        let changed = connection
            .client
            .execute(
                &save,
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
            .await;
        let changed = changed.map_err(|error| outcome::failed(&error))?;
        if changed == 0 {
            return Err(self.why_not_valid(segment, place.claim));
        }
        connection.run("COMMIT").await?;
        match connection.notices.count() == notices {
            true => Ok(()),
            false => Err(StoreError::Io(format!(
                "it is not known whether the checkpoint of segment {segment} is on the standby: \
                 {}",
                connection.notices.last()
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

    /// Removes the records that the checkpoint covers, and earlier checkpoints.
    async fn trim(&self, segment: u64, saved: Saved) -> Result<(), StoreError> {
        self.remove(
            "log",
            "segment = $1 AND number <= $2",
            segment,
            saved.number,
        )
        .await?;
        self.remove(
            "piece",
            "segment = $1 AND checkpoint < $2",
            segment,
            saved.checkpoint,
        )
        .await
    }

    /// Removes all that is left of a segment, its row at last.
    async fn clear(&mut self, segment: u64) -> Result<(), StoreError> {
        self.connect().await?;
        let all = i64::MAX as u64;
        self.remove("log", "segment = $1 AND number <= $2", segment, all)
            .await?;
        self.remove("piece", "segment = $1 AND checkpoint <= $2", segment, all)
            .await?;
        self.remove("creation", "segment = $1 AND $2 > 0", segment, all)
            .await?;
        self.remove("segment", "id = $1 AND is_removed AND $2 > 0", segment, all)
            .await
    }

    /// In transactions that are short, and wait for nothing.
    async fn remove(
        &self,
        table: &str,
        condition: &str,
        segment: u64,
        last: u64,
    ) -> Result<(), StoreError> {
        let connection = self.connected()?;
        let delete = in_schema(
            &format!(
                "DELETE FROM {{s}}.{table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM {{s}}.{table} \
                 WHERE {condition} LIMIT {REMOVED_ROWS}))"
            ),
            &connection.schema,
        );
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
