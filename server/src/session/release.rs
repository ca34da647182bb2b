//! Releases: checked whole, made durable, told, committed; and what became of them.
//!
//! A release that must be durable goes to the log after its check; nothing shows before the log has
//! it. Telling comes before committing, because the check is final and the bytes to be told are the
//! ones received: readers and writer have their messages while the master copy is brought up to
//! date ([`Engine::settle`]). Nothing else is looked at between.
//! Implements [LOCK-4], [LOCK-7..9] and [DIFF-5..6] as far as they are the engine's.

use super::chain;
use super::engine::Engine;
use super::in_flight::{InFlight, Part};
use super::journal::{DurableRelease, Settling};
use super::locks::fenced;
use super::message::{Incoming, Outgoing};
use super::remembered::Fate;
use super::segment::{Life, SegmentState};
use super::storing;
use super::wire::{At, Unanswered, Wire};
use crate::coherence::Version;
use bytes::Bytes;
use interweave_store::StoreError;
use interweave_wire::protocol::*;
use interweave_wire::Rejection;

/// So many readers are told of a release after its writer, not before.
const MANY_READERS: usize = 3;

impl Engine {
    /// Whether the connection's session holds all the locks that the release gives back.
    pub(super) fn holds_all(&self, connection: u64, r: &ReleaseWriter) -> bool {
        let Some(session) = self.wire.connection(connection).and_then(|c| c.session) else {
            return false;
        };
        let held = |part: &ReleasePart| {
            let segment = self.segments.get(part.segment);
            segment.is_some_and(|s| s.lock.holds(session, part.fence))
        };
        !r.parts.is_empty() && r.parts.iter().all(held)
    }

    pub(super) fn release_writer(
        &mut self,
        at: At,
        r: &ReleaseWriter,
        incoming: &Incoming,
    ) -> Result<(), Rejection> {
        if self.answer_repeated(at, r) || self.follow_repeated(at, r)? {
            return Ok(());
        }
        let checked = self.check_release(at, r, incoming);
        let begun = checked.and_then(|parts| self.begin_release(at, r.sequence, parts));
        begun.inspect_err(|rejection| {
            self.wire.counters.releases_refused += 1;
            if rejection.code != ErrorCode::TimedOut {
                self.give_back(at, r);
            }
        })
    }

    /// A release that was committed before is answered as it was then [LOCK-8].
    fn answer_repeated(&mut self, at: At, r: &ReleaseWriter) -> bool {
        let id = self.wire.asking(at).id;
        let mut versions = Vec::new();
        for part in &r.parts {
            let Some(s) = self.segments.get(part.segment) else {
                return false;
            };
            match s
                .remembered
                .last_of(&id)
                .filter(|l| l.sequence == r.sequence)
            {
                Some(last) => versions.push(VersionStamp {
                    incarnation: s.incarnation,
                    number: last.version,
                    chain: last.chain,
                }),
                None => return false,
            }
        }
        let answered = !versions.is_empty();
        if answered {
            self.send_released(at, versions);
        }
        answered
    }

