//! Listing segments by their paths, and describing blocks of one that is open.
//!
//! A list that does not come to its end at once, because its client may read little, looks at some
//! segments at a time, and other events come between. So nobody waits long for it, however many
//! segments there are. Identities are served in turn, in each identity its connections, and of each
//! connection its lists, so that nobody waits for the lists of others [LIM-7].
//!
//! A server that shares its store makes lists in cataloguing.rs, and answers them here.

use super::engine::Engine;
use super::message::ServerMessage;
use super::rotation::Rotation;
use super::segment::SegmentState;
use super::sight::Sight;
use super::sweeping::PAUSE_NS;
use super::wire::At;
use interweave_store::{Holder, Listed};
use interweave_wire::protocol::*;
use interweave_wire::Rejection;
use std::collections::VecDeque;
use std::ops::Bound;

/// So many segments are looked at without a pause: a millisecond of the engine's thread at most
/// (bench/rights.rs).
pub(super) const SLICE: usize = 1024;
/// After so many segments of a folder that may not be seen, the rest of the folder is passed over.
pub(super) const FEW: usize = 8;
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
pub(super) struct Search {
    pub at: At,
    pub prefix: String,
    /// From there on the segments were not looked at.
    pub from: Bound<String>,
    pub found: Vec<Found>,
    /// It is answered with PLACE_LIST.
    pub has_places: bool,
}

/// A segment of a list: one of this server by its number, or one of which the store knows.
#[derive(Debug)]
pub(super) enum Found {
    Here(u32),
    There(Listed),
}

impl Engine {
    pub(super) fn list_segments(&mut self, at: At, r: &ListSegments) -> Result<(), Rejection> {
        self.list(at, (&r.prefix, &r.after), false)
    }

    pub(super) fn list_places(&mut self, at: At, r: &ListPlaces) -> Result<(), Rejection> {
        self.list(at, (&r.prefix, &r.after), true)
    }

    fn list(
        &mut self,
        at: At,
        (prefix, after): (&str, &str),
        has_places: bool,
    ) -> Result<(), Rejection> {
        let mut search = Search {
            at,
            prefix: prefix.to_string(),
            from: match after < prefix {
                true => Bound::Included(prefix.to_string()),
                false => Bound::Excluded(after.to_string()),
            },
            found: Vec::new(),
            has_places,
        };
        if self.space.is_some() {
            self.wire.await_list(at)?;
            self.begin_from_catalogue(search);
            return Ok(());
        }
        let account = self.account_of(at.connection).unwrap_or_default();
        // An identity that waits for its turn gets none by asking again.
        if self.listing.waiting.get_mut(account).is_none() {
            if let Some(more) = self.look_further(&mut search) {
                self.answer_list(search, more);
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
                        self.answer_list(search, more);
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
                search.found.push(Found::Here(number));
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
    pub(super) fn drop_gone(&self, search: &mut Search) {
        let Some(session) = self.wire.session(search.at.session) else {
            return search.found.clear();
        };
        let identity = &session.login.identity;
        let mut of_own = Sight::new(&self.permits.access, identity);
        search.found.retain(|found| match found {
            Found::Here(number) => {
                let segment = self.segments.get(*number);
                segment.is_some_and(|segment| of_own.sees(&segment.path))
            }
            Found::There(listed) => Sight::new(&self.permits.access, identity).sees(&listed.path),
        });
    }

    pub(super) fn answer_list(&mut self, search: Search, more: bool) {
        let Search {
            at,
            found,
            has_places,
            ..
        } = search;
        let places = found.into_iter().filter_map(|found| match found {
            Found::Here(number) => self.segments.get(number).map(SegmentState::place),
            Found::There(listed) => Some(place_of(listed)),
        });
        // Paths are bounded, but 128 of the longest do not fit in one control part.
        let list = fitted(PlaceList {
            places: places.collect(),
            more,
        });
        let reply = match has_places {
            true => ServerMessage::new(MessageType::PlaceList, at.stream, &list),
            false => {
                let segments = list.places.into_iter().map(|place| place.segment);
                let list = SegmentList {
                    segments: segments.collect(),
                    more: list.more,
                };
                ServerMessage::new(MessageType::SegmentList, at.stream, &list)
            }
        };
        self.wire.send(at.connection, reply);
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
    fn place(&self) -> ListedPlace {
        ListedPlace {
            segment: self.info(),
            place: SegmentPlace::Here,
            address: String::new(),
            tls_name: String::new(),
        }
    }

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

/// A segment that this server has not read: another one owns it, or nobody, or it was given to this
/// one and not asked for since [SPACE-21] [SPACE-35].
fn place_of(listed: Listed) -> ListedPlace {
    let segment = SegmentInfo {
        path: listed.path,
        newest: VersionStamp {
            incarnation: listed.incarnation,
            number: listed.version,
            chain: 0,
        },
        durable: Durability::Synced,
        block_count: 0,
        wire_bytes: 0,
        quota_bytes: 0,
        clients: NOT_KNOWN,
        subscribers: 0,
        writer_locked: false,
        writers_waiting: 0,
    };
    let (place, address, tls_name) = match listed.holder {
        Holder::Other(at) => (SegmentPlace::Elsewhere, at.address, at.tls_name),
        Holder::Asked => (SegmentPlace::Here, String::new(), String::new()),
        Holder::Nobody => (SegmentPlace::Unclaimed, String::new(), String::new()),
    };
    ListedPlace {
        segment,
        place,
        address,
        tls_name,
    }
}

/// Returns a text behind all paths that begin with the folder, and before all others that are
/// behind it. None: all paths begin so.
pub(super) fn behind(folder: &str) -> Option<String> {
    let name = folder.strip_suffix('/')?;
    let after_slash = char::from(b'/' + 1);
    Some(format!("{name}{after_slash}"))
}

/// Takes as much of the list as one control part holds.
fn fitted(mut list: PlaceList) -> PlaceList {
    const FIXED_BYTES: usize = 100;
    let mut room = MAX_CONTROL_BYTES as usize - 64;
    let fits = list.places.iter().position(|place| {
        let texts = place.segment.path.len() + place.address.len() + place.tls_name.len();
        let full = FIXED_BYTES + texts > room;
        room = room.saturating_sub(FIXED_BYTES + texts);
        full
    });
    if let Some(fits) = fits {
        list.places.truncate(fits);
        list.more = true;
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_store::Elsewhere;
    use interweave_wire::protocol::xdr::to_bytes;

    /// Places with texts of these lengths: the path, the address and the TLS name.
    fn places(count: usize, lengths: [usize; 3]) -> PlaceList {
        let [path, address, tls_name] = lengths.map(|length| "x".repeat(length));
        let place = place_of(Listed {
            path,
            incarnation: 1,
            version: 1,
            holder: Holder::Other(Elsewhere { address, tls_name }),
        });
        PlaceList {
            places: vec![place; count],
            more: false,
        }
    }

    #[test]
    fn frame_1_a_list_of_long_texts_ends_where_a_control_part_is_full() {
        for lengths in [[1000, 0, 0], [700, 255, 0], [700, 0, 255]] {
            let list = fitted(places(128, lengths));
            assert!(list.more);
            let bytes = to_bytes(&list).len();
            let each = bytes / list.places.len();
            let most = MAX_CONTROL_BYTES as usize - 64;
            assert!(bytes <= most, "{lengths:?}: {bytes}");
            assert!(bytes + 2 * each > most, "{lengths:?}: {bytes}");
            let list = fitted(places(50, lengths));
            assert!(!list.more && list.places.len() == 50, "{lengths:?}");
        }
    }
}
