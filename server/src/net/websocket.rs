//! WebSockets: exactly one frame a binary message, otherwise a connection like any other.
//!
//! One message is sent at a time, and one ping answered at a time. Nothing more is read before the
//! peer has taken the answer. So one message at most waits in the library, and counts as the
//! connection's backlog.

use super::client_socket::{ClientSocket, Sink};
use super::door::Way;
use super::inbound::Inbound;
use super::relay;
use super::serving::{give_bulk_up, AskEngine, LINGER};
use super::shell::Shell;
use super::strange_frames::Bounded;
use super::turns::messages_of;
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use interweave_wire::frame::{frame_bytes, MAX_FRAME_BYTES};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::WebSocketStream;

/// The most bytes that one read of the socket brings. Every connection has such a buffer, that of a
/// stranger besides the message that comes in [NET-8].
const READ_BYTES: usize = 8 * 1024;
/// The bytes that a client may send before it has logged in: a HELLO, and the WebSocket's own bytes
/// around it. The library may have a message in parts three times for a moment [NET-8].
const FIRST_BYTES: usize = 17 * 1024;
/// Room for one message of ours and for the library's own answers.
const MAX_WRITE_BYTES: usize = MAX_FRAME_BYTES + 4096;

pub type WebSocket = WebSocketStream<Bounded<TokioIo<Upgraded>>>;

/// Makes the WebSocket of a connection whose request was answered, and bounds the library's memory.
pub async fn over(upgraded: Upgraded) -> WebSocket {
    let config = WebSocketConfig::default()
        .max_message_size(Some(MAX_FRAME_BYTES))
        .max_frame_size(Some(MAX_FRAME_BYTES))
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_WRITE_BYTES);
    let stream = Bounded::new(TokioIo::new(upgraded), FIRST_BYTES);
    WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await
}

/// Serves the connection until it ends.
pub async fn serve(shell: Rc<Shell>, mut socket: WebSocket, way: Way) {
    let make = |id| ClientSocket::new(id, Sink::Web, way.validity);
    let Some((connection, _serving)) = shell.connect(way.peer, make) else {
        return;
    };
    let inbound = RefCell::new(Inbound::new(AskEngine::about(&shell, connection.id)));
    let talk = Talk {
        shell: &shell,
        connection: &connection,
        inbound: &inbound,
    };
    loop {
        if talk.send_all(&mut socket).await.is_err() || connection.is_closed() {
            break;
        }
        tokio::select! {
            message = next(&shell, connection.id, &mut socket) => match message {
                Some(Ok(Message::Binary(frame))) => {
                    shell.take_turn(connection.id, frame.len(), 1).await;
                    talk.take(&frame).await;
                    if inbound.borrow().is_greeted() {
                        socket.get_ref().let_go();
                    }
                    if let Some(mut wanted) = connection.take_wanted() {
                        // The owner knows nothing of the login by which the WebSocket began.
                        if wanted.hello.token.is_empty() {
                            wanted.hello.token = way.shown.text().to_string();
                        }
                        socket.get_ref().let_go();
                        relay::of_web(&shell, &connection, &mut socket, *wanted).await;
                        let _ = talk.send_all(&mut socket).await;
                        break;
                    }
                }
                Some(Ok(Message::Ping(payload))) => {
                    shell.heard(connection.id, payload.len());
                    // The library has prepared this answer; sending writes it.
                    let pong = Message::Pong(payload);
                    if talk.send(&mut socket, pong).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Pong(_))) => shell.heard(connection.id, 0),
                Some(Ok(Message::Text(_))) => {
                    let text = "a WebSocket carries frames as binary messages, not text";
                    shell.malformed(connection.id, text.to_string());
                }
                Some(Ok(Message::Close(_) | Message::Frame(_)) | Err(_)) | None => break,
            },
            _ = connection.stuck() => {}
            _ = connection.validity.ended() => break,
            _ = give_bulk_up(&connection, &inbound) => {}
        }
    }
    // The engine does not count its bulk any more from here on.
    drop(inbound);
    shell.disconnected(&connection);
    // The peer may be gone already.
    let _ = timeout(LINGER, socket.send(Message::Close(None))).await;
}

/// Waits for the next message, and before it while a limit is used up.
async fn next(
    shell: &Shell,
    connection: u64,
    socket: &mut WebSocket,
) -> Option<tungstenite::Result<Message>> {
    shell.rested(connection).await;
    socket.next().await
}

struct Talk<'a> {
    shell: &'a Rc<Shell>,
    connection: &'a Rc<ClientSocket>,
    inbound: &'a RefCell<Inbound<AskEngine>>,
}

impl Talk<'_> {
    /// Takes a message, which must be exactly one frame. Otherwise nothing of it is looked at.
    async fn take(&self, message: &[u8]) {
        let (shell, connection) = (self.shell, self.connection.id);
        shell.heard(connection, message.len());
        let frame = frame_bytes(message);
        if frame != Some(message.len()) {
            let found = match frame {
                Some(bytes) => format!("its first frame has {bytes}"),
                None => "a frame begins with 8 bytes of lengths".to_string(),
            };
            let text = format!(
                "a WebSocket message must be exactly one frame; one came with {} bytes, {found}",
                message.len()
            );
            return shell.malformed(connection, text);
        }
        let (parsed, complete) = {
            let mut inbound = self.inbound.borrow_mut();
            (inbound.parse(message), inbound.take_complete())
        };
        for incoming in complete {
            let more = messages_of(&incoming.request) - 1;
            if more > 0 {
                shell.take_turn(connection, 0, more).await;
            }
            shell.request(connection, incoming);
        }
        match parsed {
            Err(lost) => shell.malformed(connection, lost.text),
            Ok(()) => debug_assert!(self.inbound.borrow().is_between_frames()),
        }
    }

    /// Sends all frames. An error: the peer is gone, or takes none.
    async fn send_all(&self, socket: &mut WebSocket) -> Result<(), ()> {
        let connection = self.connection;
        loop {
            let next = connection.outbound.borrow_mut().next_frame();
            let Some(frame) = next else {
                return Ok(());
            };
            let mut bytes = frame.head.to_vec();
            let pieces = frame.bulk.pieces();
            pieces.for_each(|piece| bytes.extend_from_slice(piece));
            let length = bytes.len();
            connection.outbound.borrow_mut().hold(length);
            let message = Message::Binary(Bytes::from(bytes));
            self.send(socket, message).await?;
            connection.outbound.borrow_mut().let_go(length);
            let sent = &self.shell.traffic.sent;
            sent.set(sent.get() + length as u64);
            self.shell.flush_later(connection);
        }
    }

    /// Sends one message. Gives up a moment after the engine has ended the connection [NET-3].
    async fn send(&self, socket: &mut WebSocket, message: Message) -> Result<(), ()> {
        let parting = async {
            self.connection.ended().await;
            sleep(LINGER).await;
        };
        let lease = self.shell.lease();
        tokio::select! {
            sent = timeout(lease, socket.send(message)) => sent.map_err(drop)?.map_err(drop),
            _ = parting => Err(()),
            _ = give_bulk_up(self.connection, self.inbound) => Err(()),
        }
    }
}
