//! Bytes that are no messages: an error, the connection closed, nobody else harmed.

use crate::clients::{connect, open, value, write, PATIENT};
use crate::flood::{flood, Flood};
use crate::server::Server;
use bytes::Bytes;
use interweave_server::client::{Client, Copy, OpenOptions};
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

/// xorshift64*: the same bytes for the same seed.
fn random_bytes(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

fn hello() -> Vec<u8> {
    hello_as([0; 16])
}

fn hello_as(session: SessionId) -> Vec<u8> {
    let body = Hello {
        magic: *b"IWV1",
        version_min: PROTOCOL_VERSION_MIN,
        version_max: PROTOCOL_VERSION_MAX,
        session,
        token: String::new(),
        client: "hostile".to_string(),
        fields: Vec::new(),
    };
    frames(Message::new(MessageType::Hello, 1, &body, Bytes::new()))
}

fn frames(message: Message) -> Vec<u8> {
    let mut encoder = message.into_frames();
    let mut all = Vec::new();
    while let Some((head, bulk)) = encoder.next_frame() {
        all.extend_from_slice(&head);
        all.extend_from_slice(&bulk.joined());
    }
    all
}

/// Sends the bytes and their end; what the server answered until it closed.
fn exchange(server: &Server, bytes: &[u8]) -> Vec<Message> {
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    stream.set_read_timeout(Some(PATIENT)).unwrap();
    // The server may have closed before all was sent; that is its right.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let mut decoder = FrameDecoder::new(1 << 20);
    decoder.push(&answer);
    let mut messages = Vec::new();
    while let Some(message) = decoder.next_message().expect("the server speaks well") {
        messages.push(message);
    }
    messages
}

fn error_of(message: Option<&Message>) -> ErrorCode {
    let message = message.expect("an answer");
    assert_eq!(message.kind(), Some(MessageType::Error));
    // before a hello it is in the form that clients of all versions read
    let plain = || message.decode::<PlainError>().map(|error| error.code);
    let reply = message.decode::<ErrorReply>().map(|error| error.code);
    reply.or_else(|_| plain()).expect("an error")
}

/// The next message that is not a heartbeat, which a slow machine may bring at any time.
fn next_answer(decoder: &mut FrameDecoder) -> Option<Message> {
    loop {
        let message = decoder.next_message().expect("the server speaks well")?;
        if message.kind() != Some(MessageType::Heartbeat) {
            return Some(message);
        }
    }
}

/// Reads until the request on that stream has its answer.
fn until_answered(stream: &mut TcpStream, wanted: u32) {
    let mut decoder = FrameDecoder::new(1 << 20);
    let mut bytes = [0; 4096];
    loop {
        while let Some(message) = decoder.next_message().expect("the server speaks well") {
            if message.envelope.stream == wanted {
                return;
            }
        }
        match stream.read(&mut bytes).expect("an answer") {
            0 => panic!("the server closed without an answer on stream {wanted}"),
            count => decoder.push(&bytes[..count]),
        }
    }
}

/// A client of the same server that works meanwhile.
struct Bystander {
    client: Client,
    copy: Copy,
    round: u64,
}

impl Bystander {
    fn of(server: &Server) -> Bystander {
        let mut client = connect(server);
        let copy = open(&mut client, "/numbers", Durability::Memory);
        Bystander {
            client,
            copy,
            round: 0,
        }
    }

    fn works(&mut self) {
        self.round += 1;
        let number = self.round as i32;
        write(&mut self.client, &mut self.copy, self.round, 100, number).expect("it works");
        assert_eq!(value(&self.copy), Some(number));
    }
}

#[test]
fn frame_1_lengths_beyond_the_bounds_are_malformed() {
    let server = Server::in_memory(&[]);
    let mut bystander = Bystander::of(&server);
    for (control, bulk) in [(MAX_CONTROL_BYTES + 1, 0), (16, MAX_CHUNK_BYTES + 1)] {
        for greeting in [hello(), Vec::new()] {
            let mut bytes = greeting;
            bytes.extend_from_slice(&control.to_be_bytes());
            bytes.extend_from_slice(&bulk.to_be_bytes());
            let answer = exchange(&server, &bytes);
            assert_eq!(error_of(answer.last()), ErrorCode::Malformed);
            assert_eq!(answer.last().unwrap().envelope.stream, 0);
            bystander.works();
        }
    }
}

#[test]
fn truncated_messages_end_quietly() {
    let server = Server::in_memory(&[]);
    let mut bystander = Bystander::of(&server);
    let whole = hello();
    for length in 0..whole.len() {
        assert!(exchange(&server, &whole[..length]).is_empty());
    }
    assert_eq!(exchange(&server, &whole).len(), 1);
    bystander.works();
}

#[test]
fn random_bytes_are_answered_with_an_error_at_most() {
    let server = Server::in_memory(&[]);
    let mut bystander = Bystander::of(&server);
    for seed in 1..=300 {
        let mut bytes = match seed % 2 {
            0 => hello(),
            _ => Vec::new(),
        };
        let mut noise = random_bytes(seed, 1 + (seed as usize * 37) % 3000);
        if seed % 3 == 0 {
            // Lengths that are allowed, so that the noise is taken for a message.
            noise.splice(0..0, [0, 0, 0, 40, 0, 0, 0, 9]);
        }
        bytes.extend_from_slice(&noise);
        for message in exchange(&server, &bytes) {
            let kind = message.kind().expect("a known type");
            let harmless = [
                MessageType::Welcome,
                MessageType::Error,
                MessageType::Unimplemented,
            ];
            assert!(harmless.contains(&kind), "seed {seed}: {kind:?}");
        }
        if seed % 50 == 0 {
            bystander.works();
        }
    }
}

#[test]
fn frame_4_continue_of_nothing_is_malformed() {
    let server = Server::in_memory(&[]);
    let mut bytes = hello();
    bytes.extend(frames(Message::bare(MessageType::Continue, 9)));
    let answer = exchange(&server, &bytes);
    assert_eq!(error_of(answer.last()), ErrorCode::Malformed);
}

#[test]
fn bulk_that_nobody_may_send_is_not_kept() {
    const BULK_BYTES: usize = 96 << 20;
    let server = Server::in_memory(&[]);
    let before = server.metric("resident_memory_bytes");
    let release = ReleaseWriter {
        sequence: 1,
        parts: vec![ReleasePart {
            segment: 1,
            fence: 1,
            base: VersionStamp {
                incarnation: 0,
                number: 0,
                chain: 0,
            },
            diff_bytes: BULK_BYTES as u64,
        }],
    };
    let bulk = Bytes::from(vec![7; BULK_BYTES]);
    let whole = frames(Message::new(MessageType::ReleaseWriter, 2, &release, bulk));
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(PATIENT)).unwrap();
    stream.write_all(&hello()).unwrap();
    stream.write_all(&whole[..whole.len() - 1]).unwrap();
    let held = server.metric("resident_memory_bytes");
    let grown = held.saturating_sub(before) >> 20;
    assert!(
        grown < 16,
        "{grown} MiB are held of a message that is refused"
    );
    stream.write_all(&whole[whole.len() - 1..]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let mut decoder = FrameDecoder::new(1 << 20);
    decoder.push(&answer);
    next_answer(&mut decoder).expect("WELCOME");
    let refused = next_answer(&mut decoder);
    assert_eq!(error_of(refused.as_ref()), ErrorCode::NotOpen);
}

/// [LOCK-12] The release of one client announces all the room that there is for releases.
#[test]
fn lock_12_a_release_that_announces_much_and_sends_little_does_not_stop_others() {
    const ROOM_BYTES: u64 = 5 << 30;
    let server = Server::in_memory(&[]);
    let mut client = connect(&server);
    let options = OpenOptions {
        quota_bytes: ROOM_BYTES,
        ..OpenOptions::creating(Durability::Memory)
    };
    let mut copy = Copy::open(&mut client, "/greedy", &options).unwrap();
    let lock = copy.lock(&mut client, PATIENT, 1).unwrap();
    let release = ReleaseWriter {
        sequence: 1,
        parts: vec![ReleasePart {
            segment: copy.number(),
            fence: lock.grant.fence,
            base: lock.grant.now.clone(),
            diff_bytes: ROOM_BYTES,
        }],
    };
    let some = Bytes::from(vec![7; MAX_CHUNK_BYTES as usize]);
    let mut first = frames(Message::new(MessageType::ReleaseWriter, 2, &release, some));
    first[16..24].copy_from_slice(&ROOM_BYTES.to_be_bytes());
    // The session, which has the lock, moves to this connection. Its bulk is admitted only after
    // the server has taken the hello.
    let mut greedy = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    greedy.set_read_timeout(Some(PATIENT)).unwrap();
    greedy
        .write_all(&hello_as(client.welcome().session))
        .unwrap();
    until_answered(&mut greedy, 1);
    greedy.write_all(&first).unwrap();
    let ping = frames(Message::bare(MessageType::Ping, 3));
    greedy.write_all(&ping).unwrap();
    until_answered(&mut greedy, 3);
    let mut bystander = connect(&server);
    let mut copy = open(&mut bystander, "/numbers", Durability::Memory);
    let large = u64::from(MAX_CHUNK_BYTES);
    write(&mut bystander, &mut copy, 1, large, 8).expect("it gets through");
    assert_eq!(value(&copy), Some(8));
}

#[test]
fn net_2_replies_that_nobody_reads_do_not_pile_up() {
    const CONNECTIONS: usize = 100;
    let server = Server::in_memory(&["--lease", "600"]);
    let mut client = connect(&server);
    for number in 0..60 {
        let path = format!("/{}{number:0>200}", "x".repeat(700));
        client
            .open(&path, &OpenOptions::creating(Durability::Memory))
            .unwrap();
    }
    let list = ListSegments {
        prefix: "/".to_string(),
        after: String::new(),
    };
    let requests: Vec<u8> = (2..2000)
        .flat_map(|stream| {
            let message = Message::new(MessageType::ListSegments, stream, &list, Bytes::new());
            frames(message)
        })
        .collect();
    let before = server.metric("resident_memory_bytes");
    let mut greedy: Vec<Flood> = (0..CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
            stream.write_all(&hello()).unwrap();
            Flood::of(stream, requests.clone())
        })
        .collect();
    let requested = flood(&server, &mut greedy, "requests_total");
    assert!(requested > 10 * CONNECTIONS as u64, "{requested} requests");
    let grown = server
        .metric("resident_memory_bytes")
        .saturating_sub(before)
        >> 20;
    assert!(
        grown < 40,
        "{grown} MiB wait for {CONNECTIONS} clients that do not read"
    );
    Bystander::of(&server).works();
}

#[test]
fn too_many_connections_are_told_so() {
    let server = Server::in_memory(&["--max-connections", "3"]);
    let kept: Vec<Client> = (0..3).map(|_| connect(&server)).collect();
    let refused = exchange(&server, &[]);
    assert_eq!(error_of(refused.first()), ErrorCode::TooLarge);
    assert_eq!(server.metric("connections_refused_total"), 1);
    drop(kept);
}
