//! Listeners of TCP and Unix sockets.

use super::address::{abstract_name, ListenAddress};
use super::connection::{self, Connection, Sink};
use super::shell::Shell;
use super::socket::{Socket, Stream};
use super::tasks;
use crate::session::Outgoing;
use interweave_wire::protocol::ErrorCode;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// A place where connections come in.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    /// With the file to remove at the end, if there is one.
    Unix(UnixListener, Option<PathBuf>),
}

impl Listener {
    /// Begins to listen; for a TCP address on 127.0.0.1 also on the abstract socket that goes with
    /// it [NET-1]. Returns what the address became.
    pub async fn bind(address: &ListenAddress) -> io::Result<(ListenAddress, Vec<Listener>)> {
        match address {
            ListenAddress::Tcp(wanted) => {
                let tcp = TcpListener::bind(wanted).await?;
                let bound = tcp.local_addr()?;
                let mut listeners = vec![Listener::Tcp(tcp)];
                listeners.extend(bind_abstract(&bound)?);
                Ok((ListenAddress::Tcp(bound), listeners))
            }
            ListenAddress::Unix(path) => {
                remove_stale(path).await?;
                let unix = UnixListener::bind(path)?;
                let listener = Listener::Unix(unix, Some(path.clone()));
                Ok((address.clone(), vec![listener]))
            }
        }
    }

    pub async fn serve(self, shell: Rc<Shell>) {
        let mut patience = Patience::default();
        loop {
            let accepted = match &self {
                Listener::Tcp(tcp) => {
                    let accepted = tcp.accept().await;
                    accepted.and_then(|(stream, _)| accept_tcp(&shell, stream))
                }
                Listener::Unix(unix, _) => {
                    let accepted = unix.accept().await;
                    accepted.and_then(|(stream, _)| accept_unix(&shell, stream))
                }
            };
            match accepted {
                Ok(()) => patience.renew(),
                Err(error) => patience.wait(&error).await,
            }
        }
    }
}

/// How a listener bears that it cannot accept: mostly there are too many open files in this process
/// or the host, and others must end before it can go on.
#[derive(Debug, Default)]
pub struct Patience {
    pause: Duration,
}

impl Patience {
    const SHORTEST: Duration = Duration::from_millis(20);
    const LONGEST: Duration = Duration::from_secs(1);

    pub async fn wait(&mut self, error: &io::Error) {
        use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
        if matches!(
            error.kind(),
            ConnectionAborted | ConnectionReset | Interrupted
        ) {
            return;
        }
        if self.pause.is_zero() {
            tracing::warn!(%error, "connections cannot be accepted; trying on");
        }
        self.pause = (self.pause * 2).clamp(Self::SHORTEST, Self::LONGEST);
        tokio::time::sleep(self.pause).await;
    }

    /// One was accepted.
    pub fn renew(&mut self) {
        self.pause = Duration::ZERO;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, Some(path)) = self {
            // Somebody may have removed it before.
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(target_os = "linux")]
fn bind_abstract(address: &SocketAddr) -> io::Result<Option<Listener>> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net;

    let Some(name) = abstract_name(address) else {
        return Ok(None);
    };
    let place = net::SocketAddr::from_abstract_name(&name)?;
    let unix = net::UnixListener::bind_addr(&place).map_err(|error| {
        let text = format!("the abstract socket @{name} that goes with {address}: {error}");
        io::Error::new(error.kind(), text)
    })?;
    unix.set_nonblocking(true)?;
    Ok(Some(Listener::Unix(UnixListener::from_std(unix)?, None)))
}

#[cfg(not(target_os = "linux"))]
fn bind_abstract(_: &SocketAddr) -> io::Result<Option<Listener>> {
    Ok(None)
}

/// A socket file that nobody listens on is left over from a server that was killed.
async fn remove_stale(path: &Path) -> io::Result<()> {
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)
        }
        Ok(_) => Err(io::Error::new(
            io::ErrorKind::AddrInUse,
            format!("a server listens on {} already", path.display()),
        )),
        Err(_) => Ok(()),
    }
}

fn accept_tcp(shell: &Rc<Shell>, stream: TcpStream) -> io::Result<()> {
    // Without it small messages wait for acknowledgements; a socket that refuses is lost anyway.
    let _ = stream.set_nodelay(true);
    accept(shell, Stream::Tcp(stream.into_std()?))
}

fn accept_unix(shell: &Rc<Shell>, stream: UnixStream) -> io::Result<()> {
    accept(shell, Stream::Unix(stream.into_std()?))
}

fn accept(shell: &Rc<Shell>, stream: Stream) -> io::Result<()> {
    let mut sink = Some(Sink::Stream(Socket::new(stream)?));
    let connection = shell.connect(|id| Connection::new(id, sink.take().unwrap_or(Sink::Web)));
    match (connection, sink) {
        (Some((connection, serving)), _) => {
            let task = connection::serve(shell.clone(), connection, serving);
            tasks::spawn(shell, "a connection", task);
        }
        (None, Some(sink)) => refuse(sink),
        (None, None) => {}
    }
    Ok(())
}

/// There are too many connections: said as well as a new socket takes it.
fn refuse(sink: Sink) {
    let connection = Connection::new(0, sink);
    let text = "this server has as many connections as it may have; try again later, or start it \
                with a larger --max-connections";
    let error = Outgoing::error(0, ErrorCode::TooLarge, text.to_string());
    connection.outbound.borrow_mut().push(error);
    connection.flush();
}
