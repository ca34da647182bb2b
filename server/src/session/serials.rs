//! The serials of a segment's blocks: those that are given out, those that the log knows of, and
//! the requests that wait for more. Implements [LOCK-6] and [LOG-8].
//!
//! Invariants: a serial is given out once, across aborts and restarts. The log knows the bound
//! `below`, and no serial from `below` on is given out. One larger bound at a time is on its way to
//! the log.

use super::journal::{Entry, Journal};
use super::locks::fenced;
use super::message::ServerMessage;
use super::segment::SegmentState;
use super::storing::{record, rejection};
use super::wire::{At, Unanswered, Wire};
use interweave_store::StoreError;
use interweave_wire::planted::{self, Defect};
use interweave_wire::protocol::{ErrorCode, LogBody, MessageType, MoreSerials, SerialsGranted};
use interweave_wire::{Rare, Rejection, Resting};

/// Serials that a grant brings; a writer asks for more when it needs them [LOCK-6].
pub const GRANTED_SERIALS: u32 = 128;
/// Serials are made durable in such steps [LOG-8].
pub const SERIAL_STEP: u64 = 1 << 20;
/// Serials have 48 bits on the wire.
pub const SERIALS_END: u64 = 1 << 48;

#[derive(Debug)]
pub struct Serials {
    next: u64,
    /// No serial from here on may be given out before the log has a larger bound.
    below: u64,
    /// A larger bound is on its way to the log.
    is_extending: bool,
    asked: Rare<Asked>,
}

/// The requests of writers since the server began.
#[derive(Debug)]
struct Asked {
    /// The lock's holder asked for more serials than the log knows of yet.
    awaiting: Vec<(At, MoreSerials)>,
    /// The serials of the present grant.
    granted: Vec<(u64, u64)>,
}

impl Resting for Asked {
    const REST: Self = Asked {
        awaiting: Vec::new(),
        granted: Vec::new(),
    };
    const AT_REST: &'static Self = &Self::REST;
}

impl Serials {
    /// Begins with a bound that the log knows.
    pub fn begin(below: u64) -> Self {
        Serials {
            next: 1,
            below,
            is_extending: false,
            asked: Rare::default(),
        }
    }

    pub fn next(&self) -> u64 {
        self.next
    }

    pub fn below(&self) -> u64 {
        self.below
    }

    /// Returns the ranges, as first serial and count, that the lock's present holder may use.
    pub fn granted(&self) -> &[(u64, u64)] {
        &self.asked.granted
    }

    /// Notes that serials below `next` may have been given out.
    pub fn skip(&mut self, next: u64) {
        self.next = self.next.max(next);
    }

    /// Whether so many serials may be given out now.
    pub fn has(&self, count: u32) -> bool {
        self.next + u64::from(count) <= self.below
    }

    /// Whether the log knows of all 2^48 serials.
    fn is_at_end(&self) -> bool {
        self.below >= SERIALS_END
    }

    /// Gives out the serials of a new grant.
    pub fn grant(&mut self) -> u64 {
        self.asked.granted.clear();
        self.give(GRANTED_SERIALS)
    }

    /// Gives out serials, which are never given again [LOCK-6]. A kept grant gets many ranges, and
    /// each mostly follows the last.
    fn give(&mut self, count: u32) -> u64 {
        let first = self.next;
        if !planted::is_in(Defect::ReusedSerials) {
            self.next += u64::from(count);
        }
        let granted = &mut self.asked.granted;
        match granted.last_mut() {
            Some((begin, held)) if *begin + *held == first => *held += u64::from(count),
            _ => granted.push((first, u64::from(count))),
        }
        first
    }

    /// Returns the bound that the caller must ask the log for, before all serials are given out.
    fn extension(&mut self) -> Option<u64> {
        let is_wanted =
            !self.is_extending && !self.is_at_end() && self.next + SERIAL_STEP / 2 > self.below;
        self.is_extending |= is_wanted;
        is_wanted.then(|| (self.next + 2 * SERIAL_STEP).min(SERIALS_END))
    }

    /// Takes out the requests that wait for the log to know of more serials.
    pub fn take_awaiting(&mut self) -> Vec<(At, MoreSerials)> {
        let asked = self.asked.awake();
        asked.map_or(Vec::new(), |asked| std::mem::take(&mut asked.awaiting))
    }
}

impl SegmentState {
    /// Asks the log for a larger bound of serials before they are all given out [LOG-8].
    pub fn extend_serials(&mut self, journal: &mut Journal) {
        if let Some(below) = self.serials.extension() {
            let group = vec![record(self.id, LogBody::Serials(below))];
            let segment = self.number;
            journal.append(Entry::Serials { segment, below }, group, self.durable);
        }
    }

