//! The socket of one client: the bytes that it has to send, and the tasks that wait for it
//! (serving.rs).
//!
//! An event that makes the engine send a message writes it to the socket at once, and does not wake
//! the connection's own task. The task writes what the socket did not take, and what is too much
//! for one turn. Memory is bounded: nothing is read from a connection that has not taken its
//! replies, until it takes some.

use super::outbound::Outbound;
use super::relay::Wanted;
use super::socket::Socket;
use super::tls::Validity;
use crate::session::Backlog;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;

/// While more bytes of replies wait, no further request of the connection is taken [NET-2].
const FULL_BYTES: usize = 64 << 10;

/// The way of a connection's frames.
#[derive(Debug)]
pub enum Sink {
    Stream(Socket),
    /// A task of the WebSocket takes them.
    Web,
}

#[derive(Debug)]
pub struct ClientSocket {
    pub id: u64,
    pub outbound: RefCell<Outbound>,
    /// The present event has sent something on it.
    pub touched: Cell<bool>,
    pub sink: Sink,
    pub validity: Arc<Validity>,
    /// The engine has ended it.
    closed: Cell<bool>,
    /// Others need its place at once.
    is_hurried: Cell<bool>,
    close: Notify,
    stuck: Notify,
    room: Notify,
    refused: Notify,
    /// Its client is to be passed on to another server.
    wanted: RefCell<Option<Box<Wanted>>>,
}

impl ClientSocket {
    pub fn new(id: u64, sink: Sink, validity: Arc<Validity>) -> Rc<Self> {
        Rc::new(ClientSocket {
            id,
            outbound: RefCell::default(),
            touched: Cell::new(false),
            sink,
            validity,
            closed: Cell::new(false),
            is_hurried: Cell::new(false),
            close: Notify::new(),
            stuck: Notify::new(),
            room: Notify::new(),
            refused: Notify::new(),
            wanted: RefCell::default(),
        })
    }

    /// Notes that the engine has ended the connection. Messages that it sent before still go out.
    pub fn end(&self) {
        self.closed.set(true);
        self.close.notify_one();
        self.stuck.notify_one();
    }

    /// Ends the connection without the time in which its peer takes the last messages.
    pub fn hurry(&self) {
        self.is_hurried.set(true);
        self.end();
    }

    pub fn is_hurried(&self) -> bool {
        self.is_hurried.get()
    }

    pub fn is_closed(&self) -> bool {
        self.closed.get()
    }

    pub async fn ended(&self) {
        while !self.closed.get() {
            self.close.notified().await;
        }
    }

    /// Waits until there is something to send that the socket did not take.
    pub async fn stuck(&self) {
        self.stuck.notified().await;
    }

    /// Notes that the connection is to be passed on from here.
    pub fn pass_on(&self, wanted: Wanted) {
        self.wanted.replace(Some(Box::new(wanted)));
    }

    /// Takes out where the connection is to be passed on to. None: nowhere.
    pub fn take_wanted(&self) -> Option<Box<Wanted>> {
        self.wanted.take()
    }

    /// Notes that the engine does not keep all bulk any more that is coming in.
    pub fn refuse_bulk(&self) {
        self.refused.notify_one();
    }

    /// Waits for [`ClientSocket::refuse_bulk`].
    pub async fn bulk_refused(&self) {
        self.refused.notified().await;
    }

    /// Writes as much as the socket takes now. Returns how many bytes.
    pub fn flush(&self) -> usize {
        let mut outbound = self.outbound.borrow_mut();
        let mut written = 0;
        let result = match &self.sink {
            Sink::Stream(socket) => {
                outbound.write_with(&mut written, |slices| socket.try_write_vectored(slices))
            }
            Sink::Web => Err(io::ErrorKind::WouldBlock.into()),
        };
        match result {
            Ok(()) if outbound.is_empty() => {}
            Ok(()) => self.stuck.notify_one(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stuck.notify_one(),
            // The reading task notices that the connection is lost. Its queue is dropped.
            Err(_) => outbound.clear(),
        }
        written
    }

    /// Returns how much is queued, and wakes the task that waits for room.
    pub fn backlog(&self) -> Backlog {
        let backlog = self.outbound.borrow().backlog();
        if backlog.replies <= FULL_BYTES {
            self.room.notify_one();
        }
        backlog
    }

    /// Waits while so many replies wait that no further request is taken.
    pub async fn has_room(&self) {
        while self.outbound.borrow().backlog().replies > FULL_BYTES && !self.closed.get() {
            self.room.notified().await;
        }
    }
}
