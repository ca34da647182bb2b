//! The lines that wait for the file. Their memory is bounded, and what must stay is never dropped
//! [AUDIT-4].

use crate::session::{Act, Audited, Place};
use std::collections::hash_map::{Entry, HashMap, RandomState};
use std::hash::BuildHasher;

/// With so many bytes of lines, a line that may be dropped is dropped.
const MANY_BYTES: usize = 4 << 20;
/// With so many bytes, lines that must stay become one for each act, identity and rule.
const MOST_BYTES: usize = 8 << 20;
/// With so many bytes, they become one for each act. Of these there are a few dozen.
const LAST_BYTES: usize = 9 << 20;
/// What a line takes in memory beside its texts.
const LINE_BYTES: usize = size_of::<Line>() + size_of::<Audited>() + 64;

/// A line, and for how many acts it stands.
#[derive(Debug)]
pub struct Line {
    pub audited: Box<Audited>,
    pub time_us: u64,
    /// The time of the last act.
    pub until_us: u64,
    pub count: u64,
}

#[derive(Debug, Default)]
pub struct Queue {
    lines: Vec<Line>,
    bytes: usize,
    /// The places of lines that must stay, by a hash of what makes them alike.
    places: HashMap<u64, usize>,
    hasher: RandomState,
    dropped: u64,
}

impl Queue {
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.dropped == 0
    }

    /// Takes a line. Returns whether it was dropped.
    pub fn push(&mut self, time_us: u64, audited: impl Into<Box<Audited>>) -> bool {
        let audited = audited.into();
        if !audited.must_stay() {
            let is_dropped = self.bytes + bytes_of(&audited) > MANY_BYTES;
            match is_dropped {
                true => self.dropped += 1,
                false => self.add(time_us, audited),
            }
            return is_dropped;
        }
        let act_alone = |audited: Box<Audited>| {
            merged(Audited {
                who: None,
                operation: None,
                line: None,
                ..*audited
            })
        };
        let _ = self
            .join(time_us, audited, MOST_BYTES)
            .or_else(|audited| self.join(time_us, merged(*audited), LAST_BYTES))
            .or_else(|audited| self.join(time_us, act_alone(audited), usize::MAX));
        false
    }

    /// Lets the line join one that is alike, or adds it. Gives it back if there is no room.
    fn join(
        &mut self,
        time_us: u64,
        audited: Box<Audited>,
        most: usize,
    ) -> Result<(), Box<Audited>> {
        match self.places.entry(self.hasher.hash_one(likeness(&audited))) {
            Entry::Occupied(place) => {
                let line = &mut self.lines[*place.get()];
                line.count += 1;
                line.until_us = time_us;
            }
            Entry::Vacant(_) if self.bytes + bytes_of(&audited) > most => return Err(audited),
            Entry::Vacant(place) => {
                place.insert(self.lines.len());
                self.add(time_us, audited);
            }
        }
        Ok(())
    }

    fn add(&mut self, time_us: u64, audited: Box<Audited>) {
        self.bytes += bytes_of(&audited);
        self.lines.push(Line {
            audited,
            time_us,
            until_us: time_us,
            count: 1,
        });
    }

    /// Takes all lines out, and how many were dropped.
    pub fn take(&mut self) -> (Vec<Line>, u64) {
        self.bytes = 0;
        self.places.clear();
        let dropped = std::mem::take(&mut self.dropped);
        (std::mem::take(&mut self.lines), dropped)
    }
}

fn bytes_of(audited: &Audited) -> usize {
    let origin = &audited.origin;
    let named = [&origin.program, &origin.host].into_iter().flatten();
    let texts = audited.path.len() + audited.text.len();
    LINE_BYTES + texts + named.map(String::len).sum::<usize>()
}

