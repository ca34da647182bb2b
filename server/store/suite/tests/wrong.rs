//! The suite is tested, too: each of these stores breaks a promise, and a case finds it.

use interweave_store::{
    Checkpoint, Done, Identity, Next, Record, SegmentStore, Settled, StoreError, StoreStatus, Want,
};
use interweave_store_suite::database::{DatabasePlace, Fence, Manners};
use interweave_store_suite::embedded::Embedded;
use interweave_store_suite::place::{Cancel, Opened};
use interweave_store_suite::{all, run_one, Ability, Crash, Outcome, Place};
use interweave_wire::protocol::{CheckpointHead, Durability, LogBody};
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wrong {
    /// Answers before the group is durable.
    AnswersEarly,
    /// Appends each record of a group alone.
    TearsGroups,
    /// An open misses the last release of each segment.
    LosesTheTail,
    /// Does not keep the bounds of serials.
    ForgetsSerials,
    /// Sends a group of unknown outcome again.
    RetriesBlindly,
    /// Keeps those records of a refused group whose segments are not fenced.
    KeepsTheRest,
    /// Answers the second of two requests before the first.
    AnswersOutOfOrder,
    /// Every owner has the same epoch.
    RepeatsEpochs,
    /// A copy that is put back has nothing.
    LosesCopies,
    /// Says that a checkpoint lasts, and does not take it.
    SkipsCheckpoints,
    /// Acknowledges as SYNCED what is only written.
    SyncsNothing,
    /// Takes the bytes of one release for those of another.
    MixesDiffs,
}

/// A good store made wrong.
struct WrongStore {
    store: Box<dyn SegmentStore>,
    wrong: Wrong,
    again: Again,
    held_back: Mutex<Option<Held>>,
}

type Again = Arc<Mutex<Vec<(Vec<Record>, Durability, Done)>>>;
type Held = (Done, Result<(), StoreError>);

fn nobody() -> Done {
    Box::new(|_| {})
}

impl WrongStore {
    fn one_by_one(&self, group: Vec<Record>, durable: Durability, done: Done) {
        let count = group.len();
        let heard = Arc::new(Mutex::new((Vec::new(), Some(done))));
        for record in group {
            let heard = Arc::clone(&heard);
            let each = move |result| {
                let (results, done) = &mut *heard.lock().unwrap();
                results.push(result);
                if results.len() == count {
                    let all: Result<(), StoreError> = results.drain(..).collect();
                    done.take().unwrap()(all);
                }
            };
            self.store.append(vec![record], durable, Box::new(each));
        }
    }

    fn send_again(&self) {
        let waiting: Vec<_> = self.again.lock().unwrap().drain(..).collect();
        for (group, durable, done) in waiting {
            self.store.append(group, durable, done);
        }
    }

    fn blindly(&self, group: Vec<Record>, durable: Durability, done: Done) {
        let (again, same) = (Arc::clone(&self.again), group.clone());
        let retry = move |result| match result {
            Err(StoreError::Unknown(_)) => again.lock().unwrap().push((same, durable, done)),
            other => done(other),
        };
        self.store.append(group, durable, Box::new(retry));
        self.send_again();
    }

    fn the_rest(&self, group: Vec<Record>, durable: Durability, done: Done) {
        let (again, same) = (Arc::clone(&self.again), group.clone());
        let keep = move |result| {
            if let Err(StoreError::SegmentsFenced(fenced)) = &result {
                let mut rest = same;
                rest.retain(|record| !fenced.contains(&record.segment_id));
                again.lock().unwrap().push((rest, durable, nobody()));
            }
            done(result);
        };
        self.store.append(group, durable, Box::new(keep));
        self.send_again();
    }

