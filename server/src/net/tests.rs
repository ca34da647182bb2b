//! Frames in and out, without sockets.

use super::inbound::{Admission, Inbound};
use super::outbound::Outbound;
use crate::session::{Backlog, Incoming, Request, ServerMessage};
use bytes::Bytes;
use interweave_wire::frame::{BulkTarget, READ_BYTES};
use interweave_wire::json::{self, Json};
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};
use std::cell::Cell;

/// Admits every bulk of a release up to that size.
struct UpTo(u64);

impl Admission for UpTo {
    fn is_greeted(&self) -> bool {
        true
    }

    fn admits(&self, request: &Request, bulk_bytes: u64) -> bool {
        request.takes_bulk() && bulk_bytes <= self.0
    }

    fn came(&self, _: &Request, _: usize) -> bool {
        true
    }
}

/// Gives bulk up when more than so many bytes have come.
struct GivesUp {
    after: usize,
    came: Cell<usize>,
}

impl GivesUp {
    fn after(after: usize) -> Inbound<GivesUp> {
        let came = Cell::new(0);
        Inbound::new(GivesUp { after, came })
    }
}

impl Admission for GivesUp {
    fn is_greeted(&self) -> bool {
        true
    }

    fn admits(&self, _: &Request, _: u64) -> bool {
        true
    }

    fn came(&self, _: &Request, bytes: usize) -> bool {
        self.came.set(self.came.get() + bytes);
        self.came.get() <= self.after
    }
}

fn release(stream: u32, bulk: Bytes) -> Message {
    let body = ReleaseWriter {
        sequence: 1,
        parts: Vec::new(),
    };
    Message::new(MessageType::ReleaseWriter, stream, &body, bulk)
}

fn frames(message: Message) -> Vec<Vec<u8>> {
    let mut encoder = message.into_frames();
    std::iter::from_fn(|| encoder.next_frame())
        .map(|(head, bulk)| [&head[..], &bulk.joined()[..]].concat())
        .collect()
}

fn pattern(bytes: usize) -> Bytes {
    (0..bytes).map(|at| (at * 7 + at / 251) as u8).collect()
}

/// What a connection made of the bytes that it was fed, and at what price.
#[derive(Default)]
struct Fed {
    messages: Vec<Incoming>,
    reads: usize,
    /// Bytes that did not go straight to their place.
    shared: usize,
}

/// Feeds the bytes as a socket would that brings at most `step` at a time.
fn feed_counting<A: Admission>(inbound: &mut Inbound<A>, mut bytes: &[u8], step: usize) -> Fed {
    let mut fed = Fed::default();
    while !bytes.is_empty() {
        fed.reads += 1;
        if let Some(BulkTarget { bulk, room, ahead }) = inbound.bulk_target() {
            assert!(room > 0 && bulk.capacity() - bulk.len() >= room);
            let (now, later) = bytes.split_at((room + ahead).min(step).min(bytes.len()));
            let (now, behind) = now.split_at(room.min(now.len()));
            bulk.extend_from_slice(now);
            inbound.bulk_read(now.len(), behind).expect("good frames");
            fed.shared += behind.len();
            bytes = later;
            continue;
        }
        let space = inbound.wanted_bytes();
        assert!(space <= READ_BYTES);
        let (now, later) = bytes.split_at(step.min(bytes.len()).min(space));
        inbound.parse(now).expect("good frames");
        fed.shared += now.len();
        bytes = later;
    }
    fed.messages = inbound.take_complete();
    fed
}

fn feed<A: Admission>(inbound: &mut Inbound<A>, bytes: &[u8], step: usize) -> Vec<Incoming> {
    feed_counting(inbound, bytes, step).messages
}

#[test]
fn a_chunk_of_a_large_message_costs_one_read_and_next_to_no_copying() {
    let chunks = 12;
    let bulk = pattern(chunks * MAX_CHUNK_BYTES as usize);
    let bytes = frames(release(2, bulk.clone())).concat();
    let fed = feed_counting(&mut Inbound::new(UpTo(u64::MAX)), &bytes, usize::MAX);
    assert_eq!(fed.messages[0].bulk, bulk);
    // the first chunk comes in as many as its memory takes to grow
    assert!(fed.reads <= chunks + 3, "{} reads", fed.reads);
    let beginning = 64 * 1024;
    let most = beginning + chunks * 4096;
    assert!(fed.shared <= most, "{} bytes were copied", fed.shared);
}

