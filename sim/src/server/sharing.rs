//! The shell's part for a server that shares its store: segments that are looked for, and renewals
//! of its lease.

use super::{say, Server, Stored, Works};
use crate::env::Env;
use crate::space::database::Told;
use interweave_server::session::Found;
use interweave_store::{End, Sought, StoreError};
use interweave_wire::protocol::Durability;
use std::sync::Arc;

impl Server {
    pub(super) fn seek(&mut self, env: &mut Env, path: String, claims: bool) {
        self.hand_over(env);
        let said = Arc::clone(&self.said);
        let sought = path.clone();
        if let Some(store) = &self.store {
            let heard = move |found| say(&said, Stored::Sought(sought, found));
            store.seek(&path, claims, Box::new(heard));
        }
        self.plan_writing(env);
    }

    /// Has the store decide what became of appends of unknown outcome.
    pub(super) fn settle(&mut self, env: &mut Env, segments: Vec<u64>) {
        self.hand_over(env);
        let said = Arc::clone(&self.said);
        if let Some(store) = &self.store {
            let heard = move |ends| say(&said, Stored::Settled(ends));
            store.settle(segments, Box::new(heard));
        }
        self.plan_writing(env);
    }

    pub(super) fn settled(&mut self, env: &mut Env, ends: Result<Vec<(u64, End)>, StoreError>) {
        let is_ok = ends.is_ok();
        env.trace.note(env.now_ns, &[self.start, u64::from(is_ok)]);
        env.say(|| format!("server {:x}: it has settled: {ends:?}", self.start));
        let heard = ends.clone();
        self.event(env, |engine, now_ns| engine.settled(now_ns, ends));
        self.removing.settled(env, &heard);
    }

    pub(super) fn renew(&mut self, env: &mut Env, is_drained: bool) {
        let said = Arc::clone(&self.said);
        let asked_ns = env.now_ns;
        if let Some(store) = &self.store {
            let heard = move |result| say(&said, Stored::Renewed(asked_ns, result));
            store.renew(is_drained, Box::new(heard));
        }
        self.plan_writing(env);
    }

    /// One of the store's connections hears from the database.
    pub(super) fn told(&mut self, env: &mut Env, told: Told) {
        if let Works::Member(member) = &mut self.works {
            member.told(env, self.start, told);
        }
        self.bring(env, env.now_ns);
    }

    pub(super) fn sought(&mut self, env: &mut Env, path: &str, found: Result<Sought, StoreError>) {
        let kind = match &found {
            Ok(Sought::Here(_) | Sought::Followed(_)) => 1,
            Ok(Sought::Elsewhere(_)) => 2,
            Ok(Sought::Earlier) => 3,
            Ok(Sought::Absent) => 4,
            Err(_) => 5,
        };
        env.trace.note(env.now_ns, &[self.start, kind]);
        env.say(|| format!("server {:x}: {path}: {}", self.start, told_as(&found)));
        if let (Ok(Sought::Here(_)), Some(segment)) = (&found, env.segment_at(path)) {
            let (world_ns, may_lose_written) = (env.world_ns, env.database_has_lost);
            let history = &mut env.history[segment];
            match history.durable {
                Durability::Memory => history.may_have_lost(world_ns),
                Durability::Written if may_lose_written => history.may_have_lost(world_ns),
                Durability::Written | Durability::Synced => {}
            }
        }
        let found = found.and_then(|found| Found::of(found, || None));
        self.event(env, |engine, now_ns| engine.sought(now_ns, path, found));
    }

    pub(super) fn renewed(&mut self, env: &mut Env, asked_ns: u64, result: Result<(), StoreError>) {
        let is_ok = result.is_ok();
        env.trace.note(env.now_ns, &[self.start, u64::from(is_ok)]);
        if let Err(error) = &result {
            env.say(|| format!("server {:x}: its lease: {error}", self.start));
        }
        self.event(env, |engine, now_ns| {
            engine.renewed(now_ns, asked_ns, result)
        });
    }

    /// Whether it may serve [SPACE-2].
    pub fn has_standing(&self) -> bool {
        self.engine.borrow().has_standing()
    }
}

fn told_as(found: &Result<Sought, StoreError>) -> String {
    match found {
        Ok(Sought::Here(found)) => format!("claimed under {}", found.epoch),
        other => format!("{other:?}"),
    }
}
