//! Encrypted connections [NET-5], with the program's own commands as clients.

use crate::clients::{all_equal, connect, open, write};
use crate::server::{Directory, Server};
use interweave_server::client::{Client, Greeting, Transport};
use interweave_wire::protocol::{Durability, ErrorCode};
use rcgen::{CertificateParams, DistinguishedName, DnType, Issuer, KeyPair};
use rustix::net::{socket_with, AddressFamily, SocketFlags, SocketType};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{mpsc, Arc};
use std::time::{Duration, Instant};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

pub const PATIENT: Duration = Duration::from_secs(20);

/// A folder with an authority, a server's certificate, and alice's.
pub struct Certificates(Directory);

impl Certificates {
    pub fn new() -> Self {
        let made = Certificates(Directory::new());
        made.make(&["authority", &made.folder()]);
        made.make(&["server", &made.folder()]);
        made.make(&["client", &made.folder(), "alice"]);
        made
    }

    pub fn folder(&self) -> String {
        self.0.path().display().to_string()
    }

    pub fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }

    pub fn make(&self, arguments: &[&str]) {
        let made = Command::new(env!("CARGO_BIN_EXE_interweave"))
            .arg("cert")
            .args(arguments)
            .output();
        let made = made.expect("the program runs");
        assert!(made.status.success(), "{made:?}");
    }

    pub fn serve(&self, options: &[&str]) -> Server {
        let own = self.options_of_server();
        let own = own.iter().map(String::as_str);
        Server::in_memory(&own.chain(options.iter().copied()).collect::<Vec<_>>())
    }

    pub fn options_of_server(&self) -> [String; 4] {
        let (certificate, key) = (self.file("server.pem"), self.file("server.key"));
        ["--tls-cert".into(), certificate, "--tls-key".into(), key]
    }

    /// Makes a client's certificate that is valid for so many seconds from now, with these common
    /// names.
    pub fn make_by_hand(&self, file: &str, names: &[&str], seconds: i64) {
        let mut params = named(names);
        params.not_after = from_now(seconds);
        self.make_client(file, params, &self.issuer(), "");
    }

    /// The authority, which signs certificates.
    fn issuer(&self) -> Issuer<'static, KeyPair> {
        let read = |name| std::fs::read_to_string(self.file(name)).unwrap();
        let signer = KeyPair::from_pem(&read("ca.key")).unwrap();
        Issuer::from_ca_cert_pem(&read("ca.pem"), signer).unwrap()
    }

    /// Writes a client's key, and its certificate with that of the issuer behind it.
    fn make_client(
        &self,
        file: &str,
        mut params: CertificateParams,
        issuer: &Issuer<'static, KeyPair>,
        of_issuer: &str,
    ) {
        params.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, issuer).unwrap().pem() + of_issuer;
        std::fs::write(self.file(&format!("{file}.pem")), certificate).unwrap();
        std::fs::write(self.file(&format!("{file}.key")), key.serialize_pem()).unwrap();
    }

    /// A server that logs each connection, and knows clients by their certificates.
    pub fn talkative(&self) -> Server {
        let own = self.options_of_server();
        let authority = self.file("ca.pem");
        let mut options = own.iter().map(String::as_str).collect::<Vec<_>>();
        options.extend(["--client-ca", &authority]);
        Server::talkative(&options)
    }

    /// Makes an authority, AUTHORITY.pem, that is valid for so many seconds from now. Makes a
    /// client's certificate under it. The file of the client has both certificates.
    pub fn make_under(&self, authority: &str, seconds: i64, client: &str) {
        let mut params = named(&[authority]);
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
        params.not_after = from_now(seconds);
        let key = KeyPair::generate().unwrap();
        let between = params.signed_by(&key, &self.issuer()).unwrap().pem();
        let issuer = Issuer::new(params, key);
        self.make_client(client, named(&[client]), &issuer, &between);
        std::fs::write(self.file(&format!("{authority}.pem")), between).unwrap();
    }

    pub fn serve_the_known(&self) -> Server {
        let authority = self.file("ca.pem");
        self.serve(&["--tls", "required", "--client-ca", &authority])
    }

    /// A server that knows clients by their certificates, and a list of those that were revoked.
    pub fn serve_with_list(&self, options: &[&str]) -> Server {
        let (authority, list) = (self.file("ca.pem"), self.file("ca.crl"));
        let own = ["--client-ca", &authority, "--client-crl", &list];
        self.serve(&[&own[..], options].concat())
    }
}

