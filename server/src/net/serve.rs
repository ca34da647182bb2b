//! A server from its start to its end.

use super::access_files::{self, AccessFiles, AccessOptions, Change};
use super::address::ListenAddress;
use super::allocator;
use super::appends;
use super::audit::{AuditLog, AuditOptions};
use super::clock;
use super::complaints::Complaints;
use super::descriptors;
use super::door::Origin;
use super::guests::Gated;
use super::http;
use super::listen::{self, Listener, UnixPeers};
use super::own_token::{Keeper, OwnToken};
use super::relay::Relays;
use super::shell::{Shell, Stored};
use super::space_view;
use super::spinning::{self, Spinning};
use super::tasks;
use super::tls::{Gate, TlsOptions, Use};
use crate::session::{Act, Audited, Config, Engine};
use interweave_store::{RecoveredSegment, SegmentStore, StoreError, StoreStatus};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{signal, Signal, SignalKind};
use tokio::sync::mpsc::{unbounded_channel, UnboundedReceiver};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, LocalSet};
use tokio::time::timeout;

/// The time that connections have at the end to take what is queued.
const PARTING: Duration = Duration::from_secs(1);

/// The options of a server.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    pub listen: Vec<ListenAddress>,
    pub http: Option<SocketAddr>,
    /// Pages of other servers that may ask over HTTP.
    pub origins: Vec<Origin>,
    /// The users whom the Unix sockets admit.
    pub unix_peers: UnixPeers,
    /// Whether the server makes a token of its own, which the programs of its user find [OWN-1].
    pub makes_token: bool,
    /// Whether stderr is a terminal, which may show that token.
    pub has_terminal: bool,
    /// None: connections are not encrypted.
    pub tls: Option<TlsOptions>,
    /// The authorities of the certificates of the space's other servers [SPACE-51]. None: those of
    /// clients' certificates, or the system's.
    pub space_authorities: Option<PathBuf>,
    /// The files that say who may do what.
    pub access: AccessOptions,
    pub max_connections: usize,
    /// How long to look for a message before the thread sleeps; zero: not at all.
    pub spin: Duration,
    /// None: the server keeps no audit log.
    pub audit: Option<AuditOptions>,
    pub engine: Config,
}

/// Why a server ended without being asked.
#[derive(Debug)]
pub enum ServeError {
    /// What the operating system refused, and why.
    Io(String, std::io::Error),
    Store(StoreError),
    /// Which file of --tls-cert and its like is not sound, and why.
    Tls(String),
    /// Why the audit log cannot be written.
    Audit(String),
    /// Which of --tokens and --rules is not sound, and why.
    Access(String),
    /// An error of ours in one of the server's tasks.
    Failed(String),
    /// A second signal came before the server had stopped.
    Hurried,
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Io(what, error) => write!(f, "{what}: {error}"),
            ServeError::Store(error) => error.fmt(f),
            ServeError::Tls(text) | ServeError::Access(text) | ServeError::Audit(text) => {
                f.write_str(text)
            }
            ServeError::Failed(text) => write!(
                f,
                "an error of the server ended it: {text}; start it again, what was acknowledged is \
                 in the store"
            ),
            ServeError::Hurried => f.write_str("stopped at once by a second signal"),
        }
    }
}

impl std::error::Error for ServeError {}

fn failed(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> ServeError {
    let what = what.into();
    move |error| ServeError::Io(what, error)
}

/// Serves until SIGTERM or SIGINT. `ready` hears each address that the server listens on. `ready`
/// is not a generic parameter, because then the whole server would be compiled in the caller's
/// crate, with the few optimisations of that crate.
pub fn serve(
    options: ServeOptions,
    store: Box<dyn SegmentStore>,
    recovered: Vec<RecoveredSegment>,
    ready: &mut dyn FnMut(&ListenAddress),
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed("the event loop"))?;
    let local = LocalSet::new();
    let result = local.block_on(&runtime, run(options, store, recovered, ready));
    runtime.shutdown_background();
    result
}

/// Warns of all bytes of the store that are not as they were written [LOG-15].
fn warn_of_losses(found: &StoreStatus) {
    for damage in &found.damage {
        tracing::warn!("damage in the store: {damage}");
    }
    if found.lost_bytes > 0 {
        tracing::warn!(
            torn_bytes = found.lost_bytes,
            "the end of the log is damaged or gone, and was acknowledged"
        );
    }
    if found.torn_bytes > 0 {
        tracing::warn!(
            torn_bytes = found.torn_bytes,
            "the log ended in bytes that are not whole records; as far as is known they were not \
             acknowledged as synced, and they were cut off"
        );
    }
}

