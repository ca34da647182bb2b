//! Decides which frame of a connection is sent next, and lays frames out for vectored writes.
//!
//! Messages begin in the order in which the engine sent them. So a notification is on the wire
//! before what it caused [NOT-6]. Chunks of begun messages take turns, but two messages of one
//! segment are never under way at once. So versions arrive in order [FRAME-5]. Bulk is never
//! copied. `interweave_wire::FrameEncoder` makes the frames.

use crate::session::message::{Backlog, Kind, ServerMessage, MESSAGE_BYTES};
use bytes::{Buf, Bytes};
use interweave_wire::protocol::MAX_OPEN_STREAMS;
use interweave_wire::{FrameEncoder, Gathered};
use std::collections::VecDeque;
use std::io::IoSlice;

const MOST_SLICES: usize = 32;
const LAID_OUT_BYTES: usize = 1024 * 1024;
/// When so many bytes of one connection were written, the others have their turn, however fast its
/// peer reads.
const TURN_BYTES: usize = 1024 * 1024;
/// An idle connection keeps room for so many messages.
const FEW_MESSAGES: usize = 8;

/// A message of which a part is on the wire.
#[derive(Debug)]
struct Begun {
    segment: u32,
    kinds: (Kind, Kind),
    frames: FrameEncoder,
}

/// One frame: lengths and control, then bulk.
#[derive(Debug)]
pub struct Frame {
    pub head: Bytes,
    pub bulk: Gathered,
    kinds: (Kind, Kind),
}

/// The messages that one connection has yet to send.
#[derive(Debug, Default)]
pub struct Outbound {
    pending: VecDeque<ServerMessage>,
    begun: VecDeque<Begun>,
    began_last: bool,
    /// Frames laid out for writing, as pieces.
    pieces: VecDeque<(Kind, Bytes)>,
    laid_out_bytes: usize,
    /// The bytes of all messages and pieces here.
    backlog: Backlog,
    /// Chunks are as large as the protocol allows, or smaller.
    chunk_bytes: Option<usize>,
}

impl Outbound {
    /// For simulations, whose messages are small: cuts them into smaller chunks than the protocol
    /// would.
    pub fn cutting_at(chunk_bytes: Option<usize>) -> Outbound {
        Outbound {
            chunk_bytes,
            ..Outbound::default()
        }
    }

    pub fn push(&mut self, message: ServerMessage) {
        self.backlog += message.cost();
        self.pending.push_back(message);
    }

    pub fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.begun.is_empty() && self.pieces.is_empty()
    }

    /// The connection is lost.
    pub fn clear(&mut self) {
        *self = Outbound::cutting_at(self.chunk_bytes);
    }

    /// The bytes that wait here.
    pub fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Counts a frame that was taken out and is not sent yet, with bytes that no other connection
    /// shares.
    pub fn hold(&mut self, bytes: usize) {
        self.backlog.add(Kind::Notification, bytes);
    }

    /// Ends [`Outbound::hold`]: the frame is on the wire.
    pub fn let_go(&mut self, bytes: usize) {
        self.backlog.take(Kind::Notification, bytes);
    }

    /// Takes out the frame that is sent next.
    pub fn next_frame(&mut self) -> Option<Frame> {
        let my_turn = !self.began_last || self.begun.is_empty();
        let begin = my_turn && self.can_begin();
        self.began_last = begin;
        match begin {
            true => self.begin(),
            false => self.go_on(),
        }
    }

    fn can_begin(&self) -> bool {
        let Some(next) = self.pending.front() else {
            return false;
        };
        let under_way = |b: &Begun| b.segment != 0 && b.segment == next.segment;
        self.begun.len() < MAX_OPEN_STREAMS as usize && !self.begun.iter().any(under_way)
    }

    fn begin(&mut self) -> Option<Frame> {
        let message = self.pending.pop_front()?;
        if self.pending.is_empty() {
            // After many messages their room is given back.
            self.pending.shrink_to(FEW_MESSAGES);
        }
        let kinds = message.kinds();
        let control_bytes = MESSAGE_BYTES + message.control.len();
        self.backlog.take(kinds.0, control_bytes);
        let mut frames = FrameEncoder::new(message.stream, message.control, message.bulk);
        if let Some(chunk_bytes) = self.chunk_bytes {
            frames = frames.cut_at(chunk_bytes);
        }
        self.next_of(Begun {
            segment: message.segment,
            kinds,
            frames,
        })
    }

    fn go_on(&mut self) -> Option<Frame> {
        let begun = self.begun.pop_front()?;
        self.next_of(begun)
    }

    /// Takes the message's next frame. The rest of the message waits for its next turn.
    fn next_of(&mut self, mut begun: Begun) -> Option<Frame> {
        let (head, bulk) = begun.frames.next_frame()?;
        let kinds = begun.kinds;
        self.backlog.take(kinds.1, bulk.len());
        if !begun.frames.is_done() {
            self.begun.push_back(begun);
        }
        Some(Frame { head, bulk, kinds })
    }

    /// Lays out frames and calls `write` with them, until all are written, the turn is over, or
    /// `write` takes no more. `written` grows by the bytes that `write` took.
    pub fn write_with(
        &mut self,
        written: &mut usize,
        mut write: impl FnMut(&[IoSlice<'_>]) -> std::io::Result<usize>,
    ) -> std::io::Result<()> {
        let end = *written + TURN_BYTES;
        loop {
            self.lay_out();
            if self.pieces.is_empty() || *written >= end {
                return Ok(());
            }
            let mut slices = [IoSlice::new(&[]); MOST_SLICES];
            let mut count = 0;
            for (slice, (_, piece)) in slices.iter_mut().zip(&self.pieces) {
                *slice = IoSlice::new(piece);
                count += 1;
            }
            let bytes = write(&slices[..count])?;
            *written += bytes;
            self.written(bytes);
        }
    }

    fn lay_out(&mut self) {
        while self.pieces.len() + 2 <= MOST_SLICES && self.laid_out_bytes < LAID_OUT_BYTES {
            let Some(frame) = self.next_frame() else {
                return;
            };
            self.lay_out_one(frame.kinds.0, frame.head);
            for piece in frame.bulk.into_pieces() {
                self.lay_out_one(frame.kinds.1, piece);
            }
        }
    }

    fn lay_out_one(&mut self, kind: Kind, piece: Bytes) {
        self.laid_out_bytes += piece.len();
        self.backlog.add(kind, piece.len());
        self.pieces.push_back((kind, piece));
    }

    fn written(&mut self, mut bytes: usize) {
        self.laid_out_bytes -= bytes;
        while let Some((kind, piece)) = self.pieces.front_mut() {
            let taken = bytes.min(piece.len());
            self.backlog.take(*kind, taken);
            piece.advance(taken);
            if !piece.is_empty() {
                return;
            }
            bytes -= taken;
            self.pieces.pop_front();
        }
    }
}
