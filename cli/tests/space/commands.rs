//! Commands whose segment moves between two of their requests [SPACE-23].

use crate::clients::{open, write, PATIENT};
use crate::member::{interweave, new_port, Member};
use crate::server::Directory;
use interweave_postgres_cluster::Cluster;
use interweave_wire::protocol::{Durability, ErrorCode, MessageType};
use interweave_wire::FrameDecoder;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

/// The fate of the message before which something was done.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Arrives,
    /// With its connection.
    IsLost,
}

type Deed = Box<dyn FnOnce() -> Then + Send>;

/// Passes connections on to a server. Does something before it passes the first message of a type.
struct Between {
    type_: MessageType,
    deed: Mutex<Option<Deed>>,
}

impl Between {
    /// Returns where commands reach the server through it.
    fn start(server: &Member, type_: MessageType, deed: Deed) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let at = listener.local_addr().expect("it is bound").to_string();
        let (server, deed) = (server.host_and_port(), Mutex::new(Some(deed)));
        let between = Arc::new(Between { type_, deed });
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(&server).expect("the server listens");
                let ends = [&client, &server].map(|end| end.try_clone().expect("another handle"));
                let [back, forth] = [between.clone(), between.clone()];
                thread::spawn(move || forth.pass(client, server));
                let [client, server] = ends;
                thread::spawn(move || back.pass(server, client));
            }
        });
        at
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut decoder = FrameDecoder::new(u64::MAX);
        let mut bytes = [0; 1 << 16];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            decoder.push(&bytes[..count]);
            while let Some(message) = decoder.next_message().expect("both speak well") {
                if message.kind() == Some(self.type_) && self.act() == Then::IsLost {
                    return [from, to].iter().for_each(end);
                }
            }
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        end(&to);
    }

    fn act(&self) -> Then {
        let deed = self.deed.lock().expect("no deed has failed").take();
        deed.map_or(Then::Arrives, |deed| deed())
    }
}

fn end(connection: &TcpStream) {
    // The other side may have ended it.
    let _ = connection.shutdown(Shutdown::Both);
}

fn move_to(path: &str, by: &Member, to: &Member) {
    moving(path, by, to)();
}

/// Moves a segment when it is called.
fn moving(path: &str, by: &Member, to: &Member) -> impl FnOnce() + Send + 'static {
    let (url, server) = (by.own_url(path), to.own_url(""));
    move || {
        let (is_ok, text) = interweave(&["move", &url, &server]);
        assert!(is_ok, "{text}");
    }
}

/// The version of the segment at its owner.
fn version(owner: &Member, path: &str) -> u64 {
    owner.connect().list(path).expect("a list")[0].newest.number
}

/// One cluster for all, because its start takes longer than what is done on it.
#[test]
fn commands_follow_a_segment_that_moves_between_their_requests() {
    let cluster = Cluster::start();
    let options = ["--space-lease", "5", "--lease", "1"];
    let start = || Member::start(&cluster, ("commands", new_port()), &options);
    let [one, two] = [start(), start()];
    let mut client = one.connect();
    for path in ["/read", "/write", "/watched"] {
        let mut copy = open(&mut client, path, Durability::Synced);
        write(&mut client, &mut copy, 1, 4, 7).expect("it is kept");
    }
    drop(client);
    commands_that_read(&one, &two);
    commands_that_make(&one, &two);
    a_change_is_made_once(&one, &two);
    a_watch_stays(&one, &two);
}

/// Runs a command that reaches the first server, and moves the segment to the second one before the
/// first request of that type.
fn run_while_it_moves(
    path: &str,
    type_: MessageType,
    [one, two]: [&Member; 2],
    words: impl FnOnce(&str) -> Vec<String>,
) -> String {
    let go = moving(path, one, two);
    let deed = move || {
        go();
        Then::Arrives
    };
    let words = words(&Between::start(one, type_, Box::new(deed)));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (is_ok, text) = interweave(&words);
    assert!(is_ok, "{words:?}: {text}");
    assert_eq!(one.refusal(path), Some(ErrorCode::Redirected));
    text
}

