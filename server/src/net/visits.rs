//! The connections of HTTP in the order in which they came, and which of them have a request.
//!
//! There are few places. Somebody could take them all and say nothing, or speak slowly. So, when
//! all are taken and a connection arrives, a connection without a request gives up its place: the
//! oldest one of the host that has most of them.

use crate::session::Crowd;
use std::cell::Cell;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use tokio::sync::Notify;

/// One connection.
#[derive(Debug, Default)]
pub struct Visit {
    from: Option<SocketAddr>,
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
    pub fn begin(&mut self, from: Option<SocketAddr>) -> Rc<Visit> {
        // The list forgets ended connections before it would grow.
        if self.0.len() == self.0.capacity() {
            self.0.retain(|visit| visit.strong_count() > 0);
        }
        let visit = Rc::new(Visit {
            from,
            ..Visit::default()
        });
        self.0.push_back(Rc::downgrade(&visit));
        visit
    }

    /// Asks a connection without a request to give up its place. If all have requests, places
    /// become free soon, when these are answered.
    pub fn send_one_away(&mut self) {
        self.0.retain(|visit| visit.strong_count() > 0);
        let mut silent = Crowd::default();
        for (visit, number) in self.0.iter().zip(0..) {
            let visit = visit.upgrade();
            if let Some(visit) = visit.filter(|v| v.asking.get() == 0 && !v.away.get()) {
                silent.begin(number, visit.from);
            }
        }
        let first = silent.first_to_go().map(|number| &self.0[number as usize]);
        if let Some(visit) = first.and_then(Weak::upgrade) {
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
        let all: Vec<_> = (0..4).map(|_| visits.begin(None)).collect();
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
    fn a_host_that_takes_all_places_keeps_no_other_host_out() {
        let mut visits = Visits::default();
        let at = |address: &str| Some(format!("{address}:1").parse().unwrap());
        let slow = visits.begin(at("192.0.2.1"));
        let mut strangers = Vec::new();
        for number in 0..100 {
            strangers.push(visits.begin(at("192.0.2.2")));
            if number > 1 {
                visits.send_one_away();
            }
        }
        let stay = strangers.iter().filter(|stranger| !stranger.away.get());
        assert_eq!(stay.count(), 2);
        assert!(!slow.away.get());
    }

    #[test]
    fn ended_connections_are_forgotten() {
        let mut visits = Visits::default();
        for _ in 0..10_000 {
            drop(visits.begin(None));
        }
        assert!(visits.0.len() < 100, "{}", visits.0.len());
    }
}
