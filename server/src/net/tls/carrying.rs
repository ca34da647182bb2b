//! Carries the bytes of an encrypted connection between the peer and the engine.
//!
//! All connections share one buffer, because most of them are idle, and a client that has not
//! logged in must cost little [NET-8]. A connection keeps bytes of its own only while one side does
//! not take what the other side said.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::{pin, Pin};
use std::task::{ready, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, Interest, ReadBuf};
use tokio::net::unix::{ReadHalf, WriteHalf};
use tokio::net::UnixStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;

/// After the end of the server, or of the engine's side of a connection, the time in which the peer
/// takes its last bytes.
pub const PARTING: Duration = Duration::from_secs(1);
/// The size of the shared buffer: about four records of TLS.
const BUFFER_BYTES: usize = 64 << 10;

thread_local! {
    /// A task that waits needs nothing of it.
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; BUFFER_BYTES].into());
}

/// Carries bytes in both directions until both are done, or one of them fails. `part` is called
/// when the engine has ended its side.
///
/// A peer that stays when the engine has ended the connection is left: nobody counts it any more,
/// and it would hold two descriptors for as long as it likes.
pub async fn carry(
    peer: &mut TlsStream<impl AsyncRead + AsyncWrite + Unpin>,
    own: &mut UnixStream,
    part: impl FnOnce(),
) -> io::Result<()> {
    let (mut from_peer, mut to_peer) = tokio::io::split(peer);
    let (from_engine, mut to_engine) = own.split();
    let mut up = pin!(carry_up(&mut from_peer, &mut to_engine));
    let mut down = pin!(carry_down(&from_engine, &mut to_peer));
    tokio::select! {
        carried = &mut up => {
            carried?;
            down.await
        }
        carried = &mut down => {
            carried?;
            part();
            timeout(PARTING, up).await?
        }
    }
}

/// Gives the bytes that the receiver takes now, and returns the others. None: there are no bytes,
/// because their sender has ended.
fn give_now(
    bytes: &[u8],
    give: impl FnOnce(&[u8]) -> io::Result<usize>,
) -> io::Result<Option<Vec<u8>>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let taken = match give(bytes) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
        taken => taken?,
    };
    Ok(Some(bytes[taken..].to_vec()))
}

/// Carries what the peer says to the engine, up to the peer's end.
async fn carry_up(
    peer: &mut (impl AsyncRead + Unpin),
    engine: &mut WriteHalf<'_>,
) -> io::Result<()> {
    loop {
        let given = poll_fn(|cx| {
            BUFFER.with_borrow_mut(|buffer| {
                let mut read = ReadBuf::new(buffer);
                ready!(Pin::new(&mut *peer).poll_read(cx, &mut read))?;
                Poll::Ready(give_now(read.filled(), |bytes| engine.try_write(bytes)))
            })
        });
        match given.await? {
            Some(rest) => engine.write_all(&rest).await?,
            None => return engine.shutdown().await,
        }
    }
}

/// Carries what the engine says to the peer, up to the engine's end.
async fn carry_down(engine: &ReadHalf<'_>, peer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    loop {
        engine.readable().await?;
        let given = poll_fn(|cx| {
            let given = BUFFER.with_borrow_mut(|buffer| {
                let read = engine.try_read(buffer)?;
                give_now(&buffer[..read], |bytes| {
                    match Pin::new(&mut *peer).poll_write(cx, bytes) {
                        Poll::Ready(taken) => taken,
                        Poll::Pending => Ok(0),
                    }
                })
            });
            Poll::Ready(given)
        });
        let rest = match given.await {
            Ok(Some(rest)) => rest,
            Ok(None) => return timeout(PARTING, peer.shutdown()).await?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        let give = async {
            peer.write_all(&rest).await?;
            // A part of a record may wait in the TLS session.
            peer.flush().await
        };
        tokio::select! {
            // A timer is made only where the peer does not take the bytes at once.
            biased;
            given = give => given?,
            left = engine_left(engine) => return left,
        }
    }
}

/// Fails once the engine has ended the connection and the peer has taken nothing for a while. Looks
/// now and then, because the bytes that wait in front of the end hide it from a reader.
async fn engine_left(engine: &ReadHalf<'_>) -> io::Result<()> {
    loop {
        sleep(PARTING).await;
        if engine.ready(Interest::READABLE).await?.is_read_closed() {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
}
