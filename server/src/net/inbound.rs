//! Frames coming in: from bytes to whole messages, allocating no more than has arrived.
//!
//! Small messages are taken from a read buffer that all connections share; the bulk of a large one
//! is read straight into its own memory, which grows with what has come, together with the head of
//! the frame behind it: a chunk costs one read and next to no copying. Bulk that the engine does not
//! admit is counted and dropped. Implements [FRAME-1..4] of spec/protocol/session.x.
//!
//! Not built on `interweave_wire::FrameDecoder`, which has a buffer for each connection, keeps what
//! nobody admitted, and knows no requests.

use crate::session::message::{Incoming, Request};
use bytes::Bytes;
use interweave_wire::protocol::xdr::{Reader, Xdr};
use interweave_wire::protocol::{
    Envelope, MessageType, MAX_CHUNK_BYTES, MAX_CONTROL_BYTES, MAX_OPEN_STREAMS,
};
use std::collections::HashMap;

const FRAME_HEAD_BYTES: usize = 8;
const FIRST_GROWTH_BYTES: usize = 64 * 1024;
/// As many messages are taken apart at a time; a small one takes many times its bytes.
const MOST_AT_ONCE: usize = 64;

/// What comes with a message's beginning and must be copied; a small one comes whole.
const READ_BYTES: usize = 64 * 1024;
/// The same while a message of several chunks is under way: the next head and little else.
const AHEAD_BYTES: usize = 4 * 1024;

/// The shared read buffer holds any frame's head and control, and what is read with it.
pub const READ_BUFFER_BYTES: usize = FRAME_HEAD_BYTES + MAX_CONTROL_BYTES as usize + READ_BYTES;

/// The longest frame.
pub const MAX_FRAME_BYTES: usize =
    FRAME_HEAD_BYTES + MAX_CONTROL_BYTES as usize + MAX_CHUNK_BYTES as usize;

/// The framing is lost: the connection is answered MALFORMED with this text and closed.
#[derive(Debug, PartialEq, Eq)]
pub struct Lost(pub String);

/// Decides whether a request's bulk is worth buffering.
pub trait Gate {
    fn admits(&self, request: &Request, bulk_bytes: u64) -> bool;
}

/// A message of which not all bulk has come.
#[derive(Debug)]
struct Partial {
    request: Request,
    admitted: bool,
    announced_bytes: u64,
    received_bytes: u64,
    bulk: Vec<u8>,
}

impl Partial {
    fn missing_bytes(&self) -> u64 {
        self.announced_bytes - self.received_bytes
    }

    /// Room for more bulk: at most `wanted`, and at most as much again as has come already.
    fn reserve(&mut self, wanted: usize) -> usize {
        let spare = self.bulk.capacity() - self.bulk.len();
        if spare == 0 {
            let room = self.announced_bytes - self.bulk.len() as u64;
            let growth = self.bulk.len().max(FIRST_GROWTH_BYTES) as u64;
            self.bulk.reserve_exact(growth.min(room) as usize);
        }
        wanted.min(self.bulk.capacity() - self.bulk.len())
    }

    fn take(&mut self, bytes: &[u8]) {
        self.received_bytes += bytes.len() as u64;
        if self.admitted {
            let mut rest = bytes;
            while !rest.is_empty() {
                let (now, later) = rest.split_at(self.reserve(rest.len()));
                self.bulk.extend_from_slice(now);
                rest = later;
            }
        }
    }

    fn finish(self, stream: u32) -> Incoming {
        Incoming {
            stream,
            request: self.request,
            bulk: Bytes::from(self.bulk),
            announced_bytes: self.announced_bytes,
        }
    }
}

/// A frame of which the bulk is still coming.
#[derive(Debug, Clone, Copy)]
struct OpenFrame {
    stream: u32,
    left_bytes: usize,
}

/// Where the next bytes go while a large bulk is coming.
#[derive(Debug)]
pub struct BulkTarget<'a> {
    pub bulk: &'a mut Vec<u8>,
    /// How many bytes may be appended to it, without growing it.
    pub room: usize,
    /// How many bytes may be read behind them.
    pub ahead: usize,
}

