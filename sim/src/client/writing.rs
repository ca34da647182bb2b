//! Writer locks, releases, and what became of them.

use super::copy::Copy;
use super::keeping::{keep_no_longer, Grant, Next};
use super::{decoded, keeps_lock, Asked, Client, Doing, Ending, Op};
use crate::content::Content;
use crate::env::{Env, MS};
use crate::history::{name_of, violation, Checked, Floor, Name};
use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::{chain, Message};
use std::collections::BTreeSet;
use std::rc::Rc;

/// So often a release that may be tried again is.
const MOST_TRIES: u32 = 5;
const AGAIN_NS: u64 = 300 * MS;

#[derive(Debug)]
enum Step {
    Locking {
        is_asked: bool,
    },
    Holding {
        until_ns: u64,
    },
    Releasing {
        release: Release,
        /// It is sent again then.
        again_ns: Option<u64>,
    },
}

#[derive(Debug)]
pub struct Writing {
    /// Tells it from those before.
    number: u64,
    pub segments: Vec<usize>,
    hold_ns: u64,
    ending: Ending,
    grants: Vec<Grant>,
    step: Step,
    renewing: Option<u64>,
}

impl Writing {
    pub fn begin(number: u64, segments: Vec<usize>, hold_ns: u64, ending: Ending) -> Writing {
        Writing {
            number,
            segments,
            hold_ns,
            ending,
            grants: Vec::new(),
            step: Step::Locking { is_asked: false },
            renewing: None,
        }
    }

    /// Whether a section holds the segment's lock, and has not begun to release it.
    pub fn holds(&self, segment: usize) -> bool {
        let is_releasing = matches!(self.step, Step::Releasing { .. });
        !is_releasing && self.grants.iter().any(|grant| grant.segment == segment)
    }

    /// Whether it has the segment's lock under that fence.
    pub fn has_fence(&self, fence: (usize, u64)) -> bool {
        let mut grants = self.grants.iter();
        grants.any(|grant| (grant.segment, grant.fence) == fence)
    }
}

#[derive(Debug)]
struct Part {
    segment: usize,
    fence: u64,
    base: VersionStamp,
    /// The version that it makes; None: it changes nothing.
    name: Option<Name>,
    content: Rc<Content>,
    diff: Bytes,
    /// Whether it was committed, as the server said later.
    outcome: Option<bool>,
}

/// A release that was sent.
#[derive(Debug)]
pub struct Release {
    session: SessionId,
    sequence: u64,
    /// When it was sent last, by the client's clock, and at first, by the world's.
    sent_ns: u64,
    begun_ns: u64,
    parts: Vec<Part>,
    tries: u32,
    /// The parts of which it was asked what became of them.
    pub asked: BTreeSet<usize>,
    /// The parts of which nothing is known for ever.
    unknown: BTreeSet<usize>,
}

impl Release {
    pub fn segments(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.segment).collect()
    }

    fn is_resolved(&self) -> bool {
        let parts = self.parts.iter().enumerate();
        let mut known = parts.map(|(i, part)| {
            part.name.is_none() || part.outcome.is_some() || self.unknown.contains(&i)
        });
        known.all(|known| known)
    }
}

/// The rest of a thing that the client does, and whether it waits.
type Left = Checked<(Option<Doing>, bool)>;

