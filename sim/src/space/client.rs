//! A client of a space, as a plain model: it asks the server of its URL for a segment, follows
//! where it is sent on, and asks again when the owner is lost [SPACE-9..14]. It has a session at
//! each server that it was at, and checks all that it is told.

mod following;
pub mod link;
mod reading;
mod writing;

use crate::client::copy::Copy;
use crate::client::keeping::Keeping;
use crate::client::{decoded, error_of, Op, Watching};
use crate::env::{Env, Event, MS};
use crate::history::{violation, Checked, Floor};
use crate::network::Item;
use crate::random::Random;
use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::Message;
use link::{ClientHabits, Links};
use std::collections::VecDeque;
use writing::{Release, Writing};

/// The subject of a request that is not answered.
#[derive(Debug)]
pub enum Asked {
    Hello,
    Open {
        segment: usize,
        floor: Floor,
        creates: bool,
    },
    Read {
        segment: usize,
        floor: Floor,
        sent_ns: u64,
    },
    Lock {
        writing: u64,
        segment: usize,
        floor: Floor,
        sent_ns: u64,
    },
    Renew,
    Release,
    Resolve {
        part: usize,
    },
    Subscribe {
        segment: usize,
        watching: Watching,
        floor: Floor,
        sent_ns: u64,
    },
    Remove {
        segment: usize,
    },
    /// A request of the mover.
    Step,
    /// DONE, or whatever else: nothing follows from it.
    Anything,
}

impl Asked {
    fn segment(&self) -> Option<usize> {
        match self {
            Asked::Open { segment, .. }
            | Asked::Read { segment, .. }
            | Asked::Lock { segment, .. }
            | Asked::Subscribe { segment, .. } => Some(*segment),
            _ => None,
        }
    }
}

#[derive(Debug)]
enum Doing {
    Writing(Writing),
    /// The outcome of a release is not known.
    Resolving(Release),
    Reading {
        segment: usize,
        wish: reading::Wish,
        is_asked: bool,
    },
    Subscribing {
        segment: usize,
        watching: Watching,
        is_asked: bool,
    },
    Removing {
        segment: usize,
        is_asked: bool,
    },
}

impl Doing {
    fn segments(&self) -> Vec<usize> {
        match self {
            Doing::Writing(writing) => writing.segments.clone(),
            Doing::Resolving(release) => release.unresolved(),
            Doing::Reading { segment, .. }
            | Doing::Subscribing { segment, .. }
            | Doing::Removing { segment, .. } => vec![*segment],
        }
    }
}

/// Where a segment is for the client.
#[derive(Debug)]
struct Place {
    /// The server that is asked for it, or has it open.
    at: usize,
    /// How often the client was sent on for the present request.
    hops: u32,
    /// The space of the server that has sent the client there.
    space: Option<[u8; 16]>,
    /// It was open before, so that it is not created.
    was_open: bool,
    asks_ns: u64,
    /// A move has brought the segment here then.
    came_ns: u64,
}

/// A client that cannot open a segment tries again after so long.
const PAUSE_NS: u64 = 50 * MS;
const MOST_OPS: usize = 8;
/// A client is sent on so often at most for one request [SPACE-10].
const MOST_HOPS: u32 = 3;

pub struct SpaceClient {
    pub number: usize,
    /// Tells this process from those before.
    process: u64,
    random: Random,
    servers: usize,
    lease_ns: u64,
    durable: Vec<Durability>,
    links: Links,
    habits: ClientHabits,
    /// The server of the URL, and its space. No program has the URL of a stranger.
    home: usize,
    space: [u8; 16],
    places: Vec<Place>,
    copies: Vec<Copy>,
    ops: VecDeque<Op>,
    doing: Option<Doing>,
    keeping: Keeping,
    is_down: bool,
    pub is_paused: bool,
    /// It asks again when it is refused.
    insists: bool,
    /// It watches all segments, also over its next connection [CONN-1].
    listens: bool,
    waiting: Vec<Event>,
}

