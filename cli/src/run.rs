//! `interweave run`: a program as the ranks of one job on this machine.
//!
//! The ranks meet by files in a folder that only the user may read, and find the job key there
//! (cluster/fabric/rendezvous.h). Their output is passed on in whole lines (`rank_output`).

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use clap::Args;
use rustix::process::{kill_process, Pid, Signal};
use tokio::process::{Child, Command};
use tokio::signal::unix::{self, SignalKind};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::rank_output::{relay, Destination};

const EXAMPLES: &str = "\
Examples:
  interweave run -n 4 ./jacobi 1024      four ranks of one job, on this machine
  interweave run -n 2 --label -- ./is -S S    each line begins with its rank
  IW_DSM_PAGE=8192 interweave run -n 4 ./jacobi 1024      all ranks have the environment

Each rank has IW_RANK, IW_SIZE and IW_RENDEZVOUS in its environment. Standard input goes to rank 0.
The first rank that fails ends the others, and its status is that of `run`: 128 and the signal's
number if a signal ended it. Ctrl-C and SIGTERM end all. A rank has 5 seconds to end on SIGTERM.
On several machines, use mpirun, or set the three variables yourself (docs/dsm.md).";

/// How long the others may take to end by themselves when a rank has failed. What they say of it
/// would be lost, and so would be rank 0's text on how to use the program.
const OWN_END: Duration = Duration::from_millis(200);
/// How long a rank may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How long to read on when all ranks have ended: a process that they started may have their
/// output still.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// Start a program as the ranks of one job on this machine
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Run {
    /// How many ranks
    #[arg(short = 'n', long = "ranks", value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=1024))]
    ranks: u16,
    /// Begin each line of output with the rank, as in `[2] text`
    #[arg(long)]
    label: bool,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM ARGS"
    )]
    program: Vec<OsString>,
}

/// A folder of one job, which only the user may read. It is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn make() -> std::io::Result<Folder> {
        let mut number = 0u32;
        loop {
            let name = format!("interweave-run-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Folder(path)),
                // Of a job before, or another user's: never used.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(error),
            }
        }
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nobody can do anything about what is left.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The user's wish to end the job.
struct Signals {
    interrupts: unix::Signal,
    terminations: unix::Signal,
}

impl Signals {
    fn catch() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupts: unix::signal(SignalKind::interrupt())?,
            terminations: unix::signal(SignalKind::terminate())?,
        })
    }

    /// The next one, as a status.
    async fn wait(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupts.recv() => 130,
            _ = self.terminations.recv() => 143,
        }
    }
}

/// An order to the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Run,
    End,
    EndAtOnce,
}

impl Run {
    pub fn run(self) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let done = match runtime {
            Ok(runtime) => runtime.block_on(self.supervise()),
            Err(error) => Err(format!("cannot start: {error}")),
        };
        match done {
            Ok(status) => ExitCode::from(status),
            Err(text) => {
                eprintln!("interweave run: {text}");
                ExitCode::FAILURE
            }
        }
    }

    /// Starts the ranks and waits for their end. Returns the job's status.
    async fn supervise(&self) -> Result<u8, String> {
        let folder = Folder::make().map_err(|error| {
            format!(
                "cannot make a folder in {}: {error}",
                std::env::temp_dir().display()
            )
        })?;
        let mut signals =
            Signals::catch().map_err(|error| format!("cannot take signals: {error}"))?;
        let (ended, mut ends) = mpsc::unbounded_channel();
        let (order, orders) = watch::channel(Order::Run);
        let mut outputs = JoinSet::new();
        let mut ranks = JoinSet::new();
        for rank in 0..self.ranks {
            // The children that were started before end with the error: kill_on_drop.
            let mut child = self.start(rank, folder.path())?;
            let label = self.label.then(|| format!("[{rank}] "));
            let is_one_of_many = self.ranks > 1;
            let out = child.stdout.take().expect("a pipe");
            let err = child.stderr.take().expect("a pipe");
            outputs.spawn(relay(out, Destination::Out, label.clone(), is_one_of_many));
            outputs.spawn(relay(err, Destination::Err, label, is_one_of_many));
            ranks.spawn(watch_over(rank, child, orders.clone(), ended.clone()));
        }
        drop(ended);
        let status = wait_for_ends(&mut ends, &order, &mut signals).await;
        while ranks.join_next().await.is_some() {}
        let all_output = async { while outputs.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS, all_output).await;
        Ok(status)
    }

    fn start(&self, rank: u16, folder: &Path) -> Result<Child, String> {
        let mut rendezvous = OsString::from("file:");
        rendezvous.push(folder);
        let stdin = if rank == 0 {
            Stdio::inherit()
        } else {
            Stdio::null()
        };
        Command::new(&self.program[0])
            .args(&self.program[1..])
            .env("IW_RENDEZVOUS", rendezvous)
            .env("IW_RANK", rank.to_string())
            .env("IW_SIZE", self.ranks.to_string())
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                let name = self.program[0].to_string_lossy();
                format!("cannot start {name}: {error}. Give its path, as in ./program")
            })
    }
}

