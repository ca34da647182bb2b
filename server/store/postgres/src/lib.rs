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
mod doubt;
mod follow;
mod give;
mod hosts;
mod looking;
mod members;
mod outcome;
mod outlook;
mod pages;
mod passfile;
mod reading;
mod renewals;
mod roll;
mod rules;
mod saver;
mod schema;
mod seek;
mod segments;
mod settle;
mod shared;
mod sharing;
mod standbys;
mod store;
mod tables;
mod target;
mod threads;
mod timelines;
mod tls;
mod transaction;
mod waits;
mod writer;

pub use checks::Checked;
pub use members::Member;
pub use pages::PAGE;
pub use rules::{Past, Pushed, SharedRules};
pub use store::{Options, PostgresStore};
pub use target::Target;