fn from_now(seconds: i64) -> time::OffsetDateTime {
    time::OffsetDateTime::now_utc() + time::Duration::seconds(seconds)
}

/// A subject with these common names.
fn named(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    // A subject may name itself twice, but the library replaces a second name of its own kind.
    let kinds = [DnType::CommonName, DnType::CustomDnType(vec![2, 5, 4, 3])];
    for (kind, name) in kinds.into_iter().zip(names) {
        params.distinguished_name.push(kind, *name);
    }
    params
}

/// A call of the program with certificates in its environment.
pub struct Caller {
    environment: Vec<(&'static str, PathBuf)>,
}

impl Caller {
    pub fn nobody() -> Self {
        Caller {
            environment: Vec::new(),
        }
    }

    pub fn trusting(certificates: &Certificates) -> Self {
        let mut caller = Caller::nobody();
        caller.set("IW_CA", certificates.file("ca.pem"));
        caller
    }

    pub fn named(mut self, certificates: &Certificates, name: &str) -> Self {
        self.set("IW_CERT", certificates.file(&format!("{name}.pem")));
        self.set("IW_KEY", certificates.file(&format!("{name}.key")));
        self
    }

    pub fn set(&mut self, name: &'static str, file: impl AsRef<Path>) {
        self.environment.push((name, file.as_ref().to_path_buf()));
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
        for name in ["IW_CA", "IW_CERT", "IW_KEY", "IW_TOKEN"] {
            command.env_remove(name);
        }
        command.envs(self.environment.iter().map(|(name, file)| (name, file)));
        command.args(arguments);
        command
    }

    pub fn call(&self, arguments: &[&str]) -> Result<String, String> {
        let ended = self.command(arguments).output().expect("the program runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match ended.status.success() {
            true => Ok(text(&ended.stdout)),
            false => Err(text(&ended.stderr)),
        }
    }

    pub fn list(&self, server: &Server) -> Result<String, String> {
        self.call(&["ls", &secure(server, "")])
    }
}

pub fn secure(server: &Server, path: &str) -> String {
    format!("iws://localhost:{}{path}", server.port)
}

pub fn plain(server: &Server, path: &str) -> String {
    format!("127.0.0.1:{}{path}", server.port)
}

#[track_caller]
pub fn is_refused_with(answer: Result<String, String>, words: &[&str]) {
    let said = answer.expect_err("it is refused");
    for word in words {
        assert!(said.contains(word), "{word} is not in: {said}");
    }
}

/// More than the buffers on the way hold.
const MANY: u64 = 400_000;

#[test]
fn net_5_one_port_serves_plain_and_encrypted_clients_the_same() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    let mut writer = connect(&server);
    let mut copy = open(&mut writer, "/numbers", Durability::Memory);
    write(&mut writer, &mut copy, 1, MANY, 7).unwrap();
    let caller = Caller::trusting(&certificates);
    let all = |url: &str| {
        let shown = caller.call(&["show", url, "--json", "--elements", "1000000"]);
        shown.unwrap().replace(url, "URL")
    };
    let read = all(&secure(&server, "/numbers"));
    assert_eq!(read, all(&format!("iw://{}", plain(&server, "/numbers"))));
    assert!(read.len() > 2 * MANY as usize, "{} bytes", read.len());
    let element = secure(&server, "/numbers#numbers#1234");
    caller.call(&["set", &element, "8"]).unwrap();
    let changed = caller.call(&["get", &plain(&server, "/numbers#numbers#1234")]);
    assert_eq!(changed.unwrap().trim(), "8");
}

