//! From the bytes of one direction of a connection to whole messages [FRAME-1..4].
//!
//! Memory is bounded by the bytes that have arrived [FRAME-2]. A bulk's memory grows with its bytes
//! and ends exactly as long as the bulk, so that a slice of the bulk keeps nothing else alive. The
//! bytes may come from a buffer that connections share: what is whole in it is taken from there,
//! and only the beginning of a control part is kept. Bytes of a large bulk are read from the socket
//! into their place. A [`Gate`] says what is kept of a message; bulk that it does not keep is
//! counted and dropped.

use std::collections::hash_map::{Entry, HashMap};

use bytes::Bytes;

use super::{Message, HEAD_BYTES};
use crate::protocol::xdr::{Reader, Xdr};
use crate::protocol::{
    Envelope, ErrorCode, MessageType, MAX_CHUNK_BYTES, MAX_CONTROL_BYTES, MAX_OPEN_STREAMS,
};
use crate::rejection::Rejection;

/// A read into a bulk brings so many bytes at least, as far as they are missing.
const LEAST_ROOM_BYTES: usize = 4 * 1024;
/// What comes with a message's beginning and must be copied; a small message comes whole.
/// [`FrameDecoder::wanted_bytes`] is never more.
pub const READ_BYTES: usize = 64 * 1024;
/// The same while a message of several chunks is under way: the next head and little else.
const AHEAD_BYTES: usize = 4 * 1024;
/// The room for bytes that an idle decoder keeps.
const IDLE_BYTES: usize = 8 * 1024;

/// The bounds of a peer's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most bytes of a control part.
    pub control_bytes: u32,
    /// The most messages that may be incomplete at a time.
    pub incomplete: usize,
}

impl Bounds {
    /// The bounds of every peer [FRAME-1] [FRAME-3].
    pub const OF_ALL: Bounds = Bounds {
        control_bytes: MAX_CONTROL_BYTES,
        incomplete: MAX_OPEN_STREAMS as usize,
    };
    /// The bounds of a client that has not logged in [NET-8].
    pub const OF_STRANGERS: Bounds = Bounds {
        control_bytes: 16 << 10,
        incomplete: 0,
    };
}

/// Says what is kept of a message when it begins.
pub trait Gate {
    /// What the receiver makes of the XDR that follows the envelope.
    type Body;

    /// Returns the bounds of the peer's messages now.
    fn bounds(&self) -> Bounds {
        Bounds::OF_ALL
    }

    /// A message begins. An error loses the framing.
    fn begin(&self, envelope: &Envelope, body: &[u8]) -> Result<Begun<Self::Body>, Rejection>;

    /// The next bytes of a bulk that is kept have come. Returns whether the bulk is kept further.
    fn came(&self, _body: &mut Self::Body, _bytes: &[u8]) -> bool {
        true
    }

    /// Takes the bulk that came before [`Gate::came`] gave the rest up.
    fn give_up(&self, _bulk: Vec<u8>) {}
}

/// What is kept of a message.
#[derive(Debug)]
pub struct Begun<B> {
    pub body: B,
    pub keeps_bulk: bool,
}

/// Keeps the body's bytes and every bulk that is not longer than a bound.
#[derive(Debug)]
pub struct KeepAll {
    max_bulk_bytes: u64,
}

impl Gate for KeepAll {
    type Body = Bytes;

    fn begin(&self, envelope: &Envelope, body: &[u8]) -> Result<Begun<Bytes>, Rejection> {
        if envelope.bulk_bytes > self.max_bulk_bytes {
            let text = format!(
                "a message with {} bytes of bulk; {} are the most",
                envelope.bulk_bytes, self.max_bulk_bytes
            );
            return Err(Rejection::new(ErrorCode::TooLarge, text));
        }
        Ok(Begun {
            body: Bytes::copy_from_slice(body),
            keeps_bulk: true,
        })
    }
}

/// A message whose bulk has not come whole.
#[derive(Debug)]
struct Incomplete<B> {
    envelope: Envelope,
    body: B,
    keeps_bulk: bool,
    bulk: Vec<u8>,
    missing_bytes: u64,
}

