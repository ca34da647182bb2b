//! The connections of HTTP in the order in which they came, and which of them have a request.
//!
//! There are few places. Somebody could take them all and say nothing, or speak slowly. So, when
//! all are taken and a connection arrives, the oldest connection without a request gives up its
//! place.

use std::cell::Cell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};
use tokio::sync::Notify;

/// One connection.
#[derive(Debug, Default)]
pub struct Visit {
    /// Requests whose answer is being made.
    asking: Cell<usize>,
    away: Cell<bool>,
    leave: Notify,
}

impl Visit {
    /// Notes a whole request. Its answer is sent when the returned value is dropped.
    pub fn ask(self: &Rc<Self>) -> Asking {
        self.asking.set(self.asking.get() + 1);
        Asking(self.clone())
    }

    /// Waits until another connection wants the place.
    pub async fn sent_away(&self) {
        while !self.away.get() {
            self.leave.notified().await;
        }
    }
}

/// See [`Visit::ask`].
#[derive(Debug)]
pub struct Asking(Rc<Visit>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.asking.set(self.0.asking.get() - 1);
    }
}

/// All connections, oldest first. Some of them have ended.
#[derive(Debug, Default)]
pub struct Visits(VecDeque<Weak<Visit>>);

impl Visits {
    pub fn begin(&mut self) -> Rc<Visit> {
        // The list forgets ended connections before it would grow.
        if self.0.len() == self.0.capacity() {
            self.0.retain(|visit| visit.strong_count() > 0);
        }
        let visit = Rc::new(Visit::default());
        self.0.push_back(Rc::downgrade(&visit));
        visit
    }

    /// Asks the oldest connection without a request to give up its place. If all have requests,
    /// places become free soon, when these are answered.
    pub fn send_one_away(&mut self) {
        self.0.retain(|visit| visit.strong_count() > 0);
        let silent = |visit: &Rc<Visit>| visit.asking.get() == 0 && !visit.away.get();
        let visit = self.0.iter().filter_map(Weak::upgrade).find(silent);
        if let Some(visit) = visit {
            visit.away.set(true);
            visit.leave.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_to_come_without_a_request_goes_first() {
        let mut visits = Visits::default();
        let all: Vec<_> = (0..4).map(|_| visits.begin()).collect();
        let _asking = all[0].ask();
        drop(all[1].ask());
        let away = || all.iter().map(|v| v.away.get()).collect::<Vec<_>>();
        visits.send_one_away();
        assert_eq!(away(), [false, true, false, false]);
        visits.send_one_away();
        visits.send_one_away();
        visits.send_one_away();
        assert_eq!(
            away(),
            [false, true, true, true],
            "one with a request stays"
        );
    }

    #[test]
    fn ended_connections_are_forgotten() {
        let mut visits = Visits::default();
        for _ in 0..10_000 {
            drop(visits.begin());
        }
        assert!(visits.0.len() < 100, "{}", visits.0.len());
    }
}