#[test]
fn a_server_that_cannot_be_trusted_is_left() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    is_refused_with(Caller::nobody().list(&server), &["not trusted", "IW_CA"]);
    let others = Certificates::new();
    is_refused_with(
        Caller::trusting(&others).list(&server),
        &["not trusted", "IW_CA"],
    );
    let mut missing = Caller::nobody();
    missing.set("IW_CA", "/nowhere/ca.pem");
    is_refused_with(missing.list(&server), &["IW_CA names /nowhere/ca.pem"]);
}

#[test]
fn a_certificate_for_another_host_is_not_trusted() {
    let certificates = Certificates::new();
    let key = KeyPair::generate().unwrap();
    let elsewhere = CertificateParams::new(["elsewhere.example".to_string()]).unwrap();
    let certificate = elsewhere.self_signed(&key).unwrap();
    std::fs::write(certificates.file("server.pem"), certificate.pem()).unwrap();
    std::fs::write(certificates.file("server.key"), key.serialize_pem()).unwrap();
    std::fs::write(certificates.file("ca.pem"), certificate.pem()).unwrap();
    let server = certificates.serve(&[]);
    let caller = Caller::trusting(&certificates);
    is_refused_with(
        caller.list(&server),
        &["is for elsewhere.example, not for localhost"],
    );
}

#[test]
fn plain_and_encrypted_ends_that_do_not_fit_say_what_to_do() {
    let certificates = Certificates::new();
    let strict = certificates.serve(&["--tls", "required"]);
    let refused = Client::connect(&strict.address(), Greeting::default()).unwrap_err();
    assert_eq!(refused.code(), Some(ErrorCode::Denied));
    assert!(refused.to_string().contains("iws://"), "{refused}");
    Caller::trusting(&certificates).list(&strict).unwrap();
    let plain = Server::in_memory(&[]);
    let caller = Caller::trusting(&certificates);
    is_refused_with(
        caller.list(&plain),
        &["does not answer with TLS", "iw://", "--tls-cert"],
    );
}

#[test]
fn a_client_needs_a_certificate_for_clients_of_the_servers_authority() {
    let certificates = Certificates::new();
    let server = certificates.serve_the_known();
    let caller = || Caller::trusting(&certificates);
    let advice = ["IW_CERT", "IW_KEY"];
    caller()
        .named(&certificates, "alice")
        .list(&server)
        .unwrap();
    is_refused_with(caller().list(&server), &advice);
    is_refused_with(
        caller().named(&certificates, "server").list(&server),
        &advice,
    );
    let others = Certificates::new();
    is_refused_with(caller().named(&others, "alice").list(&server), &advice);
    let authority = certificates.file("ca.pem");
    let patient = certificates.serve(&["--client-ca", &authority, "--client-certs", "optional"]);
    caller().list(&patient).unwrap();
}

#[test]
fn acc_1_the_server_knows_the_name_of_a_client_and_the_user_of_a_unix_socket() {
    let certificates = Certificates::new();
    let own = certificates.options_of_server();
    let authority = certificates.file("ca.pem");
    let socket = certificates.file("socket");
    let listen = format!("unix:{socket}");
    let mut options = own.iter().map(String::as_str).collect::<Vec<_>>();
    options.extend(["--client-ca", &authority, "--client-certs", "optional"]);
    options.extend(["--listen", &listen]);
    let server = Server::talkative(&options);
    let alice = Caller::trusting(&certificates).named(&certificates, "alice");
    alice.list(&server).unwrap();
    server.logs(&["a connection begins", "\"peer\":\"cert:alice\""]);
    Caller::trusting(&certificates).list(&server).unwrap();
    server.logs(&["a connection begins", "\"peer\":\"anyone\""]);
    alice.call(&["ls", &listen]).unwrap();
    let own = rustix::process::geteuid().as_raw();
    server.logs(&["a connection begins", &format!("\"peer\":\"uid:{own}\"")]);
}

