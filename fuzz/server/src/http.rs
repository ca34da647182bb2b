//! Heads of HTTP as a server takes them that lets everybody in: each is answered or the connection
//! ends, and nobody is let in who names another host.

use crate::kept::{Kept, KeptByThread};
use interweave_server::net::{MemoryServer, Said};
use interweave_server::session::Access;

/// Statuses that a request can have; 101 opens a WebSocket.
const STATUSES: [&str; 16] = [
    "101", "200", "303", "400", "401", "403", "404", "405", "408", "413", "414", "426", "429",
    "431", "501", "503",
];
/// An input whose last byte is 0 comes in parts of so many bytes.
const PART_BYTES: usize = 100;

thread_local! {
    static SERVER: KeptByThread = const { Kept::by_thread(begin) };
}

fn begin() -> MemoryServer {
    MemoryServer::begin(Access::open()).expect("a server in memory")
}

/// Returns how the words come, for [`MemoryServer::ask`].
pub fn said(words: Vec<u8>, answers: Vec<u8>) -> Said {
    let part = match words.last() {
        Some(0) => PART_BYTES,
        _ => 0,
    };
    Said {
        words,
        part,
        answers,
    }
}

/// Returns the answers of a server that nobody has logged in to before.
pub fn answers(words: Vec<u8>) -> Vec<u8> {
    SERVER.with(|kept| {
        let mut kept = kept.borrow_mut();
        let (answers, is_used) = kept.with(|server| {
            let answers = server.ask(said(words, Vec::new()));
            let found = server.statistics();
            (answers, found.sessions + found.segments > 0)
        });
        if is_used {
            kept.end();
        }
        answers
    })
}

pub fn run(data: &[u8]) {
    check(data, &answers(data.to_vec()));
}

/// Fails unless these may be the answers.
pub fn check(data: &[u8], answers: &[u8]) {
    if answers.is_empty() {
        return;
    }
    let head = answers.strip_prefix(b"HTTP/1.").expect("an answer of HTTP");
    let status = std::str::from_utf8(&head[2..5]).expect("a status");
    assert!(STATUSES.contains(&status), "status {status}");
    // The first request may be answered only to who names this host.
    let text = data.to_ascii_lowercase();
    let local = [
        &b"localhost"[..],
        b"127.",
        b"::1",
        b":0:0:",
        b"::ffff:",
        b"::7f",
        b":1]",
    ];
    let named = local
        .iter()
        .any(|name| text.windows(name.len()).any(|part| part == *name));
    assert!(
        named || !matches!(status, "101" | "200" | "303"),
        "status {status} for another host"
    );
}
