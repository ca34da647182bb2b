//! `interweave backup` and `restore`: copies of an embedded store.

use std::io::{stderr, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use interweave_store::{backup, restore, Report};

use crate::failure::Failure;
use crate::output::{print_text, size_text};

const BACKUP_EXAMPLES: &str = "\
Examples:
  interweave backup ~/.local/share/interweave /backup/interweave-monday
  interweave backup /var/lib/interweave /backup/$(date +%F)      one a day

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

pub fn run_backup(args: BackupArgs) -> Result<(), Failure> {
    let report = backup(&args.from, &args.to, &mut progress("backup"))
        .map_err(|error| Failure::new(error.to_string()))?;
    say(&report, args.json);
    Ok(())
}

pub fn run_restore(args: RestoreArgs) -> Result<(), Failure> {
    let report = restore(&args.from, &args.to, &mut progress("restore"))
        .map_err(|error| Failure::new(error.to_string()))?;
    say(&report, args.json);
    Ok(())
}

/// A line that counts up, on a terminal.
fn progress(what: &'static str) -> impl FnMut(u64, u64) {
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

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

fn say(report: &Report, json: bool) {
    match json {
        true => print_text(&format!(
            "{{\"segments\": {}, \"checkpoints\": {}, \"records\": {}, \"bytes\": {}}}\n",
            report.segments, report.checkpoints, report.records, report.bytes
        )),
        false => eprintln!(
            "{}, {}, {}, {}: verified",
            counted(report.segments, "segment"),
            counted(report.checkpoints, "checkpoint"),
            counted(report.records, "log record"),
            size_text(report.bytes)
        ),
    }
}
