//! `interweave rm`: removes a segment, for good.

use clap::Args;

use crate::failure::Failure;
use crate::remote::Remote;
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  interweave rm 127.0.0.1/list
  interweave rm --if-exists 127.0.0.1/list";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RemoveArgs {
    /// The segment's URL; its data are gone and its clients are told
    #[arg(value_name = "URL")]
    target: String,
    /// A segment that is not there is no error
    #[arg(long)]
    if_exists: bool,
    /// Print {"removed": true} or false
    #[arg(long)]
    json: bool,
}

pub fn run(args: RemoveArgs) -> Result<(), Failure> {
    let target = Target::parse(&args.target)?;
    if target.block.is_some() {
        return Err(Failure::new(
            "rm removes whole segments; a block is freed by a program (IW_free)",
        ));
    }
    let removed = Remote::connect(&target.url.server)?.remove(&target.url, args.if_exists)?;
    if args.json {
        crate::output::print_text(&format!("{{\"removed\": {removed}}}\n"));
    }
    Ok(())
}