impl Client {
    pub(super) fn step_writing(&mut self, env: &mut Env, mut writing: Writing) -> Left {
        match &mut writing.step {
            Step::Locking { .. } if writing.grants.len() == writing.segments.len() => {
                let until_ns = env.now_ns + writing.hold_ns;
                writing.step = Step::Holding { until_ns };
                self.wake(env, until_ns);
                self.wake(env, env.now_ns + self.lease_ns / 3);
                Ok((Some(Doing::Writing(writing)), true))
            }
            Step::Locking { is_asked } => {
                let mut waits = true;
                if !std::mem::replace(is_asked, true) {
                    let segment = writing.segments[writing.grants.len()];
                    match self.begin_under_kept(env, segment) {
                        Some(grant) => {
                            writing.grants.push(grant);
                            writing.step = Step::Locking { is_asked: false };
                            waits = false;
                        }
                        None => self.ask_for_lock(env, writing.number, segment),
                    }
                }
                Ok((Some(Doing::Writing(writing)), waits))
            }
            Step::Holding { until_ns } if env.now_ns >= *until_ns => self.finish(env, writing),
            Step::Holding { .. } | Step::Releasing { .. } => {
                Ok((Some(Doing::Writing(writing)), true))
            }
        }
    }

    fn ask_for_lock(&mut self, env: &mut Env, writing: u64, segment: usize) {
        let body = AcquireWriter {
            segment: self.copies[segment].number.expect("it is open"),
            have: self.copies[segment].stamp.clone(),
            deadline_ms: (2 * self.lease_ns / MS) as u32,
        };
        let asked = Asked::Lock {
            writing,
            segment,
            floor: env.history[segment].floor(),
            sent_ns: env.now_ns,
        };
        self.ask(env, MessageType::AcquireWriter, &body, Bytes::new(), asked);
    }

    pub(super) fn locked(
        &mut self,
        env: &mut Env,
        number: u64,
        (segment, floor, sent_ns): (usize, Floor, u64),
        message: &Message,
    ) -> Checked<()> {
        let granted: WriterAcquired = decoded(message)?;
        let history = &mut env.history[segment];
        let serials = (granted.first_serial, u64::from(granted.serial_count));
        history.granted(granted.fence, &granted.now, serials)?;
        history.check_floor("writers have the newest", &granted.now, floor, 0)?;
        let copy = &mut self.copies[segment];
        history.see(&granted.now)?;
        let fits = !granted.updated || copy.update(&message.bulk, &granted.now, history)?;
        if fits && copy.stamp != granted.now && !copy.has_dropped {
            let text = format!("{}: a writer's copy is not the newest", history.path);
            return violation("writers have the newest", text);
        }
        copy.is_old = copy.stamp != granted.now;
        copy.confirmed_ns = sent_ns;
        let grant = Grant::new((segment, 0), &granted, sent_ns);
        match &mut self.doing {
            Some(Doing::Writing(writing)) if writing.number == number => {
                writing.grants.push(grant);
                writing.step = Step::Locking { is_asked: false };
            }
            _ => self.abort(env, &grant),
        }
        Ok(())
    }

    /// The grant under which a section begins now, if one is kept. One that may not be used any
    /// more is given back.
    fn begin_under_kept(&mut self, env: &mut Env, segment: usize) -> Option<Grant> {
        match self.keeping.begin(segment, env.now_ns, self.lease_ns)? {
            Next::Begins(grant) => Some(grant),
            Next::IsOver(grant) => {
                self.abort(env, &grant);
                None
            }
        }
    }

    fn keep_or_give(&mut self, env: &mut Env, grant: Grant) {
        if let Some(grant) = self.keeping.keep(grant) {
            self.abort(env, &grant);
        }
    }

    /// Somebody waits for a grant that is kept.
    pub(super) fn recalled(&mut self, env: &mut Env, recall: &RecallWriter) {
        let Some(segment) = self.segment_of(recall.segment) else {
            return;
        };
        let name = (segment, recall.fence);
        let is_used = matches!(&self.doing, Some(Doing::Writing(w)) if w.has_fence(name));
        if let Some(grant) = self.keeping.recall(name, is_used) {
            self.abort(env, &grant);
        }
    }

    pub(super) fn give_unused_back(&mut self, env: &mut Env) {
        for grant in self.keeping.unused(env.now_ns) {
            self.abort(env, &grant);
        }
    }

