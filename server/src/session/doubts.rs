//! Appends whose outcome the store does not know. The engine has the store decide, and answers
//! nothing before [STORE-18].
//!
//! Invariants:
//! - A doubt ends with a decision of the store, or with the server. Nothing is appended twice.
//! - While a segment is in doubt, no append to it leaves. So a decision finds the segment where the
//!   group in doubt brought it, or where it was before.

use super::effect::Effect;
use super::engine::Engine;
use super::in_flight::{InFlight, Part};
use super::journal::{Entry, Journal, Pending};
use super::segments::Segments;
use interweave_store::{End, Record, StoreError};
use interweave_wire::protocol::Durability;
use std::collections::{BTreeMap, HashMap, HashSet};

/// After an error that may pass, the store is asked again so much later.
const AGAIN_NS: u64 = 250_000_000;

/// What a group does to a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Brings {
    Creation,
    /// Of the incarnation that this owner continues. Nobody else appends, so the number says all.
    /// The store may not have taken the record of the incarnation.
    Version(u64),
    Serials(u64),
    Incarnation(u64),
    Removal,
}

impl Brings {
    /// Whether the segment's end has it. None: another owner has the segment.
    fn is_in(self, end: End) -> Option<bool> {
        let (incarnation, version, serials_below) = match end {
            End::Fenced => return None,
            End::Absent => return Some(self == Brings::Removal),
            End::At {
                incarnation,
                version,
                serials_below,
            } => (incarnation, version, serials_below),
        };
        Some(match self {
            Brings::Creation => true,
            Brings::Version(brought) => brought <= version,
            Brings::Serials(below) => below <= serials_below,
            Brings::Incarnation(begun) => begun == incarnation,
            Brings::Removal => false,
        })
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Decision {
    There,
    NotThere,
    /// Other owners have these segments of the group, and nothing of it is in the others.
    Lost(Vec<u64>),
    Contradiction,
}

/// The group in doubt, by its segments' ids.
type Group = Vec<(u64, Brings)>;

fn decide(group: &Group, ends: &HashMap<u64, End>) -> Decision {
    let mut lost = Vec::new();
    let (mut some_are, mut some_are_not) = (false, false);
    for (id, brings) in group {
        match ends.get(id).map(|end| brings.is_in(*end)) {
            None => return Decision::Contradiction,
            Some(None) => lost.push(*id),
            Some(Some(is_there)) => {
                some_are |= is_there;
                some_are_not |= !is_there;
            }
        }
    }
    match (some_are, some_are_not) {
        (true, false) if lost.is_empty() => Decision::There,
        (true, _) => Decision::Contradiction,
        (false, _) if !lost.is_empty() => Decision::Lost(lost),
        (false, _) => Decision::NotThere,
    }
}

#[derive(Debug)]
struct Doubt {
    group: Group,
    /// The store's words.
    text: String,
}

/// An append that waits for a decision about one of its segments.
#[derive(Debug)]
struct Held {
    ticket: u64,
    group: Vec<Record>,
    durable: Durability,
}

fn ids(group: &[Record]) -> impl Iterator<Item = u64> + '_ {
    group.iter().map(|record| record.segment_id)
}

/// The appends in doubt, by their tickets.
#[derive(Debug, Default)]
pub struct Doubts {
    all: BTreeMap<u64, Doubt>,
    /// Those that the store is deciding.
    asked: Vec<u64>,
    /// When the store is asked again.
    again_ns: Option<u64>,
    held: Vec<Held>,
}

impl Doubts {
    pub fn count(&self) -> usize {
        self.all.len()
    }

    fn is_free(&self, group: &[Record], waiting: &HashSet<u64>) -> bool {
        let doubted = |id: u64| {
            self.all
                .values()
                .any(|d| d.group.iter().any(|(of, _)| *of == id))
        };
        !ids(group).any(|id| waiting.contains(&id) || doubted(id))
    }

    /// Keeps an append back that has to wait. Otherwise gives it back.
    pub fn hold(
        &mut self,
        ticket: u64,
        group: Vec<Record>,
        durable: Durability,
    ) -> Option<Vec<Record>> {
        if self.all.is_empty() {
            return Some(group);
        }
        let waiting = self.held.iter().flat_map(|held| ids(&held.group)).collect();
        if self.is_free(&group, &waiting) {
            return Some(group);
        }
        self.held.push(Held {
            ticket,
            group,
            durable,
        });
        None
    }

