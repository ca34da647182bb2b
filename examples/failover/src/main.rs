//! A simulation in a segment that three servers serve by turns, on a primary and a standby of
//! PostgreSQL (spec/space.md). Keys kill each of them; the picture shows that versions continue.
//!
//!     interweave-demo-failover FOLDER    FOLDER has the programs of examples/astroflow
//!
//! IW_PROGRAM: the program `interweave`, if it is not found by its name.

mod database;
mod picture;
mod servers;
mod terminal;
mod watcher;

use database::Database;
use interweave_postgres_cluster::{Cluster, Process};
use servers::{Servers, COUNT};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use terminal::{write, Event, Terminal};
use watcher::{Seen, Watcher, PATH};

const DRAWN_EVERY: Duration = Duration::from_millis(100);
const EVENTS_SHOWN: usize = 5;
/// Of the screen, besides the picture.
const OTHER_LINES: usize = COUNT + EVENTS_SHOWN + 6;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder] = words.as_slice() else {
        eprintln!("usage: interweave-demo-failover FOLDER\n\nmake demo-failover runs it.");
        return ExitCode::from(2);
    };
    match run(Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("demo-failover: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Fields end in this order: processes before the files that they use.
struct Demo {
    terminal: Terminal,
    events: Vec<String>,
    seen: Arc<Mutex<Seen>>,
    begun: Instant,
    simulator: Process,
    servers: Servers,
    database: Database,
    folder: tempfile::TempDir,
}

fn run(programs: &Path) -> Result<(), String> {
    let (sender, receiver) = channel();
    let terminal = Terminal::new(sender.clone())?;
    let mut demo = Demo::start(terminal, programs, &sender)?;
    demo.note("press 1, 2 or 3 to kill a server, p to kill the primary, q to leave");
    while demo.handle(&receiver)? {
        demo.look()?;
        demo.draw();
    }
    Ok(())
}

impl Demo {
    fn start(terminal: Terminal, programs: &Path, say: &Sender<Event>) -> Result<Demo, String> {
        let teller = || {
            let say = say.clone();
            // The demo ends without hearing all.
            move |text: &str| drop(say.send(Event::Said(text.to_string())))
        };
        write("starting a primary, a standby and three servers\r\n");
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let program = std::env::var_os("IW_PROGRAM");
        let program = program.map_or_else(|| PathBuf::from("interweave"), PathBuf::from);
        let cluster = Cluster::start();
        let servers = Servers::start(&program, &cluster, folder.path())?;
        let list = servers.list()?;
        let url = format!("{list}{PATH}");
        let log = File::create(folder.path().join("simulator.log"));
        let mut simulator = Command::new(programs.join("astroflow-simulator"));
        simulator.args(["--url", &url, "--max-fps", "20", "--quiet"]);
        simulator.stderr(log.map_err(|error| error.to_string())?);
        let simulator = Process::start(&mut simulator)?;
        Ok(Demo {
            terminal,
            events: vec![format!(
                "from another terminal: {}/astroflow-viewer --url {url}",
                programs.display()
            )],
            seen: Watcher::start(list, teller()),
            begun: Instant::now(),
            simulator,
            servers,
            database: Database::watch_over(cluster, teller()),
            folder,
        })
    }

    /// Waits for the next event. False: it is time to leave.
    fn handle(&mut self, events: &Receiver<Event>) -> Result<bool, String> {
        match events.recv_timeout(DRAWN_EVERY) {
            Ok(Event::Key(b'q')) | Ok(Event::End) => return Ok(false),
            Ok(Event::Key(key @ b'1'..=b'3')) => {
                let number = usize::from(key - b'1');
                if self.servers.all[number].is_running() {
                    self.servers.kill(number);
                    self.note(&format!("server {} is killed", number + 1));
                }
            }
            Ok(Event::Key(b'p')) => self.database.kill_primary(),
            Ok(Event::Key(_)) | Err(RecvTimeoutError::Timeout) => {}
            Ok(Event::Said(text)) => self.note(&text),
            Err(RecvTimeoutError::Disconnected) => return Err("nothing is heard".to_string()),
        }
        Ok(true)
    }

    fn look(&mut self) -> Result<(), String> {
        if let Some(text) = self.servers.look() {
            self.note(&text);
        }
        if !self.simulator.has_ended() {
            return Ok(());
        }
        let log = std::fs::read_to_string(self.folder.path().join("simulator.log"));
        Err(format!("the simulator ended: {}", log.unwrap_or_default()))
    }

    /// Printed at once where nothing is drawn.
    fn note(&mut self, text: &str) {
        let text = format!("{:7.1} s  {text}", self.begun.elapsed().as_secs_f64());
        if !self.terminal.is_drawn() {
            write(&format!("{text}\n"));
        }
        self.events.push(text);
    }

    fn draw(&self) {
        if !self.terminal.is_drawn() {
            return;
        }
        let (columns, rows) = self.terminal.size();
        let seen = self.seen.lock().unwrap();
        let mut lines = vec![format!(
            "version {}; longest pause {} ms",
            seen.version,
            seen.longest_pause.as_millis()
        )];
        for (number, server) in self.servers.all.iter().enumerate() {
            let state = match server.is_running() {
                true if server.address() == seen.from => "runs, and owns the segment".to_string(),
                true => "runs".to_string(),
                false => format!("is started again in {} s", server.waits_for().as_secs() + 1),
            };
            lines.push(format!(
                "[{}] server {} {state}",
                number + 1,
                server.address()
            ));
        }
        lines.push(format!("[p] database: {}", self.database.state()));
        lines.push("[q] leave".to_string());
        let first = self.events.len().saturating_sub(EVENTS_SHOWN);
        lines.extend(self.events[first..].iter().cloned());
        let mut lines: Vec<String> = lines.iter().map(|it| cut(it, columns)).collect();
        let height = rows.saturating_sub(OTHER_LINES);
        lines.extend(picture::lines(
            &seen.density,
            columns.min(2 * height),
            height,
        ));
        self.terminal.draw(&lines);
    }
}

fn cut(line: &str, columns: usize) -> String {
    line.chars().take(columns).collect()
}
