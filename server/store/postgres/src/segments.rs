//! The owner's knowledge of its segments: where each ends, and which records no checkpoint covers.

use crate::tables::Tables;
use interweave_store::{End, StoreError, MUCH_LOG_BYTES};
use interweave_wire::protocol::{LogBody, VersionStamp};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// With more log than this in all, the segments with most of it are to be saved.
const LOG_BYTES_WANTED: u64 = 1 << 30;
/// So many segments are named as overdue at a time.
const NAMED: usize = 64;

/// The end of a segment's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tail {
    /// The number of the last record; the first has 1.
    pub head: u64,
    /// The crc of the last record.
    pub crc: u32,
    pub version: u64,
    pub incarnation: u64,
    pub serials_below: u64,
    pub is_removed: bool,
}

impl Tail {
    /// Takes the next record, which may follow.
    pub fn take(&mut self, body: &LogBody, crc: u32) {
        self.head += 1;
        self.crc = crc;
        match body {
            LogBody::Create(create) => self.incarnation = create.incarnation,
            LogBody::Release(release) => self.version = release.version,
            LogBody::Serials(below) => self.serials_below = self.serials_below.max(*below),
            LogBody::Incarnation(stamp) => {
                self.incarnation = stamp.incarnation;
                self.version = stamp.number;
            }
            LogBody::Other(_) => self.is_removed = true,
        }
    }

    pub fn end(&self) -> End {
        match self.is_removed {
            true => End::Absent,
            false => End::At {
                incarnation: self.incarnation,
                version: self.version,
                serials_below: self.serials_below,
            },
        }
    }
}

/// The effect of a record on its segment's version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Release(u64),
    Incarnation(u64),
    Other,
}

impl Effect {
    pub fn of(body: &LogBody) -> Effect {
        match body {
            LogBody::Release(release) => Effect::Release(release.version),
            LogBody::Incarnation(stamp) => Effect::Incarnation(stamp.incarnation),
            _ => Effect::Other,
        }
    }
}

/// A record that no checkpoint covers.
#[derive(Debug, Clone, Copy)]
pub struct Uncovered {
    pub number: u64,
    pub crc: u32,
    pub bytes: u64,
    pub effect: Effect,
    /// The number of the log's table that has it.
    pub table: usize,
}

/// A checkpoint that lasts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Saved {
    pub checkpoint: u64,
    pub version: u64,
    /// The last record that it covers, and its crc.
    pub number: u64,
    pub crc: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Segment {
    /// The epoch of this owner's claim of it.
    pub claim: u64,
    pub tail: Tail,
    pub damage: Option<Box<StoreError>>,
    pub saved: Saved,
    pub uncovered: VecDeque<Uncovered>,
    pub log_bytes: u64,
}

/// The place of a checkpoint in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub claim: u64,
    pub number: u64,
    pub crc: u32,
    pub serials_below: u64,
}

#[derive(Debug, Default)]
pub struct Segments {
    /// Servers share the store: a segment that is not here is another one's.
    pub is_shared: bool,
    all: HashMap<u64, Segment>,
    /// The segments of which the end is not known, and the records that may be there.
    undecided: HashMap<u64, Vec<Uncovered>>,
    by_bytes: BTreeSet<(u64, u64)>,
    damaged: BTreeSet<u64>,
    log_bytes: u64,
    pub tables: Tables,
}

impl Segments {
    pub fn get(&self, id: u64) -> Option<&Segment> {
        self.all.get(&id)
    }

    /// All segments, and the numbers of their last records.
    pub fn heads(&self) -> (Vec<i64>, Vec<i64>) {
        let head = |(id, segment): (&u64, &Segment)| (*id as i64, segment.tail.head as i64);
        self.all.iter().map(head).unzip()
    }

    pub fn is_undecided(&self, id: u64) -> bool {
        self.undecided.contains_key(&id)
    }

    pub fn log_bytes(&self) -> u64 {
        self.log_bytes
    }

    pub fn insert(&mut self, id: u64, segment: Segment) {
        self.forget(id);
        // It was this owner's before, and another one has had it.
        self.undecided.remove(&id);
        self.log_bytes += segment.log_bytes;
        self.by_bytes.insert((segment.log_bytes, id));
        self.tables.need(id, segment.uncovered.iter());
        if segment.damage.is_some() {
            self.damaged.insert(id);
        }
        self.all.insert(id, segment);
    }

    pub fn forget(&mut self, id: u64) {
        if let Some(segment) = self.all.remove(&id) {
            self.log_bytes -= segment.log_bytes;
            self.by_bytes.remove(&(segment.log_bytes, id));
            self.damaged.remove(&id);
            for record in &segment.uncovered {
                self.tables.spare(id, record);
            }
        }
    }

    /// Another owner has the segment, if it is still known by that claim. This owner may have
    /// claimed it anew meanwhile.
    pub fn forget_claim(&mut self, id: u64, claim: u64) {
        if self.all.get(&id).is_some_and(|s| s.claim == claim) {
            self.forget(id);
        }
    }

