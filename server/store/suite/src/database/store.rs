//! A store over the database. It keeps the promises of docs/store.md; with other [`Manners`] it
//! breaks one.

use super::server::{Reply, Server, Transaction};
use super::tables::Tables;
use crate::locked;
use bytes::Bytes;
use interweave_store::{
    Checkpoint, Done, End, Identity, Next, Piece, Record, SegmentStore, Settled, StoreError,
    StoreStatus, Want,
};
use interweave_wire::protocol::{CheckpointHead, Durability};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// How an append sees that another owner has a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    /// It compares the row that it changes.
    Compared,
    /// It reads who the owner is, and changes something else later.
    ReadBefore,
    None,
}

#[derive(Debug, Clone, Copy)]
pub struct Manners {
    pub fence: Fence,
    /// A commit with a warning is answered as done.
    pub believes_warnings: bool,
    /// A broken connection is answered as a refusal.
    pub believes_silence: bool,
    /// Settle only reads.
    pub settles_by_reading: bool,
    /// The serials' bounds are not written.
    pub forgets_serials: bool,
}

impl Manners {
    pub const GOOD: Manners = Manners {
        fence: Fence::Compared,
        believes_warnings: false,
        believes_silence: false,
        settles_by_reading: false,
        forgets_serials: false,
    };
}

pub type SharedServer = Arc<Mutex<Server>>;

enum Job {
    Append {
        transaction: Box<Transaction>,
        done: Done,
        /// It found before that it is the owner.
        is_owner: bool,
    },
    Settle(Vec<u64>, Settled),
    Save(Box<CheckpointHead>, Bytes, Vec<Piece>, Done),
}

struct Line {
    jobs: VecDeque<Job>,
    is_held: bool,
    has_ended: bool,
    claims: BTreeMap<u64, u64>,
}

/// The connection of an owner: its requests, in their order.
pub struct Connection {
    server: SharedServer,
    manners: Manners,
    epoch: u64,
    line: Mutex<Line>,
}

fn ended() -> StoreError {
    StoreError::Ended("the process has ended".to_string())
}

impl Job {
    fn refuse(self) {
        match self {
            Job::Append { done, .. } | Job::Save(_, _, _, done) => done(Err(ended())),
            Job::Settle(_, settled) => settled(Err(ended())),
        }
    }
}

impl Connection {
    pub fn is_held(&self) -> bool {
        locked(&self.line).is_held
    }

    pub fn let_go(&self) {
        locked(&self.line).is_held = false;
        self.work();
    }

    /// The owner's process ends. A held append may reach the server later.
    pub fn end(&self) {
        let mut line = locked(&self.line);
        line.has_ended = true;
        let jobs = std::mem::take(&mut line.jobs);
        if let (true, Some(Job::Append { transaction, .. })) = (line.is_held, jobs.front()) {
            locked(&self.server).delay(Transaction::clone(transaction));
        }
        drop(line);
        jobs.into_iter().for_each(Job::refuse);
    }

    fn ask(&self, job: Job) {
        let mut line = locked(&self.line);
        if line.has_ended {
            drop(line);
            return job.refuse();
        }
        line.jobs.push_back(job);
        drop(line);
        self.work();
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            self.do_job(job);
        }
    }

    /// The next request, unless it stands still.
    fn next(&self) -> Option<Job> {
        let mut line = locked(&self.line);
        if line.is_held {
            return None;
        }
        let Line { jobs, claims, .. } = &mut *line;
        if let Some(Job::Append {
            transaction,
            is_owner,
            ..
        }) = jobs.front_mut()
        {
            let mut server = locked(&self.server);
            if std::mem::take(&mut server.holds) {
                transaction.claims.clone_from(claims);
                *is_owner = server.fenced(transaction).is_empty();
                line.is_held = true;
                return None;
            }
        }
        jobs.pop_front()
    }

    fn do_job(&self, job: Job) {
        match job {
            Job::Append {
                mut transaction,
                done,
                is_owner,
            } => {
                transaction.claims.clone_from(&locked(&self.line).claims);
                transaction.compares = match self.manners.fence {
                    Fence::Compared => true,
                    Fence::ReadBefore => !is_owner,
                    Fence::None => false,
                };
                done(self.append(*transaction));
            }
            Job::Settle(segments, settled) => settled(Ok(self.settle(&segments))),
            Job::Save(head, diff, pieces, done) => {
                let claim = locked(&self.line).claims.get(&head.segment_id).copied();
                let saved = locked(&self.server).save(*head, (diff, pieces), claim.as_ref());
                done(saved);
            }
        }
    }

    fn append(&self, transaction: Transaction) -> Result<(), StoreError> {
        let ids: Vec<u64> = transaction.records.iter().map(|r| r.segment_id).collect();
        let reply = locked(&self.server).append(transaction);
        let unknown = |text: &str| Err(StoreError::Unknown(text.to_string()));
        if !matches!(reply, Reply::Refused(_)) {
            // A segment that it may have created is its own.
            let mut line = locked(&self.line);
            for id in ids {
                line.claims.entry(id).or_insert(self.epoch);
            }
        }
        match reply {
            Reply::Done => Ok(()),
            Reply::Warned if self.manners.believes_warnings => Ok(()),
            Reply::Warned => unknown("the wait for the standby was cancelled"),
            Reply::Nothing if self.manners.believes_silence => {
                Err(StoreError::Io("the connection broke".to_string()))
            }
            Reply::Nothing => unknown("the connection broke during the commit"),
            Reply::Refused(error) => Err(error),
        }
    }

    fn settle(&self, segments: &[u64]) -> Vec<(u64, End)> {
        let mut line = locked(&self.line);
        let mut server = locked(&self.server);
        match self.manners.settles_by_reading {
            true => server.look(segments),
            false => server.settle(segments, &mut line.claims),
        }
    }
}

