//! The store on a real cluster of PostgreSQL: a primary and a synchronous standby.

mod place;
mod proxy;
mod session;
mod suite;
