//! One owner at a time [LOG-9], and what it will not take.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use interweave_store::disk::{Directory, SharedDisk};
use interweave_store::{Checkpoint, EmbeddedStore, MemoryStore, Options, SegmentStore, StoreError};
use interweave_wire::protocol::Durability::{Memory, Synced};
use interweave_wire::protocol::VersionStamp;

use crate::model::{
    all_known, append, append_now, checkpoint, create, diff, head, open, release, scratch, small,
};

#[test]
fn a_directory_of_other_files_is_not_taken_for_a_store() {
    let dir = scratch();
    std::fs::write(dir.path().join("letter.txt"), "dear").unwrap();
    let refused = EmbeddedStore::open(dir.path(), small()).unwrap_err();
    assert!(refused.to_string().contains("letter.txt"), "{refused}");
    let names = std::fs::read_dir(dir.path()).unwrap().count();
    assert_eq!(names, 1, "nothing was written");
}

#[test]
fn a_new_disk_and_hidden_files_are_taken_for_an_empty_directory() {
    for name in ["lost+found", ".snapshot"] {
        let dir = scratch();
        std::fs::create_dir(dir.path().join(name)).unwrap();
        let opened = EmbeddedStore::open(dir.path(), small());
        assert!(opened.is_ok(), "{name}: {:?}", opened.err());
    }
}

#[test]
fn a_second_owner_is_refused_while_the_first_lives_and_epochs_grow() {
    let dir = scratch();
    let (first, _) = open(dir.path());
    let epoch = first.owner_epoch();
    let refused = EmbeddedStore::open(dir.path(), small()).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, StoreError::Fenced(_)));
    assert!(text.contains(&std::process::id().to_string()), "{text}");
    drop(first);
    let (second, _) = open(dir.path());
    assert!(second.owner_epoch() > epoch);
    drop(second);
    // the log tells the epoch too
    std::fs::write(dir.path().join("owner"), b"nonsense").unwrap();
    let (third, _) = open(dir.path());
    assert!(third.owner_epoch() > epoch + 1);
}

#[test]
fn an_older_owner_is_fenced_when_the_lock_has_failed() {
    let dir = scratch();
    let (older, _) = open(dir.path());
    append_now(&older, vec![create(1, Synced)]).unwrap();
    append_now(&older, vec![release(1, 1, diff(1, 1, 9))]).unwrap();
    std::fs::remove_file(dir.path().join("LOCK")).unwrap();
    let (newer, segments) = open(dir.path());
    let before = all_known(&segments);

    let fenced = append_now(&older, vec![release(1, 2, diff(1, 2, 9))]).unwrap_err();
    assert!(matches!(fenced, StoreError::Fenced(_)));
    let at = interweave_wire::protocol::VersionStamp {
        incarnation: 1,
        number: 1,
        chain: 1,
    };
    let fenced = checkpoint(&older, 1, at, Bytes::new())
        .recv()
        .unwrap()
        .unwrap_err();
    assert!(matches!(fenced, StoreError::Fenced(_)));
    assert!(matches!(older.stopped(), Some(StoreError::Fenced(_))));
    assert!(matches!(
        Box::new(older).close(true),
        Err(StoreError::Fenced(_))
    ));

    append_now(&newer, vec![release(1, 2, diff(1, 2, 77))]).unwrap();
    drop(newer);
    let (_, segments) = open(dir.path());
    assert_eq!(before[&1].releases.len(), 1);
    assert_eq!(segments[0].releases.len(), 2);
    assert_eq!(segments[0].releases[1].1, diff(1, 2, 77));
}

