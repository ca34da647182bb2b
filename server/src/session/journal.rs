//! The journal: the requests to the store that wait for answers, and the steps that are left for a
//! release that the store has answered.
//!
//! Invariants:
//! - A release leaves the journal only as a [`DurableRelease`], and only a `DurableRelease` is told
//!   or committed. So nothing of a release shows before the log has it [LOCK-7].
//! - Appends leave in the order of their tickets, and each ticket is answered once.
//! - `releases` names the releases in `pending`, and nothing else. So a release that is sent or
//!   asked about again [LOCK-8] [LOCK-9] is found without a look at all that wait.

use super::doubts::Doubts;
use super::effect::Effect;
use super::in_flight::InFlight;
use super::segment::Life;
use interweave_store::{Checkpoint, Next, Record, StoreError};
use interweave_wire::protocol::{CheckpointHead, Durability, SessionHash};
use std::collections::{BTreeSet, HashMap};

/// How often the store is asked whether it wants checkpoints.
const STORE_LOOK_NS: u64 = 1_000_000_000;

/// A request to the store that is not a release.
#[derive(Debug)]
pub enum Entry {
    Creation {
        segment: u32,
    },
    Removal {
        segment: u32,
        before: Life,
        connection: u64,
        stream: u32,
    },
    Serials {
        segment: u32,
        below: u64,
    },
    Incarnations {
        segments: Vec<u32>,
    },
    Checkpoint {
        segment: u32,
        segment_id: u64,
        version: u64,
    },
}

/// A request to the store that is not answered.
#[derive(Debug)]
pub enum Pending {
    Release(InFlight),
    Entry(Entry),
}

impl Pending {
    /// The numbers of the segments that it is about.
    fn segments(&self) -> Vec<u32> {
        match self {
            Pending::Release(release) => release.parts.iter().map(|part| part.segment).collect(),
            Pending::Entry(Entry::Incarnations { segments }) => segments.clone(),
            Pending::Entry(
                Entry::Creation { segment }
                | Entry::Removal { segment, .. }
                | Entry::Serials { segment, .. }
                | Entry::Checkpoint { segment, .. },
            ) => vec![*segment],
        }
    }
}

/// A release that is as durable as its segments ask.
#[derive(Debug)]
pub struct DurableRelease(InFlight);

impl DurableRelease {
    pub fn release(&self) -> &InFlight {
        &self.0
    }

    pub fn into_release(self) -> InFlight {
        self.0
    }
}

/// An answer of the store.
#[derive(Debug)]
pub enum Answered {
    Released(DurableRelease),
    NotReleased(InFlight, StoreError),
    Entry(Entry, Result<(), StoreError>),
}

/// A step that is left for a release whose writer has been answered.
#[derive(Debug)]
pub enum Settling {
    /// The readers of each part who are told after the writer.
    Tell(DurableRelease, Vec<Vec<u64>>),
    /// The master copies.
    Commit(DurableRelease),
}

fn saved(segment: u32, head: &CheckpointHead) -> Entry {
    Entry::Checkpoint {
        segment,
        segment_id: head.segment_id,
        version: head.at.number,
    }
}

#[derive(Debug, Default)]
pub struct Journal {
    effects: Vec<Effect>,
    last_ticket: u64,
    pending: HashMap<u64, Pending>,
    releases: BTreeSet<(SessionHash, u64, u64)>,
    settling: Vec<Settling>,
    next_look_ns: Option<u64>,
    lost_store: Option<StoreError>,
    pub(super) doubts: Doubts,
    /// How many releases `find_release` has looked at.
    #[cfg(test)]
    pub looked_at: u64,
}

impl Journal {
    /// Moves the requests to the store to `out`.
    pub fn take_effects(&mut self, out: &mut Vec<Effect>) {
        out.append(&mut self.effects);
    }

    /// Asks the store for something that has no ticket.
    pub fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Asks for an append.
    pub fn append(&mut self, entry: Entry, group: Vec<Record>, durable: Durability) {
        self.append_pending(Pending::Entry(entry), group, durable);
    }

    /// Asks for the append of a release's records. A release without records is durable enough at
    /// once, because its segments live in memory or nothing changed.
    pub fn append_release(
        &mut self,
        release: InFlight,
        group: Vec<Record>,
        durable: Durability,
    ) -> Option<DurableRelease> {
        if group.is_empty() {
            return Some(DurableRelease(release));
        }
        self.append_pending(Pending::Release(release), group, durable);
        None
    }

    fn append_pending(&mut self, pending: Pending, group: Vec<Record>, durable: Durability) {
        let ticket = self.insert(pending);
        if let Some(group) = self.doubts.hold(ticket, group, durable) {
            self.effects.push(Effect::Append {
                ticket,
                group,
                durable,
            });
        }
    }

    /// Whether a record of the segment that is not of a release is on its way to the store.
    pub fn appends_to(&self, segment: u32) -> bool {
        self.pending.values().any(|pending| match pending {
            Pending::Entry(Entry::Serials { segment: of, .. }) => *of == segment,
            Pending::Entry(Entry::Incarnations { segments }) => segments.contains(&segment),
            _ => false,
        })
    }

