//! The engine's messages in both directions, read on their way. The checkers of the protocol are
//! here, as client.rs has them for the models, so that they do not depend on the engine's
//! conclusions.

use super::record::Recorder;
use crate::client::{decoded, error_of};
use crate::content::Content;
use crate::env::Env;
use crate::history::{name_of, violation, Checked, Floor, Name};
use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A release that the program wants.
#[derive(Debug)]
pub struct Part {
    pub segment: usize,
    pub fence: u64,
    pub base: VersionStamp,
    /// The version that it makes; None: it changes nothing.
    pub name: Option<Name>,
    pub content: Rc<Content>,
    pub diff: Bytes,
    pub was_sent: Cell<bool>,
    pub is_acknowledged: Cell<bool>,
}

#[derive(Debug, Clone)]
enum Asked {
    Open { segment: usize, floor: Floor },
    Read { segment: usize, floor: Floor },
    Lock { segment: usize, floor: Floor },
    Serials { segment: usize },
    Release(Rc<Part>),
    Resolve(Rc<Part>),
    Subscribe { segment: usize, floor: Floor },
    Other(Option<usize>),
}

impl Asked {
    fn segment(&self) -> Option<usize> {
        match self {
            Asked::Open { segment, .. }
            | Asked::Read { segment, .. }
            | Asked::Lock { segment, .. }
            | Asked::Serials { segment }
            | Asked::Subscribe { segment, .. } => Some(*segment),
            Asked::Release(part) | Asked::Resolve(part) => Some(part.segment),
            Asked::Other(segment) => *segment,
        }
    }
}

pub struct Tap {
    client: usize,
    sent: FrameDecoder,
    heard: FrameDecoder,
    asked: BTreeMap<u32, Asked>,
    /// By their numbers on the connection.
    segments: BTreeMap<u32, usize>,
    pub heard_ns: u64,
    /// When the server sent the newest message that was heard.
    pub heard_of_ns: u64,
    /// By segment: the floor and the newest version of the last answered question for a reader.
    pub read: Vec<Option<(Floor, Name)>>,
    /// By segment: fence and version of the last grant.
    pub grants: Vec<Option<(u64, VersionStamp)>>,
    /// By segment: when the server said last that a version is the newest.
    told: Vec<BTreeMap<(u64, Name), u64>>,
    /// Writes down what the client is told and says.
    pub recorder: Option<Recorder>,
}

const MOST_BYTES: u64 = 1 << 30;

impl Tap {
    pub fn new(client: usize, segments: usize) -> Tap {
        Tap {
            client,
            sent: FrameDecoder::new(MOST_BYTES),
            heard: FrameDecoder::new(MOST_BYTES),
            asked: BTreeMap::new(),
            segments: BTreeMap::new(),
            heard_ns: 0,
            heard_of_ns: 0,
            read: vec![None; segments],
            grants: vec![None; segments],
            told: vec![BTreeMap::new(); segments],
            recorder: None,
        }
    }

    /// Notes something in the trace of a client that is recorded.
    pub fn record(&mut self, note: impl FnOnce(&mut Recorder)) {
        if let Some(recorder) = &mut self.recorder {
            note(recorder);
        }
    }

    /// Whether HELLO says so, as the engine does unless a recording wants it otherwise.
    pub fn keeps_grants(&self) -> bool {
        let recorder = self.recorder.as_ref();
        recorder.is_none_or(|recorder| recorder.keeps_grants)
    }

    pub fn connected(&mut self, now_ns: u64) {
        self.record(|recorder| recorder.connected(now_ns));
        self.sent = FrameDecoder::new(MOST_BYTES);
        self.heard = FrameDecoder::new(MOST_BYTES);
        self.asked.clear();
        self.segments.clear();
        self.heard_ns = now_ns;
        self.heard_of_ns = 0;
    }

    /// The engine sends bytes. `part`: the release that the program wants just now.
    pub fn sends(&mut self, env: &mut Env, bytes: &[u8], part: Option<&Rc<Part>>) -> Checked<()> {
        self.sent.push(bytes);
        loop {
            match self.sent.next_message() {
                Ok(Some(message)) => self.sends_message(env, &message, part)?,
                Ok(None) => return Ok(()),
                Err(rejection) => return violation("the engine's frames", rejection.text),
            }
        }
    }

    fn sends_message(
        &mut self,
        env: &mut Env,
        message: &Message,
        part: Option<&Rc<Part>>,
    ) -> Checked<()> {
        let Some(type_) = message.kind() else {
            return violation("the engine's messages", "an unknown type");
        };
        let stream = message.envelope.stream;
        let client = self.client;
        env.say(|| format!("client {client} sends {} on {stream}", type_.name()));
        self.record(|recorder| recorder.sends(env.now_ns, type_, message));
        if stream == 0 {
            return match type_ {
                MessageType::Credit | MessageType::Cancel | MessageType::Goodbye => Ok(()),
                _ => violation("the engine's messages", format!("{} alone", type_.name())),
            };
        }
        let asked = self.asked_by(env, type_, message, part)?;
        match self.asked.insert(stream, asked) {
            None => Ok(()),
            Some(_) => violation("the engine's messages", "two requests on one stream"),
        }
    }

