//! What is to be saved as a whole, and what is being saved.
//!
//! Invariants: `unsaved` has the segments with something that no log keeps, and only they make a
//! stop wait for checkpoints; a segment has one checkpoint under way at most. Nothing here looks at
//! all segments, because there may be a million of them.

use super::timers::Timers;
use std::collections::{BTreeSet, HashMap};

/// So many checkpoints are under way at a time, because each costs the store some system calls.
/// Those that are made in memory first are of small segments, so these take 256 MiB at most.
pub const COUNT_MAX: usize = 256;
/// And so many of them are in pieces: more would write no faster together.
const LARGE_MAX: usize = 1;
/// At most so many of them are checkpoints that the store wants. So MEMORY segments have places,
/// and neither kind waits for the other for ever.
pub const COUNT_FOR_STORE: usize = 192;
/// So many begin in one event, because everybody else waits meanwhile. One takes some 7 us.
const TURN: usize = 48;

#[derive(Debug, Default)]
pub struct Saving {
    unsaved: BTreeSet<u32>,
    /// When segments are saved that no log keeps.
    due: Timers<u32>,
    /// The creations that the store has not taken: these segments cannot be saved.
    unlogged: BTreeSet<u32>,
    under_way: HashMap<u32, UnderWay>,
    /// How many of them are in pieces.
    large: usize,
    /// The store wants a large segment saved. Meanwhile no checkpoint in pieces of a MEMORY segment
    /// begins.
    pub makes_room: bool,
    /// What is saved before the server ends: the next one last.
    at_the_end: Vec<u32>,
}

#[derive(Debug)]
struct UnderWay {
    is_large: bool,
    /// The checkpoint has something that no log keeps.
    was_unsaved: bool,
    /// It was given up: it will not be there.
    is_given_up: bool,
}

/// Whether all that was due is being saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    ForAll,
    /// Too many checkpoints are under way.
    NotForMore,
    /// One in pieces must end before another begins.
    NotForLarge,
    /// Others have their turn first.
    NextTurn,
}

impl Saving {
    /// The segment has something that no log keeps.
    pub fn changed(&mut self, number: u32) {
        self.unsaved.insert(number);
    }

    /// The segment has something that no log keeps, and is to be saved at that time.
    pub fn changed_until(&mut self, number: u32, at_ns: u64) {
        self.unsaved.insert(number);
        self.due.arm(number, at_ns);
    }

    /// The segments whose time has come, as many as may be saved together.
    pub fn take_due(&mut self, now_ns: u64) -> Vec<u32> {
        let room = COUNT_MAX.saturating_sub(self.under_way.len()).min(TURN);
        let due = std::iter::from_fn(|| self.due.pop(now_ns));
        due.take(room).collect()
    }

    /// The segment was due, and its last change is not being saved: it is due again at that time.
    pub fn postpone(&mut self, number: u32, at_ns: u64) {
        if self.unsaved.contains(&number) {
            self.due.arm(number, at_ns);
        }
    }

    pub fn not_logged(&mut self, number: u32) {
        self.unlogged.insert(number);
    }

    pub fn take_unlogged(&mut self) -> BTreeSet<u32> {
        std::mem::take(&mut self.unlogged)
    }

    /// Whether a checkpoint, in pieces or whole, may begin, of at most so many. `begun`: how many
    /// began in this event.
    pub fn room(&self, is_large: bool, most: usize, begun: usize) -> Room {
        if self.under_way.len() >= most {
            Room::NotForMore
        } else if begun >= TURN {
            Room::NextTurn
        } else if is_large && self.large >= LARGE_MAX {
            Room::NotForLarge
        } else {
            Room::ForAll
        }
    }

    pub fn may_begin(&self, number: u32) -> bool {
        !self.under_way.contains_key(&number) && !self.unlogged.contains(&number)
    }

    /// A checkpoint, in pieces or whole, is under way.
    pub fn begin(&mut self, number: u32, is_large: bool) {
        let under_way = UnderWay {
            is_large,
            was_unsaved: self.unsaved.remove(&number),
            is_given_up: false,
        };
        self.under_way.insert(number, under_way);
        self.large += usize::from(is_large);
    }

    /// The log has all that the checkpoint under way has.
    pub fn is_in_log(&self, number: u32) -> bool {
        let under_way = self.under_way.get(&number);
        under_way.is_some_and(|under_way| !under_way.was_unsaved)
    }

    /// The checkpoint under way will not be there.
    pub fn give_up(&mut self, number: u32) {
        if let Some(under_way) = self.under_way.get_mut(&number) {
            under_way.is_given_up = true;
        }
    }

