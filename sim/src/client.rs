//! A client as a plain model: one connection, a session, copies of the segments, and one thing that
//! it does at a time. It speaks the protocol as the client libraries do, and checks all that it is
//! told ([history](crate::history)).

pub(crate) mod copy;
pub(crate) mod keeping;
mod messages;
mod op;
pub(crate) mod reading;
mod writing;

use crate::env::{send_in_parts, Env, Event, MS};
use crate::history::{violation, Checked, Floor};
use crate::network::{Item, Side};
use crate::random::Random;
use bytes::Bytes;
use copy::Copy;
use interweave_wire::fields::field;
use interweave_wire::protocol::xdr::Xdr;
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};
use keeping::Keeping;
pub(crate) use messages::{bytes_of, decoded, error_of, keeps_lock};
pub use op::{Ending, Op, Watching, MOST_PUSH_BYTES};
use std::collections::{BTreeMap, VecDeque};
use writing::{Release, Writing};

/// The subject of a request that is not answered.
#[derive(Debug)]
enum Asked {
    Hello,
    Open {
        segment: usize,
        floor: Floor,
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
    },
    Remove,
    /// DONE, or whatever else: nothing follows from it.
    Anything,
}

impl Asked {
    /// The one segment that it was about.
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
        model: CoherenceModel,
        x: u64,
        fresh: bool,
        is_asked: bool,
    },
    Subscribing {
        segment: usize,
        watching: Watching,
        is_asked: bool,
    },
    Unsubscribing {
        segment: usize,
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
            Doing::Resolving(release) => release.segments(),
            Doing::Reading { segment, .. }
            | Doing::Subscribing { segment, .. }
            | Doing::Unsubscribing { segment } => vec![*segment],
            Doing::Removing { .. } => Vec::new(),
        }
    }
}

/// A client that cannot reach the server tries again after so long.
const PAUSE_NS: u64 = 50 * MS;
const MOST_OPS: usize = 8;

pub struct Client {
    pub number: usize,
    /// Tells this process from those before.
    process: u64,
    random: Random,
    lease_ns: u64,
    keeps_grants: bool,
    durable: Vec<Durability>,
    connection: Option<u64>,
    is_greeted: bool,
    /// The session continued over the present connection.
    is_resumed: bool,
    decoder: FrameDecoder,
    session: SessionId,
    last_stream: u32,
    asked: BTreeMap<u32, Asked>,
    copies: Vec<Copy>,
    ops: VecDeque<Op>,
    doing: Option<Doing>,
    keeping: Keeping,
    sequence: u64,
    connects_at_ns: u64,
    pinged_ns: u64,
    sent_ns: u64,
    heard_ns: u64,
    /// When the server sent what was heard last.
    heard_of_ns: u64,
    is_down: bool,
    pub is_paused: bool,
    /// It asks again when it is refused.
    pub insists: bool,
    /// It watches all segments, also over its next connection [CONN-1].
    listens: bool,
    waiting: Vec<Event>,
}

