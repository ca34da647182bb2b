//! `interweave ls`: which segments a server has, or all servers of its space.

use clap::Args;
use interweave_wire::mip::{split_scheme, Servers};
use interweave_wire::protocol::{ListedPlace, SegmentInfo, SegmentPlace, NOT_KNOWN};
use interweave_wire::segment_file::durability_text;
use interweave_wire::{Json, Url};

use crate::default_server;
use crate::failure::Failure;
use crate::output::{object, print_json, size_text, text, Table};
use crate::remote::{address_text, servers_text, Remote};

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
    /// [iw://]HOST[:PORT][,HOST...][/PREFIX], unix:FILE[:/PREFIX] or /PREFIX [default: IW_SERVER,
    /// else 127.0.0.1]
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// One JSON array
    #[arg(long)]
    json: bool,
}

pub fn run(args: ListArgs) -> Result<(), Failure> {
    let url = server_and_prefix(args.server.as_deref())?;
    let mut remote = Remote::connect(&url.servers)?;
    let places = remote.places(&url.path)?;
    let damaged = damaged_of(&mut remote, &places)?;
    let listed = || places.iter().zip(&damaged);
    if args.json {
        let all = listed().map(|(place, damaged)| as_json(place, *damaged));
        print_json(&Json::Array(all.collect()));
        return Ok(());
    }
    if places.is_empty() {
        eprintln!("{}", none_text(&url.path));
        return Ok(());
    }
    let is_shared = places.iter().any(|place| place.place != SegmentPlace::Here);
    let mut heads = vec![
        "PATH",
        "VERSION",
        "BLOCKS",
        "SIZE",
        "DURABILITY",
        "CLIENTS",
        "WRITER",
    ];
    heads.extend(is_shared.then_some("SERVER"));
    let mut table = Table::new(&heads);
    let asked = address_text(remote.server());
    for (place, damaged) in listed() {
        let mut cells = cells(place, *damaged);
        cells.extend(is_shared.then(|| server_of(place, &asked)));
        table.row(cells);
    }
    table.print();
    Ok(())
}

/// Whether the server knows more of the segment than the store says: it has read it [SPACE-35].
fn is_read(place: &ListedPlace) -> bool {
    place.place == SegmentPlace::Here && place.segment.clients != NOT_KNOWN
}

fn cells(place: &ListedPlace, is_damaged: bool) -> Vec<String> {
    let segment = &place.segment;
    let is_read = is_read(place);
    let known = |is_known: bool, text: String| match is_known {
        true => text,
        false => "-".to_string(),
    };
    let is_whole = is_read && !is_damaged;
    vec![
        segment.path.clone(),
        match is_damaged {
            true => "damaged".to_string(),
            false => segment.newest.number.to_string(),
        },
        known(is_whole, segment.block_count.to_string()),
        known(is_whole, size_text(segment.wire_bytes)),
        known(is_read, durability_text(segment.durable).to_string()),
        known(is_read, segment.clients.to_string()),
        known(is_read, writer_text(segment)),
    ]
}

/// The address of the segment's server.
fn server_of(place: &ListedPlace, asked: &str) -> String {
    match place.place {
        SegmentPlace::Here => asked.to_string(),
        SegmentPlace::Elsewhere => place.address.clone(),
        SegmentPlace::Unclaimed => "-".to_string(),
    }
}

/// Which of the segments are stopped because of damage. The list shows them as empty, so only what
/// is empty is asked about, and only what the server has read: to ask would claim the others.
fn damaged_of(remote: &mut Remote, places: &[ListedPlace]) -> Result<Vec<bool>, Failure> {
    let is_empty = |s: &SegmentInfo| s.newest.number == 0 && s.block_count == 0;
    let is_damaged = |place: &ListedPlace| match is_read(place) && is_empty(&place.segment) {
        true => remote.is_damaged(&place.segment.path),
        false => Ok(false),
    };
    places.iter().map(is_damaged).collect()
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
            let (_, hosts) = split_scheme(&argument);
            (hosts.contains('/'), "/")
        }
    };
    let url = match has_path {
        true => Url::parse(&argument),
        false => Url::parse(&format!("{argument}{root}")),
    };
    url.map_err(Failure::from)
}

/// The servers that the argument names, without a path. `about`: what they are named for.
pub fn whole_servers(argument: Option<&str>, about: &str) -> Result<Servers, Failure> {
    let url = server_and_prefix(argument)?;
    match &*url.path {
        "/" => Ok(url.servers),
        path => Err(Failure::new(format!(
            "name whole servers for {about}: leave {path} away, as in {}",
            servers_text(&url.servers)
        ))),
    }
}

/// The same, where the user must say which server is meant.
pub fn one_server(argument: Option<&str>, about: &str) -> Result<Servers, Failure> {
    let servers = whole_servers(argument, about)?;
    match servers.only() {
        Some(_) => Ok(servers),
        None => Err(Failure::new(format!(
            "name one server for {about}: {} are several",
            servers_text(&servers)
        ))),
    }
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

fn as_json(place: &ListedPlace, is_damaged: bool) -> Json {
    let segment = &place.segment;
    let known = |value: Json| match is_read(place) {
        true => value,
        false => Json::Null,
    };
    let number = |value: u64| known(Json::from(value));
    object(vec![
        ("path", text(&segment.path)),
        ("incarnation", Json::from(segment.newest.incarnation)),
        ("version", Json::from(segment.newest.number)),
        ("damaged", known(Json::Bool(is_damaged))),
        ("durability", known(text(durability_text(segment.durable)))),
        ("blocks", number(segment.block_count)),
        ("wire_bytes", number(segment.wire_bytes)),
        ("quota_bytes", number(segment.quota_bytes)),
        ("clients", number(segment.clients.into())),
        ("subscribers", number(segment.subscribers.into())),
        ("writer_locked", known(Json::Bool(segment.writer_locked))),
        ("writers_waiting", number(segment.writers_waiting.into())),
        (
            "place",
            text(match place.place {
                SegmentPlace::Here => "here",
                SegmentPlace::Elsewhere => "elsewhere",
                SegmentPlace::Unclaimed => "unclaimed",
            }),
        ),
        (
            "server",
            match place.place {
                SegmentPlace::Elsewhere => text(&place.address),
                SegmentPlace::Here | SegmentPlace::Unclaimed => Json::Null,
            },
        ),
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
            ("iws://one,two:9", "iws://one:7747,two:9/"),
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

    #[test]
    fn a_command_about_one_server_takes_no_list() {
        assert!(one_server(Some("one"), "a drain").is_ok());
        for (argument, said) in [
            (
                "iws://one,two:9",
                "a drain: iws://one:7747,two:9 are several",
            ),
            ("one,two/a", "leave /a away, as in one:7747,two:7747"),
        ] {
            let refused = one_server(Some(argument), "a drain").unwrap_err();
            assert!(refused.text().contains(said), "{refused}");
        }
    }
}