#[test]
fn a_release_is_not_acknowledged_if_a_newer_owner_came_while_it_was_written() {
    let dir = scratch();
    let (newer, path) = (Arc::new(Mutex::new(None)), dir.path().to_path_buf());
    let (inner, calls) = (Arc::clone(&newer), AtomicU64::new(0));
    let options = Options {
        sync: Arc::new(move |file| {
            if calls.fetch_add(1, SeqCst) == 1 {
                std::fs::remove_file(path.join("LOCK"))?;
                *inner.lock().unwrap() = Some(open(&path));
            }
            file.sync_data()
        }),
        ..small()
    };
    let (older, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    append_now(&older, vec![create(1, Synced)]).unwrap();
    let fenced = append_now(&older, vec![release(1, 1, diff(1, 1, 9))]).unwrap_err();
    assert!(matches!(fenced, StoreError::Fenced(_)), "{fenced}");
    assert!(newer.lock().unwrap().is_some());
}

/// Options of a store whose syncs fail once the flag says so.
fn failing(fails: &Arc<AtomicBool>, trial_interval: Duration) -> Options {
    let fails = Arc::clone(fails);
    Options {
        sync: Arc::new(move |file| match fails.load(SeqCst) {
            true => Err(std::io::Error::from_raw_os_error(5)),
            false => file.sync_data(),
        }),
        trial_interval,
        ..small()
    }
}

#[test]
fn log_9_store_1_an_append_that_is_refused_hears_of_a_newer_owner() {
    let dir = scratch();
    let fails = Arc::new(AtomicBool::new(false));
    // No trial comes.
    let options = failing(&fails, Duration::from_secs(3_600));
    let (older, _) = EmbeddedStore::open(dir.path(), options).unwrap();
    append_now(&older, vec![create(1, Synced)]).unwrap();
    fails.store(true, SeqCst);
    let first = || vec![release(1, 1, diff(1, 1, 9))];
    for _ in 0..2 {
        let refused = append_now(&older, first()).unwrap_err();
        assert!(matches!(refused, StoreError::Io(_)), "{refused}");
    }
    std::fs::remove_file(dir.path().join("LOCK")).unwrap();
    let (newer, segments) = open(dir.path());
    assert_eq!(all_known(&segments)[&1].releases.len(), 0);
    let fenced = append_now(&older, first()).unwrap_err();
    assert!(matches!(fenced, StoreError::Fenced(_)), "{fenced}");
    assert_eq!(older.stopped(), Some(fenced));
    append_now(&newer, first()).unwrap();
}

#[test]
fn log_9_a_trial_that_finds_a_newer_owner_is_the_last_one() {
    let dir = scratch();
    let fails = Arc::new(AtomicBool::new(false));
    let clock = Arc::new(Mutex::new(Instant::now()));
    let now = Arc::clone(&clock);
    let options = Options {
        now: Arc::new(move || *now.lock().unwrap()),
        ..failing(&fails, Duration::from_secs(1))
    };
    let disk: SharedDisk = Arc::new(Directory::at(dir.path()));
    let (older, turns, _) = EmbeddedStore::open_in_turns(&disk, options).unwrap();
    let append_in_turns = |record| {
        let answer = append(&older, vec![record], Synced);
        while turns.write() {}
        answer.recv().unwrap()
    };
    append_in_turns(create(1, Synced)).unwrap();
    fails.store(true, SeqCst);
    let refused = append_in_turns(release(1, 1, diff(1, 1, 9))).unwrap_err();
    assert!(matches!(refused, StoreError::Io(_)), "{refused}");
    std::fs::remove_file(dir.path().join("LOCK")).unwrap();
    let (_newer, _) = open(dir.path());
    assert_eq!(older.stopped(), None, "nobody has looked yet");

    fails.store(false, SeqCst);
    *clock.lock().unwrap() += Duration::from_secs(1);
    assert!(!turns.write(), "no message came");
    let stopped = older.stopped();
    assert!(
        matches!(stopped, Some(StoreError::Fenced(_))),
        "{stopped:?}"
    );
    let errors = older.status().errors;
    *clock.lock().unwrap() += Duration::from_secs(60);
    assert!(!turns.write());
    assert_eq!(older.status().errors, errors, "another trial");
}

#[test]
fn what_cannot_be_is_refused_and_nothing_of_its_group_is_kept() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    append_now(&store, vec![release(1, 1, diff(1, 1, 9))]).unwrap();
    let good = || release(1, 2, diff(1, 2, 9));
    let mut long = create(9, Synced);
    if let interweave_wire::protocol::LogBody::Create(create) = &mut long.body {
        create.path = "/".repeat(2000);
    }
    for bad in [
        release(1, 4, diff(1, 4, 9)),
        release(2, 1, diff(2, 1, 9)),
        create(1, Synced),
        create(0, Synced),
        long,
        crate::model::other(1, interweave_wire::protocol::LogBody::Other(6)),
    ] {
        let refused = append_now(&store, vec![good(), bad]).unwrap_err();
        assert!(matches!(refused, StoreError::Io(_)), "{refused}");
    }
    append_now(&store, vec![good()]).unwrap();
    drop(store);
    let (_, segments) = open(dir.path());
    assert_eq!(all_known(&segments)[&1].releases.len(), 2);
}

#[test]
fn the_memory_store_acknowledges_at_once() {
    let store = MemoryStore::default();
    let (done, answer) = std::sync::mpsc::channel();
    let done = move |result| done.send(result).unwrap();
    store.append(vec![create(1, Memory)], Memory, Box::new(done));
    assert_eq!(answer.try_recv().unwrap(), Ok(()));
    assert_eq!(store.owner_epoch(), 1);
    let done = || -> (interweave_store::Done, std::sync::mpsc::Receiver<_>) {
        let (done, answer) = std::sync::mpsc::channel();
        (Box::new(move |result| done.send(result).unwrap()), answer)
    };
    let head = || {
        let at = VersionStamp {
            incarnation: 1,
            number: 0,
            chain: 0,
        };
        head(1, at)
    };
    let (taken, answer) = done();
    let checkpoint = Checkpoint {
        head: head(),
        diff: Bytes::new(),
    };
    store.checkpoint(checkpoint, taken);
    assert_eq!(answer.try_recv().unwrap(), Ok(()));
    let (taken, answer) = done();
    store.checkpoint_in_pieces(head(), Box::new(|| ()), taken);
    assert_eq!(answer.try_recv().unwrap(), Ok(()));
    let status = store.status();
    assert_eq!((status.groups, status.checkpoints), (1, 2));
    let (settled, answer) = std::sync::mpsc::channel();
    store.settle(
        vec![1],
        Box::new(move |result| settled.send(result).unwrap()),
    );
    assert!(answer.try_recv().unwrap().is_err(), "it keeps nothing");
    assert!(store.overdue().is_empty() && !store.is_in_need());
    assert!(store.with_much_log().is_empty());
}

#[test]
fn answers_come_in_the_order_of_the_appends() {
    let dir = scratch();
    let (store, _) = open(dir.path());
    append_now(&store, vec![create(1, Synced)]).unwrap();
    let (told, answers) = std::sync::mpsc::channel();
    for version in 1..=200u64 {
        let told = told.clone();
        // each third is refused: its version is wrong
        let wrong = u64::from(version % 3 == 0) * 1000;
        let record = release(1, version - version / 3 + wrong, Bytes::new());
        let done =
            move |result: Result<(), StoreError>| told.send((version, result.is_ok())).unwrap();
        store.append(vec![record], Synced, Box::new(done));
    }
    drop(append(&store, vec![], Synced));
    drop(told);
    let answers: Vec<(u64, bool)> = answers.iter().collect();
    let expected: Vec<(u64, bool)> = (1..=200).map(|v| (v, v % 3 != 0)).collect();
    assert_eq!(answers, expected);
}
