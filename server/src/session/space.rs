//! A server that shares its store with others: its standing among them, and segments that another
//! server has claimed. Implements the server's part of spec/space.md, together with seeking.rs,
//! following.rs and moving.rs.

use super::config::{ns, Config};
use super::effect::Effect;
use super::engine::Engine;
use super::following::Following;
use super::message::{Incoming, Request, ServerMessage};
use super::recovery::Rebuilt;
use super::seeking::Seeking;
use super::segment::Life;
use super::wire::{At, Unanswered};
use interweave_store::{Elsewhere, Sought, StoreError};
use interweave_wire::fields::field;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{ErrorCode, FieldKey, MessageType, OpenSegment, RedirectField};
use interweave_wire::Rejection;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// So many renewals are asked for in a lease.
const RENEWALS: u64 = 4;
/// After a renewal that failed, the next one follows in so many parts of a lease.
const AGAIN: u64 = 16;

/// The engine's part of what several servers agree on.
#[derive(Debug)]
pub struct Space {
    pub lease_ns: u64,
    /// A renewal gives standing for so long.
    standing_ns: u64,
    /// The server has standing until then [SPACE-2].
    until_ns: u64,
    /// When the next renewal is asked for. None: one is on its way.
    renews_ns: Option<u64>,
    /// The answer to HELLO says it while the server has no standing.
    hindrance: Hindrance,
    /// The paths of segments that the store is asked for.
    pub seeking: BTreeMap<String, Seeking>,
    /// Those of earlier starts of this server, and when the store is asked for each again. In the
    /// order of these times, because all pauses are of one length.
    pub sought_later: VecDeque<(u64, String)>,
    /// The segments of other servers that are followed, by their paths.
    pub following: BTreeMap<String, Following>,
    /// The segments that are being handed over.
    pub handing: BTreeSet<u32>,
    /// Nothing is claimed or created any more [SPACE-24].
    pub is_drained: bool,
    /// The last renewal that was asked for says so.
    says_drained: bool,
    /// The store has taken such a renewal.
    is_drain_known: bool,
    /// The requests to drain that wait until the store knows it, and nothing is on its way that
    /// would still bring a segment here.
    draining: Vec<At>,
}

/// The reason for which a server does not renew its lease, as the store says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hindrance {
    /// The database has no synchronous standby.
    Alone,
    /// The database has no space.
    Full,
    /// The database does not answer, or a check of its settings fails.
    Away,
    Unknown,
}

impl Hindrance {
    pub fn text(self) -> &'static str {
        match self {
            Hindrance::Alone => "the database has no synchronous standby (STORE_ALONE)",
            Hindrance::Away => {
                "the database cannot be reached, or a setting of it is wrong (STORE_AWAY)"
            }
            Hindrance::Full => "the database has no space (STORE_FULL)",
            Hindrance::Unknown => "the store has not taken the renewal in time",
        }
    }

    /// The answer to HELLO without standing [SPACE-2].
    pub(super) fn rejection(self) -> Rejection {
        let text = format!(
            "{}, so this server's lease is not renewed and it serves nobody; connect to another \
             server of its space, or again in a moment",
            self.text()
        );
        Rejection::new(ErrorCode::Stopping, text)
    }
}

impl Space {
    /// Of a server that has joined a space. It has no standing yet.
    pub fn begin(config: &Config) -> Option<Space> {
        let lease_ns = ns(config.space_lease_ms?);
        Some(Space {
            lease_ns,
            standing_ns: lease_ns / 10 * 9 - 2 * ns(config.heartbeat_ms),
            until_ns: 0,
            renews_ns: Some(0),
            hindrance: Hindrance::Unknown,
            seeking: BTreeMap::new(),
            sought_later: VecDeque::new(),
            following: BTreeMap::new(),
            handing: BTreeSet::new(),
            is_drained: false,
            says_drained: false,
            is_drain_known: false,
            draining: Vec::new(),
        })
    }

    /// When there is something to do: a renewal, the end of the standing, a segment that is looked
    /// for again or followed.
    pub fn next_ns(&self) -> Option<u64> {
        let ends_ns = (self.until_ns > 0).then_some(self.until_ns);
        let followed_ns = self.following.values().filter_map(Following::next_ns).min();
        let sought_ns = self.sought_later.front().map(|(again_ns, _)| *again_ns);
        let next = [self.renews_ns, ends_ns, followed_ns, sought_ns];
        next.into_iter().flatten().min()
    }

