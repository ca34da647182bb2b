//! A cluster for tests that are not in Rust. The first line says the URL of a store in it, where
//! `SCHEMA` stands for a name that each space has for itself. The cluster ends with the standard
//! input.

use interweave_postgres_cluster::Cluster;
use std::io::{read_to_string, stdin};

fn main() {
    let cluster = Cluster::start();
    println!("{}", cluster.store_url("SCHEMA"));
    // Nothing is asked of it: it waits for the end.
    let _ = read_to_string(stdin());
}
