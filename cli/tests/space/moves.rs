//! Segments that move from server to server under writers and readers: nothing that was
//! acknowledged is lost, nothing is applied twice, no read is stale, and writers wait for a moment
//! only.

use crate::ballast::load;
use crate::kills::{campaign, lease, number};
use crate::member::{interweave, new_port, Member};
use crate::wanderer::Wanderer;
use interweave_postgres_cluster::Cluster;
use interweave_wire::protocol::{ListedPlace, SegmentPlace};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Where no server dies, a short lease has no part in the pauses.
const LONG_LEASE: &str = "5";

/// Moves the segment to the server.
fn move_to(by: &Member, path: &str, to: &Member) {
    let words = ["move", &by.own_url(path), &to.own_url("")];
    let (is_ok, text) = interweave(&words);
    assert!(is_ok, "{text}");
}

/// [SPACE-18] [SPACE-19] [SPACE-20] [SPACE-21]
#[test]
fn segments_move_under_writers_and_readers() {
    let moves = number("IW_MOVES", 20);
    let space = ("moves", "moves", LONG_LEASE);
    campaign(space, moves, |number, _, servers, world| {
        let members = &servers.members;
        let (asked, to) = (number % members.len(), (number + 1) % members.len());
        let path = &world.spots[number % 2].path;
        move_to(&members[asked], path, &members[to]);
    });
}

/// Each server in turn is drained, stopped and started again, as for an upgrade.
/// [SPACE-24] [SPACE-19]
#[test]
fn servers_are_upgraded_one_after_the_other_under_writers_and_readers() {
    let upgrades = number("IW_UPGRADES", 3);
    let space = ("upgrades", "upgrades", LONG_LEASE);
    campaign(space, upgrades, |number, cluster, servers, world| {
        let index = number % servers.members.len();
        let member = &mut servers.members[index];
        let url = member.own_url("");
        let (is_ok, text) = interweave(&["drain", &url]);
        assert!(is_ok, "{text}");
        let mut admin = member.connect();
        let places = admin.places("/").expect("the list");
        let here = |place: &&ListedPlace| place.place == SegmentPlace::Here;
        assert_eq!(places.iter().filter(here).count(), 0, "{text}");
        world.wait_for_all();
        assert!(member.server.stop().success());
        servers.start_again(cluster, index);
        let (is_ok, text) = interweave(&["rebalance", "--go", &url]);
        assert!(is_ok, "{text}");
    });
}

/// A server dies in the middle of a move: the one that is to have the segment, or its owner.
/// [SPACE-5] [SPACE-22]
#[test]
fn servers_die_in_the_middle_of_moves() {
    let moves = number("IW_MOVES", 4);
    let space = ("moves with deaths", "deaths", lease());
    let mut killed = None;
    campaign(space, moves, |number, cluster, servers, world| {
        if let Some(index) = killed {
            servers.start_again(cluster, index);
            world.wait_for_all();
            world.forget_pauses();
        }
        let path = &world.spots[number % world.spots.len()].path;
        let owner = owner_of(&servers.members, path);
        let target = (owner + 1) % servers.members.len();
        let words = [&servers.members[owner], &servers.members[target]];
        let words = ["move", &words[0].own_url(path), &words[1].own_url("")];
        let mut moving = Command::new(env!("CARGO_BIN_EXE_interweave"))
            .args(words)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it runs");
        // Another moment of the move each time.
        thread::sleep(Duration::from_millis(20 + 15 * (number as u64 / 2 % 12)));
        let index = if number % 2 == 0 { target } else { owner };
        servers.members[index].server.kill();
        killed = Some(index);
        // It may have failed, and it may have been done before.
        let _ = moving.wait();
    });
}

/// The place of the server that owns the segment.
fn owner_of(members: &[Member], path: &str) -> usize {
    let places = members[0].connect().places(path).expect("the list");
    let place = places.first().expect("it is there");
    let at = |member: &Member| member.host_and_port() == place.address;
    members.iter().position(at).unwrap_or(0)
}

/// A writer's pauses while its segment moves to and fro.
/// [SPACE-21] IW_MOVE_MIB: the segment's size. IW_MOVES: how many moves.
#[test]
fn a_writer_waits_a_moment_while_its_segment_moves() {
    let cluster = Cluster::start();
    let start = || {
        Member::start(
            &cluster,
            ("to_and_fro", new_port()),
            &["--space-lease", LONG_LEASE],
        )
    };
    let members = [start(), start()];
    let (path, mib) = ("/ballast", number("IW_MOVE_MIB", 1));
    let servers = members.iter().map(|m| m.address.clone()).collect();
    let loaded = load(&mut members[0].connect(), path, mib << 18);
    let mut writer = Wanderer::new(path, servers, 0).after(loaded);
    // The copy is whole before the first move.
    writer.write().expect("the first");
    let (is_over, mut pauses) = (AtomicBool::new(false), Vec::new());
    thread::scope(|scope| {
        let is_over = &is_over;
        let writing = scope.spawn(move || write_until(&mut writer, is_over));
        for number in 0..number("IW_MOVES", 20) {
            let begun = Instant::now();
            move_to(&members[0], path, &members[(number + 1) % 2]);
            pauses.push((begun, Instant::now()));
            thread::sleep(Duration::from_millis(100));
        }
        is_over.store(true, Ordering::SeqCst);
        let written = writing.join().expect("the writer has not failed");
        report(mib, &pauses, &written);
    });
}

/// When each release was acknowledged.
fn write_until(writer: &mut Wanderer, is_over: &AtomicBool) -> Vec<Instant> {
    let mut written = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        if writer.write().is_ok() {
            written.push(Instant::now());
        }
    }
    written
}

/// The longest pause of the writer during each move and after it.
fn report(mib: usize, moves: &[(Instant, Instant)], written: &[Instant]) {
    let longest = |(begun, ended): &(Instant, Instant)| {
        let first = written.partition_point(|at| at < begun).saturating_sub(1);
        let last = written.partition_point(|at| at <= ended) + 1;
        let around = &written[first..last.min(written.len())];
        around.windows(2).map(|pair| pair[1] - pair[0]).max()
    };
    let mut pauses: Vec<Duration> = moves.iter().filter_map(longest).collect();
    assert_eq!(
        pauses.len(),
        moves.len(),
        "the writer continues after each move"
    );
    pauses.sort_unstable();
    let took: Duration = moves.iter().map(|(begun, ended)| *ended - *begun).sum();
    println!(
        "{} moves of {mib} MiB: {} releases; pause p50 {} ms, p99 {} ms, worst {} ms; a move takes \
         {} ms",
        pauses.len(),
        written.len(),
        pauses[pauses.len() / 2].as_millis(),
        pauses[(pauses.len() - 1) * 99 / 100].as_millis(),
        pauses[pauses.len() - 1].as_millis(),
        took.as_millis() / moves.len() as u128
    );
}
