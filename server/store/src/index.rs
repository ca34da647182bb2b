//! What the writer knows of each segment: where its chain of records stands, and which records no
//! checkpoint covers yet. From that follows which log files can go [LOG-5].

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

use interweave_wire::protocol::{LogBody, VersionStamp};

use crate::damage::Damage;
use crate::history::{Effect, History, Uncovered, REMOVE};
use crate::holders::{Hold, Holders};
use crate::saver::Saved;
use crate::store::End;
use crate::StoreError;

#[derive(Debug, Default)]
struct Segment {
    /// The crc of its last record.
    chain: u32,
    /// The crc of the last record that a checkpoint covers.
    covered: u32,
    incarnation: u64,
    version: u64,
    checkpointed: u64,
    checkpoint_bytes: u64,
    serials_below: u64,
    uncovered: VecDeque<Uncovered>,
    uncovered_bytes: u64,
    damage: Option<Box<StoreError>>,
    removed: bool,
    /// A checkpoint has failed lately: another is not asked for yet.
    is_postponed: bool,
}

impl Segment {
    fn hold(&self) -> Hold {
        let is_savable = self.damage.is_none() && !self.removed && !self.is_postponed;
        let oldest = self.uncovered.front().filter(|_| is_savable);
        Hold {
            oldest_file: oldest.map(|record| record.file),
            checkpoint_bytes: self.checkpoint_bytes,
            log_bytes: self.uncovered_bytes,
        }
    }
}

/// The log files, by their first records' numbers.
#[derive(Debug, Default)]
struct Files {
    /// Of each: bytes, and records that no checkpoint covers.
    by_first: BTreeMap<u64, (u64, u64)>,
    /// The sums of both.
    bytes: u64,
    uncovered: u64,
}

impl Files {
    fn set_bytes(&mut self, first: u64, bytes: u64) {
        let file = self.by_first.entry(first).or_default();
        self.bytes = self.bytes - file.0 + bytes;
        file.0 = bytes;
    }

    fn count(&mut self, first: u64) {
        if let Some((_, uncovered)) = self.by_first.get_mut(&first) {
            *uncovered += 1;
            self.uncovered += 1;
        }
    }

    fn uncount<'a>(&mut self, records: impl Iterator<Item = &'a Uncovered>) {
        for record in records {
            if let Some((_, uncovered)) = self.by_first.get_mut(&record.file) {
                *uncovered -= 1;
                self.uncovered -= 1;
            }
        }
    }

    /// Takes the oldest file out, unless somebody needs it.
    fn take_unneeded(&mut self, current: u64) -> Option<u64> {
        let (&first, &(bytes, uncovered)) = self.by_first.first_key_value()?;
        if uncovered > 0 || first == current {
            return None;
        }
        self.bytes -= bytes;
        self.by_first.remove(&first);
        Some(first)
    }
}

/// A record that was written.
#[derive(Debug, Clone)]
pub struct Written {
    pub segment_id: u64,
    pub crc: u32,
    pub bytes: u64,
    pub body: LogBody,
}

#[derive(Debug, Default)]
pub struct Index {
    /// In boxes, because the table has more places than segments.
    segments: HashMap<u64, Box<Segment>>,
    files: Files,
    holders: Holders,
}

/// What the records admitted but not yet written will make of the segments.
#[derive(Debug, Default)]
pub struct Admission {
    /// The version, None once the segment is removed.
    versions: HashMap<u64, Option<u64>>,
}

impl Index {
    pub fn add_file(&mut self, first: u64, bytes: u64) {
        self.files.set_bytes(first, bytes);
    }

    /// Changes what is known of a segment, if it is known.
    fn change(&mut self, segment_id: u64, change: impl FnOnce(&mut Segment, &mut Files)) {
        if let Some(segment) = self.segments.get_mut(&segment_id) {
            let before = segment.hold();
            change(segment, &mut self.files);
            self.holders
                .changed(segment_id, Some(before), Some(segment.hold()));
        }
    }

