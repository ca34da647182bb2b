//! The audit log of a real server: its lines, its file, and a disk that is full [AUDIT-1..6].

use crate::clients::{connect, open, write, PATIENT};
use crate::server::{Directory, Server};
use crate::tls::{raw_as, revoke, Caller, Certificates};
use interweave_server::client::{Client, ClientError, Copy, Greeting, OpenOptions};
use interweave_wire::protocol::{Durability, ErrorCode};
use interweave_wire::Json;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A server with an audit log of that name in the folder.
fn serve(file: &Path, options: &[&str]) -> Server {
    let name = file.display().to_string();
    let mut all = vec!["--audit", &name];
    all.extend(options);
    Server::in_memory(&all)
}

fn log_in(folder: &Directory) -> PathBuf {
    folder.path().join("audit.jsonl")
}

/// Reads the lines of a file, each of which must be whole.
fn lines(file: &Path) -> Vec<Json> {
    let text = fs::read_to_string(file).unwrap_or_default();
    assert!(text.is_empty() || text.ends_with('\n'), "{text}");
    let parsed = text.lines().map(interweave_wire::json::parse);
    let parsed: Result<_, _> = parsed.collect();
    parsed.unwrap_or_else(|error| panic!("{error:?} in\n{text}"))
}

/// Whether a line has that act and path.
fn is(line: &Json, act: &str, path: &str) -> bool {
    line["act"] == act && line["path"] == path
}

/// Waits until a condition holds of the server.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENT, "{what}");
        std::thread::yield_now();
    }
}

fn make(client: &mut Client, path: &str) {
    open(client, path, Durability::Memory);
}

