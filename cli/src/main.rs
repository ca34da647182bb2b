//! The `interweave` program: one subcommand a file, one line here for each.

mod serve;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Shared typed data for programs in many languages, on many machines
#[derive(Debug, Parser)]
#[command(name = "interweave", version, max_term_width = 100)]
struct Interweave {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::Serve),
}

fn main() -> ExitCode {
    match Interweave::parse().command {
        Command::Serve(serve) => serve.run(),
    }
}
