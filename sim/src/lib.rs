//! A world in which the server's engine and the store's logic run as they are, on a disk and a
//! network that break, with clients that check all that they are told ([README](../README.md)).
//!
//! No code here reads a clock or starts a thread, and every choice is made of a seed. So a seed's
//! run can be repeated.

mod actor;
mod client;
mod clock;
mod content;
mod disk;
mod env;
mod flood;
mod history;
mod leases;
#[cfg(feature = "native")]
mod native;
mod network;
pub mod plan;
mod random;
mod server;
pub mod shrink;
mod space;
mod trace;
mod world;

pub use env::Counts;
pub use history::Violation;
pub use plan::Plan;
pub use world::{run, Outcome};
