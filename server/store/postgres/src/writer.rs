//! Appends and settles, in the order in which they are asked for, on one connection.

use crate::answer::{Answer, Ends};
use crate::batch::Batch;
use crate::checks;
use crate::connection::Connection;
use crate::outcome::{self, Outcome};
use crate::saver::Save;
use crate::schema::in_schema;
use crate::settle::{self, Seen};
use crate::shared::Shared;
use crate::target::Target;
use crate::transaction::{Appends, Owner};
use interweave_store::{End, Record, StoreError};
use interweave_wire::protocol::Durability;
use std::sync::mpsc::Sender;
use std::sync::Arc;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

/// So many groups at most are appended by one transaction.
const BATCH_GROUPS: usize = 512;

pub enum Job {
    Append(Append),
    Settle(Vec<u64>, Ends),
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
    target: Target,
    is_alone: bool,
    shared: Arc<Shared>,
    saver: UnboundedSender<Save>,
    owner: Owner,
    /// All epochs under which this owner may have claimed segments.
    claims: Vec<i64>,
    connection: Option<(Connection, Appends)>,
}

impl Writer {
    pub fn new(
        (target, is_alone): (Target, bool),
        shared: Arc<Shared>,
        saver: UnboundedSender<Save>,
        epoch: u64,
        connection: (Connection, Appends),
    ) -> Writer {
        Writer {
            target,
            is_alone,
            shared,
            saver,
            owner: Owner {
                epoch,
                claim: epoch,
            },
            claims: vec![epoch as i64],
            connection: Some(connection),
        }
    }

    /// Does what is asked, until the store is closed. Returns how it is to end; None: whoever could
    /// close it is gone.
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
                Job::Settle(segments, ends) => {
                    let settled = self.settle(&segments).await;
                    ends.give(settled);
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
        let mut batch = Batch::default();
        let mut taken: Vec<(Append, Result<(), StoreError>)> = Vec::new();
        for append in appends {
            if batch.is_full() {
                self.run(std::mem::take(&mut batch), std::mem::take(&mut taken))
                    .await;
            }
            let admitted = self.admit(&mut batch, &append);
            taken.push((append, admitted));
        }
        self.run(batch, taken).await;
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
        match self.transact(&batch).await {
            Ended::As(result) => {
                for (append, admitted) in taken {
                    self.answer(append.answer, admitted.and(result.clone()));
                }
            }
            Ended::NotTogether(result) if together <= 1 => {
                for (append, admitted) in taken {
                    self.answer(append.answer, admitted.and(Err(result.clone())));
                }
            }
            Ended::NotTogether(_) => {
                for (append, _) in taken {
                    let mut alone = Batch::default();
                    let result = match self.admit(&mut alone, &append) {
                        Ok(()) => match self.transact(&alone).await {
                            Ended::As(result) => result,
                            Ended::NotTogether(error) => Err(error),
                        },
                        Err(error) => Err(error),
                    };
                    self.answer(append.answer, result);
                }
            }
        }
    }

    fn answer(&self, answer: Answer, result: Result<(), StoreError>) {
        if let Err(error @ (StoreError::Fenced(_) | StoreError::Unknown(_))) = &result {
            self.shared.note(error);
        }
        answer.give(result);
    }

