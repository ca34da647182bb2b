//! Servers of InterWeave, with a store of files or on PostgreSQL, and writers of segments.

use crate::load::{Servers, Writer};
use crate::process::{folder, free_address};
use crate::VALUE_BYTES;
use interweave_postgres_cluster::{Cluster, Process};
use interweave_server::client::{Client, Copy, Greeting, OpenOptions};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{Durability, Primitive};
use std::fs::File;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENT: Duration = Duration::from_secs(30);
const NAME: &str = "value";

/// A server, with its process and its folder.
pub struct Server {
    address: Address,
    // In the order of their ends.
    _process: Process,
    _folder: TempDir,
}

fn program() -> String {
    std::env::var("IW_PROGRAM").unwrap_or_else(|_| "interweave".to_string())
}

impl Server {
    fn start(listen: &str, store: impl FnOnce(&TempDir) -> String, options: &[&str]) -> Server {
        let folder = folder();
        let log = File::create(folder.path().join("log")).expect("a log");
        let mut command = Command::new(program());
        command.args(["serve", "--listen", listen, "--http", "none", "--insecure"]);
        command.args(["--store", &store(&folder)]).args(options);
        let started = Process::listening(command.stderr(log));
        let (process, address) = started.unwrap_or_else(|error| panic!("interweave: {error}"));
        let address: SocketAddr = address.parse().expect("an address");
        Server {
            address: Address::Tcp {
                host: address.ip().to_string(),
                port: address.port(),
                secure: false,
            },
            _process: process,
            _folder: folder,
        }
    }

    /// With the store that needs no other program.
    pub fn with_files() -> Server {
        let store = |folder: &TempDir| folder.path().join("store").display().to_string();
        Server::start("127.0.0.1:0", store, &[])
    }

    /// With a store on PostgreSQL that it shares with others.
    fn on(cluster: &Cluster, options: &[&str]) -> Server {
        let at = free_address().to_string();
        let options = [&["--advertise", &at], options].concat();
        Server::start(&at, |_| cluster.store_url("bench"), &options)
    }
}

impl Servers for Server {
    /// A writer of a segment that no other number has.
    fn writer(&self, number: usize) -> Box<dyn Writer> {
        let greeting = Greeting::default();
        let mut client = Client::connect(&self.address, greeting).expect("the server answers");
        let options = OpenOptions::creating(Durability::Synced);
        let copy = Copy::open(&mut client, &format!("/bench/{number}"), &options);
        Box::new(SegmentWriter {
            copy: copy.expect("the segment opens"),
            client,
        })
    }
}

/// Servers that share a database.
pub struct Space {
    // In the order of their ends.
    servers: Vec<Server>,
    _cluster: Cluster,
}

impl Space {
    /// With a copy at the primary and one at the standby.
    pub fn start(count: usize) -> Space {
        let cluster = Cluster::on_disk();
        Space {
            servers: (0..count).map(|_| Server::on(&cluster, &[])).collect(),
            _cluster: cluster,
        }
    }

    /// A server that needs no copy but the primary's.
    pub fn alone() -> Space {
        let mut cluster = Cluster::on_disk();
        cluster.set("synchronous_standby_names", "''");
        cluster.pause_standby();
        Space {
            servers: vec![Server::on(&cluster, &["--store-alone"])],
            _cluster: cluster,
        }
    }
}

impl Servers for Space {
    fn writer(&self, number: usize) -> Box<dyn Writer> {
        self.servers[number % self.servers.len()].writer(number)
    }
}

struct SegmentWriter {
    client: Client,
    copy: Copy,
}

impl Writer for SegmentWriter {
    fn write(&mut self, round: u64) -> Duration {
        let lock = self.copy.lock(&mut self.client, PATIENT, round + 1);
        let lock = lock.expect("the lock");
        let block = (NAME, Primitive::Char as u32);
        let value = [round as u8; VALUE_BYTES];
        let diff = self
            .copy
            .set_block(&lock, block, VALUE_BYTES as u64, &value);
        let begun = Instant::now();
        let released = self.copy.release(&mut self.client, &lock, diff);
        released.expect("it is kept");
        begun.elapsed()
    }
}
