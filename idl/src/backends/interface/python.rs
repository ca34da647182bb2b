//! The Python package's `errors.py`, a class for each error, and `interface.py`, the other numbers.

use super::{Group, Interface, Kind, Numbers, Record};
use crate::backends::names::rust_type;
use crate::backends::text::Text;

/// Python's own exceptions that programs catch for an error besides interweave.Error.
const ALSO: &[(&str, &str)] = &[
    ("UNIMPLEMENTED", "NotImplementedError"),
    ("DENIED", "PermissionError"),
    ("BAD_URL", "ValueError"),
    ("NO_SEGMENT", "LookupError"),
    ("NO_BLOCK", "KeyError"),
    ("BAD_NAME", "ValueError"),
    ("TIMED_OUT", "TimeoutError"),
    ("UNREACHABLE", "ConnectionError"),
    ("NO_MEMORY", "MemoryError"),
    ("BAD_VALUE", "ValueError"),
    ("BAD_ARGUMENT", "ValueError"),
];
/// Errors whose class has another name than theirs in Python's style.
const RENAMED: &[(&str, &str)] = &[("QUOTA", "QuotaExceeded")];

pub fn errors(interface: &Interface<'_>) -> String {
    let mut text = Text::new("    ");
    text.line(format!("# {}", interface.first_line));
    text.lines([
        "\"\"\"What can go wrong: a class for each error of the C interface, all below Error.",
        "",
        "Each has the negative number that programs in other languages see, and its name there.",
        "\"\"\"",
        "",
        "from typing import Dict, Type",
        "",
        "from .error import Error as Error",
    ]);
    for error in &interface.errors {
        text.lines(["", ""]);
        let also = found(ALSO, &error.name).map(|name| format!(", {name}"));
        let name = class_name(&error.name);
        text.open(format!("class {name}(Error{}):", also.unwrap_or_default()));
        if let Some(doc) = &error.doc {
            text.line(format!("\"\"\"{doc}\"\"\""));
            text.blank();
        }
        text.line(format!("code = {}", -error.value));
        text.line(format!("code_name = \"{}\"", error.name));
        text.outdent();
    }
    text.lines(["", ""]);
    text.open("BY_CODE: Dict[int, Type[Error]] = {");
    for error in &interface.errors {
        text.line(format!("{}: {},", -error.value, class_name(&error.name)));
    }
    text.close("}");
    text.blank();
    text.open("__all__ = [");
    text.line("\"Error\",");
    for error in &interface.errors {
        text.line(format!("\"{}\",", class_name(&error.name)));
    }
    text.close("]");
    text.finish()
}

fn found<'a>(table: &[(&str, &'a str)], name: &str) -> Option<&'a str> {
    table
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, found)| *found)
}

fn class_name(error: &str) -> String {
    found(RENAMED, error).map_or_else(|| rust_type(error), str::to_string)
}

pub fn interface(interface: &Interface<'_>) -> String {
    let mut text = Text::new("    ");
    text.line(format!("# {}", interface.first_line));
    text.lines([
        "\"\"\"The numbers and statistics of the C interface.\"\"\"",
        "",
        "from dataclasses import dataclass",
        "from enum import IntEnum",
    ]);
    for group in interface.groups_to_read() {
        match group {
            Group::Enum(numbers) => enumeration(&mut text, numbers),
            Group::Struct(record) => structure(&mut text, record),
        }
    }
    text.finish()
}

fn enumeration(text: &mut Text, numbers: &Numbers<'_>) {
    text.lines(["", ""]);
    text.open(format!("class {}(IntEnum):", rust_type(&numbers.def.name)));
    docstring(text, &numbers.def.doc);
    for member in numbers.members {
        text.line(format!("{} = {}", member.name, member.value));
        docstring(text, &member.doc);
    }
    text.outdent();
}

fn structure(text: &mut Text, record: &Record<'_>) {
    text.lines(["", "", "@dataclass(frozen=True)"]);
    let name = rust_type(record.def.name.trim_end_matches("_t"));
    text.open(format!("class {name}:"));
    docstring(text, &record.def.doc);
    for (field, kind) in &record.fields {
        text.line(format!("{}: {}", field.name, type_name(*kind)));
        docstring(text, &field.doc);
    }
    text.outdent();
}

fn docstring(text: &mut Text, doc: &Option<String>) {
    let lines: Vec<&str> = doc.iter().flat_map(|doc| doc.lines()).collect();
    let Some((last, before)) = lines.split_last() else {
        return;
    };
    for (at, line) in before.iter().enumerate() {
        text.line(format!("{}{line}", if at == 0 { "\"\"\"" } else { "" }));
    }
    let start = if before.is_empty() { "\"\"\"" } else { "" };
    text.line(format!("{start}{last}\"\"\""));
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int | Kind::Unsigned | Kind::Count => "int",
        Kind::Real => "float",
        Kind::Flag => "bool",
        Kind::Text => "str",
    }
}
