//! The tasks of a connection over TCP or a Unix socket: reading, writing, ending.
//!
//! Small messages are read into a buffer that all connections share. Large bulk is read straight
//! into its place.

use super::client_socket::{ClientSocket, Sink};
use super::inbound::{Admission, Inbound};
use super::relay::{self, Wanted};
use super::shell::{RefusedPlace, Serving, Shell};
use super::socket::Socket;
use super::turns::messages_of;
use crate::session::Request;
use interweave_wire::Rejection;
use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{ready, Poll};
use std::time::Duration;
use tokio::task::yield_now;
use tokio::time::timeout;

/// The time that a peer of a closed connection has to read the last messages.
pub const LINGER: Duration = Duration::from_secs(1);

/// After so many bytes of one connection the others have their turn, however fast its peer sends.
const TURN_BYTES: usize = 256 << 10;

/// Asks the engine what to take of a connection.
pub struct AskEngine {
    shell: Rc<Shell>,
    connection: u64,
}

impl AskEngine {
    pub fn about(shell: &Rc<Shell>, connection: u64) -> Self {
        AskEngine {
            shell: shell.clone(),
            connection,
        }
    }
}

impl Admission for AskEngine {
    fn is_greeted(&self) -> bool {
        self.shell.is_greeted(self.connection)
    }

    fn admits(&self, request: &Request, bulk_bytes: u64) -> bool {
        self.shell.admits(self.connection, request, bulk_bytes)
    }

    fn came(&self, request: &Request, bytes: usize) -> bool {
        self.shell.came(self.connection, request, bytes)
    }
}

/// Serves the connection until it ends.
pub async fn serve(shell: Rc<Shell>, connection: Rc<ClientSocket>, _serving: Serving) {
    let Sink::Stream(socket) = &connection.sink else {
        return;
    };
    let inbound = RefCell::new(Inbound::new(AskEngine::about(&shell, connection.id)));
    let wanted = tokio::select! {
        wanted = read_messages(&shell, &connection, socket, &inbound) => wanted,
        _ = give_bulk_up(&connection, &inbound) => None,
        _ = write_stuck(&shell, &connection, socket) => None,
        _ = connection.ended() => None,
        _ = connection.validity.ended() => None,
    };
    // The engine does not count its bulk any more from here on.
    drop(inbound);
    if let Some(wanted) = wanted {
        // Few connections are passed on, so that the others have no room for it.
        let relayed = Box::pin(relay::of_stream(&shell, &connection, socket, *wanted));
        tokio::select! {
            _ = relayed => {}
            _ = connection.ended() => {}
            _ = connection.validity.ended() => {}
        }
    }
    shell.disconnected(&connection);
    if !connection.is_hurried() {
        let _ = timeout(LINGER, linger(&connection, socket)).await;
    }
}

/// Ends a connection that was refused, after the error has gone out.
pub async fn part(connection: Rc<ClientSocket>, _place: RefusedPlace) {
    if let Sink::Stream(socket) = &connection.sink {
        let _ = timeout(LINGER, linger(&connection, socket)).await;
    }
}

/// Sends what is left, then gives the peer the time to read it.
async fn linger(connection: &ClientSocket, socket: &Socket) {
    while !connection.outbound.borrow().is_empty() {
        if socket.writable().await.is_err() {
            return;
        }
        connection.flush();
    }
    socket.shut_down();
    // The bytes are dropped where they come, because a buffer that lives across the wait would be
    // part of each connection's memory.
    while matches!(
        poll_fn(|cx| socket.poll_read(cx, &mut [0; 4096])).await,
        Ok(1..)
    ) {}
}

/// Writes what the socket did not take at once.
async fn write_stuck(shell: &Rc<Shell>, connection: &Rc<ClientSocket>, socket: &Socket) {
    loop {
        connection.stuck().await;
        while !connection.outbound.borrow().is_empty() {
            if socket.writable().await.is_err() {
                return;
            }
            shell.flush_later(connection);
        }
    }
}

/// Frees the memory of bulk that the engine does not keep any more, also where no more bytes come.
pub async fn give_bulk_up(connection: &ClientSocket, inbound: &RefCell<Inbound<AskEngine>>) {
    loop {
        connection.bulk_refused().await;
        inbound.borrow_mut().ask_again();
    }
}

/// Returns where the connection is to be passed on to. None: it has ended.
async fn read_messages(
    shell: &Rc<Shell>,
    connection: &Rc<ClientSocket>,
    socket: &Socket,
    inbound: &RefCell<Inbound<AskEngine>>,
) -> Option<Box<Wanted>> {
    let mut in_turn = 0;
    loop {
        connection.has_room().await;
        shell.rested(connection.id).await;
        if in_turn >= TURN_BYTES {
            in_turn = 0;
            yield_now().await;
        }
        let has_unparsed = inbound.borrow().has_unparsed();
        let before = in_turn;
        let lost = if has_unparsed {
            inbound.borrow_mut().parse_on().err()
        } else {
            match read_some(shell, socket, inbound).await {
                Ok(0) | Err(ReadError::Io) => return None,
                Ok(bytes) => {
                    in_turn += bytes;
                    shell.heard(connection.id, bytes);
                    None
                }
                Err(ReadError::Lost(lost)) => Some(lost),
            }
        };
        let complete = inbound.borrow_mut().take_complete();
        let bytes = in_turn - before;
        let messages = complete.iter().map(|one| messages_of(&one.request)).sum();
        shell.take_turn(connection.id, bytes, messages).await;
        for incoming in complete {
            connection.has_room().await;
            shell.rested(connection.id).await;
            if connection.is_closed() {
                return None;
            }
            shell.request(connection.id, incoming);
        }
        let lost = lost.map(|lost| lost.text);
        let wanted = connection.take_wanted();
        let inbound = inbound.borrow();
        let is_early = wanted.is_some() && (inbound.has_unparsed() || !inbound.is_between_frames());
        if let Some(text) = lost.or(is_early.then(|| relay::TOO_EARLY.to_string())) {
            shell.malformed(connection.id, text);
            return None;
        }
        if wanted.is_some() {
            return wanted;
        }
    }
}

enum ReadError {
    Io,
    /// The framing is lost.
    Lost(Rejection),
}

/// Reads from the socket once, and takes the bytes apart.
async fn read_some(
    shell: &Shell,
    socket: &Socket,
    inbound: &RefCell<Inbound<AskEngine>>,
) -> Result<usize, ReadError> {
    poll_fn(|cx| {
        let mut inbound = inbound.borrow_mut();
        let (bytes, parsed) = if let Some(target) = inbound.bulk_target() {
            let mut behind = shell.behind.borrow_mut();
            behind.clear();
            let read = ready!(socket.poll_read_bulk(cx, target, &mut behind));
            let bytes = read.map_err(|_| ReadError::Io)?;
            (bytes, inbound.bulk_read(bytes - behind.len(), &behind))
        } else {
            let mut buffer = shell.buffer.borrow_mut();
            let wanted = inbound.wanted_bytes().min(buffer.len());
            let read = ready!(socket.poll_read(cx, &mut buffer[..wanted]));
            let bytes = read.map_err(|_| ReadError::Io)?;
            (bytes, inbound.parse(&buffer[..bytes]))
        };
        Poll::Ready(parsed.map(|()| bytes).map_err(ReadError::Lost))
    })
    .await
}
