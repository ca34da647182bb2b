//! The store, as the server sees it. One thread has its connections.

use crate::answer::{Answer, Ends};
use crate::checks;
use crate::claim::{self, Claim};
use crate::connection::Connection;
use crate::reading::{self, Found};
use crate::saver::{Save, Saver};
use crate::schema;
use crate::shared::Shared;
use crate::target::Target;
use crate::transaction::Appends;
use crate::writer::{Append, Closing, Job, Writer};
use interweave_store::panics::caught;
use interweave_store::{
    Checkpoint, Done, Identity, Next, NowFn, Record, RecoveredSegment, SegmentStore, Settled,
    StoreError, StoreStatus, Want,
};
use interweave_wire::protocol::{CheckpointHead, Durability};
use std::sync::mpsc::channel;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver, UnboundedSender};

#[derive(Clone)]
pub struct Options {
    pub target: Target,
    /// No synchronous standby is wanted: one copy is enough.
    pub is_alone: bool,
    pub now: NowFn,
}

impl Options {
    pub fn new(target: Target) -> Options {
        Options {
            target,
            is_alone: false,
            now: Arc::new(Instant::now),
        }
    }
}

pub struct PostgresStore {
    epoch: u64,
    identity: Identity,
    shared: Arc<Shared>,
    jobs: UnboundedSender<Job>,
    saves: UnboundedSender<Save>,
    thread: JoinHandle<()>,
}

/// What the thread needs, once the store is claimed and read.
struct Begun {
    claim: Claim,
    found: Found,
    connection: (Connection, Appends),
}

impl PostgresStore {
    /// Claims everything, and returns all segments.
    pub fn open(options: Options) -> Result<(PostgresStore, Vec<RecoveredSegment>), StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| StoreError::Io(format!("the event loop: {error}")))?;
        let begun = runtime.block_on(begin(&options))?;
        let Begun {
            claim,
            found,
            connection,
        } = begun;
        let shared = Arc::new(Shared::new(Arc::clone(&options.now)));
        let (jobs, asked) = unbounded_channel();
        let (saves, asked_saves) = unbounded_channel();
        {
            let mut told = shared.lock();
            for (id, segment) in found.segments {
                told.segments.insert(id, segment);
            }
            let damage = found.recovered.iter().filter_map(|s| s.damage.clone());
            told.status.damage = damage.collect();
        }
        for id in found.removed {
            let _ = saves.send(Save::Clear(id));
        }
        let Options {
            target, is_alone, ..
        } = options;
        let saver = Saver::new(
            target.clone(),
            Arc::clone(&shared),
            claim.identity,
            claim.epoch,
        );
        let writer = Writer::new(
            (target, is_alone),
            Arc::clone(&shared),
            saves.clone(),
            claim.epoch,
            connection,
        );
        let thread = begin_thread(
            runtime,
            Arc::clone(&shared),
            (writer, asked),
            (saver, asked_saves),
        )?;
        let store = PostgresStore {
            epoch: claim.epoch,
            identity: claim.identity,
            shared,
            jobs,
            saves,
            thread,
        };
        Ok((store, found.recovered))
    }

    fn ask(&self, job: Job) {
        // Dropped with the thread, a request answers itself.
        drop(self.jobs.send(job));
    }
}

async fn begin(options: &Options) -> Result<Begun, StoreError> {
    let connection = Connection::open(&options.target).await?;
    checks::check(&connection, options.is_alone).await?;
    checks::check_pooler(&connection, &options.target).await?;
    schema::migrate(&connection, &Identity::random()).await?;
    let claim = claim::claim(&connection).await?;
    let found = reading::read(&connection, &claim).await?;
    let appends = Appends::prepare(&connection).await?;
    Ok(Begun {
        claim,
        found,
        connection: (connection, appends),
    })
}

fn begin_thread(
    runtime: Runtime,
    shared: Arc<Shared>,
    (mut writer, asked): (Writer, UnboundedReceiver<Job>),
    (saver, asked_saves): (Saver, UnboundedReceiver<Save>),
) -> Result<JoinHandle<()>, StoreError> {
    let work = move || async move {
        let writing = async {
            let closing = writer.work(asked).await;
            // The saver ends after what was asked of it, because nobody can ask it any more.
            writer.let_saver_go();
            closing
        };
        let (closing, ()) = tokio::join!(writing, saver.work(asked_saves));
        if let Some(closing) = closing {
            writer.close(closing).await;
        }
    };
    let run = move || {
        if let Err(text) = caught(move || runtime.block_on(work())) {
            shared.stop(&StoreError::Ended(text));
        }
    };
    let thread = thread::Builder::new().name("iw-postgres".to_string());
    thread
        .spawn(run)
        .map_err(|error| StoreError::Io(format!("a thread of the store: {error}")))
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
        self.ask(Job::Settle(segments, Ends::by(settled)));
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

    fn close(self: Box<Self>, clean: bool) -> Result<(), StoreError> {
        let (closed, heard) = channel();
        let closing = Closing {
            is_clean: clean,
            closed,
        };
        let is_asked = self.jobs.send(Job::Close(closing));
        let stopped = self.shared.stopped();
        let PostgresStore {
            jobs,
            saves,
            thread,
            ..
        } = *self;
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