    pub(super) fn abort(&mut self, env: &mut Env, grant: &Grant) {
        if let Some(segment) = self.copies[grant.segment].number {
            let fence = grant.fence;
            let body = AbortWriter { segment, fence };
            let none = Bytes::new();
            self.ask(env, MessageType::AbortWriter, &body, none, Asked::Anything);
        }
    }

    pub(super) fn lock_refused(&mut self, env: &mut Env, number: u64, insists: bool) {
        match &self.doing {
            Some(Doing::Writing(writing)) if writing.number == number => {
                let before = std::mem::replace(&mut self.insists, insists);
                self.give_locks_back(env);
                self.insists = before;
            }
            _ => {}
        }
    }

    /// The present thing ends; the locks that it has are given back.
    pub(super) fn give_locks_back(&mut self, env: &mut Env) {
        if let Some(Doing::Writing(writing)) = self.doing.take() {
            for grant in &writing.grants {
                self.abort(env, grant);
            }
            self.insist(&writing);
        }
    }

    /// A client that insists begins again what came to nothing.
    fn insist(&mut self, writing: &Writing) {
        if self.insists {
            self.ops.push_front(Op::Write {
                segments: writing.segments.clone(),
                hold_ns: writing.hold_ns,
                ending: writing.ending,
            });
        }
    }

    fn finish(&mut self, env: &mut Env, writing: Writing) -> Left {
        let changes = writing.ending == Ending::Release;
        let is_kept = writing.grants.iter().all(|grant| grant.kept_ns.is_some());
        if writing.ending == Ending::Abort || is_kept && !changes {
            for grant in &writing.grants {
                self.keep_or_give(env, grant.clone());
            }
            return Ok((None, false));
        }
        if writing.grants.iter().any(|g| env.now_ns >= g.until_ns) {
            // After a long wait the lease is over by the client's clock until it is renewed.
            if writing.renewing.is_some() {
                return Ok((Some(Doing::Writing(writing)), true));
            }
            // A client that looks at its clock knows that the lease may be over. One that does not
            // is kept out by its fence.
            if !self.insists && self.random.one_in(2) {
                return Ok((None, false));
            }
        }
        self.sequence += 1;
        env.counts.releases += 1;
        let mut parts = Vec::new();
        for grant in &writing.grants {
            let mark = env.counts.releases << 8 | self.number as u64;
            parts.push(self.part(env, grant, mark, changes)?);
        }
        let release = Release {
            session: self.session,
            sequence: self.sequence,
            sent_ns: env.now_ns,
            begun_ns: env.world_ns,
            parts,
            tries: 0,
            asked: BTreeSet::new(),
            unknown: BTreeSet::new(),
        };
        self.send_release(env, &release);
        let again_ns = None;
        let step = Step::Releasing { release, again_ns };
        Ok((Some(Doing::Writing(Writing { step, ..writing })), true))
    }

    fn part(&mut self, env: &Env, grant: &Grant, mark: u64, changes: bool) -> Checked<Part> {
        let base = name_of(&grant.base);
        let history = &env.history[grant.segment];
        let Some(content) = history.content(base) else {
            return violation(
                "history",
                format!("{}: {base:?} has no content", history.path),
            );
        };
        let mut part = Part {
            segment: grant.segment,
            fence: grant.fence,
            base: grant.base.clone(),
            name: None,
            content,
            diff: Bytes::new(),
            outcome: None,
        };
        if changes {
            let mut content = Content::clone(&part.content);
            let serial = grant.next_serial;
            part.diff = content.change(base.0, mark, serial, &mut self.random);
            part.content = Rc::new(content);
            part.name = Some((base.0 + 1, chain::next(base.1, &part.diff)));
        }
        Ok(part)
    }

