//! Who may see what over HTTP, and the login of browsers [ACC-9..11].

use crate::clients::{connect_with, open, write};
use crate::server::{Directory, Server};
use crate::tls::{raw_as, Caller, Certificates, PATIENT};
use crate::web_socket::{hello, WebSocket};
use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::Message;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const RULES: &str = "allow alice read /a/**\nallow root all /**\nend\n";
const LATE: Duration = Duration::from_secs(1);

/// A folder with tokens and rules.
pub struct Papers(Directory);

impl Papers {
    pub fn new() -> Self {
        let papers = Papers(Directory::new());
        std::fs::write(papers.file("rules"), RULES).unwrap();
        papers
    }

    pub fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub fn token(&self, name: &str) -> String {
        let arguments = ["token", "new", name, "--tokens", &self.file("tokens")];
        let token = Caller::nobody().call(&arguments).expect("a token");
        token.trim().to_string()
    }

    pub fn revoke(&self, name: &str) {
        let arguments = ["token", "revoke", name, "--tokens", &self.file("tokens")];
        Caller::nobody().call(&arguments).expect("it is revoked");
    }

    pub fn options(&self) -> Vec<String> {
        let (tokens, rules) = (self.file("tokens"), self.file("rules"));
        vec!["--tokens".into(), tokens, "--rules".into(), rules]
    }
}

pub fn words(options: &[String]) -> Vec<&str> {
    options.iter().map(String::as_str).collect()
}

/// A server with the segments /a/x and /b/y.
fn serve(papers: &Papers, root: &str) -> Server {
    let server = Server::talkative(&words(&papers.options()));
    let mut client = connect_with(&server, root);
    for path in ["/a/x", "/b/y"] {
        let mut copy = open(&mut client, path, Durability::Memory);
        write(&mut client, &mut copy, 1, 10, 7).unwrap();
    }
    server
}

pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let mut found = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value)
    }

    /// The cookie as a request has it.
    fn cookie(&self) -> String {
        let line = self.header("set-cookie").expect("a cookie");
        line.split(';').next().expect("its value").to_string()
    }
}

/// `lines`: whole lines of the request's head.
pub fn ask_on(mut stream: impl Read + Write, request: &str, lines: &str, body: &str) -> Answer {
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\
         Connection: close\r\n{lines}\r\n{body}"
    );
    stream.write_all(text.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).and_then(|text| text.parse().ok());
    Answer {
        status: status.expect("a status"),
        head: head.to_string(),
        body: body.to_string(),
    }
}

pub fn ask(server: &Server, request: &str, lines: &str, body: &str) -> Answer {
    let stream = TcpStream::connect(server.http).expect("it listens");
    ask_on(stream, request, lines, body)
}

fn get(server: &Server, path: &str, lines: &str) -> Answer {
    ask(server, &format!("GET {path}"), lines, "")
}

pub fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

pub fn log_in(server: &Server, token: &str) -> Answer {
    ask(server, "POST /login", "", &format!("token={token}"))
}

pub fn cookie_line(answer: &Answer) -> String {
    format!("Cookie: other=1; {}\r\n", answer.cookie())
}

