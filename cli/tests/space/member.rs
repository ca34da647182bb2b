//! A server of a space, on an address of its own.

use crate::clients::PATIENT;
use crate::server::{Directory, Server};
use interweave_postgres_cluster::Cluster;
use interweave_server::client::{Client, ClientError, Copy, Greeting, OpenOptions};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{Durability, ErrorCode};
use std::process::Command;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::OnceLock;
use std::time::Instant;

/// A folder with an authority and the certificate that all servers have, for the name localhost and
/// their address. Clients of this process trust the authority.
fn certificates() -> &'static Directory {
    static MADE: OnceLock<Directory> = OnceLock::new();
    MADE.get_or_init(|| {
        let made = Directory::new();
        let folder = made.path().display().to_string();
        let host = own_host();
        for words in [&["authority", &folder][..], &["server", &folder, &host]] {
            let (is_ok, text) = interweave(&[&["cert"], words].concat());
            assert!(is_ok, "{text}");
        }
        std::env::set_var("IW_CA", made.path().join("ca.pem"));
        made
    })
}

/// The system has many loopback addresses. This one is this process's own, so that a server can say
/// its address before it listens.
fn own_host() -> String {
    let own = std::process::id() as u16;
    format!("127.7.{}.{}", own >> 8, own & 0xff)
}

/// A port of this process's own address that no other server of its tests has.
pub fn new_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(7001);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Runs a command; returns whether it succeeded, and its words.
pub fn interweave(words: &[&str]) -> (bool, String) {
    let ran = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(words)
        .output()
        .expect("it runs");
    let text = [ran.stdout, ran.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (ran.status.success(), text)
}

pub struct Member {
    pub server: Server,
    pub address: Address,
}

impl Member {
    pub fn start(cluster: &Cluster, (schema, port): (&str, u16), options: &[&str]) -> Member {
        let host = own_host();
        let at = format!("{host}:{port}");
        let store = cluster.store_url(schema);
        let mut own = vec!["--listen", &at, "--advertise", &at];
        if !options.contains(&"--space-lease") {
            own.extend(["--space-lease", "1"]);
        }
        Member {
            server: Server::start(&store, &[&own, options].concat()),
            address: Address::Tcp {
                host,
                port,
                secure: false,
            },
        }
    }

    /// Where a server can be that no test has started.
    pub fn free_address() -> String {
        format!("{}:{}", own_host(), new_port())
    }

    /// One that takes encrypted connections only. `lease`: in seconds.
    pub fn secure(cluster: &Cluster, place: (&str, u16), lease: &str) -> Member {
        let authority = certificates().path().join("ca.pem").display().to_string();
        Member::secure_trusting(cluster, place, lease, &authority)
    }

    /// The same. It takes certificates of other servers if they are of that authority.
    pub fn secure_trusting(
        cluster: &Cluster,
        (schema, port): (&str, u16),
        lease: &str,
        authority: &str,
    ) -> Member {
        let file = |name: &str| certificates().path().join(name).display().to_string();
        let (certificate, key) = (file("server.pem"), file("server.key"));
        let trusted = ["--space-ca", authority];
        let tls = ["--tls-cert", &certificate, "--tls-key", &key];
        let named = ["--advertise-tls-name", "localhost"];
        let lease = ["--space-lease", lease];
        let options = [&tls[..], &named[..], &lease[..], &trusted[..]].concat();
        let made = Member::start(cluster, (schema, port), &options);
        let Address::Tcp { host, port, .. } = made.address else {
            unreachable!("it is an address of TCP");
        };
        Member {
            address: Address::Tcp {
                host,
                port,
                secure: true,
            },
            ..made
        }
    }

    pub fn port(&self) -> u16 {
        let Address::Tcp { port, .. } = self.address else {
            unreachable!("it is an address of TCP");
        };
        port
    }

    pub fn host_and_port(&self) -> String {
        let Address::Tcp { host, port, .. } = &self.address else {
            unreachable!("it is an address of TCP");
        };
        format!("{host}:{port}")
    }

    /// At its own address, encrypted if the server wants that.
    pub fn own_url(&self, path: &str) -> String {
        let Address::Tcp { secure, .. } = &self.address else {
            unreachable!("it is an address of TCP");
        };
        let scheme = if *secure { "iws" } else { "iw" };
        format!("{scheme}://{}{path}", self.host_and_port())
    }

    pub fn url(&self, path: &str) -> String {
        format!("iw://{}{path}", self.host_and_port())
    }

    /// At the address of this host and the name that each certificate has.
    pub fn secure_url(&self, path: &str) -> String {
        format!("iws://localhost:{}{path}", self.server.port)
    }

    pub fn connect(&self) -> Client {
        self.try_to_connect().expect("the server answers")
    }

    pub fn try_to_connect(&self) -> Result<Client, ClientError> {
        Client::connect(&self.address, Greeting::default())
    }

    /// The code with which the server refuses to open the segment.
    pub fn refusal(&self, path: &str) -> Option<ErrorCode> {
        let opened = self.connect().open(path, &OpenOptions::reading());
        opened.err().and_then(|error| error.code())
    }

    /// Opens the segment here, once it is this server's.
    pub fn take_over(&self, path: &str) -> (Client, Copy) {
        let until = Instant::now() + PATIENT;
        loop {
            let mut client = self.connect();
            match Copy::open(
                &mut client,
                path,
                &OpenOptions::creating(Durability::Synced),
            ) {
                Ok(copy) => return (client, copy),
                Err(error) => assert_eq!(error.code(), Some(ErrorCode::Redirected), "{error}"),
            }
            assert!(Instant::now() < until, "nobody takes {path} over");
        }
    }
}