#[test]
fn a_name_that_is_not_one_name_is_no_identity() {
    let certificates = Certificates::new();
    let server = certificates.talkative();
    for names in [&[][..], &["alice", "bob"], &[""]] {
        certificates.make_by_hand("odd", names, 3600);
        let caller = Caller::trusting(&certificates).named(&certificates, "odd");
        caller.list(&server).unwrap();
        server.logs(&["a connection begins", "\"peer\":\"anyone\""]);
    }
}

#[test]
fn a_certificate_that_expires_ends_its_connection() {
    let certificates = Certificates::new();
    let authority = certificates.file("ca.pem");
    let server = certificates.serve(&["--client-ca", &authority]);
    let mut writer = connect(&server);
    let mut copy = open(&mut writer, "/numbers", Durability::Memory);
    write(&mut writer, &mut copy, 1, 10, 7).unwrap();
    certificates.make_by_hand("brief", &["brief"], 2);
    let (mut child, lines) = watching(&certificates, &server, "brief");
    let lost = lines.recv_timeout(PATIENT).expect("the connection ends");
    child.kill().expect("it waits for the server");
    child.wait().expect("its end");
    assert!(lost.contains("lost") || lost.contains("closed"), "{lost}");
}

/// A client of that name, which watches, and the lines that it says from then on.
pub fn watching(
    certificates: &Certificates,
    server: &Server,
    name: &str,
) -> (Child, mpsc::Receiver<String>) {
    let caller = Caller::trusting(certificates).named(certificates, name);
    let mut child = caller
        .command(&["watch", &secure(server, "/numbers")])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let words = BufReader::new(child.stderr.take().expect("its words"));
    let (said, heard) = mpsc::channel();
    std::thread::spawn(move || {
        for line in words.lines().map_while(Result::ok) {
            // The test may have ended.
            let _ = said.send(line);
        }
    });
    // The first line says that it waits.
    heard.recv_timeout(PATIENT).expect("it watches");
    (child, heard)
}

/// A second for the look, another one because the machine may be busy.
pub fn took_effect_in_time(revoked: Instant) {
    let elapsed = revoked.elapsed();
    assert!(elapsed < Duration::from_secs(2), "{elapsed:?}");
}

pub fn revoke(certificates: &Certificates, names: &[&str]) -> Result<String, String> {
    let files = names
        .iter()
        .map(|name| certificates.file(&format!("{name}.pem")));
    let files = files.collect::<Vec<_>>();
    let (ca, key) = (certificates.file("ca.pem"), certificates.file("ca.key"));
    let crl = certificates.file("ca.crl");
    let mut arguments = vec!["cert", "revoke"];
    arguments.extend(files.iter().map(String::as_str));
    arguments.extend(["--ca", &ca, "--key", &key, "--crl", &crl]);
    Caller::nobody().call(&arguments)
}

#[test]
fn net_7_a_certificate_that_is_revoked_ends_its_connections_and_begins_none() {
    let certificates = Certificates::new();
    certificates.make(&["client", &certificates.folder(), "bob"]);
    revoke(&certificates, &[]).unwrap();
    let server = certificates.serve_with_list(&[]);
    let mut writer = connect(&server);
    let mut copy = open(&mut writer, "/numbers", Durability::Memory);
    write(&mut writer, &mut copy, 1, 10, 7).unwrap();
    let (alice, from_alice) = watching(&certificates, &server, "alice");
    let (bob, from_bob) = watching(&certificates, &server, "bob");
    revoke(&certificates, &["alice"]).unwrap();
    let revoked = Instant::now();
    let lost = from_alice.recv_timeout(PATIENT).expect("her end");
    assert!(lost.contains("lost") || lost.contains("closed"), "{lost}");
    took_effect_in_time(revoked);
    let named = |name| Caller::trusting(&certificates).named(&certificates, name);
    is_refused_with(named("alice").list(&server), &["IW_CERT"]);
    named("bob").list(&server).unwrap();
    assert!(from_bob.try_recv().is_err(), "his connection stays");
    assert!(revoke(&certificates, &["alice", "bob"])
        .unwrap()
        .contains("before"));
    from_bob.recv_timeout(PATIENT).expect("his end");
    for mut child in [alice, bob] {
        child.kill().expect("it waits for the server");
        child.wait().expect("its end");
    }
}