    /// The records are in the log, and the segment ends so.
    pub fn kept(&mut self, id: u64, claim: u64, tail: Tail, records: Vec<Uncovered>) {
        if self.all.get(&id).is_some_and(|s| s.claim > claim) {
            // Another owner had it since, and this one has read it anew.
            return;
        }
        if tail.is_removed {
            return self.forget(id);
        }
        if !self.all.contains_key(&id) {
            self.insert(id, Segment::default());
        }
        let Some(segment) = self.all.get_mut(&id) else {
            return;
        };
        let before = segment.log_bytes;
        let added: u64 = records.iter().map(|record| record.bytes).sum();
        segment.claim = claim;
        segment.tail = tail;
        segment.log_bytes += added;
        self.tables.need(id, records.iter());
        segment.uncovered.extend(records);
        self.log_bytes += added;
        self.by_bytes.remove(&(before, id));
        self.by_bytes.insert((before + added, id));
    }

    /// The damaged segments, and the tables of the log that they alone keep.
    pub fn stuck(&self) -> (Vec<u64>, Vec<usize>) {
        if self.damaged.is_empty() {
            return Default::default();
        }
        let tables = self.tables.stuck(|id| self.damaged.contains(id));
        (self.damaged.iter().copied().collect(), tables)
    }

    /// The records of these segments lie in another table now.
    pub fn moved(&mut self, ids: &[u64], (from, into): (usize, usize), bytes: u64) {
        self.tables.add(into, bytes);
        for id in ids {
            self.tables.moved(*id, from, into);
            let segment = self.all.get_mut(id);
            let records = segment.into_iter().flat_map(|s| &mut s.uncovered);
            for record in records.filter(|record| record.table == from) {
                record.table = into;
            }
        }
    }

    /// The records may be in the log.
    pub fn doubt(&mut self, id: u64, records: Vec<Uncovered>) {
        self.undecided.entry(id).or_default().extend(records);
    }

    /// The segment ends so, for good. None: it is not there.
    pub fn decide(&mut self, id: u64, claim: u64, tail: Option<Tail>) {
        let records = self.undecided.remove(&id).unwrap_or_default();
        match tail {
            Some(tail) => {
                let is_there = |record: &Uncovered| record.number <= tail.head;
                let records = records.into_iter().filter(is_there).collect();
                self.kept(id, claim, tail, records);
            }
            None => self.forget(id),
        }
    }

    /// The last record that a checkpoint at this version covers.
    pub fn place(&self, id: u64, at: &VersionStamp) -> Result<Place, StoreError> {
        let refused = |text: String| Err(StoreError::Io(text));
        let Some(segment) = self.all.get(&id) else {
            return refused(format!("no segment {id} to checkpoint"));
        };
        if let Some(damage) = &segment.damage {
            return Err(StoreError::clone(damage));
        }
        if at.number < segment.saved.version {
            return refused(format!(
                "a checkpoint of segment {id} at version {}, before the one at {}",
                at.number, segment.saved.version
            ));
        }
        let records = &segment.uncovered;
        let begun = Effect::Incarnation(at.incarnation);
        let begin = records.iter().rposition(|record| record.effect == begun);
        let begin = begin.map_or(0, |index| index + 1);
        let is_covered = |record: &&Uncovered| match record.effect {
            Effect::Release(version) => version <= at.number,
            // Earlier ones, where its own could not be logged.
            Effect::Incarnation(earlier) => earlier < at.incarnation,
            Effect::Other => true,
        };
        let covered = records.iter().skip(begin).take_while(is_covered).count();
        let last = (begin + covered).checked_sub(1).map(|index| records[index]);
        let saved = (segment.saved.number, segment.saved.crc);
        let (number, crc) = last.map_or(saved, |record| (record.number, record.crc));
        Ok(Place {
            claim: segment.claim,
            number,
            crc,
            serials_below: segment.tail.serials_below,
        })
    }

    /// The checkpoint lasts.
    pub fn saved(&mut self, id: u64, saved: Saved) {
        let Some(segment) = self.all.get_mut(&id) else {
            return;
        };
        let before = segment.log_bytes;
        segment.saved = saved;
        // The releases of MEMORY segments are not in the log.
        segment.tail.version = segment.tail.version.max(saved.version);
        let uncovered = &mut segment.uncovered;
        let is_covered = |record: &Uncovered| record.number <= saved.number;
        while let Some(record) = uncovered.front().copied().filter(is_covered) {
            uncovered.pop_front();
            segment.log_bytes -= record.bytes;
            self.tables.spare(id, &record);
        }
        self.log_bytes -= before - segment.log_bytes;
        self.by_bytes.remove(&(before, id));
        self.by_bytes.insert((segment.log_bytes, id));
    }

    pub fn with_much_log(&self) -> Vec<(u64, u64)> {
        let much = self.by_bytes.range((MUCH_LOG_BYTES, 0)..);
        much.map(|&(bytes, id)| (id, bytes)).collect()
    }

