//! Listeners of TCP and Unix sockets.

use super::address::{abstract_name, held_names, ListenAddress};
use super::client_socket::{ClientSocket, Sink};
use super::own_token::OwnToken;
use super::serving;
use super::shell::Shell;
use super::socket::{Socket, Stream};
use super::tasks;
use super::tls::{Admitted, Entrance, Validity};
use crate::session::{Act, Audited, Place, ServerMessage};
use interweave_access::Peer;
use interweave_wire::protocol::ErrorCode;
use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream};
use tokio::sync::mpsc::UnboundedReceiver;

/// A socket that accepts connections.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    /// Its connections pass the gate of TLS first.
    Gated(TcpListener, Entrance),
    Unix(UnixListener, UnixPeers),
    /// The file is removed at the end.
    UnixFile(UnixListener, UnixPeers, PathBuf),
}

/// The users whom a Unix socket admits [NET-4].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnixPeers {
    /// The user who runs the server, and root.
    #[default]
    Own,
    All,
}

impl UnixPeers {
    /// Returns why a server of user `own` does not admit a process of user `peer`; None: it does.
    fn refusal(self, peer: u32, own: u32) -> Option<String> {
        if self == UnixPeers::All || peer == own || peer == ROOT {
            return None;
        }
        Some(format!(
            "this server's Unix socket admits processes of user {own} only, this one is of user \
             {peer}; ask whoever runs the server to start it with --unix-socket all"
        ))
    }

    /// Returns the mode of the socket's file.
    fn mode(self) -> u32 {
        match self {
            UnixPeers::Own => 0o600,
            UnixPeers::All => 0o666,
        }
    }
}

const ROOT: u32 = 0;
/// How many connections wait to be accepted. The system may allow fewer.
const MOST_WAITING: u32 = 4096;

impl Listener {
    /// Begins to listen. For a TCP address on 127.0.0.1 it also listens on the abstract socket that
    /// belongs to the address [NET-1]. Returns the addresses as they are known then.
    pub async fn bind(
        address: &ListenAddress,
        peers: UnixPeers,
        entrance: Option<Entrance>,
        own_token: &mut OwnToken,
    ) -> io::Result<(ListenAddress, Vec<Listener>)> {
        match address {
            ListenAddress::Tcp(wanted) => {
                let tcp = listen_tcp(*wanted, own_token)?;
                let bound = tcp.local_addr()?;
                let mut listeners = vec![match entrance {
                    None => Listener::Tcp(tcp),
                    Some(entrance) => Listener::Gated(tcp, entrance),
                }];
                listeners.extend(bind_abstract(&bound, peers)?);
                Ok((ListenAddress::Tcp(bound), listeners))
            }
            ListenAddress::Unix(path) => {
                remove_stale(path).await?;
                let unix = UnixListener::bind(path)?;
                let listener = Listener::UnixFile(unix, peers, path.clone());
                std::fs::set_permissions(path, Permissions::from_mode(peers.mode()))?;
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
                Listener::Gated(tcp, entrance) => match tcp.accept().await {
                    Ok((stream, _)) => {
                        send_at_once(&stream);
                        entrance.bring(stream).await
                    }
                    Err(error) => Err(error),
                },
                Listener::Unix(unix, peers) | Listener::UnixFile(unix, peers, _) => {
                    let accepted = unix.accept().await;
                    accepted.and_then(|(stream, _)| accept_unix(&shell, stream, *peers))
                }
            };
            match accepted {
                Ok(()) => patience.renew(),
                Err(error) => patience.wait(&error).await,
            }
        }
    }
}

