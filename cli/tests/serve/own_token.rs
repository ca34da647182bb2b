//! A server's own token [OWN-1..3] [OWN-7]: the programs of its user find it, and nobody else comes
//! in.

use crate::clients::{open, write, PATIENT};
use crate::server::{Directory, Server};
use interweave_server::client::{Client, Greeting, Transport};
use interweave_wire::mip::Address;
use interweave_wire::protocol::{Durability, ErrorCode};
use std::fs::Permissions;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Instant;

const SOMEBODY: u32 = 65_533;

/// A server that nobody told whom to let in.
fn serve(runtime: &Directory) -> Server {
    Server::with_own_token(runtime, &[])
}

/// The program, as a user of that runtime folder calls it who has nothing else to show.
pub fn command(arguments: &[&str], runtime: &Directory) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
    command.args(arguments);
    command.env("XDG_RUNTIME_DIR", runtime.path());
    for name in ["IW_TOKEN", "IW_CA", "IW_CERT", "IW_KEY"] {
        command.env_remove(name);
    }
    command
}

fn list(server: &Server, runtime: &Directory) -> Output {
    list_at(&address(server), runtime)
}

pub fn list_at(server: &str, runtime: &Directory) -> Output {
    let listed = command(&["ls", server], runtime).output();
    listed.expect("the program runs")
}

fn address(server: &Server) -> String {
    format!("127.0.0.1:{}", server.port)
}

fn token_file(server: &Server, runtime: &Directory) -> PathBuf {
    let name = format!("{}.token", server.port);
    runtime.path().join("interweave").join(name)
}

/// Kills a server. Returns the address where it listened, and the file of its token.
pub fn left_by_a_killed_server(runtime: &Directory) -> (String, PathBuf) {
    let mut server = serve(runtime);
    server.kill();
    let file = token_file(&server, runtime);
    assert!(file.exists(), "the old token");
    (address(&server), file)
}

#[test]
fn own_1_the_users_programs_find_the_token_and_others_are_not_let_in() {
    let (runtime, other) = (Directory::new(), Directory::new());
    let server = serve(&runtime);
    let found = list(&server, &runtime);
    assert!(found.status.success(), "{found:?}");
    let refused = list(&server, &other);
    assert!(!refused.status.success());
    let text = String::from_utf8_lossy(&refused.stderr);
    let folder = runtime.path().join("interweave").display().to_string();
    for word in ["IW_TOKEN", "iw://127.0.0.1", "PORT.token", &folder] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn own_1_http_lets_nobody_in_without_the_token() {
    let runtime = Directory::new();
    let server = serve(&runtime);
    let status = |path: &str| server.get(path, "localhost").0;
    for closed in ["/status", "/metrics", "/viewer.js"] {
        assert!(status(closed).contains("401"), "{closed}");
    }
    assert!(status("/").contains("303"));
    for open in ["/login", "/login.js", "/viewer.css", "/healthz"] {
        assert!(status(open).contains("200"), "{open}");
    }
}

#[test]
fn own_1_another_user_is_let_in_by_no_way() {
    let is_root = Command::new("id").arg("-u").output().expect("id runs");
    if is_root.stdout != b"0\n" {
        return;
    }
    let (runtime, place) = (Directory::new(), Directory::new());
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.path(), open.clone()).expect("another mode");
    std::fs::set_permissions(runtime.path(), open).expect("another mode");
    let socket = format!("unix:{}", place.path().join("socket").display());
    let server = Server::with_own_token(&runtime, &["--listen", &socket]);
    let mode = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(place.path().join("socket"), mode).expect("another mode");
    let program = place.path().join("interweave");
    let copied = Command::new("cp")
        .arg(env!("CARGO_BIN_EXE_interweave"))
        .arg(&program)
        .status();
    assert!(copied.expect("cp runs").success());
    let list_as = |user: u32, url: &str| {
        Command::new(&program)
            .args(["ls", url])
            .current_dir("/")
            .env("XDG_RUNTIME_DIR", runtime.path())
            .env_remove("IW_TOKEN")
            .uid(user)
            .gid(user)
            .output()
            .expect("it runs")
    };
    for url in [socket, format!("127.0.0.1:{}", server.port)] {
        assert!(list_as(0, &url).status.success(), "{url}");
        let refused = list_as(SOMEBODY, &url);
        assert!(!refused.status.success(), "{url}: {refused:?}");
    }
}