    /// Takes up a segment as it was recovered. The files are known. Where a segment is damaged, the
    /// files with what may be its records stay. The record of a removal stays until the segment is
    /// forgotten.
    pub fn recover(&mut self, segment_id: u64, history: &History) {
        let head = history.checkpoint.as_ref().map(|loaded| &loaded.head);
        let uncovered = self.needed_of(history);
        for record in &uncovered {
            self.files.count(record.file);
        }
        let segment = Segment {
            chain: history.chain(),
            covered: head.map_or(0, |head| head.parent),
            incarnation: history.incarnation,
            version: history.version,
            checkpointed: head.map_or(0, |head| head.at.number),
            checkpoint_bytes: head.map_or(0, |head| head.diff_bytes),
            serials_below: history.serials_below,
            uncovered_bytes: uncovered.iter().map(|record| record.bytes).sum(),
            uncovered,
            damage: history
                .damage
                .as_ref()
                .map(|damage| Box::new(StoreError::from(Damage::clone(damage)))),
            removed: history.removed,
            is_postponed: false,
        };
        let hold = segment.hold();
        self.holders.changed(segment_id, None, Some(hold));
        self.segments.insert(segment_id, Box::new(segment));
    }

    /// The records for which log files stay. Where the record of a removal is whole, no other
    /// record of the segment is read again, whatever is wrong with it.
    fn needed_of(&self, history: &History) -> VecDeque<Uncovered> {
        let mut records = history.uncovered.iter();
        if let Some(removal) = records.rfind(|record| record.effect == Effect::Removal) {
            return VecDeque::from([*removal]);
        }
        let mut needed: VecDeque<Uncovered> = history.uncovered.iter().copied().collect();
        if history.damage.is_some() {
            needed.extend(self.files.by_first.keys().map(|&file| Uncovered {
                file,
                crc: 0,
                bytes: 0,
                effect: Effect::Other,
            }));
        }
        needed
    }

    pub fn chain(&self, segment_id: u64) -> u32 {
        self.segments.get(&segment_id).map_or(0, |s| s.chain)
    }

    /// Where the segment ends.
    pub fn end(&self, segment_id: u64) -> End {
        let segment = self.segments.get(&segment_id).filter(|s| !s.removed);
        segment.map_or(End::Absent, |segment| End::At {
            incarnation: segment.incarnation,
            version: segment.version,
            serials_below: segment.serials_below,
        })
    }

    pub fn log_bytes(&self, segment_id: u64) -> u64 {
        let segment = self.segments.get(&segment_id);
        segment.map_or(0, |segment| segment.uncovered_bytes)
    }

    /// May these records be written after those admitted before?
    pub fn admit<'a>(
        &self,
        admission: &mut Admission,
        records: impl Iterator<Item = (u64, &'a LogBody)>,
    ) -> Result<(), StoreError> {
        let mut changed: HashMap<u64, Option<u64>> = HashMap::new();
        for (segment_id, body) in records {
            let segment = self.segments.get(&segment_id);
            let version = changed
                .get(&segment_id)
                .or_else(|| admission.versions.get(&segment_id))
                .copied()
                .unwrap_or_else(|| segment.filter(|s| !s.removed).map(|s| s.version));
            let used = segment.is_some()
                || changed.contains_key(&segment_id)
                || admission.versions.contains_key(&segment_id);
            let damage = segment.and_then(|s| s.damage.as_deref().cloned());
            let next = after(segment_id, version, used, damage, body)?;
            changed.insert(segment_id, next);
        }
        admission.versions.extend(changed);
        Ok(())
    }

    /// Takes note of records that are in the log.
    pub fn written(&mut self, file: u64, end: u64, records: &[Written]) {
        for record in records {
            self.wrote(file, record);
        }
        self.files.set_bytes(file, end);
    }

    fn wrote(&mut self, file: u64, record: &Written) {
        if !self.segments.contains_key(&record.segment_id) {
            let segment = Segment::default();
            self.holders
                .changed(record.segment_id, None, Some(segment.hold()));
            self.segments.insert(record.segment_id, Box::new(segment));
        }
        self.change(record.segment_id, |segment, files| {
            segment.wrote(file, record, files);
        });
    }

