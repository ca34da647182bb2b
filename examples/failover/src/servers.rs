//! The three servers. One that was killed is started again after a while, as a service manager
//! would do it.

use interweave_postgres_cluster::{Cluster, Process};
use interweave_wire::mip;
use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub const COUNT: usize = 3;
/// Of the servers' log, if one does not start.
const LINES_SHOWN: usize = 10;
const STARTED_AGAIN_AFTER: Duration = Duration::from_secs(3);

pub struct Server {
    address: SocketAddr,
    process: Option<Process>,
    ended: Instant,
}

impl Server {
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    pub fn is_running(&self) -> bool {
        self.process.is_some()
    }

    /// Until it is started again.
    pub fn waits_for(&self) -> Duration {
        STARTED_AGAIN_AFTER.saturating_sub(self.ended.elapsed())
    }
}

pub struct Servers {
    program: PathBuf,
    store: String,
    log: PathBuf,
    pub all: Vec<Server>,
}

impl Servers {
    /// On the database of that cluster; `program` is `interweave`.
    pub fn start(program: &Path, cluster: &Cluster, folder: &Path) -> Result<Servers, String> {
        let mut servers = Servers {
            program: program.to_path_buf(),
            store: cluster.store_url("interweave"),
            log: folder.join("servers.log"),
            all: Vec::new(),
        };
        // A server has to say its address before it listens.
        for _ in 0..COUNT {
            servers.all.push(Server {
                address: free_address(),
                process: None,
                ended: Instant::now(),
            });
        }
        for number in 0..COUNT {
            servers.begin(number)?;
        }
        Ok(servers)
    }

    fn begin(&mut self, number: usize) -> Result<(), String> {
        let at = self.all[number].address();
        let log = File::options().create(true).append(true).open(&self.log);
        let mut command = Command::new(&self.program);
        command.args(["serve", "--listen", &at, "--advertise", &at]);
        command.args([
            "--space-lease",
            "1",
            "--http",
            "none",
            "--store",
            &self.store,
        ]);
        command.stderr(log.map_err(|error| error.to_string())?);
        let started = Process::listening(&mut command);
        let (process, _) = started.map_err(|error| {
            // The file goes with the demo.
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let last = &lines[lines.len().saturating_sub(LINES_SHOWN)..];
            format!("a server: {error}\n{}", last.join("\n"))
        })?;
        self.all[number].process = Some(process);
        Ok(())
    }

    pub fn kill(&mut self, number: usize) {
        if let Some(mut process) = self.all[number].process.take() {
            process.kill();
            self.all[number].ended = Instant::now();
        }
    }

    /// Notes which servers have ended by themselves, and starts one whose time has come. Returns
    /// what there is to say.
    pub fn look(&mut self) -> Option<String> {
        for number in 0..COUNT {
            let server = &mut self.all[number];
            if server.process.as_mut().is_some_and(Process::has_ended) {
                server.process = None;
                server.ended = Instant::now();
                return Some(format!("server {} has ended by itself", number + 1));
            }
            if !server.is_running() && server.waits_for().is_zero() {
                return Some(match self.begin(number) {
                    Ok(()) => format!("server {} runs again", number + 1),
                    Err(error) => {
                        self.all[number].ended = Instant::now();
                        format!("server {} does not start: {error}", number + 1)
                    }
                });
            }
        }
        None
    }

    /// As a URL names them: a client asks the next one when one is dead.
    pub fn list(&self) -> Result<mip::Servers, String> {
        let all: Vec<String> = self.all.iter().map(Server::address).collect();
        mip::Servers::parse(&all.join(","))
    }
}

/// An address of this machine that nobody listens at now.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}
