//! The one thread that writes the log. All groups that wait are written together and synced once
//! [LOG-1]; the answers keep the order of the calls.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use interweave_wire::protocol::{CheckpointHead, Durability, LogBody};

use crate::catalogue::{Catalogue, Entry, State};
use crate::checkpoint::{complete_head, MAGIC};
use crate::embedded::NowFn;
use crate::group::Group;
use crate::history::REMOVE;
use crate::index::Admission;
use crate::pieces;
use crate::saver::{Job, Saved, SaverThread, Waiting};
use crate::status::Status;
use crate::store::{Checkpoint, Done, End, Next, Record, Settled, Want};
use crate::tail::Tail;
use crate::StoreError;

/// Enough to make a sync worth while, little enough that nobody waits long.
const BATCH_BYTES: u64 = 16 << 20;
/// After so long without work the log's witness is brought to the disk [LOG-15].
const QUIET: Duration = Duration::from_secs(1);

pub enum Message {
    Append {
        group: Vec<Record>,
        durable: Durability,
        done: Done,
    },
    Checkpoint {
        checkpoint: Checkpoint,
        done: Done,
    },
    CheckpointInPieces {
        head: Box<CheckpointHead>,
        want: Want,
        done: Done,
    },
    Next {
        segment_id: u64,
        next: Next,
    },
    Saved(Saved),
    Forgotten {
        segment_id: u64,
    },
    CountLog {
        segment_id: u64,
        reply: SyncSender<u64>,
    },
    Settle {
        segments: Vec<u64>,
        settled: Settled,
    },
    Close {
        clean: bool,
        reply: SyncSender<Result<(), StoreError>>,
    },
}

impl Message {
    /// Answers a request with an error.
    pub fn refuse(self, error: &StoreError) {
        match self {
            Message::Append { done, .. }
            | Message::Checkpoint { done, .. }
            | Message::CheckpointInPieces { done, .. } => done(Err(error.clone())),
            Message::Settle { settled, .. } => settled(Err(error.clone())),
            // the callers hear that the other end of their channel is gone
            Message::CountLog { .. } | Message::Close { .. } => {}
            Message::Next { .. } | Message::Saved(_) | Message::Forgotten { .. } => {}
        }
    }
}

pub struct Writer {
    pub tail: Tail,
    pub status: Arc<Status>,
    pub catalogue: Catalogue,
    inbox: Receiver<Message>,
    /// The message before those in the inbox.
    first: Option<Message>,
    pub saver: SaverThread,
    now: NowFn,
    /// When the last message came.
    worked_at: Instant,
}

impl Writer {
    pub fn new(
        (tail, catalogue, saver): (Tail, Catalogue, SaverThread),
        status: Arc<Status>,
        inbox: Receiver<Message>,
        now: NowFn,
    ) -> Writer {
        Writer {
            tail,
            status,
            catalogue,
            inbox,
            first: None,
            saver,
            worked_at: now(),
            now,
        }
    }

    /// Works until it is told to close.
    pub fn run(&mut self) {
        loop {
            self.tail.try_again((self.now)());
            let message = self.first.take().or_else(|| self.receive());
            if message.is_some_and(|message| self.work(message)) {
                return;
            }
        }
    }

    /// Does what waits first, without waiting for more. False: nothing waits.
    pub fn turn(&mut self) -> bool {
        let now = (self.now)();
        self.tail.try_again(now);
        let message = self.first.take().or_else(|| self.inbox.try_recv().ok());
        let Some(message) = message else {
            if self.quiet_at().is_some_and(|at| at <= now) {
                self.sync_witness();
            }
            return false;
        };
        self.worked_at = now;
        self.work(message);
        true
    }

    /// When a turn has something to do although no message comes.
    pub fn next_at(&self) -> Option<Instant> {
        let next = [self.tail.next_trial(), self.quiet_at()];
        next.into_iter().flatten().min()
    }

    fn quiet_at(&self) -> Option<Instant> {
        let is_unsynced = self.tail.has_unsynced_witness();
        is_unsynced.then(|| self.worked_at + QUIET)
    }

    /// Does what the message asks. True: it was the last one.
    fn work(&mut self, message: Message) -> bool {
        match message {
            Message::Append {
                group,
                durable,
                done,
            } => {
                let groups = self.gather(Group::new(group, durable, done));
                self.commit(groups);
            }
            Message::Checkpoint { checkpoint, done } => self.checkpoint(checkpoint, done),
            Message::CheckpointInPieces { head, want, done } => self.begin(head, want, done),
            Message::Next { segment_id, next } => self.next(segment_id, next),
            Message::Saved(saved) => self.saved(saved),
            Message::Forgotten { segment_id } => self.forgotten(segment_id),
            Message::CountLog { segment_id, reply } => {
                // whoever asked may be gone
                let _ = reply.send(self.tail.index.log_bytes(segment_id));
            }
            Message::Settle { segments, settled } => settled(self.settle(&segments)),
            Message::Close { clean, reply } => {
                let _ = reply.send(self.close(clean));
                return true;
            }
        }
        false
    }