impl Client {
    pub fn new(
        number: usize,
        mut random: Random,
        (lease_ns, durable): (u64, Vec<Durability>),
    ) -> Client {
        Client {
            number,
            process: 0,
            lease_ns,
            keeps_grants: random.one_in(2),
            copies: durable.iter().map(|_| Copy::default()).collect(),
            durable,
            connection: None,
            is_greeted: false,
            is_resumed: false,
            decoder: FrameDecoder::new(1 << 30),
            session: [0; 16],
            last_stream: 0,
            asked: BTreeMap::new(),
            ops: VecDeque::new(),
            doing: None,
            keeping: Keeping::default(),
            sequence: 0,
            connects_at_ns: 0,
            pinged_ns: 0,
            sent_ns: 0,
            heard_ns: 0,
            heard_of_ns: 0,
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

    pub fn connection(&self) -> Option<u64> {
        self.connection
    }

    /// The process ends.
    pub fn kill(&mut self, env: &mut Env) {
        if let Some(connection) = self.connection {
            env.net.close(connection, Side::Client);
            env.send(connection, Side::Server, Item::Close);
        }
        let fresh = Client::new(
            self.number,
            self.random.clone(),
            (self.lease_ns, self.durable.clone()),
        );
        let process = self.process + 1;
        *self = Client {
            process,
            is_down: true,
            ..fresh
        };
    }

    pub fn restart(&mut self) {
        self.is_down = false;
    }

    pub fn pause(&mut self) {
        self.is_paused = true;
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
            } if self.connection == Some(connection) => match item {
                Item::Bytes(bytes) => self.received(env, &bytes, sent_ns)?,
                Item::Close => self.lost(env),
                Item::Open => {}
            },
            Event::Lost { connection, .. } if self.connection == Some(connection) => {
                self.lost(env);
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
        if self.connection.is_none() {
            return Ok(());
        }
        if env.now_ns >= self.heard_ns + self.lease_ns {
            env.say(|| format!("client {}: nothing was heard", self.number));
            self.give_up_connection(env);
            return Ok(());
        }
        if env.now_ns >= self.pinged_ns + self.lease_ns / 4 {
            self.pinged_ns = env.now_ns;
            if self.is_greeted && env.now_ns >= self.sent_ns + self.lease_ns / 5 {
                self.ping(env);
            }
            self.wake(env, env.now_ns + self.lease_ns / 4);
        }
        self.give_unused_back(env);
        self.on_time_writing(env)
    }

    fn give_up_connection(&mut self, env: &mut Env) {
        if let Some(connection) = self.connection {
            env.net.close(connection, Side::Client);
            env.send(connection, Side::Server, Item::Close);
            self.lost(env);
        }
    }

    fn connect(&mut self, env: &mut Env) {
        let connection = env.net.connect(self.number);
        self.connection = Some(connection);
        self.is_greeted = false;
        self.decoder = FrameDecoder::new(1 << 30);
        self.heard_ns = env.now_ns;
        self.heard_of_ns = 0;
        self.pinged_ns = env.now_ns;
        env.send(connection, Side::Server, Item::Open);
        let keeping = KeepingField {
            keeps_grants: self.keeps_grants,
        };
        let hello = Hello {
            magic: *b"IWV1",
            version_min: PROTOCOL_VERSION_MIN,
            version_max: PROTOCOL_VERSION_MAX,
            session: self.session,
            token: String::new(),
            client: "sim".to_string(),
            fields: vec![field(FieldKey::Keeping, &keeping)],
        };
        self.ask(env, MessageType::Hello, &hello, Bytes::new(), Asked::Hello);
        self.wake(env, env.now_ns + self.lease_ns / 4);
        self.wake(env, env.now_ns + self.lease_ns);
    }

    fn lost(&mut self, env: &mut Env) {
        if let Some(connection) = self.connection.take() {
            env.net.close(connection, Side::Client);
        }
        if std::mem::take(&mut self.is_greeted) {
            env.say(|| format!("client {}: the connection is lost", self.number));
        }
        self.asked.clear();
        for copy in &mut self.copies {
            copy.connection_lost();
        }
        self.keeping.lost(0);
        self.lost_while_doing(env);
        let ns = self.random.skewed(MS, PAUSE_NS);
        self.connects_at_ns = env.now_ns + ns;
        self.wake(env, self.connects_at_ns);
    }

    fn lost_while_doing(&mut self, env: &mut Env) {
        self.doing = match self.doing.take() {
            Some(Doing::Writing(writing)) => self.lost_while_writing(env, writing),
            Some(Doing::Resolving(mut release)) => {
                release.asked.clear();
                Some(Doing::Resolving(release))
            }
            Some(Doing::Reading {
                segment,
                model,
                x,
                fresh,
                ..
            }) => Some(Doing::Reading {
                segment,
                model,
                x,
                fresh,
                is_asked: false,
            }),
            Some(Doing::Subscribing {
                segment, watching, ..
            }) => Some(Doing::Subscribing {
                segment,
                watching,
                is_asked: false,
            }),
            Some(Doing::Unsubscribing { .. } | Doing::Removing { .. }) | None => None,
        };
    }

    /// Sends a request.
    fn ask(
        &mut self,
        env: &mut Env,
        type_: MessageType,
        body: &impl Xdr,
        bulk: Bytes,
        asked: Asked,
    ) -> u32 {
        self.last_stream += 1;
        let stream = self.last_stream;
        let is_answered = !matches!(type_, MessageType::Credit);
        if is_answered {
            self.asked.insert(stream, asked);
        }
        let message = Message::new(type_, stream, body, bulk);
        self.put(env, message);
        stream
    }

    fn ping(&mut self, env: &mut Env) {
        self.last_stream += 1;
        self.asked.insert(self.last_stream, Asked::Anything);
        self.put(env, Message::bare(MessageType::Ping, self.last_stream));
    }

    fn put(&mut self, env: &mut Env, message: Message) {
        let Some(connection) = self.connection else {
            return;
        };
        self.sent_ns = env.now_ns;
        let bytes = bytes_of(message).into();
        send_in_parts(env, connection, Side::Server, bytes, env.world_ns);
    }

    fn received(&mut self, env: &mut Env, bytes: &[u8], sent_ns: u64) -> Checked<()> {
        self.heard_ns = env.now_ns;
        self.heard_of_ns = self.heard_of_ns.max(sent_ns);
        env.is_said(self.heard_of_ns);
        self.decoder.push(bytes);
        while self.connection.is_some() {
            match self.decoder.next_message() {
                Ok(Some(message)) => self.message(env, &message)?,
                Ok(None) => break,
                Err(rejection) => return violation("frames", rejection.text),
            }
        }
        Ok(())
    }

    fn message(&mut self, env: &mut Env, message: &Message) -> Checked<()> {
        let Some(type_) = message.kind() else {
            return violation("messages", format!("type {}", message.envelope.type_));
        };
        let stream = message.envelope.stream;
        env.trace.note(
            env.now_ns,
            &[self.number as u64, type_ as u64, stream.into()],
        );
        env.say(|| format!("client {}: {} on {stream}", self.number, type_.name()));
        if stream >= 1 << 31 {
            return self.notified(env, type_, message);
        }
        if stream == 0 {
            self.give_up_connection(env);
            return Ok(());
        }
        let Some(asked) = self.asked.remove(&stream) else {
            return violation("answers", format!("{} answers nothing", type_.name()));
        };
        if type_ == MessageType::Error {
            let (code, text) = error_of(message)?;
            let number = self.number;
            env.say(|| format!("client {number}: {}: {text}", code.name()));
            if let (ErrorCode::Damaged, Some(segment)) = (code, asked.segment()) {
                env.history[segment].damaged(&text)?;
            }
            return self.refused(env, asked, code);
        }
        self.answered(env, asked, message)
    }

    fn refused(&mut self, env: &mut Env, asked: Asked, code: ErrorCode) -> Checked<()> {
        if let Asked::Open { segment, .. } = asked {
            self.copies[segment].strict_ended();
        }
        match asked {
            Asked::Hello => {
                self.give_up_connection(env);
                Ok(())
            }
            Asked::Open { segment, .. } if code == ErrorCode::Damaged => {
                self.copies[segment].is_opening = false;
                let needs_it = |doing: &Doing| doing.segments().contains(&segment);
                self.doing = self.doing.take().filter(|doing| !needs_it(doing));
                Ok(())
            }
            Asked::Open { segment, .. } if code == ErrorCode::Removed => {
                self.copies[segment].is_opening = false;
                Ok(())
            }
            Asked::Open { .. } => {
                // A server that stops: later.
                self.give_up_connection(env);
                Ok(())
            }
            Asked::Release => self.release_refused(env, code),
            Asked::Resolve { part } => self.not_resolved(env, part, code),
            Asked::Lock { writing, .. } => {
                let insists = self.insists && code != ErrorCode::Damaged;
                self.lock_refused(env, writing, insists);
                Ok(())
            }
            Asked::Renew => {
                self.lock_is_lost(env);
                Ok(())
            }
            Asked::Read { .. } | Asked::Subscribe { .. } | Asked::Remove => {
                self.doing = None;
                Ok(())
            }
            Asked::Anything => Ok(()),
        }
    }

    fn answered(&mut self, env: &mut Env, asked: Asked, message: &Message) -> Checked<()> {
        match asked {
            Asked::Hello => self.welcomed(env, &decoded(message)?),
            Asked::Open { segment, floor } => {
                let opened: SegmentOpened = decoded(message)?;
                if opened.created {
                    env.history[segment].created();
                }
                let history = &mut env.history[segment];
                history.see(&opened.newest)?;
                history.check_floor("acknowledged is there", &opened.newest, floor, 0)?;
                self.copies[segment].number = Some(opened.segment);
                self.copies[segment].is_opening = false;
                if self.copies[segment].owes_strict {
                    self.return_strict(env, segment);
                }
                Ok(())
            }
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
            } => self.locked(env, writing, (segment, floor, sent_ns), message),
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
            } => self.subscribed(env, (segment, watching, floor), &decoded(message)?),
            Asked::Remove => {
                self.doing = None;
                Ok(())
            }
            Asked::Anything => Ok(()),
        }
    }

