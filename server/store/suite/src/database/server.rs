//! The database's server: transactions, the standby, and what goes wrong.

use super::tables::{Row, Tables};
use crate::place::{Cancel, Crash};
use crate::records::Random;
use bytes::Bytes;
use interweave_store::{End, Identity, Piece, Record, RecoveredSegment, StoreError};
use interweave_wire::protocol::CheckpointHead;
use std::collections::BTreeMap;

/// An append as a transaction.
#[derive(Debug, Clone)]
pub struct Transaction {
    pub records: Vec<Record>,
    /// The epoch under which its owner has claimed each segment.
    pub claims: BTreeMap<u64, u64>,
    /// The epoch under which it creates segments.
    pub epoch: u64,
    /// It waits for the standby.
    pub waits: bool,
    /// It compares its claims with the rows that it changes.
    pub compares: bool,
}

/// The reply to the client of a transaction.
#[derive(Debug, PartialEq, Eq)]
pub enum Reply {
    Done,
    /// Done, and the standby may not have it.
    Warned,
    /// The connection broke.
    Nothing,
    Refused(StoreError),
}

#[derive(Debug, Clone)]
pub struct Server {
    /// The rows that a reader sees.
    tables: Tables,
    /// The rows of the standby, and the commits that it does not have yet.
    safe: Tables,
    ahead: Vec<Tables>,
    last_epoch: u64,
    identity: Identity,
    /// Transactions whose clients have heard nothing, and which may yet take effect.
    late: Vec<Transaction>,
    pub failing: u32,
    pub is_full: bool,
    pub cancel: Option<Cancel>,
    /// The next append stands still before it reaches the server.
    pub holds: bool,
}

impl Server {
    pub fn new() -> Server {
        Server {
            tables: Tables::default(),
            safe: Tables::default(),
            ahead: Vec::new(),
            last_epoch: 0,
            identity: Identity::random(),
            late: Vec::new(),
            failing: 0,
            is_full: false,
            cancel: None,
            holds: false,
        }
    }

    pub fn identity(&self) -> Identity {
        self.identity
    }

    fn commit(&mut self, tables: Tables, waits: bool) {
        self.tables = tables;
        match waits {
            true => {
                self.safe = self.tables.clone();
                self.ahead.clear();
            }
            false => self.ahead.push(self.tables.clone()),
        }
    }

    /// Runs a client's transaction, unless a fault is due.
    pub fn append(&mut self, transaction: Transaction) -> Reply {
        if self.failing > 0 {
            self.failing -= 1;
            return Reply::Refused(StoreError::Io("the transaction was rolled back".into()));
        }
        if self.is_full {
            return Reply::Refused(StoreError::Full("the database has no space".into()));
        }
        let (waits, reply) = match self.cancel.take() {
            Some(Cancel::Before) => return Reply::Nothing,
            Some(Cancel::Late) => {
                self.late.push(transaction);
                return Reply::Nothing;
            }
            Some(Cancel::Local) => (false, Reply::Warned),
            None => (transaction.waits, Reply::Done),
        };
        match self.run(&transaction, waits) {
            Ok(()) => reply,
            Err(error) => Reply::Refused(error),
        }
    }

    fn run(&mut self, transaction: &Transaction, waits: bool) -> Result<(), StoreError> {
        if transaction.compares {
            let fenced = self.fenced(transaction);
            if !fenced.is_empty() {
                return Err(StoreError::SegmentsFenced(fenced));
            }
        }
        let mut tables = self.tables.clone();
        tables.apply(transaction.epoch, &transaction.records)?;
        self.commit(tables, waits);
        Ok(())
    }

    /// The segments of the transaction that others have claimed.
    pub fn fenced(&self, transaction: &Transaction) -> Vec<u64> {
        let ids = transaction.records.iter().map(|record| record.segment_id);
        let is_fenced = |id: &u64| {
            let row = self.tables.rows.get(id);
            row.is_some_and(|row| Some(&row.epoch) != transaction.claims.get(id))
        };
        let mut fenced: Vec<u64> = ids.filter(is_fenced).collect();
        fenced.dedup();
        fenced
    }

