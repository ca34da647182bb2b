//! A database in memory and a store over it, for the cases that are harder for a database.
//!
//! It has rows, transactions that compare and change them, and a standby that has what it was sent.
//! It also does what real ones do: a commit that is cancelled is reported as done, a row that
//! nobody acknowledged shows up later, and a commit takes effect after its client is gone.

mod place;
mod server;
mod store;
mod tables;

pub use place::DatabasePlace;
pub use store::{Fence, Manners};