#[test]
fn bulk_that_is_dropped_costs_no_more_reads_than_other_bulk() {
    let bytes = frames(release(2, pattern(4 << 20))).concat();
    let fed = feed_counting(&mut Inbound::new(UpTo(100)), &bytes, usize::MAX);
    assert!(fed.messages[0].bulk.is_empty());
    assert!(fed.reads <= 70, "{} reads", fed.reads);
}

#[test]
fn messages_come_whole_however_their_bytes_arrive() {
    let bulk = pattern(700_000);
    let mut bytes = frames(Message::bare(MessageType::Ping, 1)).concat();
    bytes.extend(frames(release(2, bulk.clone())).concat());
    bytes.extend(frames(release(3, pattern(10))).concat());
    for step in [1 << 20, 300_000, 65_537, 8_191] {
        let mut inbound = Inbound::new(UpTo(u64::MAX));
        let messages = feed(&mut inbound, &bytes, step);
        let streams: Vec<u32> = messages.iter().map(|m| m.stream).collect();
        assert_eq!(streams, [1, 2, 3], "step {step}");
        assert_eq!(messages[1].bulk, bulk, "step {step}");
        assert_eq!(messages[2].bulk, pattern(10));
        assert!(inbound.is_between_frames());
    }
    let small = frames(release(9, pattern(3))).concat();
    let messages = feed(&mut Inbound::new(UpTo(u64::MAX)), &small, 1);
    assert_eq!(messages[0].bulk, pattern(3));
}

#[test]
fn frame_3_chunks_of_several_messages_interleave() {
    let chunk = MAX_CHUNK_BYTES as usize;
    let (long, short) = (pattern(2 * chunk + 5), pattern(chunk + 1));
    let (a, b) = (
        frames(release(1, long.clone())),
        frames(release(2, short.clone())),
    );
    let mixed = [&a[0], &b[0], &a[1], &b[1], &a[2]].map(|f| &f[..]).concat();
    let messages = feed(&mut Inbound::new(UpTo(u64::MAX)), &mixed, 100_000);
    let found: Vec<(u32, &Bytes)> = messages.iter().map(|m| (m.stream, &m.bulk)).collect();
    assert_eq!(found, [(2, &short), (1, &long)]);
}

#[test]
fn bulk_that_is_not_admitted_is_counted_and_dropped() {
    let bytes = frames(release(4, pattern(600_000))).concat();
    let mut inbound = Inbound::new(UpTo(100));
    let messages = feed(&mut inbound, &bytes, 50_000);
    assert_eq!(messages.len(), 1);
    assert!(messages[0].bulk.is_empty());
    assert_eq!(messages[0].announced_bytes, 600_000);
}

#[test]
fn bulk_that_is_given_up_in_the_middle_is_dropped_and_the_messages_behind_it_come() {
    let mut bytes = frames(release(4, pattern(1_600_000))).concat();
    bytes.extend(frames(release(5, pattern(10))).concat());
    for step in [usize::MAX, 300_000, 10_000] {
        let mut inbound = GivesUp::after(700_000);
        let messages = feed(&mut inbound, &bytes, step);
        let found = messages
            .iter()
            .map(|m| (m.stream, m.bulk.len(), m.announced_bytes));
        let found: Vec<_> = found.collect();
        assert_eq!(found, [(4, 0, 1_600_000), (5, 10, 10)], "step {step}");
    }
}

#[test]
fn bulk_that_is_given_up_frees_its_memory_though_no_more_bytes_come() {
    let bytes = frames(release(4, pattern(1_600_000))).concat();
    let mut inbound = GivesUp::after(0);
    feed(&mut inbound, &bytes[..100_000], 1000);
    assert!(inbound.bulk_target().is_none());
    let mut inbound = GivesUp::after(100_000);
    feed(&mut inbound, &bytes[..100_000], 1000);
    assert!(inbound.bulk_target().is_some());
    inbound.ask_again();
    assert!(inbound.bulk_target().is_some(), "it is kept further");
    feed(&mut inbound, &bytes[100_000..200_000], 1000);
    assert!(inbound.bulk_target().is_none());
}

