//! Clients that have not logged in: each costs the server little memory, and is ended [NET-8].

use crate::clients::connect;
use crate::flood::until_the_end;
use crate::server::Server;
use crate::tls::{raw_as, Certificates};
use crate::web_socket::WebSocket;
use interweave_wire::frame::Bounds;
use interweave_wire::protocol::{MessageType, MAX_CHUNK_BYTES, MAX_CONTROL_BYTES};
use rustix::process::{getrlimit, setrlimit, Resource, Rlimit};
use std::fmt::Write as _;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const MANY: usize = 2_000;
/// The strangers of a kind whose connections take the test long.
const FEWER: usize = 500;
/// If fewer are open at a time, the memory is divided among all that came.
const ENOUGH: usize = 200;
/// The most memory of one stranger.
const MOST_BYTES: u64 = 64 << 10;
const PATIENT: Duration = Duration::from_secs(30);
/// The strangers of each kind that the test watches until they end.
const WATCHED: usize = 16;

/// The acts of a kind of stranger.
#[derive(Clone, Copy)]
enum Does {
    /// Says these pieces, one after another.
    Says(fn(&Certificates) -> Vec<Vec<u8>>),
    /// Says these pieces to the HTTP port.
    Asks(fn(&Certificates) -> Vec<Vec<u8>>),
    /// Begins a WebSocket, and says these pieces on it.
    Upgrades(fn(&Certificates) -> Vec<Vec<u8>>),
    /// Shakes hands, and says nothing.
    Shakes,
}

#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    is_of_tls: bool,
    does: Does,
}

const KINDS: [Kind; 12] = [
    tls("TLS: nothing", Does::Says(|_| Vec::new())),
    tls("TLS: one byte", Does::Says(|_| vec![vec![0x16]])),
    tls("TLS: a hello that does not end", Does::Says(endless_hello)),
    tls("TLS: a hello, then nothing", Does::Says(client_hello)),
    tls("TLS: shaken hands, then nothing", Does::Shakes),
    plain("TCP: half a head", Does::Says(|_| vec![vec![0; 4]])),
    plain("TCP: the greatest frame", Does::Says(greatest_frame)),
    plain("TCP: a greater frame", Does::Says(too_great_frame)),
    plain("TCP: bulk without end", Does::Says(endless_bulk)),
    plain("HTTP: half a head", Does::Asks(half_a_request)),
    plain("WebSocket: nothing", Does::Upgrades(|_| Vec::new())),
    plain(
        "WebSocket: a great message",
        Does::Upgrades(great_web_message),
    ),
];

const fn plain(name: &'static str, does: Does) -> Kind {
    Kind {
        name,
        is_of_tls: false,
        does,
    }
}

const fn tls(name: &'static str, does: Does) -> Kind {
    Kind {
        name,
        is_of_tls: true,
        does,
    }
}

/// All but the last byte, in pieces that come one after another.
fn trickling(mut bytes: Vec<u8>) -> Vec<Vec<u8>> {
    bytes.pop();
    let pieces = bytes.chunks(bytes.len().div_ceil(8));
    pieces.map(<[u8]>::to_vec).collect()
}

/// A frame's head and envelope, and zeros.
fn frame((control, bulk): (u32, u32), kind: MessageType, announced: u64) -> Vec<u8> {
    let mut bytes = [control.to_be_bytes(), bulk.to_be_bytes()].concat();
    bytes.extend((kind as i32).to_be_bytes());
    bytes.extend(1_u32.to_be_bytes());
    bytes.extend(announced.to_be_bytes());
    bytes.resize(8 + (control + bulk) as usize, 0);
    bytes
}

fn greatest_frame(_: &Certificates) -> Vec<Vec<u8>> {
    let most = Bounds::OF_STRANGERS.control_bytes;
    trickling(frame((most, 0), MessageType::Hello, 0))
}