impl SpaceClient {
    pub fn new(
        number: usize,
        mut random: Random,
        (servers, space): (usize, [u8; 16]),
        (lease_ns, durable): (u64, Vec<Durability>),
        habits: ClientHabits,
    ) -> SpaceClient {
        let home = random.below(servers as u64) as usize;
        let place = |_| Place {
            at: home,
            hops: 0,
            space: None,
            was_open: false,
            asks_ns: 0,
            came_ns: 0,
        };
        SpaceClient {
            number,
            process: 0,
            servers,
            lease_ns,
            links: Links {
                habits,
                ..Links::default()
            },
            habits,
            home,
            space,
            places: durable.iter().map(place).collect(),
            copies: durable.iter().map(|_| Copy::default()).collect(),
            durable,
            ops: VecDeque::new(),
            doing: None,
            keeping: Keeping::default(),
            is_down: false,
            is_paused: false,
            insists: false,
            listens: false,
            waiting: Vec::new(),
            random,
        }
    }

    pub fn add(&mut self, env: &mut Env, op: Op) -> Checked<()> {
        if self.ops.len() < MOST_OPS && !self.is_down {
            self.ops.push_back(op);
        }
        if self.is_paused {
            return Ok(());
        }
        self.go_on(env)
    }

    /// The faults are over. The client drops the ops that it has not begun, ends the present one
    /// soon, and listens from now on.
    pub fn grow_calm(&mut self) {
        self.ops.clear();
        self.insists = true;
        self.listens = true;
        self.end_section();
    }

    pub fn is_idle(&self) -> bool {
        self.doing.is_none() && self.ops.is_empty()
    }

    /// Whether it has the segment's writer lock, and has not begun to give it back.
    pub fn holds(&self, segment: usize) -> bool {
        matches!(&self.doing, Some(Doing::Writing(writing)) if writing.holds(segment))
    }

    /// The connections that it has, and their servers.
    pub fn connections(&self) -> Vec<(usize, u64)> {
        self.links.connections()
    }

    /// The process ends.
    pub fn kill(&mut self, env: &mut Env) {
        self.links.close_all(env);
        let about = (self.lease_ns, self.durable.clone());
        let fresh = SpaceClient::new(
            self.number,
            self.random.clone(),
            (self.servers, self.space),
            about,
            self.habits,
        );
        *self = SpaceClient {
            process: self.process + 1,
            is_down: true,
            ..fresh
        };
        // The next one has another URL, and other chances.
        self.random.next();
    }

    pub fn restart(&mut self) {
        self.is_down = false;
    }

    pub fn resume(&mut self, env: &mut Env) -> Checked<()> {
        self.is_paused = false;
        let mut waiting = std::mem::take(&mut self.waiting).into_iter();
        waiting.try_for_each(|event| self.take(env, event))?;
        self.go_on(env)
    }

    /// Takes an event that is the client's.
    pub fn take(&mut self, env: &mut Env, event: Event) -> Checked<()> {
        if self.is_paused {
            self.waiting.push(event);
            return Ok(());
        }
        match event {
            Event::Arrives {
                connection,
                item,
                sent_ns,
                ..
            } => {
                if let Some(server) = self.links.with(connection) {
                    match item {
                        Item::Bytes(bytes) => self.received(env, server, (&bytes, sent_ns))?,
                        Item::Close => self.lost(env, server),
                        Item::Open => {}
                    }
                }
            }
            Event::Lost { connection, .. } => {
                if let Some(server) = self.links.with(connection) {
                    self.lost(env, server);
                }
            }
            Event::Client { timer, .. } if timer == self.process => self.on_time(env)?,
            _ => {}
        }
        self.go_on(env)
    }

    fn wake(&self, env: &mut Env, at_ns: u64) {
        let (client, timer) = (self.number, self.process);
        env.at(at_ns, Event::Client { client, timer });
    }

    /// Looks at what is due.
    fn on_time(&mut self, env: &mut Env) -> Checked<()> {
        for server in self.links.silent(env.now_ns, self.lease_ns) {
            env.say(|| format!("client {}: nothing was heard of {server}", self.number));
            self.give_up(env, server);
        }
        if let Some(at_ns) = self.links.ping(env, self.lease_ns) {
            self.wake(env, at_ns);
        }
        self.give_unused_back(env);
        self.on_time_writing(env)
    }

    fn give_up(&mut self, env: &mut Env, server: usize) {
        self.links.close(env, server);
        self.lost(env, server);
    }

