//! The store in a directory (spec/format/server-log.md): opening it, and the handle to its threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::mpsc::{channel, sync_channel, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use interweave_wire::protocol::{CheckpointHead, Durability};

use crate::catalogue::{self, Catalogue, Entry, Listed};
use crate::damage::Damage;
use crate::files::{self, checkpoint_name, failed};
use crate::history::History;
use crate::identity::Identity;
use crate::index::Index;
use crate::log::Log;
use crate::owner::{Lock, Owner};
use crate::pack;
use crate::packs::Packs;
use crate::panics;
use crate::record::FILE_HEAD_BYTES;
use crate::recovery::{read_store, refuse_other_formats, Found};
use crate::saver::{Saver, SaverThread};
use crate::scan::read_head;
use crate::space::{self, Space};
use crate::status::Status;
use crate::store::{
    Checkpoint, Done, Next, Record, RecoveredSegment, SegmentStore, StoreStatus, Want,
};
use crate::tail::{Parts, Tail};
use crate::writer::{Message, Writer};
use crate::StoreError;

/// How a log file is brought to the disk.
pub type SyncFn = Arc<dyn Fn(&File) -> io::Result<()> + Send + Sync>;
/// A clock.
pub type NowFn = Arc<dyn Fn() -> Instant + Send + Sync>;

#[derive(Clone)]
pub struct Options {
    /// How large a log file is made.
    pub log_file_bytes: u64,
    /// How often a store that is full looks for space.
    pub trial_interval: Duration,
    /// fdatasync, unless a test wants to see or fail it.
    pub sync: SyncFn,
    /// How a checkpoint is: fsync.
    pub sync_checkpoint: SyncFn,
    /// The monotonic clock, unless a test makes the time.
    pub now: NowFn,
    /// Of a store that has none yet; None: random ones.
    pub identity: Option<Identity>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            log_file_bytes: 64 << 20,
            trial_interval: Duration::from_secs(1),
            sync: Arc::new(|file| file.sync_data()),
            sync_checkpoint: Arc::new(|file| file.sync_all()),
            now: Arc::new(Instant::now),
            identity: None,
        }
    }
}

/// A store that this process owns. Dropping it ends it as a crash would, but for what was asked
/// before: that is done.
#[derive(Debug)]
pub struct EmbeddedStore {
    epoch: u64,
    identity: Identity,
    status: Arc<Status>,
    writer: Option<(Sender<Message>, JoinHandle<()>)>,
}

impl EmbeddedStore {
    /// Takes the store over, makes it if it does not exist, and returns its segments.
    pub fn open(dir: &Path, options: Options) -> Result<(Self, Vec<RecoveredSegment>), StoreError> {
        if dir.join(files::BACKUP).exists() {
            let text = format!(
                "{} is a backup; interweave restore makes a store of it",
                dir.display()
            );
            return Err(StoreError::Io(text));
        }
        files::make_dir(dir).map_err(|error| failed("making", dir, &error))?;
        refuse_other_data(dir)?;
        Self::open_any(dir, options)
    }

    /// Opens also what is still marked as a backup.
    pub(crate) fn open_any(
        dir: &Path,
        options: Options,
    ) -> Result<(Self, Vec<RecoveredSegment>), StoreError> {
        let lock = Lock::take(dir)?;
        refuse_other_formats(dir)?;
        files::restrict_all(dir)
            .and_then(|()| files::remove_temporary(dir))
            .and_then(|()| space::use_reserve(dir))
            .map_err(|error| failed("cleaning", dir, &error))?;
        let seen = largest_epoch(dir).map_err(|error| failed("reading", dir, &error))?;
        let owner = Arc::new(Owner::begin(dir, lock, seen)?);
        let listed = catalogue::read(dir);
        let found = read_store(dir, &listed, true)?;
        let status = Arc::new(Status::default());
        let space = Space::new(dir, options.log_file_bytes);
        let identity = found.identity.or(options.identity);
        let identity = identity.unwrap_or_else(Identity::random);
        let (packs, to_forget) = remove_unneeded(dir, &found, &owner, &options.sync_checkpoint)?;
        let log = begin_log(dir, &found, &owner, (&options, &space, identity), &status)?;
        let catalogue = begin_catalogue(dir, &owner, (&found, &listed), &status);
        forget_witnesses(dir, &found);
        tell_losses(&found, &status);
        space.keep_reserve();
        let parts = (
            owner,
            (catalogue, packs, to_forget),
            status,
            (space, identity),
        );
        let store = start(dir, &options, parts, (&found, log))?;
        Ok((store, recovered(found, &listed.entries)))
    }

