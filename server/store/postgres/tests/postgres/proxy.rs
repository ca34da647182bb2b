//! Between a store and the database: breaks connections, and has appends stand still.
//!
//! It reads the messages of PostgreSQL's protocol, so that a fault meets the message that it is
//! for. An append is known by the statement that changes the segments' or the owner's row.

use interweave_postgres_cluster::Cluster;
use interweave_store_suite::Cancel;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// A query that is not valid SQL.
const NO_STATEMENT: &[u8] = b"Q\0\0\0\x0dno SQL..\0";

/// Longer than any append takes.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Default)]
struct State {
    hold: Option<u32>,
    is_held: bool,
    /// A reply stands still, not the append itself.
    is_reply: bool,
    /// The reply that stands still never comes.
    loses_reply: bool,
    /// The number of times that a held connection was let go.
    let_go: u64,
    cancel: Option<Cancel>,
    /// The next BEGIN fails.
    fails_begin: bool,
    /// The rest of appends whose clients are gone.
    late: Vec<(UnixStream, Vec<u8>)>,
}

/// The faults of a place, which its proxies share.
#[derive(Clone, Default)]
pub struct Faults(Arc<(Mutex<State>, Condvar)>);

impl Faults {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0 .0.lock().unwrap()
    }

    pub fn hold(&self, step: u32) {
        self.state().hold = Some(step);
    }

    pub fn cancel(&self, cancel: Cancel) {
        self.state().cancel = Some(cancel);
    }

    /// Has the database refuse the next BEGIN of an append. The statements after it then run
    /// outside of a transaction.
    pub fn fail_begin(&self) {
        self.state().fails_begin = true;
    }

    fn fails(&self, kind: u8, bytes: &[u8]) -> bool {
        let is_begin = kind == b'Q' && bytes[5..].starts_with(b"BEGIN");
        is_begin && std::mem::take(&mut self.state().fails_begin)
    }

    pub fn is_held(&self) -> bool {
        let waits = |state: &mut State| !state.is_held;
        let waited = self.0 .1.wait_timeout_while(self.state(), PATIENCE, waits);
        waited.unwrap().0.is_held
    }

    /// Has the commit fail whose reply stands still: the reply never comes. False: none does.
    pub fn fail_held(&self) -> bool {
        let mut state = self.state();
        state.loses_reply = state.is_held && state.is_reply;
        state.loses_reply
    }

    /// Stands still until it is let go. Returns whether it is lost then.
    fn stand(&self, is_reply: bool) -> bool {
        let mut state = self.state();
        state.is_held = true;
        state.is_reply = is_reply;
        let before = state.let_go;
        self.0 .1.notify_all();
        let waited = self.0 .1.wait_while(state, |state| state.let_go == before);
        std::mem::take(&mut waited.unwrap().loses_reply)
    }

    /// Lets the connections that stand still continue, and forwards the late bytes to their ends.
    pub fn let_go(&self) {
        let mut state = self.state();
        state.hold = None;
        state.is_held = false;
        state.let_go += 1;
        let late = std::mem::take(&mut state.late);
        drop(state);
        self.0 .1.notify_all();
        for (mut server, rest) in late {
            // The database may have been restarted.
            if server.write_all(&rest).is_ok() {
                let _ = server.read_to_end(&mut Vec::new());
            }
        }
    }

    pub fn forget(&self) {
        let mut state = self.state();
        state.late.clear();
        state.cancel = None;
    }
}

/// The way of one owner's process to the database.
pub struct Proxy {
    pub port: u16,
    shared: Arc<OfProcess>,
}

struct OfProcess {
    faults: Faults,
    cluster: Arc<Mutex<Cluster>>,
    /// None: the process has ended.
    open: Mutex<Option<Vec<TcpStream>>>,
}

