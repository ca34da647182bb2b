//! The tasks of a connection over TCP or a Unix socket: reading, writing, ending.
//!
//! Small messages are read into a buffer that all connections share. Large bulk is read straight
//! into its place.

use super::client_socket::{ClientSocket, Sink};
use super::inbound::{Admission, Inbound};
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
    tokio::select! {
        _ = read_messages(&shell, &connection, socket, &inbound) => {}
        _ = give_bulk_up(&connection, &inbound) => {}
        _ = write_stuck(&shell, &connection, socket) => {}
        _ = connection.ended() => {}
        _ = connection.validity.ended() => {}
    }
    // The engine does not count its bulk any more from here on.
    drop(inbound);
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

async fn read_messages(
    shell: &Rc<Shell>,
    connection: &Rc<ClientSocket>,
    socket: &Socket,
    inbound: &RefCell<Inbound<AskEngine>>,
) {
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
                Ok(0) | Err(ReadError::Io) => return,
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
                return;
            }
            shell.request(connection.id, incoming);
        }
        if let Some(lost) = lost {
            shell.malformed(connection.id, lost.text);
            return;
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
