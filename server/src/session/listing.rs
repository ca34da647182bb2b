//! Listing segments by their paths, and describing blocks of one that is open.
//!
//! A list that finds little, because its client may read little, looks at some segments at a time,
//! and other events come between. So nobody waits long for it, however many segments there are.

use super::engine::Engine;
use super::message::ServerMessage;
use super::segment::SegmentState;
use super::sweeping::PAUSE_NS;
use super::wire::At;
use interweave_access::{Identity, Operation};
use interweave_wire::protocol::*;
use interweave_wire::Rejection;
use std::collections::VecDeque;
use std::ops::Bound;

/// So many segments are looked at without a pause: a millisecond of the engine's thread at most
/// (bench/rights.rs).
const SLICE: usize = 1024;

/// The lists that are not complete yet. They are continued in turn.
#[derive(Debug, Default)]
pub(super) struct Listing {
    waiting: VecDeque<Search>,
    next_ns: u64,
}

impl Listing {
    /// Returns when a list continues. None: all are complete.
    pub fn next_ns(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(self.next_ns)
    }
}

/// A list that is being made.
#[derive(Debug)]
struct Search {
    at: At,
    prefix: String,
    /// From there on the segments were not looked at.
    from: Bound<String>,
    found: Vec<u32>,
}

impl Engine {
    pub(super) fn list_segments(&mut self, at: At, r: &ListSegments) -> Result<(), Rejection> {
        let mut search = Search {
            at,
            prefix: r.prefix.clone(),
            from: match r.after < r.prefix {
                true => Bound::Included(r.prefix.clone()),
                false => Bound::Excluded(r.after.clone()),
            },
            found: Vec::new(),
        };
        if let Some(more) = self.look_further(&mut search) {
            self.answer_list(&search, more);
            return Ok(());
        }
        self.wire.await_list(at)?;
        if self.listing.waiting.is_empty() {
            self.listing.next_ns = self.wire.now_ns() + PAUSE_NS;
        }
        self.listing.waiting.push_back(search);
        Ok(())
    }

    /// Continues one of the lists.
    pub(super) fn list_slice(&mut self) {
        if let Some(mut search) = self.listing.waiting.pop_front() {
            let At {
                connection, stream, ..
            } = search.at;
            let is_wanted = self.wire.awaited(connection, stream).is_some();
            let more = is_wanted.then(|| self.look_further(&mut search));
            match more {
                None => {}
                Some(None) => self.listing.waiting.push_back(search),
                Some(Some(more)) => {
                    self.drop_gone(&mut search);
                    // A client takes an empty list for the last one.
                    if more && search.found.is_empty() {
                        self.listing.waiting.push_back(search);
                    } else {
                        self.wire.answered(connection, stream);
                        self.answer_list(&search, more);
                    }
                }
            }
        }
        self.listing.next_ns = self.wire.now_ns() + PAUSE_NS;
        self.forget_closed();
    }

    /// Looks at the next segments. Returns, if the list is complete, whether there are more behind
    /// it.
    fn look_further(&self, search: &mut Search) -> Option<bool> {
        let identity = self.wire.session(search.at.session);
        let identity = identity.map(|session| &session.login.identity)?;
        let from = search.from.as_ref().map(String::as_str);
        let mut last = None;
        let mut next = self.segments.starting_at(from);
        for segment in next.by_ref().take(SLICE) {
            if !segment.path.starts_with(&search.prefix) {
                return Some(false);
            }
            if self.may_see(identity, &segment.path) {
                if search.found.len() == MAX_LISTED as usize {
                    search.from = Bound::Included(segment.path.to_string());
                    return Some(true);
                }
                search.found.push(segment.number);
            }
            last = Some(segment);
        }
        let is_over = next.next().is_none();
        let Some(last) = last.filter(|_| !is_over) else {
            return Some(false);
        };
        search.from = Bound::Excluded(last.path.to_string());
        None
    }

    fn may_see(&self, identity: &Identity, path: &str) -> bool {
        let access = &self.permits.access;
        access.is_open() || access.decide(identity, Operation::Read, path).is_allowed
    }

    /// Leaves out what was removed while the list was made, or may not be read any more.
    fn drop_gone(&self, search: &mut Search) {
        let session = self.wire.session(search.at.session);
        let identity = session.map(|session| &session.login.identity);
        search.found.retain(|number| {
            let segment = self.segments.get(*number);
            let both = identity.zip(segment);
            both.is_some_and(|(identity, segment)| self.may_see(identity, &segment.path))
        });
    }

    fn answer_list(&mut self, search: &Search, more: bool) {
        let found = search.found.iter();
        let found = found.filter_map(|number| self.segments.get(*number));
        let segments = found.map(SegmentState::info).collect();
        // Paths are bounded, but 128 of the longest do not fit in one control part.
        let list = fitted(SegmentList { segments, more });
        self.wire.send(
            search.at.connection,
            ServerMessage::new(MessageType::SegmentList, search.at.stream, &list),
        );
    }

    pub(super) fn describe_blocks(&mut self, at: At, r: &DescribeBlocks) -> Result<(), Rejection> {
        let (segment, _) = self.open_segment_of(at.connection, r.segment)?;
        let most = MAX_DESCRIBED as usize;
        let described = segment
            .master
            .describe(&r.serials, &r.names, r.after_serial, most);
        let body = BlocksDescribed {
            newest: segment.stamp().into(),
            more: described.more,
        };
        let type_ = MessageType::BlocksDescribed;
        let mut reply =
            ServerMessage::with_bulk(r.segment, type_, at.stream, &body, described.diff.into());
        // The list may be large, but only this connection pays for it.
        reply.lent = false;
        self.wire.send(at.connection, reply);
        Ok(())
    }
}

impl SegmentState {
    fn info(&self) -> SegmentInfo {
        SegmentInfo {
            path: self.path.to_string(),
            newest: self.stamp().into(),
            durable: self.durable,
            block_count: self.master.block_count(),
            wire_bytes: self.master.wire_bytes(),
            quota_bytes: self.quota_bytes,
            clients: self.users.clients.len() as u32,
            subscribers: self.users.subscribers.len() as u32,
            writer_locked: self.lock.is_write_locked(),
            writers_waiting: self.lock.waiting_writers() as u32,
        }
    }
}

/// Takes as much of the list as one control part holds.
fn fitted(mut list: SegmentList) -> SegmentList {
    const FIXED_BYTES: usize = 80;
    let mut room = MAX_CONTROL_BYTES as usize - 64;
    let fits = list.segments.iter().position(|s| {
        let bytes = FIXED_BYTES + s.path.len();
        let full = bytes > room;
        room = room.saturating_sub(bytes);
        full
    });
    if let Some(fits) = fits {
        list.segments.truncate(fits);
        list.more = true;
    }
    list
}