    /// Answers a group that was refused later than the next group.
    fn swapped(&self, group: Vec<Record>, durable: Durability, done: Done) {
        let (told, answer) = std::sync::mpsc::channel();
        let told = move |result| told.send(result).unwrap_or(());
        self.store.append(group, durable, Box::new(told));
        let result = answer.recv().unwrap();
        let mut held_back = self.held_back.lock().unwrap();
        match (held_back.take(), &result) {
            (Some((first, its_result)), _) => {
                done(result);
                first(its_result);
            }
            (None, Err(_)) => *held_back = Some((done, result)),
            (None, Ok(())) => done(result),
        }
    }
}

impl SegmentStore for WrongStore {
    fn owner_epoch(&self) -> u64 {
        match self.wrong {
            Wrong::RepeatsEpochs => 7,
            _ => self.store.owner_epoch(),
        }
    }

    fn identity(&self) -> Identity {
        self.store.identity()
    }

    fn append(&self, mut group: Vec<Record>, durable: Durability, done: Done) {
        match self.wrong {
            Wrong::AnswersEarly => {
                done(Ok(()));
                self.store.append(group, durable, nobody());
            }
            Wrong::TearsGroups => self.one_by_one(group, durable, done),
            Wrong::ForgetsSerials => {
                group.retain(|record| !matches!(record.body, LogBody::Serials(_)));
                self.store.append(group, durable, done);
            }
            Wrong::RetriesBlindly => self.blindly(group, durable, done),
            Wrong::KeepsTheRest => self.the_rest(group, durable, done),
            Wrong::AnswersOutOfOrder => self.swapped(group, durable, done),
            Wrong::SyncsNothing => self.store.append(group, Durability::Written, done),
            Wrong::MixesDiffs => {
                let diffs: Vec<_> = group.iter().map(|record| record.diff.clone()).collect();
                for (record, diff) in group.iter_mut().zip(diffs.into_iter().rev()) {
                    record.diff = diff;
                }
                self.store.append(group, durable, done);
            }
            _ => self.store.append(group, durable, done),
        }
    }

    fn settle(&self, segments: Vec<u64>, settled: Settled) {
        self.store.settle(segments, settled);
    }

    fn checkpoint(&self, checkpoint: Checkpoint, done: Done) {
        match self.wrong {
            Wrong::SkipsCheckpoints => done(Ok(())),
            _ => self.store.checkpoint(checkpoint, done),
        }
    }

    fn checkpoint_in_pieces(&self, head: CheckpointHead, want: Want, done: Done) {
        self.store.checkpoint_in_pieces(head, want, done);
    }

    fn next(&self, segment_id: u64, next: Next) {
        self.store.next(segment_id, next);
    }

    fn status(&self) -> StoreStatus {
        self.store.status()
    }

    fn close(self: Box<Self>, clean: bool) -> Result<(), StoreError> {
        self.store.close(clean)
    }
}

struct WrongPlace {
    place: Box<dyn Place>,
    wrong: Wrong,
}

impl Place for WrongPlace {
    fn can(&self, ability: Ability) -> bool {
        self.place.can(ability)
    }

    fn open(&self) -> Result<Opened, StoreError> {
        let mut opened = self.place.open()?;
        if self.wrong == Wrong::LosesTheTail {
            for segment in &mut opened.segments {
                segment.releases.pop();
            }
        }
        if self.wrong == Wrong::RepeatsEpochs {
            opened.segments.iter_mut().for_each(|s| s.epoch = 7);
        }
        let store = WrongStore {
            store: opened.store,
            wrong: self.wrong,
            again: Again::default(),
            held_back: Mutex::default(),
        };
        Ok(Opened {
            store: Box::new(store),
            segments: opened.segments,
        })
    }

    fn crash(&self, crash: Crash) {
        self.place.crash(crash);
    }

    fn steps(&self) -> u32 {
        self.place.steps()
    }

    fn hold(&self, step: u32) {
        self.place.hold(step);
    }

    fn is_held(&self) -> bool {
        self.place.is_held()
    }

    fn let_go(&self) {
        self.place.let_go();
    }

    fn fail(&self, commits: u32) {
        self.place.fail(commits);
    }

