//! Every page of HTTP, asked for in every situation of its caller, is answered as its need says
//! [ACC-11], and what is refused changes nothing. The pages are those of the server's own list.

use crate::clients::{connect_with, open};
use crate::login::{ask, ask_on, bearer, cookie_line, log_in, words, Answer, Papers};
use crate::server::Server;
use crate::tls::{raw_as, Certificates};
use interweave_server::client::Client;
use interweave_server::net::{Need, Route};
use interweave_wire::protocol::Durability;
use std::io::{Read, Write};
use std::net::TcpStream;

const RULES: &str = "\
allow reader read /a/**
allow steerer read,steer /a/**
allow elsewhere all /b/**
allow reloaded metrics
allow reloaded all /**
allow root all /**
end
";
const AFTER: &str = "\
allow reader read /a/**
allow steerer read,steer /a/**
allow elsewhere all /b/**
allow root all /**
end
";

/// What a caller shows, and how he is known.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Known {
    /// As nobody: he shows nothing, or a login that has ended.
    AsNobody,
    /// He shows a token that is not valid.
    Wrong,
    /// He is let in, and may see the segments that begin so: "" for none.
    LetIn(&'static str),
    /// He may do everything.
    Root,
}

struct Situation {
    name: &'static str,
    lines: String,
    known: Known,
}

/// Makes a token that has expired.
fn expired(papers: &Papers) -> String {
    let token = papers.token("late");
    let tokens = std::fs::read_to_string(papers.file("tokens")).unwrap();
    let of_late = |line: &str| match line.contains(" late ") {
        true => format!("{} 1\n", line.rsplit_once(' ').unwrap().0),
        false => format!("{line}\n"),
    };
    let changed: String = tokens.lines().map(of_late).collect();
    std::fs::write(papers.file("tokens"), changed).unwrap();
    token
}

/// Brings the server and its callers into their situations. Returns root's client, too.
fn situations(papers: &Papers) -> (Server, Vec<Situation>, Client) {
    std::fs::write(papers.file("rules"), RULES).unwrap();
    let names = ["reader", "steerer", "elsewhere", "reloaded", "gone", "root"];
    let tokens = names.map(|name| papers.token(name));
    let [reader, steerer, elsewhere, reloaded, gone, root] = &tokens;
    let late = expired(papers);
    let server = Server::talkative(&words(&papers.options()));
    let mut client = connect_with(&server, root);
    for path in ["/a/x", "/b/y"] {
        open(&mut client, path, Durability::Memory);
    }
    let ended = cookie_line(&log_in(&server, gone));
    papers.revoke("gone");
    std::fs::write(papers.file("rules"), AFTER).unwrap();
    let read = client.reload_access().expect("root may");
    assert!(read.files.iter().all(|file| file.taken), "{read:?}");
    let of = |name, lines: String, known| Situation { name, lines, known };
    let guess = format!("iw_{}_{}", "0".repeat(12), "5".repeat(64));
    let situations = vec![
        of("no login", String::new(), Known::AsNobody),
        of("a login that was revoked", ended, Known::AsNobody),
        of("a wrong token", bearer(&guess), Known::Wrong),
        of("an expired token", bearer(&late), Known::Wrong),
        of("a revoked token", bearer(gone), Known::Wrong),
        of("read-only", bearer(reader), Known::LetIn("/a/")),
        of("steer only", bearer(steerer), Known::LetIn("/a/")),
        of("another path", bearer(elsewhere), Known::LetIn("/b/")),
        of("after a reload", bearer(reloaded), Known::LetIn("")),
        of("root", bearer(root), Known::Root),
    ];
    (server, situations, client)
}

fn asked(server: &Server, route: Route, lines: &str) -> Answer {
    let request = format!("{} {}", route.method(), route.path());
    ask(server, &request, lines, "")
}

/// Fails unless the answer is what the need says.
fn check(route: Route, situation: &Situation, answer: &Answer, to_nobody: u16) {
    let Situation { name, known, .. } = situation;
    let what = format!("{route:?}, {name}: {}", answer.head);
    let refusal = match route {
        Route::Viewer => 303,
        _ => 401,
    };
    let expected = match (route.need(), known) {
        (Need::Nothing, _) => to_nobody,
        (_, Known::Wrong) => 401,
        (Need::Identity, _) => to_nobody,
        (Need::LetIn | Need::Metrics, Known::AsNobody) => refusal,
        (Need::LetIn, Known::LetIn(_)) => 200,
        (Need::Metrics, Known::LetIn(_)) => 403,
        (Need::LetIn | Need::Metrics, Known::Root) => 200,
    };
    assert_eq!(answer.status, expected, "{what}");
    let shown = match known {
        Known::LetIn(prefix) => *prefix,
        Known::Root => return,
        _ => "",
    };
    for path in ["/a/x", "/b/y"] {
        let may_see = !shown.is_empty() && path.starts_with(shown);
        assert!(may_see || !answer.body.contains(path), "{what}");
    }
}

#[test]
fn acc_11_every_page_in_every_situation_is_answered_as_its_need_says() {
    let papers = Papers::new();
    let (server, situations, mut client) = situations(&papers);
    let before = client.list("/").unwrap();
    assert_eq!(before.len(), 2);
    // A token that is not valid is answered late, so the situations are asked at the same time.
    std::thread::scope(|scope| {
        for situation in &situations {
            let server = &server;
            scope.spawn(move || {
                for &route in Route::ALL {
                    // The pages that change logins come last. Only a caller without a
                    // login asks for them.
                    let to_nobody = match (route.need(), situation.known) {
                        (Need::LetIn | Need::Metrics, _) | (_, Known::AsNobody) => 0,
                        _ => asked(server, route, "").status,
                    };
                    let answer = asked(server, route, &situation.lines);
                    let to_nobody = match to_nobody {
                        0 => answer.status,
                        status => status,
                    };
                    check(route, situation, &answer, to_nobody);
                }
            });
        }
    });
    assert_eq!(client.list("/").unwrap(), before);
}

#[test]
fn acc_11_a_client_certificate_of_another_authority_reaches_no_page() {
    let ours = with_a_stranger();
    let server = ours.serve_the_known();
    for &route in Route::ALL {
        let stream = |name| raw_as(&ours, Some(name), server.http.port(), &["http/1.1"]);
        let request = format!("{} {}", route.method(), route.path());
        let whole = format!("{request} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
        let is_refused = is_refused(stream("stranger"), whole.as_bytes());
        assert!(is_refused, "{route:?}");
        assert_ne!(
            ask_on(stream("alice"), &request, "", "").status,
            404,
            "{route:?}"
        );
    }
    drop(TcpStream::connect(server.http).expect("the server still listens"));
}

/// Certificates of an authority, and one of another authority, other.pem: that of the stranger.
pub fn with_a_stranger() -> Certificates {
    let (ours, theirs) = (Certificates::new(), Certificates::new());
    for kind in ["pem", "key"] {
        let file = |folder: &Certificates, name| folder.file(&format!("{name}.{kind}"));
        std::fs::copy(file(&theirs, "alice"), file(&ours, "stranger")).unwrap();
    }
    std::fs::copy(theirs.file("ca.pem"), ours.file("other.pem")).unwrap();
    ours
}

/// Whether the connection ends without an answer.
pub fn is_refused(mut stream: impl Read + Write, words: &[u8]) -> bool {
    let sent = stream.write_all(words);
    let mut answer = Vec::new();
    let read = stream.read_to_end(&mut answer);
    (sent.is_err() || read.is_err()) && answer.is_empty()
}

/// The request's own lines are among the 64.
#[test]
fn net_8_a_request_has_at_most_64_fields() {
    const OWN_FIELDS: usize = 3;
    let server = Server::in_memory(&[]);
    let asked = |lines: &str| ask(&server, "GET /healthz", lines, "").status;
    let fields = |count: usize| "X: y\r\n".repeat(count - OWN_FIELDS);
    assert_eq!(asked(&fields(64)), 200);
    assert_eq!(asked(&fields(65)), 431);
}
