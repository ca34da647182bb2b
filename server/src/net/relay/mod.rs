//! Connections that are passed on to another server of the space [SPACE-48..54].
//!
//! The engine has let the client in. The store is asked whether the address is that of a member;
//! only then a connection is made. Bytes are passed on by a thread of their own, so that the
//! engine's thread has no work with them. The connection's own task waits here, and ends it.

mod passing;
mod reaching;
mod web;

use super::client_socket::ClientSocket;
use super::shell::Shell;
use super::socket::{Socket, Stream};
use super::tls::TlsOptions;
use crate::session::unreachable;
use bytes::Bytes;
use interweave_store::Elsewhere;
use interweave_wire::fields::readable;
use interweave_wire::protocol::{Hello, MemberInfo, MemberState, MessageType};
use interweave_wire::{Message, Rejection};
use passing::{pass, End};
use reaching::Encryption;
use std::cell::Cell;
use std::future::{pending, Future};
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
pub use web::of_web;

/// The time in which the other server must take a connection.
const CONNECT: Duration = Duration::from_secs(5);

pub const TOO_EARLY: &str = "a client that asks to be passed on says nothing after HELLO before \
                             the answer";

/// Where a connection is to be passed on to, and what its client said.
#[derive(Debug)]
pub struct Wanted {
    pub stream: u32,
    pub to: Elsewhere,
    pub hello: Box<Hello>,
}

/// The connections that are passed on, and their thread.
pub struct Relays {
    thread: Handle,
    /// The thread ends when this is dropped.
    _end: oneshot::Sender<()>,
    /// None: connections to other servers are not encrypted.
    encryption: Option<Arc<Encryption>>,
    most: usize,
    counts: Rc<Counts>,
    bytes: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Counts {
    open: Cell<usize>,
    begun: Cell<u64>,
    failed: Cell<u64>,
}

/// What /metrics says of them.
#[derive(Debug, Clone, Copy)]
pub struct RelayNumbers {
    pub open: u64,
    pub begun: u64,
    pub failed: u64,
    pub bytes: u64,
}

impl Relays {
    /// Begins the thread. `authorities`: of the certificates of the other servers, if not those of
    /// clients' certificates or the system's.
    pub fn begin(
        most: usize,
        tls: Option<&TlsOptions>,
        authorities: Option<&Path>,
    ) -> Result<Relays, String> {
        let encryption = tls
            .map(|tls| Encryption::of(tls, authorities))
            .transpose()?;
        let (end, ended) = oneshot::channel::<()>();
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| format!("the thread that passes connections on: {error}"))?;
        let thread = runtime.handle().clone();
        let (give, given) = std::sync::mpsc::channel::<Runtime>();
        let run = move || {
            let Ok(runtime) = given.recv() else {
                return;
            };
            // Nothing is ever sent: the sender goes with the server.
            let _ = runtime.block_on(ended);
            runtime.shutdown_background();
        };
        let begun = std::thread::Builder::new()
            .name("iw-relay".to_string())
            .spawn(run);
        if let Err(error) = begun {
            // It may not be dropped here, in the server's event loop.
            runtime.shutdown_background();
            return Err(format!("the thread that passes connections on: {error}"));
        }
        // The thread waits for it.
        let _ = give.send(runtime);
        Ok(Relays {
            thread,
            _end: end,
            encryption: encryption.map(Arc::new),
            most,
            counts: Rc::default(),
            bytes: Arc::default(),
        })
    }

    pub fn numbers(&self) -> RelayNumbers {
        RelayNumbers {
            open: self.counts.open.get() as u64,
            begun: self.counts.begun.get(),
            failed: self.counts.failed.get(),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }

    fn enter(&self) -> Result<Place, Rejection> {
        let open = &self.counts.open;
        if open.get() >= self.most {
            return Err(unreachable(format!(
                "this server passes {} connections on already, which is the most; connect to \
                 another server of the space, or try later",
                open.get()
            )));
        }
        open.set(open.get() + 1);
        Ok(Place(self.counts.clone()))
    }

    /// Runs the work on the thread. The work ends early if the returned value is dropped.
    fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Work<T> {
        Work(self.thread.spawn(work))
    }
}

/// A connection that is counted as passed on.
struct Place(Rc<Counts>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
    }
}

/// Work on the thread of relays.
struct Work<T>(JoinHandle<T>);

impl<T> Work<T> {
    /// None: it panicked, which the log says.
    async fn done(mut self) -> Option<T> {
        (&mut self.0).await.ok()
    }
}

impl<T> Drop for Work<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection that is about to be passed on: the other server has been reached.
struct Relay<'a> {
    relays: &'a Relays,
    owner: End,
    hello: Bytes,
    patience: Duration,
    _place: Place,
}

