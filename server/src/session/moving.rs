//! An owner hands a segment over to another server of its space [SPACE-19..23].
//!
//! First nothing more is granted, until no lock is held and no release is on its way to the store.
//! Then no copy is confirmed any more, and the store is asked to give the segment. Requests that
//! need its owner wait meanwhile. The store's answer says who that is.

use super::engine::{stopping, Engine};
use super::message::{Incoming, Request, ServerMessage};
use super::segment::{Life, SegmentState};
use super::segments::damaged;
use super::space;
use super::storing;
use super::wire::{At, Unanswered};
use super::{config::ns, effect::Effect};
use interweave_store::{Elsewhere, Given, StoreError};
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::*;
use interweave_wire::Rejection;

/// A segment that is being handed over.
#[derive(Debug)]
pub struct Handing {
    /// The request that asks for it.
    at: At,
    member: u64,
    deadline_ns: u64,
    /// Requests that wait for the store's answer.
    waiting: Vec<(At, Incoming)>,
}

impl Engine {
    pub(super) fn hand_over(&mut self, at: At, r: &HandOver) -> Result<(), Rejection> {
        let member = self.member()?;
        if self.stopping {
            return Err(stopping());
        }
        let Some(number) = self.segments.number_at(&r.path) else {
            let text = format!(
                "segment {} was to be moved; this space has no such segment; see what there is \
                 with `interweave ls`",
                r.path
            );
            return Err(Rejection::new(ErrorCode::NoSegment, text));
        };
        let segment = self.segments.usable(number)?;
        if r.member == member {
            return self.answer(at, MessageType::Done);
        }
        if segment.handing.is_some() {
            let text = format!(
                "segment {} is being moved already; ask again in a moment",
                r.path
            );
            return Err(Rejection::new(ErrorCode::Stopping, text));
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        let deadline_ns = self.wire.now_ns() + ns(r.deadline_ms);
        let segment = self.segments.found(number);
        segment.handing = Some(Box::new(Handing {
            at,
            member: r.member,
            deadline_ns,
            waiting: Vec::new(),
        }));
        segment.lock.close();
        if let Some(space) = &mut self.space {
            space.handing.insert(number);
        }
        self.grant_waiting(number);
        Ok(())
    }

    /// Continues to hand the segment over, if that is asked for.
    pub(super) fn go_on_handing(&mut self, number: u32) {
        let now_ns = self.wire.now_ns();
        let Some(s) = self.segments.if_still_there(number) else {
            return;
        };
        let Some(handing) = s.handing.as_deref() else {
            return;
        };
        match &s.life {
            Life::Open => {}
            Life::Damaged(what) => {
                let rejection = damaged(&s.path, what);
                return self.stop_handing(number, &rejection);
            }
            _ => return,
        }
        let is_awaited = self.wire.awaited(handing.at.connection, handing.at.stream);
        if is_awaited.is_none() || handing.deadline_ns <= now_ns {
            let text = format!(
                "a lock of segment {} was not given back in time, so the segment stays here; \
                 wait longer, or try again",
                s.path
            );
            return self.stop_handing(number, &Rejection::new(ErrorCode::TimedOut, text));
        }
        let waits = !planted::is_in(Defect::GivenAmidRelease);
        if waits && (!s.lock.is_free(now_ns) || s.committing) {
            return;
        }
        // The next owner reads what is in the store.
        if self.journal.appends_to(number) {
            return;
        }
        if s.lacks_incarnation {
            // The store's answer continues here.
            return self.log_incarnations(vec![number]);
        }
        let saves = !planted::is_in(Defect::GivenUnsaved);
        if s.durable == Durability::Memory && saves && !self.saving.has_all_of(number) {
            // The end of the checkpoint continues here.
            self.save(number);
            return;
        }
        let (segment_id, member) = (s.id, handing.member);
        s.life = Life::Giving;
        self.confirm_no_more(number);
        self.wire.push_effect(Effect::Give {
            segment: number,
            segment_id,
            member,
        });
        self.forget_closed();
    }

    /// From now on no client counts its copy as the newest because of what this server says
    /// [SPACE-20].
    fn confirm_no_more(&mut self, number: u32) {
        let confirms = planted::is_in(Defect::ConfirmedWhileGiven);
        let s = self.segments.found(number);
        for connection in s.users.clients.clone() {
            if !self.wire.follows_moves(connection) {
                self.wire.close(connection);
            } else if s.users.subscribers.contains(&connection) && !confirms {
                self.wire.announce(connection, number, s.stamp());
            }
        }
    }

    /// The segment stays here: locks are granted again. Not while the store is asked to give it.
    pub(super) fn stop_handing(&mut self, number: u32, rejection: &Rejection) {
        let segment = self.segments.get(number);
        if segment.is_some_and(|s| s.life != Life::Giving) {
            self.keep_here(number, rejection);
        }
    }

    fn keep_here(&mut self, number: u32, rejection: &Rejection) {
        let segment = self.segments.if_still_there(number);
        let Some(s) = segment.filter(|s| s.is_handed()) else {
            return;
        };
        s.lock.reopen();
        if s.life == Life::Giving {
            s.life = Life::Open;
        }
        let waiting = self.end_handing(number, rejection);
        self.take_again(waiting);
        self.grant_waiting(number);
    }

    /// Refuses the hand-over of the segment, if one is asked for. Returns the requests that wait
    /// for its end.
    pub(super) fn end_handing(
        &mut self,
        number: u32,
        rejection: &Rejection,
    ) -> Vec<(At, Incoming)> {
        let Some(handing) = self.take_handing(number) else {
            return Vec::new();
        };
        let At {
            connection, stream, ..
        } = handing.at;
        if self.wire.answered(connection, stream).is_some() {
            self.wire.counters.errors += 1;
            self.wire.refuse(connection, stream, rejection);
        }
        handing.waiting
    }

    fn take_handing(&mut self, number: u32) -> Option<Handing> {
        if let Some(space) = &mut self.space {
            space.handing.remove(&number);
        }
        let segment = self.segments.if_still_there(number)?;
        segment.handing.take().map(|handing| *handing)
    }

    /// Takes requests that have waited.
    fn take_again(&mut self, waiting: Vec<(At, Incoming)>) {
        for (at, incoming) in waiting {
            if self.wire.answered(at.connection, at.stream).is_none() {
                continue;
            }
            let taken = match self.seeks_first(at, &incoming) {
                Ok(true) => continue,
                Ok(false) => self.dispatch_to_owner(at, &incoming),
                Err(rejection) => Err(rejection),
            };
            if let Err(rejection) = taken {
                self.wire.counters.errors += 1;
                self.wire.refuse(at.connection, at.stream, &rejection);
            }
        }
    }

    /// Dispatches a request that has waited. One before it may have been to give the segment away:
    /// then it waits for the end of that.
    pub(super) fn dispatch_to_owner(
        &mut self,
        at: At,
        incoming: &Incoming,
    ) -> Result<(), Rejection> {
        let waits = !planted::is_in(Defect::GivenOverWaiting);
        match waits && self.waits_for_owner(at, incoming)? {
            true => Ok(()),
            false => self.dispatch_and_audit(at, incoming),
        }
    }

    /// Whether a request waits until the store has said who owns its segment. An error is its
    /// answer.
    pub(super) fn waits_for_owner(
        &mut self,
        at: At,
        incoming: &Incoming,
    ) -> Result<bool, Rejection> {
        if self
            .space
            .as_ref()
            .is_none_or(|space| space.handing.is_empty())
        {
            return Ok(false);
        }
        let number = match &incoming.request {
            Request::OpenSegment(r) => self.segments.number_at(&r.path),
            Request::RemoveSegment(r) => self.segments.number_at(&r.path),
            Request::HandOver(r) => self.segments.number_at(&r.path),
            Request::FollowSegment(r) => self.segments.number_at(&r.path),
            Request::DescribeBlocks(r) => Some(r.segment),
            Request::AcquireReader(r) => Some(r.segment),
            Request::AcquireWriter(r) => Some(r.segment),
            Request::ResolveRelease(r) => Some(r.segment),
            Request::Subscribe(r) => Some(r.segment),
            _ => None,
        };
        let segment = number.and_then(|number| self.segments.get(number));
        let Some(segment) = segment.filter(|s| s.life == Life::Giving) else {
            return Ok(false);
        };
        let number = segment.number;
        self.check_permitted(at, &incoming.request)?;
        self.wire.await_answer(at, Unanswered::Store)?;
        let segment = self.segments.found(number);
        if let Some(handing) = segment.handing.as_mut() {
            handing.waiting.push((at, incoming.clone()));
        }
        Ok(true)
    }

    /// The store has given the segment away, or has not.
    pub fn given(&mut self, now_ns: u64, number: u32, given: Result<Given, StoreError>) {
        self.advance(now_ns);
        match given {
            Ok(Given::To(to)) => self.moved(number, to),
            Ok(Given::Not(why)) => {
                self.keep_here(number, &Rejection::new(ErrorCode::BadArgument, why));
            }
            Err(error) if planted::is_in(Defect::GivenInDoubt) => {
                self.keep_here(number, &storing::rejection(&error));
            }
            Err(error) => self.lose_given(number, &error),
        }
        self.forget_closed();
    }

    /// The store cannot say whether it has given the segment away [SPACE-22].
    fn lose_given(&mut self, number: u32, error: &StoreError) {
        self.wire.counters.store_errors += 1;
        let waiting = self.end_handing(number, &storing::rejection(error));
        if let Some(segment) = self.take_out(number) {
            for connection in segment.users.clients.iter().copied() {
                self.wire.close(connection);
            }
        }
        self.take_again(waiting);
    }

    /// Another server has the segment now: its clients are sent there.
    fn moved(&mut self, number: u32, to: Elsewhere) {
        let Some(handing) = self.take_handing(number) else {
            return;
        };
        let Some(mut segment) = self.take_out(number) else {
            return;
        };
        let rejection = space::elsewhere_rejection(&segment.path, &to, self.relays());
        segment.refuse_writers(&mut self.wire, &rejection);
        for connection in segment.users.clients.iter().copied() {
            self.wire
                .segment_moved(connection, number, &segment.path, &to);
        }
        for (at, _) in handing.waiting {
            if self.wire.answered(at.connection, at.stream).is_some() {
                self.wire.refuse(at.connection, at.stream, &rejection);
            }
        }
        let At {
            connection, stream, ..
        } = handing.at;
        if self.wire.answered(connection, stream).is_some() {
            let done = ServerMessage::new(MessageType::Done, stream, &());
            self.wire.send(connection, done);
        }
        self.wire.push_effect(Effect::Free(Box::new(segment)));
    }

    fn all_handing(&self) -> Vec<u32> {
        let handing = self.space.iter().flat_map(|space| &space.handing);
        handing.copied().collect()
    }

    /// Connections are gone: somebody may have asked for a hand-over on one [SPACE-19].
    pub(super) fn go_on_all_handing(&mut self) {
        for number in self.all_handing() {
            self.go_on_handing(number);
        }
    }

    /// The server stops: it hands nothing over any more.
    pub(super) fn stop_all_handing(&mut self) {
        for number in self.all_handing() {
            self.stop_handing(number, &stopping());
        }
    }
}

impl SegmentState {
    /// Whether it is being handed over.
    pub fn is_handed(&self) -> bool {
        self.handing.is_some()
    }

    /// Until when a lock that is held may keep the segment from being handed over. While the store
    /// is asked, no deadline ends that.
    pub fn hands_over_until_ns(&self) -> Option<u64> {
        let handing = self.handing.as_deref();
        handing
            .filter(|_| self.life == Life::Open)
            .map(|handing| handing.deadline_ns)
    }
}
