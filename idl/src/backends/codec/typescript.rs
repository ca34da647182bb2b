//! The TypeScript codec: a module per .x file, and the `index.ts` that exports them all.
//!
//! A type becomes an interface (`VersionStamp`) and a value that encodes and decodes it
//! (`versionStamp`), put together from the combinators of the runtime, `xdr.ts`. That keeps the
//! browser's bundle small: there is no code per message, only a description. Members keep the names
//! of the .x file; an enum is its members (`ErrorCode.NO_BLOCK`) and the type of their numbers.

use super::Encodings;
use crate::backends::names::{rust_constant, rust_type};
use crate::backends::text::Text;
use crate::backends::typescript::spelling::{self, Imports};
use crate::backends::{first_line, order, stem};
use crate::compile::{GeneratedFile, Unit, GENERATED_MARK};
use crate::diagnostics::{Diagnostic, Report};
use crate::ir::{Arm, DefBody, DefId, Field, Member, Primitive, Schema, Type, Union};
use crate::source::{FileId, Span};
use std::collections::HashMap;
use std::path::PathBuf;

const RUNTIME: &str = "xdr";
pub fn generate(unit: &Unit<'_>, report: &mut Report) -> Vec<(PathBuf, GeneratedFile)> {
    check_names(unit.schema, report);
    let encodings = Encodings::new(unit.schema);
    let mut files = Vec::new();
    let mut index = Text::new("  ");
    index.line(format!(
        "// {GENERATED_MARK} from the .x files of these modules; do not edit."
    ));
    for &file in unit.roots {
        let stem = stem(unit, file);
        if stem == RUNTIME {
            let message = "the name `xdr.x` is taken by the codec's runtime";
            report.error(Diagnostic::global(message));
        }
        let generated = GeneratedFile {
            path: PathBuf::from(format!("{stem}.ts")),
            text: module_text(unit, &encodings, file),
        };
        files.push((unit.sources.path(file).to_path_buf(), generated));
        index.line(format!("export * from \"./{stem}.js\";"));
    }
    let index = GeneratedFile {
        path: PathBuf::from("index.ts"),
        text: index.finish(),
    };
    files.push((PathBuf::from("index.ts"), index));
    files
}

/// Names that differ in XDR may be one in TypeScript's style.
fn check_names(schema: &Schema, report: &mut Report) {
    let mut seen: HashMap<String, Span> = HashMap::new();
    for def in &schema.defs {
        let name = match def.body {
            DefBody::Const(_) => rust_constant(&def.name),
            _ => rust_type(&def.name),
        };
        if let Some(first) = seen.insert(name.clone(), def.span) {
            let message = format!(
                "`{}` becomes `{name}` in TypeScript, which is taken",
                def.name
            );
            report.error(Diagnostic::new(def.span, message).related(first, "by this definition"));
        }
    }
}

fn module_text(unit: &Unit<'_>, encodings: &Encodings<'_>, file: FileId) -> String {
    let mut generator = Generator {
        schema: unit.schema,
        encodings,
        text: Text::new("  "),
    };
    generator
        .text
        .line(format!("// {}", first_line(unit, file)));
    generator.imports(unit, file);
    let mut after_constant = false;
    for id in order::definition_order(unit.schema, file, &encodings.cycles) {
        let constant = matches!(unit.schema.def(id).body, DefBody::Const(_));
        if !(constant && after_constant) {
            generator.text.blank();
        }
        after_constant = constant;
        generator.definition(id);
    }
    generator.text.finish()
}

struct Generator<'a> {
    schema: &'a Schema,
    encodings: &'a Encodings<'a>,
    text: Text,
}

