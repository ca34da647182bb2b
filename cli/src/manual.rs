//! Completions for shells and manual pages, made from the program's own options.

use crate::failure::Failure;
use crate::Interweave;
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use std::io::Write;
use std::path::{Path, PathBuf};

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  interweave completions bash > ~/.local/share/bash-completion/completions/interweave
  interweave completions zsh > ~/.zfunc/_interweave
  interweave completions fish > ~/.config/fish/completions/interweave.fish";

const MAN_EXAMPLES: &str = "\
Examples:
  interweave man ~/.local/share/man/man1
      then `man interweave-serve`";

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell that completes command lines
    shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = MAN_EXAMPLES)]
pub struct ManArgs {
    /// The directory of the pages, which is made if it does not exist
    directory: PathBuf,
}

pub fn complete(args: CompletionsArgs) -> Result<(), Failure> {
    let mut script = Vec::new();
    let mut program = Interweave::command();
    clap_complete::generate(args.shell, &mut program, "interweave", &mut script);
    let written = std::io::stdout().write_all(&script);
    written.map_err(|error| Failure::new(format!("writing the completions: {error}")))
}

/// Writes a page for the program and one for each command.
pub fn write_pages(args: ManArgs) -> Result<(), Failure> {
    let directory = &args.directory;
    std::fs::create_dir_all(directory).map_err(|error| Failure::at(directory, error))?;
    let mut program = Interweave::command();
    program.build();
    let pages = write_page(&program, directory);
    let pages = pages.map_err(|error| Failure::at(directory, error))?;
    println!("{pages} pages in {}", directory.display());
    Ok(())
}

/// Returns how many pages were written. REQUIRES: the command was built, which gave each of its
/// commands a whole name.
fn write_page(command: &clap::Command, directory: &Path) -> std::io::Result<usize> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    std::fs::write(directory.join(format!("{name}.1")), page)?;
    let mut pages = 1;
    for inner in command.get_subcommands() {
        if inner.get_name() != "help" {
            pages += write_page(inner, directory)?;
        }
    }
    Ok(pages)
}
