//! A real cluster of PostgreSQL for tests: a primary and a synchronous standby.

mod admin;
mod cluster;

pub use admin::{Admin, PORT, USER};
pub use cluster::Cluster;
