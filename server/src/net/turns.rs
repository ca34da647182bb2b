//! Fair shares: while several identities keep the server busy, each has its turn in a round,
//! however many connections it has [LIM-7].
//!
//! A round is the time in which each task that yields is polled once. An identity's turn pays for
//! some bytes and messages. When it is used up, the connections of the identity wait in a queue.
//! The first of them begins the next turn in the next round.

use crate::session::Request;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use tokio::task::yield_now;

/// What one turn pays for, in bytes.
const TURN: usize = 256 << 10;
/// A message costs as much as so many bytes, however short it is.
const MESSAGE: usize = 8 << 10;
/// A list costs as much as so many other messages: a turn. The engine may look at many segments for
/// it at once.
const LIST: usize = TURN / MESSAGE;
/// With so many identities, those that wait for nothing are forgotten.
const MANY: usize = 1024;

#[derive(Debug, Default)]
struct Share {
    /// What was used of the present turn. It may be more than the turn.
    used: usize,
    /// The round in which the present turn began.
    round: u64,
    /// The connection that began the turn may use it up before others that wait.
    holder: u64,
    waiting: VecDeque<u64>,
}

#[derive(Debug, Default)]
struct Shares {
    of: HashMap<u32, Share>,
    /// How many identities have connections that wait.
    waiting: usize,
    /// The number of the present round. It ends when a connection that waits looks again.
    round: u64,
}

#[derive(Debug, Default)]
pub struct Turns(RefCell<Shares>);

/// Returns as how many messages the request counts.
pub fn messages_of(request: &Request) -> usize {
    match request {
        Request::ListSegments(_) | Request::ListPlaces(_) | Request::ListMembers(_) => LIST,
        _ => 1,
    }
}

impl Turns {
    /// Waits until the connection may use so much of its identity's turn.
    pub async fn take(&self, account: u32, connection: u64, bytes: usize, messages: usize) {
        let cost = bytes.max(messages.saturating_mul(MESSAGE));
        if self.0.borrow_mut().charge(account, connection, cost) {
            return;
        }
        let mut place = self.wait(account, connection);
        loop {
            yield_now().await;
            if place.has_come() {
                break;
            }
        }
        let mut shares = self.0.borrow_mut();
        shares.of.entry(account).or_default().used += cost;
    }

    fn wait(&self, account: u32, connection: u64) -> Place<'_> {
        let mut shares = self.0.borrow_mut();
        let share = shares.of.entry(account).or_default();
        let is_first = share.waiting.is_empty();
        share.waiting.push_back(connection);
        shares.waiting += usize::from(is_first);
        let round = shares.round;
        Place {
            turns: self,
            account,
            connection,
            round,
        }
    }
}

impl Shares {
    /// Whether what is left of the present turn pays for it.
    fn charge(&mut self, account: u32, connection: u64, cost: usize) -> bool {
        if self.of.len() >= MANY && !self.of.contains_key(&account) {
            self.of.retain(|_, share| !share.waiting.is_empty());
        }
        let share = self.of.entry(account).or_default();
        let is_next = share.waiting.is_empty() || share.holder == connection;
        let pays = is_next && share.used < TURN;
        if pays {
            share.used += cost;
        }
        pays
    }
}

/// A connection's place in the queue of its identity.
struct Place<'a> {
    turns: &'a Turns,
    account: u32,
    connection: u64,
    /// The round in which the connection looked last.
    round: u64,
}

impl Place<'_> {
    /// Whether the connection's turn has come, and pays for something.
    fn has_come(&mut self) -> bool {
        let shares = &mut *self.turns.0.borrow_mut();
        // In which order tasks are polled is not known, but each is polled once in a round.
        if self.round == shares.round {
            shares.round += 1;
        }
        self.round = shares.round;
        let is_alone = shares.waiting <= 1;
        let Some(share) = shares.of.get_mut(&self.account) else {
            return true;
        };
        let is_first = share.waiting.front() == Some(&self.connection);
        if !is_first || (share.round == self.round && !is_alone) {
            return false;
        }
        share.round = self.round;
        share.holder = self.connection;
        // Nobody waits for a debt to be paid where nobody else wants the time.
        share.used = match is_alone {
            true => 0,
            false => share.used.saturating_sub(TURN),
        };
        share.used < TURN
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut shares = self.turns.0.borrow_mut();
        if let Some(share) = shares.of.get_mut(&self.account) {
            share.waiting.retain(|waiting| *waiting != self.connection);
            if share.waiting.is_empty() {
                shares.waiting -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests;
