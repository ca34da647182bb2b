//! A server reads a segment of another one before it claims it [SPACE-18].

use super::effect::Effect;
use super::engine::Engine;
use super::message::{Incoming, Request, ServerMessage};
use super::segment::Life;
use super::storing;
use super::wire::{At, Unanswered};
use interweave_store::StoreError;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::*;
use interweave_wire::Rejection;

/// So many segments are followed at a time, because each is whole in memory.
const MOST_FOLLOWED: usize = 4;
/// A segment is followed so long after the last request for it.
const FOLLOWED_NS: u64 = 10_000_000_000;
/// And read on so often.
const PAUSE_NS: u64 = 250_000_000;
/// A reading that brings no more than this is close behind the owner.
const CLOSE_BYTES: u64 = 1 << 20;
/// A request is answered after so many readings, also if the owner writes as fast as this server
/// reads.
const MOST_READINGS: u32 = 16;

/// The outcome of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// So many bytes were read, and a copy has them.
    Bytes(u64),
    /// No other server owns the segment.
    Free,
    /// The store does not have it.
    Absent,
}

/// A segment that is followed.
#[derive(Debug)]
pub struct Following {
    /// Requests that wait until it was read.
    asked: Vec<At>,
    /// Requests that came during a reading. The next one answers them, because the segment may have
    /// been given to this server since this one began.
    late: Vec<At>,
    /// A reading is under way.
    is_read: bool,
    readings: u32,
    read_bytes: u64,
    next_ns: u64,
    until_ns: u64,
}

impl Following {
    fn begin() -> Following {
        Following {
            asked: Vec::new(),
            late: Vec::new(),
            is_read: false,
            readings: 0,
            read_bytes: 0,
            next_ns: 0,
            until_ns: 0,
        }
    }

    fn begin_reading(&mut self) {
        self.is_read = true;
        self.asked.append(&mut self.late);
    }

    fn take_asked(&mut self) -> Vec<At> {
        self.asked.append(&mut self.late);
        std::mem::take(&mut self.asked)
    }

    /// When it is read on, or let go.
    pub fn next_ns(&self) -> Option<u64> {
        (!self.is_read).then_some(self.next_ns)
    }
}

impl Engine {
    /// The number of this server in its space.
    pub(super) fn member(&self) -> Result<u64, Rejection> {
        if self.space.is_none() {
            let text = "this server shares its store with nobody, so no segment moves; start it \
                        with --advertise";
            return Err(Rejection::new(ErrorCode::Unimplemented, text));
        }
        Ok(self.config.first_fence >> 32)
    }