    /// Sends the release, again or for the first time.
    fn send_release(&mut self, env: &mut Env, release: &Release) {
        let mut parts = Vec::new();
        let mut bulk = Vec::new();
        for part in &release.parts {
            let known = (&part.content, self.number, part.fence);
            if let Some(name) = part.name {
                env.history[part.segment].sent((name_of(&part.base), name), known);
            }
            parts.push(ReleasePart {
                segment: self.copies[part.segment].number.unwrap_or(0),
                fence: part.fence,
                base: part.base.clone(),
                diff_bytes: part.diff.len() as u64,
            });
            bulk.extend_from_slice(&part.diff);
        }
        let body = ReleaseWriter {
            sequence: release.sequence,
            parts,
        };
        let type_ = MessageType::ReleaseWriter;
        self.ask(env, type_, &body, bulk.into(), Asked::Release);
    }

    fn take_release(&mut self) -> Option<(Writing, Release)> {
        match self.doing.take() {
            Some(Doing::Writing(mut writing)) => {
                let step = Step::Locking { is_asked: true };
                match std::mem::replace(&mut writing.step, step) {
                    Step::Releasing { release, .. } => Some((writing, release)),
                    _ => None,
                }
            }
            other => {
                self.doing = other;
                None
            }
        }
    }

    pub(super) fn released(&mut self, env: &mut Env, message: &Message) -> Checked<()> {
        let is_kept = message.kind() == Some(MessageType::WriterKept);
        let versions = match is_kept {
            true => decoded::<WriterKept>(message)?.versions,
            false => decoded::<WriterReleased>(message)?.versions,
        };
        let Some((writing, release)) = self.take_release() else {
            return Ok(());
        };
        if versions.len() != release.parts.len() {
            return violation("messages", "a version for each part");
        }
        for (part, version) in release.parts.iter().zip(&versions) {
            let history = &mut env.history[part.segment];
            match part.name {
                Some(name) => {
                    history.acknowledged(env.world_ns, name, version)?;
                    let copy = &mut self.copies[part.segment];
                    if copy.stamp == part.base {
                        copy.update(&part.diff, version, history)?;
                        copy.is_old = false;
                    }
                }
                None => drop(history.see(version)?),
            }
            if is_kept {
                let of_part = |grant: &&Grant| grant.segment == part.segment;
                match writing.grants.iter().find(of_part) {
                    Some(grant) => {
                        let left = grant.left((release.sent_ns, version), self.lease_ns);
                        self.keep_or_give(env, left);
                    }
                    None => return violation("grants are kept from nobody", "it was not granted"),
                }
            }
        }
        Ok(())
    }

    pub(super) fn release_refused(&mut self, env: &mut Env, code: ErrorCode) -> Checked<()> {
        let Some((writing, mut release)) = self.take_release() else {
            return Ok(());
        };
        match code {
            _ if keeps_lock(code) => {
                self.all_refused(env, &release)?;
                release.tries += 1;
                if release.tries > MOST_TRIES {
                    for grant in &writing.grants {
                        self.abort(env, grant);
                    }
                    return Ok(());
                }
                let again_ns = env.now_ns + AGAIN_NS;
                self.wake(env, again_ns);
                let step = Step::Releasing {
                    release,
                    again_ns: Some(again_ns),
                };
                self.doing = Some(Doing::Writing(Writing { step, ..writing }));
                Ok(())
            }
            // The client asks for the outcome, of a server that stops when it is back.
            ErrorCode::Stopping | ErrorCode::Cancelled | ErrorCode::Unreachable => {
                self.doing = Some(Doing::Resolving(release));
                Ok(())
            }
            ErrorCode::Damaged | ErrorCode::NotOpen => Ok(()),
            _ => self.all_refused(env, &release),
        }
    }

    fn all_refused(&mut self, env: &mut Env, release: &Release) -> Checked<()> {
        let mut parts = release.parts.iter();
        parts.try_for_each(|part| match part.name {
            Some(name) => env.history[part.segment].refused(name),
            None => Ok(()),
        })
    }

