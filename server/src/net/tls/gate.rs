//! The thread through which TCP connections pass: it tells TLS from plain bytes, shakes hands, and
//! shuttles bytes.

use super::carrying::{carry, PARTING};
use super::certificate::{ClientCertificate, HostNames, Standing, HAS_EXPIRED, WAS_REVOKED};
use super::settings::{Configs, Settings, TlsOptions};
use super::trust::Trust;
use super::validity::Validity;
use crate::net::audit::Notes;
use crate::net::leash::{Leash, Leashed};
use crate::session::{Act, Audited, Crowd, Place};
use interweave_access::Peer;
use interweave_wire::protocol::ErrorCode;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream as StdTcpStream};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::rc::Rc;
use std::sync::mpsc::SyncSender;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpStream, UnixStream};
use tokio::signal::unix::{signal, SignalKind};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet, LocalSet};
use tokio::time::{interval, sleep, timeout};
use tokio_rustls::rustls::{CertificateError, Error as TlsError};
use tokio_rustls::server::TlsStream;
use tokio_rustls::TlsAcceptor;

/// The most connections whose peers have not said who they are. One more sends one away (crowd.rs).
pub const MOST_HALF_OPEN: usize = 256;
/// The connections that the engine has ended and whose peers have not taken their last bytes yet.
/// One more sends one away.
pub const MOST_PARTING: usize = 32;
/// The time in which a connection must have shown its first byte and shaken hands.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The bytes that a client may send until it has shaken hands, with its certificates [NET-8].
const MOST_HANDSHAKE_BYTES: usize = 24 << 10;
/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(1);
/// The first byte of a TLS connection [NET-5]: a record of the handshake.
const HANDSHAKE_RECORD: u8 = 0x16;
/// Accepted connections that the thread has not taken yet. Others wait in the system's queue.
const MOST_ARRIVING: usize = 16;
/// The ALPN name of HTTP [NET-6].
pub const HTTP_NAME: &[u8] = b"http/1.1";

/// The service that a connection asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Programs,
    Http,
}

/// A connection as the engine may serve it.
pub enum Admitted {
    Plain(StdTcpStream),
    /// The end of a pair whose other end carries what was decrypted.
    Secure(StdUnixStream, Shown),
}

/// The certificates that client and server have shown each other.
pub struct Shown {
    pub peer: Peer,
    /// The hosts of the server's certificate.
    pub names: Arc<HostNames>,
    /// Whether the client's certificate is still valid.
    pub validity: Arc<Validity>,
}

/// Where a listener brings the connections that it accepts.
#[derive(Debug, Clone)]
pub struct Entrance {
    arriving: mpsc::Sender<Arrival>,
    wanted: Use,
}

type Arrival = (StdTcpStream, Use);

impl Entrance {
    /// Brings a connection to the gate. Waits while the gate is busy, so that others wait in the
    /// system's queue.
    pub async fn bring(&self, stream: TcpStream) -> io::Result<()> {
        let closed = |_| io::Error::other("the thread of TLS has ended");
        let arrival = (stream.into_std()?, self.wanted);
        self.arriving.send(arrival).await.map_err(closed)
    }
}

/// Where connections that passed come out.
pub struct Passed {
    pub programs: mpsc::UnboundedReceiver<Admitted>,
    pub http: mpsc::Receiver<Admitted>,
}

/// Where connections that passed go in.
#[derive(Clone)]
struct Exits {
    programs: mpsc::UnboundedSender<Admitted>,
    http: mpsc::Sender<Admitted>,
}

/// The gate's handle on the engine's thread.
pub struct Gate {
    arriving: mpsc::Sender<Arrival>,
    ended: oneshot::Receiver<()>,
}