fn too_great_frame(_: &Certificates) -> Vec<Vec<u8>> {
    trickling(frame((MAX_CONTROL_BYTES, 0), MessageType::Hello, 0))
}

fn endless_bulk(_: &Certificates) -> Vec<Vec<u8>> {
    let sizes = (16 + 64, MAX_CHUNK_BYTES);
    let kind = MessageType::ReleaseWriter;
    let mut pieces = trickling(frame(sizes, kind, MAX_CHUNK_BYTES.into()));
    // The client keeps the last 128 KiB back.
    pieces.truncate(4);
    pieces
}

fn half_a_request(_: &Certificates) -> Vec<Vec<u8>> {
    let mut head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ".to_vec();
    head.resize(15 << 10, b'x');
    trickling(head)
}

/// A binary message in two frames, of which the second one does not end. The server reads no more.
fn great_web_message(_: &Certificates) -> Vec<Vec<u8>> {
    let frame = |first: u8, payload: u16| {
        let mut bytes = vec![first, 0xfe];
        bytes.extend(payload.to_be_bytes());
        bytes.resize(bytes.len() + 4 + usize::from(payload), 0);
        bytes
    };
    trickling([frame(0x02, 16 << 10), frame(0x00, 1000)].concat())
}

fn client_hello(certificates: &Certificates) -> Vec<Vec<u8>> {
    let (nobody, listener) = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        (raw_as(certificates, None, port, &[]), listener)
    };
    let mut hello = Vec::new();
    let mut shaking = nobody.conn;
    shaking.write_tls(&mut hello).expect("memory takes it");
    drop(listener);
    vec![hello]
}

/// A handshake message of 65,000 bytes, of which 23 KiB come.
fn endless_hello(_: &Certificates) -> Vec<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut message = vec![1, 0, 0xfd, 0xe8, 3, 3];
    message.resize(23 << 10, 0);
    for part in message.chunks(16 << 10) {
        bytes.extend([0x16, 3, 1]);
        bytes.extend((part.len() as u16).to_be_bytes());
        bytes.extend(part);
    }
    trickling(bytes)
}

/// The strangers of a kind at their server.
struct Crowd {
    strangers: Vec<TcpStream>,
    came: usize,
    /// The most that were open at a time.
    most: usize,
    grown: u64,
    /// The watched strangers that the server did not end in time.
    left: usize,
}

impl Crowd {
    /// Connects the strangers, lets each of them act, and measures the server's memory. A few stay.
    fn gather(kind: Kind, server: &Server, certificates: &Certificates) -> Crowd {
        let (descriptors, before) = (server.descriptors(), server.resident_bytes());
        let (port, pieces) = match kind.does {
            Does::Says(pieces) => (server.port, pieces(certificates)),
            Does::Asks(pieces) | Does::Upgrades(pieces) => {
                (server.http.port(), pieces(certificates))
            }
            Does::Shakes => (server.port, Vec::new()),
        };
        let shakes = matches!(kind.does, Does::Shakes);
        let came = if shakes { FEWER } else { MANY };
        let come = |_| match kind.does {
            Does::Shakes => shaken(certificates, port),
            Does::Upgrades(_) => WebSocket::open_with(server, "").into_stream(),
            _ => TcpStream::connect(("127.0.0.1", port)).expect("it is accepted"),
        };
        let mut strangers: Vec<TcpStream> = (0..came).map(come).collect();
        // The gate of TLS has two more descriptors for each connection that the engine serves.
        let each = if shakes { 3 } else { 1 };
        let open = || server.descriptors().saturating_sub(descriptors) / each;
        has_read_all(port, kind.name);
        // On a slow machine the server ends the first of them before the last have said all.
        let mut most = open();
        for piece in &pieces {
            for stranger in &mut strangers {
                // The server may have ended it already.
                let _ = stranger.write_all(piece);
            }
            has_read_all(port, kind.name);
            most = most.max(open());
        }
        let grown = server.resident_bytes().saturating_sub(before);
        let last = strangers.split_off(came - WATCHED / 2);
        strangers.truncate(WATCHED / 2);
        strangers.extend(last);
        Crowd {
            strangers,
            came,
            most,
            grown,
            left: 0,
        }
    }

