//! `interface.h`, which interweave.h includes.

use super::{commented, Group, Interface, Kind, Line, Numbers, Record};
use crate::backends::text::Text;

/// Left of a line within braces.
const COLUMNS: usize = 98;
const MARKS: (&str, &str) = ("/* ", " */");

pub fn text(interface: &Interface<'_>) -> String {
    let mut text = Text::new("  ");
    text.line(format!("/* {} */", interface.first_line));
    text.lines([
        "/* clang-format off */",
        "/* Errors, options, states and statistics of <interweave.h>, which programs include. */",
        "#ifndef INTERWEAVE_INTERFACE_H",
        "#define INTERWEAVE_INTERFACE_H",
        "",
        "#include <stddef.h>",
        "#include <stdint.h>",
        "",
        "/* What functions that return an int return when they fail. */",
    ]);
    errors(&mut text, interface);
    for group in &interface.groups {
        text.blank();
        match group {
            Group::Enum(numbers) => enumeration(&mut text, numbers),
            Group::Struct(record) => structure(&mut text, record),
        }
    }
    text.lines(["", "#endif /* INTERWEAVE_INTERFACE_H */"]);
    text.finish()
}

fn errors(text: &mut Text, interface: &Interface<'_>) {
    text.open("enum {");
    text.line("IW_OK = 0,");
    let error = |member: &&crate::ir::Member| (format!("E{}", member.name), -member.value);
    let named = interface.errors.iter().map(error);
    let docs = interface.errors.iter().map(|error| error.doc.as_deref());
    members(text, named.zip(docs).collect());
    text.close("};");
}

fn enumeration(text: &mut Text, numbers: &Numbers<'_>) {
    text.block_comment(&numbers.def.doc);
    match numbers.typedef {
        Some(_) => text.open(format!("typedef enum IW_{} {{", numbers.def.name)),
        None => text.open("enum {"),
    }
    let named = numbers.members.iter().map(|member| {
        let name = (member.name.clone(), member.value);
        (name, member.doc.as_deref())
    });
    members(text, named.collect());
    match numbers.typedef {
        Some(name) => text.close(format!("}} IW_{name};")),
        None => text.close("};"),
    }
}

fn members(text: &mut Text, members: Vec<((String, i32), Option<&str>)>) {
    let last = members.len() - 1;
    let line = |(at, ((name, value), doc)): (usize, ((String, i32), _))| Line {
        code: format!("IW_{name} = {value}{}", if at < last { "," } else { "" }),
        doc,
    };
    let lines: Vec<Line<'_>> = members.into_iter().enumerate().map(line).collect();
    commented(text, &lines, MARKS, COLUMNS);
}

fn structure(text: &mut Text, record: &Record<'_>) {
    let name = &record.def.name;
    text.block_comment(&record.def.doc);
    text.open(format!("typedef struct IW_{name} {{"));
    let size_doc = format!("sizeof(IW_{name}); members may be added at the end");
    let mut lines = vec![Line {
        code: "size_t size;".into(),
        doc: Some(&size_doc),
    }];
    lines.extend(record.fields.iter().map(|(field, kind)| Line {
        code: format!("{}{};", before_name(*kind), field.name),
        doc: field.doc.as_deref(),
    }));
    commented(text, &lines, MARKS, COLUMNS);
    text.close(format!("}} IW_{name};"));
}

fn before_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int | Kind::Flag => "int ",
        Kind::Unsigned => "unsigned ",
        Kind::Count => "uint64_t ",
        Kind::Real => "double ",
        Kind::Text => "const char* ",
    }
}
