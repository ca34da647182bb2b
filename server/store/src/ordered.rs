//! Work that is done on all cores, and whose results are taken in the order of the items.
//!
//! A start reads files and rebuilds segments with it. Results wait until those before them were
//! taken, and work is begun only a few items and a few bytes ahead. So memory is bounded, and
//! whatever depends on the order of the log is as it would be on one thread.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, Scope};

/// Items that are worked on or wait to be taken may be whole log files.
const MOST_THREADS: usize = 8;
/// So many results wait at most. Small files lie between large ones, and should hold up no thread.
const WAITING: usize = 8;
/// The items after the next one to be taken have at most so many bytes together. The next one may
/// be larger, because nothing continues without it.
const AHEAD_BYTES: u64 = 256 << 20;

/// How many threads work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Threads {
    /// One a core.
    #[default]
    OfAllCores,
    /// The caller's.
    OfCaller,
}

impl Threads {
    fn count(self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        match self {
            Threads::OfAllCores => cores().min(MOST_THREADS),
            Threads::OfCaller => 1,
        }
    }
}

struct State<I: Iterator, R> {
    items: I,
    /// The item to begin next, and its bytes.
    next: Option<(I::Item, u64)>,
    /// The bytes of the items that were begun and not taken, in their order.
    ahead: VecDeque<u64>,
    taken: usize,
    done: BTreeMap<usize, thread::Result<R>>,
    /// No further item is begun.
    ended: bool,
}

impl<I: Iterator, R> State<I, R> {
    fn begun(&self) -> usize {
        self.taken + self.ahead.len()
    }

    /// Looks at the item to begin next. Its iterator may panic, which then is that item's result.
    fn look(&mut self, bytes: &impl Fn(&I::Item) -> u64) {
        if self.ended || self.next.is_some() {
            return;
        }
        let items = &mut self.items;
        let next = || items.next().map(|item| (bytes(&item), item));
        match catch_unwind(AssertUnwindSafe(next)) {
            Ok(Some((bytes, item))) => self.next = Some((item, bytes)),
            Ok(None) => self.ended = true,
            Err(panic) => {
                self.done.insert(self.begun(), Err(panic));
                self.ahead.push_back(0);
                self.ended = true;
            }
        }
    }

    /// Whether the item to begin next may be begun, where so many items are begun at most.
    fn has_room(&self, most: usize) -> bool {
        let next = self.next.iter().map(|(_, bytes)| *bytes);
        let mut after_first = self.ahead.iter().copied().chain(next).skip(1);
        let bytes = after_first.try_fold(0, u64::checked_add);
        self.ahead.len() < most && bytes.is_some_and(|bytes| bytes <= AHEAD_BYTES)
    }
}

struct Queue<I: Iterator, R, B> {
    state: Mutex<State<I, R>>,
    changed: Condvar,
    /// So many items at most are begun and not taken.
    most: usize,
    bytes: B,
}

impl<I: Iterator, R, B: Fn(&I::Item) -> u64> Queue<I, R, B> {
    fn new(items: I, bytes: B, most: usize) -> Self {
        Queue {
            state: Mutex::new(State {
                items,
                next: None,
                ahead: VecDeque::new(),
                taken: 0,
                done: BTreeMap::new(),
                ended: false,
            }),
            changed: Condvar::new(),
            most,
            bytes,
        }
    }

    /// What may panic does so without the lock, or its panic is caught.
    fn lock(&self) -> MutexGuard<'_, State<I, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(
        &self,
        waits: impl FnMut(&mut State<I, R>) -> bool,
    ) -> MutexGuard<'_, State<I, R>> {
        let waited = self.changed.wait_while(self.lock(), waits);
        waited.unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> Option<(usize, I::Item)> {
        let mut state = self.wait_while(|state| {
            state.look(&self.bytes);
            !state.ended && !state.has_room(self.most)
        });
        if state.ended {
            self.changed.notify_all();
            return None;
        }
        let (item, bytes) = state.next.take()?;
        let number = state.begun();
        state.ahead.push_back(bytes);
        Some((number, item))
    }

    /// False: there is no further item.
    fn work_once(&self, work: &impl Fn(I::Item) -> R) -> bool {
        let Some((number, item)) = self.begin() else {
            return false;
        };
        let result = catch_unwind(AssertUnwindSafe(|| work(item)));
        self.lock().done.insert(number, result);
        self.changed.notify_all();
        true
    }

    /// The next result in the order of the items; None: all were taken.
    fn take(&self) -> Option<thread::Result<R>> {
        let mut state = self.wait_while(|s| {
            let is_over = s.ended && s.ahead.is_empty();
            !is_over && !s.done.contains_key(&s.taken)
        });
        let next = state.taken;
        let result = state.done.remove(&next)?;
        state.taken += 1;
        state.ahead.pop_front();
        self.changed.notify_all();
        Some(result)
    }

    fn end(&self) {
        self.lock().ended = true;
        self.changed.notify_all();
    }
}

/// Lets the threads end, also where taking a result failed.
struct Ending<F: Fn()>(F);

impl<F: Fn()> Drop for Ending<F> {
    fn drop(&mut self) {
        self.0();
    }
}

/// Does `work` for each item, and gives the results to `take` in the order of the items. Ends with
/// the first error of `take`. The items are small, or their memory is needed in any case.
pub fn in_order<T: Send, R: Send, E>(
    threads: Threads,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> R + Sync,
    take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    in_order_by_bytes(threads, items, |_| 0, work, take)
}

