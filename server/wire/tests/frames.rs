//! Frames: messages come out as they went in however the bytes are cut, and what breaks
//! [FRAME-1..4] is refused without memory being spent on it.

use bytes::Bytes;
use interweave_wire::frame::HEAD_BYTES;
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};

const MAX_BULK: u64 = 64 << 20;

fn bulk(bytes: usize) -> Bytes {
    (0..bytes)
        .map(|index| (index * 7 + index / 251) as u8)
        .collect()
}

fn message(stream: u32, bytes: usize) -> Message {
    let body = Cancel { stream: 77 };
    Message::new(MessageType::Push, stream, &body, bulk(bytes))
}

fn frames(message: Message) -> Vec<Bytes> {
    let mut encoder = message.into_frames();
    let frames = std::iter::from_fn(|| encoder.next_frame());
    frames
        .map(|(head, bulk)| [head, bulk.joined()].concat().into())
        .collect()
}

/// What the decoder gives when the bytes come in pieces of that size, read as from a socket.
fn decoded(bytes: &[u8], piece: usize) -> Vec<Message> {
    let mut decoder = FrameDecoder::new(MAX_BULK);
    let mut messages = Vec::new();
    let mut rest = bytes;
    loop {
        while let Some(message) = decoder.next_message().unwrap() {
            messages.push(message);
        }
        if rest.is_empty() {
            return messages;
        }
        let mut here = piece.min(rest.len());
        if let Some(target) = decoder.bulk_target() {
            here = here.min(target.room);
            assert!(here > 0, "there is always room for more");
            target.bulk.extend_from_slice(&rest[..here]);
            decoder.bulk_read(here);
        } else {
            here = here.min(decoder.wanted_bytes());
            decoder.push(&rest[..here]);
        }
        rest = &rest[here..];
        let read = bytes.len() - rest.len();
        assert!(
            decoder.held_bytes() <= 2 * read + 32 * 1024,
            "memory follows the bytes"
        );
    }
}

fn refusal(bytes: &[u8]) -> ErrorCode {
    let mut decoder = FrameDecoder::new(MAX_BULK);
    decoder.push(bytes);
    loop {
        match decoder.next_message() {
            Ok(Some(_)) => (),
            Ok(None) => panic!("nothing was refused"),
            Err(rejection) => return rejection.code,
        }
    }
}

fn frame(type_: i32, stream: u32, all: u64, here: usize) -> Vec<u8> {
    let envelope = Envelope {
        type_,
        stream,
        bulk_bytes: all,
    };
    let control = xdr::to_bytes(&envelope);
    let mut bytes = (control.len() as u32).to_be_bytes().to_vec();
    bytes.extend((here as u32).to_be_bytes());
    bytes.extend(control);
    bytes.resize(bytes.len() + here, 0);
    bytes
}

const CONTINUE: i32 = MessageType::Continue as i32;
const PUSH: i32 = MessageType::Push as i32;

#[test]
fn messages_survive_every_cut() {
    let sent = [
        message(1, 0),
        message(2, 5),
        message(3, 300_000),
        message(4, 1),
    ];
    let bytes = sent
        .iter()
        .flat_map(|m| frames(m.clone()))
        .collect::<Vec<_>>()
        .concat();
    for piece in [1, 7, 8, 1000, 8192, 262_144, usize::MAX] {
        assert_eq!(decoded(&bytes, piece), sent, "pieces of {piece}");
    }
}

#[test]
fn large_messages_interleave() {
    let (a, b) = (message(1, 900_000), message(2, 600_000));
    let (mut first, mut second) = (frames(a.clone()).into_iter(), frames(b.clone()).into_iter());
    let mut bytes = Vec::new();
    loop {
        let (x, y) = (first.next(), second.next());
        if x.is_none() && y.is_none() {
            break;
        }
        bytes.extend([x, y].into_iter().flatten().flatten());
    }
    assert_eq!(decoded(&bytes, 100_000), [b, a]);
}

