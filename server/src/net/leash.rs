//! A bound on the bytes that are read of a connection.
//!
//! The library of WebSockets collects a whole message before it gives anything of it. A message may
//! have as many bytes as a frame. So a WebSocket whose client has not logged in yet is held to few
//! bytes here, below the library (strange_frames.rs) [NET-8]. So is a client in a handshake of TLS.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const FREE: usize = usize::MAX;
/// The most bytes that one read brings while the connection is held.
const PART: usize = 1024;

/// How many bytes more may be read of one connection.
#[derive(Debug)]
pub struct Leash(AtomicUsize);

impl Default for Leash {
    /// Allows any number of bytes.
    fn default() -> Self {
        Leash(AtomicUsize::new(FREE))
    }
}

impl Leash {
    /// Allows so many bytes more.
    pub fn hold(&self, bytes: usize) {
        self.0.store(bytes, Relaxed);
    }

    /// Returns how many bytes more are allowed. None: any number.
    pub fn left(&self) -> Option<usize> {
        Some(self.0.load(Relaxed)).filter(|left| *left != FREE)
    }

    /// Allows any number of bytes again.
    pub fn let_go(&self) {
        self.0.store(FREE, Relaxed);
    }
}

/// A stream whose reads fail once its leash allows no more bytes.
#[derive(Debug)]
pub struct Leashed<S> {
    pub stream: S,
    pub leash: Arc<Leash>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Leashed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.leash.0.load(Relaxed);
        if left == FREE {
            return Pin::new(&mut self.stream).poll_read(cx, space);
        }
        if left == 0 {
            let text = "too many bytes came before the client had logged in";
            return Poll::Ready(Err(io::Error::other(text)));
        }
        let mut part = [0; PART];
        let most = left.min(PART).min(space.remaining());
        let mut read = ReadBuf::new(&mut part[..most]);
        ready!(Pin::new(&mut self.stream).poll_read(cx, &mut read))?;
        space.put_slice(read.filled());
        self.leash.hold(left - read.filled().len());
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Leashed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[test]
    fn net_8_no_more_is_read_than_the_leash_allows() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let sent: Vec<u8> = (0..20_000).map(|at| (at % 251) as u8).collect();
            let leash = Arc::<Leash>::default();
            let mut stream = Leashed {
                stream: &sent[..],
                leash: leash.clone(),
            };
            let mut found = vec![0; 100];
            stream.read_exact(&mut found).await.unwrap();
            leash.hold(9000);
            let error = stream.read_to_end(&mut found).await.unwrap_err();
            assert!(error.to_string().contains("logged in"), "{error}");
            assert_eq!(found.len(), 100 + 9000);
            leash.let_go();
            stream.read_to_end(&mut found).await.unwrap();
            assert_eq!(found, sent);
        });
    }
}