impl Gate {
    /// Reads the certificates and begins. `notes`: where the refusals of clients go.
    pub fn open(options: TlsOptions, notes: Option<Notes>) -> Result<(Gate, Passed), String> {
        let settings = Settings::new(options)?;
        let (entrance, arriving) = mpsc::channel(MOST_ARRIVING);
        let (to_programs, programs) = mpsc::unbounded_channel();
        let (to_http, http) = mpsc::channel(MOST_ARRIVING);
        let exits = Exits {
            programs: to_programs,
            http: to_http,
        };
        let (end, ended) = oneshot::channel();
        let (begin, begun) = std::sync::mpsc::sync_channel(1);
        let run = move || match run(settings, arriving, exits, notes, begin) {
            // The server may have gone before.
            Ok(()) => drop(end.send(())),
            Err(error) => tracing::error!(%error, "the thread of TLS cannot work"),
        };
        let thread = std::thread::Builder::new().name("iw-tls".to_string());
        thread
            .spawn(run)
            .map_err(|error| format!("the thread of TLS: {error}"))?;
        // A SIGHUP before the thread waits for one would end the process.
        let begun = begun.recv();
        begun.map_err(|_| "the thread of TLS cannot work; the log says why".to_string())?;
        let gate = Gate {
            arriving: entrance,
            ended,
        };
        Ok((gate, Passed { programs, http }))
    }

    pub fn entrance(&self, wanted: Use) -> Entrance {
        Entrance {
            arriving: self.arriving.clone(),
            wanted,
        }
    }

    /// Lets nobody in any more, and waits until connections have taken their last bytes.
    pub async fn close(self) {
        drop(self.arriving);
        // An error means that the thread has ended already.
        let _ = self.ended.await;
    }
}

fn run(
    settings: Settings,
    arriving: mpsc::Receiver<Arrival>,
    exits: Exits,
    notes: Option<Notes>,
    begin: SyncSender<()>,
) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, keep_gate(settings, arriving, exits, notes, begin))
}

async fn keep_gate(
    mut settings: Settings,
    mut arriving: mpsc::Receiver<Arrival>,
    exits: Exits,
    notes: Option<Notes>,
    begin: SyncSender<()>,
) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    // The starter waits for this.
    let _ = begin.send(());
    let mut look = interval(LOOK);
    let uncounted = Rc::new(Uncounted::new());
    let mut visits = JoinSet::new();
    loop {
        tokio::select! {
            arrived = arriving.recv() => {
                let Some(arrival) = arrived else { break };
                let guard = Guard {
                    configs: settings.configs(),
                    trust: settings.trust(),
                    exits: exits.clone(),
                    notes: notes.clone(),
                };
                let from = arrival.0.peer_addr().ok();
                let visit = visit(arrival, from, guard, uncounted.clone());
                let handle = visits.spawn_local(visit);
                uncounted.half_open.begin(from, handle);
            }
            Some(_) = visits.join_next() => {}
            _ = look.tick() => settings.look_again(),
            _ = hangup.recv() => settings.read_again(),
        }
    }
    uncounted.half_open.send_all_away();
    let rest = async { while visits.join_next().await.is_some() {} };
    // Whoever does not take its last bytes in time has them not.
    let _ = timeout(PARTING, rest).await;
    Ok(())
}

/// The connections that the engine does not count.
struct Uncounted {
    half_open: Bounded,
    parting: Bounded,
}

impl Uncounted {
    fn new() -> Self {
        Uncounted {
            half_open: Bounded::to(MOST_HALF_OPEN),
            parting: Bounded::to(MOST_PARTING),
        }
    }
}

/// A bounded number of connections. One more sends one of them away.
struct Bounded {
    most: usize,
    visits: RefCell<BTreeMap<u64, AbortHandle>>,
    crowd: RefCell<Crowd>,
    last: Cell<u64>,
}

impl Bounded {
    fn to(most: usize) -> Self {
        Bounded {
            most,
            visits: RefCell::default(),
            crowd: RefCell::default(),
            last: Cell::new(0),
        }
    }

    fn begin(&self, from: Option<SocketAddr>, visit: AbortHandle) {
        let mut visits = self.visits.borrow_mut();
        let mut crowd = self.crowd.borrow_mut();
        while crowd.count() >= self.most {
            let Some(first) = crowd.first_to_go() else {
                break;
            };
            crowd.end(first);
            if let Some(visit) = visits.remove(&first) {
                visit.abort();
            }
        }
        self.last.set(self.last.get() + 1);
        crowd.begin(self.last.get(), from);
        visits.insert(self.last.get(), visit);
    }

