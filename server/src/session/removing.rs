//! Closes a segment on one connection, and removes it for all.

use super::engine::{stopping, Engine};
use super::journal::Entry;
use super::message::ServerMessage;
use super::segment::{Life, SegmentState, ToRemove};
use super::segments::removed;
use super::storing;
use super::wire::{At, Unanswered};
use interweave_store::StoreError;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::*;
use interweave_wire::Rejection;

impl Engine {
    pub(super) fn close_segment(&mut self, at: At, r: &CloseSegment) -> Result<(), Rejection> {
        if self.wire.closes_gone(at.connection, r.segment) {
            return self.answer(at, MessageType::Done);
        }
        self.check_open(at.connection, r.segment)?;
        self.cancel_waits(at.connection, r.segment);
        if let Some(s) = self.segments.if_still_there(r.segment) {
            s.lock.end_session(at.session);
            s.forget_client(at.connection);
        }
        self.wire.close_segment(at.connection, r.segment);
        self.answer(at, MessageType::Done)?;
        self.grant_waiting(r.segment);
        Ok(())
    }

    pub(super) fn remove_segment(&mut self, at: At, r: &RemoveSegment) -> Result<(), Rejection> {
        if self.stopping {
            return Err(stopping());
        }
        let Some(number) = self.segments.number_at(&r.path) else {
            let text = format!(
                "segment {} was to be removed; no segment here has that name",
                r.path
            );
            return Err(Rejection::new(ErrorCode::NoSegment, text));
        };
        let segment = self.segments.found(number);
        match segment.life {
            Life::Open | Life::Damaged(_) => {}
            _ => return Err(removed(&r.path)),
        }
        if !self.config.stored {
            self.answer(at, MessageType::Done)?;
            self.remove_state(number);
            return Ok(());
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        let gone = removed(&r.path);
        self.stop_handing(number, &gone);
        let is_shared = self.is_shared();
        let segment = self.segments.found(number);
        if is_shared {
            segment.lock.close();
        }
        let before = segment.life.clone();
        segment.life = Life::ToRemove(Box::new(ToRemove { before, at }));
        self.grant_waiting(number);
        Ok(())
    }

    /// Whether others may see a removal before this server knows of it.
    fn is_shared(&self) -> bool {
        self.space.is_some() && !planted::is_in(Defect::ConfirmedWhileRemoved)
    }

    /// Asks the store for the removal that waits, if it must not wait longer.
    ///
    /// In a space other servers may see the removal, and make the path anew, before this one knows
    /// the outcome. So no copy is confirmed from then on [SPACE-28]. The answer of a release would
    /// confirm one.
    pub(super) fn go_on_removing(&mut self, number: u32) {
        let is_shared = self.is_shared();
        let Some(s) = self.segments.if_still_there(number) else {
            return;
        };
        let Life::ToRemove(removal) = &s.life else {
            return;
        };
        if is_shared && s.committing {
            return;
        }
        let (before, at) = (removal.before.clone(), removal.at);
        s.life = Life::Removing;
        if is_shared {
            for connection in s.users.subscribers.clone() {
                self.wire.announce(connection, number, s.stamp());
            }
        }
        let entry = Entry::Removal {
            segment: number,
            before,
            connection: at.connection,
            stream: at.stream,
        };
        let record = storing::record(s.id, LogBody::Other(LogKind::Remove as i32));
        self.journal.append(entry, vec![record], s.durable);
    }

    pub(super) fn removal_stored(
        &mut self,
        number: u32,
        before: Life,
        (connection, stream): (u64, u32),
        result: Result<(), StoreError>,
    ) {
        self.wire.answered(connection, stream);
        match result {
            Ok(()) => {
                self.remove_state(number);
                let reply = ServerMessage::new(MessageType::Done, stream, &());
                self.wire.send(connection, reply);
            }
            Err(error) => {
                // The store may have found damage meanwhile.
                let removing = |s: &&mut SegmentState| s.life == Life::Removing;
                if let Some(s) = self.segments.if_still_there(number).filter(removing) {
                    let is_damaged = matches!(before, Life::Damaged(_));
                    s.life = before;
                    s.lock.reopen();
                    if is_damaged {
                        self.segments.note_damaged(number);
                    }
                }
                let rejection = storing::rejection(&error);
                self.wire.refuse(connection, stream, &rejection);
                self.grant_waiting(number);
            }
        }
    }

    /// Serves the segment no more. None: it was taken out before.
    pub(super) fn take_out(&mut self, number: u32) -> Option<SegmentState> {
        let segment = self.segments.remove(number)?;
        self.saving.forget(number);
        self.accounts.unmade(segment.creator, segment.quota_bytes);
        Some(segment)
    }

    /// Tells the clients that wait for the segment or have it open that it exists no more.
    pub(super) fn remove_state(&mut self, number: u32) {
        let Some(mut segment) = self.take_out(number) else {
            return;
        };
        let rejection = removed(&segment.path);
        for (at, _) in segment.serials.take_awaiting() {
            self.wire
                .refuse_awaiting(at.connection, at.stream, &rejection);
        }
        let path = segment.path.clone();
        for connection in segment.users.clients.iter().copied() {
            let may_know = self.wire.session_of(connection).is_none_or(|session| {
                let rights = self.permits.decide(&session.login.identity, &path);
                rights.may_read()
            });
            self.wire
                .segment_gone(connection, number, (&path, may_know), &rejection);
        }
    }
}

impl SegmentState {
    /// Whether a removal waits.
    pub fn is_to_be_removed(&self) -> bool {
        matches!(self.life, Life::ToRemove(_))
    }
}
