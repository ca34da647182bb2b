//! The thread that writes checkpoints, so that a large one does not hold up the log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;

use bytes::Bytes;
use interweave_wire::protocol::CheckpointHead;

use crate::catalogue::{Catalogue, Entry, State};
use crate::checkpoint;
use crate::embedded::SyncFn;
use crate::files::{self, checkpoint_name, failed};
use crate::owner::Owner;
use crate::panics;
use crate::status::Status;
use crate::store::Done;
use crate::writer::Message;
use crate::StoreError;

pub enum Job {
    Save {
        head: Box<CheckpointHead>,
        diff: Bytes,
        done: Done,
    },
    /// The segment was removed, durably.
    Forget { segment_id: u64 },
    /// The log's witness is to be brought to the disk; nobody waits for it.
    SyncWitness { file: File },
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

/// The writer's end of the saver.
pub struct SaverThread {
    running: Option<(Sender<Job>, JoinHandle<()>)>,
}

impl SaverThread {
    pub fn start(saver: Saver, jobs: Sender<Job>) -> io::Result<SaverThread> {
        let thread = std::thread::Builder::new()
            .name("iw-checkpoint".to_string())
            .spawn(move || saver.run())?;
        Ok(SaverThread {
            running: Some((jobs, thread)),
        })
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
        if let Some((jobs, thread)) = self.running.take() {
            drop(jobs);
            // a panic has been reported already; what was not saved stays in the log
            let _ = thread.join();
        }
    }
}

pub struct Saver {
    pub dir: PathBuf,
    pub owner: Arc<Owner>,
    pub catalogue: Catalogue,
    /// The version of each segment's checkpoint.
    pub newest: BTreeMap<u64, u64>,
    /// Removed segments that could not be forgotten, mostly for lack of space: to be tried again.
    pub to_forget: Vec<u64>,
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
        while let Ok(job) = self.jobs.recv() {
            let mut next = Some(job);
            while let Some(job) = next.take() {
                match job {
                    Job::Forget { segment_id } => self.to_forget.push(segment_id),
                    Job::Save { head, diff, done } => {
                        self.save_and_tell(&head, &diff, done);
                        break;
                    }
                    Job::SyncWitness { file } => {
                        // an earlier state of the witness is true as well
                        let _ = file.sync_data();
                    }
                }
                // what waits is noted together
                next = self.jobs.try_recv().ok();
            }
            self.guarded(Self::forget_all);
        }
    }

    /// After a panic the thread lives on: without it no checkpoint would ever be made again, and
    /// the log would grow. The catalogue is then written anew by its next change.
    fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        if let Err(text) = panics::caught(|| work(self)) {
            self.status.error(&given_up(text));
        }
    }

    fn save_and_tell(&mut self, head: &CheckpointHead, diff: &[u8], done: Done) {
        let saved = Saved {
            segment_id: head.segment_id,
            parent: head.parent,
            version: head.at.number,
            diff_bytes: head.diff_bytes,
            result: panics::caught(|| self.save(head, diff))
                .unwrap_or_else(|text| Err(given_up(text))),
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
        let segment_id = head.segment_id;
        let path = self.dir.join(checkpoint_name(segment_id, head.at.number));
        match checkpoint::write(&self.dir, head, diff, &self.owner, &self.sync) {
            Ok(true) => {}
            Ok(false) => return self.owner.check(),
            Err(error) => return Err(failed("writing", &path, &error)),
        }
        let entry = Entry {
            state: State::Checkpoint(head.at.number),
            path: head.path.clone(),
        };
        // an older entry does no harm: the catalogue is made right at the next start
        if let Err(error) = self.catalogue.change(vec![(segment_id, Some(entry))], true) {
            self.status.error(&error);
        }
        let older = self.newest.insert(segment_id, head.at.number);
        match older.filter(|&version| version != head.at.number) {
            Some(version) => self.remove(segment_id, version),
            None => Ok(()),
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
        if !saved.is_empty() {
            files::sync_dir(&self.dir).map_err(|error| failed("syncing", &self.dir, &error))?;
        }
        for (segment_id, _) in saved {
            self.newest.remove(&segment_id);
        }
        Ok(())
    }

    fn remove(&self, segment_id: u64, version: u64) -> Result<(), StoreError> {
        let path = self.dir.join(checkpoint_name(segment_id, version));
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("removing", &path, &error))
            }
            _ => Ok(()),
        }
    }
}