    /// The connection to the server is lost, or could not be made. Its segments are asked for
    /// again: first there, then at the server of the URL [SPACE-14].
    fn lost(&mut self, env: &mut Env, server: usize) {
        let Some(was_greeted) = self.links.lost(env, server) else {
            return;
        };
        if was_greeted {
            env.say(|| format!("client {}: the connection to {server} is lost", self.number));
        }
        self.keeping.lost(server);
        let ns = self.random.skewed(MS, PAUSE_NS);
        for segment in 0..self.places.len() {
            if self.places[segment].at != server {
                continue;
            }
            self.copies[segment].connection_lost();
            self.places[segment].asks_ns = env.now_ns + ns;
            if !was_greeted {
                self.go_home(segment);
            }
        }
        self.wake(env, env.now_ns + ns);
        self.lost_while_doing(env, server);
    }

    fn lost_while_doing(&mut self, env: &mut Env, server: usize) {
        let concerns = |doing: &Doing| {
            let segments = doing.segments();
            segments
                .iter()
                .any(|segment| self.places[*segment].at == server)
                || matches!(doing, Doing::Writing(w) if w.is_at(server))
        };
        if !self.doing.as_ref().is_some_and(concerns) {
            return;
        }
        self.doing = match self.doing.take() {
            Some(Doing::Writing(writing)) => self.lost_while_writing(env, writing, server),
            Some(Doing::Resolving(mut release)) => {
                release.asked.clear();
                Some(Doing::Resolving(release))
            }
            Some(Doing::Reading { segment, wish, .. }) => Some(Doing::Reading {
                segment,
                wish,
                is_asked: false,
            }),
            Some(Doing::Subscribing {
                segment, watching, ..
            }) => Some(Doing::Subscribing {
                segment,
                watching,
                is_asked: false,
            }),
            Some(Doing::Removing { .. }) | None => None,
        };
    }

    fn ask(
        &mut self,
        env: &mut Env,
        segment: usize,
        (type_, asked): (MessageType, Asked),
        body: &impl xdr::Xdr,
        bulk: Bytes,
    ) {
        let at = self.places[segment].at;
        if let Some(link) = self.links.greeted(at) {
            link.ask(env, (type_, asked), body, bulk);
        }
    }

    fn received(
        &mut self,
        env: &mut Env,
        server: usize,
        (bytes, sent_ns): (&[u8], u64),
    ) -> Checked<()> {
        self.links.heard(env, server, bytes, sent_ns);
        while let Some(message) = self.links.next_message(server)? {
            self.message(env, server, &message)?;
        }
        Ok(())
    }

    fn message(&mut self, env: &mut Env, server: usize, message: &Message) -> Checked<()> {
        let Some(type_) = message.kind() else {
            return violation("messages", format!("type {}", message.envelope.type_));
        };
        let stream = message.envelope.stream;
        let number = self.number as u64;
        let about = [number, server as u64, type_ as u64, stream.into()];
        env.trace.note(env.now_ns, &about);
        env.say(|| format!("client {number}: {} on {stream} of {server}", type_.name()));
        if stream >= 1 << 31 {
            return self.notified(env, server, type_, message);
        }
        if stream == 0 {
            self.give_up(env, server);
            return Ok(());
        }
        let asked = self
            .links
            .connected(server)
            .and_then(|link| link.answered(stream));
        let Some(asked) = asked else {
            return violation("answers", format!("{} answers nothing", type_.name()));
        };
        if type_ == MessageType::Error {
            let (code, text) = error_of(message)?;
            env.say(|| format!("client {number}: {}: {text}", code.name()));
            match (code, &asked, asked.segment()) {
                (ErrorCode::Damaged, _, Some(segment)) => env.history[segment].damaged(&text)?,
                (ErrorCode::Removed, Asked::Open { segment, .. }, _) => {
                    env.history[*segment].said_removed(&text)?;
                }
                _ => {}
            }
            return self.refused(env, server, asked, code, message);
        }
        self.answered(env, server, asked, message)
    }

