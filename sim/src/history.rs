//! Each segment's history as seen from outside: what clients sent, what they were told, and when.
//! From that follows what nobody may ever see. The checkers are here ([checkers](../README.md)).
//!
//! A version's chain is a hash of all diffs up to it. So number and chain name a content, whoever
//! sent the diff, and each release that is sent says which version it would make. What is seen must
//! be one of these.

mod gift;

use crate::content::Content;
use gift::Gifts;
use interweave_wire::protocol::{Durability, VersionStamp};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// A broken promise: the checker that found it, and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    pub checker: &'static str,
    pub text: String,
}

impl Violation {
    /// Whether both are the same but for numbers.
    pub fn is_like(&self, other: &Violation) -> bool {
        let words = |violation: &Violation| -> String {
            let text = violation.text.chars();
            text.filter(|c| !c.is_ascii_hexdigit()).collect()
        };
        self.checker == other.checker && words(self) == words(other)
    }
}

pub type Checked<T> = Result<T, Violation>;

pub fn violation<T>(checker: &'static str, text: impl Into<String>) -> Checked<T> {
    Err(Violation {
        checker,
        text: text.into(),
    })
}

/// Number and chain of a version.
pub type Name = (u64, u64);

pub fn name_of(stamp: &VersionStamp) -> Name {
    (stamp.number, stamp.chain)
}

/// A client's knowledge of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Sent,
    /// It was told in that life of the segment that the release is not there, and never will be.
    Refused {
        life: u64,
    },
    Acknowledged,
}

#[derive(Debug, Clone)]
struct Version {
    parent: Name,
    content: Rc<Content>,
    fate: Fate,
    fence: u64,
    client: usize,
    /// The newest life of the segment in which somebody was told of it.
    seen_in: Option<u64>,
}

/// The newest version that was acknowledged before some moment. What is asked for then must not be
/// older.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Floor {
    name: Name,
    /// How often the segment may have lost versions until then.
    losses: u64,
    /// So often the segment was removed until then.
    removals: u64,
}

/// A grant of the writer lock.
#[derive(Debug, Clone, Copy)]
struct Granted {
    base: Name,
    losses: u64,
}

#[derive(Debug)]
pub struct SegmentHistory {
    pub path: String,
    pub durable: Durability,
    versions: BTreeMap<Name, Version>,
    /// By incarnation and number: the chain that was seen.
    seen: BTreeMap<(u64, u64), u64>,
    /// When a version was acknowledged that was newer than all before.
    acknowledged: Vec<(u64, Name)>,
    /// When it may have lost versions. Its lives lie between these moments.
    lost_at_ns: Vec<u64>,
    /// The incarnations that were removed, and how often the segment was removed before.
    gone: BTreeMap<u64, u64>,
    removals: u64,
    /// When it was removed, or an older copy of the store was put in its place.
    renewed_ns: u64,
    /// The message that is heard now was said then.
    pub said_ns: u64,
    /// Stored bytes may have been changed.
    pub may_be_damaged: bool,
    /// The server said that it is.
    pub is_damaged: bool,
    /// A client has asked for its removal once.
    pub may_be_removed: bool,
    /// Somebody has asked for its removal.
    is_removing: bool,
    /// The servers that have asked for it, and have not heard what became of it.
    removers: BTreeSet<u64>,
    /// By fence.
    grants: BTreeMap<u64, Granted>,
    pub gift: Gifts,
    /// Serials that were lent: the first of each range, and the first after it.
    serials: BTreeMap<u64, u64>,
}

const EMPTY: Name = (0, 0);

impl SegmentHistory {
    pub fn new(path: String, durable: Durability) -> SegmentHistory {
        let empty = Version {
            parent: EMPTY,
            content: Rc::default(),
            fate: Fate::Acknowledged,
            fence: 0,
            client: usize::MAX,
            seen_in: Some(u64::MAX),
        };
        SegmentHistory {
            path,
            durable,
            versions: BTreeMap::from([(EMPTY, empty)]),
            seen: BTreeMap::new(),
            acknowledged: Vec::new(),
            lost_at_ns: Vec::new(),
            gone: BTreeMap::new(),
            removals: 0,
            renewed_ns: 0,
            said_ns: 0,
            may_be_damaged: false,
            is_damaged: false,
            may_be_removed: false,
            is_removing: false,
            removers: BTreeSet::new(),
            grants: BTreeMap::new(),
            gift: Gifts::default(),
            serials: BTreeMap::new(),
        }
    }

    pub fn floor(&self) -> Floor {
        Floor {
            removals: self.removals,
            ..self.floor_of(self.acknowledged.last())
        }
    }

