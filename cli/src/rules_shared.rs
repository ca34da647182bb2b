//! `interweave rules push`, `show` and `history`: the rules that the servers of a store share
//! [SPACE-40..45]. They are in the database, so that they can be mended when nobody is let in.

use clap::Args;
use interweave_access::{FileError, Rules, Tokens};
use interweave_store::{SharedAccess, StoreError};
use interweave_store_postgres::{Past, Pushed, SharedRules, Target};
use interweave_wire::Json;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output::{counted, object, print_json, print_text, text, Table};
use crate::token_file::now;

pub const PUSH_EXAMPLES: &str = "\
Examples:
  interweave rules push postgres://me@db.example/iw --rules lab.rules
  interweave rules push postgres://me@db.example/iw --tokens lab.tokens --note 'robot 7 is gone'
  interweave rules show postgres://me@db.example/iw > lab.rules     says: version 4
  interweave rules push postgres://me@db.example/iw --rules lab.rules --after 4

All servers on that store take the new version, as a whole, within a second. The file that is not
given stays as it was in the version before. A file that does not parse is not pushed. With --after,
nothing is pushed if somebody else has pushed meanwhile: exit status 1, and a line that says so.";

pub const SHOW_EXAMPLES: &str = "\
Examples:
  interweave rules show postgres://me@db.example/iw > lab.rules
  interweave rules show postgres://me@db.example/iw --tokens > lab.tokens

The text goes to standard output, and the version to standard error.";

pub const HISTORY_EXAMPLES: &str = "\
Examples:
  interweave rules history postgres://me@db.example/iw
  interweave rules history postgres://me@db.example/iw --json";

#[derive(Debug, Args)]
pub struct PushArgs {
    /// The database, as `serve --store` has it: postgres://USER@HOST/DATABASE
    #[arg(value_name = "STORE")]
    store: String,
    /// The rules file
    #[arg(long, value_name = "FILE", required_unless_present = "tokens")]
    rules: Option<PathBuf>,
    /// The tokens file
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// Push only if that version is still the newest; 0: if the store has none
    #[arg(long, value_name = "VERSION")]
    after: Option<u64>,
    /// What the history says about this version
    #[arg(long, value_name = "TEXT", default_value = "")]
    note: String,
}

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// The database, as `serve --store` has it: postgres://USER@HOST/DATABASE
    #[arg(value_name = "STORE")]
    store: String,
    /// The tokens file, and not the rules file
    #[arg(long)]
    tokens: bool,
}

#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The database, as `serve --store` has it: postgres://USER@HOST/DATABASE
    #[arg(value_name = "STORE")]
    store: String,
    /// One JSON array
    #[arg(long)]
    json: bool,
}

fn failed(error: StoreError) -> Failure {
    Failure::new(error.to_string())
}

fn open(store: &str) -> Result<SharedRules, Failure> {
    let target = Target::parse(store);
    let target = target.map_err(|error| {
        let text = format!("{store}: {error}; servers share rules in a store on PostgreSQL");
        Failure::new(text)
    })?;
    SharedRules::open(&target).map_err(failed)
}

/// The bytes of a file that parses.
fn checked<T>(
    path: Option<&Path>,
    parse: impl FnOnce(&[u8]) -> Result<T, FileError>,
) -> Result<Option<Vec<u8>>, Failure> {
    let Some(path) = path else {
        return Ok(None);
    };
    let bytes = std::fs::read(path).map_err(|error| Failure::at(path, error))?;
    parse(&bytes).map_err(|error| {
        let FileError { line, column, text } = error;
        let path = path.display();
        Failure::already_worded(format!("{path}:{line}:{column}: error: {text}\n"))
    })?;
    Ok(Some(bytes))
}

pub fn push(args: &PushArgs) -> Result<(), Failure> {
    let rules = checked(args.rules.as_deref(), |bytes| Rules::parse(bytes))?;
    let tokens = checked(args.tokens.as_deref(), |bytes| Tokens::parse(bytes, now()))?;
    let shared = open(&args.store)?;
    let newest = shared.newest().map_err(failed)?.unwrap_or_default();
    let before = args.after.unwrap_or(newest.version);
    let access = SharedAccess {
        version: before,
        made_us: newest.made_us,
        rules: rules.or(newest.rules),
        tokens: tokens.or(newest.tokens),
    };
    let pushed = match before == newest.version {
        true => shared.write(&access, &args.note).map_err(failed)?,
        false => Pushed::NotNewest,
    };
    let version = before + 1;
    match pushed {
        Pushed::Kept => {}
        Pushed::InOneCopy => eprintln!(
            "interweave: synchronous_standby_names is empty, so version {version} is in one copy: \
             if the primary is lost, servers return to version {before}"
        ),
        Pushed::NotNewest => {
            return Err(Failure::new(format!(
                "version {before} is not the newest any more, so nothing was pushed: somebody else \
                 has pushed; look at it with `interweave rules show`, and push again"
            )));
        }
    }
    print_text(&format!(
        "version {version}: all servers take it within a second\n"
    ));
    Ok(())
}

pub fn show(args: &ShowArgs) -> Result<(), Failure> {
    let newest = open(&args.store)?.newest().map_err(failed)?;
    let Some(newest) = newest else {
        let text = "the store has no rules for all its servers; `interweave rules push` puts some \
                    there";
        return Err(Failure::new(text));
    };
    let (what, shown) = match args.tokens {
        true => ("tokens", newest.tokens),
        false => ("rules", newest.rules),
    };
    let version = newest.version;
    let shown = shown.ok_or_else(|| Failure::new(format!("version {version} has no {what}")))?;
    eprintln!("version {version}");
    // It parsed before it was pushed, so it is UTF-8 without control characters.
    print_text(&String::from_utf8_lossy(&shown));
    Ok(())
}

pub fn history(args: &HistoryArgs) -> Result<(), Failure> {
    let all = open(&args.store)?.history().map_err(failed)?;
    if args.json {
        print_json(&Json::Array(all.iter().map(as_json).collect()));
        return Ok(());
    }
    if all.is_empty() {
        eprintln!("the store has no rules for all its servers");
        return Ok(());
    }
    let mut table = Table::new(&["VERSION", "AT", "BY", "RULES", "TOKENS", "NOTE"]);
    for past in &all {
        let size = |bytes: Option<u64>| match bytes {
            Some(bytes) => counted(bytes, "byte"),
            None => "none".to_string(),
        };
        table.row(vec![
            past.version.to_string(),
            past.at.clone(),
            past.by.clone(),
            size(past.rules_bytes),
            size(past.tokens_bytes),
            past.note.clone(),
        ]);
    }
    table.print();
    Ok(())
}

fn as_json(past: &Past) -> Json {
    let bytes = |bytes: Option<u64>| bytes.map_or(Json::Null, Json::from);
    object(vec![
        ("version", Json::from(past.version)),
        ("at", text(&past.at)),
        ("by", text(&past.by)),
        ("note", text(&past.note)),
        ("rules_bytes", bytes(past.rules_bytes)),
        ("tokens_bytes", bytes(past.tokens_bytes)),
    ])
}