impl Proxy {
    pub fn begin(faults: Faults, cluster: Arc<Mutex<Cluster>>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let socket = cluster.lock().unwrap().socket();
        let shared = Arc::new(OfProcess {
            faults,
            cluster,
            open: Mutex::new(Some(Vec::new())),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut open = of_thread.open.lock().unwrap();
                let Some(open) = &mut *open else {
                    return;
                };
                open.push(client.try_clone().unwrap());
                // Each message is written by itself.
                client.set_nodelay(true).unwrap();
                let server = UnixStream::connect(&socket).unwrap();
                begin(Arc::clone(&of_thread), client, server);
            }
        });
        Proxy { port, shared }
    }

    /// The process ends: its connections break, and it makes no others.
    pub fn end(&self) {
        let open = self.shared.open.lock().unwrap().take();
        for client in open.into_iter().flatten() {
            // It may have ended before.
            let _ = client.shutdown(Shutdown::Both);
        }
        // The listener's thread ends with the next connection.
        drop(TcpStream::connect(("127.0.0.1", self.port)));
    }
}

impl OfProcess {
    fn has_ended(&self) -> bool {
        self.open.lock().unwrap().is_none()
    }
}

fn begin(shared: Arc<OfProcess>, client: TcpStream, server: UnixStream) {
    let replies = Arc::new(Replies::default());
    let back = (
        Arc::clone(&shared),
        server.try_clone().unwrap(),
        client.try_clone().unwrap(),
        Arc::clone(&replies),
    );
    thread::spawn(move || {
        let (shared, mut server, mut client, replies) = back;
        let _ = carry_back(&shared, &mut server, &mut client, &replies);
        let _ = client.shutdown(Shutdown::Both);
    });
    thread::spawn(move || {
        let way = Way {
            shared,
            replies,
            client,
            server,
        };
        if let Ok(End::Closed) | Err(_) = way.carry() {
            let _ = way.client.shutdown(Shutdown::Both);
            let _ = way.server.shutdown(Shutdown::Both);
        }
    });
}

/// The notes of the way forth for the way back.
#[derive(Default)]
struct Replies {
    holds: Mutex<bool>,
    /// The server's process of this connection.
    process: Mutex<i32>,
    /// The number of transactions that have ended, in order or by an error.
    ends: Mutex<u64>,
}

/// Reads a message: its type, and all of it.
fn message(from: &mut impl Read) -> io::Result<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    from.read_exact(&mut head)?;
    let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let mut all = head.to_vec();
    all.resize(length + 1, 0);
    from.read_exact(&mut all[5..])?;
    Ok((head[0], all))
}

fn carry_back(
    shared: &OfProcess,
    server: &mut UnixStream,
    client: &mut TcpStream,
    replies: &Replies,
) -> io::Result<()> {
    let mut kept = Vec::new();
    loop {
        let (kind, bytes) = message(server)?;
        if kind == b'K' {
            let process = [bytes[5], bytes[6], bytes[7], bytes[8]];
            *replies.process.lock().unwrap() = i32::from_be_bytes(process);
        }
        let ends = [&b"COMMIT"[..], b"ROLLBACK"];
        let is_end = kind == b'C' && ends.iter().any(|end| bytes[5..].starts_with(end));
        *replies.ends.lock().unwrap() += u64::from(is_end || kind == b'E');
        if !*replies.holds.lock().unwrap() {
            client.write_all(&bytes)?;
            continue;
        }
        kept.extend(bytes);
        if is_end {
            let is_lost = shared.faults.stand(true);
            *replies.holds.lock().unwrap() = false;
            if is_lost || shared.has_ended() {
                return Ok(());
            }
            client.write_all(&kept)?;
            kept.clear();
        }
    }
}

enum End {
    Closed,
    /// The rest of an append comes later.
    Late,
}

struct Way {
    shared: Arc<OfProcess>,
    replies: Arc<Replies>,
    client: TcpStream,
    server: UnixStream,
}

