//! Servers of one kind that know each other, for the time of a measurement.

use interweave_postgres_cluster::Process;
use std::fs::File;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// On a disk: the system's other temporary folder may be memory.
pub fn folder() -> TempDir {
    tempfile::tempdir_in("/var/tmp").expect("a folder")
}

/// Servers, each with a folder of its own.
pub struct Group {
    addresses: Vec<SocketAddr>,
    // In the order of their ends.
    _processes: Vec<Process>,
    _folders: Vec<TempDir>,
}

/// One server of a group, before it starts.
pub struct Place<'a> {
    pub number: usize,
    pub folder: &'a Path,
    /// Where clients reach it.
    pub address: SocketAddr,
    /// Where the servers reach each other, by their numbers.
    pub peers: &'a [SocketAddr],
}

impl Group {
    /// `words`: the program's arguments.
    pub fn start(program: &str, count: usize, words: impl Fn(&Place) -> Vec<String>) -> Group {
        let addresses: Vec<SocketAddr> = (0..count).map(|_| free_address()).collect();
        let peers: Vec<SocketAddr> = (0..count).map(|_| free_address()).collect();
        let folders: Vec<TempDir> = (0..count).map(|_| folder()).collect();
        let start = |number: usize| {
            let place = Place {
                number,
                folder: folders[number].path(),
                address: addresses[number],
                peers: &peers,
            };
            let mut command = Command::new(program);
            command.args(words(&place));
            let log = File::create(place.folder.join("log")).expect("a log");
            command.stdout(log.try_clone().expect("a log")).stderr(log);
            Process::start(&mut command).unwrap_or_else(|error| panic!("{error}"))
        };
        Group {
            _processes: (0..count).map(start).collect(),
            _folders: folders,
            addresses,
        }
    }

    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Of the server that the client of that number uses.
    pub fn address(&self, number: usize) -> SocketAddr {
        self.addresses[number % self.addresses.len()]
    }
}

/// An address of this machine that nobody listens at now.
pub fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}

/// Until somebody listens there.
pub fn connect(address: SocketAddr) -> TcpStream {
    let mut stream = None;
    wait_for(&format!("{address} to listen"), || {
        stream = TcpStream::connect(address).ok();
        stream.is_some()
    });
    let stream = stream.expect("it is connected");
    stream.set_nodelay(true).expect("a setting of the socket");
    stream
}

/// Asks again until that is so.
pub fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(PAUSE);
    }
}
