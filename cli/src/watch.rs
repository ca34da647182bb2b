//! `interweave watch`: a line for every new version, until Ctrl-C.

use std::time::Instant;

use clap::Args;
use interweave_wire::Json;

use crate::failure::Failure;
use crate::output::{object, print_json, print_text, size_text};
use crate::remote::Remote;
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  interweave watch 127.0.0.1/astroflow               versions as they come
  interweave watch '127.0.0.1/astroflow#header#time' a value as it changes
  interweave watch 127.0.0.1/list --count 1          wait for one change";

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
    let mut remote = Remote::connect(&target.url.server)?;
    let mut watched = remote.watch(&target.url)?;
    let begin = Instant::now();
    let mut seen = 0;
    if !args.json {
        eprintln!(
            "{} is at version {}; Ctrl-C ends",
            watched.copy.url_text(),
            watched.copy.version()
        );
    }
    while args.count.is_none_or(|count| seen < count) {
        let diff_bytes = remote.next_change(&mut watched)?;
        seen += 1;
        let value = match &target.block {
            Some(block) => {
                let block = watched.copy.block(block)?;
                Some(watched.copy.render_place(&block, &target.place, 16)?)
            }
            None => None,
        };
        report(
            &args,
            watched.copy.version(),
            diff_bytes,
            begin.elapsed().as_secs_f64(),
            value,
        );
    }
    Ok(())
}

fn report(args: &WatchArgs, version: u64, diff_bytes: u64, seconds: f64, value: Option<Json>) {
    if !args.json {
        let value = value.map(|value| format!("  {value}")).unwrap_or_default();
        print_text(&format!(
            "{seconds:9.3} s  version {version}  diff {}{value}\n",
            size_text(diff_bytes)
        ));
        return;
    }
    let mut members = vec![
        ("seconds", Json::Number(format!("{seconds:.6}"))),
        ("version", Json::Number(version.to_string())),
        ("diff_bytes", Json::Number(diff_bytes.to_string())),
    ];
    members.extend(value.map(|value| ("value", value)));
    print_json(&object(members));
}
