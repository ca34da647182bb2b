//! `interweave rm`: removes segments, for good.

use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use interweave_wire::{Json, Url};

use crate::cp::{none_matches, paths_of};
use crate::failure::Failure;
use crate::output::{counted, object, print_json, print_text, text};
use crate::pattern::is_pattern;
use crate::remote::{servers_text, Remote};
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  interweave rm 127.0.0.1/list
  interweave rm --if-exists 127.0.0.1/list
  interweave rm --dry-run '127.0.0.1/fleet/*'    which would be removed
  interweave rm --yes '127.0.0.1/fleet/**'       all below /fleet, without a question

`*` stands for any characters but `/`, a component `**` for any number of components. Before many
segments are removed, their number is shown and asked about; where no terminal is, say --yes.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RemoveArgs {
    /// The segment's URL, or a pattern; its data are gone and its clients are told
    #[arg(value_name = "URL")]
    target: String,
    /// Succeed if the segment is not there, or the pattern matches nothing
    #[arg(long)]
    if_exists: bool,
    /// Say what would be removed, and remove nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
    /// The path is not a pattern: `*` is a character of it
    #[arg(long)]
    exact: bool,
    /// Print {"removed": true} or false; of a pattern, the paths
    #[arg(long)]
    json: bool,
}

pub fn run(args: RemoveArgs) -> Result<(), Failure> {
    let target = Target::parse(&args.target)?;
    if target.block.is_some() {
        return Err(Failure::new(
            "rm removes whole segments; a block is freed by a program (IW_free)",
        ));
    }
    let mut remote = Remote::connect(&target.url.servers)?;
    if is_pattern(&target.url.path) && !args.exact {
        return remove_many(&args, &mut remote, &target.url);
    }
    if args.dry_run {
        return say_one(&args, &mut remote, &target.url);
    }
    let removed = remote.remove(&target.url, args.if_exists)?;
    if args.json {
        print_text(&format!("{{\"removed\": {removed}}}\n"));
    }
    Ok(())
}

fn say_one(args: &RemoveArgs, remote: &mut Remote, url: &Url) -> Result<(), Failure> {
    let listed = remote.list(&url.path)?;
    let is_there = listed.iter().any(|segment| segment.path == url.path);
    match is_there || args.if_exists {
        true => say(
            args,
            &if is_there {
                vec![url.path.clone()]
            } else {
                vec![]
            },
        ),
        false => return Err(Failure::new(format!("{url} does not exist"))),
    }
    Ok(())
}

fn remove_many(args: &RemoveArgs, remote: &mut Remote, url: &Url) -> Result<(), Failure> {
    let paths = paths_of(remote, url)?;
    if paths.is_empty() && !args.if_exists {
        return Err(none_matches(url));
    }
    if args.dry_run {
        say(args, &paths);
        return Ok(());
    }
    if !args.yes && !paths.is_empty() && !agreed(paths.len(), url)? {
        return Err(Failure::new("nothing was removed"));
    }
    let one = |path: &str| Url {
        servers: url.servers.clone(),
        path: path.to_string(),
    };
    let mut removed = Vec::new();
    for path in paths {
        match remote.remove(&one(&path), true) {
            Ok(true) => removed.push(path),
            // Somebody else removed it.
            Ok(false) => {}
            Err(failure) => {
                eprintln!(
                    "{} removed before this:",
                    counted(removed.len() as u64, "segment")
                );
                return Err(failure);
            }
        }
    }
    match args.json {
        true => print_json(&paths_json("removed", &removed)),
        false => eprintln!("{} removed", counted(removed.len() as u64, "segment")),
    }
    Ok(())
}

/// Asks at a terminal. Elsewhere nobody can answer.
fn agreed(count: usize, url: &Url) -> Result<bool, Failure> {
    let segments = counted(count as u64, "segment");
    let server = servers_text(&url.servers);
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::new(format!(
            "{segments} of {server} would be removed by {}; say --yes, or --dry-run to see which",
            url.path
        )));
    }
    eprint!(
        "remove {segments} of {server} (all of {}), for good? [y/N] ",
        url.path
    );
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| Failure::new(format!("reading the answer: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn say(args: &RemoveArgs, paths: &[String]) {
    if args.json {
        return print_json(&paths_json("would_remove", paths));
    }
    paths
        .iter()
        .for_each(|path| print_text(&format!("{path}\n")));
    eprintln!(
        "{} would be removed",
        counted(paths.len() as u64, "segment")
    );
}

fn paths_json(name: &str, paths: &[String]) -> Json {
    let paths = paths.iter().map(|path| text(path)).collect();
    object(vec![(name, Json::Array(paths))])
}
