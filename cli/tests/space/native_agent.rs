//! A program with the client library in C++ (native/abi/tests/agent_main.cc). It is told a command
//! a line, and answers each with a line.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct NativeAgent {
    child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl NativeAgent {
    /// Where it is, if the native programs have been built (make/test_rust.sh).
    pub fn program() -> Option<OsString> {
        std::env::var_os("IW_TEST_AGENT")
    }

    pub fn start(program: &OsString, environment: &[(&str, &str)]) -> NativeAgent {
        let mut command = Command::new(program);
        command.envs(environment.iter().copied());
        NativeAgent::run(command)
    }

    pub fn run(mut command: Command) -> NativeAgent {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the agent starts");
        let commands = child.stdin.take().expect("its input");
        let answers = BufReader::new(child.stdout.take().expect("its output"));
        NativeAgent {
            child,
            commands,
            answers,
        }
    }

    pub fn tell(&mut self, command: &str) -> String {
        self.begin(command);
        self.answer()
    }

    /// Tells it without waiting for the answer.
    pub fn begin(&mut self, command: &str) {
        writeln!(self.commands, "{command}").expect("the agent reads");
    }

    pub fn answer(&mut self) -> String {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).expect("text");
        assert!(read > 0, "the agent has ended");
        line.trim_end().to_owned()
    }

    /// Tells it all of this, which succeeds.
    pub fn do_all(&mut self, commands: &[&str]) {
        for command in commands {
            assert_eq!(self.tell(command), "ok", "{command}");
        }
    }
}

impl Drop for NativeAgent {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
