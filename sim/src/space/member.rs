//! A server's store on the database, and its connections there. It does what
//! server/store/postgres does, in the same order, but for threads: each connection takes one
//! request at a time, and the world says how long that takes.

mod appending;
mod following;
mod giving;
mod seeking;

use super::database::{Heard, Line, Step, Told};
use super::tables::{FollowedCopy, Saved, SegmentRow};
use super::work::{Found, Place, Rollback, Work};
use crate::env::{Env, Event, MS};
use crate::random::Random;
use crate::server::base;
use appending::{Appending, Known};
use following::Following;
use giving::Giving;
use interweave_store::{
    complete_head, Checkpoint, Done, Elsewhere, End, Follow, Give, Identity, Next, Piece, Record,
    Seek, SegmentStore, Settled, StoreError, StoreStatus, Want, Watch,
};
use interweave_wire::protocol::{CheckpointHead, Durability};
use seeking::Seeking;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A segment with so many bytes of log is to be saved.
const MUCH_LOG_BYTES: u64 = 8 << 10;

/// A group of records.
pub struct Append {
    group: Vec<Record>,
    durable: Durability,
    done: Done,
}

enum Job {
    Append(Append),
    Settle(Vec<u64>, Settled),
    Close { clean: bool },
    Save(Box<CheckpointHead>, bytes::Bytes, Vec<Piece>, Done),
    Renew(bool, Done),
    Seek((String, bool), Seek),
    Follow(String, Follow),
    Give((u64, u64), Give),
}

impl Job {
    fn line(&self) -> Line {
        match self {
            Job::Append(_) | Job::Settle(..) | Job::Close { .. } => Line::Append,
            Job::Save(..) => Line::Save,
            Job::Renew(..) => Line::Renew,
            Job::Seek(..) => Line::Seek,
            Job::Follow(..) => Line::Follow,
            Job::Give(..) => Line::Give,
        }
    }
}

/// What the store and its connections share.
#[derive(Default)]
struct Shared {
    jobs: Vec<Job>,
    known: Known,
    stopped: Option<StoreError>,
    /// The copies of segments that this server follows, by their paths.
    copies: BTreeMap<String, FollowedCopy>,
    /// The segments that were claimed, or that it was tried to claim, without reading them.
    doubts: BTreeSet<u64>,
    /// The epochs under which this server has claimed, or made, segments.
    claims: BTreeSet<u64>,
}

impl Shared {
    /// Whether a segment that is this server's by its row was this server's before. One that was
    /// given to it has the epoch of the giver.
    fn has_had(&self, place: &Place) -> bool {
        self.doubts.contains(&place.segment) || self.claims.contains(&place.epoch)
    }
}

type SharedState = Arc<Mutex<Shared>>;

fn locked(shared: &SharedState) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A checkpoint of which the pieces are still coming.
struct Large {
    head: CheckpointHead,
    pieces: Vec<Piece>,
    want: Want,
    done: Done,
}

/// The store as the server has it.
pub struct MemberStore {
    epoch: u64,
    identity: Identity,
    shared: SharedState,
    large: Mutex<BTreeMap<u64, Large>>,
}

impl MemberStore {
    fn ask(&self, job: Job) {
        locked(&self.shared).jobs.push(job);
    }
}

impl SegmentStore for MemberStore {
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
            done,
        }));
    }

    fn settle(&self, segments: Vec<u64>, settled: Settled) {
        self.ask(Job::Settle(segments, settled));
    }

    fn checkpoint(&self, checkpoint: Checkpoint, done: Done) {
        let Checkpoint { head, diff } = checkpoint;
        self.ask(Job::Save(Box::new(head), diff, Vec::new(), done));
    }

    fn checkpoint_in_pieces(&self, head: CheckpointHead, want: Want, done: Done) {
        want();
        let segment = head.segment_id;
        let large = Large {
            head,
            pieces: Vec::new(),
            want,
            done,
        };
        let mut all = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(segment, large);
    }

    fn next(&self, segment_id: u64, next: Next) {
        let mut all = self.large.lock().unwrap_or_else(PoisonError::into_inner);
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
                large.pieces.push(piece);
                let (head, diff) = (Box::new(large.head), bytes::Bytes::new());
                self.ask(Job::Save(head, diff, large.pieces, large.done));
            }
            Next::Nothing => (large.done)(Ok(())),
        }
    }

    fn overdue(&self) -> Vec<u64> {
        locked(&self.shared).known.with_log(MUCH_LOG_BYTES)
    }

    fn seek(&self, path: &str, claims: bool, seek: Seek) {
        self.ask(Job::Seek((path.to_string(), claims), seek));
    }

    fn follow(&self, path: &str, follow: Follow) {
        self.ask(Job::Follow(path.to_string(), follow));
    }

    fn unfollow(&self, path: &str) {
        locked(&self.shared).copies.remove(path);
    }

    fn give(&self, segment_id: u64, member: u64, give: Give) {
        self.ask(Job::Give((segment_id, member), give));
    }

    fn renew(&self, is_drained: bool, done: Done) {
        self.ask(Job::Renew(is_drained, done));
    }

    fn status(&self) -> StoreStatus {
        StoreStatus {
            stopped: locked(&self.shared).stopped.clone(),
            ..StoreStatus::default()
        }
    }

    fn close(self: Box<Self>, clean: bool) -> Result<(), StoreError> {
        self.ask(Job::Close { clean });
        Ok(())
    }
}

