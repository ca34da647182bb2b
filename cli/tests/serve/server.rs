//! A server process, and what it keeps in a directory of its own.

use interweave_wire::mip::Address;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{channel, Receiver};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long a test waits for what must come.
const PATIENT: Duration = Duration::from_secs(20);

/// A directory that is removed with its contents.
pub struct Directory(PathBuf);

impl Directory {
    pub fn new() -> Directory {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let name = format!("interweave-serve-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory for the test");
        Directory(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Files that cannot be removed are left to the system's cleaning.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub struct Server {
    child: Child,
    pub port: u16,
    pub http: SocketAddr,
    /// What it logged before it listened.
    pub first_words: String,
    /// Each line that it logs later.
    words: Mutex<Receiver<String>>,
}

impl Server {
    /// Keeps nothing.
    pub fn in_memory(options: &[&str]) -> Server {
        Server::start("memory", options)
    }

    /// On ports that the system chooses.
    pub fn start(store: &str, options: &[&str]) -> Server {
        Server::run(
            Command::new(env!("CARGO_BIN_EXE_interweave")),
            store,
            options,
        )
    }

    /// Logs what happens to each connection.
    pub fn talkative(options: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
        command.env("IW_LOG", "debug");
        Server::run(command, "memory", options)
    }

    /// With that file of the passwords of databases.
    pub fn with_passwords(file: &Path, store: &str) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
        command.env("PGPASSFILE", file);
        Server::run(command, store, &[])
    }

    /// Keeps nothing, and makes a token of its own, in that runtime folder.
    pub fn with_own_token(runtime: &Directory, options: &[&str]) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interweave"));
        command.env("XDG_RUNTIME_DIR", runtime.path());
        Server::begin(command, "memory", options)
    }

    /// With so many file descriptors at most.
    pub fn with_descriptors(limit: u32, store: &str, options: &[&str]) -> Server {
        let mut command = Command::new("sh");
        let script = format!("ulimit -n {limit}; exec \"$0\" \"$@\"");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_interweave")]);
        Server::run(command, store, options)
    }

    /// Lets everybody in, unless the options say otherwise.
    fn run(command: Command, store: &str, options: &[&str]) -> Server {
        let says_who = |option: &&str| matches!(*option, "--tokens" | "--rules" | "--shared-rules");
        let who = match options.iter().any(says_who) {
            true => &[][..],
            false => &["--insecure"],
        };
        Server::begin(command, store, &[who, options].concat())
    }

    fn begin(mut command: Command, store: &str, options: &[&str]) -> Server {
        let http = match options.contains(&"--http") {
            true => &[][..],
            false => &["--http", "127.0.0.1:0"],
        };
        let mut child = command
            .args(["serve", "--store", store, "--log-format", "json"])
            .args(["--listen", "127.0.0.1:0"])
            .args(http)
            .args(options)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut log = BufReader::new(child.stderr.take().expect("its log"));
        let (http, first_words) = http_address(&mut log);
        let (said, words) = channel();
        std::thread::spawn(move || {
            // Read on, so that the server never waits for us.
            for line in log.lines().map_while(Result::ok) {
                // The test may have ended.
                let _ = said.send(line);
            }
        });
        let out = BufReader::new(child.stdout.take().expect("its output"));
        let ready = out.lines().next().expect("a line").expect("text");
        let port = ready
            .strip_prefix("listening 127.0.0.1:")
            .and_then(|port| port.parse().ok())
            .unwrap_or_else(|| panic!("not the line that was promised: {ready}"));
        Server {
            child,
            port,
            http,
            first_words,
            words: Mutex::new(words),
        }
    }

    /// Waits for a line of the log that has all these words, and returns it.
    pub fn logs(&self, words: &[&str]) -> String {
        let lines = self.words.lock().expect("no other test failed here");
        loop {
            let line = lines.recv_timeout(PATIENT);
            let line = line.unwrap_or_else(|error| panic!("no line with {words:?}: {error}"));
            if words.iter().all(|word| line.contains(word)) {
                return line;
            }
        }
    }

    pub fn address(&self) -> Address {
        Address::Tcp {
            host: "127.0.0.1".to_string(),
            port: self.port,
            secure: false,
        }
    }

    /// Stops it, and returns what it logged that [`Server::logs`] has not passed.
    pub fn last_words(mut self) -> Vec<String> {
        self.stop();
        let words = self.words.lock().expect("no other test failed here");
        words.iter().collect()
    }

    /// Whether it has ended by itself. For the tests of spaces.
    #[allow(dead_code)]
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_some()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.child.kill().expect("a signal");
        self.child.wait().expect("its end");
    }

    /// SIGTERM; how it ended.
    pub fn stop(&mut self) -> ExitStatus {
        self.signal("-TERM");
        self.end()
    }

    /// Waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        self.child.wait().expect("its end")
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &id]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// How many file descriptors it has open.
    pub fn descriptors(&self) -> usize {
        let open = std::fs::read_dir(format!("/proc/{}/fd", self.child.id()));
        open.expect("Linux counts them").count()
    }

    /// Returns the server's resident memory in bytes.
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("Linux tells it");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.expect("a number") << 10
    }

    /// What HTTP answers: status line and body.
    pub fn get(&self, path: &str, host: &str) -> (String, String) {
        self.ask_http(&format!("GET {path}"), host, "")
    }

    /// The same, to any request.
    pub fn ask_http(&self, request: &str, host: &str, body: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.http).expect("HTTP is there");
        let length = body.len();
        let request = format!(
            "{request} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.lines().next().unwrap_or_default();
        (status.to_string(), body.to_string())
    }

    /// Waits until the page answers with that code and these words.
    pub fn answers(&self, path: &str, (code, words): (u32, &str)) {
        let until = Instant::now() + PATIENT;
        let is_so = |(status, body): &(String, String)| {
            status.contains(&format!(" {code} ")) && body.contains(words)
        };
        let mut answer = self.get(path, "127.0.0.1");
        while !is_so(&answer) {
            assert!(Instant::now() < until, "{path}: {answer:?}");
            answer = self.get(path, "127.0.0.1");
        }
    }

    /// A number of /metrics.
    pub fn metric(&self, name: &str) -> u64 {
        let (_, page) = self.get("/metrics", "127.0.0.1");
        let wanted = format!("interweave_{name} ");
        let line = page.lines().find_map(|line| line.strip_prefix(&wanted));
        line.and_then(|value| value.parse().ok())
            .unwrap_or_else(|| panic!("no metric {name} in\n{page}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where HTTP is (port 0: nowhere), and what was logged before.
fn http_address(log: &mut impl BufRead) -> (SocketAddr, String) {
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        let read = log.read_line(&mut line).expect("the log is text");
        assert!(read > 0, "the server ended instead of starting:\n{seen}");
        let at_http = line.split("\"HTTP: ").nth(1);
        let address = at_http.and_then(|rest| rest.split("\"address\":\"").nth(1));
        if let Some(text) = address.and_then(|rest| rest.split('"').next()) {
            return (text.parse().expect("an address"), seen);
        }
        if line.contains("\"listening\"") {
            return (([127, 0, 0, 1], 0).into(), seen);
        }
        seen.push_str(&line);
    }
}
