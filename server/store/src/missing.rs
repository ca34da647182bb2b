//! What the catalogue knows of segments that the log and the checkpoints show only in part, or not
//! at all [LOG-11].

use std::collections::HashMap;

use interweave_wire::protocol::LogBody;

use crate::catalogue::{Entry, Listed, State};
use crate::history::History;
use crate::recovery::Found;
use crate::scan;

/// The segment that the group creates, and the group's bytes, if it does nothing else.
pub fn creation_of(group: &[scan::Found]) -> Option<(u64, u64)> {
    let first = group.first()?;
    let segment_id = first.header.segment_id;
    let alone = group.iter().all(|r| r.header.segment_id == segment_id);
    let creates = matches!(first.header.body, LogBody::Create(_));
    (alone && creates).then(|| (segment_id, group.iter().map(|record| record.span).sum()))
}

impl Found {
    /// Segments of which nothing was found, but which the catalogue has: their creation is damaged
    /// or lost. The creation of a segment that was not on the disk may be lost with the power, and
    /// the segment with it [LOG-7], unless a hole shows that there was damage.
    pub(crate) fn add_missing(&mut self, listed: &Listed) {
        let may_be_lost = !self.clean && self.unexplained.is_empty();
        for (&segment_id, entry) in listed.entries.iter().filter(|_| listed.whole) {
            let unsynced = matches!(entry.state, State::Created { synced: false, .. });
            if !(unsynced && may_be_lost) {
                self.histories
                    .entry(segment_id)
                    .or_insert_with(|| History::new(segment_id, None));
            }
        }
    }

    /// The creations that were not found, and of which no hole tells, lay in the holes of which
    /// nothing is known. If they fill these to the byte no other segment has lost a record there.
    pub(crate) fn explain_holes(&mut self, listed: &Listed) {
        let Some((first, _)) = self.unexplained.first() else {
            return;
        };
        let lost = self.histories.iter().filter_map(|(id, history)| {
            let entry = listed
                .entries
                .get(id)
                .filter(|_| history.has_no_beginning() && history.damage.is_none());
            match entry?.state {
                State::Created { bytes, .. } => Some((*id, bytes)),
                State::Checkpoint(_) => None,
            }
        });
        let lost: Vec<(u64, u64)> = lost.collect();
        let lost_bytes: u64 = lost.iter().map(|&(_, bytes)| bytes).sum();
        let is_known = lost.iter().all(|&(_, bytes)| bytes > 0);
        let hole_bytes: u64 = self.unexplained.iter().map(|&(_, bytes)| bytes).sum();
        if lost.is_empty() || !is_known || lost_bytes != hole_bytes {
            return;
        }
        for (id, history) in &mut self.histories {
            match lost.iter().any(|(lost, _)| lost == id) {
                true => history.lost(first),
                false => history.clear(),
            }
        }
        self.unexplained.clear();
    }

    /// Where bytes of unknown segments are damaged and the catalogue is not whole, there may have
    /// been a segment of which nothing is left, not even its number. It gets one that no other has:
    /// no server gives the first number of an epoch.
    pub(crate) fn add_unknown(&mut self, listed: &Listed) {
        let holes = self.unexplained.iter().map(|(damage, _)| damage);
        let packs = self.unread_packs.iter().map(|(_, damage)| damage);
        let damage = holes.chain(packs).next().filter(|_| !listed.whole);
        if let Some(damage) = damage.cloned() {
            let id = self.epoch.max(1) << 32;
            let unknown = self.histories.entry(id);
            unknown
                .or_insert_with(|| History::new(id, None))
                .lost(&damage);
        }
    }

    /// A path is given anew only after the segment that had it was removed: if the record of that
    /// is damaged, the newer segment of the path shows it.
    pub(crate) fn end_outlived(&mut self, listed: &Listed) {
        let path_of = |id: u64, history: &History| {
            let known = || listed.entries.get(&id).and_then(Entry::known_path);
            history.path().or_else(known).map(String::from)
        };
        let mut newest: HashMap<String, u64> = HashMap::new();
        for (&id, history) in self.histories.iter().filter(|(_, h)| !h.removed) {
            // in the order of their numbers, which grow
            newest.extend(path_of(id, history).map(|path| (path, id)));
        }
        for (&id, history) in self
            .histories
            .iter_mut()
            .filter(|(_, h)| h.damage.is_some())
        {
            let path = path_of(id, history);
            history.removed |= path
                .and_then(|path| newest.get(&path))
                .is_some_and(|&n| n > id);
        }
    }
}
