//! What became of a release whose answer was lost [LOCK-9].

use super::engine::{stopping, Engine};
use super::message::ServerMessage;
use super::remembered::Fate;
use super::wire::{At, Unanswered};
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::*;
use interweave_wire::session_hash::session_hash;
use interweave_wire::Rejection;

/// The release that a RESOLVE_RELEASE asks about. The request is not kept while it waits, because
/// it has the session's id [SES-6].
#[derive(Debug, Clone, Copy)]
pub struct AskedRelease {
    segment: u32,
    session_hash: SessionHash,
    sequence: u64,
}

impl Engine {
    /// Answers a RESOLVE_RELEASE, at once or when the log has answered about the release.
    pub(super) fn resolve_release(&mut self, at: At, r: &ResolveRelease) -> Result<(), Rejection> {
        self.open_segment_of(at.connection, r.segment)?;
        let asked = AskedRelease {
            segment: r.segment,
            session_hash: session_hash(&r.session),
            sequence: r.sequence,
        };
        let (hash, sequence) = (asked.session_hash, asked.sequence);
        let is_early = planted::is_in(Defect::ResolvedTooEarly);
        if self.journal.find_release(hash, sequence).is_none() || is_early {
            self.answer_resolved(at, &asked);
            return Ok(());
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        if let Some(release) = self.journal.find_release(hash, sequence) {
            release.resolvers.push((at, asked));
        }
        Ok(())
    }

    /// Answers the requests that asked about a release, now that the log has answered.
    pub(super) fn answer_resolvers(&mut self, resolvers: Vec<(At, AskedRelease)>) {
        for (resolver, asked) in resolvers {
            self.wire.answered(resolver.connection, resolver.stream);
            self.answer_resolved(resolver, &asked);
        }
    }

    fn answer_resolved(&mut self, at: At, r: &AskedRelease) {
        match self.resolved(at, r) {
            Ok(body) => {
                let type_ = MessageType::ReleaseResolved;
                let reply = ServerMessage::about(r.segment, type_, at.stream, &body);
                self.wire.send(at.connection, reply);
            }
            Err(rejection) => self.wire.refuse(at.connection, at.stream, &rejection),
        }
    }

    /// Returns what became of a release. REQUIRES: it is not on its way to the log.
    fn resolved(&mut self, at: At, r: &AskedRelease) -> Result<ReleaseResolved, Rejection> {
        let Some(s) = self.segments.get(r.segment) else {
            return Err(removed_meanwhile(r));
        };
        let lives = self.wire.find_session(&r.session_hash).is_some();
        let incarnation = s.incarnation;
        let (committed, number, chain) = match s.remembered.fate(&r.session_hash, r.sequence, lives)
        {
            Fate::Committed(version, chain) => (true, version, chain),
            // The server ends without a decision: the release may be there, or appear [STORE-4].
            Fate::NotCommitted if self.lost_store().is_some() => return Err(stopping()),
            Fate::NotCommitted => {
                self.never_commit(at, r);
                (false, 0, 0)
            }
            Fate::Unknown => return Err(not_remembered(r)),
        };
        Ok(ReleaseResolved {
            committed,
            version: VersionStamp {
                incarnation,
                number,
                chain,
            },
        })
    }

    /// Makes sure that a release stays rolled back once the client was told so. The session may not
    /// send it again, and a connection that might still carry it is closed.
    fn never_commit(&mut self, at: At, r: &AskedRelease) {
        let Some(number) = self.wire.find_session(&r.session_hash) else {
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
        self.end_lock_of(number, at, r);
    }

    /// The client has given the lock up under which it released. In the session that released, it
    /// may hold another one by now.
    fn end_lock_of(&mut self, session: u64, at: At, r: &AskedRelease) {
        let refused = (at.session == session).then_some(r.sequence);
        if let Some(s) = self.segments.if_still_there(r.segment) {
            if s.lock.give_up(session, refused) {
                self.grant_waiting(r.segment);
            }
        }
    }
}

fn removed_meanwhile(r: &AskedRelease) -> Rejection {
    let text = format!(
        "segment number {} was removed while release {} was on its way to the log: if the release \
         was committed, what it changed is removed, too",
        r.segment, r.sequence
    );
    Rejection::new(ErrorCode::Removed, text)
}

fn not_remembered(r: &AskedRelease) -> Rejection {
    let text = format!(
        "what became of release {} is not remembered: its session ended, or sent others, too long \
         ago; look at the data before the change is made again",
        r.sequence
    );
    Rejection::new(ErrorCode::Unreachable, text)
}
