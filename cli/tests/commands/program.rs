//! A call of the program: to its end, or while it runs.

use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

/// How a call ended.
pub struct Ended {
    pub success: bool,
    pub out: String,
    pub err: String,
}

pub fn call(arguments: &[&str]) -> Ended {
    call_with(&[], arguments)
}

/// With variables of the environment.
pub fn call_with(variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let output = Command::new(env!("CARGO_BIN_EXE_interweave"))
        .envs(variables.iter().copied())
        .args(arguments)
        .output()
        .expect("the program runs");
    Ended {
        success: output.status.success(),
        out: String::from_utf8(output.stdout).expect("text"),
        err: String::from_utf8(output.stderr).expect("text"),
    }
}

/// A call that must fail: what it says.
pub fn refused(arguments: &[&str]) -> String {
    let ended = call(arguments);
    assert!(!ended.success, "{arguments:?} succeeded: {}", ended.out);
    ended.err
}

pub struct Running {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Running {
    pub fn start(arguments: &[&str]) -> Running {
        let mut child = Command::new(env!("CARGO_BIN_EXE_interweave"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let out = BufReader::new(child.stdout.take().expect("its output")).lines();
        let err = BufReader::new(child.stderr.take().expect("its errors")).lines();
        Running { child, out, err }
    }

    /// The next line it prints.
    pub fn line(&mut self) -> String {
        self.out.next().expect("another line").expect("text")
    }

    /// The next line it says on stderr.
    pub fn word(&mut self) -> String {
        self.err.next().expect("another line").expect("text")
    }

    /// Sends it the signal of that name.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &pid]).status();
        assert!(sent.expect("kill runs").success());
    }

    /// Its end, and what it said on stderr before.
    pub fn end(mut self) -> (ExitStatus, Vec<String>) {
        let words = self.err.by_ref().map(|line| line.expect("text")).collect();
        (self.child.wait().expect("its end"), words)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