#[test]
fn own_1_options_that_contradict_each_other_are_refused() {
    let refused = |options: &[&str]| {
        let ended = Command::new(env!("CARGO_BIN_EXE_interweave"))
            .args(["serve", "--store", "memory", "--http", "none"])
            .args(options)
            .output()
            .expect("the program runs");
        assert_eq!(ended.status.code(), Some(1), "{options:?}");
        String::from_utf8_lossy(&ended.stderr).into_owned()
    };
    let says = |options: &[&str], words: &[&str]| {
        let text = refused(options);
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    says(
        &["--insecure", "--tokens", "/t"],
        &["--insecure", "--tokens"],
    );
    says(&["--insecure", "--rules", "/r"], &["--insecure", "--rules"]);
    says(
        &["--own-token", "--tokens", "/t"],
        &["--own-token", "--tokens"],
    );
    says(
        &["--own-token", "--insecure"],
        &["--own-token", "--insecure"],
    );
    says(&["--unix-socket", "all"], &["--unix-socket all", "--rules"]);
    says(&["--listen", "0.0.0.0:0"], &["serve --init", "--insecure"]);
}

#[test]
fn init_makes_a_folder_of_this_user_alone_whose_config_works_or_nothing() {
    let parent = Directory::new();
    let init = |name: &str| {
        let folder = parent.path().join(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
        command.args(["serve", "--host", "localhost", "--init"]);
        let ended = command.arg(&folder).output().expect("the program runs");
        let words = [&ended.stdout[..], &ended.stderr].concat();
        (folder, String::from_utf8_lossy(&words).into_owned())
    };
    let (good, words) = init("my lab");
    let mode = good.metadata().expect("it is made").permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(!words.contains("chmod"), "{words}");
    // The config would name other files, or have other options.
    for name in ["my #1", "lab\ninsecure = true"] {
        let (folder, words) = init(name);
        assert!(words.contains("choose another folder"), "{words}");
        assert_eq!(folder.read_dir().expect("it is made").count(), 0);
    }
    let open = parent.path().join("open");
    std::fs::create_dir(&open).expect("a folder");
    std::fs::set_permissions(&open, Permissions::from_mode(0o777)).expect("it is ours");
    assert!(init("open").1.contains("chmod o-w"));
    // The command keeps the files that it finds, and makes no others.
    for name in ["ca.pem", "server.key", "rules"] {
        let folder = parent.path().join(name);
        std::fs::create_dir(&folder).expect("a folder");
        std::os::unix::fs::symlink("nowhere", folder.join(name)).expect("a link");
        let words = init(name).1;
        assert!(
            words.contains("is there already; choose another folder"),
            "{words}"
        );
        assert_eq!(folder.read_dir().expect("a folder").count(), 1);
    }
}

#[test]
fn own_token_says_the_same_as_nothing() {
    let runtime = Directory::new();
    let server = Server::with_own_token(&runtime, &["--own-token"]);
    assert!(token_file(&server, &runtime).exists());
    assert!(list(&server, &runtime).status.success());
}

#[test]
fn own_2_the_file_is_the_users_alone_and_goes_with_the_server() {
    let runtime = Directory::new();
    let mut server = serve(&runtime);
    let file = token_file(&server, &runtime);
    let mode = |path: &std::path::Path| path.metadata().expect("it").permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().expect("its folder")), 0o700);
    let token = std::fs::read_to_string(&file).expect("the token");
    assert!(token.starts_with("iw_") && token.ends_with('\n'), "{token}");
    assert!(
        !server.first_words.contains(token.trim()),
        "the log has the token"
    );
    assert!(
        server.first_words.is_empty() || !server.first_words.contains("--insecure"),
        "{}",
        server.first_words
    );
    let named = server.logs(&["the viewer asks for the token", "/login"]);
    let of_http = format!("{}.token", server.http.port());
    assert!(
        named.contains(&of_http) && !named.contains("iw_"),
        "{named}"
    );
    assert!(server.stop().success());
    assert!(!file.exists());
}

