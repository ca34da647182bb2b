//! Frames and messages: spec/protocol/session.x, [FRAME-1..4].
//!
//! `FrameDecoder` turns the bytes of one direction into whole messages. Its memory is bounded by
//! the bytes that have arrived. A bulk's memory grows with its bytes and ends exactly as long as
//! the bulk, so that a slice of the bulk keeps nothing else alive. Bytes of a large bulk are read
//! from the socket into their place and never copied.

use std::collections::hash_map::{Entry, HashMap};

use bytes::buf::Limit;
use bytes::{BufMut, Bytes};

use crate::protocol::xdr::{self, Reader, Xdr};
use crate::protocol::{
    Envelope, ErrorCode, MessageType, MAX_CHUNK_BYTES, MAX_CONTROL_BYTES, MAX_OPEN_STREAMS,
};
use crate::rejection::Rejection;

/// control_bytes:u32 bulk_bytes:u32
pub const HEAD_BYTES: usize = 8;

/// How much is read at once while no large bulk arrives. Bytes of a bulk that such a read brings
/// are copied; the number is small, so that the copy is cheap.
const READ_BYTES: usize = 8 * 1024;

/// A whole message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub envelope: Envelope,
    /// The XDR that follows the envelope.
    pub body: Bytes,
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

    pub fn into_outgoing(self) -> Outgoing {
        Outgoing {
            message: self,
            begun: false,
        }
    }
}

/// A message that is sent frame by frame, so that frames of other messages may come between.
#[derive(Debug, Clone)]
pub struct Outgoing {
    /// The message. Its bulk is the part that is not sent yet.
    message: Message,
    begun: bool,
}

impl Outgoing {
    /// Returns the next frame: its head (lengths and control part), then its bulk. Returns None
    /// when the whole message was returned.
    pub fn next_frame(&mut self) -> Option<(Bytes, Bytes)> {
        if self.begun && self.message.bulk.is_empty() {
            return None;
        }
        let left = self.message.bulk.len();
        let bulk = self
            .message
            .bulk
            .split_to(left.min(MAX_CHUNK_BYTES as usize));
        let mut control = Vec::with_capacity(HEAD_BYTES + 16 + self.message.body.len());
        control.extend_from_slice(&[0; HEAD_BYTES]);
        if self.begun {
            let envelope = Envelope {
                type_: MessageType::Continue as i32,
                stream: self.message.envelope.stream,
                bulk_bytes: left as u64,
            };
            envelope.encode(&mut control);
        } else {
            self.message.envelope.encode(&mut control);
            control.extend_from_slice(&self.message.body);
        }
        self.begun = true;
        let length = (control.len() - HEAD_BYTES) as u32;
        assert!(
            length <= MAX_CONTROL_BYTES,
            "messages are bounded by their types"
        );
        control[..4].copy_from_slice(&length.to_be_bytes());
        control[4..8].copy_from_slice(&(bulk.len() as u32).to_be_bytes());
        Some((control.into(), bulk))
    }
}

/// A message whose bulk has not come whole.
#[derive(Debug)]
struct Incomplete {
    envelope: Envelope,
    body: Bytes,
    bulk: Vec<u8>,
}

impl Incomplete {
    fn missing(&self) -> usize {
        self.envelope.bulk_bytes as usize - self.bulk.len()
    }

    /// Makes room for as many bytes as have come already, at least `least`, and never for more than
    /// are missing.
    fn grow(&mut self, least: usize) {
        if self.bulk.capacity() - self.bulk.len() < least {
            let more = self.bulk.len().max(least).min(self.missing());
            self.bulk.reserve_exact(more);
        }
    }
}

/// Finds messages in the bytes of one direction of a connection.
#[derive(Debug)]
pub struct FrameDecoder {
    max_bulk_bytes: u64,
    /// From `begin` on: bytes that have arrived and are not part of a bulk yet.
    buffer: Vec<u8>,
    begin: usize,
    /// By stream.
    incomplete: HashMap<u32, Incomplete>,
    /// The frame whose bulk is arriving: its stream, and the length of the message's bulk at its
    /// end.
    arriving: Option<(u32, usize)>,
}

impl FrameDecoder {
    /// `max_bulk_bytes` bounds a message's whole bulk.
    pub fn new(max_bulk_bytes: u64) -> Self {
        FrameDecoder {
            max_bulk_bytes: max_bulk_bytes.min(isize::MAX as u64),
            buffer: Vec::new(),
            begin: 0,
            incomplete: HashMap::new(),
            arriving: None,
        }
    }

    /// Returns the place for the connection's next bytes: `read_buf(&mut decoder.space())`.
    /// REQUIRES: `next_message` returned None.
    pub fn space(&mut self) -> Limit<&mut Vec<u8>> {
        let direct = self.arriving.filter(|_| self.begin == self.buffer.len());
        if let Some((stream, end)) = direct {
            if let Some(message) = self.incomplete.get_mut(&stream) {
                let left = end - message.bulk.len();
                message.grow(left.min(READ_BYTES));
                let room = message.bulk.capacity() - message.bulk.len();
                return (&mut message.bulk).limit(room.min(left));
            }
        }
        self.buffer.drain(..self.begin);
        self.begin = 0;
        if self.buffer.is_empty() {
            self.buffer.shrink_to(READ_BYTES);
        }
        self.buffer.reserve(READ_BYTES);
        (&mut self.buffer).limit(READ_BYTES)
    }

