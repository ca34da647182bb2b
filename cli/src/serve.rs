//! `interweave serve`: options, store and logs of a server; the server itself is interweave-server.

use crate::serve_audit::AuditArgs;
use crate::serve_init::InitArgs;
use crate::serve_space::SpaceArgs;
use crate::serve_tls::{self, TlsArgs};
use clap::{Args, ValueEnum};
use interweave_server::net::{
    self, AccessOptions, ListenAddress, Origin, ServeError, ServeOptions, TlsOptions, UnixPeers,
};
use interweave_server::session::{Config, Order, Tuning};
use interweave_store::{EmbeddedStore, MemoryStore, Options, RecoveredSegment, SegmentStore};
use interweave_store_postgres::{Options as PostgresOptions, PostgresStore, Target};
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::prelude::*;

const EXAMPLES: &str = "\
Examples:
  interweave serve
      on 127.0.0.1:7747, HTTP on 127.0.0.1:7748, data in ~/.local/share/interweave; for the
      programs of this user, and for browsers with the link that it prints
  interweave serve --store memory --listen 127.0.0.1:0
      keeps nothing; prints which port it was given
  interweave serve --store /var/lib/interweave --listen unix:/run/interweave.sock --http none
      on a Unix socket only
  interweave serve --store postgres://interweave@db.example/interweave
      keeps segments in PostgreSQL; PGPASSFILE names the file with the password

One line `listening ADDRESS` is printed for each address once clients can connect. SIGTERM or
Ctrl-C stops in order; a second one stops at once. Logs go to stderr; IW_LOG=debug shows more.";

/// Run a server
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Serve {
    /// Where clients connect: HOST:PORT, or unix:PATH; may be given again. An address that other
    /// hosts reach needs --tls required, and --client-ca, --tokens or --rules
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7747")]
    listen: Vec<ListenAddress>,
    /// Where the viewer, /healthz, /readyz, /metrics and WebSockets are: HOST:PORT, or none. An
    /// address that other hosts reach needs what --listen needs there
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7748", value_parser = http)]
    http: Http,
    /// A page that may also ask over HTTP, like http://localhost:3000; may be given again. Pages of
    /// this server may always ask
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<Origin>,
    /// The users that the Unix sockets admit: the one who runs the server and root, or all, which
    /// needs --tokens, --rules or --insecure
    #[arg(long, value_enum, default_value_t = Peers::Own)]
    unix_socket: Peers,
    /// The directory that keeps segments, `memory`, or a database of PostgreSQL as
    /// postgres://USER@HOST/DATABASE [default: $XDG_DATA_HOME/interweave or
    /// ~/.local/share/interweave]
    #[arg(long, value_name = "DIR|memory|URL")]
    store: Option<String>,
    /// With a store on PostgreSQL: no synchronous standby is wanted, one copy is enough
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false,
          default_missing_value = "true", value_name = "true|false")]
    store_alone: bool,
    /// A file of these options, a line each: `lease = 10`; what is given here goes before it
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// How long a writer lock, and a session without a connection, last without renewal
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = milliseconds)]
    lease: u32,
    /// How long a writer lock lasts with renewals
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = milliseconds)]
    max_hold: u32,
    /// How often clients hear from the server at least
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = milliseconds)]
    heartbeat: u32,
    /// Bytes a segment may have when its creator says nothing: a number, or with K, M or G
    #[arg(long, value_name = "BYTES", default_value = "1G", value_parser = bytes)]
    quota: u64,
    /// Bytes that a creator may ask for at most
    #[arg(long, value_name = "BYTES", default_value = "16G", value_parser = bytes)]
    max_quota: u64,
    /// How many segments there may be before no more are created; a small one takes about 2 KiB
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    max_segments: usize,
    /// How many clients may be connected at a time; each counts as two file descriptors
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    max_connections: usize,
    /// How long to look for the next message before sleeping, at most 1000; 0: not at all. A server
    /// with a processor of its own answers sooner so
    #[arg(long, value_name = "MICROSECONDS", default_value_t = 0,
          value_parser = clap::value_parser!(u32).range(..=1000))]
    spin_us: u32,
    /// What the diff cache of a segment holds at most; 0: every diff is collected anew
    #[arg(long, value_name = "BYTES", default_value = "16M", value_parser = bytes_or_none)]
    diff_cache: u64,
    /// The order of blocks in diffs, and so in fresh copies: as they were last
    /// changed, or by serial
    #[arg(long, value_enum, default_value_t = Layout::Version)]
    layout: Layout,
    /// Whether the next block is looked for after the last one before it is searched for
    #[arg(long, value_enum, default_value_t = Switch::On)]
    prediction: Switch,
    /// How logs are written
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
    #[command(flatten)]
    space: SpaceArgs,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    init: InitArgs,
    #[command(flatten)]
    access: AccessArgs,
    #[command(flatten)]
    audit: AuditArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Who may do what")]
