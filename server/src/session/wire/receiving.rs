//! Decides which releases' bulk is kept while it comes in [LOCK-12].
//!
//! Bulk is kept only if the session holds the release's locks, if no other release under one of
//! them is coming in, if the segments' quotas could hold it, and if there is room. Other bulk is
//! counted and dropped, and its request is refused when it is whole. A lock may be lost while bulk
//! comes in. That bulk stays until it is whole. If its room is wanted before, its connection is
//! closed. Only bytes that have come take room, so a release that announces much keeps nobody out.
//! A release has stalled if less than a chunk of it came in a lease. Where room is wanted, stalled
//! releases are given up. Then a session with more than its share of the room makes room for one
//! that stays within its share, but not in the first lease of its release. So a session that sends
//! slowly does not keep the room of others. Where the room is used up, the release that began last
//! is given up, unless another makes room for it so. So releases within their sessions' shares end,
//! and of the others the oldest ends or makes room. A session has one connection. Invariant:
//! `bytes` is the sum of what has come of all releases that are kept.

use super::super::config::ns;
use super::super::effect::Effect;
use super::super::message::{Incoming, Request};
use super::Wire;
use interweave_wire::protocol::{ReleaseWriter, MAX_CHUNK_BYTES};
use std::collections::HashMap;

/// A segment's lock, by number and fence.
pub type Lock = (u32, u64);

#[derive(Debug)]
struct UnderWay {
    connection: u64,
    /// Later releases have larger numbers. All parts of a release have the same.
    order: u64,
    begun_ns: u64,
    /// The bytes of the release that have come. If it has several parts, the first part counts all.
    came: u64,
    /// What the release announced.
    total: u64,
    /// `came` at the time `chunk_ns`, which moves on with each chunk.
    chunk_came: u64,
    chunk_ns: u64,
    /// Its bulk takes no room any more, but its connection was not told yet. Until then no other
    /// release under its locks is kept, because bytes of both could not be told apart.
    is_given_up: bool,
}

impl UnderWay {
    /// Whether to give it up frees memory. The bulk of a whole release is its request's.
    fn can_be_given_up(&self) -> bool {
        self.came > 0 && self.came < self.total
    }

    fn has_stalled(&self, before_ns: u64) -> bool {
        self.can_be_given_up() && self.chunk_ns < before_ns
    }
}

#[derive(Debug, Default)]
pub struct Receiving {
    releases: HashMap<Lock, UnderWay>,
    begun: u64,
    bytes: u64,
}

impl Receiving {
    fn begin(&mut self, connection: u64, r: &ReleaseWriter, now_ns: u64) {
        self.begun += 1;
        let parts = r.parts.iter().map(|part| part.diff_bytes);
        let total = parts.fold(0, u64::saturating_add);
        for part in &r.parts {
            let under_way = UnderWay {
                connection,
                order: self.begun,
                begun_ns: now_ns,
                came: 0,
                total,
                chunk_came: 0,
                chunk_ns: now_ns,
                is_given_up: false,
            };
            let lock = (part.segment, part.fence);
            // A segment that occurs twice is refused later.
            self.releases.entry(lock).or_insert(under_way);
        }
    }

    /// Takes note of bytes that have come. Returns the release's number. None: it was given up.
    fn add(
        &mut self,
        (connection, r): (u64, &ReleaseWriter),
        bytes: u64,
        now_ns: u64,
    ) -> Option<u64> {
        let first = r.parts.first()?;
        let under_way = self.releases.get_mut(&(first.segment, first.fence))?;
        if under_way.connection != connection {
            return None;
        }
        let order = under_way.order;
        if under_way.is_given_up {
            self.forget_release(order);
            return None;
        }
        under_way.came += bytes;
        self.bytes += bytes;
        if under_way.came - under_way.chunk_came >= u64::from(MAX_CHUNK_BYTES) {
            under_way.chunk_came = under_way.came;
            under_way.chunk_ns = now_ns;
        }
        Some(order)
    }

