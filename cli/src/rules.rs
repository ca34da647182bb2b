//! `interweave rules`: asks a rules file as a server would, has a server read its files, and puts
//! rules into a store for all its servers.

use clap::{Args, Subcommand};
use interweave_access::{Identity, Operation, Rules};
use interweave_wire::fields::readable;
use interweave_wire::mip::is_path;
use std::path::PathBuf;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::list::one_server;
use crate::output::print_text;
use crate::remote::Remote;
use crate::rules_shared;

/// A file that does not parse, or arguments that make no question.
const NO_ANSWER: u8 = 2;

const EXAMPLES: &str = "\
Examples:
  interweave rules check lab.rules alice write /lab/robot/pose
  interweave rules check lab.rules cert:robot-1 create /lab/robot/pose
  interweave rules check lab.rules anyone metrics

The answer is `yes` with exit status 0, or `no` with exit status 1, and the rule that says so. A
file that does not parse is an error with line and column, and exit status 2. So this checks a file
before it is moved to its place:
  interweave rules check new.rules anyone read /; [ $? -lt 2 ] && mv new.rules lab.rules";

const RELOAD_EXAMPLES: &str = "\
Examples:
  interweave rules reload                    the server on this machine
  IW_TOKEN=$(cat admin.token) interweave rules reload iws://sim.example.org

The server reads its tokens file and its rules file, whether they changed or not, and what they say
holds when the command ends: exit status 0. A file that is wrong is not taken. The command then says
where it is wrong, what it said before holds, and the exit status is 1. A rule must allow `admin`.
A server also reads its files by itself within a second after they changed, and on SIGHUP.";

#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum RulesCommand {
    /// Say whether a rules file allows an operation, and which of its lines says so
    #[command(after_help = EXAMPLES)]
    Check(CheckArgs),
    /// Have a running server read its tokens and rules files now, and say what became of it
    #[command(after_help = RELOAD_EXAMPLES)]
    Reload(ReloadArgs),
    /// Put rules and tokens into a store, for all its servers
    #[command(after_help = rules_shared::PUSH_EXAMPLES)]
    Push(rules_shared::PushArgs),
    /// Print the rules, or the tokens, that the servers of a store share
    #[command(after_help = rules_shared::SHOW_EXAMPLES)]
    Show(rules_shared::ShowArgs),
    /// List the versions of the rules that the servers of a store share
    #[command(after_help = rules_shared::HISTORY_EXAMPLES)]
    History(rules_shared::HistoryArgs),
}

#[derive(Debug, Args)]
pub struct ReloadArgs {
    /// [iw://]HOST[:PORT], or unix:FILE [default: IW_SERVER, else 127.0.0.1]
    #[arg(value_name = "SERVER")]
    server: Option<String>,
}

#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The rules file, whose rules spec/access.md has
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A token's name, cert:COMMON_NAME, uid:NUMBER or anyone
    #[arg(value_name = "IDENTITY", value_parser = identity)]
    identity: Identity,
    /// read, write, steer, create, remove, metrics or admin
    #[arg(value_name = "OPERATION", value_parser = operation)]
    operation: Operation,
    /// A segment's path, like /lab/robot; none for metrics and admin
    #[arg(value_name = "PATH", value_parser = path)]
    path: Option<String>,
}

fn identity(text: &str) -> Result<Identity, String> {
    let advice = "an identity is a token's name, cert:COMMON_NAME, uid:NUMBER or anyone";
    Identity::parse(text).ok_or_else(|| advice.to_string())
}

fn operation(text: &str) -> Result<Operation, String> {
    let words: Vec<&str> = Operation::ALL.iter().map(|one| one.word()).collect();
    Operation::parse(text).ok_or_else(|| format!("an operation is one of {}", words.join(", ")))
}

fn path(text: &str) -> Result<String, String> {
    let advice = "a segment's path begins with `/`, and has no `#` and no control characters";
    is_path(text)
        .then(|| text.to_string())
        .ok_or_else(|| advice.to_string())
}

pub fn run(command: RulesCommand) -> ExitCode {
    let args = match command {
        RulesCommand::Check(args) => args,
        RulesCommand::Reload(args) => return reload(&args),
        RulesCommand::Push(args) => return ended(rules_shared::push(&args)),
        RulesCommand::Show(args) => return ended(rules_shared::show(&args)),
        RulesCommand::History(args) => return ended(rules_shared::history(&args)),
    };
    match check(&args) {
        Ok(is_allowed) => ExitCode::from(u8::from(!is_allowed)),
        Err(text) => {
            eprintln!("{text}");
            ExitCode::from(NO_ANSWER)
        }
    }
}

fn ended(done: Result<(), Failure>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::FAILURE
        }
    }
}

fn reload(args: &ReloadArgs) -> ExitCode {
    let server = one_server(args.server.as_deref(), "a reload of rules");
    let reloaded = server.and_then(|server| Remote::connect(&server)?.reload_access());
    let reloaded = match reloaded {
        Ok(reloaded) => reloaded,
        Err(failure) => {
            eprint!("{failure}");
            return ExitCode::FAILURE;
        }
    };
    if reloaded.files.is_empty() {
        eprintln!(
            "interweave: this server has no rules file and no tokens file; start it with --rules \
             FILE or --tokens FILE"
        );
        return ExitCode::FAILURE;
    }
    for file in &reloaded.files {
        let what = file.option.trim_start_matches('-');
        // Parts of it come from the server [FIELD-8].
        let text = readable(&format!("{}: {} {what}", file.text, file.count));
        match file.taken {
            true => print_text(&format!("{text}\n")),
            false => eprintln!("{text}"),
        }
    }
    match reloaded.files.iter().all(|file| file.taken) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// Prints the answer.
fn check(args: &CheckArgs) -> Result<bool, String> {
    let path = match (args.operation.is_of_server(), &args.path) {
        (true, None) => "",
        (false, Some(path)) => path,
        (true, Some(_)) => {
            let operation = args.operation;
            return Err(format!(
                "interweave: {operation} has no path; leave the path away"
            ));
        }
        (false, None) => {
            let operation = args.operation;
            return Err(format!(
                "interweave: {operation} is about a segment; add its path, like /lab/robot"
            ));
        }
    };
    let name = args.file.display();
    let text = std::fs::read(&args.file).map_err(|error| format!("interweave: {name}: {error}"))?;
    let rules = Rules::parse(&text).map_err(|error| {
        let (line, column) = (error.line, error.column);
        format!("{name}:{line}:{column}: error: {}", error.text)
    })?;
    let decision = rules.decide(&args.identity, args.operation, path);
    let word = if decision.is_allowed { "yes" } else { "no" };
    print_text(&match decision.line {
        Some(number) => format!("{word}, by line {number}: {}\n", line_of(&text, number)),
        None => format!("{word}: no rule matches\n"),
    });
    Ok(decision.is_allowed)
}

fn line_of(text: &[u8], number: u32) -> String {
    let mut lines = text.split(|&byte| byte == b'\n');
    let line = lines.nth(number as usize - 1).unwrap_or_default();
    String::from_utf8_lossy(line).trim().to_string()
}
