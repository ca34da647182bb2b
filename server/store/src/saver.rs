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

use crate::catalogue::{Catalogue, Entry};
use crate::checkpoint;
use crate::files::{self, checkpoint_name, failed};
use crate::owner::Owner;
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
    Settle { file: File },
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
    pub unforgotten: Vec<u64>,
    pub status: Arc<Status>,
    pub jobs: Receiver<Job>,
    pub writer: Sender<Message>,
}

impl Saver {
    /// Works until nobody has jobs any more.
    fn run(mut self) {
        while let Ok(job) = self.jobs.recv() {
            if let Job::Save { head, diff, done } = job {
                let saved = Saved {
                    segment_id: head.segment_id,
                    parent: head.parent,
                    version: head.at.number,
                    diff_bytes: head.diff_bytes,
                    result: self.save(&head, &diff),
                    done,
                };
                if self.writer.send(Message::Saved(saved)).is_err() {
                    return;
                }
            } else if let Job::Forget { segment_id } = job {
                self.unforgotten.push(segment_id);
            } else if let Job::Settle { file } = job {
                // an earlier state of the witness is true as well
                let _ = file.sync_data();
            }
            self.forget_all();
        }
    }

    /// What fails is tried again after the next job, or at the next start: its REMOVE record stays.
    fn forget_all(&mut self) {
        for segment_id in std::mem::take(&mut self.unforgotten) {
            match self.forget(segment_id) {
                // should the writer have died, nobody is left to be told
                Ok(()) => drop(self.writer.send(Message::Forgotten { segment_id })),
                Err(error) => {
                    self.status.error(&error);
                    self.unforgotten.push(segment_id);
                }
            }
        }
    }

    fn save(&mut self, head: &CheckpointHead, diff: &[u8]) -> Result<(), StoreError> {
        let segment_id = head.segment_id;
        let path = self.dir.join(checkpoint_name(segment_id, head.at.number));
        match checkpoint::write(&self.dir, head, diff, &self.owner) {
            Ok(true) => {}
            Ok(false) => return self.owner.check(),
            Err(error) => return Err(failed("writing", &path, &error)),
        }
        let entry = Entry {
            version: head.at.number,
            path: head.path.clone(),
        };
        // an older entry is no harm: the catalogue is made right at the next start
        if let Err(error) = self.catalogue.set(segment_id, &entry) {
            self.status.error(&catalogue_failed(&error));
        }
        let older = self.newest.insert(segment_id, head.at.number);
        match older.filter(|&version| version != head.at.number) {
            Some(version) => self.remove(segment_id, version),
            None => Ok(()),
        }
    }

    fn forget(&mut self, segment_id: u64) -> Result<(), StoreError> {
        self.owner.check()?;
        if let Some(&version) = self.newest.get(&segment_id) {
            self.catalogue
                .remove(segment_id)
                .map_err(|error| catalogue_failed(&error))?;
            self.remove(segment_id, version)?;
            files::sync_dir(&self.dir).map_err(|error| failed("syncing", &self.dir, &error))?;
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

pub fn catalogue_failed(error: &redb::Error) -> StoreError {
    StoreError::Io(format!("the catalogue: {error}"))
}
