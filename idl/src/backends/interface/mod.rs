//! The numbers of the C interface (spec/interface), for the languages that call it.
//!
//! One .x file has the options, states and statistics as enums and structs, and includes that of
//! the protocol's errors. Each language gets one text of all of it: names, numbers, and members in
//! order, with their comments.

mod c;
mod cpp;
mod fortran;
mod java;
mod python;
mod rust;
mod typescript;

use super::{first_line, text::Text};
use crate::compile::{GeneratedFile, InterfaceLanguage, Unit};
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Def, DefBody, Field, Member, Primitive, Schema, Type};
use std::path::PathBuf;

/// The enum of the protocol that is the interface's errors.
const ERRORS: &str = "error_code";
/// The struct that is the interface's statistics.
const STATISTICS: &str = "stats_t";

pub fn generate(
    unit: &Unit<'_>,
    language: InterfaceLanguage,
    report: &mut Report,
) -> Vec<(PathBuf, GeneratedFile)> {
    let Some(interface) = Interface::new(unit, report) else {
        return Vec::new();
    };
    let files = match language {
        InterfaceLanguage::C => vec![("interface.h", c::text(&interface))],
        InterfaceLanguage::Cpp => vec![("interface.hpp", cpp::text(&interface))],
        InterfaceLanguage::Fortran => vec![("interface.f90", fortran::text(&interface))],
        InterfaceLanguage::Python => vec![
            ("errors.py", python::errors(&interface)),
            ("interface.py", python::interface(&interface)),
        ],
        InterfaceLanguage::TypeScript => vec![("interface.ts", typescript::text(&interface))],
        InterfaceLanguage::Java => vec![("Interface.java", java::text(&interface))],
        InterfaceLanguage::Rust => vec![("library_names.rs", rust::text(&interface))],
    };
    let input = unit.sources.path(unit.roots[0]);
    let file = |(path, text): (&str, String)| {
        let path = PathBuf::from(path);
        (input.to_path_buf(), GeneratedFile { path, text })
    };
    files.into_iter().map(file).collect()
}

/// What is checked, and then written.
struct Interface<'a> {
    first_line: String,
    /// All but OK, in the order of their numbers from 1 on.
    errors: Vec<&'a Member>,
    groups: Vec<Group<'a>>,
}

enum Group<'a> {
    Enum(Numbers<'a>),
    Struct(Record<'a>),
}

struct Numbers<'a> {
    def: &'a Def,
    members: &'a [Member],
    /// The name of a typedef of it.
    typedef: Option<&'a str>,
}

struct Record<'a> {
    def: &'a Def,
    fields: Vec<(&'a Field, Kind)>,
}

/// What a field may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Int,
    Unsigned,
    Count,
    Real,
    Flag,
    Text,
}

impl Kind {
    fn of(ty: &Type) -> Option<Self> {
        match ty {
            Type::Primitive(Primitive::Int) => Some(Kind::Int),
            Type::Primitive(Primitive::UInt) => Some(Kind::Unsigned),
            Type::Primitive(Primitive::UHyper) => Some(Kind::Count),
            Type::Primitive(Primitive::Double) => Some(Kind::Real),
            Type::Primitive(Primitive::Bool) => Some(Kind::Flag),
            Type::String(None) => Some(Kind::Text),
            _ => None,
        }
    }
}

impl Record<'_> {
    /// Whether the library fills it; with texts it is what a program hands in.
    fn is_filled_by_library(&self) -> bool {
        self.fields.iter().all(|(_, kind)| *kind != Kind::Text)
    }
}

