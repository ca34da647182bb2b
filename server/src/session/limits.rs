//! Holds identities to their limits [LIM-1..6]; accounts.rs counts what they use.

use super::accounts::OverLimit;
use super::creators::from_field;
use super::engine::Engine;
use super::wire::At;
use interweave_access::LimitName;
use interweave_wire::protocol::IdentityField;
use interweave_wire::Rejection;

impl Engine {
    /// Whether some limit is of what happens in a second.
    pub fn slows_down(&self) -> bool {
        self.permits.slows_down
    }

    /// Returns how long no message of the connection may be taken [LIM-5].
    pub fn rest_ns(&mut self, now_ns: u64, connection: u64) -> u64 {
        match self.account_of(connection) {
            Some(account) if self.slows_down() => self.accounts.rest_ns(account, now_ns),
            _ => 0,
        }
    }

    /// The server has let the connection's messages wait. The peer was not silent meanwhile.
    pub fn rested(&mut self, now_ns: u64, connection: u64) {
        self.wire.counters.rests += 1;
        self.wire.heard(now_ns, connection);
    }

    /// So many bytes came on the connection, or were sent.
    pub fn carried(&mut self, now_ns: u64, connection: u64, bytes: usize) {
        self.spend(now_ns, connection, LimitName::Rate, bytes as u64);
    }

    pub(super) fn spend(&mut self, now_ns: u64, connection: u64, name: LimitName, amount: u64) {
        if !self.slows_down() {
            return;
        }
        if let Some(account) = self.account_of(connection) {
            self.accounts.spend(account, name, amount, now_ns);
        }
    }

    /// Returns the account of the connection, if the server works for several identities.
    pub fn sharing_account(&self, connection: u64) -> Option<u32> {
        match self.accounts.is_one() {
            true => None,
            false => self.account_of(connection),
        }
    }

    pub(super) fn account_of(&self, connection: u64) -> Option<u32> {
        self.wire.connection(connection)?.account
    }

    /// Refuses a new segment beyond the limits of whoever asks for it [LIM-2].
    pub(super) fn check_limits(&mut self, at: At, quota_bytes: u64) -> Result<(), Rejection> {
        let Some(account) = self.account_of(at.connection) else {
            return Ok(());
        };
        let checked = self.accounts.check_segment(account, quota_bytes);
        checked.map_err(|over| self.note_over(over))
    }

    pub(super) fn note_over(&mut self, over: OverLimit) -> Rejection {
        self.wire.counters.limits_refused += 1;
        self.permits.refused = Some(over.refused);
        *over.rejection
    }

    /// Returns the account of the identity that made a segment of the store; 0: it is not known.
    pub(super) fn account_of_creator(&mut self, creator: Option<&IdentityField>) -> u32 {
        let now_ns = self.wire.now_ns();
        let access = &self.permits.access;
        let creator = creator.and_then(from_field);
        creator.map_or(0, |who| {
            self.accounts.of(&who, |who| access.limits(who), now_ns)
        })
    }
}
