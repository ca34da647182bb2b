//! `interweave watch`: a line for every new version, until Ctrl-C. A server that is
//! lost is waited for.

use std::time::{Duration, Instant};

use clap::Args;
use interweave_server::client::ClientError;
use interweave_wire::json::{self, Json};

use crate::failure::Failure;
use crate::output::{object, print_json, print_text, size_text};
use crate::remote::{Event, Remote};
use crate::target::Target;
use crate::view::View;

/// Between attempts to reach a server that was lost.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

const EXAMPLES: &str = "\
Examples:
  interweave watch 127.0.0.1/astroflow               versions as they come
  interweave watch '127.0.0.1/astroflow#header#time' a value as it changes
  interweave watch 127.0.0.1/list --count 1          wait for one change

A server that goes away is waited for; a word on stderr says so.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct WatchArgs {
    /// A segment's URL, or a MIP whose value is shown each time
    #[arg(value_name = "URL|MIP")]
    target: String,
    /// End after so many changes
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

pub fn run(args: WatchArgs) -> Result<(), Failure> {
    let target = Target::parse(&args.target)?;
    let mut remote = Remote::connect(&target.url.servers)?;
    let watched = remote.watch(&target.url);
    let mut view = watched.map_err(|error| remote.failure(error))?;
    // A missing block is reported at once, not at the next change.
    shown_value(&view, &target)?;
    let begin = Instant::now();
    let mut seen = 0;
    if !args.json {
        eprintln!(
            "{} is at version {}; Ctrl-C ends",
            view.url_text(),
            view.version()
        );
    }
    while args.count.is_none_or(|count| seen < count) {
        let before = view.copy.diff_bytes();
        let diff_bytes = match remote.next_event(&mut view) {
            Ok(Event::Newer) => view.copy.diff_bytes() - before,
            Ok(Event::Removed) => {
                return Err(Failure::new(format!("{} was removed", view.url_text())))
            }
            Err(error) if !error.is_lost() => return Err(remote.failure(error)),
            lost => {
                let why = lost.err().map(|error| error.to_string());
                let why = why.unwrap_or("the server stops".to_string());
                if !go_on(&mut remote, &mut view, &why)? {
                    continue;
                }
                view.copy.diff_bytes()
            }
        };
        seen += 1;
        let value = shown_value(&view, &target)?;
        let seconds = begin.elapsed().as_secs_f64();
        report(&args, view.version(), diff_bytes, seconds, value);
    }
    Ok(())
}

fn shown_value(view: &View, target: &Target) -> Result<Option<Json>, Failure> {
    let Some(block) = &target.block else {
        return Ok(None);
    };
    let block = view.block(block)?;
    view.render_place(&block, &target.place, 16).map(Some)
}

/// Connects again, however long that takes; tells whether there is another version now. Says what
/// happened at each server of a list, once.
fn go_on(remote: &mut Remote, view: &mut View, why: &str) -> Result<bool, Failure> {
    eprintln!("interweave: {why}; waiting for a server there");
    let mut pause = FIRST_PAUSE;
    let mut said = false;
    loop {
        match watch_again(remote, view) {
            Ok(fetched) => {
                let newer = fetched.copy.stamp() != view.copy.stamp();
                *view = fetched;
                eprintln!(
                    "interweave: connected again; {} is at version {}",
                    view.url_text(),
                    view.version()
                );
                return Ok(newer);
            }
            Err(error) if error.is_lost() => {
                if let (ClientError::NotWelcomed(_), false) = (&error, said) {
                    eprintln!("interweave: {error}");
                    said = true;
                }
                std::thread::sleep(pause);
                pause = LONGEST_PAUSE.min(pause * 2);
            }
            Err(error) => return Err(remote.failure(error)),
        }
    }
}

fn watch_again(remote: &mut Remote, view: &View) -> Result<View, ClientError> {
    remote.connect_again()?;
    remote.watch(&view.url)
}

fn report(args: &WatchArgs, version: u64, diff_bytes: u64, seconds: f64, value: Option<Json>) {
    if !args.json {
        let value = value
            .map(|value| format!("  {}", json::line(&value)))
            .unwrap_or_default();
        print_text(&format!(
            "{seconds:9.3} s  version {version}  diff {}{value}\n",
            size_text(diff_bytes)
        ));
        return;
    }
    let mut members = vec![
        ("seconds", Json::from((seconds * 1e6).round() / 1e6)),
        ("version", Json::from(version)),
        ("diff_bytes", Json::from(diff_bytes)),
    ];
    members.extend(value.map(|value| ("value", value)));
    print_json(&object(members));
}
