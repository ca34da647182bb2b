//! The stream below a WebSocket whose client has not logged in yet.
//!
//! When the head of a frame comes, the library reserves room for the whole frame, and moves the
//! bytes that it has there. The earlier parts of the message stay. Both together would cost more
//! than a stranger may [NET-8]. So this stream gives the library no head that announces more bytes
//! than the client may still send.

use super::leash::{Leash, Leashed};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{ready, Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The bytes of a head before the mask, at most.
const MOST_HEAD: usize = 10;
const MASK_BYTES: u64 = 4;

#[derive(Debug)]
pub struct Bounded<S> {
    leashed: Leashed<S>,
    heads: Heads,
}

impl<S> Bounded<S> {
    /// Allows so many bytes.
    pub fn new(stream: S, bytes: usize) -> Self {
        let leash = Arc::<Leash>::default();
        leash.hold(bytes);
        Bounded {
            leashed: Leashed { stream, leash },
            heads: Heads::default(),
        }
    }

    /// Allows everything from here on.
    pub fn let_go(&self) {
        self.leashed.leash.let_go();
    }
}

/// Follows where frames begin.
#[derive(Debug, Default)]
struct Heads {
    head: [u8; MOST_HEAD],
    /// So many bytes of a head have come.
    come: usize,
    /// So many bytes of a frame have not come.
    missing: u64,
}

impl Heads {
    /// Returns how many bytes are missing behind these.
    fn follow(&mut self, mut bytes: &[u8]) -> u64 {
        loop {
            let skipped = self.missing.min(bytes.len() as u64);
            self.missing -= skipped;
            bytes = &bytes[skipped as usize..];
            let Some((byte, rest)) = bytes.split_first() else {
                return self.missing;
            };
            bytes = rest;
            self.head[self.come] = *byte;
            self.come += 1;
            if let Some(announced) = self.announced() {
                self.missing = announced;
                self.come = 0;
            }
        }
    }

    /// Returns the bytes behind the head. None: it is not whole.
    fn announced(&self) -> Option<u64> {
        let [_, length, long @ ..] = self.head;
        let payload = match (length & 0x7f, self.come) {
            (short @ 0..126, 2) => short.into(),
            (126, 4) => u16::from_be_bytes([long[0], long[1]]).into(),
            (127, 10) => u64::from_be_bytes(long),
            _ => return None,
        };
        let mask = if length & 0x80 == 0 { 0 } else { MASK_BYTES };
        Some(mask.saturating_add(payload))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Bounded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        space: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = space.filled().len();
        ready!(Pin::new(&mut self.leashed).poll_read(cx, space))?;
        if let Some(left) = self.leashed.leash.left() {
            if self.heads.follow(&space.filled()[before..]) > left as u64 {
                space.set_filled(before);
                let text = "a frame is too long for a client that has not logged in";
                return Poll::Ready(Err(io::Error::other(text)));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Bounded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.leashed).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.leashed).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.leashed).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    /// Reads everything of a client that may send 1000 bytes.
    fn read(sent: &[u8]) -> (Vec<u8>, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.build().unwrap();
        runtime.block_on(async {
            let mut stream = Bounded::new(sent, 1000);
            let mut found = Vec::new();
            let ended = stream.read_to_end(&mut found).await;
            (found, ended.is_ok())
        })
    }

    #[test]
    fn net_8_no_frame_is_read_that_announces_more_than_may_come() {
        let short = [0x82, 0x83, 1, 1, 1, 1, 5, 6, 7];
        // Behind the head and its mask 983 bytes may come.
        let long = |bytes: u16| [&[0x02, 0xfe][..], &bytes.to_be_bytes(), &[0; 4]].concat();
        let huge = |bytes: u64| [&[0x82, 0x7f][..], &bytes.to_be_bytes()].concat();
        assert_eq!(read(&short), (short.to_vec(), true));
        let fits = [&short[..], &long(983)].concat();
        assert_eq!(read(&fits), (fits.clone(), true));
        for head in [long(984), huge(1000), huge(u64::MAX)] {
            assert_eq!(read(&[&short[..], &head].concat()), (Vec::new(), false));
        }
    }

    #[test]
    fn net_8_heads_may_come_in_parts() {
        let frames = [&[0x82, 0xfe, 1, 0][..], &[0; 4 + 256], &[0x89, 0]].concat();
        let mut heads = Heads::default();
        let missing: Vec<u64> = frames.iter().map(|byte| heads.follow(&[*byte])).collect();
        assert_eq!(missing[3..5], [260, 259]);
        assert_eq!(missing[frames.len() - 3..], [0, 0, 0]);
    }
}
