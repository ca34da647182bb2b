//! The frames of a connection: however the bytes are cut, and whether they are pushed or read into
//! their places as the server reads them, the same messages come out, and nothing is kept that has
//! not arrived.

use bytes::Bytes;
use interweave_wire::frame::{Begun, Bounds, Gate};
use interweave_wire::protocol::{Envelope, MAX_CHUNK_BYTES};
use interweave_wire::{FrameDecoder, Message, Rejection};

const MAX_BULK_BYTES: u64 = 1 << 20;
/// What a decoder may keep besides twice the bytes that came.
const OWN_BYTES: usize = 32 << 10;

/// Keeps the bulk of every second stream, as the server keeps that of some releases only.
struct EverySecond;

impl Gate for EverySecond {
    type Body = Bytes;

    fn begin(&self, envelope: &Envelope, body: &[u8]) -> Result<Begun<Bytes>, Rejection> {
        Ok(Begun {
            body: Bytes::copy_from_slice(body),
            keeps_bulk: keeps(envelope),
        })
    }
}

fn keeps(envelope: &Envelope) -> bool {
    envelope.stream.is_multiple_of(2)
}

/// Takes the messages that a client may send before it has logged in.
struct Stranger;

impl Gate for Stranger {
    type Body = Bytes;

    fn bounds(&self) -> Bounds {
        Bounds::OF_STRANGERS
    }

    fn begin(&self, _: &Envelope, body: &[u8]) -> Result<Begun<Bytes>, Rejection> {
        Ok(Begun {
            body: Bytes::copy_from_slice(body),
            keeps_bulk: false,
        })
    }
}

/// The messages, and whether the framing was lost.
type Found = (Vec<Message>, bool);

fn pushed<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Found {
    let mut decoder = FrameDecoder::new(MAX_BULK_BYTES);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        loop {
            match decoder.next_message() {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(_) => return (found, true),
            }
        }
    }
    (found, false)
}

/// As a socket would bring the bytes: at most `most` at a time, those of a bulk into their place.
fn read<G: Gate<Body = Bytes>>(mut decoder: FrameDecoder<G>, bytes: &[u8], most: usize) -> Found {
    let mut found = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut here;
        (here, rest) = match decoder.bulk_target() {
            Some(target) => {
                assert!(target.room > 0, "there is room for some bytes");
                let place = target.room.min(most).min(rest.len());
                let ahead = target.ahead.min(most);
                target.bulk.extend_from_slice(&rest[..place]);
                decoder.bulk_read(place);
                rest[place..].split_at(ahead.min(rest.len() - place))
            }
            None => rest.split_at(decoder.wanted_bytes().min(most).min(rest.len())),
        };
        loop {
            match decoder.next_of(&mut here) {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(_) => return (found, true),
            }
        }
        assert!(here.is_empty(), "what is looked at is taken");
        let came = bytes.len() - rest.len();
        assert!(decoder.held_bytes() <= 2 * came + OWN_BYTES);
    }
    (found, false)
}

pub fn run(data: &[u8]) {
    // The first byte says how the rest is cut.
    let Some((&cut, bytes)) = data.split_first() else {
        return;
    };
    let most = usize::from(cut) + 1;
    let whole = pushed(std::iter::once(bytes));
    let cut = pushed(bytes.chunks(most));
    assert_eq!(whole, cut, "the messages depend on how the bytes are cut");
    let read_whole = read(FrameDecoder::new(MAX_BULK_BYTES), bytes, most);
    assert_eq!(whole, read_whole, "the messages depend on their way");
    for message in &whole.0 {
        assert_eq!(message.bulk.len() as u64, message.envelope.bulk_bytes);
    }
    check_dropping(&whole, bytes, most);
    check_stranger(&whole, bytes, most);
}

/// A stranger sends each message in one frame. A message that is too large for a stranger ends the
/// framing. All other messages are as those of a client that has logged in. The stranger's decoder
/// may find more of them, because it has another bound on bulk.
fn check_stranger(whole: &Found, bytes: &[u8], most: usize) {
    let (some, is_lost) = read(FrameDecoder::with_gate(Stranger), bytes, most);
    assert!(is_lost || some.len() >= whole.0.len(), "a message is lost");
    for (some, whole) in some.iter().zip(&whole.0) {
        assert_eq!((&some.envelope, &some.body), (&whole.envelope, &whole.body));
        assert!(whole.bulk.len() <= MAX_CHUNK_BYTES as usize);
    }
}

/// A gate changes the bulk that is kept, and nothing else. It has no bound on bulk.
fn check_dropping(whole: &Found, bytes: &[u8], most: usize) {
    let (some, _) = read(FrameDecoder::with_gate(EverySecond), bytes, most);
    assert!(some.len() >= whole.0.len(), "a gate loses no message");
    for (some, whole) in some.iter().zip(&whole.0) {
        let kept = keeps(&whole.envelope);
        let bulk = if kept {
            whole.bulk.clone()
        } else {
            Bytes::new()
        };
        assert_eq!(
            *some,
            Message {
                bulk,
                ..whole.clone()
            }
        );
    }
}