    fn asked_by(
        &mut self,
        env: &mut Env,
        type_: MessageType,
        message: &Message,
        part: Option<&Rc<Part>>,
    ) -> Checked<Asked> {
        Ok(match type_ {
            MessageType::OpenSegment => {
                let open: OpenSegment = decoded(message)?;
                let Some(segment) = env.segment_at(&open.path) else {
                    return violation("the engine's messages", open.path);
                };
                let floor = env.history[segment].floor();
                Asked::Open { segment, floor }
            }
            MessageType::AcquireReader => {
                let segment = self.segment_of(decoded::<AcquireReader>(message)?.segment)?;
                let floor = env.history[segment].floor();
                Asked::Read { segment, floor }
            }
            MessageType::AcquireWriter => {
                let segment = self.segment_of(decoded::<AcquireWriter>(message)?.segment)?;
                let floor = env.history[segment].floor();
                Asked::Lock { segment, floor }
            }
            MessageType::Subscribe => {
                let segment = self.segment_of(decoded::<Subscribe>(message)?.segment)?;
                let floor = env.history[segment].floor();
                Asked::Subscribe { segment, floor }
            }
            MessageType::MoreSerials => {
                let segment = self.segment_of(decoded::<MoreSerials>(message)?.segment)?;
                Asked::Serials { segment }
            }
            MessageType::ReleaseWriter => {
                Asked::Release(self.sends_release(env, message, &decoded(message)?, part)?)
            }
            MessageType::ResolveRelease => match part {
                Some(part) => Asked::Resolve(Rc::clone(part)),
                None => return violation("the engine's messages", "nothing to resolve"),
            },
            _ => Asked::Other(None),
        })
    }

    /// The release is the one that the program wants, under the lock that it has.
    fn sends_release(
        &mut self,
        env: &mut Env,
        message: &Message,
        body: &ReleaseWriter,
        part: Option<&Rc<Part>>,
    ) -> Checked<Rc<Part>> {
        let (Some(part), [only]) = (part, &body.parts[..]) else {
            return violation("the engine's messages", "a release that nobody wants");
        };
        let segment = self.segment_of(only.segment)?;
        let is_wanted = segment == part.segment
            && only.fence == part.fence
            && name_of(&only.base) == name_of(&part.base)
            && message.bulk == part.diff
            && only.diff_bytes == part.diff.len() as u64;
        if !is_wanted {
            let text = format!("{only:?} is sent, and {part:?} is wanted");
            return violation("the engine's messages", text);
        }
        part.was_sent.set(true);
        if let Some(name) = part.name {
            let known = (&part.content, self.client, part.fence);
            env.history[segment].sent((name_of(&part.base), name), known);
        }
        Ok(Rc::clone(part))
    }

    fn segment_of(&self, number: u32) -> Checked<usize> {
        match self.segments.get(&number) {
            Some(segment) => Ok(*segment),
            None => violation("the engine's messages", format!("no segment {number}")),
        }
    }

    /// Bytes come that the server sent then. The engine has not seen them yet.
    pub fn hears(&mut self, env: &mut Env, bytes: &[u8], sent_ns: u64) -> Checked<()> {
        self.heard_ns = env.now_ns;
        self.heard_of_ns = self.heard_of_ns.max(sent_ns);
        env.is_said(self.heard_of_ns);
        self.heard.push(bytes);
        loop {
            match self.heard.next_message() {
                Ok(Some(message)) => self.hears_message(env, &message)?,
                Ok(None) => {
                    self.record(|recorder| recorder.has_heard(env.now_ns));
                    return Ok(());
                }
                Err(rejection) => return violation("frames", rejection.text),
            }
        }
    }

    fn hears_message(&mut self, env: &mut Env, message: &Message) -> Checked<()> {
        let Some(type_) = message.kind() else {
            return violation("messages", format!("type {}", message.envelope.type_));
        };
        let (client, stream) = (self.client, message.envelope.stream);
        env.trace
            .note(env.now_ns, &[client as u64, type_ as u64, stream.into()]);
        env.say(|| format!("client {client}: {} on {stream}", type_.name()));
        self.record(|recorder| recorder.heard(env.now_ns, type_, message));
        if stream >= 1 << 31 {
            return self.notified(env, type_, message);
        }
        if stream == 0 {
            return Ok(());
        }
        let Some(asked) = self.asked.remove(&stream) else {
            return violation("answers", format!("{} answers nothing", type_.name()));
        };
        match type_ {
            MessageType::Error => self.refused(env, &asked, message),
            MessageType::Goodbye => Ok(()),
            _ => self.answered(env, asked, message),
        }
    }

