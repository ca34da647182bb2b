//! A stream socket in the event loop.
//!
//! The loop watches a socket for reading. It watches for room to write only while a write waits for
//! room, because otherwise each read of a Unix socket's peer would wake the server. A read that did
//! not fill its space has emptied the socket, which spares a second call.

use interweave_wire::frame::BulkTarget;
use rustix::net::Shutdown;
use socket2::{MaybeUninitSlice, SockRef};
use std::io::{self, IoSlice, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::task::{ready, Context, Poll};
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;

/// A connected socket that never blocks.
#[derive(Debug)]
pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl Stream {
    fn try_clone(&self) -> io::Result<Stream> {
        match self {
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp),
            Stream::Unix(stream) => stream.try_clone().map(Stream::Unix),
        }
    }
}

#[derive(Debug)]
pub struct Socket {
    readable: AsyncFd<Stream>,
}

impl Socket {
    pub fn new(stream: Stream) -> io::Result<Socket> {
        let readable = watch(stream, Interest::READABLE)?;
        Ok(Socket { readable })
    }

    /// None: it is a Unix socket, or the peer has gone.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        match self.readable.get_ref() {
            Stream::Tcp(stream) => stream.peer_addr().ok(),
            Stream::Unix(_) => None,
        }
    }

    /// Writes as much as there is room for now.
    pub fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.readable.get_ref() {
            Stream::Tcp(stream) => (&mut &*stream).write_vectored(slices),
            Stream::Unix(stream) => (&mut &*stream).write_vectored(slices),
        }
    }

    /// Waits until there may be room to write.
    pub async fn writable(&self) -> io::Result<()> {
        let second = self.second()?;
        let writable = watch(second, Interest::WRITABLE)?;
        writable.writable().await.map(drop)
    }

    /// Returns a second descriptor of the same connection.
    pub fn second(&self) -> io::Result<Stream> {
        self.readable.get_ref().try_clone()
    }

    /// Nothing more will be written.
    pub fn shut_down(&self) {
        // A connection that is gone cannot be shut down, and need not be.
        let _ = rustix::net::shutdown(self.readable.get_ref(), Shutdown::Write);
    }
}

fn watch(stream: Stream, interest: Interest) -> io::Result<AsyncFd<Stream>> {
    // SAFETY: a stream owns its descriptor, keeps the same one, and closes it only when dropped.
    let watched = unsafe { AsyncFd::register_with_interest(stream, interest) };
    watched.map_err(io::Error::from)
}

impl Socket {
    /// Reads the bytes that are there now; 0: the peer has ended.
    pub fn poll_read(&self, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
        let wanted = space.len();
        self.poll_with(cx, wanted, |stream| {
            rustix::io::read(stream, &mut *space).map_err(io::Error::from)
        })
    }

    /// Reads the bytes that are there now: first into the bulk's room, then into `behind`, as far
    /// as the target says. One call of the system reads both.
    /// Returns how many bytes came.
    /// REQUIRES: `behind` is empty.
    pub fn poll_read_bulk(
        &self,
        cx: &mut Context<'_>,
        target: BulkTarget<'_>,
        behind: &mut Vec<u8>,
    ) -> Poll<io::Result<usize>> {
        let BulkTarget { bulk, room, ahead } = target;
        behind.reserve(ahead);
        let wanted = room + ahead;
        let read = self.poll_with(cx, wanted, |stream| {
            let slices = &mut [
                MaybeUninitSlice::new(&mut bulk.spare_capacity_mut()[..room]),
                MaybeUninitSlice::new(&mut behind.spare_capacity_mut()[..ahead]),
            ];
            let (bytes, _) = SockRef::from(stream).recv_vectored(slices)?;
            Ok(bytes)
        });
        let bytes = ready!(read)?;
        let (first, second) = (bytes.min(room), bytes.saturating_sub(room));
        // SAFETY: the system has written so many bytes to the beginning of the spare capacity of
        // each: `recv_vectored` fills its slices in order, and these were `room` and `ahead` long.
        unsafe {
            bulk.set_len(bulk.len() + first);
            behind.set_len(behind.len() + second);
        }
        Poll::Ready(Ok(bytes))
    }

    /// Reads once there is something. A read of fewer bytes than were wanted has emptied the
    /// socket.
    fn poll_with(
        &self,
        cx: &mut Context<'_>,
        wanted: usize,
        mut read: impl FnMut(&Stream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let mut guard = ready!(self.readable.poll_read_ready(cx))?;
            match read(self.readable.get_ref()) {
                Ok(bytes) => {
                    if bytes > 0 && bytes < wanted {
                        guard.clear_ready();
                    }
                    return Poll::Ready(Ok(bytes));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => guard.clear_ready(),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    #[test]
    fn one_read_fills_the_bulk_and_what_is_behind_it_and_no_more() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (mut peer, stream) = UnixStream::pair().unwrap();
            stream.set_nonblocking(true).unwrap();
            let socket = Socket::new(Stream::Unix(stream)).unwrap();
            let sent: Vec<u8> = (0..100).collect();
            peer.write_all(&sent).unwrap();
            let mut bulk = Vec::with_capacity(64);
            bulk.push(255);
            let mut behind = Vec::new();
            for (room, ahead, expected) in [(60, 0, 60), (3, 30, 33), (0, 4, 4), (0, 9, 3)] {
                behind.clear();
                let read = poll_fn(|cx| {
                    let bulk = &mut bulk;
                    socket.poll_read_bulk(cx, BulkTarget { bulk, room, ahead }, &mut behind)
                });
                assert_eq!(read.await.unwrap(), expected);
                assert_eq!(behind.len(), expected - room);
            }
            assert_eq!((bulk[0], &bulk[1..]), (255, &sent[..63]));
            assert_eq!(behind, &sent[97..]);
            drop(peer);
            let mut space = [0; 8];
            let end = poll_fn(|cx| socket.poll_read(cx, &mut space)).await;
            assert_eq!(end.unwrap(), 0);
        });
    }
}