    /// Asks how many bytes of log the segment has since its last checkpoint, after everything that
    /// was asked before.
    pub fn log_bytes(&self, segment_id: u64) -> u64 {
        let (reply, answer) = sync_channel(1);
        self.send(Message::CountLog { segment_id, reply });
        answer.recv().unwrap_or(0)
    }

    fn send(&self, message: Message) {
        let unsent = match &self.writer {
            Some((writer, _)) => writer.send(message).map_err(|unsent| unsent.0),
            None => Err(message),
        };
        if let Err(Some(done)) = unsent.map_err(Message::into_done) {
            done(Err(self.stopped().unwrap_or(StoreError::Closed)));
        }
    }

    fn end(&mut self, clean: bool) -> Result<(), StoreError> {
        let Some((writer, thread)) = self.writer.take() else {
            return Err(StoreError::Closed);
        };
        let (reply, answer) = sync_channel(1);
        // should the writer have died, there is no answer
        let _ = writer.send(Message::Close { clean, reply });
        let ended = answer.recv();
        // a panic is caught, and told in the status
        let _ = thread.join();
        ended.unwrap_or_else(|_| Err(self.stopped().unwrap_or(StoreError::Closed)))
    }
}

impl SegmentStore for EmbeddedStore {
    fn owner_epoch(&self) -> u64 {
        self.epoch
    }

    fn identity(&self) -> Identity {
        self.identity
    }

    fn append(&self, group: Vec<Record>, durable: Durability, done: Done) {
        self.send(Message::Append {
            group,
            durable,
            done,
        });
    }

    fn checkpoint(&self, checkpoint: Checkpoint, done: Done) {
        self.send(Message::Checkpoint { checkpoint, done });
    }

    fn checkpoint_in_pieces(&self, head: CheckpointHead, want: Want, done: Done) {
        let head = Box::new(head);
        self.send(Message::CheckpointInPieces { head, want, done });
    }

    fn next(&self, segment_id: u64, next: Next) {
        self.send(Message::Next { segment_id, next });
    }

    fn overdue(&self) -> Vec<u64> {
        self.status.lock().overdue.clone()
    }

    fn with_much_log(&self) -> Vec<(u64, u64)> {
        self.status.lock().with_much_log.clone()
    }

    fn is_in_need(&self) -> bool {
        !self.status.lock().overdue.is_empty()
    }

    fn status(&self) -> StoreStatus {
        self.status.lock().status.clone()
    }

    fn stopped(&self) -> Option<StoreError> {
        self.status.lock().status.stopped.clone()
    }

    fn close(mut self: Box<Self>, clean: bool) -> Result<(), StoreError> {
        self.end(clean)
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        if self.writer.is_some() {
            // nobody is left to be told
            let _ = self.end(false);
        }
    }
}

fn largest_epoch(dir: &Path) -> io::Result<u64> {
    let mut largest = 0;
    for name in files::list(dir)? {
        if files::log_first(&name).is_some() {
            let head = read_head(&File::open(dir.join(name))?)?;
            largest = largest.max(head.map_or(0, |head| head.epoch));
        }
    }
    Ok(largest)
}

/// A directory with files and none of a store's is somebody else's.
fn refuse_other_data(dir: &Path) -> Result<(), StoreError> {
    let names = files::list(dir).map_err(|error| failed("listing", dir, &error))?;
    let ours = [
        files::LOCK,
        files::OWNER,
        files::CATALOGUE,
        files::OLD_CATALOGUE,
        files::RESERVE,
    ];
    let is_ours = names
        .iter()
        .any(|name| ours.contains(&name.as_str()) || files::log_first(name).is_some());
    let other = names
        .iter()
        .find(|name| !name.starts_with('.') && *name != "lost+found");
    match other {
        Some(name) if !is_ours => Err(StoreError::Io(format!(
            "{} holds other files ({name}) and no store; choose a directory that is empty or new",
            dir.display()
        ))),
        _ => Ok(()),
    }
}