    pub(super) fn renewed(&mut self, env: &mut Env) {
        if let Some(Doing::Writing(writing)) = &mut self.doing {
            if let Some(sent_ns) = writing.renewing.take() {
                for grant in &mut writing.grants {
                    grant.until_ns = grant.until_ns.max(sent_ns + self.lease_ns);
                }
            }
        }
        self.wake(env, env.now_ns + self.lease_ns / 3);
    }

    pub(super) fn on_time_writing(&mut self, env: &mut Env) -> Checked<()> {
        if !self.is_greeted {
            return Ok(());
        }
        let Some(Doing::Writing(writing)) = &mut self.doing else {
            return Ok(());
        };
        match &mut writing.step {
            Step::Releasing { again_ns, .. } if again_ns.is_some_and(|at| at <= env.now_ns) => {
                *again_ns = None;
                if let Some((writing, mut release)) = self.take_release() {
                    release.sent_ns = env.now_ns;
                    self.send_release(env, &release);
                    let again_ns = None;
                    let step = Step::Releasing { release, again_ns };
                    self.doing = Some(Doing::Writing(Writing { step, ..writing }));
                }
            }
            Step::Holding { .. } if writing.renewing.is_none() => self.renew(env),
            _ => {}
        }
        Ok(())
    }

    fn renew(&mut self, env: &mut Env) {
        let Some(Doing::Writing(writing)) = &mut self.doing else {
            return;
        };
        let due_ns = self.lease_ns / 3;
        if writing
            .grants
            .iter()
            .all(|g| env.now_ns < g.renewed_ns + due_ns)
        {
            return;
        }
        // Over a new connection the segments must be open first.
        let held = |grant: &Grant| Some((self.copies[grant.segment].number?, grant.fence));
        let Some(held) = writing.grants.iter().map(held).collect::<Option<Vec<_>>>() else {
            return;
        };
        writing.renewing = Some(env.now_ns);
        for grant in &mut writing.grants {
            grant.renewed_ns = env.now_ns;
        }
        for (segment, fence) in held {
            let body = RenewWriter { segment, fence };
            let type_ = MessageType::RenewWriter;
            self.ask(env, type_, &body, Bytes::new(), Asked::Renew);
        }
    }

    /// A lock that the client has is not its own any more.
    pub(super) fn lock_is_lost(&mut self, env: &mut Env) {
        let is_holding = match &mut self.doing {
            Some(Doing::Writing(writing)) => {
                writing.renewing = None;
                !matches!(writing.step, Step::Releasing { .. })
            }
            _ => false,
        };
        // Some clients do not hear it, and are kept out by their fences.
        if is_holding && !self.random.one_in(4) {
            self.give_locks_back(env);
        }
    }

    pub(super) fn writer_lost(&mut self, env: &mut Env, fence: (usize, u64)) {
        let is_held = match &self.doing {
            Some(Doing::Writing(writing)) => writing.has_fence(fence),
            _ => false,
        };
        if is_held {
            self.lock_is_lost(env);
        }
    }

    /// It has held its locks for long enough.
    pub(super) fn end_section(&mut self) {
        if let Some(Doing::Writing(writing)) = &mut self.doing {
            writing.hold_ns = 0;
            if let Step::Holding { until_ns } = &mut writing.step {
                *until_ns = 0;
            }
        }
    }

    /// The segment was removed. An op that needs it opens it anew [GONE-3].
    pub(super) fn gone(&mut self, env: &mut Env, number: u32) {
        let Some(segment) = self.segment_of(number) else {
            return;
        };
        self.copies[segment].connection_lost();
        self.copies[segment].strict_ended();
        self.keeping.gone(segment);
        if matches!(&self.doing, Some(Doing::Writing(writing)) if writing.holds(segment)) {
            self.give_locks_back(env);
        }
    }

