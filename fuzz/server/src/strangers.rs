//! A stranger's bytes, for a server that admits clients with a token: over HTTP, on a WebSocket,
//! and in the protocol of programs. For all of them this holds:
//! - no answer has the path of a segment, or a token;
//! - a message of the protocol is answered with one error at most;
//! - when the connection is over, the server has the sessions and segments of before;
//! - the connection costs the server at most 64 KiB at a time [NET-8].

use crate::kept::{Kept, KeptByThread};
use crate::{heap, http, websocket};
use interweave_access::{Rules, TokenLine, Tokens};
use interweave_server::net::MemoryServer;
use interweave_server::session::{Access, Statistics};
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};
use std::cell::RefCell;
use std::sync::LazyLock;

/// The most memory of a client that has not logged in [NET-8].
const MOST_BYTES: usize = 64 << 10;
/// Room for answers, which are the peer's memory and not the server's.
const ANSWERS: usize = 256 << 10;
const SEGMENT: &str = "/kept/secret";
const RULES: &str = "allow owner all /**\nend\n";

/// A token, and the tokens file that has it and an expired one.
static TOKENS: LazyLock<(String, Tokens)> = LazyLock::new(|| {
    let (token, line) = TokenLine::new("owner", [0x0a; 6], [0x5f; 32], 0, 0);
    let (_, expired) = TokenLine::new("owner", [0x0b; 6], [0x5e; 32], 0, 1);
    let tokens = Tokens::parse(format!("{line}\n{expired}\nend\n"), 2).expect("tokens");
    (token, tokens)
});

thread_local! {
    static SERVER: KeptByThread = const { Kept::by_thread(begin) };
    static ANSWERED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Begins a server with a segment, whose owner has gone.
fn begin() -> MemoryServer {
    let (token, tokens) = &*TOKENS;
    let rules = Rules::parse(RULES.as_bytes()).expect("rules");
    let access = Access::new(Some(rules), Some(tokens.clone()));
    let server = MemoryServer::begin(access).expect("a server in memory");
    let hello = Hello {
        magic: *b"IWV1",
        version_min: PROTOCOL_VERSION_MIN,
        version_max: PROTOCOL_VERSION_MAX,
        session: [0; 16],
        token: token.clone(),
        client: "owner".to_string(),
        fields: Vec::new(),
    };
    let opening = OpenSegment {
        path: SEGMENT.to_string(),
        create: true,
        read_only: false,
        durable: Durability::Memory,
        quota_bytes: 0,
        fields: Vec::new(),
    };
    let hello = Message::new(MessageType::Hello, 1, &hello, Default::default());
    let opening = Message::new(MessageType::OpenSegment, 2, &opening, Default::default());
    let goodbye = Message::bare(MessageType::Goodbye, 3);
    let words = [hello, opening, goodbye].map(|message| {
        let (head, _) = message.into_frames().next_frame().expect("one frame");
        head
    });
    let answers = server.tell(&words.concat(), Vec::new());
    // A machine that is busy may make the server wait long enough for a heartbeat.
    let kinds: Vec<_> = messages(&answers.expect("answers"))
        .iter()
        .map(Message::kind)
        .filter(|kind| *kind != Some(MessageType::Heartbeat))
        .collect();
    let expected = [MessageType::Welcome, MessageType::SegmentOpened];
    assert_eq!(kinds, expected.map(Some), "its owner is let in");
    // Memory that a server keeps from its first connections on is not counted as theirs.
    server.ask(http::said(websocket::words(b""), Vec::new()));
    server
}

/// The whole messages among the bytes.
fn messages(bytes: &[u8]) -> Vec<Message> {
    let mut decoder = FrameDecoder::new(u64::MAX);
    decoder.push(bytes);
    let next = || decoder.next_message().expect("frames of the protocol");
    std::iter::from_fn(next).collect()
}

fn kept_by(server: &MemoryServer) -> (usize, usize, usize) {
    let Statistics {
        connections,
        sessions,
        segments,
        ..
    } = server.statistics();
    (connections, sessions, segments)
}

/// Gives the answers to `check`.
/// `say`: says the words to the server. It is given room for the answers, and returns them there.
fn tried(say: impl FnOnce(&MemoryServer, Vec<u8>) -> Vec<u8>, check: impl FnOnce(&[u8])) {
    let mut room = ANSWERED.take();
    room.clear();
    room.reserve(ANSWERS);
    let (before, after, (answers, cost)) = SERVER.with(|kept| {
        kept.borrow_mut().with(|server| {
            let before = kept_by(server);
            let said = heap::peak_of(|| say(server, room));
            (before, kept_by(server), said)
        })
    });
    let nothing_new = (0, 0, 1);
    assert_eq!(before, nothing_new, "connections, sessions and segments");
    assert_eq!(after, nothing_new, "connections, sessions and segments");
    let is_counted = answers.len() <= ANSWERS;
    assert!(!is_counted || cost <= MOST_BYTES, "it costs {cost} bytes");
    for secret in [SEGMENT, &TOKENS.0] {
        let shows = |part: &[u8]| part == secret.as_bytes();
        assert!(!answers.windows(secret.len()).any(shows), "it is told");
    }
    check(&answers);
    ANSWERED.set(answers);
}

fn check_refused(messages: &[Message]) {
    assert!(messages.len() <= 1, "{messages:?}");
    for message in messages {
        assert_eq!(message.kind(), Some(MessageType::Error), "{message:?}");
        message.decode::<PlainError>().expect("for all versions");
    }
}

pub fn ask(data: &[u8]) {
    let said = data.to_vec();
    tried(
        |server, room| server.ask(http::said(said, room)),
        |answers| http::check(data, answers),
    );
}

pub fn open_web_socket(data: &[u8]) {
    let said = websocket::words(data);
    tried(
        |server, room| server.ask(http::said(said, room)),
        |answers| check_refused(&websocket::messages(answers)),
    );
}

/// The first byte is of another target with the same inputs.
pub fn tell(data: &[u8]) {
    let words = data.get(1..).unwrap_or_default();
    tried(
        |server, room| server.tell(words, room).expect("a pair of sockets"),
        |answers| check_refused(&messages(answers)),
    );
}