/// Gives the engine the segments of the store.
fn with_segments(
    mut engine: Engine,
    store: &dyn SegmentStore,
    recovered: Vec<RecoveredSegment>,
) -> Engine {
    warn_of_losses(&store.status());
    let segments = recovered.len();
    for remark in engine.recover(clock::now_ns(), recovered) {
        tracing::error!("{remark}");
    }
    // Of what was read to build very many segments, more was let go than they take.
    allocator::give_back();
    tracing::info!(segments, "the store is open");
    engine
}

async fn run(
    options: ServeOptions,
    store: Box<dyn SegmentStore>,
    recovered: Vec<RecoveredSegment>,
    ready: &mut dyn FnMut(&ListenAddress),
) -> Result<(), ServeError> {
    let wanted = descriptors::Wanted {
        connections: options.max_connections,
        is_secure: options.tls.is_some(),
        relays: options.engine.space_lease_ms.is_some(),
    };
    let shares = descriptors::share_out(wanted);
    let shares = shares.map_err(failed("sharing out file descriptors"))?;
    let mut signals = Signals::new()?;
    let (stored_sender, stored) = unbounded_channel();
    let audit_log = options.audit.clone().map(AuditLog::open).transpose();
    let audit_log = audit_log.map_err(ServeError::Audit)?;
    let engine = Engine::new(Config {
        audits: audit_log.is_some(),
        ..options.engine.clone()
    });
    let engine = with_segments(engine, store.as_ref(), recovered);
    let spin_ns = u64::try_from(options.spin.as_nanos()).unwrap_or(u64::MAX);
    let spinning = Spinning::new(spin_ns);
    let shell = Shell::new(engine, store, stored_sender, shares.connections, spinning);
    if let Some(log) = audit_log {
        begin_audit(&shell, log)?;
    }
    begin_relays(&shell, &options, shares.relays)?;
    begin_storing(&shell, stored);
    tasks::spawn(&shell, "the timers", {
        let shell = shell.clone();
        async move { shell.keep_time().await }
    });
    let look = space_view::look(shell.clone());
    tasks::spawn(&shell, "looks at the space", look);
    if spin_ns > 0 {
        tasks::spawn(
            &shell,
            "looking for messages",
            spinning::spin(shell.clone()),
        );
    }
    shell.event(|engine, now_ns| engine.advance(now_ns));
    let begun = begin_serving(&shell, &options, shares.http, (&mut signals, ready)).await;
    let (gate, listening, own_token) = match begun {
        Ok(Some(begun)) => begun,
        not_begun => {
            // Nothing has changed, so the store ends cleanly.
            let stopped = stop(&shell, (None, None), &mut signals).await;
            shell.end_audit();
            stopped?;
            return not_begun.map(drop);
        }
    };
    tokio::select! {
        _ = signals.next() => tracing::info!("stopping"),
        _ = shell.ended() => tracing::error!("stopping without being asked"),
    };
    // The token's files go while the ports are still this server's.
    drop(own_token);
    for task in listening.programs {
        task.abort();
    }
    let stopped = stop(&shell, (gate, listening.http), &mut signals).await;
    shell.end_audit();
    stopped
}

/// Begins to listen, once the server has standing. None: it was told to end before.
async fn begin_serving(
    shell: &Rc<Shell>,
    options: &ServeOptions,
    http: usize,
    (signals, ready): (&mut Signals, &mut dyn FnMut(&ListenAddress)),
) -> Result<Option<Begun>, ServeError> {
    tokio::select! {
        _ = shell.standing() => {}
        _ = signals.next() => return Ok(None),
    };
    let files = open_access(shell, &options.access).await?;
    let are_shared = files.as_ref().is_some_and(AccessFiles::are_shared);
    let token = own_token(shell, options.makes_token && !are_shared)?;
    // Before anybody can connect.
    keep_access(shell, files)?;
    begin_listening(shell, options, token, http, ready)
        .await
        .map(Some)
}

/// From now on the store gets what the engine gives it, and the engine hears the answers.
fn begin_storing(shell: &Rc<Shell>, stored: UnboundedReceiver<Stored>) {
    let answers = hear_store(shell.clone(), stored);
    tasks::spawn(shell, "the store's answers", answers);
    let appends = appends::hand_over_each_turn(shell.clone());
    tasks::spawn(shell, "what goes to the store", appends);
}

/// From now on a server that shares its store passes connections on.
fn begin_relays(shell: &Shell, options: &ServeOptions, most: usize) -> Result<(), ServeError> {
    if options.engine.space_lease_ms.is_none() {
        return Ok(());
    }
    let authorities = options.space_authorities.as_deref();
    let relays = Relays::begin(most, options.tls.as_ref(), authorities);
    shell.begin_relays(relays.map_err(ServeError::Tls)?);
    Ok(())
}