    /// The store has, or has not, taken the checkpoint. Returns whether it has.
    pub fn ended(&mut self, number: u32, is_taken: bool) -> bool {
        let Some(ended) = self.under_way.remove(&number) else {
            return is_taken;
        };
        self.large -= usize::from(ended.is_large);
        let is_saved = is_taken && !ended.is_given_up;
        if ended.was_unsaved && !is_saved {
            self.unsaved.insert(number);
        }
        is_saved
    }

    /// The segment was removed.
    pub fn forget(&mut self, number: u32) {
        self.unsaved.remove(&number);
        self.unlogged.remove(&number);
    }

    /// The server ends: all that is unsaved is to be saved, in the order that `key` gives.
    pub fn begin_end(&mut self, key: impl Fn(u32) -> u64) {
        self.at_the_end = self.unsaved.iter().copied().collect();
        let order = |number: &u32| std::cmp::Reverse(key(*number));
        self.at_the_end.sort_by_key(order);
    }

    /// The next segment that is saved before the server ends.
    pub fn next_at_the_end(&self) -> Option<u32> {
        self.at_the_end.last().copied()
    }

    pub fn pop_at_the_end(&mut self) {
        self.at_the_end.pop();
    }

    /// Whether a log or a checkpoint keeps all of that segment.
    pub fn has_all_of(&self, number: u32) -> bool {
        !self.unsaved.contains(&number) && !self.under_way.contains_key(&number)
    }

    /// Whether a log or a checkpoint keeps everything.
    pub fn is_saved(&self) -> bool {
        self.unsaved.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_begin_while_there_is_room_for_their_kind() {
        let mut saving = Saving::default();
        assert_eq!(saving.room(true, 2, 0), Room::ForAll);
        saving.begin(1, true);
        assert_eq!(saving.room(true, 2, 0), Room::NotForLarge);
        assert_eq!(saving.room(false, 2, 0), Room::ForAll);
        assert_eq!(saving.room(false, 2, TURN - 1), Room::ForAll);
        assert_eq!(saving.room(false, 2, TURN), Room::NextTurn);
        saving.begin(2, false);
        assert_eq!(saving.room(false, 2, 0), Room::NotForMore);
        assert!(saving.ended(1, true));
        assert_eq!(saving.room(true, 2, 0), Room::ForAll);
    }

    #[test]
    fn only_a_checkpoint_that_was_taken_and_not_given_up_saves_its_segment() {
        for (is_given_up, is_taken) in [(false, false), (false, true), (true, false), (true, true)]
        {
            let mut saving = Saving::default();
            saving.changed(7);
            assert!(!saving.is_saved() && saving.may_begin(7));
            saving.begin(7, false);
            assert!(!saving.may_begin(7) && !saving.is_in_log(7));
            if is_given_up {
                saving.give_up(7);
            }
            let is_saved = is_taken && !is_given_up;
            assert_eq!(saving.ended(7, is_taken), is_saved);
            assert_eq!(saving.is_saved(), is_saved);
            assert!(saving.may_begin(7));
        }
    }

    #[test]
    fn a_segment_that_the_log_has_is_saved_whatever_becomes_of_its_checkpoint() {
        let mut saving = Saving::default();
        saving.begin(7, false);
        assert!(saving.is_in_log(7) && !saving.is_in_log(8));
        assert!(!saving.ended(7, false) && saving.is_saved());
        assert!(
            saving.ended(8, true),
            "it was removed, and is saved no more"
        );
    }

    #[test]
    fn segments_are_due_in_time_and_again_while_they_are_unsaved() {
        let mut saving = Saving::default();
        saving.changed_until(1, 100);
        saving.changed_until(2, 200);
        assert!(saving.take_due(99).is_empty());
        assert_eq!(saving.take_due(100), [1]);
        saving.postpone(1, 300);
        saving.postpone(3, 250);
        assert_eq!(saving.take_due(300), [2, 1], "3 has nothing to save");
        saving.begin(1, false);
        saving.postpone(1, 400);
        assert!(saving.take_due(400).is_empty());
    }

    #[test]
    fn what_the_store_has_not_taken_the_creation_of_does_not_begin() {
        let mut saving = Saving::default();
        saving.not_logged(3);
        assert!(!saving.may_begin(3));
        assert_eq!(saving.take_unlogged(), BTreeSet::from([3]));
        assert!(saving.may_begin(3));
        saving.not_logged(3);
        saving.changed(3);
        saving.forget(3);
        assert!(saving.may_begin(3) && saving.is_saved());
    }

    #[test]
    fn at_the_end_all_that_is_unsaved_is_saved_in_the_order_that_is_given() {
        let mut saving = Saving::default();
        (1..=3).for_each(|number| saving.changed(number));
        saving.begin_end(|number| u64::from(10 - number));
        for number in [3, 2, 1] {
            assert_eq!(saving.next_at_the_end(), Some(number));
            saving.pop_at_the_end();
        }
        assert_eq!(saving.next_at_the_end(), None);
    }
}
