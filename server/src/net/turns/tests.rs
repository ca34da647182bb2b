//! Connections of several identities that are always busy [LIM-7].

use super::*;
use std::cell::Cell;
use std::rc::Rc;
use tokio::task::{spawn_local, JoinHandle, LocalSet};

/// Connections that are always busy: an account, and what one read of them costs.
struct Busy {
    turns: Rc<Turns>,
    used: Rc<RefCell<HashMap<u32, usize>>>,
    stop: Rc<Cell<bool>>,
    last: u64,
    tasks: Vec<JoinHandle<()>>,
}

impl Busy {
    fn new() -> Busy {
        Busy {
            turns: Rc::default(),
            used: Rc::default(),
            stop: Rc::default(),
            last: 0,
            tasks: Vec::new(),
        }
    }

    fn add(&mut self, count: usize, account: u32, bytes: usize, messages: usize) {
        for _ in 0..count {
            self.last += 1;
            let connection = self.last;
            let (turns, used) = (self.turns.clone(), self.used.clone());
            let stop = self.stop.clone();
            self.tasks.push(spawn_local(async move {
                while !stop.get() {
                    turns.take(account, connection, bytes, messages).await;
                    let cost = bytes.max(messages * MESSAGE);
                    *used.borrow_mut().entry(account).or_default() += cost;
                }
            }));
        }
    }

    /// Lets them work for a while. Returns what each account used.
    async fn run(mut self) -> HashMap<u32, usize> {
        for _ in 0..2000 {
            yield_now().await;
        }
        self.stop.set(true);
        for task in self.tasks.drain(..) {
            task.await.expect("it ends");
        }
        assert_eq!(self.turns.0.borrow().waiting, 0);
        self.used.take()
    }
}

fn in_loop<T>(work: impl std::future::Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("an event loop");
    LocalSet::new().block_on(&runtime, work)
}

#[test]
// [LIM-7]
fn lim_7_an_identity_has_its_share_whatever_the_connections_of_others_are() {
    let used = in_loop(async {
        let mut busy = Busy::new();
        busy.add(1, 1, 64 << 10, 1);
        busy.add(50, 2, 64 << 10, 1);
        busy.add(3, 3, 100, 500);
        busy.run().await
    });
    let least = *used.values().min().unwrap() as f64;
    let most = *used.values().max().unwrap() as f64;
    // Each connection of the fifty may end with a read that it had begun.
    assert!(most < 1.25 * least, "{used:?}");
}

#[test]
fn an_identity_that_is_alone_waits_for_nobody() {
    let used = in_loop(async {
        let mut busy = Busy::new();
        busy.add(50, 2, 64 << 10, 500);
        busy.run().await
    });
    // Each connection has a turn in each of 2000 rounds.
    assert!(used[&2] > 50 * 1900 * TURN, "{used:?}");
}

#[test]
fn a_connection_that_ends_while_it_waits_leaves_its_place() {
    in_loop(async {
        let mut busy = Busy::new();
        busy.add(4, 1, TURN, 1);
        busy.add(4, 2, TURN, 1);
        for _ in 0..10 {
            yield_now().await;
        }
        for task in busy.tasks.drain(..6) {
            task.abort();
        }
        let used = busy.run().await;
        assert!(used[&2] > 1900 * TURN, "{used:?}");
    });
}