fn commands_that_read(one: &Member, two: &Member) {
    let folder = Directory::new();
    let file = folder.path().join("f").display().to_string();
    let copy = two.own_url("/copy");
    let reading: [(&[&str], &str, &[&str]); 4] = [
        (&["get"], "#numbers#[1]", &[]),
        (&["show"], "", &[]),
        (&["export"], "", &[&file]),
        (&["cp"], "", &[&copy]),
    ];
    for (before, place, after) in reading {
        let text = run_while_it_moves("/read", MessageType::AcquireReader, [one, two], |at| {
            let url = format!("{at}/read{place}");
            let words = [before, &[&*url], after].concat();
            words.into_iter().map(str::to_string).collect()
        });
        assert!(text.contains('7') || text.contains("version 1"), "{text}");
        move_to("/read", two, one);
    }
    let (is_ok, text) = interweave(&["get", &format!("{copy}#numbers#[1]")]);
    assert!(is_ok && text == "7\n", "{text}");
}

/// The new segment moves before it is filled.
fn commands_that_make(one: &Member, two: &Member) {
    let from = one.own_url("/read");
    let type_ = MessageType::AcquireWriter;
    run_while_it_moves("/made", type_, [one, two], |at| {
        vec!["cp".to_string(), from, format!("{at}/made")]
    });
    assert_eq!(version(two, "/made"), 1);
}

/// The segment moves before each request of a change, and after the release.
fn a_change_is_made_once(one: &Member, two: &Member) {
    let set = |at: &str, value: u64| {
        [
            "set",
            &format!("{at}/write#numbers#[1]"),
            &value.to_string(),
        ]
        .map(str::to_string)
    };
    let requests = [
        MessageType::AcquireReader,
        MessageType::AcquireWriter,
        // The lock's lease ends before the segment moves.
        MessageType::ReleaseWriter,
    ];
    for (number, type_) in requests.into_iter().enumerate() {
        let next = number as u64 + 2;
        let text = run_while_it_moves("/write", type_, [one, two], |at| set(at, next).to_vec());
        assert_eq!(text, format!("version {next}\n"), "{type_:?}");
        move_to("/write", two, one);
    }
    let go = moving("/write", one, two);
    let deed = move || {
        go();
        Then::IsLost
    };
    let at = Between::start(one, MessageType::WriterReleased, Box::new(deed));
    let words = set(&at, 5);
    let (is_ok, text) = interweave(&words.each_ref().map(String::as_str));
    assert!(is_ok && text == "version 5\n", "{text}");
    assert_eq!(version(two, "/write"), 5);
}

/// It follows more moves than a client does for one request.
fn a_watch_stays(one: &Member, two: &Member) {
    let go = moving("/watched", one, two);
    let deed = move || {
        go();
        Then::Arrives
    };
    let at = Between::start(one, MessageType::Subscribe, Box::new(deed));
    let url = format!("{at}/watched#numbers#[1]");
    let mut watch = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["watch", "--count", "1", &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut words = BufReader::new(watch.stderr.take().expect("its words")).lines();
    let word = words.next().expect("a word").expect("text");
    assert!(word.contains("is at version 1"), "{word}");
    for to in [one, two, one, two, one, two] {
        move_to("/watched", one, to);
        await_client(to, "/watched");
    }
    let (is_ok, text) = interweave(&["set", &two.own_url("/watched#numbers#[1]"), "8"]);
    assert!(is_ok, "{text}");
    let ended = watch.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&ended.stdout).into_owned();
    let rest: Vec<_> = words.map(|word| word.expect("text")).collect();
    assert!(
        ended.status.success() && text.contains("version 2"),
        "{text} {rest:?}"
    );
    assert!(rest.is_empty(), "it has never lost a server: {rest:?}");
}

/// Waits until somebody has the segment open at that server.
fn await_client(server: &Member, path: &str) {
    let (mut client, begun) = (server.connect(), Instant::now());
    while client.list(path).expect("a list")[0].clients == 0 {
        assert!(begun.elapsed() < PATIENT, "nobody follows it");
    }
}