    /// The floor as it was then.
    pub fn floor_at(&self, at_ns: u64) -> Floor {
        let count = self
            .acknowledged
            .partition_point(|(then, _)| *then <= at_ns);
        self.floor_of(self.acknowledged[..count].last())
    }

    fn floor_of(&self, last: Option<&(u64, Name)>) -> Floor {
        Floor {
            name: last.map_or(EMPTY, |(_, name)| *name),
            losses: self.losses(),
            // A client that asks nobody may not have heard of a removal.
            removals: 0,
        }
    }

    /// The server may come back with less than it had.
    pub fn may_have_lost(&mut self, now_ns: u64) {
        self.lost_at_ns.push(now_ns);
        self.acknowledged.clear();
        self.gift.forget();
    }

    fn losses(&self) -> u64 {
        self.lost_at_ns.len() as u64
    }

    /// The life in which the server sent the message that is heard now. Whoever is told of a
    /// version before a loss does not say that it is there after it.
    fn life(&self) -> u64 {
        let said_ns = self.said_ns;
        self.lost_at_ns.partition_point(|lost| *lost < said_ns) as u64
    }

    fn is_of_earlier_life(&self) -> bool {
        self.life() < self.losses()
    }

    /// An older state of the store came back, with what was refused since. Numbers, fences and
    /// incarnations are given anew [COH-11].
    pub fn put_back(&mut self, now_ns: u64) {
        self.may_have_lost(now_ns);
        self.renewed_ns = now_ns;
        self.gone.clear();
        self.seen.clear();
        self.grants.clear();
        for version in self.versions.values_mut() {
            if matches!(version.fate, Fate::Refused { .. }) {
                version.fate = Fate::Sent;
            }
        }
    }

    /// The server has asked the store to remove the segment, and tells whoever asks.
    pub fn begins_removal(&mut self, server: u64) {
        self.is_removing = true;
        self.removers.insert(server);
    }

    /// A server of a space hears that its removal took effect, or that nobody knows whether it
    /// did, or ends. All that it has said until now may be of before the removal. `is_last`: it
    /// hears nothing more of it.
    pub fn removal_heard(&mut self, now_ns: u64, server: u64, is_last: bool) {
        if self.removers.contains(&server) {
            self.removed(now_ns, false);
        }
        if is_last {
            self.removal_ended(server);
        }
    }

    /// The server waits for no answer about a removal any more.
    pub fn removal_ended(&mut self, server: u64) {
        self.removers.remove(&server);
    }

    /// Everybody sees that the segment is that server's. So no removal takes effect any more for
    /// which another one has asked before [STORE-1], whenever that one hears of it.
    pub fn is_owned_by(&mut self, now_ns: u64, server: u64) {
        let count = self.removers.len();
        self.removers.retain(|remover| *remover == server);
        if self.removers.len() < count {
            self.removed(now_ns, false);
        }
    }

    /// The segment was removed, or nobody knows whether it was.
    pub fn removed(&mut self, now_ns: u64, is_known: bool) {
        self.may_have_lost(now_ns);
        self.renewed_ns = now_ns;
        self.grants.clear();
        if is_known {
            for (incarnation, _) in self.seen.keys() {
                self.gone.entry(*incarnation).or_insert(self.removals);
            }
            self.removals += 1;
            self.is_damaged = false;
        }
    }

    /// The segment is there again, because its removal, which nobody acknowledged, was lost.
    pub fn unremoved(&mut self, now_ns: u64) {
        self.may_have_lost(now_ns);
        self.renewed_ns = now_ns;
        self.gone.clear();
        self.grants.clear();
    }

    pub fn is_renewed_since(&self, at_ns: u64) -> bool {
        self.renewed_ns > at_ns
    }

    /// The server sent the message that is heard now before the segment was removed or put back.
    fn is_of_before(&self) -> bool {
        self.said_ns <= self.renewed_ns
    }

    pub fn was_written_since(&self, at_ns: u64) -> bool {
        self.acknowledged
            .last()
            .is_some_and(|(then, _)| *then > at_ns)
    }

    /// A client was told that the stored bytes are damaged.
    pub fn damaged(&mut self, text: &str) -> Checked<()> {
        self.is_damaged = true;
        match self.may_be_damaged {
            true => Ok(()),
            false => violation(
                "no damage without a cause",
                format!("{}: {text}", self.path),
            ),
        }
    }

    /// A client that opens the segment was told that it is being removed.
    pub fn said_removed(&self, text: &str) -> Checked<()> {
        match self.may_be_removed {
            true => Ok(()),
            false => violation(
                "no removal without a cause",
                format!("{}: {text}", self.path),
            ),
        }
    }

