//! A server with a tokens file and a rules file, which change while it runs.

use crate::clients::{open, PATIENT};
use crate::server::{Directory, Server};
use interweave_server::client::{Client, ClientError, Greeting};
use interweave_wire::protocol::{Durability, ErrorCode};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

/// A folder with a tokens file and a rules file.
struct Files(Directory);

impl Files {
    fn with_rules(rules: &str) -> Files {
        let files = Files(Directory::new());
        std::fs::write(files.path("rules"), rules).unwrap();
        files
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Puts new rules in the place of the old ones.
    fn replace_rules(&self, rules: &str) {
        std::fs::write(self.path("rules.new"), rules).unwrap();
        std::fs::rename(self.path("rules.new"), self.path("rules")).unwrap();
    }

    fn token(&self, arguments: &[&str]) -> String {
        let made = Command::new(env!("CARGO_BIN_EXE_interweave"))
            .arg("token")
            .args(arguments)
            .args(["--tokens", &self.text("tokens")])
            .output();
        let made = made.expect("the program runs");
        assert!(made.status.success(), "{made:?}");
        String::from_utf8(made.stdout).unwrap().trim().to_string()
    }

    fn serve(&self) -> Server {
        let (tokens, rules) = (self.text("tokens"), self.text("rules"));
        Server::in_memory(&["--tokens", &tokens, "--rules", &rules])
    }
}

fn login(server: &Server, token: &str) -> Result<Client, ClientError> {
    let greeting = Greeting {
        token: token.to_string(),
        ..Greeting::default()
    };
    Client::connect(&server.address(), greeting)
}

fn may_list(client: &mut Client, path: &str) -> bool {
    let listed = client.list(path).expect("a list");
    listed.iter().any(|segment| segment.path == path)
}

/// Waits for what a change of a file brings.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENT, "{what}");
        std::thread::yield_now();
    }
}

const ALL: &str = "allow * all /**\nend\n";

#[test]
fn a_token_is_taken_and_revoked_while_the_server_runs() {
    // [ACC-1] [ACC-6] [ACC-7]
    let files = Files::with_rules("allow alice all /**\nallow bob all /**\nend\n");
    let alice = files.token(&["new", "alice"]);
    let server = files.serve();
    let refused = login(&server, "").expect_err("it is refused");
    assert_eq!(refused.code(), Some(ErrorCode::Denied));
    assert!(refused.to_string().contains("IW_TOKEN"), "{refused}");
    let mut first = login(&server, &alice).unwrap();
    open(&mut first, "/a", Durability::Memory);
    let bob = files.token(&["new", "bob"]);
    server.logs(&["--tokens", "was read again"]);
    let mut second = login(&server, &bob).unwrap();
    assert!(may_list(&mut second, "/a"));
    files.token(&["revoke", "alice"]);
    server.logs(&["--tokens", "was read again"]);
    until("alice's session has ended", || first.list("/").is_err());
    assert!(login(&server, &alice).is_err());
    assert!(may_list(&mut second, "/a"));
}

#[test]
fn new_rules_hold_and_broken_ones_do_not() {
    // [RULE-3] [RULE-7]
    let files = Files::with_rules(ALL);
    files.token(&["new", "alice"]);
    let server = files.serve();
    let mut client = login(&server, "").unwrap();
    open(&mut client, "/a", Durability::Memory);
    files.replace_rules("deny * read /a\nallow * all /**\n");
    server.logs(&["rules:2:16: error: the file stops here", "before holds"]);
    assert!(may_list(&mut client, "/a"));
    files.replace_rules("deny * read /a\nallow * reed /**\nend\n");
    server.logs(&["rules:2:9: error: `reed` is not an operation"]);
    assert!(may_list(&mut client, "/a"));
    files.replace_rules("deny * read /a\nallow * all /**\nend\n");
    server.logs(&["--rules", "was read again"]);
    until("the rules hold", || !may_list(&mut client, "/a"));
    std::fs::remove_file(files.path("rules")).unwrap();
    server.logs(&["--rules", "before holds"]);
    assert!(!may_list(&mut client, "/a"));
}

#[test]
fn sighup_has_the_files_read_again() {
    // [RULE-7]
    let files = Files::with_rules(ALL);
    files.token(&["new", "alice"]);
    let server = files.serve();
    server.signal("-HUP");
    server.logs(&["--tokens", "was read again"]);
    server.logs(&["--rules", "was read again"]);
    login(&server, "").unwrap();
}

