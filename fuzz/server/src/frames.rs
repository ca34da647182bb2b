//! The frames of a connection: however the bytes are cut, the same messages come out, and nothing
//! is kept that has not arrived.

use interweave_wire::{FrameDecoder, Message};

const MAX_BULK_BYTES: u64 = 1 << 20;

fn messages(pieces: impl Iterator<Item = impl AsRef<[u8]>>) -> (Vec<Message>, bool) {
    let mut decoder = FrameDecoder::new(MAX_BULK_BYTES);
    let mut found = Vec::new();
    for piece in pieces {
        decoder.push(piece.as_ref());
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

pub fn run(data: &[u8]) {
    // The first byte says how the rest is cut.
    let Some((&cut, rest)) = data.split_first() else {
        return;
    };
    let whole = messages(std::iter::once(rest));
    let cut = messages(rest.chunks(usize::from(cut) + 1));
    assert_eq!(whole, cut, "the messages depend on how the bytes are cut");
    for message in &whole.0 {
        assert_eq!(message.bulk.len() as u64, message.envelope.bulk_bytes);
    }
}