    /// After a panic, instead of `run`: nothing is written any more, and everybody is told so. The
    /// index and the file may be half changed; only the next start can tell.
    pub fn refuse(&mut self, error: &StoreError) {
        while let Ok(message) = self.inbox.recv() {
            match message {
                Message::Next { segment_id, .. } => self.next(segment_id, Next::Nothing),
                Message::Saved(saved) => (saved.done)(saved.result),
                Message::Close { reply, .. } => {
                    // whoever asked may open the store again: the lock must be free
                    self.saver.finish();
                    for message in self.inbox.try_iter() {
                        if let Message::Saved(saved) = message {
                            (saved.done)(saved.result);
                        }
                    }
                    let _ = reply.send(Err(error.clone()));
                    return;
                }
                request => request.refuse(error),
            }
        }
    }

    /// The next message; None when it is time for a trial, or nothing has come for a while.
    fn receive(&mut self) -> Option<Message> {
        let trial = self.tail.next_trial();
        let trial = trial.map(|at| at.saturating_duration_since((self.now)()));
        let quiet = self.tail.has_unsynced_witness().then_some(QUIET);
        let Some(wait) = trial.into_iter().chain(quiet).min() else {
            // the saver's thread and the store's handle have the other end: there
            // is always one more
            return self.inbox.recv().ok();
        };
        let message = self.inbox.recv_timeout(wait).ok();
        if message.is_none() && quiet == Some(wait) {
            self.sync_witness();
        }
        message
    }

    fn sync_witness(&mut self) {
        if let Some(file) = self.tail.take_unsynced_witness() {
            // should the saver have died, the system writes the file when it likes
            let _ = self.saver.send(Job::SyncWitness { file });
        }
    }