/// A checkpoint of which the pieces are still coming.
struct Large {
    head: Box<CheckpointHead>,
    pieces: Vec<Piece>,
    want: Want,
    done: Done,
}

pub struct DatabaseStore {
    epoch: u64,
    identity: Identity,
    connection: Arc<Connection>,
    large: Mutex<BTreeMap<u64, Large>>,
}

impl DatabaseStore {
    /// An owner who has claimed these segments.
    pub fn new(server: SharedServer, manners: Manners, epoch: u64, claimed: Vec<u64>) -> Self {
        let identity = locked(&server).identity();
        let connection = Connection {
            server,
            manners,
            epoch,
            line: Mutex::new(Line {
                jobs: VecDeque::new(),
                is_held: false,
                has_ended: false,
                claims: claimed.into_iter().map(|id| (id, epoch)).collect(),
            }),
        };
        DatabaseStore {
            epoch,
            identity,
            connection: Arc::new(connection),
            large: Mutex::default(),
        }
    }

    pub fn connection(&self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }
}

impl SegmentStore for DatabaseStore {
    fn owner_epoch(&self) -> u64 {
        self.epoch
    }

    fn identity(&self) -> Identity {
        self.identity
    }

    fn append(&self, group: Vec<Record>, durable: Durability, done: Done) {
        let mut records = Tables::logged(group, durable);
        if self.connection.manners.forgets_serials {
            use interweave_wire::protocol::LogBody::Serials;
            records.retain(|record| !matches!(record.body, Serials(_)));
        }
        self.connection.ask(Job::Append {
            transaction: Box::new(Transaction {
                records,
                claims: BTreeMap::new(),
                epoch: self.epoch,
                waits: durable == Durability::Synced,
                compares: true,
            }),
            done,
            is_owner: false,
        });
    }

    fn settle(&self, segments: Vec<u64>, settled: Settled) {
        self.connection.ask(Job::Settle(segments, settled));
    }

    fn checkpoint(&self, checkpoint: Checkpoint, done: Done) {
        let Checkpoint { head, diff } = checkpoint;
        let job = Job::Save(Box::new(head), diff, Vec::new(), done);
        self.connection.ask(job);
    }

    fn checkpoint_in_pieces(&self, head: CheckpointHead, want: Want, done: Done) {
        want();
        let large = Large {
            head: Box::new(head),
            pieces: Vec::new(),
            want,
            done,
        };
        locked(&self.large).insert(large.head.segment_id, large);
    }

    fn next(&self, segment_id: u64, next: Next) {
        let mut all = locked(&self.large);
        let Some(mut large) = all.remove(&segment_id) else {
            return;
        };
        match next {
            Next::Piece(piece) => {
                large.pieces.push(piece);
                (large.want)();
                all.insert(segment_id, large);
            }
            Next::Last(piece) => {
                drop(all);
                large.pieces.push(piece);
                let job = Job::Save(large.head, Bytes::new(), large.pieces, large.done);
                self.connection.ask(job);
            }
            Next::Nothing => {
                drop(all);
                (large.done)(Ok(()));
            }
        }
    }

    fn status(&self) -> StoreStatus {
        let has_ended = locked(&self.connection.line).has_ended;
        StoreStatus {
            stopped: has_ended.then(ended),
            ..StoreStatus::default()
        }
    }

    fn close(self: Box<Self>, clean: bool) -> Result<(), StoreError> {
        if locked(&self.connection.line).has_ended {
            return Err(ended());
        }
        locked(&self.connection.server).end(clean);
        self.connection.end();
        Ok(())
    }
}