/// What is the same of two lines that become one: all but the port.
fn likeness(audited: &Audited) -> impl std::hash::Hash + '_ {
    let address = match audited.from {
        Place::Address(address) => Some(address.ip()),
        Place::Unix | Place::Unknown => None,
    };
    // A client that is not let in says of itself whatever it likes, each time something else.
    let is_stranger = audited.act == Act::Login && !audited.is_allowed;
    let origin = (!is_stranger).then_some(&audited.origin);
    let whose = (&audited.who, &audited.token, address, origin);
    let what = (audited.act, &audited.path, audited.operation, &audited.text);
    (
        whose,
        what,
        (audited.is_allowed, audited.line, audited.error),
    )
}

/// Leaves out of a line what differs between many of its kind.
fn merged(audited: Audited) -> Box<Audited> {
    let Audited {
        act,
        who,
        operation,
        is_allowed,
        line,
        ..
    } = audited;
    let text = match act {
        Act::Reload | Act::Admin => "several, because the log was not written",
        _ => "several of this kind, because the log was not written",
    };
    Box::new(Audited {
        who,
        operation,
        line,
        ..Audited::of_server(act, is_allowed, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use interweave_access::Identity;

    fn refusal(who: u32, path: &str) -> Audited {
        Audited {
            who: Some(Identity::User(who)),
            path: path.to_string(),
            ..Audited::of_server(Act::Request, false, "")
        }
    }

    fn total(lines: &[Line]) -> u64 {
        lines.iter().map(|line| line.count).sum()
    }

    #[test]
    fn audit_4_refusals_that_are_alike_become_one_line() {
        let mut queue = Queue::default();
        for time in 0..1000 {
            let port = 1000 + time as u16;
            let alike = Audited {
                from: Place::Address(([10, 0, 0, 1], port).into()),
                ..refusal(7, "/a")
            };
            assert!(!queue.push(time, alike));
            queue.push(time, Audited::of_server(Act::Open, true, ""));
        }
        queue.push(1000, refusal(7, "/b"));
        let (lines, dropped) = queue.take();
        assert_eq!((lines.len(), dropped), (1002, 0));
        let alike = &lines[0];
        assert_eq!((alike.count, alike.time_us, alike.until_us), (1000, 0, 999));
        assert!(queue.is_empty());
        queue.push(2000, refusal(7, "/a"));
        assert_eq!(total(&queue.take().0), 1, "what was taken is not joined");
    }

    #[test]
    fn audit_4_the_memory_is_bounded_and_every_refusal_is_counted() {
        let mut queue = Queue::default();
        let path = "/long".repeat(200);
        let (mut allowed, mut dropped) = (0, 0);
        const MANY: u64 = 60_000;
        for number in 0..MANY {
            let who = number as u32;
            assert!(!queue.push(number, refusal(who, &format!("{path}{number}"))));
            let open = Audited {
                path: path.clone(),
                ..Audited::of_server(Act::Open, true, "")
            };
            match queue.push(number, open) {
                true => dropped += 1,
                false => allowed += 1,
            }
        }
        assert!(
            queue.bytes < LAST_BYTES + 64 * LINE_BYTES,
            "{}",
            queue.bytes
        );
        let (lines, told) = queue.take();
        assert!(allowed > 0 && dropped > 0);
        assert_eq!(told, dropped);
        assert_eq!(total(&lines), MANY + allowed);
        let of_several = lines.iter().filter(|line| line.count > 1);
        assert!(of_several.count() >= 1);
        let last = lines.last().map(|line| &line.audited);
        assert!(last.is_some_and(|last| last.who.is_none() && last.act == Act::Request));
    }

    #[test]
    fn audit_4_acts_of_an_admin_stay_when_others_are_dropped() {
        let mut queue = Queue::default();
        while !queue.push(0, Audited::of_server(Act::Open, true, "x".repeat(1000))) {}
        for act in [Act::Admin, Act::Reload, Act::Start, Act::Stop] {
            assert!(!queue.push(1, Audited::of_server(act, true, "")), "{act:?}");
        }
        assert!(queue.push(2, Audited::of_server(Act::Login, true, "x".repeat(1000))));
        assert!(!queue.push(2, Audited::of_server(Act::Login, false, "x".repeat(1000))));
    }
}
