//! The header: types in the order C needs, and the names of their descriptors.

use super::{Backend, Described};
use crate::backends::text::Text;
use crate::backends::{first_line, included_paths, names, quoted, stem};
use crate::ir::{Constant, Def, DefBody, DefId, Field, Type, Union};
use std::collections::BTreeSet;

pub fn text(backend: &Backend<'_>) -> String {
    let mut text = Text::new("  ");
    let guard = guard(backend);
    text.line(format!("/* {} */", first_line(backend.unit, backend.file)));
    text.line("/* clang-format off */");
    text.line(format!("#ifndef {guard}"));
    text.line(format!("#define {guard}"));
    text.blank();
    text.line("#include <interweave/type_table.h>");
    text.blank();
    let mut writer = Writer { backend, text };
    writer.forward_declarations();
    writer.includes();
    writer
        .text
        .lines(["#ifdef __cplusplus", "extern \"C\" {", "#endif"]);
    writer.constants();
    for &id in &backend.ordered {
        writer.definition(id);
    }
    writer.descriptors();
    let mut text = writer.text;
    text.blank();
    text.lines(["#ifdef __cplusplus", "}", "#endif"]);
    text.blank();
    text.line("#endif");
    text.finish()
}

/// From the file's name, and its text, so that two files of one name can be used together.
fn guard(backend: &Backend<'_>) -> String {
    let name = stem(backend.unit, backend.file).to_uppercase();
    let name: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    let source = &backend.unit.sources.file(backend.file).text;
    // FNV-1a.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = source.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("IW_GENERATED_{name}_H_{:08X}", hash as u32)
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
            let DefBody::Const(constant) = &def.body else {
                continue;
            };
            if std::mem::take(&mut first) || def.doc.is_some() {
                self.text.blank();
            }
            self.text.block_comment(&def.doc);
            let name = backend.name(id);
            // An enum's member, unlike a macro, leaves fields of its name alone; but it is an int.
            self.text.line(match constant {
                Constant::Text(text) => format!("#define {name} {}", quoted(text)),
                Constant::Number(value) => match i32::try_from(*value) {
                    Ok(_) => format!("enum {{ {name} = {} }};", int_literal(*value)),
                    Err(_) => format!("#define {name} {}", wide_literal(*value)),
                },
            });
        }
    }

    /// Before the includes, because files may include each other.
    fn forward_declarations(&mut self) {
        let backend = self.backend;
        let is_struct = |id: &&DefId| {
            let body = &backend.schema.def(**id).body;
            matches!(body, DefBody::Struct(_) | DefBody::Union(_))
        };
        let structs = backend.ordered.iter().filter(is_struct);
        let names = structs.map(|id| backend.name(*id));
        let lines: Vec<String> = names
            .map(|name| format!("typedef struct {name} {name};"))
            .collect();
        if !lines.is_empty() {
            self.text.lines(lines);
            self.text.blank();
        }
    }

    fn includes(&mut self) {
        let included = included_paths(self.backend.unit, self.backend.file);
        for path in &included {
            self.text.line(format!("#include \"{path}.h\""));
        }
        if !included.is_empty() {
            self.text.blank();
        }
    }

    fn definition(&mut self, id: DefId) {
        let backend = self.backend;
        let def = backend.schema.def(id);
        if matches!(def.body, DefBody::Const(_)) || backend.is_predeclared(id) {
            return;
        }
        let name = backend.name(id);
        self.text.blank();
        self.text.block_comment(&def.doc);
        match &def.body {
            DefBody::Const(_) => {}
            DefBody::Alias(ty) => self.typedef(ty, &name),
            DefBody::Enum(members) => {
                self.text.open(format!("typedef enum {name} {{"));
                for (index, member) in members.iter().enumerate() {
                    self.text.block_comment(&member.doc);
                    let comma = if index + 1 < members.len() { "," } else { "" };
                    let member_name = backend.member_name(def, &member.name);
                    let value = int_literal(member.value.into());
                    self.text.line(format!("{member_name} = {value}{comma}"));
                }
                self.text.close(format!("}} {name};"));
            }
            DefBody::Struct(fields) => {
                self.text.open(format!("struct {name} {{"));
                let members = member_names(fields);
                fields.iter().for_each(|field| self.field(field, &members));
                self.text.close("};");
            }
            DefBody::Union(union) => self.union(def, union, &name),
        }
    }

    fn typedef(&mut self, ty: &Type, name: &str) {
        let mut lines = self.backend.declaration(ty, name, &BTreeSet::new());
        lines[0] = format!("typedef {}", lines[0]);
        self.statement(lines);
    }

    fn field(&mut self, field: &Field, members: &BTreeSet<String>) {
        self.text.block_comment(&field.doc);
        let name = names::c_name(&field.name);
        let lines = self.backend.declaration(&field.ty, &name, members);
        self.statement(lines);
    }

    fn statement(&mut self, mut lines: Vec<String>) {
        if let Some(last) = lines.last_mut() {
            last.push(';');
        }
        self.text.lines(lines);
    }

    /// As rpcgen writes it: the discriminant, and the arms in a union named `NAME_u`.
    fn union(&mut self, def: &Def, union: &Union, name: &str) {
        let arms: Vec<&Field> = union.arm_fields().collect();
        self.text.open(format!("struct {name} {{"));
        let discriminant = std::slice::from_ref(&union.discriminant);
        self.field(&union.discriminant, &member_names(discriminant));
        if !arms.is_empty() {
            let members = arms
                .iter()
                .map(|field| names::c_name(&field.name))
                .collect();
            self.text.open("union {");
            arms.iter().for_each(|field| self.field(field, &members));
            self.text
                .close(format!("}} {};", self.backend.union_member(def)));
        }
        self.text.close("};");
    }

    fn descriptors(&mut self) {
        let backend = self.backend;
        let mut lines = Vec::new();
        for &id in &backend.ordered {
            let own = matches!(backend.described(id), Described::Own);
            if matches!(backend.described(id), Described::Not) || backend.is_predeclared(id) {
                continue;
            }
            if own {
                lines.push(format!("extern const IW_type_def {};", backend.object(id)));
            }
            lines.push(format!("extern const IW_type_t {};", backend.variable(id)));
        }
        if !lines.is_empty() {
            self.text.blank();
            self.text.lines(lines);
        }
    }
}

fn member_names(fields: &[Field]) -> BTreeSet<String> {
    fields
        .iter()
        .map(|field| names::c_name(&field.name))
        .collect()
}

/// The least int has no literal of its own.
pub fn int_literal(value: i128) -> String {
    match value {
        -0x8000_0000 => "-2147483647 - 1".into(),
        value => value.to_string(),
    }
}

fn wide_literal(value: i128) -> String {
    match value {
        0..=0xffff_ffff => format!("{value}U"),
        0x1_0000_0000.. => format!("UINT64_C({value})"),
        -0x8000_0000_0000_0000 => "(-INT64_C(9223372036854775807) - 1)".into(),
        _ => format!("INT64_C({value})"),
    }
}
