//! A large segment whose owner is killed: how long its writer waits until another server has it.

use crate::ballast::load;
use crate::clients::PATIENT;
use crate::kills::{kills, lease, number};
use crate::member::{new_port, Member};
use crate::wanderer::Wanderer;
use interweave_postgres_cluster::Cluster;
use std::thread;
use std::time::{Duration, Instant};

/// [SPACE-5] IW_TAKEOVER_MIB: the segment's size. IW_KILLS: how many. IW_LEASE: the servers' lease.
/// Prints the pauses.
#[test]
fn a_large_segment_is_taken_over() {
    let cluster = Cluster::start();
    let options = ["--space-lease", lease()];
    let start = |port| Member::start(&cluster, ("takeover", port), &options);
    let mut members = [(); 2].map(|()| start(new_port()));
    let (path, mib) = ("/large", number("IW_TAKEOVER_MIB", 1));
    let loaded = load(&mut members[0].connect(), path, mib << 18);
    let servers = members.iter().map(|m| m.address.clone()).collect();
    let mut writer = Wanderer::new(path, servers, 0).after(loaded);
    writer.write().expect("the first");
    let mut pauses = Vec::new();
    for number in 0..kills(2) {
        // They take it over from each other.
        let owner = number % members.len();
        members[owner].server.kill();
        let killed = Instant::now();
        while writer.write().is_err() {
            assert!(killed.elapsed() < PATIENT, "nobody takes it over");
            thread::sleep(Duration::from_millis(5));
        }
        pauses.push(killed.elapsed());
        members[owner] = start(members[owner].port());
    }
    pauses.sort_unstable();
    println!(
        "{} takeovers of {mib} MiB, lease {} s: median {} ms, worst {} ms",
        pauses.len(),
        lease(),
        pauses[pauses.len() / 2].as_millis(),
        pauses[pauses.len() - 1].as_millis()
    );
}
