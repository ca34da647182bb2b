//! NATS JetStream that syncs each message before it answers: one server, or three of which two
//! must have it.

use crate::load::{Servers, Writer};
use crate::process::{connect, wait_for, Group, Place};
use crate::VALUE_BYTES;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

const ASKED_AGAIN_AFTER: Duration = Duration::from_millis(500);
const PATIENCE: Duration = Duration::from_secs(3);
const TRIES: u32 = 10;

pub struct Nats(Group);

/// Where nats-server is; Debian's is older than the setting that syncs each message.
fn program() -> String {
    std::env::var("NATS_SERVER").unwrap_or_else(|_| "nats-server".to_string())
}

impl Nats {
    pub fn start(copies: usize) -> Nats {
        let words = |place: &Place| {
            let file = place.folder.join("settings");
            std::fs::write(&file, settings(place)).expect("a file of settings");
            vec!["-c".to_string(), file.display().to_string()]
        };
        let nats = Nats(Group::start(&program(), copies, words));
        nats.make_stream();
        nats
    }

    /// Once the servers have found each other. The stream keeps the newest message of a subject.
    fn make_stream(&self) {
        let copies = self.0.addresses().len();
        let stream = format!(
            "{{\"name\":\"bench\",\"subjects\":[\"bench.>\"],\"storage\":\"file\",\
             \"retention\":\"limits\",\"discard\":\"old\",\"max_msgs_per_subject\":1,\
             \"num_replicas\":{copies}}}"
        );
        wait_for("NATS to make a stream", || {
            // Servers that have no leader yet do not answer, or answer with an error.
            let mut connection = Connection::new(self.0.address(0), "stream", ASKED_AGAIN_AFTER);
            connection.publish("$JS.API.STREAM.CREATE.bench", stream.as_bytes());
            let answer = connection.answer().unwrap_or_default();
            !answer.contains("\"error\"") && answer.contains("\"created\"")
        });
    }
}

impl Servers for Nats {
    fn writer(&self, number: usize) -> Box<dyn Writer> {
        let address = self.0.address(number);
        Box::new(SubjectWriter {
            subject: format!("bench.{number}"),
            connection: Connection::new(address, &number.to_string(), PATIENCE),
        })
    }
}

fn settings(place: &Place) -> String {
    let (at, number, store) = (place.address, place.number, place.folder.display());
    let own = format!(
        "listen: {at}\nserver_name: n{number}\n\
         jetstream {{ store_dir: \"{store}\", sync_interval: always }}\n"
    );
    if place.peers.len() == 1 {
        return own;
    }
    let all = place.peers.iter().map(|peer| format!("nats://{peer}"));
    let all = all.collect::<Vec<_>>().join(", ");
    let listen = place.peers[number];
    format!("{own}cluster {{ name: bench, listen: \"{listen}\", routes: [{all}] }}\n")
}

struct Connection {
    /// The subject of its answers, which no other connection has.
    inbox: String,
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn new(address: SocketAddr, name: &str, patience: Duration) -> Connection {
        let stream = connect(address);
        let is_set = stream.set_read_timeout(Some(patience));
        is_set.expect("a setting of the socket");
        let inbox = format!("_INBOX.{name}");
        let mut connection = Connection {
            inbox: inbox.clone(),
            stream: BufReader::new(stream),
        };
        let info = connection.line().expect("it answers");
        assert!(info.starts_with("INFO "), "NATS said {info}");
        let hello = "CONNECT {\"verbose\":false,\"pedantic\":false}\r\n";
        connection.send(format!("{hello}SUB {inbox} 1\r\nPING\r\n").as_bytes());
        assert_eq!(connection.line().expect("it answers"), "PONG\r\n");
        connection
    }

    fn send(&mut self, bytes: &[u8]) {
        let sent = self.stream.get_mut().write_all(bytes);
        sent.expect("it takes the command");
    }

    fn line(&mut self) -> std::io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        Ok(line)
    }

    fn publish(&mut self, subject: &str, payload: &[u8]) {
        let (inbox, size) = (&self.inbox, payload.len());
        let mut command = format!("PUB {subject} {inbox} {size}\r\n").into_bytes();
        command.extend(payload);
        command.extend(b"\r\n");
        self.send(&command);
    }

    fn answer(&mut self) -> std::io::Result<String> {
        loop {
            let line = self.line()?;
            match line.split_whitespace().next() {
                Some("PING") => self.send(b"PONG\r\n"),
                Some("MSG") => {
                    let size = line.split_whitespace().last();
                    let size = size.and_then(|word| word.parse().ok());
                    let size: usize = size.expect("a size");
                    let mut text = vec![0; size + 2];
                    self.stream.read_exact(&mut text)?;
                    return Ok(String::from_utf8_lossy(&text).into_owned());
                }
                Some("INFO") => {}
                _ => panic!("NATS said {line}"),
            }
        }
    }
}

struct SubjectWriter {
    subject: String,
    connection: Connection,
}

impl Writer for SubjectWriter {
    fn write(&mut self, round: u64) -> Duration {
        let begun = Instant::now();
        // Servers that elect a leader drop what they are sent.
        for _ in 0..TRIES {
            self.connection
                .publish(&self.subject, &[round as u8; VALUE_BYTES]);
            if let Ok(answer) = self.connection.answer() {
                assert!(answer.contains("\"seq\""), "NATS answered {answer}");
                return begun.elapsed();
            }
        }
        panic!("NATS does not answer");
    }
}