impl<B> Incomplete<B> {
    /// Makes room for `least` bytes of bulk, and never for more than are missing. Memory doubles by
    /// powers of two, so that chunks, which are such a power, end where the memory ends.
    fn grow(&mut self, least: usize) {
        let bytes = self.bulk.len();
        if self.bulk.capacity() - bytes < least {
            let more = ((bytes + least).next_power_of_two() - bytes) as u64;
            self.bulk
                .reserve_exact(more.min(self.missing_bytes) as usize);
        }
    }

    fn take(&mut self, bytes: &[u8], gate: &impl Gate<Body = B>) {
        if self.keeps_bulk {
            self.grow(bytes.len());
            self.bulk.extend_from_slice(bytes);
            self.came(bytes.len(), gate);
        }
        self.missing_bytes -= bytes.len() as u64;
    }

    /// So many bytes were appended to the bulk.
    fn came(&mut self, bytes: usize, gate: &impl Gate<Body = B>) {
        let before = self.bulk.len() - bytes;
        if !gate.came(&mut self.body, &self.bulk[before..]) {
            self.keeps_bulk = false;
            gate.give_up(std::mem::take(&mut self.bulk));
        }
    }

    fn finish(self) -> Message<B> {
        Message {
            envelope: self.envelope,
            body: self.body,
            bulk: self.bulk.into(),
        }
    }
}

/// A frame whose bulk is arriving, and its message. `left_bytes` are not more than the message
/// misses.
#[derive(Debug)]
struct Arriving<B> {
    message: Incomplete<B>,
    left_bytes: usize,
}

/// Where the next bytes go while a large bulk is coming.
#[derive(Debug)]
pub struct BulkTarget<'a> {
    pub bulk: &'a mut Vec<u8>,
    /// How many bytes may be appended to the bulk, without growing it.
    pub room: usize,
    /// How many bytes may be read behind them.
    pub ahead: usize,
}

/// Finds messages in the bytes of one direction of a connection.
#[derive(Debug)]
pub struct FrameDecoder<G: Gate = KeepAll> {
    gate: G,
    /// The beginning of a frame whose control part is not whole.
    head: Vec<u8>,
    arriving: Option<Arriving<G::Body>>,
    /// The others, by stream.
    incomplete: HashMap<u32, Incomplete<G::Body>>,
    /// From `begin` on: bytes that were pushed and not looked at yet.
    pushed: Vec<u8>,
    begin: usize,
}

impl FrameDecoder {
    /// `max_bulk_bytes` bounds a message's whole bulk.
    pub fn new(max_bulk_bytes: u64) -> Self {
        FrameDecoder::with_gate(KeepAll {
            max_bulk_bytes: max_bulk_bytes.min(isize::MAX as u64),
        })
    }
}

impl<G: Gate> FrameDecoder<G> {
    pub fn with_gate(gate: G) -> Self {
        FrameDecoder {
            gate,
            head: Vec::new(),
            arriving: None,
            incomplete: HashMap::new(),
            pushed: Vec::new(),
            begin: 0,
        }
    }

    /// Copies bytes into the decoder, for [`FrameDecoder::next_message`].
    pub fn push(&mut self, bytes: &[u8]) {
        self.pushed.drain(..self.begin);
        self.begin = 0;
        self.pushed.extend_from_slice(bytes);
    }

    /// Whether bytes were pushed that were not looked at.
    pub fn has_pushed(&self) -> bool {
        self.begin < self.pushed.len()
    }

    /// Returns the next whole message of the bytes that were pushed, or None if more bytes are
    /// needed. After an error the framing is lost: send the error on stream 0 and close the
    /// connection.
    pub fn next_message(&mut self) -> Result<Option<Message<G::Body>>, Rejection> {
        let pushed = std::mem::take(&mut self.pushed);
        let mut rest = &pushed[self.begin..];
        let found = self.take_message(&mut rest);
        self.begin = pushed.len() - rest.len();
        self.pushed = pushed;
        if !self.has_pushed() {
            self.pushed.clear();
            self.begin = 0;
            self.pushed.shrink_to(IDLE_BYTES);
        }
        found
    }

    /// The same of bytes that are elsewhere: takes off them what belongs to the message.
    /// REQUIRES: all bytes that were pushed were looked at.
    pub fn next_of(&mut self, bytes: &mut &[u8]) -> Result<Option<Message<G::Body>>, Rejection> {
        debug_assert!(!self.has_pushed(), "pushed bytes come first");
        self.take_message(bytes)
    }