    fn bytes_each(&self) -> u64 {
        let count = match self.most >= ENOUGH {
            true => self.most,
            false => self.came,
        };
        self.grown / count as u64
    }

    /// Waits until the server has ended those that stay.
    fn wait_for_the_end(&mut self) {
        for stranger in &mut self.strangers {
            let begun = Instant::now();
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                until_the_end(stranger);
            }));
            self.left += usize::from(ended.is_err() || begun.elapsed() > PATIENT);
        }
    }
}

fn shaken(certificates: &Certificates, port: u16) -> TcpStream {
    let mut raw = raw_as(certificates, None, port, &[]);
    while raw.conn.is_handshaking() {
        raw.conn.complete_io(&mut raw.sock).expect("a handshake");
    }
    raw.sock
}

/// Waits until the server has accepted every connection to that port, and read all that came.
fn has_read_all(port: u16, kind: &str) {
    let begun = Instant::now();
    while unread(port) > 0 {
        assert!(begun.elapsed() < PATIENT, "{kind}: bytes are not read");
        std::thread::yield_now();
    }
}

/// Counts the bytes and the connections that wait for the server at that port, by the system's
/// table of TCP.
fn unread(port: u16) -> u64 {
    let table = std::fs::read_to_string("/proc/net/tcp").expect("Linux has it");
    let local = format!(":{port:04X}");
    let waiting = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_here = words[1].ends_with(&local) && ["01", "0A"].contains(&words[3]);
        let (_, received) = words[4].split_once(':').expect("two queues");
        let received = u64::from_str_radix(received, 16).expect("a number");
        if is_here {
            received
        } else {
            0
        }
    };
    table.lines().skip(1).map(waiting).sum()
}

/// Raises the limit of descriptors, because this process has the other ends of all connections.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).expect("as many as the system gives");
}

fn server_for(kind: Kind, certificates: &Certificates) -> Server {
    match kind.is_of_tls {
        true => certificates.serve(&[]),
        false => Server::in_memory(&[]),
    }
}

#[test]
fn net_8_a_stranger_costs_at_most_64_kib_and_is_ended() {
    raise_descriptors();
    let certificates = Certificates::new();
    let certificates = &certificates;
    // One crowd after another comes. The test waits for the ends of all crowds together.
    let gathering = &Mutex::new(());
    let crowds: Vec<(Kind, Crowd)> = std::thread::scope(|scope| {
        let watch = |kind: Kind| {
            scope.spawn(move || {
                let server = server_for(kind, certificates);
                let mut crowd = {
                    let _alone = gathering.lock();
                    Crowd::gather(kind, &server, certificates)
                };
                crowd.wait_for_the_end();
                connect(&server);
                (kind, crowd)
            })
        };
        let watching: Vec<_> = KINDS.into_iter().map(watch).collect();
        let ends = watching.into_iter();
        ends.map(|watched| watched.join().expect("it is measured"))
            .collect()
    });
    let mut table = String::from("strangers | came | open at a time | KiB each | not ended\n");
    for (kind, crowd) in &crowds {
        let kib = crowd.bytes_each() as f64 / 1024.0;
        let Crowd {
            came, most, left, ..
        } = crowd;
        let row = writeln!(table, "{} | {came} | {most} | {kib:.1} | {left}", kind.name);
        row.expect("memory takes it");
    }
    println!("{table}");
    let is_good = |(_, crowd): &(Kind, Crowd)| crowd.bytes_each() <= MOST_BYTES && crowd.left == 0;
    assert!(crowds.iter().all(is_good), "\n{table}");
}