    fn refused(
        &mut self,
        env: &mut Env,
        server: usize,
        asked: Asked,
        code: ErrorCode,
        message: &Message,
    ) -> Checked<()> {
        match asked {
            Asked::Hello => {
                self.give_up(env, server);
                Ok(())
            }
            Asked::Open { segment, floor, .. } => {
                self.copies[segment].is_opening = false;
                match code {
                    ErrorCode::Redirected => self.sent_on(env, (segment, server), message),
                    ErrorCode::NoSegment => self.is_missing(env, segment, floor),
                    ErrorCode::Damaged => Ok(()),
                    _ => {
                        let ns = self.random.skewed(MS, PAUSE_NS);
                        self.places[segment].asks_ns = env.now_ns + ns;
                        self.go_home(segment);
                        self.wake(env, env.now_ns + ns);
                        Ok(())
                    }
                }
            }
            Asked::Release => self.release_refused(env, code),
            // It crosses SEGMENT_MOVED, or waited for the move.
            Asked::Read {
                segment, sent_ns, ..
            }
            | Asked::Lock {
                segment, sent_ns, ..
            }
            | Asked::Subscribe {
                segment, sent_ns, ..
            } if code == ErrorCode::Redirected => {
                self.moved_on(env, (segment, server, sent_ns), message)
            }
            Asked::Resolve { part } => self.not_resolved(part, code),
            Asked::Lock { writing, .. } => {
                self.lock_refused(env, writing);
                Ok(())
            }
            Asked::Renew => {
                self.lock_is_lost(env);
                Ok(())
            }
            Asked::Remove { segment } if code == ErrorCode::Redirected => {
                match self.places[segment].at == server {
                    true => self.sent_on(env, (segment, server), message),
                    false => Ok(()),
                }
            }
            Asked::Read { .. } | Asked::Subscribe { .. } | Asked::Remove { .. } => {
                self.doing = None;
                Ok(())
            }
            Asked::Step | Asked::Anything => Ok(()),
        }
    }

    fn answered(
        &mut self,
        env: &mut Env,
        server: usize,
        asked: Asked,
        message: &Message,
    ) -> Checked<()> {
        match asked {
            Asked::Hello => self.welcomed(env, server, &decoded(message)?),
            Asked::Open {
                segment,
                floor,
                creates,
            } => self.opened(env, (segment, floor, creates), &decoded(message)?),
            Asked::Read {
                segment,
                floor,
                sent_ns,
            } => self.read(env, (segment, floor, sent_ns), message),
            Asked::Lock {
                writing,
                segment,
                floor,
                sent_ns,
            } => self.locked(env, (writing, server), (segment, floor, sent_ns), message),
            Asked::Renew => {
                self.renewed(env);
                Ok(())
            }
            Asked::Release => self.released(env, message),
            Asked::Resolve { part } => self.resolved(env, part, &decoded(message)?),
            Asked::Subscribe {
                segment,
                watching,
                floor,
                ..
            } => self.subscribed(env, (segment, watching, floor), &decoded(message)?),
            Asked::Remove { segment } => {
                self.doing = None;
                self.places[segment].was_open = false;
                Ok(())
            }
            Asked::Step | Asked::Anything => Ok(()),
        }
    }

    fn notified(
        &mut self,
        env: &mut Env,
        server: usize,
        type_: MessageType,
        message: &Message,
    ) -> Checked<()> {
        match type_ {
            MessageType::Push => self.pushed(env, server, &decoded(message)?, &message.bulk),
            MessageType::NotRecent => {
                let told: NotRecent = decoded(message)?;
                if let Some(segment) = self.segment_of(server, told.segment) {
                    env.history[segment].see(&told.now)?;
                    self.copies[segment].is_old = true;
                }
                Ok(())
            }
            MessageType::WriterLost => {
                let lost: WriterLost = decoded(message)?;
                if let Some(segment) = self.segment_of(server, lost.segment) {
                    self.keeping.forget((segment, lost.fence));
                    self.writer_lost(env, (segment, lost.fence));
                }
                Ok(())
            }
            MessageType::RecallWriter => {
                let recall: RecallWriter = decoded(message)?;
                self.recalled(env, server, &recall);
                Ok(())
            }
            MessageType::Goodbye => {
                self.give_up(env, server);
                Ok(())
            }
            MessageType::SegmentGone => {
                let gone: SegmentGone = decoded(message)?;
                if let Some(segment) = self.segment_of(server, gone.segment) {
                    self.gone(env, segment);
                }
                Ok(())
            }
            MessageType::SegmentMoved => self.moved(env, server, &decoded(message)?),
            MessageType::Heartbeat => Ok(()),
            other => violation("messages", format!("{} is a notification", other.name())),
        }
    }

    fn segment_of(&self, server: usize, number: u32) -> Option<usize> {
        let copies = self.copies.iter().zip(&self.places);
        let mut has = copies.map(|(copy, place)| place.at == server && copy.number == Some(number));
        has.position(|has| has)
    }

