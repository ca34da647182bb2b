//! Appends and settles, in the order in which they are asked for, on one connection.

use crate::answer::Answer;
use crate::batch::{Batch, Change};
use crate::checks;
use crate::connection::Connection;
use crate::outcome::{self, Outcome};
use crate::saver::Save;
use crate::segments::Tail;
use crate::settle::{self, Seen};
use crate::shared::Shared;
use crate::store::Options;
use crate::transaction::{Appends, Owner};
use crate::waits;
use interweave_store::{End, Record, StoreError};
use interweave_wire::protocol::Durability;
use std::collections::HashMap;
use std::sync::mpsc::Sender;
use std::sync::Arc;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};
use tokio_postgres::types::ToSql;

/// So many groups at most are appended by one transaction.
const BATCH_GROUPS: usize = 512;

/// An end in order says that nothing is lost. A crash of PostgreSQL may have taken records that did
/// not wait for its disk, and the owner may have appended nothing since. A segment that the owner
/// has claimed, or may have claimed, and that it does not know, was lost by it: nobody can say what
/// it lacks. One that was given to it and that nobody has asked for has a claim of another server,
/// and lacks nothing.
const END: &str = "
UPDATE {s}.owner SET is_clean = true
WHERE epoch = $1 AND NOT EXISTS (
  SELECT 1 FROM unnest($2::bigint[], $3::bigint[]) AS n(id, head)
    LEFT JOIN {s}.segment s ON s.id = n.id
  WHERE s.head IS NULL OR s.head < n.head)
AND NOT EXISTS (
  SELECT 1 FROM {s}.segment s LEFT JOIN unnest($2::bigint[]) AS n(id) ON n.id = s.id
  WHERE s.owner = $1 AND (s.epoch = ANY ($4::bigint[]) OR s.id = ANY ($5::bigint[]))
    AND NOT s.is_removed AND n.id IS NULL)";

/// Of those, the segments of which nobody knows what they lack.
const UNREAD: &str = "
SELECT s.id FROM {s}.segment s LEFT JOIN unnest($2::bigint[]) AS n(id) ON n.id = s.id
WHERE s.owner = $1 AND (s.epoch = ANY ($3::bigint[]) OR s.id = ANY ($4::bigint[]))
  AND NOT s.is_removed AND n.id IS NULL LIMIT 1";

pub enum Job {
    Append(Append),
    Settle(Vec<u64>, Answer<Vec<(u64, End)>>),
    Close(Closing),
}

/// An end in order.
pub struct Closing {
    pub is_clean: bool,
    pub closed: Sender<Result<(), StoreError>>,
}

pub struct Append {
    pub group: Vec<Record>,
    pub durable: Durability,
    pub answer: Answer,
}

pub struct Writer {
    options: Options,
    shared: Arc<Shared>,
    saver: UnboundedSender<Save>,
    owner: Owner,
    connection: Option<(Connection, Appends)>,
}

impl Writer {
    pub fn new(
        options: Options,
        shared: Arc<Shared>,
        saver: UnboundedSender<Save>,
        epoch: u64,
        connection: (Connection, Appends),
    ) -> Writer {
        Writer {
            options,
            shared,
            saver,
            owner: Owner {
                epoch,
                claim: epoch,
            },
            connection: Some(connection),
        }
    }

