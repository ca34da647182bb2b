//! The shell's requests to the store, and the store's answers to them.

use super::super::clock;
use super::Shell;
use crate::session::{Engine, Found, Read};
use interweave_store::{
    Checkpoint, End, Followed, Given, Next, Page, PageAsked, Sought, StoreError,
};
use interweave_wire::protocol::{CheckpointHead, MemberList};
use std::marker::PhantomData;
use tokio::sync::mpsc::UnboundedSender;

/// The hearer of an answer, on a thread of the store.
type Heard<T> = Box<dyn FnOnce(Result<T, StoreError>) + Send>;

/// The least time between two looks at the store's wants that a completion causes.
const LOOK_AGAIN_NS: u64 = 20_000_000;

/// A message of the store.
pub enum Stored {
    /// The request with that ticket is done.
    Completed(u64, Result<(), StoreError>),
    /// The store asks for a piece of the checkpoint with that ticket.
    Wants(u64),
    /// It has looked for the segment of that path.
    Sought(String, Result<Found, StoreError>),
    /// It has read the segment of that path, which is followed.
    Followed(String, Result<Read, StoreError>),
    /// It has given the segment of that number to another server, or has not.
    Given(u32, Result<Given, StoreError>),
    /// It has decided where segments end.
    Settled(Result<Vec<(u64, End)>, StoreError>),
    /// It has renewed the lease, which was asked for at that time.
    Renewed(u64, Result<(), StoreError>),
    /// It has looked for the servers that share it, for the request of that number.
    Members(u64, Result<MemberList, StoreError>),
    /// It has read the page of that number.
    Page(u64, Result<Page, StoreError>),
}

impl Stored {
    pub fn error(&self) -> Option<&StoreError> {
        match self {
            Stored::Completed(_, result) | Stored::Renewed(_, result) => result.as_ref().err(),
            Stored::Sought(_, found) => found.as_ref().err(),
            Stored::Followed(_, read) => read.as_ref().err(),
            Stored::Given(_, given) => given.as_ref().err(),
            Stored::Members(_, found) => found.as_ref().err(),
            Stored::Page(_, page) => page.as_ref().err(),
            Stored::Settled(ends) => ends.as_ref().err(),
            Stored::Wants(_) => None,
        }
    }
}

impl Shell {
    /// Gives the store what waits for the end of the turn.
    pub fn hand_over(&self) {
        self.appends.hand_over(self.store.borrow().as_deref());
    }

    /// Has the store give a segment away. The messages before are on the wire.
    pub(super) fn give(&self, (segment, segment_id, member): (u32, u64, u64)) {
        self.hand_over();
        let heard = self.answer(move |given| Stored::Given(segment, given));
        match self.store.borrow().as_ref() {
            Some(store) => store.give(segment_id, member, heard),
            None => heard(Err(StoreError::Closed)),
        }
    }

    pub(super) fn follow(&self, path: String) {
        let (followed, replicas) = (path.clone(), self.replicas.clone());
        // Rebuilding a segment takes a while, on the store's thread for that.
        let heard = self.answer(move |read: Result<Followed, _>| {
            let read = read.and_then(|read| replicas.followed(&followed, read));
            Stored::Followed(followed, read)
        });
        if let Some(store) = self.store.borrow().as_ref() {
            store.follow(&path, heard);
        }
    }

    pub(super) fn unfollow(&self, path: &str) {
        if let Some(store) = self.store.borrow().as_ref() {
            store.unfollow(path);
        }
        self.replicas.forget(path);
    }

    pub(super) fn checkpoint(&self, ticket: u64, checkpoint: Checkpoint) {
        self.hand_over();
        let done = self.done(ticket);
        match self.store.borrow().as_ref() {
            Some(store) => store.checkpoint(checkpoint, done),
            None => done(Err(StoreError::Closed)),
        }
    }

    pub(super) fn in_pieces(&self, ticket: u64, head: CheckpointHead) {
        self.hand_over();
        let done = self.done(ticket);
        let stored = self.stored.clone();
        let want = Box::new(move || {
            // The receiver is gone only when the server has ended.
            let _ = stored.send(Stored::Wants(ticket));
        });
        match self.store.borrow().as_ref() {
            Some(store) => store.checkpoint_in_pieces(head, want, done),
            None => done(Err(StoreError::Closed)),
        }
    }

    pub(super) fn next(&self, segment_id: u64, next: Next) {
        self.hand_over();
        if let Some(store) = self.store.borrow().as_ref() {
            store.next(segment_id, next);
        }
    }

    /// Requests from before go first: one of them may have made the segment.
    pub(super) fn seek(&self, path: String, claims: bool) {
        self.hand_over();
        let (sought, replicas) = (path.clone(), self.replicas.clone());
        // Rebuilding a segment takes a while, on the store's thread for that.
        let heard = self.answer(move |found: Result<Sought, _>| {
            let found = found.and_then(|found| replicas.sought(&sought, found));
            Stored::Sought(sought, found)
        });
        if let Some(store) = self.store.borrow().as_ref() {
            store.seek(&path, claims, heard);
        }
    }