fn begin_audit(shell: &Rc<Shell>, log: AuditLog) -> Result<(), ServeError> {
    let hangup = signal(SignalKind::hangup()).map_err(failed("listening for signals"))?;
    tasks::spawn(shell, "SIGHUP", reopen_audit(shell.clone(), hangup));
    shell.begin_audit(log);
    Ok(())
}

async fn reopen_audit(shell: Rc<Shell>, mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        shell.reopen_audit();
    }
}

/// Makes the server's own token, if it is to have one, and lets in whoever shows it.
fn own_token(shell: &Shell, is_wanted: bool) -> Result<OwnToken, ServeError> {
    if !is_wanted {
        return Ok(OwnToken::none());
    }
    let made = OwnToken::make().map_err(failed("making a token"));
    made.map(|(token, access)| {
        shell.event(|engine, now_ns| engine.set_access(now_ns, access.into()));
        token
    })
}

/// What is open while a server runs: the gate of TLS, the listeners, the token's files.
type Begun = (Option<Gate>, Listening, Keeper);

struct Listening {
    programs: Vec<JoinHandle<()>>,
    http: Option<JoinHandle<()>>,
}

/// Reads the files of rights, and the store's rules, on a thread of its own: the store may take a
/// while, and a lease is renewed meanwhile.
async fn open_access(
    shell: &Rc<Shell>,
    options: &AccessOptions,
) -> Result<Option<AccessFiles>, ServeError> {
    let source = shell.access_source().map_err(ServeError::Store)?;
    let options = options.clone();
    let (opened, files) = oneshot::channel();
    let thread = std::thread::Builder::new().name("iw-access".to_string());
    let read = move || {
        // The server may have been told to end meanwhile.
        let _ = opened.send(AccessFiles::open(&options, source));
    };
    thread.spawn(read).map_err(failed("reading the rules"))?;
    let ended = |_| ServeError::Failed("the thread that reads the rules panicked".to_string());
    files.await.map_err(ended)?.map_err(ServeError::Access)
}

/// From now on the engine holds to what the files say, if there are any.
fn keep_access(shell: &Rc<Shell>, files: Option<AccessFiles>) -> Result<(), ServeError> {
    let Some(files) = files else {
        return Ok(());
    };
    let to_engine = {
        let shell = shell.clone();
        move |change: Change| {
            if let Some(access) = change.access {
                shell.event(|engine, now_ns| engine.set_access(now_ns, access));
            }
            let Change {
                version, unread, ..
            } = change;
            shell.event(|engine, now_ns| engine.note_rules(now_ns, version, unread));
            // Whoever reads that a file was taken finds that it holds.
            for file in &change.reloads {
                let text = &*file.text;
                match file.taken {
                    true => tracing::info!("{text}"),
                    false => tracing::error!("{text}"),
                }
                shell.audit(Audited::of_server(Act::Reload, file.taken, text));
            }
            if change.asked > 0 {
                shell.event(|engine, now_ns| {
                    engine.files_read(now_ns, change.asked, change.reloads);
                });
            }
        }
    };
    let kept = access_files::begin(files, to_engine);
    let kept = kept.map_err(failed("watching the tokens file and the rules file"))?;
    let (wishes, kept) = kept;
    shell.begin_files(wishes);
    tasks::spawn(shell, "the tokens file and the rules file", kept);
    Ok(())
}

/// Begins to watch the files of rights, opens the gate of TLS, if there is one, and begins to
/// listen.
async fn begin_listening(
    shell: &Rc<Shell>,
    options: &ServeOptions,
    mut own_token: OwnToken,
    most_http: usize,
    ready: &mut dyn FnMut(&ListenAddress),
) -> Result<Begun, ServeError> {
    let mut gate = None;
    let mut gated = None;
    if let Some(tls) = &options.tls {
        let (opened, passed) =
            Gate::open(tls.clone(), shell.audit_notes()).map_err(ServeError::Tls)?;
        let serve = listen::serve_admitted(shell.clone(), passed.programs, tls.admits_plain);
        tasks::spawn(shell, "connections behind the gate of TLS", serve);
        gated = Some(Gated {
            entrance: opened.entrance(Use::Http),
            passed: passed.http,
            admits_plain: tls.admits_plain,
        });
        gate = Some(opened);
    }
    let mut bound = Bound::default();
    listen_for_http(
        shell,
        options,
        gated,
        most_http,
        (&mut bound, &mut own_token),
    )?;
    listen(shell, options, gate.as_ref(), (&mut bound, &mut own_token)).await?;
    let is_encrypted = options.tls.as_ref().is_some_and(|tls| !tls.admits_plain);
    let scheme = if is_encrypted { "https" } else { "http" };
    let page = bound.http.map(|http| (scheme, http));
    own_token.tell(page, options.has_terminal);
    own_token.warn_of_failure(&bound.addresses, options.tls.is_some());
    for address in &bound.addresses {
        tracing::info!(%address, "listening");
        ready(address);
    }
    let kept = own_token.keep();
    let kept = kept.map_err(failed("looking after the files of the server's token"))?;
    let listening = Listening {
        programs: bound.tasks,
        http: bound.http_task,
    };
    Ok((gate, listening, kept))
}

