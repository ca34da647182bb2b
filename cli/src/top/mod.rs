//! `interweave top`: which segments are busy, as it changes.

mod object;
mod sample;
mod screen;
mod table;

use std::io::IsTerminal;
use std::time::Duration;

use clap::Args;
use interweave_wire::Json;

use crate::colour::{self, Colour};
use crate::failure::Failure;
use crate::http;
use crate::list::server_and_prefix;
use crate::output::{print_json, print_painted};
use crate::remote::{address_text, Remote};
use sample::Sample;
use screen::Screen;
use table::Sort;

const EXAMPLES: &str = "\
Examples:
  interweave top                        the default server, until q
  interweave top sim.example.org/fleet  segments whose path begins so
  interweave top --once --interval 5    one table for a script, of five seconds
  interweave top --json                 the same as one JSON object
  interweave top --sort size --http 127.0.0.1:8080

Keys: q ends; s or > takes the next order; r, z, c, w and p order by releases, size, clients,
waiting writers and path; a space asks at once. Where there is no terminal, --once is meant.

WATCHING counts clients that are told of each version. The server's processor time, memory, bytes
and syncs come from /metrics; a rule must allow `metrics`.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArgs {
    /// [iw://]HOST[:PORT][/PREFIX], unix:FILE[:/PREFIX] or /PREFIX [default: IW_SERVER, else
    /// 127.0.0.1]
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// Between two looks, in seconds
    #[arg(long, default_value_t = 2.0, value_name = "SECONDS", value_parser = seconds)]
    interval: f64,
    /// Print one table, of one interval, and end
    #[arg(long)]
    once: bool,
    /// Print one JSON object, of one interval, and end
    #[arg(long)]
    json: bool,
    /// The order of segments
    #[arg(long, value_enum, default_value_t = Sort::Releases)]
    sort: Sort,
    /// Where the server has HTTP [default: port 7748 for a server at its default port]
    #[arg(long, value_name = "HOST:PORT", value_parser = http::parse_address)]
    http: Option<http::Place>,
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|s| (0.1..=3600.0).contains(s));
    seconds.ok_or_else(|| "a number of seconds, from 0.1 to 3600".to_string())
}

const CONTROL_D: u8 = 4;

/// One server, looked at again and again.
struct Watched {
    remote: Remote,
    prefix: String,
    /// As the user named it.
    http: Option<http::Place>,
    before: Option<Sample>,
    now: Sample,
}

impl Watched {
    fn look(&mut self) -> Result<(), Failure> {
        let now = sample::take(&mut self.remote, &self.prefix, self.http.as_ref())?;
        self.before = Some(std::mem::replace(&mut self.now, now));
        Ok(())
    }

    /// Looks again on another connection. Numbers of two servers are not compared.
    fn connect_and_look(&mut self) -> Result<(), Failure> {
        let asked = self.remote.server().clone();
        let connected = self.remote.connect_again();
        connected.map_err(|error| self.remote.failure(error))?;
        self.look()?;
        if *self.remote.server() != asked {
            self.before = None;
        }
        Ok(())
    }

    fn summary(&self) -> Vec<String> {
        let name = address_text(self.remote.server());
        table::summary(&name, self.before.as_ref(), &self.now)
    }

    fn lines(&self, sort: Sort, most: usize) -> Vec<String> {
        table::lines(self.before.as_ref(), &self.now, sort, most)
    }

    fn object(&self, sort: Sort) -> Json {
        let name = address_text(self.remote.server());
        object::of(&name, self.before.as_ref(), &self.now, sort)
    }
}

pub fn run(args: TopArgs) -> Result<(), Failure> {
    let url = server_and_prefix(args.server.as_deref())?;
    let mut remote = Remote::connect(&url.servers)?;
    let now = sample::take(&mut remote, &url.path, args.http.as_ref())?;
    let mut watched = Watched {
        remote,
        prefix: url.path,
        http: args.http.clone(),
        before: None,
        now,
    };
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    match args.once || args.json || !is_terminal {
        true => print_once(&args, &mut watched),
        false => show(&args, &mut watched),
    }
}

fn print_once(args: &TopArgs, watched: &mut Watched) -> Result<(), Failure> {
    std::thread::sleep(Duration::from_secs_f64(args.interval));
    watched.look()?;
    if args.json {
        print_json(&watched.object(args.sort));
        return Ok(());
    }
    let mut lines = watched.summary();
    lines.push(String::new());
    let table = watched.lines(args.sort, usize::MAX);
    for (at, line) in table.into_iter().enumerate() {
        lines.push(if at == 0 {
            colour::out(Colour::Bold, &line)
        } else {
            line
        });
    }
    print_painted(&(lines.join("\n") + "\n"));
    Ok(())
}

fn show(args: &TopArgs, watched: &mut Watched) -> Result<(), Failure> {
    let screen = Screen::begin()?;
    let mut sort = args.sort;
    let mut trouble = None;
    loop {
        let picture = picture(watched, sort, screen.size(), trouble.as_deref());
        if screen.show(&picture).is_err() {
            return Ok(());
        }
        // No key is as good as a space.
        match screen
            .key(Duration::from_secs_f64(args.interval))
            .unwrap_or(b' ')
        {
            b'q' | b'Q' | CONTROL_D => return Ok(()),
            b's' | b'>' => sort = sort.next(),
            b'r' => sort = Sort::Releases,
            b'z' => sort = Sort::Size,
            b'c' => sort = Sort::Clients,
            b'w' => sort = Sort::Waiting,
            b'p' => sort = Sort::Path,
            b' ' => trouble = again(watched),
            _ => {}
        }
    }
}

/// Looks again; after a lost connection, connects again. Returns what is wrong.
fn again(watched: &mut Watched) -> Option<String> {
    let Err(first) = watched.look() else {
        return None;
    };
    let failed = watched.connect_and_look().err();
    failed.map(|_| format!("{}; trying again", first.text()))
}

/// Lines that fit into so many columns and lines.
fn picture(
    watched: &Watched,
    sort: Sort,
    (columns, height): (usize, usize),
    trouble: Option<&str>,
) -> Vec<String> {
    let cut = |line: &String| line.chars().take(columns).collect::<String>();
    let mut lines: Vec<String> = watched.summary().iter().map(cut).collect();
    let trouble = trouble.map(|text| cut(&crate::output::clean(text)));
    lines.push(trouble.map_or(String::new(), |text| colour::out(Colour::Red, &text)));
    // The head, the last line with the keys, and one for those that are not shown.
    let room = height.saturating_sub(lines.len() + 3);
    let table = watched.lines(sort, room);
    let (head, rows) = table.split_first().expect("a table has a head");
    let head = format!("{:<columns$}", cut(head));
    lines.push(colour::out(Colour::Reversed, &head));
    lines.extend(rows.iter().map(cut));
    lines.truncate(height.saturating_sub(1));
    lines.resize(height.saturating_sub(1), String::new());
    let keys = format!("q ends  s sorts (by {})  space: now", sort.word());
    lines.push(colour::out(Colour::Dim, &cut(&keys)));
    lines
}
