//! `interweave show`: a segment's types and values, from its own descriptors.

use clap::Args;
use interweave_wire::json::{self, Json};
use interweave_wire::protocol::{TypeBody, TypeDescriptor};
use interweave_wire::value_tree::{body_text, type_text};
use interweave_wire::TypeTable;

use crate::failure::Failure;
use crate::output::{counted, object, print_json, print_text, size_text, text};
use crate::remote::Remote;
use crate::target::Target;
use crate::view::View;

const EXAMPLES: &str = "\
Examples:
  interweave show 127.0.0.1/list            types, blocks and the beginnings of their values
  interweave show 127.0.0.1/list#head       one block
  interweave show 127.0.0.1/list --types    only the types
  interweave show 127.0.0.1/list --json --elements 1000000";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowArgs {
    /// A segment's URL, or the MIP of one block
    #[arg(value_name = "URL|MIP")]
    target: String,
    /// Only the types
    #[arg(long)]
    types: bool,
    /// How many elements of an array are shown
    #[arg(long, default_value_t = 8, value_name = "N")]
    elements: u64,
    /// How many blocks are shown
    #[arg(long, default_value_t = 100, value_name = "N")]
    blocks: usize,
    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(args: ShowArgs) -> Result<(), Failure> {
    let target = Target::parse(&args.target)?;
    let mut remote = Remote::connect(&target.url.servers)?;
    let view = remote.fetch(&target.url)?;
    let chosen = match &target.block {
        Some(block) => vec![view.block(block)?],
        None => view.blocks().take(args.blocks).collect(),
    };
    if args.json {
        print_json(&as_json(&view, &chosen, &args));
        say(&view);
        return Ok(());
    }
    let mut out = heading(&view);
    out.push_str(&types_text(view.types()));
    if !args.types {
        for block in &chosen {
            out.push_str(&block_text(&view, block, args.elements));
        }
        let hidden = view.block_count() - chosen.len() as u64;
        if hidden > 0 && target.block.is_none() {
            out.push_str(&format!(
                "... and {hidden} more blocks (--blocks N shows more)\n"
            ));
        }
    }
    print_text(&out);
    say(&view);
    Ok(())
}

/// For people, so that what is printed stays what it is.
pub fn say(view: &View) {
    if let Some(remark) = view.remark() {
        eprintln!("interweave: {remark}");
    }
}

fn heading(view: &View) -> String {
    format!(
        "{}  version {}  {}  {}\n",
        view.url_text(),
        view.version(),
        counted(view.block_count(), "block"),
        size_text(view.wire_bytes())
    )
}

fn block_text(view: &View, block: &interweave_master::BlockInfo<'_>, elements: u64) -> String {
    let name = block
        .name
        .map(|name| format!(" \"{name}\""))
        .unwrap_or_default();
    format!(
        "#{}{name}  {}  version {}\n    {}\n",
        block.serial,
        view.block_type_text(block),
        block.changed,
        json::line(&view.render(block, elements))
    )
}

fn types_text(types: &TypeTable) -> String {
    let mut out = String::new();
    for descriptor in named(types) {
        out.push_str(&type_declaration(types, descriptor));
    }
    out
}

fn named(types: &TypeTable) -> impl Iterator<Item = &TypeDescriptor> {
    types
        .described()
        .iter()
        .map(|ty| &ty.descriptor)
        .filter(|descriptor| !descriptor.name.is_empty())
}

/// A type as one would write it in an .x file.
fn type_declaration(types: &TypeTable, descriptor: &TypeDescriptor) -> String {
    let name = &descriptor.name;
    match &descriptor.body {
        TypeBody::Record(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|field| declaration(&type_text(types, field.type_), &field.name))
                .collect();
            format!("struct {name} {{ {}; }};\n", fields.join("; "))
        }
        TypeBody::Enum(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|member| format!("{} = {}", member.name, member.value))
                .collect();
            format!("enum {name} {{ {} }};\n", members.join(", "))
        }
        TypeBody::Union(choice) => {
            format!(
                "union {name} switch ({} {});\n",
                type_text(types, choice.discriminant_type),
                choice.discriminant
            )
        }
        _ => format!(
            "typedef {};\n",
            declaration(&body_text(types, descriptor), name)
        ),
    }
}

/// `double x[256]`, `int x<>`, `node_t *next`
fn declaration(whole: &str, name: &str) -> String {
    let bound = || whole.find('<').filter(|_| whole.ends_with('>'));
    match whole.find('[').or_else(bound) {
        Some(bracket) => format!("{} {name}{}", &whole[..bracket], &whole[bracket..]),
        None => format!("{whole} {name}").replace("* ", "*"),
    }
}

fn as_json(view: &View, chosen: &[interweave_master::BlockInfo<'_>], args: &ShowArgs) -> Json {
    let number = |value: u64| Json::from(value);
    let types = named(view.types())
        .map(|descriptor| text(type_declaration(view.types(), descriptor).trim_end()))
        .collect();
    let blocks = chosen.iter().map(|block| {
        object(vec![
            ("serial", number(block.serial)),
            ("name", block.name.map_or(Json::Null, text)),
            ("type", text(&view.block_type_text(block))),
            ("version", number(block.changed)),
            ("value", view.render(block, args.elements)),
        ])
    });
    object(vec![
        ("url", text(&view.url_text())),
        ("version", number(view.version())),
        ("wire_bytes", number(view.wire_bytes())),
        ("types", Json::Array(types)),
        (
            "blocks",
            Json::Array(if args.types {
                Vec::new()
            } else {
                blocks.collect()
            }),
        ),
    ])
}