    fn welcomed(&mut self, env: &mut Env, welcome: &Welcome) -> Checked<()> {
        self.is_greeted = true;
        self.is_resumed = welcome.resumed;
        if !welcome.resumed {
            self.session = welcome.session;
            self.sequence = 0;
            self.session_is_new(env);
        }
        Ok(())
    }

    fn notified(&mut self, env: &mut Env, type_: MessageType, message: &Message) -> Checked<()> {
        match type_ {
            MessageType::Push => self.pushed(env, &decoded(message)?, &message.bulk),
            MessageType::NotRecent => {
                let told: NotRecent = decoded(message)?;
                if let Some(segment) = self.segment_of(told.segment) {
                    env.history[segment].see(&told.now)?;
                    self.copies[segment].is_old = true;
                }
                Ok(())
            }
            MessageType::WriterLost => {
                let lost: WriterLost = decoded(message)?;
                if let Some(segment) = self.segment_of(lost.segment) {
                    self.keeping.forget((segment, lost.fence));
                    self.writer_lost(env, (segment, lost.fence));
                }
                Ok(())
            }
            MessageType::RecallWriter => {
                let recall: RecallWriter = decoded(message)?;
                self.recalled(env, &recall);
                Ok(())
            }
            MessageType::Goodbye => {
                self.give_up_connection(env);
                Ok(())
            }
            MessageType::SegmentGone => {
                let gone: SegmentGone = decoded(message)?;
                self.gone(env, gone.segment);
                Ok(())
            }
            MessageType::Heartbeat => Ok(()),
            other => violation("messages", format!("{} is a notification", other.name())),
        }
    }