    /// The numbers of the segments that the request with that ticket is about.
    pub fn segments_of(&self, ticket: u64) -> Vec<u32> {
        self.pending
            .get(&ticket)
            .map_or(Vec::new(), Pending::segments)
    }

    /// Whether segments are being made.
    pub fn creates(&self) -> bool {
        let creates = |pending: &Pending| matches!(pending, Pending::Entry(Entry::Creation { .. }));
        self.pending.values().any(creates)
    }

    /// Asks for a checkpoint of the segment at that version.
    pub fn save(&mut self, segment: u32, checkpoint: Checkpoint) {
        let ticket = self.insert(Pending::Entry(saved(segment, &checkpoint.head)));
        self.effects.push(Effect::Checkpoint { ticket, checkpoint });
    }

    /// Asks for a checkpoint that the store takes in pieces.
    pub fn save_in_pieces(&mut self, segment: u32, head: Box<CheckpointHead>) {
        let ticket = self.insert(Pending::Entry(saved(segment, &head)));
        self.effects
            .push(Effect::CheckpointInPieces { ticket, head });
    }

    /// The number and the id of the segment whose checkpoint has that ticket; None: it has ended.
    pub fn saving(&self, ticket: u64) -> Option<(u32, u64)> {
        match self.pending.get(&ticket)? {
            Pending::Entry(Entry::Checkpoint {
                segment,
                segment_id,
                ..
            }) => Some((*segment, *segment_id)),
            _ => None,
        }
    }

    /// Gives the store what follows in the segment's checkpoint.
    pub fn give(&mut self, segment_id: u64, next: Next) {
        self.effects.push(Effect::Next { segment_id, next });
    }

    /// Begins to look after the store.
    pub fn begin_to_look(&mut self, now_ns: u64) {
        self.next_look_ns = Some(now_ns + STORE_LOOK_NS);
    }

    /// Looks after the store at that time.
    pub fn look_again(&mut self, at_ns: u64) {
        self.next_look_ns = Some(at_ns);
    }

    /// Returns when the engine looks at the store next; None: the store keeps nothing.
    pub fn next_look_ns(&self) -> Option<u64> {
        self.next_look_ns
    }

    /// Asks what the store wants, now and again in a while.
    pub fn look_after_store(&mut self, now_ns: u64) {
        self.begin_to_look(now_ns);
        self.effects.push(Effect::LookAfterStore);
    }

    fn insert(&mut self, pending: Pending) -> u64 {
        self.last_ticket += 1;
        if let Pending::Release(release) = &pending {
            let name = (release.session_hash, release.sequence, self.last_ticket);
            self.releases.insert(name);
        }
        self.pending.insert(self.last_ticket, pending);
        self.last_ticket
    }

    /// A request that waits for the store.
    pub fn pending(&self, ticket: u64) -> Option<&Pending> {
        self.pending.get(&ticket)
    }

    /// Takes an answer of the store; None: that ticket was answered before.
    pub fn answered(&mut self, ticket: u64, result: Result<(), StoreError>) -> Option<Answered> {
        let pending = self.pending.remove(&ticket)?;
        Some(match (pending, result) {
            (Pending::Entry(entry), result) => Answered::Entry(entry, result),
            (Pending::Release(release), result) => {
                let name = (release.session_hash, release.sequence, ticket);
                self.releases.remove(&name);
                match result {
                    Ok(()) => Answered::Released(DurableRelease(release)),
                    Err(error) => Answered::NotReleased(release, error),
                }
            }
        })
    }

    /// Finds the session's release with that sequence, if the release waits for the log.
    pub fn find_release(&mut self, session: SessionHash, sequence: u64) -> Option<&mut InFlight> {
        let named = (session, sequence, 0)..=(session, sequence, u64::MAX);
        let (_, _, ticket) = self.releases.range(named).next()?;
        #[cfg(test)]
        {
            self.looked_at += 1;
        }
        match self.pending.get_mut(ticket) {
            Some(Pending::Release(release)) => Some(release),
            _ => None,
        }
    }

    pub fn settle_later(&mut self, step: Settling) {
        self.settling.push(step);
    }

    pub fn take_settling(&mut self) -> Vec<Settling> {
        std::mem::take(&mut self.settling)
    }

    /// Whether readers are yet to be told of a release whose writer has been answered.
    pub fn is_about_to_tell(&self) -> bool {
        let tells = |s: &Settling| matches!(s, Settling::Tell(..));
        self.settling.iter().any(tells)
    }

    /// Whether nothing waits for the store, and nothing is left to settle.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.settling.is_empty()
    }

    /// Returns how many requests wait for the store.
    pub fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Notes that the server must stop, if the error says that the store is gone for good, or that
    /// only the next start can tell what the store has. A store that only refuses writes, because
    /// of damage, is still read from.
    pub fn store_stopped(&mut self, why: StoreError) {
        let is_lost = matches!(
            why,
            StoreError::Fenced(_)
                | StoreError::SegmentsFenced(_)
                | StoreError::Unknown(_)
                | StoreError::Ended(_)
        );
        if is_lost {
            self.lost_store.get_or_insert(why);
        }
    }

    pub fn lost_store(&self) -> Option<&StoreError> {
        self.lost_store.as_ref()
    }
}
