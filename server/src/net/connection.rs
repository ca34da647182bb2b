//! One connection: what it has to send, and who waits for it. Its tasks are in serving.rs.
//!
//! Whoever makes the engine send something writes it to the socket at once, without waking the
//! connection's own task; the task writes only what the socket would not take. Memory is bounded: a
//! connection that has not taken its replies is not read from until it has taken some.

use super::outbound::Outbound;
use super::socket::Socket;
use crate::session::Backlog;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use tokio::sync::Notify;

/// While more than that of replies waits, no further request of the connection is taken [NET-2].
const FULL_BYTES: usize = 64 << 10;

/// Where a connection's frames go.
#[derive(Debug)]
pub enum Sink {
    Stream(Socket),
    /// A task of the WebSocket takes them.
    Web,
}

#[derive(Debug)]
pub struct Connection {
    pub id: u64,
    pub outbound: RefCell<Outbound>,
    /// The present event has sent something on it.
    pub touched: Cell<bool>,
    pub sink: Sink,
    /// The engine has ended it.
    closed: Cell<bool>,
    close: Notify,
    stuck: Notify,
    room: Notify,
}

impl Connection {
    pub fn new(id: u64, sink: Sink) -> Rc<Self> {
        Rc::new(Connection {
            id,
            outbound: RefCell::default(),
            touched: Cell::new(false),
            sink,
            closed: Cell::new(false),
            close: Notify::new(),
            stuck: Notify::new(),
            room: Notify::new(),
        })
    }

    /// The engine has ended the connection; what was sent before still goes out.
    pub fn end(&self) {
        self.closed.set(true);
        self.close.notify_one();
        self.stuck.notify_one();
    }

    pub fn is_closed(&self) -> bool {
        self.closed.get()
    }

    pub async fn ended(&self) {
        while !self.closed.get() {
            self.close.notified().await;
        }
    }

    /// There is something to send that the socket did not take.
    pub async fn stuck(&self) {
        self.stuck.notified().await;
    }

    /// Writes what the socket takes now; returns how many bytes.
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
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.stuck.notify_one(),
            // The reader sees the end of the connection; what is queued has nowhere to go.
            Err(_) => outbound.clear(),
        }
        written
    }

    /// What is queued; whoever waits for room hears of it.
    pub fn backlog(&self) -> Backlog {
        let backlog = self.outbound.borrow().backlog();
        if backlog.replies <= FULL_BYTES {
            self.room.notify_one();
        }
        backlog
    }

    /// Waits while the connection has too many replies to take to ask for more.
    pub async fn has_room(&self) {
        while self.outbound.borrow().backlog().replies > FULL_BYTES && !self.closed.get() {
            self.room.notified().await;
        }
    }
}
