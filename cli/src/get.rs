//! `interweave get`: one value.

use clap::Args;

use crate::failure::Failure;
use crate::output::print_json;
use crate::remote::Remote;
use crate::show::say;
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  interweave get '127.0.0.1/list#head'             a whole block
  interweave get '127.0.0.1/list#head#key'         a field
  interweave get '127.0.0.1/astroflow#density#[0]' a row
  interweave get '127.0.0.1/list#1#1'              by serial and offset in primitive units";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct GetArgs {
    /// url#block, url#block#field or url#block#offset
    #[arg(value_name = "MIP")]
    target: String,
    /// How many elements of an array are printed
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true, value_name = "N")]
    elements: u64,
    /// Values are printed as JSON in any case; accepted for uniformity
    #[arg(long)]
    json: bool,
}

pub fn run(args: GetArgs) -> Result<(), Failure> {
    let target = Target::parse(&args.target)?;
    let Some(block) = &target.block else {
        return Err(Failure::new(format!(
            "{} names no block; write {0}#BLOCK (interweave show {0} lists them)",
            args.target
        )));
    };
    let view = Remote::connect(&target.url.servers)?.fetch(&target.url)?;
    let block = view.block(block)?;
    print_json(&view.render_place(&block, &target.place, args.elements)?);
    say(&view);
    Ok(())
}