/// The pauses of a listener that cannot accept. Mostly this process or the host has too many open
/// files, so other connections must end before the listener can continue.
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

    /// A connection was accepted.
    pub fn renew(&mut self) {
        self.pause = Duration::ZERO;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::UnixFile(_, _, path) = self {
            // Somebody may have removed the file before.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Begins to listen. The token's file is there before anybody can connect, because a client that
/// waits for the server would show the token of an older one [OWN-2].
pub fn listen_tcp(wanted: SocketAddr, own_token: &mut OwnToken) -> io::Result<TcpListener> {
    let socket = match wanted {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(wanted)?;
    own_token.publish(socket.local_addr()?);
    socket.listen(MOST_WAITING)
}

#[cfg(target_os = "linux")]
fn bind_abstract(address: &SocketAddr, peers: UnixPeers) -> io::Result<Option<Listener>> {
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
    Ok(Some(Listener::Unix(UnixListener::from_std(unix)?, peers)))
}

/// Holds the names [NET-1] by which clients would look for a server at those addresses.
#[cfg(target_os = "linux")]
pub fn hold_names(addresses: &[ListenAddress]) -> io::Result<Vec<OwnedFd>> {
    use rustix::net::{bind, socket_with, AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

    let hold = |name: String| {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let place = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
        bind(&socket, &place).map_err(|error| {
            let text = format!("the abstract socket @{name} that goes with the port: {error}");
            io::Error::new(io::Error::from(error).kind(), text)
        })?;
        Ok(socket)
    };
    held_names(addresses).into_iter().map(hold).collect()
}

#[cfg(not(target_os = "linux"))]
pub fn hold_names(_: &[ListenAddress]) -> io::Result<Vec<OwnedFd>> {
    Ok(Vec::new())
}

#[cfg(not(target_os = "linux"))]
fn bind_abstract(_: &SocketAddr, _: UnixPeers) -> io::Result<Option<Listener>> {
    Ok(None)
}

/// Removes a socket file that nobody listens on, as a killed server leaves it.
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
    send_at_once(&stream);
    accept_plain(shell, stream.into_std()?)
}

fn accept_plain(shell: &Rc<Shell>, stream: std::net::TcpStream) -> io::Result<()> {
    let peer = Peer {
        address: stream.peer_addr().ok(),
        ..Peer::default()
    };
    accept(shell, Stream::Tcp(stream), peer, Arc::default())
}

/// Without this option small messages would wait for acknowledgements. A socket that refuses it is
/// lost anyway.
pub fn send_at_once(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
}

/// Serves the connections that passed the gate of TLS, until the gate is gone.
pub async fn serve_admitted(
    shell: Rc<Shell>,
    mut passed: UnboundedReceiver<Admitted>,
    admits_plain: bool,
) {
    while let Some(admitted) = passed.recv().await {
        let begun = match admitted {
            Admitted::Secure(stream, shown) => {
                let stream = Stream::Unix(stream);
                accept(&shell, stream, shown.peer, shown.validity)
            }
            Admitted::Plain(stream) if admits_plain => accept_plain(&shell, stream),
            Admitted::Plain(stream) => refuse_plain(&shell, Stream::Tcp(stream)),
        };
        if let Err(error) = begun {
            tracing::debug!(%error, "a connection was lost behind the gate of TLS");
        }
    }
}

fn refuse_plain(shell: &Rc<Shell>, stream: Stream) -> io::Result<()> {
    let text = "this server takes encrypted connections only; write iws:// instead of iw://, and \
                name its authority's certificate in IW_CA";
    let sink = Sink::Stream(Socket::new(stream)?);
    refuse(shell, sink, ErrorCode::Denied, text.to_string());
    Ok(())
}

/// The system says which user the peer is [NET-4].
fn accept_unix(shell: &Rc<Shell>, stream: UnixStream, peers: UnixPeers) -> io::Result<()> {
    let user = stream.peer_cred()?.uid();
    let own = rustix::process::geteuid().as_raw();
    let refusal = peers.refusal(user, own);
    let stream = Stream::Unix(stream.into_std()?);
    match refusal {
        None => {
            let peer = Peer {
                user: Some(user),
                ..Peer::default()
            };
            accept(shell, stream, peer, Arc::default())
        }
        Some(text) => {
            let sink = Sink::Stream(Socket::new(stream)?);
            refuse(shell, sink, ErrorCode::Denied, text);
            Ok(())
        }
    }
}

/// Begins to serve a connection, or to refuse it.
pub fn accept(
    shell: &Rc<Shell>,
    stream: Stream,
    peer: Peer,
    validity: Arc<Validity>,
) -> io::Result<()> {
    let mut sink = Some(Sink::Stream(Socket::new(stream)?));
    let make = |id| ClientSocket::new(id, sink.take().unwrap_or(Sink::Web), validity);
    let connection = shell.connect(peer, make);
    match (connection, sink) {
        (Some((connection, serving)), _) => {
            let task = serving::serve(shell.clone(), connection, serving);
            tasks::spawn(shell, "a connection", task);
        }
        (None, Some(sink)) => {
            let text = "this server has as many connections as it may have; try again later, or \
                        start it with a larger --max-connections";
            refuse(shell, sink, ErrorCode::TooLarge, text.to_string());
        }
        (None, None) => {}
    }
    Ok(())
}

fn whence(sink: &Sink) -> Place {
    let socket = match sink {
        Sink::Stream(socket) => socket,
        Sink::Web => return Place::Unknown,
    };
    socket.peer_address().map_or(Place::Unix, Place::Address)
}

/// Sends the error as far as a new socket takes it. If there is a place for the connection, the
/// peer's bytes are read meanwhile, because otherwise the system may drop the error.
fn refuse(shell: &Rc<Shell>, sink: Sink, code: ErrorCode, text: String) {
    if code == ErrorCode::Denied {
        shell.audit(Audited {
            from: whence(&sink),
            error: Some(code),
            ..Audited::of_server(Act::Login, false, text.clone())
        });
    }
    let connection = ClientSocket::new(0, sink, Arc::default());
    let error = ServerMessage::plain_error(0, code, text);
    connection.outbound.borrow_mut().push(error);
    connection.flush();
    if let Some(place) = shell.place() {
        tasks::spawn(
            shell,
            "a refused connection",
            serving::part(connection, place),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn net_4_a_unix_socket_is_its_users_own_unless_it_is_opened_to_all() {
        let refused = |peers: UnixPeers, peer| peers.refusal(peer, 1000).is_some();
        assert!(!refused(UnixPeers::Own, 1000));
        assert!(!refused(UnixPeers::Own, ROOT));
        assert!(refused(UnixPeers::Own, 1001));
        assert!(!refused(UnixPeers::All, 1001));
        let refusal = UnixPeers::Own.refusal(1001, 1000).unwrap();
        assert!(refusal.contains("--unix-socket all"), "{refusal}");
    }
}