#[test]
fn audit_1_and_5_what_clients_did_is_in_the_file_after_a_clean_stop() {
    let folder = Directory::new();
    let file = log_in(&folder);
    let mut server = serve(&file, &[]);
    let mut client = connect(&server);
    make(&mut client, "/a");
    make(&mut client, "/a");
    client.remove("/a").expect("it is there");
    assert!(server.stop().success());
    // [AUDIT-5]
    let lines = lines(&file);
    let acts: Vec<_> = lines.iter().map(|l| l["act"].as_str().unwrap()).collect();
    assert_eq!(acts, ["start", "login", "create", "open", "remove", "stop"]);
    assert!(is(&lines[2], "create", "/a"));
    for line in &lines[1..5] {
        assert_eq!(line["allowed"], true, "{line}");
        let from = line["from"].as_str().expect("where it is");
        assert!(from.starts_with("127.0.0.1:") || from == "unix", "{line}");
        assert_eq!(line["pid"], std::process::id(), "{line}");
        assert!(line["who"].is_string() && line["program"].is_string());
    }
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// Not one for each of them, so that a flood does not fill the disk [AUDIT-4].
#[test]
fn audit_1_clients_whose_certificates_are_not_taken_make_lines() {
    let certificates = Certificates::new();
    let others = Certificates::new();
    certificates.make(&["client", &certificates.folder(), "bob"]);
    revoke(&certificates, &["bob"]).unwrap();
    let folder = Directory::new();
    let file = log_in(&folder);
    let name = file.display().to_string();
    let mut server = certificates.serve_with_list(&["--audit", &name]);
    let caller = || Caller::trusting(&certificates);
    let refused = [
        (caller(), "the client shows no certificate"),
        (
            caller().named(&others, "alice"),
            "the client's certificate is not of an authority of --client-ca",
        ),
        (
            caller().named(&certificates, "bob"),
            "the client's certificate was revoked",
        ),
        (
            caller().named(&certificates, "server"),
            "the client's certificate was not made for clients",
        ),
    ];
    for (caller, _) in &refused {
        caller.list(&server).expect_err("it is not let in");
    }
    let alice = caller().named(&certificates, "alice");
    alice.list(&server).expect("she is let in");
    // These bytes are not a handshake, so the server refuses nobody.
    let mut stranger = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stranger.write_all(b"\x16 is not TLS").unwrap();
    let _ = stranger.read_to_end(&mut Vec::new());
    assert!(server.stop().success());
    let lines = lines(&file);
    let logins: Vec<_> = lines.iter().filter(|l| l["act"] == "login").collect();
    assert_eq!(logins.len(), refused.len() + 1, "{logins:?}");
    for (line, (_, text)) in logins.iter().zip(&refused) {
        assert_eq!(line["allowed"], false, "{line}");
        assert_eq!(line["error"], "DENIED", "{line}");
        assert_eq!(line["text"], *text, "{line}");
        let from = line["from"].as_str().expect("where it is");
        assert!(from.starts_with("127.0.0.1:"), "{line}");
    }
    assert_eq!(logins[refused.len()]["who"], "cert:alice");
}

/// A connection that was let in may end because of its certificate [AUDIT-1].
#[test]
fn audit_1_a_certificate_that_expires_or_is_revoked_meanwhile_makes_a_line() {
    let certificates = Certificates::new();
    certificates.make(&["client", &certificates.folder(), "bob"]);
    revoke(&certificates, &[]).unwrap();
    let folder = Directory::new();
    let file = log_in(&folder);
    let name = file.display().to_string();
    let mut server = certificates.serve_with_list(&["--audit", &name]);
    make(&mut connect(&server), "/numbers");
    let mut watching = Vec::new();
    for name in ["alice", "bob", "brief"] {
        if name == "brief" {
            certificates.make_by_hand(name, &[name], 3);
        }
        watching.push(crate::tls::watching(&certificates, &server, name).0);
    }
    let ended = || {
        let mut lines = lines(&file);
        lines.retain(|line| line["act"] == "connection_ended");
        lines
    };
    wait_until("the certificate has expired", || ended().len() == 1);
    revoke(&certificates, &["bob"]).unwrap();
    wait_until("the other one was revoked", || ended().len() == 2);
    for mut child in watching {
        child.kill().expect("it waits for the server");
        child.wait().expect("its end");
    }
    assert!(server.stop().success());
    let expected = [
        ("cert:brief", "the client's certificate has expired"),
        ("cert:bob", "the client's certificate was revoked"),
    ];
    let told = ended();
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for (line, (who, text)) in told.iter().zip(expected) {
        assert!(line["who"] == who && line["text"] == text, "{line}");
        assert!(
            line["allowed"] == false && line["error"] == "DENIED",
            "{line}"
        );
        let from = line["from"].as_str().expect("where it was");
        assert!(from.starts_with("127.0.0.1:"), "{line}");
    }
}

/// Lines of one place and reason become one.
#[test]
fn audit_4_many_clients_that_tls_does_not_take_make_few_lines() {
    const MANY: u64 = 200;
    let certificates = Certificates::new();
    let folder = Directory::new();
    let file = log_in(&folder);
    let authority = certificates.file("ca.pem");
    let name = file.display().to_string();
    let mut server = certificates.serve(&["--client-ca", &authority, "--audit", &name]);
    for _ in 0..MANY {
        let mut nobody = raw_as(&certificates, None, server.port, &[]);
        let _ = nobody
            .write_all(b"something")
            .and_then(|()| nobody.read_to_end(&mut Vec::new()));
    }
    assert!(server.stop().success());
    let lines = lines(&file);
    let refused: Vec<_> = lines.iter().filter(|l| l["act"] == "login").collect();
    let count = |line: &&Json| line["count"].as_u64().unwrap_or(1);
    assert_eq!(refused.iter().map(count).sum::<u64>(), MANY);
    assert!((refused.len() as u64) < MANY, "{} lines", refused.len());
}

#[test]
fn audit_6_the_file_is_opened_anew_on_sighup_and_rotates_by_itself() {
    let folder = Directory::new();
    let file = log_in(&folder);
    let renamed = folder.path().join("yesterday");
    let server = serve(&file, &["--audit-bytes", "2K", "--audit-files", "3"]);
    let mut client = connect(&server);
    make(&mut client, "/before");
    fs::rename(&file, &renamed).expect("the file is there from the start");
    server.signal("-HUP");
    wait_until("the file is opened anew", || file.exists());
    make(&mut client, "/after");
    wait_until("the line comes", || {
        lines(&file).iter().any(|l| is(l, "create", "/after"))
    });
    assert!(lines(&renamed).iter().all(|l| !is(l, "create", "/after")));
    for number in 0..100 {
        make(&mut client, &format!("/many/{number}"));
    }
    drop(client);
    wait_until("all lines come", || {
        lines(&file).iter().any(|l| is(l, "create", "/many/99"))
    });
    let older = |number: u32| folder.path().join(format!("audit.jsonl.{number}"));
    for number in 1..=3 {
        let bytes = fs::metadata(older(number)).expect("an older file").len();
        assert!((1000..=2048).contains(&bytes), "{bytes}");
        lines(&older(number));
    }
    assert!(!older(4).exists());
}

#[test]
fn audit_4_and_5_nobody_waits_for_a_disk_that_takes_nothing() {
    let mut server = serve(Path::new("/dev/full"), &[]);
    let mut client = connect(&server);
    wait_until("the log fails", || server.metric("audit_failing") == 1);
    for number in 0..200 {
        make(&mut client, &format!("/a/{number}"));
    }
    wait_until("the lines wait", || server.metric("audit_waiting") >= 202);
    assert_eq!(server.metric("audit_lines_total"), 0);
    assert!(server.stop().success(), "the end does not wait for it");
}

#[test]
fn audit_4_and_6_lines_come_whole_when_a_full_disk_has_space_again() {
    let Some(disk) = crate::full::SmallDisk::mount("1m") else {
        return;
    };
    let file = PathBuf::from(disk.store());
    let mut server = serve(&file, &["--audit-bytes", "64K"]);
    let mut client = connect(&server);
    make(&mut client, "/before");
    wait_until("the line comes", || {
        lines(&file).iter().any(|l| is(l, "create", "/before"))
    });
    let ballast = disk.fill();
    // A page of the file may have room for some lines yet.
    let mut made = 0;
    wait_until_with("the log fails", || {
        make(&mut client, &format!("/full/{made}"));
        made += 1;
        server.metric("audit_failing") == 1
    });
    lines(&file);
    fs::remove_file(ballast).unwrap();
    wait_until("it is written again", || {
        server.metric("audit_failing") == 0 && server.metric("audit_waiting") == 0
    });
    make(&mut client, "/after");
    drop(client);
    assert!(server.stop().success());
    let all = lines(&file);
    for number in 0..made {
        let path = format!("/full/{number}");
        assert_eq!(all.iter().filter(|l| is(l, "create", &path)).count(), 1);
    }
    assert!(all.iter().any(|l| is(l, "create", "/after")));
    assert_eq!(all.last().map(|l| l["act"] == "stop"), Some(true));
}

fn wait_until_with(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENT, "{what}");
    }
}

