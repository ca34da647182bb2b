//! Makes requests of the bytes that come in on one connection, with the protocol's decoder.
//!
//! Small messages are taken from a read buffer that all connections share. The bulk of a large
//! message is read straight into its own memory, together with the head of the next frame. So a
//! chunk costs one read, and hardly a byte is copied. Bulk that the engine does not admit is
//! counted and dropped. The chains of a large release are computed while it comes in. A few
//! messages are taken apart at a time, and the others wait as bytes.

use super::freeing;
use crate::session::{Incoming, PartChains, Request};
use interweave_wire::frame::{Begun, Bounds, BulkTarget, Gate};
use interweave_wire::protocol::{Envelope, MAX_CHUNK_BYTES};
use interweave_wire::{FrameDecoder, Message, Rejection};
use std::cell::Cell;

/// So many messages are taken apart at a time, because a decoded message takes many times its
/// bytes.
const MOST_AT_ONCE: usize = 64;

/// Decides what is taken of a peer, and whether a request's bulk is worth buffering.
pub trait Admission {
    /// Whether the peer's HELLO was taken. Before that, few of its bytes are kept [NET-8].
    fn is_greeted(&self) -> bool;

    fn admits(&self, request: &Request, bulk_bytes: u64) -> bool;

    /// So many bytes of bulk in several frames have come. Returns whether it is buffered further.
    fn came(&self, request: &Request, bytes: usize) -> bool;
}

/// A request whose bulk may be coming in.
#[derive(Debug)]
struct Coming {
    request: Request,
    /// Of a release in several frames.
    chains: Option<PartChains>,
}

/// Makes requests of bodies.
#[derive(Debug)]
struct Requests<A> {
    admission: A,
    /// Whether the peer's HELLO was taken. Once it was, nobody is asked again.
    is_greeted: Cell<bool>,
}

impl<A: Admission> Requests<A> {
    fn is_greeted(&self) -> bool {
        if !self.is_greeted.get() {
            self.is_greeted.set(self.admission.is_greeted());
        }
        self.is_greeted.get()
    }
}

impl<A: Admission> Gate for Requests<A> {
    type Body = Coming;

    fn bounds(&self) -> Bounds {
        match self.is_greeted() {
            true => Bounds::OF_ALL,
            false => Bounds::OF_STRANGERS,
        }
    }

    fn begin(&self, envelope: &Envelope, body: &[u8]) -> Result<Begun<Coming>, Rejection> {
        let request = Request::decode(envelope.type_, body);
        let bulk_bytes = envelope.bulk_bytes;
        let keeps_bulk = bulk_bytes > 0 && self.admission.admits(&request, bulk_bytes);
        let chains = match &request {
            Request::ReleaseWriter(release) if bulk_bytes > u64::from(MAX_CHUNK_BYTES) => {
                keeps_bulk.then(|| PartChains::of(release))
            }
            _ => None,
        };
        Ok(Begun {
            keeps_bulk,
            body: Coming { request, chains },
        })
    }

    fn came(&self, coming: &mut Coming, bytes: &[u8]) -> bool {
        let Some(chains) = &mut coming.chains else {
            return true;
        };
        chains.add(bytes);
        self.admission.came(&coming.request, bytes.len())
    }

    fn give_up(&self, bulk: Vec<u8>) {
        drop(freeing::freed_elsewhere(bulk.into()));
    }
}

/// The messages of one connection, and the bytes that are not taken apart yet.
#[derive(Debug)]
pub struct Inbound<A: Admission> {
    decoder: FrameDecoder<Requests<A>>,
    complete: Vec<Incoming>,
}

impl<A: Admission> Inbound<A> {
    pub fn new(admission: A) -> Self {
        Inbound {
            decoder: FrameDecoder::with_gate(Requests {
                admission,
                is_greeted: Cell::new(false),
            }),
            complete: Vec::new(),
        }
    }

    /// Whether the peer's HELLO was taken.
    pub fn is_greeted(&self) -> bool {
        self.decoder.gate().is_greeted()
    }

    /// How many bytes to read where no bulk target is.
    pub fn wanted_bytes(&self) -> usize {
        self.decoder.wanted_bytes()
    }

    /// Returns the place for the next bytes, if bytes of a large bulk come next.
    /// [`Inbound::bulk_read`] must follow.
    pub fn bulk_target(&mut self) -> Option<BulkTarget<'_>> {
        self.decoder.bulk_target()
    }

    /// Takes note of `bytes` that were appended to the bulk target, and takes those read behind.
    pub fn bulk_read(&mut self, bytes: usize, behind: &[u8]) -> Result<(), Rejection> {
        self.decoder.bulk_read(bytes);
        self.parse(behind)
    }

    /// Takes out the complete messages, in order of completion.
    pub fn take_complete(&mut self) -> Vec<Incoming> {
        std::mem::take(&mut self.complete)
    }

    /// Gives up bulk that is not admitted any more.
    pub fn ask_again(&mut self) {
        self.decoder.ask_again();
    }

    /// Whether all bytes that came were whole frames.
    pub fn is_between_frames(&self) -> bool {
        self.decoder.is_between_frames()
    }

    /// Whether bytes were kept that may hold whole messages.
    pub fn has_unparsed(&self) -> bool {
        self.decoder.has_pushed()
    }

    /// Returns how many messages are decoded before they are taken out. Before HELLO it is one,
    /// because HELLO decides which of the following messages are good.
    fn most_at_once(&self) -> usize {
        match self.is_greeted() {
            true => MOST_AT_ONCE,
            false => 1,
        }
    }

    /// Takes bytes apart that [`Inbound::parse`] kept.
    pub fn parse_on(&mut self) -> Result<(), Rejection> {
        let most = self.most_at_once();
        while self.complete.len() < most {
            match self.decoder.next_message()? {
                Some(message) => self.complete.push(incoming(message)),
                None => break,
            }
        }
        Ok(())
    }

    /// Takes the bytes of the shared buffer apart. Bytes behind the first few messages are kept as
    /// bytes, because so they take least. An error: the framing is lost, so the connection must be
    /// told and closed.
    pub fn parse(&mut self, mut bytes: &[u8]) -> Result<(), Rejection> {
        let most = self.most_at_once();
        while self.complete.len() < most {
            match self.decoder.next_of(&mut bytes)? {
                Some(message) => self.complete.push(incoming(message)),
                None => return Ok(()),
            }
        }
        self.decoder.push(bytes);
        Ok(())
    }
}

fn incoming(message: Message<Coming>) -> Incoming {
    let Coming { request, chains } = message.body;
    Incoming {
        stream: message.envelope.stream,
        request,
        bulk: freeing::freed_elsewhere(message.bulk),
        announced_bytes: message.envelope.bulk_bytes,
        chains: chains.map_or(Vec::new(), PartChains::finish),
    }
}