#[test]
fn acc_12_the_locks_of_a_revoked_certificate_are_free_at_once_and_those_of_a_token_are_not() {
    let certificates = Certificates::new();
    certificates.make(&["client", &certificates.folder(), "bob"]);
    revoke(&certificates, &[]).unwrap();
    let tokens = certificates.file("tokens");
    let made = Caller::nobody().call(&["token", "new", "robot", "--tokens", &tokens]);
    let known = Greeting {
        token: made.unwrap().trim().to_string(),
        ..Greeting::default()
    };
    let server = certificates.serve_with_list(&["--tokens", &tokens]);
    let holding = |name, greeting: &Greeting| {
        let stream = raw_as(&certificates, Some(name), server.port, &[]);
        let mut client = Client::greet(Transport::over_tls(stream), greeting.clone()).unwrap();
        let mut copy = open(&mut client, &format!("/{name}"), Durability::Memory);
        let lock = copy.lock(&mut client, PATIENT, 1).unwrap();
        (client, copy, lock)
    };
    let (alices, _, lock) = holding("alice", &Greeting::default());
    assert!(lock.grant.lease_ms > 5_000, "{}", lock.grant.lease_ms);
    let (bobs, mut copy, lock) = holding("bob", &known);
    let mut waiting = Client::connect(&server.address(), known.clone()).unwrap();
    let mut alices_copy = open(&mut waiting, "/alice", Durability::Memory);
    revoke(&certificates, &["alice", "bob"]).unwrap();
    let revoked = Instant::now();
    alices_copy.lock(&mut waiting, PATIENT, 1).unwrap();
    took_effect_in_time(revoked);
    drop(alices);
    let again = Greeting {
        session: bobs.welcome().session,
        ..known
    };
    let mut again = Client::connect(&server.address(), again).unwrap();
    assert!(again.welcome().resumed);
    let opened = open(&mut again, "/bob", Durability::Memory);
    copy.reopened(opened.number());
    let diff = all_equal(&copy, &lock, 10, 7);
    copy.release(&mut again, &lock, diff).unwrap();
}

#[test]
fn net_7_an_authority_in_between_ends_connections_when_it_is_not_valid_any_more() {
    let certificates = Certificates::new();
    revoke(&certificates, &[]).unwrap();
    let server = certificates.serve_with_list(&[]);
    open(&mut connect(&server), "/numbers", Durability::Memory);
    certificates.make_under("between", 3600, "long");
    certificates.make_under("brief", 3, "short");
    let watching = ["short", "long"].map(|name| watching(&certificates, &server, name));
    for (mut child, lines) in watching {
        let lost = lines.recv_timeout(PATIENT).expect("the connection ends");
        assert!(lost.contains("lost") || lost.contains("closed"), "{lost}");
        revoke(&certificates, &["between"]).unwrap();
        child.kill().expect("it waits for the server");
        child.wait().expect("its end");
    }
}

