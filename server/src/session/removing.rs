//! Closes a segment on one connection, and removes it for all.

use super::engine::{stopping, Engine};
use super::journal::Entry;
use super::message::ServerMessage;
use super::segment::{Life, SegmentState};
use super::segments::removed;
use super::storing;
use super::wire::{At, Unanswered};
use interweave_store::StoreError;
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
            Life::Removing | Life::Creating => return Err(removed(&r.path)),
            Life::Open | Life::Damaged(_) => {}
        }
        if !self.config.stored {
            self.answer(at, MessageType::Done)?;
            self.remove_state(number);
            return Ok(());
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        let before = std::mem::replace(&mut segment.life, Life::Removing);
        let record = storing::record(segment.id, LogBody::Other(LogKind::Remove as i32));
        let entry = Entry::Removal {
            segment: number,
            before,
            connection: at.connection,
            stream: at.stream,
        };
        self.journal.append(entry, vec![record], segment.durable);
        Ok(())
    }

    pub(super) fn removal_stored(
        &mut self,
        number: u32,
        before: Life,
        (connection, stream): (u64, u32),
        result: Result<(), StoreError>,
    ) {
        self.wire.answered(connection, stream);
        let reply = match result {
            Ok(()) => {
                self.remove_state(number);
                ServerMessage::new(MessageType::Done, stream, &())
            }
            Err(error) => {
                // The store may have found damage meanwhile.
                let removing = |s: &&mut SegmentState| s.life == Life::Removing;
                if let Some(s) = self.segments.if_still_there(number).filter(removing) {
                    s.life = before;
                }
                let rejection = storing::rejection(&error);
                ServerMessage::error(stream, rejection.code, rejection.text)
            }
        };
        self.wire.send(connection, reply);
    }

    /// Tells the clients that wait for the segment or have it open that it exists no more.
    pub(super) fn remove_state(&mut self, number: u32) {
        let Some(mut segment) = self.segments.remove(number) else {
            return;
        };
        self.saving.forget(number);
        self.accounts.unmade(segment.creator, segment.quota_bytes);
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