    /// Does what is asked, until the store is closed. Returns how it is to end; None: nobody can
    /// close it any more.
    pub async fn work(&mut self, mut asked: UnboundedReceiver<Job>) -> Option<Closing> {
        let mut next = asked.recv().await;
        while let Some(job) = next.take() {
            match job {
                Job::Append(append) => {
                    let mut appends = vec![append];
                    while appends.len() < BATCH_GROUPS {
                        match asked.try_recv() {
                            Ok(Job::Append(append)) => appends.push(append),
                            Ok(other) => {
                                next = Some(other);
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    self.append(appends).await;
                }
                Job::Settle(segments, answer) => {
                    let settled = self.settle(&segments).await;
                    answer.give(settled);
                }
                Job::Close(closing) => return Some(closing),
            }
            if next.is_none() {
                next = asked.recv().await;
            }
        }
        None
    }

    /// Appends the groups, in as few transactions as their size allows.
    async fn append(&mut self, appends: Vec<Append>) {
        let mut batch = self.begin_batch();
        let mut taken: Vec<(Append, Result<(), StoreError>)> = Vec::new();
        for append in appends {
            if batch.is_full() {
                self.run(batch, std::mem::take(&mut taken)).await;
                batch = self.begin_batch();
            }
            let admitted = self.admit(&mut batch, &append);
            taken.push((append, admitted));
        }
        self.run(batch, taken).await;
    }

    /// Begins a batch into the log's table that has the turn.
    fn begin_batch(&self) -> Batch {
        let tables = &mut self.shared.lock().segments.tables;
        if tables.turn() {
            // The saver ends with this thread.
            let _ = self.saver.send(Save::Empty);
        }
        Batch::into(tables.current())
    }

    fn admit(&self, batch: &mut Batch, append: &Append) -> Result<(), StoreError> {
        let told = self.shared.lock();
        match &told.status.stopped {
            Some(why) => Err(why.clone()),
            None => batch.add(
                &told.segments,
                self.owner.claim,
                &append.group,
                append.durable,
            ),
        }
    }

    /// Appends the batch, and answers. Groups that cannot be appended together are appended one by
    /// one.
    async fn run(&mut self, batch: Batch, taken: Vec<(Append, Result<(), StoreError>)>) {
        let together = taken
            .iter()
            .filter(|(_, admitted)| admitted.is_ok())
            .count();
        let result = match self.transact(batch).await {
            Ended::As(result) => result,
            Ended::NotTogether(error) if together <= 1 => Err(error),
            Ended::NotTogether(_) => return self.run_one_by_one(taken).await,
        };
        for (append, admitted) in taken {
            self.answer(append.answer, admitted.and(result.clone()));
        }
    }

    async fn run_one_by_one(&mut self, taken: Vec<(Append, Result<(), StoreError>)>) {
        for (append, _) in taken {
            let mut alone = self.begin_batch();
            // The batch stays empty where the group is not admitted.
            let admitted = self.admit(&mut alone, &append);
            let result = match self.transact(alone).await {
                Ended::As(result) => result,
                Ended::NotTogether(error) => Err(error),
            };
            self.answer(append.answer, admitted.and(result));
        }
    }

    fn answer(&self, answer: Answer, result: Result<(), StoreError>) {
        if let Err(error @ (StoreError::Fenced(_) | StoreError::Unknown(_))) = &result {
            self.shared.note(error);
        }
        answer.give(result);
    }

    /// Runs one transaction, and takes note of its outcome.
    async fn transact(&mut self, batch: Batch) -> Ended {
        if batch.is_empty() {
            return Ended::As(Ok(()));
        }
        if let Err(error) = self.connect().await {
            self.shared.note(&error);
            return Ended::As(Err(error));
        }
        let Some((connection, appends)) = &self.connection else {
            return Ended::As(Err(StoreError::Closed));
        };
        let begun = self.shared.now();
        let longest = waits::sending(batch.bytes());
        let wait = self.shared.wait(connection, longest);
        let outcome = appends.run(connection, self.owner, &batch).await;
        drop(wait);
        let took = self.shared.now().saturating_duration_since(begun);
        match outcome {
            Outcome::Kept => {
                self.kept(batch, took);
                Ended::As(Ok(()))
            }
            Outcome::Refused(error) => {
                self.shared.note(&error);
                Ended::As(Err(error))
            }
            Outcome::Deadlock => Ended::NotTogether(StoreError::Io(
                "PostgreSQL ended the append, because another owner claims the store".to_string(),
            )),
            Outcome::PathTaken => {
                let is_new = |(id, change): (&u64, &Change)| change.was.is_none().then_some(*id);
                let new = batch.changes.iter().find_map(is_new).unwrap_or(0);
                Ended::NotTogether(StoreError::PathTaken(new))
            }
            Outcome::NotAsKnown => {
                let wait = self.shared.wait(connection, waits::SHORT);
                let looked = settle::look(connection, self.owner, &ids(&batch)).await;
                drop(wait);
                match looked {
                    Ok(seen) => self.not_as_known(&batch, &seen),
                    Err(error) => Ended::As(Err(error)),
                }
            }
            Outcome::Unknown(text) => {
                // The next connection is checked. This one may wait for no standby any more.
                self.connection = None;
                let mut told = self.shared.lock();
                for (id, change) in batch.changes {
                    told.segments.doubt(id, change.uncovered);
                }
                Ended::As(Err(StoreError::Unknown(text)))
            }
        }
    }

    fn kept(&self, batch: Batch, took: std::time::Duration) {
        let mut told = self.shared.lock();
        let waited = batch.waits;
        for (id, change) in batch.changes {
            told.segments
                .kept(id, change.claim, change.tail, change.uncovered);
            if change.tail.is_removed {
                // The saver ends with this thread.
                let _ = self.saver.send(Save::Clear(id));
            }
        }
        let status = &mut told.status;
        status.full = None;
        if waited {
            status.alone = None;
        }
        status.groups += 1;
        status.syncs += u64::from(waited);
        status.syncing += took;
    }

    /// Says why the rows are not as they were known. Nothing of the batch is kept.
    fn not_as_known(&self, batch: &Batch, seen: &Seen) -> Ended {
        if !seen.is_owner {
            let fenced = StoreError::Fenced(format!(
                "it has claimed the schema {} at {}",
                self.options.target.schema,
                self.options.target.name()
            ));
            self.shared.stop(&fenced);
            return Ended::As(Err(fenced));
        }
        let was = |id: &u64| {
            batch
                .changes
                .get(id)
                .and_then(|change| Some((change, change.was?)))
        };
        let is_foreign = |id: &u64| {
            let found = seen.segments.get(id);
            was(id).is_some_and(|(change, _)| found.is_none_or(|(claim, _)| *claim != change.claim))
        };
        let fenced: Vec<u64> = ids(batch).into_iter().filter(is_foreign).collect();
        if !fenced.is_empty() {
            if self.options.member.is_some() {
                let mut told = self.shared.lock();
                for id in &fenced {
                    told.segments.forget_claim(*id, batch.changes[id].claim);
                }
            }
            return Ended::NotTogether(StoreError::SegmentsFenced(fenced));
        }
        let is_behind = |id: &u64| {
            let head = seen.segments.get(id).map(|(_, head)| *head);
            was(id).is_some_and(|(_, was)| head.is_some_and(|head| head < was))
        };
        match ids(batch).into_iter().find(is_behind) {
            Some(id) => {
                let gone = self.gone(id);
                self.shared.stop(&gone);
                Ended::As(Err(gone))
            }
            None => Ended::NotTogether(StoreError::Io(
                "the segment's row has changed; the append was rolled back".to_string(),
            )),
        }
    }

    fn gone(&self, id: u64) -> StoreError {
        outcome::gone(id, &self.options.target.schema)
    }

    /// Refuses ends before records that were there.
    fn refuse_lost(&self, tails: &HashMap<u64, Tail>) -> Result<(), StoreError> {
        let is_behind = |(id, tail): (&u64, &Tail)| {
            let told = self.shared.lock();
            let known = told.segments.get(*id);
            known
                .is_some_and(|known| tail.head < known.tail.head)
                .then_some(*id)
        };
        let Some(id) = tails.iter().find_map(is_behind) else {
            return Ok(());
        };
        let gone = self.gone(id);
        self.shared.stop(&gone);
        Err(gone)
    }

    /// Connects again where the connection broke.
    async fn connect(&mut self) -> Result<(), StoreError> {
        let is_open = |(connection, _): &(Connection, Appends)| !connection.is_closed();
        if self.connection.as_ref().is_some_and(is_open) {
            return Ok(());
        }
        self.connection = None;
        let connection = checks::connect(&self.options, &self.shared.timelines).await?;
        let appends = connection.soon(Appends::prepare(&connection)).await?;
        self.connection = Some((connection, appends));
        Ok(())
    }

    /// The claims by which those of the segments that are known are known.
    fn claims_of(&self, segments: &[u64]) -> HashMap<u64, u64> {
        let told = self.shared.lock();
        let claim = |id: &u64| Some((*id, told.segments.get(*id)?.claim));
        segments.iter().filter_map(claim).collect()
    }

    async fn settle(&mut self, segments: &[u64]) -> Result<Vec<(u64, End)>, StoreError> {
        if let Some(stopped @ StoreError::Fenced(_)) = self.shared.stopped() {
            return Err(stopped);
        }
        self.connect().await?;
        let Some((connection, _)) = &self.connection else {
            return Err(StoreError::Closed);
        };
        let claims = self.claims_of(segments);
        let wait = self.shared.wait(connection, waits::SHORT);
        let settled = settle::settle(connection, self.owner, segments).await;
        drop(wait);
        let settled = match settled {
            Ok(settled) => settled,
            Err(error) => {
                // A transaction may be open on it.
                self.connection = None;
                self.shared.note(&error);
                return Err(error);
            }
        };
        let Some(claim) = settled.claim else {
            return Ok(segments.iter().map(|&id| (id, End::Fenced)).collect());
        };
        self.owner.claim = claim;
        self.shared.lock().claims.insert(claim as i64);
        self.refuse_lost(&settled.tails)?;
        let mut told = self.shared.lock();
        let mut ends = Vec::new();
        for &id in segments {
            if settled.foreign.contains(&id) {
                ends.push((id, End::Fenced));
                if let (Some(_), Some(claim)) = (&self.options.member, claims.get(&id)) {
                    told.segments.forget_claim(id, *claim);
                }
                continue;
            }
            let tail = settled.tails.get(&id).copied();
            ends.push((id, tail.map_or(End::Absent, |tail| tail.end())));
            told.segments.decide(id, claim, tail);
            if tail.is_some_and(|tail| tail.is_removed) {
                let _ = self.saver.send(Save::Clear(id));
            }
        }
        Ok(ends)
    }

    /// Ends the ownership in order. All checkpoints have ended.
    pub async fn close(mut self, closing: Closing) {
        let ended = self.end(closing.is_clean).await;
        self.shared.stop(&StoreError::Closed);
        // The caller of close may be gone.
        let _ = closing.closed.send(ended);
    }

    async fn end(&mut self, is_clean: bool) -> Result<(), StoreError> {
        if let Some(why) = self.shared.stopped() {
            return Err(why);
        }
        if !is_clean {
            return Ok(());
        }
        self.connect().await?;
        let Some((connection, _)) = &self.connection else {
            return Err(StoreError::Closed);
        };
        let ((ids, heads), claims, doubts) = {
            let told = self.shared.lock();
            let claims: Vec<i64> = told.claims.iter().copied().collect();
            let doubts: Vec<i64> = told.doubts.iter().copied().collect();
            (told.segments.heads(), claims, doubts)
        };
        let epoch = self.owner.epoch as i64;
        let columns: [&(dyn ToSql + Sync); 5] = [&epoch, &ids, &heads, &claims, &doubts];
        // Nobody breaks the connection any more.
        let ended = connection.soon(connection.execute(END, &columns)).await?;
        if ended > 0 {
            return Ok(());
        }
        let columns: [&(dyn ToSql + Sync); 4] = [&epoch, &ids, &claims, &doubts];
        let unread = connection.soon(connection.rows(UNREAD, &columns)).await?;
        Err(StoreError::Io(match unread.first() {
            Some(row) => format!(
                "segment {} is this server's, and this server could not read it; its next owner \
                 looks at what it has",
                row.get::<_, i64>(0)
            ),
            None => "the database lacks records that were written to it, or the server's own row: \
                     it was started again or replaced meanwhile; the next start sees what is there"
                .to_string(),
        }))
    }

    /// Lets the saver end.
    pub fn let_saver_go(&mut self) {
        self.saver = unbounded_channel().0;
    }
}

fn ids(batch: &Batch) -> Vec<u64> {
    batch.changes.keys().copied().collect()
}

/// The end of a transaction.
enum Ended {
    As(Result<(), StoreError>),
    /// It was rolled back, and a part of its groups may succeed alone.
    NotTogether(StoreError),
}