    /// The same release over a new connection, while the first is on its way to the log: its answer
    /// goes to the new one.
    fn follow_repeated(&mut self, at: At, r: &ReleaseWriter) -> Result<bool, Rejection> {
        let id = self.wire.asking(at).id;
        if self.journal.find_release(id, r.sequence).is_none() {
            return Ok(false);
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        let Some(release) = self.journal.find_release(id, r.sequence) else {
            return Ok(false);
        };
        let older = std::mem::replace(&mut release.at, at);
        if self.wire.answered(older.connection, older.stream).is_some() {
            let text = format!(
                "the release was sent again; its answer goes to stream {}",
                at.stream
            );
            let error = Outgoing::error(older.stream, ErrorCode::Cancelled, text);
            self.wire.send(older.connection, error);
        }
        Ok(true)
    }

    fn check_release(
        &mut self,
        at: At,
        r: &ReleaseWriter,
        incoming: &Incoming,
    ) -> Result<Vec<Part>, Rejection> {
        if self.was_rolled_back(at, r) {
            let text = format!(
                "release {} of this session was told to be rolled back; take the lock again and \
                 repeat the change",
                r.sequence
            );
            return Err(Rejection::new(ErrorCode::RolledBack, text));
        }
        if self.holds_all(at.connection, r) {
            self.check_kept(r, incoming)?;
        }
        let mut bulk = incoming.bulk.clone();
        let mut parts: Vec<Part> = Vec::with_capacity(r.parts.len());
        for part in &r.parts {
            if parts.iter().any(|p| p.segment == part.segment) {
                let text = format!("segment number {} occurs twice in a release", part.segment);
                return Err(Rejection::malformed(text));
            }
            let (segment, _) = self.open_segment_of(at.connection, part.segment)?;
            parts.push(segment.check_part(at, part, &mut bulk)?);
        }
        if !bulk.is_empty() {
            let text = format!("{} bytes follow the diffs of a release", bulk.len());
            return Err(Rejection::malformed(text));
        }
        Ok(parts)
    }

    fn was_rolled_back(&mut self, at: At, r: &ReleaseWriter) -> bool {
        let told = &self.wire.asking(at).rolled_back_through;
        let was_told =
            |part: &ReleasePart| told.get(&part.segment).is_some_and(|t| r.sequence <= *t);
        r.parts.iter().any(was_told)
    }

    /// A refused release gives its locks back all the same, unless it may be tried again.
    fn give_back(&mut self, at: At, r: &ReleaseWriter) {
        for part in &r.parts {
            let Some(s) = self.segments.if_still_there(part.segment) else {
                continue;
            };
            if !s.committing && s.lock.release(at.session, part.fence) {
                self.grant_waiting(part.segment);
            }
        }
    }

    fn begin_release(&mut self, at: At, sequence: u64, parts: Vec<Part>) -> Result<(), Rejection> {
        let session_id = self.wire.asking(at).id;
        let release = InFlight {
            at,
            session_id,
            sequence,
            parts,
            resolvers: Vec::new(),
        };
        let (group, durable) = release.log_records();
        if !group.is_empty() {
            self.wire.await_answer(at, Unanswered::Store)?;
            for part in &release.parts {
                let segment = self.segments.found(part.segment);
                segment.committing = true;
                segment.lock.begin_commit(at.session, part.fence);
            }
        }
        if let Some(durable) = self.journal.append_release(release, group, durable) {
            self.tell(durable);
        }
        Ok(())
    }

    /// The log has the release.
    pub(super) fn release_stored(&mut self, release: DurableRelease) {
        self.log_answered(release.release());
        self.tell(release);
    }

    fn log_answered(&mut self, release: &InFlight) {
        self.wire.answered(release.at.connection, release.at.stream);
        for part in &release.parts {
            if let Some(s) = self.segments.if_still_there(part.segment) {
                s.committing = false;
            }
        }
    }

    /// The log did not take the release.
    pub(super) fn release_failed(&mut self, release: InFlight, error: &StoreError) {
        let at = release.at;
        self.log_answered(&release);
        let again = matches!(error, StoreError::Full(_) | StoreError::Io(_));
        let keeps_lock = again && self.wire.session(at.session).is_some();
        let rejection = storing::rejection(error);
        let now_ns = self.wire.now_ns();
        for part in &release.parts {
            let Some(s) = self.segments.if_still_there(part.segment) else {
                continue;
            };
            if matches!(error, StoreError::Damaged { .. }) {
                s.life = Life::Damaged(error.to_string());
            }
            if keeps_lock {
                s.lock.commit_failed(part.fence, now_ns);
                self.segments.arm(part.segment);
            } else {
                s.lock.release(at.session, part.fence);
                self.grant_waiting(part.segment);
            }
        }
        self.wire.counters.releases_refused += 1;
        self.wire.send(
            at.connection,
            Outgoing::error(at.stream, rejection.code, rejection.text),
        );
        self.answer_resolvers(release.resolvers);
    }

    /// Tells the writer, and before it a few readers, who may be waiting for it. Many come after
    /// it, in [`Engine::settle`], so that a release takes no longer the more readers there are; the
    /// master copies follow there, too.
    fn tell(&mut self, durable: DurableRelease) {
        let release = durable.release();
        let readers = release.parts.iter();
        let readers = readers.map(|p| self.others_subscribed(p.segment, release.at.connection));
        let readers: Vec<_> = readers.collect();
        let many = readers.iter().map(Vec::len).sum::<usize>() >= MANY_READERS;
        if !many {
            self.forward_to(release, &readers);
        }
        self.send_released(release.at, release.versions());
        self.journal.settle_later(match many {
            true => Settling::Tell(durable, readers),
            false => Settling::Commit(durable),
        });
    }

    fn others_subscribed(&self, number: u32, writer: u64) -> Vec<u64> {
        let segment = self.segments.get(number);
        segment.map_or(Vec::new(), |s| s.others_subscribed(writer))
    }

    /// `readers`: of each part, those who are subscribed to its segment.
    fn forward_to(&mut self, release: &InFlight, readers: &[Vec<u64>]) {
        for (part, readers) in release.parts.iter().zip(readers) {
            if part.checked.is_some() {
                if let Some(s) = self.segments.if_still_there(part.segment) {
                    s.forward(&mut self.wire, readers, &part.diff, &part.after);
                }
            }
        }
    }

    fn send_released(&mut self, at: At, versions: Vec<VersionStamp>) {
        let body = WriterReleased { versions };
        let reply = Outgoing::new(MessageType::WriterReleased, at.stream, &body);
        self.wire.send(at.connection, reply);
    }

    /// Whether many readers are yet to be told of a release whose writer has been answered: the
    /// shell lets the writer run before they wake.
    pub fn is_about_to_tell(&self) -> bool {
        self.journal.is_about_to_tell()
    }

    /// Tells the readers who are left, or brings the master copies up to what was told. The shell
    /// calls it, until it is false, when what was told is on the wire; every other event does it
    /// first. False: there was nothing.
    pub fn settle(&mut self) -> bool {
        let steps = self.journal.take_settling();
        let some = !steps.is_empty();
        for step in steps {
            match step {
                Settling::Tell(release, readers) => {
                    self.forward_to(release.release(), &readers);
                    self.journal.settle_later(Settling::Commit(release));
                }
                Settling::Commit(release) => self.commit(release),
            }
        }
        self.forget_closed();
        some
    }

    fn commit(&mut self, release: DurableRelease) {
        let mut release = release.into_release();
        let lives = self.wire.find_session(&release.session_id).is_some();
        for part in std::mem::take(&mut release.parts) {
            let number = part.segment;
            if let Some(s) = self.segments.if_still_there(number) {
                let committed = release.committed(&part);
                s.remembered.add(committed, lives, self.wire.now_ns());
                s.lock.release(release.at.session, part.fence);
                s.commit_part(&mut self.wire, release.at.connection, part);
                self.grant_waiting(number);
            }
        }
        self.answer_resolvers(release.resolvers);
    }

    /// What became of a release whose answer was lost [LOCK-9].
    pub(super) fn resolve_release(&mut self, at: At, r: &ResolveRelease) -> Result<(), Rejection> {
        self.open_segment_of(at.connection, r.segment)?;
        if self.journal.find_release(r.session, r.sequence).is_none() {
            self.answer_resolved(at, r);
            return Ok(());
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        if let Some(release) = self.journal.find_release(r.session, r.sequence) {
            release.resolvers.push((at, r.clone()));
        }
        Ok(())
    }

    fn answer_resolvers(&mut self, resolvers: Vec<(At, ResolveRelease)>) {
        for (resolver, request) in resolvers {
            self.wire.answered(resolver.connection, resolver.stream);
            self.answer_resolved(resolver, &request);
        }
    }

    fn answer_resolved(&mut self, at: At, r: &ResolveRelease) {
        let Some(s) = self.segments.get(r.segment) else {
            let text = format!(
                "segment number {} was removed while release {} was on its way to the log: if the \
                 release was committed, what it changed is removed, too",
                r.segment, r.sequence
            );
            let removed = Rejection::new(ErrorCode::Removed, text);
            self.wire.refuse(at.connection, at.stream, &removed);
            return;
        };
        let lives = self.wire.find_session(&r.session).is_some();
        let fate = s.remembered.fate(&r.session, r.sequence, lives);
        let mut body = ReleaseResolved {
            committed: false,
            version: VersionStamp {
                incarnation: s.incarnation,
                number: 0,
                chain: 0,
            },
        };
        match fate {
            Fate::Committed(version, chain) => {
                body.committed = true;
                body.version.number = version;
                body.version.chain = chain;
            }
            Fate::NotCommitted => self.never_commit(at, r),
            Fate::Unknown => {
                let text = format!(
                    "what became of release {} is not remembered: its session ended, or sent \
                     others, too long ago; look at the data before the change is made again",
                    r.sequence
                );
                let error = Outgoing::error(at.stream, ErrorCode::Unreachable, text);
                self.wire.send(at.connection, error);
                return;
            }
        }
        let type_ = MessageType::ReleaseResolved;
        self.wire.send(
            at.connection,
            Outgoing::about(r.segment, type_, at.stream, &body),
        );
    }

    /// Once told to be rolled back, the release stays so: the connection that might still carry it
    /// is closed, and the session may not send it again.
    fn never_commit(&mut self, at: At, r: &ResolveRelease) {
        let Some(number) = self.wire.find_session(&r.session) else {
            return;
        };
        let Some(session) = self.wire.session_mut(number) else {
            return;
        };
        let through = session.rolled_back_through.entry(r.segment).or_insert(0);
        *through = r.sequence.max(*through);
        if let Some(older) = session.connection.filter(|c| *c != at.connection) {
            self.wire.close(older);
        }
    }
}

impl SegmentState {
    /// Takes the part's diff off the bulk, and checks it whole.
    fn check_part(
        &mut self,
        at: At,
        part: &ReleasePart,
        bulk: &mut Bytes,
    ) -> Result<Part, Rejection> {
        if !self.lock.holds(at.session, part.fence) {
            return Err(fenced(&self.path, part.fence));
        }
        if self.committing {
            let text = "another release of this lock is on its way to the log";
            return Err(Rejection::malformed(text));
        }
        if part.diff_bytes > bulk.len() as u64 {
            let text = format!(
                "a part of {} bytes, where {} bytes of bulk are left",
                part.diff_bytes,
                bulk.len()
            );
            return Err(Rejection::malformed(text));
        }
        let diff = bulk.split_to(part.diff_bytes as usize);
        let mut after = self.newest();
        let mut checked = None;
        if !diff.is_empty() {
            check_base(self, &part.base)?;
            let serials = self.serials.granted();
            let release = self.master.check(&diff, part.base.number, serials)?;
            after.stamp.number += 1;
            after.stamp.chain = chain::next(after.stamp.chain, &diff);
            after.units_changed += self.master.changed_units(&release);
            checked = Some(release);
        }
        Ok(Part {
            segment: self.number,
            segment_id: self.id,
            durable: self.durable,
            fence: part.fence,
            diff,
            checked,
            after,
        })
    }

    /// Brings the master copy up to what was told, and tells those who watch it otherwise.
    fn commit_part(&mut self, wire: &mut Wire, writer: u64, part: Part) {
        let changed = part.checked.is_some();
        if let Some(checked) = part.checked {
            let version = self.master.commit(checked);
            debug_assert_eq!(version, part.after.stamp.number);
            self.chains.add(part.after.stamp.chain);
            self.commits.add(version, wire.now_ns());
            self.units_changed = part.after.units_changed;
            self.unsaved = true;
            wire.counters.releases += 1;
            wire.counters.release_bytes += part.diff.len() as u64;
        }
        wire.now_newest(writer, self.number, &self.newest());
        if changed {
            self.notify_subscribers(wire);
        }
    }
}

/// The diff must be of the version that the grant brought, not only of its number [COH-9] [COH-11].
fn check_base(s: &SegmentState, base: &VersionStamp) -> Result<(), Rejection> {
    let newest = s.stamp();
    match Version::from(base) == newest {
        true => Ok(()),
        false => Err(Rejection::malformed(format!(
            "the release is from version {} (incarnation {}, chain {:016x}), the newest is {} \
             (incarnation {}, chain {:016x})",
            base.number,
            base.incarnation,
            base.chain,
            newest.number,
            newest.incarnation,
            newest.chain
        ))),
    }
}