impl Generator<'_> {
    fn imports(&mut self, unit: &Unit<'_>, file: FileId) {
        let mut used = Imports::default();
        let mut codes = false;
        for id in self.schema.of_file(file) {
            let def = self.schema.def(id);
            codes |= !matches!(def.body, DefBody::Const(_));
            for other in order::mentioned(def) {
                if self.schema.def(other).file == file {
                    continue;
                }
                let module = stem(unit, self.schema.def(other).file);
                // An enum is also a value: its members.
                let is_enum = matches!(self.schema.def(other).body, DefBody::Enum(_));
                let kind = if is_enum { "" } else { "type " };
                used.add(&module, self.codec_name(other));
                used.add(&module, format!("{kind}{}", self.type_name(other)));
            }
        }
        used.write(&mut self.text);
        if codes {
            self.text.line("import * as xdr from \"./xdr.js\";");
        }
    }

    fn type_name(&self, id: DefId) -> String {
        rust_type(&self.schema.def(id).name)
    }

    fn codec_name(&self, id: DefId) -> String {
        let name = self.type_name(id);
        let (first, rest) = name.split_at(1);
        let name = first.to_ascii_lowercase() + rest;
        match name == RUNTIME || spelling::is_word(&name) {
            true => name + "_",
            false => name,
        }
    }

    fn definition(&mut self, id: DefId) {
        let schema = self.schema;
        let def = schema.def(id);
        self.text.block_comment(&def.doc);
        match &def.body {
            DefBody::Const(value) => {
                spelling::constant(&mut self.text, &rust_constant(&def.name), value);
            }
            DefBody::Alias(ty) => {
                let (shown, codec) = (self.shown(ty), self.codec(ty));
                self.text
                    .line(format!("export type {} = {shown};", self.type_name(id)));
                self.constant(id, &codec);
            }
            DefBody::Enum(members) => self.enumeration(id, members),
            DefBody::Struct(fields) => self.structure(id, fields),
            DefBody::Union(union) => self.union(id, union),
        }
    }

    fn constant(&mut self, id: DefId, codec: &str) {
        let (codec_name, type_name) = (self.codec_name(id), self.type_name(id));
        self.text.line(format!(
            "export const {codec_name}: xdr.Codec<{type_name}> = {codec};"
        ));
    }

    fn enumeration(&mut self, id: DefId, members: &[Member]) {
        let name = self.type_name(id);
        self.text.open(format!("export const {name} = {{"));
        for member in members {
            self.text.block_comment(&member.doc);
            self.text
                .line(format!("{}: {},", member.name, member.value));
        }
        self.text.close("} as const;");
        self.text.line(format!(
            "export type {name} = (typeof {name})[keyof typeof {name}];"
        ));
        self.constant(id, &format!("xdr.enumeration<{name}>({name})"));
    }

    fn structure(&mut self, id: DefId, fields: &[Field]) {
        let name = self.type_name(id);
        let member = |field: &Field| vec![format!("{}: {};", field.name, self.shown(&field.ty))];
        let members = fields.iter().map(member).collect();
        spelling::interface(&mut self.text, &name, fields, members);
        let codec_name = self.codec_name(id);
        let (nested, end) = self.nested(id);
        self.text.open(format!(
            "export const {codec_name}: xdr.Codec<{name}> = {nested}xdr.struct<{name}>({{"
        ));
        for field in fields {
            let codec = self.codec(&field.ty);
            self.text.line(format!("{}: {codec},", field.name));
        }
        self.text.close(format!("}}){end};"));
    }

    /// Around the codec of a type that may contain itself: its decoder runs within the reader's
    /// depth limit.
    fn nested(&self, id: DefId) -> (&'static str, &'static str) {
        match self.encodings.cycles.is_recursive(id) {
            true => ("xdr.nested(", ")"),
            false => ("", ""),
        }
    }

    fn union(&mut self, id: DefId, union: &Union) {
        let name = self.type_name(id);
        let discriminant = &union.discriminant;
        let shown = |ty: &Type| self.shown(ty);
        let lines = spelling::union_type(&name, union, shown, |value| self.case(union, value));
        self.text.lines(lines);
        let codec_name = self.codec_name(id);
        let (nested, end) = self.nested(id);
        self.text.open(format!(
            "export const {codec_name}: xdr.Codec<{name}> = {nested}xdr.union<{name}>("
        ));
        let codec = self.codec(&discriminant.ty);
        self.text
            .line(format!("\"{}\", {codec}, [", discriminant.name));
        for arm in &union.arms {
            let cases: Vec<String> = arm
                .cases
                .iter()
                .map(|c| self.value(union, c.value))
                .collect();
            let payload = self.payload(arm);
            self.text
                .line(format!("  [[{}]{payload}],", cases.join(", ")));
        }
        let otherwise = match &union.default {
            Some(arm) => format!("], [[]{}],", self.payload(arm)),
            None => "],".into(),
        };
        self.text.line(otherwise);
        self.text.close(format!("){end};"));
    }

    /// What follows a case's values: the arm's member and its codec.
    fn payload(&self, arm: &Arm) -> String {
        arm.field.as_ref().map_or(String::new(), |field| {
            format!(", \"{}\", {}", field.name, self.codec(&field.ty))
        })
    }

    /// A case as an expression of the discriminant's type.
    fn value(&self, union: &Union, value: i64) -> String {
        match self.schema.resolve(&union.discriminant.ty) {
            Type::Primitive(Primitive::Bool) => (value != 0).to_string(),
            Type::Named(id) => {
                let DefBody::Enum(members) = &self.schema.def(*id).body else {
                    unreachable!("a discriminant is a number, a bool or an enum");
                };
                let member = members.iter().find(|m| i64::from(m.value) == value);
                let member = member.expect("a case is a member");
                format!("{}.{}", self.type_name(*id), member.name)
            }
            _ => value.to_string(),
        }
    }

    /// The same as a type.
    fn case(&self, union: &Union, value: i64) -> String {
        let text = self.value(union, value);
        match self.schema.resolve(&union.discriminant.ty) {
            Type::Named(_) => format!("typeof {text}"),
            _ => text,
        }
    }

    fn shown(&self, ty: &Type) -> String {
        match ty {
            Type::Primitive(primitive) => spelling::primitive_value(*primitive).into(),
            Type::Named(id) => self.type_name(*id),
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::Opaque(_) | Type::OpaqueVar(_) => "Uint8Array".into(),
            Type::String(_) => "string".into(),
            Type::Array(element, _) | Type::Sequence(element, _) => match &**element {
                Type::Pointer(_) => format!("({})[]", self.shown(element)),
                _ => format!("{}[]", self.shown(element)),
            },
            Type::Pointer(target) => format!("{} | null", self.shown(target)),
        }
    }

    fn codec(&self, ty: &Type) -> String {
        match ty {
            Type::Primitive(primitive) => format!("xdr.{}", primitive_name(*primitive)),
            Type::Named(id) => self.named(*id),
            Type::AnyPointer => unreachable!("refused by check()"),
            Type::Opaque(size) => format!("xdr.fixed({size})"),
            Type::OpaqueVar(bound) => format!("xdr.opaque({})", limit(bound)),
            Type::String(bound) => format!("xdr.string({})", limit(bound)),
            Type::Array(element, count) => {
                let least = self.encodings.least_bytes(element);
                format!("xdr.elements({count}, {least}, {})", self.codec(element))
            }
            Type::Sequence(element, bound) => {
                let least = self.encodings.least_bytes(element);
                format!(
                    "xdr.array({}, {least}, {})",
                    limit(bound),
                    self.codec(element)
                )
            }
            Type::Pointer(target) => format!("xdr.optional({})", self.codec(target)),
        }
    }

    /// A type that may contain itself may be named before it is defined.
    fn named(&self, id: DefId) -> String {
        let name = self.codec_name(id);
        match self.encodings.cycles.is_recursive(id) {
            true => format!("xdr.lazy(() => {name})"),
            false => name,
        }
    }
}

fn primitive_name(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Char => "i8",
        Primitive::UChar => "u8",
        Primitive::Short => "i16",
        Primitive::UShort => "u16",
        Primitive::Int => "i32",
        Primitive::UInt => "u32",
        Primitive::Hyper => "i64",
        Primitive::UHyper => "u64",
        Primitive::Float => "f32",
        Primitive::Double => "f64",
        Primitive::Quadruple => "fixed(16)",
        Primitive::Bool => "bool",
    }
}

fn limit(bound: &Option<u32>) -> String {
    bound.unwrap_or(u32::MAX).to_string()
}
