//! The store in a directory (spec/format/server-log.md): opening it, and the handle to its threads.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{CheckpointHead, Durability};

use crate::again;
use crate::catalogue::{self, Catalogue, Entry, Listed};
use crate::damage::Damage;
use crate::disk::{Directory, Disk, DiskFile, How, SharedDisk};
use crate::files::{self, checkpoint_name, failed};
use crate::history::History;
use crate::identity::Identity;
use crate::index::Index;
use crate::log::Log;
use crate::ordered::Threads;
use crate::owner::{Lock, Owner};
use crate::pack;
use crate::packs::Packs;
use crate::panics;
use crate::random::random;
use crate::record::FILE_HEAD_BYTES;
use crate::recovery::{read_store, refuse_other_formats, Found, LogFile};
use crate::saver::{Job, Saver, SaverThread};
use crate::scan::read_head;
use crate::space::{self, Space};
use crate::status::Status;
use crate::store::{
    Checkpoint, Done, Next, Record, RecoveredSegment, SegmentStore, Settled, StoreStatus, Want,
};
use crate::tail::{Parts, Tail};
use crate::turns::Turns;
use crate::writer::{Message, Writer};
use crate::StoreError;

/// How a log file is brought to the disk.
pub type SyncFn = Arc<dyn Fn(&dyn DiskFile) -> io::Result<()> + Send + Sync>;
/// Gives numbers that nobody can guess.
pub type RandomFn = Arc<dyn Fn() -> u64 + Send + Sync>;
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
    /// The system's random numbers, unless a test repeats a run.
    pub random: RandomFn,
    /// How many threads read the store at its start.
    pub threads: Threads,
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
            random: Arc::new(random),
            threads: Threads::default(),
        }
    }
}

/// The worker of the log: a thread, or the caller's turns.
#[derive(Debug)]
enum Working {
    Thread(JoinHandle<()>),
    InTurns(Turns),
}

/// A store that this process owns. Dropping it ends it as a crash would, but for what was asked
/// before: that is done.
#[derive(Debug)]
pub struct EmbeddedStore {
    epoch: u64,
    identity: Identity,
    status: Arc<Status>,
    writer: Option<(Sender<Message>, Working)>,
}

impl EmbeddedStore {
    /// Takes the store over, makes it if it does not exist, and returns its segments.
    pub fn open(dir: &Path, options: Options) -> Result<(Self, Vec<RecoveredSegment>), StoreError> {
        Self::open_on(Arc::new(Directory::at(dir)), options)
    }

    /// As [`EmbeddedStore::open`], on a disk of the caller's.
    pub fn open_on(
        disk: SharedDisk,
        options: Options,
    ) -> Result<(Self, Vec<RecoveredSegment>), StoreError> {
        let dir = disk.path();
        if disk.bytes_of(files::BACKUP).is_ok() {
            let text = format!(
                "{} is a backup; interweave restore makes a store of it",
                dir.display()
            );
            return Err(StoreError::Io(text));
        }
        disk.make().map_err(|error| failed("making", dir, &error))?;
        refuse_other_data(&*disk)?;
        Self::open_any(&disk, options)
    }

    /// Opens also what is still marked as a backup.
    pub(crate) fn open_any(
        disk: &SharedDisk,
        options: Options,
    ) -> Result<(Self, Vec<RecoveredSegment>), StoreError> {
        let (opened, segments) = Opened::of(disk, &options)?;
        Ok((opened.start()?, segments))
    }

    /// As [`EmbeddedStore::open_on`], without threads: the store works when its [`Turns`] are
    /// called. It asks a simulator for nothing but its disk and the options' clock.
    pub fn open_in_turns(
        disk: &SharedDisk,
        options: Options,
    ) -> Result<(Self, Turns, Vec<RecoveredSegment>), StoreError> {
        let dir = disk.path();
        disk.make().map_err(|error| failed("making", dir, &error))?;
        refuse_other_data(&**disk)?;
        let (opened, segments) = Opened::of(disk, &options)?;
        let (store, turns) = opened.in_turns();
        Ok((store, turns, segments))
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
        if let Err(message) = unsent {
            message.refuse(&self.stopped().unwrap_or(StoreError::Closed));
        }
    }