#[test]
fn frame_2_memory_grows_with_what_has_come() {
    let announced = 1 << 30;
    let first = &frames(release(4, pattern(MAX_CHUNK_BYTES as usize)))[0];
    let mut lying = first.clone();
    // The envelope's bulk_bytes are the second half of its 16 bytes, behind the frame's head.
    lying[16..24].copy_from_slice(&u64::to_be_bytes(announced));
    let mut inbound = Inbound::new(UpTo(u64::MAX));
    feed(&mut inbound, &lying[..lying.len() - 1], 1 << 20);
    let target = inbound.bulk_target().expect("more of the bulk follows");
    assert!(target.bulk.capacity() <= 2 * MAX_CHUNK_BYTES as usize);
}

/// Admits everything, once it is greeted.
struct Stranger<'a>(&'a Cell<bool>);

impl Admission for Stranger<'_> {
    fn is_greeted(&self) -> bool {
        self.0.get()
    }

    fn admits(&self, _: &Request, _: u64) -> bool {
        true
    }

    fn came(&self, _: &Request, _: usize) -> bool {
        true
    }
}

/// A frame with so many bytes of control, of a type that nobody knows.
fn frame_of(control_bytes: usize, stream: u32) -> Vec<u8> {
    let mut frame = vec![0; 8 + control_bytes];
    frame[..4].copy_from_slice(&(control_bytes as u32).to_be_bytes());
    frame[8..12].copy_from_slice(&9999_u32.to_be_bytes());
    frame[12..16].copy_from_slice(&stream.to_be_bytes());
    frame
}

#[test]
fn net_8_of_a_stranger_no_more_than_one_small_frame_is_kept() {
    const MOST: usize = 16 << 10;
    let is_greeted = Cell::new(false);
    let new = || Inbound::new(Stranger(&is_greeted));
    let messages = feed(&mut new(), &frame_of(MOST, 1), 1000);
    assert_eq!(messages.len(), 1, "the largest");
    // The first bytes are enough for the refusal.
    assert!(new().parse(&frame_of(MOST + 1, 1)[..8]).is_err());
    let two_frames = frames(release(4, pattern(MAX_CHUNK_BYTES as usize + 1)));
    assert!(new().parse(&two_frames[0]).is_err());
    assert!(new().wanted_bytes() <= MOST + 8);

    is_greeted.set(true);
    let messages = feed(&mut new(), &frame_of(MOST + 1, 1), 1000);
    assert_eq!(messages.len(), 1);
    assert_eq!(feed(&mut new(), &two_frames.concat(), 100_000).len(), 1);
}

#[test]
fn net_8_what_follows_a_hello_is_taken_as_of_whoever_has_logged_in() {
    let is_greeted = Cell::new(false);
    let mut inbound = Inbound::new(Stranger(&is_greeted));
    let all = [frame_of(100, 1), frame_of(20_000, 2), frame_of(100, 3)].concat();
    inbound.parse(&all).expect("the first is good");
    let streams = |inbound: &mut Inbound<_>| -> Vec<u32> {
        let complete = inbound.take_complete();
        complete.iter().map(|message| message.stream).collect()
    };
    assert_eq!(streams(&mut inbound), [1]);
    is_greeted.set(true);
    inbound.parse_on().expect("the others are good now");
    assert_eq!(streams(&mut inbound), [2, 3]);
    // Before the login the second frame is too large.
    is_greeted.set(false);
    let mut inbound = Inbound::new(Stranger(&is_greeted));
    inbound.parse(&all).expect("the first is good");
    assert_eq!(streams(&mut inbound), [1]);
    assert!(inbound.parse_on().is_err());
}

