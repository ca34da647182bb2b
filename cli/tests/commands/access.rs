//! `interweave rules`, `interweave token` and the files of `interweave cert`.

use crate::program::{call, refused};
use crate::server::Directory;
use std::collections::BTreeSet;
use std::os::unix::fs::{symlink, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
    command.args(arguments).output().expect("the program runs")
}

fn out(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn err(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text")
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn rules_check_names_the_line_that_decides() {
    let directory = Directory::new();
    let file = text(&directory.path().join("lab.rules"));
    let rules = "group crew alice cert:robot-1\n\n\
                 \tdeny bob read /lab/secret # his\n\
                 allow @crew write,read /lab/**\nallow * metrics\nend\n";
    std::fs::write(&file, rules).unwrap();
    let check = |arguments: &[&str]| {
        let output = run(&[&["rules", "check", &file], arguments].concat());
        (output.status.code(), out(&output))
    };
    let by_4 = "yes, by line 4: allow @crew write,read /lab/**\n";
    for (who, operation) in [
        ("alice", "write"),
        ("cert:robot-1", "read"),
        ("alice", "steer"),
    ] {
        assert_eq!(
            check(&[who, operation, "/lab/a"]),
            (Some(0), by_4.to_string())
        );
    }
    let by_3 = "no, by line 3: deny bob read /lab/secret # his\n";
    assert_eq!(
        check(&["bob", "read", "/lab/secret"]),
        (Some(1), by_3.to_string())
    );
    let none = "no: no rule matches\n";
    assert_eq!(
        check(&["bob", "read", "/lab/a"]),
        (Some(1), none.to_string())
    );
    assert_eq!(check(&["uid:7", "metrics"]).0, Some(0));
}

#[test]
fn rules_check_gives_no_answer_to_what_is_not_a_question() {
    let directory = Directory::new();
    let file = text(&directory.path().join("lab.rules"));
    std::fs::write(&file, "allow alice read /lab\nallow alice reed /lab\nend\n").unwrap();
    let output = run(&["rules", "check", &file, "alice", "read", "/lab"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(out(&output), "");
    let found = err(&output);
    assert!(
        found.starts_with(&format!("{file}:2:13: error: `reed` is not")),
        "{found}"
    );
    std::fs::write(&file, "end\n").unwrap();
    let questions: [&[&str]; 7] = [
        &["a b", "read", "/lab"],
        &["alice", "reed", "/lab"],
        &["alice", "read", "lab"],
        &["alice", "read", "/lab#1"],
        &["alice", "read"],
        &["alice", "admin", "/lab"],
        &["alice"],
    ];
    for question in questions {
        let output = run(&[&["rules", "check", &file], question].concat());
        assert_eq!(output.status.code(), Some(2), "{question:?}");
    }
    let missing = run(&["rules", "check", "/nowhere", "alice", "read", "/lab"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(err(&missing).contains("/nowhere"));
}

/// A tokens file in a directory of its own.
struct File(Directory);

impl File {
    fn new() -> File {
        File(Directory::new())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("lab.tokens")
    }

    fn token(&self, arguments: &[&str]) -> Output {
        let path = text(&self.path());
        run(&[&["token"], arguments, &["--tokens", &path]].concat())
    }

    /// Returns the token.
    fn make(&self, name: &str, options: &[&str]) -> String {
        let output = self.token(&[&["new", name], options].concat());
        assert!(output.status.success(), "{}", err(&output));
        out(&output).trim().to_string()
    }

    fn bytes(&self) -> String {
        std::fs::read_to_string(self.path()).expect("the file")
    }

    fn list(&self) -> Vec<String> {
        let listed = out(&self.token(&["list"]));
        listed.lines().skip(1).map(str::to_string).collect()
    }

    /// The names of the files in its directory.
    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        entries
            .map(|entry| name(entry).into_string().unwrap())
            .collect()
    }
}

#[test]
fn a_new_token_is_printed_alone_and_the_file_has_its_hash() {
    // [ACC-7]
    let file = File::new();
    let output = file.token(&["new", "alice"]);
    let token = out(&output);
    assert!(token.ends_with('\n') && token.len() == 81, "{token}");
    let (id, secret) = (&token[3..15], &token[16..80]);
    assert!(err(&output).contains(id) && !err(&output).contains(secret));
    let bytes = file.bytes();
    assert!(bytes.contains(id) && !bytes.contains(secret), "{bytes}");
    assert!(bytes.ends_with("\nend\n"), "{bytes}");
    let mode = std::fs::metadata(file.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(file.names(), ["lab.tokens"]);
    let words: Vec<&str> = bytes.lines().next().unwrap().split(' ').collect();
    let days = |at: usize| words[at].parse::<u64>().unwrap() / 86_400;
    assert_eq!(days(4) - days(3), 365);
    assert_ne!(file.make("alice", &[]), token.trim());
}

#[test]
fn tokens_are_listed_and_revoked_by_name_and_by_id() {
    let file = File::new();
    let first = file.make("alice", &["--days", "0"]);
    file.make("alice", &[]);
    file.make("bob", &["--days", "1"]);
    let listed = file.list();
    assert_eq!(listed.len(), 3);
    assert!(
        listed[0].contains("never") && !listed[2].contains("never"),
        "{listed:?}"
    );
    let json = out(&file.token(&["list", "--json"]));
    assert!(
        json.starts_with(&format!(
            "[{{\"id\": \"{}\", \"name\": \"alice\"",
            &first[3..15]
        )),
        "{json}"
    );
    assert!(json.contains("\"expires\": null"), "{json}");
    // The owner's own words, which need not be UTF-8, and rights.
    let mut bytes = b"# the lab's \xff\n\n".to_vec();
    bytes.extend(file.bytes().into_bytes());
    std::fs::write(file.path(), &bytes).unwrap();
    std::fs::set_permissions(file.path(), PermissionsExt::from_mode(0o640)).unwrap();
    assert!(file.token(&["revoke", &first[3..15]]).status.success());
    assert_eq!(file.list().len(), 2);
    let output = file.token(&["revoke", "alice"]);
    assert!(out(&output).starts_with("revoked ") && out(&output).ends_with(" of alice\n"));
    let left = std::fs::read(file.path()).unwrap();
    assert!(left.starts_with(b"# the lab's \xff\n\n"));
    assert_eq!(file.list().len(), 1);
    let data = std::fs::metadata(file.path()).unwrap();
    assert_eq!(data.mode() & 0o777, 0o640);
    let output = file.token(&["revoke", "alice"]);
    assert!(
        !output.status.success() && err(&output).contains("token list"),
        "{output:?}"
    );
}

#[test]
fn a_file_that_does_not_parse_stays_as_it_is() {
    let file = File::new();
    file.make("alice", &[]);
    let cut = file.bytes().replace("end\n", "");
    std::fs::write(file.path(), &cut).unwrap();
    for arguments in [&["new", "bob"][..], &["list"], &["revoke", "alice"]] {
        let output = file.token(arguments);
        assert_eq!(output.status.code(), Some(1));
        let expected = format!("{}:1:", text(&file.path()));
        assert!(err(&output).starts_with(&expected), "{}", err(&output));
        assert!(
            err(&output).contains("error: the file stops here"),
            "{}",
            err(&output)
        );
    }
    assert_eq!(file.bytes(), cut);
    let gone = File::new();
    for arguments in [&["list"][..], &["revoke", "alice"]] {
        assert!(err(&gone.token(arguments)).contains("lab.tokens"));
        assert!(gone.names().is_empty());
    }
    for name in ["anyone", "a/b", "", &"a".repeat(65)] {
        refused(&["token", "new", name, "--tokens", &text(&gone.path())]);
        assert!(gone.names().is_empty());
    }
}

#[test]
fn a_link_to_the_file_stays_a_link() {
    let file = File::new();
    file.make("alice", &[]);
    let link = file.0.path().join("link");
    std::os::unix::fs::symlink("lab.tokens", &link).unwrap();
    assert!(call(&["token", "new", "bob", "--tokens", &text(&link)]).success);
    assert!(link.is_symlink());
    assert_eq!(file.list().len(), 2);
}

#[test]
fn processes_that_change_a_file_at_the_same_time_lose_nothing() {
    const PROCESSES: usize = 8;
    const EACH: usize = 5;
    let file = File::new();
    let tokens: BTreeSet<String> = std::thread::scope(|scope| {
        let file = &file;
        let one = |number: usize| {
            move || -> Vec<String> {
                let old = file.make(&format!("old-{number}"), &[]);
                let made = (0..EACH)
                    .map(|_| file.make(&format!("n{number}"), &[]))
                    .collect();
                assert!(file.token(&["revoke", &old[3..15]]).status.success());
                made
            }
        };
        let threads: Vec<_> = (0..PROCESSES)
            .map(|number| scope.spawn(one(number)))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(tokens.len(), PROCESSES * EACH);
    let made: BTreeSet<&str> = tokens.iter().map(|token| &token[3..15]).collect();
    let listed = file.list();
    let listed: BTreeSet<&str> = listed.iter().map(|line| &line[..12]).collect();
    assert_eq!(listed, made);
    assert_eq!(file.names(), ["lab.tokens"]);
}

#[test]
fn a_certificate_is_replaced_behind_its_link() {
    let directory = Directory::new();
    let folder = text(directory.path());
    assert!(call(&["cert", "authority", &folder]).success);
    assert!(call(&["cert", "server", &folder]).success);
    let [link, kept] = ["server.pem", "kept.pem"].map(|name| directory.path().join(name));
    std::fs::rename(&link, &kept).unwrap();
    symlink("kept.pem", &link).unwrap();
    let before = std::fs::read(&kept).unwrap();
    let done = call(&["cert", "server", &folder, "--force"]);
    assert!(done.success, "{}", done.err);
    assert_eq!(std::fs::read_link(&link).unwrap(), Path::new("kept.pem"));
    assert_ne!(std::fs::read(&kept).unwrap(), before);
}