impl Relay<'_> {
    /// Passes on what the client's end says, and the other way round, until one of them ends.
    /// `client` makes the end, on the thread that has it then.
    async fn run(self, client: impl FnOnce() -> io::Result<End> + Send + 'static) {
        let (owner, hello, patience) = (self.owner, self.hello, self.patience);
        let bytes = self.relays.bytes.clone();
        let counts = &self.relays.counts;
        counts.begun.set(counts.begun.get() + 1);
        let passing = self
            .relays
            .run(async move { pass(client()?, owner, &hello, patience, &bytes).await });
        if let Some(Err(error)) = passing.done().await {
            tracing::debug!(%error, "a connection that was passed on is lost");
        }
    }
}

/// Passes a connection over TCP or a Unix socket on, until it ends or cannot be passed on. Its
/// client is told then.
pub async fn of_stream(
    shell: &Rc<Shell>,
    connection: &ClientSocket,
    socket: &Socket,
    wanted: Wanted,
) {
    let Some(relay) = begin(shell, connection.id, &wanted).await else {
        // The task waits for what the engine makes of it.
        return pending().await;
    };
    let Ok(second) = socket.second() else {
        return;
    };
    let end = move || -> io::Result<End> {
        Ok(match second {
            Stream::Tcp(stream) => Box::new(TcpStream::from_std(stream)?),
            Stream::Unix(stream) => Box::new(UnixStream::from_std(stream)?),
        })
    };
    relay.run(end).await;
}

/// Reaches the server that is wanted. None: it cannot be, and the client is told.
/// REQUIRES: the server shares its store, else the engine passes nothing on.
async fn begin<'a>(shell: &'a Shell, connection: u64, wanted: &Wanted) -> Option<Relay<'a>> {
    let relays = shell.relays()?;
    match reach(shell, relays, &wanted.to).await {
        Ok((owner, place)) => Some(Relay {
            relays,
            owner,
            hello: hello_frame(wanted),
            patience: shell.lease(),
            _place: place,
        }),
        Err(rejection) => {
            let failed = &relays.counts.failed;
            failed.set(failed.get() + 1);
            tracing::debug!(connection, "not passed on: {}", rejection.text);
            shell.event(|engine, now_ns| {
                engine.not_relayed(now_ns, connection, wanted.stream, &rejection);
            });
            None
        }
    }
}

async fn reach(shell: &Shell, relays: &Relays, to: &Elsewhere) -> Result<(End, Place), Rejection> {
    let place = relays.enter()?;
    find_member(shell, to).await?;
    let work = reaching::reach(to.clone(), relays.encryption.clone());
    let reached = match timeout(CONNECT, relays.run(work).done()).await {
        Ok(Some(reached)) => reached,
        Ok(None) => Err("the thread that passes connections on has ended".to_string()),
        Err(_) => Err(format!("no answer within {} s", CONNECT.as_secs())),
    };
    let owner = reached.map_err(|why| {
        unreachable(format!(
            "this server cannot reach {} either, to pass the connection on: {why}",
            readable(&to.address)
        ))
    })?;
    Ok((owner, place))
}

/// Refuses an address that is not that of another member which is neither over nor ended: a client
/// cannot make the server connect elsewhere [SPACE-50].
async fn find_member(shell: &Shell, to: &Elsewhere) -> Result<(), Rejection> {
    let is_wanted = |member: &MemberInfo| {
        let is_gone = matches!(member.state, MemberState::Over | MemberState::Ended);
        let is_there = member.address == to.address && member.tls_name == to.tls_name;
        is_there && !is_gone && !member.is_asked
    };
    let mut after = 0;
    loop {
        let page = match shell.members(after, false).await {
            Some(Ok(page)) => page,
            Some(Err(error)) => {
                return Err(unreachable(format!(
                    "this server cannot look for the servers of its space: {error}; try again"
                )))
            }
            None => return Err(unreachable("this server is ending; connect to another one")),
        };
        if page.members.iter().any(is_wanted) {
            return Ok(());
        }
        match page.members.last().filter(|_| page.more) {
            Some(last) => after = last.number,
            None => break,
        }
    }
    Err(unreachable(format!(
        "no other server of this space that runs has the address {} and the TLS name \"{}\"; ask \
         this server for the segment again",
        readable(&to.address),
        readable(&to.tls_name)
    )))
}

/// What the other server hears first: the client's HELLO, on the stream that the client chose.
fn hello_frame(wanted: &Wanted) -> Bytes {
    let (stream, hello) = (wanted.stream, &*wanted.hello);
    let hello = Message::new(MessageType::Hello, stream, hello, Bytes::new());
    // It has no bulk, so it is one frame.
    let frame = hello.into_frames().next_frame();
    frame.map(|(head, _)| head).unwrap_or_default()
}
