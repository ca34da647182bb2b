//! A page's connection, without a browser.

use crate::server::Server;
use bytes::Bytes;
use interweave_wire::protocol::*;
use interweave_wire::{FrameDecoder, Message};
use std::io::{Read, Write};
use std::net::TcpStream;

/// As much of a WebSocket as the test needs: small binary messages, masked as a client must.
pub struct WebSocket {
    stream: TcpStream,
}

impl WebSocket {
    pub fn open(server: &Server) -> WebSocket {
        WebSocket::open_with(server, "")
    }

    /// `headers`: whole lines that the request has, too.
    pub fn open_with(server: &Server, headers: &str) -> WebSocket {
        let mut stream = TcpStream::connect(server.http).unwrap();
        let request = format!(
            "GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n{headers}\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap();
        assert!(head.starts_with("HTTP/1.1 101"), "{head}");
        WebSocket { stream }
    }

    /// The connection, for bytes that are no message.
    pub fn into_stream(self) -> TcpStream {
        self.stream
    }

    pub fn send(&mut self, payload: &[u8]) {
        let mask = [1, 2, 3, 4];
        let mut frame = vec![0x82, 0x80 | 126];
        frame.extend_from_slice(&(payload.len() as u16).to_be_bytes());
        frame.extend_from_slice(&mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(b, m)| b ^ m));
        self.stream.write_all(&frame).unwrap();
    }

    pub fn send_message(&mut self, message: Message) {
        let (head, bulk) = message.into_frames().next_frame().unwrap();
        self.send(&[&head[..], &bulk.joined()[..]].concat());
    }

    /// The next binary message; None: the peer closed.
    fn receive(&mut self) -> Option<Vec<u8>> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).ok()?;
        let mut length = usize::from(head[1]);
        if length == 126 {
            let mut long = [0; 2];
            self.stream.read_exact(&mut long).unwrap();
            length = usize::from(u16::from_be_bytes(long));
        }
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).unwrap();
        (head[0] == 0x82).then_some(payload)
    }

    /// The next message that is not a heartbeat. It is one frame.
    pub fn receive_message(&mut self) -> Option<Message> {
        loop {
            let mut decoder = FrameDecoder::new(1 << 20);
            decoder.push(&self.receive()?);
            let message = decoder
                .next_message()
                .unwrap()
                .expect("one frame is one message");
            if message.kind() != Some(MessageType::Heartbeat) {
                return Some(message);
            }
        }
    }
}

pub fn hello() -> Message {
    let body = Hello {
        magic: *b"IWV1",
        version_min: PROTOCOL_VERSION_MIN,
        version_max: PROTOCOL_VERSION_MAX,
        session: [0; 16],
        token: String::new(),
        client: "browser".to_string(),
        fields: Vec::new(),
    };
    Message::new(MessageType::Hello, 1, &body, Bytes::new())
}
