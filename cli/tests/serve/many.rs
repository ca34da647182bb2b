//! A server with 100,000 small segments. The checks are on counts and contents, not on times.

#[path = "../../../server/store/examples/many_segments/small.rs"]
mod small;

use crate::clients::{connect, open, value, write};
use crate::server::{Directory, Server};
use interweave_server::client::{Client, Copy, OpenOptions};
use interweave_wire::protocol::Durability;
use std::time::{Duration, Instant};

const COUNT: u64 = 100_000;
/// Releases of 1 MiB. They are more than the log may have, so that the server must save segments
/// that hold the log's oldest file.
const RELEASES: u64 = 288;
const MIB_OF_INTS: u64 = 1 << 18;
/// So many segments are saved before the server stops. The others are then in the log alone.
const SAVED: u64 = 10_000;
const VERY_LONG: Duration = Duration::from_secs(120);

/// Checks some segments, spread over all.
fn check_contents(client: &mut Client) {
    for number in (0..COUNT).step_by(997).chain([COUNT - 1]) {
        let path = format!("/small/{number}");
        let mut copy = Copy::open(client, &path, &OpenOptions::reading()).expect("it is there");
        copy.fetch(client).expect("it is read");
        let block = copy.segment().block_by_name("ints").expect("its block");
        let slots = block.slots.expect("its integers are not zero");
        let ints = slots
            .chunks_exact(4)
            .map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
        assert!(
            ints.eq((number..number + small::INTS).map(|int| int as u32)),
            "{path}"
        );
    }
}

fn check_all(server: &Server) {
    let mut client = connect(server);
    let all = client.list("/small/").expect("a list");
    assert_eq!(all.len() as u64, COUNT);
    assert!(
        all.iter().all(|s| s.newest.number == 1),
        "each has one release"
    );
    check_contents(&mut client);
    let (status, page) = server.get("/status", "localhost");
    assert!(status.contains("200"), "{status}");
    let count = format!("\"segment_count\": {}", server.metric("segments"));
    assert!(page.contains(&count), "{count}");
}

#[test]
fn a_server_of_100_000_segments_starts_serves_beside_a_full_log_stops_and_starts_again() {
    let directory = Directory::new();
    let store = directory.path().join("store");
    small::write(&store, COUNT, true).expect("the store is written");
    let store = store.display().to_string();
    let mut server = Server::start(&store, &["--lease", "300"]);
    assert_eq!(server.metric("segments"), COUNT);
    check_all(&server);

    let mut writer = connect(&server);
    let mut large = open(&mut writer, "/large", Durability::Written);
    let mut other = connect(&server);
    let mut own = open(&mut other, "/own", Durability::Synced);
    for round in 1..=RELEASES {
        let written = write(&mut writer, &mut large, round, MIB_OF_INTS, round as i32);
        written.expect("the log has room");
        write(&mut other, &mut own, round, 16, round as i32).expect("nobody stands in its way");
    }
    // The small segments hold the oldest file of the log, so the server saves them, some hundreds
    // at a time. The stop comes between.
    let begun = Instant::now();
    let mut rounds = RELEASES;
    while server.metric("store_checkpoints_total") < SAVED {
        rounds += 1;
        write(&mut other, &mut own, rounds, 16, rounds as i32).expect("the log has room");
        assert!(begun.elapsed() < VERY_LONG, "the log is not cut");
    }

    assert!(server.stop().success());
    server = Server::start(&store, &[]);
    assert_eq!(server.metric("segments"), COUNT + 2);
    check_all(&server);
    let mut client = connect(&server);
    for (path, last) in [("/large", RELEASES), ("/own", rounds)] {
        let mut copy = open(&mut client, path, Durability::Synced);
        copy.fetch(&mut client).expect("it is read");
        assert_eq!(value(&copy), Some(last as i32), "{path}");
    }
    assert!(server.stop().success());
}
