//! A stream socket in the event loop.
//!
//! It is watched for reading only: for a Unix socket every read of the peer would otherwise wake the
//! server to say that there is room to write. Room is watched for only while it lacks. A read that
//! did not fill its space is taken to have emptied the socket, which spares a second call.

use rustix::net::Shutdown;
use std::io::{self, IoSlice, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncRead, Interest, ReadBuf};

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

    /// Writes what there is room for now.
    pub fn try_write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.readable.get_ref() {
            Stream::Tcp(stream) => (&mut &*stream).write_vectored(slices),
            Stream::Unix(stream) => (&mut &*stream).write_vectored(slices),
        }
    }

    /// Until there may be room to write.
    pub async fn writable(&self) -> io::Result<()> {
        let second = self.readable.get_ref().try_clone()?;
        let writable = watch(second, Interest::WRITABLE)?;
        writable.writable().await.map(drop)
    }

    /// Nothing more will be written.
    pub fn shut_down(&self) {
        // A connection that is gone already cannot be shut down; that is as well.
        let _ = rustix::net::shutdown(self.readable.get_ref(), Shutdown::Write);
    }
}

fn watch(stream: Stream, interest: Interest) -> io::Result<AsyncFd<Stream>> {
    // SAFETY: a stream owns its descriptor, keeps the same one, and closes it only when dropped.
    let watched = unsafe { AsyncFd::register_with_interest(stream, interest) };
    watched.map_err(io::Error::from)
}

impl AsyncRead for &Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut guard = ready!(self.readable.poll_read_ready(cx))?;
            // SAFETY: the space is only written to, by the read.
            let free = unsafe { space.unfilled_mut() };
            let wanted = free.len();
            match rustix::io::read(self.readable.get_ref(), free) {
                Ok((read, _)) => {
                    let bytes = read.len();
                    if bytes > 0 && bytes < wanted {
                        guard.clear_ready();
                    }
                    // SAFETY: the read has initialised that many bytes.
                    unsafe { space.assume_init(bytes) };
                    space.advance(bytes);
                    return Poll::Ready(Ok(()));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => guard.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}