    fn end(&mut self, clean: bool) -> Result<(), StoreError> {
        let Some((writer, working)) = self.writer.take() else {
            return Err(StoreError::Closed);
        };
        let (reply, answer) = sync_channel(1);
        // should the writer have died, there is no answer
        let _ = writer.send(Message::Close { clean, reply });
        let ended = match working {
            Working::Thread(thread) => {
                let ended = answer.recv();
                // a panic is caught, and told in the status
                let _ = thread.join();
                ended
            }
            Working::InTurns(turns) => {
                turns.end();
                answer.recv()
            }
        };
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

    fn settle(&self, segments: Vec<u64>, settled: Settled) {
        self.send(Message::Settle { segments, settled });
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

fn largest_epoch(disk: &dyn Disk) -> io::Result<u64> {
    let mut largest = 0;
    for name in disk.list()? {
        if files::log_first(&name).is_some() {
            let head = read_head(&*disk.open(&name, How::Read)?)?;
            largest = largest.max(head.map_or(0, |head| head.epoch));
        }
    }
    Ok(largest)
}

/// A directory with files and none of a store's is somebody else's.
fn refuse_other_data(disk: &dyn Disk) -> Result<(), StoreError> {
    let dir = disk.path();
    let names = disk
        .list()
        .map_err(|error| failed("listing", dir, &error))?;
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
    disk: &SharedDisk,
    found: &Found,
    owner: &Owner,
    (options, space, identity): (&Options, &Space, Identity),
    status: &Arc<Status>,
) -> Result<(Log, Option<io::Error>), StoreError> {
    let dir = disk.path();
    if let Some(newest) = found.files.last() {
        let path = dir.join(&newest.name);
        end_log(disk, newest).map_err(|error| failed("cutting the end of", &path, &error))?;
    }
    let counted = Arc::clone(status);
    let inner = Arc::clone(&options.sync);
    let now = Arc::clone(&options.now);
    let sync: SyncFn = Arc::new(move |file| {
        // A sync counts from its beginning: by that the saver knows that the log is busy.
        counted.lock().status.syncs += 1;
        let begun = now();
        let done = inner(file);
        counted.lock().status.syncing += now().saturating_duration_since(begun);
        done
    });
    let numbers = (owner.epoch, found.next_number);
    let create = |capacity| {
        let about = (((options.random)(), numbers), identity);
        Log::create(disk, about, capacity, sync.clone(), || Ok(()))
    };
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

/// Cuts the torn end of the newest log file, and brings the file to the disk. A sync of an earlier
/// process may have failed, so what is not known to have been synced is written again [LOG-4].
fn end_log(disk: &SharedDisk, newest: &LogFile) -> io::Result<()> {
    let shown = disk.open(&newest.name, How::Read)?;
    let file = disk.open(&newest.name, How::Change)?;
    file.set_bytes(newest.end)?;
    let again = again::in_place(&*shown, &*file, newest.synced..newest.end);
    if again.and_then(|()| file.sync_all()).is_err() {
        again::as_copy(disk, &newest.name, &*shown, newest.end)?;
    }
    Ok(())
}

fn tell_losses(found: &Found, status: &Status) {
    let mut told = status.lock();
    told.status.torn_bytes = found.torn_bytes;
    told.status.lost_bytes = found.lost_bytes;
    told.status.damage = found.damage.iter().map(Damage::to_string).collect();
}

/// Removes the witnesses that say nothing: of log files that are gone and held no record. Others
/// stay as long as their log files, or tell the next start the same of a lost one [LOG-15].
fn forget_witnesses(disk: &dyn Disk, found: &Found) {
    let names = disk.list().unwrap_or_default();
    let logs: BTreeSet<u64> = found.files.iter().map(|file| file.first).collect();
    let is_needed = |first: u64| found.holed.contains(&first) || logs.contains(&first);
    let of = |name: &&String| files::witness_first(name).is_some_and(|first| !is_needed(first));
    for name in names.iter().filter(of) {
        // one that stays says what is true
        let _ = disk.remove(name);
    }
}

/// Removes checkpoints of segments that are gone, and those that newer ones have replaced. Returns
/// the packs that are left, and the removed segments of which they still have items, because the
/// disk has no space to write these packs again.
fn remove_unneeded(
    disk: &SharedDisk,
    found: &Found,
    owner: &Owner,
    sync: &SyncFn,
) -> Result<(Packs, Vec<u64>), StoreError> {
    let dir = disk.path();
    let gone = || {
        let all = found.histories.iter();
        all.filter(|(_, history)| history.removed)
    };
    // An owner that is fenced only now may still name a pack: no two owners use the same number.
    let last_pack = found.last_pack.max(owner.epoch << 32);
    let mut packs = Packs::new(disk, &found.packs, found.packed.clone(), last_pack);
    let saved = gone().filter_map(|(&id, history)| Some((id, history.checkpoint_version()?)));
    let in_files = saved.filter(|(id, _)| !packs.has(*id));
    let in_files: Vec<(u64, u64)> = in_files.collect();
    for (segment_id, version) in in_files.iter().chain(&found.older_checkpoints) {
        let name = checkpoint_name(*segment_id, *version);
        disk.remove(&name)
            .map_err(|error| failed("removing", &dir.join(name), &error))?;
    }
    // Where the disk is full, this makes room for the packs that are written again.
    packs.remove_unneeded()?;
    for &number in &found.lost_packs {
        let name = files::pack_name(number);
        disk.rename(&name, &files::aside_name(number))
            .map_err(|error| failed("setting aside", &dir.join(name), &error))?;
    }
    let gone: Vec<u64> = gone().map(|(&id, _)| id).collect();
    let forgotten = packs.forget(&gone, &|number, items| {
        pack::write(disk, number, items, (owner, sync))
    });
    let to_forget = match forgotten {
        Ok(()) => Vec::new(),
        Err(StoreError::Full(_)) => gone,
        Err(error) => return Err(error),
    };
    disk.sync()
        .map_err(|error| failed("syncing", dir, &error))?;
    Ok((packs, to_forget))
}

/// Writes the catalogue as it should be. If that fails the store opens all the same: an older
/// catalogue does no harm, and the next change writes all of it.
fn begin_catalogue(
    disk: &SharedDisk,
    owner: &Arc<Owner>,
    (found, listed): (&Found, &Listed),
    status: &Status,
) -> Catalogue {
    let entries = current_entries(found, &listed.entries);
    let catalogue = Catalogue::new(disk, Arc::clone(owner), entries);
    match catalogue.rewrite() {
        Ok(()) => drop(disk.remove(files::OLD_CATALOGUE)),
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
        let known = known.filter(|entry| entry.known_path().is_some());
        (
            segment_id,
            known.cloned().unwrap_or_else(|| history.entry()),
        )
    };
    kept.map(entry).collect()
}

fn index_of_files(found: &Found, log: &Log) -> Index {
    let mut index = Index::default();
    for file in &found.files {
        index.add_file(file.first, file.end);
    }
    index.add_file(log.first(), log.end());
    index
}

/// What is there before a store's workers start.
struct Opened {
    disk: SharedDisk,
    status: Arc<Status>,
    epoch: u64,
    identity: Identity,
    inbox: Sender<Message>,
    writer: Receiver<Message>,
    jobs: Sender<Job>,
    tail: Tail,
    saver: Saver,
    catalogue: Catalogue,
    now: NowFn,
}

impl Opened {
    fn of(
        disk: &SharedDisk,
        options: &Options,
    ) -> Result<(Opened, Vec<RecoveredSegment>), StoreError> {
        let dir = disk.path();
        let lock = Lock::take(&**disk)?;
        refuse_other_formats(&**disk)?;
        files::restrict_all(&**disk)
            .and_then(|()| files::remove_temporary(&**disk))
            .and_then(|()| space::use_reserve(&**disk))
            .map_err(|error| failed("cleaning", dir, &error))?;
        let seen = largest_epoch(&**disk).map_err(|error| failed("reading", dir, &error))?;
        let owner = Arc::new(Owner::begin(disk, lock, seen)?);
        let listed = catalogue::read(&**disk);
        let found = read_store(&**disk, &listed, true, options.threads)?;
        let status = Arc::new(Status::default());
        let space = Space::new(disk, options.log_file_bytes);
        let identity = found.identity.or(options.identity);
        let identity = identity.unwrap_or_else(Identity::random);
        let (packs, to_forget) = remove_unneeded(disk, &found, &owner, &options.sync_checkpoint)?;
        let log = begin_log(disk, &found, &owner, (options, &space, identity), &status)?;
        let catalogue = begin_catalogue(disk, &owner, (&found, &listed), &status);
        forget_witnesses(&**disk, &found);
        tell_losses(&found, &status);
        space.keep_reserve();
        let owned = (owner, status, catalogue);
        let kept = (packs, to_forget);
        let opened = Opened::with(disk, options, owned, kept, (&found, log, space, identity));
        let epoch = opened.epoch;
        Ok((opened, recovered(found, &listed.entries, epoch)))
    }

    fn with(
        disk: &SharedDisk,
        options: &Options,
        (owner, status, catalogue): (Arc<Owner>, Arc<Status>, Catalogue),
        (packs, to_forget): (Packs, Vec<u64>),
        (found, (log, full), space, identity): (&Found, (Log, Option<io::Error>), Space, Identity),
    ) -> Opened {
        let (index, newest) = known_segments(found, &log, &to_forget);
        let (inbox, writer) = channel();
        let (jobs, jobs_inbox) = channel();
        let saver = Saver {
            disk: Arc::clone(disk),
            owner: Arc::clone(&owner),
            catalogue: catalogue.clone(),
            newest,
            packs,
            to_forget,
            large: BTreeMap::new(),
            next: None,
            now: options.now.clone(),
            status: Arc::clone(&status),
            jobs: jobs_inbox,
            writer: inbox.clone(),
            sync: match planted::is_in(Defect::UnsyncedCheckpoint) {
                true => Arc::new(|_| Ok(())),
                false => options.sync_checkpoint.clone(),
            },
        };
        let epoch = owner.epoch;
        let parts = Parts {
            disk: Arc::clone(disk),
            owner,
            status: Arc::clone(&status),
            index,
            log,
            space,
            trial_interval: options.trial_interval,
            full,
            identity,
            random: options.random.clone(),
        };
        Opened {
            disk: Arc::clone(disk),
            status,
            epoch,
            identity,
            inbox,
            writer,
            jobs,
            tail: Tail::new(parts, (options.now)()),
            saver,
            catalogue,
            now: options.now.clone(),
        }
    }

    /// Starts the two threads of a store.
    fn start(self) -> Result<EmbeddedStore, StoreError> {
        let threads_failed = |error| failed("starting a thread for", self.disk.path(), &error);
        let saver = SaverThread::start(self.saver, self.jobs).map_err(threads_failed)?;
        let worker = Writer::new(
            (self.tail, self.catalogue, saver),
            Arc::clone(&self.status),
            self.writer,
            self.now,
        );
        let thread = start_writing(worker, Arc::clone(&self.status)).map_err(threads_failed)?;
        Ok(EmbeddedStore {
            epoch: self.epoch,
            identity: self.identity,
            status: self.status,
            writer: Some((self.inbox, Working::Thread(thread))),
        })
    }

    fn in_turns(self) -> (EmbeddedStore, Turns) {
        let saver = SaverThread::in_turns(self.saver, self.jobs);
        let worker = Writer::new(
            (self.tail, self.catalogue, saver),
            Arc::clone(&self.status),
            self.writer,
            self.now,
        );
        let turns = Turns::of(worker);
        let store = EmbeddedStore {
            epoch: self.epoch,
            identity: self.identity,
            status: self.status,
            writer: Some((self.inbox, Working::InTurns(turns.clone()))),
        };
        (store, turns)
    }
}

/// The segments as the log's end knows them, and the version of each one's checkpoint.
fn known_segments(found: &Found, log: &Log, to_forget: &[u64]) -> (Index, BTreeMap<u64, u64>) {
    let mut index = index_of_files(found, log);
    let mut newest = BTreeMap::new();
    for (&segment_id, history) in found.histories.iter().filter(|(_, h)| !h.removed) {
        index.recover(segment_id, history);
        let version = history.checkpoint_version();
        newest.extend(version.map(|version| (segment_id, version)));
    }
    for segment_id in to_forget {
        index.recover(*segment_id, &found.histories[segment_id]);
    }
    (index, newest)
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

fn recovered(found: Found, entries: &BTreeMap<u64, Entry>, epoch: u64) -> Vec<RecoveredSegment> {
    let clean = found.clean;
    let kept = found.histories.into_iter().filter(|(_, h)| !h.removed);
    kept.map(|(segment_id, mut history)| {
        let path = entries.get(&segment_id).map(|entry| entry.path.as_str());
        history.recovered(path, (epoch, clean))
    })
    .collect()
}