    /// Takes the visit out, if it is there.
    fn end(&self, visit: tokio::task::Id) -> Option<AbortHandle> {
        let mut visits = self.visits.borrow_mut();
        let number = *visits.iter().find(|(_, other)| other.id() == visit)?.0;
        self.crowd.borrow_mut().end(number);
        visits.remove(&number)
    }

    fn send_all_away(&self) {
        self.crowd.take();
        for visit in self.visits.take().into_values() {
            visit.abort();
        }
    }
}

/// The settings that decide whether a connection is let in.
struct Guard {
    configs: Configs,
    trust: watch::Receiver<Arc<Trust>>,
    exits: Exits,
    notes: Option<Notes>,
}

impl Guard {
    /// Notes that a connection ends because of its client's certificate [AUDIT-1].
    fn note_end(&self, peer: &Peer, text: &'static str) {
        tracing::info!("{text}, so its connection ends");
        if let Some(notes) = &self.notes {
            notes.note(Audited {
                who: Some(peer.identity()),
                from: Place::of(peer),
                error: Some(ErrorCode::Denied),
                ..Audited::of_server(Act::ConnectionEnded, false, text)
            });
        }
    }

    /// Notes that a client was not let in [AUDIT-1], if that is why the handshake failed.
    fn note_refusal(&self, error: &io::Error, from: Option<SocketAddr>) {
        let reason = error.get_ref().and_then(|error| error.downcast_ref());
        let (Some(notes), Some(text)) = (&self.notes, reason.and_then(refusal)) else {
            return;
        };
        notes.note(Audited {
            from: from.map_or(Place::Unknown, Place::Address),
            error: Some(ErrorCode::Denied),
            ..Audited::of_server(Act::Login, false, text)
        });
    }
}

/// Why a client is not let in; None: something else went wrong. Has few texts and none with a time,
/// so that the lines of a flood become one [AUDIT-4].
fn refusal(error: &TlsError) -> Option<&'static str> {
    use CertificateError as Wrong;
    let TlsError::InvalidCertificate(wrong) = error else {
        let shows_none = matches!(error, TlsError::NoCertificatesPresented);
        return shows_none.then_some("the client shows no certificate");
    };
    Some(match wrong {
        Wrong::Expired | Wrong::ExpiredContext { .. } => HAS_EXPIRED,
        Wrong::NotValidYet | Wrong::NotValidYetContext { .. } => {
            "the client's certificate is not valid yet"
        }
        Wrong::Revoked => WAS_REVOKED,
        Wrong::UnknownIssuer | Wrong::BadSignature => {
            "the client's certificate is not of an authority of --client-ca"
        }
        Wrong::InvalidPurpose | Wrong::InvalidPurposeContext { .. } => {
            "the client's certificate was not made for clients"
        }
        _ => "the client's certificate is not valid",
    })
}

/// A connection from its first byte to its end, or until it goes to the engine as it is.
async fn visit(arrival: Arrival, from: Option<SocketAddr>, guard: Guard, uncounted: Rc<Uncounted>) {
    let greeted = timeout(HANDSHAKE, greet(arrival, from, &guard)).await;
    let own_handle = uncounted.half_open.end(tokio::task::id());
    let part = || own_handle.map_or((), |handle| uncounted.parting.begin(from, handle));
    let ended = match greeted {
        Ok(Ok(Greeted::Plain(stream, exit))) => {
            let stream = stream.into_std();
            stream.map(|stream| exit.take(Admitted::Plain(stream)))
        }
        Ok(Ok(Greeted::Secure(stream, exit))) => shuttle(*stream, guard, exit, part).await,
        Ok(Ok(Greeted::Silent)) => Ok(()),
        Ok(Err(error)) => Err(error),
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    };
    uncounted.parting.end(tokio::task::id());
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended at the gate of TLS");
    }
}

enum Greeted {
    Plain(TcpStream, Exit),
    Secure(Box<TlsStream<Leashed<TcpStream>>>, Exit),
    /// The peer ended the connection before it said anything.
    Silent,
}

/// A connection's way to the engine.
enum Exit {
    Programs(mpsc::UnboundedSender<Admitted>),
    Http(mpsc::OwnedPermit<Admitted>),
}