    pub(super) fn lost_while_writing(
        &mut self,
        _: &mut Env,
        mut writing: Writing,
    ) -> Option<Doing> {
        writing.renewing = None;
        keep_no_longer(&mut writing.grants, 0);
        match writing.step {
            Step::Locking { .. } => {
                self.insist(&writing);
                None
            }
            Step::Holding { .. } => Some(Doing::Writing(writing)),
            Step::Releasing { release, .. } => Some(Doing::Resolving(release)),
        }
    }

    /// The locks of the session before are gone.
    pub(super) fn session_is_new(&mut self, _env: &mut Env) {
        self.copies.iter_mut().for_each(Copy::strict_ended);
        match self.doing.take() {
            Some(Doing::Writing(writing)) => self.insist(&writing),
            other => self.doing = other,
        }
    }

    /// Asks what became of a release, or sends it again.
    pub(super) fn step_resolving(&mut self, env: &mut Env, mut release: Release) -> Option<Doing> {
        if release.is_resolved() {
            return None;
        }
        if !release.asked.is_empty() {
            return Some(Doing::Resolving(release));
        }
        if self.is_resumed && self.session == release.session && self.random.one_in(2) {
            self.send_release(env, &release);
            let segments = release.segments();
            let again_ns = None;
            let step = Step::Releasing { release, again_ns };
            let writing = Writing::begin(0, segments, 0, Ending::Release);
            return Some(Doing::Writing(Writing { step, ..writing }));
        }
        for (i, part) in release.parts.iter().enumerate() {
            let body = ResolveRelease {
                segment: self.copies[part.segment].number.unwrap_or(0),
                session: release.session,
                sequence: release.sequence,
            };
            let asked = Asked::Resolve { part: i };
            let none = Bytes::new();
            self.ask(env, MessageType::ResolveRelease, &body, none, asked);
            release.asked.insert(i);
        }
        Some(Doing::Resolving(release))
    }

    pub(super) fn resolved(
        &mut self,
        env: &mut Env,
        number: usize,
        resolved: &ReleaseResolved,
    ) -> Checked<()> {
        let Some(Doing::Resolving(release)) = &mut self.doing else {
            return Ok(());
        };
        let part = &mut release.parts[number];
        part.outcome = Some(resolved.committed);
        let history = &mut env.history[part.segment];
        match part.name {
            Some(name) if resolved.committed => {
                history.acknowledged(env.world_ns, name, &resolved.version)?;
            }
            Some(name) => history.refused(name)?,
            None => {}
        }
        check_all_or_none(env, release)?;
        self.end_resolving();
        Ok(())
    }

    pub(super) fn not_resolved(
        &mut self,
        _env: &mut Env,
        number: usize,
        _code: ErrorCode,
    ) -> Checked<()> {
        if let Some(Doing::Resolving(release)) = &mut self.doing {
            release.unknown.insert(number);
        }
        self.end_resolving();
        Ok(())
    }

    fn end_resolving(&mut self) {
        if let Some(Doing::Resolving(release)) = &self.doing {
            if release.is_resolved() {
                self.doing = None;
            }
        }
    }
}

/// All parts of a release are committed, or none. A part of a MEMORY segment is not in the log, and
/// may be lost alone.
fn check_all_or_none(env: &Env, release: &Release) -> Checked<()> {
    let is_logged = |part: &&Part| env.history[part.segment].durable != Durability::Memory;
    let parts = release.parts.iter().filter(|part| part.name.is_some());
    let parts = parts.filter(is_logged);
    // A segment that was removed or put back since does not know of the release either.
    let is_same = |part: &&Part| !env.history[part.segment].is_renewed_since(release.begun_ns);
    let parts = parts.filter(is_same);
    let outcomes: BTreeSet<bool> = parts.filter_map(|part| part.outcome).collect();
    match outcomes.len() > 1 {
        true => violation(
            "all or none",
            format!("release {} was committed in part", release.sequence),
        ),
        false => Ok(()),
    }
}