/// The listeners of a server.
#[derive(Default)]
struct Bound {
    tasks: Vec<JoinHandle<()>>,
    addresses: Vec<ListenAddress>,
    http: Option<SocketAddr>,
    http_task: Option<JoinHandle<()>>,
}

fn listen_for_http(
    shell: &Rc<Shell>,
    options: &ServeOptions,
    gated: Option<Gated>,
    most: usize,
    (all, own_token): (&mut Bound, &mut OwnToken),
) -> Result<(), ServeError> {
    let Some(address) = options.http else {
        return Ok(());
    };
    let origins = options.origins.clone();
    let listening = listen::listen_tcp(address, own_token);
    let begun =
        listening.and_then(|listener| http::serve(shell.clone(), listener, gated, origins, most));
    let what = format!("listening on {address} for HTTP");
    let (bound, task) = begun.map_err(failed(what))?;
    tracing::info!(address = %bound, "HTTP: the viewer, /healthz, /readyz, /metrics, /ws");
    all.http = Some(bound);
    all.http_task = Some(task);
    Ok(())
}

/// Begins to listen on all addresses of programs.
async fn listen(
    shell: &Rc<Shell>,
    options: &ServeOptions,
    gate: Option<&Gate>,
    (all, own_token): (&mut Bound, &mut OwnToken),
) -> Result<(), ServeError> {
    for address in &options.listen {
        let what = format!("listening on {address}");
        let entrance = gate.map(|gate| gate.entrance(Use::Programs));
        let (address, listeners) = Listener::bind(address, options.unix_peers, entrance, own_token)
            .await
            .map_err(failed(what))?;
        for listener in listeners {
            let task = listener.serve(shell.clone());
            all.tasks.push(tasks::spawn(shell, "a listener", task));
        }
        all.addresses.push(address);
    }
    let held = listen::hold_names(&all.addresses);
    let held = held.map_err(failed("listening".to_string()))?;
    let holding = async move {
        let _held = held;
        std::future::pending::<()>().await;
    };
    all.tasks.push(tasks::spawn(shell, "held names", holding));
    let addresses = all.addresses.iter().map(ListenAddress::to_string);
    shell.listening.replace(addresses.collect());
    Ok(())
}

/// Stops in order. Stops at once if a second signal comes. HTTP tells meanwhile, at /readyz and
/// /healthz, that the server stops.
async fn stop(
    shell: &Rc<Shell>,
    (gate, http): (Option<Gate>, Option<JoinHandle<()>>),
    signals: &mut Signals,
) -> Result<(), ServeError> {
    let stopped = tokio::select! {
        _ = shell.failed() => Ok(()),
        stopped = shell.stop() => stopped,
        _ = signals.next() => return Err(ServeError::Hurried),
    };
    if let Some(text) = shell.failure() {
        return Err(ServeError::Failed(text));
    }
    if let Some(lost) = shell.lost_store() {
        return Err(ServeError::Store(lost));
    }
    stopped.map_err(ServeError::Store)?;
    if let Some(http) = http {
        http.abort();
    }
    // Connections take their last messages, if they do so soon.
    let _ = timeout(PARTING, shell.parted()).await;
    if let Some(gate) = gate {
        gate.close().await;
    }
    shell.let_segments_go();
    tracing::info!("stopped cleanly");
    Ok(())
}

async fn hear_store(shell: Rc<Shell>, mut stored: UnboundedReceiver<Stored>) {
    let mut complaints = Complaints::default();
    while let Some(message) = stored.recv().await {
        if let Some(error) = message.error() {
            if let Some(unsaid) = complaints.take(&error.to_string(), Instant::now()) {
                tracing::warn!(%error, unsaid, "the store refused");
            }
        }
        shell.told(message);
    }
}

/// The signals that end a server.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, ServeError> {
        let listen = |kind| signal(kind).map_err(failed("listening for signals"));
        Ok(Signals {
            terminate: listen(SignalKind::terminate())?,
            interrupt: listen(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
