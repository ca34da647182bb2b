//! WebSockets: one frame a binary message, otherwise a connection like any other.

use super::connection::{Connection, EngineGate, Sink};
use super::inbound::{Inbound, MAX_FRAME_BYTES};
use super::shell::Shell;
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::timeout;

/// The largest frame of the protocol.
pub const MAX_MESSAGE_BYTES: usize = MAX_FRAME_BYTES;
/// How long a message may take to be sent; then the peer is gone.
const SENDING: Duration = Duration::from_secs(10);

pub async fn serve(shell: Rc<Shell>, mut socket: WebSocket) {
    let Some((connection, _serving)) = shell.connect(|id| Connection::new(id, Sink::Web)) else {
        return;
    };
    let mut inbound = Inbound::default();
    loop {
        if send_all(&shell, &connection, &mut socket).await.is_err() || connection.is_closed() {
            break;
        }
        tokio::select! {
            message = socket.recv() => match message {
                Some(Ok(Message::Binary(frame))) => take(&shell, &connection, &mut inbound, &frame),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => shell.heard(connection.id, 0),
                Some(Ok(Message::Text(_))) => {
                    let text = "a WebSocket carries frames as binary messages, not text";
                    shell.malformed(connection.id, text.to_string());
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
            },
            _ = connection.stuck() => {}
        }
    }
    shell.disconnected(&connection);
    // The peer may be gone already.
    let _ = timeout(SENDING, socket.send(Message::Close(None))).await;
}

/// One frame.
fn take(shell: &Rc<Shell>, connection: &Connection, inbound: &mut Inbound, frame: &[u8]) {
    let gate = EngineGate {
        shell,
        connection: connection.id,
    };
    shell.heard(connection.id, frame.len());
    let parsed = inbound.parse(frame, &gate);
    for incoming in inbound.take_complete() {
        shell.request(connection.id, incoming);
    }
    if let Err(lost) = parsed {
        shell.malformed(connection.id, lost.0);
    } else if !inbound.is_between_frames() {
        let text = "a WebSocket message must be exactly one frame";
        shell.malformed(connection.id, text.to_string());
    }
}

/// Sends all frames there are; an error: the peer is gone or takes none.
async fn send_all(
    shell: &Rc<Shell>,
    connection: &Rc<Connection>,
    socket: &mut WebSocket,
) -> Result<(), ()> {
    loop {
        let next = connection.outbound.borrow_mut().next_frame();
        let Some(frame) = next else {
            return Ok(());
        };
        let mut bytes = frame.head;
        bytes.extend_from_slice(&frame.bulk);
        let length = bytes.len() as u64;
        let sending = socket.send(Message::Binary(Bytes::from(bytes)));
        timeout(SENDING, sending)
            .await
            .map_err(drop)?
            .map_err(drop)?;
        let sent = shell.traffic.sent.get() + length;
        shell.traffic.sent.set(sent);
        shell.flush_later(connection);
    }
}
