//! `interweave doctor`: looks at a machine, a server, a store and the environment of clients, and
//! says what is wrong and what to do.
//!
//! A check is a row of one of the tables that `GROUPS` names. To add one, add a row and its
//! function. Checks change nothing.

mod check;
mod client;
mod database;
mod library;
mod server;
mod store;
mod subject;
mod system;
mod write_tracking;

use std::path::PathBuf;

use clap::Args;
use interweave_wire::Json;

use crate::colour::{self, Colour};
use crate::default_server;
use crate::failure::Failure;
use crate::http;
use crate::list::whole_servers;
use crate::output::{clean, object, print_json, print_painted, text};
use check::{Check, Finding, Group, Level};
use database::Database;
use subject::Subject;

const GROUPS: &[Group] = &[
    Group {
        name: "system",
        checks: system::CHECKS,
    },
    Group {
        name: "client",
        checks: client::CHECKS,
    },
    Group {
        name: "server",
        checks: server::CHECKS,
    },
    Group {
        name: "store",
        checks: store::CHECKS,
    },
    Group {
        name: "database",
        checks: database::CHECKS,
    },
];

const EXAMPLES: &str = "\
Examples:
  interweave doctor                             this machine, its server and its store
  interweave doctor iws://sim.example.org       another server
  interweave doctor --store /var/lib/interweave a store, all of whose log is read
  interweave doctor --store postgres://interweave@db.example/interweave
  interweave doctor --only log --only sync-time --store /var/lib/interweave
  interweave doctor --list                      what is looked at
  interweave doctor --json

Exit status: 0 without a problem, 1 with one. Notes say what could be better. The command changes
nothing.";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArgs {
    /// [iw://|iws://]HOST[:PORT][,HOST...], or unix:FILE [default: IW_SERVER, else 127.0.0.1]
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// The store: a folder, or a database as postgres://USER@HOST/DATABASE [default: the folder of
    /// `interweave serve`]
    #[arg(long, value_name = "DIR|URL")]
    store: Option<String>,
    /// With a store on PostgreSQL: no synchronous standby is wanted
    #[arg(long)]
    store_alone: bool,
    /// Where the server has HTTP [default: port 7748 for a server at its default port]
    #[arg(long, value_name = "HOST:PORT", value_parser = http::parse_address)]
    http: Option<http::Place>,
    /// Only this check; may be given again
    #[arg(long, value_name = "CHECK", value_parser = check_name)]
    only: Vec<String>,
    /// Say what is looked at, and look at nothing
    #[arg(long)]
    list: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

impl DoctorArgs {
    /// None: the store is a folder.
    fn database(&self) -> Option<Database> {
        let url = self.store.as_ref().filter(|store| store.contains("://"))?;
        Some(Database {
            url: url.clone(),
            is_alone: self.store_alone,
        })
    }
}

fn all() -> impl Iterator<Item = (&'static str, &'static Check)> {
    let of = |group: &'static Group| group.checks.iter().map(|check| (group.name, check));
    GROUPS.iter().flat_map(of)
}

fn check_name(name: &str) -> Result<String, String> {
    match all().any(|(_, check)| check.name == name) {
        true => Ok(name.to_string()),
        false => {
            let names: Vec<&str> = all().map(|(_, check)| check.name).collect();
            Err(format!("the checks are {}", names.join(", ")))
        }
    }
}

pub fn run(args: DoctorArgs) -> Result<(), Failure> {
    let is_meant =
        |check: &Check| args.only.is_empty() || args.only.iter().any(|o| o == check.name);
    // Without --only and --list, of the two kinds of stores the one that is there.
    let other = match args.database() {
        Some(_) => "store",
        None => "database",
    };
    let is_other = |group: &str| group == other && args.only.is_empty() && !args.list;
    let chosen = all().filter(|(group, check)| is_meant(check) && !is_other(group));
    if args.list {
        print_list(chosen, args.json);
        return Ok(());
    }
    let subject = subject_of(&args)?;
    let mut report = Report::new(args.json);
    for (group, check) in chosen {
        report.add(group, check, (check.run)(&subject));
    }
    report.end()
}

