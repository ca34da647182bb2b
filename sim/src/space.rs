//! A space: several servers on one database (spec/space.md).
//!
//! The servers' engines are as they are. The database is a model, with what real ones do:
//! [`database`] has the transactions, the standby and the faults, [`member`] is the store that each
//! server has on it.

pub mod client;
pub mod database;
mod locks;
pub mod member;
mod mover;
mod node;
mod tables;
mod work;
pub mod world;
