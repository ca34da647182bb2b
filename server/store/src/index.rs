//! What the writer knows of each segment: where its chain of records stands, and which records no
//! checkpoint covers yet. From that follows which log files can go [LOG-5].

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Instant;

use interweave_wire::protocol::{LogBody, VersionStamp};

use crate::history::{Effect, History, Uncovered, REMOVE};
use crate::saver::Saved;
use crate::StoreError;

#[derive(Debug, Clone)]
struct Segment {
    /// The crc of its last record.
    chain: u32,
    /// The crc of the last record that a checkpoint covers.
    covered: u32,
    version: u64,
    checkpointed: u64,
    checkpoint_bytes: u64,
    serials_below: u64,
    uncovered: VecDeque<Uncovered>,
    uncovered_bytes: u64,
    damage: Option<StoreError>,
    removed: bool,
    /// A checkpoint has failed: another is not asked for before then.
    postponed_until: Option<Instant>,
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
    segments: HashMap<u64, Segment>,
    /// Of each log file, by its first record's number: bytes, and records not covered.
    files: BTreeMap<u64, (u64, u64)>,
}

/// What the records admitted but not yet written will make of the segments.
#[derive(Debug, Default)]
pub struct Admission {
    /// The version, None once the segment is removed.
    versions: HashMap<u64, Option<u64>>,
}

impl Index {
    pub fn add_file(&mut self, first: u64, bytes: u64) {
        self.files.insert(first, (bytes, 0));
    }

    /// Takes up a segment as it was recovered. The files are known. Where a segment is damaged, the
    /// files with what may be its records stay.
    pub fn recover(&mut self, segment_id: u64, history: &History) {
        let head = history.checkpoint.as_ref().map(|loaded| &loaded.head);
        let mut uncovered: VecDeque<Uncovered> = history.uncovered.iter().copied().collect();
        if history.damage.is_some() {
            uncovered.extend(self.files.keys().map(|&file| Uncovered {
                file,
                crc: 0,
                bytes: 0,
                effect: Effect::Other,
            }));
        }
        for record in &uncovered {
            if let Some((_, live)) = self.files.get_mut(&record.file) {
                *live += 1;
            }
        }
        let segment = Segment {
            chain: history.chain(),
            covered: head.map_or(0, |head| head.parent),
            version: history.version,
            checkpointed: head.map_or(0, |head| head.at.number),
            checkpoint_bytes: head.map_or(0, |head| head.diff_bytes),
            serials_below: history.serials_below,
            uncovered_bytes: uncovered.iter().map(|record| record.bytes).sum(),
            uncovered,
            damage: history.damage.clone().map(StoreError::from),
            removed: false,
            postponed_until: None,
        };
        self.segments.insert(segment_id, segment);
    }

    pub fn chain(&self, segment_id: u64) -> u32 {
        self.segments.get(&segment_id).map_or(0, |s| s.chain)
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
            let damage = segment.and_then(|s| s.damage.clone());
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
        if let Some((bytes, _)) = self.files.get_mut(&file) {
            *bytes = end;
        }
    }

    fn wrote(&mut self, file: u64, record: &Written) {
        let segment = self.segments.entry(record.segment_id).or_insert(Segment {
            chain: 0,
            covered: 0,
            version: 0,
            checkpointed: 0,
            checkpoint_bytes: 0,
            serials_below: 0,
            uncovered: VecDeque::new(),
            uncovered_bytes: 0,
            damage: None,
            removed: false,
            postponed_until: None,
        });
        segment.chain = record.crc;
        match &record.body {
            LogBody::Release(release) => segment.version = release.version,
            LogBody::Incarnation(stamp) => segment.version = stamp.number,
            LogBody::Serials(below) => segment.serials_below = segment.serials_below.max(*below),
            LogBody::Create(_) | LogBody::Other(_) => {}
        }
        if record.body == REMOVE {
            segment.removed = true;
            let covered = std::mem::take(&mut segment.uncovered);
            segment.uncovered_bytes = 0;
            uncount(&mut self.files, covered.iter());
        }
        segment.uncovered_bytes += record.bytes;
        segment.uncovered.push_back(Uncovered {
            file,
            crc: record.crc,
            bytes: record.bytes,
            effect: Effect::of(&record.body),
        });
        if let Some((_, live)) = self.files.get_mut(&file) {
            *live += 1;
        }
    }

