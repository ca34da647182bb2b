//! Tells of a release that the log has taken, then commits it. Also says that the log refused one.
//!
//! Telling comes first, because the check is final and the bytes to be told are the bytes that were
//! received. So readers and writer have their messages while the master copy is brought up to date
//! ([`Engine::settle`]). No other event comes between. Implements the engine's part of [LOCK-7] and
//! [NOT-6].

use super::engine::Engine;
use super::in_flight::{InFlight, Part};
use super::journal::{DurableRelease, Settling};
use super::message::ServerMessage;
use super::segment::{Life, SegmentState};
use super::storing;
use super::wire::{At, Wire};
use interweave_store::StoreError;
use interweave_wire::protocol::*;

/// If a release has so many readers, they are told after the writer, not before.
const MANY_READERS: usize = 3;

impl Engine {
    /// The log has the release.
    pub(super) fn release_stored(&mut self, release: DurableRelease) {
        self.log_answered(release.release());
        for part in &release.release().parts {
            if let (Some(_), Some(s)) = (&part.begins, self.segments.if_still_there(part.segment)) {
                s.lacks_incarnation = false;
            }
        }
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
        let again = matches!(
            error,
            StoreError::Full(_)
                | StoreError::Alone(_)
                | StoreError::Away(_)
                | StoreError::Io(_)
                | StoreError::TooLarge { .. }
        );
        let keeps_lock = again && self.wire.session(at.session).is_some();
        let rejection = storing::rejection(error);
        let now_ns = self.wire.now_ns();
        for part in &release.parts {
            // New rules passed the lock over while its release was on its way [RULE-7].
            let may_keep = keeps_lock && self.may_still_change(at.session, part.segment);
            let Some(s) = self.segments.if_still_there(part.segment) else {
                continue;
            };
            // It lost its connection, gave the grant up, and would wait for itself.
            let asks_anew = s.lock.queued_sessions().any(|queued| queued == at.session);
            let kept_ns = (may_keep && !asks_anew).then_some(now_ns);
            s.release_failed(at.session, (part.fence, release.sequence), error, kept_ns);
            if matches!(s.life, Life::Damaged(_)) {
                self.segments.note_damaged(part.segment);
            }
            self.grant_waiting(part.segment);
        }
        self.wire.counters.releases_refused += 1;
        self.wire.refuse(at.connection, at.stream, &rejection);
        self.answer_resolvers(release.resolvers);
    }

    /// Tells the writer. A few readers are told before the writer, because they may wait for the
    /// release. Many readers are told after it, in [`Engine::settle`], so that the time of a
    /// release does not grow with the number of readers. The commit follows there, too.
    pub(super) fn tell(&mut self, durable: DurableRelease) {
        let release = durable.release();
        let readers = release.parts.iter();
        let readers = readers.map(|p| self.others_subscribed(p.segment, release.at.connection));
        let readers: Vec<_> = readers.collect();
        let many = readers.iter().map(Vec::len).sum::<usize>() >= MANY_READERS;
        if !many {
            self.forward_to(release, &readers);
        }
        self.answer_release(release);
        self.journal.settle_later(match many {
            true => Settling::Tell(durable, readers),
            false => Settling::Commit(durable),
        });
    }

    fn others_subscribed(&self, number: u32, writer: u64) -> Vec<u64> {
        let segment = self.segments.get(number);
        segment.map_or(Vec::new(), |s| s.others_subscribed(writer))
    }

    /// `readers`: for each part, the connections that subscribe to its segment.
    fn forward_to(&mut self, release: &InFlight, readers: &[Vec<u64>]) {
        for (part, readers) in release.parts.iter().zip(readers) {
            if part.checked.is_some() {
                if let Some(s) = self.segments.if_still_there(part.segment) {
                    let diff = part.diff.clone().into();
                    s.forward(&mut self.wire, readers, &diff, &part.after);
                }
            }
        }
    }