/// As the system removes the runtime folder of a user who logs out.
#[test]
fn own_2_a_file_that_is_missing_is_written_anew() {
    let runtime = Directory::new();
    let mut server = serve(&runtime);
    let file = token_file(&server, &runtime);
    let of_http = file.with_file_name(format!("{}.token", server.http.port()));
    let token = std::fs::read_to_string(&file).expect("the token");
    std::fs::remove_dir_all(runtime.path()).expect("the folder goes");
    std::fs::create_dir(runtime.path()).expect("the user logs in again");
    wait_for(&of_http);
    wait_for(&file);
    assert_eq!(std::fs::read_to_string(&file).expect("it"), token);
    let mode = |path: &std::path::Path| path.metadata().expect("it").permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    let folder = file.parent().expect("its folder");
    assert_eq!(mode(folder), 0o700);
    assert!(list(&server, &runtime).status.success());
    assert!(server.stop().success());
    let left = std::fs::read_dir(folder).expect("it").count();
    assert_eq!(left, 0, "no part of a file is left either");
}

#[test]
fn own_2_a_file_that_is_there_is_left_as_it_is() {
    let runtime = Directory::new();
    let mut server = Server::with_own_token(&runtime, &["--listen", "127.0.0.1:0"]);
    let file = token_file(&server, &runtime);
    let of_http = file.with_file_name(format!("{}.token", server.http.port()));
    let elsewhere = runtime.path().join("elsewhere");
    let folder = std::fs::read_dir(file.parent().expect("its folder")).expect("it");
    let mut files = folder.map(|entry| entry.expect("a file").path());
    // The server looks after it last.
    let last = files.find(|other| *other != file && *other != of_http);
    let last = last.expect("that of the second address");
    // Another server's file stays, and so does a link that somebody made.
    std::fs::write(&file, "another\n").expect("it is written");
    std::fs::remove_file(&of_http).expect("it goes");
    std::os::unix::fs::symlink(&elsewhere, &of_http).expect("a link");
    std::fs::remove_file(&last).expect("it goes");
    wait_for(&last);
    assert_eq!(std::fs::read_to_string(&file).expect("it"), "another\n");
    assert!(!elsewhere.exists());
    assert!(server.stop().success());
    assert!(file.exists() && of_http.is_symlink() && !last.exists());
}

#[test]
fn own_2_a_folder_that_became_a_link_gets_no_token() {
    let (runtime, other) = (Directory::new(), Directory::new());
    let mut server = serve(&runtime);
    let file = token_file(&server, &runtime);
    let folder = file.parent().expect("its folder");
    std::fs::remove_dir_all(folder).expect("it goes");
    std::os::unix::fs::symlink(other.path(), folder).expect("a link");
    let line = server.logs(&["was missing and was written anew"]);
    assert!(
        !line.contains(&runtime.path().display().to_string()),
        "{line}"
    );
    assert_eq!(std::fs::read_dir(other.path()).expect("it").count(), 0);
    assert!(server.stop().success());
}

pub fn wait_for(file: &std::path::Path) {
    let begin = Instant::now();
    while !file.exists() {
        assert!(begin.elapsed() < PATIENT, "{}", file.display());
        std::thread::yield_now();
    }
}