    /// Gives up a release that takes room: one that has stalled, else one of a session beyond its
    /// share in favour of the release that began last, else that one. Returns its number and
    /// connection.
    fn give_up_one(&mut self, most: u64, before_ns: u64) -> Option<(u64, u64)> {
        let takes_room = self.releases.values().filter(|u| u.can_be_given_up());
        let newest = takes_room.max_by_key(|u| u.order)?.connection;
        self.give_up_last(|u| u.has_stalled(before_ns))
            .or_else(|| self.give_up_excess((newest, 0), most, before_ns))
            .or_else(|| self.give_up_last(UnderWay::can_be_given_up))
    }

    /// Gives up the release that began last of some.
    fn give_up_last(&mut self, of: impl Fn(&UnderWay) -> bool) -> Option<(u64, u64)> {
        let last = self
            .releases
            .values()
            .filter(|u| of(u))
            .max_by_key(|u| u.order)?;
        let (order, connection) = (last.order, last.connection);
        for under_way in self.releases.values_mut().filter(|u| u.order == order) {
            self.bytes -= std::mem::take(&mut under_way.came);
            under_way.is_given_up = true;
        }
        Some((order, connection))
    }

    /// Gives up a release in favour of a connection that stays within its share of the room, with
    /// so many bytes more than it has announced: one that began before that time, of the connection
    /// with the most bytes.
    fn give_up_excess(
        &mut self,
        (connection, more): (u64, u64),
        most: u64,
        before_ns: u64,
    ) -> Option<(u64, u64)> {
        let mut came = HashMap::from([(connection, 0)]);
        for under_way in self.releases.values().filter(|u| u.came > 0) {
            *came.entry(under_way.connection).or_default() += under_way.came;
        }
        let share = most / came.len() as u64;
        let (&largest, &bytes) = came.iter().max_by_key(|(of, bytes)| (**bytes, **of))?;
        let is_within = self.announced(connection).saturating_add(more) <= share;
        if !is_within || bytes <= share {
            return None;
        }
        self.give_up_last(|u| {
            u.connection == largest && u.begun_ns < before_ns && u.can_be_given_up()
        })
    }

    /// The bytes of all releases of the connection that are kept.
    fn announced(&self, connection: u64) -> u64 {
        let its = |u: &&UnderWay| u.connection == connection && !u.is_given_up;
        let releases = self.releases.values().filter(its);
        let totals: HashMap<u64, u64> = releases.map(|u| (u.order, u.total)).collect();
        totals.values().copied().fold(0, u64::saturating_add)
    }

    fn forget_release(&mut self, order: u64) {
        self.forget_where(|u| u.order == order);
    }

    fn forget_where(&mut self, is_gone: impl Fn(&UnderWay) -> bool) {
        let bytes = &mut self.bytes;
        self.releases.retain(|_, under_way| {
            let keep = !is_gone(under_way);
            if !keep {
                *bytes -= under_way.came;
            }
            keep
        });
    }

    /// Forgets a release that is whole.
    fn end(&mut self, connection: u64, r: &ReleaseWriter) {
        for part in &r.parts {
            let lock = (part.segment, part.fence);
            let its = |u: &UnderWay| u.connection == connection;
            if self.releases.get(&lock).is_some_and(its) {
                self.bytes -= self.releases.remove(&lock).map_or(0, |u| u.came);
            }
        }
    }

    /// Forgets the releases of a connection that is gone.
    pub fn forget(&mut self, connection: u64) {
        self.forget_where(|u| u.connection == connection);
    }
}

/// Returns how many bytes will count. A message of one frame does not count, because its bytes have
/// come.
fn counted(bulk_bytes: u64) -> u64 {
    match bulk_bytes <= u64::from(MAX_CHUNK_BYTES) {
        true => 0,
        false => bulk_bytes,
    }
}

/// Returns the largest diff that a segment of that quota can need [LOCK-12]. A unit of one byte
/// with a run of its own takes three bytes. The diff's words about a block, without its data, take
/// less than the 64 bytes that a block counts at least. Quota 0: no bound.
pub fn largest_diff_bytes(quota_bytes: u64) -> u64 {
    const FRAMING_BYTES: u64 = 64 << 10;
    match quota_bytes {
        0 => u64::MAX,
        _ => quota_bytes.saturating_mul(4).saturating_add(FRAMING_BYTES),
    }
}

