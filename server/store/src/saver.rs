//! The thread that writes checkpoints, so that a large one does not hold up the log.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use bytes::Bytes;
use interweave_wire::protocol::CheckpointHead;

use crate::catalogue::{Catalogue, Entry, State};
use crate::checkpoint;
use crate::disk::{OpenFile, SharedDisk};
use crate::embedded::{NowFn, SyncFn};
use crate::files::{checkpoint_name, failed, pack_name};
use crate::owner::Owner;
use crate::pace;
use crate::pack::{self, Item, MOST_BYTES, MOST_ITEMS};
use crate::packs::Packs;
use crate::panics;
use crate::pieces::Writing;
use crate::status::Status;
use crate::store::{Done, Next, Piece, Want};
use crate::writer::Message;
use crate::StoreError;

pub enum Job {
    Save(Waiting),
    /// A checkpoint in pieces begins.
    Begin {
        head: Box<CheckpointHead>,
        want: Want,
        done: Done,
    },
    Next {
        segment_id: u64,
        next: Next,
    },
    /// The segment was removed, durably.
    Forget {
        segment_id: u64,
    },
    /// The log's witness is to be brought to the disk; nobody waits for it.
    SyncWitness {
        file: OpenFile,
    },
}

/// A checkpoint that is to be written.
pub struct Waiting {
    pub head: Box<CheckpointHead>,
    pub diff: Bytes,
    pub done: Done,
}

impl Waiting {
    fn is_small(&self) -> bool {
        pack::is_small(&self.head, &self.diff)
    }
}

/// A checkpoint that was tried.
pub struct Saved {
    pub segment_id: u64,
    pub parent: u32,
    pub version: u64,
    pub diff_bytes: u64,
    pub result: Result<(), StoreError>,
    pub done: Done,
}

/// A checkpoint in pieces that is being written.
pub struct Large {
    head: Box<CheckpointHead>,
    writing: Writing,
    want: Want,
    done: Done,
    /// The next piece is wanted then; None: it has been asked for.
    wanted_at: Option<Instant>,
    /// How often the log had been synced when the checkpoint last was.
    log_syncs: u64,
}

impl Large {
    /// The file is gone before anybody is told.
    fn leave_no_file(self) -> Done {
        drop(self.writing);
        self.done
    }
}

/// The worker of the checkpoints: a thread, or the caller's turns.
enum Working {
    Thread(JoinHandle<()>),
    InTurns(Box<Saver>),
}

/// The writer's end of the saver.
pub struct SaverThread {
    running: Option<(Sender<Job>, Working)>,
}

impl SaverThread {
    pub fn start(saver: Saver, jobs: Sender<Job>) -> io::Result<SaverThread> {
        let thread = std::thread::Builder::new()
            .name("iw-checkpoint".to_string())
            .spawn(move || saver.run())?;
        Ok(SaverThread {
            running: Some((jobs, Working::Thread(thread))),
        })
    }

    /// Without a thread: the saver works in [`SaverThread::turn`] and at the end.
    pub fn in_turns(saver: Saver, jobs: Sender<Job>) -> SaverThread {
        SaverThread {
            running: Some((jobs, Working::InTurns(Box::new(saver)))),
        }
    }

    /// Does one job, if there is one and no thread does it. Returns whether there was one.
    pub fn turn(&mut self) -> bool {
        match &mut self.running {
            Some((_, Working::InTurns(saver))) => saver.turn(),
            _ => false,
        }
    }

    /// When a turn has something to do although no job comes.
    pub fn next_at(&self) -> Option<Instant> {
        match &self.running {
            Some((_, Working::InTurns(saver))) => saver.wanted_at(),
            _ => None,
        }
    }

    /// Gives the job back if there is no saver any more.
    pub fn send(&self, job: Job) -> Result<(), Job> {
        match &self.running {
            Some((jobs, _)) => jobs.send(job).map_err(|unsent| unsent.0),
            None => Err(job),
        }
    }

    /// Waits until all jobs are done.
    pub fn finish(&mut self) {
        match self.running.take() {
            Some((jobs, Working::Thread(thread))) => {
                drop(jobs);
                // a panic has been reported already; what was not saved stays in the log
                let _ = thread.join();
            }
            Some((jobs, Working::InTurns(saver))) => {
                drop(jobs);
                saver.run();
            }
            None => {}
        }
    }
}

