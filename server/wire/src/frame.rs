//! Frames and messages: spec/protocol/session.x, [FRAME-1..4].
//!
//! [`FrameDecoder`] turns the bytes of one direction into whole messages; [`FrameEncoder`] cuts one
//! message into frames. Everything in Rust that speaks the protocol is built on these two: the
//! server's sockets, the blocking client, and tests.

mod decoder;

use bytes::Bytes;

use crate::gathered::Gathered;
use crate::protocol::xdr::{self, Xdr};
use crate::protocol::{Envelope, MessageType, MAX_CHUNK_BYTES, MAX_CONTROL_BYTES};
use crate::rejection::Rejection;

pub use decoder::{Begun, Bounds, BulkTarget, FrameDecoder, Gate, KeepAll, READ_BYTES};

/// control_bytes:u32 bulk_bytes:u32
pub const HEAD_BYTES: usize = 8;

/// The longest frame.
pub const MAX_FRAME_BYTES: usize =
    HEAD_BYTES + MAX_CONTROL_BYTES as usize + MAX_CHUNK_BYTES as usize;

/// How many bytes the frame has that begins with these, as its lengths say; None: they have not all
/// come.
pub fn frame_bytes(begin: &[u8]) -> Option<usize> {
    let (control_bytes, rest) = begin.split_first_chunk()?;
    let bulk_bytes = rest.first_chunk()?;
    let bytes = |length| u32::from_be_bytes(length) as usize;
    Some(HEAD_BYTES + bytes(*control_bytes) + bytes(*bulk_bytes))
}

/// A whole message. `B` is what its receiver keeps of the XDR that follows the envelope: the bytes,
/// unless a [`Gate`] makes something else of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Message<B = Bytes> {
    pub envelope: Envelope,
    pub body: B,
    /// Empty if the receiver's gate did not keep it.
    pub bulk: Bytes,
}

impl Message {
    pub fn new<T: Xdr>(type_: MessageType, stream: u32, body: &T, bulk: Bytes) -> Self {
        Message {
            envelope: Envelope {
                type_: type_ as i32,
                stream,
                bulk_bytes: bulk.len() as u64,
            },
            body: xdr::to_bytes(body).into(),
            bulk,
        }
    }

    /// Makes a message without a body.
    pub fn bare(type_: MessageType, stream: u32) -> Self {
        Message {
            envelope: Envelope {
                type_: type_ as i32,
                stream,
                bulk_bytes: 0,
            },
            body: Bytes::new(),
            bulk: Bytes::new(),
        }
    }

    /// The message's type; None if this protocol does not know the type.
    pub fn kind(&self) -> Option<MessageType> {
        MessageType::try_from(self.envelope.type_).ok()
    }

    /// Decodes the body, which must be one `T` and nothing more.
    pub fn decode<T: Xdr>(&self) -> Result<T, Rejection> {
        xdr::from_bytes(&self.body).map_err(|error| {
            let name = self.kind().map_or("a message", MessageType::name);
            Rejection::malformed(format!("the body of {name}: {error}"))
        })
    }

    /// Cuts the message into frames.
    pub fn into_frames(self) -> FrameEncoder {
        let mut control = Vec::with_capacity(16 + self.body.len());
        self.envelope.encode(&mut control);
        control.extend_from_slice(&self.body);
        FrameEncoder::new(self.envelope.stream, control, self.bulk.into())
    }
}

/// A message that is sent frame by frame, so that frames of other messages may come between. Bulk
/// is never copied.
#[derive(Debug)]
pub struct FrameEncoder {
    stream: u32,
    /// Envelope and body, until the first frame is made.
    control: Option<Vec<u8>>,
    /// The part that is in no frame yet.
    bulk: Gathered,
    /// A frame has no more of it.
    chunk_bytes: usize,
}

impl FrameEncoder {
    /// `control`: the encoded envelope and body.
    pub fn new(stream: u32, control: Vec<u8>, bulk: Gathered) -> Self {
        FrameEncoder {
            stream,
            control: Some(control),
            bulk,
            chunk_bytes: MAX_CHUNK_BYTES as usize,
        }
    }

    /// With smaller chunks than the protocol allows.
    pub fn cut_at(self, chunk_bytes: usize) -> Self {
        FrameEncoder {
            chunk_bytes: chunk_bytes.clamp(1, MAX_CHUNK_BYTES as usize),
            ..self
        }
    }

    /// Whether every frame was made.
    pub fn is_done(&self) -> bool {
        self.control.is_none() && self.bulk.is_empty()
    }

    /// Returns the next frame: its head (lengths and control part), then its bulk. Returns None
    /// when the whole message was returned.
    pub fn next_frame(&mut self) -> Option<(Bytes, Gathered)> {
        if self.is_done() {
            return None;
        }
        let chunk_bytes = self.bulk.len().min(self.chunk_bytes);
        let bulk = self.bulk.split_to(chunk_bytes);
        let control = self.control.take();
        let control = control.unwrap_or_else(|| continue_control(self.stream));
        debug_assert!(control.len() <= MAX_CONTROL_BYTES as usize);
        let mut head = Vec::with_capacity(HEAD_BYTES + control.len());
        head.extend_from_slice(&(control.len() as u32).to_be_bytes());
        head.extend_from_slice(&(bulk.len() as u32).to_be_bytes());
        head.extend_from_slice(&control);
        Some((head.into(), bulk))
    }
}

fn continue_control(stream: u32) -> Vec<u8> {
    let envelope = Envelope {
        type_: MessageType::Continue as i32,
        stream,
        bulk_bytes: 0,
    };
    xdr::to_bytes(&envelope)
}