    pub(super) fn follow_segment(&mut self, at: At, r: &FollowSegment) -> Result<(), Rejection> {
        self.member()?;
        if let Some(number) = self.segments.number_at(&r.path) {
            match self.segments.found(number).life {
                Life::Open | Life::Damaged(_) => return self.answer_followed(at, true, 0),
                // The store says whether it was made.
                Life::Creating => {}
                _ => return Err(super::segments::removed(&r.path)),
            }
        }
        self.check_claims()?;
        let now_ns = self.wire.now_ns();
        let Some(space) = &mut self.space else {
            return Ok(());
        };
        let is_followed = space.following.contains_key(&r.path);
        if !is_followed && space.following.len() >= MOST_FOLLOWED {
            let text = format!("{MOST_FOLLOWED} segments are being followed; wait for one of them");
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        self.wire.await_answer(at, Unanswered::Store)?;
        let following = space.following.entry(r.path.clone());
        let following = following.or_insert_with(Following::begin);
        following.until_ns = now_ns + FOLLOWED_NS;
        following.readings = 0;
        following.late.push(at);
        if !following.is_read {
            following.begin_reading();
            let path = r.path.clone();
            self.journal.push(Effect::Follow { path });
        }
        Ok(())
    }

    fn answer_followed(&mut self, at: At, owned: bool, read_bytes: u64) -> Result<(), Rejection> {
        let body = SegmentFollowed {
            member: self.member()?,
            owned,
            read_bytes,
        };
        let reply = ServerMessage::new(MessageType::SegmentFollowed, at.stream, &body);
        self.wire.send(at.connection, reply);
        Ok(())
    }

    /// The store has read the segment of that path.
    pub fn followed(&mut self, now_ns: u64, path: &str, read: Result<Read, StoreError>) {
        self.advance(now_ns);
        let here = self.segments.number_at(path);
        let is_made = here.map(|number| self.segments.found(number).life != Life::Creating);
        let space = self.space.as_mut();
        let Some(following) = space.and_then(|space| space.following.get_mut(path)) else {
            // It was claimed meanwhile.
            self.unfollow(path);
            return;
        };
        following.is_read = false;
        following.next_ns = now_ns + PAUSE_NS;
        if !planted::is_in(Defect::FollowedAndMade) {
            match is_made {
                Some(true) => return self.follow_here(path),
                // The end of the creation answers, or a later reading.
                Some(false) => return,
                None => {}
            }
        }
        match read {
            Ok(Read::Bytes(bytes)) => {
                following.readings += 1;
                following.read_bytes += bytes;
                let is_close = bytes <= CLOSE_BYTES || following.readings >= MOST_READINGS;
                let answered = match is_close {
                    true => std::mem::take(&mut following.asked),
                    false => Vec::new(),
                };
                let bytes = following.read_bytes;
                if !is_close || !following.late.is_empty() {
                    following.begin_reading();
                    let path = path.to_string();
                    self.journal.push(Effect::Follow { path });
                }
                for at in answered {
                    if self.wire.answered(at.connection, at.stream).is_some() {
                        // It is a member, or it would not follow.
                        let _ = self.answer_followed(at, false, bytes);
                    }
                }
            }
            Ok(Read::Free) => {
                for at in following.take_asked() {
                    let path = path.to_string();
                    let again = Request::FollowSegment(FollowSegment { path: path.clone() });
                    self.seek(path, at, Incoming::of(at.stream, again));
                }
            }
            Ok(Read::Absent) => {
                let text = format!("segment {path} was to be followed; the store does not have it");
                self.follow_no_more(path, &Rejection::new(ErrorCode::NoSegment, text));
            }
            Err(error) => self.follow_no_more(path, &storing::rejection(&error)),
        }
        self.forget_closed();
    }

    fn follow_no_more(&mut self, path: &str, rejection: &Rejection) {
        for at in self.unfollow(path) {
            if self.wire.answered(at.connection, at.stream).is_some() {
                self.wire.counters.errors += 1;
                self.wire.refuse(at.connection, at.stream, rejection);
            }
        }
    }

    /// Lets go of what was read of a segment. Returns the requests that wait for it.
    fn unfollow(&mut self, path: &str) -> Vec<At> {
        let path = path.to_string();
        let space = self.space.as_mut();
        let following = space.and_then(|space| space.following.remove(&path));
        self.journal.push(Effect::Unfollow { path });
        following.map_or(Vec::new(), |mut following| following.take_asked())
    }

    /// This server has made or claimed the segment. A claim now would make a second state of it.
    pub(super) fn follow_here(&mut self, path: &str) {
        let space = self.space.as_ref();
        if space.is_none_or(|space| !space.following.contains_key(path)) {
            return;
        }
        for at in self.unfollow(path) {
            if self.wire.answered(at.connection, at.stream).is_none() {
                continue;
            }
            let path = path.to_string();
            if let Err(rejection) = self.follow_segment(at, &FollowSegment { path }) {
                self.wire.counters.errors += 1;
                self.wire.refuse(at.connection, at.stream, &rejection);
            }
        }
    }

    /// Reads on, or lets go, what is due.
    pub(super) fn watch_followed(&mut self, now_ns: u64) {
        let Some(space) = &mut self.space else {
            return;
        };
        let mut ended = Vec::new();
        for (path, following) in &mut space.following {
            if following.next_ns().is_none_or(|next_ns| next_ns > now_ns) {
                continue;
            }
            if following.until_ns <= now_ns {
                ended.push(path.clone());
                continue;
            }
            following.begin_reading();
            let path = path.clone();
            self.journal.push(Effect::Follow { path });
        }
        for path in ended {
            // Nobody waits any more, unless the segment is still being made.
            let text = format!("segment {path} is still being made; ask again in a moment");
            self.follow_no_more(&path, &Rejection::new(ErrorCode::Stopping, text));
        }
    }
}
