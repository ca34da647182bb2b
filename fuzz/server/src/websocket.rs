//! What comes on a WebSocket after its head: frames of WebSockets that hold, or do not hold, frames
//! of the protocol. The answers are whole frames of both.

use crate::http;
use interweave_wire::{FrameDecoder, Message};

const HEAD: &[u8] = b"GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
    Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

pub fn run(data: &[u8]) {
    messages(&http::answers(words(data)));
}

/// Returns the head of a WebSocket and what follows.
pub fn words(data: &[u8]) -> Vec<u8> {
    [HEAD, data].concat()
}

/// Returns the messages of the protocol. Fails unless the answers are whole.
pub fn messages(answers: &[u8]) -> Vec<Message> {
    let mut messages = Vec::new();
    // A client that leaves before the answer does not get it.
    let Some(end) = answers.windows(4).position(|part| part == b"\r\n\r\n") else {
        assert!(answers.is_empty(), "half a head");
        return messages;
    };
    assert!(
        answers.starts_with(b"HTTP/1.1 101"),
        "a WebSocket is opened"
    );
    let mut rest = &answers[end + 4..];
    while !rest.is_empty() {
        rest = take_frame(rest, &mut messages);
    }
    messages
}

/// A frame of the server: whole in itself, without a mask.
fn take_frame<'a>(bytes: &'a [u8], messages: &mut Vec<Message>) -> &'a [u8] {
    let opcode = bytes[0] & 0xf;
    assert!(
        bytes[0] & 0xf0 == 0x80 && matches!(opcode, 2 | 8 | 10),
        "frame {:02x}",
        bytes[0]
    );
    let (length, rest) = match bytes[1] {
        short @ 0..126 => (u64::from(short), &bytes[2..]),
        126 => (
            u64::from(u16::from_be_bytes([bytes[2], bytes[3]])),
            &bytes[4..],
        ),
        127 => {
            let long = bytes[2..10].try_into().expect("eight bytes");
            (u64::from_be_bytes(long), &bytes[10..])
        }
        _ => panic!("a server masks nothing"),
    };
    let (payload, rest) = rest.split_at(length as usize);
    if opcode == 2 {
        let mut decoder = FrameDecoder::new(u64::MAX);
        decoder.push(payload);
        let message = decoder.next_message().expect("frames of the protocol");
        messages.push(message.expect("one small message is one frame"));
    }
    rest
}
