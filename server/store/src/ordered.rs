//! Work that is done on all cores, and whose results are taken in the order of the items.
//!
//! A start reads files and rebuilds segments with it. Results wait until those before them were
//! taken, and work is begun only a few items ahead. So memory is bounded, and whatever depends on
//! the order of the log is as it would be on one thread.

use std::collections::BTreeMap;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

/// Items that are worked on or wait to be taken may be whole log files.
const MOST_THREADS: usize = 8;
/// So many results wait at most. Small files lie between large ones, and should hold up no thread.
const WAITING: usize = 8;

struct State<I, R> {
    items: I,
    /// How many items were begun.
    begun: usize,
    taken: usize,
    done: BTreeMap<usize, thread::Result<R>>,
    /// No further item is begun.
    ended: bool,
}

struct Queue<I, R> {
    state: Mutex<State<I, R>>,
    changed: Condvar,
    /// So many items at most are begun and not taken.
    ahead: usize,
}

impl<I: Iterator, R> Queue<I, R> {
    /// Work that panics does so without the lock.
    fn lock(&self) -> MutexGuard<'_, State<I, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, waits: impl Fn(&State<I, R>) -> bool) -> MutexGuard<'_, State<I, R>> {
        let waits = |state: &mut State<I, R>| waits(state);
        let waited = self.changed.wait_while(self.lock(), waits);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Option<(usize, I::Item)> {
        let mut state = self.wait_while(|s| !s.ended && s.begun >= s.taken + self.ahead);
        if state.ended {
            return None;
        }
        let item = state.items.next();
        match item {
            Some(item) => {
                state.begun += 1;
                Some((state.begun - 1, item))
            }
            None => {
                state.ended = true;
                self.changed.notify_all();
                None
            }
        }
    }

    fn work(&self, work: &impl Fn(I::Item) -> R) {
        while let Some((number, item)) = self.begin() {
            let result = catch_unwind(AssertUnwindSafe(|| work(item)));
            self.lock().done.insert(number, result);
            self.changed.notify_all();
        }
    }

    /// The next result in the order of the items; None: all were taken.
    fn take(&self) -> Option<thread::Result<R>> {
        let mut state = self.wait_while(|s| {
            let is_over = s.ended && s.taken == s.begun;
            !is_over && !s.done.contains_key(&s.taken)
        });
        let next = state.taken;
        let result = state.done.remove(&next)?;
        state.taken += 1;
        self.changed.notify_all();
        Some(result)
    }
}

/// Lets the threads end, also where taking a result failed.
struct Ending<'a, I: Iterator, R>(&'a Queue<I, R>);

impl<I: Iterator, R> Drop for Ending<'_, I, R> {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.changed.notify_all();
    }
}

/// Does `work` for each item, and gives the results to `take` in the order of the items. Ends with
/// the first error of `take`.
pub fn in_order<T: Send, R: Send, E>(
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
    take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    in_order_on(cores.min(MOST_THREADS), items, work, take)
}

fn in_order_on<T: Send, R: Send, E>(
    threads: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let has_one_item = matches!(items.size_hint(), (_, Some(0 | 1)));
    let queue = Queue {
        state: Mutex::new(State {
            items,
            begun: 0,
            taken: 0,
            done: BTreeMap::new(),
            ended: false,
        }),
        changed: Condvar::new(),
        ahead: threads + WAITING,
    };
    thread::scope(|scope| {
        let _ending = Ending(&queue);
        let threads = if has_one_item { 1 } else { threads };
        if !begin_threads(scope, threads, || queue.work(&work)) {
            while let Some((_, item)) = queue.begin() {
                queue.lock().taken += 1;
                take(work(item))?;
            }
            return Ok(());
        }
        while let Some(result) = queue.take() {
            take(result.unwrap_or_else(|panic| resume_unwind(panic)))?;
        }
        Ok(())
    })
}

/// False: no thread was begun, because one is enough or the system gives none.
fn begin_threads<'scope>(
    scope: &'scope Scope<'scope, '_>,
    threads: usize,
    work: impl Fn() + Copy + Send + 'scope,
) -> bool {
    let begin = || {
        let thread = thread::Builder::new().name("iw-start".to_string());
        thread.spawn_scoped(scope, work).is_ok()
    };
    threads > 1 && (0..threads).filter(|_| begin()).count() > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::Barrier;

    fn all(threads: usize, count: usize) -> Vec<usize> {
        let mut taken = Vec::new();
        let result: Result<(), ()> = in_order_on(
            threads,
            0..count,
            |item| item * 2,
            |result| {
                taken.push(result);
                Ok(())
            },
        );
        assert_eq!(result, Ok(()));
        taken
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for threads in [1, 2, 7] {
            for count in [0, 1, 2, 100] {
                let expected: Vec<usize> = (0..count).map(|item| item * 2).collect();
                assert_eq!(all(threads, count), expected, "{threads} threads");
            }
        }
    }

    #[test]
    fn several_items_are_worked_on_at_a_time() {
        let both = Barrier::new(2);
        let taken: Result<(), ()> = in_order_on(2, 0..6, |_| both.wait(), |_| Ok(()));
        assert_eq!(taken, Ok(()));
    }

    #[test]
    fn no_more_than_a_few_results_wait() {
        let begun = AtomicUsize::new(0);
        let mut taken = 0;
        let result: Result<(), ()> = in_order_on(
            3,
            0..50,
            |_| begun.fetch_add(1, Ordering::SeqCst),
            |_| {
                let ahead = begun.load(Ordering::SeqCst) - taken;
                taken += 1;
                match ahead <= 3 + WAITING + 1 {
                    true => Ok(()),
                    false => Err(()),
                }
            },
        );
        assert_eq!(result, Ok(()));
    }

    #[test]
    fn the_first_error_ends_it() {
        for threads in [1, 3] {
            let take = |item| if item < 5 { Ok(()) } else { Err(item) };
            assert_eq!(in_order_on(threads, 0.., |item| item, take), Err(5));
        }
    }

    #[test]
    fn a_panic_of_the_work_is_one_of_the_caller() {
        for threads in [1, 3] {
            let caught = catch_unwind(|| {
                let work = |item: usize| assert!(item != 7, "a test");
                let _: Result<(), ()> = in_order_on(threads, 0..100, work, |()| Ok(()));
            });
            assert!(caught.is_err(), "{threads} threads");
        }
    }
}