struct AccessArgs {
    /// The tokens of clients, made by `interweave token new`; read again when it changes. With it a
    /// client must show a token or a certificate, or come by a Unix socket. Without it and --rules
    /// the server lets in the programs of this user alone, which find a token that it makes
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// What each client may do, as docs/operations.md says; read again when it changes. Without it
    /// a client that is let in may do everything
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// The rules and tokens are those in the store, which all its servers share: `interweave rules
    /// push` puts them there. They hold also without this option if the store has some
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false,
          default_missing_value = "true", value_name = "true|false")]
    shared_rules: bool,
    /// Let in the programs of this user alone, which find a token that the server makes at its
    /// start. This is the default without --tokens and --rules
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_value_t = false,
          default_missing_value = "true")]
    own_token: bool,
    /// Without --tokens and --rules: let everybody who can connect do everything, at addresses that
    /// other hosts reach, too, and without encryption
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = false,
          default_missing_value = "true", value_name = "true|false")]
    insecure: bool,
}

const UNIX_SOCKET_OF_ALL: &str =
    "--unix-socket all lets in other users, and without --tokens and --rules this server lets in \
     its own user alone; say by --rules who may do what, or leave --unix-socket out";

impl AccessArgs {
    /// Whether the server makes a token of its own [OWN-1]. An error: two options contradict.
    fn makes_token(&self) -> Result<bool, String> {
        let file = match (&self.tokens, &self.rules) {
            _ if self.shared_rules => Some("--shared-rules"),
            (Some(_), _) => Some("--tokens"),
            (None, Some(_)) => Some("--rules"),
            (None, None) => None,
        };
        if self.shared_rules && (self.tokens.is_some() || self.rules.is_some()) {
            let text =
                "--shared-rules says that the store has rules and tokens: leave --rules and \
                        --tokens out";
            return Err(text.to_string());
        }
        let wished = match (self.own_token, self.insecure) {
            (true, true) => return Err("choose one of --own-token and --insecure".to_string()),
            (true, false) => Some("--own-token is for servers without tokens and rules"),
            (false, true) => Some("--insecure lets everybody in"),
            (false, false) => None,
        };
        match (file, wished) {
            (Some(file), Some(wished)) => Err(format!(
                "{wished}, and {file} says whom to let in: choose one"
            )),
            (file, _) => Ok(file.is_none() && !self.insecure),
        }
    }
}

/// A store, and what was found in it.
struct Opened {
    store: Box<dyn SegmentStore>,
    recovered: Vec<RecoveredSegment>,
    /// Whether it keeps anything.
    stored: bool,
    /// Number of this start.
    epoch: u64,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Layout {
    Version,
    Serial,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Peers {
    Own,
    All,
}

#[derive(Debug, Clone, Copy)]
enum Http {
    On(SocketAddr),
    Off,
}

impl Http {
    fn address(self) -> Option<SocketAddr> {
        match self {
            Http::On(address) => Some(address),
            Http::Off => None,
        }
    }
}

fn http(text: &str) -> Result<Http, String> {
    match text {
        "none" => Ok(Http::Off),
        _ => net::http_address(text).map(Http::On),
    }
}

/// Seconds, with a fraction or without, as milliseconds.
pub fn milliseconds(text: &str) -> Result<u32, String> {
    let seconds: f64 = text
        .parse()
        .map_err(|_| format!("{text:?} is not a number of seconds, like 10 or 0.5"))?;
    match (0.05..=86_400.0).contains(&seconds) {
        true => Ok((seconds * 1000.0).round() as u32),
        false => Err("must be between 0.05 and 86400 seconds".to_string()),
    }
}

/// Whether the store's name is that of a database, and not of a directory.
pub fn is_database(store: &str) -> bool {
    let scheme = store.split_once("://").map(|(scheme, _)| scheme);
    matches!(scheme, Some("postgres" | "postgresql"))
}

/// A number of bytes, with K, M or G for powers of 1024.
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    let count: Option<u64> = digits.parse().ok();
    count
        .and_then(|count| count.checked_mul(unit))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| format!("{text:?} is not a number of bytes, like 1000000, 64M or 1G"))
}