    fn refused(&mut self, env: &mut Env, asked: &Asked, message: &Message) -> Checked<()> {
        let (code, text) = error_of(message)?;
        let client = self.client;
        env.say(|| format!("client {client}: {}: {text}", code.name()));
        match (code, asked.segment()) {
            (ErrorCode::Damaged, Some(segment)) => env.history[segment].damaged(&text),
            _ => Ok(()),
        }
    }

    fn answered(&mut self, env: &mut Env, asked: Asked, message: &Message) -> Checked<()> {
        match asked {
            Asked::Open { segment, floor } => {
                let opened: SegmentOpened = decoded(message)?;
                let history = &mut env.history[segment];
                if opened.created {
                    history.created();
                }
                history.see(&opened.newest)?;
                history.check_floor("acknowledged is there", &opened.newest, floor, 0)?;
                self.segments.insert(opened.segment, segment);
                Ok(())
            }
            Asked::Read { segment, floor } => {
                let acquired: ReaderAcquired = decoded(message)?;
                self.is_told(segment, &acquired.now);
                let history = &mut env.history[segment];
                history.see(&acquired.now)?;
                self.read[segment] = Some((floor, name_of(&acquired.now)));
                history.check_floor("acknowledged is there", &acquired.now, floor, 0)
            }
            Asked::Lock { segment, floor } => {
                let granted: WriterAcquired = decoded(message)?;
                self.is_told(segment, &granted.now);
                let history = &mut env.history[segment];
                let serials = (granted.first_serial, u64::from(granted.serial_count));
                history.granted(granted.fence, &granted.now, serials)?;
                history.check_floor("writers have the newest", &granted.now, floor, 0)?;
                history.see(&granted.now)?;
                self.grants[segment] = Some((granted.fence, granted.now));
                Ok(())
            }
            Asked::Serials { segment } => {
                let granted: SerialsGranted = decoded(message)?;
                let serials = (granted.first_serial, u64::from(granted.serial_count));
                env.history[segment].lent(serials)
            }
            Asked::Release(part) => {
                let versions = match message.kind() == Some(MessageType::WriterKept) {
                    true => decoded::<WriterKept>(message)?.versions,
                    false => decoded::<WriterReleased>(message)?.versions,
                };
                match &versions[..] {
                    [version] => self.acknowledged(env, &part, version),
                    _ => violation("messages", "a version for each part"),
                }
            }
            Asked::Resolve(part) => {
                let resolved: ReleaseResolved = decoded(message)?;
                match (resolved.committed, part.name) {
                    (true, _) => self.acknowledged(env, &part, &resolved.version),
                    (false, Some(name)) => env.history[part.segment].refused(name),
                    (false, None) => Ok(()),
                }
            }
            Asked::Subscribe { segment, floor } => {
                let subscribed: Subscribed = decoded(message)?;
                self.is_told(segment, &subscribed.now);
                let history = &mut env.history[segment];
                history.see(&subscribed.now)?;
                history.check_floor("acknowledged is there", &subscribed.now, floor, 0)
            }
            Asked::Other(_) => Ok(()),
        }
    }

    fn acknowledged(&self, env: &mut Env, part: &Part, version: &VersionStamp) -> Checked<()> {
        part.is_acknowledged.set(true);
        let history = &mut env.history[part.segment];
        match part.name {
            Some(name) => history.acknowledged(env.world_ns, name, version),
            None => history.see(version).map(drop),
        }
    }

    fn notified(&mut self, env: &mut Env, type_: MessageType, message: &Message) -> Checked<()> {
        let (number, now) = match type_ {
            MessageType::Push => {
                let push: Push = decoded(message)?;
                (push.segment, push.now)
            }
            MessageType::NotRecent => {
                let told: NotRecent = decoded(message)?;
                (told.segment, told.now)
            }
            MessageType::WriterLost
            | MessageType::RecallWriter
            | MessageType::Goodbye
            | MessageType::Heartbeat
            | MessageType::SegmentGone => return Ok(()),
            other => return violation("messages", format!("{} is a notification", other.name())),
        };
        let Some(&segment) = self.segments.get(&number) else {
            return Ok(());
        };
        self.is_told(segment, &now);
        env.history[segment].see(&now).map(drop)
    }

    fn is_told(&mut self, segment: usize, now: &VersionStamp) {
        let key = (now.incarnation, name_of(now));
        self.told[segment].insert(key, self.heard_of_ns);
    }

    /// When the server has said what the engine applies now. A diff may wait long at the client.
    pub fn told_ns(&self, segment: usize, version: &VersionStamp) -> Option<u64> {
        let key = (version.incarnation, name_of(version));
        self.told[segment].get(&key).copied()
    }
}