    /// The appends that are in doubt were given to the store before.
    pub(super) fn settle_doubts(&self, segments: Vec<u64>) {
        self.hand_over();
        let heard = self.answer(Stored::Settled);
        match self.store.borrow().as_ref() {
            Some(store) => store.settle(segments, heard),
            None => heard(Err(StoreError::Closed)),
        }
    }

    pub(super) fn renew(&self, is_drained: bool) {
        let asked_ns = clock::now_ns();
        let heard = self.answer(move |result| Stored::Renewed(asked_ns, result));
        if let Some(store) = self.store.borrow().as_ref() {
            store.renew(is_drained, heard);
        }
    }

    pub(super) fn list_members(&self, asked: u64, after: u64, tells_all: bool) {
        let heard = self.answer(move |result| Stored::Members(asked, result));
        if let Some(store) = self.store.borrow().as_ref() {
            store.members(after, tells_all, heard);
        }
    }

    pub(super) fn page(&self, asked: u64, page: PageAsked) {
        let heard = self.answer(move |result| Stored::Page(asked, result));
        if let Some(store) = self.store.borrow().as_ref() {
            store.page(page, heard);
        }
    }

    pub(super) fn done(&self, ticket: u64) -> Heard<()> {
        self.answer(move |result| Stored::Completed(ticket, result))
    }

    /// Brings an answer of the store to the engine's thread, as `say` words it.
    fn answer<T: 'static>(
        &self,
        say: impl FnOnce(Result<T, StoreError>) -> Stored + Send + 'static,
    ) -> Heard<T> {
        let mut answer = Answer {
            stored: self.stored.clone(),
            say: Some(say),
            of: PhantomData,
        };
        Box::new(move |result| answer.give(result))
    }

    /// Waits until the server may serve: at once, unless it shares its store. Returns also if it
    /// cannot use the store any more.
    pub async fn standing(&self) {
        while !self.engine.borrow().has_standing() && self.lost_store().is_none() {
            self.progress.notified().await;
        }
    }

    /// Brings the engine what the store says.
    pub fn told(&self, stored: Stored) {
        match stored {
            Stored::Completed(ticket, result) => self.stored(ticket, result),
            Stored::Wants(ticket) => {
                self.event(|engine, now_ns| engine.piece_wanted(now_ns, ticket));
            }
            Stored::Sought(path, found) => {
                self.event(|engine, now_ns| engine.sought(now_ns, &path, found));
            }
            Stored::Followed(path, read) => {
                self.event(|engine, now_ns| engine.followed(now_ns, &path, read));
            }
            Stored::Given(segment, given) => {
                self.event(|engine, now_ns| engine.given(now_ns, segment, given));
            }
            Stored::Members(asked, found) => {
                self.event(|engine, now_ns| engine.members_found(now_ns, asked, found));
            }
            Stored::Page(asked, page) => {
                self.event(|engine, now_ns| engine.page_read(now_ns, asked, page));
            }
            Stored::Settled(ends) => {
                self.event(|engine, now_ns| engine.settled(now_ns, ends));
            }
            Stored::Renewed(asked_ns, result) => {
                self.event(|engine, now_ns| engine.renewed(now_ns, asked_ns, result));
                self.progress.notify_one();
            }
        }
    }

    /// Tells the engine what the store wants saved.
    pub(super) fn look_after_store(&self, engine: &mut Engine) {
        if let Some(store) = self.store.borrow().as_ref() {
            if let Some(why) = store.stopped() {
                engine.store_stopped(why);
            }
            let now_ns = self.event_ns.get();
            self.looked_ns.set(now_ns);
            engine.store_looked_at(now_ns, &store.with_much_log(), &store.overdue());
        }
    }

    /// The store has completed a request. If the store needs checkpoints, the engine looks at once,
    /// because a busy writer could fill the disk before the next look.
    fn stored(&self, ticket: u64, result: Result<(), StoreError>) {
        self.event(|engine, now_ns| {
            engine.stored(now_ns, ticket, result);
            let in_need = || {
                let store = self.store.borrow();
                store.as_ref().is_some_and(|store| store.is_in_need())
            };
            if now_ns >= self.looked_ns.get() + LOOK_AGAIN_NS && in_need() {
                self.look_after_store(engine);
            }
        });
    }
}

/// The store's answer to a request. If the store drops it without an answer, because a thread of
/// the store has panicked, an error is the answer.
struct Answer<T, S: FnOnce(Result<T, StoreError>) -> Stored> {
    stored: UnboundedSender<Stored>,
    /// None: it was given.
    say: Option<S>,
    of: PhantomData<fn(T)>,
}

impl<T, S: FnOnce(Result<T, StoreError>) -> Stored> Answer<T, S> {
    fn give(&mut self, result: Result<T, StoreError>) {
        if let Some(say) = self.say.take() {
            // The receiver is gone only when the server has ended.
            let _ = self.stored.send(say(result));
        }
    }
}

impl<T, S: FnOnce(Result<T, StoreError>) -> Stored> Drop for Answer<T, S> {
    fn drop(&mut self) {
        self.give(Err(StoreError::Ended("it gave no answer".to_string())));
    }
}
