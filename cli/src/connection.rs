//! A blocking connection to a server, for commands: one request at a time, notifications kept until
//! they are asked for. Errors name the server and say what to do.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::Bytes;
use interweave_wire::frame::{FrameDecoder, HEAD_BYTES};
use interweave_wire::mip::Address;
use interweave_wire::protocol::xdr::Xdr;
use interweave_wire::protocol::{
    ErrorReply, Hello, MessageType, Welcome, MAX_TOKEN, PROTOCOL_VERSION_MAX, PROTOCOL_VERSION_MIN,
};
use interweave_wire::Message;

use crate::failure::Failure;

const CONNECT_SECONDS: u64 = 10;
/// A server speaks at least every heartbeat; one that is silent for so many is lost.
const SILENT_HEARTBEATS: u32 = 10;
const NOTIFICATION: u32 = 1 << 31;

/// TCP or a Unix socket.
trait Stream: Read + Write {
    fn set_silence_limit(&self, limit: Duration) -> io::Result<()>;
}

impl Stream for TcpStream {
    fn set_silence_limit(&self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit))
    }
}

impl Stream for UnixStream {
    fn set_silence_limit(&self, limit: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(limit))
    }
}

pub struct Connection {
    stream: Box<dyn Stream>,
    decoder: FrameDecoder,
    notifications: VecDeque<Message>,
    last_stream: u32,
    server: String,
    pub heartbeat: Duration,
}

impl Connection {
    pub fn open(address: &Address) -> Result<Connection, Failure> {
        let server = address_text(address);
        let stream = connect(address).map_err(|error| {
            Failure::new(format!(
                "cannot reach a server at {server}: {error}; is one running there? (interweave serve)"
            ))
        })?;
        let mut connection = Connection {
            stream,
            decoder: FrameDecoder::new(u64::MAX),
            notifications: VecDeque::new(),
            last_stream: 0,
            server,
            heartbeat: Duration::from_secs(1),
        };
        connection.set_silence_limit(Duration::from_secs(CONNECT_SECONDS))?;
        connection.greet()?;
        Ok(connection)
    }

    fn greet(&mut self) -> Result<(), Failure> {
        let token = std::env::var("IW_TOKEN").unwrap_or_default();
        if token.len() > MAX_TOKEN as usize {
            return Err(Failure::new(format!(
                "IW_TOKEN is longer than {MAX_TOKEN} bytes"
            )));
        }
        let hello = Hello {
            magic: *b"IWV1",
            version_min: PROTOCOL_VERSION_MIN,
            version_max: PROTOCOL_VERSION_MAX,
            session: [0; 16],
            token,
            client: format!("interweave {} (Rust)", env!("CARGO_PKG_VERSION")),
        };
        let (welcome, _) =
            self.request::<_, Welcome>(MessageType::Hello, &hello, MessageType::Welcome)?;
        self.heartbeat = Duration::from_millis(welcome.heartbeat_ms.into());
        self.set_silence_limit(self.heartbeat * SILENT_HEARTBEATS)
    }

    fn set_silence_limit(&mut self, limit: Duration) -> Result<(), Failure> {
        self.stream
            .set_silence_limit(limit)
            .map_err(|error| self.lost(&error))
    }

    /// Sends a request and waits for its reply, which must be of the type `wanted`.
    pub fn request<Q: Xdr, A: Xdr>(
        &mut self,
        kind: MessageType,
        body: &Q,
        wanted: MessageType,
    ) -> Result<(A, Bytes), Failure> {
        let reply = self.exchange(kind, body, Bytes::new(), wanted)?;
        Ok((reply.decode::<A>()?, reply.bulk))
    }