    /// The crc of the last record that a checkpoint at this version covers, and the bound of the
    /// serials that were logged.
    pub fn place(&self, segment_id: u64, at: &VersionStamp) -> Result<(u32, u64), StoreError> {
        let refused = |text: String| Err(StoreError::Io(text));
        let Some(segment) = self.segments.get(&segment_id).filter(|s| !s.removed) else {
            return refused(format!("no segment {segment_id} to checkpoint"));
        };
        if let Some(damage) = &segment.damage {
            return Err(StoreError::clone(damage));
        }
        if at.number < segment.checkpointed {
            return refused(format!(
                "a checkpoint of segment {segment_id} at version {}, before the one at {}",
                at.number, segment.checkpointed
            ));
        }
        let records = &segment.uncovered;
        let begun = Effect::Incarnation(at.incarnation);
        let begin = records.iter().rposition(|record| record.effect == begun);
        let begin = begin.map_or(0, |i| i + 1);
        let covered = records
            .iter()
            .skip(begin)
            .take_while(|record| match record.effect {
                Effect::Release(version) => version <= at.number,
                // earlier ones, where its own could not be logged
                Effect::Incarnation(earlier) => earlier < at.incarnation,
                Effect::Removal | Effect::Other => true,
            })
            .count();
        let last = (begin + covered).checked_sub(1).map(|i| records[i].crc);
        Ok((last.unwrap_or(segment.covered), segment.serials_below))
    }

    /// A checkpoint lasts: what it covers is no longer needed.
    pub fn covered(&mut self, saved: &Saved) {
        self.change(saved.segment_id, |segment, files| {
            if !segment.removed {
                segment.covered(saved, files);
            }
        });
    }

    /// A checkpoint of the segment has failed; it is not asked for at once again.
    pub fn postpone(&mut self, segment_id: u64, until: Instant) {
        self.change(segment_id, |segment, _| segment.is_postponed = true);
        self.holders.postpone(segment_id, until);
    }

    /// Nothing of a removed segment is left but its log records.
    pub fn forget(&mut self, segment_id: u64) {
        if let Some(segment) = self.segments.remove(&segment_id) {
            self.holders.changed(segment_id, Some(segment.hold()), None);
            self.files.uncount(segment.uncovered.iter());
        }
    }

    /// Takes the oldest files that no segment needs out of the index. The order keeps the log whole
    /// from some record on, so that a missing file shows.
    pub fn take_unneeded(&mut self, current: u64) -> Vec<u64> {
        std::iter::from_fn(|| self.files.take_unneeded(current)).collect()
    }

    pub fn total_bytes(&self) -> u64 {
        self.files.bytes
    }

    pub fn file_count(&self) -> u64 {
        self.files.by_first.len() as u64
    }

    /// What all checkpoints hold, and the largest of them.
    pub fn checkpoint_bytes(&self) -> (u64, u64) {
        self.holders.checkpoint_bytes()
    }

    /// Whether checkpoints cover every record.
    pub fn is_covered(&self) -> bool {
        self.files.uncovered == 0
    }

    /// Of the segments that hold files which must go if the log is to have `bound` bytes at most,
    /// the first: the holders of the oldest, then the smallest. The file `kept` and newer ones may
    /// stay.
    pub fn overdue(&mut self, bound: u64, kept: Option<u64>, now: Instant) -> Vec<u64> {
        while let Some(id) = self.holders.take_resumed(now) {
            self.change(id, |segment, _| segment.is_postponed = false);
        }
        let mut rest = self.files.bytes;
        let mut last = None;
        for (&first, &(bytes, _)) in &self.files.by_first {
            if rest <= bound || Some(first) == kept {
                break;
            }
            rest -= bytes;
            last = Some(first);
        }
        last.map_or(Vec::new(), |last| self.holders.holding(last))
    }