    /// Takes the log's answer about a larger bound. Clients that wait to write are told an error.
    pub fn serials_stored(
        &mut self,
        below: u64,
        result: Result<(), StoreError>,
    ) -> Result<(), Rejection> {
        self.serials.is_extending = false;
        result.map_err(|error| rejection(&error))?;
        self.serials.below = below;
        Ok(())
    }

    /// Asks for more serials, because a grant needs more. An error says that none are left.
    pub fn lack_serials(&mut self, journal: &mut Journal) -> Result<(), Rejection> {
        if self.serials.is_at_end() {
            return Err(all_given_out());
        }
        self.extend_serials(journal);
        Ok(())
    }

    /// Answers MORE_SERIALS. If the log must know of a larger bound first, the answer waits for the
    /// log [LOG-8].
    pub fn more_serials(
        &mut self,
        wire: &mut Wire,
        journal: &mut Journal,
        at: At,
        r: &MoreSerials,
    ) -> Result<(), Rejection> {
        if !self.lock.holds(at.session, r.fence) {
            return Err(fenced(&self.path, r.fence));
        }
        let most = SERIAL_STEP / 2;
        if u64::from(r.count) > most {
            let text = format!("{} serials were asked for; ask for at most {most}", r.count);
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        if self.serials.has(r.count) {
            self.send_serials(wire, at, r);
        } else if self.serials.is_at_end() {
            return Err(all_given_out());
        } else {
            wire.await_answer(at, Unanswered::Store)?;
            self.serials.asked.awaiting.push((at, r.clone()));
        }
        self.extend_serials(journal);
        Ok(())
    }

    fn send_serials(&mut self, wire: &mut Wire, at: At, r: &MoreSerials) {
        let body = SerialsGranted {
            first_serial: self.serials.give(r.count),
            serial_count: r.count,
        };
        let type_ = MessageType::SerialsGranted;
        let reply = ServerMessage::about(self.number, type_, at.stream, &body);
        wire.send(at.connection, reply);
    }

    /// Answers the requests that waited for more serials, as far as the log knows of enough.
    pub fn give_awaited_serials(&mut self, wire: &mut Wire, journal: &mut Journal) {
        for (at, r) in self.serials.take_awaiting() {
            if !self.lock.holds(at.session, r.fence) {
                let rejection = fenced(&self.path, r.fence);
                wire.refuse_awaiting(at.connection, at.stream, &rejection);
            } else if self.serials.has(r.count) {
                wire.answered(at.connection, at.stream);
                self.send_serials(wire, at, &r);
                self.extend_serials(journal);
            } else {
                self.serials.asked.awaiting.push((at, r));
            }
        }
    }
}

fn all_given_out() -> Rejection {
    let text = "all 2^48 serials of the segment are given out; copy it to a new segment";
    Rejection::new(ErrorCode::TooLarge, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_8_serials_are_given_up_to_the_bound_and_no_further() {
        let mut serials = Serials::begin(1 + 128);
        assert!(serials.has(128) && !serials.has(129));
        assert_eq!(serials.grant(), 1);
        assert!(serials.has(0) && !serials.has(1));
    }

    #[test]
    fn lock_6_ranges_that_follow_each_other_are_one() {
        let mut serials = Serials::begin(SERIAL_STEP);
        serials.grant();
        serials.give(10);
        assert_eq!(serials.granted(), [(1, 138)]);
        serials.skip(1000);
        serials.skip(5);
        assert_eq!(serials.give(1), 1000);
        assert_eq!(serials.granted(), [(1, 138), (1000, 1)]);
        assert_eq!(serials.grant(), 1001);
        assert_eq!(serials.granted(), [(1001, 128)]);
    }

    #[test]
    fn log_8_a_larger_bound_is_asked_for_once_when_less_than_half_a_step_is_left() {
        let mut serials = Serials::begin(SERIAL_STEP);
        serials.skip(SERIAL_STEP / 2);
        assert_eq!(serials.extension(), None);
        serials.skip(SERIAL_STEP / 2 + 1);
        let more = SERIAL_STEP / 2 + 1 + 2 * SERIAL_STEP;
        assert_eq!(serials.extension(), Some(more));
        assert_eq!(serials.extension(), None, "it is on its way");
        let mut serials = Serials::begin(SERIALS_END - 1);
        serials.skip(SERIALS_END - 1);
        assert!(!serials.is_at_end());
        assert_eq!(serials.extension(), Some(SERIALS_END));
        let mut serials = Serials::begin(SERIALS_END);
        serials.skip(SERIALS_END - 1);
        assert!(serials.is_at_end());
        assert_eq!(serials.extension(), None);
    }
}
