//! Builds all changes of Rust sources into copies of them.
//!
//!   interweave-mutants TREE WITHOUT FILE...
//!
//! Reads each FILE, writes it with its changes to TREE/FILE, and prints a line of each change:
//! NUMBER PATH:LINE: FUNCTION: TEXT. WITHOUT has the numbers of the changes that are left out, one
//! a line. A change has the same number whatever is left out. The root of a crate gets the module
//! `mutants`, which is the switch.

mod changes;
mod rewritten;
mod values;

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [tree, without, files @ ..] = &arguments[..] else {
        return Err("give TREE WITHOUT FILE...".into());
    };
    let without: BTreeSet<u32> = fs::read_to_string(without)?
        .lines()
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    let mut first = 1;
    for file in files {
        let source = fs::read_to_string(file)?;
        let changes = changes::of(&source).map_err(|error| format!("{file}: {error}"))?;
        for (number, change) in (first..).zip(&changes) {
            println!(
                "{number} {file}:{}: {}: {}",
                change.line, change.function, change.text
            );
        }
        let mut text = rewritten::with_switches(&source, &changes, first, &without);
        if file.ends_with("src/lib.rs") {
            text += "\npub mod mutants;\n";
        }
        write_if_new(&Path::new(tree).join(file), &text)?;
        first += changes.len() as u32;
    }
    Ok(())
}

/// Cargo compiles again whatever has a newer time.
fn write_if_new(path: &Path, text: &str) -> std::io::Result<()> {
    match fs::read_to_string(path) {
        Ok(old) if old == text => Ok(()),
        _ => fs::write(path, text),
    }
}
