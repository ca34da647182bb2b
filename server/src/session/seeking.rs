//! Requests about segments that this server does not have wait until the store has said where
//! those are (spec/space.md).

use super::effect::Effect;
use super::engine::{stopping, Engine};
use super::message::{Incoming, Request};
use super::recovery::Rebuilt;
use super::space::{elsewhere_rejection, Found};
use super::storing;
use super::wire::{At, Unanswered};
use interweave_store::StoreError;
use interweave_wire::planted::{self, Defect};
use interweave_wire::Rejection;

/// A segment of an earlier start of this server is looked for again after such a part of a lease.
const AGAIN: u64 = 8;

/// A path of which the store is asked where its segment is.
#[derive(Debug, Default)]
pub struct Seeking {
    waiting: Vec<(At, Incoming)>,
    /// Requests that came during a look. The segment may be younger than the look.
    late: Vec<(At, Incoming)>,
    /// No look is under way: the path is in [`super::space::Space::sought_later`].
    rests: bool,
    /// The look that is under way claims the segment, if it can be claimed.
    may_claim: bool,
}

impl Seeking {
    pub fn may_claim(&self) -> bool {
        self.may_claim
    }
}

impl Engine {
    /// Whether a request waits until the store has said where its segment is. An error is its
    /// answer.
    pub(super) fn seeks_first(&mut self, at: At, incoming: &Incoming) -> Result<bool, Rejection> {
        let path = match &incoming.request {
            Request::OpenSegment(r) => &r.path,
            Request::RemoveSegment(r) => &r.path,
            Request::HandOver(r) => &r.path,
            _ => return Ok(false),
        };
        if self.space.is_none() || self.segments.number_at(path).is_some() {
            return Ok(false);
        }
        // A client that may not know of the segment is not told who has it.
        self.check_permitted(at, &incoming.request)?;
        if self.stopping {
            return Err(stopping());
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        self.seek(path.clone(), at, incoming.clone());
        Ok(true)
    }

    /// REQUIRES: the request is awaited on the wire.
    pub(super) fn seek(&mut self, path: String, at: At, incoming: Incoming) {
        if let Some(space) = &mut self.space {
            match space.seeking.get_mut(&path) {
                Some(seeking) if seeking.rests => seeking.waiting.push((at, incoming)),
                Some(seeking) => seeking.late.push((at, incoming)),
                None => self.begin_look(path, vec![(at, incoming)]),
            }
        }
    }

    /// Whether looks may claim segments.
    fn claims(&self) -> bool {
        !self.is_drained() || planted::is_in(Defect::DrainForgotten)
    }

    fn begin_look(&mut self, path: String, waiting: Vec<(At, Incoming)>) {
        let claims = self.claims();
        if let Some(space) = &mut self.space {
            let seeking = Seeking {
                waiting,
                may_claim: claims,
                ..Seeking::default()
            };
            space.seeking.insert(path.clone(), seeking);
            self.journal.push(Effect::Seek { path, claims });
        }
    }

    /// The store says where the segment is. Those that wait for it are answered.
    pub fn sought(&mut self, now_ns: u64, path: &str, found: Result<Found, StoreError>) {
        self.advance(now_ns);
        let space = self.space.as_mut();
        let seeking = space.and_then(|space| space.seeking.remove(path));
        let Seeking {
            waiting,
            late,
            may_claim,
            ..
        } = seeking.unwrap_or_default();
        let answer = match found {
            Ok(Found::Here(rebuilt)) => {
                self.take_over(*rebuilt);
                None
            }
            Ok(Found::Absent) if may_claim && !self.claims() => {
                // The server was drained since. Another one may make the segment.
                self.begin_look(path.to_string(), [waiting, late].concat());
                return self.tell_drained();
            }
            Ok(Found::Absent) => self.check_claims().err(),
            Ok(Found::Elsewhere(elsewhere)) => {
                Some(elsewhere_rejection(path, &elsewhere, self.relays()))
            }
            Ok(Found::Earlier) if !self.stopping => {
                self.seek_later(path, [waiting, late].concat());
                return self.tell_drained();
            }
            Ok(Found::Earlier) => Some(stopping()),
            Err(error) => Some(storing::rejection(&error)),
        };
        self.answer_seekers(waiting, answer.as_ref());
        if self.segments.number_at(path).is_some() {
            // A claim now would make a second state of it.
            self.answer_seekers(late, None);
        } else if !late.is_empty() {
            self.begin_look(path.to_string(), late);
        }
        self.tell_drained();
        self.forget_closed();
    }

    /// `refusal`: the answer to all. None: the segment is served here, or nobody has it.
    fn answer_seekers(&mut self, waiting: Vec<(At, Incoming)>, refusal: Option<&Rejection>) {
        for (at, incoming) in waiting {
            if self.wire.answered(at.connection, at.stream).is_none() {
                continue;
            }
            let answered = match refusal {
                Some(rejection) => Err(rejection.clone()),
                None => self.dispatch_to_owner(at, &incoming),
            };
            if let Err(rejection) = answered {
                self.wire.counters.errors += 1;
                self.wire.refuse(at.connection, at.stream, &rejection);
            }
        }
    }

    /// Serves a segment that this server has claimed.
    fn take_over(&mut self, mut rebuilt: Rebuilt) {
        if planted::is_in(Defect::TakeoverForgets) {
            rebuilt.forget_releases();
        }
        let mut begun = Vec::new();
        let path = rebuilt.path().to_string();
        // The remark about damage is in the answer to whoever asks.
        let _ = self.recover_segment(rebuilt, &mut begun);
        self.log_incarnations(begun);
        self.follow_here(&path);
    }

    /// The segment is of an earlier start of this server, which is not over yet [SPACE-17].
    fn seek_later(&mut self, path: &str, waiting: Vec<(At, Incoming)>) {
        let now_ns = self.wire.now_ns();
        if let Some(space) = &mut self.space {
            let seeking = Seeking {
                waiting,
                rests: true,
                ..Seeking::default()
            };
            space.seeking.insert(path.to_string(), seeking);
            let again_ns = now_ns + space.lease_ns / AGAIN;
            space.sought_later.push_back((again_ns, path.to_string()));
        }
    }

    /// Asks the store again for segments that are due, as long as somebody waits for them.
    pub(super) fn seek_again(&mut self, now_ns: u64) {
        for (path, mut waiting) in self.end_rests(now_ns) {
            waiting.retain(|(at, _)| self.wire.awaited(at.connection, at.stream).is_some());
            if !waiting.is_empty() {
                self.begin_look(path, waiting);
            }
        }
    }

    /// The server stops: nothing is looked for again.
    pub(super) fn stop_seeking_again(&mut self) {
        for (_, waiting) in self.end_rests(u64::MAX) {
            for (at, _) in waiting {
                self.wire
                    .refuse_awaiting(at.connection, at.stream, &stopping());
            }
        }
    }

    /// Takes out the paths that are due by then, with the requests that wait for them.
    fn end_rests(&mut self, until_ns: u64) -> Vec<(String, Vec<(At, Incoming)>)> {
        let Some(space) = &mut self.space else {
            return Vec::new();
        };
        let mut ended = Vec::new();
        while let Some((_, path)) = space.sought_later.pop_front_if(|(at, _)| *at <= until_ns) {
            let seeking = space.seeking.remove(&path).unwrap_or_default();
            ended.push((path, seeking.waiting));
        }
        ended
    }
}