#[test]
fn acc_11_each_page_shows_what_its_caller_may_see() {
    let papers = Papers::new();
    let (alice, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    let alices_cookie = cookie_line(&log_in(&server, &alice));
    let callers = [String::new(), bearer(&alice), alices_cookie, bearer(&root)];
    for (path, expected) in [
        ("/login", [200, 200, 200, 200]),
        ("/viewer.css", [200, 200, 200, 200]),
        ("/healthz", [200, 200, 200, 200]),
        ("/", [303, 200, 200, 200]),
        ("/viewer.js", [401, 200, 200, 200]),
        ("/status", [401, 200, 200, 200]),
        ("/metrics", [401, 403, 403, 200]),
    ] {
        let answers = callers.each_ref().map(|lines| get(&server, path, lines));
        assert_eq!(answers.each_ref().map(|a| a.status), expected, "{path}");
        let may_know = [false, true, true, true];
        for (answer, may_know) in answers.iter().zip(may_know) {
            assert!(may_know || !answer.body.contains("/a/x"), "{path}");
        }
        for answer in &answers[..3] {
            for secret in ["/b/y", "\"server_id\"", "\"listening\"", "\"connections\""] {
                assert!(!answer.body.contains(secret), "{path} shows {secret}");
            }
        }
    }
    assert_eq!(get(&server, "/", "").header("location"), Some("./login"));
    let status = get(&server, "/status", &callers[2]).body;
    assert!(status.contains("\"path\": \"/a/x\""), "{status}");
    assert!(status.contains("\"identity\": \"alice\""), "{status}");
    let page = get(&server, "/status?from=/a&limit=1", &callers[1]).body;
    assert!(page.contains("\"next\": null"), "{page}");
    let all = get(&server, "/metrics", &callers[3]).body;
    assert!(all.contains("segment=\"/b/y\""), "{all}");
}

#[test]
fn acc_9_a_token_that_is_not_valid_is_refused_late_on_every_page() {
    let papers = Papers::new();
    let (alice, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    let cookie = cookie_line(&log_in(&server, &alice));
    let guess = format!("iw_{}_{}", "0".repeat(12), "5".repeat(64));
    std::thread::scope(|scope| {
        for wrong in [
            bearer(&guess),
            bearer(&alice[..alice.len() - 1]),
            "Authorization: Basic YTpi\r\n".to_string(),
            bearer(&alice).repeat(2),
            // A good cookie does not make up for it.
            bearer(&guess) + &cookie,
        ] {
            let server = &server;
            scope.spawn(move || {
                for path in ["/", "/healthz", "/status", "/ws"] {
                    let begun = Instant::now();
                    let answer = get(server, path, &wrong);
                    assert_eq!(answer.status, 401, "{path} {wrong}");
                    assert!(begun.elapsed() >= LATE, "{path} {wrong}");
                }
            });
        }
    });
    assert_eq!(log_in(&server, &guess).status, 403);
    let logged = server.last_words().join("\n");
    for token in [&guess, &alice, &root] {
        assert!(!logged.contains(token.as_str()), "a token is in the log");
    }
}

#[test]
fn acc_10_a_login_is_its_cookie_until_logout() {
    let papers = Papers::new();
    let (alice, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    let begun = log_in(&server, &alice);
    assert_eq!(begun.status, 303);
    assert_eq!(begun.header("location"), Some("./"));
    let line = begun.header("set-cookie").expect("a cookie");
    for word in [
        "; HttpOnly",
        "; SameSite=Strict",
        "; Max-Age=43200",
        "; Path=/",
    ] {
        assert!(line.contains(word), "{line}");
    }
    assert!(!line.contains("Secure") && !line.contains(&alice), "{line}");
    let cookie = cookie_line(&begun);
    assert_eq!(get(&server, "/status", &cookie).status, 200);
    let other = cookie_line(&log_in(&server, &alice));
    assert_ne!(cookie, other);
    let away = ask(&server, "POST /logout", &cookie, "");
    assert_eq!(
        (away.status, away.header("location")),
        (303, Some("./login"))
    );
    assert!(away.head.contains("Max-Age=0"), "{}", away.head);
    assert_eq!(get(&server, "/status", &cookie).status, 401);
    assert_eq!(get(&server, "/status", &other).status, 200);
    // A page of another site cannot log anybody in or out.
    let foreign = format!("{other}Origin: http://other.example\r\n");
    assert_eq!(ask(&server, "POST /logout", &foreign, "").status, 403);
    assert_eq!(get(&server, "/status", &other).status, 200);
}

#[test]
fn acc_10_a_login_ends_with_its_token_and_so_does_its_web_socket() {
    let papers = Papers::new();
    let (alice, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    let cookie = cookie_line(&log_in(&server, &alice));
    let mut web = WebSocket::open_with(&server, &cookie);
    web.send_message(hello());
    let welcome = web.receive_message().unwrap();
    assert_eq!(welcome.kind(), Some(MessageType::Welcome));
    let list = ListSegments {
        prefix: "/".to_string(),
        after: String::new(),
    };
    let list = Message::new(MessageType::ListSegments, 2, &list, Bytes::new());
    web.send_message(list);
    let list: SegmentList = web.receive_message().unwrap().decode().unwrap();
    let paths: Vec<&str> = list.segments.iter().map(|info| &*info.path).collect();
    assert_eq!(paths, ["/a/x"]);
    papers.revoke("alice");
    let ended = web.receive_message().expect("it is told");
    let error: ErrorReply = ended.decode().unwrap();
    assert_eq!(error.code, ErrorCode::Denied);
    assert_eq!(get(&server, "/status", &cookie).status, 401);
    assert_eq!(log_in(&server, &alice).status, 403);
}

#[test]
fn acc_11_a_web_socket_of_nobody_may_show_its_token_in_hello() {
    let papers = Papers::new();
    let (_, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    let mut web = WebSocket::open_with(&server, "");
    web.send_message(hello());
    let error: PlainError = web.receive_message().unwrap().decode().unwrap();
    assert_eq!(error.code, ErrorCode::Denied);
    assert!(error.text.contains("IW_TOKEN"), "{}", error.text);
    let mut web = WebSocket::open_with(&server, "");
    web.send_message(hello_with(root));
    let welcome = web.receive_message().unwrap();
    assert_eq!(welcome.kind(), Some(MessageType::Welcome));
}

fn hello_with(token: String) -> Message {
    let mut body: Hello = hello().decode().unwrap();
    body.token = token;
    Message::new(MessageType::Hello, 1, &body, Bytes::new())
}

#[test]
fn acc_8_a_wrong_token_in_hello_is_answered_late_and_a_good_cookie_does_not_help() {
    let papers = Papers::new();
    let (alice, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    let cookie = cookie_line(&log_in(&server, &alice));
    let mut web = WebSocket::open_with(&server, &cookie);
    let begun = Instant::now();
    web.send_message(hello_with("iw_guess".to_string()));
    web.send_message(Message::bare(MessageType::Ping, 2));
    let error: PlainError = web.receive_message().unwrap().decode().unwrap();
    assert_eq!(error.code, ErrorCode::Denied);
    assert!(begun.elapsed() >= LATE);
    assert!(web.receive_message().is_none(), "the ping is not answered");
}

#[test]
fn acc_10_guesses_wait_and_only_so_many_and_keep_nobody_out() {
    const GUESSES: usize = 100;
    let papers = Papers::new();
    let (alice, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    let answers: Vec<(u16, Duration)> = std::thread::scope(|scope| {
        let server = &server;
        let guess = || {
            let begun = Instant::now();
            (log_in(server, "iw_guess").status, begun.elapsed())
        };
        let guesses: Vec<_> = (0..GUESSES).map(|_| scope.spawn(guess)).collect();
        assert_eq!(log_in(server, &alice).status, 303);
        guesses.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let late = answers.iter().filter(|(status, _)| *status == 403);
    assert!(late.clone().all(|(_, took)| *took >= LATE), "{answers:?}");
    assert!(late.count() >= 32, "{answers:?}");
    let known = |(status, _): &(u16, Duration)| [403, 429].contains(status);
    assert!(answers.iter().all(known), "{answers:?}");
}

#[test]
fn acc_10_logins_whose_forms_do_not_come_keep_nobody_out() {
    let papers = Papers::new();
    let (_, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    let head = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n";
    let slow: Vec<TcpStream> = (0..300)
        .map(|_| {
            let mut stream = TcpStream::connect(server.http).unwrap();
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    let begun = Instant::now();
    assert_eq!(get(&server, "/status", &bearer(&root)).status, 200);
    assert!(
        begun.elapsed() < Duration::from_secs(4),
        "it waited for a form"
    );
    drop(slow);
}

#[test]
fn acc_10_a_login_is_a_small_form() {
    let papers = Papers::new();
    let (_, root) = (papers.token("alice"), papers.token("root"));
    let server = serve(&papers, &root);
    for (bytes, status) in [(2048, 403), (2049, 413), (9000, 413)] {
        let form = format!("token={}", "x".repeat(bytes - "token=".len()));
        assert_eq!(ask(&server, "POST /login", "", &form).status, status);
    }
    let endless = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    let mut stream = TcpStream::connect(server.http).unwrap();
    stream.set_read_timeout(Some(PATIENT)).unwrap();
    stream.write_all(endless.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is closed");
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    for body in ["", "token", "token=", "token=%00%ff", "other=1"] {
        assert_eq!(ask(&server, "POST /login", "", body).status, 403, "{body}");
    }
    assert_eq!(
        ask(&server, "POST /status", &bearer(&root), "a").status,
        413
    );
}

#[test]
fn acc_9_over_tls_a_certificate_is_an_identity_and_a_cookie_is_secure() {
    let (papers, certificates) = (Papers::new(), Certificates::new());
    let alice = papers.token("alice");
    std::fs::write(papers.file("rules"), "allow cert:alice metrics\nend\n").unwrap();
    let authority = certificates.file("ca.pem");
    let mut options = certificates.options_of_server().to_vec();
    options.extend(papers.options());
    options.extend(["--client-ca", &authority, "--client-certs", "optional"].map(String::from));
    let server = Server::in_memory(&words(&options));
    let stream = |name| raw_as(&certificates, name, server.http.port(), &["http/1.1"]);
    let numbers = ask_on(stream(Some("alice")), "GET /metrics", "", "");
    assert_eq!(numbers.status, 200);
    assert_eq!(ask_on(stream(None), "GET /metrics", "", "").status, 401);
    // A token goes before a certificate.
    let lines = bearer(&alice);
    assert_eq!(
        ask_on(stream(Some("alice")), "GET /metrics", &lines, "").status,
        403
    );
    let begun = ask_on(stream(None), "POST /login", "", &format!("token={alice}"));
    let line = begun.header("set-cookie").expect("a cookie");
    assert!(line.ends_with("; Secure"), "{line}");
}