/// The bytes that a vector's text means: hexadecimal, with spaces and comments.
fn vector_bytes(lines: &Json) -> Vec<u8> {
    let Json::Array(lines) = lines else {
        panic!("bytes are a list of lines: {lines}");
    };
    let mut digits = String::new();
    for line in lines {
        let Json::String(line) = line else {
            panic!("a line is text: {line}");
        };
        let code = line.split(';').next().unwrap_or_default();
        digits.extend(code.chars().filter(|c| !c.is_whitespace()));
    }
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn malformed_frames_of_the_specification_lose_the_framing() {
    let text = include_str!("../../../spec/vectors/malformed/frame.json");
    let Json::Array(vectors) = json::parse(text).expect("JSON") else {
        panic!("vectors are a list");
    };
    let mut walked = 0;
    for vector in &vectors {
        let name = vector.get("name").expect("a name").to_string();
        // Bounds on bulk are the engine's; here only the framing is looked at.
        let of_bulk_bound = vector
            .get("error")
            .is_some_and(|error| error.to_string().contains("TOO_LARGE"));
        let Some(bytes) = vector.get("bytes").filter(|_| !of_bulk_bound) else {
            continue;
        };
        let bytes = vector_bytes(bytes);
        let lost = Inbound::new(UpTo(u64::MAX)).parse(&bytes);
        assert!(lost.is_err(), "{name} is taken for good");
        walked += 1;
    }
    assert!(walked >= 4, "{walked} vectors");
}

fn outgoing(segment: u32, stream: u32, bulk: Bytes) -> ServerMessage {
    ServerMessage::with_bulk(segment, MessageType::Push, stream, &(), bulk.into())
}

/// Streams in the order of their frames, and messages in the order of completion.
fn sent(outbound: &mut Outbound) -> (Vec<u32>, Vec<Message>) {
    let mut order = Vec::new();
    let mut decoder = FrameDecoder::new(u64::MAX);
    let mut messages = Vec::new();
    while let Some(frame) = outbound.next_frame() {
        let stream = frame.head[12..16].try_into().expect("an envelope");
        order.push(u32::from_be_bytes(stream));
        decoder.push(&frame.head);
        decoder.push(&frame.bulk.joined());
        while let Some(message) = decoder.next_message().expect("good frames") {
            messages.push(message);
        }
    }
    (order, messages)
}

#[test]
fn chunks_of_segments_take_turns() {
    let chunk = MAX_CHUNK_BYTES as usize;
    let mut outbound = Outbound::default();
    outbound.push(outgoing(1, 10, pattern(3 * chunk)));
    outbound.push(outgoing(2, 20, pattern(2 * chunk)));
    outbound.push(outgoing(0, 30, Bytes::new()));
    let (order, messages) = sent(&mut outbound);
    assert_eq!(order, [10, 10, 20, 10, 30, 20]);
    assert_eq!(messages.len(), 3);
    assert!(outbound.is_empty());
    assert_eq!(outbound.backlog(), Backlog::default());
}

#[test]
fn frame_5_messages_of_one_segment_are_completed_in_order() {
    let chunk = MAX_CHUNK_BYTES as usize;
    let mut outbound = Outbound::default();
    outbound.push(outgoing(1, 10, pattern(2 * chunk)));
    outbound.push(outgoing(1, 11, pattern(5)));
    outbound.push(outgoing(2, 20, pattern(5)));
    let (_, messages) = sent(&mut outbound);
    let streams: Vec<u32> = messages.iter().map(|m| m.envelope.stream).collect();
    assert_eq!(streams, [10, 11, 20], "and begun in the order of sending");
}

#[test]
fn partial_writes_go_on_where_they_ended() {
    let bulk = pattern(600_000);
    let mut outbound = Outbound::default();
    outbound.push(outgoing(1, 10, bulk.clone()));
    outbound.push(outgoing(2, 20, Bytes::new()));
    let mut taken = Vec::new();
    let mut call = 0;
    let result = outbound.write_with(&mut 0, |slices| {
        call += 1;
        let all: Vec<u8> = slices.iter().flat_map(|s| s.iter().copied()).collect();
        let some = all.len().min(call * 1009);
        taken.extend_from_slice(&all[..some]);
        Ok(some)
    });
    assert!(result.is_ok() && outbound.is_empty());
    let mut decoder = FrameDecoder::new(u64::MAX);
    decoder.push(&taken);
    let mut messages = Vec::new();
    while let Some(message) = decoder.next_message().expect("good frames") {
        messages.push(message);
    }
    assert_eq!(messages.len(), 2);
    let pushed = messages.iter().find(|m| m.envelope.stream == 10);
    assert_eq!(pushed.expect("the large one").bulk, bulk);
}
