//! `interweave set`: changes one value, under the writer lock.

use std::time::Duration;

use clap::Args;
use interweave_wire::json::{self, Json};
use interweave_wire::protocol::{Primitive, TypeBody};
use interweave_wire::{Rejection, TypeTable};

use crate::failure::Failure;
use crate::output::{object, print_json};
use crate::remote::{Change, Remote};
use crate::target::Target;

const EXAMPLES: &str = "\
Examples:
  interweave set '127.0.0.1/list#head#key' 7              a field
  interweave set '127.0.0.1/list#head#0' 7                the same, by its offset
  interweave set '127.0.0.1/list#head#next' '#129'        a pointer: block 129 of the segment
  interweave set '127.0.0.1/list#head' '{\"key\": 7}'       a part of a struct: the rest stays
  interweave set '127.0.0.1/grid#cells#[3].at[0]' 0.5     an element within
  interweave set /config#name 7                           a string: text needs no quotes
  interweave set '127.0.0.1/astroflow#header#want_cfl' 0.3   steers a running simulator";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct SetArgs {
    /// url#block, url#block#field or url#block#offset; a path alone is at the default server
    #[arg(value_name = "MIP")]
    target: String,
    /// A number, true, false, text, or an enum member's name; JSON for arrays and structs, of which
    /// fields that are left out stay; null or #BLOCK[#OFFSET] of the same segment for pointers
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
    let mut remote = Remote::connect(&target.url.servers)?;
    let version = remote.change(&target.url, Duration::from_secs_f64(args.timeout), |view| {
        let block = view.block(block)?;
        let place = view.locate_to_set(&block, &target.place)?;
        let value = value_of(&args.value, view.types(), place.type_serial)?;
        let old = view.slots(&block);
        let old = &old[place.byte as usize..(place.byte + place.bytes) as usize];
        let bytes = view.slots_over(place.type_serial, &value, old)?;
        Ok(Change {
            serial: block.serial,
            first_unit: place.first_unit,
            units: place.units,
            byte: place.byte,
            bytes,
        })
    })?;
    match args.json {
        true => print_json(&object(vec![("version", Json::from(version))])),
        false => eprintln!("version {version}"),
    }
    Ok(())
}

/// Takes a text that is not JSON as a string, unless it looks like a struct or an array where the
/// type requires one. Where the type is a string, the text is the string (`set ...#label 7`),
/// unless it stands in quotes of JSON.
fn value_of(text: &str, types: &TypeTable, type_serial: u32) -> Result<Json, Rejection> {
    let looks_nested = text.trim_start().starts_with(['{', '[']);
    match json::parse(text) {
        Err(why) if looks_nested && is_nested(types, type_serial) => Err(why),
        Err(_) => Ok(Json::from(text)),
        Ok(value) => Ok(match is_text(types, type_serial, &value) {
            true => Json::from(text),
            false => value,
        }),
    }
}

/// Whether what was read as JSON is meant as a text.
fn is_text(types: &TypeTable, type_serial: u32, value: &Json) -> bool {
    match types.get(type_serial).map(|ty| &ty.descriptor.body) {
        Some(TypeBody::String(_)) => !value.is_string(),
        Some(TypeBody::Array(array)) if array.element == Primitive::Char as u32 => {
            !value.is_string() && !value.is_array()
        }
        _ => false,
    }
}

fn is_nested(types: &TypeTable, type_serial: u32) -> bool {
    match types.get(type_serial).map(|ty| &ty.descriptor.body) {
        Some(TypeBody::Record(_) | TypeBody::Union(_) | TypeBody::Sequence(_)) => true,
        Some(TypeBody::Array(array)) => array.element != Primitive::Char as u32,
        _ => false,
    }
}