/// The request that a connection is busy with.
enum Doing {
    Append(Appending),
    Settle(Vec<u64>, Settled),
    Ending,
    Save {
        segment: u64,
        saved: Arc<Saved>,
        done: Done,
    },
    /// The others are looked at since then.
    Looking {
        done: Done,
        asked: Instant,
        is_drained: bool,
    },
    Renewing {
        done: Done,
        asked: Instant,
        is_drained: bool,
    },
    Seek(Seeking),
    Follow(Following),
    Give(Giving),
}

#[derive(Default)]
struct Connection {
    session: Option<u64>,
    is_connecting: bool,
    queue: VecDeque<Job>,
    doing: Option<Doing>,
}

/// This server among those that share the store, as others know it.
#[derive(Debug, Clone)]
pub struct About {
    pub address: String,
    pub lease_ms: u32,
}

pub struct Member {
    about: About,
    epoch: u64,
    /// The same epoch, and its claim for new segments.
    owner: (u64, u64),
    identity: Identity,
    shared: SharedState,
    watch: Watch,
    /// The newest timeline of the database that was seen.
    timeline: u64,
    /// For appends, checkpoints, renewals, and segments that are looked for, followed and given.
    connections: [Connection; 6],
    is_closed: bool,
    /// How many renewals it has asked for.
    renewals: u64,
    random: Random,
}

fn index(line: Line) -> usize {
    match line {
        Line::Append | Line::Join => 0,
        Line::Save => 1,
        Line::Renew => 2,
        Line::Seek => 3,
        Line::Follow => 4,
        Line::Give => 5,
    }
}

const LINES: [Line; 6] = [
    Line::Append,
    Line::Save,
    Line::Renew,
    Line::Seek,
    Line::Follow,
    Line::Give,
];

/// The time of the server's clock as the store's code counts it.
fn moment(env: &Env) -> Instant {
    base() + Duration::from_nanos(env.now_ns)
}

/// Commits that did not wait for the disk, or for the standby, are lost.
fn gone(segment: u64) -> StoreError {
    StoreError::Damaged {
        file: format!("the log of segment {segment}"),
        offset: 0,
        what: "records written before are gone".to_string(),
    }
}

fn broke() -> StoreError {
    StoreError::Away("the connection to the database broke".to_string())
}

fn io(rollback: Rollback) -> StoreError {
    match rollback {
        Rollback::NotOwner => StoreError::Fenced("it has found this server over".to_string()),
        other => StoreError::Io(format!("the transaction was rolled back: {other:?}")),
    }
}

impl Member {
    /// A server that has joined under that epoch.
    pub fn joined(
        about: About,
        (epoch, timeline, identity): (u64, u64, Identity),
        random: Random,
    ) -> (Box<dyn SegmentStore>, Member) {
        let shared = SharedState::default();
        locked(&shared).claims.insert(epoch);
        let store = MemberStore {
            epoch,
            identity,
            shared: Arc::clone(&shared),
            large: Mutex::default(),
        };
        let member = Member {
            about,
            epoch,
            owner: (epoch, epoch),
            identity,
            shared,
            watch: Watch::default(),
            timeline,
            connections: Default::default(),
            is_closed: false,
            renewals: 0,
            random,
        };
        (Box::new(store), member)
    }

    pub fn lease_ms(&self) -> u32 {
        self.about.lease_ms
    }

    /// All that was asked before the end has ended.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Takes what the store was asked.
    pub fn begin(&mut self, env: &mut Env, start: u64) {
        let jobs = std::mem::take(&mut locked(&self.shared).jobs);
        for job in jobs {
            self.connections[index(job.line())].queue.push_back(job);
        }
        for line in LINES {
            self.go_on(env, start, line);
        }
    }

