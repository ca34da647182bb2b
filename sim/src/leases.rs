//! The writer locks as the server's messages tell of them, and the checkers of their times: no lock
//! outlives its lease, no lock is taken before its end, and no grant is kept while somebody waits.
//!
//! It hears what comes in at the server's door and what goes out. All times are those of the
//! server's clock.

mod removals;

use crate::client::keeps_lock;
use crate::env::MS;
use crate::history::{violation, Checked};
use interweave_server::session::{Absence, Effect, Incoming, Request, ServerMessage};
use interweave_wire::protocol::xdr::{Reader, Xdr};
use interweave_wire::protocol::*;
use removals::{Removals, Wish};
use std::collections::BTreeMap;

/// A lease may end later by this much.
const TICK_NS: u64 = 10 * MS;

/// So many requests of a connection may wait for a writer lock.
const MOST_UNANSWERED: usize = 1024;

/// A request: its connection and stream.
type Name = (u64, u32);

#[derive(Debug)]
struct Hold {
    fence: u64,
    connection: u64,
    /// The lease ends then, at the latest and at the earliest.
    last_ns: u64,
    first_ns: u64,
    /// The hold time ends then.
    most_ns: u64,
    /// A release is on its way to the log.
    is_releasing: bool,
}

#[derive(Debug)]
struct Waiting {
    segment: u32,
    since_ns: u64,
}

#[derive(Debug)]
pub struct Leases {
    lease_ns: u64,
    hold_ns: u64,
    holds: BTreeMap<u32, Hold>,
    /// Requests for writer locks.
    waiting: BTreeMap<Name, Waiting>,
    /// The segments, and the fences of the locks that are given back.
    releases: BTreeMap<Name, Vec<(u32, u64)>>,
    /// The segments of requests for strict reader locks.
    asked_strictly: BTreeMap<Name, u32>,
    /// By segment and connection: until when a strict reader lock lasts at least.
    strict: BTreeMap<(u32, u64), u64>,
    removals: Removals,
}

fn decoded<T: Xdr>(reader: &mut Reader<'_>) -> Checked<T> {
    T::decode(reader).or_else(|error| violation("messages", error.to_string()))
}

impl Leases {
    pub fn new(lease_ns: u64, hold_ns: u64) -> Leases {
        Leases {
            lease_ns,
            hold_ns,
            holds: BTreeMap::new(),
            waiting: BTreeMap::new(),
            releases: BTreeMap::new(),
            asked_strictly: BTreeMap::new(),
            strict: BTreeMap::new(),
            removals: Removals::default(),
        }
    }

    /// A request came.
    pub fn asked(&mut self, now_ns: u64, connection: u64, incoming: &Incoming) {
        let name = (connection, incoming.stream);
        match &incoming.request {
            Request::AcquireWriter(r) => {
                // A client that asks again gives up the lock that it had on this connection.
                self.may_end(r.segment, connection);
                let waiting = Waiting {
                    segment: r.segment,
                    since_ns: now_ns,
                };
                self.waiting.insert(name, waiting);
            }
            Request::AcquireReader(r) if r.model == CoherenceModel::Strict => {
                self.asked_strictly.insert(name, r.segment);
            }
            Request::OpenSegment(r) => self.removals.asked_to_open(name, &r.path),
            Request::RemoveSegment(r) => self.removals.asked(name, &r.path, Wish::Removal),
            Request::HandOver(r) => self.removals.asked(name, &r.path, Wish::HandOver),
            Request::ReleaseReader(r) => drop(self.strict.remove(&(r.segment, connection))),
            Request::AbortWriter(r) => self.forget(r.segment, r.fence),
            // A client that closes a segment gives up its locks.
            Request::CloseSegment(r) => {
                self.strict.remove(&(r.segment, connection));
                self.may_end(r.segment, connection);
            }
            Request::ReleaseWriter(r) => {
                let parts = r.parts.iter().map(|part| (part.segment, part.fence));
                let parts: Vec<_> = parts.collect();
                for part in &parts {
                    self.begins_release(now_ns, *part);
                }
                self.releases.insert(name, parts);
            }
            _ => {}
        }
    }

