//! `interweave set`: changes one value, under the writer lock.

use std::time::Duration;

use clap::Args;
use interweave_wire::value_tree::parse_value;
use interweave_wire::Json;

use crate::failure::Failure;
use crate::output::{object, print_json};
use crate::remote::{Change, Remote};
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  interweave set '127.0.0.1/astroflow#header#want_cfl' 0.3
  interweave set '127.0.0.1/list#head#0' 7
  interweave set '127.0.0.1/box#point' '{\"x\": 1, \"y\": 2}'
  interweave set '127.0.0.1/box#label' hello";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SetArgs {
    /// url#block, url#block#field or url#block#offset
    #[arg(value_name = "MIP")]
    target: String,
    /// A number, true, false, text, an enum member's name, or JSON for arrays and structs
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// How long to wait for the writer lock, in seconds
    #[arg(long, default_value_t = 10.0)]
    timeout: f64,
    /// Print the new version as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: SetArgs) -> Result<(), Failure> {
    let target = Target::parse(&args.target)?;
    let Some(block) = &target.block else {
        return Err(Failure::new(format!(
            "{} names no block; write {0}#BLOCK#FIELD",
            args.target
        )));
    };
    if !(args.timeout >= 0.0 && args.timeout <= 1e6) {
        return Err(Failure::new("--timeout is a number of seconds, 0 or more"));
    }
    // What is no JSON is text: `set ...#label hello`.
    let value = Json::parse(&args.value).unwrap_or_else(|_| Json::String(args.value.clone()));
    let mut remote = Remote::connect(&target.url.server)?;
    let version = remote.change(&target.url, Duration::from_secs_f64(args.timeout), |view| {
        let block = view.block(block)?;
        let place = view.locate_to_set(&block, &target.place)?;
        let bytes = parse_value(view.types(), place.type_serial, &value)?;
        Ok(Change {
            serial: block.serial,
            first_unit: place.first_unit,
            units: place.units,
            byte: place.byte,
            bytes,
        })
    })?;
    match args.json {
        true => print_json(&object(vec![(
            "version",
            Json::Number(version.to_string()),
        )])),
        false => eprintln!("version {version}"),
    }
    Ok(())
}
