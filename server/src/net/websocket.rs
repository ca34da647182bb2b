//! WebSockets: exactly one frame a binary message, otherwise a connection like any other.
//!
//! One message is sent at a time, and one ping answered at a time. Nothing more is read before the
//! peer has taken the answer. So one message at most waits in the library, and counts as the
//! connection's backlog.

use super::client_socket::{ClientSocket, Sink};
use super::inbound::Inbound;
use super::serving::{AskEngine, LINGER};
use super::shell::Shell;
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use interweave_wire::frame::{frame_bytes, MAX_FRAME_BYTES};
use std::rc::Rc;
use tokio::time::{sleep, timeout};

/// The most bytes that one read of the socket brings. Every connection has such a buffer.
const READ_BYTES: usize = 16 * 1024;
/// Room for one message of ours and for the library's own answers.
const MAX_WRITE_BYTES: usize = MAX_FRAME_BYTES + 4096;

/// Bounds what the library keeps for a connection.
pub fn bounded(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .max_message_size(MAX_FRAME_BYTES)
        .max_frame_size(MAX_FRAME_BYTES)
        .read_buffer_size(READ_BYTES)
        .write_buffer_size(0)
        .max_write_buffer_size(MAX_WRITE_BYTES)
}

pub async fn serve(shell: Rc<Shell>, mut socket: WebSocket) {
    let Some((connection, _serving)) = shell.connect(|id| ClientSocket::new(id, Sink::Web)) else {
        return;
    };
    let mut inbound = Inbound::new(AskEngine {
        shell: shell.clone(),
        connection: connection.id,
    });
    loop {
        if send_all(&shell, &connection, &mut socket).await.is_err() || connection.is_closed() {
            break;
        }
        tokio::select! {
            message = socket.recv() => match message {
                Some(Ok(Message::Binary(frame))) => take(&shell, &connection, &mut inbound, &frame),
                Some(Ok(Message::Ping(payload))) => {
                    shell.heard(connection.id, payload.len());
                    // The library has prepared this answer; sending writes it.
                    let pong = Message::Pong(payload);
                    if send(&shell, &connection, &mut socket, pong).await.is_err() {
                        break;
                    }
                }
                Some(Ok(Message::Pong(_))) => shell.heard(connection.id, 0),
                Some(Ok(Message::Text(_))) => {
                    let text = "a WebSocket carries frames as binary messages, not text";
                    shell.malformed(connection.id, text.to_string());
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
            },
            _ = connection.stuck() => {}
            _ = connection.bulk_refused() => inbound.ask_again(),
        }
    }
    shell.disconnected(&connection);
    // The peer may be gone already.
    let _ = timeout(LINGER, socket.send(Message::Close(None))).await;
}

/// Takes a message, which must be exactly one frame. Otherwise nothing of it is looked at.
fn take(
    shell: &Rc<Shell>,
    connection: &ClientSocket,
    inbound: &mut Inbound<AskEngine>,
    message: &[u8],
) {
    shell.heard(connection.id, message.len());
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
        return shell.malformed(connection.id, text);
    }
    let parsed = inbound.parse(message);
    for incoming in inbound.take_complete() {
        shell.request(connection.id, incoming);
    }
    match parsed {
        Err(lost) => shell.malformed(connection.id, lost.text),
        Ok(()) => debug_assert!(inbound.is_between_frames()),
    }
}

/// Sends all frames. An error: the peer is gone, or takes none.
async fn send_all(
    shell: &Rc<Shell>,
    connection: &Rc<ClientSocket>,
    socket: &mut WebSocket,
) -> Result<(), ()> {
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
        send(shell, connection, socket, message).await?;
        connection.outbound.borrow_mut().let_go(length);
        let sent = shell.traffic.sent.get() + length as u64;
        shell.traffic.sent.set(sent);
        shell.flush_later(connection);
    }
}

/// Sends one message. Gives up a moment after the engine has ended the connection [NET-3].
async fn send(
    shell: &Rc<Shell>,
    connection: &Rc<ClientSocket>,
    socket: &mut WebSocket,
    message: Message,
) -> Result<(), ()> {
    let parting = async {
        connection.ended().await;
        sleep(LINGER).await;
    };
    tokio::select! {
        sent = timeout(shell.lease(), socket.send(message)) => sent.map_err(drop)?.map_err(drop),
        _ = parting => Err(()),
    }
}