#[test]
fn a_server_does_not_begin_with_an_audit_log_that_it_cannot_write() {
    let refused = std::process::Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["serve", "--store", "memory", "--listen", "127.0.0.1:0"])
        .args(["--http", "none", "--audit", "/dev/null/none"])
        .output()
        .expect("it ends");
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr);
    assert!(text.contains("--audit /dev/null/none"), "{text}");
}

/// A server with rules, which are in the folder.
fn with_rules(folder: &Directory, rules: &str, options: &[&str]) -> Server {
    put_rules(folder, rules);
    let rules = folder.path().join("rules").display().to_string();
    let mut all = vec!["--rules", &*rules];
    all.extend(options);
    serve(&log_in(folder), &all)
}

fn put_rules(folder: &Directory, rules: &str) {
    let new = folder.path().join("rules.new");
    fs::write(&new, rules).expect("a file");
    fs::rename(new, folder.path().join("rules")).expect("its name");
}

fn refused(result: Result<Copy, ClientError>) -> ErrorCode {
    let error = result.expect_err("it is refused");
    error.code().unwrap_or_else(|| panic!("{error}"))
}

fn try_make(client: &mut Client, path: &str) -> Result<Copy, ClientError> {
    Copy::open(client, path, &OpenOptions::creating(Durability::Memory))
}

#[test]
fn audit_1_refusals_reloads_and_what_new_rules_took_are_told() {
    let folder = Directory::new();
    let rules = "deny * all /secret/**\nallow * all /**\nend\n";
    let mut server = with_rules(&folder, rules, &[]);
    let mut client = connect(&server);
    let code = refused(try_make(&mut client, "/secret/a"));
    assert_eq!(code, ErrorCode::Denied);
    let mut copy = open(&mut client, "/a", Durability::Memory);
    let lock = copy.lock(&mut client, PATIENT, 1).expect("it is free");
    let file = log_in(&folder);
    // Rules that do not parse are not taken, and the log says so.
    put_rules(&folder, "allow nobody at all\n");
    let is_reload = |line: &Json, taken: bool| line["act"] == "reload" && line["allowed"] == taken;
    wait_until("the failure is told", || {
        lines(&file).iter().any(|l| is_reload(l, false))
    });
    put_rules(&folder, "allow * read /**\nend\n");
    wait_until("the lock is taken back", || {
        lines(&file).iter().any(|l| is(l, "lock_lost", "/a"))
    });
    drop((lock, client));
    assert!(server.stop().success());
    let lines = lines(&file);
    let of = |act: &str| lines.iter().find(|l| l["act"] == act).expect(act);
    assert_eq!(of("create")["path"], "/secret/a");
    assert_eq!(of("create")["allowed"], false);
    assert_eq!(of("create")["line"], 1);
    assert_eq!(of("create")["operation"], "read");
    assert_eq!(of("create")["error"], "DENIED");
    let text = of("reload")["text"].as_str().expect("a text");
    assert!(text.contains("rules:1:"), "{text}");
    assert!(lines.iter().any(|l| is_reload(l, true)));
    assert_eq!(of("lock_lost")["operation"], "write");
}