    /// A release was sent, again or for the first time.
    pub fn sent(
        &mut self,
        (parent, name): (Name, Name),
        (content, client, fence): (&Rc<Content>, usize, u64),
    ) {
        let version = Version {
            parent,
            content: Rc::clone(content),
            fate: Fate::Sent,
            fence,
            client,
            seen_in: None,
        };
        let known = self.versions.entry(name).or_insert(version);
        known.fate = Fate::Sent;
    }

    /// The client was told that the release is not there.
    pub fn refused(&mut self, name: Name) -> Checked<()> {
        let path = self.path.clone();
        let life = self.losses();
        let Some(version) = self.versions.get_mut(&name) else {
            return violation("history", format!("{path}: {name:?} was never sent"));
        };
        if version.seen_in >= Some(life) {
            let text = format!("{path}: version {} was seen, and then refused", name.0);
            return violation("refused is not there", text);
        }
        version.fate = Fate::Refused { life };
        Ok(())
    }

    /// The client was told that the release is there.
    pub fn acknowledged(&mut self, now_ns: u64, name: Name, stamp: &VersionStamp) -> Checked<()> {
        if name_of(stamp) != name {
            let text = format!(
                "{}: release of version {} (chain {:x}) was acknowledged as {} (chain {:x})",
                self.path, name.0, name.1, stamp.number, stamp.chain
            );
            return violation("applied once", text);
        }
        self.see(stamp)?;
        let version = self
            .versions
            .get_mut(&name)
            .expect("a version that was seen");
        version.fate = Fate::Acknowledged;
        self.is_damaged = false;
        let fence = version.fence;
        if self.is_of_earlier_life() {
            return Ok(());
        }
        let newest = self.acknowledged.last();
        if newest.is_none_or(|(_, last)| last.0 < name.0) {
            self.acknowledged.push((now_ns, name));
        }
        self.check_fence(name, fence)
    }

    /// No later grant was given on a version without this one.
    fn check_fence(&self, name: Name, fence: u64) -> Checked<()> {
        let later = self.grants.range(fence + 1..);
        for (later, Granted { base, losses }) in later {
            if *losses == self.losses() && base.0 < name.0 {
                let text = format!(
                    "{}: version {} was acknowledged under fence {fence}, and fence {later} was \
                     granted on version {}",
                    self.path, name.0, base.0
                );
                return violation("one effective writer", text);
            }
        }
        Ok(())
    }

    /// Somebody was told of the version. Returns what it holds.
    pub fn see(&mut self, stamp: &VersionStamp) -> Checked<Rc<Content>> {
        let name = name_of(stamp);
        let Some(version) = self.versions.get(&name) else {
            let text = format!(
                "{}: nobody made version {} with chain {:x}",
                self.path, name.0, name.1
            );
            return violation("linear history", text);
        };
        let content = Rc::clone(&version.content);
        if self.is_of_before() {
            return Ok(content);
        }
        if self.gift.breaks(self.said_ns, self.durable, stamp) {
            let text = format!(
                "{}: version {} of incarnation {:x} is told of, which was not given",
                self.path, stamp.number, stamp.incarnation
            );
            return violation("the incarnation stays", text);
        }
        let key = (stamp.incarnation, stamp.number);
        let first = *self.seen.entry(key).or_insert(stamp.chain);
        if first != stamp.chain {
            let text = format!(
                "{}: version {} of one incarnation has chain {first:x} and chain {:x}",
                self.path, stamp.number, stamp.chain
            );
            return violation("linear history", text);
        }
        let life = Some(self.life());
        let mut at = name;
        while let Some(version) = self.versions.get_mut(&at).filter(|v| v.seen_in < life) {
            if matches!(version.fate, Fate::Refused { life: refused } if Some(refused) <= life) {
                let text = format!(
                    "{}: version {} of client {} was refused, and is part of version {}",
                    self.path, at.0, version.client, name.0
                );
                return violation("refused is not there", text);
            }
            version.seen_in = life;
            at = version.parent;
        }
        Ok(content)
    }

    /// Whether `older` is on the way to `newer`.
    fn leads_to(&self, older: Name, newer: Name) -> bool {
        let mut at = newer;
        while at.0 > older.0 {
            match self.versions.get(&at) {
                Some(version) => at = version.parent,
                None => return false,
            }
        }
        at == older
    }

