//! The session room: the server's rules, without sockets and without a clock.
//!
//! [`Engine`] takes messages, the time, and the store's completions. It gives [`Effect`]s: messages
//! to send, connections to close, records to append. This room decides everything that the server
//! promises about versions, locks and notifications, and the `net` room carries it out. Implements
//! the server's side of spec/protocol and spec/coherence.md.
//!
//! | owner | has | does not see |
//! |---|---|---|
//! | `wire` | connections, sessions, what is sent to them, their timers | segments |
//! | `segments` | the segments by number and by path | connections |
//! | `segment` | its master copy, locks, subscribers; the rules are its methods | other segments |
//! | `serials` | one segment's block serials: given out, known to the log, awaited | its segment |
//! | `journal` | what waits for the store, what is left to settle | segments, connections |
//! | `doubts` | appends of unknown outcome, and appends that wait for them | connections |
//! | `permits` | what identities may do, and which kept rights are valid | segments, connections |
//! | `accounts` | what each identity uses, and its limits | segments, connections |
//! | `saving` | which segments are to be saved, and which are being saved | segments, connections |
//! | `listing` | the lists that are being made, and whose turn it is | segments, connections |
//!
//! `engine` takes each event to its owner. Nobody is told of a release before it is durable. A few
//! readers are told before the writer, many readers after the writer. The master copies follow when
//! all are told (settling.rs, tests/order.rs).

mod absence;
mod access;
mod accounts;
mod admission;
mod auditing;
mod cataloguing;
mod chain;
mod commits;
mod config;
mod creators;
mod crowd;
mod doubts;
mod effect;
mod engine;
mod following;
mod in_flight;
mod journal;
mod limits;
mod listing;
mod locks;
mod members;
pub mod message;
mod moving;
mod notify;
mod number_map;
mod open;
mod part_chains;
mod recovery;
mod relaying;
mod release;
mod reloading;
mod remembered;
mod removing;
mod resolving;
mod rotation;
mod saving;
mod seeking;
mod segment;
mod segments;
mod serials;
mod settling;
mod sight;
mod space;
mod statistics;
mod storing;
mod sweeping;
mod timers;
mod wire;

#[cfg(test)]
mod tests;

pub use absence::Absence;
pub use auditing::{Act, Audited, Place};
pub use config::Config;
pub use crowd::Crowd;
pub use effect::Effect;
pub use engine::Engine;
pub use following::Read;
pub use interweave_access::{Access, Peer};
pub use interweave_master::{Order, Tuning};
pub use interweave_store::Identity;
pub use message::{Backlog, Incoming, Request, ServerMessage};
pub use number_map::NumberMap;
pub use part_chains::PartChains;
pub use recovery::Rebuilt;
pub use relaying::unreachable;
pub use space::{Found, Hindrance};
pub use statistics::{Counters, Health, OpenClient, SegmentStatistics, Statistics, Totals};
pub use wire::Origin;
