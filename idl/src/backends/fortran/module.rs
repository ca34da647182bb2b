//! The text of a module: constants, types, descriptors, and a function per arm of a union.

use super::layout::{self, Storage};
use super::spelling::{extents, spell};
use super::{arm_name, descriptor_name, member_name, module_name, own_name, type_name, used_files};
use crate::backends::c::{Backend, Described};
use crate::backends::text::Text;
use crate::backends::{first_line, stem};
use crate::ir::{Constant, Def, DefBody, DefId, Field, Member, Union};

/// Of a line in free form.
const MAX_COLUMNS: usize = 132;

/// What a module may need of others; only what it names is imported, so that nothing is unused.
const OF_ISO_C_BINDING: &[&str] = &[
    "c_char",
    "c_double",
    "c_f_pointer",
    "c_float",
    "c_int",
    "c_int64_t",
    "c_intptr_t",
    "c_loc",
    "c_ptr",
    "c_short",
    "c_signed_char",
];
const OF_INTERWEAVE: &[&str] = &[
    "IW_sequence_t",
    "IW_on_32",
    "IW_on_64",
    "IW_on_i386",
    "IW_wide",
];

pub fn text(backend: &Backend<'_>) -> String {
    let mut writer = Writer {
        backend,
        text: Text::new("  "),
    };
    writer.constants();
    for &id in &backend.ordered {
        writer.definition(id);
    }
    writer.descriptors();
    writer.arms();
    let body = writer.text.finish();
    let name = module_name(backend, backend.file);
    let mut text = Text::new("  ");
    text.line(format!("! {}", first_line(backend.unit, backend.file)));
    text.line(format!(
        "! The descriptors are in {}.c, which belongs into the same program.",
        stem(backend.unit, backend.file)
    ));
    text.open(format!("module {name}"));
    imports(
        &mut text,
        "use, intrinsic :: iso_c_binding",
        OF_ISO_C_BINDING,
        &body,
    );
    imports(&mut text, "use interweave", OF_INTERWEAVE, &body);
    for file in used_files(backend.schema, backend.file) {
        text.line(format!("use {}", module_name(backend, file)));
    }
    text.line("implicit none");
    let end = format!("end module {name}\n");
    text.finish() + &body + &end
}

fn imports(text: &mut Text, statement: &str, names: &[&str], body: &str) {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let code = body
        .lines()
        .filter(|line| !line.trim_start().starts_with('!'));
    let words: Vec<&str> = code.flat_map(|line| line.split(|c| !is_word(c))).collect();
    // `1_c_int` is one word.
    let named = |name: &str| {
        let suffix = format!("_{name}");
        let is = |word: &&str| {
            let number = word.strip_suffix(suffix.as_str());
            *word == name || number.is_some_and(|n| n.chars().all(|c| c.is_ascii_digit()))
        };
        words.iter().any(is)
    };
    let wanted: Vec<&str> = names.iter().copied().filter(|name| named(name)).collect();
    match wanted.len() {
        0 => {}
        1..=6 => text.line(format!("{statement}, only: {}", wanted.join(", "))),
        _ => {
            text.line(format!("{statement}, only: {}, &", wanted[..6].join(", ")));
            text.line(format!("  {}", wanted[6..].join(", ")));
        }
    }
}

struct Writer<'a> {
    backend: &'a Backend<'a>,
    text: Text,
}

