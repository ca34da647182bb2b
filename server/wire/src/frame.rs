//! Frames [FRAME-1..4].
use bytes::Bytes;

use crate::protocol::xdr::Xdr;
use crate::protocol::{Envelope, MessageType};
use crate::rejection::Rejection;

/// A whole message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub envelope: Envelope,
    /// The XDR that follows the envelope.
    pub body: Bytes,
    pub bulk: Bytes,
}

impl Message {
    pub fn new<T: Xdr>(_type_: MessageType, _stream: u32, _body: &T, _bulk: Bytes) -> Self {
        todo!()
    }
    /// Of a message without a body.
    pub fn bare(_type_: MessageType, _stream: u32) -> Self {
        todo!()
    }
    /// Its type, if this protocol knows it.
    pub fn kind(&self) -> Option<MessageType> {
        todo!()
    }
    pub fn decode<T: Xdr>(&self) -> Result<T, Rejection> {
        todo!()
    }
    pub fn into_outgoing(self) -> Outgoing {
        todo!()
    }
}

/// A message on its way out, frame by frame, so that others may interleave.
#[derive(Debug, Clone)]
pub struct Outgoing {}

impl Outgoing {
    /// The next frame: its head (lengths and control part) and its bulk, to be written one after the
    /// other. None: the message is out.
    pub fn next_frame(&mut self) -> Option<(Bytes, Bytes)> {
        todo!()
    }
}

/// Finds messages in the bytes of one direction of a connection.
#[derive(Debug)]
pub struct FrameDecoder {}

impl FrameDecoder {
    /// `max_bulk_bytes` bounds a message's whole bulk.
    pub fn new(_max_bulk_bytes: u64) -> Self {
        todo!()
    }
    /// Where the connection's next bytes go (`read_buf(&mut decoder.space())`); what arrives of a
    /// large bulk is then never copied.
    pub fn space(&mut self) -> bytes::buf::Limit<&mut Vec<u8>> {
        todo!()
    }
    /// The same for bytes that are in memory already: copies them.
    pub fn push(&mut self, _bytes: &[u8]) {
        todo!()
    }
    /// The next whole message; None: more bytes are needed. After an error the framing is lost: answer
    /// MALFORMED on stream 0 and close.
    pub fn next_message(&mut self) -> Result<Option<Message>, Rejection> {
        todo!()
    }
}
