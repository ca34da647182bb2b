//! Heads of HTTP as the server takes them: each is answered or the connection ends, and nobody is
//! let in who names another host.

use interweave_server::net;

/// Statuses that a request can have; 101 opens a WebSocket.
const STATUSES: [&str; 13] = [
    "101", "200", "304", "400", "403", "404", "405", "408", "413", "414", "426", "431", "501",
];

pub fn run(data: &[u8]) {
    let answers = net::http_in_memory(data);
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
        named || !matches!(status, "101" | "200"),
        "status {status} for another host"
    );
}
