//! Messages over a blocking socket.

use super::error::ClientError;
use super::tls::{self, TlsStream};
use bytes::BufMut;
use interweave_wire::mip::Address;
use interweave_wire::{FrameDecoder, Message};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A diff of any size is taken from a server that the user chose.
const MAX_BULK_BYTES: u64 = u64::MAX;
const READ_BYTES: usize = 64 * 1024;
const CONNECTING: Duration = Duration::from_secs(10);

#[derive(Debug)]
enum Socket {
    Tcp(TcpStream),
    Secure(Box<TlsStream>),
    Unix(UnixStream),
}

/// A connection, and what has come on it that is not a whole message yet.
#[derive(Debug)]
pub struct Transport {
    socket: Socket,
    decoder: FrameDecoder,
    buffer: Vec<u8>,
    heard: Instant,
}

impl Transport {
    pub fn connect(address: &Address) -> Result<Transport, ClientError> {
        Transport::connect_until(address, None, Instant::now() + CONNECTING)
    }

    /// Connects, and shakes hands with a server of TLS.
    pub fn connect_until(
        address: &Address,
        tls_name: Option<&str>,
        until: Instant,
    ) -> Result<Transport, ClientError> {
        let socket = match address {
            Address::Tcp { host, port, secure } => {
                let stream = connect_tcp(host, *port, until).map_err(ClientError::Unreachable)?;
                match secure {
                    true => {
                        let stream =
                            tls::shake_hands(tls_name.unwrap_or(host), stream, wait_until(until))?;
                        Socket::Secure(Box::new(stream))
                    }
                    false => Socket::Tcp(stream),
                }
            }
            Address::Unix { file } => {
                let stream = UnixStream::connect(file).map_err(ClientError::Unreachable)?;
                Socket::Unix(stream)
            }
        };
        Ok(Transport::over(socket))
    }

    pub fn over_unix(stream: UnixStream) -> Transport {
        Transport::over(Socket::Unix(stream))
    }

    /// REQUIRES: the handshake is complete.
    pub fn over_tls(stream: TlsStream) -> Transport {
        Transport::over(Socket::Secure(Box::new(stream)))
    }

    fn over(socket: Socket) -> Transport {
        Transport {
            socket,
            decoder: FrameDecoder::new(MAX_BULK_BYTES),
            buffer: vec![0; READ_BYTES],
            heard: Instant::now(),
        }
    }

    /// Returns the address of the other end. None: the connection is not TCP, or is lost.
    pub fn peer(&self) -> Option<IpAddr> {
        let stream = match &self.socket {
            Socket::Tcp(stream) => stream,
            Socket::Secure(stream) => &stream.sock,
            Socket::Unix(_) => return None,
        };
        stream.peer_addr().ok().map(|address| address.ip())
    }

    /// Writes bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), ClientError> {
        match &mut self.socket {
            Socket::Tcp(stream) => stream.write_all(bytes)?,
            Socket::Secure(stream) => stream.write_all(bytes).map_err(tls::worded)?,
            Socket::Unix(stream) => stream.write_all(bytes)?,
        }
        Ok(())
    }

    pub fn send(&mut self, message: Message) -> Result<(), ClientError> {
        let mut encoder = message.into_frames();
        let mut frames = Vec::new();
        while let Some((head, bulk)) = encoder.next_frame() {
            frames.put(head);
            bulk.pieces()
                .for_each(|piece| frames.extend_from_slice(piece));
        }
        self.send_bytes(&frames)
    }

    /// The next whole message; None: it has not come before `until`.
    pub fn receive(&mut self, until: Instant) -> Result<Option<Message>, ClientError> {
        loop {
            if let Some(message) = self.decoder.next_message()? {
                return Ok(Some(message));
            }
            let wait = until.saturating_duration_since(Instant::now());
            if wait.is_zero() {
                return Ok(None);
            }
            match self.read(wait) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(bytes) => {
                    self.heard = Instant::now();
                    self.decoder.push(&self.buffer[..bytes]);
                }
                Err(error) if is_timeout(&error) => {}
                Err(error) if matches!(self.socket, Socket::Secure(_)) => {
                    return Err(tls::worded(error));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// When bytes came last.
    pub fn heard(&self) -> Instant {
        self.heard
    }

    fn read(&mut self, wait: Duration) -> io::Result<usize> {
        // A wait of less than the system's tick would be none at all.
        let wait = Some(wait.max(Duration::from_millis(1)));
        match &mut self.socket {
            Socket::Tcp(stream) => {
                stream.set_read_timeout(wait)?;
                stream.read(&mut self.buffer)
            }
            Socket::Secure(stream) => {
                stream.sock.set_read_timeout(wait)?;
                stream.read(&mut self.buffer)
            }
            Socket::Unix(stream) => {
                stream.set_read_timeout(wait)?;
                stream.read(&mut self.buffer)
            }
        }
    }

    /// Breaks the connection off, as a failing network does.
    pub fn break_off(&self) {
        // It may be broken off already.
        let _ = match &self.socket {
            Socket::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Socket::Secure(stream) => stream.sock.shutdown(Shutdown::Both),
            Socket::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
    )
}

/// How long a step of connecting may take. The system takes no wait of zero.
fn wait_until(until: Instant) -> Duration {
    let left = until.saturating_duration_since(Instant::now());
    left.clamp(Duration::from_millis(1), CONNECTING)
}

fn connect_tcp(host: &str, port: u16, until: Instant) -> io::Result<TcpStream> {
    use std::net::ToSocketAddrs;
    let mut last = None;
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, wait_until(until)) {
            Ok(stream) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::from(io::ErrorKind::AddrNotAvailable)))
}