/// Waits for one rank, and passes orders to it.
async fn watch_over(
    rank: u16,
    mut child: Child,
    mut orders: watch::Receiver<Order>,
    ended: mpsc::UnboundedSender<(u16, ExitStatus)>,
) {
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            Ok(()) = orders.changed() => {
                let wanted = *orders.borrow_and_update();
                let signal = if wanted == Order::EndAtOnce { Signal::KILL } else { Signal::TERM };
                // It is not reaped yet: the number is still its own.
                let pid = child.id().and_then(|id| Pid::from_raw(id as i32));
                let _ = pid.map(|pid| kill_process(pid, signal));
            }
        }
    };
    if let Ok(status) = status {
        let _ = ended.send((rank, status));
    }
}

/// Until all ranks have ended. Returns the status of the first that failed, or 0.
async fn wait_for_ends(
    ends: &mut mpsc::UnboundedReceiver<(u16, ExitStatus)>,
    order: &watch::Sender<Order>,
    signals: &mut Signals,
) -> u8 {
    let mut failed = None;
    // The order that follows, and when.
    let mut next: Option<(Order, tokio::time::Instant)> = None;
    loop {
        let until_next = async {
            match next {
                Some((wanted, at)) => {
                    tokio::time::sleep_until(at).await;
                    wanted
                }
                None => std::future::pending().await,
            }
        };
        let wanted = tokio::select! {
            end = ends.recv() => {
                match end {
                    None => return failed.unwrap_or(0),
                    Some((_, status)) if status.success() => {}
                    Some((rank, status)) if failed.is_none() => {
                        eprintln!(
                            "interweave run: rank {rank} {}; the other ranks are ended",
                            text_of(status)
                        );
                        failed = Some(code_of(status));
                        next = Some((Order::End, tokio::time::Instant::now() + OWN_END));
                    }
                    // It may be why the first one failed: to write a core takes time.
                    Some((rank, status)) if *order.borrow() == Order::Run => {
                        if status.signal().is_some() {
                            eprintln!("interweave run: rank {rank} {}", text_of(status));
                        }
                    }
                    Some(_) => {}
                }
                continue;
            }
            wanted = until_next => wanted,
            code = signals.wait() => {
                failed.get_or_insert(code);
                // A second signal of the user does not wait. Ctrl-C on a terminal reaches the
                // ranks as well: one of them may have ended by it already.
                if *order.borrow() == Order::Run { Order::End } else { Order::EndAtOnce }
            }
        };
        order.send_replace(wanted);
        let is_last = wanted == Order::EndAtOnce;
        next = (!is_last).then(|| (Order::EndAtOnce, tokio::time::Instant::now() + GRACE));
    }
}

fn code_of(status: ExitStatus) -> u8 {
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    };
    u8::try_from(code).unwrap_or(1)
}

fn text_of(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("failed with status {code}"),
        (_, Some(signal)) => format!("was ended by signal {signal}"),
        _ => "failed".to_string(),
    }
}
