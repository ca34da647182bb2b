//! Redis with one copy, which is on disk before it answers.

use crate::load::{Servers, Writer};
use crate::process::{connect, Group, Place};
use crate::VALUE_BYTES;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub struct Redis(Group);

impl Redis {
    pub fn start() -> Redis {
        let words = |place: &Place| {
            let (port, data) = (place.address.port(), place.folder.display());
            let words = format!(
                "--bind 127.0.0.1 --port {port} --dir {data} --appendonly yes --appendfsync always"
            );
            let words = words.split(' ').chain(["--save", ""]);
            words.map(String::from).collect()
        };
        Redis(Group::start("redis-server", 1, words))
    }
}

impl Servers for Redis {
    fn writer(&self, number: usize) -> Box<dyn Writer> {
        Box::new(KeyWriter {
            key: format!("bench:{number}"),
            stream: BufReader::new(connect(self.0.address(number))),
        })
    }
}

struct KeyWriter {
    key: String,
    stream: BufReader<TcpStream>,
}

impl Writer for KeyWriter {
    fn write(&mut self, round: u64) -> Duration {
        let begun = Instant::now();
        let key = &self.key;
        let head = format!(
            "*3\r\n$3\r\nSET\r\n${}\r\n{key}\r\n${VALUE_BYTES}\r\n",
            key.len()
        );
        let mut command = head.into_bytes();
        command.resize(command.len() + VALUE_BYTES, round as u8);
        command.extend(b"\r\n");
        self.stream
            .get_mut()
            .write_all(&command)
            .expect("it takes the command");
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("it answers");
        assert_eq!(line, "+OK\r\n");
        begun.elapsed()
    }
}