pub struct Saver {
    pub disk: SharedDisk,
    pub owner: Arc<Owner>,
    pub catalogue: Catalogue,
    /// The version of each segment's checkpoint.
    pub newest: BTreeMap<u64, u64>,
    /// The checkpoints of small segments that were saved together.
    pub packs: Packs,
    /// Removed segments that could not be forgotten, mostly for lack of space: to be tried again.
    pub to_forget: Vec<u64>,
    /// The checkpoints in pieces, by segment.
    pub large: BTreeMap<u64, Large>,
    /// The job that comes before those that wait.
    pub next: Option<Job>,
    pub now: NowFn,
    pub status: Arc<Status>,
    pub jobs: Receiver<Job>,
    pub writer: Sender<Message>,
    /// Brings a checkpoint to the disk.
    pub sync: SyncFn,
}

fn given_up(panic: String) -> StoreError {
    StoreError::Io(format!("given up by an error of the server: {panic}"))
}

impl Saver {
    /// Works until nobody has jobs any more.
    fn run(mut self) {
        while let Some(job) = self.next.take().or_else(|| self.next_job()) {
            self.ask_for_due_pieces();
            self.work(job);
        }
        for large in std::mem::take(&mut self.large).into_values() {
            large.leave_no_file()(Err(StoreError::Closed));
        }
    }

    /// Does the next job without waiting for one. False: no job waits.
    fn turn(&mut self) -> bool {
        self.ask_for_due_pieces();
        let next = self.next.take().or_else(|| self.jobs.try_recv().ok());
        let has_next = next.is_some();
        if let Some(job) = next {
            self.work(job);
        }
        has_next
    }

    fn wanted_at(&self) -> Option<Instant> {
        let large = self.large.values();
        large.filter_map(|large| large.wanted_at).min()
    }

    fn work(&mut self, job: Job) {
        let is_checkpoint = matches!(job, Job::Save(_));
        match job {
            Job::Forget { segment_id } => {
                self.give_up(segment_id);
                self.to_forget.push(segment_id);
            }
            Job::Begin { head, want, done } => self.begin(head, want, done),
            Job::Next { segment_id, next } => self.next(segment_id, next),
            Job::Save(waiting) => self.next = self.save_waiting(waiting),
            Job::SyncWitness { file } => {
                // an earlier state of the witness is true as well
                let _ = file.sync_data();
            }
        }
        // what waits is noted together
        self.next = self.next.take().or_else(|| self.jobs.try_recv().ok());
        if is_checkpoint || self.next.is_none() {
            self.guarded(Self::forget_all);
        }
    }