    /// The version is not older than the floor, but for `slack` versions.
    pub fn check_floor(
        &self,
        checker: &'static str,
        stamp: &VersionStamp,
        floor: Floor,
        slack: u64,
    ) -> Checked<()> {
        let gone = self.gone.get(&stamp.incarnation);
        let is_gone = gone.is_some_and(|before| *before < floor.removals);
        if is_gone && stamp.number > 0 && !self.may_be_damaged {
            let text = format!(
                "{}: incarnation {:x} was given, and was removed before",
                self.path, stamp.incarnation
            );
            return violation("removed is gone", text);
        }
        if floor.losses != self.losses() {
            return Ok(());
        }
        let name = name_of(stamp);
        let is_on_line = match name.0 >= floor.name.0 {
            true => self.leads_to(floor.name, name),
            false => self.leads_to(name, floor.name),
        };
        if !is_on_line || name.0 + slack < floor.name.0 {
            let text = format!(
                "{}: version {} (chain {:x}) was given, {} (chain {:x}) was acknowledged before, \
                 {slack} versions may lack",
                self.path, name.0, name.1, floor.name.0, floor.name.1
            );
            return violation(checker, text);
        }
        Ok(())
    }

    /// A client that had the segment open is told that the server has no such segment.
    pub fn check_missing(&self, floor: Floor) -> Checked<()> {
        let is_lost = floor.losses != self.losses() || self.is_removing;
        match is_lost || floor.name == EMPTY {
            true => Ok(()),
            false => violation(
                "acknowledged is there",
                format!("{}: it is not there any more", self.path),
            ),
        }
    }

    /// Whether it may have lost versions since.
    pub fn has_lost_since(&self, at_ns: u64) -> bool {
        self.lost_at_ns.last().is_some_and(|lost| *lost >= at_ns)
    }

    /// At most `x` per cent of that version's units have changed since the copy's version.
    pub fn check_changed_to(&self, stamp: &VersionStamp, to: Name, x: u64) -> Checked<()> {
        let units = self.versions.get(&to).map_or(0, |v| v.content.units());
        self.check_changed(stamp, to, (x, units))
    }

    /// The same for an unknown version that is not older than the floor.
    pub fn check_changed_by(&self, stamp: &VersionStamp, floor: Floor, x: u64) -> Checked<()> {
        if floor.losses != self.losses() {
            return Ok(());
        }
        let later = self.versions.range((floor.name.0, 0)..);
        let units = later.map(|(_, version)| version.content.units()).max();
        self.check_changed(stamp, floor.name, (x, units.unwrap_or(0)))
    }

    fn check_changed(&self, stamp: &VersionStamp, to: Name, (x, units): (u64, u64)) -> Checked<()> {
        let mut at = to;
        let mut changed = 0;
        while at.0 > stamp.number {
            let Some(version) = self.versions.get(&at) else {
                break;
            };
            let parent = self.versions.get(&version.parent);
            changed += parent.map_or(0, |p| version.content.differs_in(&p.content));
            at = version.parent;
        }
        if changed * 100 > x * units {
            let text = format!(
                "{}: of {units} units {changed} changed between version {} and version {}, {x} \
                 per cent may",
                self.path, stamp.number, to.0
            );
            return violation("freshness by units", text);
        }
        Ok(())
    }

    /// The writer lock was granted. Grants of other clients may be known that came later.
    pub fn granted(
        &mut self,
        fence: u64,
        stamp: &VersionStamp,
        serials: (u64, u64),
    ) -> Checked<()> {
        // The lock may have been granted on a version that was lost since.
        if self.is_of_earlier_life() {
            return Ok(());
        }
        let of_now = |grant: &&Granted| grant.losses == self.losses();
        let before = self
            .grants
            .range(..fence)
            .next_back()
            .map(|(_, grant)| grant);
        let after = self
            .grants
            .range(fence + 1..)
            .next()
            .map(|(_, grant)| grant);
        let is_before = before
            .filter(of_now)
            .is_none_or(|b| b.base.0 <= stamp.number);
        let is_after = after
            .filter(of_now)
            .is_none_or(|a| stamp.number <= a.base.0);
        if self.grants.contains_key(&fence) || !is_before || !is_after {
            let text = format!(
                "{}: fence {fence} was granted on version {}, between {before:?} and {after:?}",
                self.path, stamp.number
            );
            return violation("fences grow", text);
        }
        let base = name_of(stamp);
        let losses = self.losses();
        self.grants.insert(fence, Granted { base, losses });
        self.lent(serials)
    }