impl Writer<'_> {
    fn constants(&mut self) {
        let backend = self.backend;
        let mut first = true;
        for &id in &backend.ordered {
            let def = backend.schema.def(id);
            if let DefBody::Const(value) = &def.body {
                if std::mem::take(&mut first) || def.doc.is_some() {
                    self.text.blank();
                }
                self.indented_comment(1, &def.doc);
                let name = type_name(def);
                match value {
                    Constant::Number(value) => self.line(1, constant(&name, *value)),
                    Constant::Text(text) => self.text_constant(&name, text),
                }
            }
        }
    }

    /// In pieces that fit on a line, with the characters that no literal has between them.
    fn text_constant(&mut self, name: &str, text: &str) {
        self.line(1, format!("character(len=*), parameter :: {name} = &"));
        let pieces = text_pieces(text);
        for (index, piece) in pieces.iter().enumerate() {
            let goes_on = if index + 1 < pieces.len() {
                " // &"
            } else {
                ""
            };
            self.line(3, format!("{piece}{goes_on}"));
        }
    }

    fn definition(&mut self, id: DefId) {
        let def = self.backend.schema.def(id);
        if matches!(def.body, DefBody::Alias(_) | DefBody::Const(_)) {
            return;
        }
        self.text.blank();
        self.indented_comment(1, &def.doc);
        match &def.body {
            DefBody::Enum(members) => self.enumeration(def, members),
            DefBody::Struct(fields) => {
                self.line(1, format!("type, bind(C) :: {}", type_name(def)));
                fields.iter().for_each(|field| self.component(field));
                self.line(1, format!("end type {}", type_name(def)));
            }
            DefBody::Union(union) => self.union(def, union),
            DefBody::Alias(_) | DefBody::Const(_) => {}
        }
    }

    fn enumeration(&mut self, def: &Def, members: &[Member]) {
        for member in members {
            self.indented_comment(1, &member.doc);
            let name = member_name(def, &member.name);
            self.line(1, constant(&name, member.value.into()));
        }
    }

    fn component(&mut self, field: &Field) {
        self.indented_comment(2, &field.doc);
        let spelling = spell(self.backend.schema, &field.ty);
        let name = own_name(&field.name);
        let shape = spelling.shape();
        self.line(2, format!("{} :: {name}{shape}", spelling.base));
    }

    fn union(&mut self, def: &Def, union: &Union) {
        let name = type_name(def);
        let storage = layout::storage(self.backend.schema, union);
        self.line(1, format!("type, bind(C) :: {name}"));
        self.component(&union.discriminant);
        if let Some(storage) = storage {
            let (member, extent) = (self.backend.union_member(def), extent(&storage));
            self.line(
                2,
                format!("integer({}) :: {member}({extent})", storage.kind),
            );
        }
        self.line(1, format!("end type {name}"));
    }

    fn descriptors(&mut self) {
        let backend = self.backend;
        let mut lines = Vec::new();
        for &id in &backend.ordered {
            let none = matches!(backend.described(id), Described::Not);
            if !none && !backend.is_predeclared(id) {
                let name = backend.variable(id);
                let own = descriptor_name(&name);
                lines.push(format!(
                    "type(c_ptr), protected, bind(C, name=\"{name}\") :: {own}"
                ));
            }
        }
        if !lines.is_empty() {
            self.text.blank();
            lines.into_iter().for_each(|line| self.line(1, line));
        }
    }

    fn arms(&mut self) {
        let backend = self.backend;
        let unions = backend.ordered.iter().filter_map(|&id| {
            let def = backend.schema.def(id);
            match &def.body {
                DefBody::Union(union) => Some((def, union.arm_fields())),
                _ => None,
            }
        });
        let arms: Vec<(&Def, &Field)> = unions
            .flat_map(|(def, fields)| fields.map(move |field| (def, field)))
            .collect();
        if arms.is_empty() {
            return;
        }
        self.text.blank();
        self.text.line("contains");
        arms.iter().for_each(|(def, field)| self.arm(def, field));
    }

    /// A pointer into the storage; good as long as what it is asked of. Its own names are of those
    /// that no type has.
    fn arm(&mut self, def: &Def, field: &Field) {
        let name = arm_name(def, &field.name);
        let spelling = spell(self.backend.schema, &field.ty);
        let storage = format!("IW_whole%{}", self.backend.union_member(def));
        let shape = match spelling.dimensions.is_empty() {
            true => String::new(),
            false => format!(", (/ {} /)", extents(&spelling.dimensions)),
        };
        self.text.blank();
        self.indented_comment(1, &field.doc);
        self.line(1, format!("function {name}(IW_whole) result(IW_arm)"));
        self.line(
            2,
            format!("type({}), target, intent(in) :: IW_whole", type_name(def)),
        );
        let deferred = spelling.deferred();
        self.line(2, format!("{}, pointer :: IW_arm{deferred}", spelling.base));
        self.line(
            2,
            format!("call c_f_pointer(c_loc({storage}), IW_arm{shape})"),
        );
        self.line(1, format!("end function {name}"));
    }

    /// A line of code. A line that is longer than Fortran takes is continued below. It may be
    /// broken at any blank, because its strings have none.
    fn line(&mut self, depth: usize, line: impl AsRef<str>) {
        let mut rest = "  ".repeat(depth) + line.as_ref();
        while rest.len() > MAX_COLUMNS {
            let end = rest[..MAX_COLUMNS - 1].rfind(' ').expect("short words");
            self.text.line(format!("{} &", &rest[..end]));
            rest = "  ".repeat(depth + 1) + &rest[end + 1..];
        }
        self.text.line(rest);
    }

    fn indented_comment(&mut self, depth: usize, doc: &Option<String>) {
        self.text.comment(&format!("{}!", "  ".repeat(depth)), doc);
    }
}

/// The storage's extent, as a constant expression: one of the machines' ones is 1, the others 0.
fn extent(storage: &Storage) -> String {
    let [first, others @ ..] = storage.extents;
    if others.iter().all(|&other| other == first) {
        return extents(&[first]);
    }
    let machines = storage.extents.iter().zip(layout::MACHINE_NAMES);
    let terms: Vec<String> = machines
        .map(|(&extent, machine)| format!("{} * {machine}", extents(&[extent])))
        .collect();
    terms.join(" + ")
}

/// Of the narrowest kind that holds the value; beyond all kinds, the same bits.
/// Literals, and calls for control characters, that together are the text.
fn text_pieces(text: &str) -> Vec<String> {
    // Fits on a line, even if all of them are quotation marks, which are written twice.
    const MOST_CHARACTERS: usize = 56;
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let end_literal = |literal: &mut String, pieces: &mut Vec<String>| {
        if !literal.is_empty() {
            let inner = std::mem::take(literal).replace('"', "\"\"");
            pieces.push(format!("\"{inner}\""));
        }
    };
    for c in text.chars() {
        if c.is_ascii_control() {
            end_literal(&mut literal, &mut pieces);
            pieces.push(format!("achar({})", c as u32));
            continue;
        }
        literal.push(c);
        if literal.chars().count() == MOST_CHARACTERS {
            end_literal(&mut literal, &mut pieces);
        }
    }
    end_literal(&mut literal, &mut pieces);
    if pieces.is_empty() {
        pieces.push("\"\"".into());
    }
    pieces
}

fn constant(name: &str, value: i128) -> String {
    // The least number of a kind has no literal of its own.
    let (kind, value) = match (i32::try_from(value), i64::try_from(value)) {
        (Ok(i32::MIN), _) => ("c_int", "-2147483647 - 1".to_string()),
        (Ok(value), _) => ("c_int", value.to_string()),
        (_, Ok(i64::MIN)) => (
            "c_int64_t",
            "-9223372036854775807_c_int64_t - 1".to_string(),
        ),
        (_, Ok(value)) => ("c_int64_t", format!("{value}_c_int64_t")),
        _ => ("c_int64_t", format!("{}_c_int64_t", value as u64 as i64)),
    };
    format!("integer({kind}), parameter :: {name} = {value}")
}