#[test]
fn net_7_a_list_that_is_not_the_authoritys_is_not_taken() {
    let certificates = Certificates::new();
    revoke(&certificates, &["alice"]).unwrap();
    let others = Certificates::new();
    revoke(&others, &["alice"]).unwrap();
    let (authority, list) = (certificates.file("ca.pem"), certificates.file("ca.crl"));
    let own = certificates.options_of_server();
    let mut serve = vec!["serve", "--store", "memory", "--http", "none"];
    serve.extend(own.iter().map(String::as_str));
    serve.extend(["--client-ca", &authority, "--client-crl"]);
    let foreign = others.file("ca.crl");
    let damaged = certificates.file("damaged.crl");
    std::fs::write(&damaged, [0x30, 0x82, 0xff, 0xff, 1]).unwrap();
    for (file, words) in [
        (&foreign, "not signed"),
        (&authority, "no revocation list"),
        (&damaged, "damaged"),
    ] {
        let refused = Caller::nobody().call(&[&serve[..], &[file]].concat());
        is_refused_with(refused, &["--client-crl", words]);
    }
    // A server that runs keeps the list that it has.
    let server = certificates.serve_with_list(&[]);
    let alice = || Caller::trusting(&certificates).named(&certificates, "alice");
    is_refused_with(alice().list(&server), &["IW_CERT"]);
    std::fs::copy(&foreign, &list).unwrap();
    server.signal("-HUP");
    server.logs(&["not signed", "stay"]);
    is_refused_with(alice().list(&server), &["IW_CERT"]);
    // A certificate of another authority does not come onto the list, and the list stays whole.
    std::fs::copy(others.file("alice.pem"), certificates.file("other.pem")).unwrap();
    is_refused_with(revoke(&certificates, &["other"]), &["not a list of"]);
    std::fs::remove_file(&list).unwrap();
    is_refused_with(revoke(&certificates, &["other"]), &["has not signed"]);
    assert!(!Path::new(&list).exists());
}

#[test]
fn new_certificates_are_taken_without_a_restart_and_broken_ones_are_not() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    let old = std::fs::read(certificates.file("ca.pem")).unwrap();
    std::fs::write(certificates.file("old.pem"), old).unwrap();
    std::fs::write(certificates.file("server.pem"), "not a certificate").unwrap();
    server.signal("-HUP");
    Caller::trusting(&certificates).list(&server).unwrap();
    certificates.make(&["authority", &certificates.folder(), "--force"]);
    certificates.make(&["server", &certificates.folder(), "--force"]);
    let begun = Instant::now();
    while let Err(said) = Caller::trusting(&certificates).list(&server) {
        assert!(begun.elapsed() < PATIENT, "{said}");
    }
    let mut behind = Caller::nobody();
    behind.set("IW_CA", certificates.file("old.pem"));
    is_refused_with(behind.list(&server), &["not trusted"]);
}

#[test]
fn handshakes_that_are_not_completed_keep_nobody_out() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    let mut half_open: Vec<TcpStream> = (0..400)
        .map(|_| TcpStream::connect(("127.0.0.1", server.port)).expect("it is accepted"))
        .collect();
    for stream in &mut half_open {
        // The first of them may have been sent away already.
        let _ = stream.write_all(&[0x16, 3, 1]);
    }
    Caller::trusting(&certificates).list(&server).unwrap();
    let mut oldest = half_open.remove(0);
    oldest.set_read_timeout(Some(PATIENT)).unwrap();
    let ended = oldest.read(&mut [0]);
    assert!(
        matches!(&ended, Ok(0))
            || ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset)
    );
}

#[test]
fn a_host_with_many_handshakes_keeps_no_other_host_out() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    let mut slow = raw(&certificates, &server);
    let _strangers: Vec<TcpStream> = (0..300)
        .map(|_| connect_from(Ipv4Addr::new(127, 0, 0, 2), server.port))
        .collect();
    // The server has accepted them when it serves one that came after them.
    Caller::trusting(&certificates).list(&server).unwrap();
    while slow.conn.is_handshaking() {
        let shaken = slow.conn.complete_io(&mut slow.sock);
        shaken.expect("the client's place is its own");
    }
}

/// Connects from another address of this host.
fn connect_from(source: Ipv4Addr, port: u16) -> TcpStream {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrV4::new(source, 0)).unwrap();
    let server = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    rustix::net::connect(&socket, &server).expect("it is accepted");
    socket.into()
}