#[test]
fn a_bulk_is_memory_of_its_own() {
    for bytes in [100, 100_000, 3_000_000] {
        let sent = frames(message(1, bytes)).concat();
        let bulk = decoded(&sent, usize::MAX).remove(0).bulk;
        let memory: Vec<u8> = bulk.into();
        assert_eq!(memory.capacity(), bytes);
    }
}

#[test]
fn the_head_of_a_frame_is_big_endian_and_chunks_are_bounded() {
    let sent = frames(message(9, 300_000));
    assert_eq!(sent.len(), 2);
    let control = 16 + 4;
    let mut head = vec![0, 0, 0, control, 0, 4, 0, 0];
    head.extend([
        0, 0, 0, 84, 0, 0, 0, 9, 0, 0, 0, 0, 0, 4, 0x93, 0xe0, 0, 0, 0, 77,
    ]);
    assert_eq!(&sent[0][..HEAD_BYTES + control as usize], head);
    assert_eq!(sent[1].len(), HEAD_BYTES + 16 + 300_000 - 262_144);
}

#[test]
fn a_first_frame_may_carry_no_bulk() {
    let mut bytes = frame(PUSH, 5, 3, 0);
    bytes.extend(frame(CONTINUE, 5, 3, 2));
    bytes.extend(frame(CONTINUE, 5, 1, 1));
    let messages = decoded(&bytes, 11);
    assert_eq!(messages[0].bulk, &[0; 3][..]);
}

#[test]
fn unknown_types_are_messages_too() {
    let messages = decoded(&frame(4711, 5, 0, 0), 64);
    assert_eq!(messages[0].kind(), None);
    assert_eq!(messages[0].envelope.type_, 4711);
}

#[test]
fn broken_framing_is_refused() {
    let first = frame(PUSH, 5, 100, 10);
    let then = |frame: Vec<u8>| [first.clone(), frame].concat();
    let mut body_in_continue = frame(CONTINUE, 5, 0, 0);
    body_in_continue[3] += 4;
    body_in_continue.extend([0; 4]);
    let cases: [(&str, Vec<u8>); 9] = [
        ("control too long", vec![0, 1, 0, 1, 0, 0, 0, 0]),
        ("chunk too long", vec![0, 0, 0, 16, 0, 4, 0, 1]),
        ("no envelope", vec![0, 0, 0, 4, 0, 0, 0, 0, 1, 2, 3, 4]),
        ("more than announced at first", frame(PUSH, 5, 9, 10)),
        ("CONTINUE of nothing", frame(CONTINUE, 5, 100, 10)),
        (
            "CONTINUE of another stream",
            then(frame(CONTINUE, 6, 100, 10)),
        ),
        (
            "more than announced later",
            then(frame(CONTINUE, 5, 100, 91)),
        ),
        ("a second message on the stream", then(frame(PUSH, 5, 0, 0))),
        ("a body in CONTINUE", then(body_in_continue)),
    ];
    for (what, bytes) in cases {
        assert_eq!(refusal(&bytes), ErrorCode::Malformed, "{what}");
    }
    assert_eq!(
        refusal(&frame(PUSH, 5, MAX_BULK + 1, 0)),
        ErrorCode::TooLarge
    );
    assert_eq!(refusal(&frame(PUSH, 5, u64::MAX, 0)), ErrorCode::TooLarge);
}

#[test]
fn at_most_64_messages_are_incomplete_and_cost_nothing() {
    let open = |count: u32| (1..=count).flat_map(|stream| frame(PUSH, stream, MAX_BULK, 0));
    assert_eq!(refusal(&open(65).collect::<Vec<_>>()), ErrorCode::Malformed);
    let mut decoder = FrameDecoder::new(MAX_BULK);
    decoder.push(&open(64).collect::<Vec<_>>());
    decoder.push(&frame(PUSH, 65, 3, 3));
    assert!(
        decoder.next_message().unwrap().is_some(),
        "a whole message is not incomplete"
    );
    assert!(decoder.held_bytes() < 16 * 1024);
}