/// As `in_order`, where the work on an item takes as much memory as `bytes` says.
pub fn in_order_by_bytes<T: Send, R: Send, E>(
    threads: Threads,
    items: impl Iterator<Item = T> + Send,
    bytes: impl Fn(&T) -> u64 + Sync,
    work: impl Fn(T) -> R + Sync,
    take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    in_order_on(threads.count(), (items, bytes), work, take)
}

fn in_order_on<T: Send, R: Send, E>(
    threads: usize,
    (items, bytes): (impl Iterator<Item = T> + Send, impl Fn(&T) -> u64 + Sync),
    work: impl Fn(T) -> R + Sync,
    mut take: impl FnMut(R) -> Result<(), E>,
) -> Result<(), E> {
    let has_one_item = matches!(items.size_hint(), (_, Some(0 | 1)));
    let queue = Queue::new(items, bytes, threads + WAITING);
    thread::scope(|scope| {
        let _ending = Ending(|| queue.end());
        let threads = if has_one_item { 1 } else { threads };
        let is_helped = begin_threads(scope, threads, || while queue.work_once(&work) {});
        loop {
            if !is_helped {
                queue.work_once(&work);
            }
            let Some(result) = queue.take() else {
                return Ok(());
            };
            take(result.unwrap_or_else(|panic| resume_unwind(panic)))?;
        }
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
            (0..count, |_: &usize| 0),
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
        let taken: Result<(), ()> =
            in_order_on(2, (0..6, |_: &usize| 0), |_| both.wait(), |_| Ok(()));
        assert_eq!(taken, Ok(()));
    }

    #[test]
    fn no_more_than_a_few_results_wait() {
        let begun = AtomicUsize::new(0);
        let mut taken = 0;
        let result: Result<(), ()> = in_order_on(
            3,
            (0..50, |_: &usize| 0),
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
            let items = (0.., |_: &usize| 0);
            assert_eq!(in_order_on(threads, items, |item| item, take), Err(5));
        }
    }

    #[test]
    fn a_panic_of_the_work_is_one_of_the_caller() {
        for threads in [1, 3] {
            let caught = catch_unwind(|| {
                let work = |item: usize| assert!(item != 7, "a test");
                let items = (0..100, |_: &usize| 0);
                let _: Result<(), ()> = in_order_on(threads, items, work, |()| Ok(()));
            });
            assert!(caught.is_err(), "{threads} threads");
        }
    }

    /// All further items panic, so that no thread would be left.
    #[test]
    fn a_panic_of_the_items_comes_after_the_results_before_it() {
        for threads in [1, 3] {
            let mut taken = Vec::new();
            let caught = catch_unwind(AssertUnwindSafe(|| {
                let items = (0..9).inspect(|item| assert!(*item < 3, "a test"));
                let take = |item| {
                    taken.push(item);
                    Ok::<(), ()>(())
                };
                let _ = in_order_on(threads, (items, |_: &usize| 0), |item| item, take);
            }));
            assert!(caught.is_err(), "{threads} threads");
            assert_eq!(taken, [0, 1, 2], "{threads} threads");
        }
    }

    #[test]
    fn a_panic_about_the_bytes_is_one_of_the_caller() {
        for threads in [1, 3] {
            let caught = catch_unwind(|| {
                let bytes = |item: &usize| match item {
                    3.. => panic!("a test"),
                    _ => 0,
                };
                let _ = in_order_on(threads, (0..9, bytes), |_| (), |()| Ok::<(), ()>(()));
            });
            assert!(caught.is_err(), "{threads} threads");
        }
    }

    const MIB: u64 = 1 << 20;

    fn begins<I: Iterator>(queue: &Queue<I, (), impl Fn(&I::Item) -> u64>) -> bool {
        let mut state = queue.lock();
        state.look(&queue.bytes);
        let has_room = state.has_room(queue.most);
        drop(state);
        has_room && queue.work_once(&|_| ())
    }

    #[test]
    fn only_so_many_bytes_are_ahead_of_the_next_item() {
        let sizes = [4096, 200, 56, 1, 4096, 1].map(|size| size * MIB);
        let queue = Queue::new(sizes.into_iter(), |size: &u64| *size, 11);
        // the first is as large as it is, and two others fill the bytes ahead
        assert_eq!([0; 4].map(|_| begins(&queue)), [true, true, true, false]);
        // the second is the next to be taken now, and counts no more
        assert!(queue.take().is_some());
        assert_eq!([0; 2].map(|_| begins(&queue)), [true, false]);
        // the large one is begun when it is the next, and not before
        assert!(queue.take().is_some());
        assert!(queue.take().is_some());
        assert!(!begins(&queue));
        assert!(queue.take().is_some());
        assert_eq!([0; 2].map(|_| begins(&queue)), [true, true]);
    }

    #[test]
    fn items_of_any_bytes_are_all_taken_in_their_order() {
        let bytes = |item: &usize| [0, u64::MAX, 100 * MIB, 4096 * MIB][item % 4];
        for threads in [1, 2, 7] {
            let mut taken = Vec::new();
            let take = |item| {
                taken.push(item);
                Ok::<(), ()>(())
            };
            let result = in_order_on(threads, (0..100, bytes), |item| item, take);
            assert_eq!(
                (result, taken),
                (Ok(()), (0..100).collect()),
                "{threads} threads"
            );
        }
    }
}