    /// Runs one transaction, and takes note of its outcome.
    async fn transact(&mut self, batch: &Batch) -> Ended {
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
        let outcome = appends.run(connection, self.owner, batch).await;
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
            Outcome::NotAsKnown => {
                let looked = settle::look(connection, self.owner, &ids(batch)).await;
                match looked {
                    Ok(seen) => self.not_as_known(batch, &seen),
                    Err(error) => Ended::As(Err(error)),
                }
            }
            Outcome::Unknown(text) => {
                let mut told = self.shared.lock();
                for (&id, change) in &batch.changes {
                    told.segments.doubt(id, change.uncovered.clone());
                }
                Ended::As(Err(StoreError::Unknown(text)))
            }
        }
    }

    fn kept(&self, batch: &Batch, took: std::time::Duration) {
        let mut told = self.shared.lock();
        for (&id, change) in &batch.changes {
            let records = change.uncovered.clone();
            told.segments.kept(id, change.claim, change.tail, records);
            if change.tail.is_removed {
                // The saver ends with this thread.
                let _ = self.saver.send(Save::Clear(id));
            }
        }
        let status = &mut told.status;
        status.full = None;
        status.groups += 1;
        status.syncs += u64::from(batch.waits);
        status.syncing += took;
    }

    /// Says why the rows are not as they were known. Nothing of the batch is kept.
    fn not_as_known(&self, batch: &Batch, seen: &Seen) -> Ended {
        if !seen.is_owner {
            let fenced = StoreError::Fenced(format!(
                "it has claimed the schema {} at {}",
                self.target.schema,
                self.target.name()
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
            return Ended::NotTogether(StoreError::SegmentsFenced(fenced));
        }
        let is_behind = |id: &u64| {
            let head = seen.segments.get(id).map(|(_, head)| *head);
            was(id).is_some_and(|(_, was)| head.is_some_and(|head| head < was))
        };
        match ids(batch).into_iter().find(is_behind) {
            Some(id) => {
                let gone = StoreError::Damaged {
                    file: format!("the log of segment {id} in {}.log", self.target.schema),
                    offset: 0,
                    what: "records written before are gone: PostgreSQL has lost commits that did \
                           not wait for its disk; start the server again"
                        .to_string(),
                };
                self.shared.stop(&gone);
                Ended::As(Err(gone))
            }
            None => Ended::NotTogether(StoreError::Io(
                "the segment's row has changed; the append was rolled back".to_string(),
            )),
        }
    }

    /// Connects again where the connection broke.
    async fn connect(&mut self) -> Result<(), StoreError> {
        let is_open = |(connection, _): &(Connection, Appends)| !connection.is_closed();
        if self.connection.as_ref().is_some_and(is_open) {
            return Ok(());
        }
        self.connection = None;
        let connection = Connection::open(&self.target).await?;
        checks::check(&connection, self.is_alone).await?;
        let appends = Appends::prepare(&connection).await?;
        self.connection = Some((connection, appends));
        Ok(())
    }

    async fn settle(&mut self, segments: &[u64]) -> Result<Vec<(u64, End)>, StoreError> {
        if let Some(stopped @ StoreError::Fenced(_)) = self.shared.stopped() {
            return Err(stopped);
        }
        self.connect().await?;
        let Some((connection, _)) = &self.connection else {
            return Err(StoreError::Closed);
        };
        let settled = settle::settle(connection, self.owner, &mut self.claims, segments).await;
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
        let mut told = self.shared.lock();
        let mut ends = Vec::new();
        for &id in segments {
            if settled.foreign.contains(&id) {
                ends.push((id, End::Fenced));
                continue;
            }
            let tail = settled.tails.get(&id).copied();
            ends.push((id, tail.map_or(End::Absent, |tail| tail.end())));
            told.segments.decide(id, claim, tail);
        }
        Ok(ends)
    }

    /// Ends the ownership in order. All checkpoints have ended.
    pub async fn close(mut self, closing: Closing) {
        let ended = self.end(closing.is_clean).await;
        self.shared.stop(&StoreError::Closed);
        // Whoever asked may be gone.
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
        let end = in_schema(
            "UPDATE {s}.owner SET is_clean = true WHERE epoch = $1",
            &connection.schema,
        );
        let epoch = self.owner.epoch as i64;
        let ended = connection.client.execute(&end, &[&epoch]).await;
        ended.map(drop).map_err(|error| outcome::failed(&error))
    }

    /// Lets the saver end.
    pub fn let_saver_go(&mut self) {
        self.saver = unbounded_channel().0;
    }
}

fn ids(batch: &Batch) -> Vec<u64> {
    batch.changes.keys().copied().collect()
}

/// How a transaction ended.
enum Ended {
    As(Result<(), StoreError>),
    /// It was rolled back, and a part of its groups may succeed alone.
    NotTogether(StoreError),
}
