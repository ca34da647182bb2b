//! The segments of the server, by number and by path.
//!
//! Invariants: `paths`, `by_id` and `by_number` name the same segments. Numbers and ids are never
//! given twice.
//!
//! A segment whose number a peer or the store names may have been removed meanwhile. Such a number
//! is looked up with [`Segments::usable`], [`Segments::get`] or [`Segments::if_still_there`]. A
//! number that the present event took from here is looked up with [`Segments::found`].

use super::config::Config;
use super::number_map::NumberMap;
use super::segment::{Life, SegmentState};
use super::timers::Timers;
use super::wire::Closed;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{ErrorCode, OpenSegment};
use interweave_wire::Rejection;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

#[derive(Debug)]
pub struct Segments {
    /// In boxes, because the table has more places than segments.
    by_number: NumberMap<u32, Box<SegmentState>>,
    paths: BTreeMap<Arc<str>, u32>,
    /// By the store's numbers for them.
    by_id: NumberMap<u64, u32>,
    /// Those that damage has stopped.
    damaged: BTreeSet<u32>,
    /// Damaged segments whose paths are lost [LOG-12].
    nameless: Vec<u32>,
    /// When each segment's locks are looked at.
    pub timers: Timers<u32>,
    last_number: u32,
    last_id: u64,
    last_incarnation: u64,
}

impl Segments {
    /// Ids and incarnations begin above `first`.
    pub fn new(first: u64) -> Self {
        Segments {
            by_number: NumberMap::default(),
            paths: BTreeMap::new(),
            by_id: NumberMap::default(),
            damaged: BTreeSet::new(),
            nameless: Vec::new(),
            timers: Timers::default(),
            last_number: 0,
            last_id: first,
            last_incarnation: first,
        }
    }

    /// Returns the segment that a peer names, if it may be used.
    pub fn usable(&mut self, number: u32) -> Result<&mut SegmentState, Rejection> {
        let Some(segment) = self.by_number.get_mut(&number) else {
            let text = format!("segment number {number} was removed; open it anew");
            return Err(Rejection::new(ErrorCode::Removed, text));
        };
        match &segment.life {
            Life::Open | Life::Giving => Ok(segment),
            Life::Creating | Life::ToRemove(_) | Life::Removing => Err(removed(&segment.path)),
            Life::Damaged(what) => Err(damaged(&segment.path, what)),
        }
    }

    /// Returns the segment that a peer names, also one that may not be used. None: no segment has
    /// that number.
    pub fn get(&self, number: u32) -> Option<&SegmentState> {
        self.by_number.get(&number).map(Box::as_ref)
    }

    /// Returns a segment for which something was under way. None: the segment was removed
    /// meanwhile, so the caller forgets what was under way.
    pub fn if_still_there(&mut self, number: u32) -> Option<&mut SegmentState> {
        self.by_number.get_mut(&number).map(Box::as_mut)
    }

    /// Returns a segment that the present event has found or made, so it is there.
    pub fn found(&mut self, number: u32) -> &mut SegmentState {
        let segment = self.by_number.get_mut(&number);
        segment.expect("nothing of this event has removed the segment")
    }

    /// The segment that the store names, whatever its life; None: it was removed meanwhile.
    pub fn with_id(&self, id: u64) -> Option<&SegmentState> {
        self.get(*self.by_id.get(&id)?)
    }

    /// Damage has stopped the segment.
    pub fn note_damaged(&mut self, number: u32) {
        self.damaged.insert(number);
    }

    pub fn damaged(&self) -> impl ExactSizeIterator<Item = &u32> {
        self.damaged.iter()
    }

    pub fn number_at(&self, path: &str) -> Option<u32> {
        self.paths.get(path).copied()
    }

    pub fn len(&self) -> usize {
        self.by_number.len()
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut SegmentState> {
        self.by_number.values_mut().map(Box::as_mut)
    }

    /// Returns the segments from that path on, in order.
    pub fn starting_at(&self, from: Bound<&str>) -> impl Iterator<Item = &SegmentState> {
        let paths = self.paths_from(from);
        paths.filter_map(|(_, number)| self.get(number))
    }

    /// Returns the paths from that one on, in order, and the numbers of their segments.
    pub fn paths_from(&self, from: Bound<&str>) -> impl Iterator<Item = (&str, u32)> {
        let paths = self.paths.range::<str, _>((from, Bound::Unbounded));
        paths.map(|(path, number)| (&**path, *number))
    }

    pub fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// Makes sure that no segment is given that id.
    pub fn skip_id(&mut self, id: u64) {
        self.last_id = self.last_id.max(id);
    }

    pub fn next_incarnation(&mut self) -> u64 {
        self.last_incarnation += 1;
        self.last_incarnation
    }

    /// Gives the segment its number and its place among the paths.
    pub fn add(&mut self, mut segment: SegmentState) -> &mut SegmentState {
        self.last_number += 1;
        segment.number = self.last_number;
        self.paths.insert(segment.path.clone(), self.last_number);
        self.by_id.insert(segment.id, self.last_number);
        if matches!(segment.life, Life::Damaged(_)) {
            self.damaged.insert(self.last_number);
        }
        let place = self.by_number.entry(self.last_number);
        place.or_insert_with(|| Box::new(segment))
    }

    /// Takes all segments out, so that the caller can let them go elsewhere.
    pub fn take_all(&mut self) -> impl Send + 'static {
        let by_id = std::mem::take(&mut self.by_id);
        let paths = std::mem::take(&mut self.paths);
        (std::mem::take(&mut self.by_number), paths, by_id)
    }