    pub fn has_standing(&self) -> bool {
        self.until_ns > 0
    }

    /// Whether nothing is looked for, and nothing handed over.
    pub fn is_idle(&self) -> bool {
        self.seeking.is_empty() && self.handing.is_empty()
    }
}

/// A segment that the store has looked for, ready to be served.
pub enum Found {
    Here(Box<Rebuilt>),
    Elsewhere(Elsewhere),
    Earlier,
    Absent,
}

impl Found {
    /// Rebuilds a segment that was claimed. That takes long for a large one, so it is done before
    /// the engine is told. `copy`: what was read of the segment before.
    pub fn of(sought: Sought, copy: impl FnOnce() -> Option<Rebuilt>) -> Result<Found, StoreError> {
        Ok(match sought {
            Sought::Here(found) => Found::Here(Box::new(Rebuilt::of(*found))),
            Sought::Followed(since) => match copy().and_then(|copy| copy.with(*since)) {
                Some(rebuilt) => Found::Here(Box::new(rebuilt)),
                None => {
                    let text = "the segment was followed, and the copy is gone; ask again";
                    return Err(StoreError::Io(text.to_string()));
                }
            },
            Sought::Elsewhere(elsewhere) => Found::Elsewhere(elsewhere),
            Sought::Earlier => Found::Earlier,
            Sought::Absent => Found::Absent,
        })
    }
}

impl Engine {
    /// Whether the server may be asked for segments [SPACE-2].
    pub fn has_standing(&self) -> bool {
        self.space.as_ref().is_none_or(Space::has_standing)
    }

    /// Returns the reason for which this server has no standing. None: the server has standing.
    pub(super) fn hindrance(&self) -> Option<Hindrance> {
        let space = self.space.as_ref().filter(|space| !space.has_standing());
        space.map(|space| space.hindrance)
    }

    /// Notes the reason that the store gives for renewals without an answer.
    pub fn hindered_by(&mut self, hindrance: Hindrance) {
        if let Some(space) = &mut self.space {
            space.hindrance = hindrance;
        }
    }

    /// Asks for a renewal that is due, and ends a standing that was not renewed.
    pub(super) fn watch_space(&mut self, now_ns: u64) {
        let Some(space) = &mut self.space else {
            return;
        };
        if space.renews_ns.is_some_and(|at_ns| at_ns <= now_ns) {
            space.renews_ns = None;
            space.says_drained = space.is_drained;
            self.journal.push(Effect::Renew {
                is_drained: space.is_drained,
            });
        }
        if space.has_standing() && space.until_ns <= now_ns {
            if planted::is_in(Defect::StandingKept) {
                space.until_ns = u64::MAX;
                return;
            }
            space.until_ns = 0;
            self.wire.close_all();
            self.forget_closed();
        }
        self.seek_again(now_ns);
        self.watch_followed(now_ns);
    }

    /// Takes the store's answer to a renewal that was asked for at that time.
    pub fn renewed(&mut self, now_ns: u64, asked_ns: u64, result: Result<(), StoreError>) {
        // The standing may have ended before the answer came.
        self.advance(now_ns);
        let Some(space) = &mut self.space else {
            return;
        };
        match result {
            Ok(()) => {
                let until_ns = asked_ns + space.standing_ns;
                if until_ns > now_ns {
                    space.until_ns = until_ns;
                }
                space.renews_ns = Some(asked_ns + space.lease_ns / RENEWALS);
                space.is_drain_known |= space.says_drained;
                if !space.draining.is_empty() && !space.is_drain_known {
                    // The next renewal says it.
                    space.renews_ns = Some(now_ns);
                }
                self.tell_drained();
            }
            Err(error) => {
                space.renews_ns = Some(now_ns + space.lease_ns / AGAIN);
                self.journal.store_stopped(error);
            }
        }
        self.advance(now_ns);
    }

    /// DRAIN: this server claims and creates nothing from now on. The answer waits until the other
    /// servers can know it, and until the claims and creations that began before have ended.
    pub(super) fn drain(&mut self, at: At) -> Result<(), Rejection> {
        self.member()?;
        self.wire.await_answer(at, Unanswered::Store)?;
        let now_ns = self.wire.now_ns();
        if let Some(space) = &mut self.space {
            space.is_drained = true;
            space.draining.push(at);
            space.renews_ns = space.renews_ns.map(|_| now_ns);
        }
        self.watch_space(now_ns);
        Ok(())
    }

