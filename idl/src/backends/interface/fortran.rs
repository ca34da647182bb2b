//! `interface.f90`: module `interweave_interface`. Module `interweave` makes it public but for what
//! only the library's other modules and its agent need: IW_open_options and error_names.

use super::{Group, Interface, Kind, Numbers, Record};
use crate::backends::text::Text;

const COLUMNS: usize = 100;

pub fn text(interface: &Interface<'_>) -> String {
    let mut text = Text::new("  ");
    text.line(format!("! {}", interface.first_line));
    text.line("! The numbers and statistics of interweave.h. Fortran 2003.");
    text.open("module interweave_interface");
    text.line("use, intrinsic :: iso_c_binding, only: c_double, c_int, c_int64_t, c_ptr, c_size_t");
    text.lines(["implicit none", "private"]);
    public_names(&mut text, interface);
    text.lines([
        "",
        "! What functions return that are integers: 0, or one of these.",
    ]);
    text.line("integer(c_int), parameter :: IW_OK = 0");
    for error in &interface.errors {
        let (name, value) = (format!("E{}", error.name), -error.value);
        number(&mut text, &name, value, &error.doc);
    }
    error_names(&mut text, interface);
    for group in &interface.groups {
        text.blank();
        match group {
            Group::Enum(numbers) => enumeration(&mut text, numbers),
            Group::Struct(record) => structure(&mut text, record),
        }
    }
    text.close("end module interweave_interface");
    text.finish()
}

fn public_names(text: &mut Text, interface: &Interface<'_>) {
    let errors = interface
        .errors
        .iter()
        .map(|error| format!("IW_E{}", error.name));
    let members = interface.enums().flat_map(|numbers| numbers.members);
    let members = members.map(|member| format!("IW_{}", member.name));
    let structs = interface
        .structs()
        .map(|record| format!("IW_{}", record.def.name));
    let mut line = String::from("public :: IW_OK");
    for name in errors.chain(members).chain(structs) {
        if line.len() + 2 + name.len() > COLUMNS {
            text.line(std::mem::replace(&mut line, format!("public :: {name}")));
        } else {
            line.push_str(&format!(", {name}"));
        }
    }
    text.line(line);
    text.line("public :: error_names");
}

fn comment(text: &mut Text, doc: &Option<String>) {
    text.comment("!", doc);
}

fn number(text: &mut Text, name: &str, value: i32, doc: &Option<String>) {
    comment(text, doc);
    text.line(format!("integer(c_int), parameter :: IW_{name} = {value}"));
}

/// All of one length, as the elements of an array are.
fn error_names(text: &mut Text, interface: &Interface<'_>) {
    let names = interface.errors.iter().map(|error| error.name.as_str());
    let length = names.clone().map(str::len).max().unwrap_or(0);
    let count = interface.errors.len();
    text.lines(["", "! The error -n is error_names(n)."]);
    text.open(format!(
        "character(len={length}), parameter :: error_names({count}) = \
         (/ character(len={length}) :: &"
    ));
    for (at, name) in names.enumerate() {
        let end = if at + 1 < count { ", &" } else { " /)" };
        text.line(format!("'{name}'{end}"));
    }
    text.outdent();
}

fn enumeration(text: &mut Text, numbers: &Numbers<'_>) {
    comment(text, &numbers.def.doc);
    text.blank();
    for member in numbers.members {
        number(text, &member.name, member.value, &member.doc);
    }
}

fn structure(text: &mut Text, record: &Record<'_>) {
    let name = &record.def.name;
    comment(text, &record.def.doc);
    text.open(format!("type, bind(C) :: IW_{name}"));
    text.line("integer(c_size_t) :: size_bytes");
    for (field, kind) in &record.fields {
        comment(text, &field.doc);
        text.line(format!("{} :: {}", type_name(*kind), field.name));
    }
    text.close(format!("end type IW_{name}"));
}

fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Int | Kind::Unsigned | Kind::Flag => "integer(c_int)",
        Kind::Count => "integer(c_int64_t)",
        Kind::Real => "real(c_double)",
        Kind::Text => "type(c_ptr)",
    }
}
