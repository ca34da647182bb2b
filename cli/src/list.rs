//! `interweave ls`: which segments a server has.

use clap::Args;
use interweave_wire::mip::split_scheme;
use interweave_wire::protocol::SegmentInfo;
use interweave_wire::segment_file::durability_text;
use interweave_wire::{Json, Url};

use crate::default_server;
use crate::failure::Failure;
use crate::output::{object, print_json, size_text, text, Table};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  interweave ls                          the server of IW_SERVER, else the one on this machine
  interweave ls sim.example.org          another one
  interweave ls 127.0.0.1:7747/astro     only segments whose path begins so
  interweave ls /astro                   the same, at the default server
  interweave ls --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// [iw://]HOST[:PORT][/PREFIX], unix:FILE[:/PREFIX] or /PREFIX [default: IW_SERVER, else
    /// 127.0.0.1]
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// One JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(args: ListArgs) -> Result<(), Failure> {
    let url = server_and_prefix(args.server.as_deref())?;
    let mut remote = Remote::connect(&url.server)?;
    let segments = remote.list(&url.path)?;
    let damaged = damaged_of(&mut remote, &segments)?;
    let listed = || segments.iter().zip(&damaged);
    if args.json {
        let all = listed().map(|(segment, damaged)| as_json(segment, *damaged));
        print_json(&Json::Array(all.collect()));
        return Ok(());
    }
    if segments.is_empty() {
        eprintln!("{}", none_text(&url.path));
        return Ok(());
    }
    let mut table = Table::new(&[
        "PATH",
        "VERSION",
        "BLOCKS",
        "SIZE",
        "DURABILITY",
        "CLIENTS",
        "WRITER",
    ]);
    for (segment, damaged) in listed() {
        let known = |text: String| if *damaged { "-".to_string() } else { text };
        table.row(vec![
            segment.path.clone(),
            match damaged {
                true => "damaged".to_string(),
                false => segment.newest.number.to_string(),
            },
            known(segment.block_count.to_string()),
            known(size_text(segment.wire_bytes)),
            durability_text(segment.durable).to_string(),
            segment.clients.to_string(),
            writer_text(segment),
        ]);
    }
    table.print();
    Ok(())
}

/// Which of the segments are stopped because of damage. The list shows them as empty, so only what
/// is empty is asked about.
fn damaged_of(remote: &mut Remote, segments: &[SegmentInfo]) -> Result<Vec<bool>, Failure> {
    let is_empty = |s: &SegmentInfo| s.newest.number == 0 && s.block_count == 0;
    let is_damaged = |s: &SegmentInfo| match is_empty(s) {
        true => remote.is_damaged(&s.path),
        false => Ok(false),
    };
    segments.iter().map(is_damaged).collect()
}

/// A server without a path is the same as with "/". None: the default server.
pub fn server_and_prefix(argument: Option<&str>) -> Result<Url, Failure> {
    let argument = match argument {
        Some(argument) => default_server::completed(argument)?,
        None => default_server::text()?,
    };
    let (has_path, root) = match argument.strip_prefix("unix:") {
        Some(file) => (file.contains(":/"), ":/"),
        None => {
            let (_, address) = split_scheme(&argument);
            (address.contains('/'), "/")
        }
    };
    let url = match has_path {
        true => Url::parse(&argument),
        false => Url::parse(&format!("{argument}{root}")),
    };
    url.map_err(Failure::from)
}

fn none_text(prefix: &str) -> String {
    match prefix {
        "/" => "no segments yet; a program makes one when it opens it".to_string(),
        _ => format!("no segments that begin with {prefix}"),
    }
}

pub fn writer_text(segment: &SegmentInfo) -> String {
    match (segment.writer_locked, segment.writers_waiting) {
        (false, _) => "-".to_string(),
        (true, 0) => "locked".to_string(),
        (true, waiting) => format!("locked, {waiting} waiting"),
    }
}

fn as_json(segment: &SegmentInfo, damaged: bool) -> Json {
    let number = |value: u64| Json::from(value);
    object(vec![
        ("path", text(&segment.path)),
        ("incarnation", number(segment.newest.incarnation)),
        ("version", number(segment.newest.number)),
        ("damaged", Json::Bool(damaged)),
        ("durability", text(durability_text(segment.durable))),
        ("blocks", number(segment.block_count)),
        ("wire_bytes", number(segment.wire_bytes)),
        ("quota_bytes", number(segment.quota_bytes)),
        ("clients", number(segment.clients.into())),
        ("subscribers", number(segment.subscribers.into())),
        ("writer_locked", Json::Bool(segment.writer_locked)),
        ("writers_waiting", number(segment.writers_waiting.into())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_needs_no_path() {
        for (argument, canonical) in [
            ("host", "iw://host:7747/"),
            ("iw://host:1", "iw://host:1/"),
            ("iws://host", "iws://host:7747/"),
            ("host/a", "iw://host:7747/a"),
            ("unix:/run/iw.sock", "unix:/run/iw.sock:/"),
            ("unix:iw.sock:/a", "unix:iw.sock:/a"),
        ] {
            let url = server_and_prefix(Some(argument)).unwrap();
            assert_eq!(url.to_string(), canonical);
        }
        for (argument, said) in [
            ("host:99999", "has the port `99999`"),
            ("ftp://host", "has the scheme `ftp`"),
        ] {
            let refused = server_and_prefix(Some(argument)).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