impl<'a> Interface<'a> {
    /// The enums, and the structs that the library fills. In other languages than C, programs hand
    /// in the other structs as arguments of functions.
    fn groups_to_read(&self) -> impl Iterator<Item = &Group<'a>> {
        self.groups.iter().filter(|group| match group {
            Group::Enum(_) => true,
            Group::Struct(record) => record.is_filled_by_library(),
        })
    }

    fn new(unit: &Unit<'a>, report: &mut Report) -> Option<Self> {
        let [root] = unit.roots else {
            report.error(Diagnostic::global("the interface is one file"));
            return None;
        };
        let interface = Interface {
            first_line: first_line(unit, *root),
            errors: errors(unit.schema, report),
            groups: unit
                .schema
                .of_file(*root)
                .filter_map(|id| group(unit.schema, unit.schema.def(id), report))
                .collect(),
        };
        report.is_empty().then_some(interface)
    }

    fn enums(&self) -> impl Iterator<Item = &Numbers<'a>> {
        self.groups.iter().filter_map(|group| match group {
            Group::Enum(numbers) => Some(numbers),
            Group::Struct(_) => None,
        })
    }

    fn structs(&self) -> impl Iterator<Item = &Record<'a>> {
        self.groups.iter().filter_map(|group| match group {
            Group::Struct(record) => Some(record),
            Group::Enum(_) => None,
        })
    }
}

/// Fortran finds an error's name by its number, so that these follow each other.
fn errors<'a>(schema: &'a Schema, report: &mut Report) -> Vec<&'a Member> {
    let found = schema.defs.iter().find(|def| def.name == ERRORS);
    let Some(DefBody::Enum(members)) = found.map(|def| &def.body) else {
        let message = format!("the interface includes no enum `{ERRORS}`");
        report.error(Diagnostic::global(message));
        return Vec::new();
    };
    for (number, member) in members.iter().enumerate() {
        if usize::try_from(member.value) != Ok(number) {
            let message = format!("`{}` is to be {number}: errors are counted", member.name);
            report.error(Diagnostic::new(member.span, message));
        }
    }
    members.iter().skip(1).collect()
}

fn group<'a>(schema: &'a Schema, def: &'a Def, report: &mut Report) -> Option<Group<'a>> {
    match &def.body {
        DefBody::Enum(members) => Some(Group::Enum(Numbers {
            def,
            members,
            typedef: typedef_of(schema, def),
        })),
        DefBody::Struct(fields) => {
            let kinds = fields.iter().map(|field| field_of(field, report));
            let fields = kinds
                .collect::<Vec<_>>()
                .into_iter()
                .collect::<Option<_>>()?;
            Some(Group::Struct(Record { def, fields }))
        }
        DefBody::Alias(Type::Named(_)) => None,
        _ => {
            let message = format!(
                "`{}` is not an enum, a struct, or the name of an enum: the interface has no other",
                def.name
            );
            report.error(Diagnostic::new(def.span, message));
            None
        }
    }
}

fn field_of<'a>(field: &'a Field, report: &mut Report) -> Option<(&'a Field, Kind)> {
    let kind = Kind::of(&field.ty);
    if kind.is_none() {
        let message = format!("the interface has no type for `{}`", field.name);
        let hint = "int, unsigned int, unsigned hyper, double, bool and string<> are known";
        report.error(Diagnostic::new(field.span, message).hint(hint));
    }
    kind.map(|kind| (field, kind))
}

fn typedef_of<'a>(schema: &'a Schema, def: &Def) -> Option<&'a str> {
    let is_name = |other: &&Def| match &other.body {
        DefBody::Alias(Type::Named(id)) => std::ptr::eq(schema.def(*id), def),
        _ => false,
    };
    schema
        .defs
        .iter()
        .find(is_name)
        .map(|def| def.name.as_str())
}

/// A line of code and the comment of what it declares.
struct Line<'a> {
    code: String,
    doc: Option<&'a str>,
}

/// Comments stand in a column behind the lines, or before those that leave them no room.
fn commented(text: &mut Text, lines: &[Line<'_>], marks: (&str, &str), columns: usize) {
    let width = lines.iter().map(|line| line.code.len()).max().unwrap_or(0);
    for line in lines {
        let Some(doc) = line.doc else {
            text.line(&line.code);
            continue;
        };
        let comment = format!("{}{doc}{}", marks.0, marks.1);
        if width + 1 + comment.len() <= columns {
            text.line(format!("{:width$} {comment}", line.code));
        } else {
            text.line(comment);
            text.line(&line.code);
        }
    }
}
