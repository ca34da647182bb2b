//! The store, as the server sees it. One thread has its connections.

use crate::answer::Answer;
use crate::checks::{self, Checked};
use crate::claim::{self, Claim};
use crate::connection::Connection;
use crate::looking::Looking;
use crate::members::{self, Member};
use crate::outlook;
use crate::reading::{self, Found};
use crate::rules::Source;
use crate::saver::{Save, Saver};
use crate::schema;
use crate::shared::Shared;
use crate::sharing::Sharing;
use crate::tables;
use crate::target::Target;
use crate::threads::{self, EventLoop};
use crate::transaction::Appends;
use crate::writer::{Append, Closing, Job, Writer};
use interweave_store::{
    AccessSource, Checkpoint, Done, Follow, Followed, Give, Given, Identity, Members, Next, NowFn,
    PageAsked, Pages, Record, RecoveredSegment, Seek, SegmentStore, Settled, Sought, StoreError,
    StoreStatus, Want, Watch,
};
use interweave_wire::protocol::{CheckpointHead, Durability};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

#[derive(Clone)]
pub struct Options {
    pub target: Target,
    /// No synchronous standby is wanted: one copy is enough.
    pub is_alone: bool,
    /// Servers share the store, and this is one of them. None: this server has it alone.
    pub member: Option<Member>,
    /// A table of the log with so many bytes is full.
    pub log_table_bytes: u64,
    pub now: NowFn,
}

impl Options {
    pub fn new(target: Target) -> Options {
        Options {
            target,
            is_alone: false,
            member: None,
            log_table_bytes: tables::FULL_BYTES,
            now: Arc::new(Instant::now),
        }
    }
}

pub struct PostgresStore {
    options: Options,
    epoch: u64,
    identity: Identity,
    shared: Arc<Shared>,
    jobs: UnboundedSender<Job>,
    saves: UnboundedSender<Save>,
    /// None: the store is not shared.
    sharing: Option<Sharing>,
    looking: Looking,
    thread: JoinHandle<()>,
}

/// A store that is claimed and read, before its thread begins.
struct Begun {
    claim: Claim,
    found: Found,
    connection: (Connection, Appends),
}

impl PostgresStore {
    /// Claims everything, and returns all segments. A member of those that share the store claims
    /// and returns nothing. Rows of removed segments that an earlier owner has left are removed.
    pub fn open(options: Options) -> Result<(PostgresStore, Vec<RecoveredSegment>), StoreError> {
        let runtime = threads::event_loop()?;
        let begun = runtime.block_on(begin(&options))?;
        let Begun {
            claim,
            found,
            connection,
        } = begun;
        let shared = Arc::new(Shared::new(Arc::clone(&options.now), claim.timeline));
        shared.timelines.saw(claim.timeline, &connection.0);
        let (jobs, asked) = unbounded_channel();
        let (saves, asked_saves) = unbounded_channel();
        {
            let mut told = shared.lock();
            for (id, segment) in found.segments {
                told.segments.insert(id, segment);
            }
            let damage = found.recovered.iter().filter_map(|s| s.damage.clone());
            told.status.damage = damage.collect();
            told.segments.is_shared = options.member.is_some();
            told.segments.tables.begin(options.log_table_bytes);
        }
        for id in found.removed {
            let _ = saves.send(Save::Clear(id));
        }
        let _ = saves.send(Save::Empty);
        let saver = Saver::new(options.clone(), Arc::clone(&shared), claim.identity);
        let writer = Writer::new(
            options.clone(),
            Arc::clone(&shared),
            saves.clone(),
            claim.epoch,
            connection,
        );
        let watch = Arc::new(Watch::default());
        let sharing = Sharing::begin(&options, &shared, claim.epoch, &watch)?;
        let looking = Looking::begin(&options, &shared, claim.epoch, &watch)?;
        let works = ((writer, asked), (saver, asked_saves));
        let thread = begin_thread(runtime, (&options, &shared), works)?;
        let store = PostgresStore {
            options,
            epoch: claim.epoch,
            identity: claim.identity,
            shared,
            jobs,
            saves,
            sharing,
            looking,
            thread,
        };
        Ok((store, found.recovered))
    }

    /// Checks a database as a start does, and changes nothing.
    pub fn inspect(target: &Target, is_alone: bool) -> Result<Vec<Checked>, StoreError> {
        threads::event_loop()?.block_on(checks::inspect(target, is_alone))
    }

    fn ask(&self, job: Job) {
        // Dropped with the thread, a request answers itself.
        drop(self.jobs.send(job));
    }
}

async fn begin(options: &Options) -> Result<Begun, StoreError> {
    let connection = Connection::of(options).await?;
    checks::check(&connection, options.is_alone).await?;
    checks::check_pooler(&connection, &options.target).await?;
    schema::migrate(&connection, &Identity::random()).await?;
    let (claim, found) = match &options.member {
        Some(member) => {
            let claim = members::join(&connection, member).await?;
            let removed = reading::removed(&connection).await?;
            let found = Found {
                removed,
                ..Found::default()
            };
            (claim, found)
        }
        None => {
            let claim = claim::claim(&connection).await?;
            let found = reading::read(&connection, (claim.epoch, claim.is_clean)).await?;
            (claim, found)
        }
    };
    let appends = Appends::prepare(&connection).await?;
    Ok(Begun {
        claim,
        found,
        connection: (connection, appends),
    })
}