impl Exits {
    /// Connections of HTTP have few places, and wait here until there is one.
    async fn to(&self, wanted: Use) -> io::Result<Exit> {
        match wanted {
            Use::Programs => Ok(Exit::Programs(self.programs.clone())),
            Use::Http => {
                let permit = self.http.clone().reserve_owned().await;
                let gone = |_| io::Error::other("nobody serves HTTP");
                permit.map(Exit::Http).map_err(gone)
            }
        }
    }
}

impl Exit {
    fn take(self, admitted: Admitted) {
        match self {
            // At the server's end there is no engine any more that would serve the connection.
            Exit::Programs(engine) => drop(engine.send(admitted)),
            Exit::Http(permit) => drop(permit.send(admitted)),
        }
    }
}

async fn greet(
    (stream, wanted): Arrival,
    from: Option<SocketAddr>,
    guard: &Guard,
) -> io::Result<Greeted> {
    let stream = TcpStream::from_std(stream)?;
    let mut first = [0];
    if stream.peek(&mut first).await? == 0 {
        return Ok(Greeted::Silent);
    }
    if first[0] != HANDSHAKE_RECORD {
        return Ok(Greeted::Plain(stream, guard.exits.to(wanted).await?));
    }
    let config = match wanted {
        Use::Programs => guard.configs.programs.clone(),
        Use::Http => guard.configs.http.clone(),
    };
    let leash = Arc::<Leash>::default();
    leash.hold(MOST_HANDSHAKE_BYTES);
    let stream = Leashed {
        stream,
        leash: leash.clone(),
    };
    let accepted = TlsAcceptor::from(config).accept(stream).await;
    let secure = accepted.inspect_err(|error| guard.note_refusal(error, from))?;
    leash.let_go();
    let wanted = match secure.get_ref().1.alpn_protocol() {
        Some(HTTP_NAME) => Use::Http,
        _ => wanted,
    };
    let exit = guard.exits.to(wanted).await?;
    Ok(Greeted::Secure(Box::new(secure), exit))
}

/// Carries bytes between the peer and the engine until both are done, one of them fails, or the
/// client's certificate is not valid any more.
async fn shuttle(
    mut stream: TlsStream<Leashed<TcpStream>>,
    mut guard: Guard,
    exit: Exit,
    part: impl FnOnce(),
) -> io::Result<()> {
    let (engines, own) = StdUnixStream::pair()?;
    engines.set_nonblocking(true)?;
    own.set_nonblocking(true)?;
    let mut own = UnixStream::from_std(own)?;
    let (leashed, session) = stream.get_ref();
    let chain = session.peer_certificates().unwrap_or_default();
    let certificate = ClientCertificate::of(chain);
    let peer = Peer {
        certificate: certificate.and_then(|certificate| certificate.common_name()),
        address: leashed.stream.peer_addr().ok(),
        ..Peer::default()
    };
    let standing = Standing::of(chain, guard.configs.trust.clone());
    let validity = Arc::<Validity>::default();
    let shown = Shown {
        peer: peer.clone(),
        names: guard.configs.names.clone(),
        validity: validity.clone(),
    };
    exit.take(Admitted::Secure(engines, shown));
    let why = tokio::select! {
        carried = carry(&mut stream, &mut own, part) => return carried,
        _ = expired(standing.left) => HAS_EXPIRED,
        why = lost_standing(&mut guard.trust, &standing) => why,
    };
    guard.note_end(&peer, why);
    // The engine is told before it sees the end. Otherwise it takes the connection for a lost one.
    validity.end();
    timeout(PARTING, stream.shutdown()).await?
}

/// Waits until the files say that the connection ends. Returns why.
async fn lost_standing(
    trust: &mut watch::Receiver<Arc<Trust>>,
    standing: &Standing,
) -> &'static str {
    loop {
        let why = standing.end(&trust.borrow_and_update());
        if let Some(why) = why {
            return why;
        }
        if trust.changed().await.is_err() {
            // The gate is closing.
            std::future::pending().await
        }
    }
}

async fn expired(left: Option<Duration>) {
    match left {
        Some(left) => sleep(left).await,
        None => std::future::pending().await,
    }
}