    /// The group and those that wait behind it; the first other message is the next one.
    fn gather(&mut self, first: Group) -> VecDeque<Group> {
        let mut bytes = first.bytes;
        let mut groups = VecDeque::from([first]);
        while bytes < BATCH_BYTES {
            match self.inbox.try_recv() {
                Ok(Message::Append {
                    group,
                    durable,
                    done,
                }) => {
                    let group = Group::new(group, durable, done);
                    bytes += group.bytes;
                    groups.push_back(group);
                }
                Ok(other) => {
                    self.first = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        groups
    }

    fn commit(&mut self, mut groups: VecDeque<Group>) {
        let mut admission = Admission::default();
        for group in groups.iter_mut() {
            let records = group.records.iter().map(|r| (r.segment_id, &r.body));
            if let Err(error) = self.tail.index.admit(&mut admission, records) {
                group.reject(error);
            }
        }
        while let Some(first) = groups.front() {
            let room = self.tail.room_for(first.bytes);
            let mut bytes = 0;
            let fits = |group: &&Group| {
                bytes += group.bytes;
                bytes <= room
            };
            let count = groups.iter().take_while(fits).count();
            self.commit_together(groups.drain(..count).collect());
        }
    }

    /// Writes groups that fit into one file, and answers them.
    fn commit_together(&mut self, groups: Vec<Group>) {
        let written = match groups.iter().all(|group| group.records.is_empty()) {
            true => Ok(()),
            false => self.tail.write(&groups, (self.now)()),
        };
        if let Err(error) = written {
            let (sound, rejected): (Vec<_>, Vec<_>) =
                groups.into_iter().partition(|group| group.verdict.is_ok());
            for group in rejected {
                (group.done)(group.verdict);
            }
            return self
                .tail
                .fail(sound.into_iter().map(|group| group.done), &error);
        }
        self.note_created(&groups);
        self.tell(&groups);
        for group in groups {
            let removed = removed_by(&group);
            (group.done)(group.verdict);
            for segment_id in removed {
                // should the saver have died, the next start does it
                let _ = self.saver.send(Job::Forget { segment_id });
            }
        }
    }

    /// Before anybody is answered, so that what was acknowledged has a name apart from the log when
    /// this process is killed. Not synced: the log has it as well, and at the next start the
    /// catalogue is made of the log.
    fn note_created(&self, groups: &[Group]) {
        let created: Vec<_> = groups.iter().flat_map(created_by).collect();
        if created.is_empty() {
            return;
        }
        if let Err(error) = self.catalogue.change(created, false) {
            self.status.error(&error);
        }
    }

    fn tell(&self, groups: &[Group]) {
        let mut told = self.status.lock();
        told.status.groups += groups.iter().filter(|group| group.verdict.is_ok()).count() as u64;
        told.status.log_bytes = self.tail.index.total_bytes();
        told.with_much_log = self.tail.index.with_much_log();
    }

    fn checkpoint(&mut self, checkpoint: Checkpoint, done: Done) {
        let job = match self.prepare(checkpoint) {
            Ok((head, diff)) => Job::Save(Waiting { head, diff, done }),
            Err(error) => return done(Err(error)),
        };
        if let Err(Job::Save(Waiting { done, .. })) = self.saver.send(job) {
            done(Err(StoreError::Closed));
        }
    }

    /// Begins a checkpoint in pieces.
    fn begin(&mut self, mut head: Box<CheckpointHead>, want: Want, done: Done) {
        if let Err(error) = self.complete(&mut head) {
            return done(Err(error));
        }
        head.magic = pieces::MAGIC;
        if let Err(Job::Begin { done, .. }) = self.saver.send(Job::Begin { head, want, done }) {
            done(Err(StoreError::Closed));
        }
    }

    /// A piece waits here for the log, so that a busy log slows a large checkpoint down.
    fn next(&mut self, segment_id: u64, next: Next) {
        // should the saver have died, its checkpoints were told
        let _ = self.saver.send(Job::Next { segment_id, next });
    }

    fn prepare(
        &mut self,
        checkpoint: Checkpoint,
    ) -> Result<(Box<CheckpointHead>, Bytes), StoreError> {
        let Checkpoint { mut head, diff } = checkpoint;
        self.complete(&mut head)?;
        head.magic = MAGIC;
        head.diff_bytes = diff.len() as u64;
        Ok((Box::new(head), diff))
    }

    /// Completes the head. The log is synced first, so that no checkpoint is ahead of it.
    fn complete(&mut self, head: &mut CheckpointHead) -> Result<(), StoreError> {
        let identity = self.tail.identity();
        complete_head(head, &identity, |head| {
            self.tail.sync()?;
            self.tail.index.place(head.segment_id, &head.at)
        })
    }

    /// Says where the segments end, and brings the whole log to the disk so that they stay there.
    /// REQUIRES: every append before was answered.
    fn settle(&mut self, segments: &[u64]) -> Result<Vec<(u64, End)>, StoreError> {
        self.tail.settle()?;
        let index = &self.tail.index;
        Ok(segments.iter().map(|&id| (id, index.end(id))).collect())
    }

    fn saved(&mut self, saved: Saved) {
        match &saved.result {
            Ok(()) => {
                self.tail.index.covered(&saved);
                let mut told = self.status.lock();
                told.status.checkpoints += 1;
                drop(told);
                self.tail.look_for_space((self.now)());
            }
            Err(error) => {
                self.status.error(error);
                let now = (self.now)();
                self.tail.postpone_checkpoint(saved.segment_id, now);
            }
        }
        (saved.done)(saved.result);
    }

    fn forgotten(&mut self, segment_id: u64) {
        self.tail.index.forget(segment_id);
        self.tail.look_for_space((self.now)());
    }

    /// Waits for the checkpoints that were asked for, then ends the log.
    fn close(&mut self, clean: bool) -> Result<(), StoreError> {
        self.saver.finish();
        while let Ok(message) = self.inbox.try_recv() {
            match message {
                Message::Saved(saved) => self.saved(saved),
                Message::Forgotten { segment_id } => self.forgotten(segment_id),
                // the handle says nothing after Close
                other => other.refuse(&StoreError::Closed),
            }
        }
        self.tail.close(clean, (self.now)())
    }
}

/// The catalogue's entries of segments that the group has created.
fn created_by(group: &Group) -> Vec<(u64, Option<Entry>)> {
    let alone = |id| group.records.iter().all(|record| record.segment_id == id);
    let entry = |record: &Record| {
        let LogBody::Create(create) = &record.body else {
            return None;
        };
        let state = State::Created {
            bytes: if alone(record.segment_id) {
                group.bytes
            } else {
                0
            },
            synced: group.sync,
        };
        let path = create.path.clone();
        Some((record.segment_id, Some(Entry { state, path })))
    };
    group.records.iter().filter_map(entry).collect()
}

fn removed_by(group: &Group) -> Vec<u64> {
    let removed = group.records.iter().filter(|record| record.body == REMOVE);
    removed.map(|record| record.segment_id).collect()
}