impl Wire {
    /// Keeps the release's bulk from now on.
    pub fn begin_receiving(&mut self, connection: u64, r: &ReleaseWriter) {
        self.receiving.begin(connection, r, self.now_ns);
    }

    /// Takes note of bytes that have come of a release in several frames. Returns whether its bulk
    /// is kept further.
    pub fn came(
        &mut self,
        connection: u64,
        r: &ReleaseWriter,
        bytes: u64,
        is_held: impl Fn(Lock) -> bool,
    ) -> bool {
        let release = (connection, r);
        let Some(its) = self.receiving.add(release, bytes, self.now_ns) else {
            return false;
        };
        let most = self.config.receiving_bytes;
        while self.receiving.bytes > most {
            if self.close_lost(connection, &is_held) {
                continue;
            }
            match self.receiving.give_up_one(most, self.a_lease_ago_ns()) {
                Some((given_up, _)) if given_up == its => {
                    self.receiving.forget_release(its);
                    return false;
                }
                Some((_, connection)) => self.effects.push(Effect::RefuseBulk { connection }),
                None => break,
            }
        }
        true
    }

    /// Forgets a message that is whole. Its request has the bulk now, if the bulk was kept.
    pub fn received(&mut self, connection: u64, incoming: &Incoming) {
        if let (Request::ReleaseWriter(r), false) = (&incoming.request, incoming.bulk.is_empty()) {
            self.receiving.end(connection, r);
        }
    }

    /// Whether bulk of a release under that lock is on its way in.
    pub fn is_receiving(&self, lock: Lock) -> bool {
        self.receiving.releases.contains_key(&lock)
    }

    /// Whether there is room now for a release of that many bytes. To make room, connections are
    /// closed whose bulk cannot be committed any more, and releases are given up that have stalled,
    /// or that take more than their session's share.
    pub fn has_room(
        &mut self,
        connection: u64,
        bulk_bytes: u64,
        is_held: impl Fn(Lock) -> bool,
    ) -> bool {
        let bytes = counted(bulk_bytes);
        while bytes > 0 && self.receiving.bytes + bytes > self.config.receiving_bytes {
            let has_made_room = self.close_lost(connection, &is_held)
                || self.give_up_stalled()
                || self.give_up_excess(connection, bytes);
            if !has_made_room {
                return false;
            }
        }
        true
    }

    /// False: no release has stalled.
    fn give_up_stalled(&mut self) -> bool {
        let before_ns = self.a_lease_ago_ns();
        let stalled = self.receiving.give_up_last(|u| u.has_stalled(before_ns));
        self.refuse_bulk(stalled)
    }

    /// False: no session has more than its share, or this one would have.
    fn give_up_excess(&mut self, connection: u64, bytes: u64) -> bool {
        let before_ns = self.a_lease_ago_ns();
        let most = self.config.receiving_bytes;
        let wanted = (connection, bytes);
        let excess = self.receiving.give_up_excess(wanted, most, before_ns);
        self.refuse_bulk(excess)
    }

    fn refuse_bulk(&mut self, given_up: Option<(u64, u64)>) -> bool {
        if let Some((_, connection)) = given_up {
            self.effects.push(Effect::RefuseBulk { connection });
        }
        given_up.is_some()
    }

    fn a_lease_ago_ns(&self) -> u64 {
        self.now_ns.saturating_sub(ns(self.config.lease_ms))
    }

    /// Closes another connection with bulk of a release that has lost a lock. False: none has.
    fn close_lost(&mut self, but: u64, is_held: &impl Fn(Lock) -> bool) -> bool {
        let is_lost =
            |(lock, u): &(&Lock, &UnderWay)| !is_held(**lock) && u.came > 0 && u.connection != but;
        let lost = self.receiving.releases.iter().filter(is_lost);
        let lost = lost.map(|(_, u)| u.connection).min();
        lost.inspect(|lost| self.close(*lost)).is_some()
    }
}