#[test]
fn a_token_that_expires_ends_its_session() {
    // [ACC-6]
    let files = Files::with_rules("allow alice all /**\nend\n");
    let alice = files.token(&["new", "alice"]);
    let server = files.serve();
    let mut client = login(&server, &alice).unwrap();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    let soon = now.as_secs() + 2;
    let tokens = std::fs::read_to_string(files.path("tokens")).unwrap();
    let (line, _) = tokens.split_once('\n').unwrap();
    let (line, _) = line.rsplit_once(' ').unwrap();
    std::fs::write(files.path("tokens"), format!("{line} {soon}\nend\n")).unwrap();
    until("the session has ended", || client.list("/").is_err());
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    assert!(now.as_secs() >= soon);
    assert!(login(&server, &alice).is_err());
}

#[test]
fn a_server_does_not_start_with_a_file_that_is_not_sound() {
    // [RULE-3]
    let files = Files::with_rules("allow alice read\nend\n");
    std::fs::write(files.path("tokens"), "end\nend\n").unwrap();
    let (tokens, rules) = (files.text("tokens"), files.text("rules"));
    let cases = [
        (
            ["--rules", &rules],
            format!("--rules {rules}:1:17: error: "),
        ),
        (
            ["--tokens", &tokens],
            format!("--tokens {tokens}:2:1: error: "),
        ),
        (["--rules", "/nowhere"], "--rules /nowhere: ".to_string()),
    ];
    for (options, expected) in cases {
        let ended = Command::new(env!("CARGO_BIN_EXE_interweave"))
            .args([
                "serve",
                "--store",
                "memory",
                "--http",
                "none",
                "--listen",
                "127.0.0.1:0",
            ])
            .args(options)
            .output()
            .expect("the program runs");
        let text = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(1), "{text}");
        assert!(text.contains(&expected), "{text}");
    }
}

fn reload(server: &Server, token: &str) -> (Option<i32>, String) {
    let ended = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .args(["rules", "reload", &format!("127.0.0.1:{}", server.port)])
        .env("IW_TOKEN", token)
        .output()
        .expect("the program runs");
    let both = [ended.stdout, ended.stderr].concat();
    (ended.status.code(), String::from_utf8(both).unwrap())
}

#[test]
fn an_admin_has_the_files_read_and_hears_what_became_of_them() {
    // [RULE-8]
    let files = Files::with_rules("allow alice all /**\nallow bob all /a/**\nend\n");
    let alice = files.token(&["new", "alice"]);
    let bob = files.token(&["new", "bob"]);
    let server = files.serve();
    let (rules, tokens) = (files.text("rules"), files.text("tokens"));
    let (status, text) = reload(&server, &alice);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains(&format!("--rules {rules} was read again: 2 rules\n")));
    assert!(text.contains(&format!("--tokens {tokens} was read again: 2 tokens\n")));
    let (status, text) = reload(&server, &bob);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("bob asked for admin; no line"), "{text}");

    let mut client = login(&server, &bob).unwrap();
    open(&mut client, "/a", Durability::Memory);
    for change in 0..5 {
        // What the command said holds at once.
        files.replace_rules("allow alice all /**\nallow bob all /b\nend\n");
        assert_eq!(reload(&server, &alice).0, Some(0));
        assert!(!may_list(&mut client, "/a"), "{change}");
        files.replace_rules("allow alice all /**\nallow bob reed /a\nend\n");
        let (status, text) = reload(&server, &alice);
        assert_eq!(status, Some(1), "{text}");
        let wrong = format!("--rules {rules}:2:11: error: `reed` is not an operation");
        assert!(
            text.contains(&wrong) && text.contains("before holds"),
            "{text}"
        );
        assert!(!may_list(&mut client, "/a"), "{change}");
        files.replace_rules("allow alice all /**\nallow bob all /a\nend\n");
        assert_eq!(reload(&server, &alice).0, Some(0));
        assert!(may_list(&mut client, "/a"), "{change}");
    }
    // An admin who takes the right from himself hears of it.
    files.replace_rules("allow bob all /a\nend\n");
    assert_eq!(reload(&server, &alice).0, Some(0));
    assert_eq!(reload(&server, &alice).0, Some(1));
}

#[test]
fn a_server_without_files_says_that_there_is_nothing_to_read() {
    let server = Server::in_memory(&[]);
    let (status, text) = reload(&server, "");
    assert_eq!(status, Some(1));
    assert!(text.contains("start it with --rules FILE"), "{text}");
}