    fn segment_of(&self, number: u32) -> Option<usize> {
        let has = |copy: &Copy| copy.number == Some(number);
        self.copies.iter().position(has)
    }

    /// Begins what comes next, and what the present thing needs.
    fn go_on(&mut self, env: &mut Env) -> Checked<()> {
        loop {
            if self.is_down || !self.begin_next(env) {
                return Ok(());
            }
            if self.connection.is_none() {
                if env.now_ns >= self.connects_at_ns {
                    self.connect(env);
                }
                return Ok(());
            }
            if !self.is_greeted || !self.open_all(env) {
                return Ok(());
            }
            let before = self.doing.take();
            let Some(doing) = before else {
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
        self.doing = Some(match op {
            Op::Write {
                segments,
                hold_ns,
                ending,
            } => Doing::Writing(Writing::begin(
                env.counts.operations,
                segments,
                hold_ns,
                ending,
            )),
            Op::Read {
                segment,
                model,
                x,
                fresh,
            } => Doing::Reading {
                segment,
                model,
                x,
                fresh,
                is_asked: false,
            },
            Op::Subscribe { segment, watching } => Doing::Subscribing {
                segment,
                watching,
                is_asked: false,
            },
            Op::Unsubscribe { segment } => Doing::Unsubscribing { segment },
            Op::Remove { segment } => Doing::Removing {
                segment,
                is_asked: false,
            },
        });
        true
    }

    /// Opens the segments that are needed. False: not all are open yet.
    fn open_all(&mut self, env: &mut Env) -> bool {
        let mut needed = self.doing.as_ref().map_or(Vec::new(), Doing::segments);
        // The session's Strict locks stand in the way of others until they are given back.
        let owing = self.copies.iter().enumerate();
        needed.extend(owing.filter(|(_, copy)| copy.owes_strict).map(|(i, _)| i));
        let mut all = true;
        for segment in needed {
            if self.copies[segment].number.is_some() {
                continue;
            }
            all = false;
            if std::mem::replace(&mut self.copies[segment].is_opening, true) {
                continue;
            }
            let body = OpenSegment {
                path: env.history[segment].path.clone(),
                create: true,
                read_only: false,
                durable: self.durable[segment],
                quota_bytes: 0,
                fields: Vec::new(),
            };
            let floor = env.history[segment].floor();
            let asked = Asked::Open { segment, floor };
            self.ask(env, MessageType::OpenSegment, &body, Bytes::new(), asked);
        }
        all
    }

    /// Does what can be done now. Returns what is left of it, and whether that waits.
    fn step(&mut self, env: &mut Env, doing: Doing) -> Checked<(Option<Doing>, bool)> {
        match doing {
            Doing::Writing(writing) => self.step_writing(env, writing),
            Doing::Resolving(release) => Ok((self.step_resolving(env, release), true)),
            Doing::Reading {
                segment,
                model,
                x,
                fresh,
                is_asked,
            } => match is_asked || !self.may_read(env, segment, (model, x, fresh))? {
                false => Ok((None, false)),
                true => {
                    if !is_asked {
                        self.ask_to_read(env, segment, (model, x, fresh));
                    }
                    let is_asked = true;
                    let reading = Doing::Reading {
                        segment,
                        model,
                        x,
                        fresh,
                        is_asked,
                    };
                    Ok((Some(reading), true))
                }
            },
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
            Doing::Unsubscribing { segment } => {
                self.unsubscribe(env, segment);
                Ok((None, false))
            }
            Doing::Removing { segment, is_asked } => {
                if !is_asked {
                    let path = env.history[segment].path.clone();
                    let body = RemoveSegment { path };
                    let type_ = MessageType::RemoveSegment;
                    self.ask(env, type_, &body, Bytes::new(), Asked::Remove);
                }
                let is_asked = true;
                Ok((Some(Doing::Removing { segment, is_asked }), true))
            }
        }
    }
}
