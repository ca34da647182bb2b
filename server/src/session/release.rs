//! Releases from the request to the log.
//!
//! A release is checked whole. If it must be durable, it then goes to the log, and nothing of it
//! shows before the log has it. settling.rs has the steps after that. resolving.rs answers a client
//! that lost the answer. Implements the engine's part of [LOCK-4], [LOCK-7], [LOCK-8] and
//! [DIFF-5..6].

use super::engine::Engine;
use super::in_flight::{InFlight, Part};
use super::locks::fenced;
use super::message::Incoming;
use super::segment::SegmentState;
use super::wire::{At, Unanswered};
use crate::coherence::Version;
use bytes::Bytes;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::*;
use interweave_wire::{chain, Rejection};

impl Engine {
    /// Whether the connection's session holds all the locks that the release gives back.
    pub(super) fn holds_all(&self, connection: u64, r: &ReleaseWriter) -> bool {
        let Some(session) = self.wire.connection(connection).and_then(|c| c.session) else {
            return false;
        };
        let is_skipped = planted::is_in(Defect::SkippedFence);
        let held = |part: &ReleasePart| {
            let segment = self.segments.get(part.segment);
            segment.is_some_and(|s| s.lock.holds(session, part.fence) || is_skipped)
        };
        !r.parts.is_empty() && r.parts.iter().all(held)
    }

    pub(super) fn release_writer(
        &mut self,
        at: At,
        r: &ReleaseWriter,
        incoming: &Incoming,
    ) -> Result<(), Rejection> {
        if self.answer_repeated(at, r)? || self.follow_repeated(at, r)? {
            return Ok(());
        }
        let checked = self.check_release(at, r, incoming);
        let begun = checked.and_then(|parts| self.begin_release(at, r.sequence, parts));
        begun.inspect_err(|rejection| {
            self.wire.counters.releases_refused += 1;
            if !matches!(rejection.code, ErrorCode::TimedOut | ErrorCode::TooLarge) {
                self.give_back(at, r);
            }
        })
    }

    /// Answers a release that was committed before, as it was answered then [LOCK-8]. If one of its
    /// segments is not there any more, the release is refused with an error that does not say that
    /// it was not committed.
    fn answer_repeated(&mut self, at: At, r: &ReleaseWriter) -> Result<bool, Rejection> {
        if planted::is_in(Defect::ReleaseForgotten) {
            return Ok(false);
        }
        let hash = self.wire.asking(at).hash;
        let mut versions = Vec::new();
        for part in &r.parts {
            let segment = self.segments.get(part.segment);
            versions.extend(segment.and_then(|s| s.version_of(&hash, r.sequence)));
        }
        if versions.is_empty() {
            return Ok(false);
        }
        let is_whole = versions.len() == r.parts.len();
        if is_whole {
            self.send_released(at, versions);
        }
        // The first answer, which is lost, may have left the grants with the client.
        self.give_back(at, r);
        match is_whole {
            true => Ok(true),
            false => Err(committed_before(r.sequence)),
        }
    }

    /// Finds the same release on its way to the log, sent over an older connection. Its answer then
    /// goes to this request.
    fn follow_repeated(&mut self, at: At, r: &ReleaseWriter) -> Result<bool, Rejection> {
        let hash = self.wire.asking(at).hash;
        if self.journal.find_release(hash, r.sequence).is_none() {
            return Ok(false);
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        let Some(release) = self.journal.find_release(hash, r.sequence) else {
            return Ok(false);
        };
        let older = std::mem::replace(&mut release.at, at);
        if self.wire.answered(older.connection, older.stream).is_some() {
            let text = format!(
                "the release was sent again; its answer goes to stream {}",
                at.stream
            );
            let cancelled = Rejection::new(ErrorCode::Cancelled, text);
            self.wire.refuse(older.connection, older.stream, &cancelled);
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
        for (i, part) in r.parts.iter().enumerate() {
            if parts.iter().any(|p| p.segment == part.segment) {
                let text = format!("segment number {} occurs twice in a release", part.segment);
                return Err(Rejection::malformed(text));
            }
            let (segment, _) = self.open_segment_of(at.connection, part.segment)?;
            let chain = incoming.chains.get(i).copied();
            let checked = segment.check_part(at, part, chain, &mut bulk)?;
            self.permit_release(at, part.segment, checked.checked.as_ref())?;
            parts.push(checked);
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

    /// Gives back the locks of a refused release. REQUIRES: it may not be tried again.
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
        let session_hash = self.wire.asking(at).hash;
        let release = InFlight {
            at,
            session_hash,
            sequence,
            parts,
            resolvers: Vec::new(),
        };
        let (group, durable) = release.log_records();
        if !group.is_empty() {
            self.wire.await_answer(at, Unanswered::Store)?;
        }
        for part in &release.parts {
            let segment = self.segments.found(part.segment);
            segment.committing |= !group.is_empty();
            // Also where nothing is logged: to answer may close the connection before the commit.
            segment.lock.begin_commit(at.session, part.fence);
        }
        if let Some(durable) = self.journal.append_release(release, group, durable) {
            self.tell(durable);
        }
        Ok(())
    }
}

/// All of the release was committed. Some of its changes were removed with their segments.
fn committed_before(sequence: u64) -> Rejection {
    let text = format!(
        "release {sequence} of this session was committed before, and some of its segments were \
         removed since; ask for each of the others what became of it, and do not repeat the change"
    );
    Rejection::new(ErrorCode::Unreachable, text)
}

impl SegmentState {
    /// The version that this release of the session has made; None: it is not remembered.
    fn version_of(&self, session: &SessionHash, sequence: u64) -> Option<VersionStamp> {
        let last = self.remembered.last_of(session);
        last.filter(|last| last.sequence == sequence)
            .map(|last| VersionStamp {
                incarnation: self.incarnation,
                number: last.version,
                chain: last.chain,
            })
    }

    /// Takes the part's diff off the bulk, and checks it whole. `chain`: what the diff makes of the
    /// chain that the part begins at, if that is known.
    fn check_part(
        &mut self,
        at: At,
        part: &ReleasePart,
        chain: Option<u64>,
        bulk: &mut Bytes,
    ) -> Result<Part, Rejection> {
        let is_skipped = planted::is_in(Defect::SkippedFence);
        if !self.lock.holds(at.session, part.fence) && !is_skipped {
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
            let parent = after.stamp.chain;
            after.stamp.chain = chain.unwrap_or_else(|| chain::next(parent, &diff));
            if !planted::is_in(Defect::UnitsUncounted) {
                after.units_changed += self.master.changed_units(&release);
            }
            checked = Some(release);
        }
        let checked = Part {
            segment: self.number,
            segment_id: self.id,
            durable: self.durable,
            fence: part.fence,
            diff,
            checked,
            begins: None,
            after,
        };
        let begins = self.lacks_incarnation && checked.is_logged();
        Ok(Part {
            begins: begins.then(|| self.stamp().into()),
            ..checked
        })
    }
}

/// Refuses a diff that does not begin at the version that the grant brought. The number alone does
/// not prove it [COH-9] [COH-11].
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
