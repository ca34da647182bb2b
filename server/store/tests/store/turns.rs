//! A store without threads, whose clock stands still: its workers have something to do at the times
//! that it tells, and not before.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use interweave_store::disk::{Directory, SharedDisk};
use interweave_store::{EmbeddedStore, Next, Options, Piece, SegmentStore, Turns};
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::VersionStamp;

use crate::failures::TinyDisk;
use crate::model::{
    append, begin_pieces, checkpoint, create, diff, other, release, scratch, small, REMOVE,
};
use crate::records::logs;

type Clock = Arc<Mutex<Instant>>;

/// A store, its workers and its clock. A step of a checkpoint takes three milliseconds.
fn open(dir: &std::path::Path) -> (EmbeddedStore, Turns, Clock) {
    let clock: Clock = Arc::new(Mutex::new(Instant::now()));
    let (now, slow) = (Arc::clone(&clock), Arc::clone(&clock));
    let options = Options {
        now: Arc::new(move || *now.lock().unwrap()),
        sync_checkpoint: Arc::new(move |_| {
            *slow.lock().unwrap() += Duration::from_millis(3);
            Ok(())
        }),
        ..small()
    };
    let disk: SharedDisk = Arc::new(Directory::at(dir));
    let (store, turns, _) = EmbeddedStore::open_in_turns(&disk, options).unwrap();
    (store, turns, clock)
}

fn append_in_turns(store: &EmbeddedStore, turns: &Turns, record: interweave_store::Record) {
    let answer = append(store, vec![record], Synced);
    while turns.write() {}
    answer.recv().unwrap().unwrap();
}

#[test]
fn log_15_the_witness_is_synced_when_nothing_has_come_for_a_while() {
    let dir = scratch();
    let (store, turns, clock) = open(dir.path());
    append_in_turns(&store, &turns, create(1, Synced));
    let at = turns.next_at().expect("the witness is not synced");
    assert!(at > *clock.lock().unwrap());
    assert!(!turns.save(), "not yet");
    *clock.lock().unwrap() = at;
    assert!(!turns.write(), "no message came");
    assert_eq!(turns.next_at(), None);
    assert!(turns.save(), "the witness is synced by the saver");
    assert!(!turns.save());
}

#[test]
fn a_full_store_looks_for_space_at_each_trial_and_refuses_until_it_has_found_some() {
    let Some(disk) = TinyDisk::mount() else {
        return;
    };
    let (store, turns, clock) = open(&disk.path().join("store"));
    append_in_turns(&store, &turns, create(1, Synced));
    let ballast = disk.fill(0);
    let mut version = 0;
    while store.status().full.is_none() {
        version += 1;
        let answer = append(
            &store,
            vec![release(1, version, diff(1, version, 900))],
            Synced,
        );
        while turns.write() {}
        drop(answer);
    }
    // not even the newest log file must be kept
    assert_eq!(store.overdue(), [1]);
    // what is due later than the trial is the sync of the witness
    let trial = || turns.next_at().expect("no trial is due");
    for _ in 0..2 {
        let at = trial();
        assert_eq!(at - *clock.lock().unwrap(), small().trial_interval);
        *clock.lock().unwrap() = at - Duration::from_nanos(1);
        turns.write();
        assert_eq!(trial(), at, "not yet");
        *clock.lock().unwrap() = at;
        turns.write();
        assert!(store.status().full.is_some());
    }
    std::fs::remove_file(ballast).unwrap();
    *clock.lock().unwrap() = trial();
    turns.write();
    assert!(store.status().full.is_none());
    append_in_turns(&store, &turns, release(1, version, diff(1, version, 900)));
}

#[test]
fn log_5_the_file_with_the_record_of_a_removal_goes_when_the_segment_is_forgotten() {
    let dir = scratch();
    let (store, turns, _) = open(dir.path());
    for record in [create(1, Synced), create(2, Synced), other(1, REMOVE)] {
        append_in_turns(&store, &turns, record);
    }
    while turns.write() | turns.save() {}
    for version in 1..=9 {
        append_in_turns(&store, &turns, release(2, version, diff(2, version, 5000)));
    }
    assert!(logs(dir.path()).len() > 2);
    let at = VersionStamp {
        incarnation: 1,
        number: 9,
        chain: 9,
    };
    let saved = checkpoint(&store, 2, at, diff(2, 9, 50));
    while turns.write() | turns.save() {}
    saved.recv().unwrap().unwrap();
    assert_eq!(logs(dir.path()).len(), 1);
}

#[test]
fn log_18_a_large_checkpoint_rests_after_a_step_while_the_log_is_in_use() {
    let dir = scratch();
    let (store, turns, clock) = open(dir.path());
    append_in_turns(&store, &turns, create(1, Synced));
    let at = VersionStamp {
        incarnation: 1,
        number: 0,
        chain: 0,
    };
    let (wanted, answer) = begin_pieces(&store, 1, at);
    let give = |next| {
        store.next(1, next);
        while turns.write() | turns.save() {}
    };
    let piece = || Piece {
        diff: diff(1, 1, 1 << 20),
        ages: Bytes::new(),
    };
    while turns.write() | turns.save() {}
    wanted.try_recv().expect("the first piece is wanted");
    append_in_turns(&store, &turns, release(1, 1, diff(1, 1, 90)));
    give(Next::Piece(piece()));
    assert!(wanted.try_recv().is_err(), "it rests");
    let at = turns.next_at().expect("the end of the rest");
    let rest = at.duration_since(*clock.lock().unwrap());
    assert_eq!(rest, Duration::from_millis(6), "twice the step");
    *clock.lock().unwrap() = at - Duration::from_nanos(1);
    turns.save();
    assert!(wanted.try_recv().is_err(), "it rests");
    *clock.lock().unwrap() = at;
    turns.save();
    wanted.try_recv().expect("the second piece is wanted");
    give(Next::Piece(piece()));
    wanted.try_recv().expect("the log was not in use");
    give(Next::Last(piece()));
    assert!(answer.try_recv().unwrap().is_ok());
}
