//! `interweave export` and `interweave import`: a segment as one file
//! (spec/format/segment-file.md).

use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::{fs, process};

use bytes::Bytes;
use clap::Args;
use interweave_master::Segment;
use interweave_wire::protocol::Durability;
use interweave_wire::segment_file::{self, durability_text, SegmentHead};
use interweave_wire::{Json, Url};

use crate::cp::whole;
use crate::durability;
use crate::failure::Failure;
use crate::file_behind::{behind_links, is_special};
use crate::interrupt::Unfinished;
use crate::list::server_and_prefix;
use crate::output::{counted, object, print_json, size_text, text};
use crate::remote::{servers_text, Remote};
use crate::serve::bytes_or_none;
use crate::store_copy::progress;
use crate::token_file::now;
use crate::whole_segment::{complete_diff, make, Wish};

const EXPORT_EXAMPLES: &str = "\
Examples:
  interweave export 127.0.0.1/list list.iwseg
  interweave export /list - | ssh other interweave import - /list
  interweave export --force iws://sim.example.org/astroflow flow.iwseg

The file has the types, the blocks with their names, and the values of one version, and a checksum.
It gets its name when it is whole. With --force a pipe or a device is written into, and stays.
spec/format/segment-file.md describes it.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  interweave import list.iwseg                 to the default server, under its old path
  interweave import list.iwseg 127.0.0.1/list-of-monday
  interweave import list.iwseg iws://other.example.org
  interweave import --check list.iwseg         reads the file, and makes nothing

Blocks keep their serials and names, pointers within the segment stay, and the segment begins at
version 1. A segment that was in memory is synced now unless --durability says otherwise, so a
server with a disk keeps it. A segment that cannot be finished is taken away.";

const CHUNK_BYTES: usize = 1 << 20;
/// The quota that a server gives at most by itself.
const LARGEST_QUOTA: u64 = 16 << 30;

#[derive(Debug, Args)]
#[command(after_help = EXPORT_EXAMPLES)]
pub struct ExportArgs {
    /// The segment's URL
    #[arg(value_name = "URL")]
    target: String,
    /// The file, which must not exist; - is standard output
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Replace a file that exists
    #[arg(long)]
    force: bool,
    /// Print what was written as JSON; to standard error if the file is standard output
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = IMPORT_EXAMPLES)]
pub struct ImportArgs {
    /// A file that `interweave export` wrote; - is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The new segment's URL; a server alone keeps the path [default: IW_SERVER, else 127.0.0.1]
    #[arg(value_name = "URL")]
    target: Option<String>,
    /// Remove a segment that has the path, for good
    #[arg(long)]
    replace: bool,
    /// The segment's quota [default: as the file says]
    #[arg(long, value_name = "BYTES", value_parser = bytes_or_none)]
    quota: Option<u64>,
    /// When releases of the segment are acknowledged [default: as the file says; synced if it says
    /// memory]
    #[arg(long, value_enum, value_name = "WHEN")]
    durability: Option<durability::Asked>,
    /// Read the file and say what is in it; make nothing
    #[arg(long)]
    check: bool,
    /// Print what was read as JSON
    #[arg(long)]
    json: bool,
}

fn is_standard(file: &Path) -> bool {
    file.as_os_str() == "-"
}

pub fn run_export(args: ExportArgs) -> Result<(), Failure> {
    let url = whole(&args.target)?;
    let to_output = is_standard(&args.file);
    if to_output && io::stdout().is_terminal() {
        return Err(Failure::new(
            "a terminal does not take a segment's bytes; name a file, or redirect the output",
        ));
    }
    if !to_output && !args.force && args.file.exists() {
        return Err(Failure::new(format!(
            "{} exists; choose another name, or say --force to replace it",
            args.file.display()
        )));
    }
    let mut remote = Remote::connect(&url.servers)?;
    let (view, opened) = remote.fetch_with_options(&url)?;
    let head = SegmentHead {
        path: url.path.clone(),
        durable: opened.durable,
        quota_bytes: opened.quota_bytes,
        server: servers_text(&url.servers),
        program: format!("interweave {}", env!("CARGO_PKG_VERSION")),
        written: now(),
    };
    let diff = complete_diff(view.segment(), view.version(), str::to_string);
    let pieces = segment_file::pieces(&head, &diff.into());
    let bytes: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    match to_output {
        true => put(&mut io::stdout().lock(), &pieces)
            .map_err(|error| Failure::new(format!("writing the segment: {error}")))?,
        false if is_special(&args.file) => write_into(&args.file, &pieces)?,
        false => write_file(&args.file, &pieces, args.force)?,
    }
    let summary = Summary {
        url: url.to_string(),
        verb: "written",
        version: view.version(),
        segment: view.segment(),
        durable: opened.durable,
        bytes,
    };
    summary.say(args.json, to_output);
    Ok(())
}

/// The segment that was written or read.
struct Summary<'a> {
    url: String,
    /// The act: "written", "read" or "made of a copy".
    verb: &'static str,
    version: u64,
    segment: &'a Segment,
    durable: Durability,
    bytes: u64,
}

