//! The `interweave` program: one subcommand a file, one line here for each.

mod cert;
mod cert_revoke;
mod colour;
mod compile;
mod cp;
mod default_server;
mod doctor;
mod drain;
mod durability;
mod export;
mod failure;
mod file_behind;
mod get;
mod http;
mod interrupt;
mod list;
mod manual;
mod moving;
mod output;
mod pattern;
mod rank_output;
mod remote;
mod remove;
mod rules;
mod rules_shared;
mod run;
mod serve;
mod serve_audit;
mod serve_config;
mod serve_init;
mod serve_space;
mod serve_tls;
mod set;
mod show;
mod status;
mod store_copy;
mod target;
mod token;
mod token_file;
mod top;
mod view;
mod watch;
mod whole_segment;

use colour::When;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Shared typed data for programs in many languages, on many machines
#[derive(Debug, Parser)]
#[command(name = "interweave", version, max_term_width = 100)]
struct Interweave {
    #[command(subcommand)]
    command: Command,
    /// When to print in colours
    #[arg(long, global = true, value_enum, default_value_t = When::Auto, value_name = "WHEN",
          hide_possible_values = true)]
    color: When,
}

#[derive(Debug, Subcommand)]
enum Command {
    // Larger than all others.
    Serve(Box<serve::Serve>),
    Run(run::Run),
    /// Make certificates for encrypted connections (iws://)
    #[command(subcommand)]
    Cert(cert::CertCommand),
    /// Make, list and revoke the tokens by which a server knows its clients
    #[command(subcommand)]
    Token(token::TokenCommand),
    /// Ask a rules file what it allows, and give rules to all servers of a store
    #[command(subcommand)]
    Rules(rules::RulesCommand),
    /// Turn .x files into types of a language
    Compile(compile::CompileArgs),
    /// List a server's segments
    Ls(list::ListArgs),
    /// Show the servers of a space and their store, and whether all is well
    Status(status::StatusArgs),
    /// Show a segment's types and values
    Show(show::ShowArgs),
    /// Print a line for every new version
    Watch(watch::WatchArgs),
    /// Show which segments are busy
    Top(top::TopArgs),
    /// Print one value
    Get(get::GetArgs),
    /// Change one value
    Set(set::SetArgs),
    /// Remove segments
    Rm(remove::RemoveArgs),
    /// Give a segment to another server of its space, while programs use it
    Move(moving::MoveArgs),
    /// Move all segments of a server to the other servers of its space, before it is stopped
    Drain(drain::DrainArgs),
    /// Move segments until each server of a space has as many as the others
    Rebalance(drain::RebalanceArgs),
    /// Copy segments, also to another server
    Cp(cp::CopyArgs),
    /// Write a segment to a file
    Export(export::ExportArgs),
    /// Make a segment of a file
    Import(export::ImportArgs),
    /// Look for what is wrong with this machine, a server, a store and a client's environment
    Doctor(doctor::DoctorArgs),
    /// Copy a server's store, also while it runs
    Backup(store_copy::BackupArgs),
    /// Make a store from a backup
    Restore(store_copy::RestoreArgs),
    /// Print a script by which a shell completes command lines
    Completions(manual::CompletionsArgs),
    /// Write manual pages
    Man(manual::ManArgs),
}

fn main() -> ExitCode {
    let arguments = match serve_config::with_file(std::env::args_os().collect()) {
        Ok(arguments) => arguments,
        Err(text) => {
            eprintln!("interweave serve: {text}");
            return ExitCode::FAILURE;
        }
    };
    let parsed = Interweave::parse_from(arguments);
    colour::choose(parsed.color);
    let done = match parsed.command {
        Command::Serve(serve) => return serve.run(),
        Command::Run(run) => return run.run(),
        Command::Rules(command) => return rules::run(command),
        Command::Status(args) => return status::run(&args),
        Command::Cert(command) => cert::run(command),
        Command::Token(command) => token::run(command),
        Command::Compile(args) => compile::run(args),
        Command::Ls(args) => list::run(args),
        Command::Show(args) => show::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Top(args) => top::run(args),
        Command::Get(args) => get::run(args),
        Command::Set(args) => set::run(args),
        Command::Rm(args) => remove::run(args),
        Command::Move(args) => moving::run(args),
        Command::Drain(args) => drain::run_drain(args),
        Command::Rebalance(args) => drain::run_rebalance(args),
        Command::Cp(args) => cp::run(args),
        Command::Export(args) => export::run_export(args),
        Command::Import(args) => export::run_import(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Backup(args) => store_copy::run_backup(args),
        Command::Restore(args) => store_copy::run_restore(args),
        Command::Completions(args) => manual::complete(args),
        Command::Man(args) => manual::write_pages(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::FAILURE
        }
    }
}