    /// The same for a request with a diff, or a reply without a body.
    pub fn exchange<Q: Xdr>(
        &mut self,
        kind: MessageType,
        body: &Q,
        bulk: Bytes,
        wanted: MessageType,
    ) -> Result<Message, Failure> {
        self.last_stream = self.last_stream % (NOTIFICATION - 1) + 1;
        let stream = self.last_stream;
        self.send(Message::new(kind, stream, body, bulk))?;
        loop {
            let message = self.receive()?;
            if message.envelope.stream != stream {
                self.keep(message)?;
                continue;
            }
            return self.expect(message, kind, wanted);
        }
    }

    /// Sends something that has no reply.
    pub fn tell<Q: Xdr>(&mut self, kind: MessageType, body: &Q) -> Result<(), Failure> {
        self.last_stream = self.last_stream % (NOTIFICATION - 1) + 1;
        self.send(Message::new(kind, self.last_stream, body, Bytes::new()))
    }

    /// The next notification, waited for; heartbeats are taken as signs of life only.
    pub fn next_notification(&mut self) -> Result<Message, Failure> {
        loop {
            if let Some(message) = self.notifications.pop_front() {
                return Ok(message);
            }
            let message = self.receive()?;
            self.keep(message)?;
        }
    }

    fn keep(&mut self, message: Message) -> Result<(), Failure> {
        match message.kind() {
            Some(MessageType::Heartbeat) => {}
            Some(MessageType::Error) if message.envelope.stream == 0 => {
                let reply: ErrorReply = message.decode()?;
                return Err(Failure::new(reply.text));
            }
            _ if message.envelope.stream >= NOTIFICATION => self.notifications.push_back(message),
            _ => {}
        }
        Ok(())
    }

    fn expect(
        &self,
        message: Message,
        asked: MessageType,
        wanted: MessageType,
    ) -> Result<Message, Failure> {
        match message.kind() {
            Some(kind) if kind == wanted => Ok(message),
            Some(MessageType::Error) => Err(Failure::new(message.decode::<ErrorReply>()?.text)),
            Some(MessageType::Unimplemented) => Err(Failure::new(format!(
                "the server at {} does not know {}; it is of another version",
                self.server,
                asked.name()
            ))),
            _ => Err(Failure::new(format!(
                "the server at {} answered {} with a message of type {}",
                self.server,
                asked.name(),
                message.envelope.type_
            ))),
        }
    }

    fn send(&mut self, message: Message) -> Result<(), Failure> {
        let mut outgoing = message.into_outgoing();
        while let Some((head, bulk)) = outgoing.next_frame() {
            self.stream
                .write_all(&head)
                .and_then(|()| self.stream.write_all(&bulk))
                .map_err(|error| self.lost(&error))?;
        }
        self.stream.flush().map_err(|error| self.lost(&error))
    }

    fn receive(&mut self) -> Result<Message, Failure> {
        let mut buffer = [0u8; 64 * 1024 + HEAD_BYTES];
        loop {
            if let Some(message) = self.decoder.next_message()? {
                return Ok(message);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    return Err(Failure::new(format!(
                        "the server at {} closed the connection",
                        self.server
                    )))
                }
                Ok(count) => self.decoder.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }

    fn lost(&self, error: &io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                Failure::new(format!("the server at {} has fallen silent", self.server))
            }
            _ => Failure::new(format!("the connection to {} broke: {error}", self.server)),
        }
    }
}

fn connect(address: &Address) -> io::Result<Box<dyn Stream>> {
    match address {
        Address::Unix { file } => Ok(Box::new(UnixStream::connect(file)?)),
        Address::Tcp { host, port } => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
            for socket in (host.as_str(), *port).to_socket_addrs()? {
                match TcpStream::connect_timeout(&socket, Duration::from_secs(CONNECT_SECONDS)) {
                    Ok(stream) => {
                        stream.set_nodelay(true)?;
                        return Ok(Box::new(stream));
                    }
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

pub fn address_text(address: &Address) -> String {
    match address {
        Address::Tcp { host, port } if host.contains(':') => format!("[{host}]:{port}"),
        Address::Tcp { host, port } => format!("{host}:{port}"),
        Address::Unix { file } => format!("unix:{file}"),
    }
}
