//! P1: what was acknowledged survives kill -9 of the process.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use interweave_store::{EmbeddedStore, Piece, Record, SegmentStore};
use interweave_wire::protocol::Durability::{self, Synced, Written};
use interweave_wire::protocol::VersionStamp;

use crate::model::{
    append_now, checkpoint, checkpoint_in_pieces, create, diff, release, small, versions, Random,
};

const DIR: &str = "STORE_TEST_DIR";
const SEGMENTS: u64 = 4;

fn next_diff(segment_id: u64, version: u64) -> bytes::Bytes {
    diff(segment_id, version, (version * 37 % 4500) as usize)
}

/// Every other segment is only WRITTEN, which a killed process survives as well.
fn durability(segment_id: u64) -> Durability {
    match segment_id % 2 {
        0 => Written,
        _ => Synced,
    }
}

/// Half of each kind are saved in pieces.
fn is_in_pieces(segment_id: u64) -> bool {
    segment_id > SEGMENTS / 2
}

fn pieces(segment_id: u64, version: u64) -> Vec<Piece> {
    let piece = |part| Piece {
        diff: next_diff(segment_id, version + part),
        ages: next_diff(segment_id, part),
    };
    (1..=3).map(piece).collect()
}

/// Not a test: the process that is killed. It appends without end, and says what is acknowledged.
#[test]
#[ignore = "run by the test below"]
fn appends_until_it_is_killed() {
    let dir = std::env::var(DIR).unwrap();
    let (store, segments) = EmbeddedStore::open(dir.as_ref(), small()).unwrap();
    let mut newest: Vec<u64> = segments
        .iter()
        .map(|segment| *versions(segment).last().unwrap_or(&0))
        .collect();
    if newest.is_empty() {
        let group: Vec<Record> = (1..=SEGMENTS)
            .map(|id| create(id, durability(id)))
            .collect();
        append_now(&store, group).unwrap();
        newest = vec![0; SEGMENTS as usize];
    }
    loop {
        for id in 1..=SEGMENTS {
            let version = &mut newest[id as usize - 1];
            *version += 1;
            let (version, record) = (*version, release(id, *version, next_diff(id, *version)));
            let told = move |result: Result<(), _>| {
                let () = result.unwrap();
                let line = format!("acknowledged {id} {version}\n");
                std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
            };
            store.append(vec![record], durability(id), Box::new(told));
            if version % 50 == 0 {
                let at = VersionStamp {
                    incarnation: 1,
                    number: version,
                    chain: version,
                };
                match is_in_pieces(id) {
                    true => checkpoint_in_pieces(&store, id, at, pieces(id, version)).unwrap(),
                    false => drop(checkpoint(&store, id, at, next_diff(id, version))),
                }
            }
        }
        // no more than the writer can take
        append_now(&store, vec![]).unwrap();
    }
}

#[test]
fn a_killed_server_loses_nothing_that_it_acknowledged() {
    let mut random = Random::seeded(31);
    let dir = tempfile::tempdir().unwrap();
    let mut acknowledged = vec![0u64; SEGMENTS as usize];
    for _ in 0..20 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill::appends_until_it_is_killed", "--ignored"])
            .arg("--nocapture")
            .env(DIR, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut left = 1 + random.below(400);
        for line in lines {
            let line = line.unwrap();
            let mut words = line.split(' ');
            if words.next() != Some("acknowledged") {
                continue;
            }
            let mut number = || words.next().unwrap().parse::<u64>().unwrap();
            let (id, version) = (number(), number());
            acknowledged[id as usize - 1] = version;
            left = left.saturating_sub(1);
            if left == 0 {
                // what it has said until it is dead is still read
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        check(dir.path(), &mut acknowledged);
    }
    assert!(
        acknowledged.iter().all(|&version| version > 20),
        "{acknowledged:?}"
    );
}

fn check(dir: &std::path::Path, acknowledged: &mut [u64]) {
    let (_, segments) = EmbeddedStore::open(dir, small()).unwrap();
    assert_eq!(segments.len() as u64, SEGMENTS);
    for segment in &segments {
        let id = segment.segment_id;
        let found = versions(segment);
        let newest = found.last().copied().unwrap_or(0);
        assert!(
            newest >= acknowledged[id as usize - 1],
            "segment {id} has {newest}"
        );
        assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1));
        if let Some((head, diff)) = &segment.checkpoint {
            match is_in_pieces(id) {
                true => assert_eq!(segment.pieces, pieces(id, head.at.number)),
                false => assert_eq!(*diff, next_diff(id, head.at.number)),
            }
        } else {
            assert_eq!(found.first().copied().unwrap_or(1), 1);
        }
        for (release, diff) in &segment.releases {
            assert_eq!(*diff, next_diff(id, release.version));
        }
        acknowledged[id as usize - 1] = newest;
    }
}
