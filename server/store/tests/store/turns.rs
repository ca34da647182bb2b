//! A store without threads, whose clock stands still: its workers have something to do at the times
//! that it tells, and not before.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use interweave_store::disk::{Directory, SharedDisk};
use interweave_store::{EmbeddedStore, Next, Options, Piece, SegmentStore, Turns};
use interweave_wire::protocol::Durability::Synced;
use interweave_wire::protocol::VersionStamp;

use crate::model::{append, begin_pieces, create, diff, release, scratch, small};

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