/// What one connection has received and not yet understood.
#[derive(Debug, Default)]
pub struct Inbound {
    /// The beginning of a frame whose control is not whole; or, if `unparsed`, more.
    rest: Vec<u8>,
    unparsed: bool,
    frame: Option<OpenFrame>,
    partial: HashMap<u32, Partial>,
    complete: Vec<Incoming>,
}

impl Inbound {
    /// Puts what is kept of an unfinished frame at the front of the shared buffer; the next read
    /// goes behind it.
    pub fn restore(&self, buffer: &mut [u8]) -> usize {
        let kept = self.rest.len();
        buffer[..kept].copy_from_slice(&self.rest);
        kept
    }

    /// How many bytes to read behind what [`Inbound::restore`] has put there.
    pub fn wanted_bytes(&self) -> usize {
        match self.partial.values().any(|partial| partial.admitted) {
            true => AHEAD_BYTES,
            false => READ_BYTES,
        }
    }

    /// Where the next bytes of a large bulk belong, if that is what comes next.
    /// [`Inbound::bulk_read`] must follow.
    pub fn bulk_target(&mut self) -> Option<BulkTarget<'_>> {
        let frame = self.frame?;
        let partial = self.partial.get_mut(&frame.stream)?;
        if !partial.admitted {
            return None;
        }
        let room = partial.reserve(frame.left_bytes);
        let whole = room == frame.left_bytes;
        Some(BulkTarget {
            bulk: &mut partial.bulk,
            room,
            ahead: if whole { AHEAD_BYTES } else { 0 },
        })
    }

    /// So many bytes were appended to the bulk target; what was read behind them is to be parsed.
    pub fn bulk_read(&mut self, bytes: usize) {
        let Some(frame) = self.frame.as_mut() else {
            return;
        };
        frame.left_bytes -= bytes;
        if let Some(partial) = self.partial.get_mut(&frame.stream) {
            partial.received_bytes += bytes as u64;
        }
        self.end_frame_if_whole();
    }

    /// The messages completed, in order of completion.
    pub fn take_complete(&mut self) -> Vec<Incoming> {
        std::mem::take(&mut self.complete)
    }

    /// Whether all that came was whole frames.
    pub fn is_between_frames(&self) -> bool {
        self.rest.is_empty() && self.frame.is_none()
    }

    /// Whether bytes were kept that hold whole messages.
    pub fn has_unparsed(&self) -> bool {
        self.unparsed
    }

    /// Takes the bytes apart that were kept because they held so many messages.
    pub fn parse_on(&mut self, gate: &impl Gate) -> Result<(), Lost> {
        let rest = std::mem::take(&mut self.rest);
        self.parse(&rest, gate)
    }

    /// Takes the bytes of the shared buffer apart; keeps what is not a whole frame's control, and
    /// what is behind the first so many messages: as bytes they take least.
    pub fn parse(&mut self, mut bytes: &[u8], gate: &impl Gate) -> Result<(), Lost> {
        self.rest.clear();
        self.unparsed = false;
        loop {
            bytes = self.take_bulk(bytes);
            if self.complete.len() >= MOST_AT_ONCE && self.frame.is_none() && !bytes.is_empty() {
                self.unparsed = true;
                break;
            }
            if self.frame.is_some() || bytes.is_empty() {
                return Ok(());
            }
            let Some((head, rest)) = bytes.split_first_chunk::<FRAME_HEAD_BYTES>() else {
                break;
            };
            let (control_bytes, bulk_bytes) = frame_lengths(head)?;
            let Some((control, rest)) = rest.split_at_checked(control_bytes) else {
                break;
            };
            self.begin_frame(control, bulk_bytes, gate)?;
            bytes = rest;
        }
        self.rest.extend_from_slice(bytes);
        Ok(())
    }

    fn take_bulk<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let Some(frame) = self.frame.as_mut() else {
            return bytes;
        };
        let (bulk, rest) = bytes.split_at(frame.left_bytes.min(bytes.len()));
        frame.left_bytes -= bulk.len();
        if let Some(partial) = self.partial.get_mut(&frame.stream) {
            partial.take(bulk);
        }
        self.end_frame_if_whole();
        rest
    }

    fn begin_frame(
        &mut self,
        control: &[u8],
        bulk_bytes: usize,
        gate: &impl Gate,
    ) -> Result<(), Lost> {
        let mut reader = Reader::new(control);
        let envelope = Envelope::decode(&mut reader)
            .map_err(|error| Lost(format!("a frame's control has no envelope: {error}")))?;
        let body = &control[control.len() - reader.remaining()..];
        if envelope.type_ == MessageType::Continue as i32 {
            self.go_on(&envelope, body, bulk_bytes)?;
        } else {
            self.begin_message(&envelope, body, bulk_bytes, gate)?;
        }
        self.frame = Some(OpenFrame {
            stream: envelope.stream,
            left_bytes: bulk_bytes,
        });
        self.end_frame_if_whole();
        Ok(())
    }

    fn begin_message(
        &mut self,
        envelope: &Envelope,
        body: &[u8],
        bulk_bytes: usize,
        gate: &impl Gate,
    ) -> Result<(), Lost> {
        let stream = envelope.stream;
        if bulk_bytes as u64 > envelope.bulk_bytes {
            return Err(Lost(format!(
                "a frame of stream {stream} brings {bulk_bytes} bytes of bulk, its message \
                 announces {}",
                envelope.bulk_bytes
            )));
        }
        let whole = bulk_bytes as u64 == envelope.bulk_bytes;
        if !whole && self.partial.len() >= MAX_OPEN_STREAMS as usize {
            return Err(Lost(format!(
                "more than {MAX_OPEN_STREAMS} messages are incomplete at a time"
            )));
        }
        let request = Request::decode(envelope.type_, body);
        let partial = Partial {
            admitted: envelope.bulk_bytes > 0 && gate.admits(&request, envelope.bulk_bytes),
            request,
            announced_bytes: envelope.bulk_bytes,
            received_bytes: 0,
            bulk: Vec::new(),
        };
        if self.partial.insert(stream, partial).is_some() {
            return Err(Lost(format!(
                "stream {stream} is used again while its message is incomplete"
            )));
        }
        Ok(())
    }

    fn go_on(&mut self, envelope: &Envelope, body: &[u8], bulk_bytes: usize) -> Result<(), Lost> {
        let stream = envelope.stream;
        let Some(partial) = self.partial.get(&stream) else {
            return Err(Lost(format!(
                "CONTINUE for stream {stream}, of which no message is incomplete"
            )));
        };
        if bulk_bytes as u64 > partial.missing_bytes() || !body.is_empty() {
            return Err(Lost(format!(
                "CONTINUE of stream {stream} brings {bulk_bytes} bytes of bulk and {} of body, {} \
                 bytes of bulk are missing",
                body.len(),
                partial.missing_bytes()
            )));
        }
        Ok(())
    }

    fn end_frame_if_whole(&mut self) {
        let Some(frame) = self.frame.filter(|frame| frame.left_bytes == 0) else {
            return;
        };
        self.frame = None;
        let whole = self
            .partial
            .get(&frame.stream)
            .is_some_and(|partial| partial.missing_bytes() == 0);
        if !whole {
            return;
        }
        if let Some(partial) = self.partial.remove(&frame.stream) {
            self.complete.push(partial.finish(frame.stream));
        }
    }
}

/// The two lengths of a frame's head, within the protocol's bounds [FRAME-1].
fn frame_lengths(head: &[u8; FRAME_HEAD_BYTES]) -> Result<(usize, usize), Lost> {
    let [a, b, c, d, e, f, g, h] = *head;
    let control_bytes = u32::from_be_bytes([a, b, c, d]);
    let bulk_bytes = u32::from_be_bytes([e, f, g, h]);
    if control_bytes > MAX_CONTROL_BYTES || bulk_bytes > MAX_CHUNK_BYTES {
        return Err(Lost(format!(
            "a frame of {control_bytes} bytes of control (at most {MAX_CONTROL_BYTES}) and \
             {bulk_bytes} bytes of bulk (at most {MAX_CHUNK_BYTES})"
        )));
    }
    Ok((control_bytes as usize, bulk_bytes as usize))
}