    /// Answers the writer. The answer says whether the grants stay with the client [LOCK-13].
    fn answer_release(&mut self, release: &InFlight) {
        if !self.leaves_grants(release) {
            return self.send_released(release.at, release.versions());
        }
        for part in &release.parts {
            self.segments.found(part.segment).lock.keep(part.fence);
        }
        self.wire.counters.kept += 1;
        let body = WriterKept {
            versions: release.versions(),
        };
        let reply = ServerMessage::new(MessageType::WriterKept, release.at.stream, &body);
        self.wire.send(release.at.connection, reply);
    }

    fn leaves_grants(&self, release: &InFlight) -> bool {
        let At {
            connection,
            session,
            ..
        } = release.at;
        let may_keep = |part: &Part| {
            let segment = self.segments.get(part.segment);
            let keeps = |s: &SegmentState| s.lock.may_keep(session, connection, part.fence);
            segment.is_some_and(keeps) && self.may_still_change(session, part.segment)
        };
        let keeps = self.wire.connection(connection).is_some_and(|c| {
            let is_open = |part: &Part| c.open.contains_key(&part.segment);
            c.keeps_grants && release.parts.iter().all(is_open)
        });
        keeps && !self.stopping && !release.parts.is_empty() && release.parts.iter().all(may_keep)
    }

    pub(super) fn send_released(&mut self, at: At, versions: Vec<VersionStamp>) {
        let body = WriterReleased { versions };
        let reply = ServerMessage::new(MessageType::WriterReleased, at.stream, &body);
        self.wire.send(at.connection, reply);
    }

    /// Whether many readers must still be told of a release whose writer has been answered. The
    /// shell lets the writer run before they wake.
    pub fn is_about_to_tell(&self) -> bool {
        self.journal.is_about_to_tell()
    }

    /// Tells the readers that are left, or commits the releases that were told. Returns false if
    /// there was nothing to do. The shell calls it until it is false, once the messages so far are
    /// on the wire. Every other event calls it first.
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
        let lives = self.wire.find_session(&release.session_hash).is_some();
        for part in std::mem::take(&mut release.parts) {
            let number = part.segment;
            if let Some(s) = self.segments.if_still_there(number) {
                let committed = release.committed(&part);
                s.remembered.add(committed, lives, self.wire.now_ns());
                s.lock
                    .end_commit(release.at.session, part.fence, self.wire.now_ns());
                if part.checked.is_some() {
                    storing::note_unlogged_changes(&mut self.saving, s);
                }
                s.commit_part(&mut self.wire, release.at.connection, part);
                self.grant_waiting(number);
            }
        }
        self.answer_resolvers(release.resolvers);
    }
}

impl SegmentState {
    /// The log did not take the release under that fence, with that number. `kept_ns`: the present
    /// time, if the holder keeps the lock and may try again.
    fn release_failed(
        &mut self,
        session: u64,
        (fence, sequence): (u64, u64),
        error: &StoreError,
        kept_ns: Option<u64>,
    ) {
        if matches!(error, StoreError::Damaged { .. }) {
            let damaged = Life::Damaged(error.to_string().into());
            match &mut self.life {
                Life::ToRemove(removal) => removal.before = damaged,
                life => *life = damaged,
            }
        }
        match kept_ns {
            Some(now_ns) => self.lock.commit_failed(fence, sequence, now_ns),
            None => drop(self.lock.release(session, fence)),
        }
    }

    /// Commits a part to the master copy. Tells the subscribers to which the diff was not
    /// forwarded.
    fn commit_part(&mut self, wire: &mut Wire, writer: u64, part: Part) {
        let changed = part.checked.is_some();
        if let Some(checked) = part.checked {
            let version = self.master.commit(checked);
            debug_assert_eq!(version, part.after.stamp.number);
            self.chains.add(part.after.stamp.chain);
            self.commits.add(version, wire.now_ns());
            self.units_changed = part.after.units_changed;
            wire.counters.releases += 1;
            wire.counters.release_bytes += part.diff.len() as u64;
        }
        wire.now_newest(writer, self.number, &self.newest());
        if changed {
            self.notify_subscribers(wire);
        }
    }
}
