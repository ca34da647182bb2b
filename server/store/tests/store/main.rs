//! The store, tested through its interface and its files. A failing case prints its seed;
//! STORE_SEED=n runs that one.

mod backups;
mod checkpoints;
mod creators;
mod cuts;
mod damage;
mod failures;
mod formats;
mod kill;
mod lost_pages;
mod model;
mod ownership;
mod packs;
mod pieces;
mod power_loss;
mod records;
mod turns;
mod witness;
