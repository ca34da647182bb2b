//! The store on PostgreSQL (docs/store.md, "The store on PostgreSQL").
//!
//! [`PostgresStore`] keeps the promises of `SegmentStore` in the tables of one schema. Read
//! schema.rs first, then transaction.rs: an append is one transaction, which compares and changes
//! the rows that a claim changes.

mod answer;
mod batch;
mod checkpoint;
mod checks;
mod claim;
mod connection;
mod outcome;
mod passfile;
mod reading;
mod saver;
mod schema;
mod segments;
mod settle;
mod shared;
mod store;
mod target;
mod tls;
mod transaction;
mod writer;

pub use store::{Options, PostgresStore};
pub use target::Target;