fn begin_thread(
    runtime: EventLoop,
    (options, shared): (&Options, &Arc<Shared>),
    works: (
        (Writer, UnboundedReceiver<Job>),
        (Saver, UnboundedReceiver<Save>),
    ),
) -> Result<JoinHandle<()>, StoreError> {
    let ((mut writer, asked), (saver, asked_saves)) = works;
    let (options, told) = (options.clone(), Arc::clone(shared));
    let work = move || async move {
        let writing = async {
            let closing = writer.work(asked).await;
            // The saver ends after what was asked of it, because nobody can ask it any more.
            writer.let_saver_go();
            closing
        };
        let working = async { tokio::join!(writing, saver.work(asked_saves)).0 };
        let closing = tokio::select! {
            closing = working => closing,
            () = outlook::look_out(&options, &told) => None,
        };
        if let Some(closing) = closing {
            writer.close(closing).await;
        }
    };
    threads::begin("iw-postgres", runtime, shared, work)
}

impl SegmentStore for PostgresStore {
    fn owner_epoch(&self) -> u64 {
        self.epoch
    }

    fn identity(&self) -> Identity {
        self.identity
    }

    fn append(&self, group: Vec<Record>, durable: Durability, done: Done) {
        self.ask(Job::Append(Append {
            group,
            durable,
            answer: Answer::by(done),
        }));
    }

    fn settle(&self, segments: Vec<u64>, settled: Settled) {
        self.ask(Job::Settle(segments, Answer::by(settled)));
    }

    fn checkpoint(&self, checkpoint: Checkpoint, done: Done) {
        let save = Save::Whole(Box::new(checkpoint), Answer::by(done));
        drop(self.saves.send(save));
    }

    fn checkpoint_in_pieces(&self, head: CheckpointHead, want: Want, done: Done) {
        let save = Save::Begin(Box::new(head), want, Answer::by(done));
        drop(self.saves.send(save));
    }

    fn next(&self, segment_id: u64, next: Next) {
        drop(self.saves.send(Save::Next(segment_id, next)));
    }

    fn seek(&self, path: &str, claims: bool, seek: Seek) {
        match &self.sharing {
            Some(sharing) => sharing.seek(path, claims, seek),
            None => seek(Ok(Sought::Absent)),
        }
    }

    fn follow(&self, path: &str, follow: Follow) {
        match &self.sharing {
            Some(sharing) => sharing.follow(path, follow),
            None => follow(Ok(Followed::Absent)),
        }
    }

    fn unfollow(&self, path: &str) {
        if let Some(sharing) = &self.sharing {
            sharing.unfollow(path);
        }
    }

    fn give(&self, segment_id: u64, member: u64, give: Give) {
        match &self.sharing {
            Some(sharing) => sharing.give(segment_id, member, give),
            None => give(Ok(Given::Not(
                "the server shares its store with nobody".to_string(),
            ))),
        }
    }

    fn renew(&self, is_drained: bool, done: Done) {
        match &self.sharing {
            Some(sharing) => sharing.renew(is_drained, done),
            None => done(Ok(())),
        }
    }

    fn members(&self, after: u64, tells_all: bool, members: Members) {
        self.looking.members(after, tells_all, members);
    }

    fn page(&self, asked: PageAsked, page: Pages) {
        self.looking.page(asked, page);
    }

    fn access(&self) -> Result<Option<Box<dyn AccessSource>>, StoreError> {
        let source = Source::of(&self.options, &self.shared, self.epoch)?;
        Ok(Some(Box::new(source)))
    }

    fn kind(&self) -> &'static str {
        "postgres"
    }

    fn with_much_log(&self) -> Vec<(u64, u64)> {
        self.shared.lock().segments.with_much_log()
    }

    fn overdue(&self) -> Vec<u64> {
        self.shared.lock().segments.overdue()
    }

    fn status(&self) -> StoreStatus {
        let told = self.shared.lock();
        StoreStatus {
            log_bytes: told.segments.log_bytes(),
            ..told.status.clone()
        }
    }

    fn hurry(&self) {
        self.shared.hurry();
    }

    fn close(self: Box<Self>, clean: bool) -> Result<(), StoreError> {
        let PostgresStore {
            jobs,
            saves,
            sharing,
            looking,
            shared,
            thread,
            ..
        } = *self;
        if let Some(sharing) = sharing {
            sharing.end();
        }
        looking.end();
        let (closed, heard) = channel();
        let closing = Closing {
            is_clean: clean,
            closed,
        };
        let is_asked = jobs.send(Job::Close(closing));
        let stopped = shared.stopped();
        drop((jobs, saves));
        let result = match is_asked {
            Ok(()) => heard.recv().unwrap_or(Err(StoreError::Closed)),
            Err(_) => Err(stopped.unwrap_or(StoreError::Closed)),
        };
        // Its panic was told already.
        let _ = thread.join();
        result
    }
}