    pub fn gate(&self) -> &G {
        &self.gate
    }

    /// How many bytes to read at once where no [`BulkTarget`] is.
    pub fn wanted_bytes(&self) -> usize {
        let most = HEAD_BYTES + self.gate.bounds().control_bytes as usize;
        match self.incomplete.values().any(|message| message.keeps_bulk) {
            true => AHEAD_BYTES,
            false => READ_BYTES.min(most),
        }
    }

    /// Returns the place for the next bytes of a large bulk, if the bulk is what comes next.
    /// [`FrameDecoder::bulk_read`] must follow.
    /// REQUIRES: all bytes that were pushed were looked at.
    pub fn bulk_target(&mut self) -> Option<BulkTarget<'_>> {
        let Arriving {
            message,
            left_bytes,
        } = self.arriving.as_mut()?;
        if !message.keeps_bulk {
            return None;
        }
        message.grow(LEAST_ROOM_BYTES.min(*left_bytes));
        let room = (message.bulk.capacity() - message.bulk.len()).min(*left_bytes);
        Some(BulkTarget {
            ahead: if room == *left_bytes { AHEAD_BYTES } else { 0 },
            bulk: &mut message.bulk,
            room,
        })
    }

    /// So many bytes were appended to the bulk target. The bytes that were read behind them are for
    /// [`FrameDecoder::next_of`].
    pub fn bulk_read(&mut self, bytes: usize) {
        if let Some(arriving) = self.arriving.as_mut() {
            arriving.left_bytes -= bytes;
            arriving.message.missing_bytes -= bytes as u64;
            arriving.message.came(bytes, &self.gate);
        }
    }

    /// Asks the gate about each bulk that is coming whether it is kept further.
    pub fn ask_again(&mut self) {
        let arriving = self.arriving.iter_mut().map(|frame| &mut frame.message);
        let messages = self.incomplete.values_mut().chain(arriving);
        for message in messages.filter(|message| message.keeps_bulk) {
            message.came(0, &self.gate);
        }
    }

    /// Whether all bytes that came were whole frames.
    pub fn is_between_frames(&self) -> bool {
        self.head.is_empty() && self.arriving.is_none() && !self.has_pushed()
    }

    /// Memory of bulk and other bytes that were not returned yet.
    pub fn held_bytes(&self) -> usize {
        let arriving = self.arriving.iter().map(|arriving| &arriving.message);
        let messages = self.incomplete.values().chain(arriving);
        let bulks = messages.map(|message| message.bulk.capacity());
        bulks.sum::<usize>() + self.head.capacity() + self.pushed.capacity()
    }

    fn take_message(&mut self, bytes: &mut &[u8]) -> Result<Option<Message<G::Body>>, Rejection> {
        loop {
            let arriving = match self.arriving.take() {
                Some(arriving) => Some(arriving),
                None => self.begin_frame(bytes)?,
            };
            let Some(mut frame) = arriving else {
                return Ok(None);
            };
            let (bulk, rest) = bytes.split_at(frame.left_bytes.min(bytes.len()));
            frame.message.take(bulk, &self.gate);
            frame.left_bytes -= bulk.len();
            *bytes = rest;
            if frame.left_bytes > 0 {
                self.arriving = Some(frame);
                return Ok(None);
            }
            if frame.message.missing_bytes == 0 {
                return Ok(Some(frame.message.finish()));
            }
            let stream = frame.message.envelope.stream;
            self.incomplete.insert(stream, frame.message);
        }
    }

    /// Takes a frame's lengths and control part. Returns None if they have not all arrived.
    fn begin_frame(&mut self, bytes: &mut &[u8]) -> Result<Option<Arriving<G::Body>>, Rejection> {
        if self.head.is_empty() {
            if let Some((head, rest)) = bytes.split_at_checked(self.head_bytes(bytes)?) {
                *bytes = rest;
                return self.frame(head).map(Some);
            }
        }
        // No more is kept than the control part, so that nothing is copied of what follows it.
        loop {
            let missing = self.head_bytes(&self.head)? - self.head.len();
            if missing == 0 {
                let head = std::mem::take(&mut self.head);
                return self.frame(&head).map(Some);
            }
            if bytes.is_empty() {
                return Ok(None);
            }
            let (more, rest) = bytes.split_at(missing.min(bytes.len()));
            self.head.extend_from_slice(more);
            *bytes = rest;
        }
    }

    /// How long a frame's lengths and control part are, as far as the beginning of the frame says
    /// [FRAME-1].
    fn head_bytes(&self, frame: &[u8]) -> Result<usize, Rejection> {
        let Some(head) = frame.first_chunk::<HEAD_BYTES>() else {
            return Ok(HEAD_BYTES);
        };
        if head.starts_with(b"HTTP/") {
            return malformed(
                "HTTP answers there, not this protocol: a server's HTTP port (7748 by default) is \
                 another than its port for programs (7747 by default)",
            );
        }
        let (control_bytes, bulk_bytes) = (be_u32(head), be_u32(&head[4..]));
        let most = self.gate.bounds().control_bytes;
        if control_bytes > most || bulk_bytes > MAX_CHUNK_BYTES {
            return malformed(format!(
                "a frame of {control_bytes} bytes of control (at most {most} now) and \
                 {bulk_bytes} bytes of bulk (at most {MAX_CHUNK_BYTES})"
            ));
        }
        Ok(HEAD_BYTES + control_bytes as usize)
    }

    /// `head`: a frame's lengths and its whole control part.
    fn frame(&mut self, head: &[u8]) -> Result<Arriving<G::Body>, Rejection> {
        let (lengths, control) = head.split_at(HEAD_BYTES);
        let bulk_bytes = be_u32(&lengths[4..]);
        let mut reader = Reader::new(control);
        let envelope = Envelope::decode(&mut reader).map_err(|error| {
            Rejection::malformed(format!("a frame's control has no envelope: {error}"))
        })?;
        let body = &control[control.len() - reader.remaining()..];
        let message = match envelope.type_ == MessageType::Continue as i32 {
            true => self.continued(envelope.stream, body, bulk_bytes)?,
            false => self.begun(envelope, body, bulk_bytes)?,
        };
        Ok(Arriving {
            message,
            left_bytes: bulk_bytes as usize,
        })
    }

    /// [FRAME-4]
    fn continued(
        &mut self,
        stream: u32,
        body: &[u8],
        bulk_bytes: u32,
    ) -> Result<Incomplete<G::Body>, Rejection> {
        let Entry::Occupied(entry) = self.incomplete.entry(stream) else {
            return malformed(format!(
                "CONTINUE for stream {stream}, of which no message is incomplete"
            ));
        };
        let missing_bytes = entry.get().missing_bytes;
        if !body.is_empty() || u64::from(bulk_bytes) > missing_bytes {
            return malformed(format!(
                "CONTINUE of stream {stream} brings {bulk_bytes} bytes of bulk and {} of body, \
                 {missing_bytes} bytes of bulk are missing",
                body.len()
            ));
        }
        Ok(entry.remove())
    }

    /// [FRAME-3]
    fn begun(
        &mut self,
        envelope: Envelope,
        body: &[u8],
        bulk_bytes: u32,
    ) -> Result<Incomplete<G::Body>, Rejection> {
        let Envelope {
            stream,
            bulk_bytes: announced_bytes,
            ..
        } = envelope;
        if u64::from(bulk_bytes) > announced_bytes {
            return malformed(format!(
                "a frame of stream {stream} brings {bulk_bytes} bytes of bulk, its message \
                 announces {announced_bytes}"
            ));
        }
        if self.incomplete.contains_key(&stream) {
            return malformed(format!(
                "stream {stream} is used again while its message is incomplete"
            ));
        }
        let is_whole = u64::from(bulk_bytes) == announced_bytes;
        let most = self.gate.bounds().incomplete;
        if !is_whole && self.incomplete.len() >= most {
            return malformed(match most {
                0 => "before HELLO was answered a message must come in one frame".to_string(),
                _ => format!("more than {most} messages are incomplete at a time"),
            });
        }
        let Begun { body, keeps_bulk } = self.gate.begin(&envelope, body)?;
        Ok(Incomplete {
            envelope,
            body,
            keeps_bulk,
            bulk: Vec::new(),
            missing_bytes: announced_bytes,
        })
    }
}

fn be_u32(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

fn malformed<T>(text: impl Into<String>) -> Result<T, Rejection> {
    Err(Rejection::malformed(text))
}