    /// Takes out the appends that need not wait any more, in their order.
    fn let_go(&mut self) -> Vec<Held> {
        let mut waiting = HashSet::new();
        let (mut free, mut held) = (Vec::new(), Vec::new());
        for append in std::mem::take(&mut self.held) {
            match self.is_free(&append.group, &waiting) {
                true => free.push(append),
                false => {
                    waiting.extend(ids(&append.group));
                    held.push(append);
                }
            }
        }
        self.held = held;
        free
    }

    /// The segments that the store is to decide about now. None: it is asked already, or there is
    /// no doubt.
    fn ask(&mut self) -> Option<Vec<u64>> {
        if self.all.is_empty() || !self.asked.is_empty() {
            return None;
        }
        self.again_ns = None;
        self.asked = self.all.keys().copied().collect();
        let groups = self.all.values().flat_map(|doubt| &doubt.group);
        let mut segments: Vec<u64> = groups.map(|(id, _)| *id).collect();
        segments.sort_unstable();
        segments.dedup();
        Some(segments)
    }
}

impl Journal {
    /// When the store is asked again to decide.
    pub fn next_doubt_ns(&self) -> Option<u64> {
        self.doubts.again_ns
    }

    fn settle_doubts(&mut self) {
        if let Some(segments) = self.doubts.ask() {
            self.push(Effect::Settle { segments });
        }
    }

    fn let_appends_go(&mut self) {
        for held in self.doubts.let_go() {
            self.push(Effect::Append {
                ticket: held.ticket,
                group: held.group,
                durable: held.durable,
            });
        }
    }
}

impl Engine {
    /// The outcome of an append is not known. Returns false if the ticket is not of an append.
    pub(super) fn doubt(&mut self, ticket: u64, text: &str) -> bool {
        let group = match self.journal.pending(ticket) {
            Some(Pending::Release(release)) => of_release(release),
            Some(Pending::Entry(entry)) => match of_entry(entry, &self.segments) {
                Some(group) => group,
                None => return false,
            },
            None => return false,
        };
        self.wire.counters.doubts += 1;
        let text = text.to_string();
        self.journal
            .doubts
            .all
            .insert(ticket, Doubt { group, text });
        if self.journal.doubts.again_ns.is_none() {
            self.journal.settle_doubts();
        }
        true
    }

    /// The time has come to ask again; or the server stops, and asks once more.
    pub(super) fn settle_doubts(&mut self) {
        self.journal.settle_doubts();
    }

    /// Takes the store's answer to an [`Effect::Settle`].
    pub fn settled(&mut self, now_ns: u64, ends: Result<Vec<(u64, End)>, StoreError>) {
        self.advance(now_ns);
        let asked = std::mem::take(&mut self.journal.doubts.asked);
        match ends {
            Ok(ends) => {
                let ends: HashMap<u64, End> = ends.into_iter().collect();
                for ticket in asked {
                    if let Some(doubt) = self.journal.doubts.all.remove(&ticket) {
                        self.decided(ticket, doubt, &ends);
                    }
                }
                self.journal.settle_doubts();
            }
            Err(error) if may_pass(&error) && !self.stopping => {
                self.journal.doubts.again_ns = Some(self.wire.now_ns() + AGAIN_NS);
            }
            Err(error) => self.give_up(error),
        }
        self.journal.let_appends_go();
        self.forget_closed();
    }

    fn decided(&mut self, ticket: u64, doubt: Doubt, ends: &HashMap<u64, End>) {
        let text = doubt.text;
        let result = match decide(&doubt.group, ends) {
            Decision::There => Ok(()),
            Decision::NotThere => Err(StoreError::Away(format!(
                "the store has rolled the change back: {text}; nothing of it is kept, so it can be \
                 tried again"
            ))),
            Decision::Lost(segments) => Err(StoreError::SegmentsFenced(segments)),
            Decision::Contradiction => Err(StoreError::Unknown(format!(
                "{text}; the store has the change in a part of the segments; start the server again"
            ))),
        };
        self.take_answer(ticket, result);
    }

