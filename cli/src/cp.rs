//! `interweave cp`: segments to other paths or servers, each at one version.

use clap::Args;
use interweave_wire::mip::Servers;
use interweave_wire::segment_file::durability_text;
use interweave_wire::Url;

use crate::durability;
use crate::failure::Failure;
use crate::list::server_and_prefix;
use crate::output::{counted, object, print_json, size_text, text};
use crate::pattern::{fixed_part, is_pattern, matches};
use crate::remote::{servers_text, Remote};
use crate::serve::bytes_or_none;
use crate::target::Target;
use crate::whole_segment::{make, Wish};
use interweave_wire::Json;

const EXAMPLES: &str = "\
Examples:
  interweave cp 127.0.0.1/list 127.0.0.1/list-yesterday
  interweave cp /list iws://other.example.org            under the same path
  interweave cp '/fleet/**' other.example.org            many, under their paths
  interweave cp --replace 127.0.0.1/list other.example.org/list
  interweave cp --durability memory /camera other.example.org

The copy has the types, the names and serials of the blocks, and the values of one version of the
source, and begins at version 1. Pointers within the segment stay; pointers into other segments
lead where they led. A copy of a segment in memory is synced unless --durability says otherwise, so
a server with a disk keeps it. A copy that cannot be finished is taken away.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct CopyArgs {
    /// The segment's URL. `*` in its path stands for any characters but `/`, `**` for any
    /// components
    #[arg(value_name = "FROM")]
    from: String,
    /// The copy's URL; a server alone keeps the path
    #[arg(value_name = "TO")]
    to: String,
    /// Remove a segment that has the copy's path, for good
    #[arg(long)]
    replace: bool,
    /// The copy's quota [default: that of the source]
    #[arg(long, value_name = "BYTES", value_parser = bytes_or_none)]
    quota: Option<u64>,
    /// When releases of the copy are acknowledged [default: as of the source; synced if the source
    /// is in memory]
    #[arg(long, value_enum, value_name = "WHEN")]
    durability: Option<durability::Asked>,
    /// Print what was copied as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: CopyArgs) -> Result<(), Failure> {
    let from = whole(&args.from)?;
    let to = server_and_prefix(Some(&args.to))?;
    let mut source = Remote::connect(&from.servers)?;
    let paths = paths_of(&mut source, &from)?;
    if paths.is_empty() {
        return Err(none_matches(&from));
    }
    let many = is_pattern(&from.path);
    if many && to.path != "/" {
        return Err(Failure::new(format!(
            "many segments keep their paths; name only the server {}",
            servers_text(&to.servers)
        )));
    }
    let mut destination = Remote::connect(&to.servers)?;
    let mut copied = Vec::new();
    for path in paths {
        let url = |servers: &Servers, path: &str| Url {
            servers: servers.clone(),
            path: path.to_string(),
        };
        let end = if to.path == "/" { &path } else { &to.path };
        let (one, end) = (url(&from.servers, &path), url(&to.servers, end));
        copied.push(copy(&args, &mut source, &one, &mut destination, &end)?);
    }
    if args.json {
        print_json(&Json::Array(copied));
    } else if many {
        eprintln!("{} copied", counted(copied.len() as u64, "segment"));
    }
    Ok(())
}

/// A segment's URL, without a block.
pub fn whole(argument: &str) -> Result<Url, Failure> {
    let target = Target::parse(argument)?;
    match target.block {
        None => Ok(target.url),
        Some(block) => Err(Failure::new(format!(
            "whole segments are copied; leave #{block} away"
        ))),
    }
}

/// The paths that a path or a pattern names.
pub fn paths_of(remote: &mut Remote, url: &Url) -> Result<Vec<String>, Failure> {
    if !is_pattern(&url.path) {
        return Ok(vec![url.path.clone()]);
    }
    let listed = remote.list(fixed_part(&url.path))?;
    let paths = listed.into_iter().map(|segment| segment.path);
    Ok(paths.filter(|path| matches(&url.path, path)).collect())
}

pub fn none_matches(url: &Url) -> Failure {
    Failure::new(format!(
        "no segment of {} matches {}; interweave ls lists them",
        servers_text(&url.servers),
        url.path
    ))
}

fn copy(
    args: &CopyArgs,
    source: &mut Remote,
    from: &Url,
    destination: &mut Remote,
    to: &Url,
) -> Result<Json, Failure> {
    if from == to {
        return Err(Failure::new(format!("{from} would be copied onto itself")));
    }
    let (view, opened) = source.fetch_with_options(from)?;
    let wish = Wish {
        durable: durability::of_copy(args.durability, opened.durable),
        quota_bytes: args.quota.unwrap_or(opened.quota_bytes),
        replace: args.replace,
    };
    let is_same = from.servers == to.servers;
    let slot_text = |text: &str| match text.starts_with('/') && !is_same {
        // A path alone would lead to a segment of the other server.
        true => format!("{}{text}", from.servers),
        false => text.to_string(),
    };
    let durable = make(destination, to, view.segment(), slot_text, &wish)?;
    let durable = durability_text(durable);
    if !args.json {
        eprintln!(
            "{from} version {} -> {to}: {}, {}, durability {durable}",
            view.version(),
            counted(view.block_count(), "block"),
            size_text(view.wire_bytes())
        );
    }
    Ok(object(vec![
        ("from", text(&from.to_string())),
        ("version", Json::from(view.version())),
        ("to", text(&to.to_string())),
        ("durability", text(durable)),
        ("blocks", Json::from(view.block_count())),
        ("wire_bytes", Json::from(view.wire_bytes())),
    ]))
}