/// A connection of TLS whose bytes are the test's own.
pub type Raw = StreamOwned<ClientConnection, TcpStream>;

fn raw(certificates: &Certificates, server: &Server) -> Raw {
    raw_as(certificates, None, server.port, &[])
}

/// With a client's certificate, to a port, with names of ALPN.
pub fn raw_as(certificates: &Certificates, name: Option<&str>, port: u16, alpn: &[&str]) -> Raw {
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_file(certificates.file("ca.pem")).unwrap();
    roots.add(authority).unwrap();
    let begun = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[&TLS13])
        .unwrap()
        .with_root_certificates(roots);
    let mut config = match name {
        None => begun.with_no_client_auth(),
        Some(name) => {
            let file = |kind| certificates.file(&format!("{name}.{kind}"));
            let chain = CertificateDer::pem_file_iter(file("pem")).unwrap();
            let chain = chain.map(Result::unwrap).collect();
            let key = PrivateKeyDer::from_pem_file(file("key")).unwrap();
            begun.with_client_auth_cert(chain, key).unwrap()
        }
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let name = "localhost".try_into().unwrap();
    let connection = ClientConnection::new(Arc::new(config), name).unwrap();
    let socket = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    socket.set_read_timeout(Some(PATIENT)).unwrap();
    StreamOwned::new(connection, socket)
}

#[test]
fn a_peer_that_stays_after_its_connection_has_ended_is_left() {
    let certificates = Certificates::new();
    let server = certificates.serve(&[]);
    // The first connection makes the server open what it keeps.
    Caller::trusting(&certificates).list(&server).unwrap();
    let before = server.descriptors();
    let mut staying: Vec<_> = (0..10).map(|_| raw(&certificates, &server)).collect();
    for stream in &mut staying {
        stream.write_all(&[0xff; 64]).unwrap();
        let mut last_words = Vec::new();
        // All of them, and TLS's own end behind them.
        stream.read_to_end(&mut last_words).unwrap();
        assert!(!last_words.is_empty());
    }
    let begun = Instant::now();
    while server.descriptors() > before {
        assert!(begun.elapsed() < PATIENT, "{}", server.descriptors());
        Caller::trusting(&certificates).list(&server).unwrap();
    }
    drop(staying);
}

#[test]
fn peers_that_are_refused_and_stay_leave_descriptors_for_others() {
    const LIMIT: u32 = 512;
    let certificates = Certificates::new();
    let (certificate, key) = (
        certificates.file("server.pem"),
        certificates.file("server.key"),
    );
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    let server = Server::with_descriptors(LIMIT, "memory", &tls);
    let mut staying = Vec::new();
    let mut most = 0;
    for _ in 0..300 {
        let mut stream = raw(&certificates, &server);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).unwrap();
        }
        staying.push(stream);
        most = most.max(server.descriptors());
    }
    assert!(most < LIMIT as usize / 2, "{most} descriptors");
}

#[test]
fn an_open_address_needs_encryption_and_known_clients() {
    let certificates = Certificates::new();
    let (certificate, key) = (
        certificates.file("server.pem"),
        certificates.file("server.key"),
    );
    let tls = ["--tls-cert", &certificate, "--tls-key", &key];
    let serve = [
        "serve",
        "--store",
        "memory",
        "--http",
        "none",
        "--listen",
        "0.0.0.0:0",
    ];
    for options in [&[][..], &tls[..]] {
        let refused = Caller::nobody().call(&[&serve[..], options].concat());
        is_refused_with(
            refused,
            &["0.0.0.0", "interweave cert authority", "--client-ca"],
        );
    }
    let wrong = ["--tls-cert", &key, "--tls-key", &key];
    let refused = Caller::nobody().call(&[&serve[..5], &wrong].concat());
    is_refused_with(refused, &["--tls-cert", "no certificate"]);
}