    /// Serials were lent. Where creations may be lost, so may be what was lent before.
    pub fn lent(&mut self, (first, count): (u64, u64)) -> Checked<()> {
        if self.losses() > 0 {
            return Ok(());
        }
        let end = first + count;
        let before = self.serials.range(..end).next_back();
        if before.is_some_and(|(_, before_end)| *before_end > first) {
            let text = format!("{}: serials {first} to {end} were lent before", self.path);
            return violation("serials are lent once", text);
        }
        self.serials.insert(first, end);
        Ok(())
    }

    /// The segment was made.
    pub fn created(&mut self) {
        self.serials.clear();
    }

    /// Whether the segment, or versions of it, may be gone.
    #[cfg(feature = "native")]
    pub fn may_have_gone(&self) -> bool {
        self.losses() > 0 || self.may_be_damaged || self.is_removing
    }

    /// No newer version is known to be acknowledged.
    #[cfg(feature = "native")]
    pub fn is_newest(&self, name: Name) -> bool {
        let last = self.acknowledged.last();
        last.is_none_or(|(_, newest)| newest.0 <= name.0)
    }

    /// The copy holds what the version does.
    pub fn check_copy(&mut self, stamp: &VersionStamp, copy: &Content) -> Checked<()> {
        let content = self.see(stamp)?;
        if *content != *copy {
            let text = format!(
                "{}: a copy of version {} holds something else",
                self.path, stamp.number
            );
            return violation("content", text);
        }
        Ok(())
    }

    pub fn content(&self, name: Name) -> Option<Rc<Content>> {
        Some(Rc::clone(&self.versions.get(&name)?.content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Name = (1, 11);
    const FIRST_STAMP: VersionStamp = VersionStamp {
        incarnation: 1,
        number: FIRST.0,
        chain: FIRST.1,
    };

    /// Server 1 has asked for a removal, and server 2 owns the segment since 10. The first version
    /// was acknowledged at 20.
    fn owned_by_another() -> SegmentHistory {
        let mut history = SegmentHistory::new("/s".to_string(), Durability::Synced);
        history.begins_removal(1);
        history.removal_heard(5, 1, false);
        history.is_owned_by(10, 2);
        history.sent((EMPTY, FIRST), (&Rc::default(), 0, 1));
        history.said_ns = 20;
        let acknowledged = history.acknowledged(20, FIRST, &FIRST_STAMP);
        assert_eq!(acknowledged, Ok(()));
        history
    }

    #[test]
    fn a_removal_of_an_earlier_owner_takes_no_version_of_the_next() {
        let mut history = owned_by_another();
        let floor = history.floor();
        history.removal_heard(30, 1, true);
        assert!(history.was_written_since(10) && history.floor() == floor);
        // The owner itself may still remove the segment.
        history.begins_removal(2);
        history.is_owned_by(40, 2);
        history.removal_heard(50, 2, false);
        assert!(!history.was_written_since(10) && history.has_lost_since(50));
    }

    #[test]
    fn a_removal_that_was_refused_takes_no_version() {
        let mut history = owned_by_another();
        history.begins_removal(2);
        history.removal_ended(2);
        history.removal_heard(50, 2, true);
        assert!(history.was_written_since(10));
    }

    /// The first version was sent, and the segment may have lost it at 10.
    fn lost() -> SegmentHistory {
        let mut history = SegmentHistory::new("/s".to_string(), Durability::Memory);
        history.sent((EMPTY, FIRST), (&Rc::default(), 0, 1));
        history.may_have_lost(10);
        history
    }

    /// Somebody is told of the first version.
    fn hear(history: &mut SegmentHistory, said_ns: u64) -> Checked<()> {
        history.said_ns = said_ns;
        history.see(&FIRST_STAMP).map(drop)
    }

    #[test]
    fn words_of_before_a_loss_do_not_say_that_a_version_outlived_it() {
        let mut history = lost();
        assert_eq!(hear(&mut history, 9), Ok(()));
        assert_eq!(history.refused(FIRST), Ok(()));
        assert_eq!(hear(&mut history, 10), Ok(()));
    }

    #[test]
    fn a_version_that_was_refused_is_found_before_and_after() {
        let mut history = lost();
        assert_eq!(hear(&mut history, 11), Ok(()));
        let found = history.refused(FIRST).unwrap_err();
        assert_eq!(found.checker, "refused is not there");
        let mut history = lost();
        assert_eq!(history.refused(FIRST), Ok(()));
        let found = hear(&mut history, 11).unwrap_err();
        assert_eq!(found.checker, "refused is not there");
        // A later loss does not bring it back.
        history.may_have_lost(20);
        let found = hear(&mut history, 21).unwrap_err();
        assert_eq!(found.checker, "refused is not there");
    }
}