    /// A release of the lock came in. It keeps the lock only if it came within the lease [LOCK-5].
    fn begins_release(&mut self, now_ns: u64, (segment, fence): (u32, u64)) {
        let Some(hold) = find(&mut self.holds, (segment, fence)) else {
            return;
        };
        if now_ns < hold.last_ns {
            hold.is_releasing = true;
        } else if now_ns < hold.last_ns + MS {
            // A renewal says the lease in whole milliseconds. So nobody knows.
            self.holds.remove(&segment);
        }
    }

    /// The connection gives up the segment's lock, if it has it. The server may let it go at once.
    fn may_end(&mut self, segment: u32, connection: u64) {
        let hold = self.holds.get_mut(&segment);
        if let Some(hold) = hold.filter(|hold| hold.connection == connection) {
            hold.first_ns = 0;
        }
    }

    fn forget(&mut self, segment: u32, fence: u64) {
        if find(&mut self.holds, (segment, fence)).is_some() {
            self.holds.remove(&segment);
        }
    }

    /// Messages go to clients. Those that give locks back are read before those that grant locks,
    /// because the answer to a refused release stands last.
    pub fn heard(&mut self, now_ns: u64, effects: &[Effect]) -> Checked<()> {
        let grants = [MessageType::WriterAcquired, MessageType::ReaderAcquired];
        let is_grant = |message: &ServerMessage| {
            let type_ = message
                .control
                .first_chunk()
                .map(|b| i32::from_be_bytes(*b));
            grants.iter().any(|grant| Some(*grant as i32) == type_)
        };
        for of_grants in [false, true] {
            for effect in effects {
                match effect {
                    Effect::Send {
                        connection,
                        message,
                    } if is_grant(message) == of_grants => {
                        self.said(now_ns, *connection, message)?;
                    }
                    Effect::Give { segment, .. } => self.removals.gives(*segment),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// The store has given the segment to another server, or has not.
    pub fn given(&mut self, now_ns: u64, segment: u32) {
        self.removals.given(segment);
        self.wait_from(now_ns, segment);
    }

    /// A message goes to a client.
    fn said(&mut self, now_ns: u64, connection: u64, message: &ServerMessage) -> Checked<()> {
        let mut reader = Reader::new(&message.control);
        let envelope: Envelope = decoded(&mut reader)?;
        let name = (connection, message.stream);
        let segment = message.segment;
        let type_ = MessageType::try_from(envelope.type_);
        if type_ == Ok(MessageType::SegmentOpened) {
            self.removals.opened(name, segment);
        }
        if let Some(kept) = self.removals.answered(name) {
            self.wait_from(now_ns, kept);
        }
        match type_ {
            Ok(MessageType::WriterAcquired) => {
                self.waiting.remove(&name);
                self.removals.granted(segment);
                let granted: WriterAcquired = decoded(&mut reader)?;
                self.check_free(now_ns, segment)?;
                let hold = Hold {
                    fence: granted.fence,
                    connection,
                    last_ns: now_ns + self.lease_ns,
                    first_ns: now_ns + self.lease_ns,
                    most_ns: now_ns + self.hold_ns,
                    is_releasing: false,
                };
                self.holds.insert(segment, hold);
                Ok(())
            }
            Ok(MessageType::WriterRenewed) => {
                let renewed: WriterRenewed = decoded(&mut reader)?;
                let lease_ns = u64::from(renewed.lease_ms) * MS;
                self.renewed(now_ns, segment, (connection, lease_ns))
            }
            Ok(MessageType::WriterLost) => {
                let lost: WriterLost = decoded(&mut reader)?;
                self.lost(now_ns, segment, lost.fence)
            }
            Ok(MessageType::ReaderAcquired) => {
                let Some(segment) = self.asked_strictly.remove(&name) else {
                    return Ok(());
                };
                self.check_writer(now_ns, segment)?;
                self.holds.remove(&segment);
                let until_ns = now_ns + self.lease_ns;
                self.strict.insert((segment, connection), until_ns);
                Ok(())
            }
            Ok(MessageType::WriterReleased) => {
                for (segment, fence) in self.releases.remove(&name).unwrap_or_default() {
                    self.forget(segment, fence);
                }
                Ok(())
            }
            Ok(MessageType::WriterKept) => self.kept(now_ns, name),
            Ok(MessageType::Error) => {
                self.waiting.remove(&name);
                self.asked_strictly.remove(&name);
                if let Some(parts) = self.releases.remove(&name) {
                    let error: ErrorReply = decoded(&mut reader)?;
                    self.release_refused(now_ns, &parts, error.code);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Those who wait for the lock could not get it before.
    fn wait_from(&mut self, now_ns: u64, segment: u32) {
        for waiting in self.waiting.values_mut() {
            if waiting.segment == segment {
                waiting.since_ns = now_ns;
            }
        }
    }

    /// The writer lock is granted. Nobody else may have it.
    fn check_free(&self, now_ns: u64, segment: u32) -> Checked<()> {
        let mut strict = self.strict.iter();
        if strict.any(|((of, _), until_ns)| *of == segment && now_ns < *until_ns) {
            let text = format!("segment {segment}: a strict reader has its lock");
            return violation("strict readers keep writers out", text);
        }
        self.check_writer(now_ns, segment)
    }

    /// No writer has the lock.
    fn check_writer(&self, now_ns: u64, segment: u32) -> Checked<()> {
        match self.holds.get(&segment) {
            Some(hold) if hold.is_releasing || now_ns < hold.first_ns => {
                let text = format!(
                    "segment {segment}: the lock was granted while fence {} held it",
                    hold.fence
                );
                violation("no lock is taken early", text)
            }
            _ => Ok(()),
        }
    }

    fn renewed(
        &mut self,
        now_ns: u64,
        segment: u32,
        (connection, lease_ns): (u64, u64),
    ) -> Checked<()> {
        let Some(hold) = self.holds.get_mut(&segment) else {
            return Ok(());
        };
        hold.connection = connection;
        hold.last_ns = now_ns + lease_ns;
        hold.first_ns = hold.last_ns;
        if hold.last_ns > hold.most_ns {
            let text = format!("segment {segment}: a lease goes beyond the hold time");
            return violation("no lock outlives its lease", text);
        }
        Ok(())
    }

    fn lost(&mut self, now_ns: u64, segment: u32, fence: u64) -> Checked<()> {
        if let Some(hold) = find(&mut self.holds, (segment, fence)) {
            // A renewal says the lease in whole milliseconds.
            if hold.is_releasing || now_ns + MS < hold.first_ns {
                let text = format!("segment {segment}: fence {fence} was taken from its holder");
                return violation("no lock is taken early", text);
            }
        }
        self.forget(segment, fence);
        Ok(())
    }

    fn kept(&mut self, now_ns: u64, name: Name) -> Checked<()> {
        for (segment, fence) in self.releases.remove(&name).unwrap_or_default() {
            if self.waiting.values().any(|w| w.segment == segment) {
                let text = format!("segment {segment}: a grant is kept, and somebody waits");
                return violation("grants are kept from nobody", text);
            }
            let (lease_ns, hold_ns) = (self.lease_ns, self.hold_ns);
            if let Some(hold) = find(&mut self.holds, (segment, fence)) {
                hold.is_releasing = false;
                hold.last_ns = now_ns + lease_ns;
                hold.first_ns = hold.last_ns;
                hold.most_ns = now_ns + hold_ns;
            }
        }
        Ok(())
    }

    fn release_refused(&mut self, now_ns: u64, parts: &[(u32, u64)], code: ErrorCode) {
        for (segment, fence) in parts {
            let lease_ns = self.lease_ns;
            let Some(hold) = find(&mut self.holds, (*segment, *fence)) else {
                continue;
            };
            match code {
                // The holder may try again. Or the lock is given back, if its session has ended.
                _ if keeps_lock(code) => {
                    hold.is_releasing = false;
                    hold.last_ns = hold.last_ns.max(now_ns + lease_ns);
                    hold.most_ns = hold.most_ns.max(hold.last_ns);
                    hold.first_ns = now_ns;
                }
                // The same release came again, and is on its way.
                ErrorCode::Cancelled => {}
                _ => self.forget(*segment, *fence),
            }
        }
    }

    /// The connection is lost, or closed. Its session lives, and may let its locks go.
    pub fn gone(&mut self, now_ns: u64, connection: u64) {
        self.going(connection);
        for segment in self.removals.gone(connection) {
            self.wait_from(now_ns, segment);
        }
        self.asked_strictly.retain(|(of, _), _| *of != connection);
    }

    /// The connection is about to be lost. The time that passes with the loss may still grant it a
    /// strict reader lock that it waits for, which ends a writer's hold.
    pub fn going(&mut self, connection: u64) {
        self.waiting.retain(|(of, _), _| *of != connection);
        self.strict.retain(|(_, of), _| *of != connection);
        let of_it = |name: &Name| name.0 == connection;
        let releases: Vec<Name> = self.releases.keys().copied().filter(of_it).collect();
        for name in releases {
            for (segment, fence) in self.releases.remove(&name).unwrap_or_default() {
                self.forget(segment, fence);
            }
        }
        for hold in self
            .holds
            .values_mut()
            .filter(|hold| hold.connection == connection)
        {
            hold.first_ns = 0;
        }
    }

    /// The server was absent, which counts against nobody.
    pub fn excuse(&mut self, absence: Absence) {
        for hold in self.holds.values_mut() {
            absence.excuse_deadline(&mut hold.last_ns);
            absence.excuse_deadline(&mut hold.first_ns);
            hold.last_ns = hold.last_ns.min(hold.most_ns);
            hold.first_ns = hold.first_ns.min(hold.most_ns);
        }
        for until_ns in self.strict.values_mut() {
            // It may end at once.
            *until_ns = absence.from_ns;
        }
    }

    /// Nobody waits for a lock whose lease is over, and nobody has too many requests that wait.
    pub fn check(&self, now_ns: u64) -> Checked<()> {
        let mut asks = (0, 0);
        for ((connection, _), waiting) in &self.waiting {
            asks = match asks.0 == *connection {
                true => (asks.0, asks.1 + 1),
                false => (*connection, 1),
            };
            if asks.1 > MOST_UNANSWERED {
                let text = format!("{} requests of a connection wait", asks.1);
                return violation("bounded memory", text);
            }
            let Some(hold) = self.holds.get(&waiting.segment) else {
                continue;
            };
            let due_ns = hold.last_ns.max(waiting.since_ns) + TICK_NS;
            let is_kept = hold.is_releasing
                || self.strict.keys().any(|(of, _)| *of == waiting.segment)
                || self.removals.keeps_back(waiting.segment);
            if now_ns > due_ns && !is_kept {
                let text = format!(
                    "segment {}: fence {} holds the lock {} ms after its lease, and somebody waits",
                    waiting.segment,
                    hold.fence,
                    (now_ns - hold.last_ns) / MS
                );
                return violation("no lock outlives its lease", text);
            }
        }
        Ok(())
    }
}

fn find(holds: &mut BTreeMap<u32, Hold>, (segment, fence): (u32, u64)) -> Option<&mut Hold> {
    holds.get_mut(&segment).filter(|hold| hold.fence == fence)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fence 7 holds segment 1 for a second.
    fn held() -> Leases {
        let until_ns = 1_000 * MS;
        let mut leases = Leases::new(until_ns, 4 * until_ns);
        let hold = Hold {
            fence: 7,
            connection: 1,
            last_ns: until_ns,
            first_ns: until_ns,
            most_ns: 4 * until_ns,
            is_releasing: false,
        };
        leases.holds.insert(1, hold);
        leases
    }

    #[test]
    fn a_release_keeps_the_lock_only_if_it_came_within_the_lease() {
        let mut leases = held();
        leases.begins_release(1_002 * MS, (1, 7));
        assert!(leases.lost(1_002 * MS, 1, 7).is_ok());
        let mut leases = held();
        leases.begins_release(999 * MS, (1, 7));
        let found = leases.lost(1_002 * MS, 1, 7).unwrap_err();
        assert_eq!(found.checker, "no lock is taken early");
    }

    #[test]
    fn nobody_is_granted_the_lock_while_the_store_removes_the_segment() {
        let mut leases = held();
        leases.removals.asked_to_open((2, 1), "/s");
        leases.removals.opened((2, 1), 1);
        let waiting = Waiting {
            segment: 1,
            since_ns: 900 * MS,
        };
        leases.waiting.insert((3, 1), waiting);
        assert!(leases.check(1_011 * MS).is_err());
        leases.removals.asked((2, 3), "/s", Wish::Removal);
        assert!(leases.check(1_500 * MS).is_ok());
        // The store refuses: the lock is free then [SPACE-28].
        let body = ErrorReply {
            code: ErrorCode::StoreFull,
            text: String::new(),
            fields: Vec::new(),
        };
        let message = ServerMessage::about(0, MessageType::Error, 3, &body);
        leases.said(1_500 * MS, 2, &message).unwrap();
        assert!(leases.check(1_510 * MS).is_ok());
        assert!(leases.check(1_511 * MS).is_err());
    }

    #[test]
    fn a_hand_over_ends_with_its_connection_unless_the_store_gives_the_segment() {
        let mut leases = held();
        leases.removals.asked_to_open((2, 1), "/s");
        leases.removals.opened((2, 1), 1);
        let waiting = Waiting {
            segment: 1,
            since_ns: 900 * MS,
        };
        leases.waiting.insert((3, 1), waiting);
        leases.removals.asked((2, 3), "/s", Wish::HandOver);
        assert!(leases.check(1_500 * MS).is_ok());
        leases.removals.gives(1);
        leases.gone(1_500 * MS, 2);
        assert!(leases.check(1_800 * MS).is_ok());
        leases.given(1_800 * MS, 1);
        assert!(leases.check(1_810 * MS).is_ok());
        assert!(leases.check(1_811 * MS).is_err());
    }

    #[test]
    fn a_strict_reader_lock_that_comes_with_the_loss_of_its_connection_ends_the_writers_hold() {
        let mut leases = held();
        leases.asked_strictly.insert((2, 3), 1);
        leases.going(2);
        let stamp = VersionStamp {
            incarnation: 1,
            number: 1,
            chain: 1,
        };
        let body = ReaderAcquired {
            now: stamp,
            updated: false,
        };
        let message = ServerMessage::about(1, MessageType::ReaderAcquired, 3, &body);
        leases.said(1_000 * MS, 2, &message).unwrap();
        leases.gone(1_000 * MS, 2);
        let waiting = Waiting {
            segment: 1,
            since_ns: 1_000 * MS,
        };
        leases.waiting.insert((4, 5), waiting);
        // The session of the strict reader lives on, and keeps the lock for a lease [LOCK-11].
        assert!(leases.check(1_500 * MS).is_ok());
        assert!(leases.asked_strictly.is_empty() && leases.strict.is_empty());
    }
}