fn subject_of(args: &DoctorArgs) -> Result<Subject, Failure> {
    let servers = whole_servers(args.server.as_deref(), "doctor")?;
    let folder = args.store.as_ref().map(PathBuf::from);
    let store = folder.or_else(crate::serve::default_store);
    let mut subject = Subject::new(servers, args.http.clone(), store);
    subject.database = args.database();
    subject.server_is_named = args.server.is_some() || default_server::is_chosen();
    subject.store_is_named = args.store.is_some();
    Ok(subject)
}

fn print_list(checks: impl Iterator<Item = (&'static str, &'static Check)>, json: bool) {
    if json {
        let rows = checks.map(|(group, check)| {
            object(vec![
                ("group", text(group)),
                ("name", text(check.name)),
                ("looks_at", text(check.looks_at)),
            ])
        });
        return print_json(&Json::Array(rows.collect()));
    }
    for (group, check) in checks {
        print_painted(&format!("{group:<9}{:<19}{}\n", check.name, check.looks_at));
    }
}

/// The findings. Each is printed as it comes, because a check may take a while.
struct Report {
    json: bool,
    last_group: &'static str,
    problems: u64,
    notes: u64,
    rows: Vec<Json>,
}

impl Report {
    fn new(json: bool) -> Report {
        Report {
            json,
            last_group: "",
            problems: 0,
            notes: 0,
            rows: Vec::new(),
        }
    }

    fn add(&mut self, group: &'static str, check: &Check, finding: Finding) {
        match finding.level {
            Level::Problem => self.problems += 1,
            Level::Note => self.notes += 1,
            Level::Ok | Level::Skipped => {}
        }
        if self.json {
            self.rows.push(as_json(group, check, &finding));
            return;
        }
        let mut out = String::new();
        if group != self.last_group {
            let gap = if self.last_group.is_empty() { "" } else { "\n" };
            out += &format!("{gap}{}\n", colour::out(Colour::Bold, group));
            self.last_group = group;
        }
        let word = finding.level.word();
        let level = colour::out(colour_of(finding.level), &format!("{word:<8}"));
        // The server may have said it [FIELD-8].
        out += &format!("  {level} {:<18} {}\n", check.name, clean(&finding.found));
        if !finding.mend.is_empty() {
            out += &format!("{:30}do: {}\n", "", clean(&finding.mend));
        }
        print_painted(&out);
    }

    fn end(self) -> Result<(), Failure> {
        if self.json {
            print_json(&object(vec![
                ("problems", Json::from(self.problems)),
                ("notes", Json::from(self.notes)),
                ("checks", Json::Array(self.rows)),
            ]));
        } else {
            let counted = |count, word: &str| match count {
                1 => format!("1 {word}"),
                _ => format!("{count} {word}s"),
            };
            let problems = counted(self.problems, "problem");
            print_painted(&format!("\n{problems}, {}\n", counted(self.notes, "note")));
        }
        match self.problems {
            0 => Ok(()),
            _ => Err(Failure::silent()),
        }
    }
}

fn colour_of(level: Level) -> Colour {
    match level {
        Level::Ok => Colour::Green,
        Level::Note => Colour::Yellow,
        Level::Problem => Colour::Red,
        Level::Skipped => Colour::Dim,
    }
}

fn as_json(group: &str, check: &Check, finding: &Finding) -> Json {
    object(vec![
        ("group", text(group)),
        ("name", text(check.name)),
        ("level", text(finding.level.word())),
        ("found", text(&finding.found)),
        ("mend", text(&finding.mend)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_checks_have_one_name() {
        let names: std::collections::BTreeSet<&str> = all().map(|(_, c)| c.name).collect();
        assert_eq!(names.len(), all().count());
    }
}