    /// The segments with most log, where there is too much of it in all. Otherwise those that keep
    /// the oldest table of the log, where the next turn needs it.
    pub fn overdue(&self) -> Vec<u64> {
        let can_be_saved = |id: &u64| self.all.get(id).is_some_and(|s| s.damage.is_none());
        if self.log_bytes <= LOG_BYTES_WANTED {
            let mut pinning = self.tables.pinning(can_be_saved);
            pinning.truncate(NAMED);
            return pinning;
        }
        let largest = self.by_bytes.iter().rev().take(NAMED);
        let savable = largest.filter(|(bytes, id)| *bytes > 0 && can_be_saved(id));
        savable.map(|&(_, id)| id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64, effect: Effect, bytes: u64) -> Uncovered {
        Uncovered {
            number,
            crc: number as u32,
            bytes,
            effect,
            table: 0,
        }
    }

    fn at(incarnation: u64, number: u64) -> VersionStamp {
        VersionStamp {
            incarnation,
            number,
            chain: 0,
        }
    }

    fn with(records: Vec<Uncovered>) -> Segments {
        let mut segments = Segments::default();
        let tail = Tail {
            head: records.len() as u64,
            ..Tail::default()
        };
        segments.kept(7, 1, tail, records);
        segments
    }

    #[test]
    fn a_checkpoint_covers_the_records_up_to_its_version_and_incarnation() {
        use Effect::{Incarnation, Other, Release};
        let effects = [
            Other,
            Release(1),
            Release(2),
            Other,
            Release(3),
            Incarnation(5),
            Release(3),
        ];
        let records = effects
            .iter()
            .zip(1..)
            .map(|(&e, number)| record(number, e, 10));
        let segments = with(records.collect());
        let number = |stamp| segments.place(7, &stamp).unwrap().number;
        assert_eq!(number(at(1, 0)), 1);
        assert_eq!(number(at(1, 1)), 2);
        // With what follows and changes no version.
        assert_eq!(number(at(1, 2)), 4);
        assert_eq!(number(at(1, 3)), 5);
        assert_eq!(number(at(5, 2)), 6);
        assert_eq!(number(at(5, 3)), 7);
    }

    #[test]
    fn a_checkpoint_lets_the_records_go_that_it_covers() {
        let records = (1..=4).map(|number| record(number, Effect::Release(number), 10));
        let mut segments = with(records.collect());
        assert_eq!(segments.log_bytes(), 40);
        let saved = Saved {
            checkpoint: 1,
            version: 3,
            number: 3,
            crc: 3,
        };
        segments.saved(7, saved);
        assert_eq!(segments.log_bytes(), 10);
        assert!(segments.place(7, &at(0, 2)).is_err(), "before the last one");
        assert_eq!(segments.place(7, &at(0, 3)).unwrap().number, 3);
        segments.forget(7);
        assert_eq!(segments.log_bytes(), 0);
        assert!(segments.by_bytes.is_empty());
    }

    #[test]
    fn an_answer_about_an_earlier_claim_changes_nothing() {
        let mut segments = Segments::default();
        let claimed = |claim| Segment {
            claim,
            ..Segment::default()
        };
        segments.insert(7, claimed(5));
        segments.forget_claim(7, 4);
        segments.kept(7, 4, Tail::default(), vec![record(1, Effect::Other, 10)]);
        let removed = Tail {
            is_removed: true,
            ..Tail::default()
        };
        segments.kept(7, 4, removed, Vec::new());
        assert!(segments.get(7).is_some_and(|s| s.claim == 5));
        assert_eq!(segments.log_bytes(), 0);
        segments.forget_claim(7, 5);
        assert!(segments.get(7).is_none());
    }

    #[test]
    fn a_doubt_ends_with_the_records_that_are_there() {
        let mut segments = with(vec![record(1, Effect::Other, 10)]);
        segments.doubt(7, vec![record(2, Effect::Release(1), 5)]);
        assert!(segments.is_undecided(7));
        segments.decide(7, 2, segments.get(7).map(|s| s.tail));
        assert_eq!(
            (segments.log_bytes(), segments.is_undecided(7)),
            (10, false)
        );
        segments.doubt(7, vec![record(2, Effect::Release(1), 5)]);
        let tail = Tail {
            head: 2,
            version: 1,
            ..Tail::default()
        };
        segments.decide(7, 3, Some(tail));
        assert_eq!(segments.log_bytes(), 15);
        assert_eq!(segments.get(7).unwrap().claim, 3);
    }

    #[test]
    fn the_segments_with_most_log_are_overdue_where_there_is_too_much_in_all() {
        let mut segments = Segments::default();
        for (id, bytes) in [(1, 10), (2, MUCH_LOG_BYTES), (3, LOG_BYTES_WANTED)] {
            let tail = Tail::default();
            segments.kept(id, 1, tail, vec![record(1, Effect::Other, bytes)]);
        }
        assert_eq!(segments.overdue(), [3, 2, 1]);
        let much = segments.with_much_log();
        assert_eq!(much, [(2, MUCH_LOG_BYTES), (3, LOG_BYTES_WANTED)]);
        segments.forget(3);
        assert!(segments.overdue().is_empty());
    }
}