/// Cuts the torn end of the newest log and continues in a new file. If the disk has no space for
/// one, the new file has no room for records, and the error is returned with it.
fn begin_log(
    dir: &Path,
    found: &Found,
    owner: &Owner,
    (options, space, identity): (&Options, &Space, Identity),
    status: &Arc<Status>,
) -> Result<(Log, Option<io::Error>), StoreError> {
    if let Some(newest) = found.files.last() {
        let path = dir.join(&newest.name);
        OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|file| file.set_len(newest.end).and_then(|()| file.sync_all()))
            .map_err(|error| failed("cutting the end of", &path, &error))?;
    }
    let counted = Arc::clone(status);
    let inner = Arc::clone(&options.sync);
    let now = Arc::clone(&options.now);
    let sync: SyncFn = Arc::new(move |file| {
        let begun = now();
        let done = inner(file);
        let mut told = counted.lock();
        told.status.syncs += 1;
        told.status.syncing += now().saturating_duration_since(begun);
        done
    });
    let numbers = (owner.epoch, found.next_number);
    let about = (numbers, identity);
    let create = |capacity| Log::create(dir, about, capacity, sync.clone(), || Ok(()));
    let mut lacking = space::none();
    for capacity in space.capacities(FILE_HEAD_BYTES, false) {
        match create(capacity) {
            Err(error) if space::is_lacking(&error) => lacking = error,
            outcome => {
                return outcome
                    .map(|log| (log, None))
                    .map_err(|error| failed("beginning a log file in", dir, &error))
            }
        }
    }
    create(FILE_HEAD_BYTES)
        .map(|log| (log, Some(lacking)))
        .map_err(|error| failed("beginning a log file in", dir, &error))
}

fn tell_losses(found: &Found, status: &Status) {
    let mut told = status.lock();
    told.status.torn_bytes = found.torn_bytes;
    told.status.lost_bytes = found.lost_bytes;
    told.status.damage = found.damage.iter().map(Damage::to_string).collect();
}

/// Removes the witnesses that say nothing: of log files that are gone and held no record. Others
/// stay as long as their log files, or tell the next start the same of a lost one [LOG-15].
fn forget_witnesses(dir: &Path, found: &Found) {
    let names = files::list(dir).unwrap_or_default();
    let logs: BTreeSet<u64> = found.files.iter().map(|file| file.first).collect();
    let is_needed = |first: u64| found.holed.contains(&first) || logs.contains(&first);
    let of = |name: &&String| files::witness_first(name).is_some_and(|first| !is_needed(first));
    for name in names.iter().filter(of) {
        // one that stays says what is true
        let _ = std::fs::remove_file(dir.join(name));
    }
}

/// Removes checkpoints of segments that are gone, and those that newer ones have replaced. Returns
/// the packs that are left, and the removed segments of which they still have items, because the
/// disk has no space to write these packs again.
fn remove_unneeded(
    dir: &Path,
    found: &Found,
    owner: &Owner,
    sync: &SyncFn,
) -> Result<(Packs, Vec<u64>), StoreError> {
    let gone = || {
        let all = found.histories.iter();
        all.filter(|(_, history)| history.removed)
    };
    // An owner that is fenced only now may still name a pack: no two owners use the same number.
    let last_pack = found.last_pack.max(owner.epoch << 32);
    let mut packs = Packs::new(dir, &found.packs, found.packed.clone(), last_pack);
    let saved = gone().filter_map(|(&id, history)| Some((id, history.checkpoint_version()?)));
    let in_files = saved.filter(|(id, _)| !packs.has(*id));
    let in_files: Vec<(u64, u64)> = in_files.collect();
    for (segment_id, version) in in_files.iter().chain(&found.older_checkpoints) {
        let path = dir.join(checkpoint_name(*segment_id, *version));
        std::fs::remove_file(&path).map_err(|error| failed("removing", &path, &error))?;
    }
    // Where the disk is full, this makes room for the packs that are written again.
    packs.remove_unneeded()?;
    for &number in &found.lost_packs {
        let path = dir.join(files::pack_name(number));
        std::fs::rename(&path, dir.join(files::aside_name(number)))
            .map_err(|error| failed("setting aside", &path, &error))?;
    }
    let gone: Vec<u64> = gone().map(|(&id, _)| id).collect();
    let forgotten = packs.forget(&gone, &|number, items| {
        pack::write(dir, number, items, (owner, sync))
    });
    let to_forget = match forgotten {
        Ok(()) => Vec::new(),
        Err(StoreError::Full(_)) => gone,
        Err(error) => return Err(error),
    };
    files::sync_dir(dir).map_err(|error| failed("syncing", dir, &error))?;
    Ok((packs, to_forget))
}

/// Writes the catalogue as it should be. If that fails the store opens all the same: an older
/// catalogue does no harm, and the next change writes all of it.
fn begin_catalogue(
    dir: &Path,
    owner: &Arc<Owner>,
    (found, listed): (&Found, &Listed),
    status: &Status,
) -> Catalogue {
    let entries = current_entries(found, &listed.entries);
    let catalogue = Catalogue::new(dir, Arc::clone(owner), entries);
    match catalogue.rewrite() {
        Ok(()) => drop(std::fs::remove_file(dir.join(files::OLD_CATALOGUE))),
        Err(error) => status.error(&error),
    }
    catalogue
}