    /// Answers requests to drain, if the store knows of them and no segment comes here any more.
    pub(super) fn tell_drained(&mut self) {
        let Some(space) = self.space.as_mut().filter(|s| !s.draining.is_empty()) else {
            return;
        };
        let may_claim = space.seeking.values().any(Seeking::may_claim);
        if !space.is_drain_known || may_claim || self.journal.creates() {
            return;
        }
        for at in std::mem::take(&mut space.draining) {
            if self.wire.answered(at.connection, at.stream).is_some() {
                let done = ServerMessage::new(MessageType::Done, at.stream, &());
                self.wire.send(at.connection, done);
            }
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        self.space.as_ref().is_some_and(|space| space.is_drained)
    }

    /// Refuses to claim or to create a segment, if the server was drained.
    pub(super) fn check_claims(&self) -> Result<(), Rejection> {
        match self.is_drained() {
            false => Ok(()),
            true => {
                let text = "this server was drained, and no other server of its space takes \
                            segments now; ask again when one does";
                Err(Rejection::new(ErrorCode::Stopping, text))
            }
        }
    }

    /// Another server has claimed these segments: clients that have them open ask anew [SPACE-15].
    /// `asked_about`: the numbers of the segments that the store was asked about. A segment with
    /// another number has been claimed by this server since.
    pub(super) fn lose_segments(&mut self, ids: &[u64], asked_about: &[u32]) {
        let number = |id: &u64| self.segments.with_id(*id).map(|s| s.number);
        let numbers = ids.iter().filter_map(number);
        let numbers: Vec<u32> = numbers.filter(|n| asked_about.contains(n)).collect();
        for number in numbers {
            // The answer to its hand-over tells what becomes of it.
            let segment = self.segments.get(number);
            if segment.is_none_or(|s| s.life == Life::Giving) {
                continue;
            }
            // No request waits for its end: these wait while the store is asked.
            self.end_handing(number, &lost());
            let Some(segment) = self.take_out(number) else {
                continue;
            };
            if let Life::ToRemove(removal) = &segment.life {
                let At {
                    connection, stream, ..
                } = removal.at;
                self.wire.refuse_awaiting(connection, stream, &lost());
            }
            let creators = segment.users.creators.iter().map(|creator| creator.0);
            for connection in creators.chain(segment.users.clients.iter().copied()) {
                self.wire.close(connection);
            }
        }
    }

    /// A segment was to be created, and another server has made one of its path meanwhile: those
    /// that wait for it are sent there.
    pub(super) fn path_taken(&mut self, number: u32) {
        let Some(segment) = self.take_out(number) else {
            return;
        };
        debug_assert!(segment.life == Life::Creating);
        let path = segment.path.to_string();
        for &(connection, stream, read_only) in &segment.users.creators {
            let Some(session) = self.wire.connection(connection).and_then(|c| c.session) else {
                continue;
            };
            let open = OpenSegment {
                path: path.clone(),
                create: true,
                read_only,
                durable: segment.durable,
                quota_bytes: segment.quota_bytes,
                fields: Vec::new(),
            };
            let at = At {
                connection,
                session,
                stream,
            };
            self.seek(
                path.clone(),
                at,
                Incoming::of(stream, Request::OpenSegment(open)),
            );
        }
    }
}

/// Makes the answer to a hand-over or removal of a segment that another server has claimed.
fn lost() -> Rejection {
    let text = "another server has claimed the segment meanwhile; ask again";
    Rejection::new(ErrorCode::Stopping, text)
}

/// Makes the answer to a client that is sent on [SPACE-9].
/// `relay`: this server passes clients on there [SPACE-48].
pub(super) fn elsewhere_rejection(path: &str, elsewhere: &Elsewhere, relay: bool) -> Rejection {
    let Elsewhere { address, tls_name } = elsewhere.clone();
    let name = match tls_name.is_empty() {
        true => String::new(),
        false => format!(" (its TLS name is {tls_name})"),
    };
    let text = format!("another server of this space has segment {path}: {address}{name}");
    let redirect = RedirectField {
        address,
        tls_name,
        relay,
    };
    Rejection {
        field: Some(Box::new(field(FieldKey::Redirect, &redirect))),
        ..Rejection::new(ErrorCode::Redirected, text)
    }
}