    /// Begins what comes next, and what the present thing needs.
    fn go_on(&mut self, env: &mut Env) -> Checked<()> {
        loop {
            if self.is_down || !self.begin_next(env) || !self.open_all(env) {
                return Ok(());
            }
            let Some(doing) = self.doing.take() else {
                continue;
            };
            let (doing, waits) = self.step(env, doing)?;
            self.doing = doing;
            if waits {
                return Ok(());
            }
        }
    }

    /// False: there is nothing to do.
    fn begin_next(&mut self, env: &mut Env) -> bool {
        if self.doing.is_some() {
            return true;
        }
        self.listen_on(env);
        let Some(op) = self.ops.pop_front() else {
            return false;
        };
        env.counts.operations += 1;
        let number = env.counts.operations;
        self.doing = match op {
            Op::Write {
                segments,
                hold_ns,
                ending,
            } => Some(Doing::Writing(Writing::begin(
                number, segments, hold_ns, ending,
            ))),
            Op::Read {
                segment,
                model,
                x,
                fresh,
            } => Some(Doing::Reading {
                segment,
                wish: (model, x, fresh),
                is_asked: false,
            }),
            Op::Subscribe { segment, watching } => Some(Doing::Subscribing {
                segment,
                watching,
                is_asked: false,
            }),
            Op::Unsubscribe { segment } => {
                self.unsubscribe(env, segment);
                None
            }
            Op::Remove { segment } => Some(Doing::Removing {
                segment,
                is_asked: false,
            }),
        };
        true
    }

    /// Opens the segments that are needed. False: not all are open yet.
    fn open_all(&mut self, env: &mut Env) -> bool {
        let needed = self.doing.as_ref().map_or(Vec::new(), Doing::segments);
        let mut all = true;
        for segment in needed {
            let at = self.places[segment].at;
            let is_there = self.links.greeted(at).is_some();
            if self.copies[segment].number.is_some() && is_there {
                continue;
            }
            all = false;
            if env.now_ns < self.places[segment].asks_ns {
                continue;
            }
            if !is_there {
                if let Some(at_ns) = self.links.connect(env, (self.number, at), self.lease_ns) {
                    self.wake(env, at_ns);
                }
            } else if !std::mem::replace(&mut self.copies[segment].is_opening, true) {
                self.open(env, segment);
            }
        }
        all
    }

    fn open(&mut self, env: &mut Env, segment: usize) {
        let creates = !self.places[segment].was_open;
        let body = OpenSegment {
            path: env.history[segment].path.clone(),
            create: creates,
            read_only: false,
            durable: self.durable[segment],
            quota_bytes: 0,
            fields: Vec::new(),
        };
        let floor = env.history[segment].floor();
        let asked = Asked::Open {
            segment,
            floor,
            creates,
        };
        let what = (MessageType::OpenSegment, asked);
        self.ask(env, segment, what, &body, Bytes::new());
    }

    /// Does what can be done now. Returns what is left of it, and whether that waits.
    fn step(&mut self, env: &mut Env, doing: Doing) -> Checked<(Option<Doing>, bool)> {
        match doing {
            Doing::Writing(writing) => self.step_writing(env, writing),
            Doing::Resolving(release) => Ok((self.step_resolving(env, release), true)),
            Doing::Reading {
                segment,
                wish,
                is_asked,
            } => {
                if !is_asked && self.may_read(env, segment, wish)? {
                    return Ok((None, false));
                }
                if !is_asked {
                    self.ask_to_read(env, segment, wish);
                }
                let is_asked = true;
                let reading = Doing::Reading {
                    segment,
                    wish,
                    is_asked,
                };
                Ok((Some(reading), true))
            }
            Doing::Subscribing {
                segment,
                watching,
                is_asked,
            } => {
                if !is_asked {
                    self.ask_to_subscribe(env, segment, watching);
                }
                let is_asked = true;
                let subscribing = Doing::Subscribing {
                    segment,
                    watching,
                    is_asked,
                };
                Ok((Some(subscribing), true))
            }
            Doing::Removing { segment, is_asked } => {
                if !is_asked {
                    let history = &mut env.history[segment];
                    history.may_be_removed = true;
                    let path = history.path.clone();
                    let what = (MessageType::RemoveSegment, Asked::Remove { segment });
                    self.ask(env, segment, what, &RemoveSegment { path }, Bytes::new());
                }
                let is_asked = true;
                Ok((Some(Doing::Removing { segment, is_asked }), true))
            }
        }
    }
}
