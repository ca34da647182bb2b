//! Connections that say as much as they can and read nothing.

use crate::clients::PATIENT;
use crate::server::Server;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

/// What the server says until it ends the connection, also if it does so by a reset: it does where
/// it has not read what it was told.
pub fn until_the_end(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_read_timeout(Some(PATIENT)).expect("a socket");
    let mut words = Vec::new();
    if let Err(error) = stream.read_to_end(&mut words) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
    }
    words
}

/// A connection that says the same again and again.
pub struct Flood {
    stream: TcpStream,
    words: Vec<u8>,
    at: usize,
}

impl Flood {
    pub fn of(stream: TcpStream, words: Vec<u8>) -> Flood {
        stream.set_nonblocking(true).expect("a socket");
        Flood {
            stream,
            words,
            at: 0,
        }
    }

    /// Writes what the socket takes; whether it took any.
    fn go_on(&mut self) -> bool {
        let before = self.at;
        let mut rounds = 0;
        while let Ok(bytes @ 1..) = self.stream.write(&self.words[self.at..]) {
            self.at += bytes;
            rounds += self.at / self.words.len();
            self.at %= self.words.len();
        }
        rounds > 0 || self.at != before
    }
}

/// Floods the server until it takes no more of it; what the metric is then. The server has one
/// thread: between two answers it takes from every connection what it takes. So it has stopped
/// reading once neither it nor the sockets take any more.
pub fn flood(server: &Server, floods: &mut [Flood], metric: &str) -> u64 {
    let mut before = None;
    loop {
        let took = floods.iter_mut().map(|f| f.go_on());
        let took = took.filter(|took| *took).count();
        let now = server.metric(metric);
        if took == 0 && before == Some(now) {
            return now;
        }
        before = Some(now);
    }
}