    /// The next job. Meanwhile pieces are asked for when their time has come. None: the end.
    fn next_job(&mut self) -> Option<Job> {
        loop {
            let waiting = self.large.values_mut();
            let wanted = waiting.filter_map(|large| Some((large.wanted_at?, large)));
            let Some((at, large)) = wanted.min_by_key(|(at, _)| *at) else {
                return self.jobs.recv().ok();
            };
            let wait = at.saturating_duration_since((self.now)());
            match self.jobs.recv_timeout(wait) {
                Ok(job) => return Some(job),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    large.wanted_at = None;
                    (large.want)();
                }
            }
        }
    }

    /// While jobs wait, a large checkpoint still has its turns.
    fn ask_for_due_pieces(&mut self) {
        if self.large.is_empty() {
            return;
        }
        let now = (self.now)();
        for large in self.large.values_mut() {
            if large.wanted_at.is_some_and(|at| at <= now) {
                large.wanted_at = None;
                (large.want)();
            }
        }
    }

    fn begin(&mut self, head: Box<CheckpointHead>, want: Want, done: Done) {
        let begun = panics::caught(|| Writing::begin(&self.disk, &head));
        let begun = begun.map_err(given_up).and_then(|begun| {
            begun.map_err(|error| failed("writing", &self.checkpoint_path(&head), &error))
        });
        match begun {
            Ok(writing) => {
                want();
                let large = Large {
                    writing,
                    want,
                    done,
                    wanted_at: None,
                    log_syncs: self.status.lock().status.syncs,
                    head,
                };
                self.large.insert(large.head.segment_id, large);
            }
            Err(error) => self.tell(&head, 0, Err(error), done),
        }
    }

    fn next(&mut self, segment_id: u64, next: Next) {
        // it may have failed, or its segment is gone
        let Some(mut large) = self.large.remove(&segment_id) else {
            return;
        };
        match next {
            Next::Nothing => large.leave_no_file()(Ok(())),
            Next::Piece(piece) => {
                match panics::caught(|| self.add(&mut large, &piece)) {
                    Ok(Ok(())) => drop(self.large.insert(segment_id, large)),
                    Ok(Err(error)) => {
                        let error = failed("writing", &self.checkpoint_path(&large.head), &error);
                        self.failed(large, error);
                    }
                    Err(text) => self.failed(large, given_up(text)),
                };
            }
            Next::Last(piece) => {
                let bytes = large.writing.bytes() + piece.diff.len() as u64;
                let (head, writing) = (&large.head, large.writing);
                let finished = panics::caught(|| self.finish(head, writing, &piece));
                let result = finished.unwrap_or_else(|text| Err(given_up(text)));
                self.tell(head, bytes, result, large.done);
            }
        }
    }

    /// Writes a piece and asks for the next, at once or later.
    fn add(&mut self, large: &mut Large, piece: &Piece) -> io::Result<()> {
        large.writing.add(piece)?;
        let bytes = large.writing.unsynced();
        if bytes < pace::STEP_BYTES {
            (large.want)();
            return Ok(());
        }
        let begin = (self.now)();
        large.writing.sync(&self.sync)?;
        let end = (self.now)();
        let log_syncs = self.status.lock().status.syncs;
        let log_is_busy = std::mem::replace(&mut large.log_syncs, log_syncs) < log_syncs;
        match pace::pause(end.duration_since(begin), bytes, log_is_busy) {
            Some(pause) => large.wanted_at = Some(end + pause),
            None => (large.want)(),
        }
        Ok(())
    }

    fn finish(
        &mut self,
        head: &CheckpointHead,
        mut writing: Writing,
        last: &Piece,
    ) -> Result<(), StoreError> {
        let finished = writing
            .add(last)
            .and_then(|()| writing.finish(&self.owner, &self.sync));
        match finished {
            Ok(true) => self.has_name(head),
            Ok(false) => self.owner.check(),
            Err(error) => Err(failed("writing", &self.checkpoint_path(head), &error)),
        }
    }

    /// A checkpoint of the segment that is under way is not wanted any more.
    fn give_up(&mut self, segment_id: u64) {
        if let Some(large) = self.large.remove(&segment_id) {
            large.leave_no_file()(Ok(()));
        }
    }

    fn failed(&self, large: Large, error: StoreError) {
        let head = large.head.clone();
        self.tell(&head, 0, Err(error), large.leave_no_file());
    }

    fn checkpoint_path(&self, head: &CheckpointHead) -> PathBuf {
        let name = checkpoint_name(head.segment_id, head.at.number);
        self.disk.path().join(name)
    }

    /// Saves the segment, and with it the small ones that wait behind it if it is small. Returns
    /// the first job that is not done so.
    fn save_waiting(&mut self, first: Waiting) -> Option<Job> {
        let mut bytes = first.diff.len();
        let mut rest = None;
        let mut all = vec![first];
        while all[0].is_small() && all.len() < MOST_ITEMS && bytes < MOST_BYTES {
            let has = |id| all.iter().any(|other| other.head.segment_id == id);
            match self.jobs.try_recv() {
                Ok(Job::Save(one)) if one.is_small() && !has(one.head.segment_id) => {
                    bytes += one.diff.len();
                    all.push(one);
                }
                other => {
                    rest = other.ok();
                    break;
                }
            }
        }
        self.save_and_tell(all);
        rest
    }

    /// After a panic the thread lives on: without it no checkpoint would ever be made again, and
    /// the log would grow. The catalogue is then written anew by its next change.
    fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        if let Err(text) = panics::caught(|| work(self)) {
            self.status.error(&given_up(text));
        }
    }

    fn save_and_tell(&mut self, all: Vec<Waiting>) {
        if all.len() == 1 {
            return all
                .into_iter()
                .for_each(|one| self.save_alone_and_tell(one));
        }
        let saved = panics::caught(|| self.save_together(&all));
        match saved.unwrap_or_else(|text| Err(given_up(text))) {
            // Each file by itself takes little space, and frees the file of an older checkpoint.
            Err(StoreError::Full(_)) => all
                .into_iter()
                .for_each(|one| self.save_alone_and_tell(one)),
            result => {
                for Waiting { head, done, .. } in all {
                    self.tell(&head, head.diff_bytes, result.clone(), done);
                }
            }
        }
    }

    fn save_alone_and_tell(&mut self, one: Waiting) {
        let saved = panics::caught(|| self.save(&one.head, &one.diff));
        let result = saved.unwrap_or_else(|text| Err(given_up(text)));
        self.tell(&one.head, one.head.diff_bytes, result, one.done);
    }

    fn tell(
        &self,
        head: &CheckpointHead,
        diff_bytes: u64,
        result: Result<(), StoreError>,
        done: Done,
    ) {
        let saved = Saved {
            segment_id: head.segment_id,
            parent: head.parent,
            version: head.at.number,
            diff_bytes,
            result,
            done,
        };
        // should the writer have died, nobody is left to be told
        drop(self.writer.send(Message::Saved(saved)));
    }

    /// A failure is tried again after the next job, or at the next start: the REMOVE record stays.
    fn forget_all(&mut self) {
        let to_forget = std::mem::take(&mut self.to_forget);
        if to_forget.is_empty() {
            return;
        }
        match self.forget(&to_forget) {
            Ok(()) => {
                for segment_id in to_forget {
                    // as above
                    drop(self.writer.send(Message::Forgotten { segment_id }));
                }
            }
            Err(error) => {
                self.status.error(&error);
                self.to_forget = to_forget;
            }
        }
    }

    fn save(&mut self, head: &CheckpointHead, diff: &[u8]) -> Result<(), StoreError> {
        match checkpoint::write(&self.disk, head, diff, &self.owner, &self.sync) {
            Ok(true) => self.has_name(head),
            Ok(false) => self.owner.check(),
            Err(error) => Err(failed("writing", &self.checkpoint_path(head), &error)),
        }
    }

    /// The checkpoint lasts: the catalogue is told, and the older one goes.
    fn has_name(&mut self, head: &CheckpointHead) -> Result<(), StoreError> {
        let segment_id = head.segment_id;
        self.list([head].into_iter());
        let older = self.newest.insert(segment_id, head.at.number);
        if self.packs.has(segment_id) {
            return self.packs.replaced(segment_id);
        }
        match older.filter(|&version| version != head.at.number) {
            Some(version) => self.remove(segment_id, version),
            None => Ok(()),
        }
    }

    /// Saves several small segments in one pack [LOG-19].
    fn save_together(&mut self, all: &[Waiting]) -> Result<(), StoreError> {
        let items = all.iter().map(|w| checkpoint::to_item(&w.head, &w.diff));
        let mut items: Vec<Item> = items.collect();
        self.packs.carry(&mut items);
        let number = self.packs.next_number();
        match pack::write(&self.disk, number, &items, (&self.owner, &self.sync)) {
            Ok(true) => {}
            Ok(false) => return self.owner.check(),
            Err(error) => {
                let path = self.disk.path().join(pack_name(number));
                return Err(failed("writing", &path, &error));
            }
        }
        self.list(all.iter().map(|waiting| &*waiting.head));
        let mut in_files = Vec::new();
        for Waiting { head, .. } in all {
            let older = self.newest.insert(head.segment_id, head.at.number);
            let older = older.filter(|_| !self.packs.has(head.segment_id));
            in_files.extend(older.map(|version| (head.segment_id, version)));
        }
        self.packs.added(number, &items)?;
        in_files
            .into_iter()
            .try_for_each(|(segment_id, version)| self.remove(segment_id, version))
    }

    /// Tells the catalogue of checkpoints that last.
    fn list<'a>(&self, heads: impl Iterator<Item = &'a CheckpointHead>) {
        let entry = |head: &CheckpointHead| Entry {
            state: State::Checkpoint(head.at.number),
            path: head.path.clone(),
        };
        let changes = heads.map(|head| (head.segment_id, Some(entry(head))));
        // an older entry does no harm: the catalogue is made right at the next start
        if let Err(error) = self.catalogue.change(changes.collect(), true) {
            self.status.error(&error);
        }
    }

    /// The catalogue first, and on the disk: a segment of which only its line is left is damaged.
    fn forget(&mut self, segments: &[u64]) -> Result<(), StoreError> {
        self.owner.check()?;
        let changes = segments.iter().map(|&segment_id| (segment_id, None));
        self.catalogue.change(changes.collect(), true)?;
        let saved = segments
            .iter()
            .filter_map(|id| self.newest.get_key_value(id));
        let saved: Vec<(u64, u64)> = saved.map(|(&id, &version)| (id, version)).collect();
        for &(segment_id, version) in &saved {
            self.remove(segment_id, version)?;
        }
        let parts = (&*self.owner, &self.sync);
        let disk = &self.disk;
        let rewrite = |number, items: &[Item]| pack::write(disk, number, items, parts);
        self.packs.forget(segments, &rewrite)?;
        let synced = self.disk.sync();
        synced.map_err(|error| failed("syncing", self.disk.path(), &error))?;
        for (segment_id, _) in saved {
            self.newest.remove(&segment_id);
        }
        Ok(())
    }

    fn remove(&self, segment_id: u64, version: u64) -> Result<(), StoreError> {
        let name = checkpoint_name(segment_id, version);
        match self.disk.remove(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("removing", &self.disk.path().join(name), &error))
            }
            _ => Ok(()),
        }
    }
}