    /// Begins the next request, if the connection is free.
    fn go_on(&mut self, env: &mut Env, start: u64, line: Line) {
        let connection = &mut self.connections[index(line)];
        if connection.doing.is_some() {
            return;
        }
        let Some(job) = connection.queue.pop_front() else {
            return;
        };
        let doing = match job {
            Job::Append(first) => {
                let mut appends = VecDeque::from([first]);
                while let Some(Job::Append(_)) = connection.queue.front() {
                    if let Some(Job::Append(next)) = connection.queue.pop_front() {
                        appends.push_back(next);
                    }
                }
                Some(Doing::Append(Appending::of(appends)))
            }
            Job::Settle(segments, settled) => Some(Doing::Settle(segments, settled)),
            Job::Close { clean } => {
                let is_clean = clean && locked(&self.shared).stopped.is_none();
                self.is_closed = !is_clean;
                is_clean.then_some(Doing::Ending)
            }
            Job::Save(head, diff, pieces, done) => self.begin_save(*head, (diff, pieces), done),
            Job::Renew(is_drained, done) => Some(Doing::Looking {
                done,
                asked: moment(env),
                is_drained,
            }),
            Job::Seek(asked, seek) => Some(Doing::Seek(Seeking::begin(asked, seek, moment(env)))),
            Job::Follow(path, follow) => {
                Some(Doing::Follow(Following::begin(path, follow, moment(env))))
            }
            Job::Give(what, give) => Giving::begin(what, give, &self.shared).map(Doing::Give),
        };
        self.connections[index(line)].doing = doing;
        self.send(env, start, line);
        if self.connections[index(line)].doing.is_none() {
            self.go_on(env, start, line);
        }
    }

    fn begin_save(
        &mut self,
        mut head: CheckpointHead,
        (diff, pieces): (bytes::Bytes, Vec<Piece>),
        done: Done,
    ) -> Option<Doing> {
        let shared = locked(&self.shared);
        let segment = head.segment_id;
        let completed = match (&shared.stopped, shared.known.get(segment)) {
            (Some(why), _) => Err(why.clone()),
            (None, None) => Err(StoreError::Io(format!(
                "no segment {segment} to checkpoint"
            ))),
            (None, Some(known)) => {
                let place = |_: &CheckpointHead| Ok((0, known.serials_below));
                complete_head(&mut head, &self.identity, place)
            }
        };
        drop(shared);
        if let Err(error) = completed {
            done(Err(error));
            return None;
        }
        let saved = Arc::new(Saved { head, diff, pieces });
        Some(Doing::Save {
            segment,
            saved,
            done,
        })
    }

    /// Sends what the connection is busy with. Connects first, if it must.
    fn send(&mut self, env: &mut Env, start: u64, line: Line) {
        if line == Line::Seek && self.seek_waits() {
            return;
        }
        let connection = &mut self.connections[index(line)];
        let Some(doing) = &mut connection.doing else {
            return;
        };
        let ns = self.random.skewed(20_000, 2 * MS);
        let Some(session) = connection.session else {
            if !std::mem::replace(&mut connection.is_connecting, true) {
                env.after(ns, Event::Database(Step::Connect { start, line }));
            }
            return;
        };
        let work = match doing {
            Doing::Append(appending) => match appending.work(self.owner, &self.shared) {
                Some(work) => work,
                None => {
                    connection.doing = None;
                    return;
                }
            },
            Doing::Settle(segments, _) => Work::Settle {
                owner: self.epoch,
                segments: segments.clone(),
            },
            Doing::Ending => {
                let shared = locked(&self.shared);
                Work::End {
                    epoch: self.epoch,
                    heads: shared.known.heads(),
                    claims: shared.claims.clone(),
                    doubts: shared.doubts.clone(),
                }
            }
            Doing::Save { segment, saved, .. } => {
                let shared = locked(&self.shared);
                let known = shared.known.get(*segment);
                Work::Save {
                    segment: *segment,
                    claim: known.map_or(0, |known| known.claim),
                    head: known.map_or(0, |known| known.head),
                    saved: Arc::clone(saved),
                }
            }
            Doing::Looking { asked, .. } => {
                *asked = moment(env);
                Work::Others { epoch: self.epoch }
            }
            Doing::Renewing { is_drained, .. } => {
                self.renewals += 1;
                Work::Renew {
                    epoch: self.epoch,
                    count: self.renewals,
                    is_drained: *is_drained,
                }
            }
            Doing::Seek(seeking) => seeking.work(self.epoch, moment(env), &self.shared),
            Doing::Follow(following) => following.work(moment(env)),
            Doing::Give(giving) => giving.work(self.epoch),
        };
        let work = Box::new(work);
        env.after(ns, Event::Database(Step::Comes { session, work }));
    }

