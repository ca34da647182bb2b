//! `interweave token`: makes, lists and revokes the tokens of a server's tokens file.

use clap::{Args, Subcommand};
use interweave_access::{is_name, to_hex, TokenLine};
use interweave_wire::Json;
use std::io::Write;
use std::path::{Path, PathBuf};
use time::OffsetDateTime;

use crate::failure::Failure;
use crate::output::{object, print_json, print_text, text, Table};
use crate::token_file::{self, now, TokenFile};

const SECONDS_OF_A_DAY: u64 = 86_400;

const EXAMPLES: &str = "\
Examples:
  interweave token new alice --tokens lab.tokens > alice.token
  interweave serve --tokens lab.tokens
  IW_TOKEN=$(cat alice.token) interweave ls

  interweave token list --tokens lab.tokens
  interweave token new alice --days 30 --tokens lab.tokens > alice.token
      a second token of that name: both are valid, until you revoke the first by its ID
  interweave token revoke 0f3a5c7e9b1d --tokens lab.tokens
  interweave token revoke alice --tokens lab.tokens
      all tokens of that name

A running server takes a change within a second. The file has no token, only the SHA-256 of each.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum TokenCommand {
    /// Make a token, and print it once
    #[command(after_help = EXAMPLES)]
    New(NewArgs),
    /// List the tokens of a file
    #[command(after_help = EXAMPLES)]
    List(ListArgs),
    /// Take tokens out of a file; sessions that have them end
    #[command(after_help = EXAMPLES)]
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub struct NewArgs {
    /// The identity of the client that shows the token; rules have this name
    #[arg(value_name = "NAME", value_parser = name)]
    name: String,
    /// How long the token is valid; 0: until it is revoked
    #[arg(long, value_name = "N", default_value_t = 365,
          value_parser = clap::value_parser!(u32).range(0..=36_500))]
    days: u32,
    /// The tokens file; it is made if it does not exist
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
}

#[derive(Debug, Args)]
pub struct ListArgs {
    /// The tokens file
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// One JSON array; times are seconds since 1970, and `expires` is null for never
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
pub struct RevokeArgs {
    /// The name, for all its tokens, or the ID of one token
    #[arg(value_name = "NAME_OR_ID")]
    name_or_id: String,
    /// The tokens file
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
}

fn name(text: &str) -> Result<String, String> {
    let advice =
        "a name has 1 to 64 of A-Z a-z 0-9 . _ -, begins with a letter or a digit, and is \
                  not anyone, group, allow, deny or end";
    is_name(text)
        .then(|| text.to_string())
        .ok_or_else(|| advice.to_string())
}

pub fn run(command: TokenCommand) -> Result<(), Failure> {
    match command {
        TokenCommand::New(args) => make(&args),
        TokenCommand::List(args) => list(&args),
        TokenCommand::Revoke(args) => revoke(&args),
    }
}

/// Makes a token of that name in the file. Returns its text, which nothing keeps, and its line.
pub fn add(name: &str, days: u32, file: &Path) -> Result<(String, TokenLine), Failure> {
    let file = TokenFile::open_or_make(file)?;
    let created = now();
    let expires = match days {
        0 => 0,
        days => created + u64::from(days) * SECONDS_OF_A_DAY,
    };
    let (token, line) = loop {
        let made = TokenLine::new(name, random()?, random()?, created, expires);
        if file
            .tokens()
            .lines()
            .iter()
            .all(|other| other.id != made.1.id)
        {
            break made;
        }
    };
    file.add(&line)?;
    Ok((token, line))
}

fn make(args: &NewArgs) -> Result<(), Failure> {
    let (token, line) = add(&args.name, args.days, &args.tokens)?;
    let id = to_hex(&line.id);
    let mut out = std::io::stdout().lock();
    let printed = writeln!(out, "{token}").and_then(|()| out.flush());
    printed.map_err(|error| {
        let advice = format!("nobody has it now, so revoke it: interweave token revoke {id}");
        Failure::new(format!("the token could not be printed: {error}; {advice}"))
    })?;
    eprintln!(
        "a token of {} with the ID {id}, valid {}, is in {}",
        args.name,
        until(line.expires),
        args.tokens.display()
    );
    eprintln!("it is printed this once; clients take it from IW_TOKEN");
    Ok(())
}

fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| Failure::new(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes)
}

fn until(expires: u64) -> String {
    match expires {
        0 => "until it is revoked".to_string(),
        expires => format!("until {}", time_text(expires)),
    }
}

/// A time as people read it, in UTC.
fn time_text(seconds: u64) -> String {
    let time = i64::try_from(seconds).map(OffsetDateTime::from_unix_timestamp);
    match time {
        Ok(Ok(time)) => {
            let (hour, minute) = (time.hour(), time.minute());
            format!("{} {hour:02}:{minute:02}Z", time.date())
        }
        _ => format!("{seconds} seconds after 1970"),
    }
}

fn list(args: &ListArgs) -> Result<(), Failure> {
    let tokens = token_file::read(&args.tokens)?;
    if args.json {
        let all = tokens.lines().iter().map(as_json);
        print_json(&Json::Array(all.collect()));
        return Ok(());
    }
    if tokens.lines().is_empty() {
        eprintln!("{} has no tokens", args.tokens.display());
        return Ok(());
    }
    let now = now();
    let mut table = Table::new(&["ID", "NAME", "CREATED", "EXPIRES"]);
    for line in tokens.lines() {
        let expires = match line.expires {
            0 => "never".to_string(),
            expires if expires <= now => format!("{} (has expired)", time_text(expires)),
            expires => time_text(expires),
        };
        let name = line.name.to_string();
        table.row(vec![
            to_hex(&line.id),
            name,
            time_text(line.created),
            expires,
        ]);
    }
    table.print();
    Ok(())
}

fn as_json(line: &TokenLine) -> Json {
    object(vec![
        ("id", text(&to_hex(&line.id))),
        ("name", text(&line.name)),
        ("created", Json::from(line.created)),
        (
            "expires",
            match line.expires {
                0 => Json::Null,
                expires => Json::from(expires),
            },
        ),
    ])
}

fn revoke(args: &RevokeArgs) -> Result<(), Failure> {
    let file = TokenFile::open(&args.tokens)?;
    let wanted = &args.name_or_id;
    let is_wanted = |line: &&TokenLine| *line.name == **wanted || to_hex(&line.id) == **wanted;
    let found: Vec<TokenLine> = file
        .tokens()
        .lines()
        .iter()
        .filter(is_wanted)
        .cloned()
        .collect();
    if found.is_empty() {
        // A token itself is not repeated on the terminal.
        return Err(Failure::new(format!(
            "{} has no token of that name or ID; `interweave token list` shows all",
            args.tokens.display()
        )));
    }
    let ids: Vec<[u8; 6]> = found.iter().map(|line| line.id).collect();
    file.remove(&ids)?;
    let said = found
        .iter()
        .map(|line| format!("revoked {} of {}\n", to_hex(&line.id), line.name));
    print_text(&said.collect::<String>());
    Ok(())
}
