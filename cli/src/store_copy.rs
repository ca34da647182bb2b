//! `interweave backup` and `restore`: copies of an embedded store.

use std::io::{stderr, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use interweave_store::{backup, restore, Report, StoreError, Wanted};
use interweave_wire::Json;

use crate::failure::Failure;
use crate::output::{counted, object, print_json, size_text, text};
use crate::serve::is_database;

const BACKUP_EXAMPLES: &str = "\
Examples:
  interweave backup ~/.local/share/interweave /backup/interweave-monday
  interweave backup /var/lib/interweave /backup/$(date +%F)      one a day
  interweave backup --whole-segments /var/lib/interweave /backup/rest
      of a store that is damaged: what is whole; says what is left out

The server may be running; the copy holds every release that was acknowledged when it began.";

const RESTORE_EXAMPLES: &str = "\
Examples:
  interweave restore /backup/interweave-monday ~/.local/share/interweave

The destination must be empty or not exist, and no server may use it.";

#[derive(Debug, Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub struct BackupArgs {
    /// The store's directory
    #[arg(value_name = "STORE")]
    from: PathBuf,
    /// A directory that is empty or does not exist
    #[arg(value_name = "DIR")]
    to: PathBuf,
    /// Leave out segments that are damaged, instead of refusing the whole store
    #[arg(long)]
    whole_segments: bool,
    /// Print what was copied as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub struct RestoreArgs {
    /// A backup's directory
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// The new store's directory
    #[arg(value_name = "STORE")]
    to: PathBuf,
    /// Print what was copied as JSON
    #[arg(long)]
    json: bool,
}

/// Refuses a database: it would pass for the name of a directory.
fn only_directories(places: [&Path; 2]) -> Result<(), Failure> {
    if !places
        .iter()
        .any(|place| is_database(&place.to_string_lossy()))
    {
        return Ok(());
    }
    Err(Failure::new(
        "this copies stores in directories; for a store on PostgreSQL use PostgreSQL's own tools \
         (pg_basebackup; docs/operations.md, \"The store on PostgreSQL\")"
            .to_string(),
    ))
}

pub fn run_backup(args: BackupArgs) -> Result<(), Failure> {
    only_directories([&args.from, &args.to])?;
    let wanted = match args.whole_segments {
        true => Wanted::WholeSegments,
        false => Wanted::Everything,
    };
    let made = backup(&args.from, &args.to, wanted, &mut progress("backup"));
    let report = made.map_err(|error| match error {
        StoreError::NotWhole { .. } => Failure::new(format!(
            "{error}; --whole-segments makes a backup of the segments that are whole"
        )),
        error => Failure::new(error.to_string()),
    })?;
    say(&report, args.json);
    Ok(())
}

pub fn run_restore(args: RestoreArgs) -> Result<(), Failure> {
    only_directories([&args.from, &args.to])?;
    let report = restore(&args.from, &args.to, &mut progress("restore"))
        .map_err(|error| Failure::new(error.to_string()))?;
    say(&report, args.json);
    Ok(())
}

/// A line that counts up, on a terminal.
pub fn progress(what: &'static str) -> impl FnMut(u64, u64) {
    let shown = stderr().is_terminal();
    move |done, total| {
        if shown {
            let end = if done >= total { "\n" } else { "" };
            eprint!(
                "\r{what}: {} of {}   {end}",
                size_text(done),
                size_text(total)
            );
            let _ = stderr().flush();
        }
    }
}

fn say(report: &Report, json: bool) {
    if json {
        return print_json(&as_json(report));
    }
    eprintln!(
        "{}, {}, {}, {}: verified",
        counted(report.segments, "segment"),
        counted(report.checkpoints, "checkpoint"),
        counted(report.records, "log record"),
        size_text(report.bytes)
    );
    for segment in &report.left_out {
        eprintln!("left out: {}: {}", segment.path, segment.why);
    }
}

fn as_json(report: &Report) -> Json {
    let left_out = report.left_out.iter().map(|segment| {
        object(vec![
            ("path", text(&segment.path)),
            ("why", text(&segment.why)),
        ])
    });
    object(vec![
        ("segments", Json::from(report.segments)),
        ("checkpoints", Json::from(report.checkpoints)),
        ("records", Json::from(report.records)),
        ("bytes", Json::from(report.bytes)),
        ("left_out", Json::Array(left_out.collect())),
    ])
}