    /// The crc of the last record that a checkpoint at this version covers, and the bound of the
    /// serials that were logged.
    pub fn place(&self, segment_id: u64, at: &VersionStamp) -> Result<(u32, u64), StoreError> {
        let refused = |text: String| Err(StoreError::Io(text));
        let Some(segment) = self.segments.get(&segment_id).filter(|s| !s.removed) else {
            return refused(format!("no segment {segment_id} to checkpoint"));
        };
        if let Some(damage) = &segment.damage {
            return Err(damage.clone());
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
                Effect::Other => true,
            })
            .count();
        let last = (begin + covered).checked_sub(1).map(|i| records[i].crc);
        Ok((last.unwrap_or(segment.covered), segment.serials_below))
    }

    /// A checkpoint lasts: what it covers is no longer needed.
    pub fn covered(&mut self, saved: &Saved) {
        let segment = self.segments.get_mut(&saved.segment_id);
        let Some(segment) = segment.filter(|segment| !segment.removed) else {
            return;
        };
        segment.checkpointed = saved.version;
        segment.checkpoint_bytes = saved.diff_bytes;
        // MEMORY segments' releases are not in the log
        segment.version = segment.version.max(saved.version);
        let records = &mut segment.uncovered;
        if let Some(last) = records.iter().position(|r| r.crc == saved.parent) {
            segment.covered = saved.parent;
            let covered: Vec<Uncovered> = segment.uncovered.drain(..=last).collect();
            segment.uncovered_bytes -= covered.iter().map(|record| record.bytes).sum::<u64>();
            uncount(&mut self.files, covered.iter());
        }
    }

    /// A checkpoint of the segment has failed; it is not asked for at once again.
    pub fn postpone(&mut self, segment_id: u64, until: Instant) {
        if let Some(segment) = self.segments.get_mut(&segment_id) {
            segment.postponed_until = Some(until);
        }
    }

    /// Nothing of a removed segment is left but its log records.
    pub fn forget(&mut self, segment_id: u64) {
        if let Some(segment) = self.segments.remove(&segment_id) {
            uncount(&mut self.files, segment.uncovered.iter());
        }
    }

    /// Takes the oldest files that no segment needs out of the index. The order keeps the log whole
    /// from some record on, so that a missing file shows.
    pub fn take_unneeded(&mut self, current: u64) -> Vec<u64> {
        let mut unneeded = Vec::new();
        while let Some((&first, &(_, live))) = self.files.first_key_value() {
            if live > 0 || first == current {
                break;
            }
            self.files.remove(&first);
            unneeded.push(first);
        }
        unneeded
    }

    pub fn total_bytes(&self) -> u64 {
        self.files.values().map(|&(bytes, _)| bytes).sum()
    }

    pub fn file_count(&self) -> u64 {
        self.files.len() as u64
    }

    /// What all checkpoints hold, and the largest of them.
    pub fn checkpoint_bytes(&self) -> (u64, u64) {
        let sizes = self.segments.values().map(|s| s.checkpoint_bytes);
        sizes.fold((0, 0), |(sum, most), size| (sum + size, most.max(size)))
    }

    /// Whether checkpoints cover every record.
    pub fn is_covered(&self) -> bool {
        self.files.values().all(|&(_, live)| live == 0)
    }

    /// The segments that hold files which must go if the log is to have `bound` bytes at most; the
    /// holders of the oldest first, then the smallest. The file `kept` and newer ones may stay.
    pub fn overdue(&self, bound: u64, kept: Option<u64>, now: Instant) -> Vec<u64> {
        let mut rest = self.total_bytes();
        let mut last = None;
        for (&first, &(bytes, _)) in &self.files {
            if rest <= bound || Some(first) == kept {
                break;
            }
            rest -= bytes;
            last = Some(first);
        }
        let holds = |segment: &Segment| {
            let front = segment.uncovered.front()?.file;
            let savable = segment.damage.is_none() && !segment.removed;
            let postponed = segment.postponed_until.is_some_and(|until| now < until);
            (savable && !postponed && Some(front) <= last).then_some(front)
        };
        let mut holders: Vec<(u64, u64, u64)> = Vec::new();
        if last.is_some() {
            for (&id, segment) in &self.segments {
                let front = holds(segment);
                holders.extend(front.map(|file| (file, segment.checkpoint_bytes, id)));
            }
        }
        holders.sort_unstable();
        holders.into_iter().map(|(_, _, id)| id).collect()
    }
}

fn uncount<'a>(
    files: &mut BTreeMap<u64, (u64, u64)>,
    records: impl Iterator<Item = &'a Uncovered>,
) {
    for record in records {
        if let Some((_, live)) = files.get_mut(&record.file) {
            *live -= 1;
        }
    }
}

/// The segment's version after this record, if the record may follow; None: it is removed.
fn after(
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