impl Summary<'_> {
    fn say(&self, json: bool, output_is_taken: bool) {
        let (blocks, types) = (
            self.segment.block_count(),
            self.segment.types().described().len() as u64,
        );
        let durable = durability_text(self.durable);
        if !json {
            return eprintln!(
                "{}: {} at version {}: {}, {}, durability {durable}, file of {}",
                self.url,
                self.verb,
                self.version,
                counted(blocks, "block"),
                counted(types, "type"),
                size_text(self.bytes)
            );
        }
        let object = object(vec![
            ("url", text(&self.url)),
            ("version", Json::from(self.version)),
            ("blocks", Json::from(blocks)),
            ("types", Json::from(types)),
            ("durability", text(durable)),
            ("wire_bytes", Json::from(self.segment.wire_bytes())),
            ("file_bytes", Json::from(self.bytes)),
        ]);
        match output_is_taken {
            true => eprintln!("{object}"),
            false => print_json(&object),
        }
    }
}

/// A device and a pipe stay what they are.
fn write_into(file: &Path, pieces: &[Bytes]) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).open(file);
    let written = opened.and_then(|mut opened| {
        put(&mut opened, pieces)?;
        match opened.sync_all() {
            // It keeps nothing.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
            synced => synced,
        }
    });
    written.map_err(|error| Failure::at(file, error))
}

/// The file has another name until it is whole and on the disk.
fn write_file(file: &Path, pieces: &[Bytes], replaces: bool) -> Result<(), Failure> {
    let file = &*behind_links(file);
    let mut partial = file.as_os_str().to_os_string();
    partial.push(format!(".{}.tmp", process::id()));
    let partial = PathBuf::from(partial);
    let opened = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&partial);
    let mut opened = opened.map_err(|error| Failure::at(file, error))?;
    let unwanted = partial.clone();
    let unfinished = Unfinished::new(move || drop(fs::remove_file(unwanted)))?;
    put(&mut opened, pieces)
        .and_then(|()| opened.sync_all())
        .map_err(|error| Failure::at(file, error))?;
    unfinished.finish(|| {
        let named = match replaces {
            true => fs::rename(&partial, file),
            // Another process may have made the file meanwhile.
            false => fs::hard_link(&partial, file).and_then(|()| fs::remove_file(&partial)),
        };
        named.map_err(|error| Failure::at(file, error))
    })
}

fn put(out: &mut impl Write, pieces: &[Bytes]) -> io::Result<()> {
    let total: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
    let (mut done, mut say) = (0, progress("export"));
    for chunk in pieces.iter().flat_map(|piece| piece.chunks(CHUNK_BYTES)) {
        out.write_all(chunk)?;
        done += chunk.len() as u64;
        say(done, total);
    }
    out.flush()
}

pub fn run_import(args: ImportArgs) -> Result<(), Failure> {
    let file = read(&args.file)?;
    let name = args.file.display();
    let wrong =
        |rejection: interweave_wire::Rejection| Failure::new(format!("{name}: {}", rejection.text));
    let (head, diff) = segment_file::parse(&file).map_err(wrong)?;
    let quota_bytes = args.quota.unwrap_or(head.quota_bytes);
    // [SEGF-7]
    let mut segment = Segment::new(match quota_bytes {
        0 => LARGEST_QUOTA,
        quota => quota.min(LARGEST_QUOTA.max(args.quota.unwrap_or(0))),
    });
    let version = segment.apply(&diff).map_err(wrong)?;
    let mut url = url_for(&args, &head)?;
    if url.path == "/" {
        url.path = head.path.clone();
    }
    let mut summary = Summary {
        url: match args.check {
            true => format!("{}{}", head.server, head.path),
            false => url.to_string(),
        },
        verb: if args.check { "read" } else { "made of a copy" },
        version,
        segment: &segment,
        durable: head.durable,
        bytes: file.len() as u64,
    };
    if !args.check {
        let mut remote = Remote::connect(&url.servers)?;
        let wish = Wish {
            durable: durability::of_copy(args.durability, head.durable),
            quota_bytes,
            replace: args.replace,
        };
        summary.durable = make(&mut remote, &url, &segment, str::to_string, &wish)?;
    }
    summary.say(args.json, false);
    Ok(())
}

fn url_for(args: &ImportArgs, head: &SegmentHead) -> Result<Url, Failure> {
    match &args.target {
        Some(target) if target.contains('#') => whole(target),
        Some(target) => server_and_prefix(Some(target)),
        None => whole(&head.path),
    }
}

fn read(file: &Path) -> Result<Bytes, Failure> {
    let mut bytes = Vec::new();
    let read = match is_standard(file) {
        true => io::stdin().lock().read_to_end(&mut bytes),
        false => File::open(file).and_then(|mut opened| opened.read_to_end(&mut bytes)),
    };
    read.map_err(|error| Failure::at(file, error))?;
    Ok(bytes.into())
}
