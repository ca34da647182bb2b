//! A cluster for tests that are not in Rust. The first line says the URL of a store in it, where
//! `SCHEMA` stands for a name that each space has for itself. Each line of the standard input is a
//! command, which is answered with the line `ok`. The cluster ends with the standard input.

use interweave_postgres_cluster::Cluster;
use std::io::stdin;

fn main() {
    let mut cluster = Cluster::start();
    println!("{}", cluster.store_url("SCHEMA"));
    for line in stdin().lines().map_while(Result::ok) {
        match line.as_str() {
            // No write is committed until the standby is resumed.
            "pause standby" => cluster.pause_standby(),
            "resume standby" => cluster.resume_standby(),
            other => panic!("{other}: the commands are `pause standby` and `resume standby`"),
        }
        println!("ok");
    }
}