    /// A connection hears from the database.
    pub fn told(&mut self, env: &mut Env, start: u64, told: Told) {
        let line = told.line;
        let timeline = self.timeline;
        let connection = &mut self.connections[index(line)];
        match told.heard {
            Heard::Connected {
                session,
                timeline: found,
            } => {
                connection.is_connecting = false;
                if found < timeline {
                    let text = format!("the database is on timeline {found}, after {timeline}");
                    self.fail(line, &StoreError::Away(text), false);
                } else {
                    self.timeline = found;
                    connection.session = Some(session);
                    self.send(env, start, line);
                }
            }
            Heard::NotConnected(error) => {
                connection.is_connecting = false;
                self.fail(line, &error, false);
            }
            Heard::Broken { session } if connection.session == Some(session) => {
                connection.session = None;
                self.fail(line, &broke(), true);
            }
            Heard::Ended {
                session,
                result,
                warned,
            } if connection.session == Some(session) => {
                self.ended(env, (start, line), result, warned);
            }
            _ => {}
        }
        self.begin(env, start);
    }

    /// The request came to nothing. `was_sent`: it may have taken effect.
    fn fail(&mut self, line: Line, error: &StoreError, was_sent: bool) {
        match self.connections[index(line)].doing.take() {
            Some(Doing::Append(appending)) => appending.fail(&self.shared, error, was_sent),
            Some(Doing::Settle(_, settled)) => {
                settled(Err(StoreError::Unknown(error.to_string())));
            }
            Some(Doing::Ending) => self.is_closed = true,
            Some(Doing::Looking { done, .. } | Doing::Renewing { done, .. }) => {
                self.watch.begin_anew();
                done(Err(error.clone()));
            }
            Some(Doing::Save { done, .. }) => done(Err(error.clone())),
            Some(Doing::Seek(seeking)) => seeking.fail(error),
            Some(Doing::Follow(following)) => following.fail(&self.shared, error),
            Some(Doing::Give(giving)) => giving.fail(&self.shared, error),
            None => {}
        }
    }

    /// The connection's transaction has ended.
    fn ended(
        &mut self,
        env: &mut Env,
        (start, line): (u64, Line),
        result: Result<Found, Rollback>,
        warned: bool,
    ) {
        let number = index(line);
        let left = match self.connections[number].doing.take() {
            Some(Doing::Append(appending)) => {
                let left = appending.ended(&self.shared, result, warned);
                left.map(Doing::Append)
            }
            Some(Doing::Settle(segments, settled)) => {
                self.reconnect_if(warned || result.is_err(), number);
                settled(self.settled(&segments, result, warned));
                None
            }
            Some(Doing::Ending) => {
                self.is_closed = true;
                None
            }
            Some(Doing::Save {
                segment,
                saved,
                done,
            }) => {
                self.save_ended((segment, &saved), done, result, warned);
                None
            }
            Some(Doing::Looking {
                done,
                asked,
                is_drained,
            }) => {
                self.looked(env, asked, &result);
                Some(Doing::Renewing {
                    done,
                    asked,
                    is_drained,
                })
            }
            Some(Doing::Renewing { done, asked, .. }) => {
                self.reconnect_if(warned, number);
                done(self.renewed(renewed(result, warned), (asked, moment(env))));
                None
            }
            Some(Doing::Seek(seeking)) => {
                let own = (self.epoch, self.about.address.as_str());
                let about = (own, &self.watch, &self.shared);
                let look = moment(env);
                seeking.ended(about, look, result, warned).map(Doing::Seek)
            }
            Some(Doing::Follow(following)) => {
                let about = (self.epoch, &self.watch, &self.shared);
                let left = following.ended(about, moment(env), result);
                left.map(Doing::Follow)
            }
            Some(Doing::Give(giving)) => {
                self.reconnect_if(warned || result.is_err(), number);
                giving.ended(&self.shared, result, warned);
                None
            }
            None => None,
        };
        self.connections[number].doing = left;
        self.send(env, start, line);
        self.seek_on(env, start, line);
    }

    /// A transaction may be open on the connection of that number.
    fn reconnect_if(&mut self, may_be_open: bool, number: usize) {
        if may_be_open {
            self.connections[number].session = None;
        }
    }

    /// A segment was read on: a claim may wait for that.
    fn seek_on(&mut self, env: &mut Env, start: u64, line: Line) {
        let is_over = line == Line::Follow && self.connections[index(line)].doing.is_none();
        let connection = &self.connections[index(Line::Seek)];
        let waits = matches!(&connection.doing, Some(Doing::Seek(seeking)) if seeking.is_held());
        if is_over && waits {
            self.send(env, start, Line::Seek);
        }
    }