    /// Copies bytes that are in memory already into the decoder.
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.begin);
        self.begin = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole message, or None if more bytes are needed. After an error the framing
    /// is lost: send the error on stream 0 and close the connection.
    pub fn next_message(&mut self) -> Result<Option<Message>, Rejection> {
        loop {
            let Some((stream, end)) = self.arriving else {
                match self.frame()? {
                    true => continue,
                    false => return Ok(None),
                }
            };
            let Entry::Occupied(mut entry) = self.incomplete.entry(stream) else {
                unreachable!("a frame arrives for an incomplete message");
            };
            let message = entry.get_mut();
            let here = (end - message.bulk.len()).min(self.buffer.len() - self.begin);
            message.grow(here);
            let taken = &self.buffer[self.begin..self.begin + here];
            message.bulk.extend_from_slice(taken);
            self.begin += here;
            if message.bulk.len() < end {
                return Ok(None);
            }
            self.arriving = None;
            if message.missing() == 0 {
                let whole = entry.remove();
                return Ok(Some(Message {
                    envelope: whole.envelope,
                    body: whole.body,
                    bulk: whole.bulk.into(),
                }));
            }
        }
    }

    /// Takes a frame's lengths and control part. Returns false if they have not all arrived.
    fn frame(&mut self) -> Result<bool, Rejection> {
        let rest = &self.buffer[self.begin..];
        let Some((head, rest)) = rest.split_first_chunk::<HEAD_BYTES>() else {
            return Ok(false);
        };
        if head.starts_with(b"HTTP/") {
            return malformed(
                "HTTP answers there, not this protocol: a server's HTTP port (7748 by default) is \
                 another than its port for programs (7747 by default)",
            );
        }
        let [a, b, c, d, e, f, g, h] = *head;
        let control_bytes = u32::from_be_bytes([a, b, c, d]);
        let bulk_bytes = u32::from_be_bytes([e, f, g, h]);
        if control_bytes > MAX_CONTROL_BYTES || bulk_bytes > MAX_CHUNK_BYTES {
            return malformed(format!(
                "a frame of {control_bytes} and {bulk_bytes} bytes; {MAX_CONTROL_BYTES} and \
                 {MAX_CHUNK_BYTES} are the most"
            ));
        }
        let Some(control) = rest.get(..control_bytes as usize) else {
            return Ok(false);
        };
        let mut reader = Reader::new(control);
        let envelope = Envelope::decode(&mut reader)?;
        let body = &control[control.len() - reader.remaining()..];
        let stream = envelope.stream;
        let end = if envelope.type_ == MessageType::Continue as i32 {
            self.continued(stream, body, bulk_bytes)?
        } else {
            let body = Bytes::copy_from_slice(body);
            self.begun(envelope, body, bulk_bytes)?
        };
        self.begin += HEAD_BYTES + control_bytes as usize;
        self.arriving = Some((stream, end));
        Ok(true)
    }

    /// [FRAME-4]
    fn continued(&self, stream: u32, body: &[u8], bulk_bytes: u32) -> Result<usize, Rejection> {
        let Some(message) = self.incomplete.get(&stream) else {
            return malformed(format!(
                "CONTINUE on stream {stream}, which has no message begun"
            ));
        };
        if !body.is_empty() || bulk_bytes as usize > message.missing() {
            return malformed(format!(
                "CONTINUE on stream {stream} has more than the {} bytes missing",
                message.missing()
            ));
        }
        Ok(message.bulk.len() + bulk_bytes as usize)
    }

    /// [FRAME-3]
    fn begun(&mut self, envelope: Envelope, body: Bytes, bulk: u32) -> Result<usize, Rejection> {
        let stream = envelope.stream;
        if envelope.bulk_bytes > self.max_bulk_bytes {
            let text = format!(
                "a message with {} bytes of bulk; {} are the most",
                envelope.bulk_bytes, self.max_bulk_bytes
            );
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        if u64::from(bulk) > envelope.bulk_bytes {
            return malformed("a frame has more bulk than its message");
        }
        if self.incomplete.contains_key(&stream) {
            return malformed(format!("a second message begins on stream {stream}"));
        }
        let whole = u64::from(bulk) == envelope.bulk_bytes;
        if !whole && self.incomplete.len() >= MAX_OPEN_STREAMS as usize {
            return malformed(format!(
                "more than {MAX_OPEN_STREAMS} messages are incomplete"
            ));
        }
        let message = Incomplete {
            envelope,
            body,
            bulk: Vec::new(),
        };
        self.incomplete.insert(stream, message);
        Ok(bulk as usize)
    }

    /// Memory of messages and bytes that `next_message` has not returned yet.
    pub fn held_bytes(&self) -> usize {
        let bulks = self.incomplete.values();
        let held = bulks.map(|message| message.bulk.capacity() + message.body.len());
        held.sum::<usize>() + self.buffer.capacity()
    }
}

fn malformed<T>(text: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::malformed(text))
}