#[test]
fn audit_4_many_refusals_that_are_alike_are_a_few_lines() {
    const MANY: u64 = 2000;
    let folder = Directory::new();
    let rules = "allow * read /**\nend\n";
    let mut server = with_rules(&folder, rules, &[]);
    let mut client = connect(&server);
    for _ in 0..MANY {
        assert_eq!(refused(try_make(&mut client, "/a")), ErrorCode::Denied);
    }
    drop(client);
    assert!(server.stop().success());
    let lines = lines(&log_in(&folder));
    let refusals = lines.iter().filter(|l| is(l, "create", "/a"));
    let counts = refusals.map(|l| l["count"].as_u64().unwrap_or(1));
    let counts: Vec<u64> = counts.collect();
    assert_eq!(counts.iter().sum::<u64>(), MANY);
    assert!(counts.len() < MANY as usize / 2, "{} lines", counts.len());
}

#[test]
fn lim_1_2_and_5_a_server_holds_clients_to_their_limits() {
    let folder = Directory::new();
    let rules = "limit * connections 2\nlimit * segments 1\nlimit * releases 1\n\
                 allow * all /**\nend\n";
    let mut server = with_rules(&folder, rules, &[]);
    let mut first = connect(&server);
    let mut second = connect(&server);
    let third = Client::connect(&server.address(), Greeting::default());
    let error = third.expect_err("one too many");
    assert_eq!(error.code(), Some(ErrorCode::TooLarge), "{error}");
    let mut copy = open(&mut first, "/a", Durability::Memory);
    assert_eq!(refused(try_make(&mut second, "/b")), ErrorCode::TooLarge);
    let begin = Instant::now();
    for sequence in 1..=5 {
        write(&mut first, &mut copy, sequence, 1, sequence as i32).expect("it waits, and is done");
    }
    // A second's worth at once and one more, then one in each second.
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(2900), "{took:?}");
    assert!(server.metric("limits_rests_total") >= 1);
    assert_eq!(server.metric("limits_refused_total"), 2);
    // A connection that is gone makes room.
    drop(second);
    wait_until("the place is free", || {
        Client::connect(&server.address(), Greeting::default()).is_ok()
    });
    assert!(server.stop().success());
    let lines = lines(&log_in(&folder));
    let limited: Vec<_> = lines.iter().filter(|l| l["allowed"] == false).collect();
    assert_eq!(limited[0]["act"], "login");
    assert_eq!(limited[0]["line"], 1);
    let of_segments = limited.iter().find(|l| is(l, "create", "/b"));
    assert_eq!(of_segments.expect("a line")["line"], 2);
}

#[test]
fn lim_5_a_client_that_is_slowed_down_keeps_its_connection_and_its_lock() {
    let folder = Directory::new();
    let rules = "limit * rate 1K\nallow * all /**\nend\n";
    let server = with_rules(&folder, rules, &["--lease", "1", "--heartbeat", "0.2"]);
    let mut client = connect(&server);
    let session = client.welcome().session;
    let mut copy = open(&mut client, "/a", Durability::Memory);
    // Each of these is four seconds' worth, and the lease is one second.
    for sequence in 1..=5 {
        write(&mut client, &mut copy, sequence, 1024, 7).expect("it is late, and done");
    }
    assert_eq!(client.welcome().session, session);
    assert_eq!(server.metric("connections_total"), 1);
    assert_eq!(server.metric("writer_grants_total"), 5);
    assert!(server.metric("limits_rests_total") >= 5);
    assert_eq!(server.metric("connections_silent_total"), 0);
}