    fn fill(&self, is_full: bool) {
        self.place.fill(is_full);
    }

    fn cancel(&self, cancel: Cancel) {
        self.place.cancel(cancel);
    }

    fn take(&self, segments: &[u64]) {
        self.place.take(segments);
    }

    fn damage(&self, bytes: &[u8]) {
        self.place.damage(bytes);
    }

    fn copy(&self) {
        if self.wrong != Wrong::LosesCopies {
            self.place.copy();
        }
    }

    fn put_copy_back(&self) {
        self.place.put_copy_back();
    }
}

/// Asserts that the case of that name finds what is wrong at such places.
fn finds(name: &str, make: &dyn Fn() -> Box<dyn Place>) {
    let case = all().into_iter().find(|case| case.name == name);
    let outcome = run_one(&case.expect("the case exists"), make);
    let Outcome::Broken(text) = outcome else {
        panic!("{name}: {outcome:?}");
    };
    println!("{name}: {text}");
}

fn good(wrong: Wrong) -> Box<dyn Place> {
    let needs_database = matches!(wrong, Wrong::RetriesBlindly | Wrong::KeepsTheRest);
    match needs_database {
        true => Box::new(DatabasePlace::new(Manners::GOOD)),
        false => Box::new(Embedded::in_memory()),
    }
}

#[test]
fn each_wrong_store_is_found() {
    let found_by = [
        (
            Wrong::AnswersEarly,
            "no answer comes while the commit stands still",
        ),
        (
            Wrong::TearsGroups,
            "of a group with a record that cannot be, nothing is kept",
        ),
        (
            Wrong::TearsGroups,
            "of a group that a loss of power meets, all or nothing is there",
        ),
        (
            Wrong::LosesTheTail,
            "a claim sees all that was acknowledged",
        ),
        (
            Wrong::ForgetsSerials,
            "the bound of the serials never goes back",
        ),
        (
            Wrong::RetriesBlindly,
            "an append that is cancelled is there or not, for good",
        ),
        (
            Wrong::KeepsTheRest,
            "segments that another owner took are named, and the others are sent again",
        ),
        (
            Wrong::AnswersOutOfOrder,
            "answers come in the order of the appends",
        ),
        (Wrong::RepeatsEpochs, "epochs grow"),
        (
            Wrong::LosesCopies,
            "an older copy that is put back is a store like another",
        ),
        (
            Wrong::SkipsCheckpoints,
            "a checkpoint and the releases after it come back",
        ),
        (
            Wrong::SyncsNothing,
            "what was acknowledged as SYNCED survives a loss of power",
        ),
        (Wrong::MixesDiffs, "random histories with faults"),
    ];
    for (wrong, name) in found_by {
        let place = move || good(wrong);
        let make = move || {
            Box::new(WrongPlace {
                place: place(),
                wrong,
            }) as Box<dyn Place>
        };
        finds(name, &make);
    }
}

#[test]
fn each_wrong_use_of_a_database_is_found() {
    let good = Manners::GOOD;
    let claimed = "an append on its way at a claim is seen by it or never there";
    let cancelled = "an append that is cancelled is there or not, for good";
    let found_by = [
        (
            Manners {
                fence: Fence::None,
                ..good
            },
            "an older owner is fenced",
        ),
        (
            Manners {
                fence: Fence::ReadBefore,
                ..good
            },
            claimed,
        ),
        (
            Manners {
                believes_warnings: true,
                ..good
            },
            cancelled,
        ),
        (
            Manners {
                believes_silence: true,
                ..good
            },
            "an append of unknown outcome takes effect once at most",
        ),
        (
            Manners {
                settles_by_reading: true,
                ..good
            },
            cancelled,
        ),
        (
            Manners {
                forgets_serials: true,
                ..good
            },
            "the bound of the serials never goes back",
        ),
    ];
    for (manners, name) in found_by {
        finds(name, &move || Box::new(DatabasePlace::new(manners)));
    }
}