    /// Notes that the segment's own path is lost.
    pub fn note_nameless(&mut self, number: u32) {
        self.nameless.push(number);
    }

    /// Refuses a segment beyond the number of segments, or beyond the largest quota.
    pub fn check_bounds(&self, r: &OpenSegment, config: &Config) -> Result<(), Rejection> {
        let (most, most_bytes) = (config.max_segments, config.max_quota_bytes);
        let text = if self.len() >= most {
            format!(
                "segment {} was to be created; this server has {} and creates no more than {most}: \
                 remove some, or start it with a larger --max-segments",
                r.path,
                self.len()
            )
        } else if r.quota_bytes > most_bytes {
            format!(
                "segment {} was to be created with a quota of {} bytes; this server gives at most \
                 {most_bytes}: ask for less, or start it with a larger --max-quota",
                r.path, r.quota_bytes
            )
        } else {
            return Ok(());
        };
        Err(Rejection::new(ErrorCode::TooLarge, text))
    }

    /// Refuses to make a segment while a damaged one has no path, because it may be the same
    /// [LOG-12].
    pub fn check_nameless(&self, path: &str) -> Result<(), Rejection> {
        let nameless = match planted::is_in(Defect::NamelessForgotten) {
            true => &[],
            false => &self.nameless[..],
        };
        let nameless = nameless.iter().filter_map(|n| self.by_number.get(n));
        let Some(first) = nameless.map(|s| &*s.path).min() else {
            return Ok(());
        };
        let text = format!(
            "segment {path} was to be created; it may be one of {} damaged segments whose names \
             are lost: restore a backup of the store, or remove those that are not missed, first \
             {first} (interweave rm)",
            self.nameless.len()
        );
        Err(Rejection::new(ErrorCode::Damaged, text))
    }

    /// Takes a removed segment out; None: it was removed before.
    pub fn remove(&mut self, number: u32) -> Option<SegmentState> {
        let segment = *self.by_number.remove(&number)?;
        self.paths.remove(&segment.path);
        self.by_id.remove(&segment.id);
        self.damaged.remove(&number);
        self.nameless.retain(|n| *n != number);
        Some(segment)
    }

    /// Arms the timer for the segment's next lease or deadline. One that has passed and stays is
    /// looked at again, but after `now_ns`: otherwise the server would look at nothing else.
    pub fn arm(&mut self, number: u32, now_ns: u64) {
        let Some(segment) = self.by_number.get(&number) else {
            return;
        };
        let next = [
            segment.lock.next_deadline_ns(),
            segment.hands_over_until_ns(),
        ];
        if let Some(deadline_ns) = next.into_iter().flatten().min() {
            self.timers.arm(number, deadline_ns.max(now_ns + 1));
        }
    }

    /// Lets segments forget a connection that is gone. A segment that it had open may be gone, too.
    /// Returns those whose lock somebody waits for, who can have it now or after a grace.
    pub fn forget(&mut self, closed: &Closed, now_ns: u64) -> Vec<u32> {
        let mut free = Vec::new();
        for number in closed.open.iter().chain(&closed.locks) {
            if let Some(segment) = self.by_number.get_mut(number) {
                if segment.forget(closed, now_ns) {
                    free.push(*number);
                }
            }
        }
        free
    }
}

pub fn removed(path: &str) -> Rejection {
    let text = format!("segment {path} is being removed or made; open it anew");
    Rejection::new(ErrorCode::Removed, text)
}

pub fn damaged(path: &str, what: &str) -> Rejection {
    let text = format!(
        "segment {path} is stopped because its stored bytes are damaged: {what}; restore a backup \
         of the store, or remove the segment (interweave rm)"
    );
    Rejection::new(ErrorCode::Damaged, text)
}