    fn settled(
        &mut self,
        segments: &[u64],
        result: Result<Found, Rollback>,
        warned: bool,
    ) -> Result<Vec<(u64, End)>, StoreError> {
        let unknown = |text: String| Err(StoreError::Unknown(text));
        let settled = match result {
            Err(rollback) => return unknown(format!("{rollback:?}")),
            Ok(_) if warned => return unknown("the wait for the standby was cancelled".into()),
            Ok(Found::Settled(settled)) => settled,
            Ok(other) => return unknown(format!("{other:?}")),
        };
        let Some(settled) = settled else {
            return Ok(segments.iter().map(|id| (*id, End::Fenced)).collect());
        };
        self.owner.1 = settled.claim;
        let mut shared = locked(&self.shared);
        shared.claims.insert(settled.claim);
        let is_behind = |(id, row): &&(u64, Arc<SegmentRow>)| {
            let known = shared.known.get(*id);
            known.is_some_and(|known| row.head < known.head)
        };
        if let Some((id, _)) = settled.own.iter().find(is_behind) {
            let gone = gone(*id);
            shared.stopped.get_or_insert(gone.clone());
            return Err(gone);
        }
        let mut end = |id: &u64| {
            let row = settled.own.iter().find(|(own, _)| own == id);
            shared.known.decide(*id, row.map(|(_, row)| &**row));
            match settled.foreign.contains(id) {
                true => End::Fenced,
                false => row.map_or(End::Absent, |(_, row)| row.end()),
            }
        };
        Ok(segments.iter().map(|id| (*id, end(id))).collect())
    }

    /// Takes note of a renewal that was asked for and answered at these times.
    fn renewed(
        &self,
        result: Result<(), StoreError>,
        times: (Instant, Instant),
    ) -> Result<(), StoreError> {
        let lease = Duration::from_millis(self.about.lease_ms.into());
        match result {
            Ok(()) => self.watch.renewed(lease, times),
            Err(_) => self.watch.begin_anew(),
        }
        result
    }

    fn looked(&self, env: &Env, asked: Instant, result: &Result<Found, Rollback>) {
        let Ok(Found::Others(others)) = result else {
            return;
        };
        for other in others {
            other.is_over(&self.watch, (asked, moment(env)));
        }
        let epochs: Vec<i64> = others.iter().map(|other| other.epoch as i64).collect();
        self.watch.forget_all_but(&epochs);
    }

    /// A claimed segment is read, and its copy is being read on: the one waits for the other.
    fn seek_waits(&self) -> bool {
        let doing = |line| self.connections[index(line)].doing.as_ref();
        match (doing(Line::Seek), doing(Line::Follow)) {
            (Some(Doing::Seek(seeking)), Some(Doing::Follow(following))) => {
                seeking.reads(&following.path)
            }
            _ => false,
        }
    }

    fn save_ended(
        &self,
        (segment, saved): (u64, &Saved),
        done: Done,
        result: Result<Found, Rollback>,
        warned: bool,
    ) {
        let result = match result {
            _ if warned => Err(StoreError::Io(
                "it is not known whether the checkpoint is on the standby".to_string(),
            )),
            Ok(Found::Changed(true)) => Ok(()),
            Ok(_) => Err(StoreError::SegmentsFenced(vec![segment])),
            Err(rollback) => Err(io(rollback)),
        };
        if result.is_ok() {
            locked(&self.shared).known.saved(segment, &saved.head);
        }
        done(result);
    }
}

fn renewed(result: Result<Found, Rollback>, warned: bool) -> Result<(), StoreError> {
    match result {
        _ if warned => Err(StoreError::Io(
            "the lease is not renewed on the standby".to_string(),
        )),
        Ok(Found::Changed(true)) => Ok(()),
        Ok(_) => Err(StoreError::Fenced(
            "it has found this server over, because its lease was not renewed in time".to_string(),
        )),
        Err(rollback) => Err(io(rollback)),
    }
}

/// How clients reach the server of that number.
pub fn address_of(member: usize) -> String {
    format!("s{member}.example:7747")
}

/// The number of the server at that address.
pub fn member_at(address: &str) -> Option<usize> {
    let (name, _) = address.strip_prefix('s')?.split_once('.')?;
    name.parse().ok()
}

/// Another server, or an earlier start of this one [SPACE-17].
fn is_own(at: &Elsewhere, own: &str) -> bool {
    at.address == own
}
