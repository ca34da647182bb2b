//! `interface.ts`: the interface's numbers in TypeScript. Errors are missing, because the codec of
//! spec/protocol/error.x has them.

use super::{Group, Interface, Kind, Numbers, Record};
use crate::backends::names::rust_type;
use crate::backends::text::Text;

pub fn text(interface: &Interface<'_>) -> String {
    let mut text = Text::new("  ");
    text.line(format!("// {}", interface.first_line));
    for group in interface.groups_to_read() {
        match group {
            Group::Enum(numbers) => enumeration(&mut text, numbers),
            Group::Struct(record) => structure(&mut text, record),
        }
    }
    text.finish()
}

fn enumeration(text: &mut Text, numbers: &Numbers<'_>) {
    let name = rust_type(&numbers.def.name);
    text.blank();
    text.doc_comment(&numbers.def.doc);
    text.open(format!("export const {name} = {{"));
    for member in numbers.members {
        text.doc_comment(&member.doc);
        text.line(format!("{}: {},", member.name, member.value));
    }
    text.close("} as const;");
    text.line(format!(
        "export type {name} = (typeof {name})[keyof typeof {name}];"
    ));
}

fn structure(text: &mut Text, record: &Record<'_>) {
    let name = rust_type(record.def.name.trim_end_matches("_t"));
    text.blank();
    text.doc_comment(&record.def.doc);
    text.open(format!("export interface {name} {{"));
    for (field, kind) in &record.fields {
        text.doc_comment(&field.doc);
        text.line(format!("{}: {};", field.name, type_name(*kind)));
    }
    text.close("}");
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int | Kind::Unsigned | Kind::Real => "number",
        Kind::Count => "bigint",
        Kind::Flag => "boolean",
        Kind::Text => "string",
    }
}