pub fn bytes_or_none(text: &str) -> Result<u64, String> {
    match text {
        "0" => Ok(0),
        _ => bytes(text),
    }
}

impl Serve {
    pub fn run(self) -> ExitCode {
        if let Some(made) = self.init.run() {
            return match made {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => {
                    eprint!("{failure}");
                    ExitCode::FAILURE
                }
            };
        }
        begin_logs(self.log_format);
        net::log_panics();
        match self.serve() {
            Ok(()) => ExitCode::SUCCESS,
            Err(text) => {
                eprintln!("interweave serve: {text}");
                ExitCode::FAILURE
            }
        }
    }

    fn serve(mut self) -> Result<(), String> {
        if let Some(file) = &self.config {
            tracing::info!(file = %file.display(), "options are also from a file");
        }
        if self.quota > self.max_quota {
            return Err(format!(
                "--quota {} is more than --max-quota {}; raise the one or lower the other",
                self.quota, self.max_quota
            ));
        }
        let http = self.http.address();
        let tls = self.tls.take_options(http.is_some());
        let makes_token = self.access.makes_token()?;
        if makes_token && matches!(self.unix_socket, Peers::All) {
            return Err(UNIX_SOCKET_OF_ALL.to_string());
        }
        match self.access.insecure {
            true => tracing::warn!("{}", serve_tls::warning_of_insecure(&self.listen, http)),
            false => {
                let has_access = !makes_token;
                let refusal =
                    serve_tls::refusal_of_open(&self.listen, http, tls.as_ref(), has_access);
                refusal.map_or(Ok(()), Err)?;
            }
        }
        // Before the store, because a large one is read for a while.
        tls.as_ref().map_or(Ok(()), TlsOptions::check)?;
        let access = AccessOptions {
            tokens: self.access.tokens.take(),
            rules: self.access.rules.take(),
            needs_shared: self.access.shared_rules,
        };
        access.check()?;
        let opened = self.open_store()?;
        let engine = self.engine(&opened);
        let options = ServeOptions {
            listen: self.listen,
            http,
            origins: self.allow_origin,
            unix_peers: match self.unix_socket {
                Peers::Own => UnixPeers::Own,
                Peers::All => UnixPeers::All,
            },
            makes_token,
            has_terminal: std::io::stderr().is_terminal(),
            tls,
            space_authorities: self.space.take_authorities(),
            access,
            max_connections: self.max_connections,
            spin: Duration::from_micros(self.spin_us.into()),
            audit: self.audit.options(),
            engine,
        };
        let ended = net::serve(options, opened.store, opened.recovered, &mut |address| {
            // Whoever started the server may not be listening; it serves all the same.
            let mut out = std::io::stdout().lock();
            let _ = writeln!(out, "listening {address}").and_then(|()| out.flush());
        });
        match ended {
            Err(ServeError::Io(what, error)) if error.kind() == std::io::ErrorKind::AddrInUse => {
                Err(format!(
                    "{what}: {error}; is a server running already? Stop it, or choose other \
                     addresses with --listen and --http"
                ))
            }
            other => other.map_err(|error| error.to_string()),
        }
    }

    fn engine(&self, opened: &Opened) -> Config {
        Config {
            lease_ms: self.lease,
            max_hold_ms: self.max_hold,
            heartbeat_ms: self.heartbeat,
            quota_bytes: self.quota,
            max_quota_bytes: self.max_quota,
            max_segments: self.max_segments,
            // A complete copy of the largest segment has to pass.
            max_diff_bytes: self.max_quota.saturating_add(1 << 30),
            tuning: self.tuning(),
            stored: opened.stored,
            space_lease_ms: self.space.lease_ms(),
            first_fence: opened.epoch << 32,
            identity: opened.store.identity(),
            ..Config::default()
        }
    }

