//! Own tokens of servers that have ended [OWN-6], own tokens over TLS [OWN-3], and a token whose
//! file cannot be written at the start [OWN-2].

use crate::own_token::{command, left_by_a_killed_server, list_at, wait_for};
use crate::server::{Directory, Server};
use crate::tls::Certificates;
use interweave_wire::protocol::{ErrorCode, ErrorReply, Hello, MessageType};
use interweave_wire::{FrameDecoder, Message};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;

fn refusal(ended: &Output) -> String {
    assert!(!ended.status.success(), "{ended:?}");
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

#[test]
fn own_6_a_command_is_let_in_without_a_token_after_a_stale_one() {
    let (runtime, other) = (Directory::new(), Directory::new());
    let (address, _) = left_by_a_killed_server(&runtime);
    let rules = other.path().join("rules");
    std::fs::write(&rules, "allow anyone read /**\nend\n").expect("the rules");
    let rules = rules.display().to_string();
    let options = ["--listen", &address, "--rules", &rules];
    let _anybodys = Server::with_own_token(&other, &options);
    let listed = list_at(&address, &runtime);
    assert!(listed.status.success(), "{listed:?}");
}

#[test]
fn own_6_a_refusal_names_the_file_of_the_stale_token() {
    let (runtime, other) = (Directory::new(), Directory::new());
    let (address, file) = left_by_a_killed_server(&runtime);
    let _second = Server::with_own_token(&other, &["--listen", &address]);
    let text = refusal(&list_at(&address, &runtime));
    let file = file.display().to_string();
    for word in ["IW_TOKEN", &file, "remove the file if its server has ended"] {
        assert!(text.contains(word), "{text}");
    }
    assert!(!text.contains("iw_"), "{text}");
}

#[test]
fn own_2_a_file_that_cannot_be_written_at_the_start_is_written_as_soon_as_it_can_be() {
    let runtime = Directory::new();
    let (address, file) = left_by_a_killed_server(&runtime);
    std::fs::remove_file(&file).expect("it is there");
    std::fs::create_dir(&file).expect("something in the way");
    let _server = Server::with_own_token(&runtime, &["--listen", &address]);
    refusal(&list_at(&address, &runtime));
    std::fs::remove_dir(&file).expect("it is empty");
    wait_for(&file);
    let listed = list_at(&address, &runtime);
    assert!(listed.status.success(), "{listed:?}");
}

/// Answers HELLO with DENIED, as another user's server does, until it is shown nothing. Returns the
/// tokens that it was shown.
fn shown_to_a_stranger(listener: TcpListener) -> Vec<String> {
    let answered = |mut peer: TcpStream| {
        let mut decoder = FrameDecoder::new(1 << 20);
        let mut bytes = [0; 4096];
        let hello = loop {
            let got = peer.read(&mut bytes).expect("the hello");
            assert!(got > 0, "it hung up");
            decoder.push(&bytes[..got]);
            if let Some(message) = decoder.next_message().expect("a message") {
                break message;
            }
        };
        let denied = ErrorReply {
            code: ErrorCode::Denied,
            text: "not you".to_string(),
            fields: Vec::new(),
        };
        let stream = hello.envelope.stream;
        let denied = Message::new(MessageType::Error, stream, &denied, bytes::Bytes::new());
        let mut frames = denied.into_frames();
        while let Some((head, _)) = frames.next_frame() {
            peer.write_all(&head).expect("the answer");
        }
        hello.decode::<Hello>().expect("a hello").token
    };
    let peers = listener.incoming();
    let tokens = peers.map(|peer| answered(peer.expect("a connection")));
    tokens.take_while(|token| !token.is_empty()).collect()
}

#[test]
fn own_6_a_stranger_at_the_port_is_shown_a_token_once() {
    let runtime = Directory::new();
    let (address, file) = left_by_a_killed_server(&runtime);
    let stale = std::fs::read_to_string(file).expect("the token");
    let listener = TcpListener::bind(&address).expect("the port is free");
    let stranger = std::thread::spawn(|| shown_to_a_stranger(listener));
    let text = refusal(&list_at(&address, &runtime));
    assert!(text.contains("not you"), "{text}");
    // There was no further connection: nobody would have answered it. A server that had this port
    // before may have left its token in /tmp.
    let shown = stranger.join().expect("it ended");
    assert_eq!(shown[0], stale.trim());
    assert!(!shown[1..].contains(&shown[0]), "it is shown again");
}

/// A server that refuses a connection as such says nothing of a token.
#[test]
fn own_6_a_server_of_tls_alone_does_not_make_its_token_stale() {
    let runtime = Directory::new();
    let certificates = Certificates::new();
    let server = serve_secretly(&certificates, &runtime, &[]);
    let text = refusal(&list_at(&format!("127.0.0.1:{}", server.port), &runtime));
    assert!(text.contains("write iws:// instead of iw://"), "{text}");
    assert!(!text.contains("remove the file"), "{text}");
}

fn serve_secretly(certificates: &Certificates, runtime: &Directory, more: &[&str]) -> Server {
    let own = certificates.options_of_server();
    let mut options: Vec<&str> = own.iter().map(String::as_str).collect();
    options.extend(["--tls", "required", "--own-token"]);
    options.extend(more);
    Server::with_own_token(runtime, &options)
}

#[test]
fn own_3_over_tls_the_token_follows_the_handshake() {
    let (runtime, other) = (Directory::new(), Directory::new());
    let certificates = Certificates::new();
    let server = serve_secretly(&certificates, &runtime, &[]);
    let list = |host: &str, runtime: &Directory| {
        command(&["ls", &format!("iws://{host}:{}", server.port)], runtime)
            .env("IW_CA", certificates.file("ca.pem"))
            .output()
            .expect("the program runs")
    };
    for host in ["localhost", "127.0.0.1"] {
        let listed = list(host, &runtime);
        assert!(listed.status.success(), "{host}: {listed:?}");
        let text = refusal(&list(host, &other));
        assert!(text.contains("IW_TOKEN"), "{host}: {text}");
    }
}

/// The stranger has a certificate, but of an authority that the client does not know.
#[test]
fn own_3_a_server_that_is_not_trusted_is_shown_no_token() {
    let runtime = Directory::new();
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let audit = runtime.path().join("audit");
    let file = audit.display().to_string();
    let mut server = serve_secretly(&certificates, &runtime, &["--audit", &file]);
    let ended = command(
        &["ls", &format!("iws://localhost:{}", server.port)],
        &runtime,
    )
    .env("IW_CA", others.file("ca.pem"))
    .output()
    .expect("the program runs");
    let text = refusal(&ended);
    assert!(text.contains("not trusted"), "{text}");
    assert!(server.stop().success());
    let lines = std::fs::read_to_string(audit).expect("the audit log");
    assert!(!lines.contains("\"token\""), "{lines}");
}

/// `top` asks for /metrics.
#[test]
fn own_6_a_page_is_asked_for_without_a_stale_token() {
    let (runtime, other) = (Directory::new(), Directory::new());
    let mut first = Server::with_own_token(&runtime, &[]);
    first.kill();
    let (address, http) = (format!("127.0.0.1:{}", first.port), first.http.to_string());
    let rules = other.path().join("rules");
    std::fs::write(&rules, "allow anyone all /**\nend\n").expect("the rules");
    let rules = rules.display().to_string();
    let options = ["--listen", &address, "--http", &http, "--rules", &rules];
    let _anybodys = Server::with_own_token(&other, &options);
    let mut looked = command(
        &[
            "top",
            &address,
            "--http",
            &http,
            "--once",
            "--interval",
            "0.1",
        ],
        &runtime,
    );
    let looked = looked.output().expect("the program runs");
    assert!(looked.status.success(), "{looked:?}");
    let text = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert!(!text.contains("401"), "{text}");
}