    /// Nobody will decide: the server ends, and the next start reads the store.
    fn give_up(&mut self, error: StoreError) {
        let is_lost = matches!(error, StoreError::Fenced(_) | StoreError::Ended(_));
        for (ticket, doubt) in std::mem::take(&mut self.journal.doubts.all) {
            let unknown = || StoreError::Unknown(format!("{}; {error}", doubt.text));
            let why = if is_lost { error.clone() } else { unknown() };
            self.take_answer(ticket, Err(why));
        }
    }
}

/// Whether the store may decide when it is asked again.
fn may_pass(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Io(_)
            | StoreError::Alone(_)
            | StoreError::Away(_)
            | StoreError::Full(_)
            | StoreError::Unknown(_)
    )
}

fn of_release(release: &InFlight) -> Group {
    let of = |part: &Part| {
        let brings = Brings::Version(part.after.stamp.number);
        (part.segment_id, brings)
    };
    let logged = release.parts.iter().filter(|part| part.is_logged());
    logged.map(of).collect()
}

/// None: it is a checkpoint, of which only the store's rows are in doubt. The next one follows.
fn of_entry(entry: &Entry, segments: &Segments) -> Option<Group> {
    let of = |number: &u32, brings: Brings| {
        let segment = segments.get(*number);
        segment.map(|segment| (segment.id, brings))
    };
    Some(match entry {
        Entry::Creation { segment } => of(segment, Brings::Creation).into_iter().collect(),
        Entry::Removal { segment, .. } => of(segment, Brings::Removal).into_iter().collect(),
        Entry::Serials { segment, below } => {
            of(segment, Brings::Serials(*below)).into_iter().collect()
        }
        Entry::Incarnations { segments: begun } => {
            let begins = |number: &u32| {
                let segment = segments.get(*number)?;
                Some((segment.id, Brings::Incarnation(segment.incarnation)))
            };
            begun.iter().filter_map(begins).collect()
        }
        Entry::Checkpoint { .. } => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: End = End::At {
        incarnation: 3,
        version: 8,
        serials_below: 40,
    };

    #[test]
    fn store_18_a_group_is_there_if_each_of_its_segments_ends_where_it_brings_them() {
        let cases = [
            (Brings::Version(8), AT, Some(true)),
            (Brings::Version(9), AT, Some(false)),
            (Brings::Version(8), End::Absent, Some(false)),
            (Brings::Version(8), End::Fenced, None),
            (Brings::Creation, AT, Some(true)),
            (Brings::Creation, End::Absent, Some(false)),
            (Brings::Removal, AT, Some(false)),
            (Brings::Removal, End::Absent, Some(true)),
            (Brings::Serials(40), AT, Some(true)),
            (Brings::Serials(41), AT, Some(false)),
            (Brings::Incarnation(3), AT, Some(true)),
            (Brings::Incarnation(4), AT, Some(false)),
        ];
        for (brings, end, is_in) in cases {
            assert_eq!(brings.is_in(end), is_in, "{brings:?} {end:?}");
        }
    }

    #[test]
    fn store_18_what_the_segments_of_a_group_say_together() {
        let (there, not) = (Brings::Serials(40), Brings::Serials(41));
        let ends = HashMap::from([(1, AT), (2, AT), (3, End::Fenced)]);
        let decision = |group: &[(u64, Brings)]| decide(&group.to_vec(), &ends);
        assert_eq!(decision(&[(1, there), (2, there)]), Decision::There);
        assert_eq!(decision(&[(1, not), (2, not)]), Decision::NotThere);
        assert_eq!(decision(&[(1, there), (2, not)]), Decision::Contradiction);
        assert_eq!(decision(&[(3, there)]), Decision::Lost(vec![3]));
        assert_eq!(decision(&[(1, not), (3, not)]), Decision::Lost(vec![3]));
        // It is there, and only the other owner can tell what follows from that.
        assert_eq!(decision(&[(1, there), (3, there)]), Decision::Contradiction);
        assert_eq!(decision(&[(9, there)]), Decision::Contradiction);
    }
}