/// The terminal is one that `script` makes.
#[test]
fn own_4_a_terminal_shows_the_link_with_the_token() {
    let runtime = Directory::new();
    let serve = format!(
        "exec {} serve --store memory --listen 127.0.0.1:0 --http 127.0.0.1:0",
        env!("CARGO_BIN_EXE_interweave")
    );
    let mut script = Command::new("script")
        .args(["--quiet", "--return", "--command", &serve, "/dev/null"])
        .env("XDG_RUNTIME_DIR", runtime.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script runs");
    let said = BufReader::new(script.stdout.take().expect("its output"));
    let link = said.lines().map_while(Result::ok);
    let link = link.map(|line| line.trim().to_string());
    let link = link
        .filter_map(|line| Some(line.split_once("/login#")?.1.to_string()))
        .next();
    let folder = runtime.path().join("interweave");
    let files = std::fs::read_dir(folder).expect("the token's folder");
    let tokens = files.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let tokens: Vec<String> = tokens.map(|token| token.trim().to_string()).collect();
    // The end of the terminal is the end of the server.
    script.kill().expect("a signal");
    script.wait().expect("its end");
    assert_eq!(tokens.len(), 2, "of programs and of HTTP");
    assert!(tokens.iter().all(|token| Some(token) == link.as_ref()));
}

#[test]
fn own_5_insecure_lets_everybody_in_also_at_open_addresses_and_warns() {
    let (runtime, other) = (Directory::new(), Directory::new());
    let options = ["--insecure", "--listen", "0.0.0.0:0"];
    let server = Server::with_own_token(&runtime, &options);
    assert!(list(&server, &other).status.success());
    assert!(server.get("/status", "localhost").0.contains("200"));
    assert!(!token_file(&server, &runtime).exists());
    let warns = |words: &str| server.first_words.matches(words).count() == 1;
    assert!(
        warns("--insecure: everybody who reaches 0.0.0.0"),
        "{}",
        server.first_words
    );
}

#[test]
fn own_2_a_token_in_a_folder_that_others_may_open_is_not_shown() {
    let runtime = Directory::new();
    let server = serve(&runtime);
    let file = token_file(&server, &runtime);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(&file, open).expect("another mode");
    assert!(!list(&server, &runtime).status.success());
}

#[test]
fn own_3_localhost_is_found_where_it_is_127_0_0_1() {
    let runtime = Directory::new();
    let server = serve(&runtime);
    let listed = list_at(&format!("localhost:{}", server.port), &runtime);
    assert!(listed.status.success(), "{listed:?}");
    // At another address of loopback another user's server may have the port.
    let other = Server::with_own_token(&runtime, &["--listen", "127.0.0.2:0"]);
    let line = other.logs(&["listening", "127.0.0.2:"]);
    let at = line.find("127.0.0.2:").expect("the address");
    let address: String = line[at..].chars().take_while(|c| *c != '"').collect();
    let port = address.split(':').nth(1).expect("a port");
    let copied = token_file(&other, &runtime).with_file_name(format!("{port}.token"));
    std::fs::copy(token_file(&other, &runtime), copied).expect("a copy");
    assert!(!list_at(&address, &runtime).status.success());
}

/// A client that waits for a killed server never shows the token that the server left behind.
#[test]
fn own_2_the_file_is_there_before_anybody_can_connect() {
    let runtime = Directory::new();
    let (listen, file) = left_by_a_killed_server(&runtime);
    let address = Address::parse(&listen).expect("an address");
    let waiting = std::thread::spawn(move || loop {
        // As a client does it: it connects, and then reads the file.
        let Ok(transport) = Transport::connect(&address) else {
            continue;
        };
        let token = std::fs::read_to_string(&file).expect("the token");
        let greeting = Greeting {
            token: token.trim().to_string(),
            ..Greeting::default()
        };
        match Client::greet(transport, greeting) {
            Ok(_) => return,
            Err(error) => assert_ne!(error.code(), Some(ErrorCode::Denied), "{error}"),
        }
    });
    let _second = Server::with_own_token(&runtime, &["--listen", &listen]);
    waiting.join().expect("it is let in");
}

#[test]
fn own_3_a_client_shows_the_token_of_a_server_that_began_anew() {
    let runtime = Directory::new();
    let first = serve(&runtime);
    let old = std::fs::read_to_string(token_file(&first, &runtime)).expect("the token");
    drop(first);
    let second = serve(&runtime);
    let new = std::fs::read_to_string(token_file(&second, &runtime)).expect("the token");
    assert_ne!(old, new);
    let greeting = Greeting {
        token: new.trim().to_string(),
        ..Greeting::default()
    };
    let mut client = Client::connect(&second.address(), greeting).expect("it is let in");
    let mut copy = open(&mut client, "/own", Durability::Memory);
    write(&mut client, &mut copy, 1, 1, 7).expect("the release");
    let stale = Greeting {
        token: old.trim().to_string(),
        ..Greeting::default()
    };
    let refused = Client::connect(&second.address(), stale).expect_err("it is refused");
    assert_eq!(refused.code(), Some(ErrorCode::Denied));
}

#[test]
fn own_2_a_server_without_a_token_removes_what_an_older_one_left() {
    let runtime = Directory::new();
    let (listen, file) = left_by_a_killed_server(&runtime);
    let _second = Server::with_own_token(&runtime, &["--insecure", "--listen", &listen]);
    assert!(!file.exists());
}

/// Locks the file, as a server does that has the same port in another network namespace.
fn other_server(file: &std::path::Path) -> std::fs::File {
    std::fs::create_dir_all(file.parent().expect("its folder")).expect("the folder");
    let mode = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(file.parent().expect("it"), mode).expect("a mode");
    std::fs::write(file, "another\n").expect("it is written");
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(file, mode).expect("a mode");
    let other = std::fs::File::open(file).expect("it is there");
    other.lock().expect("a lock");
    other
}

#[test]
fn own_7_the_file_of_another_server_that_runs_stays_and_programs_find_both() {
    let runtime = Directory::new();
    let (listen, file) = left_by_a_killed_server(&runtime);
    let other = other_server(&file);
    let mut second = Server::with_own_token(&runtime, &["--listen", &listen]);
    assert_eq!(std::fs::read_to_string(&file).expect("it"), "another\n");
    let named = file.display().to_string();
    second.logs(&["another server of this user", &named, "XDG_RUNTIME_DIR"]);
    let listed = list_at(&listen, &runtime);
    assert!(listed.status.success(), "{listed:?}");
    assert!(second.stop().success());
    assert_eq!(std::fs::read_to_string(&file).expect("it"), "another\n");
    // The other server is killed, and leaves its file.
    drop(other);
    let _third = Server::with_own_token(&runtime, &["--listen", &listen]);
    assert_ne!(std::fs::read_to_string(&file).expect("it"), "another\n");
}

#[test]
fn own_7_a_server_without_a_token_leaves_the_file_of_one_that_runs() {
    let runtime = Directory::new();
    let (listen, file) = left_by_a_killed_server(&runtime);
    let _other = other_server(&file);
    let _second = Server::with_own_token(&runtime, &["--insecure", "--listen", &listen]);
    assert_eq!(std::fs::read_to_string(&file).expect("it"), "another\n");
}

#[test]
fn own_7_a_server_that_runs_holds_the_lock_of_its_file() {
    let runtime = Directory::new();
    let mut server = serve(&runtime);
    let file = token_file(&server, &runtime);
    let is_held = || {
        let file = std::fs::File::open(&file).expect("it is there");
        file.try_lock_shared().is_err()
    };
    assert!(is_held());
    std::fs::remove_file(&file).expect("it goes");
    wait_for(&file);
    assert!(is_held(), "the lock of the file that was written anew");
    server.kill();
    assert!(!is_held());
}
