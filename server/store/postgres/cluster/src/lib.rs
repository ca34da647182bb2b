//! A real cluster of PostgreSQL for tests, figures and a demo: a primary and a synchronous standby.
//! Also the processes that use it.

mod admin;
mod backup;
mod cluster;
mod hung;
mod pooler;
mod process;

pub use admin::{Admin, PORT, USER};
pub use backup::Restored;
pub use cluster::Cluster;
pub use hung::HungProcess;
pub use pooler::Pooler;
pub use process::Process;