impl Way {
    fn carry(&self) -> io::Result<End> {
        let (mut client, mut server) = (&self.client, &self.server);
        let mut length = [0; 4];
        client.read_exact(&mut length)?;
        let mut startup = length.to_vec();
        startup.resize(u32::from_be_bytes(length) as usize, 0);
        client.read_exact(&mut startup[4..])?;
        server.write_all(&startup)?;
        let mut appending: Vec<Vec<u8>> = Vec::new();
        let mut resumes = false;
        loop {
            let (kind, bytes) = message(&mut client)?;
            if resumes {
                self.shared.cluster.lock().unwrap().resume_standby();
                resumes = false;
            }
            // Only the connection of appends has prepared one; checkpoints begin, too.
            if !appending.is_empty() && self.shared.faults.fails(kind, &bytes) {
                server.write_all(NO_STATEMENT)?;
                continue;
            }
            if kind == b'P' {
                appending.extend(name_of_append(&bytes));
            }
            let begins = kind == b'B' && appending.contains(&statement_of(&bytes));
            if begins {
                match self.meet_faults(&bytes)? {
                    Met::Nothing => {}
                    Met::End(end) => return Ok(end),
                    Met::Local => {
                        self.cancel_in_the_wait(&bytes)?;
                        resumes = true;
                        continue;
                    }
                }
            }
            server.write_all(&bytes)?;
        }
    }

    /// An append begins with this message.
    fn meet_faults(&self, bytes: &[u8]) -> io::Result<Met> {
        let faults = &self.shared.faults;
        let mut state = faults.state();
        let (hold, cancel) = (state.hold.take(), state.cancel.take());
        drop(state);
        match hold {
            Some(0) => {
                faults.stand(false);
                if self.shared.has_ended() {
                    return Ok(Met::End(End::Closed));
                }
            }
            Some(_) => *self.replies.holds.lock().unwrap() = true,
            None => {}
        }
        match cancel {
            None => Ok(Met::Nothing),
            Some(Cancel::Before) => Ok(Met::End(End::Closed)),
            Some(Cancel::Local) => Ok(Met::Local),
            Some(Cancel::Late) => {
                let mut rest = bytes.to_vec();
                self.read_to_commit(&mut rest)?;
                // The server is told that the client has gone when it has done the rest.
                rest.extend([b'X', 0, 0, 0, 4]);
                let late = (self.server.try_clone()?, rest);
                faults.state().late.push(late);
                self.client.shutdown(Shutdown::Both)?;
                Ok(Met::End(End::Late))
            }
        }
    }

    /// Reads the rest of an append.
    fn read_to_commit(&self, into: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let (kind, bytes) = message(&mut &self.client)?;
            into.extend(&bytes);
            if kind == b'Q' && bytes[5..].starts_with(b"COMMIT") {
                return Ok(());
            }
        }
    }

    /// The standby gets nothing, so the commit waits for it; and the wait is cancelled.
    fn cancel_in_the_wait(&self, bytes: &[u8]) -> io::Result<()> {
        let mut all = bytes.to_vec();
        self.read_to_commit(&mut all)?;
        let mut cluster = self.shared.cluster.lock().unwrap();
        cluster.pause_standby();
        let ends = || *self.replies.ends.lock().unwrap();
        let before = ends();
        (&self.server).write_all(&all)?;
        let process = *self.replies.process.lock().unwrap();
        let waits = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE pid = {process} AND wait_event = 'SyncRep'"
        );
        while cluster.admin().number(&waits) == 0 {
            if ends() != before {
                // Another fault met it before.
                cluster.resume_standby();
                return Ok(());
            }
            thread::yield_now();
        }
        cluster
            .admin()
            .run(&format!("SELECT pg_cancel_backend({process})"));
        Ok(())
    }
}

enum Met {
    Nothing,
    End(End),
    Local,
}

/// The parts of a message that end with a zero byte.
fn texts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes[5..].split(|byte| *byte == 0)
}

/// The statement's name, if it is one with which an append begins.
fn name_of_append(parse: &[u8]) -> Option<Vec<u8>> {
    let mut texts = texts(parse);
    let (name, statement) = (texts.next()?, texts.next()?);
    let statement = String::from_utf8_lossy(statement);
    let is_append = statement.contains("SET head =") || statement.contains("SET creations =");
    is_append.then(|| name.to_vec())
}

/// The statement that a Bind message is for.
fn statement_of(bind: &[u8]) -> Vec<u8> {
    texts(bind).nth(1).unwrap_or_default().to_vec()
}
