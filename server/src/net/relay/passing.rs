//! Passes the bytes of two connections on, from each to the other [SPACE-51].

use std::future::Future;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{split, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::timeout;

/// The bytes that are kept of each direction.
const KEPT_BYTES: usize = 64 << 10;
/// So long an end may take to close its connection.
const PARTING: Duration = Duration::from_secs(1);

pub trait Both: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Both for T {}

/// One of both connections.
pub type End = Box<dyn Both>;

/// Says the hello to the owner, then passes on what comes, until one end has ended. Then both end.
/// `patience`: how long an end may take nothing.
pub async fn pass(
    client: End,
    owner: End,
    hello: &[u8],
    patience: Duration,
    count: &AtomicU64,
) -> io::Result<()> {
    let (mut from_client, mut to_client) = split(client);
    let (mut from_owner, mut to_owner) = split(owner);
    give(&mut to_owner, hello, patience).await?;
    let done = tokio::select! {
        done = one_way(&mut from_client, &mut to_owner, patience, count) => done,
        done = one_way(&mut from_owner, &mut to_client, patience, count) => done,
    };
    // An end that is gone need not be told.
    let both = async { tokio::join!(to_client.shutdown(), to_owner.shutdown()) };
    let _ = timeout(PARTING, both).await;
    done
}

/// Ok: `from` has ended, and `to` has taken all of it.
async fn one_way(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    patience: Duration,
    count: &AtomicU64,
) -> io::Result<()> {
    let mut kept = vec![0; KEPT_BYTES];
    loop {
        let bytes = from.read(&mut kept).await?;
        if bytes == 0 {
            return Ok(());
        }
        give(to, &kept[..bytes], patience).await?;
        count.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

async fn give(
    to: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    patience: Duration,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let taken = in_time(patience, to.write(bytes)).await?;
        if taken == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[taken..];
    }
    in_time(patience, to.flush()).await
}

async fn in_time<T>(
    patience: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "an end takes nothing");
    timeout(patience, work).await.map_err(late)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{duplex, DuplexStream};

    const PATIENCE: Duration = Duration::from_secs(10);

    /// A client and an owner, and the work between them.
    fn begun(
        patience: Duration,
    ) -> (
        DuplexStream,
        DuplexStream,
        impl Future<Output = io::Result<()>>,
    ) {
        let (client, client_end) = duplex(1024);
        let (owner, owner_end) = duplex(1024);
        let passing = async move {
            let (client, owner) = (Box::new(client_end), Box::new(owner_end));
            pass(client, owner, b"hello", patience, &AtomicU64::new(0)).await
        };
        (client, owner, passing)
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        runtime.block_on(work)
    }

    #[test]
    fn space_51_all_bytes_are_passed_on_behind_the_hello() {
        block_on(async {
            let (mut client, mut owner, passing) = begun(PATIENCE);
            let sent: Vec<u8> = (0..300_000).map(|at| (at % 251) as u8).collect();
            let as_client = async {
                client.write_all(&sent).await.unwrap();
                let mut heard = Vec::new();
                client.read_to_end(&mut heard).await.unwrap();
                assert!(heard == sent);
            };
            let as_owner = async {
                let mut heard = vec![0; 5 + sent.len()];
                owner.read_exact(&mut heard).await.unwrap();
                assert!(heard.starts_with(b"hello") && heard[5..] == sent);
                owner.write_all(&sent).await.unwrap();
                owner.shutdown().await.unwrap();
            };
            let ((), (), done) = tokio::join!(as_client, as_owner, passing);
            done.unwrap();
        });
    }

    #[test]
    fn space_51_an_end_that_takes_nothing_ends_both() {
        block_on(async {
            let (mut client, _owner, passing) = begun(Duration::from_millis(20));
            let flood = async { while client.write_all(&[7; 4096]).await.is_ok() {} };
            let ((), done) = tokio::join!(flood, passing);
            assert_eq!(done.unwrap_err().kind(), io::ErrorKind::TimedOut);
        });
    }
}
