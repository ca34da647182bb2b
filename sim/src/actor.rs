//! A client of either kind: the model (client.rs), or the engine in C++ (native.rs). The seed says
//! which clients are of which kind.

use crate::client::{Client, Op};
use crate::env::{Env, Event};
use crate::history::{Checked, Floor};
#[cfg(feature = "native")]
use crate::native::record::Recorder;
#[cfg(feature = "native")]
use crate::native::NativeClient;
use crate::plan::{Plan, Traced};
use crate::random::Random;
use interweave_wire::protocol::Durability;

pub enum Actor {
    Model(Box<Client>),
    #[cfg(feature = "native")]
    Native(Box<NativeClient>),
}

/// Does the same with either kind.
macro_rules! either {
    ($actor:expr, $client:ident => $deed:expr) => {
        match $actor {
            Actor::Model($client) => $deed,
            #[cfg(feature = "native")]
            Actor::Native($client) => $deed,
        }
    };
}

/// Whether the seed has that client driven by the engine in C++: no client, half of them, or all.
#[cfg(feature = "native")]
fn is_native(seed: u64, number: usize) -> bool {
    let kind = Random::of(seed, "native").below(3);
    let half = Random::of(seed, &format!("native {number}")).one_in(2);
    kind == 2 || kind == 1 && half
}

/// The size of the chunks in which the plan's servers send diffs; None: as the protocol says. Small
/// ones are for engines in C++ that are not recorded: models do not care for what comes between the
/// chunks, and a recording only says when a message is whole.
pub fn chunk_bytes(plan: &Plan) -> Option<usize> {
    #[cfg(feature = "native")]
    if plan.traced.is_none() && Random::of(plan.seed, "native").below(3) == 2 {
        return *Random::of(plan.seed, "chunks").pick(&[None, Some(40), Some(300)]);
    }
    let _ = plan;
    None
}

impl Actor {
    /// `is_auditor`: it only looks, at the end, and is a model.
    pub fn new(
        seed: u64,
        (number, is_auditor): (usize, bool),
        about: (u64, Vec<Durability>),
    ) -> Actor {
        let random = Random::of(seed, &format!("client {number}"));
        #[cfg(feature = "native")]
        if !is_auditor && is_native(seed, number) {
            return Actor::Native(Box::new(NativeClient::new(number, random, about)));
        }
        let _ = is_auditor;
        Actor::Model(Box::new(Client::new(number, random, about)))
    }

    /// A native client that is recorded. Without the feature `native` it is a model, and is not.
    pub fn traced(
        seed: u64,
        number: usize,
        traced: Traced,
        about: (u64, Vec<Durability>),
    ) -> Actor {
        let random = Random::of(seed, &format!("client {number}"));
        #[cfg(feature = "native")]
        {
            let recorder = Recorder::new(seed, traced, about.1[0]);
            let mut client = NativeClient::new(number, random, about);
            client.record(recorder);
            Actor::Native(Box::new(client))
        }
        #[cfg(not(feature = "native"))]
        {
            let _ = traced;
            Actor::Model(Box::new(Client::new(number, random, about)))
        }
    }

    /// The lines of the trace, if the client was recorded.
    pub fn recorded(&self) -> Vec<String> {
        match self {
            Actor::Model(_) => Vec::new(),
            #[cfg(feature = "native")]
            Actor::Native(client) => client.recorded(),
        }
    }

    pub fn number(&self) -> usize {
        either!(self, client => client.number)
    }

    pub fn add(&mut self, env: &mut Env, op: Op) -> Checked<()> {
        either!(self, client => client.add(env, op))
    }

    /// The faults are over. The client drops the ops that it has not begun, ends the present one
    /// soon, and listens from now on.
    pub fn grow_calm(&mut self) {
        either!(self, client => client.grow_calm());
    }

    pub fn is_idle(&self) -> bool {
        either!(self, client => client.is_idle())
    }

    /// The longest wait of a client that has not noticed yet that the server is back.
    pub fn patience_ns(&self) -> u64 {
        match self {
            Actor::Model(_) => 0,
            #[cfg(feature = "native")]
            Actor::Native(_) => NativeClient::PATIENCE_NS,
        }
    }

    /// Whether it has the segment's writer lock, and has not begun to give it back.
    pub fn holds(&self, segment: usize) -> bool {
        either!(self, client => client.holds(segment))
    }

    pub fn connection(&self) -> Option<u64> {
        either!(self, client => client.connection())
    }

    pub fn kill(&mut self, env: &mut Env) {
        either!(self, client => client.kill(env));
    }

    pub fn restart(&mut self) {
        either!(self, client => client.restart());
    }

    pub fn is_paused(&self) -> bool {
        either!(self, client => client.is_paused)
    }

    pub fn pause(&mut self) {
        either!(self, client => client.pause());
    }

    pub fn resume(&mut self, env: &mut Env) -> Checked<()> {
        either!(self, client => client.resume(env))
    }

    pub fn take(&mut self, env: &mut Env, event: Event) -> Checked<()> {
        either!(self, client => client.take(env, event))
    }

    /// A segment that it watches and of whose newest version it does not know.
    pub fn has_heard_of_all(&self, env: &Env) -> Option<usize> {
        either!(self, client => client.has_heard_of_all(env))
    }

    /// A segment that the client does not listen to, or of which it knows less than the floor.
    pub fn is_deaf_to(&self, env: &Env, floors: &[Floor]) -> Option<usize> {
        either!(self, client => client.is_deaf_to(env, floors))
    }
}
