//! The store on a real cluster of PostgreSQL: a primary and a synchronous standby.

mod drains;
mod given;
mod pages;
mod place;
mod proxy;
mod roll;
mod session;
mod space;
mod suite;
mod trim;