    /// The segments with [`MUCH_LOG_BYTES`](crate::MUCH_LOG_BYTES) of log or more, and how much.
    pub fn with_much_log(&self) -> Vec<(u64, u64)> {
        let ids = self.holders.with_much();
        ids.map(|id| (id, self.log_bytes(id))).collect()
    }
}

impl Segment {
    fn wrote(&mut self, file: u64, record: &Written, files: &mut Files) {
        self.chain = record.crc;
        match &record.body {
            LogBody::Release(release) => self.version = release.version,
            LogBody::Incarnation(stamp) => {
                self.incarnation = stamp.incarnation;
                self.version = stamp.number;
            }
            LogBody::Serials(below) => self.serials_below = self.serials_below.max(*below),
            LogBody::Create(create) => self.incarnation = create.incarnation,
            LogBody::Other(_) => {}
        }
        if record.body == REMOVE {
            self.removed = true;
            files.uncount(std::mem::take(&mut self.uncovered).iter());
            self.uncovered_bytes = 0;
        }
        self.uncovered_bytes += record.bytes;
        self.uncovered.push_back(Uncovered {
            file,
            crc: record.crc,
            bytes: record.bytes,
            effect: Effect::of(&record.body),
        });
        files.count(file);
    }

    fn covered(&mut self, saved: &Saved, files: &mut Files) {
        self.checkpointed = saved.version;
        self.checkpoint_bytes = saved.diff_bytes;
        // MEMORY segments' releases are not in the log
        self.version = self.version.max(saved.version);
        let records = &mut self.uncovered;
        if let Some(last) = records.iter().position(|r| r.crc == saved.parent) {
            self.covered = saved.parent;
            let covered: Vec<Uncovered> = records.drain(..=last).collect();
            self.uncovered_bytes -= covered.iter().map(|record| record.bytes).sum::<u64>();
            files.uncount(covered.iter());
        }
    }
}

/// The segment's version after this record, if the record may follow; None: it is removed. `used`
/// says that the segment's number was given before.
pub fn after(
    segment_id: u64,
    version: Option<u64>,
    used: bool,
    damage: Option<StoreError>,
    body: &LogBody,
) -> Result<Option<u64>, StoreError> {
    let refused = |text: String| Err(StoreError::Io(text));
    if segment_id == 0 {
        return refused("0 is not a segment's number".to_string());
    }
    if let LogBody::Create(_) = body {
        return match used {
            true => refused(format!("segment {segment_id} was created before")),
            false => Ok(Some(0)),
        };
    }
    let Some(version) = version else {
        return refused(format!("the store has no segment {segment_id}"));
    };
    if *body == REMOVE {
        return Ok(None);
    }
    if let Some(damage) = damage {
        return Err(damage);
    }
    match body {
        LogBody::Release(release) if Some(release.version) != version.checked_add(1) => {
            refused(format!(
                "version {} of segment {segment_id} follows {version}",
                release.version
            ))
        }
        LogBody::Release(release) => Ok(Some(release.version)),
        LogBody::Incarnation(stamp) => Ok(Some(stamp.number)),
        LogBody::Serials(_) => Ok(Some(version)),
        LogBody::Create(_) | LogBody::Other(_) => {
            refused("only the store itself writes such a record".to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_5_the_log_is_covered_when_a_checkpoint_covers_the_last_record() {
        let mut index = Index::default();
        index.add_file(0, 88);
        assert!(index.is_covered());
        let written = |crc| Written {
            segment_id: 1,
            crc,
            bytes: 100,
            body: LogBody::Serials(1 << 20),
        };
        index.written(0, 288, &[written(5), written(6)]);
        let saved = |parent| Saved {
            segment_id: 1,
            parent,
            version: 0,
            diff_bytes: 0,
            result: Ok(()),
            done: Box::new(drop),
        };
        for (parent, rest) in [(5, 100), (6, 0)] {
            assert!(!index.is_covered());
            index.covered(&saved(parent));
            assert_eq!(index.log_bytes(1), rest);
        }
        assert!(index.is_covered());
    }
}
