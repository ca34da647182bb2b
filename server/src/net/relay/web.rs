//! Passes a WebSocket on: its messages are the frames of the stream to the other server.

use super::super::client_socket::ClientSocket;
use super::super::shell::Shell;
use super::passing::End;
use super::{begin, Wanted};
use crate::net::websocket::WebSocket;
use bytes::{Buf, Bytes, BytesMut};
use futures_util::{SinkExt, StreamExt};
use interweave_wire::frame::{frame_bytes, MAX_FRAME_BYTES};
use std::io;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{duplex, split, AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;

/// The bytes that the two threads have between them, in each direction.
const KEPT_BYTES: usize = 64 << 10;

/// Passes a WebSocket on, until it ends or cannot be passed on. Its client is told then.
pub async fn of_web(
    shell: &Rc<Shell>,
    connection: &ClientSocket,
    socket: &mut WebSocket,
    wanted: Wanted,
) {
    let passed = async {
        let Some(relay) = begin(shell, connection.id, &wanted).await else {
            return;
        };
        let (near, far) = duplex(KEPT_BYTES);
        let end = move || -> io::Result<End> { Ok(Box::new(far)) };
        tokio::select! {
            _ = relay.run(end) => {}
            _ = Pump::new(near, shell.lease()).run(socket) => {}
        }
    };
    tokio::select! {
        _ = passed => {}
        _ = connection.ended() => {}
        _ = connection.validity.ended() => {}
    }
}

struct Pump {
    from_owner: ReadHalf<DuplexStream>,
    to_owner: WriteHalf<DuplexStream>,
    /// The part of the client's last message that the stream has not taken.
    coming: Bytes,
    /// Bytes of the owner that are not a whole frame yet: fewer than a frame may have.
    going: BytesMut,
    /// How long the client may take nothing.
    patience: Duration,
}

impl Pump {
    fn new(near: DuplexStream, patience: Duration) -> Pump {
        let (from_owner, to_owner) = split(near);
        Pump {
            from_owner,
            to_owner,
            coming: Bytes::new(),
            going: BytesMut::new(),
            patience,
        }
    }

    /// Ends with one of both sides. No more is read of the client before the stream has taken its
    /// last message. None: it has ended.
    async fn run(mut self, socket: &mut WebSocket) -> Option<()> {
        loop {
            tokio::select! {
                message = socket.next(), if self.coming.is_empty() => match message?.ok()? {
                    Message::Binary(frame) if frame_bytes(&frame) == Some(frame.len()) => {
                        self.coming = frame;
                    }
                    Message::Ping(payload) => self.send(socket, Message::Pong(payload)).await?,
                    Message::Pong(_) => {}
                    // It has ended, or this is not one whole frame.
                    _ => return None,
                },
                taken = self.to_owner.write(&self.coming), if !self.coming.is_empty() => {
                    self.coming.advance(taken.ok()?);
                }
                read = self.from_owner.read_buf(&mut self.going) => {
                    if read.ok()? == 0 {
                        return None;
                    }
                    self.send_frames(socket).await?;
                }
            }
        }
    }

    /// Sends the whole frames that have come. None: the client is gone, or these are not frames.
    async fn send_frames(&mut self, socket: &mut WebSocket) -> Option<()> {
        while let Some(bytes) = frame_bytes(&self.going) {
            if bytes > MAX_FRAME_BYTES {
                return None;
            }
            if self.going.len() < bytes {
                break;
            }
            let frame = self.going.split_to(bytes).freeze();
            self.send(socket, Message::Binary(frame)).await?;
        }
        Some(())
    }

    async fn send(&self, socket: &mut WebSocket, message: Message) -> Option<()> {
        let sent = timeout(self.patience, socket.send(message)).await;
        sent.ok()?.ok()
    }
}