/// The catalogue as it should be. A damaged segment keeps what was known of it.
fn current_entries(found: &Found, before: &BTreeMap<u64, Entry>) -> BTreeMap<u64, Entry> {
    let kept = found
        .histories
        .iter()
        .filter(|(_, history)| !history.removed);
    let entry = |(&segment_id, history): (&u64, &History)| {
        let known = before.get(&segment_id).filter(|_| history.damage.is_some());
        let entry = known.cloned().or_else(|| history.entry())?;
        Some((segment_id, entry))
    };
    kept.filter_map(entry).collect()
}

fn index_of_files(found: &Found, log: &Log) -> Index {
    let mut index = Index::default();
    for file in &found.files {
        index.add_file(file.first, file.end);
    }
    index.add_file(log.first(), log.end());
    index
}

/// What is there before the threads of a store start.
type Opened = (
    Arc<Owner>,
    (Catalogue, Packs, Vec<u64>),
    Arc<Status>,
    (Space, Identity),
);

fn start(
    dir: &Path,
    options: &Options,
    (owner, (catalogue, packs, to_forget), status, (space, identity)): Opened,
    (found, (log, full)): (&Found, (Log, Option<io::Error>)),
) -> Result<EmbeddedStore, StoreError> {
    let mut index = index_of_files(found, &log);
    let mut newest = BTreeMap::new();
    for (&segment_id, history) in found.histories.iter().filter(|(_, h)| !h.removed) {
        index.recover(segment_id, history);
        let version = history.checkpoint_version();
        newest.extend(version.map(|version| (segment_id, version)));
    }
    for segment_id in &to_forget {
        index.recover(*segment_id, &found.histories[segment_id]);
    }
    let epoch = owner.epoch;
    let (writer, inbox) = channel();
    let (jobs, jobs_inbox) = channel();
    let saver = Saver {
        dir: dir.to_path_buf(),
        owner: Arc::clone(&owner),
        catalogue: catalogue.clone(),
        newest,
        packs,
        to_forget,
        large: BTreeMap::new(),
        now: options.now.clone(),
        status: Arc::clone(&status),
        jobs: jobs_inbox,
        writer: writer.clone(),
        sync: options.sync_checkpoint.clone(),
    };
    let tail = Tail::new(
        Parts {
            dir: dir.to_path_buf(),
            owner,
            status: Arc::clone(&status),
            index,
            log,
            space,
            trial_interval: options.trial_interval,
            full,
            identity,
        },
        (options.now)(),
    );
    let threads_failed = |error| failed("starting a thread for", dir, &error);
    let saver = SaverThread::start(saver, jobs).map_err(threads_failed)?;
    let worker = Writer {
        tail,
        status: Arc::clone(&status),
        catalogue,
        inbox,
        saver,
        now: options.now.clone(),
    };
    let thread = start_writing(worker, Arc::clone(&status)).map_err(threads_failed)?;
    Ok(EmbeddedStore {
        epoch,
        identity,
        status,
        writer: Some((writer, thread)),
    })
}

/// Gives memory back on a thread of its own. A process that ends now does not wait for a million
/// segments to be taken apart.
fn give_back(name: &str, memory: impl Send + 'static) {
    let thread = std::thread::Builder::new().name(name.to_string());
    // If there is no thread, the memory goes at once.
    let _ = thread.spawn(move || drop(memory));
}

/// The thread that writes the log. If it panics, the status says so and everything is refused.
fn start_writing(mut worker: Writer, status: Arc<Status>) -> io::Result<JoinHandle<()>> {
    let write = move || {
        if let Err(text) = panics::caught(|| worker.run()) {
            let error = status.ended(text);
            worker.refuse(&error);
        }
        let index = std::mem::take(&mut worker.tail.index);
        give_back("iw-log-end", index);
    };
    std::thread::Builder::new()
        .name("iw-log".to_string())
        .spawn(write)
}

fn recovered(found: Found, entries: &BTreeMap<u64, Entry>) -> Vec<RecoveredSegment> {
    let clean = found.clean;
    let kept = found.histories.into_iter().filter(|(_, h)| !h.removed);
    kept.map(|(segment_id, mut history)| {
        let path = entries.get(&segment_id).map(|entry| entry.path.as_str());
        history.recovered(path, clean)
    })
    .collect()
}
