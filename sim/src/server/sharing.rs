//! The shell's part for a server that shares its store: segments that are looked for, and renewals
//! of its lease.

use super::{say, Server, Stored, Works};
use crate::env::Env;
use crate::space::database::Told;
use interweave_server::session::{Found, Read};
use interweave_store::{End, Followed, Given, Sought, StoreError};
use interweave_wire::protocol::Durability;
use std::fmt;
use std::sync::Arc;

/// A segment that the store has looked for, and what is told of it.
pub struct Brought {
    found: Result<Found, StoreError>,
    kind: u64,
    /// It was claimed; whether no version was lost.
    claimed: Option<bool>,
    text: String,
}

impl fmt::Debug for Brought {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Brought {
    fn of(
        sought: Result<Sought, StoreError>,
        rebuild: impl FnOnce(Sought) -> Result<Found, StoreError>,
    ) -> Brought {
        let (kind, claimed) = match &sought {
            Ok(Sought::Here(found)) => (1, Some(found.clean)),
            Ok(Sought::Followed(since)) => (1, Some(since.clean)),
            Ok(Sought::Elsewhere(_)) => (2, None),
            Ok(Sought::Earlier) => (3, None),
            Ok(Sought::Absent) => (4, None),
            Err(_) => (5, None),
        };
        let text = told_as(&sought);
        Brought {
            found: sought.and_then(rebuild),
            kind,
            claimed,
            text,
        }
    }
}

impl Server {
    pub(super) fn seek(&mut self, env: &mut Env, path: String, claims: bool) {
        self.hand_over(env);
        self.moving.seeks(&path);
        let said = Arc::clone(&self.said);
        let (sought, replicas) = (path.clone(), self.replicas.clone());
        if let Some(store) = &self.store {
            let heard = move |found| {
                let found = Brought::of(found, |found| replicas.sought(&sought, found));
                say(&said, Stored::Sought(sought, found));
            };
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

    pub(super) fn sought(&mut self, env: &mut Env, path: &str, brought: Brought) {
        env.trace.note(env.now_ns, &[self.start, brought.kind]);
        env.say(|| format!("server {:x}: {path}: {}", self.start, brought.text));
        let checked = self.moving.sought(env, path, brought.claimed.is_some());
        self.note(checked);
        if let (Some(is_clean), Some(segment)) = (brought.claimed, env.segment_at(path)) {
            let was_given = is_clean && self.moving.was_given(env, segment);
            let (world_ns, may_lose_written) = (env.world_ns, env.database_has_lost);
            let history = &mut env.history[segment];
            match history.durable {
                // It was saved before it was given [SPACE-21], and nothing that its owner knew was
                // gone [SPACE-20].
                Durability::Memory | Durability::Written if was_given => {}
                Durability::Memory => history.may_have_lost(world_ns),
                Durability::Written if may_lose_written => history.may_have_lost(world_ns),
                Durability::Written | Durability::Synced => {}
            }
            if !is_clean {
                history.gift.forget();
            }
        }
        self.event(env, |engine, now_ns| {
            engine.sought(now_ns, path, brought.found)
        });
    }

    pub(super) fn follow(&mut self, env: &mut Env, path: String) {
        let said = Arc::clone(&self.said);
        let (followed, replicas) = (path.clone(), self.replicas.clone());
        if let Some(store) = &self.store {
            let heard = move |read: Result<Followed, StoreError>| {
                let read = read.and_then(|read| replicas.followed(&followed, read));
                say(&said, Stored::Followed(followed, read));
            };
            store.follow(&path, Box::new(heard));
        }
        self.plan_writing(env);
    }

    pub(super) fn unfollow(&mut self, path: &str) {
        if let Some(store) = &self.store {
            store.unfollow(path);
        }
        self.replicas.forget(path);
    }

    pub(super) fn followed(&mut self, env: &mut Env, path: &str, read: Result<Read, StoreError>) {
        env.trace
            .note(env.now_ns, &[self.start, u64::from(read.is_ok())]);
        env.say(|| format!("server {:x}: {path} is followed: {read:?}", self.start));
        self.event(env, |engine, now_ns| engine.followed(now_ns, path, read));
    }

    /// Has the store give a segment away. The messages before are on the wire.
    pub(super) fn give(&mut self, env: &mut Env, (segment, id, member): (u32, u64, u64)) {
        self.hand_over(env);
        let said = Arc::clone(&self.said);
        env.say(|| format!("server {:x}: it gives segment {id} to {member}", self.start));
        let heard = move |given| say(&said, Stored::Given(segment, given));
        match &self.store {
            Some(store) => store.give(id, member, Box::new(heard)),
            None => heard(Err(StoreError::Closed)),
        }
        self.plan_writing(env);
    }

    pub(super) fn given(&mut self, env: &mut Env, segment: u32, given: Result<Given, StoreError>) {
        env.trace
            .note(env.now_ns, &[self.start, u64::from(given.is_ok())]);
        env.say(|| format!("server {:x}: it has given {segment}: {given:?}", self.start));
        env.counts.event(match &given {
            Ok(Given::To(_)) => "a segment is given",
            Ok(Given::Not(_)) => "a segment is not given",
            Err(_) => "a segment is given, or not",
        });
        self.leases.given(env.now_ns, segment);
        self.event(env, |engine, now_ns| engine.given(now_ns, segment, given));
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

    /// It was told to claim and create nothing any more.
    pub fn is_drained(&self) -> bool {
        self.moving.is_drained
    }

    /// Whether it may serve [SPACE-2].
    pub fn has_standing(&self) -> bool {
        self.engine.borrow().has_standing()
    }
}

/// A line about what was found.
fn told_as(found: &Result<Sought, StoreError>) -> String {
    match found {
        Ok(Sought::Here(found)) => format!("claimed under {}", found.epoch),
        Ok(Sought::Followed(since)) => {
            format!("claimed under {}, and known before", since.epoch)
        }
        other => format!("{other:?}"),
    }
}
