//! `library_names.rs`: the interface's names behind `IW_`, for the compiler itself. Generated code
//! for programs' data keeps clear of them.

use super::{Group, Interface};
use crate::backends::text::Text;

pub fn text(interface: &Interface<'_>) -> String {
    let mut text = Text::new("    ");
    text.line(format!("//! {}", interface.first_line));
    let errors = interface
        .errors
        .iter()
        .map(|error| format!("E{}", error.name));
    let members = interface.enums().flat_map(|numbers| numbers.members);
    let members = members.map(|member| member.name.clone());
    let numbers = std::iter::once("OK".to_string()).chain(errors);
    list(
        &mut text,
        "Errors, options and states.",
        "NUMBERS",
        numbers.chain(members),
    );
    let filled = interface.structs().filter(|one| one.is_filled_by_library());
    list(
        &mut text,
        "Structs that the library fills.",
        "RECORDS",
        filled.map(|record| record.def.name.clone()),
    );
    list(
        &mut text,
        "Structs that programs fill, and names of enums. No program in Fortran sees them.",
        "TYPES_OF_C",
        interface.groups.iter().flat_map(types_of_c),
    );
    text.finish()
}

fn types_of_c(group: &Group<'_>) -> Vec<String> {
    match group {
        Group::Enum(numbers) => match numbers.typedef {
            Some(typedef) => vec![numbers.def.name.clone(), typedef.into()],
            None => Vec::new(),
        },
        Group::Struct(record) if record.is_filled_by_library() => Vec::new(),
        Group::Struct(record) => vec![record.def.name.clone()],
    }
}

fn list(text: &mut Text, doc: &str, name: &str, words: impl Iterator<Item = String>) {
    text.blank();
    text.line(format!("/// {doc}"));
    text.line("#[rustfmt::skip]");
    text.open(format!("pub const {name}: &[&str] = &["));
    words.for_each(|word| text.line(format!("\"{word}\",")));
    text.close("];");
}
