//! A process that ends with its owner.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

pub struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Process {
    /// Without an input.
    pub fn start(command: &mut Command) -> Result<Process, String> {
        let started = command.stdin(Stdio::null()).spawn();
        let program = command.get_program().to_string_lossy();
        started
            .map(Process)
            .map_err(|error| format!("{program}: {error}; is it installed?"))
    }

    /// One whose first line is `listening ADDRESS`. Returns the address, too.
    pub fn listening(command: &mut Command) -> Result<(Process, String), String> {
        let mut process = Process::start(command.stdout(Stdio::piped()))?;
        let output = process.0.stdout.take().expect("it is piped");
        let first = BufReader::new(output).lines().next();
        let first = first.and_then(Result::ok).unwrap_or_default();
        match first.strip_prefix("listening ") {
            Some(address) => Ok((process, address.to_string())),
            None => Err("it ended before it listened".to_string()),
        }
    }

    pub fn has_ended(&mut self) -> bool {
        // A child whose state cannot be had is not this process's child any more.
        !matches!(self.0.try_wait(), Ok(None))
    }

    pub fn kill(&mut self) {
        // One that has ended cannot be killed.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