    fn next_epoch(&mut self) -> u64 {
        self.last_epoch += 1;
        self.last_epoch
    }

    /// A new owner claims everything, then reads it. Returns its epoch, and all that it has
    /// claimed.
    pub fn claim_all(&mut self) -> (u64, Vec<u64>, Vec<RecoveredSegment>) {
        let epoch = self.next_epoch();
        let mut tables = self.tables.clone();
        for row in tables.rows.values_mut() {
            row.epoch = epoch;
            row.check();
        }
        let claimed = tables.rows.keys().copied().collect();
        let found = tables.recovered();
        tables.is_clean = false;
        self.commit(tables, true);
        (epoch, claimed, found)
    }

    /// Another owner claims these.
    pub fn claim(&mut self, segments: &[u64]) {
        let epoch = self.next_epoch();
        let mut tables = self.tables.clone();
        for id in segments {
            if let Some(row) = tables.rows.get_mut(id) {
                row.epoch = epoch;
            }
        }
        self.commit(tables, true);
    }

    /// Claims the segments anew that the claims still have, so that no transaction under the old
    /// claims takes effect. Has the standby keep all that is seen.
    pub fn settle(&mut self, segments: &[u64], claims: &mut BTreeMap<u64, u64>) -> Vec<(u64, End)> {
        let epoch = self.next_epoch();
        let mut tables = self.tables.clone();
        let mut ends = Vec::new();
        for &id in segments {
            let row = tables.rows.entry(id).or_insert_with(|| Row::free(epoch));
            if row.epoch != epoch && claims.get(&id) != Some(&row.epoch) {
                ends.push((id, End::Fenced));
                continue;
            }
            row.epoch = epoch;
            claims.insert(id, epoch);
            ends.push((id, row.end()));
        }
        self.commit(tables, true);
        ends
    }

    /// Where the segments seem to end.
    pub fn look(&self, segments: &[u64]) -> Vec<(u64, End)> {
        let row = |id| self.tables.rows.get(id).map_or(End::Absent, Row::end);
        segments.iter().map(|id| (*id, row(id))).collect()
    }

    pub fn save(
        &mut self,
        head: CheckpointHead,
        content: (Bytes, Vec<Piece>),
        claim: Option<&u64>,
    ) -> Result<(), StoreError> {
        let row = self.tables.rows.get(&head.segment_id);
        if row.is_some_and(|row| Some(&row.epoch) != claim) {
            return Err(StoreError::SegmentsFenced(vec![head.segment_id]));
        }
        let mut tables = self.tables.clone();
        tables.save(head, content)?;
        self.commit(tables, true);
        Ok(())
    }

    /// The owner ends in order.
    pub fn end(&mut self, clean: bool) {
        let mut tables = self.tables.clone();
        tables.is_clean = clean;
        self.commit(tables, true);
    }

    pub fn delay(&mut self, transaction: Transaction) {
        self.late.push(transaction);
    }

    /// Runs the late transactions, as far as they can still take effect.
    pub fn let_go(&mut self) {
        for transaction in std::mem::take(&mut self.late) {
            // Its client is gone.
            let _ = self.run(&transaction, false);
        }
    }

    /// Ends the clients. At a loss of power the standby takes over, with the commits that it has.
    pub fn crash(&mut self, crash: Crash) {
        self.failing = 0;
        self.cancel = None;
        self.holds = false;
        let Crash::Power(which) = crash else {
            return;
        };
        if which % 2 == 1 {
            self.let_go();
        }
        self.late.clear();
        let count = match which {
            0 => 0,
            1 => self.ahead.len(),
            _ => Random(which).below(self.ahead.len() as u64 + 1) as usize,
        };
        let arrived = count
            .checked_sub(1)
            .map(|last| self.ahead.swap_remove(last));
        let tables = arrived.unwrap_or_else(|| self.safe.clone());
        self.commit(tables, true);
    }

    pub fn damage(&mut self, bytes: &[u8]) {
        self.tables.damage(bytes);
        self.safe.damage(bytes);
    }
}
