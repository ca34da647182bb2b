//! Listing segments by their paths, and describing blocks of one that is open.
//!
//! A list that does not come to its end at once, because its client may read little, looks at some
//! segments at a time, and other events come between. So nobody waits long for it, however many
//! segments there are. Identities are served in turn, in each identity its connections, and of each
//! connection its lists, so that nobody waits for the lists of others [LIM-7].

use super::engine::Engine;
use super::message::ServerMessage;
use super::rotation::Rotation;
use super::segment::SegmentState;
use super::sight::Sight;
use super::sweeping::PAUSE_NS;
use super::wire::At;
use interweave_wire::protocol::*;
use interweave_wire::Rejection;
use std::collections::VecDeque;
use std::ops::Bound;

/// So many segments are looked at without a pause: a millisecond of the engine's thread at most
/// (bench/rights.rs).
const SLICE: usize = 1024;
/// After so many segments of a folder that may not be seen, the rest of the folder is passed over.
const FEW: usize = 8;
/// To pass over a folder takes as long as to look at so many segments.
const PASSING: usize = 4;

/// The lists that are not complete yet, by account and connection. A connection that is gone has
/// none, and [`super::wire::Wire::await_list`] bounds those of a connection.
#[derive(Debug, Default)]
pub(super) struct Listing {
    waiting: Rotation<u32, Rotation<u64, VecDeque<Search>>>,
    next_ns: u64,
}

impl Listing {
    /// Returns when a list continues. None: all are complete.
    pub fn next_ns(&self) -> Option<u64> {
        (!self.waiting.is_empty()).then_some(self.next_ns)
    }

    /// Takes out the list whose turn it is.
    fn take_next(&mut self) -> Option<(u32, Search)> {
        let (account, connections) = self.waiting.next()?;
        let (connection, searches) = connections.next()?;
        let search = searches.pop_front();
        if searches.is_empty() {
            self.forget(account, connection);
        }
        search.map(|search| (account, search))
    }

    fn put_back(&mut self, account: u32, search: Search) {
        let connections = self.waiting.entry(account);
        let searches = connections.entry(search.at.connection);
        searches.push_back(search);
    }

    /// The connection is gone.
    pub fn forget(&mut self, account: u32, connection: u64) {
        if let Some(connections) = self.waiting.get_mut(account) {
            connections.remove(connection);
            if connections.is_empty() {
                self.waiting.remove(account);
            }
        }
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
        let account = self.account_of(at.connection).unwrap_or_default();
        // An identity that waits for its turn gets none by asking again.
        if self.listing.waiting.get_mut(account).is_none() {
            if let Some(more) = self.look_further(&mut search) {
                self.answer_list(&search, more);
                return Ok(());
            }
        }
        self.wire.await_list(at)?;
        if self.listing.waiting.is_empty() {
            self.listing.next_ns = self.wire.now_ns() + PAUSE_NS;
        }
        self.listing.put_back(account, search);
        Ok(())
    }

    /// Continues one of the lists.
    pub(super) fn list_slice(&mut self) {
        if let Some((account, mut search)) = self.listing.take_next() {
            let At {
                connection, stream, ..
            } = search.at;
            let is_wanted = self.wire.awaited(connection, stream).is_some();
            let more = is_wanted.then(|| self.look_further(&mut search));
            match more {
                None => {}
                Some(None) => self.listing.put_back(account, search),
                Some(Some(more)) => {
                    self.drop_gone(&mut search);
                    // A client takes an empty list for the last one.
                    if more && search.found.is_empty() {
                        self.listing.put_back(account, search);
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
        let session = self.wire.session(search.at.session)?;
        let mut sight = Sight::new(&self.permits.access, &session.login.identity);
        let from = search.from.as_ref().map(String::as_str);
        let mut next = self.segments.paths_from(from);
        let (mut looks, mut unseen) = (0, 0);
        loop {
            let Some((path, number)) = next.next() else {
                return Some(false);
            };
            if !path.starts_with(&search.prefix) {
                return Some(false);
            }
            if looks >= SLICE {
                search.from = Bound::Included(path.to_string());
                return None;
            }
            looks += 1;
            if sight.sees(path) {
                if search.found.len() == MAX_LISTED as usize {
                    search.from = Bound::Included(path.to_string());
                    return Some(true);
                }
                search.found.push(number);
                unseen = 0;
                continue;
            }
            unseen += 1;
            if unseen < FEW {
                continue;
            }
            unseen = 0;
            if let Some(folder) = sight.folder() {
                match behind(folder) {
                    Some(behind) => next = self.segments.paths_from(Bound::Included(&behind)),
                    None => return Some(false),
                }
                looks += PASSING;
            }
        }
    }

    /// Leaves out what was removed while the list was made, or may not be read any more.
    fn drop_gone(&self, search: &mut Search) {
        let Some(session) = self.wire.session(search.at.session) else {
            return search.found.clear();
        };
        let mut sight = Sight::new(&self.permits.access, &session.login.identity);
        search.found.retain(|number| {
            let segment = self.segments.get(*number);
            segment.is_some_and(|segment| sight.sees(&segment.path))
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

/// Returns a text behind all paths that begin with the folder, and before all others that are
/// behind it. None: all paths begin so.
fn behind(folder: &str) -> Option<String> {
    let name = folder.strip_suffix('/')?;
    let after_slash = char::from(b'/' + 1);
    Some(format!("{name}{after_slash}"))
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
