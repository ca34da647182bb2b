//! `interweave ls`: which segments a server has.

use clap::Args;
use interweave_wire::protocol::{Durability, SegmentInfo};
use interweave_wire::{Json, Url};

use crate::failure::Failure;
use crate::output::{object, print_json, size_text, text, Table};
use crate::remote::Remote;

const EXAMPLES: &str = "\
Examples:
  interweave ls                          the server on this machine
  interweave ls sim.example.org          another one
  interweave ls 127.0.0.1:7747/astro     only segments whose path begins so
  interweave ls --json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// [iw://]HOST[:PORT][/PREFIX], or unix:FILE[:/PREFIX]
    #[arg(default_value = "127.0.0.1", value_name = "SERVER")]
    server: String,
    /// One JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(args: ListArgs) -> Result<(), Failure> {
    let url = server_and_prefix(&args.server)?;
    let segments = Remote::connect(&url.server)?.list(&url.path)?;
    if args.json {
        print_json(&Json::Array(segments.iter().map(as_json).collect()));
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
    for segment in &segments {
        table.row(vec![
            segment.path.clone(),
            segment.newest.number.to_string(),
            segment.block_count.to_string(),
            size_text(segment.wire_bytes),
            durability_text(segment.durable).to_string(),
            segment.clients.to_string(),
            writer_text(segment),
        ]);
    }
    table.print();
    Ok(())
}

/// A server without a path is the same as with "/".
fn server_and_prefix(argument: &str) -> Result<Url, Failure> {
    let (has_path, root) = match argument.strip_prefix("unix:") {
        Some(file) => (file.contains(":/"), ":/"),
        None => {
            let address = argument.strip_prefix("iw://").unwrap_or(argument);
            (address.contains('/'), "/")
        }
    };
    let url = match has_path {
        true => Url::parse(argument),
        false => Url::parse(&format!("{argument}{root}")),
    };
    url.map_err(Failure::from)
}

fn none_text(prefix: &str) -> String {
    match prefix {
        "/" => "no segments (the first IW_open_segment makes one)".to_string(),
        _ => format!("no segments that begin with {prefix}"),
    }
}

fn writer_text(segment: &SegmentInfo) -> String {
    match (segment.writer_locked, segment.writers_waiting) {
        (false, _) => "-".to_string(),
        (true, 0) => "locked".to_string(),
        (true, waiting) => format!("locked, {waiting} waiting"),
    }
}

pub fn durability_text(durable: Durability) -> &'static str {
    match durable {
        Durability::Memory => "memory",
        Durability::Written => "written",
        Durability::Synced => "synced",
    }
}

fn as_json(segment: &SegmentInfo) -> Json {
    let number = |value: u64| Json::from(value);
    object(vec![
        ("path", text(&segment.path)),
        ("incarnation", number(segment.newest.incarnation)),
        ("version", number(segment.newest.number)),
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
            ("host/a", "iw://host:7747/a"),
            ("unix:/run/iw.sock", "unix:/run/iw.sock:/"),
            ("unix:iw.sock:/a", "unix:iw.sock:/a"),
        ] {
            let url = server_and_prefix(argument).unwrap();
            assert_eq!(url.to_string(), canonical);
        }
        for (argument, said) in [
            ("host:99999", "has the port `99999`"),
            ("ftp://host", "has the scheme `ftp`"),
        ] {
            let refused = server_and_prefix(argument).unwrap_err().to_string();
            assert!(refused.contains(said), "{refused}");
        }
    }
}