    fn tuning(&self) -> Tuning {
        Tuning {
            cache_bytes: usize::try_from(self.diff_cache).unwrap_or(usize::MAX),
            order: match self.layout {
                Layout::Version => Order::Version,
                Layout::Serial => Order::Serial,
            },
            prediction: self.prediction == Switch::On,
        }
    }

    fn open_store(&self) -> Result<Opened, String> {
        let store = self.store.as_deref().unwrap_or_default();
        if is_database(store) {
            return self.open_postgres(store);
        }
        self.space.check_alone()?;
        if self.store_alone {
            return Err("--store-alone is for a store on PostgreSQL; leave it out".to_string());
        }
        if let Some((scheme, _)) = store.split_once("://") {
            return Err(format!(
                "--store {scheme}://...: a store is a directory, `memory`, or a database as \
                 postgres://USER@HOST/DATABASE"
            ));
        }
        if store == "memory" {
            tracing::info!("the store is memory: segments are lost when the server stops");
            return Ok(Opened {
                store: Box::new(MemoryStore::new()),
                recovered: Vec::new(),
                stored: false,
                epoch: net::random_epoch(),
            });
        }
        let directory = match &self.store {
            Some(directory) => PathBuf::from(directory),
            None => default_store().ok_or(
                "no home directory was found to keep segments in; name a folder with --store DIR, \
                 or keep nothing with --store memory",
            )?,
        };
        tracing::info!(directory = %directory.display(), "opening the store");
        let recycling = is_large(&directory).then(net::Recycling::begin);
        let opened = EmbeddedStore::open(&directory, Options::default());
        drop(recycling);
        let (store, recovered) =
            opened.map_err(|error| format!("the store in {}: {error}", directory.display()))?;
        Ok(Opened {
            epoch: store.owner_epoch(),
            store: Box::new(store),
            recovered,
            stored: true,
        })
    }

    fn open_postgres(&self, url: &str) -> Result<Opened, String> {
        let target = Target::parse(url).map_err(|error| format!("--store: {error}"))?;
        let name = target.name().to_string();
        tracing::info!(database = %name, "opening the store");
        if self.store_alone {
            tracing::warn!("the store has one copy: a release is lost with its disk");
        }
        let mut options = PostgresOptions::new(target);
        options.is_alone = self.store_alone;
        options.member = self.space.member();
        let opened = PostgresStore::open(options);
        let (store, recovered) = opened.map_err(|error| format!("the store at {name}: {error}"))?;
        Ok(Opened {
            epoch: store.owner_epoch(),
            store: Box::new(store),
            recovered,
            stored: true,
        })
    }
}

/// A store with so many bytes is read with memory that is used again.
const LARGE_STORE_BYTES: u64 = 1 << 30;

/// Whether the store has more bytes than the allocator should take and give back piece by piece.
fn is_large(store: &Path) -> bool {
    let entries = std::fs::read_dir(store).into_iter().flatten().flatten();
    let bytes = entries.filter_map(|entry| entry.metadata().ok());
    bytes.map(|metadata| metadata.len()).sum::<u64>() >= LARGE_STORE_BYTES
}

/// Where a server keeps segments when nothing else is said.
pub fn default_store() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let data = set("XDG_DATA_HOME").map(PathBuf::from);
    let home = || set("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    data.or_else(home).map(|data| data.join("interweave"))
}

/// IW_LOG is shared with the client library, whose words (`locks`) are no levels of ours.
fn begin_logs(format: LogFormat) {
    let wanted = std::env::var("IW_LOG").unwrap_or_default();
    let filter = wanted
        .parse::<Targets>()
        .ok()
        .filter(|_| !wanted.is_empty() && wanted != "locks")
        .unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let registry = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false);
    match format {
        LogFormat::Text => registry.with(lines).init(),
        LogFormat::Json => registry.with(lines.json()).init(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_may_have_a_fraction() {
        assert_eq!(milliseconds("0.25"), Ok(250));
        assert!(milliseconds("0").is_err());
        assert!(milliseconds("soon").is_err());
    }

    #[test]
    fn bytes_may_have_a_unit() {
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("1000"), Ok(1000));
        assert!(bytes("0").is_err());
        assert_eq!(bytes_or_none("0"), Ok(0));
        assert!(bytes("99999999999G").is_err());
    }
}
