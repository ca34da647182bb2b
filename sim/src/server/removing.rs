//! The removals that a server has asked its store for, and what the checkers are told of them.

use crate::env::Env;
use interweave_server::session::Request;
use interweave_store::{End, Record, StoreError};
use interweave_wire::protocol::{LogBody, LogKind};
use std::collections::BTreeMap;

pub struct Removing {
    /// The owner's number, as the rows of a database name it.
    owner: u64,
    /// It shares its store with others. Then the database says when a segment is removed.
    is_shared: bool,
    /// The segment that the present request removes.
    present: Option<usize>,
    /// The segments whose removals the store has not answered, by ticket. Each has its number in
    /// the store beside it.
    asked: BTreeMap<u64, (u64, usize)>,
    /// The segments whose removals are in doubt, by their numbers in the store.
    doubted: BTreeMap<u64, usize>,
}

impl Removing {
    pub fn of(owner: u64, is_shared: bool) -> Removing {
        Removing {
            owner,
            is_shared,
            present: None,
            asked: BTreeMap::new(),
            doubted: BTreeMap::new(),
        }
    }

    /// A request comes.
    pub fn request(&mut self, env: &Env, request: &Request) {
        self.present = match request {
            Request::RemoveSegment(r) => env.segment_at(&r.path),
            _ => None,
        };
    }

    /// The store gets the group.
    pub fn append(&mut self, env: &mut Env, ticket: u64, group: &[Record]) {
        let removal = group.iter().find(|record| is_removal(record));
        if let (Some(segment), Some(record)) = (self.present, removal) {
            self.asked.insert(ticket, (record.segment_id, segment));
            env.history[segment].begins_removal(self.owner);
        }
    }

    /// The store has answered.
    pub fn answered(&mut self, env: &mut Env, ticket: u64, result: &Result<(), StoreError>) {
        let Some((id, segment)) = self.asked.remove(&ticket) else {
            return;
        };
        let world_ns = env.world_ns;
        let history = &mut env.history[segment];
        match result {
            _ if !self.is_shared => {
                history.removal_ended(self.owner);
                history.removed(world_ns, result.is_ok());
            }
            // The owner hears of it later than others may.
            Ok(()) => history.removal_heard(world_ns, self.owner, true),
            Err(StoreError::Unknown(_)) => {
                // It is decided later, and the owner speaks as before until then.
                self.doubted.insert(id, segment);
                history.removal_heard(world_ns, self.owner, false);
            }
            // It did not take effect, and never will.
            Err(_) => history.removal_ended(self.owner),
        }
    }

    /// The store has decided where segments end, or does not know it yet.
    pub fn settled(&mut self, env: &mut Env, ends: &Result<Vec<(u64, End)>, StoreError>) {
        let world_ns = env.world_ns;
        let Ok(ends) = ends else {
            for segment in self.doubted.values() {
                env.history[*segment].removal_heard(world_ns, self.owner, false);
            }
            return;
        };
        for (id, end) in ends {
            let Some(segment) = self.doubted.remove(id) else {
                continue;
            };
            let history = &mut env.history[segment];
            match end {
                // It did not take effect, and never will.
                End::At { .. } => history.removal_ended(self.owner),
                End::Absent | End::Fenced => history.removal_heard(world_ns, self.owner, true),
            }
        }
    }

    /// The server ends.
    pub fn end(&self, env: &mut Env) {
        let asked = self.asked.values().map(|(_, segment)| segment);
        for segment in asked.chain(self.doubted.values()) {
            env.history[*segment].removal_heard(env.world_ns, self.owner, true);
        }
    }
}

fn is_removal(record: &Record) -> bool {
    record.body == LogBody::Other(LogKind::Remove as i32)
}
